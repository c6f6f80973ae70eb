//! What holds packets back at the far end of a link: aggregation, which releases them in bundles, and
//! [events](crate::event) that hold them for a time.

use crate::event::{Action, PacketEvent, Watch};
use crate::packet::Packet;
use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Rng, Time, claimed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

const LONGEST_SLOT: Duration = Duration::from_secs(3_600);

/// Packets that have come to the far end are held, and released in bundles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aggregate {
    /// A bundle is released this long after its first packet came, or when it is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "one of `timeout`, `every` and `slot` is required", "x-above" = "0s", "x-at-most" = "1h", "x-source" = "interrupt coalescing; tc-netem: slot"))]
    pub timeout: Option<Duration>,
    /// Bundles are released at multiples of this time, each with what has come by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "one of `timeout`, `every` and `slot` is required", "x-above" = "0s", "x-at-most" = "1h", "x-source" = "tc-netem: slot; time-division links"))]
    pub every: Option<Duration>,
    /// Bundles are released at random times: each after a time between these two from its first packet, or from the
    /// release before if that left packets behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "one of `timeout`, `every` and `slot` is required", "x-source" = "tc-netem: slot MIN_DELAY MAX_DELAY"))]
    pub slot: Option<(Duration, Duration)>,
    /// The most packets of a bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-default" = "no limit", "x-unit" = "packets", "x-source" = "tc-netem: slot packets"))]
    pub packets: Option<u32>,
    /// The most bytes (IP length) of a bundle, which has at least one packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "no limit", "x-at-least" = "1B", "x-source" = "tc-netem: slot bytes"))]
    pub bytes: Option<Bytes>,
}

impl Aggregate {
    /// Whether it can be meant.
    ///
    /// # Errors
    /// It needs one of `timeout`, `every` and `slot`, and the times of a slot in their order.
    pub fn check(&self) -> Result<(), Problem> {
        let ways =
            [("timeout", self.timeout.is_some()), ("every", self.every.is_some()), ("slot", self.slot.is_some())];
        let given: Vec<&str> = ways.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect();
        match (given[..].as_ref(), self.slot) {
            ([], _) => Err(Problem::missing(
                "timeout",
                "a link that aggregates needs `timeout`, `every` or `slot`",
                "write timeout = \"2ms\"",
            )),
            ([first, second, ..], _) => {
                Err(Problem::key(*second, format!("both `{first}` and `{second}` are given"), "keep one of them"))
            }
            (_, Some((min, max))) if min > max || max > LONGEST_SLOT || max == Duration::ZERO => {
                let help = format!("allowed: two times in their order, more than 0s and at most {LONGEST_SLOT}");
                Err(Problem::value("slot", format!("a slot lasts from {min} to {max}"), help))
            }
            _ => Ok(()),
        }
    }

    /// For a report.
    pub fn in_words(&self) -> String {
        let limits =
            [self.packets.map(|packets| format!("{packets} packets")), self.bytes.map(|bytes| bytes.in_words())];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        let most = if limits.is_empty() { String::new() } else { format!(" of at most {}", limits.join(" or ")) };
        match (self.timeout, self.slot, self.every) {
            (Some(timeout), ..) => format!("releases bundles{most} after {}", timeout.in_words()),
            (_, Some((min, max)), _) => {
                format!("releases bundles{most} after {} to {}", min.in_words(), max.in_words())
            }
            (.., every) => format!("releases bundles{most} every {}", every.unwrap_or_default().in_words()),
        }
    }

    /// Whether a bundle with these packets and bytes has room for one of `size`.
    fn has_room(&self, packets: u64, bytes: u64, size: u32) -> bool {
        let fits = |packets_after: u64, bytes_after: u64| {
            self.packets.is_none_or(|most| packets_after <= u64::from(most))
                && self.bytes.is_none_or(|most| bytes_after <= most.as_u64())
        };
        packets == 0 || fits(packets + 1, bytes + u64::from(size))
    }

    /// Whether no further packet goes into a bundle with these packets and bytes.
    fn is_full(&self, packets: u64, bytes: u64) -> bool {
        self.packets.is_some_and(|most| packets >= u64::from(most))
            || self.bytes.is_some_and(|most| bytes >= most.as_u64())
    }
}

/// Packets that have come to the far end and have not been released.
#[derive(Clone, Debug)]
pub(crate) struct Release<P> {
    aggregate: Option<Aggregate>,
    holds: Vec<Watch>,
    /// Those whose release is known, by its time and in the order in which they came.
    ready: BTreeMap<(Time, u64), P>,
    number: u64,
    /// Those of the bundle that is open, and when it is released at the latest.
    bundle: VecDeque<P>,
    bytes: u64,
    closes: Time,
    /// For slots.
    rng: Rng,
}

