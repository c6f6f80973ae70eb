//! The congestion-avoidance state machine: Open, Disorder, CWR, Recovery, Loss, with the retransmission timeout and
//! F-RTO (RFC 5682).
//!
//! The machine sees only dubious ACKs: duplicates, SACKs, congestion echoes, and everything that arrives outside of
//! Open. At most one multiplicative decrease happens per window of data, because a reduction lasts until everything
//! sent when it began (`high_seq`) is acknowledged.

use super::ack::AckNews;
use super::assembly::Retransmit;
use super::{CaState, Sender};
use crate::{Ack, EcnUse, RecoveryRule};
use dumbbell_cc_contract::{Control, Event};
use dumbbell_recovery::frto::{LossAck, Verdict};
use dumbbell_recovery::scoreboard::flag;
use dumbbell_recovery::timer::Pending;

/// Shortest time after which segments that the receiver has dropped are sent again (`tcp_check_sack_reneging`).
const MIN_RENEGING_TIMEOUT_US: u64 = 10_000;

impl Sender {
    /// Processes a dubious ACK (`tcp_fastretrans_alert`).
    #[inline(always)]
    pub(super) fn fastretrans_alert(&mut self, prior_una: u32, dupacks: u32, news: &mut AckNews, ack: &Ack) {
        if self.view.packets_out == 0 {
            self.view.sacked_out = 0;
        }
        if news.ece {
            self.undo.forbid();
        }
        if news.reneged {
            let micros = u64::from(self.rtt.estimator().srtt_us_x8() >> 4).max(MIN_RENEGING_TIMEOUT_US);
            self.set_timer_unpaced(Pending::Retransmission, micros);
            news.set_timer = false;
            return;
        }
        if self.view.ca_state == CaState::Open {
            self.undo.forget_retrans_stamp();
        } else if self.high_seq_reached() && self.leave_reduction(ack) {
            return;
        }
        let goes_on = match self.view.ca_state {
            CaState::Recovery => self.process_recovery(prior_una, dupacks, news, ack),
            CaState::Loss => self.process_loss_alert(dupacks, news, ack),
            _ => {
                self.process_open_states(dupacks, news);
                true
            }
        };
        if goes_on && self.view.ca_state >= CaState::Recovery {
            self.xmit.request = Retransmit::Lost;
        }
    }

    /// Whether everything that was sent when the state began is acknowledged.
    fn high_seq_reached(&self) -> bool {
        self.board.una() >= self.high_seq
    }

