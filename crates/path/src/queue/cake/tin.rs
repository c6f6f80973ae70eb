//! A tin: the flows of one class, which take turns.

use super::Cake;
use super::ack_filter::{AckFilter, Waits, redundant};
use super::cobalt::{Cobalt, Rules};
use super::hosts::{Ends, Hosts, joined_lines};
use super::wire::Wire;
use crate::ledger::DropCause;
use crate::packet::{Ecn, PureAck};
use crate::queue::discipline::{FULL_PACKET, Verdict, time_of};
use crate::queue::flows::{Classifier, Turns, line_at, longest};
use crate::queue::held::{Buffer, Line, Waiting};
use dumbbell_units::{Duration, Rate, Rng, Time};
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
    hosts: Hosts,
    /// For each flow that waits in the line of another one: that flow.
    joined: HashMap<u32, u32>,
    /// How many flows are bulk.
    bulk: u32,
    ack_filter: AckFilter,
    /// Dropped packets take their time of the rate, too.
    ingress: bool,
    /// Bytes that dropped packets take of the shaper's rate, and have not been charged there.
    owed: u64,
    wire: Wire,
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
    ends: Ends,
    /// What each packet of the line acknowledges, where ACKs are filtered.
    acks: VecDeque<Waits>,
}

impl Flow {
    fn pop(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        self.acks.pop_front();
        self.line.pop(now, buffer)
    }
}

/// What comes of the turn of a flow.
enum Served {
    Packet(Waiting),
    /// A drop took its time: the flow may have used up its turn.
    Turn,
    /// Nothing waited.
    Nothing,
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
    pub(super) fn new(rate: Option<Rate>, weight: i64, parameters: &Cake, lines: Rng) -> Tin {
        let per_turn = rate.map_or(QUANTA.1, |rate| rate.as_bits_per_sec() / 8 / 4_096);
        Tin {
            rate,
            rules: parameters.rules(rate),
            quantum: i64::try_from(per_turn.clamp(QUANTA.0, QUANTA.1)).unwrap_or(i64::MAX),
            classifier: Classifier::new(None, lines),
            flows: Vec::new(),
            turns: Turns::default(),
            decaying: VecDeque::new(),
            hosts: Hosts::new(parameters),
            joined: joined_lines(parameters),
            bulk: 0,
            ack_filter: parameters.ack_filter,
            ingress: parameters.ingress,
            owed: 0,
            wire: parameters.wire(),
            waiting: 0,
            next_packet: Time::ZERO,
            weight,
            deficit: 0,
        }
    }

    /// The number of the line of a flow.
    pub(super) fn line_of(&mut self, flow: u32) -> usize {
        let number = self.classifier.line_of(self.joined.get(&flow).copied().unwrap_or(flow));
        line_at(&mut self.flows, number).ends = self.hosts.of(flow);
        number
    }

    /// An ACK comes to a line: the one that it makes redundant is dropped.
    pub(super) fn filter(&mut self, line: usize, now: Time, (of, ack): (u32, &PureAck), buffer: &mut Buffer) {
        let flow = &mut self.flows[line];
        let is_aggressive = self.ack_filter == AckFilter::Aggressive;
        let Some(place) = redundant(flow.acks.iter(), of, ack, is_aggressive) else { return };
        flow.acks.remove(place);
        let Some(packet) = flow.line.remove(place, now, buffer) else { return };
        self.waiting -= 1;
        self.charge_dropped(now, packet.size);
        buffer.drop(packet, DropCause::AckFilter);
    }

    /// A packet comes to a line.
    pub(super) fn push(
        &mut self,
        (line, ack): (usize, Option<PureAck>),
        now: Time,
        packet: Waiting,
        buffer: &mut Buffer,
        rng: &mut Rng,
    ) {
        if self.waiting == 0 {
            self.next_packet = self.next_packet.max(now);
        }
        self.waiting += 1;
        let flow = &mut self.flows[line];
        if self.ack_filter != AckFilter::Off {
            flow.acks.push_back(ack.map(|ack| (packet.flow, ack)));
        }
        flow.line.push(packet, buffer);
        self.wake(line, rng);
    }

    /// What a flow gets each turn: its share of what its host gets, rounded at random.
    fn turn_of(&self, number: usize, rng: &mut Rng) -> i64 {
        let load = self.hosts.load(self.flows[number].ends);
        if load == 1 {
            return self.quantum;
        }
        let rounding = i64::from(rng.below(load));
        (self.quantum + rounding) / i64::from(load)
    }

    fn join_bulk(&mut self, number: usize) {
        self.flows[number].set = Set::Bulk;
        self.bulk += 1;
        self.hosts.join_bulk(self.flows[number].ends);
    }

    fn leave_bulk(&mut self, number: usize) {
        if self.flows[number].set == Set::Bulk {
            self.bulk -= 1;
            self.hosts.leave_bulk(self.flows[number].ends);
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
    pub(super) fn take(&mut self, now: Time, buffer: &mut Buffer, rng: &mut Rng) -> Option<Waiting> {
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
            match self.serve(number, now, buffer, rng) {
                Served::Packet(packet) => {
                    self.flows[number].deficit -= self.taken_by(packet.size);
                    return Some(packet);
                }
                Served::Turn => {}
                Served::Nothing => {
                    self.turns.leave_first();
                    self.rest(number, now);
                }
            }
        }
        None
    }

    /// Takes the packet of a flow that COBALT lets pass; its last one is never dropped.
    fn serve(&mut self, number: usize, now: Time, buffer: &mut Buffer, rng: &mut Rng) -> Served {
        // Where drops count, a delay is no reason as long as each bulk flow has two packets.
        let least = if self.ingress { self.rules.packet_time * (2 * u64::from(self.bulk)) } else { Duration::ZERO };
        loop {
            let flow = &mut self.flows[number];
            let Some(mut packet) = flow.pop(now, buffer) else { return Served::Nothing };
            self.waiting -= 1;
            let can_mark = packet.ecn() != Ecn::NotEct;
            let verdict = flow.cobalt.judge(&self.rules, now, (packet.waited(now), least), can_mark, rng);
            if verdict == Verdict::Mark {
                buffer.mark(&mut packet);
            }
            if verdict != Verdict::Drop || flow.line.front().is_none() {
                return Served::Packet(packet);
            }
            let size = packet.size;
            buffer.drop(packet, DropCause::Aqm);
            if self.ingress {
                self.flows[number].deficit -= self.taken_by(size);
                self.charge_dropped(now, size);
                return Served::Turn;
            }
        }
    }

    fn taken_by(&self, size: u32) -> i64 {
        i64::try_from(self.wire.bytes(size)).unwrap_or(i64::MAX)
    }

    /// A packet was dropped: where drops count it takes its time all the same.
    fn charge_dropped(&mut self, now: Time, size: u32) {
        if self.ingress {
            let bytes = self.wire.bytes(size);
            self.charge(now, bytes);
            self.owed += bytes;
        }
    }

    /// Bytes that dropped packets take of the shaper's rate and were not told before.
    pub(super) fn take_owed(&mut self) -> u64 {
        std::mem::take(&mut self.owed)
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
        longest(self.flows.iter().map(|flow| &flow.line), &self.classifier, to, size)
    }

    /// A line loses its oldest packet, because the buffer is full.
    pub(super) fn lose_oldest(&mut self, line: usize, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let flow = &mut self.flows[line];
        flow.cobalt.was_full(&self.rules, now);
        let packet = flow.pop(now, buffer)?;
        self.waiting -= 1;
        self.charge_dropped(now, packet.size);
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
