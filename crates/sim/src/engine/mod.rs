//! A run: takes the earliest event of the agendas, and moves the endpoint or medium it belongs to.
//!
//! The modules below have one reason to change each: `turns` is the event loop, `wiring` builds the network from the
//! scenario, `delivery` takes packets out of media and to their endpoints, `answers` is about receivers, `transmission`
//! takes packets from endpoints into media, `clock` does what is due at instants that are known beforehand (samples,
//! the measured interval, scripted changes), `steps` lets it pause for somebody outside, `faults` ends the run where a
//! controller has failed, `memory` watches what the run takes of the machine, `crowd` has the flows of coming packets
//! fetched where there are thousands.

mod answers;
mod clock;
mod crowd;
mod datagrams;
mod delays;
mod delivery;
mod faults;
mod legs;
mod memory;
mod pages;
mod rounds;
mod scene;
mod shares;
mod spawned;
mod steps;
#[cfg(test)]
mod tests;
mod traffic;
mod transmission;
mod turns;
mod wiring;

pub(crate) use scene::Scene;
pub(crate) use shares::Split;
pub use shares::Unsplit;

use crate::agenda::{FlowAgenda, Turn};
use crate::bounds::go_on;
use crate::checks::Checks;
use crate::flow::Flow;
use crate::packet::{Options, Packet, Payloads, Store};
use crate::{Bounds, RunError, RunOutput, RunSummary, TimedChange, tables};
use clock::Clock;
use crowd::Crowd;
use delays::Delays;
use dumbbell_network::{BusyAgenda, Entry, LinkWatch, Routes, for_each_link, report};
use dumbbell_path::Media;
use dumbbell_results::{self as results, LinkSummary, Recorder};
use dumbbell_units::{Duration, Time};
use memory::Memory;
use std::sync::atomic::Ordering;
use traffic::{Traffic, TrafficRows};
use turns::turns;
use wiring::Network;

/// A run under way.
pub(crate) struct Engine<'a> {
    scenario: Scene<'a>,
    now: Time,
    end: Time,
    media: Media<Packet>,
    flows: Vec<Flow>,
    /// Flows whose controllers may fail.
    fallible: Vec<usize>,
    routes: Routes,
    /// The [delay legs](Routes::take_delay_legs), if there are any.
    delays: Option<Box<Delays>>,
    /// Where each link of the scenario is entered.
    entries: Vec<Entry>,
    /// What packets under way carry besides themselves.
    sacks: Store<Options>,
    /// What datagrams to the far end carry.
    payloads: Payloads,
    /// Those of datagrams to the near end, apart because those are longer.
    replies: Payloads,
    /// When the clock, media and flows have something to do: of what is due at the same time the clock first, then
    /// media, then flows.
    clock: Clock,
    medium_agenda: BusyAgenda<Time>,
    flow_agenda: FlowAgenda,
    recorder: Recorder,
    watch: LinkWatch,
    bounds: Bounds<'a>,
    memory: Memory,
    /// Why the run cannot go on.
    failure: Option<RunError>,
    checks: Checks,
    /// Flows that come and go.
    traffic: Traffic,
    events: u64,
    /// Turns of flows in which nothing was due, because what they were for had been put off. They are no events.
    idle_turns: u64,
    measured: (Time, Time),
    /// Now lies in the measured interval.
    is_measuring: bool,
    /// The ports of the media at the end of the measured interval.
    measured_links: Option<Vec<LinkSummary>>,
}

