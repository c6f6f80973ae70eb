//! A run with so many flows that they do not fit the caches of a processor.
//!
//! Nearly every packet belongs to another flow than the one before, and its flow has to come from memory. Packets that come
//! out of a link one after the other are known in advance, so their flows are fetched while others are handled, in four
//! steps, each of which reads only what the one before has fetched: the packet, which endpoints its flow has, the endpoint
//! that it goes to, and what that refers to.

use super::Engine;
use super::turns::Events;
use crate::agenda::Due;
use crate::endpoints::Endpoints;
use crate::packet::{Kind, Packet};
use dumbbell_units::prefetch;

/// So many flows have no room in a core's own cache.
pub(super) const FEWEST_FLOWS: usize = 2_000;
/// How many packets of a link come out between each of these steps and the turn of the endpoint.
const STEPS: [usize; 4] = [10, 5, 3, 2];

/// The engine of such a run.
pub(super) struct Crowd<'e, 'a>(pub &'e mut Engine<'a>);

impl<'a> Events<'a> for Crowd<'_, 'a> {
    #[inline(always)]
    fn engine(&mut self) -> &mut Engine<'a> {
        self.0
    }

    #[inline(always)]
    fn medium_event(&mut self, medium: usize, packet: &mut Packet) {
        self.0.fetch_ahead(medium);
        self.0.take_out(medium, packet);
    }

    #[inline(always)]
    fn flow_event(&mut self, flow: usize, due: Due) {
        self.0.take_turn(flow, due.turn());
    }

    #[inline(always)]
    fn note_clock_event(&mut self) {
        self.0.move_ahead();
    }
}

impl Engine<'_> {
    /// Fetches what the next packets of a medium need.
    #[inline(always)]
    fn fetch_ahead(&self, medium: usize) {
        let Some(link) = self.media.link(medium) else { return };
        let [coming, flow, endpoint, rest] = STEPS.map(|ahead| link.upcoming(ahead));
        if let Some(packet) = coming {
            prefetch(packet);
        }
        if let Some(flow) = flow.and_then(|packet| self.flows.get(packet.flow as usize)) {
            prefetch(&flow.ends);
        }
        if let Some(packet) = endpoint {
            self.fetch(packet);
        }
        if let Some(packet) = rest {
            self.fetch_rest(packet);
        }
    }

    /// Fetches the endpoint that a packet goes to.
    #[inline(always)]
    fn fetch(&self, packet: &Packet) {
        let index = packet.flow as usize;
        let Some(flow) = self.flows.get(index) else { return };
        let Endpoints::Tcp { sender, receiver } = &flow.ends else { return };
        match packet.kind {
            Kind::Ack => {
                sender.prefetch();
                prefetch(&flow.traffic);
                if let Some(options) = packet.attachment() {
                    self.sacks.prefetch(options);
                }
            }
            _ => receiver.prefetch(),
        }
        prefetch(&flow.rtt);
        prefetch(&flow.one_way_delays);
        prefetch(self.routes.of(index));
        self.flow_agenda.prefetch(index);
    }

    /// Fetches what that endpoint refers to.
    #[inline(always)]
    fn fetch_rest(&self, packet: &Packet) {
        if packet.kind == Kind::Ack
            && let Some(flow) = self.flows.get(packet.flow as usize)
            && let Endpoints::Tcp { sender, .. } = &flow.ends
        {
            sender.prefetch_rest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::scenario;
    use crate::engine::turns::turns;
    use crate::{Bounds, RunOutput};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_run_is_the_same_whether_its_flows_are_fetched_ahead_or_not() {
        let scenario = scenario(
            r#"
            duration = "3s"
            path = { rate = "20mbit", rtt = "40ms", buffer = "0.5bdp", loss = "1%" }
            flows = [
                { cc = "cubic", count = 20 },
                { cc = "bbr", transport = "quic" },
                { transport = "udp", rate = "1mbit" },
                { cc = "reno", rtt = "60ms" },
            ]
            "#,
        );
        let run = |is_crowd: bool| -> RunOutput {
            let cancel = AtomicBool::new(false);
            let bounds = Bounds { cancel: &cancel, max_memory: u64::MAX, series: None };
            let mut engine = Engine::new(&scenario, Vec::new(), bounds).unwrap();
            let turns = if is_crowd { turns(&mut Crowd(&mut engine)) } else { turns(&mut engine) };
            engine.events += turns.unwrap();
            engine.close();
            engine.finish().unwrap()
        };
        let (alone, crowd) = (run(false), run(true));
        assert!(alone.summary.packets > 1_000);
        assert_eq!(format!("{alone:?}"), format!("{crowd:?}"));
    }
}
