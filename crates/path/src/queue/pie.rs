//! PIE, proportional integral controller enhanced (Pan et al.; RFC 8033).
//!
//! PIE drops on arrival, at random, with a probability p that a controller corrects at a fixed interval: by how far the
//! queueing delay is from its target (`alpha`), and by how much it has changed since the last correction (`beta`).
//! Small probabilities are corrected in small steps. A burst may pass after a calm time, a short queue is never
//! touched, and so that drops do not come in clusters a packet is only at risk once the probabilities since the last
//! drop add up to 0.85; at 8.5 it is dropped for sure.
//!
//! The delay is that of the packet which left last, or, as in the RFC's main text, the backlog over an estimate of the
//! rate at which packets leave. Order and rules of the steps are Linux's, which differ from the RFC's in details. The
//! controller runs when a packet comes or goes, as often as was due since: nothing sees it in between. Probabilities
//! are floating-point numbers, where Linux has 64-bit fractions.

use super::discipline::{Discipline, Held, Queue};
use super::held::{Buffer, Line, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_units::{Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a full packet (IP length).
const MTU: u64 = 1500;
/// A backlog below this many bytes is left alone.
const SHORT_QUEUE: u64 = 2 * MTU;
/// Below this probability a delay of less than half the target is left alone.
const SMALL_PROBABILITY: f64 = 0.2;
/// Sum of probabilities from which a packet is at risk, and from which it is dropped.
const ACCUMULATED_MIN: f64 = 0.85;
const ACCUMULATED_MAX: f64 = 8.5;
/// Above this probability marks would no longer do.
const MARK_UP_TO: f64 = 0.1;
/// Bytes over which the departure rate is measured, and the backlog that is needed for it.
const MEASURED_BYTES: u64 = 16_384;
/// Largest correction upwards where drops are frequent already.
const STEP_AT_MOST: f64 = 0.02;
/// From these probabilities on corrections are divided by these numbers.
const SCALES: [(f64, f64); 6] = [(1e-1, 1.0), (1e-2, 2.0), (1e-3, 8.0), (1e-4, 32.0), (1e-5, 128.0), (1e-6, 512.0)];
/// From this delay on the probability rises faster.
const LONG_DELAY: Duration = Duration::from_millis(250);

/// PIE: packets are dropped or marked on their arrival, at random, with a probability that keeps the queueing delay at
/// a target.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pie {
    /// Queueing delay to keep.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 8033, section 4.2: QDELAY_REF"))]
    pub target: Duration,
    /// Time between two corrections of the probability.
    #[schemars(extend("x-at-least" = "1us", "x-at-most" = "1h", "x-source" = "RFC 8033, section 4.2: T_UPDATE"))]
    pub tupdate: Duration,
    /// Correction for each second that the delay is above its target.
    #[schemars(range(min = 0, max = 1000), extend("x-unit" = "Hz", "x-source" = "RFC 8033, section 4.2; tc-pie: alpha 2/16"))]
    pub alpha: f64,
    /// Correction for each second that the delay has grown.
    #[schemars(range(min = 0, max = 1000), extend("x-unit" = "Hz", "x-source" = "RFC 8033, section 4.2; tc-pie: beta 20/16"))]
    pub beta: f64,
    /// Length of a burst that passes after a calm time.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "RFC 8033, section 4.1: MAX_BURST"))]
    pub max_burst: Duration,
    /// Mark ECN-capable packets instead of dropping them, up to a probability of 10 %.
    #[schemars(extend("x-source" = "RFC 8033, section 5.1; tc-pie: ecn"))]
    pub ecn: bool,
    /// Small packets are dropped less often, in proportion to their size.
    #[schemars(extend("x-source" = "RFC 8033, section 5.2; tc-pie: bytemode"))]
    pub bytemode: bool,
    /// What the delay is measured from.
    #[schemars(extend("x-source" = "tc-pie: dq_rate_estimator"))]
    pub delay: DelayEstimate,
}

/// What PIE's delay is measured from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DelayEstimate {
    /// The time that the packet which left last had waited.
    #[default]
    Timestamps,
    /// The backlog over the rate at which packets leave.
    Rate,
}

