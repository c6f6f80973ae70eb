//! Links that are joined: packets that enter one of them enter the next at once, ahead of their time.
//!
//! Where everything that enters a link has left one other, in whose order it comes at times that are known
//! ([`Routes::join`](dumbbell_network::Routes::join)), the arrival between them needs no event of its own, though it counts
//! as one. Nobody may notice: a packet enters ahead only until the clock is due next, and only when none is under way that
//! comes before it. When the clock has been due, those that were kept until then enter ahead in their turn.

use super::Engine;
use crate::packet::Packet;
use dumbbell_network::Hop;
use dumbbell_units::Time;

/// Where a packet goes: behind the hop that it enters it has so many more.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub flow: u32,
    pub is_forward: bool,
    pub hops_left: u16,
}

impl Way {
    /// Where a packet goes that enters a hop.
    #[inline]
    pub fn of(packet: &Packet) -> Way {
        Way { flow: packet.flow, is_forward: packet.kind.is_forward(), hops_left: packet.hops_left }
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
        let written = |hops_left: u16| {
            let write = &write;
            move |place: &mut Packet| {
                write(place);
                place.hops_left = hops_left;
            }
        };
        while hop.is_joined
            && let Some(link) = self.media.link_mut(hop.medium())
        {
            let Some(departs) = link.transmit(at, u32::from(size)) else {
                let mut packet = Packet::default();
                write(&mut packet);
                return self.count_drop(&packet);
            };
            if hop.is_bottleneck {
                self.flows[way.flow as usize].traffic.count_departure(size, departs, self.measured);
            }
            let arrives = link.arrival_of(departs);
            if link.next_event() < Time::NEVER || arrives >= self.clock.next() {
                link.keep(departs, written(way.hops_left));
                let next = link.next_event();
                return self.medium_agenda.advance(hop.medium(), next);
            }
            self.events += 1;
            hop = self.routes.next_hop(way.flow, way.is_forward, way.hops_left);
            way = way.next();
            at = arrives;
        }
        self.send_written(at, hop, way.flow, size, written(way.hops_left));
    }

    /// The clock has been due: packets in joined links that come out of them before it is due again enter the next.
    pub(super) fn move_ahead(&mut self) {
        for index in 0..self.joined.len() {
            let number = self.joined[index];
            let mut packet = Packet::default();
            while let Some(link) = self.media.link_mut(number)
                && let arrives = link.next_event()
                && arrives < self.clock.next()
                && link.poll_into(arrives, &mut packet)
            {
                let way = Way::of(&packet);
                let hop = self.routes.next_hop(way.flow, way.is_forward, way.hops_left);
                self.events += 1;
                self.send_ahead(arrives, hop, way.next(), packet.size, |place| *place = packet);
            }
            self.medium_agenda.set(number, self.media.get(number).next_event());
        }
    }
}

#[cfg(test)]
mod tests;
