//! The congestion-avoidance state machine: Open, Disorder, CWR, Recovery, Loss (`tcp_fastretrans_alert`), with
//! proportional rate reduction (RFC 9937), the retransmission timeout, F-RTO (RFC 5682) and undo.
//!
//! The machine sees only dubious ACKs: duplicates, SACKs, congestion echoes, and everything that arrives outside of
//! Open. At most one multiplicative decrease happens per window of data, because a reduction lasts until everything sent
//! when it began (`high_seq`) is acknowledged.

use super::{AckNews, CaState, Retransmit, Sender, flag, timestamp_ticks};
use crate::{Ack, LossDetection, RecoveryRule};
use dumbbell_cc::{Control, Event};
use dumbbell_units::Time;

/// What is needed to take a reduction back.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// `snd_una` when the episode began; `None` when there is nothing to undo.
    pub marker: Option<u32>,
    /// Retransmissions of the episode that no DSACK has reported as duplicates; `None` before the first one.
    outstanding: Option<u32>,
    /// When the first retransmission of the episode left, in ticks of the timestamp clock.
    first_retransmission: Option<u64>,
}

impl Undo {
    pub fn forget_retransmissions(&mut self, count: u32) {
        if let Some(outstanding) = &mut self.outstanding {
            *outstanding = outstanding.saturating_sub(count);
        }
    }

    pub fn note_retransmissions(&mut self, count: u32, now: Time) {
        *self.outstanding.get_or_insert(0) += count;
        self.first_retransmission.get_or_insert(timestamp_ticks(now));
    }
}

impl Sender {
    /// Whether an ACK that advances restarts the retransmission timer.
    pub(super) fn timer_restarts(&mut self) -> bool {
        let is_partial = self.view.ca_state == CaState::Recovery;
        let was_first = !std::mem::replace(&mut self.partially_acked, is_partial);
        self.config.recovery == RecoveryRule::Linux || !is_partial || was_first || self.board.is_empty()
    }

