//! SFB, stochastic fair BLUE (Feng, Shin, Kandlur and Saha, 2002; Linux's `sch_sfb`).
//!
//! All packets wait in one line, but BLUE's probability is kept for sets of flows. There are eight levels of sixteen
//! bins; a flow falls into one bin of each level by a hash. A bin counts those packets of its flows that wait: its
//! probability rises when an arriving packet finds `bin_size` of them or more, and sinks when it finds none. A flow is
//! struck with the least probability of its bins: a flow that responds shares all eight bins with one that does not
//! only if their hashes are unlucky in each level.
//!
//! A flow that does not respond brings all its bins to 100 %, if what would pass at less fills them. It is inelastic
//! then: its packets pass a token bucket that all inelastic flows share, and no others pass. From time to time the hash
//! is drawn anew; in a `warmup` before, the bins of the next hash learn which flows are inelastic.
//!
//! Rules and their order are Linux's, with two differences. Probabilities are floating-point numbers, where Linux has
//! 16 bits. And Linux's bucket loses the part of a token that has come in whenever it is asked in vain, so that a flow
//! which sends more than `penalty_rate` gets nothing once the burst is over; here it gets the rate, as tc-sfb(8) says.

use super::discipline::{Arrival, Discipline, Gate, Queue, Verdict};
use crate::catalog::{Described, LinkContext};
use crate::packet::Ecn;
use dumbbell_parameters::Problem;
use dumbbell_units::{Duration, Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const LEVELS: usize = 8;
/// The longest warm-up where none is given.
const WARMUP: Duration = Duration::from_secs(60);
const BINS: usize = 16;
/// Above this probability marks would no longer do.
const MARK_UP_TO: f64 = 0.5;

/// Stochastic fair BLUE: one queue, whose packets are dropped or marked on their arrival with a probability of their
/// flow; flows that do not respond are held to a rate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sfb {
    /// Packets of a flow that may wait at most; it is counted in bins, which other flows share.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-unit" = "packets", "x-source" = "tc-sfb: max"))]
    pub max: u32,
    /// Waiting packets from which the probability of a bin rises.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-unit" = "packets", "x-source" = "tc-sfb: target"))]
    pub bin_size: u32,
    /// By how much the probability of a bin rises.
    #[schemars(extend("x-above" = "0%", "x-at-most" = "100%", "x-source" = "tc-sfb: increment; d1 of BLUE"))]
    pub increment: Ratio,
    /// By how much the probability of a bin sinks.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-sfb: decrement; d2 of BLUE"))]
    pub decrement: Ratio,
    /// Time after which the hash is drawn anew; `"0s"` keeps the first one.
    #[schemars(extend("x-at-most" = "1000h", "x-source" = "tc-sfb: rehash"))]
    pub rehash_interval: Duration,
    /// Time before that in which the bins of the next hash see inelastic flows.
    #[schemars(extend(
        "x-default" = "`\"60s\"`, but a tenth of a `rehash_interval` of less than 600 s",
        "x-at-most" = "1000h",
        "x-source" = "tc-sfb: db, 60 s"
    ))]
    pub warmup: Option<Duration>,
    /// Packets a second that inelastic flows may send together.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-unit" = "packets/s", "x-source" = "tc-sfb: penalty_rate"))]
    pub penalty_rate: u32,
    /// Packets that they may send at once after a pause.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-unit" = "packets", "x-source" = "tc-sfb: penalty_burst"))]
    pub penalty_burst: u32,
    /// Mark ECN-capable packets instead of dropping them, where the probability of their flow allows it.
    #[schemars(extend("x-source" = "Linux 6.18, sch_sfb.c: always"))]
    pub ecn: bool,
}

impl Default for Sfb {
    fn default() -> Sfb {
        Sfb {
            max: 25,
            bin_size: 20,
            increment: Ratio::new(0.000_5).unwrap_or_default(),
            decrement: Ratio::new(0.000_05).unwrap_or_default(),
            rehash_interval: Duration::from_secs(600),
            warmup: None,
            penalty_rate: 10,
            penalty_burst: 20,
            ecn: true,
        }
    }
}

impl Described<LinkContext> for Sfb {
    const NAME: &'static str = "sfb";
    const SOURCE: &'static str = "Feng, Shin, Kandlur and Saha, The BLUE active queue management algorithms, 2002; Linux \
                                  6.18, net/sched/sch_sfb.c";

