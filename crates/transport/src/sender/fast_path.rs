//! The fast path of an expected ACK (Van Jacobson's header prediction, which Linux has for the receiving side).
//!
//! Nearly every ACK finds the connection in Open, with nothing lost, SACKed or retransmitted, and only acknowledges the
//! next few segments. Of `tcp_ack` then only this is left: the segments leave the scoreboard as one run, the last one
//! gives the delivery-rate sample, the first and the last one the round-trip time, the timer is restarted, and the
//! controller is called. Every other ACK takes `Sender::ack_slow_path`, which has these steps among its own.

use super::{CaState, Sender};
use crate::{CumulativeAck, DeliveryRate, EcnUse, RttSamples, TransportConfig};
use dumbbell_cc::{AckFlags, Controller, Needs};
use dumbbell_recovery::ack_rtt::{AckRtt, age_us};

/// Whether the rules of a connection are Linux's as far as expected ACKs are concerned, and its controller is content with
/// them.
pub(super) fn applies_to(config: &TransportConfig, controller: &dyn Controller) -> bool {
    Needs { marks: false, ..controller.needs() } == Needs::NONE
        && config.ecn != EcnUse::Accurate
        && config.sack
        && config.delivery_rate == DeliveryRate::Linux
        && config.rtt_samples == RttSamples::Linux
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

    /// Processes an expected ACK; false where it has done nothing, because the ACK needs the slow path all the same.
    #[inline(always)]
    pub(super) fn ack_fast_path(&mut self, ack: CumulativeAck) -> bool {
        let una = self.board.una();
        let acked = ack.ack - una;
        let last = ack.ack - 1;
        let first_sent_us = self.board.get(una).sent.us();
        let record = self.board.get(last);
        let last_sent = record.sent;
        let is_short = u32::from(record.len) < self.config.mss;
        if first_sent_us == 0 || record.delivered_us == 0 {
            // Stamps of the first microsecond of the run are 0, which means none.
            return false;
        }
        self.timer.note_progress();
        self.timer.note_partial_ack(false);
        // Such ACKs need little all the same, but controllers may be told of them.
        let slow_path = self.hooks.in_ack_event && self.stream.changes_header(una, ack.window);
        self.stream.update_window(ack.ack, ack.window, true);

        // Every field of the sample is set anew: here, with the round-trip time, or when the sample is completed.
        self.sample.prior_in_flight = self.view.packets_out;
        self.sample.is_ece = false;
        self.sample.is_acking_tlp = false;
        self.rate.take(&mut self.sample, record, last);
        self.advance_rack(last, last_sent, false);
        self.board.pop_originals(ack.ack);
        self.view.packets_out -= acked;
        self.view.delivered += u64::from(acked);
        self.view.snd_una = u64::from(ack.ack);
        let maybe_delayed = acked == 1 && is_short && self.sample.prior_delivered + 1 == self.view.delivered;
        let now_us = self.view.mstamp_us;
        let rtt = AckRtt { rtt_us: age_us(now_us, first_sent_us), latest_us: age_us(now_us, last_sent.us()) };
        self.take_rtt(rtt, maybe_delayed);
        self.detector.rack.update_reo_wnd(self.sample.prior_delivered, self.view.delivered);

        if self.hooks.pkts_acked {
            let in_flight = self.sample.delivered_since_sent(self.view.delivered);
            self.controller.pkts_acked(&self.view, &mut self.control, acked, self.sample.rtt_us, in_flight);
        }
        if self.hooks.in_ack_event {
            let flags = AckFlags { slow_path, ..AckFlags::default() };
            self.controller.in_ack_event(&self.view, &mut self.control, flags);
        }
        self.set_xmit_timer_after_loop();
        self.end_app_limit();
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.rate.generate_in_order(&mut self.sample, &self.view, acked);
        if self.full_control {
            self.leave_to_controller();
        } else {
            self.cong_avoid(acked);
            self.update_pacing_rate();
        }
        true
    }
}
