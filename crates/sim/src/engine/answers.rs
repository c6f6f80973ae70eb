//! Receivers: what reaches them, and what they answer.
//!
//! What a receiver does depends on nothing but the segments of its flow and its own timers. So where its ACKs are only
//! delayed on their way back, it answers segments of a run together when the first of them arrives, and its ACKs enter
//! the link of that way [ahead of their time](dumbbell_path::Link::delay_among). It does so up to the instant at which
//! somebody looks at receivers and links. What is taken together counts as many events.

use super::Engine;
use super::delivery::Followers;
use crate::agenda::{Cause, Turn};
use crate::endpoints::Endpoints;
use crate::packet::{Packet, flow_number};
use dumbbell_transport::{Ack, Answer, CumulativeAck, EvenRun, Horizon};
use dumbbell_units::Time;

/// Fewer followers are not worth a question whether a receiver is in steady state.
const FEWEST_FOLLOWERS: u32 = 3;

impl Engine<'_> {
    /// A data segment reaches its receiver. While the receiver holds back its ACK, `followers` that arrive before
    /// anybody looks at the receiver are taken together with the segment, without events of their own.
    #[inline(always)]
    pub(super) fn deliver_segment(&mut self, packet: &Packet, followers: Followers) {
        let index = packet.flow as usize;
        let now = self.now;
        if followers.count >= FEWEST_FOLLOWERS && self.is_settled(index) && self.answer_steadily(packet, followers) {
            return;
        }
        let flow = &mut self.flows[index];
        if self.is_measuring {
            flow.one_way_delays += now.since(packet.left_at());
        }
        let Endpoints::Tcp { receiver, .. } = &mut flow.ends else { return };
        let segment = packet.segment();
        let answer = receiver.on_run(
            now,
            segment,
            Horizon::at(self.clock.next()),
            #[inline(always)]
            |most, before| {
                let Some(link) = self.media.link_mut(followers.link) else { return 0 };
                let (taken, delays) = link.take_followers(most.min(followers.count), before, segment.sent_at);
                if taken > 0 {
                    self.medium_agenda.set(followers.link, link.next_event());
                    self.events += u64::from(taken);
                    if self.is_measuring {
                        flow.one_way_delays += delays;
                    }
                }
                taken
            },
        );
        match answer {
            Answer::Ack(ack) => self.acknowledge_cumulatively(index, ack),
            Answer::Waiting => self.acknowledge_waiting(index),
            Answer::Delayed => self.flow_agenda.advance(index, Turn::Receiver, receiver.next_timer()),
            Answer::Silence => {}
        }
    }

    /// Whether a receiver may be in steady state.
    #[inline(always)]
    fn is_settled(&self, index: usize) -> bool {
        matches!(&self.flows[index].ends, Endpoints::Tcp { receiver, .. } if receiver.is_settled())
    }

    /// Has a receiver in steady state answer a segment and `followers`; returns whether it has.
    #[inline(never)]
    fn answer_steadily(&mut self, packet: &Packet, followers: Followers) -> bool {
        let Followers { link, count } = followers;
        let index = packet.flow as usize;
        if !self.routes.of(index).answers_ahead {
            return false;
        }
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { receiver, .. } = &mut flow.ends else { return false };
        let Some(link_of_run) = self.media.link_mut(link) else { return false };
        let Some(interval) = link_of_run.even_interval() else { return false };
        let segment = packet.segment();
        let run = EvenRun { interval, count: 1 + count, until: self.clock.next() };
        let Some(acks) = receiver.take_steady(self.now, &segment, &run) else { return false };

        let others = acks.segments() - 1;
        let (_, delays) = link_of_run.take_followers(others, Time::NEVER, segment.sent_at);
        self.medium_agenda.set(link, link_of_run.next_event());
        if self.is_measuring {
            flow.one_way_delays += self.now.since(segment.sent_at) + delays;
        }
        self.events += u64::from(others);
        let mut cause = Cause::ARRIVAL;
        if acks.are_of_reader {
            cause = Cause::of_turn(Turn::Receiver);
            self.events += u64::from(acks.count);
        }
        for (at, ack) in acks {
            self.acknowledge_ahead(index, at, ack, cause);
        }
        true
    }

    #[inline(never)]
    fn acknowledge_waiting(&mut self, index: usize) {
        let Endpoints::Tcp { receiver, .. } = &mut self.flows[index].ends else { return };
        let ack = receiver.poll_transmit(self.now);
        self.flow_agenda.advance(index, Turn::Receiver, receiver.next_timer());
        if let Some(ack) = ack {
            self.acknowledge(index, &ack, Cause::ARRIVAL);
        }
    }

    /// It is the turn of a receiver.
    #[inline(always)]
    pub(super) fn receiver_timer(&mut self, index: usize) {
        let now = self.now;
        let Endpoints::Tcp { receiver, .. } = &mut self.flows[index].ends else {
            return self.datagram_timer(index, Turn::Receiver);
        };
        if receiver.next_timer() <= now {
            if let Some(ack) = receiver.on_timer(now) {
                self.acknowledge(index, &ack, Cause::of_turn(Turn::Receiver));
            }
        } else {
            self.idle_turns += 1;
        }
        self.flow_agenda.set(index, Turn::Receiver, self.flows[index].ends.receiver_timer());
    }

    /// Sends an ACK of a receiver, which has this cause.
    #[inline(always)]
    fn acknowledge(&mut self, index: usize, ack: &Ack, cause: Cause) {
        let route = *self.routes.of(index);
        let packet = Packet::ack(flow_number(index), &route, ack, &mut self.sacks);
        self.send_back(&route, packet.because(cause));
    }

    /// Sends an ACK of a receiver that answers an arrival and has no SACK blocks.
    #[inline(always)]
    fn acknowledge_cumulatively(&mut self, index: usize, ack: CumulativeAck) {
        let route = *self.routes.of(index);
        let packet = Packet::cumulative_ack(flow_number(index), &route, ack);
        self.send_back(&route, packet);
    }

    /// Sends an ACK without SACK blocks that leaves at `at`, an instant that may lie ahead where the way back
    /// [allows](Route::answers_ahead) it.
    #[inline(always)]
    fn acknowledge_ahead(&mut self, index: usize, at: Time, ack: CumulativeAck, cause: Cause) {
        let route = *self.routes.of(index);
        let packet = Packet::cumulative_ack(flow_number(index), &route, ack).because(cause);
        let hop = route.first_reverse;
        if route.passed.is_some() {
            self.send_passing(&route, at, packet.size, |place| *place = packet);
        } else if let Some(link) = self.media.link_mut(hop.medium())
            && let Some(next) = link.delay_among(at, packet)
        {
            self.medium_agenda.advance(hop.medium(), next);
        }
    }
}
