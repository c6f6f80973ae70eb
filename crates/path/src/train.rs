//! Packet trains: packets of one size that pass a point one behind the other, at one rate.
//!
//! The packets of a burst cross a link back to back. So a link does not compute the times of each packet: the first
//! instant and the exact packet time tell when each of them begins transmission, ends it and arrives. At most rates a
//! packet takes whole nanoseconds. Then one multiplication is enough for several packets; otherwise the fraction of a
//! nanosecond that a packet leaves over is carried to the next.

use dumbbell_units::{Duration, Time};

/// The instants at which packets pass that have not passed yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Train {
    /// The first one, rounded up to a nanosecond.
    next: u64,
    /// By how much it was rounded, in units of 1/rate ns: less than the rate.
    spare: u64,
    /// The packet time: whole nanoseconds and a rest in units of 1/rate ns.
    nanos: u64,
    rest: u64,
    rate: u64,
    left: u32,
}

/// Moves an instant, given as above, by a packet time.
#[inline(always)]
pub(crate) fn pass(next: &mut u64, spare: &mut u64, (nanos, rest): (u64, u64), rate: u64) {
    let borrows = *spare < rest;
    *next += nanos + u64::from(borrows);
    *spare = *spare + if borrows { rate } else { 0 } - rest;
}

impl Train {
    /// `count` packets from `next` and `spare` on, which take `packet_time` each at `rate`.
    #[inline(always)]
    pub(crate) fn new(next: u64, spare: u64, packet_time: (u64, u64), rate: u64, count: u32) -> Train {
        let (nanos, rest) = packet_time;
        Train { next, spare, nanos, rest, rate, left: count }
    }

    /// One packet, which passes from `begins` to `ends`.
    #[inline]
    pub(crate) fn one(begins: Time, ends: Time) -> Train {
        Train { next: begins.as_nanos(), nanos: ends.since(begins).as_nanos(), left: 1, ..Train::default() }
    }

    /// Becomes one packet that passes at `at`. It is written in place: a copy of what was written a moment ago in
    /// smaller parts would have to wait for them.
    #[inline(always)]
    pub(crate) fn become_one(&mut self, at: Time) {
        self.next = at.as_nanos();
        self.spare = 0;
        self.nanos = 0;
        self.rest = 0;
        self.rate = 0;
        self.left = 1;
    }

    /// `count` packets that pass together.
    #[inline]
    pub fn at_once(at: Time, count: u32) -> Train {
        Train { next: at.as_nanos(), left: count, ..Train::default() }
    }

    /// These packets at a point `delay` further on.
    #[inline]
    pub(crate) fn delayed(self, delay: Duration) -> Train {
        Train { next: self.next.saturating_add(delay.as_nanos()), ..self }
    }

    /// The ends of packets whose beginnings these are.
    #[inline(always)]
    pub(crate) fn ends(mut self) -> Train {
        pass(&mut self.next, &mut self.spare, (self.nanos, self.rest), self.rate);
        self
    }

    /// Packets that have not passed yet.
    #[inline]
    pub fn count(&self) -> u32 {
        self.left
    }

    /// When the next packet passes. Behind the last one it is when another one could.
    #[inline]
    pub fn next(&self) -> Time {
        Time::from_nanos(self.next)
    }

    /// A time by which all have passed.
    #[inline]
    pub fn over_by(&self) -> Time {
        Time::from_nanos(self.next.saturating_add(u64::from(self.left) * (self.nanos + 1)))
    }

    /// When another packet could pass behind the last one, and by how much that is rounded.
    #[inline(always)]
    pub(crate) fn end(mut self) -> (u64, u64) {
        if self.rest == 0 {
            self.advance_evenly(self.left);
        } else {
            while self.left > 0 {
                self.advance();
            }
        }
        (self.next, self.spare)
    }

    /// The next packet passes; there must be one.
    #[inline(always)]
    pub fn advance(&mut self) {
        debug_assert!(self.left > 0);
        self.left = self.left.wrapping_sub(1);
        pass(&mut self.next, &mut self.spare, (self.nanos, self.rest), self.rate);
    }

    /// The time between two packets, where it is always the same and not zero.
    #[inline]
    pub(crate) fn even_interval(&self) -> Option<Duration> {
        (self.rest == 0 && self.nanos > 0).then_some(Duration::from_nanos(self.nanos))
    }

    /// Whether all pass at one instant.
    #[inline]
    pub(crate) fn pass_together(&self) -> bool {
        self.rest == 0 && self.nanos == 0
    }

    /// `count` packets pass, where the [interval](Self::even_interval) is even.
    #[inline(always)]
    pub(crate) fn advance_evenly(&mut self, count: u32) {
        debug_assert!(self.left >= count && self.rest == 0);
        self.left = self.left.wrapping_sub(count);
        self.next += u64::from(count) * self.nanos;
    }

    /// Packets pass: at most `most`, which there must be, and only those that do so before `until`. Returns how many
    /// these are, and the sum of the times from `origin` to each of them; `origin` must not be later than the first.
    #[inline(always)]
    pub(crate) fn advance_until(&mut self, until: Time, most: u32, origin: Time) -> (u32, Duration) {
        if self.next() >= until {
            return (0, Duration::ZERO);
        }
        if let Some(interval) = self.even_interval() {
            let nanos = interval.as_nanos();
            let first = self.next - origin.as_nanos();
            let further = (until.as_nanos() - self.next - 1) / nanos;
            let count = further.saturating_add(1).min(u64::from(most));
            let sum = Duration::from_nanos(count * first + count * count.saturating_sub(1) / 2 * nanos);
            #[expect(clippy::cast_possible_truncation, reason = "it is at most `most`")]
            let count = count as u32;
            self.advance_evenly(count);
            return (count, sum);
        }
        let mut sum = Duration::ZERO;
        let mut count = 0;
        while count < most && self.next() < until {
            sum += self.next().since(origin);
            self.advance();
            count += 1;
        }
        (count, sum)
    }

