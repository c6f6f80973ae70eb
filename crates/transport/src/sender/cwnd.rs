//! The congestion window outside of reductions: whether it is filled, what becomes of it after idle time, and the
//! pacing rate that follows from it.

use super::{CaState, Sender};
use dumbbell_cc_contract::Event;
use dumbbell_recovery::cwnd_validation::WindowUse;
use dumbbell_recovery::rate::{AppLimit, check_app_limited};

impl Sender {
    /// Notes whether the window was the limit of this send loop (`tcp_cwnd_validate`).
    #[inline(always)]
    pub(super) fn validate_cwnd(&mut self, cwnd_limited: bool) {
        let (view, validation) = (&mut self.view, &mut self.validation);
        let known = WindowUse { is_limited: view.cwnd_limited, packets_out: view.max_packets_out };
        let new = WindowUse { is_limited: cwnd_limited, packets_out: view.packets_out };
        if validation.is_news(known, new, self.board.una()) {
            view.cwnd_limited = new.is_limited;
            view.max_packets_out = new.packets_out;
            validation.begin_window(self.board.nxt());
        }
        if !validation.shrinks() {
            return;
        }
        if view.is_cwnd_limited(&self.control) {
            validation.note_filled(view.jiffies);
            return;
        }
        self.cwnd_application_limited();
    }

    /// A window that was not filled for one timeout shrinks towards what was used (`tcp_cwnd_application_limited`).
    #[inline(never)]
    fn cwnd_application_limited(&mut self) {
        let unused_ticks = self.validation.unused_ticks(self.view.packets_out, self.view.jiffies);
        let unused_us = u64::from(unused_ticks) * self.clock.ticks().length().as_micros();
        if unused_us >= u64::from(self.rtt.estimator().rto_us())
            && self.view.ca_state == CaState::Open
            && let Some(cwnd) = self.validation.shrink(self.control.cwnd, self.view.jiffies)
        {
            self.control.ssthresh = self.current_ssthresh();
            self.control.cwnd = cwnd;
        }
    }

    /// New data after idle time: one halving for every timeout that passed (`tcp_cwnd_restart`).
    pub(super) fn restart_after_idle(&mut self) {
        let rto_us = u64::from(self.rtt.estimator().rto_us());
        let idle_us = self.view.now.since(self.view.last_sent).as_micros();
        let has_sent = self.established && self.stats.sent_segments > 0;
        if !self.validation.shrinks() || !has_sent || idle_us <= rto_us {
            return;
        }
        self.controller.event(&self.view, &mut self.control, Event::CwndRestart);
        self.control.ssthresh = self.current_ssthresh();
        self.control.cwnd = self.validation.restart(self.control.cwnd, idle_us, rto_us, self.view.jiffies);
    }

    /// Notes whether the application was the limit until now; called before it writes (`tcp_rate_check_app_limited`).
    pub(super) fn check_app_limited(&mut self) {
        let view = &self.view;
        let host_holds_nothing = self.host_queue.as_mut().is_none_or(|queue| queue.is_empty(view.now));
        let limit = AppLimit {
            nothing_queued: self.stream.write_seq == self.board.nxt() && host_holds_nothing,
            in_flight: view.in_flight(),
            cwnd: self.control.cwnd,
            repaired_all: view.lost_out <= view.retrans_out,
            delivered: view.delivered,
        };
        if let Some(app_limited) = check_app_limited(limit) {
            self.control.app_limited = app_limited;
        }
    }

    /// Sets the rate that a window of data per RTT needs, with headroom (`tcp_update_pacing_rate`).
    #[inline(always)]
    pub(super) fn update_pacing_rate(&mut self) {
        let (view, control) = (&self.view, &mut self.control);
        let in_slow_start = control.cwnd < control.ssthresh / 2;
        let window = control.cwnd.max(view.packets_out);
        control.pacing_rate = self.pacing_rate.of(window, in_slow_start, view.srtt_us_x8).min(view.max_pacing_rate);
    }
}
