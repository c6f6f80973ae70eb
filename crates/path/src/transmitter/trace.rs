//! Mahimahi's trace-driven link: opportunities to deliver 1504 bytes at given milliseconds.
//!
//! At an opportunity the packet in transit and then packets from the queue are served until the budget of 1504 bytes is
//! used or nothing waits; what is left is lost. A packet may be split over several opportunities and leaves at the last
//! of them. A packet counts its IP length and 4 bytes of the TUN device's header, so one of 1500 bytes uses exactly one
//! opportunity, and capacity is counted as 12 000 bits an opportunity. Opportunities come before arrivals of the same
//! instant. After its last line a trace begins again, shifted by that line's time, unless it runs once.

use super::{NANOS, work_of};
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// Bytes an opportunity can deliver.
const OPPORTUNITY: u64 = 1504;
/// What capacity statistics count for an opportunity.
const OPPORTUNITY_BITS: u64 = 12_000;
/// Bytes a packet has on Mahimahi's device besides its IP length.
pub(crate) const DEVICE_HEADER: u64 = 4;
const NANOS_PER_MS: u64 = 1_000_000;

/// A transmitter driven by a trace. The cursor is the opportunity that has served the last packet or will serve the
/// next.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    opportunities_ms: Arc<[u32]>,
    last_ms: u64,
    once: bool,
    index: usize,
    base_ms: u64,
    /// Instant of the cursor in nanoseconds, `u64::MAX` after the end.
    at: u64,
    /// Bytes the cursor can still deliver.
    budget: u64,
    /// Bytes of what was sent although the trace is over.
    unserved: u64,
}

impl Trace {
    pub(crate) fn new(opportunities_ms: Arc<[u32]>, once: bool) -> Trace {
        let last_ms = opportunities_ms.last().map_or(0, |&ms| u64::from(ms));
        // A trace without duration cannot be looped; it has its opportunities and ends.
        let once = once || last_ms == 0;
        let mut trace = Trace {
            opportunities_ms,
            last_ms,
            once,
            index: 0,
            base_ms: 0,
            at: u64::MAX,
            budget: OPPORTUNITY,
            unserved: 0,
        };
        trace.settle();
        trace
    }

    #[inline]
    pub(crate) fn seek(&mut self, ready: Time) -> Time {
        let ready = ready.as_nanos();
        if self.at.saturating_add(8 * NANOS_PER_MS) < ready {
            self.jump(ready);
        }
        while self.at <= ready || self.budget == 0 {
            self.step();
        }
        Time::from_nanos(self.at)
    }

    pub(crate) fn send(&mut self, bytes: u64) -> Time {
        let mut left = bytes;
        while self.at < u64::MAX {
            let served = left.min(self.budget);
            left -= served;
            self.budget -= served;
            if left == 0 {
                break;
            }
            self.step();
        }
        self.unserved += left;
        Time::from_nanos(self.at)
    }

    /// The work, at `now`, that is left of all that has been sent. Opportunities at `now` have been.
    pub(crate) fn work_left(&self, now: Time) -> u128 {
        let to_come = match self.at {
            u64::MAX => (self.index as u64).saturating_sub(self.count_until(now.as_nanos())) * OPPORTUNITY,
            _ => self.served_after(now),
        };
        u128::from(work_of(to_come + self.unserved))
    }

    /// Bytes that opportunities after `now` serve of what has been sent.
    fn served_after(&self, now: Time) -> u64 {
        let passes = self.base_ms.checked_div(self.last_ms).unwrap_or(0);
        let number = passes * self.opportunities_ms.len() as u64 + self.index as u64;
        let opportunities = (number + 1).saturating_sub(self.count_until(now.as_nanos()));
        (opportunities * OPPORTUNITY).saturating_sub(self.budget)
    }

    fn step(&mut self) {
        self.index += 1;
        if self.index >= self.opportunities_ms.len() && !self.once {
            self.index = 0;
            self.base_ms += self.last_ms;
        }
        self.settle();
    }

    /// Moves to the first opportunity after `instant`, which is later than the cursor.
    fn jump(&mut self, instant: u64) {
        let ms = instant / NANOS_PER_MS;
        self.base_ms = if self.once { 0 } else { ms / self.last_ms * self.last_ms };
        self.index = self.opportunities_until(ms - self.base_ms);
        self.settle();
    }

