//! What a queue held over time.
//!
//! The backlog is a step function: it rises when a packet begins to wait and falls when its transmission begins (or it
//! is dropped). [`Occupancy`] is told of every step in order of time and keeps the exact integral of the waiting bytes
//! and, for quantiles, the time spent at every level in a histogram with bins of relative width 1/128.

use crate::train::Train;
use dumbbell_units::{Duration, Time};

/// Packets and bytes that wait; the packet in transmission does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP length.
    pub bytes: u64,
}

/// A count of packets and of their bytes (IP length).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP length.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.add_many(bytes, 1);
    }

    /// Counts `count` packets of `bytes` each.
    #[inline]
    pub fn add_many(&mut self, bytes: u32, count: u32) {
        self.packets += u64::from(count);
        self.bytes += u64::from(count) * u64::from(bytes);
    }

    /// Does not count `count` packets of `bytes` each, which it has counted.
    #[inline]
    pub fn remove_many(&mut self, bytes: u32, count: u32) {
        self.packets -= u64::from(count);
        self.bytes -= u64::from(count) * u64::from(bytes);
    }

    /// The bytes of the packets with so many bytes of framing each.
    #[inline]
    pub fn framed(self, framing_bytes: u32) -> u64 {
        self.bytes + self.packets * u64::from(framing_bytes)
    }

    #[inline]
    pub(crate) fn plus(self, other: Tally) -> Tally {
        Tally { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }

    #[inline]
    pub(crate) fn minus(self, other: Tally) -> Tally {
        Tally { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}

/// A queue's backlog now and since the measurement began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occupancy {
    running: Running,
    max: Backlog,
    since: Time,
    levels: Levels,
}

/// What changes with every step. Bytes and packets are not neighbours on purpose: the compiler would add neighbours as
/// a vector, with more instructions.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    bytes: u64,
    /// Everything before is accounted for.
    clock: Time,
    packets: u64,
    byte_nanos: u128,
}

impl Running {
    /// Accounts for the time until `now`.
    #[inline]
    fn advance(&mut self, now: Time, levels: &mut Levels) {
        let nanos = now.since(self.clock).as_nanos();
        // Many may leave at one instant.
        if nanos > 0 {
            self.clock = now;
            self.byte_nanos += u128::from(self.bytes) * u128::from(nanos);
            levels.add(self.bytes, nanos);
        }
    }
}

impl Occupancy {
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.running.packets, bytes: self.running.bytes }
    }

    /// One that knows what waits and never accounts for it.
    pub(crate) fn of_the_present() -> Occupancy {
        Occupancy { running: Running { clock: Time::NEVER, ..Running::default() }, ..Occupancy::default() }
    }

    /// Up to when everything is accounted for.
    #[inline]
    pub(crate) fn clock(&self) -> Time {
        self.running.clock
    }

    /// A packet begins to wait, at the instant up to which everything is accounted for.
    #[inline]
    pub(crate) fn enter(&mut self, bytes: u32) {
        self.enter_run(bytes, 1);
    }

    /// `count` packets of `bytes` each begin to wait, at the instant up to which everything is accounted for.
    #[inline]
    pub(crate) fn enter_run(&mut self, bytes: u32, count: u32) {
        self.running.packets += u64::from(count);
        self.running.bytes += u64::from(count) * u64::from(bytes);
    }

    /// Accounts for the time until `now`; meanwhile packets leave as `leave` says, which returns what it likes.
    #[inline]
    pub(crate) fn advance_with<T>(&mut self, now: Time, leave: impl FnOnce(&mut Leaving<'_>) -> T) -> T {
        // Between two departures the backlog only rises, so its peaks are where it begins to fall.
        self.note_peak();
        let mut leaving = Leaving { running: self.running, levels: &mut self.levels };
        let result = leave(&mut leaving);
        leaving.running.advance(now, leaving.levels);
        self.running = leaving.running;
        result
    }

    /// Accounts for the time until `now` at the present level.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        if self.running.clock < now {
            self.running.advance(now, &mut self.levels);
        }
    }

    /// A packet waits no longer from `now` on.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time, bytes: u32) {
        self.note_peak();
        let mut leaving = Leaving { running: self.running, levels: &mut self.levels };
        leaving.leave(now, bytes);
        self.running = leaving.running;
    }

    /// Packets of `size` bytes each wait no longer, each from an instant of its own on.
    pub(crate) fn leave_run(&mut self, mut starts: Train, size: u32) {
        self.note_peak();
        let mut leaving = Leaving { running: self.running, levels: &mut self.levels };
        leaving.leave_by(Time::NEVER, &mut starts, size);
        self.running = leaving.running;
    }

    fn note_peak(&mut self) {
        self.max.packets = self.max.packets.max(self.running.packets);
        self.max.bytes = self.max.bytes.max(self.running.bytes);
    }

    /// Forgets what was measured; the backlog stays.
    pub(crate) fn restart(&mut self, now: Time) {
        self.since = now;
        self.running.clock = now;
        self.running.byte_nanos = 0;
        self.levels.clear();
        self.max = self.backlog();
    }

    pub(crate) fn stats(&mut self, now: Time, departed: Tally, capacity_bits: Option<u64>) -> QueueStats<'_> {
        self.advance(now);
        self.note_peak();
        QueueStats {
            since: self.since,
            until: now,
            byte_nanos: self.running.byte_nanos,
            max: self.max,
            departed,
            capacity_bits,
            levels: &self.levels,
        }
    }
}

