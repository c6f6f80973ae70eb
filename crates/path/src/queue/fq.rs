//! Linux's `fq`: a line for each flow, which take turns, with a limit for each and a rate that none may exceed.
//!
//! Lines take turns by deficit round robin with a list of new and one of old flows (`flows.rs`): each may send
//! `quantum` bytes a turn, and a flow that was never seen before `initial_quantum`.
//!
//! On a Linux host `fq` also holds every packet until the departure time that TCP has given it. In this laboratory
//! senders pace by themselves: a packet comes to its first link at its departure time, and is not held again. What
//! remains here is what `fq` does on a router, and `max_rate`. Left out: the horizon (no packet comes before its time),
//! the priority bands (flows have no priority), and that flows are forgotten after some seconds of silence where there
//! are many.

use super::discipline::{Discipline, FULL_PACKET, Held, Queue, time_of};
use super::flows::{Classifier, Turns, line_at};
use super::held::{Buffer, Line, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_units::{Bytes, Duration, Rate, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The longest pause that one packet is charged with.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Linux's fair queue: a line for each flow, which take turns. It drops nothing but what does not fit. Senders pace by
/// themselves here, so it holds packets back only where `max_rate` says so.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fq {
    /// Lines into which flows fall by a random hash, as on a router; Linux has 1024 there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        range(min = 1, max = 65536),
        extend(
            "x-default" = "a line for each flow, as on the host that sends",
            "x-unit" = "lines",
            "x-source" = "tc-fq: orphan_mask"
        )
    )]
    pub flows: Option<u32>,
    /// Bytes that a flow may send each turn. Linux's 3028 count the Ethernet headers, which do not count here.
    #[schemars(extend("x-at-least" = "256B", "x-at-most" = "1MB", "x-source" = "tc-fq: quantum, two packets"))]
    pub quantum: Bytes,
    /// Bytes that a flow may send in its very first turn.
    #[schemars(extend("x-at-most" = "10MB", "x-source" = "tc-fq: initial_quantum, ten packets"))]
    pub initial_quantum: Bytes,
    /// The most packets that a flow may have waiting; more are dropped.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "tc-fq: flow_limit"))]
    pub flow_limit: u32,
    /// A flow that has had nothing to send for longer than this gets a full turn.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "tc-fq: refill_delay"))]
    pub refill_delay: Duration,
    /// The most that a flow gets, in bits per second of IP length; after each `quantum` it waits as long as that takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-default" = "no limit",
        "x-above" = "0bit",
        "x-at-most" = "100tbit",
        "x-source" = "tc-fq: maxrate"
    ))]
    pub max_rate: Option<Rate>,
    /// Up to this `max_rate` a flow waits after each packet.
    #[schemars(extend("x-at-most" = "100tbit", "x-source" = "tc-fq: low_rate_threshold"))]
    pub low_rate_threshold: Rate,
    /// Mark every ECN-capable packet that has waited longer than this since it could have gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "none are", "x-at-most" = "1h", "x-source" = "tc-fq: ce_threshold"))]
    pub ce_threshold: Option<Duration>,
}

impl Default for Fq {
    fn default() -> Fq {
        let packet = u64::from(FULL_PACKET);
        Fq {
            flows: None,
            quantum: Bytes::new(2 * packet),
            initial_quantum: Bytes::new(10 * packet),
            flow_limit: 100,
            refill_delay: Duration::from_millis(40),
            max_rate: None,
            low_rate_threshold: Rate::from_bits_per_sec(550_000),
            ce_threshold: None,
        }
    }
}

impl Described<LinkContext> for Fq {
    const NAME: &'static str = "fq";
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_fq.c";

    fn in_words(&self) -> String {
        let rate = self.max_rate.map_or_else(String::new, |rate| format!(", at most {} each", rate.in_words()));
        format!("fair queue (turns of {}, {} packets a flow{rate})", self.quantum.in_words(), self.flow_limit)
    }
}

impl Discipline for Fq {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::held(State::new(self, rng))
    }
}

/// State of a fair queue.
#[derive(Clone, Debug)]
struct State {
    parameters: Fq,
    quantum: i64,
    classifier: Classifier,
    flows: Vec<Flow>,
    turns: Turns,
    /// Flows that have to wait, by the time until which they do and by their ranks.
    throttled: BTreeSet<(Time, usize, usize)>,
    /// Since when some flow has had its turn to come.
    busy_since: Time,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    line: Line,
    /// What it may still send this turn; nothing before its first packet.
    credit: Option<i64>,
    /// When its next packet may go, as far as its rate is concerned.
    next_packet: Time,
    /// It has a turn to come or waits for its time.
    is_active: bool,
    /// When it became inactive.
    idle_since: Time,
}

