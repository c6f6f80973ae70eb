//! The emulator: one thread that carries the packets of real sockets through the links of a scenario.
//!
//! It is the simulator's event loop with another clock. Links work in the time of the run: a packet enters one at the
//! instant at which it was read, and everything that follows from it happens at the instant that the links say. Only
//! the last step, handing the packet to the other host, happens when the thread gets to it, and how late that is goes
//! into the certificate. So lateness never adds up, and rates hold whatever the machine does.
//!
//! One packet is read from each host between two looks at what is due, so that bursts of arrivals do not hold up
//! departures, nor the other way round.

use crate::clock::{Clock, timespec};
use crate::conversations::{Conversations, Departure};
use crate::header::{Header, ecn, set_ecn};
use crate::host::{FIRST_PORT, Host, Side};
use crate::lateness::Lateness;
use crate::packet::{Packet, Slots};
use crate::packet_log::{Event, PacketLog};
use crate::rights;
use crate::seen::{Connection, Flow, FlowSeen, Packets, Seen};
use crate::sys;
use crate::{NOTHING, RunError, Shared};
use cpu_time::ThreadTime;
use dumbbell_network::{Agenda, Entry, Hop, LinkWatch, Routes, for_each_link, media, report, slowest_link};
use dumbbell_path::{Class, Media, Offer};
use dumbbell_results::{LinkSummary, Recorder};
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read, write};
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;

/// The emulator's real-time priority; traffic has none.
const PRIORITY: i32 = 50;
/// Nanoseconds by which the kernel may postpone a wake-up.
const TIMER_SLACK: NonZeroU64 = NonZeroU64::MIN;
/// How long the thread sleeps at most, to see that it has to stop.
const PATIENCE: Duration = Duration::from_millis(50);
/// Memory is added up after so many turns, each of which takes a packet of each host at most.
const TURNS_PER_WEIGHING: u64 = 4_096;

/// What travels between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Connections of flows, told apart by their ports.
    Flows,
    /// Whatever programs send, on the way of this flow.
    Programs(u32),
    /// The datagrams of this flow, whose ends are in this process.
    Endpoints(u32),
}

impl Traffic {
    /// Whether it is that of flow `number`, and of no other.
    fn is_of(self, number: u32) -> bool {
        matches!(self, Traffic::Programs(flow) | Traffic::Endpoints(flow) if flow == number)
    }
}

/// Two hosts that are connected: that of senders and that of receivers.
pub struct Ends<'a> {
    devices: [&'a OwnedFd; 2],
    traffic: Traffic,
}

impl<'a> Ends<'a> {
    pub fn new(hosts: &'a [Host; 2], traffic: Traffic) -> Ends<'a> {
        Ends { devices: hosts.each_ref().map(|host| &host.device), traffic }
    }
}

/// When somebody looks at the run from outside.
struct Looks {
    sample: Time,
    measure: Time,
    end: Time,
}

impl Looks {
    fn next(&self) -> Time {
        self.sample.min(self.measure).min(self.end)
    }
}

/// The emulator of a run.
pub struct Emulator<'a> {
    scenario: &'a Scenario,
    shared: &'a Shared,
    clock: Clock,
    ends: Vec<Ends<'a>>,
    media: Media<Packet>,
    /// Where each link of the scenario is entered.
    entries: Vec<Entry>,
    agenda: Agenda<Time>,
    routes: Routes,
    slots: Slots,
    flows: Vec<Flow>,
    looks: Looks,
    measured: (Time, Time),
    is_measuring: bool,
    watch: LinkWatch,
    recorder: Recorder,
    links: Vec<LinkSummary>,
    /// What had been seen of the flows when the run was over; empty before.
    at_the_end: Vec<FlowSeen>,
    lateness: Lateness,
    failed_writes: u64,
    packets: u64,
    max_memory: u64,
    packet_log: Option<PacketLog>,
}

