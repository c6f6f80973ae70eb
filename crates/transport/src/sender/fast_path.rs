//! The fast path of an expected ACK (Van Jacobson's header prediction, which Linux has for the receiving side).
//!
//! Nearly every ACK finds the connection in Open, with nothing lost, SACKed or retransmitted, and only acknowledges the
//! next few segments. Then no SACK block is to be tagged, what it acknowledges leaves the scoreboard as one run, no
//! tail loss probe ends, and the ACK is not dubious. The other steps of `Sender::ack_slow_path` are taken here in its
//! order. They need not ask what the guard has found out (`AckNews::expected`); in builds with debug assertions they
//! do.

use super::ack::AckNews;
use super::{CaState, Sender};
use crate::{CumulativeAck, DeliveryRate, RttSamples, TransportConfig};
use dumbbell_units::Time;

/// Whether ACKs of a connection may be expected that is established at `now`. Stamps of the first microsecond of a run
/// are 0, which means none.
pub(super) fn applies_to(config: &TransportConfig, now: Time) -> bool {
    config.sack
        && config.delivery_rate == DeliveryRate::Linux
        && config.rtt_samples == RttSamples::Linux
        && now.as_micros() > 0
}

impl Sender {
    /// From now on every ACK takes the slow path, which decides the same.
    pub fn predict_nothing(&mut self) {
        self.may_predict = false;
    }

    /// Whether `ack`, which is not ahead of what was sent, was to be expected.
    #[inline]
    pub(super) fn predicts(&self, ack: CumulativeAck) -> bool {
        let view = &self.view;
        self.may_predict
            && ack.ack > self.board.una()
            && !ack.ece
            && view.ca_state == CaState::Open
            && view.sacked_out | view.lost_out | view.retrans_out == 0
            && self.board.is_untouched()
            && !self.tlp.is_outstanding()
    }

    /// Processes an expected ACK.
    #[inline(always)]
    pub(super) fn ack_fast_path(&mut self, ack: CumulativeAck) {
        let prior = self.prior();
        let mut news = AckNews { advanced: true, expected: true, ..AckNews::default() };
        self.begin_sample(&prior, &news);
        self.note_progress(&news);
        self.update_window(ack, &prior, &mut news);
        let acked = self.clean_expected(ack, &prior, &mut news);
        self.update_reo_wnd();
        self.tell_controller(ack, acked, &news);
        self.restart_timer(&news);
        self.rate_gen(acked, 0, &news);
        self.cong_control(acked, 0, &news);
    }
}
