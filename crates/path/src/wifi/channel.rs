//! The channel: what waits at its ports, who is next to transmit, and what comes out.
//!
//! Between two exchanges everything that matters is known: who has something to send, and when his backoff expires. So
//! there is one event for an exchange, its start. What comes of the exchange is computed then (`exchange.rs`): the packets
//! that arrive go into the pipe of their port, and the next contention begins at its end. What the device does when it
//! hears the Block-ACK is done when somebody looks at the channel after that.

use super::aggregate::{Aggregate, Categories};
use super::airtime::Turns;
use super::backoff::{Access, Backoff};
use super::lane::{Lane, Place};
use super::port::{RadioCounters, RadioLink, RadioPort};
use super::{AccessCategory, Wifi};
use crate::dscp::Dscp;
use crate::ledger::{DropCause, Ledger, LinkCounters};
use crate::link::{Change, Offer, Retimed};
use crate::medium::{Measured, Medium, Port};
use crate::packet::{Packet, PureAck};
use crate::stats::Backlog;
use dumbbell_units::{Duration, Rng, Time, claimed};
use std::collections::VecDeque;

/// A radio channel with its access point and its stations.
#[derive(Debug)]
pub struct WifiChannel<P> {
    pub(super) ports: Vec<RadioPort<P>>,
    pub(super) lanes: Vec<Lane<P>>,
    pub(super) contenders: Vec<Contender<P>>,
    categories: Categories,
    pub(super) rng: Rng,
    /// Since when nobody transmits, or when the exchange that is under way ends.
    pub(super) idle_since: Time,
    /// When the next exchange starts if nothing comes before.
    next_start: Time,
    /// When a receiver stops to wait for a frame.
    next_timeout: Time,
    /// When the next packet comes out, and at which port.
    next_arrival: (Time, usize),
    /// Estimated airtime that the end of the exchange frees in the device, by lane.
    pub(super) freed: Vec<(usize, Duration)>,
    pub(super) departures: VecDeque<(Port, Time, P)>,
    pub(super) drops: VecDeque<(Port, P, DropCause)>,
}

/// A category of a device: what contends for the channel.
#[derive(Debug)]
pub(super) struct Contender<P> {
    pub device: usize,
    pub category: AccessCategory,
    pub backoff: Backoff,
    pub turns: Turns,
    /// From when on it has something to send.
    ready: Time,
    /// The aggregate that the device has fixed already, and its lane.
    pub built: Option<(usize, Aggregate<P>)>,
}

/// The number of a port as media know it.
#[expect(clippy::cast_possible_truncation, reason = "`ports` counts them in 16 bits")]
pub(super) fn port_number(port: usize) -> Port {
    port as Port
}

impl<P: Packet + Send> WifiChannel<P> {
    /// A channel with these links, whose ports are numbered in their order. `rng` feeds the backoffs. All links have rates
    /// that [`Wifi::check`] allows; those that do not are left out. Flows may be [assigned](Medium::assign) to `categories`.
    pub fn new(links: Vec<RadioLink>, categories: &[AccessCategory], rng: Rng) -> WifiChannel<P> {
        let mut channel = WifiChannel {
            ports: Vec::with_capacity(links.len()),
            lanes: Vec::new(),
            contenders: Vec::new(),
            categories: Categories::default(),
            rng,
            idle_since: Time::ZERO,
            next_start: Time::NEVER,
            next_timeout: Time::NEVER,
            next_arrival: (Time::NEVER, 0),
            freed: Vec::new(),
            departures: VecDeque::new(),
            drops: VecDeque::new(),
        };
        links.into_iter().for_each(|link| channel.add(link, categories));
        let ends: Vec<_> = channel.ports.iter().map(|port| (port.from, port.to)).collect();
        for port in &mut channel.ports {
            port.opposite = ends.iter().position(|&(from, to)| (from, to) == (port.to, port.from));
        }
        channel
    }

    /// Adds a port with a lane for every category that a packet can have.
    fn add(&mut self, link: RadioLink, categories: &[AccessCategory]) {
        let (device, is_access_point) = (link.from, link.is_from_access_point);
        let Some((mut port, mut queues)) = RadioPort::new(link) else { return };
        let number = self.ports.len();
        let mut categories = [categories, &[port.wifi.category]].concat();
        categories.sort_unstable();
        categories.dedup();
        for category in categories {
            let access = Access::new(category, is_access_point);
            let contender = self.contender(device, category, access, port.wifi.airtime_fairness);
            let place = Place { port: number, contender, category };
            let queue = Rng::new(queues.next_u64());
            let lane = Lane::new(place, (&port.wifi, port.modulation), access.txop, &port.config, queue);
            if let Some(lane) = lane {
                let index = self.lanes.len();
                port.lanes[category as usize] = Some(index);
                self.contenders[contender].turns.add(index, port.wifi.airtime_weight);
                self.lanes.push(lane);
            }
        }
        self.ports.push(port);
    }

    /// The contender of a category of a device, which may have been there already.
    fn contender(&mut self, device: usize, category: AccessCategory, access: Access, is_fair: bool) -> usize {
        let is_it = |contender: &Contender<P>| (contender.device, contender.category) == (device, category);
        self.contenders.iter().position(is_it).unwrap_or_else(|| {
            let (backoff, turns) = (Backoff::new(access), Turns::new(is_fair));
            self.contenders.push(Contender { device, category, backoff, turns, ready: Time::NEVER, built: None });
            self.contenders.len() - 1
        })
    }

    /// Does something with a lane, and tells what its queue drops.
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

