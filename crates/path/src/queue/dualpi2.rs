//! DualPI2 (RFC 9332): two queues for one link, a classic one and a shallow one for L4S, coupled by one controller.
//!
//! Packets of scalable senders go to queue L, all others to queue C. Both leave through a weighted scheduler: L comes
//! first, but C is sure of its share while both have packets. A PI controller corrects one base probability p from the
//! longer of the two queueing delays. Packets of C are dropped or marked with probability p², those of L are marked
//! with k·p. A classic sender's rate goes with 1/√(its probability), that of a scalable one with 1/(its own), so both
//! get the same rate. Besides, a packet of L that has waited longer than a threshold is marked: at once, or, with a
//! `ramp`, with a probability that rises above the threshold (RFC 9332, appendix A).
//!
//! When k·p would exceed 1 marks do no more: then L is dropped as C is, with probability p², and what is not dropped is
//! marked. Order and rules of the steps are those of Linux. The controller runs when a packet comes or goes, as often
//! as was due since: nothing sees it in between, and the oldest packets are then still those that it would have looked
//! at.

use super::discipline::{Discipline, FULL_PACKET, Held, Queue, Verdict};
use super::held::{Buffer, Line, Waiting};
use crate::catalog::{Described, LinkContext, Preset};
use crate::ledger::DropCause;
use crate::level::Level;
use crate::packet::Ecn;
use dumbbell_parameters::Problem;
use dumbbell_units::{Duration, Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// With less than this many bytes in both queues the probabilities do nothing.
const SHORT_QUEUE: u64 = 2 * FULL_PACKET as u64;
/// So many corrections between two packets are made one by one, a minute of them at the default `tupdate`.
const ONE_BY_ONE: u32 = 4_096;

/// DualPI2: a classic queue and a shallow one for L4S, which is ECT(1) and CE, coupled so that flows in both get the
/// same rate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2 {
    /// Queueing delay of the classic queue to keep.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 9332, appendix A.1: target"))]
    pub target: Duration,
    /// Time between two corrections of the probability.
    #[schemars(extend("x-at-least" = "1us", "x-at-most" = "1h", "x-source" = "RFC 9332, appendix A.1: Tupdate"))]
    pub tupdate: Duration,
    /// Correction for each second that the delay is above its target.
    #[schemars(range(min = 0, max = 1000), extend("x-unit" = "Hz", "x-source" = "RFC 9332, appendix A.1: alpha"))]
    pub alpha: f64,
    /// Correction for each second that the delay has grown.
    #[schemars(range(min = 0, max = 1000), extend("x-unit" = "Hz", "x-source" = "RFC 9332, appendix A.1: beta"))]
    pub beta: f64,
    /// k: packets of L are marked with k times the base probability, of which the classic queue takes the square.
    #[schemars(range(min = 1, max = 255), extend("x-source" = "RFC 9332, section 2.1; tc-dualpi2: coupling_factor"))]
    pub coupling: f64,
    /// Packets of L are marked above this: the time that they have waited, or the packets that are in L behind them.
    #[schemars(extend("x-source" = "tc-dualpi2: step_thresh"))]
    pub step: Level,
    /// The probability of these marks rises from 0 at `step` to 1 at this much above it, instead of jumping.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "RFC 9332, appendix A.1: range; not in Linux"))]
    pub ramp: Duration,
    /// Packets that find less than this many in L are not subject to `step`.
    #[schemars(extend("x-unit" = "packets", "x-source" = "tc-dualpi2: min_qlen_step"))]
    pub min_step_queue: u32,
    /// Share of the link that the classic queue is sure of.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-dualpi2: classic_protection"))]
    pub classic_share: Ratio,
    /// Drop packets of L, too, when k·p exceeds 1. Otherwise p ends at 1/k, and the limit has to drop.
    #[schemars(extend("x-source" = "tc-dualpi2: drop_on_overload"))]
    pub drop_on_overload: bool,
    /// When packets are dropped or marked by probability.
    #[schemars(extend("x-source" = "tc-dualpi2: drop_enqueue, drop_dequeue"))]
    pub decide: DecidedAt,
    /// Which packets go to queue L.
    #[schemars(extend("x-source" = "tc-dualpi2: l4s_ect, any_ect"))]
    pub l4s: Scalable,
}

