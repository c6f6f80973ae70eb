//! The way of an acknowledgement (rx) through the sender, as steps in the order of `tcp_ack`.
//!
//! What SACK blocks report is tagged, what the ACK covers leaves the scoreboard, the controller is told, losses are
//! found and the state changes, timers are armed, and at the end the delivery-rate sample goes to the controller, or
//! the window to proportional rate reduction. `ack_slow_path` takes every step. An expected ACK takes the fast path
//! (`fast_path.rs`), which leaves out those that can do nothing then. A step is a function, and a rule of Linux stands
//! in one of them: steps of both paths are inlined, so that what the fast path knows of its ACK costs nothing there.

use super::assembly::Retransmit;
use super::{CaState, Sender};
use crate::{Ack, CumulativeAck, RecoveryRule};
use dumbbell_cc_contract::AckFlags;
use dumbbell_recovery::ack_rtt::SentSpan;
use dumbbell_recovery::rate::end_app_limited;
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_recovery::tlp::ProbeNews;
use dumbbell_units::Time;

/// What an ACK turned out to be while it is processed (the `FLAG_*` bits of `tcp_input.c`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckNews {
    /// `FLAG_SND_UNA_ADVANCED`.
    pub advanced: bool,
    /// `FLAG_DATA_ACKED`.
    pub data_acked: bool,
    /// `FLAG_DATA_SACKED`.
    pub data_sacked: bool,
    /// `FLAG_WIN_UPDATE`.
    pub window_update: bool,
    /// The ACK has not the header that was predicted (`pred_flags`, `FLAG_SLOWPATH`). Kept for controllers that are
    /// told.
    pub unpredicted: bool,
    /// `FLAG_ECE`.
    pub ece: bool,
    /// `FLAG_DSACKING_ACK`.
    pub dsack: bool,
    /// `FLAG_DSACK_TLP`.
    pub dsack_of_probe: bool,
    /// `FLAG_RETRANS_DATA_ACKED`.
    pub retransmitted_data_acked: bool,
    /// `FLAG_ORIG_SACK_ACKED`.
    pub original_acked: bool,
    /// `FLAG_LOST_RETRANS`.
    pub lost_retransmission: bool,
    /// `FLAG_SACK_RENEGING`.
    pub reneged: bool,
    /// `FLAG_SET_XMIT_TIMER`.
    pub set_timer: bool,
    /// The ACK takes the [fast path](super::fast_path).
    pub expected: bool,
}

impl AckNews {
    /// `is_so`, which is known to be false of an expected ACK and need not be asked then.
    #[inline(always)]
    pub fn unless_expected(&self, is_so: impl FnOnce() -> bool) -> bool {
        if self.expected {
            debug_assert!(!is_so(), "an ACK took the fast path that should not have");
            return false;
        }
        is_so()
    }
}

/// The connection before the current ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    pub una: u32,
    pub in_flight: u32,
    pub delivered: u64,
    pub lost: u64,
    pub lost_out: u32,
    pub sacked_out: u32,
    /// One above the highest selectively acknowledged segment.
    pub highest_sacked: u32,
}

/// What the SACK blocks of an ACK newly report (`struct tcp_sacktag_state`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Tagged {
    /// When the first and the last of the segments that were sent once left (`first_sackt`, `last_sackt`).
    pub sent: Option<SentSpan>,
    /// The lowest segment that was delivered after higher ones (`reord`).
    pub reordered_from: u32,
}

