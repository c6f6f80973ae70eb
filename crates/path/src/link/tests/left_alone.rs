//! Queues that are left alone until somebody asks for what they have decided.

use super::properties::registered;
use super::*;
use crate::ledger::Report;
use dumbbell_units::Rng;
use proptest::prelude::*;

/// What a link has let out, dropped and sent: packets with the instants at which that happened, as far as they are
/// told.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    arrived: Vec<(u64, TestPacket)>,
    dropped: Vec<(TestPacket, DropCause)>,
    departed: Vec<(u64, TestPacket)>,
}

impl Seen {
    /// Takes what comes out by `until`, in runs where there are any.
    fn arrivals(&mut self, link: &mut Link<TestPacket>, until: Time) {
        let mut packet = TestPacket::default();
        while link.next_event() <= until && link.next_event() < Time::NEVER {
            let now = link.next_event();
            match link.take_plain(now, &mut packet) {
                Some(_) => self.arrived.push((now.as_nanos(), packet)),
                None => self.arrived.extend(std::iter::from_fn(|| link.poll(now)).map(|out| (now.as_nanos(), out))),
            }
        }
    }

    fn reports(&mut self, link: &mut Link<TestPacket>) {
        self.dropped.extend(std::iter::from_fn(|| link.pop_drop()));
        self.departed.extend(std::iter::from_fn(|| link.pop_departure()).map(|(at, packet)| (at.as_nanos(), packet)));
    }
}

/// Runs at the same instant, of a size and a flow.
fn runs() -> impl Strategy<Value = Vec<(u64, u32, u32, u32, bool)>> {
    let pause = prop_oneof![Just(0), 0..3 * MS, 0..60 * MS];
    prop::collection::vec((pause, 1..20u32, prop_oneof![Just(1500u32), 40..1500u32], 0..3u32, any::<bool>()), 1..60)
}

fn change(kind: u8, amount: u64) -> Change {
    match kind {
        0 => Change::Rate(Rate::from_bits_per_sec(amount * 1_000_000)),
        1 => Change::Delay(Duration::from_millis(amount)),
        2 => Change::LossBefore(bernoulli(0.2).filter(|_| amount > 10)),
        _ => Change::LossAfter(bernoulli(0.2).filter(|_| amount > 10)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_that_is_left_alone_decides_as_one_that_is_asked_in_time(
        queue in registered(crate::queue::catalog()),
        rate in prop_oneof![Just(12_000_000u64), Just(7_777_777), 1_000_000..50_000_000u64],
        base_ms in 0..20u64,
        bytes in prop_oneof![Just(None), (3_000..60_000u64).prop_map(Some)],
        runs in runs(),
        changes in prop::collection::vec((0..60usize, 0..4u8, 0..30u64), 0..4),
    ) {
        let limit = QueueLimit { bytes, packets: None, time: None };
        let delay = Delay { base: Duration::from_millis(base_ms), ..Delay::default() };
        let config = LinkConfig { queue, limit, delay, ..config(LinkRate::Constant(rate)) };
        let mut asked = Link::<TestPacket>::new(config, Rng::new(1));
        let mut alone = asked.clone();
        alone.decide_when_asked();
        let (mut of_asked, mut of_alone) = (Seen::default(), Seen::default());
        for link in [&mut asked, &mut alone] {
            link.report_departures();
        }
        let (mut now, mut number) = (0, 0);
        for (place, (pause, count, size, flow, is_capable)) in runs.into_iter().enumerate() {
            now += pause;
            // A change comes before everything else of its instant.
            of_asked.arrivals(&mut asked, at(now.saturating_sub(1)));
            of_alone.arrivals(&mut alone, at(now.saturating_sub(1)));
            for &(_, kind, amount) in changes.iter().filter(|change| change.0 == place) {
                prop_assert_eq!(alone.change(at(now), &change(kind, amount)), asked.change(at(now), &change(kind, amount)));
                asked.report_departures();
                alone.report_departures();
            }
            of_asked.arrivals(&mut asked, at(now));
            of_alone.arrivals(&mut alone, at(now));
            let ecn = if is_capable { Ecn::Ect0 } else { Ecn::NotEct };
            let packet = |i: u32| TestPacket { number: number + u64::from(i), size, flow, ecn };
            let accepted = (0..count).filter(|&i| matches!(asked.offer(at(now), packet(i)), Offer::Accepted { .. })).count();
            match alone.offer_run(at(now), packet(0), count) {
                Some(taken) => prop_assert_eq!(taken.count() as usize, accepted),
                None => (0..count).for_each(|i| _ = alone.offer(at(now), packet(i))),
            }
            number += u64::from(count);
            if place % 4 == 0 {
                prop_assert_eq!(alone.counters(at(now)), asked.counters(at(now)));
                prop_assert_eq!(alone.observe(), asked.observe());
            }
        }
        let end = at(now + 3_600_000 * MS);
        of_asked.arrivals(&mut asked, end);
        of_alone.arrivals(&mut alone, end);
        for (seen, link) in [(&mut of_asked, &mut asked), (&mut of_alone, &mut alone)] {
            link.advance(end);
            seen.reports(link);
        }
        prop_assert_eq!(of_alone, of_asked);
        prop_assert_eq!(alone.counters(end), asked.counters(end));
        let [alone, asked] = [&mut alone, &mut asked].map(|link| link.queue_stats(end)).map(|stats| (stats.byte_nanos, stats.max));
        prop_assert_eq!(alone, asked);
    }
}

#[test]
fn packets_of_a_run_leave_a_queue_that_keeps_them_as_a_run() {
    let mut link = link(LinkConfig { queue: codel(false), ..twelve_megabits() });
    link.decide_when_asked();
    link.report_departures();
    assert_eq!(link.offer_run(at(0), full(0), 4).map(|taken| taken.count()), Some(4));
    assert_eq!(link.next_event(), at(11 * MS), "nothing of it comes out earlier");
    link.advance(at(3 * MS));
    let Some(Report::Departed(departures, first)) = link.next_report() else { panic!("packets have left") };
    assert_eq!((first, departures.next(), departures.count()), (full(0), at(MS), 4));
    let mut packet = TestPacket::default();
    assert_eq!(link.take_plain(at(11 * MS), &mut packet), Some((at(12 * MS), 3)));
    assert_eq!(link.take_followers(3, at(14 * MS), at(11 * MS)).0, 2);
    assert_eq!(link.poll(at(14 * MS)), Some(full(3)));
}

#[test]
fn the_first_packet_of_a_run_begins_before_the_others_where_the_transmitter_is_free_but_for_rounding() {
    let config = LinkConfig { queue: codel(false), ..twelve_megabits() };
    let (mut one_by_one, mut together) = (link(config.clone()), link(config));
    together.decide_when_asked();
    let just_before = Time::from_nanos(MS - 2);
    for link in [&mut one_by_one, &mut together] {
        link.offer(at(0), full(0));
    }
    for number in 1..4 {
        one_by_one.offer(just_before, full(number));
    }
    assert_eq!(together.offer_run(just_before, full(1), 3).map(|taken| taken.count()), Some(3));
    let stats = [&mut one_by_one, &mut together].map(|link| link.queue_stats(at(9 * MS)));
    // The second one waits for a millisecond, the third one for two, and nobody for the two nanoseconds but the first.
    assert_eq!(stats.map(|stats| stats.byte_nanos), [u128::from(1_500 * (3 * MS + 2)); 2]);
    assert_eq!(stats.map(|stats| stats.max.packets), [2; 2]);
}
