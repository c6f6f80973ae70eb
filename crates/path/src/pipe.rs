//! Propagation: a constant delay, per-packet variation of it, and deliberate reordering.
//!
//! Packets enter in the order of their departure from the transmitter. Unless variation may reorder them they leave in
//! that order too, and the pipe is a ring of runs whose head alone matters; otherwise it is a heap.
//!
//! Variation follows netem. The uniform number behind each packet's delay is x ← (1 − ρ)·u + ρ·x, in 32-bit fixed
//! point; it shrinks the variance as netem does. Uniform jitter is base − jitter + x·2·jitter, normal jitter is
//! base + jitter·z(x) with the normal quantile z; a negative delay is zero. Reordering lets a packet skip the pipe when
//! at least `gap` − 1 packets have gone the normal way since the last that did, and a draw succeeds.
//!
//! Packets are put into the pipe before they leave the transmitter, when their departure is known. Where that changes
//! those that have not left are taken back out ([`Pipe::take_back`]) and put in again; each keeps what was drawn for it
//! ([`Passage`]).

use crate::loss::Chance;
use crate::normal::{QUANTILE_BITS, quantile};
use crate::packet::Packet;
use crate::ring::Ring;
use crate::train::Train;
use dumbbell_units::{Duration, Ratio, Rng, Time, claimed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Propagation.
#[derive(Clone, Debug, Default)]
pub struct Delay {
    /// Constant part.
    pub base: Duration,
    /// Variation from packet to packet.
    pub jitter: Jitter,
    /// Packets that overtake.
    pub reorder: Reorder,
}

/// Random variation of the propagation delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Half width (uniform) or standard deviation (normal).
    #[schemars(extend("x-at-most" = "1h", "x-source" = "tc-netem: delay JITTER"))]
    pub amount: Duration,
    /// Shape.
    #[serde(default)]
    #[schemars(extend("x-source" = "tc-netem: distribution"))]
    pub distribution: JitterDistribution,
    /// Correlation of successive variations.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: delay CORRELATION"))]
    pub correlation: Ratio,
    /// Whether packets may overtake each other. Without it a packet waits for those before it.
    #[serde(default)]
    #[schemars(extend("x-source" = "netem reorders; behind a rate or a pfifo it does not"))]
    pub reorders: bool,
}

impl Jitter {
    /// For a report; nothing when there is none.
    pub fn in_words(&self) -> Option<String> {
        let order = if self.reorders { ", may reorder" } else { "" };
        (self.amount > Duration::ZERO).then(|| format!("jitter {}{order}", self.amount.in_words()))
    }
}

/// Shape of jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JitterDistribution {
    /// Delay plus or minus the amount.
    #[default]
    Uniform,
    /// Standard deviation of the amount, cut at zero delay.
    Normal,
}

/// Packets that skip the delay and so overtake others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability for each candidate.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: reorder"))]
    pub probability: Ratio,
    /// Only every so many packets is a candidate.
    #[serde(default = "every_packet")]
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "tc-netem: gap"))]
    pub gap: u32,
}

impl Reorder {
    /// For a report; nothing when there is none.
    pub fn in_words(&self) -> Option<String> {
        (self.probability > Ratio::ZERO).then(|| format!("{} of packets overtake", self.probability))
    }
}

fn every_packet() -> u32 {
    1
}

impl Default for Reorder {
    fn default() -> Reorder {
        Reorder { probability: Ratio::ZERO, gap: every_packet() }
    }
}

/// The propagation pipe of a link.
#[derive(Clone, Debug)]
pub(crate) struct Pipe<P> {
    base: Duration,
    variation: Option<Box<Variation>>,
    /// Nobody overtakes but those that skip the delay. In a plain pipe nobody could.
    keeps_order: bool,
    /// When the last packet arrives that did not skip the delay; followed where the order is kept.
    latest: Time,
    /// Packets in order, unless they are in `disorder`.
    runs: Ring<Run<P>>,
    disorder: Option<Box<Disorder<P>>>,
    /// When the next packet comes out.
    next_arrival: Time,
}

