//! Sources of traffic: flows that arrive while the run goes on, and what is counted of them.

use super::Engine;
use super::pages::PageLoads;
use super::rounds::Rounds;
use super::spawned::{Place, Spawned};
use crate::Growth;
use crate::agenda::Turn;
use crate::flow::Flow;
use dumbbell_network::{Agenda, Entry, Route, slowest_rate, source_stream};
use dumbbell_results::{Completion, PageLoad, Round, TrafficSummary};
use dumbbell_scenario::{Flow as Spec, Scenario, Traffic as TrafficSpec};
use dumbbell_traffic::{Answer, Arrival, Request, Source as Generator};
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
    /// The ways of its senders, in turn.
    ways: Vec<Way>,
    stop: Time,
    /// The flow that arrives next: when, its size, and whose it is.
    arrives: Time,
    bytes: u64,
    user: u32,
    /// Users that are still to come with their first request, the last to come first.
    users: Vec<(Time, u32, u64)>,
    /// Pages of users who load some.
    pages: PageLoads,
    /// Rounds of an incast.
    rounds: Rounds,
    /// Transfers so far.
    transfers: u64,
    /// Flows that are there now.
    pub active: u64,
    pub summary: TrafficSummary,
}

/// The way of a sender.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub route: Route,
    /// Where throughput is measured.
    pub bottleneck: Entry,
    /// Bits per second of the slowest link; `None` when unlimited.
    rate: Option<u64>,
    base_rtt: Duration,
    /// What a request takes to the sender.
    back: Duration,
}

impl Way {
    pub fn new(flow: &Spec, scenario: &Scenario, route: Route, bottleneck: Entry) -> Way {
        let rate = slowest_rate(scenario, &flow.forward);
        Way { route, bottleneck, rate, base_rtt: flow.base_rtt, back: way_back(scenario, flow) }
    }

    /// How long a transfer takes at the full rate of an empty path.
    fn ideal(&self, bytes: u64) -> Duration {
        let sending = self.rate.map_or(0, |rate| u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.max(1)));
        self.base_rtt + Duration::from_nanos(u64::try_from(sending).unwrap_or(u64::MAX))
    }
}

