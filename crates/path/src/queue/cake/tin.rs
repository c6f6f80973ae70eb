//! A tin: the flows of one class, which take turns.

use super::cobalt::{Cobalt, Rules};
use crate::ledger::DropCause;
use crate::packet::Ecn;
use crate::queue::flows::{Classifier, Turns, line_at, longest};
use crate::queue::{Buffer, FULL_PACKET, Line, Verdict, Waiting, time_of};
use dumbbell_units::{Rate, Rng, Time};
use std::collections::{HashMap, VecDeque};

/// Bytes that a flow may send each turn: what the tin sends in 1/4096 s, within these.
const QUANTA: (u64, u64) = (300, FULL_PACKET as u64);

/// A tin. Its clock, `next_packet`, is ahead of the time while it has sent more than its part.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    rate: Option<Rate>,
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
    pub(super) waiting: u64,
    pub(super) next_packet: Time,
    /// Without a rate: the bytes that it gets each turn, and those that are left.
    weight: i64,
    deficit: i64,
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

impl Tin {
    pub(super) fn new(rate: Option<Rate>, weight: i64, rules: Rules, hosts: &[Vec<u32>], lines: Rng) -> Tin {
        let per_turn = rate.map_or(QUANTA.1, |rate| rate.as_bits_per_sec() / 8 / 4_096);
        let groups = (0..).zip(hosts);
        Tin {
            rate,
            rules,
            quantum: i64::try_from(per_turn.clamp(QUANTA.0, QUANTA.1)).unwrap_or(i64::MAX),
            classifier: Classifier::new(None, lines),
            flows: Vec::new(),
            turns: Turns::default(),
            decaying: VecDeque::new(),
            host_of: groups.flat_map(|(host, flows)| flows.iter().map(move |flow| (*flow, host))).collect(),
            bulk_of: vec![0; hosts.len()],
            waiting: 0,
            next_packet: Time::ZERO,
            weight,
            deficit: 0,
        }
    }

    /// The number of the line of a flow.
    pub(super) fn line_of(&mut self, flow: u32) -> usize {
        let number = self.classifier.line_of(flow);
        line_at(&mut self.flows, number).host = self.host_of.get(&flow).copied();
        number
    }

    /// A packet comes to a line.
    pub(super) fn push(&mut self, line: usize, now: Time, packet: Waiting, buffer: &mut Buffer, rng: &mut Rng) {
        if self.waiting == 0 {
            self.next_packet = self.next_packet.max(now);
        }
        self.waiting += 1;
        self.flows[line].line.push(packet, buffer);
        self.wake(line, rng);
    }

    /// What a flow gets each turn: its share of what its host gets, rounded at random.
    fn turn_of(&self, number: usize, rng: &mut Rng) -> i64 {
        let load = self.flows[number].host.map_or(1, |host| self.bulk_of[host].max(1));
        if load == 1 {
            return self.quantum;
        }
        let rounding = i64::from(rng.below(load));
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
    fn wake(&mut self, number: usize, rng: &mut Rng) {
        match self.flows[number].set {
            Set::None | Set::Decaying => {
                self.decaying.retain(|flow| *flow != number);
                self.flows[number].set = Set::Sparse;
                self.flows[number].deficit = self.turn_of(number, rng);
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

    /// The next packet by the turns of its flows.
    pub(super) fn take(&mut self, now: Time, overhead: u32, buffer: &mut Buffer, rng: &mut Rng) -> Option<Waiting> {
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
                self.flows[number].deficit += self.turn_of(number, rng);
                self.turns.postpone_first();
                continue;
            }
            if let Some(packet) = self.serve(number, now, buffer, rng) {
                self.flows[number].deficit -= i64::from(packet.size + overhead);
                return Some(packet);
            }
            self.turns.leave_first();
            self.rest(number, now);
        }
        None
    }

    /// Takes the packet of a flow that COBALT lets pass; its last one is never dropped.
    fn serve(&mut self, number: usize, now: Time, buffer: &mut Buffer, rng: &mut Rng) -> Option<Waiting> {
        let flow = &mut self.flows[number];
        loop {
            let mut packet = flow.line.pop(now, buffer)?;
            self.waiting -= 1;
            let can_mark = packet.ecn() != Ecn::NotEct;
            let verdict = flow.cobalt.judge(&self.rules, now, packet.waited(now), can_mark, rng);
            if verdict == Verdict::Mark {
                buffer.mark(&mut packet);
            }
            if verdict != Verdict::Drop || flow.line.front().is_none() {
                return Some(packet);
            }
            buffer.drop(packet, DropCause::Aqm);
        }
    }

    /// Without a rate: whether it has something to send and has not had its share.
    pub(super) fn may_send(&self) -> bool {
        self.waiting > 0 && self.deficit >= 0
    }

    /// It was its turn.
    pub(super) fn earn(&mut self) {
        if self.deficit <= 0 {
            self.deficit += self.weight;
        }
    }

    /// It has sent so many bytes: its clock goes on by what they take, and at most so much ahead of the time.
    pub(super) fn charge(&mut self, now: Time, bytes: u64) {
        let Some(rate) = self.rate else {
            self.deficit -= i64::try_from(bytes).unwrap_or(i64::MAX);
            return;
        };
        let takes = time_of(bytes, rate);
        if self.next_packet < now {
            self.next_packet += takes;
        } else if self.next_packet < now + takes {
            self.next_packet = now + takes;
        }
    }

    /// The line that would hold the most bytes with a packet of `size` bytes in line `to`, and these bytes.
    pub(super) fn longest(&self, to: usize, size: u32) -> Option<(usize, u64)> {
        longest(self.flows.iter().map(|flow| &flow.line), to, size)
    }

    /// A line loses its oldest packet, because the buffer is full.
    pub(super) fn lose_oldest(&mut self, line: usize, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let flow = &mut self.flows[line];
        flow.cobalt.was_full(&self.rules, now);
        let packet = flow.line.pop(now, buffer)?;
        self.waiting -= 1;
        Some(packet)
    }

    /// Flows with something to send.
    pub(super) fn flows(&self) -> usize {
        self.flows.iter().filter(|flow| flow.line.front().is_some()).count()
    }

    /// The highest probability of BLUE.
    pub(super) fn largest_blue(&self) -> f64 {
        self.flows.iter().map(|flow| flow.cobalt.blue()).fold(0.0, f64::max)
    }
}