/// How a packet passes the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It takes this many nanoseconds more than the constant delay, or less.
    Delayed(i64),
    /// It skips the delay.
    Skips,
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
        let arrives = match passage {
            Passage::Skips => departs,
            Passage::Delayed(more) => {
                let nanos = i128::from(self.base.as_nanos()) + i128::from(more);
                let arrives = departs + Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX));
                if self.keeps_order && departs < Time::NEVER {
                    self.latest = self.latest.max(arrives);
                    self.latest
                } else {
                    arrives
                }
            }
        };
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

    /// [`take_into`](Self::take_into) where nothing is in disorder. Returns how many packets of the same run come next.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, packet: &mut P) -> u32 {
        let run = self.runs.first_mut();
        *packet = run.packet;
        let behind = run.arrivals.count() - 1;
        if behind > 0 {
            run.packet.follow(1);
            run.arrivals.advance();
            self.next_arrival = run.arrivals.next();
        } else {
            self.drop_run();
        }
        behind
    }

    /// Takes up to `most` packets of the run that comes next, which has that many, as far as they come out before `until`.
    /// Returns how many these are, and the sum of the times at which they come out, since `origin`, before which none does.
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

    /// Forgets a run, all packets of which have come out.
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
        let taken = of_run.min((count - last_first.len()) as u32);
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

/// Everything about a delay that differs from packet to packet.
#[derive(Clone, Debug)]
struct Variation {
    jitter: u64,
    distribution: JitterDistribution,
    uniform: CorrelatedUniform,
    reorder: Option<Chance>,
    gap: u32,
    normal_ones: u32,
    rng: Rng,
}

impl Variation {
    fn new(delay: &Delay, rng: Rng) -> Variation {
        let Jitter { amount, distribution, correlation, .. } = delay.jitter;
        let Reorder { probability, gap } = delay.reorder;
        Variation {
            jitter: amount.as_nanos(),
            distribution,
            uniform: CorrelatedUniform::new(correlation.as_f64()),
            reorder: (probability > Ratio::ZERO).then(|| Chance::new(probability.as_f64())),
            gap: gap.max(1),
            normal_ones: 0,
            rng,
        }
    }

    fn draw(&mut self) -> Passage {
        if let Some(reorder) = self.reorder {
            if self.normal_ones >= self.gap - 1 && reorder.happens(&mut self.rng) {
                self.normal_ones = 0;
                return Passage::Skips;
            }
            self.normal_ones = self.normal_ones.saturating_add(1);
        }
        Passage::Delayed(self.jitter())
    }

    /// By how many nanoseconds the delay differs.
    fn jitter(&mut self) -> i64 {
        if self.jitter == 0 {
            return 0;
        }
        let x = self.uniform.next(&mut self.rng);
        let variation = match self.distribution {
            JitterDistribution::Uniform => {
                ((u128::from(x) * 2 * u128::from(self.jitter)) >> 32) as i128 - i128::from(self.jitter)
            }
            JitterDistribution::Normal => (i128::from(self.jitter) * i128::from(quantile(x))) >> QUANTILE_BITS,
        };
        i64::try_from(variation).unwrap_or(if variation < 0 { i64::MIN } else { i64::MAX })
    }
}

/// netem's correlated uniform numbers in 32-bit fixed point.
#[derive(Clone, Debug)]
struct CorrelatedUniform {
    correlation: u64,
    last: Option<u64>,
}

impl CorrelatedUniform {
    fn new(correlation: f64) -> CorrelatedUniform {
        CorrelatedUniform { correlation: (correlation.clamp(0.0, 1.0) * 2f64.powi(32)) as u64, last: None }
    }

