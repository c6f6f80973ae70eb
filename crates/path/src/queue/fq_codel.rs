//! FQ-CoDel (RFC 8290): a line for each flow, which take turns, and CoDel in each.
//!
//! Lines take turns by deficit round robin with a list of new and one of old flows (`flows.rs`): each may send
//! `quantum` bytes a turn. Each line has CoDel's state of its own, with one exception that Linux has, too: a backlog of
//! at most one full packet, which never counts as a standing queue, is that of all lines together. Where an arriving
//! packet does not fit, the line with the most bytes loses packets from its head, up to `drop_batch` or half of what it
//! holds, and its CoDel counts them as drops of its own.

use super::codel::{Codel, Control};
use super::discipline::{Discipline, FULL_PACKET, Held, Queue};
use super::flows::{Classifier, Turns, line_at, longest};
use super::held::{Buffer, Line, Passing, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_units::{Bytes, Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// FQ-CoDel: a line for each flow, which take turns, and CoDel in each. Where the buffer is full the longest line loses
/// packets from its head.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodel {
    /// Lines into which flows fall by a random hash.
    #[schemars(range(min = 1, max = 65536), extend("x-unit" = "lines", "x-source" = "tc-fq_codel: flows"))]
    pub flows: u32,
    /// Give every flow a line of its own instead: no two meet in one.
    #[schemars(extend("x-source" = "none: what a hash without collisions would do"))]
    pub perfect_hash: bool,
    /// Bytes that a flow may send each turn. Linux's 1514 count the Ethernet header, which does not count here.
    #[schemars(extend("x-at-least" = "256B", "x-at-most" = "1MB", "x-source" = "tc-fq_codel: quantum"))]
    pub quantum: Bytes,
    /// The most packets that the longest line loses at once where a packet does not fit.
    #[schemars(range(min = 1, max = 65536), extend("x-unit" = "packets", "x-source" = "tc-fq_codel: drop_batch"))]
    pub drop_batch: u32,
    /// Acceptable standing delay of a flow.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 8290, section 5.2.2"))]
    pub target: Duration,
    /// Time a flow's delay must exceed the target before the first drop.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 8290, section 5.2.1"))]
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    #[schemars(extend("x-source" = "RFC 8290, section 5.2.6; tc-fq_codel: ecn"))]
    pub ecn: bool,
    /// Also mark every ECN-capable packet that has waited longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "none are", "x-at-most" = "1h", "x-source" = "tc-fq_codel: ce_threshold"))]
    pub ce_threshold: Option<Duration>,
}

impl Default for FqCodel {
    fn default() -> FqCodel {
        FqCodel {
            flows: 1024,
            perfect_hash: false,
            quantum: Bytes::new(FULL_PACKET.into()),
            drop_batch: 64,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            ce_threshold: None,
        }
    }
}

impl Described<LinkContext> for FqCodel {
    const NAME: &'static str = "fq_codel";
    const SOURCE: &'static str = "RFC 8290; Linux 6.18, net/sched/sch_fq_codel.c";

    fn in_words(&self) -> String {
        let lines = match self.flows {
            _ if self.perfect_hash => "a line for each flow".to_owned(),
            1 => "1 line".to_owned(),
            flows => format!("{flows} lines"),
        };
        let marks = if self.ecn { ", marks" } else { "" };
        format!("FQ-CoDel ({lines}, {}, {}{marks})", self.target.in_words(), self.interval.in_words())
    }
}

impl Discipline for FqCodel {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::held(State::new(self, rng))
    }
}

/// State of an FQ-CoDel queue.
#[derive(Clone, Debug)]
struct State {
    rules: Codel,
    quantum: i64,
    drop_batch: u32,
    classifier: Classifier,
    flows: Vec<Flow>,
    turns: Turns,
    /// Since when some flow has had its turn to come.
    busy_since: Time,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    line: Line,
    control: Control,
    deficit: i64,
    /// It has a turn to come, even if nothing waits.
    is_active: bool,
}

impl State {
    fn new(parameters: &FqCodel, rng: Rng) -> State {
        let FqCodel { target, interval, ecn, ce_threshold, .. } = *parameters;
        State {
            rules: Codel { target, interval, ecn, ce_threshold },
            quantum: i64::try_from(parameters.quantum.as_u64()).unwrap_or(i64::MAX),
            drop_batch: parameters.drop_batch,
            classifier: Classifier::new((!parameters.perfect_hash).then_some(parameters.flows), rng),
            flows: Vec::new(),
            turns: Turns::default(),
            busy_since: Time::ZERO,
        }
    }

