//! Sources of traffic: flows that arrive while the run goes on, and what is counted of them.

use super::Engine;
use super::pages::PageLoads;
use super::spawned::{Place, Spawned};
use crate::Growth;
use crate::agenda::Turn;
use crate::flow::Flow;
use dumbbell_network::{Agenda, Entry, Route, slowest_rate, source_stream};
use dumbbell_results::{Completion, PageLoad, TrafficSummary};
use dumbbell_scenario::{Flow as Spec, Scenario, Traffic as TrafficSpec};
use dumbbell_traffic::{Arrival, Request, Source as Generator};
use dumbbell_units::{Duration, Time, claimed};

/// All sources of a run, and their flows.
#[derive(Default)]
pub(super) struct Traffic {
    pub sources: Vec<Source>,
    /// When the next flow of each source arrives; `None` without sources.
    agenda: Option<Agenda<Time>>,
    pub spawned: Spawned,
    /// Some of its flows have code points of their own.
    pub has_code_points: bool,
    /// Transfers that are over.
    pub completions: Vec<Completion>,
}

/// A source of traffic.
pub(super) struct Source {
    generator: Generator,
    pub route: Route,
    pub bottleneck: Entry,
    /// Bits per second of the slowest link of its flows; `None` when unlimited.
    rate: Option<u64>,
    base_rtt: Duration,
    stop: Time,
    /// What a request takes to the sender.
    way_back: Duration,
    /// The flow that arrives next: when, its size, and whose it is.
    arrives: Time,
    bytes: u64,
    user: u32,
    /// Users that are still to come with their first request, the last to come first.
    users: Vec<(Time, u32, u64)>,
    /// Pages of users who load some.
    pages: PageLoads,
    /// Transfers so far.
    transfers: u64,
    /// Flows that are there now.
    pub active: u64,
    pub summary: TrafficSummary,
}

impl Traffic {
    /// Adds a source, whose flows take `route`.
    pub fn add(&mut self, spec: &TrafficSpec, scenario: &Scenario, route: Route, bottleneck: Entry) {
        let number = self.sources.len();
        let flow = &spec.flow;
        let measured_s =
            scenario.duration.saturating_sub(scenario.cooldown).saturating_sub(scenario.warmup).as_secs_f64();
        let summary = TrafficSummary {
            source: u32::try_from(number).unwrap_or(u32::MAX),
            label: flow.label.to_string(),
            kind: spec.source.kind(),
            cc: flow.cc.name().to_owned(),
            algorithm: flow.cc.exact_name().to_owned(),
            measured_s,
            ..TrafficSummary::default()
        };
        let mut source = Source {
            generator: spec.source.make(source_stream(scenario.seed, number)),
            route,
            bottleneck,
            rate: slowest_rate(scenario, &flow.forward),
            base_rtt: flow.base_rtt,
            stop: flow.stop.unwrap_or(Time::NEVER),
            way_back: way_back(scenario, flow),
            arrives: flow.start,
            bytes: 0,
            user: 0,
            users: Vec::new(),
            pages: PageLoads::default(),
            transfers: 0,
            active: 0,
            summary,
        };
        source.gather_users();
        source.draw();
        let agenda = self.agenda.get_or_insert_with(|| Agenda::new(1, Time::NEVER));
        agenda.grow(number + 1, Time::NEVER);
        agenda.set(number, source.arrives);
        self.sources.push(source);
        self.has_code_points |= flow.dscp.is_some();
    }

    /// When the next flow arrives.
    pub fn next(&self) -> Time {
        self.agenda.as_ref().map_or(Time::NEVER, |agenda| agenda.next().1)
    }

    /// The source of a flow that arrives at `now`, and what it is.
    fn pop(&mut self, now: Time) -> Option<(usize, Place)> {
        let agenda = self.agenda.as_mut()?;
        let (number, due) = agenda.next();
        if due > now {
            return None;
        }
        let source = &mut self.sources[number];
        let place = Place::new(source.summary.source, source.transfers, source.bytes, source.user);
        source.transfers += 1;
        source.pages.begin_next();
        source.draw();
        agenda.set(number, source.arrives);
        Some((number, place))
    }