impl Sender {
    /// An acknowledgement arrives. Transmissions it allows come from [`Sender::poll_transmit`].
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(cumulative) = ack.without_options() {
            self.on_cumulative_ack(now, cumulative);
            return;
        }
        // Only counters of marks ask for it.
        let is_later = ack.marks.is_some() && self.is_later(ack);
        if self.begins_ack(now, ack.ack, ack.sent_at) {
            self.ack_slow_path(ack, is_later);
        }
    }

    /// Whether the timestamp of an ACK tells that no later one came before (`FLAG_TS_PROGRESS`).
    #[cold]
    #[inline(never)]
    fn is_later(&self, ack: &Ack) -> bool {
        self.config.timestamps && ack.ack >= self.board.una() && self.recent_timestamp.is_before(ack.sent_at)
    }

    /// [`Sender::on_ack`] for an ACK without SACK blocks and counters of marks.
    #[inline(always)]
    pub fn on_cumulative_ack(&mut self, now: Time, ack: CumulativeAck) {
        if !self.begins_ack(now, ack.ack, ack.sent_at) {
            return;
        }
        if self.predicts(ack) {
            self.ack_fast_path(ack);
        } else {
            self.ack_slow_path(&ack.into(), false);
        }
    }

    /// An ACK of everything below `ack` arrives; returns whether it can be meant. What is sent from here on echoes when
    /// it left (`tcp_replace_ts_recent`).
    #[inline(always)]
    fn begins_ack(&mut self, now: Time, ack: u32, sent_at: Timestamp) -> bool {
        if ack > self.board.nxt() || !self.established {
            return false;
        }
        self.refresh_clock(now);
        self.xmit.send_clock.begin_event();
        self.xmit.checks_space = true;
        self.xmit.request = Retransmit::Nothing;
        if ack >= self.board.una() && !sent_at.is_before(self.recent_timestamp) {
            self.recent_timestamp = sent_at;
        }
        true
    }

    /// Processes any acknowledgement (`tcp_ack`). Of one with counters of marks `is_later` says [what](Self::is_later)
    /// its timestamp tells.
    #[inline(never)]
    pub(super) fn ack_slow_path(&mut self, ack: &Ack, is_later: bool) {
        let told = ack.cumulative();
        let prior = self.prior();
        let mut news = AckNews {
            advanced: ack.ack > prior.una,
            ece: ack.ece,
            unpredicted: ack.sack_count > 0,
            ..AckNews::default()
        };
        self.begin_sample(&prior, &news);
        self.note_progress(&news);
        self.update_window(told, &prior, &mut news);
        let tagged = self.sacktag_write_queue(ack, &prior, &mut news);
        if self.view.packets_out == 0 {
            return self.no_queue(ack, &prior, &mut news);
        }
        if ack.ack < prior.una {
            return self.old_ack(ack, &prior, &mut news);
        }
        let acked = self.clean_rtx_queue(ack, &prior, tagged.sent, &mut news);
        self.accecn_process(ack, is_later, &prior, &mut news);
        self.update_reo_wnd();
        self.tell_controller(told, acked, &news);
        self.process_tlp_ack(ack, &news);
        if let Some(dupacks) = self.dubious_dupacks(&news) {
            self.fastretrans_alert(prior.una, dupacks, &mut news, ack);
        }
        self.restart_timer(&news);
        let (delivered, losses) = self.newly_delivered_and_lost(&prior);
        self.rate_gen(delivered, losses, &news);
        self.cong_control(delivered, losses, &news);
    }

    /// The connection before an ACK.
    #[inline(always)]
    pub(super) fn prior(&self) -> Prior {
        Prior {
            una: self.board.una(),
            in_flight: self.view.in_flight(),
            delivered: self.view.delivered,
            lost: self.view.lost,
            lost_out: self.view.lost_out,
            sacked_out: self.view.sacked_out,
            highest_sacked: self.highest_sacked_or_una(),
        }
    }

    /// The rate sample of this ACK begins.
    #[inline(always)]
    pub(super) fn begin_sample(&mut self, prior: &Prior, news: &AckNews) {
        self.rate.begin_ack(&mut self.sample, prior.in_flight, news.ece, news.expected);
    }

    /// An ACK that advances ends a series of timeouts (`icsk_retransmits`).
    #[inline(always)]
    pub(super) fn note_progress(&mut self, news: &AckNews) {
        if news.advanced {
            self.timer.note_progress();
        }
    }

    /// Takes the window that an ACK advertises (`tcp_ack_update_window`).
    #[inline(always)]
    pub(super) fn update_window(&mut self, ack: CumulativeAck, prior: &Prior, news: &mut AckNews) {
        if news.unless_expected(|| ack.ack < prior.una) {
            return;
        }
        if self.hooks.in_ack_event {
            news.unpredicted |= news.ece || self.stream.changes_header(prior.una, ack.window);
        }
        news.window_update = self.stream.update_window(ack.ack, ack.window, news.advanced) && !news.advanced;
    }

    /// Adds the marks that the counters of an ACK tell of (`tcp_accecn_process`).
    #[inline(always)]
    fn accecn_process(&mut self, ack: &Ack, is_later: bool, prior: &Prior, news: &mut AckNews) {
        if let Some(marks) = ack.marks {
            let (delivered, _) = self.newly_delivered_and_lost(prior);
            let marked = self.marks.add(marks.ace(), marks.bytes(), delivered, self.view.mss, is_later);
            self.view.delivered_ce += u64::from(marked);
            news.ece = marked > 0;
            self.sample.is_ece = news.ece;
        }
    }

    /// How many packets an ACK has delivered and shown to be lost (`tcp_newly_delivered`).
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "one ACK tells of fewer than 2^32 packets")]
    fn newly_delivered_and_lost(&self, prior: &Prior) -> (u32, u32) {
        let losses = match self.config.recovery {
            RecoveryRule::Linux => (self.view.lost - prior.lost) as u32,
            RecoveryRule::Ns3 => self.view.lost_out.abs_diff(prior.lost_out),
        };
        ((self.view.delivered - prior.delivered) as u32, losses)
    }

    /// Adapts the time for which segments may only be reordered (`tcp_rack_update_reo_wnd`).
    #[inline(always)]
    pub(super) fn update_reo_wnd(&mut self) {
        self.detector.rack.update_reo_wnd(self.sample.prior_delivered, self.view.delivered);
    }

    /// An ACK while nothing is outstanding (label `no_queue` of `tcp_ack`).
    #[inline(never)]
    fn no_queue(&mut self, ack: &Ack, prior: &Prior, news: &mut AckNews) {
        self.tell_of_ack(news);
        if news.dsack {
            self.fastretrans_alert(prior.una, 0, news, ack);
        }
        self.ack_window_probe();
        self.process_tlp_ack(ack, news);
    }

    /// An ACK below `snd_una`, because a later one arrived before it. It is no duplicate, but its SACK blocks may be
    /// news (label `old_ack` of `tcp_ack`).
    #[inline(never)]
    fn old_ack(&mut self, ack: &Ack, prior: &Prior, news: &mut AckNews) {
        if ack.sack_count > 0 {
            self.fastretrans_alert(prior.una, 0, news, ack);
            self.sample.interval_us = -1;
        }
    }

    /// Calls the controller's hooks that come before loss detection: `pkts_acked`, which `tcp_clean_rtx_queue` ends
    /// with, and `in_ack_event`.
    #[inline(always)]
    pub(super) fn tell_controller(&mut self, ack: CumulativeAck, acked: u32, news: &AckNews) {
        if self.hooks.pkts_acked {
            if self.needs.timestamps && self.config.timestamps {
                self.controller.ack_timestamps(ack.sent_at.bits(), ack.echo.bits());
            }
            let rtt_us = self.sample.rtt_us;
            let in_flight = self.sample.delivered_since_sent(self.view.delivered);
            self.controller.pkts_acked(&self.view, &mut self.control, acked, rtt_us, in_flight);
        }
        self.tell_of_ack(news);
    }

    /// Tells the controller of an ACK (`tcp_in_ack_event`). A duplicate without SACK blocks has the header that was
    /// predicted.
    #[inline(always)]
    fn tell_of_ack(&mut self, news: &AckNews) {
        if self.hooks.in_ack_event {
            let flags = AckFlags { slow_path: news.unpredicted, ece: news.ece, window_update: news.window_update };
            self.controller.in_ack_event(&self.view, &mut self.control, flags);
        }
    }

    /// Ends the episode of a tail loss probe if this ACK decides it (`tcp_process_tlp_ack`).
    #[inline(always)]
    fn process_tlp_ack(&mut self, ack: &Ack, news: &AckNews) {
        if self.tlp.is_outstanding() {
            self.process_outstanding_tlp_ack(ack, news);
        }
    }

    #[inline(never)]
    fn process_outstanding_tlp_ack(&mut self, ack: &Ack, news: &AckNews) {
        let is_pure_duplicate = !(news.advanced || news.data_acked || news.window_update || news.data_sacked);
        let probe = self.tlp.process_ack(ack.ack, news.dsack_of_probe, is_pure_duplicate);
        if let ProbeNews::RepairedLoss { is_app_limited } = probe {
            self.reduce_for_repaired_tail(is_app_limited);
        }
        if probe != ProbeNews::None && self.tlp.was_retransmission() {
            self.sample.is_acking_tlp = true;
        }
    }

    /// The number of duplicate ACKs to count, if the ACK is dubious (`tcp_ack_is_dubious`): a duplicate, one with news
    /// in its SACK blocks or with ECE, or any ACK outside of Open.
    #[inline(always)]
    fn dubious_dupacks(&self, news: &AckNews) -> Option<u32> {
        let is_suspicious = news.data_sacked || news.ece || news.dsack;
        let is_no_duplicate = news.data_acked || news.window_update;
        let is_dubious = !is_no_duplicate || is_suspicious || self.view.ca_state != CaState::Open;
        is_dubious.then(|| u32::from(!news.advanced && !is_no_duplicate && !news.dsack))
    }

    /// Completes the rate sample of an ACK, which ends an application-limited phase when everything sent in it is
    /// delivered (`tcp_rate_gen`).
    #[inline(always)]
    pub(super) fn rate_gen(&mut self, delivered: u32, losses: u32, news: &AckNews) {
        end_app_limited(&mut self.control.app_limited, self.view.delivered);
        if delivered > 0 {
            self.view.delivered_mstamp_us = self.view.mstamp_us;
        }
        self.rate.generate(&mut self.sample, &self.view, (delivered, losses), news.reneged, news.expected);
    }

    /// Updates window and pacing rate (`tcp_cong_control`): by a controller that owns both, by proportional rate
    /// reduction, or by the controller's growth.
    #[inline(always)]
    pub(super) fn cong_control(&mut self, delivered: u32, losses: u32, news: &AckNews) {
        if self.full_control {
            return self.leave_to_controller();
        }
        if news.unless_expected(|| self.view.in_reduction()) {
            self.reduce_cwnd(delivered, losses, news.advanced);
        } else if news.data_acked || (self.detector.reordering.has_grown() && news.data_sacked) {
            self.cong_avoid(delivered);
        }
        self.update_pacing_rate();
    }

    /// Lets a controller that owns window and pacing rate set them (`cong_control` of `struct tcp_congestion_ops`).
    #[inline(always)]
    fn leave_to_controller(&mut self) {
        let unsent = self.queued_segments() > 0;
        self.view.no_unsent_data = !unsent;
        self.view.receive_window_full = unsent && self.board.nxt() >= self.stream.window_end;
        self.controller.cong_control(&self.view, &mut self.control, &self.sample);
    }

    /// Lets the controller grow the window, or begin a reduction by itself (`tcp_cong_avoid`).
    #[inline(always)]
    fn cong_avoid(&mut self, delivered: u32) {
        self.controller.cong_avoid(&self.view, &mut self.control, delivered);
        self.validation.note_change(self.view.jiffies);
        if self.needs.reductions && self.controller.begins_reduction() {
            self.enter_cwr(false);
        }
    }
}
