//! A packet for tests, and a bottleneck for queues.

use crate::catalog::LinkContext;
use crate::catalog::QueueLimit;
use crate::config::LinkConfig;
use crate::delay::Delay;
use crate::ledger::Offer;
use crate::ledger::{DropCause, LinkCounters};
use crate::link::Link;
use crate::packet::{Ecn, Packet};
use crate::queue::{Discipline, QueueRecipe};
use crate::transmitter::LinkRate;
use dumbbell_units::{Rate, Rng, Time};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) number: u64,
    pub(crate) size: u32,
    pub(crate) flow: u32,
    pub(crate) ecn: Ecn,
}

impl TestPacket {
    pub(crate) fn new(number: u64, size: u32) -> TestPacket {
        TestPacket { number, size, ..TestPacket::default() }
    }

    /// A full packet of a flow.
    pub(crate) fn of(flow: u32, ecn: Ecn) -> TestPacket {
        TestPacket { size: 1500, flow, ecn, number: 0 }
    }
}

impl Packet for TestPacket {
    fn size(&self) -> u32 {
        self.size
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn follow(&mut self, count: u32) {
        self.number += u64::from(count);
    }

    fn is_followed_by(&self, other: &TestPacket, count: u32) -> bool {
        *other == TestPacket { number: self.number + u64::from(count), ..*self }
    }
}

/// A link without delay at 12 Mbit/s, a full packet a millisecond. Packets are numbered as they are offered.
pub(crate) struct Bottleneck {
    pub(crate) link: Link<TestPacket>,
    now: Time,
    offered_at: Vec<Time>,
    /// What has arrived, and when.
    pub(crate) arrived: Vec<(Time, TestPacket)>,
    /// What was dropped, and why.
    pub(crate) dropped: Vec<(TestPacket, DropCause)>,
}

impl Bottleneck {
    pub(crate) const RATE: u64 = 12_000_000;

    pub(crate) fn new(queue: impl Discipline, limit: QueueLimit) -> Bottleneck {
        Bottleneck::at_rate(Bottleneck::RATE, queue, limit)
    }

    pub(crate) fn at_rate(rate: u64, queue: impl Discipline, limit: QueueLimit) -> Bottleneck {
        let mean = Some(Rate::from_bits_per_sec(rate));
        let context = LinkContext { rate: mean, limit, ..LinkContext::default() };
        let config = LinkConfig {
            name: String::from("link"),
            rate: LinkRate::Constant(rate),
            overhead_bytes: 0,
            delay: Delay::default(),
            policer: None,
            limit,
            queue: QueueRecipe::of(queue, &context).unwrap(),
            loss_before: None,
            loss_after: None,
            impairments: Arc::default(),
        };
        let link = Link::new(config, Rng::new(1));
        Bottleneck { link, now: Time::ZERO, offered_at: Vec::new(), arrived: Vec::new(), dropped: Vec::new() }
    }

    /// A packet is offered at `now`, after all that happens before; returns whether it was accepted.
    pub(crate) fn offer(&mut self, now: Time, packet: TestPacket) -> bool {
        self.run_until(now);
        let packet = TestPacket { number: self.offered_at.len() as u64, ..packet };
        self.offered_at.push(now);
        let offer = self.link.offer(now, packet);
        if let Offer::Dropped(cause) = offer {
            self.dropped.push((packet, cause));
        }
        self.dropped.extend(std::iter::from_fn(|| self.link.pop_drop()));
        !matches!(offer, Offer::Dropped(_))
    }

    /// Offers `count` full packets of each of the flows at once.
    pub(crate) fn offer_burst(&mut self, now: Time, flows: impl IntoIterator<Item = u32>, count: usize, ecn: Ecn) {
        for flow in flows {
            (0..count).for_each(|_| _ = self.offer(now, TestPacket::of(flow, ecn)));
        }
    }

    /// Everything happens that is due up to `until`.
    pub(crate) fn run_until(&mut self, until: Time) {
        while self.link.next_event() <= until && self.link.next_event() < Time::NEVER {
            let now = self.link.next_event();
            self.arrived.extend(std::iter::from_fn(|| self.link.poll(now)).map(|packet| (now, packet)));
            self.dropped.extend(std::iter::from_fn(|| self.link.pop_drop()));
        }
        self.now = until;
    }

    /// Everything happens that is still to come.
    pub(crate) fn drain(&mut self) {
        self.run_until(Time::from_nanos(u64::MAX - 1));
    }

    pub(crate) fn counters(&mut self) -> LinkCounters {
        self.link.counters(self.now)
    }

    /// How long a packet that has arrived was on its way, in milliseconds.
    pub(crate) fn took_ms(&self, (arrived, packet): &(Time, TestPacket)) -> f64 {
        arrived.since(self.offered_at[usize::try_from(packet.number).unwrap()]).as_nanos() as f64 / 1e6
    }

    /// Those of a flow, in milliseconds, of packets that arrived from `since` on.
    pub(crate) fn delays_ms(&self, flow: u32, since: Time) -> Vec<f64> {
        let meant = self.arrived.iter().filter(|(at, packet)| packet.flow == flow && *at >= since);
        meant.map(|arrival| self.took_ms(arrival)).collect()
    }

    /// Bytes of a flow that have arrived.
    pub(crate) fn bytes(&self, flow: u32) -> u64 {
        self.arrived.iter().filter(|(_, packet)| packet.flow == flow).map(|(_, packet)| u64::from(packet.size)).sum()
    }

    /// How many packets of a flow were dropped.
    pub(crate) fn drops(&self, flow: u32) -> usize {
        self.dropped.iter().filter(|(packet, _)| packet.flow == flow).count()
    }
}
