//! Congestion window validation (RFC 2861; `tcp_cwnd_validate`, `tcp_cwnd_application_limited`, `tcp_cwnd_restart`).
//!
//! A window that the sender does not fill is no evidence of what the path can carry. So a controller may let the window
//! grow only while it was filled; a window that was not filled for one timeout shrinks towards what was used; and after
//! idle time it is halved for every timeout that passed.

/// How the window was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowUse {
    /// The window, and nothing else, held the sender back (`is_cwnd_limited`).
    pub is_limited: bool,
    /// Packets out (`max_packets_out`).
    pub packets_out: u32,
}

/// State of window validation.
#[derive(Clone, Debug)]
pub struct CwndValidation {
    shrinks: bool,
    initial_cwnd: u32,
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
        CwndValidation { shrinks, initial_cwnd, usage_seq: 0, used: 0, stamp: 0 }
    }

    /// The window was set, or grew, at `tick`.
    #[inline]
    pub fn note_change(&mut self, tick: u32) {
        self.stamp = tick;
    }

    /// Whether `new`, the use of the window in the latest send loop, replaces what is `known` (the first half of
    /// `tcp_cwnd_validate`).
    #[inline(always)]
    pub fn is_news(&self, known: WindowUse, new: WindowUse, snd_una: u32) -> bool {
        snd_una >= self.usage_seq || new.is_limited || (!known.is_limited && new.packets_out > known.packets_out)
    }

    /// What was noted about the use of the window holds until everything below `snd_nxt` is acknowledged.
    #[inline(always)]
    pub fn begin_window(&mut self, snd_nxt: u32) {
        self.usage_seq = snd_nxt;
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
        (used < cwnd).then(|| cwnd.midpoint(used))
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
        let used = |is_limited, packets_out| WindowUse { is_limited, packets_out };
        assert!(v.is_news(used(false, 0), used(true, 20), 0));
        v.begin_window(20);
        assert!(!v.is_news(used(true, 20), used(false, 25), 5), "the flight is not yet acknowledged");
        assert!(v.is_news(used(true, 20), used(false, 8), 20));
        v.begin_window(28);
        assert!(v.is_news(used(false, 8), used(false, 12), 21), "more than before were out");
        assert!(!v.is_news(used(false, 12), used(false, 11), 22));
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
        assert_eq!(v.restart(80, 300_000, 300_000, 1), 80, "a whole timeout has to have passed, and more");
        assert_eq!(v.restart(80, 301_000, 300_000, 1), 40);
        assert_eq!(v.restart(80, 600_000, 300_000, 1), 40);
        assert_eq!(v.restart(80, 1_000_000, 300_000, 1), 10);
        assert_eq!(v.restart(80, 60_000_000, 300_000, 1), 10);
        assert_eq!(v.restart(4, 60_000_000, 300_000, 1), 4, "what is below stays");
    }
}
