//! Undo of reductions that proved spurious. The proofs are kept by [`Undo`](super::Undo).

use super::{CaState, Sender};
use crate::Ack;
use dumbbell_recovery::scoreboard::flag;
use dumbbell_recovery::timestamp::Timestamp;

impl Sender {
    /// An episode begins that may have to be undone (`tcp_init_undo`).
    pub(super) fn init_undo(&mut self) {
        let retrans_out = self.view.retrans_out + u32::from(self.tlp.is_retransmission_outstanding());
        self.undo.begin(self.board.una(), retrans_out);
    }

    /// Threshold to return to: the current one in a reduction, else at least three quarters of the window
    /// (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        let control = &self.control;
        if self.view.in_reduction() {
            control.ssthresh
        } else {
            control.ssthresh.max((control.cwnd >> 1) + (control.cwnd >> 2))
        }
    }

    /// Whether an episode with no time of a first retransmission counts as one of delayed originals. Without SACK it
    /// does not while Recovery is held at `high_seq`, where that time is forgotten (`tcp_packet_delayed`).
    fn counts_as_delayed(&self) -> bool {
        self.config.sack || self.board.una() < self.high_seq
    }

    /// `tcp_may_undo`.
    fn may_undo(&self, ack: &Ack) -> bool {
        self.undo.may_undo(self.echo(ack), self.counts_as_delayed())
    }

    /// The timestamp that an ACK echoes, if there are timestamps.
    fn echo(&self, ack: &Ack) -> Option<Timestamp> {
        self.config.timestamps.then_some(ack.echo)
    }

    /// Undoes the reduction (`tcp_undo_cwnd_reduction`).
    fn undo_cwnd_reduction(&mut self, unmark_lost: bool) {
        self.stats.undo_count += 1;
        if unmark_lost {
            for seq in self.board.una()..self.board.nxt() {
                self.board.get_mut(seq).flags &= !flag::LOST;
                self.board.clear_waiting(seq);
            }
            self.view.lost_out = 0;
        }
        let prior_ssthresh = self.undo.prior_ssthresh();
        if prior_ssthresh != 0 {
            self.control.cwnd = self.controller.undo_cwnd(&self.view, &self.control);
            if prior_ssthresh > self.control.ssthresh {
                self.control.ssthresh = prior_ssthresh;
                self.xmit.sends_cwr = false;
            }
        }
        self.validation.note_change(self.view.jiffies);
        self.undo.end();
        self.detector.rack.rescan();
    }

    /// The end of Recovery or Loss (`tcp_try_undo_recovery`). Returns whether the state must be held (NewReno).
    pub(super) fn try_undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_cwnd_reduction(false);
        } else {
            self.detector.rack.on_recovered();
        }
        if self.prevents_reopening() {
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    /// Without SACK the state is held until something above what was sent when it began is acknowledged, so that
    /// duplicate ACKs of it do not begin another recovery (RFC 6582; `tcp_is_non_sack_preventing_reopen`).
    fn prevents_reopening(&mut self) -> bool {
        let is_held = self.board.una() == self.high_seq && !self.config.sack;
        if is_held && !self.any_retrans_done() {
            self.undo.forget_retrans_stamp();
        }
        is_held
    }

    /// Undoes the reduction if every retransmission was reported as a duplicate (`tcp_try_undo_dsack`).
    #[inline]
    pub(super) fn try_undo_dsack(&mut self) -> bool {
        let may_undo = self.undo.may_undo_by_dsack();
        if may_undo {
            self.undo_by_dsack();
        }
        may_undo
    }

    #[inline(never)]
    fn undo_by_dsack(&mut self) {
        self.detector.rack.on_dsack_undo();
        self.undo_cwnd_reduction(false);
    }

    /// Undoes a timeout that was spurious: F-RTO says so, or there is a proof (`tcp_try_undo_loss`).
    pub(super) fn try_undo_loss(&mut self, by_frto: bool, ack: &Ack) -> bool {
        if !by_frto && !self.may_undo(ack) {
            return false;
        }
        self.undo_cwnd_reduction(true);
        self.timer.note_progress();
        if !self.prevents_reopening() && (by_frto || self.config.sack) {
            self.set_state(CaState::Open);
        }
        true
    }

    /// Undoes the reduction if a partial ACK in Recovery is for a delayed original (`tcp_try_undo_partial`). Returns
    /// whether to wait for retransmissions that are in flight.
    pub(super) fn try_undo_partial(&mut self, prior_una: u32, ack: &Ack) -> bool {
        if !self.undo.may_undo_by_echo(self.echo(ack), self.counts_as_delayed()) {
            return false;
        }
        self.check_sack_reordering(prior_una);
        if self.view.retrans_out > 0 {
            return true;
        }
        if !self.any_retrans_done() {
            self.undo.forget_retrans_stamp();
        }
        self.undo_cwnd_reduction(true);
        self.try_keep_open();
        false
    }
}
