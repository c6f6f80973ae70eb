//! Links that are changed from outside.

use super::*;
use crate::catalog::QueueLimit;
use crate::config::LinkConfig;
use crate::delay::{Delay, Jitter};
use crate::ledger::DropCause;
use crate::ledger::Offer;
use crate::link::tests::properties::{Run, configs, losses, run_with};
use crate::link::tests::{
    MS, at, bernoulli, bytes_limit, codel, config, drain, drop_head, full, link, red_of_ten_megabits, twelve_megabits,
};
use crate::queue::QueueRecipe;
use crate::stats::Backlog;
use crate::testing::TestPacket;
use proptest::prelude::*;

fn mbit(mbit: u64) -> Rate {
    Rate::from_bits_per_sec(mbit * 1_000_000)
}

/// Offers full packets 0, 1, … at once.
fn offer(link: &mut Link<TestPacket>, now: u64, count: u64) {
    for number in 0..count {
        link.offer(at(now), full(number));
    }
}

#[test]
fn a_packet_in_transmission_gets_the_rest_of_its_bits_at_the_new_rate() {
    for queue in [QueueRecipe::default(), drop_head()] {
        let mut link = link(LinkConfig { queue: queue.clone(), ..twelve_megabits() });
        offer(&mut link, 0, 4);
        // Packet 1 has sent half of its bits.
        let retimed = link.set_rate(at(MS + MS / 2), mbit(6));
        assert_eq!(retimed[0], Retimed { packet: full(1), told: at(2 * MS), departs: at(2 * MS + MS / 2) });
        let expected = [(0, MS), (1, 2 * MS + MS / 2), (2, 4 * MS + MS / 2), (3, 6 * MS + MS / 2)];
        assert_eq!(drain(&mut link), expected.map(|(number, departs)| (number, departs + 10 * MS)), "{queue:?}");
    }
}

#[test]
fn packets_in_the_pipe_keep_their_arrival_and_runs_are_taken_apart() {
    let mut link = link(twelve_megabits());
    link.offer_run(at(0), full(0), 5).unwrap();
    link.set_rate(at(3 * MS), mbit(120));
    let tenths = [(0, 110), (1, 120), (2, 130), (3, 131), (4, 132)];
    assert_eq!(drain(&mut link), tenths.map(|(number, tenth)| (number, tenth * MS / 10)));
}

#[test]
fn an_outage_holds_what_waits_until_the_rate_comes_back() {
    for queue in [QueueRecipe::default(), codel(false)] {
        let limit = QueueLimit { time: Some(Duration::from_millis(3)), packets: None, bytes: None };
        let mut link = link(LinkConfig { limit, queue: queue.clone(), ..twelve_megabits() });
        offer(&mut link, 0, 2);
        let retimed = link.set_rate(at(MS / 2), Rate::ZERO);
        assert_eq!(retimed[0].departs, Time::NEVER);
        // The limit in time refers to the rate before the outage: three packets wait at most.
        let offers: Vec<_> = (2..6).map(|number| link.offer(at(5 * MS), full(number))).collect();
        assert!(offers[..2].iter().all(|offer| *offer == Offer::Accepted { departs: None }), "{queue:?} {offers:?}");
        assert_eq!(offers[2..], [Offer::Dropped(DropCause::QueueFull); 2], "{queue:?}");
        assert_eq!(link.backlog(at(6 * MS)).packets, 3);
        assert_eq!(link.next_event(), Time::NEVER);
        link.set_rate(at(10 * MS), mbit(12));
        let arrived = [(0, 20 * MS + MS / 2), (1, 21 * MS + MS / 2), (2, 22 * MS + MS / 2), (3, 23 * MS + MS / 2)];
        assert_eq!(drain(&mut link), arrived, "{queue:?}");
    }
}

#[test]
fn a_limit_in_time_follows_the_rate_and_drops_nothing_that_was_accepted() {
    let mut config = twelve_megabits();
    config.limit.time = Some(Duration::from_millis(10));
    let mut link = link(config);
    offer(&mut link, 0, 8);
    link.set_rate(at(MS / 2), mbit(6));
    assert_eq!(link.backlog(at(MS / 2)).packets, 7, "all that waited still do, for more than ten milliseconds");
    assert_eq!(link.offer(at(MS), full(8)), Offer::Dropped(DropCause::QueueFull));
    link.set_rate(at(MS), mbit(120));
    assert!(matches!(link.offer(at(MS), full(8)), Offer::Accepted { .. }));
}

