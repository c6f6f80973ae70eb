//! Which packets are lost (RFC 9002, section 6.1), and what follows for the window (section 7).

use super::super::clock::rounded_up;
use super::super::sent_packets::{Fate, Sent};
use super::QuicSender;
use dumbbell_cc::{CaState, Event, LostPacket};
use dumbbell_recovery::rfc9002::{LossThreshold, PersistentCongestion, Verdict};
use dumbbell_units::{Duration, Time};

/// Smallest window in packets (kMinimumWindow).
const MINIMUM_WINDOW: u32 = 2;

/// What a search for losses found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    /// Highest number lost.
    newest: u32,
    /// Everything sent over several timeouts was lost.
    are_persistent: bool,
}

impl QuicSender {
    /// Declares packets lost by number and by time.
    #[inline]
    pub(super) fn detect_losses(&mut self) -> Option<Losses> {
        self.timers.loss_at = Time::NEVER;
        let largest = self.sent.largest_acked()?;
        // Mostly everything below the largest number is acknowledged.
        if self.sent.first_unacked() > largest { None } else { self.judge_below(largest) }
    }

    /// Judges what is in flight below the largest acknowledged number.
    #[inline(never)]
    fn judge_below(&mut self, largest: u32) -> Option<Losses> {
        let threshold = self.loss_threshold(largest);
        let resolution = self.quic().clock_resolution;
        let mut congestion = PersistentCongestion::new(self.rtt.first_sample_at_us().unwrap_or(0));
        let mut newest = None;
        for number in self.sent.first_unacked()..largest {
            let Some(sent) = self.sent.get(number) else { continue };
            match sent.fate {
                Fate::Acked => congestion.acked(),
                Fate::Lost => {}
                Fate::InFlight => match threshold.judge(number, sent.at.sent_us) {
                    Verdict::Lost => {
                        congestion.lost(sent.at.sent_us);
                        newest = Some(number);
                        self.lose(number, true);
                    }
                    Verdict::LostAtUs(at_us) => {
                        let at = rounded_up(Time::ZERO + Duration::from_micros(at_us), resolution);
                        self.timers.loss_at = self.timers.loss_at.min(at);
                    }
                    Verdict::Unknown => {}
                },
            }
        }
        let are_persistent = congestion.is_established(self.timers.timeout_us);
        newest.map(|newest| Losses { newest, are_persistent })
    }

    fn loss_threshold(&self, largest_acked: u32) -> LossThreshold {
        let quic = self.quic();
        let rtt_us = self.rtt.srtt_us().max(self.sample.rtt_us.max(0) as u64);
        LossThreshold::new(
            self.view.mstamp_us,
            largest_acked,
            quic.packet_threshold,
            quic.time_threshold_eighths,
            rtt_us,
            quic.granularity.as_micros(),
        )
    }

    /// A packet in flight is lost, and its data is to be sent again.
    pub(super) fn lose(&mut self, number: u32, tell_controller: bool) {
        let Some(sent) = self.sent.get_mut(number) else { return };
        sent.fate = Fate::Lost;
        let Sent { seq, at, .. } = *sent;
        self.view.packets_out -= 1;
        self.view.lost += 1;
        self.stream.send_again(seq);
        if tell_controller && self.hooks.packet_lost {
            let lost = LostPacket {
                tx_in_flight: at.tx_in_flight,
                delivered: at.delivered,
                lost: at.lost,
                is_app_limited: at.is_app_limited,
            };
            self.controller.packet_lost(&self.view, &mut self.control, &lost);
        }
    }

    /// Drops settled packets from the front. Lost ones are remembered for as many numbers as the packet threshold has, so
    /// that a late acknowledgement is still recognised.
    pub(super) fn forget_settled(&mut self) {
        self.sent.forget_settled(self.config.quic.packet_threshold);
        self.view.snd_una = u64::from(self.sent.first());
    }

    /// Reacts to what [`QuicSender::detect_losses`] found: one reduction, or the smallest window when congestion is
    /// persistent (RFC 9002, sections 7.3.2 and 7.6).
    pub(super) fn on_losses(&mut self, losses: Option<Losses>) {
        let Some(Losses { newest, are_persistent }) = losses else { return };
        if !are_persistent || self.full_control {
            return self.on_congestion(newest);
        }
        if newest >= self.recovery_end {
            self.begin_reduction();
            self.controller.event(&self.view, &mut self.control, Event::Loss);
        }
        self.set_state(CaState::Loss);
        self.control.cwnd = MINIMUM_WINDOW;
        // The next acknowledgement ends this period.
        self.recovery_end = 0;
    }

    /// One reduction for all packets sent before it.
    pub(super) fn on_congestion(&mut self, number: u32) {
        if number < self.recovery_end {
            return;
        }
        self.recovery_end = self.sent.next_number();
        self.begin_reduction();
        self.set_state(CaState::Recovery);
        if !self.full_control {
            self.control.cwnd = self.control.ssthresh;
        }
    }

    fn begin_reduction(&mut self) {
        self.stats.recovery_count += 1;
        self.view.prior_cwnd = self.control.cwnd;
        self.control.cwnd_cnt = 0;
        self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control).max(MINIMUM_WINDOW);
    }
}
