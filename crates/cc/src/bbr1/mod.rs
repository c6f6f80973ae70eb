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
//! this order), then the `operating_point` follows from it, which is the pacing rate (`pacing`) and the window's
//! target, and the window (`window`) grows towards that. Gains are in 1/256, the minimum round-trip time expires by the
//! kernel's coarse clock. All that these parts know is in `model`.
//!
//! What older kernels, other stacks and papers do otherwise is not here: they bring [`Rules`] of their own, which
//! `dumbbell-cc-family` holds.

mod aggregation;
mod bandwidth;
mod cycle;
mod min_rtt;
mod model;
mod operating_point;
mod pacing;
mod parameters;
mod policer;
mod rules;
mod snapshot;
mod window;

pub use crate::estimators::BW_UNIT;
pub use model::{Core, Cycle, FullPipe, Mode, Policer, ProbeRtt, RecoveryState, Round, State};
pub use parameters::Parameters;
pub use rules::{Linux, Rules};
pub use snapshot::Snapshot;

use crate::estimators::has_rate;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Event, Hooks, RateSample, View};
use dumbbell_units::Rng;
use std::borrow::Cow;
use std::sync::Arc;

/// The BBR v1 controller, with Linux's rules or others.
#[derive(Clone, Debug)]
pub struct Bbr1<R: Rules = Linux> {
    name: Arc<str>,
    /// Model and state.
    pub core: Core,
    /// What is decided otherwise than in Linux.
    pub rules: R,
}

impl Bbr1 {
    /// A controller with these constants, which must lie in their declared ranges and be
    /// [valid](crate::parameters::ParameterSet::validate), and Linux's rules; `rng` draws the first phase of every
    /// PROBE_BW. Flows with the same constants can share them.
    pub fn new(parameters: impl Into<Arc<Parameters>>, rng: Rng) -> Bbr1 {
        Bbr1::with_rules(parameters, Linux, rng, Bbr1::EXACT_NAME.into())
    }
}

impl<R: Rules> Bbr1<R> {
    /// A controller with other rules, under an exact name of its own.
    pub fn with_rules(parameters: impl Into<Arc<Parameters>>, rules: R, rng: Rng, exact_name: Arc<str>) -> Bbr1<R> {
        Bbr1 { name: exact_name, core: Core::new(parameters.into(), rng), rules }
    }

    /// Lets the next PROBE_BW begin with phase `phase` instead of a random one: the only random decision, to be given
    /// when a recorded connection is replayed.
    pub fn force_first_phase(&mut self, phase: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "a cycle has at most 64 phases")]
        let number = (phase % self.core.parameters.cycle_gains.len()) as u8;
        self.core.forced_phase = Some(number);
    }
}

impl Core {
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
    fn check_drain<R: Rules>(&mut self, rules: &mut R, view: &View, control: &mut Control) {
        if self.state.mode == Mode::Startup && self.state.full_pipe {
            self.state.mode = Mode::Drain;
            // Informational: it lets the stack and its statistics see that slow start is over.
            control.ssthresh = self.inflight_target(rules, view, control, self.max_bw(), Gain::ONE);
        }
        if self.state.mode == Mode::Drain
            && self.in_network(rules, view, control, view.in_flight())
                <= self.inflight_target(rules, view, control, self.max_bw(), Gain::ONE)
        {
            self.enter_probe_bw(rules, view);
        }
    }
}

impl Algorithm for Bbr1 {
    type Parameters = Parameters;
    const NAME: &str = "bbr";
    const EXACT_NAME: &str = "bbr1-linux-6.18";
    const SUMMARY: &str = "BBR version 1: paces at the estimated bandwidth and bounds the window by the estimated BDP";
    const SOURCE: &str =
        "Linux 6.18, net/ipv4/tcp_bbr.c; Cardwell et al., BBR: Congestion-Based Congestion Control, 2016";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, rng: Rng, exact_name: Arc<str>) -> Bbr1 {
        Bbr1::with_rules(parameters, Linux, rng, exact_name)
    }
}

