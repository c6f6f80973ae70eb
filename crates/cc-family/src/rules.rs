//! Which of the families' rules a controller has: any mixture of them.
//!
//! Everything is chosen by parameters, so that an experiment file can take a rule of one stack and put it into another.

use crate::{acd, ns3, older_linux, quic, zhang};
use dumbbell_cc::bbr1::{Core, Mode, Rules};
use dumbbell_cc::minmax::MaxFilter;
use dumbbell_cc::parameters::Gain;
use dumbbell_cc::{CaState, Control, RateSample, View};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What may be decided otherwise than in Linux; the defaults are Linux 6.18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct RuleParameters {
    /// How the window reacts to loss.
    #[schemars(extend("x-source" = "bbr_set_cwnd_to_recover_or_restore"))]
    pub recovery: Recovery,
    /// Allowance for aggregated ACKs on top of the window target.
    #[schemars(extend("x-source" = "bbr_update_ack_aggregation"))]
    pub aggregation: Aggregation,
    /// Look for a traffic policer and follow its rate.
    #[schemars(extend("x-source" = "bbr_lt_bw_sampling"))]
    pub policer_sampler: bool,
    /// A retransmission timeout forgets the bandwidth that the search for a full pipe compares with.
    #[schemars(extend("x-source" = "bbr_set_state: full_bw = 0"))]
    pub rto_resets_plateau: bool,
    /// Round the window target up to an even number, for receivers that acknowledge every second packet.
    #[schemars(extend("x-source" = "bbr_quantization_budget: (cwnd + 1) & ~1"))]
    pub budget_even: bool,
    /// The amount in flight that tests of PROBE_BW's phases look at.
    #[schemars(extend("x-source" = "bbr_is_next_cycle_phase: rs->prior_in_flight"))]
    pub cycle_in_flight: InFlight,
    /// The time that the lengths of PROBE_BW's phases are measured with.
    #[schemars(extend("x-source" = "bbr_is_next_cycle_phase: tp->delivered_mstamp"))]
    pub cycle_clock: CycleClock,
    /// Of older kernels.
    #[serde(flatten)]
    pub older_linux: older_linux::Parameters,
    /// Of ns-3.
    #[serde(flatten)]
    pub ns3: ns3::Parameters,
    /// Of Chromium's QUIC.
    #[serde(flatten)]
    pub quic: quic::Parameters,
    /// Of the variants of Zhang's study.
    #[serde(flatten)]
    pub zhang: zhang::Parameters,
    /// Of BBR-ACD.
    #[serde(flatten)]
    pub acd: acd::Parameters,
}

impl Default for RuleParameters {
    fn default() -> RuleParameters {
        RuleParameters {
            recovery: Recovery::Linux,
            aggregation: Aggregation::Linux,
            policer_sampler: true,
            rto_resets_plateau: true,
            budget_even: true,
            cycle_in_flight: InFlight::Prior,
            cycle_clock: CycleClock::Delivered,
            older_linux: older_linux::Parameters::default(),
            ns3: ns3::Parameters::default(),
            quic: quic::Parameters::default(),
            zhang: zhang::Parameters::default(),
            acd: acd::Parameters::default(),
        }
    }
}

/// How the window reacts to loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Packet conservation for a round, then slow start to the target; the saved window returns at the end.
    #[default]
    Linux,
    /// A recovery window beside the window: conservation for a round, then growth; the smaller of the two applies.
    Quic,
    /// As `linux`, but in fast recovery alone: losses elsewhere leave the window as it is (ns-3).
    Ns3,
    /// As the port that ns-3's BBR grew from: what an ACK finds lost is subtracted in every state, packets are
    /// conserved for the first ACK of fast recovery only, and its end sets the window to the initial threshold, which
    /// is infinite: the next ACK's addition wraps around to the smallest window.
    #[serde(rename = "ns3_2018")]
    Ns3Of2018,
    /// No conservation; a loss while the round-trip times reveal congestion halves the window, to at most one BDP, once
    /// per recovery (BBR-ACD as its paper words it).
    AcdPaper,
    /// No conservation; if the ACK that begins a recovery reveals congestion, every ACK of the round halves the window,
    /// to at most one BDP (BBR-ACD's kernel code).
    AcdKernel,
    /// The window is halved with every ACK of a recovery, and its gain is one until the next state (BBR-ACD's ns-3
    /// code, which never uses what it detects).
    AcdNs3,
}