/// When packets are dropped or marked by probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecidedAt {
    /// When a packet arrives.
    Enqueue,
    /// When the transmitter takes it.
    #[default]
    Dequeue,
}

/// Which packets go to queue L.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scalable {
    /// ECT(1) and CE.
    #[default]
    Ect1,
    /// Every ECN-capable packet, also ECT(0).
    AnyEct,
}

impl Default for DualPi2 {
    fn default() -> DualPi2 {
        DualPi2 {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Level::Time(Duration::from_millis(1)),
            ramp: Duration::ZERO,
            min_step_queue: 0,
            classic_share: Ratio::new(0.1).unwrap_or_default(),
            drop_on_overload: true,
            decide: DecidedAt::Dequeue,
            l4s: Scalable::Ect1,
        }
    }
}

impl Described<LinkContext> for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const SOURCE: &'static str = "RFC 9332; Linux 6.18, net/sched/sch_dualpi2.c";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "dualpi2-2020",
        summary: "DualPI2 of the L4S kernel of 2020: packets that find less than two in L are not subject to `step`",
        source: "L4STeam/linux, 2020, net/sched/sch_dualpi2.c",
        defaults: &[("min_step_queue", "2")],
    }];

    fn resolve(self, _: &LinkContext) -> Result<DualPi2, Problem> {
        match self.step {
            Level::Packets(_) if self.ramp > Duration::ZERO => {
                let help = "write `step` as a time, or leave `ramp` out";
                Err(Problem::key("ramp", "a ramp belongs to a `step` in time", help))
            }
            Level::Time(_) | Level::Packets(_) => Ok(self),
            Level::Bytes(_) | Level::Bdp(_) => {
                let help = "allowed: a time such as \"1ms\", or packets such as \"5packets\"";
                Err(Problem::value("step", format!("a step of {}", self.step), help))
            }
        }
    }

    fn in_words(&self) -> String {
        format!("DualPI2 ({}, L4S {}, k = {})", self.target.in_words(), self.step.in_words(), self.coupling)
    }
}

impl Discipline for DualPi2 {
    fn queue(&self, rng: Rng) -> Queue {
        Queue::held(State::new(self, rng))
    }
}

/// State of a DualPI2 queue.
#[derive(Clone, Debug)]
struct State {
    parameters: DualPi2,
    classic: Line,
    scalable: Line,
    /// Of each packet in L, whether `step` applies to it.
    steps: VecDeque<bool>,
    /// p, from which the probabilities of both queues follow.
    base: f64,
    /// The delay at the last correction.
    last_delay: Duration,
    next_update: Time,
    /// How far C is ahead of its share, in bytes times percent: while it is above 0 C is served first.
    credit: f64,
    rng: Rng,
}

impl State {
    fn new(parameters: &DualPi2, rng: Rng) -> State {
        let mut state = State {
            classic: Line::default(),
            scalable: Line::default(),
            steps: VecDeque::new(),
            base: 0.0,
            last_delay: Duration::ZERO,
            next_update: Time::ZERO + parameters.tupdate,
            credit: 0.0,
            parameters: parameters.clone(),
            rng,
        };
        state.reset_credit();
        state
    }

    fn goes_to_l(&self, ecn: Ecn) -> bool {
        match ecn {
            Ecn::Ect1 | Ecn::Ce => true,
            Ecn::Ect0 => self.parameters.l4s == Scalable::AnyEct,
            Ecn::NotEct => false,
        }
    }

    /// Weights of both queues in percent: what C gains while L is served, and what it pays when it is served.
    fn weights(&self) -> (f64, f64) {
        let classic = self.parameters.classic_share.as_f64() * 100.0;
        (classic, 100.0 - classic)
    }