impl<P: Packet> Release<P> {
    /// `None` where nothing is held back. `stream` gives the random numbers of slots.
    pub(crate) fn new(
        aggregate: Option<Aggregate>,
        events: &[PacketEvent],
        stream: impl FnOnce() -> Rng,
    ) -> Option<Release<P>> {
        let holds = Watch::all(events, |event| event.action == Action::Hold);
        let has_slots = aggregate.is_some_and(|aggregate| aggregate.slot.is_some());
        (aggregate.is_some() || !holds.is_empty()).then(|| Release {
            aggregate,
            holds,
            ready: BTreeMap::new(),
            number: 0,
            bundle: VecDeque::new(),
            bytes: 0,
            closes: Time::NEVER,
            rng: if has_slots { stream() } else { Rng::new(0) },
        })
    }

    /// How many packets are held.
    pub(crate) fn len(&self) -> u64 {
        (self.ready.len() + self.bundle.len()) as u64
    }

    /// A time of a slot.
    fn draw(&mut self, (min, max): (Duration, Duration)) -> Duration {
        let span = u128::from(max.saturating_sub(min).as_nanos()) * u128::from(self.rng.next_u64() >> 32);
        min + Duration::from_nanos(u64::try_from(span >> 32).unwrap_or(u64::MAX))
    }

    /// A packet comes to the far end at `now`, which never goes backwards.
    pub(crate) fn push(&mut self, now: Time, packet: P) {
        self.close_until(now);
        let held = self.holds.iter_mut().filter_map(|hold| hold.passes(now, &packet)?.ends(now)).max();
        if let Some(until) = held {
            return self.release(until, packet);
        }
        let Some(aggregate) = self.aggregate else { return self.release(now, packet) };
        if !aggregate.has_room(self.bundle.len() as u64, self.bytes, packet.size()) && aggregate.timeout.is_some() {
            self.close(now);
        }
        if self.bundle.is_empty() {
            self.closes = match aggregate {
                Aggregate { timeout: Some(timeout), .. } => now + timeout,
                Aggregate { slot: Some(slot), .. } => now + self.draw(slot),
                Aggregate { every, .. } => next_multiple(now, every.unwrap_or_default()),
            };
        }
        self.bytes += u64::from(packet.size());
        self.bundle.push_back(packet);
        if aggregate.timeout.is_some() && aggregate.is_full(self.bundle.len() as u64, self.bytes) {
            self.close(now);
        }
    }

    fn release(&mut self, at: Time, packet: P) {
        self.number += 1;
        self.ready.insert((at, self.number), packet);
    }

    /// Closes the bundles that are due.
    fn close_until(&mut self, now: Time) {
        while self.closes <= now {
            self.close(self.closes);
        }
    }

    /// Releases the open bundle at `at`, or as much of it as may go together: the rest has to wait for the next
    /// release.
    fn close(&mut self, at: Time) {
        let Some(aggregate) = self.aggregate else { return };
        let (mut packets, mut bytes) = (0, 0);
        while let Some(packet) = self.bundle.front().copied()
            && aggregate.has_room(packets, bytes, packet.size())
        {
            self.bundle.pop_front();
            packets += 1;
            bytes += u64::from(packet.size());
            self.release(at, packet);
        }
        self.bytes -= bytes;
        self.closes = match aggregate {
            _ if self.bundle.is_empty() => Time::NEVER,
            Aggregate { every: Some(every), .. } => at + every,
            Aggregate { slot: Some(slot), .. } => at + self.draw(slot),
            Aggregate { .. } => Time::NEVER,
        };
    }

    /// When something is released next; [`Time::NEVER`] when nothing is held.
    pub(crate) fn next(&self) -> Time {
        let ready = self.ready.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        ready.min(self.closes)
    }

    /// The next packet that is released by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<P> {
        self.close_until(now);
        let entry = self.ready.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// The packets that are held, in no order.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &P> {
        self.ready.values().chain(&self.bundle)
    }

    /// Bytes of memory [claimed](claimed).
    pub(crate) fn memory(&self) -> u64 {
        let ready = self.ready.len();
        claimed::<((Time, u64), P)>(ready, ready) + claimed::<P>(self.bundle.len(), self.bundle.capacity())
    }
}