#[test]
fn a_trace_gives_way_to_a_rate_in_the_middle_of_a_packet() {
    let mut link = link(config(LinkRate::Trace { opportunities_ms: [10, 20, 30].into(), once: true }));
    for number in 0..4 {
        link.offer(at(0), TestPacket::new(number, 1000));
    }
    // Of 1004 bytes a packet, the opportunity at 10 ms has served 0 and 500 of 1.
    let retimed = link.set_rate(at(10 * MS), mbit(8));
    assert_eq!(retimed.iter().map(|one| one.packet.number).collect::<Vec<_>>(), [1, 2, 3]);
    let told = retimed.iter().map(|one| one.told).collect::<Vec<_>>();
    assert_eq!(told, [at(20 * MS), at(30 * MS), at(30 * MS)]);
    let after = [504, 1504, 2504].map(|bytes| at(10 * MS + bytes * 1_000));
    assert_eq!(retimed.iter().map(|one| one.departs).collect::<Vec<_>>(), after);
    assert_eq!(link.capacity_bits(at(0), at(11 * MS)), Some(12_000 + 8_000));
}

#[test]
fn what_a_trace_that_is_over_has_cut_goes_on_when_there_is_a_rate() {
    let mut link = link(config(LinkRate::Trace { opportunities_ms: [5, 10].into(), once: true }));
    (0..3).for_each(|number| _ = link.offer(at(0), TestPacket::new(number, 1200)));
    assert_eq!(link.offer(at(50 * MS), full(3)), Offer::Accepted { departs: None });
    let retimed = link.set_rate(at(100 * MS), mbit(8));
    // 3 * 1204 bytes less two opportunities of 1504: 604 are left of packet 2.
    assert_eq!(
        retimed[0],
        Retimed { packet: TestPacket::new(2, 1200), told: Time::NEVER, departs: at(100 * MS + 604_000) }
    );
    assert_eq!(retimed[1].departs, at(100 * MS + 604_000 + 1_500_000));
}

#[test]
fn an_unlimited_link_gets_its_queue_when_it_gets_a_rate() {
    for queue in [QueueRecipe::default(), codel(false)] {
        let mut link = link(LinkConfig { limit: bytes_limit(3_000), queue, ..config(LinkRate::Unlimited) });
        offer(&mut link, 0, 5);
        assert!(link.set_rate(at(MS), mbit(12)).is_empty());
        let accepted = (5..10).filter(|&n| matches!(link.offer(at(MS), full(n)), Offer::Accepted { .. })).count();
        assert_eq!((accepted, link.backlog(at(MS)).packets), (3, 2));
        assert_eq!(drain(&mut link).iter().map(|&(number, _)| number).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
        let counters = link.counters(at(100 * MS));
        assert_eq!((counters.arrivals.packets, counters.departures.packets), (10, 8));
    }
}

#[test]
fn a_new_delay_is_that_of_the_packets_that_leave_from_now_on() {
    let mut link = link(twelve_megabits());
    link.offer_run(at(0), full(0), 3).unwrap();
    link.set_delay(at(MS), Duration::from_millis(50));
    assert_eq!(drain(&mut link), [(0, 11 * MS), (1, 52 * MS), (2, 53 * MS)]);
}

#[test]
fn with_a_shorter_delay_nobody_overtakes_unless_jitter_may_reorder() {
    let mut link = link(twelve_megabits());
    offer(&mut link, 0, 3);
    link.set_delay(at(MS), Duration::from_millis(2));
    link.offer(at(20 * MS), full(3));
    assert_eq!(drain(&mut link), [(0, 11 * MS), (1, 11 * MS), (2, 11 * MS), (3, 23 * MS)]);
    let jitter = Delay {
        base: Duration::from_millis(10),
        jitter: Jitter { amount: Duration::from_nanos(1), reorders: true, ..Jitter::default() },
        ..Delay::default()
    };
    let mut wild = super::super::tests::link(LinkConfig { delay: jitter, ..twelve_megabits() });
    offer(&mut wild, 0, 3);
    wild.set_delay(at(MS), Duration::from_millis(2));
    assert_eq!(drain(&mut wild).iter().map(|&(number, _)| number).collect::<Vec<_>>(), [1, 2, 0]);
}

#[test]
fn losses_behind_the_transmitter_strike_what_leaves_from_now_on() {
    let mut link = link(twelve_megabits());
    link.offer_run(at(0), full(0), 4).unwrap();
    link.set_loss_after(at(MS), bernoulli(1.0).as_ref());
    link.set_loss_after(at(3 * MS), None);
    assert_eq!(drain(&mut link), [(0, 11 * MS), (3, 14 * MS)]);
    let lost: Vec<_> = std::iter::from_fn(|| link.pop_drop()).collect();
    assert_eq!(lost, [(full(1), DropCause::LossAfter), (full(2), DropCause::LossAfter)]);
}

#[test]
fn losses_before_the_queue_strike_what_arrives_from_now_on() {
    let mut link = link(twelve_megabits());
    offer(&mut link, 0, 2);
    link.set_loss_before(at(0), bernoulli(1.0).as_ref());
    assert_eq!(link.offer(at(0), full(2)), Offer::Dropped(DropCause::LossBefore));
    link.set_loss_before(at(0), None);
    assert!(matches!(link.offer(at(0), full(3)), Offer::Accepted { .. }));
    assert_eq!(drain(&mut link), [(0, 11 * MS), (1, 12 * MS), (3, 13 * MS)]);
}

#[test]
fn statistics_remember_every_rate() {
    let mut link = link(twelve_megabits());
    link.set_rate(at(10 * MS), Rate::ZERO);
    link.set_rate(at(20 * MS), mbit(24));
    assert_eq!(link.capacity_bits(at(5 * MS), at(25 * MS)), Some(5 * 12_000 + 5 * 24_000));
    assert_eq!(link.capacity_bits(at(12 * MS), at(18 * MS)), Some(0));
    link.start_measuring(at(20 * MS));
    assert_eq!(link.queue_stats(at(21 * MS)).capacity_bits, Some(24_000));
}

/// Rates and the instants at which they come into force, the first at time zero.
fn rate_changes() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let rate =
        prop_oneof![1 => Just(0), 3 => prop_oneof![Just(12_000_000), Just(1_000_000_000)], 6 => 100_000..50_000_000u64];
    let instant = prop_oneof![(0..300u64).prop_map(|ms| ms * MS), 0..300 * MS];
    (1..50_000_000u64, prop::collection::vec((instant, rate), 1..12)).prop_map(|(first, mut changes)| {
        changes.sort_unstable();
        changes.dedup_by_key(|&mut (instant, _)| instant);
        changes.retain(|&(instant, _)| instant > 0);
        changes.insert(0, (0, first));
        // A schedule that ends with an outage knows it, and a queue with a limit in time refuses what would wait for
        // ever.
        changes.push((300 * MS, first));
        changes
    })
}