    fn resolve(self, _: &LinkContext) -> Result<Sfb, Problem> {
        if self.bin_size > self.max {
            let message = format!("bins of {} packets never fill up to {}", self.max, self.bin_size);
            return Err(Problem::value("bin_size", message, "allowed: at most `max`"));
        }
        let tenth = Duration::from_nanos(self.rehash_interval.as_nanos() / 10);
        let warmup = self.warmup.unwrap_or(tenth.min(WARMUP));
        if warmup > Duration::ZERO && warmup >= self.rehash_interval {
            let message = format!("{warmup} are no time before a rehash every {}", self.rehash_interval);
            return Err(Problem::value("warmup", message, "allowed: less than `rehash_interval`"));
        }
        Ok(Sfb { warmup: Some(warmup), ..self })
    }

    fn in_words(&self) -> String {
        let marks = if self.ecn { ", marks" } else { "" };
        format!("SFB (bins of {} packets, penalty {} packets/s{marks})", self.bin_size, self.penalty_rate)
    }
}

impl Discipline for Sfb {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::gated(State::new(self, rng))
    }
}

/// What flows have in common that fall into it.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// How many of their packets wait.
    waiting: u32,
    probability: f64,
}

/// The bins of one hash.
#[derive(Clone, Debug)]
struct Table {
    perturbation: u64,
    bins: [[Bin; BINS]; LEVELS],
}

/// The bin of a flow in each level, four bits a level.
#[derive(Clone, Copy, Debug)]
struct Hash(u32);

impl Hash {
    fn bin(self, level: usize) -> usize {
        (self.0 >> (4 * level)) as usize % BINS
    }
}

impl Table {
    fn new(rng: &mut Rng) -> Table {
        Table { perturbation: rng.next_u64(), bins: [[Bin::default(); BINS]; LEVELS] }
    }

    fn hash(&self, flow: u32) -> Hash {
        #[expect(clippy::cast_possible_truncation, reason = "that many bits are needed")]
        let bits = Rng::stream(self.perturbation, flow.into()).next_u64() as u32;
        Hash(bits)
    }

    fn each(&mut self, hash: Hash) -> impl Iterator<Item = &mut Bin> {
        self.bins.iter_mut().enumerate().map(move |(level, bins)| &mut bins[hash.bin(level)])
    }

    /// A packet arrives: the bins of its flow learn from what waits in them. Returns the least of what waits in one,
    /// and the least probability.
    fn learn(&mut self, hash: Hash, parameters: &Sfb) -> (u32, f64) {
        let (mut waiting, mut probability) = (u32::MAX, 1.0);
        for bin in self.each(hash) {
            if bin.waiting == 0 {
                bin.probability = f64::max(bin.probability - parameters.decrement.as_f64(), 0.0);
            } else if bin.waiting >= parameters.bin_size {
                bin.probability = f64::min(bin.probability + parameters.increment.as_f64(), 1.0);
            }
            waiting = waiting.min(bin.waiting);
            probability = f64::min(probability, bin.probability);
        }
        (waiting, probability)
    }

    fn enter(&mut self, hash: Hash) {
        self.each(hash).for_each(|bin| bin.waiting += 1);
    }

    /// After a new hash packets leave that were not counted under it.
    fn leave(&mut self, hash: Hash) {
        self.each(hash).for_each(|bin| bin.waiting = bin.waiting.saturating_sub(1));
    }
}

/// Tokens for the packets of inelastic flows.
#[derive(Clone, Debug)]
struct Penalty {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled_at: Time,
}

impl Penalty {
    fn new(parameters: &Sfb) -> Penalty {
        let burst = f64::from(parameters.penalty_burst);
        Penalty { rate: parameters.penalty_rate.into(), burst, tokens: burst, filled_at: Time::ZERO }
    }

    fn passes(&mut self, now: Time) -> bool {
        self.tokens = (self.tokens + self.rate * now.since(self.filled_at).as_secs_f64()).min(self.burst);
        self.filled_at = now;
        let passes = self.rate > 0.0 && self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }
}

/// State of an SFB queue.
#[derive(Clone, Debug)]
struct State {
    parameters: Sfb,
    /// The bins in force, and those of the next hash.
    tables: [Table; 2],
    in_force: usize,
    /// When the hash was drawn.
    hashed_at: Time,
    /// In which bins of both tables those packets count that wait, in their order.
    waiting: VecDeque<[Option<Hash>; 2]>,
    penalty: Penalty,
    rng: Rng,
}

