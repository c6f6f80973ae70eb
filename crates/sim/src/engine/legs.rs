//! What happens to packets between two points of their ways: how they enter a hop, and what media report of them later.
//!
//! A hop is a link, a [delay leg](super::delays), or a medium that several share. Behind these doors nobody asks which.

use super::Engine;
use crate::agenda::Turn;
use crate::packet::{Packet, Payloads};
use dumbbell_network::{Hop, Route};
use dumbbell_path::{DropCause, Link, Offer, Packet as _, Port, Report, Train};
use dumbbell_units::Time;

impl Engine<'_> {
    /// A packet of `flow` and of `size` bytes enters a hop. `write` writes it to where it stays: a copy of what was
    /// written a moment ago in smaller parts would have to wait for them. Returns when it will have left the hop, and
    /// its copy if there is one, as far as that is known, and how many of them the hop has taken.
    #[inline(always)]
    pub(super) fn enter(&mut self, hop: Hop, flow: u32, size: u16, write: impl Fn(&mut Packet)) -> (Option<Time>, u32) {
        let written = || {
            let mut packet = Packet::default();
            write(&mut packet);
            packet
        };
        if hop.is_delay_leg {
            self.enter_leg(self.now, hop.medium(), (size, 1), &write);
            return (None, 1);
        }
        let Some(link) = self.media.link_mut(hop.medium()) else { return self.enter_shared(hop, written()) };
        if link.reads_acks() {
            link.read_ack(written().pure_ack(&self.sacks));
        }
        let entered = match link.offer_written(self.now, u32::from(size), &write) {
            Offer::Accepted { departs } => {
                if let Some(departs) = departs
                    && hop.is_bottleneck
                    && !link.decides_late()
                {
                    self.flows[flow as usize].traffic.count_departure(size, departs, self.measured);
                }
                (departs, 1)
            }
            Offer::Dropped(_) => {
                self.count_drop(&written());
                (None, 0)
            }
            Offer::Duplicated { departs } => self.enter_twice(hop, written(), departs),
        };
        self.settle_entered(hop);
        entered
    }

    /// [`enter`](Self::enter) for a medium that several share.
    #[inline(never)]
    fn enter_shared(&mut self, hop: Hop, packet: Packet) -> (Option<Time>, u32) {
        self.read_ack(hop, &packet);
        let entered = match self.media.get_mut(hop.medium()).offer(self.now, hop.port, packet) {
            Offer::Accepted { departs } => {
                self.count_known_departure(hop, &packet, departs);
                (departs, 1)
            }
            Offer::Dropped(_) => {
                self.count_drop(&packet);
                (None, 0)
            }
            Offer::Duplicated { departs } => self.enter_twice(hop, packet, departs),
        };
        let next = self.settle_medium(hop.medium());
        self.medium_agenda.set(hop.medium(), next);
        entered
    }

    /// [`enter`](Self::enter) for a packet that has been written.
    #[inline(never)]
    pub(super) fn send(&mut self, hop: Hop, packet: Packet) {
        self.enter(hop, packet.flow, packet.size, |place| *place = packet);
    }

    /// A packet that has come out of a hop enters the next one.
    #[inline(never)]
    pub(super) fn send_on(&mut self, packet: &Packet) {
        let hop = self.routes.next_hop(packet.flow, packet.kind.is_forward(), packet.hops_left);
        self.enter(hop, packet.flow, packet.size, |place| {
            *place = *packet;
            place.hops_left -= 1;
        });
    }

    /// `count` packets of a run, of which `packet` is the first, have come out of a hop at the same instant and enter
    /// the next one: together, if that takes runs.
    pub(super) fn send_run_on(&mut self, packet: &Packet, count: u32) {
        if count == 1 {
            return self.send_on(packet);
        }
        let hop = self.routes.next_hop(packet.flow, packet.kind.is_forward(), packet.hops_left);
        let mut packet = *packet;
        packet.hops_left -= 1;
        if self.enter_together(hop, packet, count) {
            return self.settle_entered(hop);
        }
        self.send(hop, packet);
        for _ in 1..count {
            packet.follow(1);
            self.send(hop, packet);
        }
    }

    /// `count` packets of a run, of which `packet` is the first, enter a hop as one, which is to be
    /// [settled](Self::settle_entered); false where they have to enter one by one.
    #[inline(always)]
    pub(super) fn enter_together(&mut self, hop: Hop, packet: Packet, count: u32) -> bool {
        if hop.is_delay_leg {
            self.enter_leg(self.now, hop.medium(), (packet.size, count), |place| *place = packet);
            return true;
        }
        let Some(link) = self.media.link_mut(hop.medium()) else { return false };
        let Some(departures) = link.offer_run(self.now, packet, count) else { return false };
        let traffic = &mut self.flows[packet.flow as usize].traffic;
        if hop.is_bottleneck && !link.decides_late() {
            traffic.count_departures(packet.size, departures, self.measured);
        }
        traffic.drops += u64::from(count - departures.count());
        true
    }

    /// Packets have entered a hop: counts what it reports, and arms its slot.
    #[inline(always)]
    pub(super) fn settle_entered(&mut self, hop: Hop) {
        if !hop.is_delay_leg {
            let next = self.settle_medium(hop.medium());
            self.medium_agenda.advance(hop.medium(), next);
        }
    }

    /// Puts a packet of a receiver on its way. Mostly that is only a delay.
    #[inline(always)]
    pub(super) fn send_back(&mut self, route: &Route, packet: Packet) {
        let hop = route.first_reverse;
        if route.passed.is_some() {
            return self.send_back_passing(route, packet);
        }
        let link = if hop.is_delay_leg { None } else { self.media.link_mut(hop.medium()) };
        match link.and_then(|link| link.delay(self.now, packet)) {
            Some(next) => self.medium_agenda.advance(hop.medium(), next),
            None => self.send(hop, packet),
        }
    }

    #[inline(never)]
    fn send_back_passing(&mut self, route: &Route, packet: Packet) {
        self.send_passing(route, self.now, packet.size, |place| *place = packet);
    }

    /// Puts a packet of a receiver, of `size` bytes, on its way at `at`, an instant that may lie ahead where the way
    /// back [passes](dumbbell_network::Routes::shorten) a link: it enters the hop behind that ahead of its time.
    /// `write` writes it.
    #[inline(always)]
    pub(super) fn send_passing(&mut self, route: &Route, at: Time, size: u16, write: impl FnOnce(&mut Packet)) {
        let hop = route.first_reverse;
        let Some(link) = route.passed.and_then(|passed| self.media.link_mut(passed as usize)) else { return };
        let enters = link.pass(at, u32::from(size));
        if hop.is_delay_leg {
            return self.enter_leg(enters, hop.medium(), (size, 1), write);
        }
        let Some(link) = self.media.link_mut(hop.medium()) else { return };
        let mut packet = Packet::default();
        write(&mut packet);
        let next = link.delay_from(enters, packet);
        self.medium_agenda.advance(hop.medium(), next);
    }

    /// A medium has duplicated a packet, which leaves it at `departs`: the copy enters, too.
    #[cold]
    fn enter_twice(&mut self, hop: Hop, packet: Packet, departs: Option<Time>) -> (Option<Time>, u32) {
        self.count_known_departure(hop, &packet, departs);
        let copy = match packet.attachment() {
            None => packet,
            Some(payload) if packet.kind.has_payload() => {
                packet.with_attachment(self.payloads_of(&packet).copy(payload))
            }
            Some(sacks) => packet.with_attachment(self.sacks.copy(sacks)),
        };
        if copy.carries_data() {
            self.flows[copy.flow as usize].traffic.copies += 1;
        }
        self.read_ack(hop, &copy);
        match self.media.get_mut(hop.medium()).offer_copy(self.now, hop.port, copy) {
            Offer::Accepted { departs: last } | Offer::Duplicated { departs: last } => {
                self.count_known_departure(hop, &copy, last);
                (last.or(departs), 2)
            }
            Offer::Dropped(_) => {
                self.count_drop(&copy);
                (departs, 1)
            }
        }
    }

    /// Tells a medium whose queue reads ACKs what the packet acknowledges that enters it next.
    fn read_ack(&mut self, hop: Hop, packet: &Packet) {
        let medium = self.media.get_mut(hop.medium());
        if medium.reads_acks(hop.port) {
            medium.read_ack(hop.port, packet.pure_ack(&self.sacks));
        }
    }

    /// Counts the departure of a packet from its bottleneck, if it is known.
    #[cold]
    pub(super) fn count_known_departure(&mut self, hop: Hop, packet: &Packet, departs: Option<Time>) {
        let is_known = hop.is_bottleneck && !self.media.get(hop.medium()).decides_late(hop.port);
        if let Some(departs) = departs.filter(|_| is_known) {
            self.flows[packet.flow as usize].traffic.count_departure(packet.size, departs, self.measured);
        }
    }

    /// Counts what a medium reports late; returns when it has something to do next.
    #[inline]
    pub(super) fn settle_medium(&mut self, index: usize) -> Time {
        let (next, has_reports) = match self.media.link_mut(index) {
            Some(link) => (link.next_event(), link.has_reports()),
            None => (self.media.get(index).next_event(), true),
        };
        if has_reports {
            self.settle_reports(index);
        }
        next
    }

    /// Counts what a medium reports late for the flows it belongs to: drops, and departures where they are decided
    /// then.
    #[inline(never)]
    pub(super) fn settle_reports(&mut self, index: usize) {
        if self.media.link_mut(index).is_some() {
            while let Some(report) = self.media.link_mut(index).and_then(Link::next_report) {
                match report {
                    Report::Departed(departures, packet) => self.count_late_departures((index, 0), &packet, departures),
                    Report::Dropped(packet, cause) => self.count_late_drop((index, 0), &packet, cause),
                }
            }
            return;
        }
        while let Some((port, departs, packet)) = self.media.get_mut(index).pop_departure() {
            self.count_late_departures((index, port), &packet, Train::at_once(departs, 1));
        }
        while let Some((port, packet, cause)) = self.media.get_mut(index).pop_drop() {
            self.count_late_drop((index, port), &packet, cause);
        }
    }

    /// Packets of a run, of which `packet` is the first, leave a port, which is known only now.
    #[inline]
    fn count_late_departures(&mut self, place: (usize, Port), packet: &Packet, mut departures: Train) {
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        flow.count_late_departures(place, packet, departures, self.measured);
        while departures.count() > 0
            && let Some(next) = flow.complete(place, packet, departures.next())
        {
            self.flow_agenda.advance(index, Turn::Sender, next);
            departures.advance();
        }
    }

    /// A port drops a packet that it had accepted. What is lost behind it had left it before.
    fn count_late_drop(&mut self, place: (usize, Port), packet: &Packet, cause: DropCause) {
        self.count_drop(packet);
        let index = packet.flow as usize;
        let has_left = cause == DropCause::LossAfter;
        if !has_left && let Some(next) = self.flows[index].complete(place, packet, self.now) {
            self.flow_agenda.advance(index, Turn::Sender, next);
        }
    }

    /// Counts all that media have to report by now. Left to themselves, they tell of a loss behind their transmitter
    /// with the next packet only.
    pub(super) fn settle_all_reports(&mut self) {
        for index in 0..self.media.len() {
            self.media.get_mut(index).advance(self.now);
            self.settle_reports(index);
        }
    }

    /// Where the payloads are of datagrams that go the way of this one.
    fn payloads_of(&mut self, packet: &Packet) -> &mut Payloads {
        if packet.kind.is_forward() { &mut self.payloads } else { &mut self.replies }
    }

    #[cold]
    pub(super) fn count_drop(&mut self, packet: &Packet) {
        if packet.carries_data() {
            self.flows[packet.flow as usize].traffic.drops += 1;
        }
        if let Some(attachment) = packet.attachment() {
            if packet.kind.has_payload() {
                self.payloads_of(packet).forget(attachment);
            } else {
                self.sacks.take(attachment);
            }
        }
    }
}
