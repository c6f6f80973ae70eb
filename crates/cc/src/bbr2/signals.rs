//! Rounds, the maximum bandwidth, and what happened in the current loss round.
//!
//! Losses are judged by rounds that begin with a loss, so that a round's bandwidth and delivered amount are those of the
//! packets that met the congestion. At the end of such a round the lower bounds adapt to them (`bounds`).

use super::{Bbr2, LossCount, Mode};
use crate::estimators::{BW_UNIT, has_rate};
use dumbbell_cc_contract::{Control, RateSample, View};

/// The current packet-timed round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Rounds so far.
    pub(super) count: u32,
    /// The round ends with the first sample of a packet sent when at least this much was delivered.
    pub(super) next_delivered: u64,
    /// This ACK started a round.
    pub(super) started: bool,
    /// Packets lost in the round, and ACKs that reported them, for [`LossCount::InRound`].
    pub(super) lost: u32,
    loss_events: u32,
}

/// The maximum bandwidth over the previous and the current probing cycle.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxBandwidth {
    previous: u32,
    current: u32,
}

impl MaxBandwidth {
    #[inline]
    pub(super) fn max(&self) -> u32 {
        self.previous.max(self.current)
    }

    /// Begins a new cycle, unless nothing was measured in this one.
    pub(super) fn advance(&mut self) {
        if self.current > 0 {
            self.previous = self.current;
            self.current = 0;
        }
    }

    #[inline]
    pub(super) fn add(&mut self, bw: u32) {
        self.current = self.current.max(bw);
    }
}

/// Congestion signals of the current loss round.
#[derive(Clone, Debug, Default)]
pub(super) struct LossRound {
    /// The loss round ends with the first sample of a packet sent when at least this much was delivered.
    pub(super) next_delivered: u64,
    /// This ACK ended a loss round.
    pub(super) ended: bool,
    /// A packet was lost in this loss round.
    pub(super) loss: bool,
    /// An ACK of this loss round echoed congestion.
    pub(super) echo: bool,
    /// Highest bandwidth sample of the loss round.
    pub(super) bw: u32,
    /// Most packets delivered over a sample of the loss round.
    pub(super) delivered: u32,
    /// ACKs with losses in this loss round of STARTUP, at most 15.
    pub(super) startup_loss_events: u32,
}

impl LossRound {
    /// Forgets what was seen; the round goes on.
    pub(super) fn reset(&mut self) {
        self.loss = false;
        self.echo = false;
        self.bw = 0;
        self.delivered = 0;
    }
}

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

    /// Takes a sample with a delivery rate into the maximum bandwidth and the signals of the loss round, and adapts the
    /// lower bounds at its end.
    pub(super) fn update_signals(&mut self, view: &View, control: &Control, sample: &RateSample, bw: u32) {
        if !sample.is_app_limited || bw >= self.bandwidth.max() {
            self.bandwidth.add(bw);
        }
        let delivered = packets_delivered(sample);
        self.signals.loss |= sample.losses > 0;
        self.signals.bw = self.signals.bw.max(bw);
        self.signals.delivered = self.signals.delivered.max(delivered);

        let ended = if self.parameters.own_loss_rounds {
            sample.prior_delivered >= self.signals.next_delivered
        } else {
            self.round.started
        };
        if !ended {
            return;
        }
        self.signals.next_delivered = view.delivered;
        self.signals.ended = true;
        self.adapt_lower_bounds(control);
        self.signals.loss = false;
        self.signals.echo = false;
        if !self.parameters.latest_signals_last {
            self.signals.bw = bw;
            self.signals.delivered = delivered;
        }
    }

    /// The end of an ACK's processing.
    pub(super) fn finish_signals(&mut self, sample: &RateSample, bw: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bandwidth_of_two_cycles_counts_and_a_cycle_without_any_is_none() {
        let mut bandwidth = MaxBandwidth::default();
        bandwidth.advance();
        bandwidth.add(5);
        bandwidth.add(3);
        assert_eq!(bandwidth.max(), 5);
        bandwidth.advance();
        bandwidth.advance();
        assert_eq!(bandwidth.max(), 5);
        bandwidth.add(4);
        assert_eq!(bandwidth.max(), 5);
        bandwidth.advance();
        assert_eq!(bandwidth.max(), 4);
    }
}
