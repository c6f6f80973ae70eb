//! What one device has to send to another in one access category, from the queue to the MPDUs that are under way.

use super::aggregate::{Aggregate, Bounds, Mpdu, next_mpdu};
use super::away::Away;
use super::intake::Room;
use super::phy::Modulation;
use super::reorder::Reorder;
use super::{AccessCategory, DeviceQueue, Wifi};
use crate::config::LinkConfig;
use crate::dscp::Dscp;
use crate::ledger::Ledger;
use crate::packet::{Packet, PureAck};
use crate::queue::{Buffer, HeldQueue, Limits};
use crate::stats::Occupancy;
use crate::transmitter::Transmitter;
use crate::{LinkRate, Offer};
use dumbbell_units::{Duration, Rng, Time, claimed};
use std::collections::VecDeque;

/// A lane.
#[derive(Debug)]
pub(super) struct Lane<P> {
    pub port: usize,
    pub contender: usize,
    /// Its number among the stations of its contender.
    pub station: usize,
    pub category: AccessCategory,
    pub receiver: Reorder<P>,
    /// When its station is not there, and whether it is the access point that sends.
    away: Option<(Away, bool)>,
    bounds: Bounds,
    /// Estimated airtime of what the device holds or has under way.
    pub pending: Duration,
    modulation: Modulation,
    queue: HeldQueue<P>,
    /// Packets in the device.
    device: VecDeque<P>,
    /// MPDUs to be sent, most of them again, by their numbers.
    again: VecDeque<Mpdu<P>>,
    next_number: u32,
}

/// Which lane it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub port: usize,
    pub contender: usize,
    pub station: usize,
    pub category: AccessCategory,
}

impl<P: Packet> Lane<P> {
    pub(super) fn new(
        place: Place,
        (wifi, modulation): (&Wifi, Modulation),
        is_access_point: bool,
        txop: Option<Duration>,
        config: &LinkConfig,
        rng: Rng,
    ) -> Option<Lane<P>> {
        let Place { port, contender, station, category } = place;
        let transmitter = Transmitter::new(&LinkRate::Constant(modulation.rate().as_bits_per_sec()), 0)?;
        let mut buffer = Buffer::new(transmitter, Limits::new(&config.limit));
        // What waited when is counted at the port, where packets in the device count, too.
        buffer.occupancy = Occupancy::of_the_present();
        Some(Lane {
            port,
            contender,
            station,
            category,
            receiver: Reorder::new(wifi.reorder_timeout),
            away: wifi.away.map(|away| (away, is_access_point)),
            bounds: Bounds::new(wifi, &modulation, txop),
            pending: Duration::ZERO,
            modulation,
            queue: HeldQueue::new(buffer, config.queue.make(rng).into_held()),
            device: VecDeque::new(),
            again: VecDeque::new(),
            next_number: 0,
        })
    }

    /// A packet comes to the queue.
    pub(super) fn offer(&mut self, now: Time, packet: P, ledger: &mut Ledger<P>) -> Offer {
        match self.queue.offer(now, packet, ledger) {
            Ok(()) => Offer::Accepted { departs: None },
            Err(cause) => ledger.drop_now(packet.size(), cause),
        }
    }

    /// Whether the queue looks at what packets acknowledge.
    pub(super) fn reads_acks(&self) -> bool {
        self.queue.reads_acks()
    }

    /// What the packet acknowledges that comes next.
    pub(super) fn read_ack(&mut self, ack: Option<PureAck>) {
        self.queue.read_ack(ack);
    }

    /// From now on the packets of a flow have this code point.
    pub(super) fn assign(&mut self, flow: u32, dscp: Option<Dscp>) {
        self.queue.assign(flow, dscp);
    }

    /// From when on there is something that can be sent; an instant before `now` is any of the past.
    pub(super) fn ready(&self, now: Time) -> Time {
        let ready = if self.device.is_empty() && self.again.is_empty() { self.queue.ready() } else { Time::ZERO };
        match &self.away {
            Some((away, is_access_point)) if ready < Time::NEVER => away.present(ready.max(now), *is_access_point),
            _ => ready,
        }
    }

    /// Whether its station is away at `now`.
    pub(super) fn is_away(&self, now: Time) -> bool {
        self.away.is_some_and(|(away, is_access_point)| away.present(now, is_access_point) > now)
    }

    /// From when on the queue has something to give.
    pub(super) fn queue_ready(&self) -> Time {
        self.queue.ready()
    }

