//! The smallest round-trip time of the last 300 seconds (`tcp_update_rtt_min`).
//!
//! Kathleen Nichols' filter (`lib/win_minmax.c`) keeps three samples in place of a list of all: the smallest of the
//! window, the smallest since that one, and the smallest since the second. When the first grows older than the window,
//! the second takes its place. The second and the third are renewed after a quarter and a half of the window, so that
//! what takes the first place is recent.

/// Minimum over a window of 300 s (`tcp_min_rtt_wlen`).
#[derive(Debug, Clone)]
pub struct WindowedMin {
    /// Values of the three samples, in ascending order.
    best: [u32; 3],
    /// Times of the three samples in microseconds, in ascending order, too.
    seen_us: [u64; 3],
}

impl Default for WindowedMin {
    fn default() -> WindowedMin {
        WindowedMin { best: [u32::MAX; 3], seen_us: [0; 3] }
    }
}

impl WindowedMin {
    const WINDOW_US: u64 = 300_000_000;

    /// The minimum; `u32::MAX` before the first sample.
    #[inline]
    pub fn get(&self) -> u32 {
        self.best[0]
    }

    /// A sample at `now_us`, which never runs backwards (`minmax_running_min`).
    #[inline(always)]
    pub fn update(&mut self, now_us: u64, value: u32) {
        let age_us = now_us - self.seen_us[0];
        if value > self.best[2] && age_us <= WindowedMin::WINDOW_US / 4 {
            // Most samples: larger than all three, none of which has to be renewed yet.
            return;
        }
        if value <= self.best[0] || now_us - self.seen_us[2] > WindowedMin::WINDOW_US {
            return self.put(0, now_us, value);
        }
        if value <= self.best[1] {
            self.put(1, now_us, value);
        } else if value <= self.best[2] {
            self.put(2, now_us, value);
        }
        if age_us > WindowedMin::WINDOW_US {
            self.forget_first(now_us, value);
            if now_us - self.seen_us[0] > WindowedMin::WINDOW_US {
                self.forget_first(now_us, value);
            }
        } else if self.seen_us[1] == self.seen_us[0] && age_us > WindowedMin::WINDOW_US / 4 {
            self.put(1, now_us, value);
        } else if self.seen_us[2] == self.seen_us[1] && age_us > WindowedMin::WINDOW_US / 2 {
            self.put(2, now_us, value);
        }
    }

    /// A sample takes the place of candidate `index` and of those after it.
    fn put(&mut self, index: usize, now_us: u64, value: u32) {
        self.best[index..].fill(value);
        self.seen_us[index..].fill(now_us);
    }

    /// The best one has left the window: the others move up, and a sample becomes the last.
    fn forget_first(&mut self, now_us: u64, value: u32) {
        self.best = [self.best[1], self.best[2], value];
        self.seen_us = [self.seen_us[1], self.seen_us[2], now_us];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windowed_minimum_forgets_after_300_seconds() {
        let mut min = WindowedMin::default();
        min.update(0, 40_000);
        for second in 1..=300 {
            min.update(second * 1_000_000, 50_000);
            assert_eq!(min.get(), 40_000);
        }
        min.update(301_000_000, 50_000);
        assert_eq!(min.get(), 50_000);
    }

    #[test]
    fn the_successor_of_a_forgotten_minimum_is_the_best_of_its_later_part() {
        let mut min = WindowedMin::default();
        min.update(0, 40_000);
        // After a quarter of the window a second candidate is kept, although it is no minimum.
        min.update(80_000_000, 45_000);
        min.update(200_000_000, 60_000);
        min.update(301_000_000, 70_000);
        assert_eq!(min.get(), 45_000);
    }

    #[test]
    fn an_equal_value_renews_the_minimum() {
        let mut min = WindowedMin::default();
        min.update(0, 40_000);
        min.update(299_000_000, 40_000);
        min.update(400_000_000, 90_000);
        assert_eq!(min.get(), 40_000);
    }
}