impl Default for Pie {
    fn default() -> Pie {
        Pie {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            ecn: false,
            bytemode: false,
            delay: DelayEstimate::Timestamps,
        }
    }
}

impl Described<LinkContext> for Pie {
    const NAME: &'static str = "pie";
    const SOURCE: &'static str = "RFC 8033; Linux 6.18, net/sched/sch_pie.c";

    fn in_words(&self) -> String {
        let marks = if self.ecn { ", marks" } else { "" };
        format!("PIE ({}, every {}{marks})", self.target.in_words(), self.tupdate.in_words())
    }
}

impl Discipline for Pie {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::held(State::new(self, rng))
    }
}

/// State of a PIE queue.
#[derive(Clone, Debug)]
struct State {
    parameters: Pie,
    line: Line,
    /// Probability of a drop.
    probability: f64,
    /// Sum of the probabilities of the packets since the last drop.
    accumulated: f64,
    /// Delay now, and at the last correction.
    delay: Duration,
    delay_before: Duration,
    /// How much of a burst may still pass.
    burst: Duration,
    /// When the last packet left, or the measurement of the rate began.
    last_departure: Option<Time>,
    /// Bytes since that measurement began; `None` when there is none.
    counted: Option<u64>,
    /// Average rate at which packets leave in bytes per second; 0 while it is unknown.
    departure_rate: f64,
    next_update: Time,
    rng: Rng,
}

impl State {
    fn new(parameters: &Pie, rng: Rng) -> State {
        State {
            line: Line::default(),
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            delay_before: Duration::ZERO,
            burst: parameters.max_burst,
            last_departure: None,
            counted: None,
            departure_rate: 0.0,
            next_update: Time::ZERO + parameters.tupdate,
            parameters: parameters.clone(),
            rng,
        }
    }

    /// Whether a packet of `size` bytes that arrives now is to be dropped or marked.
    fn strikes(&mut self, size: u32, buffer: &Buffer) -> bool {
        let is_calm = is_below_half(self.delay, self.parameters.target) && self.probability < SMALL_PROBABILITY;
        if self.burst > Duration::ZERO || is_calm || buffer.backlog().bytes < SHORT_QUEUE {
            return false;
        }
        let share = if self.parameters.bytemode { (f64::from(size) / MTU as f64).min(1.0) } else { 1.0 };
        let probability = self.probability * share;
        self.accumulated = if probability == 0.0 { 0.0 } else { self.accumulated + probability };
        if self.accumulated < ACCUMULATED_MIN {
            return false;
        }
        if self.accumulated >= ACCUMULATED_MAX {
            return true;
        }
        let is_struck = self.rng.uniform() < probability;
        if is_struck {
            self.accumulated = 0.0;
        }
        is_struck
    }

    /// A packet leaves.
    fn departed(&mut self, now: Time, packet: &Waiting, buffer: &Buffer) {
        let waits = buffer.backlog().bytes;
        let elapsed = match self.parameters.delay {
            DelayEstimate::Timestamps => {
                let before = self.last_departure.replace(now).unwrap_or(now);
                self.delay = if waits == 0 { Duration::ZERO } else { packet.waited(now) };
                now.since(before)
            }
            DelayEstimate::Rate => self.measure(now, packet.size, waits),
        };
        self.burst = Duration::from_nanos(self.burst.as_nanos().saturating_sub(elapsed.as_nanos()));
    }

    /// Counts a packet that leaves; returns how long the measurement took that it ends, if it ends one.
    fn measure(&mut self, now: Time, size: u32, waits: u64) -> Duration {
        let can_measure = waits >= MEASURED_BYTES;
        if self.counted.is_none() && can_measure {
            self.counted = Some(0);
            self.last_departure = Some(now);
        }
        let Some(counted) = &mut self.counted else { return Duration::ZERO };
        *counted += u64::from(size);
        let bytes = *counted;
        let elapsed = now.since(self.last_departure.unwrap_or(now));
        if bytes < MEASURED_BYTES || elapsed == Duration::ZERO {
            return Duration::ZERO;
        }
        let rate = bytes as f64 / seconds(elapsed);
        let average = self.departure_rate;
        self.departure_rate = if average == 0.0 { rate } else { average - average / 8.0 + rate / 8.0 };
        self.counted = can_measure.then_some(0);
        self.last_departure = Some(now);
        elapsed
    }

