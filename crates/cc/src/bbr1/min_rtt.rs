//! The minimum round-trip time and PROBE_RTT.
//!
//! The minimum is believed for ten seconds. If nothing renewed it until then (an application's pause would, and so would
//! other flows' PROBE_RTT), the window is held at four packets for 200 ms and at least a round, so that the queue drains
//! and the propagation delay can be seen. Flows that share a queue expire together, because they all see the minimum
//! when it drains: they synchronise.

use super::{Bbr1, Mode, ProbeRttWindow, Restore};
use crate::parameters::Gain;
use crate::{Control, RateSample, View};
use dumbbell_units::Duration;

/// State of the minimum filter and of PROBE_RTT.
#[derive(Clone, Debug, Default)]
pub(super) struct MinRtt {
    /// The minimum in microseconds; [`View::UNKNOWN_RTT`] before the first sample.
    pub(super) rtt_us: u32,
    /// The round-trip time that the BDP is computed with, in microseconds.
    pub(super) model_us: u64,
    /// Tick when the minimum was set.
    pub(super) stamp: u32,
    /// How long the minimum is believed, in ticks.
    window_ticks: u32,
    /// Tick when PROBE_RTT may end; 0 while the amount in flight has not come down yet.
    pub(super) probe_done_stamp: u32,
    probe_round_done: bool,
    /// Mean (times 8) and variance of the round-trip time in µs and µs², for `min_rtt_offset`.
    mean_us_x8: u64,
    variance_us2: u64,
}

impl MinRtt {
    /// Starts with what the connection knows, to be believed for `window`.
    pub(super) fn start(&mut self, view: &View, window: Duration) {
        self.rtt_us = view.min_rtt_us;
        self.model_us = self.rtt_us.into();
        self.stamp = view.jiffies;
        self.window_ticks = view.ticks(window);
    }

    /// Exponentially weighted mean and variance with gain 1/8.
    fn track_variance(&mut self, rtt_us: u32) {
        let rtt_us = u64::from(rtt_us);
        if self.mean_us_x8 == 0 {
            self.mean_us_x8 = rtt_us * 8;
            return;
        }
        let deviation = rtt_us.abs_diff(self.mean_us_x8 / 8);
        self.mean_us_x8 = self.mean_us_x8 - self.mean_us_x8 / 8 + rtt_us;
        self.variance_us2 = self.variance_us2 - self.variance_us2 / 8 + deviation * deviation / 8;
    }
}

/// Whether tick `a` is later than tick `b`.
#[inline]
fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

impl Bbr1 {
    /// Updates the minimum and runs PROBE_RTT.
    pub(super) fn update_min_rtt(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        let expired = after(view.jiffies, self.min_rtt.stamp.wrapping_add(self.min_rtt.window_ticks));
        let tracks_variance = self.parameters.min_rtt_offset > Gain::new(0);
        if sample.rtt_us <= self.min_rtt.rtt_us.into() || expired || tracks_variance {
            self.take_rtt(view, sample, expired);
        }
        if expired && !self.idle_restart && self.state.mode != Mode::ProbeRtt && self.parameters.has_probe_rtt() {
            self.state.mode = Mode::ProbeRtt;
            self.save_window(control);
            self.min_rtt.probe_done_stamp = 0;
        }
        if self.state.mode == Mode::ProbeRtt {
            self.dwell_in_probe_rtt(view, control);
        }
        if self.idle_restart && (sample.delivered > 0 || self.parameters.idle_ends_with_any_ack) {
            self.idle_restart = false;
        }
    }

    /// Takes in a round-trip time that is not above the minimum, or that comes when the minimum has expired.
    #[inline(never)]
    fn take_rtt(&mut self, view: &View, sample: &RateSample, expired: bool) {
        let Ok(rtt_us) = u32::try_from(sample.rtt_us) else { return };
        let (parameters, min_rtt) = (&self.parameters, &mut self.min_rtt);
        let lower = rtt_us < min_rtt.rtt_us || (parameters.min_rtt_tie_refreshes && rtt_us == min_rtt.rtt_us);
        let delayed = sample.is_ack_delayed && parameters.delayed_ack_guard;
        if lower || (expired && !delayed) {
            min_rtt.rtt_us = rtt_us;
            min_rtt.stamp = view.jiffies;
        }
        let offset = parameters.min_rtt_offset;
        min_rtt.model_us = min_rtt.rtt_us.into();
        if offset > Gain::new(0) {
            min_rtt.track_variance(rtt_us);
            min_rtt.model_us += offset.of(min_rtt.variance_us2.isqrt());
        }
    }

    #[cold]
    fn dwell_in_probe_rtt(&mut self, view: &View, control: &mut Control) {
        // Rates are low on purpose here: the sampler must not take them for the path's.
        control.app_limited = (view.delivered + u64::from(view.in_flight())).max(1);
        if self.min_rtt.probe_done_stamp == 0 {
            if view.in_flight() <= self.probe_rtt_target() {
                let dwell = view.ticks(self.parameters.probe_rtt_dwell);
                self.min_rtt.probe_done_stamp = view.jiffies.wrapping_add(dwell);
                self.min_rtt.probe_round_done = false;
                self.round.next_delivered = view.delivered;
            }
        } else {
            self.min_rtt.probe_round_done |= self.round.started;
            if self.min_rtt.probe_round_done {
                self.check_probe_rtt_done(view, control);
            }
        }
    }

    /// Leaves PROBE_RTT when its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, view: &View, control: &mut Control) {
        let done = self.min_rtt.probe_done_stamp;
        if done == 0 || !after(view.jiffies, done) {
            return;
        }
        self.min_rtt.stamp = view.jiffies;
        match self.parameters.probe_rtt_restore {
            Restore::AtExit => control.cwnd = control.cwnd.max(self.recovery.prior_cwnd),
            Restore::NextDelivery => self.recovery.restore_pending = true,
            Restore::Never => {}
        }
        if self.state.full_pipe {
            self.enter_probe_bw(view);
        } else {
            self.state.mode = Mode::Startup;
        }
    }

    /// The amount in flight, in packets, that PROBE_RTT wants to see.
    fn probe_rtt_target(&self) -> u32 {
        match self.parameters.probe_rtt_window {
            ProbeRttWindow::MinWindow | ProbeRttWindow::Halving => self.parameters.min_window,
            ProbeRttWindow::Bdp(share) => self.bdp(self.max_bw(), share).max(self.parameters.min_window),
        }
    }

    /// The largest window that PROBE_RTT admits on this ACK.
    pub(super) fn probe_rtt_cap(&self, control: &Control) -> u32 {
        match self.parameters.probe_rtt_window {
            ProbeRttWindow::Halving => (control.cwnd / 2).max(self.parameters.min_window),
            _ => self.probe_rtt_target(),
        }
    }
}
