//! The variants that Zhang's study compares: BBR' drains until the queue is gone, BBRPlus has cycles of random length,
//! BBR+ allows for varying round-trip times, Tsunami halves its way into PROBE_RTT.

use dumbbell_cc::bbr1::{Core, Rules};
use dumbbell_cc::parameters::Gain;
use dumbbell_cc::{Control, RateSample, View};
use serde::{Deserialize, Serialize};

/// The phases with a role of their own.
const PROBE: usize = 0;
const DRAIN: usize = 1;
const CRUISE: usize = 2;

/// What these variants do otherwise; the defaults are Linux 6.18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Parameters {
    /// When PROBE_BW moves to its next phase.
    #[schemars(extend("x-source" = "bbr_is_next_cycle_phase; DrainQueueCongestion; tcp_bbrplus.c"))]
    pub cycle_policy: CyclePolicy,
    /// Standard deviations of the round-trip time that are added to the minimum for the BDP (BBR+ on high-speed rail).
    #[schemars(extend("x-source" = "BBR+: lambda"))]
    pub min_rtt_offset: Gain,
    /// The window in PROBE_RTT.
    #[schemars(extend("x-source" = "bbr_cwnd_min_target"))]
    pub probe_rtt_window: ProbeRttWindow,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            cycle_policy: CyclePolicy::Timed,
            min_rtt_offset: Gain::new(0),
            probe_rtt_window: ProbeRttWindow::MinWindow,
        }
    }
}

/// When PROBE_BW moves to its next phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CyclePolicy {
    /// After one minimum round-trip time; probing lasts until its amount is in flight or a loss, draining ends as soon
    /// as one BDP is in flight.
    #[default]
    Timed,
    /// As `timed`, but the draining gain is held through the following phases until one BDP is in flight (BBR').
    TimedDrain,
    /// As `timed`, but draining lasts until one BDP is in flight, however long that takes (BBR' in its paper's words).
    StrictDrain,
    /// A cycle has a random length of 2 to 8 minimum round-trip times; it probes, drains to one BDP and cruises for the
    /// rest (BBRPlus, kernel).
    RandomLength,
    /// As `random_length` with the differences of BBRPlus in DrainQueueCongestion: a loss keeps draining even where one
    /// BDP is reached, and every entry of PROBE_BW begins a cycle.
    RandomLengthDqc,
}

/// The window in PROBE_RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRttWindow {
    /// `min_window`.
    #[default]
    MinWindow,
    /// Half the window with every ACK, down to `min_window` (Tsunami).
    Halving,
    /// This share of the BDP, at least `min_window`.
    Bdp(Gain),
}

impl Parameters {
    /// The amount in flight, in packets, that PROBE_RTT wants to see.
    pub(crate) fn probe_rtt_window<R: Rules>(&self, rules: &R, core: &Core) -> u32 {
        match self.probe_rtt_window {
            ProbeRttWindow::MinWindow | ProbeRttWindow::Halving => core.parameters.min_window,
            ProbeRttWindow::Bdp(share) => core.bdp(rules, core.max_bw(), share).max(core.parameters.min_window),
        }
    }

    /// The largest window that PROBE_RTT admits on this ACK.
    pub(crate) fn probe_rtt_cap<R: Rules>(&self, rules: &R, core: &Core, control: &Control) -> u32 {
        match self.probe_rtt_window {
            ProbeRttWindow::Halving => (control.cwnd / 2).max(core.parameters.min_window),
            _ => self.probe_rtt_window(rules, core),
        }
    }
}

/// What these rules keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Random length of the cycle in minimum round-trip times.
    pub(crate) cycle_length: u32,
    /// Mean (times 8) and variance of the round-trip time in µs and µs².
    mean_us_x8: u64,
    variance_us2: u64,
}

