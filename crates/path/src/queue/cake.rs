//! CAKE (common applications kept enhanced), in the parts that one kind of traffic sees: shaper, fair turns between flows
//! and hosts, COBALT.
//!
//! The shaper has no bucket: a packet may leave when the one before has taken its time at `bandwidth`, and idle time earns
//! nothing. Flows take turns by deficit round robin. One that has nothing but now and then a packet is sparse and comes
//! first; one that uses up its deficit is bulk; and one that has become empty decays, which it is asked about at each
//! departure of another, until nothing is left of what COBALT (`cake/cobalt.rs`) knew of it. The deficit that a bulk flow
//! gets each turn is divided by the number of bulk flows of its host.
//!
//! Left out are the tins, because queues do not see the DSCP of a flow, and the ACK filter, which is off by default. Linux's
//! hash with eight ways hardly ever lets flows meet; here they never do.

mod cobalt;

use super::flows::{Classifier, Turns, line_at, longest};
use super::{Buffer, Discipline, FULL_PACKET, Held, Line, Queue, Verdict, Waiting, time_of};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use crate::packet::Ecn;
use cobalt::{Cobalt, Rules};
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};

/// Bytes that a flow may send each turn: what the shaper sends in 1/4096 s, within these.
const QUANTA: (u64, u64) = (300, FULL_PACKET as u64);
/// The least `target`.
const LEAST_TARGET: Duration = Duration::from_millis(5);

/// CAKE: a shaper, fair turns between flows and between hosts, and COBALT, which is CoDel and BLUE. Where the buffer is full
/// the longest line loses packets from its head, and BLUE begins to drop at random. Linux holds 4 MiB at least: with a much
/// smaller `buffer` a flow that fills it once is dropped at random for long.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cake {
    /// Rate of the shaper, which should be a little below that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "that of the link: nothing is shaped",
        "x-above" = "0bit",
        "x-at-most" = "100tbit",
        "x-source" = "tc-cake: bandwidth"
    ))]
    pub bandwidth: Option<Rate>,
    /// Typical round-trip time: COBALT's interval, of which the target is a twentieth.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "100 ms and 5 ms, longer where packets take long: target at least 1.5 packets, interval 95 ms more",
        "x-at-least" = "100us",
        "x-at-most" = "1h",
        "x-source" = "tc-cake: rtt"
    ))]
    pub rtt: Option<Duration>,
    /// Bytes that each packet takes of `bandwidth` besides its IP length.
    #[schemars(range(max = 256), extend("x-unit" = "bytes", "x-source" = "tc-cake: overhead"))]
    pub overhead: u32,
    /// The least that a packet takes, with its overhead.
    #[schemars(extend("x-at-most" = "256B", "x-source" = "tc-cake: mpu"))]
    pub mpu: Bytes,
    /// Groups of flows, by number, that have a host in common: `[[0, 1, 2], [3]]`. The turns of hosts are equal, too.
    #[schemars(extend("x-default" = "each flow has hosts of its own", "x-source" = "tc-cake: triple-isolate"))]
    pub hosts: Vec<Vec<u32>>,
}

impl Described for Cake {
    const NAME: &'static str = "cake";
    const SOURCE: &'static str =
        "Linux 6.18, net/sched/sch_cake.c; Høiland-Jørgensen, Täht and Morton, Piece of CAKE, 2018";

    fn resolve(self, _: &LinkContext) -> Result<Cake, Problem> {
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = self.hosts.iter().flatten().find(|flow| !seen.insert(**flow)) {
            let message = format!("flow {twice} is in two groups");
            return Err(Problem::value("hosts", message, "allowed: each flow in one group at most"));
        }
        Ok(self)
    }

    fn in_words(&self) -> String {
        let rate = self.bandwidth.map_or_else(|| "unshaped".to_owned(), |rate| rate.in_words());
        let hosts = if self.hosts.is_empty() { String::new() } else { format!(", {} hosts", self.hosts.len()) };
        format!("CAKE ({rate}{hosts})")
    }
}

