//! Application-limited samples (`tp->app_limited`).
//!
//! While the application leaves the pipe unfilled, samples show what the application wrote and not what the path can
//! carry. `app_limited` is the count of `delivered` at which everything that is in the pipe now has left it. Segments
//! sent until then are marked, and so are their samples.

/// What tells whether the application is the limit.
#[derive(Clone, Copy, Debug)]
pub struct AppLimit {
    /// Nothing waits to be sent, neither in the connection nor in its host.
    pub nothing_queued: bool,
    /// Packets in flight.
    pub in_flight: u32,
    /// The congestion window.
    pub cwnd: u32,
    /// Everything marked lost was sent again.
    pub repaired_all: bool,
    /// Packets delivered so far.
    pub delivered: u64,
}

/// The new `app_limited`; `None` where the application is not the limit (`tcp_rate_check_app_limited`).
#[inline]
pub fn check_app_limited(limit: AppLimit) -> Option<u64> {
    let is_limited = limit.nothing_queued && limit.in_flight < limit.cwnd && limit.repaired_all;
    is_limited.then(|| (limit.delivered + u64::from(limit.in_flight)).max(1))
}

/// Ends the phase when everything that was sent in it is delivered (the beginning of `tcp_rate_gen`).
#[inline(always)]
pub fn end_app_limited(app_limited: &mut u64, delivered: u64) {
    if *app_limited != 0 && delivered > *app_limited {
        *app_limited = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: AppLimit = AppLimit { nothing_queued: true, in_flight: 3, cwnd: 10, repaired_all: true, delivered: 100 };

    #[test]
    fn a_gap_lasts_until_what_was_in_flight_is_delivered() {
        assert_eq!(check_app_limited(GAP), Some(103));
        assert_eq!(check_app_limited(AppLimit { in_flight: 0, delivered: 0, ..GAP }), Some(1), "0 means none");
        let mut app_limited = 103;
        for (delivered, left) in [(103, 103), (104, 0)] {
            end_app_limited(&mut app_limited, delivered);
            assert_eq!(app_limited, left);
        }
    }

    #[test]
    fn a_full_window_queued_data_or_an_unrepaired_loss_is_not_the_application() {
        assert_eq!(check_app_limited(AppLimit { in_flight: 10, ..GAP }), None);
        assert_eq!(check_app_limited(AppLimit { nothing_queued: false, ..GAP }), None);
        assert_eq!(check_app_limited(AppLimit { repaired_all: false, ..GAP }), None);
    }
}
