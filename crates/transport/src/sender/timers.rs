//! The timers of the sender: retransmission timeout, reordering timer, tail loss probe, and the pauses of pacing and of
//! small queues (`tcp_timer.c`).

use super::ack::AckNews;
use super::assembly::Arming;
use super::{CaState, Sender};
use crate::RecoveryRule;
use dumbbell_recovery::ack_rtt::age_us;
use dumbbell_recovery::rack::TIMEOUT_MIN_US;
use dumbbell_recovery::scoreboard::flag;
use dumbbell_recovery::timer::Pending;
use dumbbell_recovery::tlp;
use dumbbell_units::{Duration, Time};

impl Sender {
    /// When [`Sender::on_timer`] wants to be called; [`Time::NEVER`] when nothing is pending. It is settled when
    /// [`Sender::poll_transmit`] gives nothing more.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let next = self.pacer.wake_by(self.timer.at());
        match &self.host_queue {
            Some(queue) => next.min(queue.wake_at()),
            None => next,
        }
    }

    /// The time of [`Sender::next_timer`] has come. Transmissions it allows come from [`Sender::poll_transmit`].
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time) {
        self.refresh_clock(now);
        self.xmit.send_clock.begin_event();
        if self.pacer.wakes(now) {
            self.resume_retransmissions();
        }
        if let Some(queue) = &mut self.host_queue
            && queue.wakes(now)
        {
            self.resume_retransmissions();
        }
        if self.timer.at() <= now {
            self.expire();
        }
    }

    /// The timer fires (`tcp_write_timer_handler`).
    #[inline(never)]
    fn expire(&mut self) {
        match self.timer.expire() {
            Pending::None => {}
            Pending::Retransmission => self.on_retransmission_timeout(),
            Pending::Reordering => self.on_reordering_timeout(),
            Pending::Probe => self.send_loss_probe(),
            Pending::WindowProbe => self.on_window_probe_timer(),
        }
    }

    /// Arms the timer, not counting the time that pacing delays what is sent now (`tcp_reset_xmit_timer` with
    /// `pace_delay`).
    #[inline(always)]
    pub(super) fn set_timer(&mut self, pending: Pending, micros: u64) {
        self.set_timer_behind(self.pacer.next_departure().since(self.view.now), pending, micros);
    }

    /// Arms the timer, whatever pacing does.
    #[inline]
    pub(super) fn set_timer_unpaced(&mut self, pending: Pending, micros: u64) {
        self.set_timer_behind(Duration::ZERO, pending, micros);
    }

    /// Arms the timer for `micros` after a `pause`.
    #[inline(always)]
    fn set_timer_behind(&mut self, pause: Duration, pending: Pending, micros: u64) {
        let at = if self.config.timer_wheel {
            self.clock.wheel_after(micros, pause)
        } else {
            self.clock.after(micros + pause.as_micros())
        };
        self.timer.arm(pending, at);
    }

    /// The retransmission timeout in whole ticks (`icsk_rto`).
    pub(super) fn rto_us(&self) -> u64 {
        let rto_us = u64::from(self.rtt.estimator().rto_us());
        if self.config.timer_wheel { self.clock.ticks().rounded_us(rto_us) } else { rto_us }
    }

    /// Time since the latest transmission of the oldest segment.
    #[inline]
    pub(super) fn oldest_age_us(&self) -> u64 {
        age_us(self.view.mstamp_us, self.board.get(self.board.una()).sent.us())
    }

    /// Time until the retransmission timeout of the oldest segment; not positive where that is over
    /// (`tcp_rto_delta_us`).
    #[inline(never)]
    fn until_rto_us(&self) -> i64 {
        self.rto_us().cast_signed() - self.oldest_age_us().cast_signed()
    }

    /// Arms the retransmission timer (`tcp_rearm_rto`).
    #[inline(always)]
    pub(super) fn rearm_rto(&mut self) {
        if self.view.packets_out == 0 {
            self.timer.cancel();
            return;
        }
        let micros = self.timer.rearmed_us(self.rtt.estimator().rto_us(), || self.until_rto_us());
        self.set_timer(Pending::Retransmission, micros);
    }

    /// Arms the timer after an ACK: for a tail loss probe or for the retransmission timeout (`tcp_set_xmit_timer`).
    #[inline(always)]
    fn set_xmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// Restarts the timer after an ACK that asks for it (`FLAG_SET_XMIT_TIMER`). In Open a send loop that sends
    /// anything schedules a probe itself, which replaces this timer: so there it is armed when that loop is over.
    #[inline(always)]
    pub(super) fn restart_timer(&mut self, news: &AckNews) {
        if !(news.set_timer && self.restarts_timer(news)) {
            return;
        }
        let is_open = !news.unless_expected(|| self.view.ca_state != CaState::Open);
        if is_open && self.view.packets_out > 0 && self.tlp.is_enabled() {
            self.xmit.arming = Arming::Ack;
        } else {
            self.set_xmit_timer();
        }
    }

    /// Whether an ACK that advances restarts the timer. In ns-3 of the partial ACKs of a recovery only the first one
    /// does.
    #[inline(always)]
    fn restarts_timer(&mut self, news: &AckNews) -> bool {
        let is_partial = news.unless_expected(|| self.view.ca_state == CaState::Recovery);
        let is_first = self.timer.note_partial_ack(is_partial);
        !is_partial || self.config.recovery == RecoveryRule::Linux || is_first || self.board.is_empty()
    }

    /// The send loop is over and has sent something, or not.
    #[inline(always)]
    pub(super) fn arm_after_loop(&mut self, has_sent: bool) {
        let arming = std::mem::take(&mut self.xmit.arming);
        if has_sent {
            if !self.schedule_loss_probe(false) && arming == Arming::Timeout {
                self.rearm_rto();
            }
        } else if arming == Arming::Ack {
            self.set_xmit_timer();
        }
    }

    /// Arms a tail loss probe where one is allowed (`tcp_schedule_loss_probe`).
    #[inline(always)]
    pub(super) fn schedule_loss_probe(&mut self, after_ack: bool) -> bool {
        let view = &self.view;
        let is_allowed = self.tlp.is_enabled() && matches!(view.ca_state, CaState::Open | CaState::Cwr);
        if !is_allowed || view.packets_out == 0 {
            return false;
        }
        let rtt = self.rtt.estimator();
        let mut timeout_us = self.tlp.timeout_us(rtt.srtt_us_x8(), view.packets_out);
        if after_ack {
            timeout_us = timeout_us.min(u64::from(rtt.rto_us()));
        } else if self.oldest_age_us() + timeout_us > u64::from(rtt.rto_us()) {
            timeout_us = tlp::bounded_us(timeout_us, self.until_rto_us());
        }
        self.set_timer(Pending::Probe, timeout_us);
        true
    }

    /// The probe timer fired: new data if there is any, else the last segment again (`tcp_send_loss_probe`).
    fn send_loss_probe(&mut self) {
        if !self.tlp.is_outstanding() && self.view.packets_out > 0 && self.transmit_probe() {
            self.stats.probe_count += 1;
            // The timeout counts from the probe; where none left, from the oldest segment.
            self.timer.cancel();
        }
        self.rearm_rto();
    }

    /// Sends new data if there is any, else the last segment again; returns whether it left.
    fn transmit_probe(&mut self) -> bool {
        let last = self.board.nxt() - 1;
        if self.stream.allows(self.board.nxt()) {
            let has_left = self.send_new_probe();
            if has_left {
                self.tlp.begin_with_new_data(self.board.nxt());
            }
            return has_left;
        }
        let is_app_limited = self.board.get(last).has(flag::APP_LIMITED);
        self.retransmit_probe(last);
        self.tlp.begin_with_retransmission(self.board.nxt(), is_app_limited);
        true
    }

    /// Arms the reordering timer for segments that may only be reordered (the end of `tcp_rack_mark_lost`).
    pub(super) fn arm_reordering_timer(&mut self, wait_us: u64) {
        self.set_timer_unpaced(Pending::Reordering, wait_us + TIMEOUT_MIN_US);
    }

    /// The reordering timer fired (`tcp_rack_reo_timeout`).
    fn on_reordering_timeout(&mut self) {
        let prior_in_flight = self.view.in_flight();
        let prior_lost = self.view.lost;
        self.rack_detect_loss();
        if self.view.in_flight() != prior_in_flight {
            if self.view.ca_state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.full_control {
                    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2^32 segments are outstanding")]
                    let losses = (self.view.lost - prior_lost) as u32;
                    self.reduce_cwnd(1, losses, false);
                }
            }
            self.request_retransmissions();
        }
        if self.timer.pending() != Pending::Retransmission {
            self.rearm_rto();
        }
    }
}