    /// The device takes packets from the queue, as many as it may hold, while `others` are pending in it for other
    /// lanes.
    pub(super) fn fill_device(&mut self, now: Time, wifi: &Wifi, others: Duration, ledger: &mut Ledger<P>) {
        while self.may_take(wifi, others) && self.queue.ready() <= now {
            let Some(packet) = self.queue.pull(now, ledger) else { return };
            self.pending += self.modulation.airtime(packet.size());
            self.device.push_back(packet);
        }
    }

    fn may_take(&self, wifi: &Wifi, others: Duration) -> bool {
        match self.room(wifi) {
            Room::None => false,
            Room::IfLittle => self.pending + others < wifi.aql_threshold,
            Room::Sure => true,
        }
    }

    /// Whether the device takes another packet: by airtime queue limits, or as long as it has room.
    pub(super) fn room(&self, wifi: &Wifi) -> Room {
        match wifi.device_queue {
            DeviceQueue::All if self.device.len() < wifi.device_packets as usize => Room::Sure,
            DeviceQueue::Aql if self.pending < wifi.aql_low => Room::Sure,
            DeviceQueue::Aql if self.pending < wifi.aql_high => Room::IfLittle,
            DeviceQueue::None | DeviceQueue::All | DeviceQueue::Aql => Room::None,
        }
    }

    /// Estimated airtime of the packets of an MPDU.
    pub(super) fn airtime_of(&self, mpdu: &Mpdu<P>) -> Duration {
        mpdu.packets().fold(Duration::ZERO, |sum, packet| sum + self.modulation.airtime(packet.size()))
    }

    /// The next aggregate: what has to be sent again, then what comes next. `under_way` is the number of the first MPDU
    /// that is being sent just now, `memory` that of an aggregate that has been sent.
    pub(super) fn assemble(
        &mut self,
        now: Time,
        wifi: &Wifi,
        under_way: Option<u32>,
        memory: Vec<Mpdu<P>>,
        ledger: &mut Ledger<P>,
    ) -> Aggregate<P> {
        let mut aggregate = Aggregate::new(memory);
        let oldest = self.again.front().map(|mpdu| mpdu.number).into_iter().chain(under_way).min();
        let end = oldest.unwrap_or(self.next_number).saturating_add(self.bounds.window);
        while let Some(mpdu) = self.again.pop_front() {
            if let Some(mpdu) = aggregate.add(mpdu, &self.bounds) {
                self.again.push_front(mpdu);
                return aggregate;
            }
        }
        // Of a thousand lanes few have anything to send again.
        self.again = VecDeque::new();
        while self.next_number < end {
            let Some(mpdu) = self.next_mpdu(now, wifi, ledger) else { break };
            self.next_number += 1;
            if let Some(mpdu) = aggregate.add(mpdu, &self.bounds) {
                self.again.push_front(mpdu);
                break;
            }
        }
        aggregate
    }

    fn next_mpdu(&mut self, now: Time, wifi: &Wifi, ledger: &mut Ledger<P>) -> Option<Mpdu<P>> {
        let Lane { device, queue, pending, modulation, .. } = self;
        next_mpdu(self.next_number, &self.bounds, |fits| {
            if device.is_empty() && wifi.device_queue == DeviceQueue::None && queue.ready() <= now {
                let packet = queue.pull(now, ledger)?;
                *pending += modulation.airtime(packet.size());
                device.push_back(packet);
            }
            if fits(device.front()?.size()) { device.pop_front() } else { None }
        })
    }

    /// An MPDU has to be sent again.
    pub(super) fn retry(&mut self, mpdu: Mpdu<P>) {
        let place = self.again.partition_point(|waiting| waiting.number < mpdu.number);
        self.again.insert(place, mpdu);
    }

    /// Packets that wait or are held by the receiver.
    pub(super) fn packets(&self) -> impl Iterator<Item = &P> {
        let again = self.again.iter().flat_map(Mpdu::packets);
        self.queue.packets().chain(&self.device).chain(again).chain(self.receiver.packets())
    }

    /// Bytes of memory claimed.
    pub(super) fn memory(&self) -> u64 {
        self.queue.memory()
            + claimed::<P>(self.device.len(), self.device.capacity())
            + claimed::<Mpdu<P>>(self.again.len(), self.again.capacity())
            + self.again.iter().map(Mpdu::memory).sum::<u64>()
            + self.receiver.memory()
    }
}
