//! Fluid service at a piecewise constant rate; a constant rate is the schedule with one step.
//!
//! Work is counted in units of 10⁻⁹ bits, of which a rate of R bit/s does exactly R in a nanosecond, so every instant
//! at which a packet ends is a whole nanosecond and a fraction used/R of the next. Keeping `used` makes service exact:
//! n packets of one size end n·8L/R after the first began. A packet begins when the rate is positive (during an outage
//! the queue holds it) and survives outages in its middle. A rate that is set from outside takes the place of
//! everything that the schedule had to come.

use super::profile::{Profile, Segment};
use super::{NANOS, work_of};
use crate::train::{Train, pass};
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// A transmitter with a piecewise constant rate.
#[derive(Clone, Debug)]
pub(crate) struct Fluid {
    /// When the transmitter becomes free, rounded up to a nanosecond.
    free: u64,
    /// The part of the nanosecond before `free` in which it is free already, in units of 1/rate ns: less than the rate.
    spare: u64,
    /// The end of `segment`, or 0 while it has no service.
    serves_until: u64,
    /// Transmission times at the segment's rate of the two sizes seen last: a data packet and an ACK.
    recent: [PacketTime; 2],
    /// The step in which the transmitter becomes free.
    segment: Segment,
    /// The step of the last arrival; followed only for limits in time.
    present: Segment,
    profile: Profile,
    /// Work of what was sent although there is no service for it any more.
    unserved: u128,
    /// The rate was set from outside, and may be set again.
    is_set: bool,
}

/// Time to transmit `bytes`: whole nanoseconds and a remainder in units of 1/rate ns.
#[derive(Clone, Copy, Debug)]
struct PacketTime {
    bytes: u64,
    nanos: u64,
    rest: u64,
}

const NO_PACKET: PacketTime = PacketTime { bytes: u64::MAX, nanos: 0, rest: 0 };

impl Fluid {
    pub(crate) fn constant(rate: u64) -> Fluid {
        Fluid::new(Arc::new([(Time::ZERO, rate)]), None)
    }

    pub(crate) fn new(steps: Arc<[(Time, u64)]>, repeat_after: Option<Duration>) -> Fluid {
        let profile = Profile::new(steps, repeat_after);
        let segment = profile.first();
        let mut fluid = Fluid {
            free: 0,
            spare: 0,
            serves_until: 0,
            recent: [NO_PACKET; 2],
            segment,
            present: segment,
            profile,
            unserved: 0,
            is_set: false,
        };
        fluid.enter(segment);
        fluid
    }

    /// A transmitter that is free from `now` on, at a rate that somebody outside has set. `nominal` is the rate that a
    /// limit in time refers to while this one is zero.
    pub(crate) fn set_at(now: Time, rate: u64, nominal: u64) -> Fluid {
        let steps: Arc<[(Time, u64)]> = match rate {
            0 => Arc::new([(Time::ZERO, nominal), (now, 0)]),
            rate => Arc::new([(Time::ZERO, rate)]),
        };
        let mut fluid = Fluid { free: now.as_nanos(), is_set: true, ..Fluid::new(steps, None) };
        fluid.enter(fluid.profile.seek(fluid.segment, now.as_nanos()));
        fluid
    }

    /// The rate that a limit in time refers to at `now`.
    pub(crate) fn nominal_rate(&self, now: Time) -> u64 {
        self.profile.nominal_rate(self.profile.seek(self.present, now.as_nanos()))
    }

    /// The work, at `now`, that is left of all that has been sent.
    pub(crate) fn work_left(&self, now: Time) -> u128 {
        let now = now.as_nanos();
        if self.free <= now {
            return 0;
        }
        let (free, used) = self.free_and_used();
        self.profile.work(self.profile.seek(self.present, now), now, free) + u128::from(used) + self.unserved
    }

