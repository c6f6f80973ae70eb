//! Times of a clock with a coarse resolution.

use dumbbell_units::{Duration, Time};

/// The last multiple of `unit` that is not after `at`; `at` itself when `unit` is zero.
#[inline]
pub(super) fn rounded_down(at: Time, unit: Duration) -> Time {
    if unit == Duration::ZERO { at } else { Time::from_nanos(at.as_nanos() - at.as_nanos() % unit.as_nanos()) }
}

/// The first multiple of `unit` that is not before `at`; `at` itself when `unit` is zero.
#[inline]
pub(super) fn rounded_up(at: Time, unit: Duration) -> Time {
    if unit == Duration::ZERO || at == Time::NEVER {
        return at;
    }
    at.as_nanos().checked_next_multiple_of(unit.as_nanos()).map_or(Time::NEVER, Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_units_and_never_stays_never() {
        let (at, unit) = (Time::from_nanos(1_700), Duration::from_micros(1));
        assert_eq!((rounded_down(at, unit), rounded_up(at, unit)), (Time::from_nanos(1_000), Time::from_nanos(2_000)));
        assert_eq!((rounded_down(at, Duration::ZERO), rounded_up(at, Duration::ZERO)), (at, at));
        assert_eq!(rounded_up(Time::from_nanos(2_000), unit), Time::from_nanos(2_000));
        assert_eq!(rounded_up(Time::NEVER, unit), Time::NEVER);
        let last = Time::from_nanos(u64::MAX - 1);
        assert_eq!(rounded_up(last, unit), Time::NEVER, "there is no multiple behind it");
    }
}