    /// Ends a reduction when everything sent at its beginning is acknowledged. Returns whether the state is held all
    /// the same.
    fn leave_reduction(&mut self, ack: &Ack) -> bool {
        match self.view.ca_state {
            CaState::Cwr if self.board.una() != self.high_seq => {
                self.end_cwnd_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery => {
                if !self.config.sack {
                    self.view.sacked_out = 0;
                }
                if self.try_undo_recovery(ack) {
                    return true;
                }
                self.end_cwnd_reduction();
            }
            _ => {}
        }
        false
    }

    /// An ACK in fast recovery. Returns whether retransmissions may follow.
    #[inline(always)]
    fn process_recovery(&mut self, prior_una: u32, dupacks: u32, news: &mut AckNews, ack: &Ack) -> bool {
        if !news.advanced {
            self.add_reno_sacks(dupacks, news.ece);
        } else if self.try_undo_partial(prior_una, ack) {
            return false;
        }
        if self.try_undo_dsack() {
            self.try_to_open(news.ece);
        }
        self.identify_packet_loss(news);
        if self.view.ca_state != CaState::Recovery {
            if !self.time_to_recover() {
                return false;
            }
            self.enter_recovery(news.ece);
        }
        true
    }

    /// An ACK after a timeout. Returns whether retransmissions may follow.
    fn process_loss_alert(&mut self, dupacks: u32, news: &mut AckNews, ack: &Ack) -> bool {
        self.process_loss(dupacks, news, ack);
        self.identify_packet_loss(news);
        if self.view.ca_state != CaState::Open && !news.lost_retransmission {
            return false;
        }
        self.process_open_states(dupacks, news);
        true
    }

    /// An ACK in Open, Disorder or CWR, or one that has just brought the state there.
    fn process_open_states(&mut self, dupacks: u32, news: &mut AckNews) {
        if !self.config.sack {
            if news.advanced && self.view.ca_state != CaState::Loss {
                self.view.sacked_out = 0;
            }
            self.add_reno_sacks(dupacks, news.ece);
        }
        if self.view.ca_state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        if self.view.ca_state != CaState::Loss {
            self.identify_packet_loss(news);
        }
        if self.time_to_recover() {
            self.enter_recovery(news.ece);
        } else {
            self.try_to_open(news.ece);
        }
    }

    /// `tcp_time_to_recover`.
    fn time_to_recover(&self) -> bool {
        self.view.lost_out > 0
    }

    /// `tcp_try_to_open`.
    #[inline(always)]
    fn try_to_open(&mut self, ece: bool) {
        if !self.any_retrans_done() {
            self.undo.forget_retrans_stamp();
        }
        if ece {
            self.enter_cwr(true);
        }
        if self.view.ca_state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    /// Open, or Disorder while something is outstanding out of order (`tcp_try_keep_open`).
    pub(super) fn try_keep_open(&mut self) {
        let disordered = self.view.sacked_out + self.view.lost_out > 0 || self.any_retrans_done();
        let state = if disordered { CaState::Disorder } else { CaState::Open };
        if self.view.ca_state != state {
            self.set_state(state);
            self.high_seq = self.board.nxt();
        }
    }

    /// `tcp_any_retrans_done`.
    pub(super) fn any_retrans_done(&self) -> bool {
        self.view.retrans_out > 0
            || (!self.board.is_empty() && self.board.get(self.board.una()).has(flag::EVER_RETRANS))
    }

    // Reductions.

    /// `tcp_init_cwnd_reduction`; `marked` when marks alone are the reason.
    fn init_cwnd_reduction(&mut self, marked: bool) {
        self.high_seq = self.board.nxt();
        self.tlp.end();
        self.prr.begin();
        self.control.cwnd_cnt = 0;
        self.view.prior_cwnd = self.control.cwnd;
        self.view.marked = marked;
        self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control);
        self.view.marked = false;
        self.xmit.sends_cwr = self.config.ecn == EcnUse::Classic;
    }

    /// `tcp_end_cwnd_reduction`.
    fn end_cwnd_reduction(&mut self) {
        if self.full_control {
            if self.config.recovery == RecoveryRule::Ns3 {
                self.control.cwnd = self.control.ssthresh;
            }
            return;
        }
        if self.control.ssthresh < Control::INFINITE_SSTHRESH
            && (self.view.ca_state == CaState::Cwr || self.undo.is_possible())
        {
            self.control.cwnd = self.control.ssthresh;
            self.validation.note_change(self.view.jiffies);
        }
        self.controller.event(&self.view, &mut self.control, Event::CompleteCwr);
    }

    /// `tcp_enter_cwr`; `marked` when marks are the reason.
    pub(super) fn enter_cwr(&mut self, marked: bool) {
        self.undo.forbid();
        if self.view.ca_state < CaState::Cwr {
            self.undo.end();
            self.init_cwnd_reduction(marked);
            self.set_state(CaState::Cwr);
        }
    }

    /// A tail loss probe repaired a loss that nothing else reports: one reduction, which ends at once (the last case of
    /// `tcp_process_tlp_ack`).
    pub(super) fn reduce_for_repaired_tail(&mut self, is_app_limited: bool) {
        self.controller.event(&self.view, &mut self.control, Event::TlpRecovery { is_app_limited });
        self.init_cwnd_reduction(false);
        self.set_state(CaState::Cwr);
        self.end_cwnd_reduction();
        self.try_keep_open();
    }

    /// Enters fast recovery; a reduction that is under way (CWR) goes on (`tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.stats.recovery_count += 1;
        self.xmit.rescued_below = self.board.una();
        self.undo.forbid();
        self.init_undo();
        if !self.view.in_reduction() {
            if !ece {
                self.undo.set_prior_ssthresh(self.current_ssthresh());
            }
            self.init_cwnd_reduction(false);
        }
        self.set_state(CaState::Recovery);
    }