    /// Whether what would be sent next begins before `now`, which is the instant that [`seek`](Self::seek) found: it
    /// may have been rounded up.
    pub(crate) fn begins_before(&self, now: Time) -> bool {
        self.free == now.as_nanos() && self.spare > 0
    }

    #[inline]
    pub(crate) fn seek(&mut self, ready: Time) -> Time {
        if ready.as_nanos() >= self.free {
            self.free = ready.as_nanos();
            self.spare = 0;
        }
        if self.free >= self.serves_until {
            self.seek_service();
        }
        Time::from_nanos(self.free)
    }

    /// Moves on to the first instant with a positive rate.
    #[cold]
    fn seek_service(&mut self) {
        let (free, _) = self.free_and_used();
        let mut segment = self.profile.seek(self.segment, free);
        while segment.rate == 0 {
            self.free = segment.end;
            self.spare = 0;
            if self.free == u64::MAX {
                break;
            }
            segment = self.profile.next(segment);
        }
        self.enter(segment);
    }

    fn enter(&mut self, segment: Segment) {
        if segment.rate != self.segment.rate {
            self.recent = [NO_PACKET; 2];
        }
        self.segment = segment;
        self.serves_until = if segment.rate > 0 { segment.end } else { 0 };
    }

    /// When the transmitter becomes free, as whole nanoseconds and units of 1/rate ns.
    fn free_and_used(&self) -> (u64, u64) {
        if self.spare > 0 { (self.free - 1, self.segment.rate - self.spare) } else { (self.free, 0) }
    }

    /// Sends from the instant that [`seek`](Self::seek) found.
    #[inline(always)]
    pub(crate) fn send(&mut self, bytes: u64) -> Time {
        if self.recent[0].bytes != bytes {
            self.find_packet_time(bytes);
        }
        let PacketTime { nanos, rest, .. } = self.recent[0];
        if nanos < self.segment.end - self.free {
            pass(&mut self.free, &mut self.spare, (nanos, rest), self.segment.rate);
        } else {
            self.serve(work_of(bytes));
        }
        Time::from_nanos(self.free)
    }

    /// Sends `count` packets of `bytes` each from the instant that [`seek`](Self::seek) found, if one rate serves them
    /// all and every one takes time; returns when they begin.
    #[inline(always)]
    pub(crate) fn send_train(&mut self, bytes: u64, count: u32) -> Option<Train> {
        let train = self.train(bytes, count)?;
        (self.free, self.spare) = train.end();
        Some(train)
    }

    /// When they would begin that [`send_train`](Self::send_train) would send.
    #[inline(always)]
    pub(crate) fn train(&mut self, bytes: u64, count: u32) -> Option<Train> {
        if self.recent[0].bytes != bytes {
            self.find_packet_time(bytes);
        }
        let PacketTime { nanos, rest, .. } = self.recent[0];
        let is_served = nanos > 0 && (nanos + 1).saturating_mul(u64::from(count)) < self.segment.end - self.free;
        if !is_served {
            return None;
        }
        Some(Train::new(self.free, self.spare, (nanos, rest), self.segment.rate, count))
    }

    /// How many of `count` packets of `bytes` each will have begun by `instant` if they are sent from the instant that
    /// [`seek`](Self::seek) found; `None` where the rate is not constant.
    pub(crate) fn count_begun_by(&mut self, instant: Time, bytes: u64, count: u32) -> Option<u32> {
        if !self.profile.is_constant() {
            return None;
        }
        if self.recent[0].bytes != bytes {
            self.find_packet_time(bytes);
        }
        let PacketTime { nanos, rest, .. } = self.recent[0];
        let starts = Train::new(self.free, self.spare, (nanos, rest), self.segment.rate, count);
        Some(if starts.over_by() <= instant { count } else { count - starts.count_after(instant) })
    }

    /// Puts the transmission time of `bytes` first.
    #[inline(never)]
    fn find_packet_time(&mut self, bytes: u64) {
        if self.recent[1].bytes != bytes {
            let work = work_of(bytes);
            let rate = self.segment.rate.max(1);
            self.recent[1] = PacketTime { bytes, nanos: work / rate, rest: work % rate };
        }
        self.recent.swap(0, 1);
    }

