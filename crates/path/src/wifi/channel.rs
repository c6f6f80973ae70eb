//! The channel: what waits at its ports, who is next to transmit, and what comes out.
//!
//! Between two exchanges everything that matters is known: who has something to send, and when his backoff expires. So
//! there is one event for an exchange, its start. What comes of the exchange is computed then (`exchange.rs`): the
//! packets that arrive go into the pipe of their port, and the next contention begins at its end. What the device does
//! when it hears the Block-ACK is done when somebody looks at the channel after that.

use super::aggregate::{Aggregate, Categories, Mpdu};
use super::airtime::Turns;
use super::backoff::Access;
use super::intake::{Intake, Room};
use super::lane::{Lane, Place};
use super::port::{RadioCounters, RadioLink, RadioPort};
use super::race::Race;
use super::timetable::Timetable;
use super::{AccessCategory, Wifi};
use crate::dscp::Dscp;
use crate::ledger::Offer;
use crate::ledger::{DropCause, Ledger, LinkCounters};
use crate::link::change::{Change, Retimed};
use crate::medium::{Measured, Medium, Port};
use crate::packet::{Packet, PureAck};
use crate::pipe::PipeMemory;
use crate::stats::Backlog;
use dumbbell_units::{Duration, Rng, Time, claimed};
use std::collections::{HashMap, VecDeque};

/// A radio channel with its access point and its stations.
#[derive(Debug)]
pub struct WifiChannel<P> {
    pub(super) ports: Vec<RadioPort<P>>,
    pub(super) lanes: Vec<Lane<P>>,
    /// By their numbers in the race.
    pub(super) contenders: Vec<Contender<P>>,
    pub(super) race: Race,
    intake: Intake,
    categories: Categories,
    pub(super) rng: Rng,
    /// When the next exchange starts if nothing comes before.
    next_start: Time,
    /// When receivers stop to wait for a frame, by lane.
    pub(super) timeouts: Timetable,
    /// When the next packet comes out of each port.
    pub(super) arrivals: Timetable,
    /// Estimated airtime that the end of the exchange frees in the device, by lane.
    pub(super) freed: Vec<(usize, Duration)>,
    /// Memory of an aggregate that has been sent.
    pub(super) spare: Vec<Mpdu<P>>,
    /// Memory that pipes had, which are empty now.
    pub(super) pipe_memory: Vec<PipeMemory<P>>,
    pub(super) departures: VecDeque<(Port, Time, P)>,
    pub(super) drops: VecDeque<(Port, P, DropCause)>,
}

/// A category of a device: what contends for the channel.
#[derive(Debug)]
pub(super) struct Contender<P> {
    pub device: usize,
    pub category: AccessCategory,
    pub turns: Turns,
    /// The aggregate that the device has fixed already, and its lane.
    pub built: Option<(usize, Aggregate<P>)>,
}

/// The number of a port as media know it.
#[expect(clippy::cast_possible_truncation, reason = "`ports` counts them in 16 bits")]
pub(super) fn port_number(port: usize) -> Port {
    port as Port
}

impl<P: Packet + Send> WifiChannel<P> {
    /// A channel with these links, whose ports are numbered in their order. `rng` feeds the backoffs. All links have
    /// rates that [`Wifi::check`] allows; those that do not are left out. Flows may be [assigned](Medium::assign) to
    /// `categories`.
    pub fn new(links: Vec<RadioLink>, categories: &[AccessCategory], rng: Rng) -> WifiChannel<P> {
        let mut channel = WifiChannel {
            ports: Vec::with_capacity(links.len()),
            lanes: Vec::new(),
            contenders: Vec::new(),
            race: Race::default(),
            intake: Intake::default(),
            categories: Categories::default(),
            rng,
            next_start: Time::NEVER,
            timeouts: Timetable::default(),
            arrivals: Timetable::default(),
            freed: Vec::new(),
            spare: Vec::new(),
            pipe_memory: Vec::new(),
            departures: VecDeque::new(),
            drops: VecDeque::new(),
        };
        let mut known = HashMap::new();
        links.into_iter().for_each(|link| channel.add(link, categories, &mut known));
        let mut first = HashMap::new();
        for (number, port) in channel.ports.iter().enumerate() {
            first.entry((port.from, port.to)).or_insert(number);
        }
        for port in &mut channel.ports {
            port.opposite = first.get(&(port.to, port.from)).copied();
        }
        channel
    }

