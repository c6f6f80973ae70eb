//! Which segments are lost, and what follows for the counters.

use super::ack::AckNews;
use super::{CaState, LossDetector, Sender};
use crate::{LossDetection, RecoveryRule};
use dumbbell_cc_contract::{Control, Controller, LostPacket, View};
use dumbbell_recovery::newreno;
use dumbbell_recovery::scoreboard::{NewlyLost, Scoreboard, flag};

/// The counters that change and the controller that is told when a segment is marked lost.
struct LossReport<'a> {
    view: &'a mut View,
    control: &'a mut Control,
    controller: &'a mut dyn Controller,
    /// The controller has a hook for every lost packet.
    tells_controller: bool,
}

impl LossReport<'_> {
    /// Counts what a detector has marked, and tells the controller packet by packet (`tcp_mark_skb_lost`).
    #[inline(always)]
    fn note(&mut self, board: &Scoreboard, lost: NewlyLost) {
        let count = lost.end - lost.first;
        if lost.is_retransmission {
            self.view.retrans_out -= count;
        } else {
            self.view.lost_out += count;
        }
        if !self.tells_controller {
            self.view.lost += u64::from(count);
            return;
        }
        for seq in lost.first..lost.end {
            self.view.lost += 1;
            self.tell(board, seq);
        }
    }

    /// Tells the controller of a segment that has just been counted as lost.
    #[inline(never)]
    #[expect(clippy::cast_possible_truncation, reason = "records keep the low bits of `lost`")]
    fn tell(&mut self, board: &Scoreboard, seq: u32) {
        let record = board.get(seq);
        let lost = LostPacket {
            tx_in_flight: record.tx_in_flight,
            delivered: record.delivered,
            lost: self.view.lost - u64::from((self.view.lost as u32).wrapping_sub(record.lost)),
            is_app_limited: record.has(flag::APP_LIMITED),
        };
        self.controller.packet_lost(self.view, self.control, &lost);
    }
}

/// The report of a sender, next to its scoreboard and its detectors.
macro_rules! report {
    ($sender:ident) => {
        LossReport {
            view: &mut $sender.view,
            control: &mut $sender.control,
            controller: &mut *$sender.controller,
            tells_controller: $sender.hooks.packet_lost,
        }
    };
}

impl Sender {
    /// Runs loss detection for an ACK (`tcp_identify_packet_loss`).
    #[inline(always)]
    pub(super) fn identify_packet_loss(&mut self, news: &mut AckNews) {
        if self.board.is_empty() {
            return;
        }
        if !self.config.sack {
            self.newreno_mark_lost(news.advanced);
            return;
        }
        if self.config.loss_detection == LossDetection::DupThresh {
            self.detect_loss_by_count();
            return;
        }
        let prior_retrans = self.view.retrans_out;
        if self.detector.rack.take_advanced()
            && let Some(wait_us) = self.rack_detect_loss()
        {
            self.arm_reordering_timer(wait_us);
            news.set_timer = false;
        }
        if self.view.retrans_out < prior_retrans {
            news.lost_retransmission = true;
        }
    }

    /// Marks what RACK finds lost (`tcp_rack_mark_lost`); returns how long to wait for what may only be reordered, in
    /// microseconds.
    #[inline(always)]
    pub(super) fn rack_detect_loss(&mut self) -> Option<u64> {
        let (now_us, sacked_out) = (self.view.mstamp_us, self.view.sacked_out);
        let in_recovery = self.view.ca_state >= CaState::Recovery;
        let LossDetector { rack, reordering, .. } = &self.detector;
        let (min_us, srtt_us) = (self.rtt.min_us(), self.rtt.estimator().srtt_us());
        let reo_wnd_us = || rack.reo_wnd_us(reordering, in_recovery, sacked_out, min_us, srtt_us);
        let mut report = report!(self);
        rack.detect_loss(
            &mut self.board,
            now_us,
            reo_wnd_us,
            #[inline(always)]
            |board, lost| report.note(board, lost),
        )
    }

