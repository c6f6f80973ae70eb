//! A share of a run's flows, which runs by itself from one look at what the others do to the next.

use super::split::Part;
use crate::agenda::Due;
use crate::checks::Checks;
use crate::engine::Engine;
use crate::engine::clock::Clock;
use crate::engine::crowd::Fetched;
use crate::engine::delivery::Followers;
use crate::engine::memory::Parts;
use crate::engine::turns::{Events, turns};
use crate::engine::wiring::Network;
use crate::flow::Flow;
use crate::packet::Packet;
use crate::{Bounds, Growth, MemoryExceeded, RunError, tables};
use dumbbell_path::{Link, Media, Offered};
use dumbbell_units::Time;

/// Of the causes of offers at the same instant, the arrivals of packets come before the turns of flows, the lower
/// medium first.
const TURNS: u64 = 1 << 63;
/// And of the arrivals of ACKs from the same medium, the one that left for the earlier cause.
const CAUSES_OF_ACKS: u64 = 1 << 8;

/// Some of the flows of a run, with an engine of their own.
pub(super) struct Share<'a> {
    engine: Engine<'a>,
    /// Where it has very many flows.
    fetched: Option<Fetched>,
    part: &'a Part,
    /// Number of the trunk among the media.
    trunk: usize,
    /// When a flow had its turn last, and the cause that this is.
    turn: (Time, u64),
    /// Events of the clock, which the engine of the whole run has, too.
    clock_events: u64,
    /// What was offered to the trunk.
    offered: Vec<Offered<Packet>>,
    /// When media that other shares have, too, had something to do, and their numbers in the whole run.
    pub instants: Vec<(Time, usize)>,
}

/// Tells the trunk what causes the offers.
impl<'a> Events<'a> for Share<'a> {
    #[inline(always)]
    fn engine(&mut self) -> &mut Engine<'a> {
        &mut self.engine
    }

    #[inline(always)]
    fn medium_event(&mut self, medium: usize, packet: &mut Packet) {
        if let Some(fetched) = &mut self.fetched {
            fetched.before_arrival(&self.engine, medium);
        }
        let now = self.engine.now;
        if self.part.is_shared[medium] {
            self.instants.push((now, self.part.links[medium]));
        }
        let number = self.part.links[medium] as u64 * CAUSES_OF_ACKS;
        if self.part.ack_link == Some(medium) {
            return self.deliver_acks(medium, number, packet);
        }
        // At an instant at which a flow has had its turn, media have nothing to do but what that turn has led to.
        let (at, cause) = self.turn;
        self.offer_because(if at == now { cause } else { number });
        self.engine.take_out(medium, packet);
    }

    #[inline(always)]
    fn flow_event(&mut self, flow: usize, due: Due) {
        self.turn = (self.engine.now, TURNS + due.turn() as u64);
        self.offer_because(self.turn.1);
        self.engine.take_turn(flow, due.turn());
    }

    fn note_clock_event(&mut self) {
        self.clock_events += 1;
    }
}

