//! Packets on a grid of times through a link, and all that can be seen of them.

use super::digest::Digest;
use crate::ledger::DropCause;
use crate::{Change, Class, Dscp, Ecn, Link, LinkConfig, Offer, Packet};
use dumbbell_units::{Rng, Time};

const PACKETS: u32 = 600;
const GRID_NS: u64 = 250_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestPacket {
    pub number: u64,
    pub size: u32,
    pub flow: u32,
    pub ecn: Ecn,
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

    fn class(&self) -> Class {
        if self.flow == 3 { Class::Ack } else { Class::Data }
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn follow(&mut self, count: u32) {
        self.number += u64::from(count);
    }
}

/// A link, and who sends.
pub struct Traffic {
    link: Link<TestPacket>,
    changes: Vec<(Time, Change)>,
    rng: Rng,
    now: Time,
    digest: Digest,
    arrived: u64,
    most_in_flight: u64,
}

impl Traffic {
    pub fn new(config: LinkConfig, changes: &[(Time, Change)]) -> Traffic {
        let mut changes = changes.to_vec();
        changes.reverse();
        let mut link = Link::new(config, Rng::new(1));
        link.report_departures();
        link.assign(1, Some(Dscp::Ef));
        link.assign(2, Some(Dscp::Cs1));
        Traffic {
            link,
            changes,
            rng: Rng::new(2),
            now: Time::ZERO,
            digest: Digest::new(),
            arrived: 0,
            most_in_flight: 0,
        }
    }

    /// With other sizes, flows and gaps.
    pub fn seeded(self, seed: u64) -> Traffic {
        Traffic { rng: Rng::new(seed), ..self }
    }

    /// Sends everything; a row of the table.
    pub fn run(mut self) -> String {
        for number in 0..PACKETS {
            let gap = self.gap(number);
            let next = Time::from_nanos(self.now.as_nanos() + gap * GRID_NS);
            self.change_until(next);
            self.run_until(next);
            if number == PACKETS / 2 {
                self.link.start_measuring(self.now);
            }
            self.offer(number);
        }
        self.change_until(Time::from_nanos(u64::MAX / 2));
        let end = Time::from_nanos(self.now.as_nanos() + 100_000_000);
        self.run_until(end);
        self.row()
    }

    /// Quarters of a millisecond to the next packet: by turns less and more than the link needs, with two pauses.
    fn gap(&mut self, number: u32) -> u64 {
        if number % 250 == 249 {
            return 4_000;
        }
        let is_crowded = (number / 150).is_multiple_of(2);
        let gaps = if is_crowded { [8, 4, 4, 2, 1, 1, 0, 0] } else { [16, 8, 4, 4, 2, 1, 0, 0] };
        gaps[self.rng.below(8) as usize]
    }

    fn change_until(&mut self, until: Time) {
        while let Some((at, change)) = self.changes.pop_if(|(at, _)| *at <= until) {
            self.run_before(at);
            for retimed in self.link.change(at, &change) {
                self.digest.add(retimed.packet.number);
                self.digest.add(retimed.told.as_nanos());
                self.digest.add(retimed.departs.as_nanos());
            }
        }
    }

    fn run_until(&mut self, until: Time) {
        self.run_before(Time::from_nanos(until.as_nanos() + 1));
        self.now = until;
    }

    /// All that happens before this time.
    fn run_before(&mut self, end: Time) {
        while self.link.next_event() < end {
            let now = self.link.next_event();
            while let Some(packet) = self.link.poll(now) {
                self.arrived += 1;
                self.note(1, now, &packet);
            }
            self.note_what_happened(now);
        }
    }

    fn note(&mut self, what: u64, at: Time, packet: &TestPacket) {
        for value in [what, at.as_nanos(), packet.number, packet.ecn as u64] {
            self.digest.add(value);
        }
    }

    fn note_what_happened(&mut self, now: Time) {
        while let Some((packet, cause)) = self.link.pop_drop() {
            self.note(10 + cause as u64, now, &packet);
        }
        while let Some((at, packet)) = self.link.pop_departure() {
            self.note(2, at, &packet);
        }
    }

    fn offer(&mut self, number: u32) {
        let flow = self.rng.below(4);
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][flow as usize];
        let size = [1_500, 1_500, 750, 375][self.rng.below(4) as usize];
        let packet = TestPacket { number: number.into(), size, flow, ecn };
        let mut offer = self.link.offer(self.now, packet);
        loop {
            match offer {
                Offer::Dropped(cause) => {
                    self.note(20 + cause as u64, self.now, &packet);
                }
                Offer::Accepted { departs } => self.digest.add(departs.map_or(0, Time::as_nanos)),
                Offer::Duplicated { departs } => {
                    self.digest.add(departs.map_or(1, Time::as_nanos));
                    offer = self.link.offer_copy(self.now, packet);
                    continue;
                }
            }
            break;
        }
        self.note_what_happened(self.now);
        let backlog = self.link.backlog(self.now);
        let in_flight = self.link.in_flight(self.now);
        for value in [backlog.packets, backlog.bytes, in_flight] {
            self.digest.add(value);
        }
        self.check_memory(in_flight);
        for (_, value) in self.link.observe() {
            self.digest.add_real(value);
        }
    }

    /// What is claimed is as much as the packets need, and no more than stores have kept since they were fullest.
    fn check_memory(&mut self, in_flight: u64) {
        self.most_in_flight = self.most_in_flight.max(in_flight);
        let memory = self.link.memory();
        let packet = size_of::<TestPacket>() as u64;
        assert!(memory >= packet * in_flight, "{memory} bytes for {in_flight} packets");
        assert!(memory <= 8_192 + 16 * packet * self.most_in_flight, "{memory} bytes for {in_flight} packets");
    }

    fn row(mut self) -> String {
        let counters = self.link.counters(self.now);
        let observed: Vec<String> =
            self.link.observe().iter().map(|(name, value)| format!(" {name}={value:.4}")).collect();
        let capacity = self.link.capacity_bits(Time::from_nanos(1_500_000), self.now);
        let before = self.link.counters_before();
        let stats = self.link.queue_stats(self.now);
        let [before_queue, behind] = [DropCause::LossBefore, DropCause::LossAfter].map(|cause| counters.drops[cause]);
        for tally in [before_queue, behind, counters.departures, before.departures, stats.departed] {
            self.digest.add(tally.packets);
            self.digest.add(tally.bytes);
        }
        for value in [capacity, stats.capacity_bits, Some(stats.max.packets), Some(stats.max.bytes)] {
            self.digest.add(value.unwrap_or(u64::MAX));
        }
        for q in [0.0, 0.05, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0] {
            self.digest.add(stats.quantile_bytes(q));
        }
        format!(
            "{}, {} of {PACKETS} arrive, dropped {} full {} AQM {} policed, {} marks, queue {:.2} p95 {} max {} bytes{}",
            self.digest,
            self.arrived,
            counters.drops[DropCause::QueueFull].packets,
            counters.drops[DropCause::Aqm].packets,
            counters.drops[DropCause::Policed].packets,
            counters.marked,
            stats.mean_bytes(),
            stats.quantile_bytes(0.95),
            stats.max.bytes,
            observed.concat()
        )
    }
}
