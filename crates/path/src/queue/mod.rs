//! Queues in front of a transmitter.
//!
//! A drop-tail queue decides about a packet once, on its arrival, so [`DropTail`] computes everything there and keeps
//! only the times of what waits. Disciplines that mark or drop on arrival (RED, step marking) are a gate in front of the
//! same queue ([`Gated`]). Disciplines that may still drop a packet later keep the packets ([`HeldQueue`]) and decide
//! whenever the transmitter can take one.

mod codel;
mod droptail;
mod gated;
mod held;
mod red;
mod step;

use crate::config::QueueLimit;
use crate::stats::{Backlog, Tally};
use dumbbell_units::{Duration, Time};

pub(crate) use codel::Codel;
pub(crate) use droptail::DropTail;
pub(crate) use gated::{Gate, Gated};
pub(crate) use held::{Discipline, HeldQueue};
pub(crate) use red::Red;
pub(crate) use step::Step;

/// What a queue holds at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    packets: u64,
    bytes: u64,
    time: Option<Duration>,
}

impl Limits {
    pub(crate) fn new(config: &QueueLimit) -> Limits {
        Limits {
            packets: config.packets.unwrap_or(u64::MAX),
            bytes: config.bytes.unwrap_or(u64::MAX),
            time: config.time,
        }
    }

    /// Whether a packet of `size` bytes fits behind `backlog`, as far as packets and bytes are concerned.
    #[inline]
    fn fit(&self, backlog: Backlog, size: u32) -> bool {
        self.room(backlog, size, 1) > 0
    }

    /// How many of `count` packets of `size` bytes each fit behind `backlog`, as far as packets and bytes are concerned.
    #[inline]
    fn room(&self, backlog: Backlog, size: u32, count: u32) -> u32 {
        let (all, size) = (u64::from(count), u64::from(size));
        if backlog.packets + all <= self.packets && backlog.bytes + all * size <= self.bytes {
            return count;
        }
        let by_packets = self.packets.saturating_sub(backlog.packets);
        let by_bytes = self.bytes.saturating_sub(backlog.bytes).checked_div(size).unwrap_or(u64::MAX);
        all.min(by_packets).min(by_bytes) as u32
    }
}

/// What a discipline does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The packet the transmitter took last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InService {
    departs: Time,
    size: u32,
}

impl InService {
    /// When its transmission ends or has ended.
    pub(crate) fn departs(&self) -> Time {
        self.departs
    }

    /// It as a count, if it is still in transmission.
    pub(crate) fn tally(&self, now: Time) -> Tally {
        let mut tally = Tally::default();
        if self.departs > now {
            tally.add(self.size);
        }
        tally
    }
}