    /// Adds a port with a lane for every category that a packet can have. `known` are the contenders so far, by device
    /// and category.
    fn add(
        &mut self,
        link: RadioLink,
        categories: &[AccessCategory],
        known: &mut HashMap<(usize, AccessCategory), usize>,
    ) {
        let (device, is_access_point) = (link.from, link.is_from_access_point);
        let Some((mut port, config, mut queues)) = RadioPort::new(link) else { return };
        let number = self.ports.len();
        let mut categories = [categories, &[port.wifi.category]].concat();
        categories.sort_unstable();
        categories.dedup();
        for category in categories {
            let access = Access::new(category, is_access_point);
            let contender = *known.entry((device, category)).or_insert_with(|| {
                let turns = Turns::new(port.wifi.airtime_fairness);
                self.contenders.push(Contender { device, category, turns, built: None });
                self.race.add(access)
            });
            let turns = &mut self.contenders[contender].turns;
            let place = Place { port: number, contender, station: turns.len(), category };
            let queue = Rng::new(queues.next_u64());
            let lane = Lane::new(place, (&port.wifi, port.modulation), is_access_point, access.txop, &config, queue);
            if let Some(lane) = lane {
                let index = self.lanes.len();
                port.lanes[category as usize] = Some(index);
                port.reads_acks |= lane.reads_acks();
                turns.add(index, port.wifi.airtime_weight);
                self.intake.add(contender, port.wifi.aql_threshold);
                self.lanes.push(lane);
            }
        }
        self.ports.push(port);
    }

    /// Does something with a lane, and tells what its queue drops. What this changes is [noted](Self::note) by the
    /// caller.
    pub(super) fn with_lane<T>(
        &mut self,
        now: Time,
        lane: usize,
        act: impl FnOnce(&mut Lane<P>, &Wifi, &mut Ledger<P>) -> T,
    ) -> T {
        let lane = &mut self.lanes[lane];
        let number = lane.port;
        let port = &mut self.ports[number];
        let result = act(lane, &port.wifi, &mut port.ledger);
        while let Some((packet, cause)) = port.ledger.later_drops.pop_front() {
            port.leave(now, packet.size());
            self.drops.push_back((port_number(number), packet, cause));
        }
        result
    }

    /// A lane has changed by `now`.
    pub(super) fn note(&mut self, now: Time, number: usize) {
        let lane = &self.lanes[number];
        let queue = lane.queue_ready();
        let (room, later) =
            if queue <= now { (lane.room(&self.ports[lane.port].wifi), Time::NEVER) } else { (Room::None, queue) };
        self.intake.note(number, lane.pending, room, later);
        self.contenders[lane.contender].turns.note(lane.station, lane.ready(now), now);
    }

    /// Does what the end of the exchange leads to, if it is over by `now`: devices take packets, one lane after the
    /// other.
    pub(super) fn hear_block_ack(&mut self, now: Time) {
        let over = self.race.idle_since();
        if over > now || self.freed.is_empty() {
            return;
        }
        while let Some((lane, airtime)) = self.freed.pop() {
            let pending = &mut self.lanes[lane].pending;
            *pending = pending.saturating_sub(airtime);
            self.note(over, lane);
        }
        for lane in self.intake.due(over) {
            self.note(over, lane);
        }
        let mut lanes = self.intake.first_of_changed();
        while let Some(lane) = lanes.pop_first() {
            self.fill_device(over, lane);
            self.note(over, lane);
            lanes.extend(self.intake.behind(lane));
        }
    }