    /// A source has found out anew when its next flow arrives.
    fn reschedule(&mut self, number: usize) {
        let source = &mut self.sources[number];
        source.draw();
        if let Some(agenda) = &mut self.agenda {
            agenda.set(number, source.arrives);
        }
    }

    /// What flow number `index` is, whether it lasts or comes and goes.
    pub fn spec<'s>(&self, scenario: &'s Scenario, index: usize) -> &'s Spec {
        match index.checked_sub(scenario.flows.len()) {
            None => &scenario.flows[index],
            Some(slot) => &scenario.traffic[self.spawned.source(slot)].flow,
        }
    }

    /// Bytes of memory for flows that come and go, without their distributions, and for what is kept of them.
    pub fn memory(&self, flows: &[Flow]) -> u64 {
        let spawned = &flows[flows.len() - self.spawned.places()..];
        let flows = spawned.iter().map(Flow::memory).sum::<usize>() as u64;
        let completions = claimed::<Completion>(self.completions.len(), self.completions.capacity());
        let pages = self.sources.iter().map(|source| source.pages.memory()).sum::<u64>();
        flows + self.spawned.memory() + completions + pages
    }

    /// What there is of them.
    pub fn growth(&self) -> Growth {
        let active = self.sources.iter().map(|source| source.active).sum();
        Growth::Traffic { active, over: self.completions.len() as u64 }
    }
}

impl Source {
    /// Draws the next arrival.
    fn draw(&mut self) {
        self.arrives = match &mut self.generator {
            Generator::Flows(flows) => flows.next().map_or(Time::NEVER, |Arrival { after, bytes }| {
                self.bytes = bytes;
                self.arrives + after
            }),
            Generator::Users(_) => self.users.pop().map_or(Time::NEVER, |(at, user, bytes)| {
                (self.user, self.bytes) = (user, bytes);
                at
            }),
            Generator::Pages(_) => {
                // A page that has begun is loaded to its end.
                self.arrives = self.pages.next().map_or(Time::NEVER, |(at, user, bytes)| {
                    (self.user, self.bytes) = (user, bytes);
                    at
                });
                return;
            }
        };
        if self.arrives >= self.stop {
            self.arrives = Time::NEVER;
        }
    }

    /// Draws when the users of a source come, and what they ask for first.
    fn gather_users(&mut self) {
        let begin = self.arrives;
        if let Generator::Pages(pages) = &mut self.generator {
            self.pages = PageLoads::new(pages, begin, self.stop);
        }
        let Generator::Users(users) = &mut self.generator else { return };
        let first = (0u32..).zip(0..users.count()).filter_map(|(user, index)| {
            let Request { after, bytes } = users.ask(index)?;
            Some((begin + after, user, bytes))
        });
        self.users = first.collect();
        self.users.sort_by_key(|&(at, user, _)| std::cmp::Reverse((at, user)));
    }

    /// What the user of a transfer that is complete at `now` asks for next over the same connection: when, and how many
    /// bytes.
    fn asks_next(&mut self, user: u32, now: Time) -> Option<(Time, u64)> {
        let users = match &mut self.generator {
            Generator::Flows(_) => return None,
            Generator::Users(users) => users,
            Generator::Pages(pages) => return self.pages.arrived(pages, user, now, self.stop),
        };
        let Request { after, bytes } = users.ask(user as usize)?;
        Some((now + after, bytes)).filter(|(at, _)| *at < self.stop)
    }

    /// How long a transfer takes at the full rate of an empty path.
    fn ideal(&self, bytes: u64) -> Duration {
        let sending = self.rate.map_or(0, |rate| u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.max(1)));
        self.base_rtt + Duration::from_nanos(u64::try_from(sending).unwrap_or(u64::MAX))
    }
}

