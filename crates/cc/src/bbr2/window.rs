//! The congestion window: the BDP with its budget, within the bounds.

use super::model::{Bbr2, Mode, Phase, UNSET};
use crate::estimators::BW_UNIT;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, View};

impl Bbr2 {
    /// `gain` bandwidth-delay products in packets, rounded up.
    pub(super) fn bdp(&self, bw: u32, gain: Gain) -> u32 {
        self.bdp_and(bw, gain, 0)
    }

    /// `gain` bandwidth-delay products and `allowance / BW_UNIT` packets, rounded up.
    fn bdp_and(&self, bw: u32, gain: Gain, allowance: u64) -> u32 {
        if self.min_rtt.rtt_us == View::UNKNOWN_RTT {
            let allowance = u32::try_from(allowance.div_ceil(BW_UNIT)).unwrap_or(u32::MAX);
            return self.initial_window.saturating_add(allowance);
        }
        let scaled = gain.of(u64::from(bw).saturating_mul(u64::from(self.min_rtt.rtt_us)));
        u32::try_from(scaled.saturating_add(allowance).div_ceil(BW_UNIT)).unwrap_or(u32::MAX)
    }

    /// `window`, but at least what bursts at the sender, in the network and at the receiver need.
    fn with_budget(&self, view: &View, control: &Control, window: u32) -> u32 {
        let bursts = match self.parameters.budget_bursts {
            0 => 0,
            bursts => bursts.saturating_mul(self.burst_packets(view, control)),
        };
        let probing = if self.is_in(Phase::Up) { self.parameters.budget_up_packets } else { 0 };
        window.max(bursts).max(self.parameters.min_window).saturating_add(probing)
    }

    /// The amount to have in flight for `gain` BDP at bandwidth `bw`, in packets.
    pub(super) fn inflight_target(&self, view: &View, control: &Control, bw: u32, gain: Gain) -> u32 {
        self.with_budget(view, control, self.bdp(bw, gain))
    }

    /// The amount to have in flight at the window's gain, with the allowance for aggregated ACKs.
    pub(super) fn compute_window_target(&self, view: &View, control: &Control) -> u32 {
        let wanted = self.bdp_and(self.bw(), self.cwnd_gain, self.aggregation_allowance());
        self.with_budget(view, control, wanted)
    }

    /// The amount in flight that the flow wants now: what Reno's pace and reductions refer to.
    pub(super) fn target_inflight(&self, view: &View, control: &Control) -> u32 {
        self.one_bdp(view, control).min(control.cwnd)
    }

    /// The window in PROBE_RTT.
    pub(super) fn probe_rtt_window(&self) -> u32 {
        self.bdp(self.bw(), self.parameters.probe_rtt_window_gain).max(self.parameters.min_window)
    }

    /// Sets the window for an ACK that delivered `acked` packets.
    pub(super) fn set_window(&mut self, view: &View, control: &mut Control, acked: u32) {
        let mut cwnd = control.cwnd;
        self.window_is_set = false;
        if acked > 0 {
            let target = self.window_target();
            let grown = cwnd.saturating_add(acked);
            if self.full_pipe.reached {
                self.window_is_set = grown >= target;
                cwnd = grown.min(target);
            } else if cwnd < target || cwnd < 2 * self.initial_window {
                cwnd = grown;
            } else {
                self.window_is_set = true;
            }
            cwnd = cwnd.max(self.parameters.min_window);
        }
        cwnd = cwnd.min(view.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_window());
        }
        control.cwnd = cwnd.min(self.window_bound());
    }

    /// The window that the bounds on the amount in flight admit.
    fn window_bound(&self) -> u32 {
        let long_term = match (self.mode, self.phase) {
            (Mode::Startup | Mode::Drain, _) => UNSET,
            (Mode::ProbeBw, Phase::Cruise) | (Mode::ProbeRtt, _) => self.inflight_with_headroom(),
            (Mode::ProbeBw, Phase::Up | Phase::Down | Phase::Refill) => self.bounds.inflight_hi,
        };
        long_term.min(self.bounds.inflight_lo).max(self.parameters.min_window)
    }
}