    /// Does some work, which may not end within the present step; returns when it is done.
    #[cold]
    pub(crate) fn serve(&mut self, mut work: u64) -> Time {
        let mut segment = self.segment;
        let (mut free, mut used) = self.free_and_used();
        if let Some(period) = self.profile.period
            && u128::from(work) > self.profile.period_work
        {
            // Whole periods change nothing but the time; at least a part of one is left.
            let periods = (u128::from(work) - 1) / self.profile.period_work;
            #[expect(clippy::cast_possible_truncation, reason = "it is less than `work`")]
            let done = (periods * self.profile.period_work) as u64;
            work -= done;
            let span = period.saturating_mul(u64::try_from(periods).unwrap_or(u64::MAX));
            free = free.saturating_add(span);
            segment = self.profile.segment(segment.base.saturating_add(span), segment.step);
        }
        while free < u64::MAX {
            let rate = segment.rate;
            let room = segment.end.saturating_sub(free).saturating_mul(rate).saturating_sub(used);
            if work <= room && rate > 0 {
                used += work;
                free += used / rate;
                used %= rate;
                work = 0;
                break;
            }
            work -= room;
            free = segment.end;
            used = 0;
            if free < u64::MAX {
                segment = self.profile.next(segment);
            }
        }
        self.enter(segment);
        self.free = free + u64::from(used > 0);
        self.spare = if used > 0 { segment.rate - used } else { 0 };
        self.unserved += u128::from(work);
        Time::from_nanos(self.free)
    }

    pub(crate) fn waits_at_most(&mut self, limit: Duration, now: Time, queued_bytes: u64) -> bool {
        let now = now.as_nanos();
        if self.profile.is_constant() && queued_bytes == 0 {
            return self.free <= now.saturating_add(limit.as_nanos());
        }
        if self.free == u64::MAX && !self.is_set {
            return false;
        }
        self.present = self.profile.seek(self.present, now);
        let (free, used) = self.free_and_used();
        let mut work = u128::from(queued_bytes) * u128::from(8 * NANOS) + u128::from(used) + self.unserved;
        work += self.profile.work(self.present, now, free);
        work <= u128::from(self.profile.nominal_rate(self.present)) * u128::from(limit.as_nanos())
    }