    fn settle(&mut self) {
        self.budget = OPPORTUNITY;
        self.at = match self.opportunities_ms.get(self.index) {
            Some(&ms) => (self.base_ms + u64::from(ms)).saturating_mul(NANOS_PER_MS),
            None => u64::MAX,
        };
    }

    /// Opportunities of one pass at or before `ms` milliseconds from its start.
    fn opportunities_until(&self, ms: u64) -> usize {
        self.opportunities_ms.partition_point(|&opportunity| u64::from(opportunity) <= ms)
    }

    /// Opportunities at or before `instant` nanoseconds.
    fn count_until(&self, instant: u64) -> u64 {
        let ms = instant / NANOS_PER_MS;
        if self.once {
            return self.opportunities_until(ms) as u64;
        }
        ms / self.last_ms * self.opportunities_ms.len() as u64 + self.opportunities_until(ms % self.last_ms) as u64
    }

    pub(crate) fn waits_at_most(&self, limit: Duration, now: Time, queued_bytes: u64) -> bool {
        if self.at == u64::MAX || self.last_ms == 0 {
            return false;
        }
        let ahead = self.served_after(now) + queued_bytes;
        // ahead / OPPORTUNITY opportunities at an average distance of last / n.
        u128::from(ahead) * u128::from(self.last_ms * NANOS_PER_MS)
            <= u128::from(limit.as_nanos()) * self.opportunities_ms.len() as u128 * u128::from(OPPORTUNITY)
    }

    /// The mean rate in bits per second, of packets as their own lengths count.
    pub(crate) fn mean_rate(&self) -> u64 {
        let bits = self.opportunities_ms.len() as u64 * OPPORTUNITY_BITS;
        (bits * 1_000).checked_div(self.last_ms).unwrap_or(0)
    }