/// A backlog while packets leave it, one after the other. It is a copy, so that a loop keeps it in registers.
pub(crate) struct Leaving<'a> {
    running: Running,
    levels: &'a mut Levels,
}

impl Leaving<'_> {
    /// A packet waits no longer.
    #[inline]
    fn leave(&mut self, at: Time, bytes: u32) {
        self.leave_together(at, 1, bytes);
    }

    /// `count` packets of `bytes` each wait no longer.
    #[inline]
    fn leave_together(&mut self, at: Time, count: u32, bytes: u32) {
        self.running.advance(at, self.levels);
        self.running.packets -= u64::from(count);
        self.running.bytes -= u64::from(count) * u64::from(bytes);
    }

    /// Those packets of `bytes` each wait no longer whose instants have come by `now`; that of the first has.
    #[inline(always)]
    pub(crate) fn leave_by(&mut self, now: Time, starts: &mut Train, bytes: u32) {
        if let Some(interval) = starts.even_interval() {
            self.leave(starts.next(), bytes);
            let mut others = 0;
            if starts.count() > 1 {
                let since = now.since(starts.next()).as_nanos() / interval.as_nanos();
                #[expect(clippy::cast_possible_truncation, reason = "it is less than the number of packets")]
                let fewer = since.min(u64::from(starts.count() - 1)) as u32;
                others = fewer;
                self.leave_evenly(others, interval, bytes);
            }
            starts.advance_evenly(others + 1);
        } else if starts.pass_together() {
            self.leave_together(starts.next(), starts.count(), bytes);
            starts.advance_evenly(starts.count());
        } else {
            while starts.count() > 0 && starts.next() <= now {
                self.leave(starts.next(), bytes);
                starts.advance();
            }
        }
    }

    /// `count` packets of `bytes` each wait no longer, one after each `interval` from the last that left.
    #[inline]
    fn leave_evenly(&mut self, count: u32, interval: Duration, bytes: u32) {
        let nanos = interval.as_nanos();
        let mut level = self.running.bytes;
        let mut levels = 0;
        for _ in 0..count {
            self.levels.add(level, nanos);
            levels += level;
            level -= u64::from(bytes);
        }
        self.running.bytes = level;
        self.running.packets -= u64::from(count);
        self.running.clock += interval * u64::from(count);
        self.running.byte_nanos += u128::from(levels) * u128::from(nanos);
    }
}

/// What a link's queue held and what its transmitter did since [`Link::start_measuring`](crate::Link::start_measuring),
/// or since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct QueueStats<'a> {
    /// Start of the measured interval.
    pub since: Time,
    /// End of the measured interval.
    pub until: Time,
    /// Exact integral of the waiting bytes over the interval, in byte-nanoseconds.
    pub byte_nanos: u128,
    /// Highest backlog; packets and bytes are maxima of their own.
    pub max: Backlog,
    /// What left the transmitter, including packets that were lost afterwards.
    pub departed: Tally,
    /// Bits the transmitter could have sent: the integral of the rate, or 12 000 bits per opportunity of a trace.
    /// `None` for an unlimited rate.
    pub capacity_bits: Option<u64>,
    levels: &'a Levels,
}