impl Traffic {
    /// Adds a source, whose senders take `ways`.
    pub fn add(&mut self, spec: &TrafficSpec, scenario: &Scenario, ways: Vec<Way>) {
        let number = self.sources.len();
        let flow = spec.flow();
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
            ways,
            stop: flow.stop.unwrap_or(Time::NEVER),
            arrives: flow.start,
            bytes: 0,
            user: 0,
            users: Vec::new(),
            pages: PageLoads::default(),
            rounds: Rounds::default(),
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
            Some(slot) => self.spawned.spec(scenario, slot),
        }
    }

    /// Bytes of memory for flows that come and go, without their distributions, and for what is kept of them.
    pub fn memory(&self, flows: &[Flow]) -> u64 {
        let spawned = &flows[flows.len() - self.spawned.places()..];
        let flows = spawned.iter().map(Flow::memory).sum::<usize>() as u64;
        let completions = claimed::<Completion>(self.completions.len(), self.completions.capacity());
        let parts = self.sources.iter().map(|source| source.pages.memory() + source.rounds.memory());
        flows + self.spawned.memory() + completions + parts.sum::<u64>()
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
            Generator::Users(_) | Generator::Incast(_) => self.users.pop().map_or(Time::NEVER, |(at, user, bytes)| {
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
        // A round that has begun takes its time.
        if self.arrives >= self.stop && !matches!(self.generator, Generator::Incast(_)) {
            self.arrives = Time::NEVER;
        }
    }

    /// Draws when the users of a source come, and what they ask for first.
    fn gather_users(&mut self) {
        let begin = self.arrives;
        if let Generator::Pages(pages) = &mut self.generator {
            self.pages = PageLoads::new(pages, begin, self.stop);
        }
        self.users = match &mut self.generator {
            Generator::Users(users) => {
                let first = (0u32..).zip(0..users.count()).filter_map(|(user, index)| {
                    let Request { after, bytes } = users.ask(index)?;
                    Some((begin + after, user, bytes))
                });
                first.collect()
            }
            Generator::Incast(barrier) => {
                let (rounds, first) = Rounds::new(barrier, begin);
                self.rounds = rounds;
                first
            }
            Generator::Flows(_) | Generator::Pages(_) => Vec::new(),
        };
        self.users.sort_by_key(|&(at, user, _)| std::cmp::Reverse((at, user)));
    }

    /// What the user of a transfer that is complete at `now` asks for next over the same connection: when, and how many
    /// bytes.
    fn asks_next(&mut self, user: u32, now: Time) -> Option<(Time, u64)> {
        let users = match &mut self.generator {
            Generator::Flows(_) | Generator::Incast(_) => return None,
            Generator::Users(users) => users,
            Generator::Pages(pages) => return self.pages.arrived(pages, user, now, self.stop),
        };
        let Request { after, bytes } = users.ask(user as usize)?;
        Some((now + after, bytes)).filter(|(at, _)| *at < self.stop)
    }

    /// The way of a sender.
    pub fn way(&self, sender: u32) -> &Way {
        &self.ways[sender as usize % self.ways.len()]
    }

    /// The flow of a server has a number.
    pub fn note_flow(&mut self, server: u32, flow: usize) {
        if matches!(self.generator, Generator::Incast(_)) {
            self.rounds.note_flow(server, flow);
        }
    }

    /// When a flow that begins to connect at `now` was asked for.
    pub fn asked(&self, now: Time) -> Time {
        if matches!(self.generator, Generator::Incast(_)) { self.rounds.begin() } else { now }
    }
}

impl Engine<'_> {
    /// Whether an instant lies in the measured interval.
    fn is_measured(&self, at: Time) -> bool {
        at >= self.measured.0 && at < self.measured.1
    }

    /// The row of a transfer; `took` is `None` if the run ended before it was over.
    pub(super) fn completion(&self, place: Place, start: Time, took: Option<Duration>) -> Completion {
        let Place { source, number, bytes, user, .. } = place;
        let ideal = self.traffic.sources[source as usize].way(user).ideal(bytes);
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
        let Some(place) = self.traffic.spawned.place(&self.scenario, index) else { return };
        let source = &mut self.traffic.sources[place.source as usize];
        source.summary.completed = (source.summary.completed.0 + counts, source.summary.completed.1 + 1);
        let row = self.completion(place, start, Some(now.since(start)));
        self.traffic.completions.push(row);
        if matches!(source_kind(&self.traffic, place), Generator::Incast(_)) {
            self.answer_arrived(index, place);
        } else {
            self.ask_again(index, place);
        }
    }

    /// A server of an incast has answered. It waits until all have, and then the client asks again.
    fn answer_arrived(&mut self, index: usize, place: Place) {
        let source = &mut self.traffic.sources[place.source as usize];
        self.flows[index].hold();
        if !source.rounds.arrived() {
            return;
        }
        let rtos = rtos(source, &self.flows);
        let Generator::Incast(barrier) = &mut source.generator else { return };
        let asked = source.rounds.next(barrier, self.now, source.stop, rtos);
        if asked.is_empty() {
            return self.end_rounds(place.source as usize);
        }
        for (server, Answer { after, bytes }) in asked {
            let source = &self.traffic.sources[place.source as usize];
            let begin = source.rounds.begin();
            let written = begin + source.way(server).back + after;
            self.transfer_again(source.rounds.flow(server), (place.source, server), (begin, written), bytes);
        }
    }

    /// The client of an incast asks for nothing more: its servers are done when everything is acknowledged.
    fn end_rounds(&mut self, number: usize) {
        let flows: Vec<usize> = self.traffic.sources[number].rounds.flows().collect();
        for index in flows {
            let flow = &mut self.flows[index];
            flow.release();
            if flow.ends.is_idle() && flow.note_completion(self.now) {
                self.retire(index);
            }
        }
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
        let written = asks + self.traffic.sources[number].way(place.user).back;
        self.transfer_again(index, (place.source, place.user), (asks, written), bytes);
    }

    /// A user or server of a source has a flow that transfers something again, asked for at one time and written at
    /// another.
    fn transfer_again(&mut self, index: usize, (number, user): (u32, u32), (asked, written): (Time, Time), bytes: u64) {
        let source = &mut self.traffic.sources[number as usize];
        let next = Place::new(number, source.transfers, bytes, user);
        source.transfers += 1;
        let flow = &mut self.flows[index];
        let mss = u16::try_from(self.scenario.traffic[number as usize].flow().transport.mss).unwrap_or(u16::MAX);
        flow.transfer_again(asked, written, bytes, mss);
        self.flow_agenda.set(index, Turn::Application, flow.next_action());
        self.traffic.spawned.replace(&self.scenario, index, next);
    }

    /// The rows of all sources and of all transfers, when the run is over.
    pub(super) fn finish_traffic(&mut self) -> TrafficRows {
        self.count_all_spawned();
        let mut sources = std::mem::take(&mut self.traffic.sources);
        let completions = std::mem::take(&mut self.traffic.completions);
        for row in &completions {
            let started = &mut sources[row.source as usize].summary.started;
            *started = (started.0 + u64::from(row.is_measured), started.1 + 1);
        }
        let pages = sources.iter_mut().flat_map(|source| self.finish_pages(source)).collect();
        let rounds = sources.iter_mut().flat_map(|source| self.finish_rounds(source)).collect();
        let sources = sources.into_iter().map(|source| source.summary).collect();
        TrafficRows { sources, completions, pages, rounds }
    }

    /// The rounds of a source, which are counted in its row.
    fn finish_rounds(&self, source: &mut Source) -> Vec<Round> {
        let rtos = rtos(source, &self.flows);
        let summary = &mut source.summary;
        let mut rows = std::mem::take(&mut source.rounds).finish(self.end, rtos);
        for row in &mut rows {
            (row.source, row.is_measured) = (summary.source, self.is_measured(row.start));
            let Some(took) = row.took else { continue };
            summary.rounds.1 += 1;
            if row.is_measured {
                summary.rounds.0 += 1;
                summary.round_times.add(took.as_micros());
            }
        }
        rows
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

/// What the tables of traffic are made of.
pub(super) struct TrafficRows {
    pub sources: Vec<TrafficSummary>,
    pub completions: Vec<Completion>,
    pub pages: Vec<PageLoad>,
    pub rounds: Vec<Round>,
}

fn source_kind(traffic: &Traffic, place: Place) -> &Generator {
    &traffic.sources[place.source as usize].generator
}

/// How often the retransmission timers of the servers of an incast have expired.
fn rtos(source: &Source, flows: &[Flow]) -> u64 {
    source.rounds.flows().map(|flow| flows[flow].ends.sent().rto_count).sum()
}

/// Propagation delay from the receiver of a flow to its sender.
fn way_back(scenario: &Scenario, flow: &Spec) -> Duration {
    flow.reverse.iter().fold(Duration::ZERO, |sum, &link| sum + scenario.links[link].config.delay.base)
}
