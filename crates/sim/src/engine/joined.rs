//! Links that are joined: packets that enter one of them enter the next at once, ahead of their time.
//!
//! Where everything that enters a link has left one other, in whose order it comes at times that are known
//! ([`Routes::join`](dumbbell_network::Routes::join)), the arrival between them needs no event of its own, though it counts
//! as one. The same holds for a link and the way back of receivers that answer at once. Nobody may notice: a packet enters
//! ahead only until the clock is due next, and only when none is under way that comes before it. Those that are kept until
//! then enter ahead when the clock has been due, or when what was before them has arrived.

use super::Engine;
use crate::packet::{Kind, Packet};
use dumbbell_network::{Hop, Leaving};
use dumbbell_path::Fate;
use dumbbell_units::Time;

/// Where a packet goes: behind the hop that it enters it has so many more.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub flow: u32,
    pub kind: Kind,
    pub hops_left: u16,
}

impl Way {
    /// Where a packet goes that enters a hop.
    #[inline]
    pub fn of(packet: &Packet) -> Way {
        Way { flow: packet.flow, kind: packet.kind, hops_left: packet.hops_left }
    }

    /// The same from the next hop on; there must be one.
    #[inline]
    pub fn next(self) -> Way {
        Way { hops_left: self.hops_left - 1, ..self }
    }
}

impl Engine<'_> {
    /// Has a packet that `write` writes enter a joined link at `at`, and those behind it as far as it can be known.
    #[inline(always)]
    pub(super) fn send_ahead(
        &mut self,
        mut at: Time,
        mut hop: Hop,
        mut way: Way,
        size: u16,
        write: impl Fn(&mut Packet),
    ) {
        let written = |way: Way| {
            let write = &write;
            move |place: &mut Packet| {
                write(place);
                place.hops_left = way.hops_left;
            }
        };
        let packet = |way: Way| {
            let mut packet = Packet::default();
            written(way)(&mut packet);
            packet
        };
        while hop.leaving == Leaving::Ahead
            && let Some(link) = self.media.link_mut(hop.medium())
        {
            let fate = link.foretell(at, u32::from(size));
            let Fate::Arrives { departs, arrives } = fate else {
                return self.lose_ahead(at, hop, fate, &packet(way));
            };
            if hop.is_bottleneck {
                self.flows[way.flow as usize].traffic.count_departure(size, departs, self.measured);
            }
            let is_next = link.next_event() == Time::NEVER && arrives < self.clock.next();
            if !is_next || way.hops_left == 0 && !self.flows[way.flow as usize].may_receive_ahead(way.kind) {
                link.keep(departs, written(way));
                let next = link.next_event();
                return self.medium_agenda.advance(hop.medium(), next);
            }
            self.events += 1;
            if way.hops_left == 0 {
                return self.deliver_datagram(arrives, &packet(way));
            }
            at = arrives;
            hop = self.routes.next_hop(way.flow, way.kind.is_forward(), way.hops_left);
            way = way.next();
        }
        self.send_written(at, hop, way.flow, size, written(way));
    }

    /// The same for a packet that has been written, of which the way goes on as `way` says. Kept apart, because most links are
    /// not joined.
    #[inline(never)]
    pub(super) fn send_packet_ahead(&mut self, at: Time, hop: Hop, way: Way, packet: &Packet) {
        if hop.leaving == Leaving::Gathered {
            let mut packet = *packet;
            packet.hops_left = way.hops_left;
            return self.gather_run(at, hop.medium(), &packet, 1);
        }
        self.send_ahead(at, hop, way, packet.size, |place| *place = *packet);
    }

    /// A joined link drops a packet, or loses it behind its transmitter.
    #[inline(never)]
    fn lose_ahead(&mut self, at: Time, hop: Hop, fate: Fate, packet: &Packet) {
        let (Fate::Lost { departs }, Some(link)) = (fate, self.media.link_mut(hop.medium())) else {
            return self.count_drop(packet);
        };
        link.lose(at, departs, *packet);
        if hop.is_bottleneck {
            let traffic = &mut self.flows[packet.flow as usize].traffic;
            traffic.count_departure(packet.size, departs, self.measured);
        }
        self.settle_reports(hop.medium());
    }

    /// The clock has been due, or something has come out of a joined link: packets that were kept in joined links, and come out
    /// of them before the clock is due again, enter the next.
    #[inline(never)]
    pub(super) fn move_ahead(&mut self) {
        for index in 0..self.joined.len() {
            let number = self.joined[index];
            let mut packet = Packet::default();
            while let Some(link) = self.media.link_mut(number)
                && let arrives = link.next_event()
                && arrives < self.clock.next()
                && let Some(way) = link.first_kept().map(Way::of)
                && (way.hops_left > 0 || self.flows[way.flow as usize].may_receive_ahead(way.kind))
                && link.poll_into(arrives, &mut packet)
            {
                self.events += 1;
                if way.hops_left == 0 {
                    self.deliver_datagram(arrives, &packet);
                } else {
                    let hop = self.routes.next_hop(way.flow, way.kind.is_forward(), way.hops_left);
                    self.send_packet_ahead(arrives, hop, way.next(), &packet);
                }
            }
            let next = self.settle_medium(number);
            self.medium_agenda.set(number, next);
        }
    }
}

#[cfg(test)]
mod tests;
