//! Values that change with time: steps, which may repeat.

use crate::problem::Problem;
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// A value that is constant from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule<T> {
    /// Start and value of every step, in order of time; the first starts at 0.
    pub steps: Arc<[(Time, T)]>,
    /// The schedule starts again after this span; `None` keeps the last value.
    pub repeat_after: Option<Duration>,
}

impl<T: Copy> Schedule<T> {
    /// The steps with these starts and values.
    ///
    /// # Errors
    /// There is no step, the first does not start at 0, they are not in the order of time, or the last one starts after
    /// the end of the period. The keys of the problems are `steps` and `repeat`.
    pub fn new(steps: impl Into<Arc<[(Time, T)]>>, repeat_after: Option<Duration>) -> Result<Schedule<T>, Problem> {
        let steps = steps.into();
        let Some((first, last)) = steps.first().zip(steps.last()) else {
            return Err(Problem::value("steps", "the schedule has no step", "the first step must start at \"0s\""));
        };
        if first.0 != Time::ZERO {
            let message = format!("the schedule starts at {}", first.0);
            return Err(Problem::value("steps", message, "the first step must start at \"0s\""));
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            let message = format!("a step at {} follows one at {}", pair[1].0, pair[0].0);
            return Err(Problem::value("steps", message, "steps must be in the order of time"));
        }
        if let Some(period) = repeat_after.filter(|period| Time::ZERO + *period <= last.0) {
            let message = format!("the schedule repeats after {period}, but its last step starts at {}", last.0);
            return Err(Problem::value("repeat", message, "`repeat` must be later than the last step"));
        }
        Ok(Schedule { steps, repeat_after })
    }

    /// The value in force at `now`.
    pub fn at(&self, now: Time) -> T {
        let nanos = now.as_nanos();
        let within = match self.repeat_after {
            Some(period) if now < Time::NEVER => Time::from_nanos(nanos % period.as_nanos().max(1)),
            _ => now,
        };
        let later = self.steps.partition_point(|(start, _)| *start <= within);
        self.steps[later.saturating_sub(1)].1
    }

    /// When the next step begins after `now`; [`Time::NEVER`] if there is none.
    pub fn next_change(&self, now: Time) -> Time {
        let period = self.repeat_after.map_or(u64::MAX, |period| period.as_nanos().max(1));
        let (base, within) = match self.repeat_after {
            Some(_) => (now.as_nanos() / period * period, Time::from_nanos(now.as_nanos() % period)),
            None => (0, now),
        };
        let later = self.steps.partition_point(|(start, _)| *start <= within);
        let next = self.steps.get(later).map_or(period, |(start, _)| start.as_nanos());
        Time::from_nanos(base.saturating_add(next))
    }

    /// All values, in the order of their steps.
    pub fn values(&self) -> impl Iterator<Item = T> {
        self.steps.iter().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(starts_ms: &[u64], repeat_ms: Option<u64>) -> Result<Schedule<usize>, Problem> {
        let at = |ms: &u64| Time::ZERO + Duration::from_millis(*ms);
        let steps: Vec<_> = starts_ms.iter().map(at).zip(0..).collect();
        Schedule::new(steps, repeat_ms.map(Duration::from_millis))
    }

    #[test]
    fn a_step_holds_from_its_start_to_the_next_and_the_last_one_on() {
        let schedule = schedule(&[0, 10, 30], None).unwrap();
        let at = |nanos| schedule.at(Time::from_nanos(nanos));
        assert_eq!([0, 9_999_999, 10_000_000, 29_999_999, 30_000_000, u64::MAX].map(at), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_schedule_repeats() {
        let schedule = schedule(&[0, 10], Some(25)).unwrap();
        let at = |ms| schedule.at(Time::ZERO + Duration::from_millis(ms));
        assert_eq!([0, 10, 24, 25, 34, 35, 250_000_010].map(at), [0, 1, 1, 0, 0, 1, 1]);
        let change = |ms| schedule.next_change(Time::ZERO + Duration::from_millis(ms)).as_nanos() / 1_000_000;
        assert_eq!([0, 9, 10, 24, 25, 35].map(change), [10, 10, 25, 25, 35, 50]);
    }

    #[test]
    fn steps_that_cannot_be_meant_are_refused() {
        let refused = |starts_ms: &[u64], repeat_ms| schedule(starts_ms, repeat_ms).unwrap_err();
        assert_eq!(refused(&[], None).message, "the schedule has no step");
        assert_eq!(refused(&[5], None).message, "the schedule starts at 5ms");
        assert_eq!(refused(&[0, 5, 5], None).message, "a step at 5ms follows one at 5ms");
        assert_eq!(refused(&[0, 5], Some(5)).key, "repeat");
    }
}
