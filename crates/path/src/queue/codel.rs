//! CoDel (Nichols and Jacobson; RFC 8289): controlled delay.
//!
//! A good queue absorbs bursts and empties; a bad one stands. CoDel tells them apart by the time each packet has spent
//! in the queue when the transmitter takes it: if that stays at or above `target` for a whole `interval`, the queue
//! stands, and CoDel drops (or marks) one packet, then the next after interval/√2, interval/√3, …, which lowers the
//! rate of a loss-based sender linearly, until one packet has waited less than `target`. A queue of at most one packet
//! of the MTU never counts as standing, or slow links would starve.
//!
//! `count` remembers how hard the last episode had to drop: an episode that begins soon after the last one goes on
//! where that one ended. The square root is exact to the nanosecond; Linux approximates it by Newton steps.

use super::discipline::{Discipline, Held, Queue};
use super::held::{Buffer, Line, Passing, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_units::{Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A backlog of at most this many bytes (IP length) is never a standing queue.
const MTU: u64 = 1500;
/// A new episode resumes the old drop rate when it begins within this many intervals after the last drop was due.
const MEMORY_INTERVALS: u64 = 16;

/// CoDel (controlled delay): packets are dropped or marked at departure, at a rising rate, while the queueing delay
/// stays above a target.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Codel {
    /// Acceptable standing delay.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 8289, section 4.3: TARGET"))]
    pub target: Duration,
    /// Time the delay must exceed the target before the first drop.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 8289, section 4.3: INTERVAL"))]
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    #[schemars(extend("x-source" = "tc-codel: ecn"))]
    pub ecn: bool,
    /// Also mark every ECN-capable packet that has waited longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "none are", "x-at-most" = "1h", "x-source" = "tc-codel: ce_threshold"))]
    pub ce_threshold: Option<Duration>,
}

impl Default for Codel {
    fn default() -> Codel {
        Codel { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false, ce_threshold: None }
    }
}

impl Codel {
    /// Until when the transmitter can get a packet that nothing will be decided about.
    pub(super) fn good_until(&self, packet: &Waiting) -> Time {
        let good = Duration::from_nanos(self.target.as_nanos() - 1);
        packet.arrived + self.ce_threshold.map_or(good, |threshold| good.min(threshold))
    }

    /// Whether several packets of a run are first in a line, of which one at least will pass undecided at `now`.
    pub(super) fn passes_run(&self, line: &Line, now: Time) -> bool {
        line.first_of_run().is_some_and(|first| now <= self.good_until(first))
    }

    fn mark(&self, head: &mut Option<Waiting>, buffer: &mut Buffer) -> bool {
        self.ecn && head.as_mut().is_some_and(|packet| buffer.mark(packet))
    }
}

impl Described<LinkContext> for Codel {
    const NAME: &'static str = "codel";
    const SOURCE: &'static str = "RFC 8289; Linux 6.18, net/sched/sch_codel.c";

    fn in_words(&self) -> String {
        let marks = if self.ecn { ", marks" } else { "" };
        format!("CoDel ({}, {}{marks})", self.target.in_words(), self.interval.in_words())
    }
}

impl Discipline for Codel {
    fn queue(&self, _: Rng) -> Queue {
        Queue::held(State::new(self))
    }
}

/// State of a CoDel queue.
#[derive(Clone, Debug)]
struct State {
    parameters: Codel,
    line: Line,
    control: Control,
}

impl State {
    fn new(parameters: &Codel) -> State {
        State { parameters: parameters.clone(), line: Line::default(), control: Control::default() }
    }
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        self.line.push_if_it_fits(now, packet, buffer)
    }

    fn push_run(&mut self, run: Waiting, buffer: &mut Buffer) -> Option<u32> {
        self.line.push_those_that_fit(run, buffer)
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        self.control.take(&self.parameters, &mut self.line, now, buffer)
    }

    fn has_run(&self, now: Time) -> bool {
        self.parameters.passes_run(&self.line, now)
    }

    fn take_run(&mut self, until: Time, buffer: &mut Buffer) -> Option<Passing> {
        let passing = self.line.pop_run(self.parameters.good_until(self.line.front()?).min(until), buffer)?;
        self.control.find_nothing();
        Some(passing)
    }

    fn observe(&self) -> Vec<(&'static str, f64)> {
        let Control { count, dropping, .. } = self.control;
        vec![("count", count as f64), ("dropping", f64::from(u8::from(dropping)))]
    }
}

