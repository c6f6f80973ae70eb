//! Takes packets out of media, and to the next hop or up to their endpoints.

use super::Engine;
use super::memory::PACKETS_PER_CHECK;
use crate::agenda::{Cause, Turn};
use crate::endpoints::Endpoints;
use crate::flow::Phase;
use crate::packet::{Kind, Packet};
use crate::streams::Part;
use dumbbell_path::Link;
use dumbbell_transport::quic::QuicPacket;
use dumbbell_transport::{Handshake, SetUp};
use dumbbell_units::Duration;

/// The rest of the run whose packet came out of a link last. They go to the same endpoint.
#[derive(Clone, Copy)]
pub(super) struct Followers {
    pub link: usize,
    pub count: u32,
}

impl Followers {
    pub const NONE: Followers = Followers { link: 0, count: 0 };
}

impl Engine<'_> {
    /// Moves on what has come out of a medium; `packet` is a place for it.
    // As a call, which the event loops of runs and of shares would make, it takes 32 instructions a packet more.
    #[inline(always)]
    pub(super) fn take_out(&mut self, index: usize, packet: &mut Packet) {
        let now = self.now;
        let Some(link) = self.media.link_mut(index) else { return self.any_medium_event(index, packet) };
        let Some((next, count)) = link.take_plain(now, packet) else { return self.any_medium_event(index, packet) };
        if next > now {
            self.medium_agenda.set(index, next);
            self.arrive(packet, Followers { link: index, count });
        } else {
            self.take_out_at_once(index, packet, count);
        }
    }

    /// Moves on a packet that has come out of a link with `count` more of its run, and those that come out at the same
    /// instant. Kept apart, because mostly there is one.
    #[inline(never)]
    fn take_out_at_once(&mut self, index: usize, packet: &mut Packet, mut count: u32) {
        let now = self.now;
        let mut until_check = PACKETS_PER_CHECK;
        loop {
            self.arrive_at_once(packet, Followers { link: index, count });
            if self.must_stop_behind(1, &mut until_check) {
                return;
            }
            let Some(link) = self.media.link_mut(index) else { return };
            let Some((next, followers)) = link.take_plain(now, packet) else { break };
            count = followers;
            if next > now {
                self.medium_agenda.set(index, next);
                return self.arrive(packet, Followers { link: index, count });
            }
        }
        self.any_medium_event(index, packet);
    }

    /// Moves on what comes out of a shared medium, or of a link that may do more to a packet than delay it.
    #[inline(never)]
    fn any_medium_event(&mut self, index: usize, packet: &mut Packet) {
        if self.delays.is_some() && self.leave_legs(index, packet) {
            return;
        }
        let now = self.now;
        while self.poll_medium(index, packet) {
            let next = self.media.link_mut(index).and_then(|link| link.next_arrival()).filter(|&next| next > now);
            if let Some(next) = next {
                self.medium_agenda.set(index, next);
            }
            self.move_on(packet);
            if self.must_stop(1) || next.is_some() {
                return;
            }
        }
        let next = self.settle_medium(index);
        self.medium_agenda.set(index, next);
    }

    /// Writes to `packet` what has come out next; false when there is nothing.
    #[inline]
    fn poll_medium(&mut self, index: usize, packet: &mut Packet) -> bool {
        if let Some(link) = self.media.link_mut(index) {
            return link.poll_into(self.now, packet);
        }
        let polled = self.media.get_mut(index).poll(self.now);
        polled.map(|(_, next)| *packet = next).is_some()
    }

    /// [`arrive`](Self::arrive) out of line.
    #[inline(never)]
    pub(super) fn move_on(&mut self, packet: &mut Packet) {
        self.arrive(packet, Followers::NONE);
    }

    /// [`arrive`](Self::arrive) for a packet that another one follows at the same instant. Those of a run enter the
    /// next medium together.
    #[inline(always)]
    fn arrive_at_once(&mut self, packet: &mut Packet, followers: Followers) {
        if packet.hops_left == 0 || followers.count == 0 {
            return self.arrive(packet, Followers::NONE);
        }
        let now = self.now;
        let together =
            |link: &mut Link<Packet>| link.take_followers(followers.count, now + Duration::from_nanos(1), now).0;
        let taken = self.media.link_mut(followers.link).map_or(0, together);
        self.send_run_on(packet, 1 + taken);
    }

    /// A packet comes out of a medium: it enters the next medium of its route, or its endpoint receives it, which may
    /// take some of its `followers` at once.
    #[inline(always)]
    pub(super) fn arrive(&mut self, packet: &mut Packet, followers: Followers) {
        if packet.hops_left > 0 {
            return self.send_on(packet);
        }
        match packet.kind {
            Kind::Data => self.deliver_segment(packet, followers),
            Kind::Ack => self.deliver_ack(packet),
            Kind::Datagram => self.deliver_datagram(packet),
            Kind::Reply => self.deliver_reply(packet),
            Kind::Syn | Kind::SynAck | Kind::HandshakeAck => self.deliver_handshake(packet),
            Kind::Awaited | Kind::AwaitedDatagram => self.deliver_awaited(packet),
        }
    }

    /// Data reaches its receiver, whose application may have waited for it. Nothing is taken ahead of its time.
    #[inline(never)]
    fn deliver_awaited(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let part = if self.flows[index].streams.is_some() { self.part(packet) } else { None };
        if packet.kind == Kind::Awaited {
            self.deliver_segment(packet, Followers::NONE);
        } else {
            self.deliver_datagram(packet);
        }
        let flow = &mut self.flows[index];
        let received = flow.ends.received();
        if let (Some(part), Some(streams)) = (part, &mut flow.streams) {
            streams.arrive(self.now, part, received.delivered_segments, self.is_measuring);
        }
        if received.delivered_bytes >= flow.awaited {
            self.transfer_arrived(index);
        }
    }

    /// The data in a packet; `None` for a probe without any.
    fn part(&self, packet: &Packet) -> Option<Part> {
        if packet.kind == Kind::Awaited {
            let segment = packet.segment();
            return (segment.len > 0).then(|| Part { number: segment.seq.into(), sent_at: segment.sent_at });
        }
        let arrival = packet.arrival(self.payloads.get(packet.attachment()?));
        QuicPacket::decode(arrival).map(|data| Part { number: data.seq.into(), sent_at: data.sent_at })
    }

    /// An ACK reaches its sender.
    pub(super) fn deliver_ack(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let now = self.now;
        if self.flow_agenda.has_due(now) {
            self.sender_timer_first(index);
        }
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { sender, .. } = &mut flow.ends else { return };
        match packet.options() {
            None => sender.on_cumulative_ack(now, packet.cumulative()),
            Some(options) => sender.on_ack(now, &packet.acknowledgement(self.sacks.take(options))),
        }
        if let Ok(rtt_us) = u64::try_from(sender.last_sample().rtt_us) {
            self.checks.rtt(index, rtt_us);
            if self.is_measuring {
                flow.rtt.add(rtt_us);
            }
        }
        let is_idle = sender.is_idle();
        // Most ACKs release nothing.
        let next = match sender.poll_transmit(now) {
            None => sender.next_timer(),
            Some(burst) => {
                self.transmit_bursts(index, burst);
                self.flows[index].ends.sender_timer()
            }
        };
        self.flow_agenda.advance(index, Turn::Sender, next);
        if is_idle && self.flows[index].note_completion(now) {
            self.retire(index);
        }
    }

    /// A datagram of the near end reaches the far end.
    #[inline(never)]
    fn deliver_datagram(&mut self, packet: &Packet) {
        let (index, now) = (packet.flow as usize, self.now);
        let flow = &mut self.flows[index];
        if self.is_measuring {
            flow.one_way_delays += now.since(packet.left_at());
        }
        let (Endpoints::Other(ends), Some(payload)) = (&mut flow.ends, packet.attachment()) else { return };
        let news = ends.far.on_packet(now, packet.arrival(self.payloads.get(payload)));
        self.payloads.forget(payload);
        if self.is_measuring
            && let Some(datagrams) = &mut flow.datagrams
        {
            datagrams.one_way.add(now.since(packet.left_at()).as_micros());
            if let Some(took) = news.frame() {
                datagrams.frames.add(took.as_micros());
            }
        }
        self.flow_agenda.advance(index, Turn::Receiver, ends.far.next_timer());
        self.transmit_replies(index);
    }

    /// A datagram of the far end reaches the near end.
    fn deliver_reply(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let now = self.now;
        if self.flow_agenda.has_due(now) {
            self.sender_timer_first(index);
        }
        let flow = &mut self.flows[index];
        let (Endpoints::Other(ends), Some(payload)) = (&mut flow.ends, packet.attachment()) else { return };
        let news = ends.near.on_packet(now, packet.arrival(self.replies.get(payload)));
        self.replies.forget(payload);
        if let Some(rtt) = news.rtt() {
            self.checks.rtt(index, rtt.as_micros());
            if self.is_measuring {
                flow.rtt.add(rtt.as_micros());
            }
            if let Some(datagrams) = &mut flow.datagrams {
                datagrams.rtt = Some(rtt);
            }
        }
        if news.is_idle() && flow.note_completion(now) {
            self.retire(index);
        }
        self.transmit_datagrams(index);
        if let Endpoints::Other(ends) = &self.flows[index].ends {
            self.flow_agenda.advance(index, Turn::Sender, ends.near.next_timer());
        }
    }

    #[cold]
    fn deliver_handshake(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let now = self.now;
        let flow = &mut self.flows[index];
        let Some(set_up) = &mut flow.set_up else { return };
        match packet.kind {
            Kind::Syn => {
                let echo = set_up.on_syn(now, packet.left_at());
                self.send_syn_ack(index, echo, Cause::ARRIVAL);
            }
            Kind::SynAck if flow.phase == Phase::Connecting => {
                let handshake = set_up.on_syn_ack(now, packet.echo(), packet.left_at());
                self.establish(index, handshake);
            }
            Kind::SynAck => self.send_handshake_ack(index),
            _ => {
                flow.set_up = None;
                flow.ends.accept(now);
            }
        }
        let next = self.flows[index].next_action();
        self.flow_agenda.set(index, Turn::Application, next);
    }

    /// The near end may talk, and the application begins to write.
    fn establish(&mut self, index: usize, handshake: Handshake) {
        let now = self.now;
        let flow = &mut self.flows[index];
        flow.phase = Phase::Established;
        flow.ends.establish(now, handshake);
        // Ends that need no handshake end none.
        if flow.set_up.is_some() {
            self.send_handshake_ack(index);
        }
        let flow = &mut self.flows[index];
        flow.begin_writing(now);
        flow.write_due(now);
        let next = flow.next_action();
        self.flow_agenda.set(index, Turn::Application, next);
        self.transmit(index);
    }

    /// Sends again what of the handshake is due. A server that has received data has heard of the client's end.
    fn repeat_handshake(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Some(set_up) = flow.set_up.as_mut().filter(|set_up| set_up.next_timer() <= now) else { return };
        if flow.ends.received().arrived_segments > 0 {
            flow.set_up = None;
            return;
        }
        let repetition = set_up.on_timer(now);
        if repetition.has_failed {
            flow.stop_writing(now);
            self.retire(index);
        }
        if repetition.syn {
            self.send_syn(index);
        }
        if let Some(echo) = repetition.syn_ack {
            self.send_syn_ack(index, echo, Cause::of_turn(Turn::Application));
        }
    }

    /// Start, connection attempt, write or stop of an application.
    pub(super) fn application(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if flow.stop <= now {
            flow.stop_writing(now);
        } else {
            match flow.phase {
                Phase::Waiting if flow.ends.is_connectionless() => {
                    self.establish(index, Handshake::NONE);
                }
                Phase::Waiting => {
                    flow.phase = Phase::Connecting;
                    flow.set_up = Some(Box::new(SetUp::new(now, &self.traffic.spec(&self.scenario, index).transport)));
                    self.send_syn(index);
                }
                Phase::Connecting => self.repeat_handshake(index),
                Phase::Established => {
                    self.repeat_handshake(index);
                    let flow = &mut self.flows[index];
                    flow.write_due(now);
                    self.transmit(index);
                }
                Phase::Stopped => {}
            }
        }
        let next = self.flows[index].next_action();
        self.flow_agenda.set(index, Turn::Application, next);
    }
}