impl State {
    fn new(parameters: &Sfb, mut rng: Rng) -> State {
        State {
            tables: [Table::new(&mut rng), Table::new(&mut rng)],
            in_force: 0,
            hashed_at: Time::ZERO,
            waiting: VecDeque::new(),
            penalty: Penalty::new(parameters),
            parameters: parameters.clone(),
            rng,
        }
    }

    /// Takes those out of their bins that have begun transmission, so that `count` wait.
    fn forget_all_but(&mut self, count: u64) {
        while self.waiting.len() as u64 > count {
            let first = self.waiting.pop_front();
            self.take_out(first);
        }
    }

    fn take_out(&mut self, packet: Option<[Option<Hash>; 2]>) {
        for (table, hash) in self.tables.iter_mut().zip(packet.into_iter().flatten()) {
            hash.into_iter().for_each(|hash| table.leave(hash));
        }
    }

    /// Whether the bins of the next hash learn at `now`; draws a new hash where it is due.
    fn is_warming_up(&mut self, now: Time) -> bool {
        let Sfb { rehash_interval, warmup, .. } = self.parameters;
        if rehash_interval == Duration::ZERO {
            return false;
        }
        if now > self.hashed_at + rehash_interval {
            self.tables[self.in_force].perturbation = self.rng.next_u64();
            self.in_force = 1 - self.in_force;
            self.hashed_at = now;
        }
        now > self.hashed_at + rehash_interval.saturating_sub(warmup.unwrap_or_default())
    }

    /// What becomes of a packet, and which bins of the next hash it counts in if it passes.
    fn decide(&mut self, now: Time, hash: Hash, is_warming_up: bool, packet: &Arrival) -> (Verdict, Option<Hash>) {
        let (waiting, probability) = self.tables[self.in_force].learn(hash, &self.parameters);
        if waiting >= self.parameters.max {
            return (Verdict::Drop, None);
        }
        if probability >= 1.0 {
            let next = &mut self.tables[1 - self.in_force];
            let next_hash = is_warming_up.then(|| next.hash(packet.flow));
            if let Some(next_hash) = next_hash {
                next.learn(next_hash, &self.parameters);
            }
            let verdict = if self.penalty.passes(now) { Verdict::Pass } else { Verdict::Drop };
            return (verdict, next_hash);
        }
        let draw = self.rng.uniform();
        let may_mark = self.parameters.ecn && packet.ecn != Ecn::NotEct && draw >= 2.0 * (probability - MARK_UP_TO);
        let verdict = match draw < probability {
            false => Verdict::Pass,
            true if may_mark => Verdict::Mark,
            true => Verdict::Drop,
        };
        (verdict, None)
    }
}

impl Gate for State {
    fn judge(&mut self, now: Time, packet: &Arrival) -> Verdict {
        self.forget_all_but(packet.backlog.packets);
        let is_warming_up = self.is_warming_up(now);
        let hash = self.tables[self.in_force].hash(packet.flow);
        let (verdict, next_hash) = self.decide(now, hash, is_warming_up, packet);
        if verdict != Verdict::Drop {
            let mut hashes = [next_hash; 2];
            hashes[self.in_force] = Some(hash);
            for (table, hash) in self.tables.iter_mut().zip(hashes) {
                hash.into_iter().for_each(|hash| table.enter(hash));
            }
            self.waiting.push_back(hashes);
        }
        verdict
    }

