//! CoDel (Nichols and Jacobson; RFC 8289): controlled delay.
//!
//! A good queue absorbs bursts and empties; a bad one stands. CoDel tells them apart by the time each packet has spent
//! in the queue when the transmitter takes it: if that stays at or above `target` for a whole `interval`, the queue
//! stands, and CoDel drops (or marks) one packet, then the next after interval/√2, interval/√3, …, which lowers the
//! rate of a loss-based sender linearly, until one packet has waited less than `target`. A queue of at most one packet
//! of the MTU never counts as standing, or slow links would starve.
//!
//! `count` remembers how hard the last episode had to drop: an episode that begins soon after the last one goes on where
//! that one ended. The square root is exact to the nanosecond; Linux approximates it by Newton steps.

use super::held::Store;
use crate::link::{DropCause, Ledger};
use crate::packet::{Ecn, Packet};
use dumbbell_units::{Duration, Time};

/// A backlog of at most this many bytes (IP length) is never a standing queue.
const MTU: u64 = 1500;
/// A new episode resumes the old drop rate when it begins within this many intervals after the last drop was due.
const MEMORY_INTERVALS: u64 = 16;

/// State of a CoDel queue.
#[derive(Clone, Debug)]
pub(crate) struct Codel {
    target: Duration,
    interval: Duration,
    ecn: bool,
    /// Drops since the present or last episode began, and at its beginning.
    count: u64,
    last_count: u64,
    dropping: bool,
    /// When the delay will have been above target for an interval.
    first_above: Option<Time>,
    drop_next: Time,
}

impl Codel {
    pub(crate) fn new(target: Duration, interval: Duration, ecn: bool) -> Codel {
        Codel {
            target,
            interval,
            ecn,
            count: 0,
            last_count: 0,
            dropping: false,
            first_above: None,
            drop_next: Time::ZERO,
        }
    }