impl State {
    /// `weight` standard deviations of the round-trip time: exponentially weighted mean and variance with gain 1/8.
    pub(crate) fn spread_us(&mut self, weight: Gain, rtt_us: u32) -> u64 {
        let rtt_us = u64::from(rtt_us);
        if self.mean_us_x8 == 0 {
            self.mean_us_x8 = rtt_us * 8;
        } else {
            let deviation = rtt_us.abs_diff(self.mean_us_x8 / 8);
            self.mean_us_x8 = self.mean_us_x8 - self.mean_us_x8 / 8 + rtt_us;
            self.variance_us2 = self.variance_us2 - self.variance_us2 / 8 + deviation * deviation / 8;
        }
        weight.of(self.variance_us2.isqrt())
    }
}

/// BBR': the phases tick on, but the draining gain is held until one BDP is in flight.
pub(crate) fn update_draining_cycle<R: Rules>(
    rules: &R,
    core: &mut Core,
    view: &View,
    control: &Control,
    sample: &RateSample,
) {
    if !core.phase_is_over(rules, view, control, sample) {
        return;
    }
    core.next_phase(rules, view);
    let cruises = core.cycle.gain == Gain::ONE;
    if core.pacing_gain < Gain::ONE && cruises && !core.is_drained(rules, view, control, sample) {
        core.cycle.gain = core.pacing_gain;
    }
}

/// BBR' in its paper's words: draining lasts until one BDP is in flight.
pub(crate) fn update_strict_cycle<R: Rules>(
    rules: &R,
    core: &mut Core,
    view: &View,
    control: &Control,
    sample: &RateSample,
) {
    let is_over = if core.pacing_gain < Gain::ONE {
        core.is_drained(rules, view, control, sample)
    } else {
        core.phase_is_over(rules, view, control, sample)
    };
    if is_over {
        core.next_phase(rules, view);
    }
}

/// BBRPlus: probe, drain, cruise within a cycle of random length, of which this is the next state; `dqc` has the
/// differences of DrainQueueCongestion. The cycle's start does not move with its phases.
pub(crate) fn update_random_cycle<R: Rules>(
    rules: &R,
    core: &mut Core,
    length: u32,
    dqc: bool,
    (view, control, sample): (&View, &Control, &RateSample),
) -> u32 {
    let now_us = rules.cycle_clock_us(view);
    let elapsed_us = now_us.saturating_sub(core.cycle.start_us);
    let min_rtt_us = u64::from(core.min_rtt.rtt_us);
    if elapsed_us > u64::from(length) * min_rtt_us {
        #[expect(clippy::cast_possible_truncation, reason = "a cycle has at most 64 phases")]
        let phases = core.parameters.cycle_gains.len() as u32;
        core.cycle.start_us = now_us;
        let length = phases - core.rng.below(core.parameters.cycle_random_phases);
        core.enter_phase(PROBE);
        return length;
    }
    if core.pacing_gain == Gain::ONE {
        return length;
    }
    if core.pacing_gain < Gain::ONE {
        if core.is_drained(rules, view, control, sample) {
            core.enter_phase(CRUISE);
        }
        // DrainQueueCongestion looks for a reason to drain here, too, so that a loss can take CRUISE back.
        if !dqc {
            return length;
        }
    }
    if elapsed_us > min_rtt_us && must_drain(rules, core, dqc, view, control, sample) {
        core.enter_phase(DRAIN);
    }
    length
}

/// Whether probing has shown what it can.
fn must_drain<R: Rules>(
    rules: &R,
    core: &Core,
    dqc: bool,
    view: &View,
    control: &Control,
    sample: &RateSample,
) -> bool {
    let in_flight = core.in_network(rules, view, control, rules.drained_to(view, sample));
    let gain = core.parameters.cycle_gains[PROBE];
    let target = core.inflight_target(rules, view, control, core.max_bw(), gain);
    let probed = if dqc { in_flight > target } else { in_flight >= target };
    // A sender without data or without a receive window will not probe.
    let idles = !dqc && (view.no_unsent_data || view.receive_window_full);
    probed || sample.losses > 0 || sample.is_app_limited || idles
}
