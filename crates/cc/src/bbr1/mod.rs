//! BBR version 1 as in Linux 6.18.
//!
//! BBR models the path by two numbers, the bottleneck's bandwidth (the maximum of the delivery rate over the last ten
//! rounds) and the propagation delay (the minimum of the round-trip time over the last ten seconds), and runs at the
//! point where the first is used up and the second is not exceeded. Because no instant shows both, it visits them in
//! turn:
//!
//! ```text
//!            +---------+  full pipe   +-------+  inflight <= BDP   +----------+
//!   start -> | STARTUP | -----------> | DRAIN | -----------------> | PROBE_BW | gains 1.25, .75, 1 x 6
//!            +---------+              +-------+                    +----------+
//!                 ^                                                  |      ^
//!                 |   not full   +-----------+  minimum RTT expired  |      |
//!                 +------------- | PROBE_RTT | <---- from any -------+      |
//!                                +-----------+ ----------- full ------------+
//! ```
//!
//! With every ACK the model is updated (`policer`, `bandwidth`, `aggregation`, `cycle`, full pipe, drain, `min_rtt`, in
//! this order), then the `operating_point` follows from it, which is the pacing rate (`pacing`) and the window's target,
//! and the window (`window`) grows towards that. Bandwidth is in packets/µs × 2^24, gains are in 1/256, the minimum
//! round-trip time expires by the kernel's coarse clock.

mod acd;
mod aggregation;
mod bandwidth;
mod cycle;
mod min_rtt;
mod operating_point;
mod pacing;
mod parameters;
mod policer;
mod window;

pub use parameters::{
    Aggregation, CycleClock, CyclePolicy, InFlight, Parameters, ProbeBudget, ProbeRttWindow, Recovery, Restore,
    RisesOnly,
};

use crate::minmax::MaxFilter;
use crate::parameters::Gain;
use crate::{CaState, Control, Controller, Event, Hooks, RateSample, View};
use bandwidth::has_rate;
use dumbbell_units::Rng;
use std::sync::Arc;

/// One packet per microsecond in the scale of all bandwidths here (`BW_UNIT`).
const BW_UNIT: u64 = 1 << 24;

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
struct State {
    mode: Mode,
    /// Phase of PROBE_BW's cycle.
    phase: u8,
    /// The pipe was found full, for good.
    full_pipe: bool,
    /// A policer was found and its rate is in use.
    policed: bool,
}

/// At once: states are compared with every ACK.
impl PartialEq for State {
    #[inline]
    fn eq(&self, other: &State) -> bool {
        let bits = |s: &State| u32::from_ne_bytes([s.mode as u8, s.phase, s.full_pipe.into(), s.policed.into()]);
        bits(self) == bits(other)
    }
}

/// The BBR v1 controller.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    name: &'static str,
    parameters: Arc<Parameters>,
    /// Parts per million of the bandwidth estimate that pacing uses.
    pacing_share_ppm: u64,
    rng: Rng,
    /// First phase of the next PROBE_BW in place of a random one.
    forced_phase: Option<u8>,

    state: State,
    pacing_gain: Gain,
    cwnd_gain: Gain,

    /// Maximum bandwidth by round.
    bandwidth: MaxFilter,
    round: bandwidth::Round,
    policer: policer::Policer,
    min_rtt: min_rtt::MinRtt,
    cycle: cycle::Cycle,
    full_pipe: FullPipe,
    aggregation: aggregation::AckAggregation,
    recovery: window::RecoveryState,
    operating_point: operating_point::OperatingPoint,

    /// The connection restarts from idle: a minimum RTT that expired meanwhile is no reason for PROBE_RTT.
    idle_restart: bool,
    /// The first pacing rate comes from a nominal round-trip time, to be replaced by a measured one.
    rate_is_nominal: bool,
}

/// The search for a full pipe: has the bandwidth estimate stopped growing?
#[derive(Clone, Debug, Default)]
struct FullPipe {
    /// Bandwidth at the last growth.
    baseline: u32,
    /// Rounds without growth.
    rounds: u32,
}

/// The private state of a [`Bbr1`] in the units of the kernel's `struct bbr`, for comparing it with a kernel's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the kernel's fields")]
pub struct Snapshot {
    pub mode: Mode,
    pub min_rtt_us: u32,
    /// Bandwidth filter: best, second and third value.
    pub bw: [u32; 3],
    pub rtt_cnt: u32,
    pub next_rtt_delivered: u64,
    pub cycle_idx: u32,
    pub pacing_gain: u32,
    pub cwnd_gain: u32,
    pub full_bw: u32,
    pub full_bw_cnt: u32,
    pub full_bw_reached: bool,
    pub packet_conservation: bool,
    pub round_start: bool,
    pub idle_restart: bool,
    pub lt_use_bw: bool,
    pub lt_is_sampling: bool,
    pub lt_bw: u32,
    pub lt_rtt_cnt: u32,
    pub prior_cwnd: u32,
    pub min_rtt_stamp: u32,
    pub probe_rtt_done_stamp: u32,
    pub cycle_mstamp: u64,
    pub extra_acked: [u32; 2],
    pub ack_epoch_acked: u32,
    pub ack_epoch_mstamp: u64,
}