/// How aggregated ACKs are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Two slots of `aggregation_window_rounds` rounds, bounded by the window and `aggregation_cap` (since Linux 5.1).
    #[default]
    Linux,
    /// A maximum filter over `aggregation_window_rounds` rounds without bounds.
    Quic,
    /// Not at all.
    Off,
}

/// An amount in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InFlight {
    /// Before the ACK (Linux).
    #[default]
    Prior,
    /// After the ACK (QUIC), except for the end of probing under `timed` and `timed_drain`.
    Current,
}

/// The time that the lengths of phases are measured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CycleClock {
    /// When data was last delivered (Linux).
    #[default]
    Delivered,
    /// Now (ns-3, QUIC).
    Now,
}

/// The rules that [`RuleParameters`] choose.
#[derive(Clone, Debug)]
pub struct FamilyRules {
    parameters: Arc<RuleParameters>,
    ns3: ns3::State,
    pub(crate) quic: quic::State,
    pub(crate) zhang: zhang::State,
    acd: acd::State,
}

impl FamilyRules {
    /// Rules that share their parameters with others.
    pub fn new(parameters: impl Into<Arc<RuleParameters>>) -> FamilyRules {
        FamilyRules {
            parameters: parameters.into(),
            ns3: ns3::State::default(),
            quic: quic::State::default(),
            zhang: zhang::State::default(),
            acd: acd::State::default(),
        }
    }
}

impl Rules for FamilyRules {
    fn init(&mut self, core: &mut Core, view: &View, control: &Control) {
        *self = FamilyRules::new(Arc::clone(&self.parameters));
        self.quic.unbounded_cwnd = control.cwnd;
        if self.parameters.ns3.initial_bw_estimate {
            core.bandwidth = MaxFilter::new(core.round.count, core.initial_bandwidth(view, control));
        }
    }

    fn paces(&self) -> bool {
        self.parameters.older_linux.paced
    }

    fn repeats_first_rate(&self) -> bool {
        self.parameters.older_linux.pacing_reinit
    }

    fn pacing_may_fall(&self, core: &Core) -> bool {
        self.parameters.older_linux.pacing_may_fall(core)
    }

    fn ties_renew_minimum(&self) -> bool {
        self.parameters.older_linux.min_rtt_tie_refreshes
    }

    fn distrusts_delayed_acks(&self) -> bool {
        self.parameters.older_linux.delayed_ack_guard
    }

    fn wants_every_rtt(&self) -> bool {
        self.parameters.zhang.min_rtt_offset > Gain::new(0)
    }

    fn rtt_allowance_us(&mut self, rtt_us: u32) -> u64 {
        let weight = self.parameters.zhang.min_rtt_offset;
        if weight > Gain::new(0) { self.zhang.spread_us(weight, rtt_us) } else { 0 }
    }

    fn probe_rtt_window(&self, core: &Core) -> u32 {
        self.parameters.zhang.probe_rtt_window(self, core)
    }

    fn probe_rtt_cap(&self, core: &Core, control: &Control) -> u32 {
        self.parameters.zhang.probe_rtt_cap(self, core, control)
    }

    fn restore_window(&self, core: &mut Core, control: &mut Control) {
        self.parameters.older_linux.restore_window(core, control);
    }

    fn idle_ends_probe_rtt(&self) -> bool {
        self.parameters.older_linux.probe_rtt_exit_from_idle
    }

    fn any_ack_ends_idle(&self) -> bool {
        self.parameters.older_linux.idle_ends_with_any_ack
    }

    fn first_phase(&mut self, drawn: usize) -> usize {
        if self.parameters.zhang.cycle_policy == zhang::CyclePolicy::RandomLengthDqc {
            self.zhang.cycle_length = 0;
        }
        self.ns3.first_phase(&self.parameters.ns3.cycle_first_phases, drawn)
    }

    fn cycle_clock_us(&self, view: &View) -> u64 {
        match self.parameters.cycle_clock {
            CycleClock::Delivered => view.delivered_mstamp_us,
            CycleClock::Now => view.mstamp_us,
        }
    }

    fn drained_to(&self, view: &View, sample: &RateSample) -> u32 {
        match self.parameters.cycle_in_flight {
            InFlight::Prior => sample.prior_in_flight,
            InFlight::Current => view.in_flight(),
        }
    }

