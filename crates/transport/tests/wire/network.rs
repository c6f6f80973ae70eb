//! One way of the network: what becomes of a packet depends on its place among all.

use dumbbell_units::{Duration, Time};
use std::collections::BTreeMap;

/// Everything arrives at multiples of this.
const GRID_NS: u64 = 250_000;

/// What becomes of which packets: every so many; 0 stands for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fates {
    /// How long everything takes besides.
    pub delay: Duration,
    /// The bottleneck takes so long for a packet, and marks and drops by what waits.
    pub service: Duration,
    pub marked_behind: u64,
    pub dropped_behind: u64,
    pub lost: u64,
    pub late: u64,
    /// How late a packet is that comes late; others overtake it.
    pub late_by: Duration,
    pub copied: u64,
    /// Nothing passes in this time.
    pub outage: (Time, Time),
}

/// Packets on their way.
pub struct Way<T> {
    fates: Fates,
    /// When the bottleneck has served all it has.
    free: Time,
    sent: u64,
    flying: BTreeMap<(Time, u64), (T, bool)>,
}

impl<T: Clone> Way<T> {
    pub fn new(fates: Fates) -> Way<T> {
        Way { fates, free: Time::ZERO, sent: 0, flying: BTreeMap::new() }
    }

    pub fn send(&mut self, now: Time, packet: T) {
        let Fates { delay, service, marked_behind, dropped_behind, lost, late, late_by, copied, outage } = self.fates;
        self.sent += 1;
        let number = self.sent;
        let strikes = |every: u64| every > 0 && number.is_multiple_of(every);
        let begins = self.free.max(now);
        let waiting = begins.since(now).as_nanos() / service.as_nanos().max(1);
        let is_dropped = dropped_behind > 0 && waiting >= dropped_behind;
        if is_dropped || strikes(lost) || (outage.0 <= now && now < outage.1) {
            return;
        }
        self.free = begins + service;
        let is_marked = marked_behind > 0 && waiting >= marked_behind;
        let arrives = self.free + delay + if strikes(late) { late_by } else { Duration::ZERO };
        let arrives = Time::from_nanos(arrives.as_nanos().next_multiple_of(GRID_NS));
        self.flying.insert((arrives, 2 * number), (packet.clone(), is_marked));
        if strikes(copied) {
            self.flying.insert((arrives, 2 * number + 1), (packet, is_marked));
        }
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Time {
        self.flying.first_key_value().map_or(Time::NEVER, |(&(arrives, _), _)| arrives)
    }

    /// The packet that arrives now, and whether it was marked.
    pub fn take(&mut self, now: Time) -> Option<(T, bool)> {
        let entry = self.flying.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }
}