    /// A flow has something that waits: it gets a turn to come if it has none.
    fn join(&mut self, now: Time, number: usize) {
        let flow = &mut self.flows[number];
        if !flow.is_active {
            flow.is_active = true;
            flow.deficit = self.quantum;
            if self.turns.is_empty() {
                self.busy_since = now;
            }
            self.turns.join(number);
        }
    }

    /// Makes room for a packet of `size` bytes that comes to the flow of number `to`: the line that would hold the most
    /// bytes loses packets from its head. False where the arriving packet itself would be lost.
    fn make_room(&mut self, now: Time, to: usize, size: u32, buffer: &mut Buffer) -> bool {
        let lines = self.flows.iter().map(|flow| &flow.line);
        let Some((number, bytes)) = longest(lines, &self.classifier, to, size) else { return false };
        let flow = &mut self.flows[number];
        let mut lost = 0;
        for _ in 0..self.drop_batch {
            let Some(packet) = flow.line.pop(now, buffer) else { return false };
            lost += u64::from(packet.size);
            buffer.drop(packet, DropCause::QueueFull);
            flow.control.count += 1;
            if lost >= bytes / 2 {
                break;
            }
        }
        true
    }
}

/// How many times a line is given its quantum until it may send, which is above 0, as the quantum is.
fn turns_until_positive(deficit: i64, quantum: i64) -> i64 {
    -deficit / quantum + 1
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        let number = self.classifier.line_of(packet.flow);
        line_at(&mut self.flows, number);
        while !buffer.fits(now, packet.size) {
            if !self.make_room(now, number, packet.size, buffer) {
                return Err(DropCause::QueueFull);
            }
        }
        self.flows[number].line.push(packet, buffer);
        self.join(now, number);
        Ok(())
    }

    fn push_run(&mut self, run: Waiting, buffer: &mut Buffer) -> Option<u32> {
        let (count, arrived) = (run.count(), run.arrived);
        if buffer.room(&run)? < count {
            return None;
        }
        let number = self.classifier.line_of(run.flow);
        line_at(&mut self.flows, number).line.push(run, buffer);
        self.join(arrived, number);
        Some(count)
    }

    fn next_decision(&self) -> Time {
        if self.turns.is_empty() { Time::NEVER } else { self.busy_since }
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        while let Some(number) = self.turns.first() {
            let flow = &mut self.flows[number];
            let is_single = self.turns.is_single();
            if is_single && flow.line.front().is_none() {
                // It leaves when its deficit is made good, which nobody sees: it begins anew when it comes back.
                flow.control.find_nothing();
                flow.is_active = false;
                self.turns.leave_first();
                return None;
            }
            if flow.deficit <= 0 {
                let turns = if is_single { turns_until_positive(flow.deficit, self.quantum) } else { 1 };
                flow.deficit += turns * self.quantum;
                self.turns.postpone_first();
                continue;
            }
            if let Some(packet) = flow.control.take(&self.rules, &mut flow.line, now, buffer) {
                flow.deficit -= i64::from(packet.size);
                return Some(packet);
            }
            flow.is_active = !self.turns.retire_first();
        }
        None
    }

    /// Where several flows take turns, few packets of a run go together.
    fn has_run(&self, now: Time) -> bool {
        let passes = |number: usize| self.rules.passes_run(&self.flows[number].line, now);
        self.turns.is_single() && self.turns.first().is_some_and(passes)
    }

    fn take_run(&mut self, until: Time, buffer: &mut Buffer) -> Option<Passing> {
        let number = self.turns.first()?;
        let flow = &mut self.flows[number];
        let until = self.rules.good_until(flow.line.front()?).min(until);
        let passing = flow.line.pop_run(until, buffer)?;
        flow.control.find_nothing();
        for _ in 0..passing.count() {
            if flow.deficit <= 0 {
                flow.deficit += turns_until_positive(flow.deficit, self.quantum) * self.quantum;
                self.turns.postpone_first();
            }
            flow.deficit -= i64::from(passing.size());
        }
        Some(passing)
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        let waiting = self.flows.iter().filter(|flow| flow.line.front().is_some()).count();
        vec![("flows", waiting as f64)]
    }
}

#[cfg(test)]
mod tests;