impl QueueStats<'_> {
    /// Time average of the waiting bytes.
    pub fn mean_bytes(&self) -> f64 {
        let nanos = self.until.since(self.since).as_nanos();
        if nanos == 0 { 0.0 } else { self.byte_nanos as f64 / nanos as f64 }
    }

    /// The backlog in bytes that is not exceeded for the fraction `q` (0..1) of the time, within 0.4 %.
    pub fn quantile_bytes(&self, q: f64) -> u64 {
        self.levels.quantile(q).min(self.max.bytes)
    }
}

/// Time spent at each level: exact below 128, then 128 bins per factor of two.
#[derive(Clone, Debug, Default)]
struct Levels {
    /// By bin. There are none as long as `few` holds them.
    nanos: Vec<u64>,
    few: Few,
}

/// The bins of a queue in which little has happened yet, as most of a thousand stations' are.
#[derive(Clone, Debug, Default)]
struct Few {
    /// In the order of the bins.
    spent: Vec<Spent>,
    steps: u32,
}

/// A bin and the time spent in it, in one word.
#[derive(Clone, Copy, Debug)]
struct Spent(u64);

impl Spent {
    /// Enough for all bins.
    const BIN_BITS: u32 = 13;
    /// 26 days.
    const MOST_NANOS: u64 = (1 << (u64::BITS - Spent::BIN_BITS)) - 1;

    /// `nanos` are at most `MOST_NANOS`.
    fn new(bin: usize, nanos: u64) -> Spent {
        Spent(((bin as u64) << (u64::BITS - Spent::BIN_BITS)) | nanos)
    }

    fn bin(self) -> usize {
        (self.0 >> (u64::BITS - Spent::BIN_BITS)) as usize
    }

    fn nanos(self) -> u64 {
        self.0 & Spent::MOST_NANOS
    }
}

impl Few {
    /// So many bins are a tenth of what they would be among all up to 64 kB.
    const MOST_BINS: usize = 128;
    /// To look for a bin takes several times as long as to know its place, so it is not done for long.
    const MOST_STEPS: u32 = 2_048;

    /// Adds to a bin. False where there is no room for it, and nothing was added.
    fn add(&mut self, bin: usize, nanos: u64) -> bool {
        let place = self.spent.binary_search_by_key(&bin, |spent| spent.bin());
        let before = place.map_or(0, |place| self.spent[place].nanos());
        let nanos = before.saturating_add(nanos);
        let is_new = usize::from(place.is_err());
        if nanos > Spent::MOST_NANOS || self.spent.len() + is_new > Self::MOST_BINS || self.steps >= Self::MOST_STEPS {
            return false;
        }
        self.steps += 1;
        match place {
            Ok(place) => self.spent[place] = Spent::new(bin, nanos),
            Err(place) => self.spent.insert(place, Spent::new(bin, nanos)),
        }
        true
    }
}

const BIN_BITS: u32 = 7;
const BINS: u64 = 1 << BIN_BITS;

impl Levels {
    #[inline]
    fn add(&mut self, level: u64, nanos: u64) {
        let bin = Self::bin(level);
        match self.nanos.get_mut(bin) {
            Some(spent) => *spent += nanos,
            None => self.add_new(bin, nanos),
        }
    }

    /// Adds to a bin that has no place of its own yet.
    #[cold]
    fn add_new(&mut self, bin: usize, nanos: u64) {
        if self.nanos.is_empty() {
            if self.few.add(bin, nanos) {
                return;
            }
            let few = std::mem::take(&mut self.few).spent;
            self.grow(few.last().map_or(bin, |last| last.bin().max(bin)));
            few.into_iter().for_each(|spent| self.nanos[spent.bin()] = spent.nanos());
        } else {
            self.grow(bin);
        }
        self.nanos[bin] += nanos;
    }

    fn grow(&mut self, bin: usize) {
        let len = bin + (1 << BIN_BITS);
        self.nanos.reserve_exact(len - self.nanos.len());
        self.nanos.resize(len, 0);
    }

