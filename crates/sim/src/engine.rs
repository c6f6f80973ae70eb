//! The event loop: takes the earliest event of the agenda, moves the endpoint or link it belongs to, and carries packets
//! from one to the next.

use crate::agenda::{Agenda, FlowAgenda, Turn};
use crate::checks::Checks;
use crate::endpoints::Endpoints;
use crate::flow::{Flow, Phase, Traffic};
use crate::packet::{Kind, Packet, Sacks, Store};
use crate::{Bounds, Growth, MemoryExceeded, RunError, RunOutput, RunSummary, SERIES_CHUNK_BYTES, tables};
use dumbbell_path::{Link, LinkRate, Offer};
use dumbbell_results::{self as results, LinkSummary, Recorder};
use dumbbell_scenario::Scenario;
use dumbbell_transport::quic::QuicAck;
use dumbbell_transport::{Ack, Burst, Segment};
use dumbbell_units::{Duration, Rng, Time};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Random streams: links count from here, flows' controllers and starts from the numbers below.
const LINK_STREAMS: u64 = 1 << 32;
const CONTROLLER_STREAMS: u64 = 2 << 32;
const START_STREAM: u64 = 3 << 32;
/// The most links of a way: packets count those that are left in 16 bits.
pub(crate) const MAX_LINKS_OF_A_WAY: usize = u16::MAX as usize;
/// Turns of the event loop between two looks at the caller's wish to stop.
const TURNS_IN_A_GO: u64 = 8;
/// Memory is added up after so many turns, or so many for each flow and link, where that is more.
const TURNS_PER_WEIGHING: u64 = 1 << 14;
const TURNS_PER_WEIGHING_OF_EACH: u64 = 32;
/// Packets that arrive at the same instant between two looks.
const PACKETS_PER_LOOK: u64 = 64;
/// Bursts that a sender hands down in one turn between two looks at its memory.
const BURSTS_PER_LOOK: u32 = 256;

/// A run under way.
pub(crate) struct Engine<'a> {
    scenario: &'a Scenario,
    now: Time,
    end: Time,
    links: Vec<Link<Packet>>,
    sacks: Store<Sacks>,
    quic_acks: Store<QuicAck>,
    flows: Vec<Flow>,
    /// Flows whose controllers may fail.
    fallible: Vec<usize>,
    /// Routes of all flows, forward and reverse, one after the other.
    hops: Vec<Hop>,
    routes: Vec<Route>,
    /// When the clock, links and flows have something to do: of what is due at the same time the clock first, then links,
    /// then flows.
    clock: Clock,
    link_agenda: Agenda<Time>,
    flow_agenda: FlowAgenda,
    recorder: Recorder,
    /// Bytes that had left each link when it was sampled last.
    departed: Vec<u64>,
    bounds: Bounds<'a>,
    /// Bytes of memory that do not change.
    fixed_memory: u64,
    turns_per_weighing: u64,
    /// Turns and packets until memory is added up again.
    until_weighing: u64,
    /// Why the run cannot go on.
    failure: Option<RunError>,
    checks: Checks,
    events: u64,
    measured: (Time, Time),
    /// Now lies in the measured interval.
    is_measuring: bool,
    /// Links at the end of the measured interval.
    measured_links: Option<Vec<LinkSummary>>,
}

/// One link of a route.
#[derive(Clone, Copy, Debug)]
struct Hop {
    link: u32,
    /// Throughput is measured here.
    is_bottleneck: bool,
}

/// Where a flow's routes lie in `Engine::hops`. They are found from their ends, because packets count hops down.
#[derive(Clone, Copy, Debug)]
struct Route {
    forward_end: u32,
    reverse_end: u32,
    /// Links behind the first one.
    forward_rest: u16,
    reverse_rest: u16,
    /// The links that packets come to first.
    first_forward: Hop,
    first_reverse: Hop,
}

impl Route {
    /// The link that a packet comes to which is not at its end yet.
    #[inline]
    fn hop(&self, hops: &[Hop], packet: &Packet) -> Hop {
        let end = if packet.kind.is_forward() { self.forward_end } else { self.reverse_end };
        hops[(end - u32::from(packet.hops_left)) as usize]
    }
}