impl<'a> Share<'a> {
    /// The share of `part`, whose `flows` have been made for the whole run.
    pub fn new(part: &'a Part, flows: Vec<Flow>, bounds: Bounds<'a>) -> Result<Share<'a>, RunError> {
        let scenario = &part.scenario;
        let checks = Checks::new(scenario, &[], bounds.cancel)?;
        let mut network = Network::of_share(scenario, part.trunk, flows)?;
        network.shorten_ways(|link| part.is_shared[link]);
        let recorder = tables::recorder(scenario, &network.flows);
        let clock = Clock::new(scenario, &recorder, Vec::new())?;
        let engine = Engine::over(network, scenario.into(), bounds, recorder, clock, checks);
        Ok(Share {
            fetched: engine.is_crowd().then(|| Fetched::new(&engine)),
            engine,
            part,
            trunk: part.trunk,
            turn: (Time::NEVER, 0),
            clock_events: 0,
            offered: Vec::new(),
            instants: Vec::new(),
        })
    }

    /// Handles everything that is due before `until`.
    pub fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        self.settle();
        self.engine.clock.stop_at(until);
        let turns = turns(self).map_err(|error| self.numbered(error))?;
        self.engine.events += turns;
        if let Some(remote) = self.engine.media.link_mut(self.trunk).and_then(Link::remote_mut) {
            remote.swap_offered(&mut self.offered);
        }
        Ok(())
    }

    /// What is offered to the trunk from now on has this cause.
    #[inline]
    fn offer_because(&mut self, cause: u64) {
        if let Some(remote) = self.engine.media.link_mut(self.trunk).and_then(Link::remote_mut) {
            remote.set_cause(cause);
        }
    }

    /// [`medium_event`](Events::medium_event) for the link from which ACKs come to several senders: at the same instant
    /// they come in the order in which they left, and so does what they let into the trunk.
    fn deliver_acks(&mut self, medium: usize, number: u64, packet: &mut Packet) {
        let now = self.engine.now;
        while let Some(link) = self.engine.media.link_mut(medium)
            && let Some((next, _)) = link.take_plain(now, packet)
        {
            self.engine.medium_agenda.set(medium, next);
            self.offer_because(number + u64::from(packet.cause().0));
            self.engine.arrive(packet, Followers::NONE);
            if next > now || self.engine.must_stop(1) {
                return;
            }
        }
    }

    /// What was offered to the trunk and is not yet [settled](Self::settle), and whose it is.
    pub fn offered(&mut self) -> (&mut [Offered<Packet>], &'a Part) {
        (&mut self.offered, self.part)
    }

    /// Learns what became of what was offered to the trunk.
    pub fn settle(&mut self) {
        let engine = &mut self.engine;
        for offer in self.offered.drain(..) {
            let packet = &offer.packet;
            let taken = offer.departures.count();
            if taken == 0 && !offer.is_run {
                engine.count_drop(packet);
                continue;
            }
            let traffic = &mut engine.flows[packet.flow as usize].traffic;
            traffic.count_departures(packet.size, offer.departures, engine.measured);
            traffic.drops += u64::from(offer.count - taken);
            if let Some(link) = engine.media.link_mut(self.trunk) {
                let next = link.carry(&offer);
                engine.medium_agenda.advance(self.trunk, next);
            }
        }
    }

    /// Counts what has arrived by `now` at links other than the trunk at those of the whole run.
    pub fn tell_arrivals(&mut self, now: Time, media: &mut Media<Packet>) {
        for (own, &number) in self.part.links.iter().enumerate().filter(|(own, _)| *own != self.trunk) {
            if let (Some(own), Some(whole)) = (self.engine.media.link_mut(own), media.link_mut(number)) {
                whole.count_arrivals_of(now, own);
            }
        }
    }

    /// The run is over.
    pub fn finish(&mut self, media: &mut Media<Packet>) {
        self.engine.close();
        self.tell_arrivals(self.engine.end, media);
    }

    /// How many events there were that the whole run has not counted.
    pub fn events(&self) -> u64 {
        self.engine.events - self.engine.idle_turns - self.clock_events
    }

    /// Its flows, in their order.
    pub fn flows_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.engine.flows.iter_mut()
    }

    /// Its flows; the rest is given back.
    pub fn into_flows(self) -> Vec<Flow> {
        self.engine.flows
    }

    /// The memory that it took when that was added up last.
    pub fn memory(&self) -> Parts {
        self.engine.memory.parts
    }

    /// What takes most of its memory, of the part of that number.
    pub fn growth(&mut self, part: usize) -> Growth {
        let growth = self.engine.growth(part);
        self.numbered_growth(growth)
    }

    /// `error` with the number that a flow has in the whole run.
    fn numbered(&self, error: RunError) -> RunError {
        match error {
            RunError::Controller { flow, label, algorithm, at, message } => {
                RunError::Controller { flow: self.part.number(flow), label, algorithm, at, message }
            }
            RunError::Memory(exceeded) => {
                let growth = self.numbered_growth(exceeded.growth.clone());
                RunError::Memory(MemoryExceeded { growth, ..exceeded })
            }
            other => other,
        }
    }

    fn numbered_growth(&self, growth: Growth) -> Growth {
        match growth {
            Growth::Senders { flow, label, packets } => {
                Growth::Senders { flow: self.part.number(flow), label, packets }
            }
            other => other,
        }
    }
}