impl<'a> Engine<'a> {
    /// A run of `scenario` within `bounds`, whose links change as `script` says.
    pub fn new(
        scenario: impl Into<Scene<'a>>,
        script: Vec<TimedChange>,
        bounds: Bounds<'a>,
    ) -> Result<Engine<'a>, RunError> {
        let scenario = scenario.into();
        if let Some((flow, spec)) = scenario.flows.iter().enumerate().find(|(_, spec)| spec.program.is_some()) {
            return Err(RunError::Program { flow, label: spec.label.to_string() });
        }
        let checks = Checks::new(&scenario, &script, bounds.cancel)?;
        let build = if bounds.plain { Network::plain } else { Network::new };
        let mut network = build(&scenario, bounds.cancel)?;
        if script.is_empty() && !bounds.plain {
            network.shorten_ways(|_| false);
            go_on(bounds.cancel)?;
            if scenario.traffic.is_empty() {
                network.take_delay_legs();
                go_on(bounds.cancel)?;
            }
        }
        let recorder = tables::recorder(&scenario, &network.flows);
        let clock = Clock::new(&scenario, &recorder, script)?;
        Ok(Engine::over(network, scenario, bounds, recorder, clock, checks))
    }

    /// A run over a network that has been built.
    fn over(
        network: Network,
        scenario: Scene<'a>,
        bounds: Bounds<'a>,
        recorder: Recorder,
        mut clock: Clock,
        checks: Checks,
    ) -> Engine<'a> {
        let slots = network.slots();
        let Network { media, flows, routes, delays, entries, traffic } = network;
        clock.expect_arrival(traffic.next());
        let mut flow_agenda = FlowAgenda::new(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            flow_agenda.set(index, Turn::Application, flow.start);
        }
        Engine {
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            memory: Memory::new(&media, &flows, &routes),
            medium_agenda: BusyAgenda::new(slots, Time::NEVER),
            media,
            fallible: faults::fallible(&flows),
            flows,
            routes,
            delays,
            entries,
            sacks: Store::default(),
            payloads: Payloads::default(),
            replies: Payloads::default(),
            clock,
            flow_agenda,
            recorder,
            watch: LinkWatch::new(scenario.links.len()),
            bounds,
            failure: None,
            checks,
            traffic,
            events: 0,
            idle_turns: 0,
            measured: (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration.saturating_sub(scenario.cooldown)),
            is_measuring: false,
            measured_links: None,
            scenario,
        }
    }

    /// Runs to the end of the scenario.
    pub fn run(mut self) -> Result<RunOutput, RunError> {
        self.go_on()?;
        self.close();
        self.finish()
    }

    /// Runs until its clock stops it.
    fn go_on(&mut self) -> Result<(), RunError> {
        let is_crowd = self.is_crowd() && !self.bounds.plain;
        let turns = if is_crowd { turns(&mut Crowd::new(self)) } else { turns(self) }?;
        self.events += turns;
        Ok(())
    }

    /// The end has been reached: counts what has not been counted.
    fn close(&mut self) {
        self.now = self.end;
        self.settle_delays(self.end + Duration::from_nanos(1));
        self.end_links();
        self.settle_all_reports();
        if self.measured_links.is_none() {
            self.finish_measurement();
        }
        self.checks.conservation(&self.flows, |is_meant| self.count_under_way(is_meant));
    }

    /// Packets under way of the kind that is asked for.
    fn count_under_way(&self, is_meant: &dyn Fn(&Packet) -> bool) -> u64 {
        let of_legs = self.delays.as_ref().map_or(0, |delays| delays.count(is_meant));
        self.media.iter().map(|medium| medium.count_in_flight(is_meant)).sum::<u64>() + of_legs
    }

    /// The tables of a run that is over.
    fn finish(mut self) -> Result<RunOutput, RunError> {
        let TrafficRows { sources: traffic, completions, pages, rounds } = self.finish_traffic();
        let lasting = &self.flows[..self.scenario.flows.len()];
        let spawned: u64 = traffic.iter().map(|source| source.total.arrived).sum();
        let summary = RunSummary {
            seed: self.scenario.seed,
            sim_s: self.scenario.duration.as_secs_f64(),
            cpu_s: 0.0,
            events: self.events - self.idle_turns,
            packets: lasting.iter().map(|flow| flow.counts().arrived).sum::<u64>() + spawned,
            bytes_per_flow: self.memory_per_flow(),
        };
        let measured_s = self.measured.1.since(self.measured.0).as_secs_f64();
        let datagrams = results::datagrams(&tables::datagram_summaries(&self.scenario, lasting, measured_s));
        let mut measured_links = self.measured_links.unwrap_or_default();
        let mut rows = measured_links.iter_mut();
        for_each_link(&mut self.media, &self.entries, |medium, port| {
            if let Some(row) = rows.next() {
                report::total(row, medium, port, self.end);
            }
        });
        // Where there are very many flows or links, their tables take the room of what was under way.
        drop((self.media, self.delays, self.sacks, self.payloads, self.replies));
        drop((self.medium_agenda, self.flow_agenda, self.routes));
        let links = results::links(&measured_links);
        drop(measured_links);
        let flows = results::flows(tables::flow_summaries(&self.scenario, self.flows, measured_s));
        let (series, link_series) = self.recorder.take();
        let completions = results::completions(completions, &traffic);
        let pages = results::pages(pages, &traffic);
        let rounds = results::rounds(rounds, &traffic);
        let traffic = results::traffic(&traffic);
        Ok(RunOutput { flows, series, links, link_series, traffic, completions, pages, rounds, datagrams, summary })
    }

    /// The next event is at `now`.
    #[inline(always)]
    fn reach(&mut self, now: Time) {
        self.now = now;
        // Until a run that is to stop looks at that again, it may be left with what it began.
        if cfg!(debug_assertions) && self.failure.is_none() && !self.bounds.cancel.load(Ordering::Relaxed) {
            self.checks.clock(now);
        }
    }

    #[cold]
    fn why_stopped(&mut self) -> RunError {
        self.failure.take().unwrap_or(RunError::Cancelled)
    }

    /// It is the turn of an end of a flow, or of its application.
    #[inline(always)]
    fn take_turn(&mut self, index: usize, turn: Turn) {
        match turn {
            Turn::Sender => self.sender_timer(index),
            Turn::Receiver => self.receiver_timer(index),
            Turn::Application => self.application(index),
        }
    }
}
