//! What a queue holds at most, and what the transmitter has taken of it.

use crate::catalog::QueueLimit;
use crate::stats::{Backlog, Tally};
use dumbbell_units::{Duration, Time};

/// What a queue holds at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) time: Option<Duration>,
}

impl Limits {
    pub(crate) fn new(config: &QueueLimit) -> Limits {
        Limits {
            packets: config.packets.unwrap_or(u64::MAX),
            bytes: config.bytes.unwrap_or(u64::MAX),
            time: config.time,
        }
    }

    /// Has at most so many bytes wait from now on, and no more than `config` allows.
    pub(crate) fn set_bytes(&mut self, config: &QueueLimit, bytes: u64) {
        self.bytes = config.bytes.map_or(bytes, |most| most.min(bytes));
    }

    /// Whether a packet of `size` bytes fits behind `backlog`, as far as packets and bytes are concerned.
    #[inline]
    pub(super) fn fit(&self, backlog: Backlog, size: u32) -> bool {
        self.room(backlog, size, 1) > 0
    }

    /// How many of `count` packets of `size` bytes each fit behind `backlog`, as far as packets and bytes are
    /// concerned.
    #[inline]
    pub(super) fn room(&self, backlog: Backlog, size: u32, count: u32) -> u32 {
        let (all, size) = (u64::from(count), u64::from(size));
        if backlog.packets + all <= self.packets && backlog.bytes + all * size <= self.bytes {
            return count;
        }
        let by_packets = self.packets.saturating_sub(backlog.packets);
        let by_bytes = self.bytes.saturating_sub(backlog.bytes).checked_div(size).unwrap_or(u64::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most `count`")]
        let room = all.min(by_packets).min(by_bytes) as u32;
        room
    }
}

/// The packet the transmitter took last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InService {
    pub(super) departs: Time,
    pub(super) size: u32,
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
