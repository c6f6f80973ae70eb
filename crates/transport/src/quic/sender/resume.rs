//! Remembered paths: what careful resume (RFC 9959) does to the window and the pacing rate.
//!
//! Controllers know nothing of it. Those that leave reductions to the transport have their window set, and do not grow
//! while the jump lasts. Those with full control keep their model: their window and rate are replaced during the jump,
//! and bounded during the retreat.

use super::QuicSender;
use super::loss::MINIMUM_WINDOW;
use dumbbell_recovery::careful_resume::{Acked, Limited, Phase, Step};
use dumbbell_recovery::rfc9002::pacing_rate;

impl QuicSender {
    /// Whether a remembered path is being resumed, and how far that is.
    pub fn resume_phase(&self) -> Phase {
        self.resume.phase()
    }

    /// Jumps to half of the remembered window if the path is known again, and there is more to send than the window
    /// allows.
    #[inline]
    pub(super) fn resume_if_known(&mut self) {
        if self.resume.phase() == Phase::Reconnaissance
            && self.bytes_in_flight + self.stream.unsent() > self.window_bytes()
        {
            self.jump();
        }
    }

    #[inline(never)]
    fn jump(&mut self) {
        let limited = Limited {
            cwnd: self.control.cwnd,
            in_flight: self.view.in_flight(),
            initial_data_acked: self.view.delivered >= u64::from(self.config.initial_cwnd),
            rtt_us: self.rtt.min_rtt_us(),
            next_number: self.sent.next_number(),
            now_us: self.view.mstamp_us,
        };
        if self.resume.limited(limited).is_some() {
            self.hold_resumed();
        }
    }

    /// An ACK acknowledges `packets` new packets, the largest of which has this number.
    #[inline]
    pub(super) fn advance_resume(&mut self, packets: u32, largest: u32) {
        if packets == 0 || self.resume.phase() == Phase::Normal {
            return;
        }
        let ack = Acked {
            packets,
            largest,
            in_flight: self.view.in_flight(),
            rtt_us: self.rtt.min_rtt_us(),
            next_number: self.sent.next_number(),
            now_us: self.view.mstamp_us,
        };
        match self.resume.acked(ack) {
            Some(Step::Window(packets)) => {
                self.control.cwnd_bytes = 0;
                self.control.cwnd = packets.max(MINIMUM_WINDOW);
            }
            Some(Step::Threshold(packets)) if !self.full_control => self.control.ssthresh = packets.max(MINIMUM_WINDOW),
            _ => {}
        }
    }

    /// A reduction begins. What is reduced is the window that the path is known to carry, not the jump.
    pub(super) fn retreat(&mut self) {
        if let Some(retreat) = self.resume.congested(self.sent.next_number(), MINIMUM_WINDOW) {
            self.control.cwnd_bytes = 0;
            self.control.cwnd = retreat.validated;
        }
    }

    /// Keeps the window at the jump, paced over a round trip, or within the bound of a retreat.
    #[inline]
    pub(super) fn hold_resumed(&mut self) {
        if self.resume.phase() == Phase::Normal {
            return;
        }
        if let Some(jump) = self.resume.jump() {
            self.control.cwnd_bytes = 0;
            self.control.cwnd = jump;
            let rate = pacing_rate(self.view.mss, jump, 100, self.rtt.srtt_us());
            self.control.pacing_rate = rate.min(self.view.max_pacing_rate);
        }
        if let Some(most) = self.resume.most() {
            self.control.cwnd_bytes = 0;
            self.control.cwnd = self.control.cwnd.min(most);
        }
    }
}
