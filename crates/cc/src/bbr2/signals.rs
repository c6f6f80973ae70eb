//! Rounds, the maximum bandwidth, and what happened in the current loss round.
//!
//! Losses are judged by rounds that begin with a loss, so that a round's bandwidth and delivered amount are those of
//! the packets that met the congestion. At the end of such a round the lower bounds adapt to them (`bounds`).

use super::model::{Bbr2, Mode};
use super::parameters::LossCount;
use crate::estimators::{BW_UNIT, has_rate};
use dumbbell_cc_contract::{Control, RateSample, View};

/// The sample's delivery rate, rounded up; 0 when it has none.
#[inline]
pub(super) fn sample_bandwidth(sample: &RateSample) -> u32 {
    if !has_rate(sample) {
        return 0;
    }
    #[expect(clippy::cast_sign_loss, reason = "a sample that has a rate has neither below zero")]
    let bw = (sample.delivered as u64 * BW_UNIT).div_ceil(sample.interval_us as u64);
    u32::try_from(bw).unwrap_or(u32::MAX)
}

/// The packets delivered over a sample that has a rate.
#[inline]
#[expect(clippy::cast_sign_loss, reason = "a sample that has a rate delivered no less than 0")]
fn packets_delivered(sample: &RateSample) -> u32 {
    sample.delivered as u32
}

impl Bbr2 {
    /// Counts rounds.
    pub(super) fn update_round(&mut self, view: &View, control: &Control, sample: &RateSample) {
        self.round.started = has_rate(sample) && sample.prior_delivered >= self.round.next_delivered;
        if self.round.started {
            self.start_round(view);
            self.round.count = self.round.count.wrapping_add(1);
            self.probe.rounds_since = (self.probe.rounds_since + 1).min(255);
            self.probe.rounds_in_phase = self.probe.rounds_in_phase.saturating_add(1);
            self.update_ecn_alpha(view, control);
        }
        if sample.losses > 0 {
            self.round.lost = self.round.lost.saturating_add(sample.losses);
            self.round.loss_events = self.round.loss_events.saturating_add(1);
        }
    }

    /// The next round ends with a packet sent from now on.
    pub(super) fn start_round(&mut self, view: &View) {
        self.round.next_delivered = view.delivered;
    }

    /// Takes a sample with a delivery rate into the latest signals; it may end the loss round.
    pub(super) fn note_delivery(&mut self, view: &View, sample: &RateSample, bw: u32) {
        self.signals.bw = self.signals.bw.max(bw);
        self.signals.delivered = self.signals.delivered.max(packets_delivered(sample));
        self.signals.ended = if self.parameters.own_loss_rounds {
            sample.prior_delivered >= self.signals.next_delivered
        } else {
            self.round.started
        };
        if self.signals.ended {
            self.signals.next_delivered = view.delivered;
        }
    }

    /// Takes a sample that was noted into the maximum bandwidth and the signals of the loss round, and adapts the lower
    /// bounds at its end.
    pub(super) fn update_signals(&mut self, control: &Control, sample: &RateSample, bw: u32) {
        if !sample.is_app_limited || bw >= self.bandwidth.max() {
            self.bandwidth.add(bw);
        }
        self.signals.loss |= sample.losses > 0;
        if !self.signals.ended {
            return;
        }
        self.adapt_lower_bounds(control);
        self.signals.loss = false;
        self.signals.echo = false;
        if !self.parameters.latest_signals_last {
            self.signals.bw = bw;
            self.signals.delivered = packets_delivered(sample);
        }
    }

    /// Whether the sample says nothing about the path: the application was its limit, and it lies below what is known.
    /// Where the window has reached its target, the model then stays as it is (`bbr_run_fast_path`).
    #[inline]
    pub(super) fn model_stands(&self, sample: &RateSample, bw: u32) -> bool {
        self.parameters.app_limited_model_stands
            && self.window_is_set
            && sample.is_app_limited
            && bw < self.bandwidth.max()
            && !self.signals.loss
            && !self.signals.echo
    }

    /// The end of an ACK's processing.
    pub(super) fn finish_ack(&mut self, view: &View, sample: &RateSample, bw: u32) {
        self.previous_state = view.ca_state;
        if self.parameters.latest_signals_last && self.signals.ended && !sample.is_acking_tlp {
            self.signals.bw = bw;
            self.signals.delivered = packets_delivered(sample);
        }
        if self.round.started {
            self.round.lost = 0;
            self.round.loss_events = 0;
        }
        self.probe.saw_loss |= sample.lost_since_sent > 0;
        self.probe.saw_ce |= sample.delivered_ce > 0;
    }

    /// Whether the sample says that too much was in flight when its packet was sent.
    pub(super) fn is_inflight_too_high(&self, sample: &RateSample) -> bool {
        let lost = match self.parameters.loss_count {
            LossCount::SinceSent => sample.lost_since_sent.max(0).cast_unsigned(),
            LossCount::InRound => self.round.lost,
        };
        let enough_events = self.round.loss_events >= self.parameters.loss_min_events || self.mode == Mode::Startup;
        (enough_events && self.is_loss_too_high(sample.tx_in_flight, lost)) || self.is_ce_too_high(sample)
    }

    /// Whether `lost` of `in_flight` packets are more than the threshold.
    #[inline]
    pub(super) fn is_loss_too_high(&self, in_flight: u32, lost: u32) -> bool {
        in_flight > 0 && u64::from(lost) > self.parameters.loss_threshold.of(u64::from(in_flight))
    }
}
