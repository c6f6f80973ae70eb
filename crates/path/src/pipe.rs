//! The propagation pipe: what is under way, and when it comes out.
//!
//! Packets enter in the order of their departure from the transmitter. Unless variation may reorder them they leave in
//! that order too, and the pipe is a ring of runs whose head alone matters; otherwise it is a heap.
//!
//! Packets are put into the pipe before they leave the transmitter, when their departure is known. Where that changes
//! those that have not left are taken back out ([`Pipe::take_back`]) and put in again; each keeps what was drawn for it
//! ([`Passage`]).

use crate::delay::{Delay, Passage, Variation};
use crate::packet::Packet;
use crate::ring::Ring;
use crate::train::Train;
use dumbbell_units::{Duration, Ratio, Rng, Time, claimed};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The propagation pipe of a link.
#[derive(Clone, Debug)]
pub(crate) struct Pipe<P> {
    base: Duration,
    variation: Option<Box<Variation>>,
    /// Packets do not overtake each other, except those that skip the delay. Not set in a plain pipe, where all take the
    /// same time.
    keeps_order: bool,
    /// When the last packet arrives that did not skip the delay; followed where the order is kept.
    latest: Time,
    /// Packets in order, unless they are in `disorder`.
    runs: Ring<Run<P>>,
    disorder: Option<Box<Disorder<P>>>,
    /// When the next packet comes out.
    next_arrival: Time,
}

/// Packets of a run, the first of which is `packet`.
#[derive(Clone, Copy, Debug, Default)]
struct Run<P> {
    arrivals: Train,
    packet: P,
}

/// Packets that may overtake each other.
#[derive(Clone, Debug)]
struct Disorder<P> {
    heap: BinaryHeap<InFlight<P>>,
    entered: u64,
}

impl<P: Packet> Pipe<P> {
    /// Longer delays, of 290 years, are not plain, so that times of arrival stay within 64 bits.
    const LONGEST_PLAIN: Duration = Duration::from_nanos(u64::MAX / 2);

    pub(crate) fn new(delay: &Delay, rng: Rng) -> Pipe<P> {
        let jitters = delay.jitter.amount > Duration::ZERO;
        let reorders = delay.reorder.probability > Ratio::ZERO;
        let overtakes = reorders || (jitters && delay.jitter.reorders);
        let disorder = overtakes.then(|| Box::new(Disorder { heap: BinaryHeap::new(), entered: 0 }));
        let variation = (jitters || reorders).then(|| Box::new(Variation::new(delay, rng)));
        Pipe {
            base: delay.base,
            keeps_order: variation.is_some() && !delay.jitter.reorders,
            latest: Time::ZERO,
            variation,
            runs: Ring::new(),
            disorder,
            next_arrival: Time::NEVER,
        }
    }

    /// Draws how the next packet will pass.
    #[inline]
    pub(crate) fn draw(&mut self) -> Passage {
        self.variation.as_mut().map_or(Passage::Delayed(0), |variation| variation.draw())
    }

    /// A packet enters at `departs`, which never goes backwards.
    #[inline]
    pub(crate) fn push(&mut self, departs: Time, passage: Passage, packet: P) {
        let mut arrives = departs + passage.delay(self.base);
        if self.keeps_order && passage != Passage::Skips && departs < Time::NEVER {
            arrives = arrives.max(self.latest);
            self.latest = arrives;
        }
        match &mut self.disorder {
            None => self.push_in_order(arrives, packet),
            Some(disorder) => {
                self.next_arrival = self.next_arrival.min(arrives);
                disorder.entered += 1;
                disorder.heap.push(InFlight { arrives, number: disorder.entered, packet });
            }
        }
    }

    /// Whether all packets take the same time, so that they stay in order.
    pub(crate) fn is_plain(&self) -> bool {
        self.variation.is_none() && !self.keeps_order && self.base <= Pipe::<P>::LONGEST_PLAIN
    }

    /// [`push`](Self::push) into a plain pipe.
    #[inline(always)]
    pub(crate) fn push_plain(&mut self, departs: Time, packet: P) {
        self.push_in_order(departs + self.base, packet);
    }

    #[inline(always)]
    fn push_in_order(&mut self, arrives: Time, packet: P) {
        self.next_arrival = self.next_arrival.min(arrives);
        self.runs.push_back(Run { arrivals: Train::one(arrives, arrives), packet });
    }

    /// A run, of which `packet` is the first, enters a plain pipe.
    #[inline(always)]
    pub(crate) fn push_run(&mut self, departures: Train, packet: P) {
        if departures.count() == 0 {
            return;
        }
        let arrivals = departures.delayed(self.base);
        if self.runs.is_empty() {
            self.next_arrival = arrivals.next();
        }
        self.runs.push_back(Run { arrivals, packet });
    }