    fn overflowed(&mut self, _: Time, _: &Arrival) {
        let last = self.waiting.pop_back();
        self.take_out(last);
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        let bins = || self.tables[self.in_force].bins.iter().flatten();
        let sum: f64 = bins().map(|bin| bin.probability).sum();
        let max = bins().map(|bin| bin.probability).fold(0.0, f64::max);
        vec![("max_probability", max), ("mean_probability", sum / (LEVELS * BINS) as f64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::QueueLimit;
    use crate::testing::{Bottleneck, TestPacket};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// How many packets wait in the bins of a table, in each level.
    fn waiting(table: &Table) -> [u32; LEVELS] {
        table.bins.map(|bins| bins.iter().map(|bin| bin.waiting).sum())
    }

    fn arrival(flow: u32, packets: u64) -> Arrival {
        let backlog = crate::stats::Backlog { packets, bytes: packets * 1_500 };
        Arrival { size: 1_500, flow, ecn: Ecn::NotEct, backlog, idle_since: None }
    }

    #[test]
    fn a_flow_has_a_bin_in_each_level_and_two_flows_hardly_share_all() {
        let table = Table::new(&mut Rng::new(1));
        let bins = |flow| (0..LEVELS).map(|level| table.hash(flow).bin(level)).collect::<Vec<_>>();
        for level in 0..LEVELS {
            let used: std::collections::HashSet<usize> = (0..500).map(|flow| table.hash(flow).bin(level)).collect();
            assert_eq!(used.len(), BINS, "all bins of level {level} are used");
        }
        let shared = |a: u32, b: u32| bins(a).iter().zip(bins(b)).filter(|(a, b)| **a == *b).count();
        let most = (1..200).map(|flow| shared(0, flow)).max().unwrap();
        assert!((1..=4).contains(&most), "{most}");
    }

    #[test]
    fn bins_count_what_waits_and_forget_what_has_left_or_did_not_fit() {
        let mut sfb = State::new(&Sfb::default(), Rng::new(1));
        for i in 0..5 {
            assert_eq!(sfb.judge(at(0), &arrival(7, i)), Verdict::Pass);
        }
        assert_eq!(waiting(&sfb.tables[0]), [5; LEVELS]);
        sfb.overflowed(at(0), &arrival(7, 4));
        assert_eq!(waiting(&sfb.tables[0]), [4; LEVELS]);
        sfb.judge(at(1), &arrival(9, 1));
        assert_eq!(waiting(&sfb.tables[0]), [2; LEVELS], "one is left, and one has come");
        assert_eq!(waiting(&sfb.tables[1]), [0; LEVELS]);
    }

    #[test]
    fn no_more_than_max_packets_of_a_flow_wait() {
        let parameters = Sfb { increment: Ratio::new(1e-9).unwrap(), ..Sfb::default() };
        let mut link = Bottleneck::new(parameters, QueueLimit::default());
        link.offer_burst(at(0), [0, 1], 100, Ecn::NotEct);
        // The first packet does not wait, but counts until the next one comes.
        assert_eq!([100 - link.drops(0), 100 - link.drops(1)], [26, 25]);
    }

    /// Packets a second of a flow that sends two packets a millisecond, of which the link carries one, and of four
    /// others that send `load` of what it carries together.
    fn beside_a_flood(parameters: Sfb, load: f64) -> (f64, [f64; 4]) {
        let mut link = Bottleneck::new(parameters, QueueLimit { packets: Some(200), ..QueueLimit::default() });
        let mut sent = 0;
        // So much comes at first that its bins are sure of it.
        link.offer_burst(at(0), [9], 5_000, Ecn::NotEct);
        for ms in 0..60_000 {
            link.offer_burst(at(ms), [9], 2, Ecn::NotEct);
            if f64::from(sent) < load * ms as f64 {
                link.offer(at(ms), TestPacket::of(sent % 4, Ecn::NotEct));
                sent += 1;
            }
        }
        link.drain();
        let rate = |flow| {
            let late = link.arrived.iter().filter(|(at, p)| p.flow == flow && at.as_secs_f64() >= 20.0);
            late.count() as f64 / 40.0
        };
        (rate(9), [0, 1, 2, 3].map(rate))
    }

    #[test]
    fn a_flow_whose_bins_stay_full_is_held_to_the_penalty_rate_and_others_lose_nothing() {
        let parameters = Sfb { penalty_rate: 120, decrement: Ratio::ZERO, ..Sfb::default() };
        let (flood, others) = beside_a_flood(parameters, 0.75);
        assert!((flood - 120.0).abs() < 2.0, "{flood} packets a second, others {others:?}");
        assert!(others.iter().all(|rate| (rate - 187.5).abs() < 0.1), "{others:?}");
    }

    #[test]
    fn a_flow_that_floods_gets_no_more_than_others() {
        let (flood, others) = beside_a_flood(Sfb::default(), 1.0);
        assert!(others.iter().all(|&rate| rate > flood), "{flood} packets a second, others {others:?}");
    }

    #[test]
    fn an_inelastic_flow_gets_its_rate_whatever_it_sends_and_a_burst_after_a_pause() {
        let mut penalty = Penalty::new(&Sfb::default());
        let passed = |penalty: &mut Penalty, ms: std::ops::Range<u64>| ms.filter(|&ms| penalty.passes(at(ms))).count();
        assert_eq!(passed(&mut penalty, 0..1), 1);
        assert_eq!(passed(&mut penalty, 1..10_000), 19 + 100 - 1);
        assert_eq!(passed(&mut penalty, 20_000..20_099), 20);
        let mut none = Penalty::new(&Sfb { penalty_rate: 0, ..Sfb::default() });
        assert_eq!(passed(&mut none, 0..1_000), 0);
    }

    #[test]
    fn the_next_hash_knows_inelastic_flows_before_it_is_in_force() {
        let parameters = Sfb {
            rehash_interval: Duration::from_secs(10),
            warmup: Some(Duration::from_secs(5)),
            increment: Ratio::new(0.01).unwrap(),
            decrement: Ratio::ZERO,
            bin_size: 1,
            penalty_rate: 1_000_000,
            penalty_burst: 1_000,
            ..Sfb::default()
        };
        let mut sfb = State::new(&parameters, Rng::new(1));
        let offer = |sfb: &mut State, ms| sfb.judge(at(ms), &arrival(3, 10));
        (0..4_000).for_each(|ms| _ = offer(&mut sfb, ms));
        let known = |sfb: &State| {
            let table = &sfb.tables[1];
            let hash = table.hash(3);
            (0..LEVELS).map(|level| table.bins[level][hash.bin(level)].probability).fold(1.0, f64::min)
        };
        assert_eq!(sfb.observe()[0].1, 1.0);
        assert_eq!(known(&sfb), 0.0, "there is no warm-up yet");
        (5_001..6_000).for_each(|ms| _ = offer(&mut sfb, ms));
        assert_eq!(known(&sfb), 1.0);
        offer(&mut sfb, 10_001);
        assert_eq!(sfb.in_force, 1);
        let before = sfb.tables[0].perturbation;
        (10_002..14_000).for_each(|ms| _ = offer(&mut sfb, ms));
        assert_eq!(sfb.tables[0].perturbation, before);
        sfb.forget_all_but(0);
        assert_eq!([waiting(&sfb.tables[0]), waiting(&sfb.tables[1])], [[0; LEVELS]; 2], "nothing is counted twice");
    }

    #[test]
    fn marks_become_drops_where_the_probability_is_above_one_half() {
        let shares = |probability: f64, ecn: Ecn| {
            let mut sfb = State::new(&Sfb { decrement: Ratio::ZERO, ..Sfb::default() }, Rng::new(1));
            sfb.tables[0].bins.iter_mut().flatten().for_each(|bin| bin.probability = probability);
            let verdicts: Vec<Verdict> =
                (0..10_000).map(|_| sfb.judge(at(0), &Arrival { ecn, ..arrival(3, 0) })).collect();
            [Verdict::Mark, Verdict::Drop].map(|meant| verdicts.iter().filter(|&&v| v == meant).count() as f64 / 1e4)
        };
        let near = |[marks, drops]: [f64; 2], expected: [f64; 2]| {
            assert!((marks - expected[0]).abs() < 0.015 && (drops - expected[1]).abs() < 0.015, "{marks}, {drops}");
        };
        near(shares(0.4, Ecn::Ect0), [0.4, 0.0]);
        near(shares(0.4, Ecn::NotEct), [0.0, 0.4]);
        near(shares(0.8, Ecn::Ect0), [0.2, 0.6]);
    }

    #[test]
    fn bins_have_to_fill_and_a_warm_up_has_to_end() {
        let resolved = |sfb: Sfb| sfb.resolve(&LinkContext::default()).map_err(|problem| problem.key);
        let refused = |sfb: Sfb| resolved(sfb).err();
        assert_eq!(refused(Sfb { bin_size: 26, ..Sfb::default() }).as_deref(), Some("bin_size"));
        let warmup = Some(Duration::from_secs(600));
        assert_eq!(refused(Sfb { warmup, ..Sfb::default() }).as_deref(), Some("warmup"));
        let of = |seconds| Sfb { rehash_interval: Duration::from_secs(seconds), ..Sfb::default() };
        assert_eq!(refused(Sfb { warmup, ..of(0) }).as_deref(), Some("warmup"), "there is no rehash");
        let warmup = |seconds| resolved(of(seconds)).unwrap().warmup.unwrap();
        assert_eq!([0, 30, 600, 6_000].map(warmup), [0, 3, 60, 60].map(Duration::from_secs));
    }
}
