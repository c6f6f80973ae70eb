//! Loss detection by time (RACK, RFC 8985), tail loss probes, and the timers they share with the RTO.
//!
//! RACK remembers the most recently sent segment among those delivered. Whatever was sent before it by more than a
//! reordering window is lost, whether it was an original or a retransmission. While no reordering has ever been seen the
//! window is zero as soon as three segments are selectively acknowledged, which is how the classic three duplicate ACKs
//! survive inside RACK.

use super::{AckNews, CaState, LossDetection, Rack, Sender, Timer, flag};
use crate::Ack;
use dumbbell_cc::{Event, LostPacket};
use dumbbell_units::Time;

/// Added to reordering and probe timers (`TCP_TIMEOUT_MIN_US`).
const TIMEOUT_MIN_US: u64 = 2_000;
/// A probe without any RTT sample fires after this (`TCP_TIMEOUT_INIT`).
const TIMEOUT_INIT_US: u64 = 1_000_000;
/// Recoveries for which a widened reordering window persists (`TCP_RACK_RECOVERY_THRESH`).
const WINDOW_PERSIST: u32 = 16;

impl Sender {
    /// A segment was delivered (`tcp_rack_advance`).
    #[inline]
    pub(super) fn advance_rack(&mut self, seq: u32, sent_us: u64, retransmitted: bool) {
        let rtt_us = self.age_us(sent_us) as u32;
        // Too fast for a retransmission: it was the original that arrived.
        if retransmitted && rtt_us < self.min_rtt.get() {
            return;
        }
        let rack: &mut Rack = &mut self.rack;
        rack.advanced = true;
        rack.rtt_us = rtt_us;
        if sent_us > rack.sent_us || sent_us == rack.sent_us && seq + 1 > rack.end {
            rack.sent_us = sent_us;
            rack.end = seq + 1;
        }
    }

    /// Widens the reordering window after a round with duplicates, at most once a round (`tcp_rack_update_reo_wnd`).
    #[inline(always)]
    pub(super) fn update_rack_window(&mut self) {
        if self.sample.prior_delivered == 0 {
            return;
        }
        let rack = &mut self.rack;
        if self.sample.prior_delivered < rack.last_delivered {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.window_steps = (rack.window_steps + 1).min(255);
            rack.dsack_seen = false;
            rack.last_delivered = self.view.delivered;
            rack.window_persist = WINDOW_PERSIST;
        } else if rack.window_persist == 0 {
            rack.window_steps = 1;
        }
    }

    pub(super) fn prolong_rack_window(&mut self) {
        self.rack.window_persist = (self.rack.window_persist + 1).min(WINDOW_PERSIST);
    }

    /// Current reordering window in microseconds (`tcp_rack_reo_wnd`).
    fn reordering_window_us(&self) -> i64 {
        if !self.reord_seen && (self.view.ca_state >= CaState::Recovery || self.view.sacked_out >= self.reordering) {
            return 0;
        }
        let steps = u64::from(self.rack.window_steps);
        let quarter_rtts = u64::from(self.min_rtt.get() >> 2) * steps;
        quarter_rtts.min(u64::from(self.rtt.srtt_x8 >> 3)) as i64
    }

    /// How long RACK still waits for a segment sent at `sent_us`; not positive when it is lost.
    #[inline]
    pub(super) fn rack_remaining_us(&self, sent_us: u64, window_us: i64) -> i64 {
        i64::from(self.rack.rtt_us) + window_us - (self.view.mstamp_us as i64 - sent_us as i64)
    }

    /// Marks what is lost (`tcp_rack_detect_loss`); returns how long to wait for the rest, in microseconds.
    #[inline(always)]
    fn detect_losses(&mut self) -> Option<u64> {
        let mut wait_us = 0;
        let mut at = self.board.list_oldest();
        while let Some(seq) = at {
            at = self.board.list_next(seq);
            let record = self.board.get(seq);
            let sent_us = record.sent_us;
            if record.flags & (flag::LOST | flag::RETRANS) == flag::LOST {
                continue;
            }
            if (self.rack.sent_us, self.rack.end) <= (sent_us, seq + 1) {
                break;
            }
            let remaining_us = self.rack_remaining_us(sent_us, self.reordering_window_us());
            if remaining_us > 0 {
                wait_us = wait_us.max(remaining_us);
                continue;
            }
            // What left with it is as lost, up to the segment that RACK knows to be delivered.
            let most = if sent_us < self.rack.sent_us { self.board.nxt() } else { self.rack.end - 1 };
            let (end, next) = self.board.set_run_lost(seq, most);
            if seq < end {
                at = next;
                self.count_lost(seq, end);
            } else {
                self.mark_lost(seq);
                self.board.list_remove(seq);
            }
        }
        (wait_us > 0).then_some(wait_us as u64)
    }