/// What happens at times that the scenario sets.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Start or end of the measured interval.
    measure: Time,
    /// Next sample of the recorder.
    record: Time,
    /// The first instant after the run.
    over: Time,
}

impl Clock {
    /// When it has something to do next.
    #[inline]
    fn next(&self) -> Time {
        self.measure.min(self.record).min(self.over)
    }
}

impl<'a> Engine<'a> {
    pub fn new(scenario: &'a Scenario, bounds: Bounds<'a>) -> Result<Engine<'a>, RunError> {
        let seed = scenario.seed;
        let mut links: Vec<Link<Packet>> = scenario
            .links
            .iter()
            .zip(LINK_STREAMS..)
            .map(|(link, stream)| Link::new(link.config.clone(), Rng::stream(seed, stream)))
            .collect();
        let mut starts = Rng::stream(seed, START_STREAM);
        let mut hops = Vec::new();
        let mut routes = Vec::with_capacity(scenario.flows.len());
        let mut flows = Vec::with_capacity(scenario.flows.len());
        let mut transport = Arc::default();
        for (spec, stream) in scenario.flows.iter().zip(CONTROLLER_STREAMS..) {
            if bounds.cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            let rest = |way: &[usize]| match way.len() {
                0 => Err(RunError::NoWay(routes.len())),
                links if links > MAX_LINKS_OF_A_WAY => Err(RunError::LongWay(routes.len())),
                links => Ok(links as u16 - 1),
            };
            let (forward_rest, reverse_rest) = (rest(&spec.forward)?, rest(&spec.reverse)?);
            let bottleneck = slowest_link(scenario, &spec.forward);
            links[bottleneck].report_departures();
            let hop = |&link: &usize| Hop { link: link as u32, is_bottleneck: link == bottleneck };
            let forward = hops.len();
            hops.extend(spec.forward.iter().map(hop));
            let reverse = hops.len();
            hops.extend(spec.reverse.iter().map(|&link| Hop { link: link as u32, is_bottleneck: false }));
            routes.push(Route {
                forward_end: reverse as u32,
                reverse_end: hops.len() as u32,
                forward_rest,
                reverse_rest,
                first_forward: hops[forward],
                first_reverse: hops[reverse],
            });
            if *transport != spec.transport {
                transport = Arc::new(spec.transport.clone());
            }
            let controller = spec.cc.controller(Rng::stream(seed, stream));
            flows.push(Flow::new(spec, &transport, controller, &mut starts, bottleneck));
        }
        let mut flow_agenda = FlowAgenda::new(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            flow_agenda.set(index, Turn::Application, flow.start);
        }
        let end = Time::ZERO + scenario.duration;
        let measured = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration.saturating_sub(scenario.cooldown));
        let recorder = tables::recorder(scenario, &flows);
        let clock = Clock { measure: measured.0, record: recorder.next(end), over: end + Duration::from_nanos(1) };
        let ways = hops.capacity() * size_of::<Hop>() + routes.capacity() * size_of::<Route>();
        let fixed_memory = (ways + flows.iter().map(Flow::memory).sum::<usize>()) as u64;
        let turns_per_weighing =
            TURNS_PER_WEIGHING.max(TURNS_PER_WEIGHING_OF_EACH * (flows.len() + scenario.links.len()) as u64);
        Ok(Engine {
            scenario,
            now: Time::ZERO,
            end,
            links,
            sacks: Store::default(),
            quic_acks: Store::default(),
            fallible: (0..flows.len()).filter(|&flow| flows[flow].ends.controller().hooks().fault).collect(),
            flows,
            hops,
            routes,
            clock,
            link_agenda: Agenda::new(scenario.links.len(), Time::NEVER),
            flow_agenda,
            recorder,
            departed: vec![0; scenario.links.len()],
            bounds,
            fixed_memory,
            turns_per_weighing,
            until_weighing: 0,
            failure: None,
            checks: Checks::new(scenario),
            events: 0,
            measured,
            is_measuring: false,
            measured_links: None,
        })
    }

    /// Runs to the end of the scenario.
    pub fn run(mut self) -> Result<RunOutput, RunError> {
        let turns = self.turns()?;
        self.events += turns;
        self.now = self.end;
        self.settle_all_reports();
        if self.measured_links.is_none() {
            self.finish_measurement();
        }
        let summary = RunSummary {
            seed: self.scenario.seed,
            sim_s: self.scenario.duration.as_secs_f64(),
            cpu_s: 0.0,
            events: self.events,
            packets: self.flows.iter().map(|flow| flow.counts().arrived).sum(),
            bytes_per_flow: self.memory_per_flow(),
        };
        let measured_s = self.measured.1.since(self.measured.0).as_secs_f64();
        self.checks.conservation(&self.flows, &self.links);
        let flows = results::flows(&tables::flow_summaries(self.scenario, self.flows, measured_s));
        let mut measured_links = self.measured_links.unwrap_or_default();
        for (summary, link) in measured_links.iter_mut().zip(&mut self.links) {
            summary.total = tables::counts(&link.counters(self.end));
        }
        let links = results::links(&measured_links);
        let (series, link_series) = self.recorder.take();
        Ok(RunOutput { flows, series, links, link_series, summary })
    }

    /// One event after the other, to the end of the run; returns how many there were.
    fn turns(&mut self) -> Result<u64, RunError> {
        let mut packet = Packet::default();
        let mut turns = 0;
        let mut next_look = self.clock.next();
        loop {
            if self.must_stop(TURNS_IN_A_GO) {
                return Err(self.failure.take().unwrap_or(RunError::Cancelled));
            }
            for turn in 0..TURNS_IN_A_GO {
                let (link, link_due) = self.link_agenda.next();
                let (flow, due) = self.flow_agenda.next();
                let flow_due = due.time();
                if link_due.min(flow_due) >= next_look {
                    self.check_controllers()?;
                    if !self.clock_event() {
                        return self.failure.take().map_or(Ok(turns + turn), Err);
                    }
                    next_look = self.clock.next();
                } else if link_due <= flow_due {
                    self.now = link_due;
                    self.link_event(link, &mut packet);
                } else {
                    self.now = flow_due;
                    self.flow_event(flow, due.turn());
                }
            }
            turns += TURNS_IN_A_GO;
        }
    }

    /// Adds memory up when `steps` more turns or packets make it due.
    #[inline]
    fn take_stock(&mut self, steps: u64) {
        match self.until_weighing.checked_sub(steps) {
            Some(left) => self.until_weighing = left,
            None => self.weigh(),
        }
    }

    /// Whether the run has to end, so many turns or packets after the last look.
    #[inline]
    fn must_stop(&mut self, steps: u64) -> bool {
        self.take_stock(steps);
        self.failure.is_some() || self.bounds.cancel.load(Ordering::Relaxed)
    }

    /// Adds up what can grow; the run fails when that is more than it may take.
    #[cold]
    fn weigh(&mut self) {
        self.until_weighing = self.turns_per_weighing;
        if let Err(fault) = self.check_controllers() {
            self.failure.get_or_insert(fault);
        }
        let senders = self.flows.iter().map(|flow| flow.ends.memory()).sum::<u64>();
        let histograms = self.flows.iter().map(|flow| flow.rtt.memory() as u64).sum::<u64>();
        let packets = self.links.iter().map(Link::memory).sum::<u64>();
        let acknowledgements = self.sacks.memory() + self.quic_acks.memory();
        let series = self.recorder.memory();
        let needed = self.fixed_memory + senders + histograms + packets + acknowledgements + series;
        if needed <= self.bounds.max_memory || self.failure.is_some() {
            return;
        }
        let parts = [self.fixed_memory, senders, packets, acknowledgements, histograms, series];
        let grown = parts.into_iter().max().unwrap_or(0);
        let growth = match parts.into_iter().position(|part| part == grown) {
            Some(1) => {
                let most = self.flows.iter().enumerate().max_by_key(|(_, flow)| flow.ends.memory());
                let (flow, packets) = most.map_or((0, 0), |(i, flow)| (i, flow.ends.view().packets_out));
                Growth::Senders { flow, label: self.scenario.flows[flow].label.clone(), packets }
            }
            Some(2) => {
                let link = (0..self.links.len()).max_by_key(|&link| self.links[link].memory()).unwrap_or(0);
                let packets = self.links[link].in_flight(self.now);
                Growth::Packets { link: self.links[link].config().name.clone(), packets }
            }
            Some(3) => Growth::Acknowledgements,
            Some(4) => Growth::Histograms,
            Some(5) => Growth::Series,
            _ => Growth::Flows { count: self.flows.len() },
        };
        let limit = self.bounds.max_memory;
        self.failure = Some(MemoryExceeded { at: self.now, limit, needed, growth, grown }.into());
    }

    /// Ends the run where a controller has failed, the first one if several have. Looked at now and then: a fault tells
    /// its time itself.
    #[inline(never)]
    fn check_controllers(&self) -> Result<(), RunError> {
        let asked = self.fallible.iter().map(|&index| (index, self.flows[index].ends.controller()));
        let faults = asked.filter_map(|(index, controller)| Some((controller.fault()?, index, controller)));
        match faults.min_by_key(|(fault, index, _)| (fault.at, *index)) {
            None => Ok(()),
            Some((fault, flow, controller)) => Err(RunError::Controller {
                flow,
                label: self.scenario.flows[flow].label.clone(),
                algorithm: controller.algorithm().to_owned(),
                at: fault.at,
                message: fault.message.clone(),
            }),
        }
    }

    fn memory_per_flow(&self) -> u64 {
        let total: usize = self.flows.iter().map(Flow::memory).sum();
        (total / self.flows.len().max(1)) as u64
    }

    /// Does what is due by the clock; false when the run is over.
    #[inline(never)]
    fn clock_event(&mut self) -> bool {
        let now = self.clock.next();
        if now >= self.clock.over {
            return false;
        }
        self.now = now;
        if self.clock.measure <= now {
            self.measurement_boundary();
        } else {
            tables::sample(&mut self.recorder, now, &mut self.flows, &mut self.links, &mut self.departed);
            self.clock.record = self.recorder.next(self.end);
            self.hand_over_series();
        }
        self.failure.is_none()
    }

    /// Gives the samples away when there are many.
    fn hand_over_series(&mut self) {
        if let Some(sink) = &mut self.bounds.series
            && self.recorder.memory() >= SERIES_CHUNK_BYTES
        {
            let (series, link_series) = self.recorder.take();
            if let Err(message) = sink.take(series, link_series) {
                self.failure = Some(RunError::Series(message));
            }
        }
    }

    #[inline(always)]
    fn flow_event(&mut self, index: usize, turn: Turn) {
        match turn {
            Turn::Sender => self.sender_timer(index),
            Turn::Receiver => self.receiver_timer(index),
            Turn::Application => self.application(index),
        }
    }

    /// Start or end of the measured interval.
    fn measurement_boundary(&mut self) {
        self.settle_all_reports();
        self.is_measuring = self.now < self.measured.1;
        if self.is_measuring || self.measured.0 == self.measured.1 {
            for flow in &mut self.flows {
                flow.measured = flow.counts();
            }
            for link in &mut self.links {
                link.start_measuring(self.now);
            }
            self.clock.measure = if self.is_measuring { self.measured.1 } else { Time::NEVER };
        } else {
            self.finish_measurement();
            self.clock.measure = Time::NEVER;
        }
    }

    fn finish_measurement(&mut self) {
        for flow in &mut self.flows {
            flow.measured = flow.counts().since(flow.measured);
        }
        let summary = |(number, link)| tables::link_summary(self.scenario, number, link, self.now);
        self.measured_links = Some((0..).zip(&mut self.links).map(summary).collect());
    }

    /// Moves on what has arrived at the end of a link; `packet` is a place for it.
    #[inline]
    fn link_event(&mut self, index: usize, packet: &mut Packet) {
        let now = self.now;
        let mut until_look = PACKETS_PER_LOOK;
        while let Some((next, behind)) = self.links[index].take_plain(now, packet) {
            if next > now {
                self.link_agenda.set(index, next);
                return self.arrive(packet, (index, behind));
            }
            self.arrive(packet, (index, 0));
            until_look -= 1;
            if until_look == 0 {
                if self.must_stop(PACKETS_PER_LOOK) {
                    return;
                }
                until_look = PACKETS_PER_LOOK;
            }
        }
        self.link_event_of_any_kind(index, packet);
    }

    /// The same on links that may do more to a packet than delay it.
    #[inline(never)]
    fn link_event_of_any_kind(&mut self, index: usize, packet: &mut Packet) {
        while self.links[index].poll_into(self.now, packet) {
            self.move_on(packet);
            if self.must_stop(1) {
                return;
            }
        }
        self.settle_reports(index);
        self.link_agenda.set(index, self.links[index].next_event());
    }

    /// A link has taken packets.
    #[inline]
    fn settle_link(&mut self, index: usize) {
        let link = &self.links[index];
        let next = link.next_event();
        if link.has_reports() {
            self.settle_reports(index);
        }
        self.link_agenda.advance(index, next);
    }

    /// [`arrive`](Self::arrive) out of line.
    #[inline(never)]
    fn move_on(&mut self, packet: &mut Packet) {
        self.arrive(packet, (0, 0));
    }

    /// A packet has passed a link: on to the next one, or up to its endpoint. `behind` it, on which link, come how many that
    /// follow it.
    #[inline(always)]
    fn arrive(&mut self, packet: &mut Packet, behind: (usize, u32)) {
        if packet.hops_left == 0 {
            return self.deliver(packet, behind);
        }
        let hop = self.routes[packet.flow as usize].hop(&self.hops, packet);
        packet.hops_left -= 1;
        self.send(hop, *packet);
    }

    /// Hands a packet to a link.
    #[inline(never)]
    fn send(&mut self, hop: Hop, packet: Packet) {
        let link = &mut self.links[hop.link as usize];
        match link.offer(self.now, packet) {
            Offer::Accepted { departs: Some(departs) } => {
                if hop.is_bottleneck && !link.decides_late() {
                    self.flows[packet.flow as usize].traffic.count_departure(packet.size, departs, self.measured);
                }
            }
            Offer::Accepted { departs: None } => {}
            Offer::Dropped(_) => self.count_drop(&packet),
        }
        self.settle_link(hop.link as usize);
    }

    /// Counts what a link reports late for the flows it belongs to: drops, and departures where its discipline decides
    /// then.
    #[cold]
    fn settle_reports(&mut self, link: usize) {
        while let Some((packet, _)) = self.links[link].pop_drop() {
            self.count_drop(&packet);
        }
        while let Some((departs, packet)) = self.links[link].pop_departure() {
            let flow = &mut self.flows[packet.flow as usize];
            if flow.bottleneck == link && packet.kind.is_forward() {
                flow.traffic.count_departure(packet.size, departs, self.measured);
            }
        }
    }

    /// Counts all that links have to report by now. Left to themselves, they tell of a loss behind their transmitter with
    /// the next packet only.
    fn settle_all_reports(&mut self) {
        for link in 0..self.links.len() {
            self.links[link].advance(self.now);
            self.settle_reports(link);
        }
    }

    #[cold]
    fn count_drop(&mut self, packet: &Packet) {
        if packet.kind.is_data() {
            self.flows[packet.flow as usize].traffic.drops += 1;
        }
        if let Some(attachment) = packet.attachment() {
            match packet.kind {
                Kind::QuicAck => drop(self.quic_acks.take(attachment)),
                _ => drop(self.sacks.take(attachment)),
            }
        }
    }

    /// A packet reaches its endpoint. `behind` it, on which link, come how many that follow it.
    #[inline(always)]
    fn deliver(&mut self, packet: &Packet, (link, behind): (usize, u32)) {
        match packet.kind {
            Kind::Data => self.receive(packet, link, behind),
            Kind::Ack => self.hear(packet),
            Kind::QuicData => self.receive_quic(packet),
            Kind::QuicAck => self.hear_quic(packet),
            Kind::Syn | Kind::SynAck => self.shake_hands(packet),
        }
    }

    /// A data packet reaches its receiver; `behind` it on `link` come so many that follow it.
    #[inline(always)]
    fn receive(&mut self, packet: &Packet, link: usize, behind: u32) {
        let index = packet.flow as usize;
        let now = self.now;
        let flow = &mut self.flows[index];
        if self.is_measuring {
            flow.one_way_delays += now.since(packet.timestamp);
        }
        let Endpoints::Tcp { receiver, .. } = &mut flow.ends else { return };
        let segment = packet.segment();
        if receiver.expects_next(&segment) {
            let ack = receiver.on_expected_next(now, &segment);
            self.flow_agenda.advance(index, Turn::Receiver, receiver.next_timer());
            if let Some(ack) = ack {
                self.acknowledge(index, &ack);
            }
        } else if receiver.expects_ahead(&segment) {
            let room = receiver.room_in_silence();
            if room > 0 {
                // What a silent receiver does concerns nobody else, so what follows needs no events of its own. Only the
                // clock looks at receivers from outside, and must find the right segments there.
                let until = receiver.silent_until().min(self.clock.next());
                let (others, delays) = self.links[link].take_behind(behind.min(room - 1), until, segment.sent_at);
                if others > 0 {
                    if self.is_measuring {
                        flow.one_way_delays += delays;
                    }
                    self.events += u64::from(others);
                    self.link_agenda.set(link, self.links[link].next_event());
                }
                receiver.take_in_silence(now, &segment, 1 + others);
                return;
            }
            let must_acknowledge = receiver.on_expected_ahead(now, &segment);
            self.flow_agenda.advance(index, Turn::Receiver, receiver.next_timer());
            if must_acknowledge {
                self.acknowledge_now(index);
            }
        } else {
            self.receive_unexpected(index, segment);
        }
    }

    #[inline(never)]
    fn acknowledge_now(&mut self, index: usize) {
        let Endpoints::Tcp { receiver, .. } = &mut self.flows[index].ends else { return };
        let ack = receiver.acknowledge();
        self.acknowledge(index, &ack);
    }

    #[inline(never)]
    fn receive_unexpected(&mut self, index: usize, segment: Segment) {
        let Endpoints::Tcp { receiver, .. } = &mut self.flows[index].ends else { return };
        let ack = receiver.on_any(self.now, segment);
        self.flow_agenda.advance(index, Turn::Receiver, receiver.next_timer());
        if let Some(ack) = ack {
            self.acknowledge(index, &ack);
        }
    }

    fn receive_quic(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let now = self.now;
        let flow = &mut self.flows[index];
        if self.is_measuring {
            flow.one_way_delays += now.since(packet.timestamp);
        }
        let Endpoints::Quic { receiver, .. } = &mut flow.ends else { return };
        let ack = receiver.on_packet(now, packet.quic_packet());
        self.flow_agenda.advance(index, Turn::Receiver, receiver.next_timer());
        if let Some(ack) = ack {
            self.acknowledge_quic(index, ack);
        }
    }

    /// An ACK reaches its sender.
    fn hear(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { sender, .. } = &mut flow.ends else { return };
        sender.on_ack(now, &packet.acknowledgement(&mut self.sacks));
        let rtt_us = sender.last_sample().rtt_us;
        self.checks.rtt(index, rtt_us);
        if self.is_measuring && rtt_us >= 0 {
            flow.rtt.add(rtt_us as u64);
        }
        if sender.is_idle() {
            flow.note_completion(now);
        }
        let Endpoints::Tcp { sender, .. } = &mut flow.ends else { return };
        // Most ACKs release nothing.
        let next = match sender.poll_transmit(now) {
            None => sender.next_timer(),
            Some(burst) => {
                self.transmit_bursts(index, burst);
                self.flows[index].ends.sender_timer()
            }
        };
        self.flow_agenda.advance(index, Turn::Sender, next);
    }

    fn hear_quic(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        if let (Endpoints::Quic { sender, .. }, Some(ack)) = (&mut flow.ends, packet.attachment()) {
            sender.on_ack(self.now, &self.quic_acks.take(ack));
        }
        let rtt_us = flow.ends.last_sample().rtt_us;
        self.checks.rtt(index, rtt_us);
        if self.is_measuring && rtt_us >= 0 {
            flow.rtt.add(rtt_us as u64);
        }
        if flow.ends.is_idle() {
            flow.note_completion(self.now);
        }
        self.transmit(index);
    }

    #[cold]
    fn shake_hands(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        if packet.kind == Kind::Syn {
            let route = &self.routes[index];
            let answer = packet.answered(self.now, route.reverse_rest);
            self.send(route.first_reverse, answer);
        } else {
            self.establish(index, packet);
        }
    }

    /// The answer to a connection attempt is back; it tells which attempt it answers.
    fn establish(&mut self, index: usize, answer: &Packet) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if let Phase::Connecting { retries, .. } = flow.phase {
            let (rtt, way_back) = (now.since(answer.echo()), now.since(answer.timestamp));
            flow.phase = Phase::Established;
            flow.ends.establish(now, rtt, way_back, retries);
            flow.begin_writing(now);
            flow.write_due(now);
            let next = flow.next_action();
            self.flow_agenda.set(index, Turn::Application, next);
            self.transmit(index);
        }
    }

    /// Puts on the wire what a sender may send now, and sees to its timer.
    #[inline]
    fn transmit(&mut self, index: usize) {
        self.transmit_all(index);
        let next = self.flows[index].ends.sender_timer();
        self.flow_agenda.advance(index, Turn::Sender, next);
    }

    #[inline(always)]
    fn transmit_all(&mut self, index: usize) {
        match &mut self.flows[index].ends {
            Endpoints::Tcp { sender, .. } => {
                if let Some(burst) = sender.poll_transmit(self.now) {
                    self.transmit_bursts(index, burst);
                }
            }
            Endpoints::Quic { .. } => self.transmit_quic(index),
        }
    }

    fn transmit_bursts(&mut self, index: usize, first: Burst) {
        let now = self.now;
        let route = &self.routes[index];
        let hop = route.first_forward;
        let Flow { ends: Endpoints::Tcp { sender, .. }, traffic, reports_completions, .. } = &mut self.flows[index]
        else {
            return;
        };
        let link = &mut self.links[hop.link as usize];
        let counts = hop.is_bottleneck && !link.decides_late();
        let mut next = Some(first);
        let mut until_look = BURSTS_PER_LOOK;
        while let Some(burst) = next {
            let together = match burst.first_of_alike() {
                Some(first) if !*reports_completions => {
                    let packet = Packet::first_of(&burst, index as u32, route.forward_rest, first);
                    link.offer_run(now, packet, burst.remaining()).map(|departures| (packet.size, departures))
                }
                _ => None,
            };
            match together {
                Some((size, departures)) => {
                    if counts {
                        traffic.count_departures(size, departures, self.measured);
                    }
                    traffic.drops += u64::from(burst.remaining() - departures.count());
                }
                None => {
                    let mut way = Way { link, counts, traffic, now, measured: self.measured };
                    let departs = way.offer_each(index as u32, route.forward_rest, burst);
                    sender.handed_over(burst.bytes, departs);
                }
            }
            until_look -= 1;
            if until_look == 0 {
                let is_too_large = sender.memory() + link.memory() > self.bounds.max_memory;
                if is_too_large || self.bounds.cancel.load(Ordering::Relaxed) {
                    return self.weigh();
                }
                until_look = BURSTS_PER_LOOK;
            }
            next = sender.poll_again();
        }
        self.settle_link(hop.link as usize);
    }

    fn transmit_quic(&mut self, index: usize) {
        let now = self.now;
        let route = self.routes[index];
        while let Endpoints::Quic { sender, .. } = &mut self.flows[index].ends
            && let Some(packet) = sender.poll_transmit(now)
        {
            self.send(route.first_forward, Packet::quic_data(index as u32, route.forward_rest, packet));
            if self.must_stop(1) {
                return;
            }
        }
    }

    /// A receiver acknowledges.
    #[inline(always)]
    fn acknowledge(&mut self, index: usize, ack: &Ack) {
        let route = &self.routes[index];
        let hop = route.first_reverse;
        let packet = Packet::ack(index as u32, route.reverse_rest, ack, &mut self.sacks);
        match self.links[hop.link as usize].delay(self.now, packet) {
            Some(next) => self.link_agenda.advance(hop.link as usize, next),
            None => self.send(hop, packet),
        }
    }

    fn acknowledge_quic(&mut self, index: usize, ack: QuicAck) {
        let route = &self.routes[index];
        let packet = Packet::quic_ack(index as u32, route.reverse_rest, ack, &mut self.quic_acks);
        self.send(route.first_reverse, packet);
    }

    fn sender_timer(&mut self, index: usize) {
        let now = self.now;
        let ends = &mut self.flows[index].ends;
        if ends.sender_timer() <= now {
            ends.on_sender_timer(now);
            self.transmit_all(index);
        }
        self.flow_agenda.set(index, Turn::Sender, self.flows[index].ends.sender_timer());
    }

    fn receiver_timer(&mut self, index: usize) {
        let now = self.now;
        let ends = &mut self.flows[index].ends;
        if ends.receiver_timer() <= now {
            match ends {
                Endpoints::Tcp { receiver, .. } => {
                    if let Some(ack) = receiver.on_timer(now) {
                        self.acknowledge(index, &ack);
                    }
                }
                Endpoints::Quic { receiver, .. } => {
                    if let Some(ack) = receiver.on_timer(now) {
                        self.acknowledge_quic(index, ack);
                    }
                }
            }
        }
        self.flow_agenda.set(index, Turn::Receiver, self.flows[index].ends.receiver_timer());
    }

    fn send_syn(&mut self, index: usize) {
        let route = &self.routes[index];
        let packet = Packet::handshake(self.now, index as u32, route.forward_rest, Kind::Syn);
        self.send(route.first_forward, packet);
    }

    /// Start, connection attempt, write or stop of an application.
    fn application(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if flow.stop <= now {
            flow.stop_writing();
        } else {
            match flow.phase {
                Phase::Waiting => {
                    flow.phase = Phase::Connecting { sent_at: now, retries: 0 };
                    self.send_syn(index);
                }
                Phase::Connecting { retries, .. } => {
                    flow.phase = Phase::Connecting { sent_at: now, retries: retries + 1 };
                    self.send_syn(index);
                }
                Phase::Established => {
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

/// Where a sender's packets go.
struct Way<'e> {
    link: &'e mut Link<Packet>,
    /// Departures are known at once, and counted here.
    counts: bool,
    traffic: &'e mut Traffic,
    now: Time,
    measured: (Time, Time),
}

impl Way<'_> {
    /// Puts the packets of a burst on the way one by one; returns when the last one will have left the first link's
    /// transmitter, as far as that is known.
    #[inline(never)]
    fn offer_each(&mut self, flow: u32, hops_left: u16, burst: Burst) -> Time {
        burst.fold(self.now, |_, segment| self.offer(Packet::data(flow, hops_left, segment)))
    }

    /// Puts a data packet on the way; returns when it will have left the first link's transmitter, as far as that is
    /// known.
    #[inline]
    fn offer(&mut self, packet: Packet) -> Time {
        match self.link.offer(self.now, packet) {
            Offer::Accepted { departs: Some(departs) } => {
                if self.counts {
                    self.traffic.count_departure(packet.size, departs, self.measured);
                }
                departs
            }
            Offer::Accepted { departs: None } => self.now,
            Offer::Dropped(_) => {
                self.traffic.drops += 1;
                self.now
            }
        }
    }
}

/// The link of a route with the lowest rate: where its throughput is measured.
fn slowest_link(scenario: &Scenario, route: &[usize]) -> usize {
    let rate = |&link: &usize| match &scenario.links[link].config.rate {
        LinkRate::Unlimited => u64::MAX,
        LinkRate::Constant(rate) => *rate,
        LinkRate::Schedule { steps, .. } => steps.iter().map(|step| step.1).max().unwrap_or(0),
        LinkRate::Trace { opportunities_ms, .. } => {
            let last_ms = u64::from(opportunities_ms.last().copied().unwrap_or(1)).max(1);
            opportunities_ms.len() as u64 * 12_000 * 1_000 / last_ms
        }
    };
    route.iter().copied().min_by_key(rate).unwrap_or(0)
}
