//! Senders of TCP: their turns, and the packets that they put on their way.

use super::Engine;
use crate::agenda::{Cause, Turn};
use crate::endpoints::Endpoints;
use crate::flow::Flow;
use crate::packet::{Kind, Packet, flow_number};
use dumbbell_network::{Hop, Route};
use dumbbell_transport::Burst;
use dumbbell_units::Time;
use std::sync::atomic::Ordering;

/// Bursts that a sender hands down at one instant between two checks of its memory.
const BURSTS_PER_CHECK: u32 = 256;

impl Engine<'_> {
    #[inline(always)]
    pub(super) fn sender_timer(&mut self, index: usize) {
        let now = self.now;
        let Endpoints::Tcp { sender, .. } = &mut self.flows[index].ends else {
            return self.datagram_timer(index, Turn::Sender);
        };
        if sender.next_timer() <= now {
            sender.on_timer(now);
            if let Some(burst) = sender.poll_transmit(now) {
                self.transmit_bursts(index, burst);
            }
        } else {
            self.idle_turns += 1;
        }
        self.flow_agenda.set(index, Turn::Sender, self.flows[index].ends.sender_timer());
    }

    /// A sender's timer that is due at the instant at which an ACK arrives goes first, as it does on Linux in virtual
    /// time. Pacing repeats its intervals in the ACKs a round trip later, so that both often are due together.
    #[cold]
    #[inline(never)]
    pub(super) fn sender_timer_first(&mut self, index: usize) {
        if self.flows[index].ends.sender_timer() <= self.now {
            self.sender_timer(index);
        }
    }

    /// Sends what a sender may send now, and arms its timer.
    #[inline]
    pub(super) fn transmit(&mut self, index: usize) {
        self.transmit_all(index);
        let next = self.flows[index].ends.sender_timer();
        self.flow_agenda.advance(index, Turn::Sender, next);
    }

    #[inline(always)]
    fn transmit_all(&mut self, index: usize) {
        match &mut self.flows[index].ends {
            Endpoints::Tcp { sender, .. } => {
                if let Some(burst) = sender.poll_transmit(self.now) {
                    self.transmit_bursts(index, burst);
                }
            }
            Endpoints::Other(_) => self.transmit_datagrams(index),
        }
    }

    /// Puts bursts of a sender on their way, and what it sends behind them.
    pub(super) fn transmit_bursts(&mut self, index: usize, first: Burst) {
        let hop = self.routes.of(index).first_forward;
        let mut next = Some(first);
        let mut until_check = BURSTS_PER_CHECK;
        while let Some(burst) = next {
            if !self.transmit_together(index, hop, &burst) && self.transmit_each(index, hop, burst) {
                return;
            }
            let Endpoints::Tcp { sender, .. } = &mut self.flows[index].ends else { return };
            until_check -= 1;
            if until_check == 0 {
                let under_way = match &self.delays {
                    Some(delays) if hop.is_delay_leg => delays.memory(),
                    _ => self.media.get(hop.medium()).memory(),
                };
                let is_too_large = sender.memory() + under_way > self.bounds.max_memory;
                if is_too_large || self.bounds.cancel.load(Ordering::Relaxed) {
                    return self.measure_memory();
                }
                until_check = BURSTS_PER_CHECK;
            }
            next = sender.poll_again();
        }
        self.settle_entered(hop);
    }

    /// Has a burst enter its first hop as one run; false where its packets have to enter one by one.
    #[inline(always)]
    fn transmit_together(&mut self, index: usize, hop: Hop, burst: &Burst) -> bool {
        let route = self.routes.of(index);
        let Flow { ends: Endpoints::Tcp { sender, .. }, data, .. } = &self.flows[index] else { return false };
        let Some(first) = burst.first_of_alike().filter(|_| !sender.wants_completions()) else { return false };
        let packet = Packet::first_of(burst, flow_number(index), route.forward_rest, route.header, first);
        self.enter_together(hop, packet.of_kind(*data), burst.remaining())
    }

    /// Has the packets of a burst enter their first hop one by one, and tells the sender when the last one will have
    /// left it, as far as that is known. Returns whether the run has to stop.
    #[inline(never)]
    fn transmit_each(&mut self, index: usize, hop: Hop, burst: Burst) -> bool {
        let (flow, kind) = (flow_number(index), self.flows[index].data);
        let Route { forward_rest, header, .. } = *self.routes.of(index);
        let mut accepted = 0;
        let now = self.now;
        let departs = burst.fold(now, |_, segment| {
            let packet = Packet::data(flow, forward_rest, header, segment).of_kind(kind);
            let (departs, packets) = self.enter(hop, flow, packet.size, |place| *place = packet);
            accepted += packets;
            departs.unwrap_or(now)
        });
        let Flow { ends: Endpoints::Tcp { sender, .. }, device, .. } = &mut self.flows[index] else { return true };
        if device.is_some() {
            sender.handed_over_untold(burst.bytes, accepted);
        } else {
            sender.handed_over(burst.bytes, departs);
        }
        self.must_stop(u64::from(burst.remaining()))
    }

    pub(super) fn send_syn(&mut self, index: usize) {
        let route = self.routes.of(index);
        let packet =
            Packet::handshake(self.now, flow_number(index), route.forward_rest, route.handshake_bytes, Kind::Syn);
        self.send(route.first_forward, packet);
    }

    /// The answer to a SYN, which echoes the one that left at `echo`.
    pub(super) fn send_syn_ack(&mut self, index: usize, echo: Time, cause: Cause) {
        let route = *self.routes.of(index);
        let packet = Packet::syn_ack(self.now, flow_number(index), route.reverse_rest, route.handshake_bytes, echo);
        self.send_back(&route, packet.because(cause));
    }

    /// The ACK of the answer, which ends the handshake.
    pub(super) fn send_handshake_ack(&mut self, index: usize) {
        let route = self.routes.of(index);
        let size = u16::from(route.header);
        let packet = Packet::handshake(self.now, flow_number(index), route.forward_rest, size, Kind::HandshakeAck);
        self.send(route.first_forward, packet);
    }
}
