//! Probes of a closed receive window (the persist timer of RFC 9293, section 3.8.6.1; `tcp_timer.c`,
//! `tcp_send_probe0`).
//!
//! A receiver that has no room says so in its last ACK, and the ACK that tells of new room may be lost. So a sender
//! with data to send and nothing outstanding asks again: after a retransmission timeout, then after twice as long, and
//! so on. The question is a packet without data whose number the receiver has acknowledged, which it answers at once. A
//! window that is open by less than a segment counts as closed here.

use super::assembly::{Retransmit, micros};
use super::{Burst, Sender};
use crate::Flags;
use dumbbell_recovery::timer::Pending;
use dumbbell_units::Ecn;

impl Sender {
    /// The receive window keeps new data back: if nothing is outstanding that would be answered, it is probed
    /// (`tcp_check_probe_timer`).
    #[cold]
    pub(super) fn check_window_probe(&mut self) {
        if self.view.packets_out == 0 && self.timer.pending() == Pending::None {
            self.set_timer(Pending::WindowProbe, self.rto_us());
        }
    }

    /// An ACK arrives with nothing outstanding. If it opens the window, no more probes are needed; if not, the next one
    /// is due a timeout from now (`tcp_ack_probe`).
    #[cold]
    pub(super) fn ack_window_probe(&mut self) {
        if self.queued_segments() == 0 {
            return;
        }
        if self.stream.allows(self.board.nxt()) {
            self.timer.end_window_probes();
            self.timer.cancel();
        } else {
            self.arm_window_probe();
        }
    }

    fn arm_window_probe(&mut self) {
        let wait_us = self.timer.window_probe_us(self.rto_us(), u64::from(micros(self.config.rto_max)));
        self.set_timer(Pending::WindowProbe, wait_us);
    }

    /// The probe timer fired (`tcp_probe_timer`, `tcp_send_probe0`).
    pub(super) fn on_window_probe_timer(&mut self) {
        if self.view.packets_out > 0 || self.queued_segments() == 0 {
            return;
        }
        if self.stream.allows(self.board.nxt()) {
            // It has opened meanwhile: the send loop that follows sends.
            self.timer.end_window_probes();
            return;
        }
        self.xmit.request = Retransmit::WindowProbe;
        self.timer.note_window_probe();
        self.arm_window_probe();
    }

    /// The probe leaves: a segment without data below the first one that is not acknowledged (`tcp_xmit_probe_skb`).
    pub(super) fn start_window_probe(&mut self) {
        self.xmit.request = Retransmit::Nothing;
        let acknowledged = self.board.una().saturating_sub(1);
        self.xmit.ready = Burst {
            next: acknowledged,
            end: acknowledged + 1,
            bytes: 0,
            sent_at: self.view.now,
            echo: self.recent_timestamp,
            mss: self.stream.mss,
            last_len: 0,
            is_retransmission: false,
            ecn: Ecn::NotEct,
            next_flags: Flags::NONE,
        };
    }
}
