//! What an established connection does not accept, and how it answers (RFC 5961; `tcp_validate_incoming`, `tcp_ack`).
//!
//! The endpoints never meet such packets: nothing forges any in a simulation. So this is the host's here, as the
//! handshake is.

use super::negotiation::reflecting;
use super::{Connection, Emitted};
use crate::script::{Flags, Packet};
use dumbbell_units::Time;
use std::collections::VecDeque;

/// Differences of sequence numbers from here on are negative.
const HALF: u32 = 1 << 31;

impl Connection {
    /// Whether a packet is worked on.
    pub(super) fn is_acceptable(&self, packet: &Packet) -> bool {
        let is_reset_elsewhere = packet.flags.has(Flags::RST) && packet.seq != self.next_expected();
        !packet.flags.has(Flags::SYN) && !is_reset_elsewhere && self.has_acceptable_ack(packet)
    }

    /// The sequence number of the first byte that has not arrived.
    fn next_expected(&self) -> u32 {
        self.peer.isn.wrapping_add(1).wrapping_add(self.incoming.byte(self.last_delivered()) as u32)
    }

    /// Whether a packet acknowledges what was sent, and no less than the largest window before what is acknowledged.
    fn has_acceptable_ack(&self, packet: &Packet) -> bool {
        let Some(ack) = packet.ack.filter(|_| packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::RST)) else {
            return true;
        };
        let byte = |segment: u64| self.isn.wrapping_add(1).wrapping_add(self.outgoing.byte(segment as u32) as u32);
        let view = self.sender.view();
        let (una, nxt) = (byte(view.snd_una), byte(view.snd_nxt));
        let acknowledged = self.outgoing.byte(view.snd_una as u32);
        let span = self.largest_window.min(acknowledged) as u32;
        nxt.wrapping_sub(ack) < HALF && ack.wrapping_sub(una.wrapping_sub(span)) < HALF
    }

    /// Answers a packet that is not accepted with an ACK, unless it is a reset beside the window, or the last answer
    /// was a moment ago (`tcp_send_challenge_ack`).
    pub(super) fn challenge(&mut self, now: Time, packet: &Packet, sent: &mut VecDeque<Emitted>) {
        let is_recent = self.challenged_at.is_some_and(|at| now.since(at) < self.invalid_ratelimit);
        let is_beside = u64::from(packet.seq.wrapping_sub(self.next_expected())) > self.own_window;
        if is_recent || packet.flags.has(Flags::RST) && is_beside {
            return;
        }
        self.challenged_at = Some(now);
        let mut answer = self.plain_ack(now);
        // The answer to our SYN once more: what our ACK of it said may be lost.
        if let Some(accurate) = self.accurate.as_mut().filter(|_| packet.flags.has(Flags::SYN)) {
            accurate.handshake.arrived = packet.ecn.unwrap_or_default();
            answer.flags = Flags::ACK | reflecting(accurate.handshake.arrived);
        }
        sent.push_back(Emitted { at: now, packet: answer, stamp: now });
    }
}