    /// When the last packet passes; there must be one.
    pub(crate) fn last(mut self) -> Time {
        while self.left > 1 {
            self.advance();
        }
        self.next()
    }

    /// How many packets pass after `instant`.
    pub(crate) fn count_after(mut self, instant: Time) -> u32 {
        while self.left > 0 && self.next() <= instant {
            self.advance();
        }
        self.left
    }

    /// Only the first `count` packets pass.
    pub(crate) fn truncate(&mut self, count: u32) {
        self.left = self.left.min(count);
    }

    /// Appends a packet that passes at `at` if all pass at one interval then; whether they do.
    #[inline(always)]
    pub(crate) fn append(&mut self, at: Time) -> bool {
        let at = at.as_nanos();
        if self.left == 1 {
            (self.nanos, self.rest, self.spare) = (at.saturating_sub(self.next), 0, 0);
        }
        let continues = self.rest == 0 && self.next + u64::from(self.left) * self.nanos == at;
        self.left += u32::from(continues);
        continues
    }

    /// [`append`](Self::append) for the packets of `next`.
    #[inline(always)]
    pub(crate) fn append_run(&mut self, next: &Train) -> bool {
        if self.left == 1 {
            (self.nanos, self.rest, self.spare) = (next.nanos, 0, 0);
        }
        self.join(next)
    }

    /// Appends the packets of `next` if they follow these at the same interval; whether they do.
    #[inline(always)]
    pub(crate) fn join(&mut self, next: &Train) -> bool {
        let continues = self.rest == 0
            && next.rest == 0
            && self.nanos == next.nanos
            && self.next + u64::from(self.left) * self.nanos == next.next;
        if continues {
            self.left += next.left;
        }
        continues
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packets of 1500 bytes; the first rates give whole nanoseconds.
    fn train(rate: u64, first: u64, count: u32) -> Train {
        let work = 12_000 * 1_000_000_000u64;
        Train::new(first, 0, (work / rate, work % rate), rate, count)
    }

    fn rates() -> impl Strategy<Value = u64> {
        prop_oneof![prop_oneof![Just(10_000_000u64), Just(1_000_000_000)], 1_000_000u64..10_000_000_000]
    }

    fn passing(mut train: Train) -> Vec<u64> {
        let mut times = Vec::new();
        while train.count() > 0 {
            times.push(train.next().as_nanos());
            train.advance();
        }
        times
    }

    proptest! {
        #[test]
        fn packets_pass_together_when_they_pass_one_by_one(
            rate in rates(),
            first in 0u64..1_000_000,
            count in 1u32..60,
            most in 0u32..60,
            until in prop_oneof![(0u64..100_000_000).prop_map(Err), (any::<prop::sample::Index>(), 0u64..3).prop_map(Ok)],
            origin in 0u64..1_000_000,
        ) {
            let whole = train(rate, first + origin, count);
            let times = passing(whole);
            // Any time, or one at or next to which a packet passes.
            let until = until.map_or_else(|any| any, |(packet, off)| (packet.get(&times) + off).saturating_sub(1));
            let mut rest = whole;
            let (passed, sum) = rest.advance_until(Time::from_nanos(until), most.min(count), Time::from_nanos(origin));
            let expected: Vec<u64> = times.iter().copied().take(most as usize).take_while(|&time| time < until).collect();
            prop_assert_eq!(passed as usize, expected.len());
            prop_assert_eq!(sum.as_nanos(), expected.iter().map(|time| time - origin).sum::<u64>());
            prop_assert_eq!(passing(rest), &times[expected.len()..]);
            let mut all = whole;
            while all.count() > 0 {
                all.advance();
            }
            prop_assert_eq!(whole.end(), (all.next, all.spare));
            prop_assert!(whole.over_by() >= all.next());
            prop_assert_eq!(whole.last().as_nanos(), times[times.len() - 1]);
            let instant = Time::from_nanos(until.saturating_sub(1));
            prop_assert_eq!(whole.count_after(instant) as usize, times.iter().filter(|&&time| time + 1 > until).count());
            let mut cut = whole;
            cut.truncate(most);
            prop_assert_eq!(&passing(cut)[..], &times[..times.len().min(most as usize)]);
            prop_assert_eq!(&passing(whole.ends())[..count as usize - 1], &times[1..]);
        }

        #[test]
        fn joined_trains_pass_as_they_would_have_passed_alone(
            rate in rates(),
            counts in (1u32..20, 1u32..20),
            pause in prop_oneof![Just(0u64), 1u64..1_000_000],
        ) {
            let mut first = train(rate, 7, counts.0);
            let (end, spare) = first.end();
            let second = Train { spare, ..train(rate, end + pause, counts.1) };
            let alone = [passing(first), passing(second)].concat();
            let is_even = first.even_interval().is_some();
            prop_assert_eq!(first.join(&second), is_even && pause == 0);
            if first.count() > counts.0 {
                prop_assert_eq!(passing(first), alone);
            }
        }
    }
}
