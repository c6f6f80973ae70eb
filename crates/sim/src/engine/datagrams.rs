//! Takes datagrams from endpoints into media.

use super::Engine;
use super::joined::Way;
use super::transmission::PACKETS_PER_CHECK;
use crate::endpoints::Endpoints;
use crate::packet::{Kind, Packet, flow_number};
use dumbbell_network::{Hop, Leaving};
use dumbbell_transport::Datagram;
use dumbbell_units::Time;

impl Engine<'_> {
    /// Puts the datagrams of the near end on the wire.
    pub(super) fn transmit_datagrams(&mut self, index: usize) {
        let mut until_check = PACKETS_PER_CHECK;
        while let Endpoints::Other(ends) = &mut self.flows[index].ends
            && let Some(datagram) = ends.near.poll_transmit(self.now, self.payloads.blank())
        {
            let kind = self.flows[index].data.datagram();
            let route = self.routes.of(index);
            self.send_datagram(self.now, index, kind, (route.first_forward, route.forward_rest), datagram);
            until_check -= 1;
            if until_check == 0 {
                if self.must_stop(PACKETS_PER_CHECK) {
                    return;
                }
                until_check = PACKETS_PER_CHECK;
            }
        }
    }

    /// Puts the datagrams of the far end on the wire at `now`.
    #[inline(always)]
    pub(super) fn transmit_replies(&mut self, now: Time, index: usize) {
        let mut until_check = PACKETS_PER_CHECK;
        while let Endpoints::Other(ends) = &mut self.flows[index].ends
            && let Some(datagram) = ends.far.poll_transmit(now, self.payloads.blank())
        {
            let route = self.routes.of(index);
            match route.passed {
                None => {
                    self.send_datagram(now, index, Kind::Reply, (route.first_reverse, route.reverse_rest), datagram)
                }
                Some(passed) => self.send_reply_ahead(now, index, passed as usize, datagram),
            }
            until_check -= 1;
            if until_check == 0 {
                if self.must_stop(PACKETS_PER_CHECK) {
                    return;
                }
                until_check = PACKETS_PER_CHECK;
            }
        }
    }

    /// Puts a datagram whose payload has just been written on its way at `now`, which begins at `hop` and has `rest` more hops.
    #[inline(always)]
    fn send_datagram(&mut self, now: Time, index: usize, kind: Kind, (hop, rest): (Hop, u16), datagram: Datagram) {
        if !hop.is_left_in_time() {
            return self.send_datagram_ahead(now, index, kind, (hop, rest), datagram);
        }
        let (flow, payload) = (flow_number(index), self.payloads.keep());
        self.send_written(now, hop, flow, datagram.size, |place| {
            *place = Packet::datagram(kind, now, flow, rest, datagram, payload);
        });
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
