//! Takes datagrams from endpoints into media.

use super::Engine;
use super::joined::Way;
use super::transmission::PACKETS_PER_CHECK;
use crate::agenda::Turn;
use crate::endpoints::Endpoints;
use crate::flow::Flow;
use crate::packet::{Handle, Kind, Packet, flow_number};
use dumbbell_network::{Hop, Leaving};
use dumbbell_path::Offer;
use dumbbell_transport::Datagram;
use dumbbell_units::Time;

/// The datagrams of an end, and the way that they take: it begins at `hop` and has `rest` more hops.
#[derive(Clone, Copy)]
struct Stream {
    flow: usize,
    is_near: bool,
    kind: Kind,
    hop: Hop,
    rest: u16,
}

impl Stream {
    /// A datagram of it that is sent at `now`.
    #[inline(always)]
    fn packet(self, now: Time, datagram: Datagram, payload: Handle) -> Packet {
        Packet::datagram(self.kind, now, flow_number(self.flow), self.rest, datagram, payload)
    }
}

impl Engine<'_> {
    /// Puts the datagrams of the near end on the wire.
    pub(super) fn transmit_datagrams(&mut self, index: usize) {
        let mut until_check = PACKETS_PER_CHECK;
        while let Endpoints::Other(ends) = &mut self.flows[index].ends
            && let Some(first) = ends.near.poll_transmit(self.now, self.payloads.blank())
        {
            let kind = self.flows[index].data.datagram();
            let route = self.routes.of(index);
            let (hop, rest) = (route.first_forward, route.forward_rest);
            let stream = Stream { flow: index, is_near: true, kind, hop, rest };
            let Some(sent) = self.send_datagrams(self.now, stream, first, until_check) else { return };
            if self.must_stop_behind(sent, &mut until_check) {
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
                self.transmit_replies(now, index);
            }
        } else {
            self.idle_turns += 1;
        }
        let Endpoints::Other(ends) = &self.flows[index].ends else { return };
        let end = if turn == Turn::Sender { &ends.near } else { &ends.far };
        self.flow_agenda.set(index, turn, end.next_timer());
    }

    /// Puts the datagrams of the far end on the wire at `now`.
    #[inline(always)]
    pub(super) fn transmit_replies(&mut self, now: Time, index: usize) {
        let mut until_check = PACKETS_PER_CHECK;
        while let Endpoints::Other(ends) = &mut self.flows[index].ends
            && let Some(first) = ends.far.poll_transmit(now, self.payloads.blank())
        {
            let route = self.routes.of(index);
            let (hop, rest) = (route.first_reverse, route.reverse_rest);
            let sent = if let Some(passed) = route.passed {
                self.send_reply_ahead(now, index, passed as usize, first);
                1
            } else {
                let stream = Stream { flow: index, is_near: false, kind: Kind::Reply, hop, rest };
                let Some(sent) = self.send_datagrams(now, stream, first, until_check) else { return };
                sent
            };
            if self.must_stop_behind(sent, &mut until_check) {
                return;
            }
        }
    }

    /// Puts a datagram whose payload has just been written on its way at `now`, and those that its end sends behind it. Returns how
    /// many these are, at most `most`, if there may be more of them.
    #[inline(always)]
    fn send_datagrams(&mut self, now: Time, stream: Stream, first: Datagram, most: u64) -> Option<u64> {
        let Stream { flow, hop, .. } = stream;
        if !hop.is_left_in_time() {
            self.send_datagram_ahead(now, flow, stream.kind, (hop, stream.rest), first);
            return Some(1);
        }
        let Some(link) = self.media.link_mut(hop.medium()) else {
            let packet = stream.packet(now, first, self.payloads.keep());
            self.send_over_any(hop, packet);
            return Some(1);
        };
        let Flow { ends: Endpoints::Other(ends), traffic, .. } = &mut self.flows[flow] else { return None };
        let counts = hop.is_bottleneck && !link.decides_late();
        let (mut datagram, mut sent) = (first, 0);
        let duplicated = loop {
            let payload = self.payloads.keep();
            sent += 1;
            match link
                .offer_written(now, u32::from(datagram.size), |place| *place = stream.packet(now, datagram, payload))
            {
                Offer::Accepted { departs: Some(departs) } if counts => {
                    traffic.count_departure(datagram.size, departs, self.measured);
                }
                Offer::Accepted { .. } => {}
                Offer::Dropped(_) => {
                    traffic.drops += u64::from(stream.kind.is_data());
                    self.payloads.forget(payload);
                }
                Offer::Duplicated { departs } => break Some((stream.packet(now, datagram, payload), departs)),
            }
            if sent == most {
                break None;
            }
            let end = if stream.is_near { &mut ends.near } else { &mut ends.far };
            match end.poll_transmit(now, self.payloads.blank()) {
                Some(next) => datagram = next,
                None => {
                    sent = 0;
                    break None;
                }
            }
        };
        if let Some((packet, departs)) = duplicated {
            self.count_known_departure(hop, &packet, departs);
            self.send_copy(hop, packet);
        }
        let next = self.settle_medium(hop.medium());
        self.medium_agenda.advance(hop.medium(), next);
        (sent > 0).then_some(sent)
    }

    /// The same where the first hop is [joined](Self::send_ahead).
    #[inline(never)]
    fn send_datagram_ahead(
        &mut self,
        now: Time,
        index: usize,
        kind: Kind,
        (hop, hops_left): (Hop, u16),
        datagram: Datagram,
    ) {
        let (flow, payload) = (flow_number(index), self.payloads.keep());
        if hop.leaving == Leaving::Gathered {
            return self.gather(now, hop.medium(), (datagram.size, 1), |place| {
                *place = Packet::datagram(kind, now, flow, hops_left, datagram, payload);
            });
        }
        let way = Way { flow, kind, hops_left };
        self.send_ahead(now, hop, way, datagram.size, |place| {
            *place = Packet::datagram(kind, now, flow, hops_left, datagram, payload);
        });
    }

    /// Has a reply whose payload has just been written pass its first link.
    #[inline(never)]
    fn send_reply_ahead(&mut self, now: Time, index: usize, passed: usize, datagram: Datagram) {
        let payload = self.payloads.keep();
        let route = self.routes.of(index);
        let (hop, rest) = (route.first_reverse, route.reverse_rest);
        self.send_passing(passed, now, hop, datagram.size, |place| {
            *place = Packet::datagram(Kind::Reply, now, flow_number(index), rest, datagram, payload);
        });
    }
}