impl<'a> Emulator<'a> {
    /// The emulator of a scenario between these hosts, whose devices have this MTU. A flow that no hosts have to
    /// themselves is of the first.
    pub fn new(
        scenario: &'a Scenario,
        ends: Vec<Ends<'a>>,
        mtu: u32,
        clock: Clock,
        shared: &'a Shared,
        max_memory: u64,
    ) -> Result<Emulator<'a>, RunError> {
        let (mut media, entries) = media(scenario);
        let mut routes = Routes::with_capacity(scenario.flows.len());
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for (number, spec) in (0u32..).zip(&scenario.flows) {
            let bottleneck = slowest_link(scenario, &spec.forward);
            routes.push(spec, bottleneck, &entries)?;
            let bottleneck = entries[bottleneck];
            media.get_mut(bottleneck.medium as usize).report_departures(bottleneck.port);
            let own = ends.iter().position(|ends| ends.traffic.is_of(number));
            let packets = match own.map(|own| ends[own].traffic) {
                Some(Traffic::Programs(_)) => Packets::Programs(Conversations::new(spec.base_rtt)),
                Some(Traffic::Endpoints(_)) => Packets::Endpoints,
                Some(Traffic::Flows) | None => {
                    Packets::Connection(Connection { bytes: spec.bytes.unwrap_or(u64::MAX), ..Connection::default() })
                }
            };
            flows.push(Flow { seen: FlowSeen::default(), packets, ends: own.unwrap_or(0), bottleneck });
        }
        let end = Time::ZERO + scenario.duration;
        let measured = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration.saturating_sub(scenario.cooldown));
        let interval = scenario.record.series.then_some(scenario.record.interval);
        let recorder = Recorder::new(interval, std::iter::empty::<Vec<&str>>());
        Ok(Emulator {
            scenario,
            shared,
            clock,
            ends,
            agenda: Agenda::new(media.len(), Time::NEVER),
            watch: LinkWatch::new(entries.len()),
            media,
            entries,
            routes,
            // A byte more than there can be, so that a longer packet would be noticed.
            slots: Slots::new(mtu as usize + 1),
            flows,
            looks: Looks { sample: recorder.next(end), measure: measured.0, end },
            measured,
            is_measuring: false,
            recorder,
            links: Vec::new(),
            at_the_end: Vec::new(),
            lateness: Lateness::default(),
            failed_writes: 0,
            packets: 0,
            max_memory,
            packet_log: None,
        })
    }

    /// Has the emulator keep a log of all packets.
    pub fn logging(self) -> Emulator<'a> {
        Emulator { packet_log: Some(PacketLog::default()), ..self }
    }

    /// Carries packets until it is told that the run is over.
    pub fn run(mut self) -> Result<Seen, RunError> {
        let had_priority = sys::schedule_first(PRIORITY).is_ok();
        // Without it wake-ups are some microseconds later, which the certificate shows.
        let _ = set_current_timer_slack(Some(TIMER_SLACK));
        rights::drop_all()
            .map_err(|error| RunError::Machine(format!("the emulator cannot drop its rights: {error}")))?;
        let began = ThreadTime::now();
        let mut until_weighing = TURNS_PER_WEIGHING;
        while !self.shared.is_over.load(Ordering::Relaxed) {
            self.advance(self.clock.now());
            let mut is_idle = true;
            for ends in 0..self.ends.len() {
                for side in Side::BOTH {
                    is_idle &= !self.read_one(ends, side);
                }
            }
            until_weighing -= 1;
            if until_weighing == 0 {
                self.weigh()?;
                until_weighing = TURNS_PER_WEIGHING;
            }
            if is_idle {
                self.wait();
            }
        }
        let cpu_s = began.elapsed().as_secs_f64();
        self.conclude();
        Ok(Seen {
            flows: self.at_the_end,
            links: self.links,
            recorder: self.recorder,
            lateness: self.lateness,
            failed_writes: self.failed_writes,
            had_priority,
            cpu_s,
            packets: self.packets,
            packet_log: self.packet_log,
        })
    }

    /// Ends the measured interval and the run where it was told to stop before its time.
    fn conclude(&mut self) {
        let now = self.clock.now();
        self.advance(now);
        if self.is_measuring {
            self.measurement_boundary(now.min(self.measured.1));
        }
        if self.looks.end < Time::NEVER {
            self.finish(now);
        }
    }

    /// Sleeps until something is due or a host has sent.
    fn wait(&self) {
        let due = self.agenda.next().1.min(self.looks.next());
        let timeout = timespec(self.clock.until(due).min(PATIENCE));
        let devices = self.ends.iter().flat_map(|ends| ends.devices);
        let mut devices: Vec<_> = devices.map(|device| PollFd::new(device, PollFlags::IN)).collect();
        // An interrupted sleep is only shorter.
        let _ = poll(&mut devices, Some(&timeout));
    }

    /// Does everything that is due by `until`, in the order of time.
    fn advance(&mut self, until: Time) {
        loop {
            let (medium, due) = self.agenda.next();
            let look = self.looks.next();
            if due.min(look) > until {
                return;
            }
            if look <= due {
                self.look(look);
            } else {
                self.medium_event(medium, due);
            }
        }
    }

    /// Takes one packet of a host into its first link; false when there is none.
    fn read_one(&mut self, ends: usize, side: Side) -> bool {
        let slot = self.slots.take();
        let length = match read(self.ends[ends].devices[side as usize], self.slots.get(slot)) {
            Ok(length) => length,
            Err(_) => {
                self.slots.give_back(slot);
                return false;
            }
        };
        let now = self.clock.now();
        self.advance(now);
        if !self.accept(self.ends[ends].traffic, side, slot, length, now) {
            self.slots.give_back(slot);
        }
        true
    }

    /// Offers a packet that was read to its first link; false if it belongs to no flow.
    fn accept(&mut self, traffic: Traffic, side: Side, slot: u32, length: usize, now: Time) -> bool {
        let bytes = &self.slots.get(slot)[..length];
        let Some(ecn) = ecn(bytes) else { return false };
        let is_forward = side == Side::Sender;
        let number = match traffic {
            Traffic::Flows => {
                let Some(header) = Header::read(bytes) else { return false };
                let port = if is_forward { header.source } else { header.destination };
                u32::from(port.wrapping_sub(FIRST_PORT))
            }
            Traffic::Programs(flow) | Traffic::Endpoints(flow) => flow,
        };
        let Some(flow) = self.flows.get_mut(number as usize) else { return false };
        let class = match &mut flow.packets {
            Packets::Connection(connection) => {
                let Some(header) = Header::read(bytes) else { return false };
                let class = header.class(is_forward);
                connection.count_sent(&header, class, is_forward, now);
                flow.seen.total.acks += u64::from(class == Class::Ack);
                class
            }
            Packets::Programs(conversations) => {
                let Departure { class, rtt } = conversations.on_departure(now, bytes, is_forward);
                self.shared.flows[number as usize].has_sent.store(true, Ordering::Relaxed);
                flow.seen.total.sent += u64::from(is_forward && class == Class::Data);
                if let Some(rtt) = rtt.filter(|_| self.is_measuring) {
                    flow.seen.rtt.add(rtt.as_micros());
                }
                class
            }
            Packets::Endpoints if is_forward => Class::Data,
            Packets::Endpoints => {
                flow.seen.total.acks += 1;
                Class::Ack
            }
        };
        let route = self.routes.of(number as usize);
        let (hop, hops_left) = if is_forward {
            (route.first_forward, route.forward_rest)
        } else {
            (route.first_reverse, route.reverse_rest)
        };
        let size = u16::try_from(length).unwrap_or(u16::MAX);
        let packet = Packet { entered: now, slot, flow: number, size, hops_left, ecn, class, is_forward };
        self.log(now, &packet, Event::Arrival);
        self.send(now, hop, packet);
        true
    }

    /// Hands a packet to a link.
    fn send(&mut self, now: Time, hop: Hop, packet: Packet) {
        let medium = self.media.get_mut(hop.medium());
        let is_counted_now = hop.is_bottleneck && !medium.decides_late(hop.port);
        let offer = medium.offer(now, hop.port, packet);
        self.count_offer(offer, &packet, is_counted_now);
        if matches!(offer, Offer::Duplicated { .. }) {
            let copy = Packet { slot: self.slots.copy(packet.slot), ..packet };
            let offer = self.media.get_mut(hop.medium()).offer_copy(now, hop.port, copy);
            self.count_offer(offer, &copy, is_counted_now);
        }
        self.settle(hop.medium());
    }

    /// Counts what became of a packet that was offered to a link.
    fn count_offer(&mut self, offer: Offer, packet: &Packet, is_counted_now: bool) {
        match offer {
            Offer::Accepted { departs: Some(departs) } | Offer::Duplicated { departs: Some(departs) }
                if is_counted_now =>
            {
                self.count_departure(packet, departs);
            }
            Offer::Accepted { .. } | Offer::Duplicated { .. } => {}
            Offer::Dropped(_) => self.drop_packet(packet),
        }
    }

    /// Counts what a link reports late, and finds out when it has to be looked at next.
    fn settle(&mut self, index: usize) {
        while let Some((_, packet, _)) = self.media.get_mut(index).pop_drop() {
            self.drop_packet(&packet);
        }
        while let Some((port, departs, packet)) = self.media.get_mut(index).pop_departure() {
            let bottleneck = self.flows[packet.flow as usize].bottleneck;
            let is_here = (bottleneck.medium as usize, bottleneck.port) == (index, port);
            if packet.is_forward && is_here && departs < Time::NEVER {
                self.count_departure(&packet, departs);
            }
        }
        self.agenda.set(index, self.media.get(index).next_event());
    }

    fn count_departure(&mut self, packet: &Packet, departs: Time) {
        let seen = &mut self.flows[packet.flow as usize].seen;
        let bytes = u64::from(packet.size);
        seen.wire_bytes_total += bytes;
        if departs >= self.measured.0 && departs < self.measured.1 {
            seen.wire_bytes += bytes;
        }
    }

    fn drop_packet(&mut self, packet: &Packet) {
        let now = self.clock.now();
        self.log(now, packet, Event::Drop);
        if packet.is_forward && packet.class == Class::Data {
            self.flows[packet.flow as usize].seen.total.drops += 1;
        }
        self.slots.give_back(packet.slot);
    }

    /// Moves on what has come out of a medium at `due`.
    fn medium_event(&mut self, index: usize, due: Time) {
        while let Some((_, mut packet)) = self.media.get_mut(index).poll(due) {
            if packet.hops_left > 0 {
                let hop = self.routes.next_hop(packet.flow, packet.is_forward, packet.hops_left);
                packet.hops_left -= 1;
                self.send(due, hop, packet);
            } else {
                self.deliver(packet, due);
            }
        }
        self.settle(index);
    }

    /// Hands a packet that is due at a host to it.
    fn deliver(&mut self, packet: Packet, due: Time) {
        let bytes = &mut self.slots.get(packet.slot)[..usize::from(packet.size)];
        if ecn(bytes).is_some_and(|ecn| ecn != packet.ecn) {
            set_ecn(bytes, packet.ecn);
        }
        let wakes_reader = self.count_delivered(&packet, due);
        let to = if packet.is_forward { Side::Receiver } else { Side::Sender };
        let now = self.clock.now();
        self.lateness.add(now.since(due), self.is_measuring);
        if wakes_reader {
            // Only the reader takes it back.
            let readable_since = &self.shared.flows[packet.flow as usize].readable_since;
            let _ = readable_since.compare_exchange(NOTHING, now.as_nanos(), Ordering::AcqRel, Ordering::Relaxed);
        }
        let bytes = &self.slots.get(packet.slot)[..usize::from(packet.size)];
        let device = self.ends[self.flows[packet.flow as usize].ends].devices[to as usize];
        let written = loop {
            match write(device, bytes) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        self.packets += 1;
        self.failed_writes += u64::from(written.is_err());
        self.log(due, &packet, Event::Departure);
        self.slots.give_back(packet.slot);
    }

    /// Counts a packet of a flow that reaches a host at `due`. Returns whether it brings the very next bytes to a
    /// reader who has read everything before.
    fn count_delivered(&mut self, packet: &Packet, due: Time) -> bool {
        let bytes = &self.slots.get(packet.slot)[..usize::from(packet.size)];
        let Flow { seen, packets, .. } = &mut self.flows[packet.flow as usize];
        let shared = &self.shared.flows[packet.flow as usize];
        let mut count_arrival = || {
            seen.total.arrived += 1;
            if self.is_measuring {
                seen.one_way_delays += due.since(packet.entered);
            }
            shared.received_bytes.fetch_add(u64::from(packet.size), Ordering::Relaxed);
        };
        let rtt = match packets {
            Packets::Connection(connection) => {
                let Some(header) = Header::read(bytes) else { return false };
                if packet.is_forward && header.payload > 0 {
                    count_arrival();
                    return connection.meter.number(header.seq) == shared.delivered_bytes.load(Ordering::Acquire);
                }
                if packet.is_forward || !connection.is_open || header.is_syn() {
                    return false;
                }
                let now = self.clock.now();
                let echo = header.timestamps.map(|(_, echo)| echo);
                let rtt = connection.meter.on_ack(now, header.ack, echo, |each| header.for_each_sack(bytes, each));
                if connection.meter.acknowledged() >= connection.bytes {
                    seen.finished_at.get_or_insert(now);
                }
                rtt
            }
            Packets::Programs(conversations) if packet.is_forward => {
                if let Some(new) = conversations.on_data(bytes) {
                    count_arrival();
                    shared.delivered_bytes.fetch_add(new, Ordering::Relaxed);
                }
                None
            }
            Packets::Programs(conversations) => conversations.on_answer(self.clock.now(), bytes),
            Packets::Endpoints => {
                if packet.is_forward {
                    count_arrival();
                }
                None
            }
        };
        if let Some(rtt) = rtt.filter(|_| self.is_measuring) {
            seen.rtt.add(rtt.as_micros());
        }
        false
    }

    /// Writes an event down, if anybody wants to know.
    fn log(&mut self, at: Time, packet: &Packet, event: Event) {
        if let Some(log) = &mut self.packet_log {
            log.add(at, packet.size, packet.is_forward, event, at.since(packet.entered));
        }
    }

    /// Does what is due by the clock at `now`.
    fn look(&mut self, now: Time) {
        if self.looks.sample <= now {
            self.sample(now);
        } else if self.looks.measure <= now {
            self.measurement_boundary(now);
        } else {
            self.looks.end = Time::NEVER;
            self.finish(now);
        }
    }

    fn sample(&mut self, now: Time) {
        if let Some(interval) = self.recorder.begin() {
            let recorder = &mut self.recorder;
            self.watch.sample(&mut self.media, &self.entries, (now, interval), |index, sample| {
                recorder.link(now, index, sample);
            });
            for (link, is_full) in self.shared.full_links.iter().enumerate() {
                is_full.store(self.watch.is_full(link), Ordering::Relaxed);
            }
            self.settle_all();
        }
        self.looks.sample = self.recorder.next(Time::ZERO + self.scenario.duration);
    }

    /// The measured interval begins or ends.
    fn measurement_boundary(&mut self, now: Time) {
        self.settle_all();
        let begins = !self.is_measuring && now < self.measured.1;
        if begins || self.measured.0 == self.measured.1 {
            for number in 0..self.media.len() {
                self.media.get_mut(number).start_measuring(now);
            }
            for flow in &mut self.flows {
                flow.seen.measured = flow.seen.total;
            }
        }
        self.is_measuring = begins;
        self.looks.measure = if begins { self.measured.1 } else { Time::NEVER };
        if !begins {
            for flow in &mut self.flows {
                flow.seen.measured = flow.seen.total.since(flow.seen.measured);
            }
            let (scenario, links) = (self.scenario, &mut self.links);
            for_each_link(&mut self.media, &self.entries, |medium, port| {
                let number = u32::try_from(links.len()).unwrap_or(u32::MAX);
                links.push(report::link_summary(scenario, number, medium, port, now));
            });
        }
    }

    /// The run is over; what comes now is carried and not counted any more.
    fn finish(&mut self, now: Time) {
        self.settle_all();
        self.at_the_end = self.flows.iter().map(|flow| flow.seen.clone()).collect();
        let mut rows = self.links.iter_mut();
        for_each_link(&mut self.media, &self.entries, |medium, port| {
            if let Some(row) = rows.next() {
                report::total(row, medium, port, now);
            }
        });
    }

    /// Counts all that links have to report by now.
    fn settle_all(&mut self) {
        for index in 0..self.media.len() {
            self.settle(index);
        }
    }

    fn weigh(&self) -> Result<(), RunError> {
        let packets: u64 = self.flows.iter().map(|flow| flow.packets.memory()).sum();
        let media: u64 = self.media.iter().map(|medium| medium.memory()).sum();
        let log = self.packet_log.as_ref().map_or(0, PacketLog::memory);
        let samples = self.recorder.memory_with_tables() + self.shared.sampled_bytes.load(Ordering::Relaxed);
        let needed = self.slots.memory() + packets + media + samples + log;
        if needed > self.max_memory { Err(RunError::Memory { needed, limit: self.max_memory }) } else { Ok(()) }
    }
}
