//! The smallest round-trip time of the last 300 seconds (`tcp_update_rtt_min`).
//!
//! Kathleen Nichols' filter (`lib/win_minmax.c`) keeps three samples in place of a list of all: the smallest of the
//! window, the smallest since that one, and the smallest since the second. When the first grows older than the window,
//! the second takes its place. The second and the third are renewed after a quarter and a half of the window, so that
//! what takes the first place is recent.

/// Minimum over a window of 300 s (`tcp_min_rtt_wlen`).
#[derive(Debug, Clone)]
pub struct WindowedMin {
    /// Time in microseconds and value of the three samples, both in ascending order.
    best: [(u64, u32); 3],
}

impl Default for WindowedMin {
    fn default() -> WindowedMin {
        WindowedMin { best: [(0, u32::MAX); 3] }
    }
}

impl WindowedMin {
    const WINDOW_US: u64 = 300_000_000;

    /// The minimum; `u32::MAX` before the first sample.
    #[inline]
    pub fn get(&self) -> u32 {
        self.best[0].1
    }

    /// A sample at `now_us`, which never runs backwards (`minmax_running_min`).
    #[inline]
    pub fn update(&mut self, now_us: u64, value: u32) {
        let new = (now_us, value);
        let best = &mut self.best;
        if value > best[2].1 && now_us - best[0].0 <= WindowedMin::WINDOW_US / 4 {
            // Most samples: larger than all three, none of which has to be renewed yet.
            return;
        }
        if value <= best[0].1 || now_us - best[2].0 > WindowedMin::WINDOW_US {
            *best = [new; 3];
            return;
        }
        if value <= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value <= best[2].1 {
            best[2] = new;
        }
        let age = now_us - best[0].0;
        if age > WindowedMin::WINDOW_US {
            *best = [best[1], best[2], new];
            if now_us - best[0].0 > WindowedMin::WINDOW_US {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > WindowedMin::WINDOW_US / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].0 == best[1].0 && age > WindowedMin::WINDOW_US / 2 {
            best[2] = new;
        }
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
