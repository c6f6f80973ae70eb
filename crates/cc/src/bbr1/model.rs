//! What BBR knows: its model of the path, and the state of each of its parts.

use super::parameters::Parameters;
use crate::basis::Basis;
use crate::estimators::{AckAggregation, Bursts, MinRttFilter, Pacing};
use dumbbell_cc_contract::CaState;
use dumbbell_cc_contract::minmax::MaxFilter;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_units::Rng;
use std::sync::Arc;

/// The four states of BBR, numbered as in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Ramp up until the delivery rate stops growing.
    #[default]
    Startup = 0,
    /// Drain the queue that STARTUP made.
    Drain = 1,
    /// Discover and share bandwidth around the operating point.
    ProbeBw = 2,
    /// Hold the window down to see the propagation delay.
    ProbeRtt = 3,
}

/// What the controller is doing: all that its gains follow from.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct State {
    /// The mode.
    pub mode: Mode,
    /// Phase of PROBE_BW's cycle.
    pub phase: u8,
    /// The pipe was found full, for good.
    pub full_pipe: bool,
    /// A policer was found and its rate is in use.
    pub policed: bool,
}

/// At once: states are compared with every ACK.
impl PartialEq for State {
    #[inline]
    fn eq(&self, other: &State) -> bool {
        let bits = |s: &State| u32::from_ne_bytes([s.mode as u8, s.phase, s.full_pipe.into(), s.policed.into()]);
        bits(self) == bits(other)
    }
}

/// The search for a full pipe: has the bandwidth estimate stopped growing?
#[derive(Clone, Debug, Default)]
pub struct FullPipe {
    /// Bandwidth at the last growth.
    pub baseline: u32,
    /// Rounds without growth.
    pub rounds: u32,
}

/// The current round.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Rounds so far.
    pub count: u32,
    /// The round ends with the first sample of a packet sent when at least this much was delivered.
    pub next_delivered: u64,
    /// This ACK started a round.
    pub started: bool,
}

/// State of the long-term sampler.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    /// Rate of the last interval, or of the policer; 0 is none.
    pub bandwidth: u32,
    /// An interval runs.
    pub sampling: bool,
    /// Rounds in the interval, or with the policer's rate in use.
    pub rounds: u32,
    pub(super) interval_start_ms: u32,
    pub(super) interval_delivered: u64,
    pub(super) interval_lost: u64,
}

/// State of PROBE_RTT.
#[derive(Clone, Debug, Default)]
pub struct ProbeRtt {
    /// Tick when it may end; 0 while the amount in flight has not come down yet.
    pub done_stamp: u32,
    /// A round has passed since then.
    pub round_done: bool,
}

/// State of the gain cycle.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// The pacing gain of the current phase.
    pub gain: Gain,
    /// The pacing gain while a policer's rate is in use.
    pub policed_gain: Gain,
    /// When the phase began, in microseconds of the rules' clock.
    pub start_us: u64,
}

impl Cycle {
    /// In phase 0 of a cycle with these gains.
    pub(super) fn new(gains: &[Gain]) -> Cycle {
        Cycle { gain: gains[0], policed_gain: Gain::ONE, start_us: 0 }
    }
}

/// What recovery remembers.
#[derive(Clone, Debug, Default)]
pub struct RecoveryState {
    /// The last good window before a reduction or PROBE_RTT.
    pub prior_cwnd: u32,
    /// Every delivered packet admits one, no more.
    pub packet_conservation: bool,
    /// Congestion-avoidance state at the last ACK that delivered something.
    pub previous_state: CaState,
    /// The next ACK that delivers something restores `prior_cwnd`.
    pub restore_pending: bool,
}

/// The operating point, kept for as long as its basis holds.
#[derive(Clone, Debug, Default)]
pub(super) struct OperatingPoint {
    pub(super) basis: Basis<State>,
    /// The window to grow to, in packets.
    pub(super) target: u32,
}

/// The model of the path and the state of the controller: what all BBRs of version 1 share, whatever their rules.
#[derive(Clone, Debug)]
pub struct Core {
    /// The constants.
    pub parameters: Arc<Parameters>,
    /// The source of randomness.
    pub rng: Rng,
    /// First phase of the next PROBE_BW in place of a random one.
    pub(super) forced_phase: Option<u8>,

    /// Mode, phase, and what else gains follow from.
    pub state: State,
    /// Of the operating point.
    pub pacing_gain: Gain,
    /// Of the operating point.
    pub cwnd_gain: Gain,

    /// Maximum bandwidth by round.
    pub bandwidth: MaxFilter,
    /// The current round.
    pub round: Round,
    /// The long-term sampler.
    pub policer: Policer,
    /// The minimum round-trip time.
    pub min_rtt: MinRttFilter,
    /// The round-trip time that the BDP is computed with, in microseconds: the minimum, and what the rules add to it.
    pub model_rtt_us: u64,
    /// State of PROBE_RTT.
    pub probe_rtt: ProbeRtt,
    /// The cycle of PROBE_BW.
    pub cycle: Cycle,
    /// The search for a full pipe.
    pub full_pipe: FullPipe,
    /// How far ACKs run ahead of the bandwidth.
    pub aggregation: AckAggregation,
    /// What recovery remembers.
    pub recovery: RecoveryState,
    /// From bandwidth to pacing rate.
    pub pacing: Pacing,
    pub(super) bursts: Bursts,
    pub(super) operating_point: OperatingPoint,

    /// The connection restarts from idle: a minimum RTT that expired meanwhile is no reason for PROBE_RTT.
    pub idle_restart: bool,
}

impl Core {
    pub(super) fn new(parameters: Arc<Parameters>, rng: Rng) -> Core {
        let p = &parameters;
        Core {
            rng,
            forced_phase: None,
            state: State::default(),
            pacing_gain: Gain::new(0),
            cwnd_gain: Gain::new(0),
            bandwidth: MaxFilter::default(),
            round: Round::default(),
            policer: Policer::default(),
            min_rtt: MinRttFilter::default(),
            model_rtt_us: 0,
            probe_rtt: ProbeRtt::default(),
            cycle: Cycle::new(&p.cycle_gains),
            full_pipe: FullPipe::default(),
            aggregation: AckAggregation::default(),
            recovery: RecoveryState::default(),
            pacing: Pacing::new(p.pacing_margin),
            bursts: p.bursts(),
            operating_point: OperatingPoint::default(),
            idle_restart: false,
            parameters,
        }
    }

    /// The maximum bandwidth of the last rounds.
    #[inline]
    pub fn max_bw(&self) -> u32 {
        self.bandwidth.max()
    }

    /// The bandwidth to operate at: the policer's when one was found, else the maximum.
    #[inline]
    pub fn bw(&self) -> u32 {
        if self.state.policed { self.policer.bandwidth } else { self.max_bw() }
    }
}
