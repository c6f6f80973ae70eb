//! The end of STARTUP, and DRAIN.
//!
//! STARTUP ends when the pipe is full: the bandwidth has stopped growing for three rounds, or a round lost or marked
//! too much. Version 3 repeats the search for a plateau in every UP.

use super::model::{Bbr2, Mode};
use super::parameters::{Fault, FullTest, LossCount, StartupBound};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{CaState, Control, RateSample, View};

impl Bbr2 {
    /// STARTUP ends when a loss round has many losses and loses too much.
    pub(super) fn check_startup_losses(&mut self, view: &View, control: &Control, sample: &RateSample) {
        if self.full_pipe.reached {
            return;
        }
        if sample.losses > 0 {
            self.signals.startup_loss_events = (self.signals.startup_loss_events + 1).min(15);
        }
        if !self.signals.ended {
            return;
        }
        let repairs = view.ca_state == CaState::Recovery || self.parameters.loss_count == LossCount::InRound;
        if repairs
            && self.signals.startup_loss_events >= self.parameters.startup_loss_events
            && self.is_inflight_too_high(sample)
        {
            self.end_startup_congested(view, control);
        } else {
            self.signals.startup_loss_events = 0;
        }
    }

    /// STARTUP ends because loss or marks are too many: the pipe holds no more than what it holds now.
    pub(super) fn end_startup_congested(&mut self, view: &View, control: &Control) {
        self.full_pipe.reached = true;
        self.full_pipe.ended_by_loss = true;
        let bdp = self.inflight_target(view, control, self.bandwidth.max(), Gain::ONE);
        self.bounds.inflight_hi = match self.parameters.startup_bound {
            StartupBound::Bdp => bdp,
            StartupBound::BdpOrDelivered => bdp.max(self.signals.delivered),
        };
    }

    /// Has the bandwidth stopped growing?
    pub(super) fn check_full_pipe(&mut self, view: &View, control: &Control, sample: &RateSample, bw: u32) {
        let started = self.round.started;
        let full = &mut self.full_pipe;
        let (bw, looks, counts) = match self.parameters.full_test {
            FullTest::Maximum => (self.bandwidth.max(), started && !full.reached, started),
            FullTest::EverySample => (bw, !full.now, started),
            FullTest::RoundSample => (bw, started && !full.now, started),
        };
        if !looks || sample.is_app_limited {
            return;
        }
        if self.parameters.fault == Some(Fault::UnfilledWindow) && view.in_flight() < control.cwnd {
            return;
        }
        if u64::from(bw) >= self.parameters.full_threshold.of(u64::from(full.baseline)) {
            full.restart(bw);
        } else if counts {
            full.rounds += 1;
            full.now = full.rounds >= self.parameters.full_rounds;
            full.reached |= full.now;
        }
    }

    /// STARTUP to DRAIN when the pipe is full, DRAIN to PROBE_BW when at most one BDP is left in the network.
    pub(super) fn check_drain(&mut self, view: &View, control: &mut Control) {
        if !matches!(self.mode, Mode::Startup | Mode::Drain) || !self.full_pipe.reached {
            return;
        }
        let target = self.inflight_target(view, control, self.bandwidth.max(), Gain::ONE);
        if self.mode == Mode::Startup {
            self.mode = Mode::Drain;
            self.full_pipe.drain_start = self.round.count;
            // Informational: it lets the stack and its statistics see that slow start is over.
            control.ssthresh = target;
            self.reset_signals();
        }
        let rounds = self.round.count.wrapping_sub(self.full_pipe.drain_start);
        let too_long = self.parameters.drain_max_rounds.is_some_and(|most| rounds > most);
        if too_long || self.in_network(view, control, view.in_flight()) <= target {
            self.mode = Mode::ProbeBw;
            self.start_down(view);
        }
    }
}