    /// Proportional rate reduction for one ACK (`tcp_cwnd_reduction`).
    pub(super) fn reduce_cwnd(&mut self, delivered: u32, losses: u32, advanced: bool) {
        let (in_flight, ssthresh, prior_cwnd) = (self.view.in_flight(), self.control.ssthresh, self.view.prior_cwnd);
        if let Some(cwnd) = self.prr.cwnd(delivered, losses, advanced, in_flight, ssthresh, prior_cwnd) {
            self.control.cwnd = cwnd;
        }
    }

    // The retransmission timeout.

    /// The retransmission timer fired (`tcp_retransmit_timer`).
    pub(super) fn on_retransmission_timeout(&mut self) {
        if self.view.packets_out == 0 {
            return;
        }
        self.stats.rto_count += 1;
        self.enter_loss();
        self.timer.note_timeout();
        self.retransmit_head();
        self.rtt.back_off(self.rto_us());
        self.set_timer_unpaced(Pending::Retransmission, self.rto_us());
    }

    /// `tcp_enter_loss`.
    fn enter_loss(&mut self) {
        self.timeout_mark_lost();
        let state = self.view.ca_state;
        let is_repeated = self.timer.retransmits() > 0;
        if state <= CaState::Disorder || self.high_seq_reached() || (state == CaState::Loss && !is_repeated) {
            self.undo.set_prior_ssthresh(self.current_ssthresh());
            self.view.prior_cwnd = self.control.cwnd;
            self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control);
            self.controller.event(&self.view, &mut self.control, Event::Loss);
            self.init_undo();
        }
        self.control.cwnd = self.view.in_flight() + 1;
        self.control.cwnd_cnt = 0;
        self.validation.note_change(self.view.jiffies);
        if state <= CaState::Disorder {
            self.detector.reordering.on_timeout(self.view.sacked_out);
        }
        self.set_state(CaState::Loss);
        self.high_seq = self.board.nxt();
        self.tlp.end();
        self.xmit.sends_cwr = self.config.ecn == EcnUse::Classic;
        self.frto.on_timeout(self.config.frto, state >= CaState::Recovery, is_repeated);
    }

    /// ACKs in the Loss state (`tcp_process_loss`).
    fn process_loss(&mut self, dupacks: u32, news: &AckNews, ack: &Ack) {
        let recovered = self.high_seq_reached();
        if news.advanced && self.try_undo_loss(false, ack) {
            return;
        }
        let has_sent_new_data = self.board.nxt() > self.high_seq;
        let verdict = self.frto.on_ack(LossAck {
            acks_original: news.original_acked,
            sent_new_data: has_sent_new_data,
            is_duplicate: news.data_sacked || dupacks > 0,
            is_partial: news.advanced && !recovered,
        });
        match verdict {
            Verdict::Spurious => {
                self.try_undo_loss(true, ack);
                return;
            }
            Verdict::TryNewData => {
                self.high_seq = self.board.nxt();
                if self.stream.allows(self.board.nxt()) {
                    self.xmit.request = Retransmit::NewDataFirst;
                    return;
                }
                self.frto.give_up();
            }
            Verdict::Continue => {}
        }
        if recovered {
            self.try_undo_recovery(ack);
            return;
        }
        if !self.config.sack {
            if has_sent_new_data && dupacks > 0 {
                self.add_reno_sacks(dupacks, news.ece);
            } else if news.advanced {
                self.view.sacked_out = 0;
            }
        }
        self.xmit.request = Retransmit::Lost;
    }
}