/// What differs first between two runs, but for the departures that offers were told, which the future may change.
fn difference(one: Run, other: Run) -> Option<String> {
    let is_accepted = |offer: &Offer| matches!(offer, Offer::Accepted { .. });
    let differ = |(a, b): (&Offer, &Offer)| a != b && !(is_accepted(a) && is_accepted(b));
    let offers = one.offers.iter().zip(&other.offers).position(differ);
    let offers = offers.map(|i| format!("offer {i}: {:?}, {:?}", one.offers[i], other.offers[i]));
    let backlogs = one.backlogs.iter().zip(&other.backlogs).position(|(a, b)| a != b);
    let backlogs = backlogs.map(|i| format!("backlog {i}: {:?}, {:?}", one.backlogs[i], other.backlogs[i]));
    let places = 0..one.arrived.len().max(other.arrived.len());
    let arrived = places.into_iter().find(|&i| one.arrived.get(i) != other.arrived.get(i));
    let arrived = arrived.map(|i| format!("arrival {i}: {:?}, {:?}", one.arrived.get(i), other.arrived.get(i)));
    let end = |run: &Run| (run.counters, run.capacity_bits, run.byte_nanos);
    let ends = (end(&one) != end(&other)).then(|| format!("{:?}, {:?}", end(&one), end(&other)));
    offers.or(backlogs).or(arrived).or(ends)
}

fn changes() -> impl Strategy<Value = Vec<(u64, Change)>> {
    let change = prop_oneof![
        (0..30_000_000u64).prop_map(|rate| Change::Rate(Rate::from_bits_per_sec(rate))),
        (0..40u64).prop_map(|ms| Change::Delay(Duration::from_millis(ms))),
        losses().prop_map(Change::LossBefore),
        losses().prop_map(Change::LossAfter),
    ];
    prop::collection::vec((0..400 * MS, change), 0..20).prop_map(|mut changes| {
        changes.sort_by_key(|&(instant, _)| instant);
        changes
    })
}

