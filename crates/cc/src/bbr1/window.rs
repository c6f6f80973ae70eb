//! The congestion window: BDP, budget for bursts, growth to the target, and loss recovery.

use super::model::{Core, Mode};
use super::rules::Rules;
use crate::estimators::BW_UNIT;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{CaState, Control, RateSample, View};

impl Core {
    /// `gain` bandwidth-delay products in packets, rounded up.
    pub fn bdp<R: Rules>(&self, rules: &R, bw: u32, gain: Gain) -> u32 {
        self.bdp_and(rules, bw, gain, 0)
    }

    /// `gain` bandwidth-delay products and `allowance / BW_UNIT` packets, rounded up; without the allowance before
    /// there is a model.
    fn bdp_and<R: Rules>(&self, rules: &R, bw: u32, gain: Gain, allowance: u64) -> u32 {
        if self.min_rtt.rtt_us == View::UNKNOWN_RTT {
            return self.parameters.initial_window;
        }
        if bw == 0 && rules.multiplies_initial_window() {
            let window = gain.of(u64::from(self.parameters.initial_window));
            return u32::try_from(window).unwrap_or(u32::MAX);
        }
        let scaled = gain.of(u64::from(bw).saturating_mul(self.model_rtt_us));
        u32::try_from(scaled.saturating_add(allowance).div_ceil(BW_UNIT)).unwrap_or(u32::MAX)
    }

    /// `window` plus what bursts at the sender, in the network and at the receiver need.
    fn with_budget<R: Rules>(&self, rules: &R, view: &View, control: &Control, window: u64, gain: Gain) -> u32 {
        let parameters = &self.parameters;
        let mut window = window;
        if parameters.budget_bursts > 0 {
            let burst = self.bursts.packets(view, control, 0);
            window += u64::from(parameters.budget_bursts) * u64::from(burst);
        }
        if rules.targets_are_even() {
            window = (window + 1) & !1;
        }
        if self.state.mode == Mode::ProbeBw && rules.probes_with(self, gain) {
            window += u64::from(parameters.budget_probe_packets);
        }
        // Without a budget nothing else keeps the target of a tiny path reachable.
        if parameters.budget_bursts == 0 {
            window = window.max(u64::from(parameters.min_window));
        }
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// The amount to have in flight for `gain` BDP at bandwidth `bw`, in packets.
    pub fn inflight_target<R: Rules>(&self, rules: &R, view: &View, control: &Control, bw: u32, gain: Gain) -> u32 {
        self.with_budget(rules, view, control, u64::from(self.bdp(rules, bw, gain)), gain)
    }

    /// Remembers the window before it is reduced.
    pub(super) fn save_window(&mut self, control: &Control) {
        let untouched = self.recovery.previous_state < CaState::Recovery && self.state.mode != Mode::ProbeRtt;
        let saved = if untouched { 0 } else { self.recovery.prior_cwnd };
        self.recovery.prior_cwnd = saved.max(control.cwnd);
    }

    /// The amount to have in flight at the window's gain, with the allowance for aggregated ACKs.
    pub(super) fn window_target<R: Rules>(&self, rules: &R, view: &View, control: &Control, bw: u32) -> u32 {
        let allowance = if self.state.full_pipe { rules.aggregation_allowance(self) } else { 0 };
        let window = self.bdp_and(rules, bw, self.cwnd_gain, allowance);
        self.with_budget(rules, view, control, u64::from(window), self.cwnd_gain)
    }

    /// Sets the window for an ACK.
    #[inline]
    pub(super) fn set_window<R: Rules>(
        &mut self,
        rules: &mut R,
        view: &View,
        control: &mut Control,
        sample: &RateSample,
        bw: u32,
    ) {
        let acked = sample.acked_sacked;
        if acked == 0 && !rules.caps_every_ack() {
            return;
        }
        if acked > 0 && !rules.recover(self, view, control, sample, bw) {
            control.cwnd = self.grown(rules, view, control.cwnd, acked);
        }
        control.cwnd = control.cwnd.min(view.cwnd_clamp);
        if self.state.mode == Mode::ProbeRtt {
            control.cwnd = control.cwnd.min(rules.probe_rtt_cap(self, control));
        }
    }

    /// `window` grown by `acked` packets towards the target.
    #[inline]
    pub fn grown<R: Rules>(&self, rules: &R, view: &View, window: u32, acked: u32) -> u32 {
        let target = self.target();
        let grown = rules.grown(window, acked);
        let window = if self.state.full_pipe {
            grown.min(target)
        } else if window < target || view.delivered < u64::from(self.parameters.initial_window) {
            grown
        } else {
            window
        };
        window.max(self.parameters.min_window)
    }

    /// Linux's recovery; true when it has set the window and ordinary growth must not.
    ///
    /// The first round of recovery conserves packets, since the bandwidth may have shrunk; after it, a slow start
    /// towards the target follows. Leaving recovery restores the window of before.
    #[inline]
    pub fn recover_or_restore(&mut self, view: &View, control: &mut Control, sample: &RateSample) -> bool {
        let acked = sample.acked_sacked;
        if sample.losses > 0 {
            control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
        }
        let state = view.ca_state;
        let before = self.recovery.previous_state;
        if state != before {
            if state == CaState::Recovery {
                self.recovery.packet_conservation = true;
                self.round.next_delivered = view.delivered;
                control.cwnd = view.in_flight() + acked;
            } else if before >= CaState::Recovery && state < CaState::Recovery {
                self.recovery.restore_pending = true;
                self.recovery.packet_conservation = false;
            }
            self.recovery.previous_state = state;
        }
        if self.recovery.restore_pending {
            self.recovery.restore_pending = false;
            control.cwnd = control.cwnd.max(self.recovery.prior_cwnd);
        }
        if self.recovery.packet_conservation {
            control.cwnd = control.cwnd.max(view.in_flight() + acked);
        }
        self.recovery.packet_conservation
    }
}
