//! The propagation pipe: what is under way, and when it comes out.
//!
//! Packets enter in the order of their departure from the transmitter. Unless variation may reorder them they leave in
//! that order too, and the pipe is a ring of runs whose head alone matters; otherwise they are in [`Disorder`].
//!
//! Packets are put into the pipe before they leave the transmitter, when their departure is known. Where that changes
//! those that have not left are taken back out ([`Pipe::take_back`]) and put in again; each keeps what was drawn for it
//! ([`Passage`]).

use crate::delay::{Delay, Passage, Variation};
use crate::event::{Action, PacketEvent};
use crate::packet::Packet;
use crate::ring::Ring;
use crate::run::Run;
use crate::stats::Tally;
use crate::train::Train;
use disorder::Disorder;
use dumbbell_parameters::Schedule;
use dumbbell_units::{Duration, Ratio, Rng, Time};

mod ahead;
mod disorder;

pub use ahead::Coming;

/// The propagation pipe of a link.
#[derive(Clone, Debug)]
pub(crate) struct Pipe<P> {
    base: Duration,
    variation: Option<Box<Variation>>,
    /// Takes the place of `base`.
    schedule: Option<Box<Schedule<Duration>>>,
    /// Packets do not overtake each other, except those that are drawn to, and those that are late. Not set in a plain
    /// pipe, where all take the same time.
    keeps_order: bool,
    /// The order is kept or there is a schedule.
    is_special: bool,
    /// When the last packet arrives for which others wait; followed where the order is kept.
    latest: Time,
    /// Packets in order, unless they are in `disorder`.
    runs: Ring<Run<P>>,
    disorder: Option<Box<Disorder<P>>>,
    /// When the next packet comes out.
    next_arrival: Time,
    /// When the last packet comes out of those that entered [ahead of their time](Self::expect_disorder_until).
    ahead_until: Time,
}

/// Memory for what is in a pipe that stays in order. Of a thousand pipes of a radio few have packets at a time.
#[derive(Clone, Debug)]
pub(crate) struct PipeMemory<P>(Ring<Run<P>>);

impl<P: Packet> PipeMemory<P> {
    /// Bytes [claimed](dumbbell_units::claimed).
    pub(crate) fn memory(&self) -> u64 {
        self.0.memory()
    }
}

impl<P: Packet> Pipe<P> {
    /// Longer delays, of 290 years, are not plain, so that times of arrival stay within 64 bits.
    const LONGEST_PLAIN: Duration = Duration::from_nanos(u64::MAX / 2);

    pub(crate) fn new(delay: &Delay, events: &[PacketEvent], rng: Rng) -> Pipe<P> {
        let jitters = delay.jitter.amount > Duration::ZERO;
        let reorders = delay.reorder.probability > Ratio::ZERO;
        let is_late = delay.late.is_some() || events.iter().any(|event| event.action == Action::Delay);
        let varies = jitters || reorders || is_late;
        let keeps_order = (varies || delay.schedule.is_some()) && !delay.jitter.reorders;
        let may_reorder = delay.jitter.reorders && (jitters || delay.schedule.is_some());
        let overtakes = reorders || is_late || may_reorder;
        let disorder = overtakes.then(|| Box::new(Disorder::new()));
        let variation = varies.then(|| Box::new(Variation::new(delay, events, rng)));
        Pipe {
            base: delay.base,
            keeps_order,
            is_special: keeps_order || delay.schedule.is_some(),
            schedule: delay.schedule.clone().map(Box::new),
            latest: Time::ZERO,
            variation,
            runs: Ring::new(),
            disorder,
            next_arrival: Time::NEVER,
            ahead_until: Time::ZERO,
        }
    }

    /// How the next packet will pass, which leaves the transmitter at `departs`.
    #[inline]
    pub(crate) fn draw(&mut self, departs: Time, packet: &P) -> Passage {
        match &mut self.variation {
            None => Passage::Delayed(0),
            Some(variation) => variation.pass(departs, packet),
        }
    }