    /// Makes the corrections that have been due.
    fn update_until(&mut self, now: Time, buffer: &Buffer) {
        while self.next_update <= now {
            let before = (self.probability, self.delay, self.delay_before, self.burst);
            self.update(buffer.backlog().bytes);
            self.next_update += self.parameters.tupdate;
            // In a pause nothing changes any more from some correction on.
            if before == (self.probability, self.delay, self.delay_before, self.burst) && self.next_update <= now {
                let missed = now.since(self.next_update).as_nanos() / self.parameters.tupdate.as_nanos();
                self.next_update += self.parameters.tupdate * missed;
            }
        }
    }

    /// Corrects the probability, with `waits` bytes in the queue.
    fn update(&mut self, waits: u64) {
        let Pie { target, alpha, beta, delay: estimate, .. } = self.parameters;
        if estimate == DelayEstimate::Rate {
            self.delay_before = self.delay;
            let rate = self.departure_rate;
            let delay = if rate > 0.0 { waits as f64 / rate } else { 0.0 };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is not negative, and one of more than 584 years becomes that"
            )]
            let nanos = (delay * 1e9) as u64;
            self.delay = Duration::from_nanos(nanos);
        }
        let (delay, before) = (self.delay, self.delay_before);
        // The queue is not empty, but no delay is known: that is no reason to forget.
        let may_forget = delay > Duration::ZERO || waits == 0;
        let scale = scale(self.probability);
        let error = seconds(delay) - seconds(target);
        let growth = seconds(delay) - seconds(before);
        let mut step = alpha / scale * error + beta / scale * growth;
        if self.probability >= 0.1 {
            step = step.min(STEP_AT_MOST);
        }
        if delay > LONG_DELAY {
            step += STEP_AT_MOST;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if may_forget && delay == Duration::ZERO && before == Duration::ZERO {
            self.probability -= self.probability / 64.0;
        }
        let is_calm = is_below_half(delay, target) && is_below_half(before, target) && self.probability == 0.0;
        let rate_is_known = estimate == DelayEstimate::Timestamps || self.departure_rate > 0.0;
        if is_calm && rate_is_known {
            self.burst = self.parameters.max_burst;
            self.accumulated = 0.0;
            self.last_departure = None;
            self.counted = None;
            self.departure_rate = 0.0;
        }
        if estimate == DelayEstimate::Timestamps {
            self.delay_before = delay;
        }
    }
}

impl Held for State {
    fn push(&mut self, now: Time, mut packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        self.update_until(now, buffer);
        if !buffer.fits(now, packet.size) {
            self.accumulated = 0.0;
            return Err(DropCause::QueueFull);
        }
        if self.strikes(packet.size, buffer) {
            let marks = self.parameters.ecn && self.probability <= MARK_UP_TO && buffer.mark(&mut packet);
            if !marks {
                self.accumulated = 0.0;
                return Err(DropCause::Aqm);
            }
        }
        self.line.push(packet, buffer);
        Ok(())
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        self.update_until(now, buffer);
        let packet = self.line.pop(now, buffer)?;
        self.departed(now, &packet, buffer);
        Some(packet)
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        vec![("probability", self.probability), ("delay_ms", seconds(self.delay) * 1e3)]
    }
}

/// By what corrections are divided at a probability: Linux's steps, which go on where the RFC's table ends.
fn scale(probability: f64) -> f64 {
    let found = SCALES.iter().find(|(from, _)| probability >= *from);
    found.map_or(2048.0, |(_, scale)| *scale)
}

fn is_below_half(delay: Duration, target: Duration) -> bool {
    delay < Duration::from_nanos(target.as_nanos() / 2)
}

fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 * 1e-9
}

#[cfg(test)]
mod tests;