    /// The work that could be done after `from` and up to `to`.
    #[inline]
    pub(crate) fn capacity(&self, from: Time, to: Time) -> u128 {
        if let Some(rate) = self.profile.constant() {
            return u128::from(rate) * u128::from(to.since(from).as_nanos());
        }
        let segment = self.profile.seek(self.profile.first(), from.as_nanos());
        self.profile.work(segment, from.as_nanos(), to.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn schedule(steps: &[(u64, u64)], repeat_ms: Option<u64>) -> Fluid {
        let steps: Vec<_> = steps.iter().map(|&(ms, rate)| (at(ms * MS), rate)).collect();
        Fluid::new(steps.into(), repeat_ms.map(Duration::from_millis))
    }

    fn capacity_bits(fluid: &Fluid, from: Time, to: Time) -> u64 {
        u64::try_from(fluid.capacity(from, to) / u128::from(NANOS)).unwrap()
    }

    fn transmit(fluid: &mut Fluid, ready: u64, bytes: u64) -> (u64, u64) {
        let starts = fluid.seek(at(ready));
        (starts.as_nanos(), fluid.send(bytes).as_nanos())
    }

    #[test]
    fn a_million_packets_take_a_million_times_the_exact_packet_time() {
        for rate in [10_000_000, 7_777_777, 96_000_001, 999_999_999_989] {
            let mut fluid = Fluid::constant(rate);
            let mut end = 0;
            for i in 0..1_000_000u64 {
                let bytes = if i % 3 == 0 { 1500 } else { 1499 };
                end = transmit(&mut fluid, 0, bytes).1;
            }
            let bits: u128 = 8 * (333_334 * 1500 + 666_666 * 1499);
            assert_eq!(u128::from(end), (bits * u128::from(NANOS)).div_ceil(u128::from(rate)), "rate {rate}");
        }
    }

    #[test]
    fn an_idle_transmitter_starts_at_once_and_a_busy_one_at_the_end_of_its_packet() {
        let mut fluid = Fluid::constant(12_000_000);
        assert_eq!(transmit(&mut fluid, 5, 1500), (5, 5 + MS));
        assert_eq!(transmit(&mut fluid, 6, 1500), (5 + MS, 5 + 2 * MS));
        assert_eq!(transmit(&mut fluid, 9 * MS, 1500), (9 * MS, 10 * MS));
    }

    #[test]
    fn what_follows_a_packet_that_ends_within_a_nanosecond_begins_in_it() {
        // 12,000 bits at 7 Gbit/s take 1,714 ns and two sevenths.
        let mut fluid = Fluid::constant(7_000_000_000);
        assert!(!fluid.begins_before(at(0)));
        assert_eq!(transmit(&mut fluid, 0, 1500), (0, 1_715));
        assert!(fluid.begins_before(at(1_715)) && !fluid.begins_before(at(1_714)));
        // The seventh packet ends at a whole nanosecond.
        for _ in 1..7 {
            transmit(&mut fluid, 0, 1500);
        }
        assert!(!fluid.begins_before(at(12_000)));
        assert_eq!(fluid.seek(at(12_000)), at(12_000));
        transmit(&mut fluid, 12_000, 1500);
        assert_eq!(fluid.seek(at(20_000)), at(20_000), "it has been free for long");
        assert!(!fluid.begins_before(at(20_000)));
    }

    #[test]
    fn a_packet_that_spans_a_step_gets_both_rates() {
        // 12 Mb/s for 1.5 ms, then 6 Mb/s: the second packet does half of its bits at each rate.
        let mut fluid = Fluid::new(Arc::new([(at(0), 12_000_000), (at(MS + MS / 2), 6_000_000)]), None);
        assert_eq!(transmit(&mut fluid, 0, 1500).1, MS);
        assert_eq!(transmit(&mut fluid, 0, 1500).1, MS + MS / 2 + MS);
        assert_eq!(transmit(&mut fluid, 0, 1500).1, MS + MS / 2 + 3 * MS);
    }

    #[test]
    fn an_outage_holds_packets_and_interrupts_the_one_in_service() {
        let mut fluid = schedule(&[(0, 12_000_000), (2, 0), (10, 12_000_000)], None);
        assert_eq!(transmit(&mut fluid, MS + MS / 2, 1500), (MS + MS / 2, 10 * MS + MS / 2));
        let mut fluid = schedule(&[(0, 12_000_000), (2, 0), (10, 12_000_000)], None);
        assert_eq!(transmit(&mut fluid, 3 * MS, 1500), (10 * MS, 11 * MS));
        let mut ending = schedule(&[(0, 12_000_000), (2, 0)], None);
        assert_eq!(transmit(&mut ending, 2 * MS - 1, 1500).1, u64::MAX);
        assert_eq!(ending.seek(at(3 * MS)), Time::NEVER);
    }

    #[test]
    fn a_schedule_repeats() {
        let mut fluid = schedule(&[(0, 12_000_000), (1, 0)], Some(10));
        let starts: Vec<_> = (0..4).map(|_| transmit(&mut fluid, 0, 1500)).collect();
        assert_eq!(starts, [0, 10, 20, 30].map(|ms| (ms * MS, (ms + 1) * MS)));
        // After a pause of many periods.
        assert_eq!(transmit(&mut fluid, 12_345 * 10 * MS + 5 * MS, 1500).0, 12_346 * 10 * MS);
        assert_eq!(capacity_bits(&fluid, at(0), at(100 * MS)), 120_000);
        assert_eq!(capacity_bits(&fluid, at(MS / 2), at(10 * MS + MS / 2)), 12_000);
        let mut dead = schedule(&[(0, 0)], Some(10));
        assert_eq!(dead.seek(at(0)), Time::NEVER);
    }

    #[test]
    fn a_schedule_repeats_as_if_it_were_written_out() {
        for steps in [&[(0, 3_000_000_000), (2, 7_000_000_001), (5, 0)][..], &[(0, 0), (3, 999_999_999)], &[(0, 77)]] {
            const PERIOD: u64 = 7;
            let of = |base: u64| steps.iter().map(move |&(start, rate)| (at(base * PERIOD + start), rate));
            let mut repeated = Fluid::new(of(0).collect(), Some(Duration::from_nanos(PERIOD)));
            let mut written_out = Fluid::new((0..40_000).flat_map(of).collect(), None);
            for i in 0..120 {
                let (ready, bytes) = (i * i * 11, 1 + i % 40 * 37);
                let ends = transmit(&mut repeated, ready, bytes);
                if ends.1 > 39_999 * PERIOD {
                    break;
                }
                assert_eq!(ends, transmit(&mut written_out, ready, bytes), "packet {i}");
                assert_eq!((repeated.free, repeated.spare), (written_out.free, written_out.spare));
                let limit = Duration::from_nanos(50);
                assert_eq!(
                    repeated.waits_at_most(limit, at(ready), bytes),
                    written_out.waits_at_most(limit, at(ready), bytes)
                );
                let (from, to) = (at(ready / 3), at(ends.1));
                assert_eq!(capacity_bits(&repeated, from, to), capacity_bits(&written_out, from, to));
            }
        }
    }

    #[test]
    fn the_shortest_period_costs_no_more_than_a_long_one() {
        let mut fluid = Fluid::new(Arc::new([(at(0), 1_000), (at(1), 3_000)]), Some(Duration::from_nanos(2)));
        assert_eq!(transmit(&mut fluid, 0, 1500), (0, 6_000_000_000), "at the mean of 2 kbit/s");
        let month = 31 * 86_400 * NANOS;
        assert_eq!(capacity_bits(&fluid, at(0), at(month)), 2_000 * month / NANOS);
    }

    #[test]
    fn service_across_random_steps_equals_the_integral_of_the_rate() {
        let steps: Vec<(u64, u64)> = (0..200).map(|i| (i, (i * 7919) % 13 * 1_000_003)).collect();
        let mut fluid = schedule(&steps, None);
        let mut bits = 0;
        for i in 0..60 {
            let bytes = 100 + i * 13;
            let (_, end) = transmit(&mut fluid, 0, bytes);
            bits += 8 * bytes;
            let (before, after) = (capacity_bits(&fluid, at(0), at(end - 1)), capacity_bits(&fluid, at(0), at(end)));
            assert!(before < bits && after >= bits, "packet {i} ends at {end}, the first instant with enough work");
        }
    }

    #[test]
    fn a_limit_in_time_refers_to_the_current_rate_and_in_an_outage_to_the_one_before() {
        let limit = Duration::from_millis(10);
        let mut fluid = schedule(&[(0, 12_000_000), (100, 0), (200, 6_000_000)], None);
        let accepted = |fluid: &mut Fluid, ms| {
            let mut n = 0;
            fluid.seek(at(ms * MS));
            while fluid.waits_at_most(limit, at(ms * MS), 0) {
                fluid.send(1500);
                fluid.seek(at(ms * MS));
                n += 1;
            }
            n
        };
        assert_eq!(accepted(&mut fluid, 50), 11, "ten that wait up to 10 ms and the one that does not wait");
        assert_eq!(accepted(&mut fluid, 150), 11);
        assert_eq!(accepted(&mut fluid, 400), 6);
    }
}