impl Bbr1 {
    /// The exact name of this implementation with default parameters.
    pub const NAME: &'static str = "bbr1-linux-6.18";

    /// A controller with these constants, which must be [valid](crate::parameters::ParameterSet::validate); `rng` draws
    /// the first phase of every PROBE_BW. Flows with the same constants can share them.
    pub fn new(parameters: impl Into<Arc<Parameters>>, rng: Rng) -> Bbr1 {
        let parameters = parameters.into();
        Bbr1 {
            name: Bbr1::NAME,
            pacing_share_ppm: parameters.pacing_share_ppm(),
            cycle: cycle::Cycle::new(&parameters.cycle_gains),
            aggregation: aggregation::AckAggregation::new(&parameters),
            rate_is_nominal: parameters.pacing_reinit,
            parameters,
            rng,
            forced_phase: None,
            state: State::default(),
            pacing_gain: Gain::new(0),
            cwnd_gain: Gain::new(0),
            bandwidth: MaxFilter::default(),
            round: bandwidth::Round::default(),
            policer: policer::Policer::default(),
            min_rtt: min_rtt::MinRtt::default(),
            full_pipe: FullPipe::default(),
            recovery: window::RecoveryState::default(),
            operating_point: operating_point::OperatingPoint::default(),
            idle_restart: false,
        }
    }

    /// The same controller under the exact name of a variant.
    pub fn named(mut self, name: &'static str) -> Bbr1 {
        self.name = name;
        self
    }

    /// Lets the next PROBE_BW begin with phase `phase` instead of a random one: the only random decision, to be given
    /// when a recorded connection is replayed.
    pub fn force_first_phase(&mut self, phase: usize) {
        self.forced_phase = Some((phase % self.parameters.cycle_gains.len()) as u8);
    }

    /// The private state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            mode: self.state.mode,
            min_rtt_us: self.min_rtt.rtt_us,
            bw: self.bandwidth.measurements().map(|m| m.value),
            rtt_cnt: self.round.count,
            next_rtt_delivered: self.round.next_delivered,
            cycle_idx: self.state.phase.into(),
            pacing_gain: self.pacing_gain.numerator(),
            cwnd_gain: self.cwnd_gain.numerator(),
            full_bw: self.full_pipe.baseline,
            full_bw_cnt: self.full_pipe.rounds,
            full_bw_reached: self.state.full_pipe,
            packet_conservation: self.recovery.packet_conservation,
            round_start: self.round.started,
            idle_restart: self.idle_restart,
            lt_use_bw: self.state.policed,
            lt_is_sampling: self.policer.sampling,
            lt_bw: self.policer.bandwidth,
            lt_rtt_cnt: self.policer.rounds,
            prior_cwnd: self.recovery.prior_cwnd,
            min_rtt_stamp: self.min_rtt.stamp,
            probe_rtt_done_stamp: self.min_rtt.probe_done_stamp,
            cycle_mstamp: self.cycle.start_us,
            extra_acked: self.aggregation.slots.maxima,
            ack_epoch_acked: self.aggregation.epoch_acked,
            ack_epoch_mstamp: self.aggregation.epoch_start_us,
        }
    }

    /// The maximum bandwidth of the last rounds.
    #[inline]
    fn max_bw(&self) -> u32 {
        self.bandwidth.max()
    }

    /// The bandwidth to operate at: the policer's when one was found, else the maximum.
    #[inline]
    fn bw(&self) -> u32 {
        if self.state.policed { self.policer.bandwidth } else { self.max_bw() }
    }

    /// STARTUP ends when three rounds in a row did not raise the bandwidth estimate by a quarter.
    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.state.full_pipe || !self.round.started || sample.is_app_limited {
            return;
        }
        let threshold = self.parameters.full_threshold.of(u64::from(self.full_pipe.baseline));
        if u64::from(self.max_bw()) >= threshold {
            self.full_pipe.baseline = self.max_bw();
            self.full_pipe.rounds = 0;
        } else {
            self.full_pipe.rounds += 1;
            self.state.full_pipe = self.full_pipe.rounds >= self.parameters.full_rounds;
        }
    }

    /// STARTUP to DRAIN when the pipe is full, DRAIN to PROBE_BW when at most one BDP is left in the network.
    fn check_drain(&mut self, view: &View, control: &mut Control) {
        if self.state.mode == Mode::Startup && self.state.full_pipe {
            self.state.mode = Mode::Drain;
            // Informational: it lets the stack and its statistics see that slow start is over.
            control.ssthresh = self.inflight_target(view, control, self.max_bw(), Gain::ONE);
        }
        if self.state.mode == Mode::Drain
            && self.in_network(view, control, view.in_flight())
                <= self.inflight_target(view, control, self.max_bw(), Gain::ONE)
        {
            self.enter_probe_bw(view);
        }
    }
}