/// What CoDel remembers of one line of packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Drops since the present or last episode began, and at its beginning.
    pub(super) count: u64,
    last_count: u64,
    dropping: bool,
    /// When the delay will have been above target for an interval.
    first_above: Option<Time>,
    drop_next: Time,
}

impl Control {
    /// Takes the packet out of `line` that the transmitter gets; drops or marks what CoDel wants dropped or marked.
    pub(super) fn take(&mut self, rules: &Codel, line: &mut Line, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let mut head = line.pop(now, buffer);
        let stands = self.stands(rules, head.as_ref(), now, buffer);
        if self.dropping {
            if !stands {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if rules.mark(&mut head, buffer) {
                    self.drop_next = self.after(self.drop_next, rules);
                    break;
                }
                head = replace(head, line, now, buffer);
                if self.stands(rules, head.as_ref(), now, buffer) {
                    self.drop_next = self.after(self.drop_next, rules);
                } else {
                    self.dropping = false;
                }
            }
        } else if stands {
            if !rules.mark(&mut head, buffer) {
                head = replace(head, line, now, buffer);
                self.stands(rules, head.as_ref(), now, buffer);
            }
            self.begin_episode(rules, now);
        }
        if let (Some(threshold), Some(packet)) = (rules.ce_threshold, &mut head)
            && packet.waited(now) > threshold
        {
            buffer.mark(packet);
        }
        head
    }

    /// What [`take`](Control::take) does where the line is empty, or the packet has not waited for the target.
    pub(super) fn find_nothing(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// The first packet of an episode has been dropped or marked.
    fn begin_episode(&mut self, rules: &Codel, now: Time) {
        self.dropping = true;
        let added = self.count.saturating_sub(self.last_count);
        let recent = now < self.drop_next + rules.interval * MEMORY_INTERVALS;
        self.count = if added > 1 && recent { added } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.after(now, rules);
    }

    /// Whether the delay has been at or above target for an interval, now that `head` was taken.
    fn stands(&mut self, rules: &Codel, head: Option<&Waiting>, now: Time, buffer: &Buffer) -> bool {
        let delayed = head.is_some_and(|packet| packet.waited(now) >= rules.target);
        if !delayed || buffer.backlog().bytes <= MTU {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + rules.interval);
                false
            }
            Some(first_above) => now > first_above,
        }
    }

    /// When the next drop is due after one at `t`.
    fn after(&self, t: Time, rules: &Codel) -> Time {
        control_law(t, rules.interval, self.count)
    }
}

/// CoDel's control law: `t` + interval/√count.
pub(super) fn control_law(t: Time, interval: Duration, count: u64) -> Time {
    let interval = u128::from(interval.as_nanos());
    #[expect(clippy::cast_possible_truncation, reason = "it is at most the interval, which has 64 bits")]
    let nanos = (interval * interval / u128::from(count.max(1))).isqrt() as u64;
    t + Duration::from_nanos(nanos)
}