    /// The bins in which time was spent, in their order, and that time.
    fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let all = self.nanos.iter().copied().enumerate();
        self.few.spent.iter().map(|spent| (spent.bin(), spent.nanos())).chain(all).filter(|&(_, nanos)| nanos > 0)
    }

    fn clear(&mut self) {
        self.nanos.fill(0);
        self.few.spent.clear();
    }

    #[inline]
    fn bin(level: u64) -> usize {
        let shift = (63 - (level | BINS).leading_zeros()) - BIN_BITS;
        // Bins 0..128 hold the levels below 128; from there on every octave has the 128 bins after those of the last.
        #[expect(clippy::cast_possible_truncation, reason = "64 bits fall into 58 * 128 bins")]
        let bin = ((u64::from(shift) << BIN_BITS) + (level >> shift)) as usize;
        bin
    }

    /// The level in the middle of a bin.
    fn middle(bin: usize) -> u64 {
        let bin = bin as u64;
        if bin < 2 * BINS {
            return bin;
        }
        let shift = (bin >> BIN_BITS) - 1;
        (((bin & (BINS - 1)) | BINS) << shift) + (1 << shift >> 1)
    }

    fn quantile(&self, q: f64) -> u64 {
        let total: u64 = self.iter().map(|(_, nanos)| nanos).sum();
        let wanted = q.clamp(0.0, 1.0) * total as f64;
        let mut seen = 0;
        for (bin, nanos) in self.iter() {
            seen += nanos;
            if seen as f64 >= wanted {
                return Self::middle(bin);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(occupancy: &mut Occupancy, now: Time, bytes: u32) {
        occupancy.advance(now);
        occupancy.enter(bytes);
    }

    fn leave(occupancy: &mut Occupancy, now: Time, bytes: u32) {
        occupancy.leave(now, bytes);
    }

    #[test]
    fn every_level_falls_into_a_bin_whose_middle_is_within_half_a_percent() {
        let mut previous = 0;
        for level in (0..5_000u64).chain((1..1_000).map(|i| i * 1_234_567)) {
            let bin = Levels::bin(level);
            assert!(bin >= previous, "bins rise with the level");
            previous = bin;
            let middle = Levels::middle(bin);
            assert!(middle.abs_diff(level) as f64 <= level as f64 * 0.004 + 0.5, "{level} became {middle}");
        }
    }

    #[test]
    fn levels_of_few_steps_and_of_many_hold_the_same_time() {
        for (levels, rounds) in [(3, 2), (Few::MOST_BINS + 1, 1), (Few::MOST_BINS + 40, 50), (5, 1_000)] {
            let (mut held, mut wanted) = (Levels::default(), std::collections::BTreeMap::new());
            for step in 0..levels * rounds {
                // Out of order, so that later bins come between earlier ones.
                let (level, nanos) = ((step * 7 % levels) as u64 * 1_500, step as u64 + 1);
                held.add(level, nanos);
                *wanted.entry(Levels::bin(level)).or_insert(0) += nanos;
                assert!(held.iter().eq(wanted.clone()), "after step {step} at {levels} levels");
            }
            held.clear();
            assert_eq!((held.iter().count(), held.quantile(0.5)), (0, 0));
            held.add(3_000, 1);
            assert_eq!(held.quantile(0.5), Levels::middle(Levels::bin(3_000)));
        }
    }

    #[test]
    fn levels_get_places_of_their_own_when_they_or_their_steps_are_many() {
        let mut of_many = Levels::default();
        (0..Few::MOST_BINS as u64).for_each(|level| of_many.add(1_500 * level, 1));
        assert!(of_many.nanos.is_empty());
        of_many.add(1_500 * Few::MOST_BINS as u64, 1);
        assert!(!of_many.nanos.is_empty());
        let mut of_one = Levels::default();
        (0..Few::MOST_STEPS).for_each(|_| of_one.add(1_500, 1));
        assert!(of_one.nanos.is_empty());
        of_one.add(1_500, 1);
        assert!(!of_one.nanos.is_empty());
    }

    #[test]
    fn a_level_that_lasts_longer_than_a_month_gets_a_place_of_its_own() {
        let mut levels = Levels::default();
        levels.add(u64::MAX, Spent::MOST_NANOS - 1);
        levels.add(u64::MAX, 1);
        assert!(levels.nanos.is_empty());
        levels.add(1_500, 7);
        levels.add(u64::MAX, 5);
        assert!(!levels.nanos.is_empty());
        let wanted = [(Levels::bin(1_500), 7), (Levels::bin(u64::MAX), Spent::MOST_NANOS + 5)];
        assert!(levels.iter().eq(wanted));
    }

    #[test]
    fn mean_and_quantiles_weigh_levels_with_time() {
        let mut occupancy = Occupancy::default();
        let ms = |t: u64| Time::from_nanos(t * 1_000_000);
        enter(&mut occupancy, ms(10), 1000); // 0 for 10 ms
        enter(&mut occupancy, ms(90), 9000); // 1000 for 80 ms
        leave(&mut occupancy, ms(100), 1000); // 10 000 for 10 ms
        let stats = occupancy.stats(ms(100), Tally::default(), None);
        assert_eq!(stats.byte_nanos, (80 * 1000 + 10 * 10_000) * 1_000_000);
        assert_eq!(stats.mean_bytes(), 1800.0);
        assert_eq!(stats.quantile_bytes(0.05), 0);
        assert!(stats.quantile_bytes(0.5).abs_diff(1000) <= 4);
        assert!(stats.quantile_bytes(0.95).abs_diff(10_000) <= 40);
        assert_eq!(stats.max, Backlog { packets: 2, bytes: 10_000 });
    }

    #[test]
    fn packets_that_leave_together_count_as_they_do_one_by_one() {
        let left = |leave: fn(&mut Leaving<'_>)| {
            let mut occupancy = Occupancy::default();
            occupancy.enter_run(1500, 9);
            occupancy.advance_with(Time::from_nanos(9_000), leave);
            let backlog = occupancy.backlog();
            let stats = occupancy.stats(Time::from_nanos(9_000), Tally::default(), None);
            (backlog, stats.byte_nanos, stats.max, [0.2, 0.5, 0.9].map(|q| stats.quantile_bytes(q)))
        };
        let together = left(|leaving| leaving.leave_together(Time::from_nanos(4_000), 8, 1500));
        let single = left(|leaving| (0..8).for_each(|_| leaving.leave(Time::from_nanos(4_000), 1500)));
        assert_eq!(together, single);
        assert_eq!(together.1, (4_000 * 9 + 5_000) * 1500);
    }

    #[test]
    fn packets_that_leave_evenly_count_as_they_do_one_by_one() {
        let start = |occupancy: &mut Occupancy| {
            occupancy.enter_run(1500, 700);
            occupancy.advance(Time::from_nanos(4_000));
        };
        let (mut evenly, mut single) = (Occupancy::default(), Occupancy::default());
        start(&mut evenly);
        start(&mut single);
        let interval = Duration::from_nanos(12_000);
        let end = Time::from_nanos(4_000) + interval * 600;
        evenly.advance_with(end, |leaving| leaving.leave_evenly(600, interval, 1500));
        single.advance_with(end, |leaving| {
            for number in 1..=600 {
                leaving.leave(Time::from_nanos(4_000) + interval * number, 1500);
            }
        });
        assert_eq!((evenly.backlog(), evenly.clock()), (single.backlog(), single.clock()));
        assert_eq!((evenly.running.byte_nanos, evenly.max), (single.running.byte_nanos, single.max));
        assert!(evenly.levels.iter().eq(single.levels.iter()));
        assert_eq!(evenly.backlog(), Backlog { packets: 100, bytes: 150_000 });
    }

    #[test]
    fn a_restart_forgets_the_past_but_not_what_is_in_the_queue() {
        let mut occupancy = Occupancy::default();
        let ms = |t: u64| Time::from_nanos(t * 1_000_000);
        enter(&mut occupancy, ms(0), 1500);
        enter(&mut occupancy, ms(0), 1500);
        leave(&mut occupancy, ms(5), 1500);
        occupancy.advance(ms(10));
        occupancy.restart(ms(10));
        leave(&mut occupancy, ms(12), 1500);
        let stats = occupancy.stats(ms(20), Tally::default(), None);
        assert_eq!(stats.mean_bytes(), 300.0);
        assert_eq!(stats.max, Backlog { packets: 1, bytes: 1500 });
    }
}