    fn next(&mut self, rng: &mut Rng) -> u32 {
        let fresh = rng.next_u64() >> 32;
        let fresh_weight = (1u64 << 32) - self.correlation;
        // Both products are below 2⁶⁴ and so is their sum: the weights add up to 2³², the numbers are below it.
        let x = (fresh * fresh_weight + self.last.unwrap_or(fresh) * self.correlation) >> 32;
        self.last = Some(x);
        x as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    const MS: u64 = 1_000_000;

    fn delays(delay: &Delay, packets: usize) -> Vec<f64> {
        let mut variation = Variation::new(delay, Rng::new(11));
        let mut pipe = Pipe { variation: None, ..Pipe::new(delay, Rng::new(11)) };
        let passed = |_| {
            pipe.push(Time::ZERO, Passage::Delayed(variation.jitter()), TestPacket::default());
            let arrives = pipe.next_arrival();
            take(&mut pipe);
            pipe.latest = Time::ZERO;
            arrives.as_nanos() as f64 / MS as f64
        };
        (0..packets).map(passed).collect()
    }

    fn mean_sd(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
    }

    fn autocorrelation(values: &[f64]) -> f64 {
        let (mean, sd) = mean_sd(values);
        values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / (values.len() as f64 * sd * sd)
    }

    fn jittery(distribution: JitterDistribution, correlation: f64) -> Delay {
        let (amount, correlation) = (Duration::from_millis(5), Ratio::new(correlation).unwrap());
        let jitter = Jitter { amount, distribution, correlation, reorders: false };
        Delay { base: Duration::from_millis(50), jitter, ..Delay::default() }
    }

    #[test]
    fn uniform_jitter_fills_base_plus_minus_jitter() {
        let delays = delays(&jittery(JitterDistribution::Uniform, 0.0), 200_000);
        let (mean, sd) = mean_sd(&delays);
        assert!((mean - 50.0).abs() < 0.03 && (sd - 5.0 / 3f64.sqrt()).abs() < 0.02);
        assert!(delays.iter().all(|d| (45.0..=55.0).contains(d)));
        assert!(delays.iter().any(|&d| d < 45.1) && delays.iter().any(|&d| d > 54.9));
    }

    #[test]
    fn normal_jitter_has_the_asked_standard_deviation_and_is_never_negative() {
        let (mean, sd) = mean_sd(&delays(&jittery(JitterDistribution::Normal, 0.0), 200_000));
        assert!((mean - 50.0).abs() < 0.05 && (sd - 5.0).abs() < 0.05);
        let wide = Delay { base: Duration::from_millis(1), ..jittery(JitterDistribution::Normal, 0.0) };
        let cut = delays(&wide, 10_000).iter().filter(|&&d| d == 0.0).count();
        assert!((3_800..4_600).contains(&cut), "P(z < -0.2) is 42 %, {cut} of 10 000 were cut");
    }

    #[test]
    fn correlation_of_successive_delays_is_the_parameter_and_shrinks_their_spread() {
        for rho in [0.25, 0.8] {
            let delays = delays(&jittery(JitterDistribution::Uniform, rho), 400_000);
            assert!((autocorrelation(&delays) - rho).abs() < 0.01);
            let shrunk = 5.0 / 3f64.sqrt() * ((1.0 - rho) / (1.0 + rho)).sqrt();
            assert!((mean_sd(&delays).1 - shrunk).abs() < 0.03);
        }
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
        let delay = jittery(JitterDistribution::Normal, 0.0);
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
        let overtakers = |gap, packets: usize| {
            let mut variation = Variation::new(&delay(0.25, gap), Rng::new(9));
            (0..packets).filter(|_| variation.draw() == Passage::Skips).count() as f64
        };
        // Four ordinary packets, then a trial with success 1/4 for each further one: one in 4 + 4.
        assert!((overtakers(5, 400_000) / 400_000.0 - 1.0 / 8.0).abs() < 0.003);
        assert!((overtakers(1, 400_000) / 400_000.0 - 0.25).abs() < 0.003);
    }
}