/// What differs between a changed link and one with a schedule by design: RED whose bandwidth is that of the link
/// follows a change of the rate, but keeps the mean rate of a schedule; losses that change with time are drawn for the
/// departure that was computed first.
fn comparable(config: LinkConfig) -> LinkConfig {
    let queue =
        if ["red", "adaptive-red"].contains(&config.queue.kind()) { red_of_ten_megabits(true) } else { config.queue };
    let loss_after = config.loss_after.filter(|loss| loss.kind() != "steps").or(bernoulli(0.1));
    LinkConfig { queue, loss_after, ..config }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_link_whose_rate_is_changed_equals_one_with_that_schedule(
        config in configs(),
        rates in rate_changes(),
        seed in 0..1000u64,
    ) {
        let config = comparable(config);
        let steps: Vec<_> = rates.iter().map(|&(instant, rate)| (at(instant), rate)).collect();
        let schedule = LinkRate::Schedule { steps: steps.into(), repeat_after: None };
        let scheduled = run_with(&LinkConfig { rate: schedule, ..config.clone() }, seed, &[]);
        let constant = LinkConfig { rate: LinkRate::Constant(rates[0].1), ..config };
        let changes: Vec<_> = rates[1..]
            .iter()
            .map(|&(instant, rate)| (instant, Change::Rate(Rate::from_bits_per_sec(rate))))
            .collect();
        let changed = run_with(&constant, seed, &changes);
        prop_assert_eq!(difference(changed?, scheduled?), None);
    }

    #[test]
    fn whatever_changes_packets_are_conserved(config in configs(), changes in changes(), seed in 0..1000u64) {
        run_with(&config, seed, &changes)?.arrives_in_order_and_once(&config)?;
    }

    #[test]
    fn a_change_to_what_holds_already_changes_nothing(config in configs(), instants in prop::collection::vec(0..400 * MS, 1..8), seed in 0..1000u64) {
        let mut instants = instants;
        instants.sort_unstable();
        let constant = LinkConfig { rate: LinkRate::Constant(7_777_777), ..comparable(config) };
        let same = [Change::Rate(Rate::from_bits_per_sec(7_777_777)), Change::Delay(constant.delay.base)];
        let changes: Vec<_> = instants.into_iter().zip(same.into_iter().cycle()).collect();
        prop_assert_eq!(difference(run_with(&constant, seed, &changes)?, run_with(&constant, seed, &[])?), None);
    }

    #[test]
    fn bursts_on_a_plain_link_are_retimed_as_packets_are(
        rates in rate_changes(),
        bursts in prop::collection::vec((0u64..20_000_000, 1u32..60), 1..20),
    ) {
        let mut together = link(config(LinkRate::Constant(rates[0].1)));
        let mut single = together.clone();
        let mut changes = rates[1..].iter().peekable();
        let (mut now, mut number) = (0, 0);
        for (pause, count) in bursts {
            now += pause;
            while let Some(&(instant, rate)) = changes.next_if(|&&(instant, _)| instant <= now) {
                let rate = Rate::from_bits_per_sec(rate);
                prop_assert_eq!(together.set_rate(at(instant), rate), single.set_rate(at(instant), rate));
            }
            if together.offer_run(at(now), full(number), count).is_none() {
                (0..count).for_each(|i| _ = together.offer(at(now), full(number + u64::from(i))));
            }
            (0..count).for_each(|i| _ = single.offer(at(now), full(number + u64::from(i))));
            number += u64::from(count);
            prop_assert_eq!(together.backlog(at(now)), single.backlog(at(now)));
        }
        prop_assert_eq!(drain(&mut together), drain(&mut single));
        let end = at(now + 3_600_000 * MS);
        prop_assert_eq!(together.counters(end), single.counters(end));
    }
}

#[test]
fn an_idle_link_that_changes_is_idle() {
    let mut link = link(twelve_megabits());
    for (ms, change) in
        [Change::Rate(mbit(1)), Change::Delay(Duration::from_millis(1)), Change::LossAfter(None)].iter().enumerate()
    {
        assert!(link.change(at(ms as u64 * MS), change).is_empty());
        assert_eq!((link.next_event(), link.backlog(at(ms as u64 * MS))), (Time::NEVER, Backlog::default()));
    }
}

#[test]
fn packets_that_wait_are_retimed_after_losses_before_the_queue_have_begun() {
    for queue in [QueueRecipe::default(), codel(false)] {
        let mut link = link(LinkConfig { queue, ..twelve_megabits() });
        offer(&mut link, 0, 3);
        link.change(at(MS / 2), &Change::LossBefore(bernoulli(1.0)));
        link.change(at(MS / 2), &Change::Rate(mbit(6)));
        assert_eq!(drain(&mut link), [(0, 11 * MS + MS / 2), (1, 13 * MS + MS / 2), (2, 15 * MS + MS / 2)]);
    }
}