    /// Marks what has enough selectively acknowledged segments above it (RFC 6675).
    fn detect_loss_by_count(&mut self) {
        let (degree, sacked_out) = (self.detector.reordering.degree(), self.view.sacked_out);
        let highest = self.sacks.highest;
        let mut report = report!(self);
        let board = &mut self.board;
        self.detector.dupthresh.detect_loss(board, degree, sacked_out, highest, |board, lost| report.note(board, lost));
    }

    /// Marks one segment lost.
    fn mark_lost(&mut self, seq: u32) {
        if let Some(lost) = self.board.mark_lost(seq) {
            report!(self).note(&self.board, lost);
        }
    }

    /// Marks everything lost after a timeout, except what was sent too recently (`tcp_timeout_mark_lost`).
    pub(super) fn timeout_mark_lost(&mut self) {
        let head = self.board.una();
        let reneged = self.board.get(head).has(flag::SACKED);
        if reneged {
            self.forget_sacked();
        } else if !self.config.sack {
            self.view.sacked_out = 0;
        }
        let by_time = self.config.loss_detection == LossDetection::Rack;
        if self.config.recovery == RecoveryRule::Ns3 && self.view.retrans_out > 0 {
            self.forget_retransmissions();
        }
        for seq in head..self.board.nxt() {
            // Only time can tell that something was sent too recently to be lost.
            let sent_us = self.board.get(seq).sent.us();
            let is_recent = by_time && self.detector.rack.remaining_us(sent_us, self.view.mstamp_us, 0) > 0;
            if reneged || seq == head || !is_recent {
                self.mark_lost(seq);
            }
        }
    }

    /// The receiver has dropped what it had acknowledged selectively.
    fn forget_sacked(&mut self) {
        self.sacks.forget();
        for seq in self.board.una()..self.board.nxt() {
            if self.board.get(seq).has(flag::SACKED) {
                self.view.sacked_out -= 1;
                self.board.clear_sacked(seq);
            }
        }
    }

    /// No longer counts in flight the retransmissions of segments that are not marked lost (ns-3): those of segments
    /// that were received before the timeout, and rescues.
    fn forget_retransmissions(&mut self) {
        for seq in self.board.una()..self.board.nxt() {
            let record = self.board.get_mut(seq);
            if record.flags & (flag::LOST | flag::RETRANS) == flag::RETRANS {
                record.flags &= !flag::RETRANS;
                self.view.retrans_out -= 1;
            }
        }
    }

    // Without SACK (NewReno, RFC 6582): duplicate ACKs are counted in place of SACKed segments.

    /// `tcp_add_reno_sack`.
    #[inline(always)]
    pub(super) fn add_reno_sacks(&mut self, dupacks: u32, ece: bool) {
        if self.config.sack || dupacks == 0 {
            return;
        }
        let prior = self.view.sacked_out;
        self.limit_reno_sacked(prior + dupacks, 0);
        self.count_delivered(self.view.sacked_out.saturating_sub(prior), ece);
    }

    /// `tcp_remove_reno_sacks`.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32, ece: bool) {
        let (delivered, sacked_out) = newreno::remove(self.view.sacked_out, acked);
        self.count_delivered(delivered, ece);
        self.limit_reno_sacked(sacked_out, acked);
    }

    /// `tcp_limit_reno_sacked`; more duplicate ACKs than it allows are a sign of reordering among what was outstanding
    /// before `acked` segments left the queue (`tcp_check_reno_reordering`).
    fn limit_reno_sacked(&mut self, sacked_out: u32, acked: u32) {
        let emulated = newreno::limit(sacked_out, self.view.packets_out, self.view.lost_out);
        self.view.sacked_out = emulated.sacked_out;
        if emulated.exceeded {
            self.detector.reordering.check_reno(self.view.packets_out + acked);
        }
    }

    /// `tcp_newreno_mark_lost`.
    fn newreno_mark_lost(&mut self, advanced: bool) {
        let state = self.view.ca_state;
        let enough_duplicates = self.view.sacked_out >= self.detector.reordering.degree();
        if newreno::head_is_lost(state == CaState::Recovery, state == CaState::Loss, enough_duplicates, advanced) {
            self.mark_lost(self.board.una());
        }
    }
}