impl Engine<'_> {
    /// Whether an instant lies in the measured interval.
    fn is_measured(&self, at: Time) -> bool {
        at >= self.measured.0 && at < self.measured.1
    }

    /// The row of a transfer; `took` is `None` if the run ended before it was over.
    pub(super) fn completion(&self, place: Place, start: Time, took: Option<Duration>) -> Completion {
        let Place { source, number, bytes, .. } = place;
        let ideal = self.traffic.sources[source as usize].ideal(bytes);
        Completion { source, number, start, is_measured: self.is_measured(start), bytes, took, ideal }
    }

    /// The flows that are due arrive.
    pub(super) fn arrivals(&mut self) {
        while let Some((source, place)) = self.traffic.pop(self.now) {
            let own = &mut self.traffic.sources[source];
            own.active += 1;
            own.summary.max_active = own.summary.max_active.max(own.active);
            self.spawn(source, place);
        }
        self.clock.expect_arrival(self.traffic.next());
    }

    /// The receiving application of a flow has all that it waited for.
    pub(super) fn transfer_arrived(&mut self, index: usize) {
        let (now, counts) = (self.now, u64::from(self.is_measured(self.now)));
        let flow = &mut self.flows[index];
        flow.awaited = u64::MAX;
        let start = flow.start;
        let Some(place) = self.traffic.spawned.place(self.scenario, index) else { return };
        let source = &mut self.traffic.sources[place.source as usize];
        source.summary.completed = (source.summary.completed.0 + counts, source.summary.completed.1 + 1);
        let row = self.completion(place, start, Some(now.since(start)));
        self.traffic.completions.push(row);
        self.ask_again(index, place);
    }

    /// The user of a connection that stays thinks, and asks again.
    fn ask_again(&mut self, index: usize, place: Place) {
        let number = place.source as usize;
        let asked = self.traffic.sources[number].asks_next(place.user, self.now);
        if matches!(self.traffic.sources[number].generator, Generator::Pages(_)) {
            self.traffic.reschedule(number);
            self.clock.expect_arrival(self.traffic.next());
        }
        let Some((asks, bytes)) = asked else { return };
        let source = &mut self.traffic.sources[number];
        let next = Place::new(place.source, source.transfers, bytes, place.user);
        source.transfers += 1;
        let flow = &mut self.flows[index];
        let mss = u16::try_from(self.scenario.traffic[number].flow.transport.mss).unwrap_or(u16::MAX);
        flow.transfer_again(asks, asks + source.way_back, bytes, mss);
        self.flow_agenda.set(index, Turn::Application, flow.next_action());
        self.traffic.spawned.replace(self.scenario, index, next);
    }

    /// The rows of all sources and of all transfers, when the run is over.
    pub(super) fn finish_traffic(&mut self) -> (Vec<TrafficSummary>, Vec<Completion>, Vec<PageLoad>) {
        self.count_all_spawned();
        let mut sources = std::mem::take(&mut self.traffic.sources);
        let completions = std::mem::take(&mut self.traffic.completions);
        for row in &completions {
            let started = &mut sources[row.source as usize].summary.started;
            *started = (started.0 + u64::from(row.is_measured), started.1 + 1);
        }
        let pages = sources.iter_mut().flat_map(|source| self.finish_pages(source)).collect();
        (sources.into_iter().map(|source| source.summary).collect(), completions, pages)
    }

    /// The pages of a source, which are counted in its row.
    fn finish_pages(&self, source: &mut Source) -> Vec<PageLoad> {
        let summary = &mut source.summary;
        let mut rows = std::mem::take(&mut source.pages).finish();
        for row in &mut rows {
            (row.source, row.is_measured) = (summary.source, self.is_measured(row.start));
            let Some(took) = row.took else { continue };
            summary.pages.1 += 1;
            if row.is_measured {
                summary.pages.0 += 1;
                summary.page_loads.add(took.as_micros());
            }
        }
        rows
    }
}

/// Propagation delay from the receiver of a flow to its sender.
fn way_back(scenario: &Scenario, flow: &Spec) -> Duration {
    flow.reverse.iter().fold(Duration::ZERO, |sum, &link| sum + scenario.links[link].config.delay.base)
}