    /// When the next packet comes out.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.next_arrival
    }

    /// [`take_into`](Self::take_into) where packets stay in order. Returns how many packets of the same run are still to
    /// come.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, packet: &mut P) -> u32 {
        let run = self.runs.first_mut();
        *packet = run.packet;
        let followers = run.arrivals.count() - 1;
        if followers > 0 {
            run.packet.follow(1);
            run.arrivals.advance();
            self.next_arrival = run.arrivals.next();
        } else {
            self.drop_run();
        }
        followers
    }

    /// Takes packets of the run that comes next: at most `most`, which it must have, and only those that come out before
    /// `until`. Returns how many these are, and the sum of the times from `origin` to their arrivals; `origin` must not be
    /// later than any of these.
    #[inline(always)]
    pub(crate) fn take_followers(&mut self, most: u32, until: Time, origin: Time) -> (u32, Duration) {
        if most == 0 {
            return (0, Duration::ZERO);
        }
        let run = self.runs.first_mut();
        let (count, sum) = run.arrivals.advance_until(until, most, origin);
        if run.arrivals.count() > 0 {
            run.packet.follow(count);
            self.next_arrival = run.arrivals.next();
        } else {
            self.drop_run();
        }
        (count, sum)
    }

    /// Removes the first run: all of its packets have come out.
    #[inline(always)]
    fn drop_run(&mut self) {
        self.next_arrival = self.runs.drop_first().map_or(Time::NEVER, |run| run.arrivals.next());
    }

    /// Writes the packet that comes out next to `packet`; there must be one.
    #[inline]
    pub(crate) fn take_into(&mut self, packet: &mut P) {
        match &mut self.disorder {
            None => {
                self.take_plain(packet);
            }
            Some(disorder) => {
                if let Some(head) = disorder.heap.pop() {
                    *packet = head.packet;
                }
                self.next_arrival = disorder.heap.peek().map_or(Time::NEVER, |head| head.arrives);
            }
        }
    }

    /// Takes the last `count` packets back out that were put in, in their order, with the times at which they would have
    /// come out.
    pub(crate) fn take_back(&mut self, count: usize) -> Vec<(Time, P)> {
        let packets = match &mut self.disorder {
            None => take_back_in_order(&mut self.runs, count),
            Some(disorder) => disorder.take_back(count as u64),
        };
        self.next_arrival = match &self.disorder {
            None => self.runs.iter().next().map_or(Time::NEVER, |run| run.arrivals.next()),
            Some(disorder) => disorder.heap.peek().map_or(Time::NEVER, |head| head.arrives),
        };
        self.latest = self.latest_arrival();
        packets
    }

    /// When the last packet that is in the pipe comes out.
    fn latest_arrival(&mut self) -> Time {
        let latest = match &self.disorder {
            None => self.runs.last_mut().map(|run| run.arrivals.last()),
            Some(disorder) => disorder.heap.iter().map(|place| place.arrives).max(),
        };
        latest.unwrap_or(Time::ZERO)
    }

    /// Takes the packets back out of a plain pipe that leave the transmitter after `now`, with the times at which they do.
    pub(crate) fn take_back_departing(&mut self, now: Time) -> Vec<(Time, P)> {
        let arrives_by = now + self.base;
        let count = self.runs.iter().map(|run| run.arrivals.count_after(arrives_by) as usize).sum();
        let mut departing = self.take_back(count);
        for (time, _) in departing.iter_mut().filter(|(arrives, _)| *arrives < Time::NEVER) {
            *time = Time::ZERO + time.since(Time::ZERO + self.base);
        }
        departing
    }

    /// The constant delay is `base` for the packets that enter from now on. They do not overtake those before them unless
    /// jitter may reorder.
    pub(crate) fn set_base(&mut self, base: Duration) {
        let overtakes = base < self.base && self.next_arrival < Time::NEVER;
        if self.variation.is_none() && overtakes {
            self.keeps_order = true;
            self.latest = self.latest_arrival();
        }
        self.base = base;
    }

    /// Bytes of memory [claimed](claimed).
    pub(crate) fn memory(&self) -> u64 {
        let disorder = self.disorder.as_ref().map(|disorder| &disorder.heap);
        self.runs.memory() + disorder.map_or(0, |heap| claimed::<InFlight<P>>(heap.len(), heap.capacity()))
    }

    /// How many packets there are of the kind that is asked for; those of a run are of the same kind.
    pub(crate) fn count(&self, is_meant: impl Fn(&P) -> bool) -> u64 {
        match &self.disorder {
            None => {
                self.runs.iter().filter(|run| is_meant(&run.packet)).map(|run| u64::from(run.arrivals.count())).sum()
            }
            Some(disorder) => disorder.heap.iter().filter(|place| is_meant(&place.packet)).count() as u64,
        }
    }
}