    fn update_cycle(&mut self, core: &mut Core, view: &View, control: &Control, sample: &RateSample) {
        if core.state.policed && self.parameters.older_linux.policer_freezes_cycle {
            return;
        }
        let policy = self.parameters.zhang.cycle_policy;
        match policy {
            zhang::CyclePolicy::Timed => core.update_timed_cycle(self, view, control, sample),
            zhang::CyclePolicy::TimedDrain => zhang::update_draining_cycle(self, core, view, control, sample),
            zhang::CyclePolicy::StrictDrain => zhang::update_strict_cycle(self, core, view, control, sample),
            zhang::CyclePolicy::RandomLength | zhang::CyclePolicy::RandomLengthDqc => {
                let dqc = policy == zhang::CyclePolicy::RandomLengthDqc;
                let length = self.zhang.cycle_length;
                self.zhang.cycle_length = zhang::update_random_cycle(self, core, length, dqc, (view, control, sample));
            }
        }
    }

    fn foresees_departure(&self) -> bool {
        self.parameters.older_linux.net_estimate
    }

    fn multiplies_initial_window(&self) -> bool {
        self.parameters.quic.gain_before_bandwidth
    }

    fn targets_are_even(&self) -> bool {
        self.parameters.budget_even
    }

    fn probes_with(&self, core: &Core, gain: Gain) -> bool {
        self.parameters.acd.probes_with(core, gain)
    }

    fn window_gain(&mut self, mode: Mode, gain: Gain) -> Gain {
        self.acd.window_gain(mode, gain)
    }

    fn caps_every_ack(&self) -> bool {
        self.parameters.older_linux.zero_ack_caps
    }

    fn grown(&self, window: u32, acked: u32) -> u32 {
        match self.parameters.recovery {
            Recovery::Ns3 | Recovery::Ns3Of2018 => ns3::grown(window, acked),
            _ => window.saturating_add(acked),
        }
    }

    fn recover(&mut self, core: &mut Core, view: &View, control: &mut Control, sample: &RateSample, bw: u32) -> bool {
        match self.parameters.recovery {
            Recovery::Linux => core.recover_or_restore(view, control, sample),
            Recovery::Quic => self.quic.recover(core, view, control, sample),
            Recovery::Ns3 => ns3::recover(core, view, control, sample),
            Recovery::Ns3Of2018 => ns3::recover_as_of_2018(core, view, control, sample),
            Recovery::AcdPaper | Recovery::AcdKernel | Recovery::AcdNs3 => {
                // Its state leaves the rules while they are asked.
                let mut acd = std::mem::take(&mut self.acd);
                let rules = (&*self, &self.parameters.acd);
                let is_set = match self.parameters.recovery {
                    Recovery::AcdPaper => acd.recover_like_paper(rules, core, (view, control), sample, bw),
                    Recovery::AcdKernel => acd.recover_like_kernel(rules, core, (view, control), sample, bw),
                    _ => acd.recover_like_ns3(&*self, core, (view, control), sample, bw),
                };
                self.acd = acd;
                is_set
            }
        }
    }

    fn change_state(&mut self, core: &mut Core, view: &View, control: &mut Control, next: CaState) {
        match self.parameters.recovery {
            Recovery::Ns3 | Recovery::Ns3Of2018 => ns3::change_state(core, view, control, next),
            Recovery::AcdNs3 if view.ca_state >= CaState::Recovery && next < CaState::Recovery => {
                ns3::restore(core, control);
            }
            _ => {}
        }
    }

    fn ssthresh(&self, control: &Control) -> u32 {
        if self.parameters.recovery == Recovery::Ns3Of2018 { Control::INFINITE_SSTHRESH } else { control.ssthresh }
    }

    fn timeout_forgets_plateau(&self) -> bool {
        self.parameters.rto_resets_plateau
    }

    fn undo_forgets_plateau(&self) -> bool {
        self.parameters.older_linux.undo_resets_plateau
    }

    fn probes_policers(&self) -> bool {
        self.parameters.older_linux.policer_is_probed
    }

    fn looks_for_policers(&self) -> bool {
        self.parameters.policer_sampler
    }

    fn measure_aggregation(&mut self, core: &mut Core, view: &View, control: &Control, acked: u32, bw: u32) {
        let elapsed_us = self.parameters.ns3.counted_us(core.aggregation.elapsed_us(view));
        match self.parameters.aggregation {
            Aggregation::Linux => core.measure_aggregation(view, control, acked, bw, elapsed_us),
            Aggregation::Quic => quic::measure_aggregation(core, view, acked, bw, elapsed_us),
            Aggregation::Off => {}
        }
    }

    fn aggregation_allowance(&self, core: &Core) -> u64 {
        match self.parameters.aggregation {
            Aggregation::Linux => core.aggregation_allowance(),
            Aggregation::Quic => quic::aggregation_allowance(core),
            Aggregation::Off => 0,
        }
    }
}