    /// The device takes what it may from the queue of a lane. The caller [notes](Self::note) it.
    pub(super) fn fill_device(&mut self, now: Time, lane: usize) {
        if self.lanes[lane].queue_ready() <= now {
            let others = self.intake.pending(lane) - self.lanes[lane].pending;
            self.with_lane(now, lane, |lane, wifi, ledger| lane.fill_device(now, wifi, others, ledger));
        }
    }

    /// There is something new in a lane at `now`.
    fn enter(&mut self, now: Time, lane: usize) {
        let lane = &self.lanes[lane];
        let (contender, ready) = (lane.contender, lane.ready(now));
        if ready == Time::NEVER {
            return;
        }
        self.contenders[contender].turns.enter(lane.station);
        let was_ready = self.race.ready(contender);
        if was_ready == Time::NEVER && self.race.idle_since() > now {
            self.race.defer(contender, &mut self.rng);
        }
        let ready = ready.max(now);
        if ready < was_ready {
            self.race.set_ready(contender, ready);
            self.next_start = self.next_start.min(self.race.start_of(contender));
        }
    }

    /// From when on a contender has something to send, not before `earliest`.
    pub(super) fn find_ready(&mut self, number: usize, earliest: Time) {
        let contender = &mut self.contenders[number];
        contender.turns.enter_all();
        let ready = if contender.built.is_some() { Time::ZERO } else { contender.turns.ready().max(earliest) };
        self.race.set_ready(number, ready);
    }

    pub(super) fn find_next_start(&mut self) {
        self.next_start = self.race.next_start();
    }

    /// Receivers that have waited long enough for a frame go on without it.
    fn time_out(&mut self, now: Time) {
        let mut lanes = self.timeouts.due(now);
        lanes.sort_unstable();
        for lane in lanes {
            self.deliver(lane, now);
        }
    }

    fn offer_to_lane(&mut self, now: Time, port: usize, packet: P) -> Offer {
        let own = &mut self.ports[port];
        own.ledger.counted.arrivals.add(packet.size());
        let category = self.categories.of(packet.flow(), &own.wifi);
        let Some(lane) = own.lanes[category as usize] else {
            return own.ledger.drop_now(packet.size(), DropCause::QueueFull);
        };
        let offer = self.with_lane(now, lane, |lane, _, ledger| lane.offer(now, packet, ledger));
        if !matches!(offer, Offer::Dropped(_)) {
            self.ports[port].enter(now, packet.size());
        }
        self.fill_device(now, lane);
        self.note(now, lane);
        self.enter(now, lane);
        offer
    }
}

impl<P: Packet + Send> Medium<P> for WifiChannel<P> {
    fn assign(&mut self, port: Port, flow: u32, dscp: Option<Dscp>) {
        self.categories.set(flow, dscp.map(Dscp::category));
        for lane in self.ports[usize::from(port)].lanes.into_iter().flatten() {
            self.lanes[lane].assign(flow, dscp);
        }
    }

    fn reads_acks(&self, port: Port) -> bool {
        self.ports[usize::from(port)].reads_acks
    }

    fn read_ack(&mut self, port: Port, ack: Option<PureAck>) {
        for lane in self.ports[usize::from(port)].lanes.into_iter().flatten() {
            self.lanes[lane].read_ack(ack);
        }
    }

    fn ports(&self) -> Port {
        port_number(self.ports.len())
    }

    fn name(&self, port: Port) -> &str {
        &self.ports[usize::from(port)].name
    }

    fn offer(&mut self, now: Time, port: Port, packet: P) -> Offer {
        self.hear_block_ack(now);
        self.offer_to_lane(now, usize::from(port), packet)
    }

