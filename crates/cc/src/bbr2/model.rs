//! What BBR knows: its model of the path, and the state of each of its parts.

use super::parameters::{Fault, Parameters};
use crate::basis::Basis;
use crate::estimators::{AckAggregation, Bursts, MinRttFilter, Pacing};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Algorithm, CaState, Control};
use dumbbell_units::Rng;
use std::sync::Arc;

/// A bound that is not set.
pub(super) const UNSET: u32 = u32::MAX;

/// The four states of BBR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Ramp up until the delivery rate stops growing or losses or marks are too many.
    #[default]
    Startup,
    /// Drain the queue that STARTUP made.
    Drain,
    /// Probe for bandwidth now and then, and stay within the bounds otherwise.
    ProbeBw,
    /// Hold the window down to see the propagation delay.
    ProbeRtt,
}

/// The phases of PROBE_BW.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Push the amount in flight up until the path refuses.
    #[default]
    Up,
    /// Drain what UP left in the queue, and the headroom.
    Down,
    /// Hold the amount in flight.
    Cruise,
    /// Fill the pipe for a round, so that UP's losses are its own.
    Refill,
}

/// The current packet-timed round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Rounds so far.
    pub(super) count: u32,
    /// The round ends with the first sample of a packet sent when at least this much was delivered.
    pub(super) next_delivered: u64,
    /// This ACK started a round.
    pub(super) started: bool,
    /// Packets lost in the round, and ACKs that reported them, for [`LossCount::InRound`](super::parameters::LossCount::InRound).
    pub(super) lost: u32,
    pub(super) loss_events: u32,
}

/// The maximum bandwidth over the previous and the current probing cycle.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxBandwidth {
    previous: u32,
    current: u32,
}

impl MaxBandwidth {
    #[inline]
    pub(super) fn max(&self) -> u32 {
        self.previous.max(self.current)
    }

    /// The maximum of the cycle before and of this one.
    pub(super) fn both(&self) -> [u32; 2] {
        [self.previous, self.current]
    }

    /// Begins a new cycle, unless nothing was measured in this one.
    pub(super) fn advance(&mut self) {
        if self.current > 0 {
            self.previous = self.current;
            self.current = 0;
        }
    }

    #[inline]
    pub(super) fn add(&mut self, bw: u32) {
        self.current = self.current.max(bw);
    }
}

/// Congestion signals of the current loss round.
#[derive(Clone, Debug, Default)]
pub(super) struct LossRound {
    /// The loss round ends with the first sample of a packet sent when at least this much was delivered.
    pub(super) next_delivered: u64,
    /// This ACK ended a loss round.
    pub(super) ended: bool,
    /// A packet was lost in this loss round.
    pub(super) loss: bool,
    /// An ACK of this loss round echoed congestion.
    pub(super) echo: bool,
    /// Highest bandwidth sample of the loss round.
    pub(super) bw: u32,
    /// Most packets delivered over a sample of the loss round.
    pub(super) delivered: u32,
    /// ACKs with losses in this loss round of STARTUP, at most 15.
    pub(super) startup_loss_events: u32,
}

impl LossRound {
    /// Forgets what was seen; the round goes on.
    pub(super) fn reset(&mut self) {
        self.loss = false;
        self.echo = false;
        self.bw = 0;
        self.delivered = 0;
    }
}

/// The bounds; [`UNSET`] is none.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Short-term bound of the bandwidth.
    pub(super) bw_lo: u32,
    /// Short-term bound of the amount in flight, in packets.
    pub(super) inflight_lo: u32,
    /// Long-term bound of the amount in flight, in packets.
    pub(super) inflight_hi: u32,
    /// What a reduction that proves spurious brings back.
    pub(super) saved: Saved,
}

/// Bounds and state before a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saved {
    pub(super) bw_lo: u32,
    pub(super) inflight_lo: u32,
    pub(super) inflight_hi: u32,
    pub(super) was_up: bool,
    /// Saved at the first loss, for the reduction that follows it.
    pub(super) for_next_reduction: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { bw_lo: UNSET, inflight_lo: UNSET, inflight_hi: UNSET, saved: Saved::default() }
    }
}

