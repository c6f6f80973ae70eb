//! The minimum round-trip time and PROBE_RTT.
//!
//! Two filters: the minimum of ten seconds, which the BDP is computed with, and the minimum of five, which schedules
//! PROBE_RTT. PROBE_RTT keeps half a BDP in flight, so that it costs less than version 1's four packets and can come
//! twice as often.

use super::model::{AckPhase, Bbr2, Mode};
use super::parameters::{Fault, ProbeRttEntry};
use crate::estimators::is_after;
use dumbbell_cc_contract::{Control, RateSample, View};
use dumbbell_units::Duration;

impl Bbr2 {
    /// Starts both filters with what the connection knows.
    pub(super) fn start_min_rtt(&mut self, view: &View) {
        self.min_rtt.start(view, self.parameters.min_rtt_window);
        self.probe_rtt.recent.start(view, self.parameters.probe_rtt_interval);
    }

    /// Updates the minima and runs PROBE_RTT.
    pub(super) fn update_min_rtt(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        let anywhere = self.parameters.probe_rtt_entry == ProbeRttEntry::Anywhere;
        let expired = self.is_recent_minimum_expired(view);
        if sample.rtt_us <= self.probe_rtt.recent.rtt_us.into() || expired {
            self.take_rtt(view, sample, expired && anywhere);
        }
        if self.probe_rtt.recent.rtt_us <= self.min_rtt.rtt_us || self.min_rtt.is_expired(view) {
            self.min_rtt.adopt(&self.probe_rtt.recent);
        }
        if expired && anywhere && self.has_probe_rtt() && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.enter_probe_rtt(view, control);
        }
        if self.mode == Mode::ProbeRtt {
            self.dwell_in_probe_rtt(view, control);
        }
        if self.idle_restart && sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Takes in a round-trip time that is not above the recent minimum, or that may replace it.
    #[inline(never)]
    fn take_rtt(&mut self, view: &View, sample: &RateSample, replaces: bool) {
        let Ok(rtt_us) = u32::try_from(sample.rtt_us) else { return };
        let is_distrusted = sample.is_ack_delayed && self.parameters.delayed_ack_guard;
        let ties = self.parameters.min_rtt_tie_refreshes;
        self.probe_rtt.recent.take(view, rtt_us, ties, replaces && !is_distrusted);
    }

    /// Whether the minimum that schedules PROBE_RTT is older than its window, in time and in round-trip times.
    pub(super) fn is_recent_minimum_expired(&self, view: &View) -> bool {
        let recent = &self.probe_rtt.recent;
        if !recent.is_expired(view) {
            return false;
        }
        let rtts = u64::from(self.parameters.probe_rtt_interval_rtts);
        let window = Duration::from_micros(rtts * u64::from(recent.rtt_us));
        rtts == 0 || is_after(view.jiffies, recent.stamp.wrapping_add(view.ticks(window)))
    }

    fn has_probe_rtt(&self) -> bool {
        self.parameters.probe_rtt_dwell > Duration::ZERO
    }

    /// The end of DOWN, where alone QUIC looks: whether the minimum has expired; this ACK's round-trip time replaces
    /// it.
    pub(super) fn renew_expired_minimum(&mut self, view: &View, sample: &RateSample) -> bool {
        match u32::try_from(sample.rtt_us) {
            Ok(rtt_us) if self.has_probe_rtt() && self.is_recent_minimum_expired(view) => {
                self.probe_rtt.recent.take(view, rtt_us, false, true);
                true
            }
            _ => false,
        }
    }

    pub(super) fn enter_probe_rtt(&mut self, view: &View, control: &Control) {
        self.mode = Mode::ProbeRtt;
        self.save_window(control);
        self.probe_rtt.done_stamp = None;
        self.probe.ack_phase = AckPhase::Stopping;
        self.start_round(view);
    }

    fn dwell_in_probe_rtt(&mut self, view: &View, control: &mut Control) {
        // Rates are low on purpose here: the sampler must not take them for the path's.
        control.app_limited = (view.delivered + u64::from(view.in_flight())).max(1);
        if self.probe_rtt.done_stamp.is_none() {
            if view.in_flight() <= self.probe_rtt_inflight() {
                let dwell = view.ticks(self.parameters.probe_rtt_dwell);
                self.probe_rtt.done_stamp = Some(view.jiffies.wrapping_add(dwell));
                self.probe_rtt.round_done = false;
                self.start_round(view);
            }
        } else {
            self.probe_rtt.round_done |= self.round.started;
            if self.probe_rtt.round_done || !self.parameters.probe_rtt_round {
                self.check_probe_rtt_done(view, control);
            }
        }
    }

    /// The amount in flight from which on PROBE_RTT counts its time.
    fn probe_rtt_inflight(&self) -> u32 {
        if self.parameters.fault == Some(Fault::ProbeRttFloor) {
            return self.bdp(self.bw(), self.parameters.probe_rtt_window_gain);
        }
        self.probe_rtt_window()
    }

    /// Leaves PROBE_RTT when its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, view: &View, control: &mut Control) {
        let Some(done) = self.probe_rtt.done_stamp else { return };
        if !is_after(view.jiffies, done) {
            return;
        }
        self.probe_rtt.recent.stamp = view.jiffies;
        control.cwnd = control.cwnd.max(self.prior_cwnd);
        self.bounds.reset_lower();
        if !self.full_pipe.reached {
            self.mode = Mode::Startup;
            return;
        }
        self.mode = Mode::ProbeBw;
        match self.parameters.probe_rtt_entry {
            ProbeRttEntry::AfterDown => self.start_phase(view, self.probe_rtt.resume, 0),
            ProbeRttEntry::Anywhere => {
                // The queue is empty, so there is nothing for DOWN to drain, but the probe clock starts anew.
                self.start_down(view);
                self.start_cruise();
            }
        }
    }
}
