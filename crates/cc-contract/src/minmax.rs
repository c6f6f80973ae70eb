//! The windowed maximum of a stream of measurements (Kathleen Nichols' algorithm, Linux's `lib/win_minmax.c`).
//!
//! A maximum over the last `n` rounds needs, exactly, all samples of the window. This filter keeps three: the best,
//! the best that came after it, and the best that came after that. A new maximum replaces all three; when the best one
//! leaves the window the second takes its place. To have recent successors at hand, the second is refreshed when a
//! quarter of the window has passed without one, the third when half has.

/// A measurement and when it was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// When: a round number or any other counter that only grows (modulo 2^32).
    pub time: u32,
    /// The measured value.
    pub value: u32,
}

/// The windowed maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxFilter {
    best: [Measurement; 3],
}

impl MaxFilter {
    /// A filter that has seen `value` at `time` and nothing else.
    pub fn new(time: u32, value: u32) -> MaxFilter {
        MaxFilter { best: [Measurement { time, value }; 3] }
    }

    /// The maximum.
    #[inline]
    pub fn max(&self) -> u32 {
        self.best[0].value
    }

    /// The best measurement and its two successors.
    pub fn measurements(&self) -> [Measurement; 3] {
        self.best
    }

    /// Takes a measurement in and returns the maximum over the last `window` units of time, both ends included.
    #[inline]
    pub fn update(&mut self, window: u32, time: u32, value: u32) -> u32 {
        let new = Measurement { time, value };
        let best = &mut self.best;
        if value >= best[0].value {
            *best = [new; 3];
            return value;
        }
        if value >= best[2].value {
            if value >= best[1].value {
                best[1] = new;
            }
            best[2] = new;
        }
        // Nothing of a young maximum's succession is due.
        let age = time.wrapping_sub(best[0].time);
        if age > window / 4 {
            if age > window {
                self.expire(window, new);
            } else if best[1].time == best[0].time {
                best[1] = new;
                best[2] = new;
            } else if best[2].time == best[1].time && age > window / 2 {
                best[2] = new;
            }
        }
        self.best[0].value
    }

    /// Replaces the best measurement, which has left the window, by the first successor that has not.
    #[cold]
    fn expire(&mut self, window: u32, new: Measurement) {
        for _ in 0..self.best.len() {
            if new.time.wrapping_sub(self.best[0].time) <= window {
                break;
            }
            self.best = [self.best[1], self.best[2], new];
        }
    }
}

/// A coarser windowed maximum: two slots that take turns, each a window long, so that a value stays for one to two
/// windows (`extra_acked` in Linux's BBR).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotFilter {
    /// The maxima of the two.
    pub maxima: [u32; 2],
    /// The current slot is the second.
    is_second: bool,
    /// Rounds since the current slot began.
    age: u32,
}

impl SlotFilter {
    /// The highest age a slot can count to (a 5-bit field in the kernel).
    const MAX_AGE: u32 = 31;

    /// The maximum.
    #[inline]
    pub fn max(&self) -> u32 {
        self.maxima[0].max(self.maxima[1])
    }

    /// Takes a value in, the first of its round or not, and returns the maximum over the slots of `window` rounds.
    #[inline]
    pub fn update(&mut self, window: u32, round_started: bool, value: u32) -> u32 {
        if round_started {
            self.age = (self.age + 1).min(Self::MAX_AGE);
            if self.age >= window {
                self.age = 0;
                self.is_second = !self.is_second;
                self.maxima[usize::from(self.is_second)] = 0;
            }
        }
        let current = &mut self.maxima[usize::from(self.is_second)];
        *current = value.max(*current);
        self.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_survives_exactly_its_window() {
        let mut filter = MaxFilter::new(0, 10);
        for round in 1..=10 {
            assert_eq!(filter.update(10, round, 5), 10, "round {round}");
        }
        assert_eq!(filter.update(10, 11, 5), 5);
    }

    #[test]
    fn a_new_maximum_takes_over_at_once() {
        let mut filter = MaxFilter::new(0, 10);
        assert_eq!(filter.update(10, 1, 11), 11);
        assert_eq!(filter.measurements(), [Measurement { time: 1, value: 11 }; 3]);
    }

    #[test]
    fn the_best_successor_follows_an_expired_maximum() {
        let mut filter = MaxFilter::new(0, 100);
        for round in 1..=10 {
            filter.update(10, round, 50 - round);
        }
        // The second best was refreshed at age 3 and the third at age 6.
        assert_eq!(filter.update(10, 11, 1), 47);
        assert_eq!(filter.measurements()[1], Measurement { time: 6, value: 44 });
    }

    #[test]
    fn silence_longer_than_the_window_forgets_everything() {
        let mut filter = MaxFilter::new(0, 100);
        assert_eq!(filter.update(10, 50, 3), 3);
    }

    #[test]
    fn a_slot_passes_its_maximum_on_for_one_window() {
        let mut filter = SlotFilter::default();
        assert_eq!(filter.update(3, false, 9), 9);
        let later: Vec<u32> = (0..6).map(|round| filter.update(3, true, round)).collect();
        assert_eq!(later, [9, 9, 9, 9, 9, 5]);
        assert_eq!(filter.maxima, [5, 4]);
    }

    #[test]
    fn the_output_is_never_below_the_newest_sample_nor_above_the_windows_maximum() {
        let mut rng = dumbbell_units::Rng::new(7);
        let mut filter = MaxFilter::new(0, 0);
        let mut history = vec![(0, 0)];
        for step in 0..2_000 {
            let time = history[step].0 + rng.below(3);
            let value = rng.below(1_000);
            history.push((time, value));
            let max = filter.update(10, time, value);
            let exact = history.iter().filter(|(t, _)| time - t <= 10).map(|(_, v)| *v).max().unwrap();
            assert!((value..=exact).contains(&max), "step {step}: {max} not in {value}..={exact}");
        }
    }
}
