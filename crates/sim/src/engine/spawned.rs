//! Flows that come and go: the numbers they get, and when a number is free for another.
//!
//! A packet knows its flow by its number, so a number is free only when the flow is over and none of its packets is
//! left in the network: no late segment, no ACK of one. Nobody counts packets for that. When numbers run out, one look
//! at all packets under way finds every flow that has none left. Such a look costs as much as there are packets under
//! way, and it is taken only when at least half of all numbers belong to flows that are over, so that it costs a flow
//! next to nothing.

use super::Engine;
use super::wiring::attach_device;
use crate::agenda::Turn;
use crate::flow::{Flow, Phase};
use crate::packet::{Packet, flow_number};
use dumbbell_network::{assign, spawned_stream};
use dumbbell_results::FlowCounts;
use dumbbell_scenario::{Flow as Spec, Scenario};
use dumbbell_units::{Time, claimed};
use std::cell::Cell;

/// Fewer flows that are over are not worth the look.
const WORTH_A_LOOK: usize = 64;

/// The numbers of flows that come and go.
#[derive(Default)]
pub(super) struct Spawned {
    /// By number, counted from behind the flows that last.
    places: Vec<Place>,
    /// Places of flows that are over, of which packets may be left.
    over: Vec<usize>,
    free: Vec<usize>,
}

/// The flow that has a number.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its source, and its number among the flows of that.
    pub source: u32,
    pub number: u64,
    /// What it transfers.
    pub bytes: u64,
    /// Its user, where connections stay.
    pub user: u32,
    state: State,
}

impl Place {
    /// A flow that begins.
    pub fn new(source: u32, number: u64, bytes: u64, user: u32) -> Place {
        Place { source, number, bytes, user, state: State::Active }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    Over,
    Free,
}

impl Spawned {
    /// What the flow at a place is.
    pub fn spec<'s>(&self, scenario: &'s Scenario, place: usize) -> &'s Spec {
        let Place { source, user, .. } = self.places[place];
        scenario.traffic[source as usize].sender(user)
    }

    /// What flow number `index` is, if it comes and goes.
    pub fn place(&self, scenario: &Scenario, index: usize) -> Option<Place> {
        self.places.get(index.checked_sub(scenario.flows.len())?).copied()
    }

    /// Flow number `index` begins another transfer.
    pub fn replace(&mut self, scenario: &Scenario, index: usize, transfer: Place) {
        let place = index.checked_sub(scenario.flows.len()).and_then(|place| self.places.get_mut(place));
        if let Some(place) = place {
            *place = transfer;
        }
    }

    /// How many numbers there are.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory [claimed] for the numbers, without the flows that have them.
    pub fn memory(&self) -> u64 {
        let listed = [&self.over, &self.free].map(|list| claimed::<usize>(list.len(), list.capacity()));
        claimed::<Place>(self.places.len(), self.places.capacity()) + listed.iter().sum::<u64>()
    }
}