impl Cake {
    fn rules(&self) -> Rules {
        let packet_time = self.bandwidth.map_or(Duration::ZERO, |rate| time_of(FULL_PACKET.into(), rate));
        let (target, interval) = match self.rtt {
            Some(rtt) => (Duration::from_nanos(rtt.as_nanos() / 20), rtt),
            None => (LEAST_TARGET, LEAST_TARGET * 20),
        };
        let longer = target.max(Duration::from_nanos(packet_time.as_nanos() / 2 * 3));
        let interval = (interval + longer - target).max(longer * 2);
        Rules { target: longer, interval, packet_time }
    }
}

impl Discipline for Cake {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::held(State::new(self, rng))
    }
}

/// State of a CAKE queue.
#[derive(Clone, Debug)]
struct State {
    parameters: Cake,
    rules: Rules,
    quantum: i64,
    classifier: Classifier,
    flows: Vec<Flow>,
    turns: Turns,
    /// Empty flows that COBALT still knows something of.
    decaying: VecDeque<usize>,
    /// The host of each flow that shares one.
    host_of: HashMap<u32, usize>,
    /// Bulk flows of each host.
    bulk_of: Vec<u32>,
    waiting: u64,
    /// When the shaper lets the next packet go; where nothing is shaped, since when something waits.
    next_packet: Time,
    rng: Rng,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    line: Line,
    cobalt: Cobalt,
    deficit: i64,
    set: Set,
    host: Option<usize>,
}

/// Where a flow stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    None,
    /// It has used no more than its first deficit.
    Sparse,
    /// It used up that deficit, and nothing waited then.
    SparseWait,
    Bulk,
    Decaying,
}

impl State {
    fn new(parameters: &Cake, mut rng: Rng) -> State {
        let per_turn = parameters.bandwidth.map_or(QUANTA.1, |rate| rate.as_bits_per_sec() / 8 / 4_096);
        let groups = (0..).zip(&parameters.hosts);
        State {
            rules: parameters.rules(),
            quantum: i64::try_from(per_turn.clamp(QUANTA.0, QUANTA.1)).unwrap_or(i64::MAX),
            classifier: Classifier::new(None, Rng::new(rng.next_u64())),
            flows: Vec::new(),
            turns: Turns::default(),
            decaying: VecDeque::new(),
            host_of: groups.flat_map(|(host, flows)| flows.iter().map(move |flow| (*flow, host))).collect(),
            bulk_of: vec![0; parameters.hosts.len()],
            waiting: 0,
            next_packet: Time::ZERO,
            parameters: parameters.clone(),
            rng,
        }
    }

    /// What a flow gets each turn: its share of what its host gets, rounded at random.
    fn turn_of(&mut self, number: usize) -> i64 {
        let load = self.flows[number].host.map_or(1, |host| self.bulk_of[host].max(1));
        if load == 1 {
            return self.quantum;
        }
        let rounding = i64::from(self.rng.below(load));
        (self.quantum + rounding) / i64::from(load)
    }

    fn join_bulk(&mut self, number: usize) {
        self.flows[number].set = Set::Bulk;
        if let Some(host) = self.flows[number].host {
            self.bulk_of[host] += 1;
        }
    }

    fn leave_bulk(&mut self, number: usize) {
        if self.flows[number].set == Set::Bulk
            && let Some(host) = self.flows[number].host
        {
            self.bulk_of[host] -= 1;
        }
    }