    /// Runs loss detection for an ACK (`tcp_identify_packet_loss`).
    #[inline(always)]
    pub(super) fn identify_losses(&mut self, news: &mut AckNews) {
        if self.board.is_empty() {
            return;
        }
        if !self.config.sack {
            self.mark_newreno_loss(news.advanced);
            return;
        }
        if self.config.loss_detection == LossDetection::DupThresh {
            self.mark_lost_by_threshold();
            return;
        }
        let prior_retrans = self.view.retrans_out;
        if self.rack.advanced {
            self.rack.advanced = false;
            if let Some(wait_us) = self.detect_losses() {
                self.arm_reordering_timer(wait_us);
                news.set_timer = false;
            }
        }
        if self.view.retrans_out < prior_retrans {
            news.lost_retransmission = true;
        }
    }

    fn arm_reordering_timer(&mut self, wait_us: u64) {
        self.timer = Timer::Reordering;
        self.timer_at = self.coarse_deadline(wait_us + TIMEOUT_MIN_US);
    }

    /// Marks a segment lost (`tcp_mark_skb_lost`).
    pub(super) fn mark_lost(&mut self, seq: u32) {
        let record = *self.board.get(seq);
        if record.has(flag::SACKED) {
            return;
        }
        let view = &mut self.view;
        if record.has(flag::LOST) {
            if !record.has(flag::RETRANS) {
                return;
            }
            self.board.get_mut(seq).flags &= !flag::RETRANS;
            view.retrans_out -= 1;
            view.lost += 1;
        } else {
            self.board.get_mut(seq).flags |= flag::LOST;
            view.lost_out += 1;
            view.lost += 1;
        }
        if !self.board.get(seq).has(flag::RETRANS) {
            self.board.set_waiting(seq);
        }
        if self.hooks.packet_lost {
            self.tell_lost(seq);
        }
    }

    /// Counts segments that were marked as one run.
    #[inline]
    fn count_lost(&mut self, first: u32, end: u32) {
        self.view.lost_out += end - first;
        if !self.hooks.packet_lost {
            self.view.lost += u64::from(end - first);
            return;
        }
        for seq in first..end {
            self.view.lost += 1;
            self.tell_lost(seq);
        }
    }

    /// Tells the controller of a segment that has just been counted as lost.
    #[inline(never)]
    fn tell_lost(&mut self, seq: u32) {
        let record = self.board.get(seq);
        let (view, control) = (&self.view, &mut self.control);
        let lost = LostPacket {
            tx_in_flight: record.tx_in_flight,
            delivered: record.delivered,
            lost: view.lost - u64::from((view.lost as u32).wrapping_sub(record.lost)),
            is_app_limited: record.has(flag::APP_LIMITED),
        };
        self.controller.packet_lost(view, control, &lost);
    }

    // Timers.