impl<R: Rules> Controller for Bbr1<R> {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        let Bbr1 { core, rules, .. } = self;
        // The gains survive: the kernel leaves them to the first ACK.
        *core = Core {
            pacing_gain: core.pacing_gain,
            cwnd_gain: core.cwnd_gain,
            ..Core::new(Arc::clone(&core.parameters), core.rng.clone())
        };
        control.ssthresh = Control::INFINITE_SSTHRESH;
        control.small_queue_shift = core.parameters.small_queue_shift;
        core.round.next_delivered = view.delivered;
        core.min_rtt.start(view, core.parameters.min_rtt_window);
        core.model_rtt_us = core.min_rtt.rtt_us.into();
        core.aggregation.epoch_start_us = view.mstamp_us;
        core.reset_policer(view);
        core.init_pacing_rate(rules, view, control);
        rules.init(core, view, control);
    }

    fn full_control(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks { min_tso_segs: true, ..Hooks::NONE }
    }

    fn wants_pacing(&self) -> bool {
        self.rules.paces()
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        let Bbr1 { core, rules, .. } = self;
        core.round.started = false;
        let has_rate = has_rate(sample);
        if has_rate {
            core.update_bandwidth(rules, view, sample);
        }
        let bw = core.bw();
        if has_rate && sample.acked_sacked > 0 {
            rules.measure_aggregation(core, view, control, sample.acked_sacked, bw);
        }
        // PROBE_BW comes after the pipe was found full and drained.
        if core.state.mode == Mode::ProbeBw {
            rules.update_cycle(core, view, control, sample);
        } else {
            core.check_full_pipe(sample);
            core.check_drain(rules, view, control);
        }
        core.update_min_rtt(rules, view, control, sample);

        core.set_operating_point(rules, view, control, bw);
        core.set_window(rules, view, control, sample, bw);
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.core.save_window(control);
        self.rules.ssthresh(control)
    }

    fn set_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        let Bbr1 { core, rules, .. } = self;
        if next != CaState::Loss {
            rules.change_state(core, view, control, next);
            return;
        }
        core.recovery.previous_state = CaState::Loss;
        if rules.timeout_forgets_plateau() {
            core.full_pipe.baseline = 0;
        }
        // A timeout ends the round, and its loss is evidence for the policer's sampler.
        core.round.started = true;
        core.sample_policer(rules, view, &RateSample { losses: 1, ..RateSample::default() });
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        if self.rules.undo_forgets_plateau() {
            self.core.full_pipe = FullPipe::default();
            self.core.reset_policer(view);
        }
        control.cwnd
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        if event != Event::TxStart || control.app_limited == 0 {
            return;
        }
        let Bbr1 { core, rules, .. } = self;
        core.idle_restart = true;
        core.aggregation.start_epoch(view.mstamp_us);
        match core.state.mode {
            // Restarting at the bandwidth itself: the pipe is empty, probing can wait.
            Mode::ProbeBw => core.set_pacing_rate(rules, view, control, core.bw(), Gain::ONE),
            Mode::ProbeRtt if rules.idle_ends_probe_rtt() => core.check_probe_rtt_done(rules, view, control),
            _ => {}
        }
    }

    fn min_tso_segs(&self, _view: &View, control: &Control) -> u32 {
        self.core.bursts.smallest(control)
    }

    fn sndbuf_expand(&self) -> u32 {
        // It may slow-start even in recovery (`bbr_sndbuf_expand`).
        3
    }

    fn mode(&self) -> &'static str {
        match self.core.state.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        [
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
        .map(Cow::Borrowed)
        .to_vec()
    }

    fn observe(&self, view: &View, _control: &Control, values: &mut [f64]) {
        let core = &self.core;
        let mbps = |bw: u32| f64::from(bw) / BW_UNIT as f64 * f64::from(view.mss) * 8.0;
        let min_rtt = core.min_rtt.rtt_us;
        let current = [
            mbps(core.bw()),
            mbps(core.max_bw()),
            if min_rtt == View::UNKNOWN_RTT { f64::NAN } else { f64::from(min_rtt) / 1e3 },
            core.pacing_gain.as_f64(),
            core.cwnd_gain.as_f64(),
            if core.state.mode == Mode::ProbeBw { f64::from(core.state.phase) } else { f64::NAN },
            f64::from(core.round.count),
            f64::from(u8::from(core.state.full_pipe)),
            core.aggregation.max(),
            if core.state.policed { mbps(core.policer.bandwidth) } else { f64::NAN },
            f64::from(core.recovery.prior_cwnd),
        ];
        for (value, current) in values.iter_mut().zip(current) {
            *value = current;
        }
    }
}

#[cfg(test)]
mod tests;
