//! Segments that need no events of their own.
//!
//! Behind a gap a receiver holds back most ACKs, and what it does with the segments in the meantime concerns nobody else.
//! So when one of them has arrived, those that follow it closely on the link are given to their receiver with it, each at
//! the time at which it arrives. Only what looks at receivers from outside, the clock's events, must find the right ones
//! there.

use super::{Engine, MEASURE, RECORD};
use crate::endpoints::Endpoints;
use crate::flow::Flow;
use crate::packet::{Kind, Packet};

impl Engine<'_> {
    /// Gives the receiver of `first`, which has just come out of a link, what follows it there, for as long as its receiver
    /// is silent.
    #[inline(never)]
    pub(super) fn deliver_in_silence(&mut self, index: usize, first: &Packet) {
        let next_look = self.flow_agenda.due(MEASURE).min(self.flow_agenda.due(RECORD)).min(self.end);
        let link = &mut self.links[index];
        let Flow { ends: Endpoints::Tcp { receiver, .. }, one_way_us, .. } = &mut self.flows[first.flow as usize]
        else {
            return;
        };
        let Some(mut silence) = receiver.silence() else { return };
        let until = silence.until().min(next_look);
        let mut delays_us = 0;
        let next_event = link.take_plain_while(|arrives, packet| {
            let is_taken = arrives < until
                && packet.flow == first.flow
                && packet.kind == Kind::Data
                && packet.hops_left == 0
                && silence.takes(arrives, &packet.segment());
            if is_taken {
                delays_us += arrives.since(packet.timestamp).as_micros();
            }
            is_taken
        });
        if self.is_measuring {
            *one_way_us += delays_us;
        }
        let count = silence.end();
        if count > 0 {
            self.events += u64::from(count);
            self.link_agenda.set(index, next_event);
        }
    }
}
