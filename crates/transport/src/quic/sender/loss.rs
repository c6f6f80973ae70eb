//! Loss detection (RFC 9002, section 6.1) and congestion events (section 7).

use super::super::QuicPacket;
use super::super::clock::rounded_up;
use super::super::sent_packets::Fate;
use super::{Before, QuicSender};
use dumbbell_cc_contract::{CaState, Event, LostPacket};
use dumbbell_recovery::rfc9002::{LossThreshold, PersistentCongestion, Verdict};
use dumbbell_units::{Duration, Time};

/// Minimum window in packets (kMinimumWindow).
pub(super) const MINIMUM_WINDOW: u32 = 2;

/// The packets that one loss detection declared lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    /// Smallest number among them.
    oldest: u32,
    /// Largest number among them.
    newest: u32,
    count: u32,
    /// They establish persistent congestion (section 7.6).
    are_persistent: bool,
}

impl QuicSender {
    /// Declares packets lost by the packet threshold and the time threshold (`DetectAndRemoveLostPackets`).
    #[inline]
    pub(super) fn detect_losses(&mut self) -> Option<Losses> {
        self.timers.loss_at = Time::NEVER;
        let largest = self.sent.largest_acked()?;
        // The usual case: everything up to the largest number is acknowledged.
        if self.sent.first() > largest { None } else { self.detect_losses_below(largest) }
    }

    /// Compares the packets in flight below the largest acknowledged number with the thresholds.
    #[inline(never)]
    fn detect_losses_below(&mut self, largest: u32) -> Option<Losses> {
        let threshold = self.loss_threshold(largest);
        let resolution = self.quic().clock_resolution;
        let mut congestion = PersistentCongestion::new(self.rtt.first_sample_at_us().unwrap_or(0));
        let mut losses: Option<Losses> = None;
        for number in self.sent.first()..largest {
            let Some(sent) = self.sent.get(number) else { continue };
            match sent.fate {
                Fate::Acked => congestion.acked(),
                Fate::Lost => {}
                Fate::InFlight => match threshold.judge(number, sent.at.sent_us) {
                    Verdict::Lost => {
                        congestion.lost(sent.at.sent_us);
                        let so_far = losses.get_or_insert(Losses {
                            oldest: number,
                            newest: number,
                            count: 0,
                            are_persistent: false,
                        });
                        so_far.newest = number;
                        so_far.count += 1;
                        self.lose(number, true);
                    }
                    // Later packets have higher numbers and left later.
                    Verdict::LostAtUs(at_us) => {
                        self.timers.loss_at = rounded_up(Time::ZERO + Duration::from_micros(at_us), resolution);
                        break;
                    }
                    Verdict::Unknown => break,
                },
            }
        }
        let are_persistent = congestion.is_established(self.timers.timeout_us);
        losses.map(|losses| Losses { are_persistent, ..losses })
    }

    fn loss_threshold(&self, largest_acked: u32) -> LossThreshold {
        let quic = self.quic();
        // An ACK for a late packet alone brings no sample; that of the one before counts on.
        let rtt_us = self.rtt.srtt_us().max(self.rtt.latest_us());
        LossThreshold::new(
            self.view.mstamp_us,
            largest_acked,
            quic.packet_threshold,
            quic.time_threshold_eighths,
            rtt_us,
            quic.granularity.as_micros(),
        )
    }

    /// Declares packet `number` lost; its data is to be sent again.
    pub(super) fn lose(&mut self, number: u32, tell_controller: bool) {
        let Some(sent) = self.sent.lose(number, self.view.mstamp_us, tell_controller) else { return };
        let (part, at) = (sent.part(), sent.at);
        self.view.packets_out -= 1;
        self.bytes_in_flight -= QuicPacket::bytes(part.len);
        self.view.lost += 1;
        self.stream.send_again(part);
        if tell_controller && self.hooks.packet_lost {
            let lost = LostPacket {
                tx_in_flight: at.tx_in_flight,
                delivered: at.delivered(&self.view),
                lost: at.lost(&self.view),
                is_app_limited: at.is_app_limited,
            };
            self.controller.packet_lost(&self.view, &mut self.control, &lost);
        }
    }

    /// Forgets packets that are acknowledged or lost. A late ACK for a lost one is recognised for three probe timeouts,
    /// which is how long a closing connection waits for late packets (RFC 9000, section 10.2).
    #[inline]
    pub(super) fn forget_settled(&mut self) {
        if self.sent.has_lost() {
            self.sent.forget_lost(self.view.mstamp_us.saturating_sub(3 * self.timers.timeout_us));
        }
        self.sent.forget_settled();
        self.view.snd_una = u64::from(self.sent.first());
    }

    /// Reacts to the losses of [`QuicSender::detect_losses`]: a congestion event, or the minimum window when congestion
    /// is persistent (`OnPacketsLost`, sections 7.3.2 and 7.6).
    pub(super) fn on_losses(&mut self, losses: Losses) {
        let Losses { oldest, newest, count, are_persistent } = losses;
        if newest < self.recovery_end {
            self.spurious.add(count);
        } else {
            self.begin_reduction(false);
            self.spurious.begin(oldest, count);
            if are_persistent {
                self.controller.event(&self.view, &mut self.control, Event::Loss);
            } else {
                self.enter_recovery(CaState::Recovery);
            }
        }
        if are_persistent {
            self.enter_loss();
        }
    }

    /// A congestion event other than a loss: marks that an ACK for packet `number` reports (`ProcessECN`; then
    /// `marked`), or a reduction that the controller asks for. Nothing follows if the packet was sent before the
    /// current or last recovery period began.
    pub(super) fn on_congestion(&mut self, number: u32, marked: bool) {
        if number >= self.recovery_end {
            self.begin_reduction(marked);
            self.enter_recovery(CaState::Cwr);
        }
    }

    /// Enters a recovery period with the reduced window (`OnCongestionEvent`): Recovery after a loss, Cwr without one.
    fn enter_recovery(&mut self, state: CaState) {
        self.recovery_end = self.sent.next_number();
        self.prr.begin();
        self.control.cwnd_bytes = 0;
        self.set_state(state);
        if !self.full_control {
            self.control.cwnd = self.control.ssthresh;
        }
        self.hold_resumed();
    }

    /// Congestion is persistent: the window collapses.
    fn enter_loss(&mut self) {
        self.recovery_ends = false;
        self.control.cwnd_bytes = 0;
        self.set_state(CaState::Loss);
        self.control.cwnd = MINIMUM_WINDOW;
        // The window of a controller with full control returns when the period ends: not before something that was sent
        // in it is acknowledged. The others begin slow start at once, as appendix B.8 has it.
        self.recovery_end = if self.full_control { self.sent.next_number() } else { 0 };
    }

    /// A reduction begins; `marked` when marks alone are the reason.
    fn begin_reduction(&mut self, marked: bool) {
        self.end_recovery();
        self.spurious.end();
        self.retreat();
        self.before = Before { ssthresh: self.control.ssthresh, recovery_end: self.recovery_end };
        self.stats.recovery_count += 1;
        self.view.prior_cwnd = self.control.cwnd;
        self.control.cwnd_cnt = 0;
        self.view.marked = marked;
        self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control).max(MINIMUM_WINDOW);
        self.view.marked = false;
    }
}