    /// A packet came to the flow.
    fn wake(&mut self, number: usize) {
        match self.flows[number].set {
            Set::None | Set::Decaying => {
                self.decaying.retain(|flow| *flow != number);
                self.flows[number].set = Set::Sparse;
                self.flows[number].deficit = self.turn_of(number);
                self.turns.join(number);
            }
            Set::SparseWait => self.join_bulk(number),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// It was the flow's turn, and it had nothing to send: it decays until COBALT is at rest.
    fn rest(&mut self, number: usize, now: Time) {
        self.leave_bulk(number);
        let flow = &mut self.flows[number];
        flow.cobalt.was_empty(&self.rules, now);
        if flow.cobalt.is_at_rest(now) {
            flow.set = Set::None;
        } else {
            flow.set = Set::Decaying;
            self.decaying.push_back(number);
        }
    }

    /// Takes the packet of a flow that COBALT lets pass; its last one is never dropped.
    fn serve(&mut self, number: usize, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let flow = &mut self.flows[number];
        loop {
            let mut packet = flow.line.pop(now, buffer)?;
            self.waiting -= 1;
            let can_mark = packet.ecn() != Ecn::NotEct;
            let verdict = flow.cobalt.judge(&self.rules, now, packet.waited(now), can_mark, &mut self.rng);
            if verdict == Verdict::Mark {
                buffer.mark(&mut packet);
            }
            if verdict != Verdict::Drop || flow.line.front().is_none() {
                return Some(packet);
            }
            buffer.drop(packet, DropCause::Aqm);
        }
    }

    /// A packet leaves: the next one may when this one has taken its time.
    fn charge(&mut self, size: u32) {
        let Cake { bandwidth, overhead, mpu, .. } = self.parameters;
        if let Some(rate) = bandwidth {
            self.next_packet += time_of(u64::from(size + overhead).max(mpu.as_u64()), rate);
        }
    }

    /// The line that would hold the most bytes with the packet of `size` bytes that comes to the flow of number `to` loses
    /// its oldest packet. False where that would be the arriving packet.
    fn make_room(&mut self, now: Time, to: usize, size: u32, buffer: &mut Buffer) -> bool {
        let lines = self.flows.iter().map(|flow| &flow.line);
        let Some((number, _)) = longest(lines, to, size) else { return false };
        let flow = &mut self.flows[number];
        flow.cobalt.was_full(&self.rules, now);
        let Some(packet) = flow.line.pop(now, buffer) else { return false };
        self.waiting -= 1;
        buffer.drop(packet, DropCause::QueueFull);
        true
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        let number = self.classifier.line_of(packet.flow);
        line_at(&mut self.flows, number).host = self.host_of.get(&packet.flow).copied();
        let goes_at_once = self.waiting == 0 && self.next_packet <= now;
        let fits = |buffer: &mut Buffer| {
            if goes_at_once { buffer.fits(now, packet.size) } else { buffer.fits_waiting(now, packet.size) }
        };
        while !fits(buffer) {
            if !self.make_room(now, number, packet.size, buffer) {
                return Err(DropCause::QueueFull);
            }
        }
        if self.waiting == 0 {
            self.next_packet = self.next_packet.max(now);
        }
        self.waiting += 1;
        self.flows[number].line.push(packet, buffer);
        self.wake(number);
        Ok(())
    }

    fn next_decision(&self) -> Time {
        if self.waiting == 0 { Time::NEVER } else { self.next_packet }
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        if let Some(number) = self.decaying.pop_front() {
            self.rest(number, now);
        }
        while let Some(number) = self.turns.first() {
            if self.flows[number].deficit <= 0 {
                match (self.flows[number].set, self.flows[number].line.front().is_some()) {
                    (Set::Sparse, true) => self.join_bulk(number),
                    (Set::Sparse, false) => self.flows[number].set = Set::SparseWait,
                    _ => {}
                }
                self.flows[number].deficit += self.turn_of(number);
                self.turns.postpone_first();
                continue;
            }
            if let Some(packet) = self.serve(number, now, buffer) {
                self.flows[number].deficit -= i64::from(packet.size + self.parameters.overhead);
                self.charge(packet.size);
                return Some(packet);
            }
            self.turns.leave_first();
            self.rest(number, now);
        }
        None
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        let waiting = self.flows.iter().filter(|flow| flow.line.front().is_some()).count();
        let blue = self.flows.iter().map(|flow| flow.cobalt.blue()).fold(0.0, f64::max);
        vec![("flows", waiting as f64), ("largest_blue", blue)]
    }
}

#[cfg(test)]
mod tests;