impl Controller for Bbr1 {
    fn algorithm(&self) -> &'static str {
        self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        // The gains survive: the kernel leaves them to the first ACK.
        *self = Bbr1 {
            pacing_gain: self.pacing_gain,
            cwnd_gain: self.cwnd_gain,
            ..Bbr1::new(Arc::clone(&self.parameters), self.rng.clone()).named(self.name)
        };
        control.ssthresh = Control::INFINITE_SSTHRESH;
        if let Some(shift) = self.parameters.pacing_shift {
            control.pacing_shift = shift;
        }
        self.round.next_delivered = view.delivered;
        self.min_rtt.start(view, self.parameters.min_rtt_window);
        self.aggregation.epoch_start_us = view.mstamp_us;
        self.recovery.unbounded_cwnd = control.cwnd;
        self.reset_policer(view);
        self.init_pacing_rate(view, control);
        if self.parameters.initial_bw_estimate {
            self.bandwidth = MaxFilter::new(self.round.count, self.initial_bandwidth(view, control));
        }
    }

    fn full_control(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn wants_pacing(&self) -> bool {
        self.parameters.paced
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        self.round.started = false;
        let has_rate = has_rate(sample);
        if has_rate {
            self.update_bandwidth(view, sample);
        }
        let bw = self.bw();
        if has_rate {
            self.update_aggregation(view, control, sample, bw);
        }
        // PROBE_BW comes after the pipe was found full and drained.
        if self.state.mode == Mode::ProbeBw {
            self.update_cycle(view, control, sample);
        } else {
            self.check_full_pipe(sample);
            self.check_drain(view, control);
        }
        self.update_min_rtt(view, control, sample);

        self.set_operating_point(view, control, bw);
        self.set_window(view, control, sample, bw);
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.save_window(control);
        if self.parameters.recovery == Recovery::Ns3Of2018 { Control::INFINITE_SSTHRESH } else { control.ssthresh }
    }

    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        if next != CaState::Loss {
            self.change_ns3_state(view, control, next);
            return;
        }
        self.recovery.previous_state = CaState::Loss;
        if self.parameters.rto_resets_plateau {
            self.full_pipe.baseline = 0;
        }
        // A timeout ends the round, and its loss is evidence for the policer's sampler.
        self.round.started = true;
        self.sample_policer(view, &RateSample { losses: 1, ..RateSample::default() });
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        if self.parameters.undo_resets_plateau {
            self.full_pipe.baseline = 0;
            self.full_pipe.rounds = 0;
            self.reset_policer(view);
        }
        control.cwnd
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        if event != Event::TxStart || control.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.epoch_start_us = view.mstamp_us;
        self.aggregation.epoch_acked = 0;
        match self.state.mode {
            // Restarting at the bandwidth itself: the pipe is empty, probing can wait.
            Mode::ProbeBw => self.set_pacing_rate(view, control, self.bw(), Gain::ONE),
            Mode::ProbeRtt if self.parameters.probe_rtt_exit_from_idle => self.check_probe_rtt_done(view, control),
            _ => {}
        }
    }

    fn min_tso_segs(&self, _view: &View, control: &Control) -> u32 {
        let slow = control.pacing_rate < self.parameters.burst_min_rate.as_bits_per_sec() / 8;
        if slow { self.parameters.burst_min_slow } else { self.parameters.burst_min }
    }

    fn mode(&self) -> &'static str {
        match self.state.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn observables(&self) -> &'static [&'static str] {
        &[
            "bw_mbps",
            "max_bw_mbps",
            "min_rtt_ms",
            "pacing_gain",
            "cwnd_gain",
            "cycle_index",
            "round",
            "full_bw_reached",
            "extra_acked_packets",
            "lt_bw_mbps",
            "prior_cwnd_packets",
        ]
    }

    fn observe(&self, view: &View, _control: &Control, values: &mut [f64]) {
        let mbps = |bw: u32| f64::from(bw) / BW_UNIT as f64 * f64::from(view.mss) * 8.0;
        let min_rtt = self.min_rtt.rtt_us;
        let current = [
            mbps(self.bw()),
            mbps(self.max_bw()),
            if min_rtt == View::UNKNOWN_RTT { f64::NAN } else { f64::from(min_rtt) / 1e3 },
            self.pacing_gain.as_f64(),
            self.cwnd_gain.as_f64(),
            if self.state.mode == Mode::ProbeBw { f64::from(self.state.phase) } else { f64::NAN },
            f64::from(self.round.count),
            f64::from(u8::from(self.state.full_pipe)),
            self.aggregation.max(),
            if self.state.policed { mbps(self.policer.bandwidth) } else { f64::NAN },
            f64::from(self.recovery.prior_cwnd),
        ];
        for (value, current) in values.iter_mut().zip(current) {
            *value = current;
        }
    }
}

#[cfg(test)]
mod tests;
