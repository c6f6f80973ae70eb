//! The rate of a transmitter over time: steps, which may repeat.

use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// Far above any link; keeps sums of two remainders within 64 bits.
const MAX_RATE: u64 = 1 << 62;

/// A rate that is constant until `end` (nanoseconds; `u64::MAX` is for ever).
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) rate: u64,
    pub(super) end: u64,
    /// Start of the repetition it belongs to.
    pub(super) base: u64,
    pub(super) step: usize,
}

/// The steps of a schedule. Steps at or after the end of the period never come into force.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    steps: Arc<[(Time, u64)]>,
    pub(super) period: Option<u64>,
    /// Work done in a period; positive where there is one.
    pub(super) period_work: u128,
}

impl Profile {
    pub(super) fn new(steps: Arc<[(Time, u64)]>, repeat_after: Option<Duration>) -> Profile {
        let period = repeat_after.map(|period| period.as_nanos());
        // A period without any service would have to be searched for ever: it is the same as one endless outage.
        let serves = |period| steps.iter().any(|&(start, rate)| rate > 0 && start.as_nanos() < period);
        match period {
            Some(period) if !serves(period) => Profile::outage(),
            _ if steps.is_empty() => Profile::outage(),
            None => Profile { steps, period, period_work: 0 },
            Some(end) => {
                // Without its period the work of one can be added up step by step.
                let mut profile = Profile { steps, period: None, period_work: 0 };
                profile.period_work = profile.work(profile.first(), 0, end);
                Profile { period, ..profile }
            }
        }
    }

    /// One that never transmits.
    fn outage() -> Profile {
        Profile { steps: Arc::new([(Time::ZERO, 0)]), period: None, period_work: 0 }
    }

    pub(super) fn is_constant(&self) -> bool {
        self.constant().is_some()
    }

    /// The rate, if it never changes.
    #[inline]
    pub(super) fn constant(&self) -> Option<u64> {
        match *self.steps {
            [(_, rate)] => Some(rate.min(MAX_RATE)),
            _ => None,
        }
    }

    pub(super) fn first(&self) -> Segment {
        self.segment(0, 0)
    }

    pub(super) fn segment(&self, base: u64, step: usize) -> Segment {
        let period_end = self.period.map_or(u64::MAX, |period| base.saturating_add(period));
        let next = self.steps.get(step + 1).map_or(u64::MAX, |&(start, _)| base.saturating_add(start.as_nanos()));
        Segment { rate: self.steps[step].1.min(MAX_RATE), end: next.min(period_end), base, step }
    }

    /// The segment after a segment that ends.
    pub(super) fn next(&self, segment: Segment) -> Segment {
        let period_end = self.period.map_or(u64::MAX, |period| segment.base.saturating_add(period));
        if segment.end == period_end {
            self.segment(period_end, 0)
        } else {
            self.segment(segment.base, segment.step + 1)
        }
    }

    /// The segment in force at `instant`, which `segment` does not follow.
    pub(super) fn seek(&self, mut segment: Segment, instant: u64) -> Segment {
        if let Some(period) = self.period
            && instant - segment.base >= period
        {
            segment = self.segment(segment.base + (instant - segment.base) / period * period, 0);
        }
        while instant >= segment.end && segment.end < u64::MAX {
            segment = self.next(segment);
        }
        segment
    }

    /// Work done between two instants, the first of which lies in `segment`.
    pub(super) fn work(&self, mut segment: Segment, from: u64, mut to: u64) -> u128 {
        let mut at = from;
        let mut work = 0;
        if let Some(period) = self.period {
            let periods = to.saturating_sub(from) / period;
            to -= periods * period;
            work = u128::from(periods) * self.period_work;
        }
        while at < to {
            let end = segment.end.min(to);
            work += u128::from(end - at) * u128::from(segment.rate);
            at = end;
            if at < to {
                segment = self.next(segment);
            }
        }
        work
    }

    /// The rate a limit in time refers to: during an outage the one before it, or else the first to come.
    pub(super) fn nominal_rate(&self, segment: Segment) -> u64 {
        let (past, future) = self.steps.split_at(segment.step + 1);
        past.iter().rev().chain(future).map(|&(_, rate)| rate).find(|&rate| rate > 0).unwrap_or(0)
    }
}