    /// A packet enters at `departs`, which never goes backwards.
    #[inline(always)]
    pub(crate) fn push(&mut self, departs: Time, passage: Passage, packet: &P) {
        let base = if self.schedule.is_some() { self.base_at(departs) } else { self.base };
        let mut arrives = departs + passage.delay(base);
        let is_waited_for = matches!(passage, Passage::Delayed(_));
        if self.keeps_order && is_waited_for && departs < Time::NEVER {
            arrives = arrives.max(self.latest);
            self.latest = arrives;
        }
        match &mut self.disorder {
            None => self.push_in_order(arrives, *packet),
            Some(disorder) => {
                self.next_arrival = self.next_arrival.min(arrives);
                disorder.push(arrives, is_waited_for, packet);
            }
        }
    }

    /// The constant delay of a packet that departs at an instant of a schedule.
    #[inline(never)]
    fn base_at(&self, departs: Time) -> Duration {
        self.schedule.as_ref().map_or(self.base, |schedule| schedule.at(departs))
    }

    /// Whether all packets take the same time, so that they stay in order.
    pub(crate) fn is_plain(&self) -> bool {
        self.variation.is_none() && !self.is_special && self.base <= Pipe::<P>::LONGEST_PLAIN
    }

    /// [`push`](Self::push) into a plain pipe.
    #[inline(always)]
    pub(crate) fn push_plain(&mut self, departs: Time, packet: P) {
        self.push_in_order(departs + self.base, packet);
    }

    /// A packet enters a plain pipe that may belong to the run of the one before.
    #[inline(always)]
    pub(crate) fn push_behind(&mut self, departs: Time, packet: P) {
        let arrives = departs + self.base;
        self.next_arrival = self.next_arrival.min(arrives);
        self.runs.push_packet(arrives, packet);
    }

    /// Packets of a run, of which `packet` is the first, enter a plain pipe; they may belong to the run before.
    #[inline(always)]
    pub(crate) fn push_run_behind(&mut self, departures: Train, packet: P) {
        let arrivals = departures.delayed(self.base);
        self.next_arrival = self.next_arrival.min(arrivals.next());
        self.runs.push_run(arrivals, packet);
    }

    /// The constant delay.
    #[inline]
    pub(crate) fn base(&self) -> Duration {
        self.base
    }

    #[inline(always)]
    fn push_in_order(&mut self, arrives: Time, packet: P) {
        self.write_in_order(arrives, |place| *place = packet);
    }

    /// A packet enters a plain pipe, which `write` writes to where it stays.
    #[inline(always)]
    pub(crate) fn write_plain(&mut self, departs: Time, write: impl FnOnce(&mut P)) {
        self.write_in_order(departs + self.base, write);
    }

    #[inline(always)]
    fn write_in_order(&mut self, arrives: Time, write: impl FnOnce(&mut P)) {
        self.next_arrival = self.next_arrival.min(arrives);
        let run = self.runs.push_place();
        run.instants.become_one(arrives);
        write(&mut run.packet);
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
        self.runs.push_back(Run { instants: arrivals, packet });
    }

    /// An empty pipe leaves its memory to others that will have packets.
    #[inline]
    pub(crate) fn lend_memory(&mut self, spare: &mut Vec<PipeMemory<P>>) {
        if self.runs.is_empty() && self.runs.capacity() > 0 {
            spare.push(PipeMemory(std::mem::replace(&mut self.runs, Ring::new())));
        }
    }

    /// A pipe that has no memory takes some that others have left.
    #[inline]
    pub(crate) fn borrow_memory(&mut self, spare: &mut Vec<PipeMemory<P>>) {
        if self.runs.capacity() == 0
            && let Some(PipeMemory(runs)) = spare.pop()
        {
            self.runs = runs;
        }
    }

