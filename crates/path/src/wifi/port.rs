//! One direction of a link between a station and its access point, as the channel and reports see it.

use super::phy::Modulation;
use super::{AccessCategory, Wifi};
use crate::config::LinkConfig;
use crate::ledger::{Ledger, LinkCounters};
use crate::loss::Process;
use crate::medium::Measured;
use crate::packet::Packet;
use crate::pipe::Pipe;
use crate::stats::{Occupancy, Tally};
use dumbbell_units::{Duration, Rng, Time};
use std::sync::Arc;

/// One direction of a link between a station and its access point.
#[derive(Clone, Debug)]
pub struct RadioLink {
    /// Name, queue, delay, and how single frames are lost (`loss_after`). Its rate is that of `wifi`.
    pub config: LinkConfig,
    /// The radio. Links that are alike may share it.
    pub wifi: Arc<Wifi>,
    /// Number of the device that sends.
    pub from: usize,
    /// Number of the device that receives.
    pub to: usize,
    /// Whether the sending device is the access point.
    pub is_from_access_point: bool,
    /// Feeds what is random about the link.
    pub rng: Rng,
}

/// What a radio has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioCounters {
    /// Time that its transmissions took, Block-ACKs included.
    pub airtime: Duration,
    /// Aggregates sent.
    pub aggregates: u64,
    /// Packets in them.
    pub packets: u64,
    /// Frames (MPDUs) that were sent again.
    pub retries: u64,
    /// Aggregates that collided with those of others.
    pub collisions: u64,
}

impl RadioCounters {
    /// What came on top of `earlier`.
    pub fn since(self, earlier: RadioCounters) -> RadioCounters {
        RadioCounters {
            airtime: self.airtime - earlier.airtime,
            aggregates: self.aggregates - earlier.aggregates,
            packets: self.packets - earlier.packets,
            retries: self.retries - earlier.retries,
            collisions: self.collisions - earlier.collisions,
        }
    }
}

/// A port of the channel.
#[derive(Debug)]
pub(super) struct RadioPort<P> {
    pub name: String,
    pub wifi: Arc<Wifi>,
    pub modulation: Modulation,
    pub from: usize,
    pub to: usize,
    /// The port of the other direction.
    pub opposite: Option<usize>,
    pub pipe: Pipe<P>,
    pub errors: Option<Box<dyn Process>>,
    /// The lane of each category, if there is one.
    pub lanes: [Option<usize>; AccessCategory::COUNT],
    pub ledger: Ledger<P>,
    pub occupancy: Occupancy,
    pub departed: Tally,
    pub radio: RadioCounters,
    pub tells_departures: bool,
    /// Whether the queue of any of its lanes looks at what packets acknowledge.
    pub reads_acks: bool,
    before: (LinkCounters, RadioCounters),
    measured_since: Time,
}

impl<P: Packet> RadioPort<P> {
    /// A port, the configuration of its link, and the stream that feeds its queues. `None` where 802.11ac has no such
    /// rate.
    pub(super) fn new(link: RadioLink) -> Option<(RadioPort<P>, LinkConfig, Rng)> {
        let RadioLink { mut config, wifi, from, to, mut rng, .. } = link;
        let modulation = wifi.modulation()?;
        let mut stream = || Rng::new(rng.next_u64());
        let errors = config.loss_after.as_ref().map(|recipe| recipe.make(stream()));
        let pipe = Pipe::new(&config.delay, &[], stream());
        let queues = stream();
        let port = RadioPort {
            name: std::mem::take(&mut config.name),
            wifi,
            modulation,
            from,
            to,
            opposite: None,
            pipe,
            errors,
            lanes: [None; AccessCategory::COUNT],
            ledger: Ledger::default(),
            occupancy: Occupancy::default(),
            departed: Tally::default(),
            radio: RadioCounters::default(),
            tells_departures: false,
            reads_acks: false,
            before: Default::default(),
            measured_since: Time::ZERO,
        };
        Some((port, config, queues))
    }

    /// A packet leaves the receiver, in its order.
    pub(super) fn propagate(&mut self, now: Time, packet: P) {
        if self.pipe.is_plain() {
            return self.pipe.push_behind(now, packet);
        }
        let passage = self.pipe.draw(now, &packet);
        self.pipe.push(now, passage, &packet);
    }

    pub(super) fn counters(&self) -> LinkCounters {
        self.ledger.counters(self.departed)
    }

    pub(super) fn start_measuring(&mut self, now: Time) {
        self.before = (self.counters(), self.radio);
        self.measured_since = now;
        self.occupancy.advance(now);
        self.occupancy.restart(now);
    }

    pub(super) fn capacity_bits(&self, since: Time, until: Time) -> u64 {
        let bits = u128::from(self.modulation.rate().as_bits_per_sec()) * u128::from(until.since(since).as_nanos());
        u64::try_from(bits / 1_000_000_000).unwrap_or(u64::MAX)
    }

    pub(super) fn measured(&mut self, now: Time) -> Measured {
        let (before, radio) = self.before;
        let departed = self.departed.minus(before.departures);
        let capacity_bits = Some(self.capacity_bits(self.measured_since, now));
        let stats = self.occupancy.stats(now, departed, capacity_bits);
        Measured::new(before, &stats, Some(self.radio.since(radio)))
    }

    /// A packet begins to wait.
    pub(super) fn enter(&mut self, now: Time, bytes: u32) {
        self.occupancy.advance(now);
        self.occupancy.enter(bytes);
    }

    /// A packet waits no longer: it is sent for the first time, or dropped.
    pub(super) fn leave(&mut self, now: Time, bytes: u32) {
        self.occupancy.leave(now, bytes);
    }
}