    /// When [`Sender::on_timer`] wants to be called; [`Time::NEVER`] when nothing is pending.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let mut next = self.timer_at;
        if self.pacing_blocked {
            next = next.min(self.view.next_departure);
        }
        match &self.host_queue {
            Some(queue) => next.min(queue.wake_at()),
            None => next,
        }
    }

    /// The time of [`Sender::next_timer`] has come. Transmissions it allows come from [`Sender::poll_transmit`].
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time) {
        self.refresh_clock(now);
        self.send_stamp.begin_event();
        if self.pacing_blocked && self.view.next_departure <= now {
            self.pacing_blocked = false;
            self.resume_retransmissions();
        }
        if let Some(queue) = &mut self.host_queue
            && queue.wake_at() <= now
        {
            queue.woken();
            self.resume_retransmissions();
        }
        if self.timer_at <= now {
            self.expire();
        }
    }

    #[inline(never)]
    fn expire(&mut self) {
        let timer = self.timer;
        self.timer = Timer::None;
        self.timer_at = Time::NEVER;
        match timer {
            Timer::None => {}
            Timer::Retransmission => self.on_retransmission_timeout(),
            Timer::Reordering => self.on_reordering_timeout(),
            Timer::Probe => self.send_probe(),
        }
    }

    pub(super) fn set_timer(&mut self, timer: Timer, micros: u64) {
        let pacing_delay = self.view.next_departure.since(self.view.now);
        self.timer = timer;
        self.timer_at = self.coarse_deadline(micros + pacing_delay.as_micros());
    }

    fn oldest_sent_us(&self) -> u64 {
        self.board.get(self.board.una()).sent_us
    }

    /// Time until the retransmission timeout of the oldest segment, at least a microsecond (`tcp_rto_delta_us`).
    fn until_rto_us(&self) -> u64 {
        let expires_us = self.oldest_sent_us() + u64::from(self.rtt.rto_us());
        expires_us.saturating_sub(self.view.mstamp_us).max(1)
    }

    /// Arms the retransmission timer (`tcp_rearm_rto`).
    #[inline(always)]
    pub(super) fn rearm_rto(&mut self) {
        if self.view.packets_out == 0 {
            self.timer = Timer::None;
            self.timer_at = Time::NEVER;
            return;
        }
        // Taking over from a shorter timer must not extend the timeout.
        let micros = match self.timer {
            Timer::Reordering | Timer::Probe => self.until_rto_us(),
            Timer::None | Timer::Retransmission => u64::from(self.rtt.rto_us()),
        };
        self.set_timer(Timer::Retransmission, micros);
    }

    #[inline(always)]
    pub(super) fn set_timer_after_ack(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm_rto();
        }
    }

    /// Arms a tail loss probe where one is allowed (`tcp_schedule_loss_probe`).
    #[inline(always)]
    pub(super) fn schedule_probe(&mut self, after_ack: bool) -> bool {
        let view = &self.view;
        if !self.probes || view.packets_out == 0 || !matches!(view.ca_state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let mut timeout_us = match self.rtt.srtt_x8 {
            0 => TIMEOUT_INIT_US,
            srtt_x8 if view.packets_out == 1 => u64::from(srtt_x8 >> 2) + self.config.rto_min.as_micros(),
            srtt_x8 => u64::from(srtt_x8 >> 2) + TIMEOUT_MIN_US,
        };
        let rto_us = if after_ack { u64::from(self.rtt.rto_us()) } else { self.until_rto_us() };
        timeout_us = timeout_us.min(rto_us);
        self.set_timer(Timer::Probe, timeout_us);
        true
    }

    /// The probe timer fired (`tcp_send_loss_probe`): new data if there is any, else the last segment again.
    fn send_probe(&mut self) {
        if self.probe_end.is_none() && self.view.packets_out > 0 {
            let sent_before = self.stats.sent_segments;
            self.probe_was_retransmission = false;
            if self.can_send_new_segment() {
                self.send_new_probe();
            } else {
                let last = self.board.nxt() - 1;
                self.probe_is_app_limited = self.board.get(last).has(flag::APP_LIMITED);
                self.retransmit_probe(last);
                self.probe_was_retransmission = true;
            }
            if self.stats.sent_segments > sent_before {
                self.stats.probe_count += 1;
                self.probe_end = Some(self.board.nxt());
                self.timer = Timer::None;
            }
        }
        self.rearm_rto();
    }

    /// Does this ACK end the episode of a probe (`tcp_process_tlp_ack`)?
    pub(super) fn end_probe_episode(&mut self, ack: &Ack, news: &AckNews) {
        let Some(probe_end) = self.probe_end else { return };
        if ack.ack < probe_end {
            return;
        }
        if !self.probe_was_retransmission || news.dsack_of_probe {
            self.probe_end = None;
        } else if ack.ack > probe_end {
            // Data beyond the probe is acknowledged and no duplicate was reported: the probe repaired a loss.
            self.controller.event(
                &self.view,
                &mut self.control,
                Event::TlpRecovery { is_app_limited: self.probe_is_app_limited },
            );
            self.enter_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.keep_open();
        } else if !(news.advanced || news.data_acked || news.window_update || news.data_sacked) {
            self.probe_end = None;
        }
        if self.probe_was_retransmission {
            self.sample.is_acking_tlp = true;
        }
    }

    /// The reordering timer fired (`tcp_rack_reo_timeout`).
    fn on_reordering_timeout(&mut self) {
        let prior_in_flight = self.view.in_flight();
        let prior_lost = self.view.lost;
        self.detect_losses();
        if self.view.in_flight() != prior_in_flight {
            if self.view.ca_state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.full_control {
                    let losses = (self.view.lost - prior_lost) as u32;
                    self.reduce_proportionally(1, losses, false);
                }
            }
            self.request_retransmissions();
        }
        if self.timer != Timer::Retransmission {
            self.timer = Timer::Reordering;
            self.rearm_rto();
        }
    }
}
