//! A bottleneck that takes a packet every millisecond or so, and what becomes of packets there.

use crate::Life;
use dumbbell_units::Rng;
use std::collections::VecDeque;

/// What the network serves a packet in, if it is not slow.
const SERVICE_US: u64 = 1_000;
/// How late a packet is that random delay hits.
const LATE_US: u64 = 2_500;
/// After how long the packets behind a lost one have told that it is.
const NOTICED_AFTER_US: u64 = 3_000;

/// A packet with what its sender noted.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub sent_us: u64,
    /// When the sender hears of it.
    pub heard_us: u64,
    pub is_lost: bool,
    pub is_marked: bool,
    pub prior_delivered: u64,
    pub prior_delivered_ce: u64,
    pub prior_lost: u64,
    pub prior_mstamp_us: u64,
    pub tx_in_flight: u32,
    pub is_app_limited: bool,
}

/// The bottleneck with the way to it and back.
#[derive(Debug)]
pub struct Path {
    pub base_rtt_us: u64,
    pub service_us: u64,
    queue: u64,
    accidents: u32,
    rng: Rng,
    /// When the bottleneck has served all it has.
    free_us: u64,
    flying: VecDeque<Packet>,
}

impl Path {
    pub fn new(life: Life, rng: Rng) -> Path {
        let Life { queue, accidents, slowness, width, .. } = life;
        Path {
            base_rtt_us: width * SERVICE_US * slowness,
            service_us: SERVICE_US * slowness,
            queue: queue.into(),
            accidents,
            rng,
            free_us: 0,
            flying: VecDeque::new(),
        }
    }

    /// Decides what becomes of a packet. From half a queue on it is marked.
    pub fn send(&mut self, mut packet: Packet) {
        let begins_us = self.free_us.max(packet.sent_us);
        let waiting = (begins_us - packet.sent_us) / self.service_us;
        packet.is_lost = waiting >= self.queue;
        packet.is_marked = waiting >= self.queue / 2;
        let mut served_us = self.free_us;
        if !packet.is_lost {
            served_us = begins_us + self.service_us;
            self.free_us = served_us;
        }
        let mut heard_us = served_us + self.base_rtt_us - self.service_us;
        if self.accidents > 0 && self.rng.below(self.accidents) == 0 {
            match self.rng.below(2) {
                0 => packet.is_lost = true,
                _ => heard_us += LATE_US,
            }
        }
        if packet.is_lost {
            heard_us += NOTICED_AFTER_US;
        }
        // Nothing overtakes.
        packet.heard_us = heard_us.max(self.flying.back().map_or(0, |p| p.heard_us));
        self.flying.push_back(packet);
    }

    /// When the sender hears of the next packet.
    pub fn next_us(&self) -> Option<u64> {
        self.flying.front().map(|packet| packet.heard_us)
    }

    /// The packets that one ACK tells of: up to two.
    pub fn heard(&mut self, now_us: u64) -> Vec<Packet> {
        let count = self.flying.iter().take(2).take_while(|packet| packet.heard_us <= now_us).count();
        self.flying.drain(..count).collect()
    }

    /// Everything under way, which is gone.
    pub fn lose_all(&mut self) -> Vec<Packet> {
        self.flying.drain(..).collect()
    }
}