fn take_back_in_order<P: Packet>(runs: &mut Ring<Run<P>>, count: usize) -> Vec<(Time, P)> {
    let mut last_first = Vec::with_capacity(count);
    while last_first.len() < count
        && let Some(run) = runs.last_mut()
    {
        let of_run = run.arrivals.count();
        let taken = of_run.min(u32::try_from(count - last_first.len()).unwrap_or(u32::MAX));
        let mut of_this_run = Vec::with_capacity(taken as usize);
        let mut arrivals = run.arrivals;
        for place in 0..of_run {
            if place >= of_run - taken {
                let mut packet = run.packet;
                if place > 0 {
                    packet.follow(place);
                }
                of_this_run.push((arrivals.next(), packet));
            }
            arrivals.advance();
        }
        last_first.extend(of_this_run.into_iter().rev());
        if taken < of_run {
            run.arrivals.truncate(of_run - taken);
        } else {
            runs.drop_last();
        }
    }
    last_first.reverse();
    last_first
}

impl<P: Packet> Disorder<P> {
    fn take_back(&mut self, count: u64) -> Vec<(Time, P)> {
        self.entered -= count;
        let (stay, mut back): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.heap).into_iter().partition(|place| place.number <= self.entered);
        self.heap = stay.into();
        back.sort_unstable_by_key(|place| place.number);
        back.into_iter().map(|place| (place.arrives, place.packet)).collect()
    }
}

/// A packet in a pipe that may reorder. The greatest is the one that comes out first, as `BinaryHeap` wants it.
#[derive(Clone, Copy, Debug)]
struct InFlight<P> {
    arrives: Time,
    number: u64,
    packet: P,
}

impl<P> Ord for InFlight<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrives, other.number).cmp(&(self.arrives, self.number))
    }
}

impl<P> PartialOrd for InFlight<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for InFlight<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P> Eq for InFlight<P> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::{Jitter, JitterDistribution, Reorder};
    use crate::testing::TestPacket;

    const MS: u64 = 1_000_000;

    fn jittery(distribution: JitterDistribution) -> Delay {
        let jitter = Jitter { amount: Duration::from_millis(5), distribution, ..Jitter::default() };
        Delay { base: Duration::from_millis(50), jitter, ..Delay::default() }
    }

    fn take(pipe: &mut Pipe<TestPacket>) -> u64 {
        let mut packet = TestPacket::default();
        pipe.take_into(&mut packet);
        packet.number
    }

    fn order(delay: &Delay, spacing: u64, packets: u64) -> Vec<u64> {
        let mut pipe = Pipe::new(delay, Rng::new(5));
        let mut out = Vec::new();
        for i in 0..packets {
            let now = Time::from_nanos(i * spacing);
            while pipe.next_arrival() <= now {
                out.push(take(&mut pipe));
            }
            let passage = pipe.draw();
            pipe.push(now, passage, TestPacket::new(i, 1500));
        }
        while pipe.count(|_| true) > 0 {
            out.push(take(&mut pipe));
        }
        out
    }

    #[test]
    fn jitter_reorders_only_when_allowed() {
        let delay = jittery(JitterDistribution::Normal);
        assert!(order(&delay, MS, 2_000).is_sorted());
        let jitter = Jitter { reorders: true, ..delay.jitter };
        let wild = order(&Delay { jitter, ..delay }, MS, 2_000);
        assert!(!wild.is_sorted());
        assert_eq!(wild.len(), 2_000);
    }

    #[test]
    fn with_a_gap_of_five_only_every_fifth_packet_may_overtake() {
        let delay = |probability, gap| {
            let reorder = Reorder { probability: Ratio::new(probability).unwrap(), gap };
            Delay { base: Duration::from_millis(10), reorder, ..Delay::default() }
        };
        let out = order(&delay(1.0, 5), MS, 30);
        // Packets 4, 9, 14, … skip ten milliseconds, that is, ten predecessors.
        assert_eq!(out[..6], [4, 9, 0, 1, 2, 3]);
        let some = order(&delay(0.25, 5), MS, 40_000);
        let mut highest = 0;
        let late = some.iter().filter(|&&p| {
            let late = p < highest;
            highest = highest.max(p);
            late
        });
        assert!(late.count() > 10_000);
    }
}