    fn poll(&mut self, now: Time) -> Option<(Port, P)> {
        loop {
            let (arrives, port) = self.arrivals.first();
            let (times_out, _) = self.timeouts.first();
            let next = self.next_start.min(times_out);
            if arrives <= now && arrives <= next {
                let mut packet = P::default();
                let pipe = &mut self.ports[port].pipe;
                pipe.take_into(&mut packet);
                pipe.lend_memory(&mut self.pipe_memory);
                self.arrivals.set(port, pipe.next_arrival());
                return Some((port_number(port), packet));
            }
            if next > now {
                return None;
            }
            if times_out < self.next_start { self.time_out(next) } else { self.exchange(next) }
        }
    }

    fn next_event(&self) -> Time {
        self.arrivals.first().0.min(self.next_start).min(self.timeouts.first().0)
    }

    fn pop_drop(&mut self) -> Option<(Port, P, DropCause)> {
        self.drops.pop_front()
    }

    fn decides_late(&self, _port: Port) -> bool {
        true
    }

    fn report_departures(&mut self, port: Port) {
        self.ports[usize::from(port)].tells_departures = true;
    }

    fn pop_departure(&mut self) -> Option<(Port, Time, P)> {
        self.departures.pop_front()
    }

    fn advance(&mut self, now: Time) {
        self.hear_block_ack(now);
    }

    /// The delay of a link can be changed, and the losses of its frames; its rate is that of the radio.
    fn change(&mut self, _now: Time, port: Port, change: &Change) -> Vec<Retimed<P>> {
        let port = &mut self.ports[usize::from(port)];
        match change {
            Change::Delay(delay) => port.pipe.set_base(*delay),
            Change::LossAfter(loss) | Change::LossBefore(loss) => {
                let stream = Rng::new(self.rng.next_u64());
                port.errors = loss.as_ref().map(|recipe| recipe.make(stream));
            }
            Change::Rate(_) => {}
        }
        Vec::new()
    }

    fn backlog(&mut self, now: Time, port: Port) -> Backlog {
        self.hear_block_ack(now);
        self.ports[usize::from(port)].occupancy.backlog()
    }

    fn counters(&mut self, now: Time, port: Port) -> LinkCounters {
        self.hear_block_ack(now);
        self.ports[usize::from(port)].counters()
    }

    fn radio(&self, port: Port) -> Option<RadioCounters> {
        Some(self.ports[usize::from(port)].radio)
    }

    fn capacity_bits(&self, port: Port, since: Time, until: Time) -> Option<u64> {
        Some(self.ports[usize::from(port)].capacity_bits(since, until))
    }

    fn start_measuring(&mut self, now: Time) {
        self.hear_block_ack(now);
        self.ports.iter_mut().for_each(|port| port.start_measuring(now));
    }

    fn measured(&mut self, now: Time, port: Port) -> Measured {
        self.hear_block_ack(now);
        self.ports[usize::from(port)].measured(now)
    }

    fn count_in_flight(&self, is_meant: &dyn Fn(&P) -> bool) -> u64 {
        let lanes = self.lanes.iter().flat_map(Lane::packets);
        let built = self.contenders.iter().filter_map(|contender| contender.built.as_ref());
        let waiting = lanes.chain(built.flat_map(|(_, aggregate)| aggregate.packets()));
        let waiting = waiting.filter(|packet| is_meant(packet)).count() as u64;
        waiting + self.ports.iter().map(|port| port.pipe.count(is_meant)).sum::<u64>()
    }

    fn memory(&self) -> u64 {
        let ports = self.ports.iter().map(|port| port.pipe.memory()).sum::<u64>();
        let pipes = self.pipe_memory.iter().map(PipeMemory::memory).sum::<u64>();
        let lanes = self.lanes.iter().map(Lane::memory).sum::<u64>();
        ports
            + pipes
            + lanes
            + claimed::<(Port, Time, P)>(self.departures.len(), self.departures.capacity())
            + claimed::<(Port, P, DropCause)>(self.drops.len(), self.drops.capacity())
    }
}