impl Bounds {
    /// Lifts the short-term bounds.
    pub(super) fn reset_lower(&mut self) {
        self.bw_lo = UNSET;
        self.inflight_lo = UNSET;
    }
}

/// Which packets the ACKs now arriving belong to, in the order of the kernel's `enum bbr_ack_phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// None of a probe.
    #[default]
    Init,
    /// Those of REFILL.
    Refilling,
    /// Those sent before UP.
    Starting,
    /// Those of UP.
    Feedback,
    /// Those of UP, after it.
    Stopping,
}

/// State of the probing cycle.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    pub(super) ack_phase: AckPhase,
    /// Samples reflect probing: too much loss in them is about `inflight_hi`.
    pub(super) samples_probe: bool,
    /// The last probe went too high.
    pub(super) was_too_high: bool,
    /// The last UP was stopped at `inflight_hi` because the one before went too high.
    pub(super) was_cautious: bool,
    /// Losses and marks in this cycle.
    pub(super) saw_loss: bool,
    pub(super) saw_ce: bool,

    /// Rounds of upward probing, which double the slope.
    pub(super) slope_rounds: u32,
    /// Packets acknowledged per increment of `inflight_hi`.
    pub(super) packets_per_step: u32,
    /// Credit towards the next increment.
    pub(super) credit: u32,

    /// Rounds since the last probe.
    pub(super) rounds_since: u32,
    /// Rounds in this phase.
    pub(super) rounds_in_phase: u32,
    /// Time from DOWN to the next probe.
    pub(super) wait_us: u64,
    /// When UP or DOWN began.
    pub(super) phase_start_us: u64,
}

/// The search for a full pipe.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth at the last growth.
    pub(super) baseline: u32,
    /// Rounds without growth.
    pub(super) rounds: u32,
    /// The current search has found a plateau.
    pub(super) now: bool,
    /// The pipe was full once.
    pub(super) reached: bool,
    /// It was loss or marks that ended STARTUP.
    pub(super) ended_by_loss: bool,
    /// Round in which DRAIN began.
    pub(super) drain_start: u32,
}

impl FullPipe {
    /// Searches anew, from this bandwidth.
    pub(super) fn restart(&mut self, baseline: u32) {
        self.baseline = baseline;
        self.rounds = 0;
        self.now = false;
    }
}

/// PROBE_RTT and its schedule. Stamps are ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeRtt {
    /// The minimum that schedules it.
    pub(super) recent: MinRttFilter,
    /// When it may end; none while too much is in flight.
    pub(super) done_stamp: Option<u32>,
    pub(super) round_done: bool,
    /// The phase that follows a PROBE_RTT after DOWN.
    pub(super) resume: Phase,
}

/// What is known from marks.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    /// Average share of marked packets.
    pub(super) alpha: Gain,
    /// The path is short enough for marks to count.
    pub(super) eligible: bool,
    /// `delivered` and `delivered_ce` at the start of the round.
    pub(super) delivered: u64,
    pub(super) delivered_ce: u64,
    /// STARTUP rounds in a row with too many marks.
    pub(super) startup_rounds: u32,
}

impl Ecn {
    pub(super) fn new(parameters: &Parameters) -> Ecn {
        Ecn { alpha: parameters.ecn_alpha_init, eligible: false, delivered: 0, delivered_ce: 0, startup_rounds: 0 }
    }
}

/// The operating point, kept for as long as its basis holds.
#[derive(Clone, Debug, Default)]
pub(super) struct OperatingPoint {
    /// The last part of the state: the pipe is full.
    pub(super) basis: Basis<(Mode, Phase, bool)>,
    /// The window to grow to, in packets.
    pub(super) window_target: u32,
    /// The amount in flight for one BDP, in packets.
    pub(super) one_bdp: u32,
}

/// The BBR v2 controller.
#[derive(Clone, Debug)]
pub struct Bbr2 {
    pub(super) name: Arc<str>,
    pub(super) parameters: Arc<Parameters>,
    pub(super) pacing: Pacing,
    pub(super) bursts: Bursts,
    pub(super) rng: Rng,

    pub(super) mode: Mode,
    pub(super) phase: Phase,
    pub(super) pacing_gain: Gain,
    pub(super) cwnd_gain: Gain,

