//! The minimum round-trip time and PROBE_RTT.
//!
//! The minimum is believed for ten seconds. If nothing renewed it until then (an application's pause would, and so
//! would other flows' PROBE_RTT), the window is held at four packets for 200 ms and at least a round, so that the queue
//! drains and the propagation delay can be seen. Flows that share a queue expire together, because they all see the
//! minimum when it drains: they synchronise.

use super::model::{Core, Mode};
use super::rules::Rules;
use crate::estimators::is_after;
use dumbbell_cc_contract::{Control, RateSample, View};
use dumbbell_units::Duration;

impl Core {
    /// Updates the minimum and runs PROBE_RTT.
    #[inline]
    pub(super) fn update_min_rtt<R: Rules>(
        &mut self,
        rules: &mut R,
        view: &View,
        control: &mut Control,
        sample: &RateSample,
    ) {
        let expired = self.min_rtt.is_expired(view);
        if sample.rtt_us <= self.min_rtt.rtt_us.into() || expired || rules.wants_every_rtt() {
            self.take_rtt(rules, view, sample, expired);
        }
        if expired && !self.idle_restart && self.state.mode != Mode::ProbeRtt && self.has_probe_rtt() {
            self.state.mode = Mode::ProbeRtt;
            self.save_window(control);
            self.probe_rtt.done_stamp = 0;
        }
        if self.state.mode == Mode::ProbeRtt {
            self.dwell_in_probe_rtt(rules, view, control);
        }
        if self.idle_restart && (sample.delivered > 0 || rules.any_ack_ends_idle()) {
            self.idle_restart = false;
        }
    }

    fn has_probe_rtt(&self) -> bool {
        self.parameters.probe_rtt_dwell > Duration::ZERO
    }

    /// Takes in a round-trip time that is not above the minimum, or that comes when the minimum has expired.
    #[inline(never)]
    fn take_rtt<R: Rules>(&mut self, rules: &mut R, view: &View, sample: &RateSample, expired: bool) {
        let Ok(rtt_us) = u32::try_from(sample.rtt_us) else { return };
        let is_distrusted = sample.is_ack_delayed && rules.distrusts_delayed_acks();
        self.min_rtt.take(view, rtt_us, rules.ties_renew_minimum(), expired && !is_distrusted);
        self.model_rtt_us = u64::from(self.min_rtt.rtt_us) + rules.rtt_allowance_us(rtt_us);
    }

    #[cold]
    fn dwell_in_probe_rtt<R: Rules>(&mut self, rules: &mut R, view: &View, control: &mut Control) {
        // Rates are low on purpose here: the sampler must not take them for the path's.
        control.app_limited = (view.delivered + u64::from(view.in_flight())).max(1);
        if self.probe_rtt.done_stamp == 0 {
            if view.in_flight() <= rules.probe_rtt_window(self) {
                let dwell = view.ticks(self.parameters.probe_rtt_dwell);
                self.probe_rtt.done_stamp = view.jiffies.wrapping_add(dwell);
                self.probe_rtt.round_done = false;
                self.round.next_delivered = view.delivered;
            }
        } else {
            self.probe_rtt.round_done |= self.round.started;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(rules, view, control);
            }
        }
    }

    /// Leaves PROBE_RTT when its time is over.
    pub(super) fn check_probe_rtt_done<R: Rules>(&mut self, rules: &mut R, view: &View, control: &mut Control) {
        let done = self.probe_rtt.done_stamp;
        if done == 0 || !is_after(view.jiffies, done) {
            return;
        }
        self.min_rtt.stamp = view.jiffies;
        rules.restore_window(self, control);
        if self.state.full_pipe {
            self.enter_probe_bw(rules, view);
        } else {
            self.state.mode = Mode::Startup;
        }
    }
}
