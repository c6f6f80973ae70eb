//! Takes packets from endpoints into media, and counts what media report of them.

use super::Engine;
use super::joined::Way;
use crate::agenda::{Cause, Turn};
use crate::endpoints::Endpoints;
use crate::flow::{Flow, Traffic};
use crate::packet::{Kind, Packet, flow_number};
use dumbbell_network::{Hop, Leaving};
use dumbbell_path::{DropCause, Link, Offer, Packet as _, Port, Train};
use dumbbell_transport::Burst;
use dumbbell_units::Time;
use std::sync::atomic::Ordering;

/// Packets that arrive at the same instant between two checks whether the run has to stop.
pub(super) const PACKETS_PER_CHECK: u64 = 64;
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

    /// A sender's timer that is due at the instant at which an ACK arrives goes first, as it does on Linux in virtual time. Pacing
    /// repeats its intervals in the ACKs a round trip later, so that both often are due together.
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

    pub(super) fn transmit_bursts(&mut self, index: usize, first: Burst) {
        let now = self.now;
        let route = self.routes.of(index);
        let hop = route.first_forward;
        if !hop.is_left_in_time() {
            return self.transmit_to_gathered(index, first);
        }
        let Flow { ends: Endpoints::Tcp { sender, .. }, traffic, data, device, .. } = &mut self.flows[index] else {
            return;
        };
        let kind = *data;
        let Some(link) = self.media.link_mut(hop.medium()) else { return self.transmit_over_any(index, first) };
        let counts = hop.is_bottleneck && !link.decides_late();
        let mut next = Some(first);
        let mut until_check = BURSTS_PER_CHECK;
        while let Some(burst) = next {
            let together = match burst.first_of_alike() {
                Some(first) if !sender.wants_completions() => {
                    let packet = Packet::first_of(&burst, flow_number(index), route.forward_rest, route.header, first);
                    let packet = packet.of_kind(kind);
                    link.offer_run(now, packet, burst.remaining()).map(|departures| (packet.size, departures))
                }
                _ => None,
            };
            match together {
                Some((size, departures)) => {
                    if counts {
                        traffic.count_departures(size, departures, self.measured);
                    }
                    traffic.drops += u64::from(burst.remaining() - departures.count());
                }
                None => {
                    let mut way = FirstLink { link, counts, traffic, kind, now, measured: self.measured, accepted: 0 };
                    let departs = way.offer_each(flow_number(index), route.forward_rest, route.header, burst);
                    if device.is_some() {
                        sender.handed_over_untold(burst.bytes, way.accepted);
                    } else {
                        sender.handed_over(burst.bytes, departs);
                    }
                }
            }
            until_check -= 1;
            if until_check == 0 {
                let is_too_large = sender.memory() + link.memory() > self.bounds.max_memory;
                if is_too_large || self.bounds.cancel.load(Ordering::Relaxed) {
                    return self.measure_memory();
                }
                until_check = BURSTS_PER_CHECK;
            }
            next = sender.poll_again();
        }
        let next = self.settle_medium(hop.medium());
        self.medium_agenda.advance(hop.medium(), next);
    }

    /// The same where the first hop is a [gathered](Self::gather) link.
    #[inline(never)]
    fn transmit_to_gathered(&mut self, index: usize, first: Burst) {
        let now = self.now;
        let mut next = Some(first);
        let mut until_check = BURSTS_PER_CHECK;
        while let Some(burst) = next {
            let route = self.routes.of(index);
            let (link, hops_left, header) = (route.first_forward.medium(), route.forward_rest, route.header);
            let flow = &mut self.flows[index];
            let kind = flow.data;
            let Endpoints::Tcp { sender, .. } = &mut flow.ends else { return };
            match burst.first_of_alike() {
                Some(first) if !sender.wants_completions() => {
                    let size = (first.len + u16::from(header), burst.remaining());
                    self.gather(now, link, size, |place| {
                        *place = Packet::first_of(&burst, flow_number(index), hops_left, header, first).of_kind(kind);
                    });
                }
                _ => {
                    sender.handed_over(burst.bytes, now);
                    burst.fold(now, |now, segment| {
                        let packet = Packet::data(flow_number(index), hops_left, header, segment).of_kind(kind);
                        self.gather_run(now, link, &packet, 1);
                        now
                    });
                }
            }
            let Endpoints::Tcp { sender, .. } = &mut self.flows[index].ends else { return };
            until_check -= 1;
            if until_check == 0 {
                let is_too_large = sender.memory() + self.gathered.memory() > self.bounds.max_memory;
                if is_too_large || self.bounds.cancel.load(Ordering::Relaxed) {
                    return self.measure_memory();
                }
                until_check = BURSTS_PER_CHECK;
            }
            next = sender.poll_again();
        }
    }

    /// The same where the first hop is no link.
    #[cold]
    fn transmit_over_any(&mut self, index: usize, first: Burst) {
        let now = self.now;
        let route = *self.routes.of(index);
        let kind = self.flows[index].data;
        let mut next = Some(first);
        while let Some(burst) = next {
            let mut accepted = 0;
            let departs = burst.fold(now, |_, segment| {
                let packet = Packet::data(flow_number(index), route.forward_rest, route.header, segment);
                let (departs, packets) = self.send_over_any(route.first_forward, packet.of_kind(kind));
                accepted += packets;
                departs
            });
            if self.must_stop(u64::from(burst.remaining())) {
                return;
            }
            let Flow { ends: Endpoints::Tcp { sender, .. }, device, .. } = &mut self.flows[index] else { return };
            if device.is_some() {
                sender.handed_over_untold(burst.bytes, accepted);
            } else {
                sender.handed_over(burst.bytes, departs);
            }
            next = sender.poll_again();
        }
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

    /// Hands a packet to a medium.
    #[inline(always)]
    pub(super) fn send(&mut self, hop: Hop, packet: Packet) {
        self.send_at(self.now, hop, packet);
    }

    /// The same at `at`, which lies before now only behind [gathered](Self::gather) links.
    #[inline(never)]
    pub(super) fn send_at(&mut self, at: Time, hop: Hop, packet: Packet) {
        if !hop.is_left_in_time() {
            self.send_packet_ahead(at, hop, Way::of(&packet), &packet);
        } else {
            self.send_written(at, hop, packet.flow, packet.size, |place| *place = packet);
        }
    }

    /// Hands a packet that has come out of a medium to the next one.
    #[inline(never)]
    pub(super) fn send_on(&mut self, hop: Hop, packet: &Packet) {
        if !hop.is_left_in_time() {
            self.send_packet_ahead(self.now, hop, Way::of(packet).next(), packet);
        } else {
            self.send_written(self.now, hop, packet.flow, packet.size, |place| {
                *place = *packet;
                place.hops_left -= 1;
            });
        }
    }

    /// Hands a packet to a medium that `write` writes to where it stays: a copy of what was written a moment ago in smaller
    /// parts would have to wait for them. It enters at `at`, which lies ahead only behind a [joined](Self::send_ahead) link.
    #[inline(always)]
    pub(super) fn send_written(&mut self, at: Time, hop: Hop, flow: u32, size: u16, write: impl Fn(&mut Packet)) {
        let written = || {
            let mut packet = Packet::default();
            write(&mut packet);
            packet
        };
        let Some(link) = self.media.link_mut(hop.medium()) else {
            self.send_over_any(hop, written());
            return;
        };
        if link.reads_acks() {
            link.read_ack(written().pure_ack(&self.sacks));
        }
        match link.offer_written(at, u32::from(size), &write) {
            Offer::Accepted { departs: Some(departs) } => {
                if hop.is_bottleneck && !link.decides_late() {
                    self.flows[flow as usize].traffic.count_departure(size, departs, self.measured);
                }
            }
            Offer::Accepted { departs: None } => {}
            Offer::Dropped(_) => self.count_drop(&written()),
            Offer::Duplicated { departs } => {
                let packet = written();
                self.count_known_departure(hop, &packet, departs);
                self.send_copy(hop, packet);
            }
        }
        let next = self.settle_medium(hop.medium());
        self.medium_agenda.advance(hop.medium(), next);
    }

    /// Hands `count` packets of data that belong to a run to a medium, of which `packet` is the first: together, if the medium
    /// takes runs.
    pub(super) fn send_run(&mut self, at: Time, hop: Hop, mut packet: Packet, count: u32) {
        if hop.leaving == Leaving::Gathered {
            return self.gather_run(at, hop.medium(), &packet, count);
        }
        let mut counts = hop.is_bottleneck;
        let departures = self.media.link_mut(hop.medium()).and_then(|link| {
            counts &= !link.decides_late();
            link.offer_run(at, packet, count)
        });
        let Some(departures) = departures else {
            self.send_at(at, hop, packet);
            for _ in 1..count {
                packet.follow(1);
                self.send_at(at, hop, packet);
            }
            return;
        };
        let traffic = &mut self.flows[packet.flow as usize].traffic;
        if counts {
            traffic.count_departures(packet.size, departures, self.measured);
        }
        traffic.drops += u64::from(count - departures.count());
        let next = self.settle_medium(hop.medium());
        self.medium_agenda.advance(hop.medium(), next);
    }

    /// Hands the copy of a packet to the medium that has duplicated it; returns when the copy will have left it, if that is
    /// known.
    #[cold]
    pub(super) fn send_copy(&mut self, hop: Hop, packet: Packet) -> Option<Time> {
        let copy = match packet.attachment() {
            None => packet,
            Some(payload) if packet.kind.has_payload() => packet.with_attachment(self.payloads.copy(payload)),
            Some(sacks) => packet.with_attachment(self.sacks.copy(sacks)),
        };
        if copy.carries_data() {
            self.flows[copy.flow as usize].traffic.copies += 1;
        }
        self.read_ack(hop, &copy);
        match self.media.get_mut(hop.medium()).offer_copy(self.now, hop.port, copy) {
            Offer::Accepted { departs } | Offer::Duplicated { departs } => {
                self.count_known_departure(hop, &copy, departs);
                departs
            }
            Offer::Dropped(_) => {
                self.count_drop(&copy);
                None
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

    /// [`send`](Self::send) for a medium that need not be a link; returns when the packet will have left it, and its copy if
    /// there is one, as far as that is known, and how many of them it has taken.
    #[inline(never)]
    pub(super) fn send_over_any(&mut self, hop: Hop, packet: Packet) -> (Time, u32) {
        let mut accepted = 1;
        self.read_ack(hop, &packet);
        let departs = match self.media.get_mut(hop.medium()).offer(self.now, hop.port, packet) {
            Offer::Accepted { departs } => {
                self.count_known_departure(hop, &packet, departs);
                departs
            }
            Offer::Dropped(_) => {
                self.count_drop(&packet);
                accepted = 0;
                None
            }
            Offer::Duplicated { departs } => {
                self.count_known_departure(hop, &packet, departs);
                accepted = 2;
                self.send_copy(hop, packet).or(departs)
            }
        };
        let next = self.settle_medium(hop.medium());
        self.medium_agenda.set(hop.medium(), next);
        (departs.unwrap_or(self.now), accepted)
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

    /// Counts what a medium reports late for the flows it belongs to: drops, and departures where they are decided then.
    #[inline(never)]
    pub(super) fn settle_reports(&mut self, index: usize) {
        if self.media.link_mut(index).is_some() {
            while let Some((departures, packet)) = self.media.link_mut(index).and_then(Link::pop_departures) {
                self.count_late_departures((index, 0), &packet, departures);
            }
            while let Some((packet, cause)) = self.media.link_mut(index).and_then(Link::pop_drop) {
                self.count_late_drop((index, 0), &packet, cause);
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

    /// Counts all that media have to report by now. Left to themselves, they tell of a loss behind their transmitter with
    /// the next packet only.
    pub(super) fn settle_all_reports(&mut self) {
        for index in 0..self.media.len() {
            self.media.get_mut(index).advance(self.now);
            self.settle_reports(index);
        }
    }

    #[cold]
    pub(super) fn count_drop(&mut self, packet: &Packet) {
        if packet.carries_data() {
            self.flows[packet.flow as usize].traffic.drops += 1;
        }
        if let Some(attachment) = packet.attachment() {
            if packet.kind.has_payload() {
                self.payloads.forget(attachment);
            } else {
                self.sacks.take(attachment);
            }
        }
    }
}

/// The first link of a sender's packets.
struct FirstLink<'e> {
    link: &'e mut Link<Packet>,
    /// Departures are known at once, and counted here.
    counts: bool,
    traffic: &'e mut Traffic,
    /// What its packets of data are.
    kind: Kind,
    now: Time,
    measured: (Time, Time),
    /// Packets that the link has taken, copies included.
    accepted: u32,
}

impl FirstLink<'_> {
    /// Offers the packets of a burst one by one; returns when the last one will have left the transmitter, as far as that
    /// is known.
    #[inline(never)]
    fn offer_each(&mut self, flow: u32, hops_left: u16, header: u8, burst: Burst) -> Time {
        burst.fold(self.now, |_, segment| {
            let packet = Packet::data(flow, hops_left, header, segment);
            self.offer(packet.of_kind(self.kind))
        })
    }

    /// Offers a data packet; returns when it will have left the transmitter, as far as that is known.
    #[inline]
    fn offer(&mut self, packet: Packet) -> Time {
        self.accepted += 1;
        match self.link.offer(self.now, packet) {
            Offer::Accepted { departs: Some(departs) } => {
                if self.counts {
                    self.traffic.count_departure(packet.size, departs, self.measured);
                }
                departs
            }
            Offer::Accepted { departs: None } => self.now,
            Offer::Dropped(_) => {
                self.accepted -= 1;
                self.traffic.drops += u64::from(packet.carries_data());
                self.now
            }
            Offer::Duplicated { departs } => self.offer_copy(packet, departs),
        }
    }

    /// Offers the copy of a data packet that leaves at `departs`; returns when both will have left the transmitter.
    #[cold]
    fn offer_copy(&mut self, packet: Packet, departs: Option<Time>) -> Time {
        self.traffic.copies += u64::from(packet.carries_data());
        let copy = match self.link.offer_copy(self.now, packet) {
            Offer::Accepted { departs } | Offer::Duplicated { departs } => {
                self.accepted += 1;
                departs
            }
            Offer::Dropped(_) => {
                self.traffic.drops += u64::from(packet.carries_data());
                None
            }
        };
        for departs in [departs, copy].into_iter().flatten().filter(|_| self.counts) {
            self.traffic.count_departure(packet.size, departs, self.measured);
        }
        copy.or(departs).unwrap_or(self.now)
    }
}
