//! Ends that send datagrams: their turns, and the packets that they put on their way.

use super::Engine;
use super::memory::PACKETS_PER_CHECK;
use crate::agenda::Turn;
use crate::endpoints::Endpoints;
use crate::packet::{Kind, Packet, flow_number};

impl Engine<'_> {
    /// Puts the datagrams of the near end on the wire.
    pub(super) fn transmit_datagrams(&mut self, index: usize) {
        let now = self.now;
        let mut until_check = PACKETS_PER_CHECK;
        while let Endpoints::Other(ends) = &mut self.flows[index].ends
            && let Some(datagram) = ends.near.poll_transmit(now, self.payloads.blank())
        {
            let (flow, payload) = (flow_number(index), self.payloads.keep());
            let kind = self.flows[index].data.datagram();
            let route = self.routes.of(index);
            let (hop, rest) = (route.first_forward, route.forward_rest);
            self.enter(hop, flow, datagram.size, |place| {
                *place = Packet::datagram(kind, now, flow, rest, datagram, payload);
            });
            if self.must_stop_behind(1, &mut until_check) {
                return;
            }
        }
    }

    /// Puts the datagrams of the far end on the wire.
    #[inline(always)]
    pub(super) fn transmit_replies(&mut self, index: usize) {
        let now = self.now;
        let mut until_check = PACKETS_PER_CHECK;
        while let Endpoints::Other(ends) = &mut self.flows[index].ends
            && let Some(datagram) = ends.far.poll_transmit(now, self.replies.blank())
        {
            let (flow, payload) = (flow_number(index), self.replies.keep());
            let route = *self.routes.of(index);
            let write = |place: &mut Packet| {
                *place = Packet::datagram(Kind::Reply, now, flow, route.reverse_rest, datagram, payload);
            };
            if route.passed.is_some() {
                self.send_passing(&route, now, datagram.size, write);
            } else {
                self.enter(route.first_reverse, flow, datagram.size, write);
            }
            if self.must_stop_behind(1, &mut until_check) {
                return;
            }
        }
    }

    /// It is the turn of an end that sends datagrams. Kept apart, so that the event loop stays short.
    #[inline(never)]
    pub(super) fn datagram_timer(&mut self, index: usize, turn: Turn) {
        let now = self.now;
        let Endpoints::Other(ends) = &mut self.flows[index].ends else { return };
        let end = if turn == Turn::Sender { &mut ends.near } else { &mut ends.far };
        if end.next_timer() <= now {
            end.on_timer(now);
            if turn == Turn::Sender {
                self.transmit_datagrams(index);
            } else {
                self.transmit_replies(index);
            }
        } else {
            self.idle_turns += 1;
        }
        let Endpoints::Other(ends) = &self.flows[index].ends else { return };
        let end = if turn == Turn::Sender { &ends.near } else { &ends.far };
        self.flow_agenda.set(index, turn, end.next_timer());
    }
}
