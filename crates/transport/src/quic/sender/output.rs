//! What is sent, and when: probes first, then lost data, then new data, as window and pacing allow.

use super::super::clock::rounded_up;
use super::super::stream::Part;
use super::super::{AckFrequency, QuicPacket};
use super::QuicSender;
use crate::{Held, Limit};
use dumbbell_cc_contract::{Control, Event};
use dumbbell_recovery::careful_resume::Phase;
use dumbbell_units::Time;

/// Most packets that a sender lets one ACK stand for.
const MOST_PACKETS_PER_ACK: u32 = 64;
/// Shortest delay of ACKs that a sender asks for, the granularity of timers.
const LEAST_ACK_DELAY_US: u64 = 1_000;

impl QuicSender {
    /// The next packet to put on the wire now, or `None` when nothing may leave before the next ACK or timer.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<QuicPacket> {
        self.prepare(now);
        if self.may_transmit(now) { self.transmit(now) } else { None }
    }

    /// Whether there is something to [prepare](Self::prepare).
    #[inline]
    pub(in crate::quic) fn must_prepare(&self, now: Time) -> bool {
        now != self.refreshed_at || self.resume.phase() == Phase::Reconnaissance
    }

    /// What precedes the question whether a packet [may leave](Self::may_transmit).
    pub(in crate::quic) fn prepare(&mut self, now: Time) {
        if self.established {
            self.refresh_clock(now);
            if !self.timers.has_probe() {
                self.resume_if_known();
            }
        }
    }

    /// Whether a packet may leave now, for which all is [prepared](Self::prepare): a probe, or what pacing and windows
    /// allow.
    #[inline]
    pub(in crate::quic) fn may_transmit(&mut self, now: Time) -> bool {
        self.established && (self.timers.has_probe() || self.may_send(now))
    }

    /// The packet that [may leave now](Self::may_transmit), if there is anything to send.
    #[inline(always)]
    pub(in crate::quic) fn transmit(&mut self, now: Time) -> Option<QuicPacket> {
        let is_probe = self.timers.take_probe();
        let next = self.stream.take();
        let (part, is_retransmission) = if is_probe { next.or_else(|| self.oldest_in_flight())? } else { next? };
        Some(self.send(now, part, is_retransmission))
    }

    /// Whether there is data, and pacing, both windows and the poll interval let a packet leave now.
    #[inline(always)]
    fn may_send(&mut self, now: Time) -> bool {
        if self.pacer.forbids(self.view.now) {
            return false;
        }
        if !self.window_allows() {
            self.view.cwnd_limited = true;
            self.view.max_packets_out = self.view.packets_out;
            return false;
        }
        if self.view.packets_out >= self.receive_window || self.stream.has_sent_all() {
            self.view.cwnd_limited = false;
            return false;
        }
        let poll_at = rounded_up(now, self.quic().poll_interval);
        if poll_at > now {
            self.timers.poll_at = poll_at;
            return false;
        }
        true
    }

    /// Whether the congestion window lets a packet leave; in recovery, where the controller wants it, in proportion to
    /// what is delivered.
    #[inline]
    fn window_allows(&self) -> bool {
        let window = self.window_bytes();
        if self.needs.proportional > 0 && self.view.in_reduction() {
            return self.prr.allows(self.bytes_in_flight, window, u64::from(self.needs.proportional));
        }
        self.bytes_in_flight < window
    }

    /// The congestion window: a packet may leave while fewer bytes are in flight.
    #[inline]
    pub(super) fn window_bytes(&self) -> u64 {
        let Control { cwnd, cwnd_bytes, .. } = self.control;
        if cwnd_bytes == 0 { u64::from(cwnd) * self.packet_bytes } else { cwnd_bytes }
    }

    fn oldest_in_flight(&self) -> Option<(Part, bool)> {
        self.sent.in_flight().next().map(|(_, sent)| (sent.part(), true))
    }

    /// How often the receiver is to acknowledge, at the present rate and RTT.
    #[inline]
    fn ack_frequency(&self) -> Option<AckFrequency> {
        let quic = self.quic();
        if quic.acks_per_rtt == 0 {
            return None;
        }
        let share_us = self.rtt.srtt_us() / u64::from(quic.acks_per_rtt);
        let bytes = self.control.pacing_rate.saturating_mul(share_us) / 1_000_000;
        let least = self.config.ack_every.clamp(1, MOST_PACKETS_PER_ACK);
        let every = u32::try_from(bytes / self.packet_bytes).unwrap_or(u32::MAX).clamp(least, MOST_PACKETS_PER_ACK);
        let delay_us = share_us.clamp(LEAST_ACK_DELAY_US, quic.max_ack_delay.as_micros().max(LEAST_ACK_DELAY_US));
        Some(AckFrequency {
            every: u16::try_from(every).unwrap_or(u16::MAX),
            delay_us: u32::try_from(delay_us).unwrap_or(u32::MAX),
        })
    }

    /// Sends a part at `at`. The connection itself knows only what its clock shows (`view.now`).
    #[inline(always)]
    fn send(&mut self, at: Time, part: Part, is_retransmission: bool) -> QuicPacket {
        let number = self.sent.next_number();
        let now = self.view.now;
        let Part { seq, len } = part;
        if self.view.packets_out == 0 {
            self.controller.event(&self.view, &mut self.control, Event::TxStart);
            // No burst during recovery, and none beyond the window (Chromium's PacingSender).
            let most = if self.view.in_reduction() { 0 } else { self.control.cwnd };
            self.pacer.restart(most);
            self.rate.restart(self.view.mstamp_us, self.view.delivered);
        }
        self.view.last_sent = now;
        self.view.packets_out += 1;
        self.bytes_in_flight += QuicPacket::bytes(len);
        self.prr.sent(QuicPacket::bytes(len));
        self.view.snd_nxt = u64::from(number) + 1;
        self.sent.push(part, self.rate.packet_sent(&self.view, &self.control, is_retransmission));
        self.stats.sent_segments += 1;
        self.stats.sent_bytes += u64::from(len);
        self.stats.retransmitted_segments += u64::from(is_retransmission);
        self.timers.last_sent_at = now;
        self.pacer.depart(now, len, self.control.pacing_rate);
        self.note_departure();
        QuicPacket {
            number,
            seq,
            len,
            ecn: self.ecn.on_sent(),
            is_retransmission,
            sent_at: at,
            ack_frequency: self.ack_frequency(),
            known_up_to: self.known_up_to.take(),
        }
    }
}

impl Held for QuicSender {
    /// What ended the latest attempt to send: the first of the questions of [`may_send`](Self::may_send) that nothing but
    /// another event can answer otherwise.
    fn held_by(&self) -> Limit {
        if self.stream.has_sent_all() {
            Limit::Application
        } else if self.view.packets_out >= self.receive_window {
            Limit::ReceiveWindow
        } else if self.window_allows() && self.pacer.is_blocked() {
            Limit::Pacing
        } else {
            Limit::Cwnd
        }
    }

    fn acted_at(&self) -> Time {
        self.refreshed_at
    }
}
