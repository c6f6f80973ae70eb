//! A run with so many flows that they do not fit the caches of a processor.
//!
//! Nearly every run of packets belongs to another flow than the one before, and its flow has to come from memory. What
//! comes out of a link next is known in advance, so its flows are fetched while others are handled, in three steps,
//! each of which reads only what the one before has fetched: which endpoints the flow has, the endpoint that the
//! packets go to, and what that and the packets refer to. The packets themselves lie one behind the other, which a
//! processor notices.

use super::Engine;
use super::turns::Events;
use crate::agenda::Due;
use crate::endpoints::Endpoints;
use crate::flow::Flow;
use crate::packet::{Kind, Packet, Payloads};
use dumbbell_units::prefetch;

/// So many flows have no room in a core's own cache.
const FEWEST_FLOWS: usize = 2_000;
/// So many flows of datagrams have none: QUIC keeps more of each packet, and an ACK has ranges that three others keep.
const FEWEST_FLOWS_OF_DATAGRAMS: usize = 300;
/// How many runs of a link come out between each of these steps and the turn of the endpoint.
const STEPS: [usize; 3] = [5, 3, 2];

/// The engine of such a run.
pub(super) struct Crowd<'e, 'a> {
    engine: &'e mut Engine<'a>,
    fetched: Fetched,
}

impl<'e, 'a> Crowd<'e, 'a> {
    pub fn new(engine: &'e mut Engine<'a>) -> Crowd<'e, 'a> {
        Crowd { fetched: Fetched::new(engine), engine }
    }
}

impl<'a> Events<'a> for Crowd<'_, 'a> {
    #[inline(always)]
    fn engine(&mut self) -> &mut Engine<'a> {
        self.engine
    }

    #[inline(always)]
    fn medium_event(&mut self, medium: usize, packet: &mut Packet) {
        self.fetched.before_arrival(self.engine, medium);
        self.engine.take_out(medium, packet);
    }

    #[inline(always)]
    fn flow_event(&mut self, flow: usize, due: Due) {
        self.engine.take_turn(flow, due.turn());
    }
}

/// What has been fetched ahead.
pub(super) struct Fetched {
    /// For each medium that is a link, the [place](dumbbell_path::Coming::place) of the run that came out last when
    /// flows of later ones were fetched.
    places: Vec<usize>,
}

impl Fetched {
    /// Nothing of the flows of an engine.
    pub fn new(engine: &Engine<'_>) -> Fetched {
        Fetched { places: vec![usize::MAX; engine.media.len()] }
    }

    /// A packet is about to come out of a medium: fetches what later runs need. The packets of a run go to one flow, so
    /// it does so once a run.
    #[inline(always)]
    pub fn before_arrival(&mut self, engine: &Engine<'_>, medium: usize) {
        let (Some(link), Some(place)) = (engine.media.link(medium), self.places.get_mut(medium)) else { return };
        let coming = link.coming();
        if *place != coming.place() {
            *place = coming.place();
            let [flow, endpoint, rest] = STEPS;
            engine.fetch_ahead([coming.behind(flow), coming.behind(endpoint), coming.behind(rest)]);
        }
    }
}

impl Engine<'_> {
    /// Whether there are so many flows that it pays to fetch them ahead.
    pub(super) fn is_crowd(&self) -> bool {
        let datagrams = || self.flows.iter().filter(|flow| matches!(flow.ends, Endpoints::Other(_))).count();
        self.flows.len() >= FEWEST_FLOWS || datagrams() >= FEWEST_FLOWS_OF_DATAGRAMS
    }

    /// Fetches what the next packets of a medium need.
    #[inline(always)]
    fn fetch_ahead(&self, [flow, endpoint, rest]: [Option<&Packet>; 3]) {
        if let Some(flow) = flow.and_then(|packet| self.flows.get(packet.flow as usize)) {
            prefetch(&flow.ends);
        }
        if let Some(packet) = endpoint {
            self.fetch(packet, rest);
        }
        if let Some(packet) = rest {
            self.fetch_rest(packet);
        }
    }

    /// Fetches the endpoint that a packet goes to. Where that takes datagrams, so mostly does that of the packet
    /// whose `rest` is to be fetched, which is asked here alone: runs of TCP take no instruction for it.
    #[inline(always)]
    fn fetch(&self, packet: &Packet, rest: Option<&Packet>) {
        let index = packet.flow as usize;
        let Some(flow) = self.flows.get(index) else { return };
        let Endpoints::Tcp { sender, receiver } = &flow.ends else { return self.fetch_end(packet, flow, rest) };
        match packet.kind {
            Kind::Ack => {
                sender.prefetch();
                prefetch(&flow.traffic);
                prefetch(&flow.rtt);
                if let Some(options) = packet.options() {
                    self.sacks.prefetch(options);
                }
            }
            _ => {
                receiver.prefetch();
                prefetch(&flow.one_way_delays);
            }
        }
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

    /// [`fetch`](Self::fetch) for a datagram.
    #[inline(never)]
    fn fetch_end(&self, packet: &Packet, flow: &Flow, rest: Option<&Packet>) {
        let Endpoints::Other(ends) = &flow.ends else { return };
        let index = packet.flow as usize;
        if packet.kind == Kind::Reply {
            ends.near.prefetch();
            prefetch(&flow.traffic);
            prefetch(&flow.rtt);
            prefetch(&flow.data);
        } else {
            ends.far.prefetch();
            prefetch(&flow.one_way_delays);
            prefetch(&flow.datagrams);
        }
        if let Some(payload) = packet.attachment() {
            self.payloads_of_kind(packet.kind).prefetch(payload);
        }
        prefetch(self.routes.of(index));
        self.flow_agenda.prefetch(index);
        if let Some(packet) = rest {
            self.fetch_rest_of_end(packet);
        }
    }

    /// [`fetch_rest`](Self::fetch_rest) for a datagram: the payload, and what its end refers to.
    #[inline]
    fn fetch_rest_of_end(&self, packet: &Packet) {
        let Some(Flow { ends: Endpoints::Other(ends), .. }) = self.flows.get(packet.flow as usize) else { return };
        if packet.kind == Kind::Reply {
            ends.near.prefetch_rest();
        } else {
            ends.far.prefetch_rest();
        }
        if let Some(payload) = packet.attachment() {
            self.payloads_of_kind(packet.kind).prefetch_bytes(payload);
        }
    }

    /// Where the payloads are of datagrams of a kind.
    #[inline]
    fn payloads_of_kind(&self, kind: Kind) -> &Payloads {
        if kind == Kind::Reply { &self.replies } else { &self.payloads }
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
            let bounds = Bounds { cancel: &cancel, max_memory: u64::MAX, series: None, plain: false };
            let mut engine = Engine::new(&scenario, Vec::new(), bounds).unwrap();
            let turns = if is_crowd { turns(&mut Crowd::new(&mut engine)) } else { turns(&mut engine) };
            engine.events += turns.unwrap();
            engine.close();
            engine.finish().unwrap()
        };
        let (alone, crowd) = (run(false), run(true));
        assert!(alone.summary.packets > 1_000);
        assert_eq!(format!("{alone:?}"), format!("{crowd:?}"));
    }
}