    pub(super) round: Round,
    pub(super) bandwidth: MaxBandwidth,
    pub(super) signals: LossRound,
    pub(super) bounds: Bounds,
    pub(super) probe: Probe,
    pub(super) full_pipe: FullPipe,
    pub(super) min_rtt: MinRttFilter,
    pub(super) probe_rtt: ProbeRtt,
    pub(super) ecn: Ecn,
    pub(super) aggregation: AckAggregation,
    pub(super) operating_point: OperatingPoint,

    /// The last good window before a reduction or PROBE_RTT.
    pub(super) prior_cwnd: u32,
    /// Congestion-avoidance state at the last ACK.
    pub(super) previous_state: CaState,
    /// The connection restarts from idle: a minimum that expired meanwhile is no reason for PROBE_RTT.
    pub(super) idle_restart: bool,
    /// The window at the start, the BDP while no round-trip time is known.
    pub(super) initial_window: u32,
    /// The window has reached its target, and nothing has moved that since (`try_fast_path`).
    pub(super) window_is_set: bool,
}

impl Bbr2 {
    /// A controller with these constants, which must lie in their declared ranges; `rng` draws the time between probes.
    /// Flows with the same constants can share them.
    pub fn new(parameters: impl Into<Arc<Parameters>>, rng: Rng) -> Bbr2 {
        let parameters = parameters.into();
        Bbr2 {
            name: Bbr2::EXACT_NAME.into(),
            pacing: Pacing::new(parameters.pacing_margin),
            bursts: parameters.bursts(),
            ecn: Ecn::new(&parameters),
            parameters,
            rng,
            mode: Mode::Startup,
            phase: Phase::Up,
            pacing_gain: Gain::new(0),
            cwnd_gain: Gain::new(0),
            round: Round::default(),
            bandwidth: MaxBandwidth::default(),
            signals: LossRound::default(),
            bounds: Bounds::default(),
            probe: Probe::default(),
            full_pipe: FullPipe::default(),
            min_rtt: MinRttFilter::default(),
            probe_rtt: ProbeRtt::default(),
            aggregation: AckAggregation::default(),
            operating_point: OperatingPoint::default(),
            prior_cwnd: 0,
            previous_state: CaState::Open,
            idle_restart: false,
            initial_window: Control::INITIAL_CWND,
            window_is_set: false,
        }
    }

    /// Gives the controller the exact name of a variant.
    pub fn named(mut self, name: Arc<str>) -> Bbr2 {
        self.name = name;
        self
    }

    /// The bandwidth to operate at.
    #[inline]
    pub(super) fn bw(&self) -> u32 {
        self.bandwidth.max().min(self.bounds.bw_lo)
    }

    /// Whether the amount in flight is being raised on purpose: what is lost meanwhile is the price of knowing.
    #[inline]
    pub(super) fn is_probing(&self) -> bool {
        match self.mode {
            Mode::Startup => self.parameters.fault != Some(Fault::StartupBounds),
            Mode::ProbeBw => matches!(self.phase, Phase::Refill | Phase::Up),
            Mode::Drain | Mode::ProbeRtt => false,
        }
    }

    #[inline]
    pub(super) fn is_in(&self, phase: Phase) -> bool {
        self.mode == Mode::ProbeBw && self.phase == phase
    }

    /// Remembers the window before it is reduced.
    pub(super) fn save_window(&mut self, control: &Control) {
        let untouched = self.previous_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        let saved = if untouched { 0 } else { self.prior_cwnd };
        self.prior_cwnd = saved.max(control.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bandwidth_of_two_cycles_counts_and_a_cycle_without_any_is_none() {
        let mut bandwidth = MaxBandwidth::default();
        bandwidth.advance();
        bandwidth.add(5);
        bandwidth.add(3);
        assert_eq!(bandwidth.max(), 5);
        bandwidth.advance();
        bandwidth.advance();
        assert_eq!(bandwidth.max(), 5);
        bandwidth.add(4);
        assert_eq!(bandwidth.max(), 5);
        bandwidth.advance();
        assert_eq!(bandwidth.max(), 4);
    }
}
