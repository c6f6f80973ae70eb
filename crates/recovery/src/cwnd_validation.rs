//! Congestion window validation (RFC 2861; `tcp_cwnd_validate`, `tcp_cwnd_application_limited`, `tcp_cwnd_restart`).
//!
//! A window that the sender does not fill is not evidence of what the path can carry. Whether it was filled decides if a
//! controller may let it grow; a window that was not filled for a timeout shrinks towards what was used; and after idle
//! time it is halved for every timeout that passed.

/// What is known of the use of the window.
#[derive(Clone, Debug)]
pub struct CwndValidation {
    shrinks: bool,
    initial_cwnd: u32,
    /// `is_cwnd_limited`: the window, and nothing else, held the sender back in the last window.
    is_limited: bool,
    /// `max_packets_out`: most packets out in the last window.
    max_packets_out: u32,
    /// `cwnd_usage_seq`: the next window begins when this is acknowledged.
    usage_seq: u32,
    /// `snd_cwnd_used`: most packets out since the window was last filled.
    used: u32,
    /// `snd_cwnd_stamp`: tick at which the window was last filled or set.
    stamp: u32,
}

impl CwndValidation {
    /// `shrinks` allows unused windows to shrink, by validation and after idle time (`tcp_slow_start_after_idle`, and a
    /// controller that does not own the window); never below `initial_cwnd`.
    pub fn new(shrinks: bool, initial_cwnd: u32) -> CwndValidation {
        CwndValidation { shrinks, initial_cwnd, is_limited: false, max_packets_out: 0, usage_seq: 0, used: 0, stamp: 0 }
    }

    /// Whether the window, and nothing else, held the sender back in the last window.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Most packets out in the last window.
    #[inline]
    pub fn max_packets_out(&self) -> u32 {
        self.max_packets_out
    }

    /// The window was set, or grew, at `tick`.
    #[inline]
    pub fn note_change(&mut self, tick: u32) {
        self.stamp = tick;
    }

    /// A loop of transmissions is over, which the window ended if `is_limited` (the first half of `tcp_cwnd_validate`).
    #[inline(always)]
    pub fn note_use(&mut self, is_limited: bool, packets_out: u32, snd_una: u32, snd_nxt: u32) {
        if snd_una >= self.usage_seq || is_limited || (!self.is_limited && packets_out > self.max_packets_out) {
            self.is_limited = is_limited;
            self.max_packets_out = packets_out;
            self.usage_seq = snd_nxt;
        }
    }

    /// Whether unused windows shrink at all.
    #[inline]
    pub fn shrinks(&self) -> bool {
        self.shrinks
    }

    /// The window is in use at `tick`.
    #[inline]
    pub fn note_filled(&mut self, tick: u32) {
        self.used = 0;
        self.stamp = tick;
    }

    /// How many ticks ago the window was filled last, when `packets_out` do not fill it.
    pub fn unused_ticks(&mut self, packets_out: u32, tick: u32) -> u32 {
        self.used = self.used.max(packets_out);
        tick.wrapping_sub(self.stamp)
    }

    /// What becomes of a window that was not filled for a timeout; `None` where it stays
    /// (`tcp_cwnd_application_limited`).
    pub fn shrink(&mut self, cwnd: u32, tick: u32) -> Option<u32> {
        let used = self.used.max(self.initial_cwnd);
        self.note_filled(tick);
        (used < cwnd).then(|| (cwnd + used) / 2)
    }

    /// The window after `idle_us` without a transmission: halved for every timeout that passed (`tcp_cwnd_restart`).
    pub fn restart(&mut self, cwnd: u32, idle_us: u64, rto_us: u64, tick: u32) -> u32 {
        let floor = self.initial_cwnd.min(cwnd);
        let mut cwnd = cwnd;
        let mut idle_us = idle_us;
        while idle_us > rto_us && cwnd > floor {
            idle_us -= rto_us;
            cwnd >>= 1;
        }
        self.note_filled(tick);
        cwnd.max(floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validation() -> CwndValidation {
        CwndValidation::new(true, 10)
    }

    #[test]
    fn once_limited_the_window_counts_as_filled_for_a_whole_flight() {
        let mut v = validation();
        v.note_use(true, 20, 0, 20);
        assert_eq!((v.is_limited(), v.max_packets_out()), (true, 20));
        v.note_use(false, 15, 5, 20);
        assert_eq!((v.is_limited(), v.max_packets_out()), (true, 20), "the flight is not yet acknowledged");
        v.note_use(false, 8, 20, 28);
        assert_eq!((v.is_limited(), v.max_packets_out()), (false, 8));
        v.note_use(false, 12, 21, 33);
        assert_eq!(v.max_packets_out(), 12, "more than before were out");
    }

    #[test]
    fn an_unused_window_shrinks_half_way_to_what_was_used() {
        let mut v = validation();
        v.note_filled(100);
        assert_eq!(v.unused_ticks(30, 250), 150);
        assert_eq!(v.unused_ticks(20, 400), 300);
        assert_eq!(v.shrink(80, 400), Some(55));
        assert_eq!(v.unused_ticks(4, 401), 1, "the count begins anew");
        assert_eq!(v.shrink(30, 401), Some(20), "the initial window counts as used");
        assert_eq!(v.shrink(10, 402), None);
    }

    #[test]
    fn idle_time_halves_the_window_for_every_timeout_down_to_the_initial_window() {
        let mut v = validation();
        assert_eq!(v.restart(80, 299_000, 300_000, 1), 80);
        assert_eq!(v.restart(80, 301_000, 300_000, 1), 40);
        assert_eq!(v.restart(80, 1_000_000, 300_000, 1), 10);
        assert_eq!(v.restart(80, 60_000_000, 300_000, 1), 10);
        assert_eq!(v.restart(4, 60_000_000, 300_000, 1), 4, "what is below stays");
    }
}