    /// As if a packet of each had just been served: L comes first.
    fn reset_credit(&mut self) {
        let (gain, price) = self.weights();
        self.credit = f64::from(FULL_PACKET) * (gain - price);
    }

    /// The base probability for a packet that leaves so many bytes behind: a short queue is left alone.
    fn base_behind(&self, waits: u64) -> f64 {
        if waits < SHORT_QUEUE { 0.0 } else { self.base }
    }

    /// What becomes of a packet at a base probability. `native` is L's own probability of a mark.
    fn draw(&mut self, is_in_l: bool, ecn: Ecn, base: f64, native: f64) -> Verdict {
        let coupled = self.parameters.coupling * base;
        let is_overloaded = coupled > 1.0;
        if is_in_l {
            if is_overloaded && self.parameters.drop_on_overload && self.happens_twice(base) {
                return Verdict::Drop;
            }
            return if self.happens(coupled.max(native)) { Verdict::Mark } else { Verdict::Pass };
        }
        match self.happens_twice(base) {
            false => Verdict::Pass,
            true if is_overloaded || ecn == Ecn::NotEct => Verdict::Drop,
            true => Verdict::Mark,
        }
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.uniform() < probability
    }

    /// With the square of the probability.
    fn happens_twice(&mut self, probability: f64) -> bool {
        self.happens(probability) && self.happens(probability)
    }

    /// L's own probability of a mark for a packet that was just taken out of it.
    fn native(&self, now: Time, packet: &Waiting) -> f64 {
        match self.parameters.step {
            Level::Packets(packets) => f64::from(u8::from(self.scalable.backlog().packets > packets)),
            Level::Time(step) => match packet.waited(now).saturating_sub(step) {
                Duration::ZERO => 0.0,
                above if above >= self.parameters.ramp => 1.0,
                above => above.as_secs_f64() / self.parameters.ramp.as_secs_f64(),
            },
            Level::Bytes(_) | Level::Bdp(_) => 0.0,
        }
    }

    /// Makes the corrections that have been due: one after the other, and from [`ONE_BY_ONE`] on together.
    fn update_until(&mut self, now: Time) {
        let tupdate = self.parameters.tupdate;
        let mut left = ONE_BY_ONE;
        while self.next_update <= now {
            let due = now.since(self.next_update).as_nanos() / tupdate.as_nanos() + 1;
            // What has been the same twice in a pause stays so.
            let before = (self.base, self.last_delay);
            let corrections = if left > 0 { 1 } else { due };
            if corrections == 1 {
                self.update();
                left -= 1;
            } else {
                self.update_together(corrections);
            }
            self.next_update += tupdate * corrections;
            let is_empty = self.next_decision() == Time::NEVER;
            if is_empty && before == (self.base, self.last_delay) {
                self.next_update += tupdate * (due - corrections);
            }
        }
    }

    /// The longer of the delays of both queues at the next correction.
    fn delay(&self) -> Duration {
        let heads = [&self.classic, &self.scalable].map(|line| line.front().map(|head| head.waited(self.next_update)));
        heads.into_iter().flatten().max().unwrap_or_default()
    }

    /// The highest base probability.
    fn most(&self) -> f64 {
        if self.parameters.drop_on_overload { 1.0 } else { 1.0 / self.parameters.coupling }
    }

    /// Corrects the base probability.
    fn update(&mut self) {
        let delay = self.delay();
        let DualPi2 { target, alpha, beta, .. } = self.parameters;
        let error = delay.as_secs_f64() - target.as_secs_f64();
        let growth = delay.as_secs_f64() - self.last_delay.as_secs_f64();
        self.base = (self.base + alpha * error + beta * growth).clamp(0.0, self.most());
        self.last_delay = delay;
    }