    fn high_seq_reached(&self) -> bool {
        self.board.una() >= self.high_seq
    }

    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.view.ca_state, CaState::Cwr | CaState::Recovery)
    }

    /// Threshold to return to: the current one in a reduction, else at least three quarters of the window
    /// (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        let control = &self.control;
        if self.in_reduction() {
            control.ssthresh
        } else {
            control.ssthresh.max((control.cwnd >> 1) + (control.cwnd >> 2))
        }
    }

    /// Processes a dubious ACK.
    #[inline(always)]
    pub(super) fn run_state_machine(&mut self, prior_una: u32, dupacks: u32, news: &mut AckNews, ack: &Ack) {
        if self.view.packets_out == 0 {
            self.view.sacked_out = 0;
        }
        if news.ece {
            self.prior_ssthresh = 0;
        }
        if news.reneged {
            let micros = u64::from(self.rtt.srtt_x8 >> 4).max(10_000);
            self.set_timer(super::Timer::Retransmission, micros);
            news.set_timer = false;
            return;
        }

        if self.view.ca_state == CaState::Open {
            self.undo.first_retransmission = None;
        } else if self.high_seq_reached() {
            match self.view.ca_state {
                CaState::Cwr if self.board.una() != self.high_seq => {
                    self.end_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    if !self.config.sack {
                        self.view.sacked_out = 0;
                    }
                    if self.try_undo_recovery(ack) {
                        return;
                    }
                    self.end_reduction();
                }
                _ => {}
            }
        }

        match self.view.ca_state {
            CaState::Recovery => {
                if !news.advanced {
                    self.add_emulated_sacks(dupacks);
                } else if self.try_undo_partial(prior_una, ack) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_open(news.ece);
                }
                self.identify_losses(news);
                if self.view.ca_state != CaState::Recovery {
                    if !self.loss_is_evident() {
                        return;
                    }
                    self.enter_recovery(news.ece);
                }
            }
            CaState::Loss => {
                self.process_loss_state(dupacks, news, ack);
                self.identify_losses(news);
                if !(self.view.ca_state == CaState::Open || news.lost_retransmission) {
                    return;
                }
                self.process_open_states(dupacks, news);
            }
            _ => self.process_open_states(dupacks, news),
        }
        if self.view.ca_state >= CaState::Recovery {
            self.retransmit = Retransmit::Lost;
        }
    }

    /// Open, Disorder and CWR.
    fn process_open_states(&mut self, dupacks: u32, news: &mut AckNews) {
        if !self.config.sack {
            if news.advanced && self.view.ca_state != CaState::Loss {
                self.view.sacked_out = 0;
            }
            self.add_emulated_sacks(dupacks);
        }
        if self.view.ca_state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        if self.view.ca_state != CaState::Loss {
            self.identify_losses(news);
        }
        if !self.loss_is_evident() {
            self.try_open(news.ece);
            return;
        }
        self.enter_recovery(news.ece);
    }

    fn loss_is_evident(&self) -> bool {
        self.view.lost_out > 0
    }

    // Reductions.

    /// Begins a window reduction (`tcp_init_cwnd_reduction`).
    pub(super) fn enter_reduction(&mut self) {
        self.high_seq = self.board.nxt();
        self.probe_end = None;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.control.cwnd_cnt = 0;
        self.view.prior_cwnd = self.control.cwnd;
        self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control);
        self.send_cwr = self.config.ecn;
    }

    /// Ends CWR or Recovery (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&mut self) {
        if self.full_control {
            if self.config.recovery == RecoveryRule::Ns3 {
                self.control.cwnd = self.control.ssthresh;
            }
            return;
        }
        let (view, control) = (&self.view, &mut self.control);
        if control.ssthresh < Control::INFINITE_SSTHRESH
            && (view.ca_state == CaState::Cwr || self.undo.marker.is_some())
        {
            control.cwnd = control.ssthresh;
            self.cwnd_stamp = view.jiffies;
        }
        self.controller.event(&self.view, &mut self.control, Event::CompleteCwr);
    }

    fn enter_cwr(&mut self) {
        self.prior_ssthresh = 0;
        if self.view.ca_state < CaState::Cwr {
            self.undo.marker = None;
            self.enter_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    /// Enters fast recovery; a reduction that is already under way is not repeated.
    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.stats.recovery_count += 1;
        self.rescued_below = self.board.una();
        self.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_reduction() {
            if !ece {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.enter_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    /// Proportional rate reduction for one ACK (`tcp_cwnd_reduction`).
    pub(super) fn reduce_proportionally(&mut self, delivered: u32, losses: u32, advanced: bool) {
        if delivered == 0 || self.view.prior_cwnd == 0 {
            return;
        }
        self.prr_delivered += delivered;
        let ssthresh = i64::from(self.control.ssthresh);
        let in_flight = i64::from(self.view.in_flight());
        let sent = i64::from(self.prr_out);
        let room = ssthresh - in_flight;
        let mut send = if room < 0 {
            let dividend = ssthresh * i64::from(self.prr_delivered) + i64::from(self.view.prior_cwnd) - 1;
            dividend / i64::from(self.view.prior_cwnd) - sent
        } else {
            let mut send = (i64::from(self.prr_delivered) - sent).max(i64::from(delivered));
            if advanced && losses == 0 {
                send += 1;
            }
            send.min(room)
        };
        // The fast retransmit itself is always allowed.
        send = send.max(i64::from(self.prr_out == 0));
        self.control.cwnd = (in_flight + send).max(1) as u32;
    }

    fn try_open(&mut self, ece: bool) {
        if !self.any_retransmission_done() {
            self.undo.first_retransmission = None;
        }
        if ece {
            self.enter_cwr();
        }
        if self.view.ca_state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// Open, or Disorder while something is outstanding out of order (`tcp_try_keep_open`).
    pub(super) fn keep_open(&mut self) {
        let view = &self.view;
        let disordered = view.sacked_out + view.lost_out > 0 || self.any_retransmission_done();
        let state = if disordered { CaState::Disorder } else { CaState::Open };
        if view.ca_state != state {
            self.set_state(state);
            self.high_seq = self.board.nxt();
        }
    }

    fn any_retransmission_done(&self) -> bool {
        self.view.retrans_out > 0
            || (!self.board.is_empty() && self.board.get(self.board.una()).has(flag::EVER_RETRANS))
    }

    // Reordering.

    /// Evidence of reordering: segments up to the highest SACK were overtaken by `low_seq` (`tcp_check_sack_reordering`).
    pub(super) fn note_reordering(&mut self, low_seq: u32) {
        let highest = if self.view.sacked_out == 0 { self.board.una() } else { self.highest_sacked };
        self.note_reordering_below(low_seq, highest);
    }

    pub(super) fn note_reordering_below(&mut self, low_seq: u32, highest_sacked: u32) {
        if low_seq >= highest_sacked {
            return;
        }
        let distance = highest_sacked - low_seq;
        if distance > self.reordering {
            self.reordering = distance.min(self.config.max_reordering);
        }
        self.reord_seen = true;
    }

    // The retransmission timeout.

    /// The retransmission timer fired (`tcp_retransmit_timer`, `tcp_enter_loss`).
    pub(super) fn on_retransmission_timeout(&mut self) {
        if self.view.packets_out == 0 {
            return;
        }
        self.stats.rto_count += 1;
        let was_in_recovery = self.view.ca_state >= CaState::Recovery;
        self.mark_lost_on_timeout();

        let state = self.view.ca_state;
        if state <= CaState::Disorder || self.high_seq_reached() || (state == CaState::Loss && self.retransmits == 0) {
            self.prior_ssthresh = self.current_ssthresh();
            self.view.prior_cwnd = self.control.cwnd;
            self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control);
            self.controller.event(&self.view, &mut self.control, Event::Loss);
            self.init_undo();
        }
        self.control.cwnd = self.view.in_flight() + 1;
        self.control.cwnd_cnt = 0;
        self.cwnd_stamp = self.view.jiffies;
        if state <= CaState::Disorder && self.view.sacked_out >= self.config.reordering {
            self.reordering = self.reordering.min(self.config.reordering);
        }
        self.set_state(CaState::Loss);
        self.high_seq = self.board.nxt();
        self.probe_end = None;
        self.send_cwr = self.config.ecn;
        self.frto = self.config.frto && (!was_in_recovery || self.retransmits > 0);

        self.retransmits += 1;
        self.retransmit_head();
        self.rtt.back_off();
        self.set_timer(super::Timer::Retransmission, u64::from(self.rtt.rto_us()));
    }

    /// Everything is lost, except what was sent too recently to tell (`tcp_timeout_mark_lost`).
    fn mark_lost_on_timeout(&mut self) {
        let head = self.board.una();
        let reneged = self.board.get(head).has(flag::SACKED);
        if reneged {
            self.reported = Default::default();
            for seq in head..self.board.nxt() {
                if self.board.get(seq).has(flag::SACKED) {
                    self.view.sacked_out -= 1;
                    self.board.clear_sacked(seq);
                }
            }
        } else if !self.config.sack {
            self.view.sacked_out = 0;
        }
        let by_time = self.config.loss_detection == LossDetection::Rack;
        if self.config.recovery == RecoveryRule::Ns3 && self.view.retrans_out > 0 {
            self.forget_retransmissions();
        }
        for seq in head..self.board.nxt() {
            // Only time can tell that something was sent too recently to be lost.
            let is_recent = by_time && self.rack_remaining_us(self.board.get(seq).sent_us, 0) > 0;
            if !reneged && seq != head && is_recent {
                continue;
            }
            self.mark_lost(seq);
        }
    }

    /// Takes out of flight the retransmissions of what was not lost: received before the timeout, or rescued.
    fn forget_retransmissions(&mut self) {
        for seq in self.board.una()..self.board.nxt() {
            let record = self.board.get_mut(seq);
            if record.flags & (flag::LOST | flag::RETRANS) == flag::RETRANS {
                record.flags &= !flag::RETRANS;
                self.view.retrans_out -= 1;
            }
        }
    }

    /// ACKs in the Loss state (`tcp_process_loss`).
    fn process_loss_state(&mut self, dupacks: u32, news: &AckNews, ack: &Ack) {
        let recovered = self.high_seq_reached();
        if news.advanced && self.try_undo_loss(false, ack) {
            return;
        }
        if self.frto {
            // F-RTO step 3b: a segment that was never retransmitted is acknowledged, so not everything was lost.
            if news.original_acked && self.try_undo_loss(true, ack) {
                return;
            }
            if self.board.nxt() > self.high_seq {
                if news.data_sacked || dupacks > 0 {
                    self.frto = false;
                }
            } else if news.advanced && !recovered {
                self.high_seq = self.board.nxt();
                if self.can_send_new_segment() {
                    self.retransmit = Retransmit::NewDataFirst;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(ack);
            return;
        }
        if !self.config.sack {
            if self.board.nxt() > self.high_seq && dupacks > 0 {
                self.add_emulated_sacks(dupacks);
            } else if news.advanced {
                self.view.sacked_out = 0;
            }
        }
        self.retransmit = Retransmit::Lost;
    }

    // Undo.

    fn init_undo(&mut self) {
        self.undo.marker = Some(self.board.una());
        let mut outstanding = self.view.retrans_out;
        if self.probe_end.is_some() && self.probe_was_retransmission {
            outstanding += 1;
        }
        self.undo.outstanding = (outstanding > 0).then_some(outstanding);
    }

    /// The ACK echoes a segment older than our first retransmission, or nothing was retransmitted: the original
    /// arrived late (`tcp_packet_delayed`).
    fn packet_was_delayed(&self, ack: &Ack) -> bool {
        match self.undo.first_retransmission {
            Some(ticks) => timestamp_ticks(ack.echo) < ticks,
            // NewReno forgets the time of its retransmissions while it holds a recovery that is over.
            None => self.config.sack || !self.high_seq_reached(),
        }
    }

    fn may_undo(&self, ack: &Ack) -> bool {
        self.config.undo
            && self.undo.marker.is_some()
            && (self.undo.outstanding == Some(0) || self.packet_was_delayed(ack))
    }

    /// Takes the reduction back (`tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, unmark_lost: bool) {
        self.stats.undo_count += 1;
        if unmark_lost {
            for seq in self.board.una()..self.board.nxt() {
                self.board.get_mut(seq).flags &= !flag::LOST;
                self.board.clear_waiting(seq);
            }
            self.view.lost_out = 0;
        }
        if self.prior_ssthresh != 0 {
            self.control.cwnd = self.controller.undo_cwnd(&self.view, &self.control);
            if self.prior_ssthresh > self.control.ssthresh {
                self.control.ssthresh = self.prior_ssthresh;
                self.send_cwr = false;
            }
        }
        self.cwnd_stamp = self.view.jiffies;
        self.undo.marker = None;
        self.rack.advanced = true;
    }

    /// End of Recovery or Loss (`tcp_try_undo_recovery`). Returns whether the state must be held (NewReno).
    fn try_undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(false);
        } else {
            self.rack.window_persist = self.rack.window_persist.saturating_sub(1);
        }
        if self.board.una() == self.high_seq && !self.config.sack && !self.board.is_empty() {
            if !self.any_retransmission_done() {
                self.undo.first_retransmission = None;
            }
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    /// Every retransmission was reported as a duplicate (`tcp_try_undo_dsack`).
    fn try_undo_dsack(&mut self) -> bool {
        if !self.config.undo || self.undo.marker.is_none() || self.undo.outstanding != Some(0) {
            return false;
        }
        self.prolong_rack_window();
        self.undo_reduction(false);
        true
    }

    fn try_undo_loss(&mut self, by_frto: bool, ack: &Ack) -> bool {
        if !by_frto && !self.may_undo(ack) {
            return false;
        }
        self.undo_reduction(true);
        self.retransmits = 0;
        if by_frto || self.config.sack {
            self.set_state(CaState::Open);
        }
        true
    }

    /// A partial ACK in Recovery whose hole was filled by the original (`tcp_try_undo_partial`).
    fn try_undo_partial(&mut self, prior_una: u32, ack: &Ack) -> bool {
        if self.config.undo && self.undo.marker.is_some() && self.packet_was_delayed(ack) {
            self.note_reordering(prior_una);
            if self.view.retrans_out > 0 {
                return true;
            }
            if !self.any_retransmission_done() {
                self.undo.first_retransmission = None;
            }
            self.undo_reduction(true);
            self.keep_open();
        }
        false
    }

    // Without SACK (NewReno, RFC 6582): duplicate ACKs stand in for selective ones.

    #[inline(always)]
    fn add_emulated_sacks(&mut self, dupacks: u32) {
        if self.config.sack || dupacks == 0 {
            return;
        }
        let prior = self.view.sacked_out;
        self.view.sacked_out += dupacks;
        self.limit_emulated_sacks();
        self.view.delivered += u64::from(self.view.sacked_out.saturating_sub(prior));
    }

    pub(super) fn remove_emulated_sacks(&mut self, acked: u32) {
        if acked > 0 {
            self.view.delivered += u64::from(acked.saturating_sub(self.view.sacked_out).max(1));
            let covered = acked - 1;
            self.view.sacked_out = self.view.sacked_out.saturating_sub(covered);
        }
        self.limit_emulated_sacks();
    }

    fn limit_emulated_sacks(&mut self) {
        let view = &mut self.view;
        let holes = view.lost_out.max(1).min(view.packets_out);
        if view.sacked_out + holes > view.packets_out {
            view.sacked_out = view.packets_out - holes;
            self.reordering = view.packets_out.max(self.reordering).min(self.config.max_reordering);
            self.reord_seen = true;
        }
    }

    /// The head is lost on the third duplicate, and on every partial ACK of a recovery (`tcp_newreno_mark_lost`).
    pub(super) fn mark_newreno_loss(&mut self, advanced: bool) {
        let state = self.view.ca_state;
        if (state < CaState::Recovery && self.view.sacked_out >= self.reordering)
            || (state == CaState::Recovery && advanced)
        {
            let head = self.board.una();
            self.mark_lost(head);
        }
    }
}