    /// The work that could be done after `from` and up to `to`.
    pub(crate) fn capacity(&self, from: Time, to: Time) -> u128 {
        let opportunities = self.count_until(to.as_nanos()) - self.count_until(from.as_nanos());
        u128::from(opportunities * OPPORTUNITY_BITS) * u128::from(NANOS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(opportunities_ms: &[u32], once: bool) -> Trace {
        Trace::new(opportunities_ms.into(), once)
    }

    fn capacity_bits(trace: &Trace, from: Time, to: Time) -> u64 {
        u64::try_from(trace.capacity(from, to) / u128::from(NANOS)).unwrap()
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * NANOS_PER_MS)
    }

    /// Start and departure in milliseconds of a packet of that IP length.
    fn transmit(trace: &mut Trace, ready: Time, size: u64) -> (u64, u64) {
        let starts = trace.seek(ready);
        let departs = trace.send(size + DEVICE_HEADER);
        (starts.as_nanos() / NANOS_PER_MS, departs.as_nanos() / NANOS_PER_MS)
    }

    #[test]
    fn packets_are_split_over_opportunities() {
        let mut trace = trace(&[10, 20, 30], false);
        let served: Vec<_> = (0..3).map(|_| transmit(&mut trace, ms(0), 1000)).collect();
        assert_eq!(served, [(10, 10), (10, 20), (20, 30)]);
        assert_eq!(trace.budget, 3 * 1504 - 3 * 1004);
    }

    #[test]
    fn twenty_six_acks_share_an_opportunity_and_the_next_is_split() {
        let mut trace = trace(&[10, 20, 30], false);
        let served: Vec<_> = (0..27).map(|_| transmit(&mut trace, ms(0), 52)).collect();
        assert!(served[..26].iter().all(|&s| s == (10, 10)));
        assert_eq!(served[26], (10, 20));
    }

    #[test]
    fn an_opportunity_serves_only_what_arrived_before_it_and_what_it_leaves_is_lost() {
        let mut trace = trace(&[10, 20, 30], false);
        assert_eq!(transmit(&mut trace, ms(9), 52), (10, 10));
        assert_eq!(transmit(&mut trace, ms(10), 52), (20, 20), "1448 bytes of the opportunity at 10 ms were lost");
        assert_eq!(transmit(&mut trace, Time::from_nanos(19_999_999), 1444), (20, 20));
        assert_eq!(transmit(&mut trace, Time::from_nanos(19_999_999), 1500), (30, 30));
    }

    #[test]
    fn a_trace_loops_at_its_last_line() {
        let mut looped = trace(&[5, 10], false);
        let departures: Vec<_> = (0..5).map(|_| transmit(&mut looped, ms(0), 1500).1).collect();
        assert_eq!(departures, [5, 10, 15, 20, 25]);
        let mut from_zero = trace(&[0, 10], false);
        let departures: Vec<_> = (0..5).map(|_| transmit(&mut from_zero, ms(0), 1500).1).collect();
        assert_eq!(departures, [10, 10, 20, 20, 30], "the first line of a pass comes with the last of the pass before");
        assert_eq!(capacity_bits(&from_zero, ms(0), ms(30)), 6 * 12_000);
    }

    #[test]
    fn a_jump_over_a_pause_finds_the_same_opportunity_as_single_steps() {
        for opportunities in [&[0, 3, 3, 17][..], &[5], &[1, 2, 40]] {
            for nanos in (0..400).map(|i| i * 777_777) {
                let mut jumped = trace(opportunities, false);
                let mut stepped = trace(opportunities, false);
                jumped.jump(nanos);
                while stepped.at <= nanos {
                    stepped.step();
                }
                assert_eq!((jumped.at, jumped.index), (stepped.at, stepped.index));
            }
        }
    }

    #[test]
    fn after_a_single_pass_nothing_leaves() {
        let mut once = trace(&[5, 10], true);
        assert_eq!(transmit(&mut once, ms(0), 1500).1, 5);
        assert_eq!(transmit(&mut once, ms(0), 1000).1, 10);
        assert_eq!(once.seek(ms(0)), ms(10));
        assert_eq!(once.send(1004), Time::NEVER, "it is cut in the middle");
        assert_eq!(once.seek(ms(100)), Time::NEVER);
        assert!(!once.waits_at_most(Duration::from_secs(3_600), ms(100), 0), "what waits now waits for ever");
        assert_eq!(capacity_bits(&once, ms(5), ms(1000)), 12_000);
        assert_eq!(trace(&[], false).seek(ms(0)), Time::NEVER);
    }

    #[test]
    fn a_line_per_millisecond_is_exactly_twelve_megabits() {
        let mut trace = trace(&[1], false);
        for i in 1..=10_000 {
            assert_eq!(transmit(&mut trace, ms(0), 1500).1, i);
        }
        assert_eq!(capacity_bits(&trace, ms(0), ms(10_000)), 120_000_000);
    }

    #[test]
    fn a_limit_in_time_counts_opportunities_at_the_mean_rate() {
        let mut trace = trace(&[1], false);
        let mut accepted = 0;
        trace.seek(ms(100));
        while trace.waits_at_most(Duration::from_millis(10), ms(100), 0) {
            trace.send(1504);
            trace.seek(ms(100));
            accepted += 1;
        }
        assert_eq!(accepted, 11, "ten full packets ahead are ten milliseconds");
    }

    #[test]
    fn what_is_left_of_what_was_sent_is_what_later_opportunities_serve_and_what_none_will() {
        let left = |trace: &Trace, at| u64::try_from(trace.work_left(ms(at)) / u128::from(work_of(1))).unwrap();
        let mut looped = trace(&[10, 20, 30], false);
        transmit(&mut looped, ms(0), 1000 - DEVICE_HEADER);
        assert_eq!((left(&looped, 0), left(&looped, 10)), (1000, 0));
        transmit(&mut looped, ms(0), 1500);
        assert_eq!((left(&looped, 0), left(&looped, 10), left(&looped, 20)), (2504, 1000, 0));
        let mut once = trace(&[10, 20, 30], true);
        let last: Vec<_> = (0..4).map(|_| transmit(&mut once, ms(0), 1500)).collect();
        assert_eq!(last[2], (30, 30), "the fourth packet never leaves");
        assert_eq!([0, 10, 25, 30, 99].map(|at| left(&once, at)), [4, 3, 2, 1, 1].map(|packets| packets * 1504));
    }
}