/// Drops the packet that was taken, and takes the next.
fn replace(head: Option<Waiting>, line: &mut Line, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
    if let Some(packet) = head {
        buffer.drop(packet, DropCause::Aqm);
    }
    line.pop(now, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::held::testing::{buffer, waiting};

    const MS: u64 = 1_000_000;

    /// A transmitter that takes a packet every `spacing` from a queue that is refilled by `arrivals` per packet taken.
    struct Bench {
        codel: State,
        buffer: Buffer,
        now: u64,
        next_arrival: u64,
        drop_times: Vec<u64>,
        marked: u64,
        delivered: Vec<Waiting>,
        ecn: Ecn,
    }

    impl Bench {
        fn new(ecn: bool, packets: Ecn) -> Bench {
            Bench {
                codel: State::new(&Codel { ecn, ..Codel::default() }),
                buffer: buffer(),
                now: 0,
                next_arrival: 0,
                drop_times: Vec::new(),
                marked: 0,
                delivered: Vec::new(),
                ecn: packets,
            }
        }

        /// Runs until `end` with an arrival every `arrival` and a departure every `service` nanoseconds.
        fn run(&mut self, end: u64, arrival: u64, service: u64) {
            while self.now < end {
                while self.next_arrival <= self.now {
                    self.arrive(self.next_arrival);
                    self.next_arrival += arrival;
                }
                self.take();
                self.now += service;
            }
        }

        /// A packet arrived at `then`.
        fn arrive(&mut self, then: u64) {
            let packet = waiting(Time::from_nanos(then), self.ecn);
            self.codel.push(packet.arrived, packet, &mut self.buffer).unwrap();
        }

        fn take(&mut self) {
            self.delivered.extend(self.codel.take(Time::from_nanos(self.now), &mut self.buffer));
            let (dropped, marked) = self.buffer.settled();
            self.drop_times.extend((0..dropped).map(|_| self.now));
            self.marked += marked;
        }
    }

    #[test]
    fn drop_spacing_shrinks_with_the_square_root_of_the_count() {
        // A packet arrives for every one taken, behind two hundred that stand in the queue: about 20 ms of delay.
        let mut bench = Bench::new(false, Ecn::NotEct);
        for _ in 0..200 {
            bench.arrive(0);
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
            bench.arrive(0);
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
        bench.arrive(0);
        bench.next_arrival = 1;
        bench.now = 100 * MS;
        for _ in 0..100 {
            bench.arrive(bench.now - 50 * MS);
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
        let marks = marking.delivered.iter().filter(|p| p.ecn() == Ecn::Ce).count() as u64;
        assert_eq!(marks, marking.marked);
        assert!(marks > 50, "{marks}");
        let mut incapable = Bench::new(true, Ecn::NotEct);
        incapable.run(2_000 * MS, MS / 2, MS);
        assert!(incapable.marked == 0 && incapable.drop_times.len() > 50);
    }

    #[test]
    fn every_packet_above_the_second_threshold_is_marked_and_none_is_marked_twice() {
        let mut bench = Bench::new(true, Ecn::Ect0);
        bench.codel.parameters.ce_threshold = Some(Duration::from_millis(1));
        bench.run(50 * MS, MS / 2, MS);
        let late = |packet: &Waiting| packet.ecn() == Ecn::Ce;
        assert!(bench.delivered[..2].iter().all(|packet| !late(packet)), "they have waited a millisecond at most");
        assert!(bench.delivered[4..].iter().all(late));
        bench.run(1_000 * MS, MS / 2, MS);
        let marked = bench.delivered.iter().filter(|packet| late(packet)).count() as u64;
        assert_eq!(bench.marked, marked, "what CoDel has marked itself counts once");
    }

    #[test]
    fn a_new_episode_soon_after_the_last_resumes_its_drop_rate() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        bench.run(1_500 * MS, MS / 2, MS);
        // The queue empties for a moment, which ends the episode, and fills again.
        bench.next_arrival = u64::MAX;
        while bench.buffer.backlog().packets > 0 {
            bench.take();
        }
        assert!(!bench.codel.control.dropping);
        let count = bench.codel.control.count;
        assert!(count > 20);
        bench.next_arrival = bench.now;
        bench.run(bench.now + 130 * MS, MS / 2, MS);
        assert!(bench.codel.control.dropping);
        assert_eq!(bench.codel.control.last_count, count - 1, "the drops of the last episode after its first");
    }

    #[test]
    fn after_a_long_pause_an_episode_starts_over() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        bench.run(1_500 * MS, MS / 2, MS);
        assert!(bench.codel.control.count > 20);
        bench.next_arrival = u64::MAX;
        while bench.buffer.backlog().packets > 0 {
            bench.take();
        }
        bench.now += 1_700 * MS;
        bench.next_arrival = bench.now;
        bench.run(bench.now + 130 * MS, MS / 2, MS);
        assert!(bench.codel.control.dropping);
        assert_eq!(bench.codel.control.last_count, 1);
    }

    #[test]
    fn the_delay_must_exceed_the_target_for_more_than_an_interval() {
        let mut bench = Bench::new(false, Ecn::NotEct);
        for _ in 0..10 {
            bench.arrive(0);
        }
        for now in [5 * MS, 105 * MS, 105 * MS + 1] {
            assert!(bench.drop_times.is_empty());
            bench.now = now;
            bench.take();
        }
        assert_eq!(bench.drop_times, [105 * MS + 1]);
    }
}