impl Engine<'_> {
    /// A flow of a source begins to connect.
    pub(super) fn spawn(&mut self, source: usize, place: Place) {
        let now = self.now;
        let scenario = &self.scenario;
        let own = &self.traffic.sources[source];
        let way = *own.way(place.user);
        let spec = scenario.traffic[source].sender(place.user);
        let stream = || spawned_stream(scenario.seed, place.source, place.number);
        let controller = spec.cc.controller(stream());
        let mut flow = Flow::new(spec, controller, own.asked(now), way.bottleneck, || stream().next_u64());
        if self.bounds.plain {
            flow.ends.predict_nothing();
        }
        flow.transfer(place.bytes, u16::try_from(spec.transport.mss).unwrap_or(u16::MAX));
        attach_device(&mut flow, &spec.forward, &mut self.media, &self.entries);
        let (route, ack_codepoint) = (way.route, flow.ends.ack_codepoint());
        let index = self.take_place(place, flow);
        self.routes.adopt(index, route);
        self.routes.mark_acks(index, ack_codepoint);
        // The number may have been that of a flow with another code point.
        if self.traffic.has_code_points {
            let spec = self.scenario.traffic[source].sender(place.user);
            assign(&mut self.media, &self.entries, spec, flow_number(index));
        }
        self.checks.adopt(index, source, place.user);
        self.traffic.sources[source].note_flow(place.user, index);
        self.watch(index);
        for turn in [Turn::Sender, Turn::Receiver] {
            self.flow_agenda.set(index, turn, Time::NEVER);
        }
        self.application(index);
    }

    /// Gives a flow a number.
    fn take_place(&mut self, place: Place, flow: Flow) -> usize {
        let lasting = self.scenario.flows.len();
        let spawned = &self.traffic.spawned;
        if spawned.free.is_empty() && spawned.over.len() >= WORTH_A_LOOK.max(spawned.places.len() / 2) {
            self.find_free_places();
        }
        let spawned = &mut self.traffic.spawned;
        if let Some(free) = spawned.free.pop() {
            spawned.places[free] = place;
            self.flows[lasting + free] = flow;
            return lasting + free;
        }
        spawned.places.push(place);
        self.flows.push(flow);
        self.flow_agenda.grow(self.flows.len());
        self.flows.len() - 1
    }

    /// A flow that comes and goes is over: everything is acknowledged, or nobody answered. Others stay.
    pub(super) fn retire(&mut self, index: usize) {
        let Some(place) = index.checked_sub(self.scenario.flows.len()) else { return };
        let spawned = &mut self.traffic.spawned;
        if spawned.places[place].state != State::Active {
            return;
        }
        spawned.places[place].state = State::Over;
        spawned.over.push(place);
        self.traffic.sources[spawned.places[place].source as usize].active -= 1;
        let flow = &mut self.flows[index];
        flow.phase = Phase::Stopped;
        flow.set_up = None;
        self.flow_agenda.set(index, Turn::Application, Time::NEVER);
    }

    /// Looks which of the flows that are over have no packet left.
    #[cold]
    fn find_free_places(&mut self) {
        if let Err(fault) = self.check_faults() {
            self.failure.get_or_insert(fault);
        }
        self.settle_all_reports();
        let lasting = self.scenario.flows.len();
        let is_under_way = vec![Cell::new(false); self.traffic.spawned.places.len()];
        let note = |packet: &Packet| {
            let place = (packet.flow as usize).checked_sub(lasting);
            if let Some(mark) = place.and_then(|place| is_under_way.get(place)) {
                mark.set(true);
            }
            false
        };
        for medium in self.media.iter() {
            medium.count_in_flight(&note);
        }
        let (left, gone): (Vec<usize>, Vec<usize>) =
            self.traffic.spawned.over.drain(..).partition(|&place| is_under_way[place].get());
        self.traffic.spawned.over = left;
        for &place in &gone {
            self.count_spawned(place);
            self.traffic.spawned.places[place].state = State::Free;
        }
        self.traffic.spawned.free = gone;
    }

    /// Adds what was counted of a flow to its source.
    fn count_spawned(&mut self, place: usize) {
        let flow = &self.flows[self.scenario.flows.len() + place];
        let counts = flow.counts();
        let measured = if self.is_measuring {
            counts.since(flow.measured)
        } else if self.measured_links.is_some() {
            flow.measured
        } else {
            FlowCounts::default()
        };
        let own = self.traffic.spawned.places[place];
        let summary = &mut self.traffic.sources[own.source as usize].summary;
        summary.measured = summary.measured.plus(measured);
        summary.total = summary.total.plus(counts);
        summary.wire_bytes += flow.traffic.wire_bytes;
        summary.rtt.merge(&flow.rtt);
        // One who still thinks has asked for nothing.
        if flow.awaited < u64::MAX && flow.start <= self.end {
            let row = self.completion(own, flow.start, None);
            self.traffic.completions.push(row);
        }
    }

    /// Counts all spawned flows that are left, when the run is over.
    pub(super) fn count_all_spawned(&mut self) {
        for place in 0..self.traffic.spawned.places.len() {
            if self.traffic.spawned.places[place].state != State::Free {
                self.count_spawned(place);
            }
        }
    }
}