/// The first multiple of `every` that is not before `now`.
fn next_multiple(now: Time, every: Duration) -> Time {
    let every = every.as_nanos().max(1);
    Time::from_nanos(now.as_nanos().div_ceil(every).saturating_mul(every))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    #[test]
    fn slots_open_after_random_times_and_let_so_many_packets_pass() {
        let ms = Duration::from_millis;
        let slot = Some((ms(4), ms(6)));
        let aggregate = Aggregate { slot, packets: Some(3), ..Aggregate::default() };
        let mut release = Release::<TestPacket>::new(Some(aggregate), &[], || Rng::new(1)).unwrap();
        let mut released: Vec<(Time, u64)> = Vec::new();
        for number in 0..2_000 {
            let now = Time::ZERO + ms(2) * number;
            while release.next() <= now {
                let at = release.next();
                released.extend(std::iter::from_fn(|| release.pop(at)).map(|packet| (at, packet.number)));
            }
            release.push(now, TestPacket::new(number, 1500));
        }
        assert!(released.iter().zip(0..).all(|((_, number), i)| *number == i), "in their order");
        let bundles: Vec<&[(Time, u64)]> = released.chunk_by(|a, b| a.0 == b.0).collect();
        assert!(bundles.iter().all(|bundle| bundle.len() <= 3));
        let waits: Vec<f64> = bundles
            .iter()
            .map(|bundle| bundle[0].0.since(Time::ZERO + ms(2) * bundle[0].1).as_nanos() as f64 / 1e6)
            .collect();
        assert!(waits.iter().all(|wait| (4.0..=12.0).contains(wait)), "its own slot, or behind one that was full");
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((4.5..7.0).contains(&mean), "{mean} ms");
        assert!(Aggregate { slot: Some((ms(6), ms(4))), ..Aggregate::default() }.check().is_err());
        assert!(Aggregate { slot, every: Some(ms(1)), ..Aggregate::default() }.check().is_err());
    }

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * MS)
    }

    /// When packets of 1000 bytes that come at these milliseconds are released.
    fn released(aggregate: Aggregate, arrivals_ms: &[u64]) -> Vec<u64> {
        aggregate.check().unwrap();
        let mut release = Release::<TestPacket>::new(Some(aggregate), &[], || Rng::new(1)).unwrap();
        let mut out = Vec::new();
        let mut next = arrivals_ms.iter().zip(0..).peekable();
        loop {
            let arrival = next.peek().map_or(Time::NEVER, |(ms, _)| at(**ms));
            let now = arrival.min(release.next());
            if now == Time::NEVER {
                break;
            }
            if arrival <= now {
                next.next().into_iter().for_each(|(_, number)| release.push(now, TestPacket::new(number, 1000)));
            }
            while let Some(packet) = release.pop(now) {
                assert_eq!(packet.number, out.len() as u64, "in their order");
                out.push(now.as_nanos() / MS);
            }
        }
        assert_eq!((release.packets().count(), out.len()), (0, arrivals_ms.len()));
        out
    }

    #[test]
    fn a_bundle_leaves_when_its_time_is_over_or_when_it_is_full() {
        let timeout = Aggregate { timeout: Some(Duration::from_millis(5)), ..Aggregate::default() };
        assert_eq!(released(timeout, &[0, 1, 4, 5, 20]), [5, 5, 5, 10, 25]);
        let full = Aggregate { packets: Some(3), ..timeout };
        assert_eq!(released(full, &[0, 1, 2, 3, 3, 20]), [2, 2, 2, 8, 8, 25]);
        let bytes = Aggregate { bytes: Some(Bytes::new(2_500)), ..timeout };
        assert_eq!(released(bytes, &[0, 1, 2, 3]), [2, 2, 7, 7], "the third packet does not fit behind two");
    }

    #[test]
    fn bundles_leave_at_multiples_of_a_time_and_what_is_too_much_waits_for_the_next() {
        let every = Aggregate { every: Some(Duration::from_millis(10)), ..Aggregate::default() };
        assert_eq!(released(every, &[0, 1, 9, 10, 11, 35]), [0, 10, 10, 10, 20, 40]);
        let limited = Aggregate { packets: Some(2), ..every };
        assert_eq!(released(limited, &[1, 2, 3, 4, 5, 12]), [10, 10, 20, 20, 30, 30]);
    }

    #[test]
    fn packets_are_held_until_a_time_and_others_pass() {
        let time = |ms| Some(at(ms));
        let (packets, bytes, by, repeat, times) = (None, None, None, None, None);
        let (of, from, until) = (crate::event::Selection::Data, time(10), time(20));
        let hold = PacketEvent { action: Action::Hold, of, flow: None, packets, bytes, from, until, repeat, times, by };
        let mut release = Release::new(None, &[hold], || Rng::new(1)).unwrap();
        let mut out = Vec::new();
        for ms in [9, 10, 15, 20] {
            release.push(at(ms), TestPacket::new(ms, 1000));
            while let Some(packet) = release.pop(at(ms)) {
                out.push((packet.number, ms));
            }
        }
        assert_eq!(out, [(9, 9), (10, 20), (15, 20), (20, 20)]);
    }

    #[test]
    fn a_link_that_aggregates_has_one_rule() {
        let both = Aggregate {
            timeout: Some(Duration::from_millis(1)),
            every: Some(Duration::from_millis(1)),
            ..Aggregate::default()
        };
        assert_eq!(both.check().unwrap_err().key, "every");
        assert_eq!(Aggregate::default().check().unwrap_err().key, "timeout");
    }
}