    /// When the next packet comes out.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.next_arrival
    }

    /// [`take_into`](Self::take_into) where packets stay in order. Returns how many packets of the same run are still
    /// to come.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, packet: &mut P) -> u32 {
        let run = self.runs.first_mut();
        *packet = run.packet;
        let followers = run.instants.count() - 1;
        if followers > 0 {
            run.packet.follow(1);
            run.instants.advance();
            self.next_arrival = run.instants.next();
        } else {
            self.drop_run();
        }
        followers
    }

    /// Takes packets of the run that comes next: at most `most`, which it must have, and only those that come out
    /// before `until`. Returns how many these are, and the sum of the times from `origin` to their arrivals; `origin`
    /// must not be later than any of these.
    #[inline(always)]
    pub(crate) fn take_followers(&mut self, most: u32, until: Time, origin: Time) -> (u32, Duration) {
        if most == 0 {
            return (0, Duration::ZERO);
        }
        let run = self.runs.first_mut();
        let (count, sum) = run.instants.advance_until(until, most, origin);
        if run.instants.count() > 0 {
            run.packet.follow(count);
            self.next_arrival = run.instants.next();
        } else {
            self.drop_run();
        }
        (count, sum)
    }

    /// Removes the first run: all of its packets have come out.
    #[inline(always)]
    fn drop_run(&mut self) {
        self.next_arrival = self.runs.drop_first().map_or(Time::NEVER, |run| run.instants.next());
    }

    /// Writes the packet that comes out next to `packet`; there must be one.
    #[inline(always)]
    pub(crate) fn take_into(&mut self, packet: &mut P) {
        if let Some(disorder) = &mut self.disorder {
            self.next_arrival = disorder.take_into(packet);
        } else {
            self.take_plain(packet);
        }
    }

    /// Takes the last `count` packets back out that were put in, in their order, with the times at which they would
    /// have come out.
    pub(crate) fn take_back(&mut self, count: usize) -> Vec<(Time, P)> {
        let packets = match &mut self.disorder {
            None => take_back_in_order(&mut self.runs, count),
            Some(disorder) => disorder.take_back(count),
        };
        self.next_arrival = match &self.disorder {
            None => self.runs.iter().next().map_or(Time::NEVER, |run| run.instants.next()),
            Some(disorder) => disorder.next_arrival(),
        };
        self.latest = self.latest_arrival();
        packets
    }

    /// When the last packet comes out that is in the pipe, of those for which others wait.
    fn latest_arrival(&mut self) -> Time {
        let latest = match &self.disorder {
            None => self.runs.last_mut().map(|run| run.instants.last()),
            Some(disorder) => disorder.iter().filter(|place| place.is_waited_for).map(|place| place.arrives).max(),
        };
        latest.unwrap_or(Time::ZERO)
    }

    /// Takes the packets back out of a plain pipe that leave the transmitter after `now`, with the times at which they
    /// do.
    pub(crate) fn take_back_departing(&mut self, now: Time) -> Vec<(Time, P)> {
        let arrives_by = now + self.base;
        let count = self.runs.iter().map(|run| run.instants.count_after(arrives_by) as usize).sum();
        let mut departing = self.take_back(count);
        for (time, _) in departing.iter_mut().filter(|(arrives, _)| *arrives < Time::NEVER) {
            *time = Time::ZERO + time.since(Time::ZERO + self.base);
        }
        departing
    }

    /// The constant delay is `base` for the packets that enter from now on, in place of a schedule, too. They do not
    /// overtake those before them unless jitter may reorder.
    pub(crate) fn set_base(&mut self, base: Duration) {
        let overtakes = base < self.base && self.next_arrival < Time::NEVER;
        if self.variation.is_none() && self.schedule.is_none() && overtakes {
            self.keeps_order = true;
            self.is_special = true;
            self.latest = self.latest_arrival();
        }
        self.schedule = None;
        self.base = base;
    }

    /// Bytes of memory [claimed](claimed).
    pub(crate) fn memory(&self) -> u64 {
        self.runs.memory() + self.disorder.as_ref().map_or(0, |disorder| disorder.memory())
    }

    /// Packets of a plain pipe that enter it at `instant` or later.
    pub(crate) fn entering_from(&self, instant: Time) -> Tally {
        let before = Time::from_nanos((instant + self.base).as_nanos().saturating_sub(1));
        let mut tally = Tally::default();
        for run in self.runs.iter() {
            tally.add_many(run.packet.size(), run.instants.count_after(before));
        }
        tally
    }

    /// How many packets there are, in a pipe into which no run was [pushed](Self::push_run).
    pub(crate) fn len(&self) -> u64 {
        let packets = self.disorder.as_ref().map_or(self.runs.len(), |disorder| disorder.len());
        packets as u64
    }

    /// How many packets there are of the kind that is asked for; those of a run are of the same kind.
    pub(crate) fn count(&self, is_meant: impl Fn(&P) -> bool) -> u64 {
        match &self.disorder {
            None => {
                self.runs.iter().filter(|run| is_meant(&run.packet)).map(|run| u64::from(run.instants.count())).sum()
            }
            Some(disorder) => disorder.iter().filter(|place| is_meant(&place.packet)).count() as u64,
        }
    }
}