    /// Does what the end of the exchange leads to, if it is over by `now`.
    pub(super) fn hear_block_ack(&mut self, now: Time) {
        if self.idle_since > now || self.freed.is_empty() {
            return;
        }
        while let Some((lane, airtime)) = self.freed.pop() {
            let lane = &mut self.lanes[lane];
            lane.pending = lane.pending.saturating_sub(airtime);
        }
        for lane in 0..self.lanes.len() {
            self.fill_device(self.idle_since, lane);
        }
    }

    pub(super) fn fill_device(&mut self, now: Time, lane: usize) {
        if !self.lanes[lane].has_queue(now) {
            return;
        }
        let contender = self.lanes[lane].contender;
        let others = self.lanes.iter().enumerate().filter(|(number, _)| *number != lane);
        let others = others.filter(|(_, other)| other.contender == contender);
        let pending = others.fold(Duration::ZERO, |sum, (_, other)| sum + other.pending);
        self.with_lane(now, lane, |lane, wifi, ledger| lane.fill_device(now, wifi, pending, ledger));
    }

    /// There is something new in a lane at `now`.
    fn enter(&mut self, now: Time, lane: usize) {
        let ready = self.lanes[lane].ready();
        if ready == Time::NEVER {
            return;
        }
        let contender = &mut self.contenders[self.lanes[lane].contender];
        contender.turns.enter(lane);
        let was_ready = contender.ready;
        contender.ready = was_ready.min(ready.max(now));
        if was_ready == Time::NEVER && self.idle_since > now {
            contender.backoff.defer(&mut self.rng);
        }
        if contender.ready < was_ready {
            let start = contender.backoff.expires(self.idle_since).max(contender.ready);
            self.next_start = self.next_start.min(start);
        }
    }

    /// From when on a contender has something to send, not before `earliest`.
    pub(super) fn find_ready(&mut self, contender: usize, earliest: Time) {
        let Self { lanes, contenders, .. } = self;
        let lanes = lanes.iter().enumerate().filter(|(_, lane)| lane.contender == contender);
        let ready = lanes.map(|(number, lane)| (number, lane.ready()));
        let contender = &mut contenders[contender];
        contender.ready = if contender.built.is_some() { Time::ZERO } else { Time::NEVER };
        for (lane, ready) in ready.filter(|(_, ready)| *ready < Time::NEVER) {
            contender.turns.enter(lane);
            contender.ready = contender.ready.min(ready.max(earliest));
        }
    }

    /// When a contender transmits if nobody does before.
    pub(super) fn start_of(&self, contender: &Contender<P>) -> Time {
        match contender.ready {
            Time::NEVER => Time::NEVER,
            ready => contender.backoff.expires(self.idle_since).max(ready),
        }
    }

    pub(super) fn find_next_start(&mut self) {
        self.next_start = self.contenders.iter().map(|contender| self.start_of(contender)).min().unwrap_or(Time::NEVER);
        self.next_timeout = self.lanes.iter().map(|lane| lane.receiver.deadline()).min().unwrap_or(Time::NEVER);
    }

    pub(super) fn find_next_arrival(&mut self) {
        let arrivals = self.ports.iter().zip(0..).map(|(port, number)| (port.pipe.next_arrival(), number));
        self.next_arrival = arrivals.min().unwrap_or((Time::NEVER, 0));
    }

    /// Receivers that have waited long enough for a frame go on without it.
    fn time_out(&mut self, now: Time) {
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].receiver.deadline() <= now {
                self.deliver(lane, now);
            }
        }
        self.find_next_start();
        self.find_next_arrival();
    }

    fn offer_to_lane(&mut self, now: Time, port: usize, packet: P) -> Offer {
        let own = &mut self.ports[port];
        own.ledger.arrivals.add(packet.size());
        let category = self.categories.of(packet.flow(), &own.wifi);
        let Some(lane) = own.lanes[category as usize] else {
            return own.ledger.drop_now(packet, DropCause::QueueFull);
        };
        let offer = self.with_lane(now, lane, |lane, _, ledger| lane.offer(now, packet, ledger));
        if !matches!(offer, Offer::Dropped(_)) {
            self.ports[port].enter(now, packet.size());
        }
        self.fill_device(now, lane);
        self.enter(now, lane);
        offer
    }
}

impl<P: Packet + Send> Medium<P> for WifiChannel<P> {
    fn assign(&mut self, flow: u32, dscp: Option<Dscp>) {
        self.categories.set(flow, dscp.map(Dscp::category));
        for lane in &mut self.lanes {
            lane.assign(flow, dscp);
        }
    }

    fn reads_acks(&self, port: Port) -> bool {
        self.ports[usize::from(port)].lanes.into_iter().flatten().any(|lane| self.lanes[lane].reads_acks())
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
        &self.ports[usize::from(port)].config.name
    }

    fn offer(&mut self, now: Time, port: Port, packet: P) -> Offer {
        self.hear_block_ack(now);
        self.offer_to_lane(now, usize::from(port), packet)
    }

    fn poll(&mut self, now: Time) -> Option<(Port, P)> {
        loop {
            let (arrives, port) = self.next_arrival;
            let next = self.next_start.min(self.next_timeout);
            if arrives <= now && arrives <= next {
                let mut packet = P::default();
                self.ports[port].pipe.take_into(&mut packet);
                self.find_next_arrival();
                return Some((port_number(port), packet));
            }
            if next > now {
                return None;
            }
            if self.next_timeout < self.next_start { self.time_out(next) } else { self.exchange(next) }
        }
    }

    fn next_event(&self) -> Time {
        self.next_arrival.0.min(self.next_start).min(self.next_timeout)
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
        let lanes = self.lanes.iter().map(Lane::memory).sum::<u64>();
        ports
            + lanes
            + claimed::<(Port, Time, P)>(self.departures.len(), self.departures.capacity())
            + claimed::<(Port, P, DropCause)>(self.drops.len(), self.drops.capacity())
    }
}
