//! The event loop: takes the earliest event of the agenda, moves the endpoint or link it belongs to, and carries packets
//! from one to the next.

use crate::agenda::{Agenda, FlowAgenda, Turn};
use crate::endpoints::Endpoints;
use crate::flow::{Flow, Phase, Traffic};
use crate::packet::{Kind, Packet, Sacks, Store};
use crate::recorder::Recorder;
use crate::{RunError, RunOutput, RunSummary, tables};
use dumbbell_path::{DropCause, Link, LinkRate, Offer};
use dumbbell_scenario::Scenario;
use dumbbell_transport::quic::QuicAck;
use dumbbell_transport::{Ack, Burst, Segment};
use dumbbell_units::{Duration, Rng, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Random streams: links count from here, flows' controllers and starts from the numbers below.
const LINK_STREAMS: u64 = 1 << 32;
const CONTROLLER_STREAMS: u64 = 2 << 32;
const START_STREAM: u64 = 3 << 32;
/// Turns of the event loop between two looks at the caller's wish to stop, and at controllers that have failed.
const TURNS_PER_CHECK: u64 = 1 << 16;

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
    events: u64,
    measured: (Time, Time),
    /// Now lies in the measured interval.
    is_measuring: bool,
    /// Links at the end of the measured interval.
    frozen_links: Option<Vec<tables::LinkStats>>,
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
    forward_rest: u8,
    reverse_rest: u8,
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
    pub fn new(scenario: &'a Scenario) -> Result<Engine<'a>, RunError> {
        let seed = scenario.seed;
        let links = scenario
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
            let bottleneck = slowest_link(scenario, &spec.forward);
            let hop = |&link: &usize| Hop { link: link as u32, is_bottleneck: link == bottleneck };
            let forward = hops.len();
            hops.extend(spec.forward.iter().map(hop));
            let reverse = hops.len();
            hops.extend(spec.reverse.iter().map(|&link| Hop { link: link as u32, is_bottleneck: false }));
            let (Some(&first_forward), Some(&first_reverse)) =
                (hops[forward..reverse].first(), hops[reverse..].first())
            else {
                return Err(RunError::NoWay(routes.len()));
            };
            routes.push(Route {
                forward_end: reverse as u32,
                reverse_end: hops.len() as u32,
                forward_rest: (spec.forward.len() - 1) as u8,
                reverse_rest: (spec.reverse.len() - 1) as u8,
                first_forward,
                first_reverse,
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
        let recorder = Recorder::new(scenario, &flows);
        let clock = Clock { measure: measured.0, record: recorder.next(end), over: end + Duration::from_nanos(1) };
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
            events: 0,
            measured,
            is_measuring: false,
            frozen_links: None,
        })
    }

    /// Runs to the end of the scenario.
    pub fn run(mut self, cancel: &AtomicBool) -> Result<RunOutput, RunError> {
        let mut packet = Packet::default();
        let mut turns = 0;
        let mut next_look = self.clock.next();
        loop {
            let (link, link_due) = self.link_agenda.next();
            let (flow, due) = self.flow_agenda.next();
            let flow_due = due.time();
            if link_due.min(flow_due) >= next_look {
                if !self.fallible.is_empty() {
                    self.check_controllers()?;
                }
                if !self.clock_event() {
                    break;
                }
                next_look = self.clock.next();
            } else if link_due <= flow_due {
                self.now = link_due;
                self.link_event(link, &mut packet);
            } else {
                self.now = flow_due;
                self.flow_event(flow, due.turn());
            }
            turns += 1;
            if turns % TURNS_PER_CHECK == 0 {
                self.check_controllers()?;
                if cancel.load(Ordering::Relaxed) {
                    return Err(RunError::Cancelled);
                }
            }
        }
        self.events += turns;
        self.now = self.end;
        if self.frozen_links.is_none() {
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
        let flows = tables::flows(self.scenario, &self.flows, measured_s);
        let links = tables::links(self.scenario, &mut self.links, &self.frozen_links.unwrap_or_default(), self.end);
        let (series, link_series) = self.recorder.finish();
        Ok(RunOutput { flows, series, links, link_series, summary })
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
            self.recorder.sample(now, &mut self.flows, &mut self.links);
            self.clock.record = self.recorder.next(self.end);
        }
        true
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
        self.frozen_links = Some(self.links.iter_mut().map(|link| tables::LinkStats::of(link, self.now)).collect());
    }

    /// Moves on what has arrived at the end of a link; `packet` is a place for it.
    #[inline]
    fn link_event(&mut self, index: usize, packet: &mut Packet) {
        let now = self.now;
        while let Some((next, behind)) = self.links[index].take_plain(now, packet) {
            if next > now {
                self.link_agenda.set(index, next);
                return self.arrive(packet, (index, behind));
            }
            self.arrive(packet, (index, 0));
        }
        self.link_event_of_any_kind(index, packet);
    }

    /// The same on links that may do more to a packet than delay it.
    #[inline(never)]
    fn link_event_of_any_kind(&mut self, index: usize, packet: &mut Packet) {
        while self.links[index].poll_into(self.now, packet) {
            if packet.kind.is_forward() {
                self.count_late_departure(index, packet);
            }
            self.move_on(packet);
        }
        self.settle_drops(index);
        self.link_agenda.set(index, self.links[index].next_event());
    }

    /// A link has taken packets.
    #[inline]
    fn settle_link(&mut self, index: usize) {
        let link = &self.links[index];
        let next = link.next_event();
        if link.has_drops() {
            self.settle_drops(index);
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

    /// Links whose discipline decides at departure tell the time of departure only when the packet is on its way; the
    /// propagation delay is taken back.
    fn count_late_departure(&mut self, link: usize, packet: &Packet) {
        let flow = packet.flow as usize;
        if self.links[link].decides_late() && self.flows[flow].bottleneck == link {
            let delay = self.links[link].config().delay.base;
            let departed = Time::ZERO + self.now.since(Time::ZERO + delay);
            self.flows[flow].traffic.count_departure(packet.size, departed, self.measured);
        }
    }

    /// Counts what a link has dropped against the flows it belonged to.
    #[cold]
    fn settle_drops(&mut self, link: usize) {
        while let Some((packet, cause)) = self.links[link].pop_drop() {
            if cause == DropCause::LossAfter && packet.kind.is_forward() {
                self.count_late_departure(link, &packet);
            }
            self.count_drop(&packet);
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
            let answer = Packet::handshake(self.now, packet.flow, route.reverse_rest, Kind::SynAck);
            self.send(route.first_reverse, answer);
        } else {
            self.establish(index, self.now.since(packet.timestamp));
        }
    }

    /// The answer to a connection attempt is back after `way_back`.
    fn establish(&mut self, index: usize, way_back: Duration) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if let Phase::Connecting { since, sent_at, retries } = flow.phase {
            // A repeated SYN makes the sample ambiguous; timestamps tell which one was answered, and here it is taken to
            // be the latest that can have been.
            let rtt = if retries == 0 { now.since(since) } else { now.since(sent_at) };
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
                    flow.phase = Phase::Connecting { since: now, sent_at: now, retries: 0 };
                    self.send_syn(index);
                }
                Phase::Connecting { since, retries, .. } => {
                    flow.phase = Phase::Connecting { since, sent_at: now, retries: retries + 1 };
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
    fn offer_each(&mut self, flow: u32, hops_left: u8, burst: Burst) -> Time {
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