fn take_back_in_order<P: Packet>(runs: &mut Ring<Run<P>>, count: usize) -> Vec<(Time, P)> {
    let mut last_first = Vec::with_capacity(count);
    while last_first.len() < count
        && let Some(run) = runs.last_mut()
    {
        let of_run = run.instants.count();
        let taken = of_run.min(u32::try_from(count - last_first.len()).unwrap_or(u32::MAX));
        let mut of_this_run = Vec::with_capacity(taken as usize);
        let mut arrivals = run.instants;
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
            run.instants.truncate(of_run - taken);
        } else {
            runs.drop_last();
        }
    }
    last_first.reverse();
    last_first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::{Jitter, JitterDistribution, Late, Reorder};
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
        let mut pipe = Pipe::new(delay, &[], Rng::new(5));
        let mut out = Vec::new();
        for i in 0..packets {
            let now = Time::from_nanos(i * spacing);
            while pipe.next_arrival() <= now {
                out.push(take(&mut pipe));
            }
            let packet = TestPacket::new(i, 1500);
            let passage = pipe.draw(now, &packet);
            pipe.push(now, passage, &packet);
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

    /// When packets that leave at these milliseconds come out, in the order in which they do.
    fn arrivals(delay: &Delay, departures_ms: &[u64]) -> Vec<(u64, u64)> {
        let mut pipe = Pipe::new(delay, &[], Rng::new(5));
        for (&ms, number) in departures_ms.iter().zip(0..) {
            let (departs, packet) = (Time::from_nanos(ms * MS), TestPacket::new(number, 1500));
            let passage = pipe.draw(departs, &packet);
            pipe.push(departs, passage, &packet);
        }
        let next = |_: &u64| (pipe.next_arrival().as_nanos() / MS, take(&mut pipe));
        departures_ms.iter().map(next).collect()
    }

    #[test]
    fn a_packet_takes_the_delay_of_its_departure_and_overtakes_only_where_jitter_may() {
        let ms = Duration::from_millis;
        let steps = vec![(Time::ZERO, ms(20)), (Time::ZERO + ms(100), ms(50)), (Time::ZERO + ms(110), ms(5))];
        let schedule = Schedule::new(steps, Some(ms(200))).unwrap();
        let delay = Delay { base: ms(20), schedule: Some(schedule), ..Delay::default() };
        let departures = [99, 100, 109, 110, 160, 200];
        let expected = [(119, 0), (150, 1), (159, 2), (159, 3), (165, 4), (220, 5)];
        assert_eq!(arrivals(&delay, &departures), expected, "packet 3 waits for packet 2");
        let jitter = Jitter { reorders: true, ..Jitter::default() };
        let unordered = arrivals(&Delay { jitter, ..delay }, &departures);
        assert_eq!(unordered[..3], [(115, 3), (119, 0), (150, 1)]);
    }

    #[test]
    fn late_packets_are_overtaken_and_packets_that_overtake_take_their_own_delay() {
        let ms = Duration::from_millis;
        let base = ms(20);
        let late = Some(Late { probability: Ratio::new(0.5).unwrap(), min: ms(30), max: ms(30) });
        let out = arrivals(&Delay { base, late, ..Delay::default() }, &(0..100).collect::<Vec<_>>());
        assert!(out.iter().all(|(arrives, number)| [20, 50].contains(&(arrives - number))));
        assert!(!out.iter().map(|(_, number)| number).is_sorted());
        let reorder = Reorder { probability: Ratio::new(1.0).unwrap(), gap: 3, delay: ms(5), ..Reorder::default() };
        let out = arrivals(&Delay { base, reorder, ..Delay::default() }, &[0, 1, 2, 3]);
        assert_eq!(out, [(7, 2), (20, 0), (21, 1), (23, 3)]);
    }

    #[test]
    fn with_a_gap_of_five_only_every_fifth_packet_may_overtake() {
        let delay = |probability, gap| {
            let reorder = Reorder { probability: Ratio::new(probability).unwrap(), gap, ..Reorder::default() };
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