    /// The packet the transmitter takes now, with the time of its arrival.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Time,
        store: &mut Store<P>,
        ledger: &mut Ledger<P>,
    ) -> Option<(Time, P)> {
        let mut head = store.pop(now);
        let stands = self.stands(&head, now, store);
        if self.dropping {
            if !stands {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if self.mark(&mut head, ledger) {
                    self.drop_next = self.after(self.drop_next);
                    break;
                }
                drop_packet(head, ledger);
                head = store.pop(now);
                if self.stands(&head, now, store) {
                    self.drop_next = self.after(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if stands {
            if !self.mark(&mut head, ledger) {
                drop_packet(head, ledger);
                head = store.pop(now);
                self.stands(&head, now, store);
            }
            self.dropping = true;
            let added = self.count.saturating_sub(self.last_count);
            let recent = now < self.drop_next + self.interval * MEMORY_INTERVALS;
            self.count = if added > 1 && recent { added } else { 1 };
            self.last_count = self.count;
            self.drop_next = self.after(now);
        }
        head
    }

    /// Whether the delay has been at or above target for an interval, now that `head` was taken.
    fn stands<P: Packet>(&mut self, head: &Option<(Time, P)>, now: Time, store: &Store<P>) -> bool {
        let delayed = head.as_ref().is_some_and(|&(arrived, _)| now.since(arrived) >= self.target);
        if !delayed || store.occupancy.backlog().bytes <= MTU {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                false
            }
            Some(first_above) => now > first_above,
        }
    }

    fn mark<P: Packet>(&self, head: &mut Option<(Time, P)>, ledger: &mut Ledger<P>) -> bool {
        match head {
            Some((_, packet)) if self.ecn && packet.ecn() != Ecn::NotEct => {
                packet.mark();
                ledger.marked += 1;
                true
            }
            _ => false,
        }
    }

    /// The control law: `t` + interval/√count.
    fn after(&self, t: Time) -> Time {
        let interval = u128::from(self.interval.as_nanos());
        let nanos = (interval * interval / u128::from(self.count.max(1))).isqrt();
        t + Duration::from_nanos(nanos as u64)
    }
}

fn drop_packet<P: Packet>(head: Option<(Time, P)>, ledger: &mut Ledger<P>) {
    if let Some((_, packet)) = head {
        ledger.drop_later(packet, DropCause::Aqm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    const MS: u64 = 1_000_000;

    /// A transmitter that takes a packet every `spacing` from a queue that is refilled by `arrivals` per packet taken.
    struct Bench {
        codel: Codel,
        store: Store<TestPacket>,
        ledger: Ledger<TestPacket>,
        now: u64,
        next_arrival: u64,
        drop_times: Vec<u64>,
        delivered: Vec<TestPacket>,
        ecn: Ecn,
    }

    impl Bench {
        fn new(ecn: bool, packets: Ecn) -> Bench {
            Bench {
                codel: Codel::new(Duration::from_millis(5), Duration::from_millis(100), ecn),
                store: Store::new(),
                ledger: Ledger::default(),
                now: 0,
                next_arrival: 0,
                drop_times: Vec::new(),
                delivered: Vec::new(),
                ecn: packets,
            }
        }

        /// Runs until `end` with an arrival every `arrival` and a departure every `service` nanoseconds.
        fn run(&mut self, end: u64, arrival: u64, service: u64) {
            while self.now < end {
                while self.next_arrival <= self.now {
                    let packet = TestPacket { ecn: self.ecn, ..TestPacket::new(0, 1500) };
                    self.store.push(Time::from_nanos(self.next_arrival), packet);
                    self.next_arrival += arrival;
                }
                self.take();
                self.now += service;
            }
        }

        fn take(&mut self) {
            let before = self.ledger.dropped_aqm.packets;
            if let Some((_, packet)) = self.codel.dequeue(Time::from_nanos(self.now), &mut self.store, &mut self.ledger)
            {
                self.delivered.push(packet);
            }
            let dropped = self.ledger.dropped_aqm.packets - before;
            self.drop_times.extend((0..dropped).map(|_| self.now));
        }
    }

    #[test]
    fn drop_spacing_shrinks_with_the_square_root_of_the_count() {
        // A packet arrives for every one taken, behind two hundred that stand in the queue: about 20 ms of delay.
        let mut bench = Bench::new(false, Ecn::NotEct);
        for _ in 0..200 {
            bench.store.push(Time::ZERO, TestPacket::new(0, 1500));
        }
        bench.next_arrival = MS / 10;
        bench.run(700 * MS, MS / 10, MS / 10);
        let first = bench.drop_times[0];
        assert!(first.abs_diff(105 * MS) <= MS / 5, "an interval after the delay reached the target: {first}");
        let spacing: Vec<_> = bench.drop_times.windows(2).map(|w| (w[1] - w[0]) as f64 / MS as f64).take(4).collect();
        for (n, spacing) in spacing.iter().enumerate() {
            let expected = 100.0 / ((n + 1) as f64).sqrt();
            assert!((spacing - expected).abs() <= 0.2, "gap {n} is {spacing}, not {expected}");
        }
    }

    #[test]
    fn a_burst_that_drains_within_an_interval_is_never_dropped() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        bench.now = 0;
        for _ in 0..99 {
            bench.store.push(Time::ZERO, TestPacket::new(0, 1500));
        }
        bench.next_arrival = u64::MAX;
        bench.run(100 * MS, 1, MS);
        assert_eq!(bench.delivered.len(), 99);
        assert!(bench.drop_times.is_empty());
    }

    #[test]
    fn against_an_unresponsive_sender_the_count_grows_with_the_square_of_time() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        bench.run(10_000 * MS, MS / 2, MS);
        let start = bench.drop_times[0];
        for (seconds, tolerance) in [(2, 0.17), (4, 0.08), (8, 0.05)] {
            let count = bench.drop_times.iter().filter(|&&t| t <= start + seconds * 1000 * MS).count() as f64;
            // n drops take interval·(1 + 1/√2 + … + 1/√n), which approaches 2·interval·√n from below.
            let expected = (seconds as f64 / (2.0 * 0.1)).powi(2);
            assert!((count / expected - 1.0).abs() < tolerance, "{count} drops after {seconds} s, not {expected}");
        }
    }

    #[test]
    fn one_mtu_of_backlog_is_never_a_standing_queue() {
        // 120 kbit/s: a packet needs 100 ms, so every packet waits far longer than the target.
        let mut bench = Bench::new(false, Ecn::NotEct);
        bench.store.push(Time::ZERO, TestPacket::new(0, 1500));
        bench.next_arrival = 1;
        bench.now = 100 * MS;
        for _ in 0..100 {
            bench.store.push(Time::from_nanos(bench.now - 50 * MS), TestPacket::new(0, 1500));
            bench.take();
            bench.now += 100 * MS;
        }
        assert!(bench.drop_times.is_empty());
        assert_eq!(bench.delivered.len(), 100);
    }

    #[test]
    fn ecn_capable_packets_are_marked_instead_of_dropped() {
        let mut marking = Bench::new(true, Ecn::Ect0);
        marking.run(2_000 * MS, MS / 2, MS);
        assert!(marking.drop_times.is_empty());
        let marks = marking.delivered.iter().filter(|p| p.ecn == Ecn::Ce).count() as u64;
        assert_eq!(marks, marking.ledger.marked);
        assert!(marks > 50, "{marks}");
        let mut incapable = Bench::new(true, Ecn::NotEct);
        incapable.run(2_000 * MS, MS / 2, MS);
        assert!(incapable.ledger.marked == 0 && incapable.drop_times.len() > 50);
    }

    #[test]
    fn a_new_episode_soon_after_the_last_resumes_its_drop_rate() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        bench.run(1_500 * MS, MS / 2, MS);
        // The queue empties for a moment, which ends the episode, and fills again.
        bench.next_arrival = u64::MAX;
        while bench.store.iter().next().is_some() {
            bench.take();
        }
        assert!(!bench.codel.dropping);
        let count = bench.codel.count;
        assert!(count > 20);
        bench.next_arrival = bench.now;
        bench.run(bench.now + 130 * MS, MS / 2, MS);
        assert!(bench.codel.dropping);
        assert_eq!(bench.codel.last_count, count - 1, "the drops of the last episode after its first");
    }

    #[test]
    fn after_a_long_pause_an_episode_starts_over() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        bench.run(1_500 * MS, MS / 2, MS);
        assert!(bench.codel.count > 20);
        bench.next_arrival = u64::MAX;
        while bench.store.iter().next().is_some() {
            bench.take();
        }
        bench.now += 1_700 * MS;
        bench.next_arrival = bench.now;
        bench.run(bench.now + 130 * MS, MS / 2, MS);
        assert!(bench.codel.dropping);
        assert_eq!(bench.codel.last_count, 1);
    }

    #[test]
    fn the_delay_must_exceed_the_target_for_more_than_an_interval() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        for _ in 0..10 {
            bench.store.push(Time::ZERO, TestPacket::new(0, 1500));
        }
        for now in [5 * MS, 105 * MS, 105 * MS + 1] {
            assert!(bench.drop_times.is_empty());
            bench.now = now;
            bench.take();
        }
        assert_eq!(bench.drop_times, [105 * MS + 1]);
    }
}
