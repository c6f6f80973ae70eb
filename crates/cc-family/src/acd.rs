//! BBR-ACD: tells losses of congestion from random ones by round-trip times.
//!
//! A drop-tail queue that overflows holds the round-trip time at its maximum: several samples in a row are alike and
//! above the minimum. A loss at such a time is taken for congestion and cuts the window; other losses do not. The
//! paper, its kernel code and its ns-3 code each do something else with that, so each is a rule of its own.

use crate::ns3;
use dumbbell_cc::bbr1::{Core, Mode, Rules};
use dumbbell_cc::parameters::Gain;
use dumbbell_cc::{CaState, Control, RateSample, View};
use dumbbell_units::Duration;
use serde::{Deserialize, Serialize};

/// What BBR-ACD does otherwise; the defaults are Linux 6.18 and the paper's detector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Parameters {
    /// Round-trip times that differ by at most this are alike (`recovery = "acd_*"`).
    #[schemars(extend("x-source" = "BBR-ACD: alpha = 1000 us"))]
    pub acd_tolerance: Duration,
    /// How often in a row a round-trip time above the minimum must be like the one before to reveal a full queue.
    #[schemars(extend("x-source" = "BBR-ACD: three near-identical samples, two repetitions"))]
    pub acd_repetitions: u32,
    /// A round-trip time above this many minima reveals a full queue by itself.
    #[schemars(extend("x-source" = "BBR-ACD: 2"))]
    pub acd_rtt_factor: Gain,
    /// When `budget_probe_packets` are added.
    #[schemars(extend("x-source" = "bbr_quantization_budget: cycle_idx == 0"))]
    pub budget_probe_when: ProbeBudget,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            acd_tolerance: Duration::from_millis(1),
            acd_repetitions: 2,
            acd_rtt_factor: Gain::new(512),
            budget_probe_when: ProbeBudget::PhaseZero,
        }
    }
}

/// When the budget contains the extra packets for probing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeBudget {
    /// In phase 0 of PROBE_BW.
    #[default]
    PhaseZero,
    /// In PROBE_BW, for every target with a gain above one (BBR-ACD).
    GainAboveOne,
}

impl Parameters {
    /// Whether a target with this gain has the extra packets for probing, in PROBE_BW.
    #[inline]
    pub(crate) fn probes_with(&self, core: &Core, gain: Gain) -> bool {
        match self.budget_probe_when {
            ProbeBudget::PhaseZero => core.state.phase == 0,
            ProbeBudget::GainAboveOne => gain > Gain::ONE,
        }
    }
}

/// What these rules keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// How often in a row the round-trip time was like the one before.
    repetitions: u32,
    /// The round-trip time before, in microseconds; -1 is none.
    previous_us: i64,
    /// The window was cut in this recovery.
    cut: bool,
    /// The window's gain is one for as long as this mode lasts (the ns-3 code).
    unit_gain_in: Option<Mode>,
}

impl State {
    /// Takes a round-trip time in (-1 is none); whether it reveals congestion.
    pub(crate) fn detect(&mut self, rtt_us: i64, min_rtt_us: u32, parameters: &Parameters, is_kernel: bool) -> bool {
        let tolerance_us = parameters.acd_tolerance.as_micros();
        let previous_us = std::mem::replace(&mut self.previous_us, rtt_us);
        // The kernel code subtracts the tolerance without a sign: below it nothing is ever alike.
        let least_us = if is_kernel { tolerance_us } else { 0 };
        let in_range = u64::try_from(previous_us).is_ok_and(|previous_us| previous_us >= least_us);
        let alike = in_range && rtt_us.abs_diff(previous_us) <= tolerance_us;
        self.repetitions = if rtt_us > i64::from(min_rtt_us) && alike { self.repetitions + 1 } else { 0 };
        let high_us = parameters.acd_rtt_factor.of(u64::from(min_rtt_us));
        self.repetitions >= parameters.acd_repetitions || u64::try_from(rtt_us).is_ok_and(|rtt_us| rtt_us > high_us)
    }

    /// The window's gain in a mode.
    pub(crate) fn window_gain(&mut self, mode: Mode, gain: Gain) -> Gain {
        if self.unit_gain_in == Some(mode) {
            return Gain::ONE;
        }
        self.unit_gain_in = None;
        gain
    }

    /// The kernel code; true when growth must not follow. A cut repeats with every ACK until the next round.
    pub(crate) fn recover_like_kernel<R: Rules>(
        &mut self,
        (rules, parameters): (&R, &Parameters),
        core: &mut Core,
        (view, control): (&View, &mut Control),
        sample: &RateSample,
        bw: u32,
    ) -> bool {
        if sample.losses > 0 {
            control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
        }
        let congested = self.detect(sample.rtt_us, core.min_rtt.rtt_us, parameters, true);
        let state = view.ca_state;
        let before = std::mem::replace(&mut core.recovery.previous_state, state);
        if congested && state == CaState::Recovery && before != CaState::Recovery {
            core.recovery.packet_conservation = true;
            core.round.next_delivered = view.delivered;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            ns3::restore(core, control);
        }
        if core.recovery.packet_conservation {
            control.cwnd = halved(rules, core, view, control, bw);
        }
        core.recovery.packet_conservation
    }

    /// The paper's words; true when growth must not follow.
    pub(crate) fn recover_like_paper<R: Rules>(
        &mut self,
        (rules, parameters): (&R, &Parameters),
        core: &mut Core,
        (view, control): (&View, &mut Control),
        sample: &RateSample,
        bw: u32,
    ) -> bool {
        let congested = self.detect(sample.rtt_us, core.min_rtt.rtt_us, parameters, false);
        let state = view.ca_state;
        let before = std::mem::replace(&mut core.recovery.previous_state, state);
        if before >= CaState::Recovery && state < CaState::Recovery {
            self.cut = false;
            control.cwnd = control.cwnd.max(core.recovery.prior_cwnd);
        } else if sample.losses > 0 {
            if congested && !self.cut {
                self.cut = true;
                control.cwnd = halved(rules, core, view, control, bw);
                return true;
            }
            control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
        }
        false
    }

    /// The ns-3 code; true when growth must not follow. What it detects it forgets before it uses it.
    pub(crate) fn recover_like_ns3<R: Rules>(
        &mut self,
        rules: &R,
        core: &mut Core,
        (view, control): (&View, &mut Control),
        sample: &RateSample,
        bw: u32,
    ) -> bool {
        core.recovery.previous_state = view.ca_state;
        if view.ca_state != CaState::Recovery {
            return false;
        }
        self.unit_gain_in = Some(core.state.mode);
        core.unsettle();
        control.cwnd = control.cwnd.max(view.in_flight() + sample.acked_sacked);
        control.cwnd = halved(rules, core, view, control, bw);
        true
    }
}

/// The window halved, to at most one BDP.
fn halved<R: Rules>(rules: &R, core: &Core, view: &View, control: &Control, bw: u32) -> u32 {
    let bdp = core.inflight_target(rules, view, control, bw, Gain::ONE);
    (control.cwnd / 2).min(bdp).max(core.parameters.min_window)
}
