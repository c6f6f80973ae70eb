//! The coarse clock of the kernel's ordinary timers.

use dumbbell_units::Time;

const NANOS_PER_SEC: u32 = 1_000_000_000;

/// A clock with `hz` ticks a second; tick `n` begins at `n / hz` seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jiffies {
    hz: u32,
    /// Nanoseconds of a tick when that is a whole number, else 0. Spares a division.
    whole_tick: u32,
    /// The latest answer, which the next call most often asks for again.
    latest: Time,
}

impl Jiffies {
    /// `hz` 0 is an exact clock.
    pub(super) fn new(hz: u32) -> Jiffies {
        let whole_tick = if hz > 0 && NANOS_PER_SEC.is_multiple_of(hz) { NANOS_PER_SEC / hz } else { 0 };
        Jiffies { hz, whole_tick, latest: Time::ZERO }
    }

    /// The first tick that does not begin before `time`.
    #[inline]
    pub(super) fn at_or_after(&mut self, time: Time) -> Time {
        let is_within_a_tick_before =
            time <= self.latest && self.latest.since(time).as_nanos() < u64::from(self.whole_tick);
        if !is_within_a_tick_before {
            self.latest = self.find(time);
        }
        self.latest
    }

    fn find(&self, time: Time) -> Time {
        if self.hz == 0 {
            return time;
        }
        let (hz, nanos_per_sec) = (u64::from(self.hz), u64::from(NANOS_PER_SEC));
        let tick = time.as_nanos().saturating_mul(hz).div_ceil(nanos_per_sec);
        Time::from_nanos(match self.whole_tick {
            0 => tick.saturating_mul(nanos_per_sec).div_ceil(hz),
            nanos => tick.saturating_mul(u64::from(nanos)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_or_after(hz: u32, nanos: u64) -> u64 {
        Jiffies::new(hz).at_or_after(Time::from_nanos(nanos)).as_nanos()
    }

    #[test]
    fn a_tick_begins_at_or_after_the_time() {
        assert_eq!(at_or_after(1000, 40_000_000), 40_000_000);
        assert_eq!(at_or_after(1000, 40_000_001), 41_000_000);
        assert_eq!(at_or_after(250, 40_000_001), 44_000_000);
        assert_eq!(at_or_after(100, 1), 10_000_000);
    }

    #[test]
    fn ticks_that_are_no_whole_number_of_nanoseconds_do_not_drift() {
        assert_eq!(at_or_after(300, 1), 3_333_334);
        assert_eq!(at_or_after(300, 3_333_335), 6_666_667);
        assert_eq!(at_or_after(300, 3_599_999_999_999), 3_600_000_000_000);
    }

    #[test]
    fn a_tick_that_was_found_before_serves_the_times_it_follows_and_no_others() {
        let mut clock = Jiffies::new(250);
        let mut at = |nanos| clock.at_or_after(Time::from_nanos(nanos)).as_nanos();
        assert_eq!(
            [at(4_000_001), at(8_000_000), at(8_000_001), at(4_000_000)],
            [8_000_000, 8_000_000, 12_000_000, 4_000_000]
        );
    }

    #[test]
    fn zero_hertz_is_exact() {
        assert_eq!(at_or_after(0, 12_345), 12_345);
    }
}