    /// So many corrections, which come behind others while no packet comes or goes. Then the delay grows by the time
    /// that passes, or there is none, and each correction adds the same to the one before it: they fall until they
    /// rise.
    #[expect(clippy::cast_precision_loss, reason = "a number of corrections")]
    fn update_together(&mut self, corrections: u64) {
        let DualPi2 { target, alpha, beta, tupdate, .. } = self.parameters;
        let is_empty = self.next_decision() == Time::NEVER;
        let step = if is_empty { 0.0 } else { tupdate.as_secs_f64() };
        let first = alpha * (self.delay().as_secs_f64() - target.as_secs_f64()) + beta * step;
        let (all, slope) = (corrections as f64, alpha * step);
        let falling = match (first < 0.0, slope > 0.0) {
            (false, _) => 0.0,
            (true, false) => all,
            (true, true) => (-first / slope).ceil().min(all),
        };
        let sum = |from: f64, to: f64| (to - from) * (first + slope * (from + to - 1.0) / 2.0);
        let lowest = (self.base + sum(0.0, falling)).max(0.0);
        self.base = (lowest + sum(falling, all)).clamp(0.0, self.most());
        if !is_empty {
            self.last_delay = self.delay() + tupdate * (corrections - 1);
        }
    }

    /// Takes the next packet out of its line, with what that does to the credit if the packet is sent.
    fn next(&mut self, now: Time, buffer: &mut Buffer) -> Option<Next> {
        let (c_waits, l_waits) = (self.classic.front().is_some(), self.scalable.front().is_some());
        let (gain, price) = self.weights();
        if l_waits && (!c_waits || self.credit <= 0.0) {
            let packet = self.scalable.pop(now, buffer)?;
            let may_step = self.steps.pop_front().unwrap_or_default();
            let weight = if c_waits { gain } else { 0.0 };
            return Some(Next { packet, is_in_l: true, may_step, weight });
        }
        let packet = self.classic.pop(now, buffer)?;
        Some(Next { packet, is_in_l: false, may_step: false, weight: if l_waits { -price } else { 0.0 } })
    }
}

/// A packet whose turn it is.
struct Next {
    packet: Waiting,
    is_in_l: bool,
    may_step: bool,
    /// What each of its bytes adds to the credit.
    weight: f64,
}

impl Held for State {
    fn push(&mut self, now: Time, mut packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        self.update_until(now);
        if !buffer.fits(now, packet.size) {
            return Err(DropCause::QueueFull);
        }
        let is_in_l = self.goes_to_l(packet.ecn());
        if self.parameters.decide == DecidedAt::Enqueue {
            let base = self.base_behind(buffer.backlog().bytes);
            match self.draw(is_in_l, packet.ecn(), base, 0.0) {
                Verdict::Drop => return Err(DropCause::Aqm),
                Verdict::Mark => _ = buffer.mark(&mut packet),
                Verdict::Pass => {}
            }
        }
        if is_in_l {
            self.steps.push_back(self.scalable.backlog().packets >= self.parameters.min_step_queue.into());
            self.scalable.push(packet, buffer);
        } else {
            self.classic.push(packet, buffer);
        }
        Ok(())
    }

    fn next_decision(&self) -> Time {
        self.classic.next_decision().min(self.scalable.next_decision())
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        self.update_until(now);
        let mut taken = None;
        while let Some(Next { mut packet, is_in_l, may_step, weight }) = self.next(now, buffer) {
            let base = match self.parameters.decide {
                DecidedAt::Enqueue => 0.0,
                DecidedAt::Dequeue => self.base_behind(buffer.backlog().bytes),
            };
            let native = if may_step { self.native(now, &packet) } else { 0.0 };
            match self.draw(is_in_l, packet.ecn(), base, native) {
                Verdict::Drop => {
                    buffer.drop(packet, DropCause::Aqm);
                    continue;
                }
                Verdict::Mark => _ = buffer.mark(&mut packet),
                Verdict::Pass => {}
            }
            self.credit += weight * f64::from(packet.size);
            taken = Some(packet);
            break;
        }
        if self.next_decision() == Time::NEVER {
            self.reset_credit();
        }
        taken
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("probability", self.base),
            ("classic_packets", self.classic.backlog().packets as f64),
            ("l4s_packets", self.scalable.backlog().packets as f64),
        ]
    }
}

#[cfg(test)]
mod tests;