impl State {
    fn new(parameters: &Fq, rng: Rng) -> State {
        State {
            quantum: i64::try_from(parameters.quantum.as_u64()).unwrap_or(i64::MAX),
            classifier: Classifier::new(parameters.flows, rng),
            flows: Vec::new(),
            turns: Turns::default(),
            throttled: BTreeSet::new(),
            busy_since: Time::ZERO,
            parameters: parameters.clone(),
        }
    }

    /// A flow that had nothing to send has a packet.
    fn activate(&mut self, number: usize, now: Time) {
        let flow = &mut self.flows[number];
        flow.is_active = true;
        let rested = now.since(flow.idle_since) > self.parameters.refill_delay;
        flow.credit = Some(match flow.credit {
            None => i64::try_from(self.parameters.initial_quantum.as_u64()).unwrap_or(i64::MAX),
            Some(credit) if rested => credit.max(self.quantum),
            Some(credit) => credit,
        });
        if self.turns.is_empty() {
            self.busy_since = now;
        }
        self.turns.join(number);
    }

    /// Flows whose time has come get their turn again.
    fn release(&mut self, now: Time) {
        while let Some(&(until, _, number)) = self.throttled.first()
            && until <= now
        {
            self.throttled.pop_first();
            if self.turns.is_empty() {
                self.busy_since = until;
            }
            self.turns.rejoin(number);
        }
    }

    /// The flow of this number has sent a packet: how long its rate makes it wait.
    fn pace(&mut self, number: usize, size: u32, now: Time) {
        let Some(rate) = self.parameters.max_rate else { return };
        let flow = &mut self.flows[number];
        let mut bytes = u64::from(size);
        if rate <= self.parameters.low_rate_threshold {
            flow.credit = Some(0);
        } else if flow.credit.is_some_and(|credit| credit > 0) {
            return;
        } else {
            bytes = bytes.max(self.parameters.quantum.as_u64());
        }
        let pause = time_of(bytes, rate).min(LONGEST_PAUSE);
        // A packet that left late does not make the next one later, up to half of the pause.
        let late = match flow.next_packet {
            Time::ZERO => Duration::ZERO,
            due => now.since(due).min(Duration::from_nanos(pause.as_nanos() / 2)),
        };
        flow.next_packet = now + pause.saturating_sub(late);
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        let number = self.classifier.line_of(packet.flow);
        let flow = line_at(&mut self.flows, number);
        let has_to_wait = flow.next_packet > now;
        let fits = if has_to_wait { buffer.fits_waiting(now, packet.size) } else { buffer.fits(now, packet.size) };
        if !fits || flow.line.backlog().packets >= self.parameters.flow_limit.into() {
            return Err(DropCause::QueueFull);
        }
        flow.line.push(packet, buffer);
        if !flow.is_active {
            self.activate(number, now);
        }
        Ok(())
    }

    fn next_decision(&self) -> Time {
        if self.turns.is_empty() {
            self.throttled.first().map_or(Time::NEVER, |&(until, ..)| until)
        } else {
            self.busy_since
        }
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        self.release(now);
        while let Some(number) = self.turns.first() {
            let flow = &mut self.flows[number];
            let credit = flow.credit.get_or_insert(0);
            if *credit <= 0 {
                *credit += self.quantum;
                self.turns.postpone_first();
                continue;
            }
            let Some(eligible) = flow.line.front().map(|packet| packet.arrived.max(flow.next_packet)) else {
                if self.turns.retire_first() {
                    flow.is_active = false;
                    flow.idle_since = now;
                }
                continue;
            };
            if eligible > now {
                self.turns.leave_first();
                self.throttled.insert((eligible, self.classifier.rank(number), number));
                continue;
            }
            let mut packet = flow.line.pop(now, buffer)?;
            *credit -= i64::from(packet.size);
            if self.parameters.ce_threshold.is_some_and(|threshold| now.since(eligible) > threshold) {
                buffer.mark(&mut packet);
            }
            self.pace(number, packet.size, now);
            return Some(packet);
        }
        None
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        let waiting = self.flows.iter().filter(|flow| flow.line.front().is_some()).count();
        vec![("flows", waiting as f64), ("throttled", self.throttled.len() as f64)]
    }
}

#[cfg(test)]
mod tests;
