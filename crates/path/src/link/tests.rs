//! Links as a whole: exact times, queue limits, conservation, order, determinism.

use super::change::Change;
use super::*;
use crate::catalog::LinkContext;
use crate::catalog::QueueLimit;
use crate::config::Impairments;
use crate::correlated::Share;
use crate::delay::Delay;
use crate::event::{Action, PacketEvent, Selection};
use crate::level::Level;
use crate::loss::{Bernoulli, LossRecipe};
use crate::packet::Ecn;
use crate::policer::Policer;
use crate::queue::{Codel, Discipline, DropHead, MarkPlace, QueueRecipe, Red, Threshold};
use crate::release::Aggregate;
use crate::stats::{Backlog, Tally};
use crate::testing::TestPacket;
use crate::transmitter::LinkRate;
use dumbbell_units::{Bytes, Duration, Rate, Ratio, Rng};
use std::sync::Arc;

mod left_alone;
mod memory;
pub(super) mod properties;
mod queues;
mod remote;

pub(super) const MS: u64 = 1_000_000;

pub(super) fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

pub(super) fn config(rate: LinkRate) -> LinkConfig {
    LinkConfig {
        name: String::from("link"),
        rate,
        overhead_bytes: 0,
        delay: Delay { base: Duration::from_millis(10), ..Delay::default() },
        policer: None,
        limit: QueueLimit::default(),
        queue: QueueRecipe::default(),
        loss_before: None,
        loss_after: None,
        impairments: Arc::default(),
    }
}

/// 12 Mb/s: a full packet a millisecond.
pub(crate) fn twelve_megabits() -> LinkConfig {
    config(LinkRate::Constant(12_000_000))
}

pub(super) fn bytes_limit(bytes: u64) -> QueueLimit {
    QueueLimit { bytes: Some(bytes), ..QueueLimit::default() }
}

/// A discipline on a link of twelve megabits with a limit.
fn queue(parameters: impl Discipline) -> QueueRecipe {
    let context = LinkContext {
        rate: Some(Rate::from_bits_per_sec(12_000_000)),
        limit: bytes_limit(600_000),
        ..LinkContext::default()
    };
    QueueRecipe::of(parameters, &context).unwrap()
}

pub(super) fn codel(ecn: bool) -> QueueRecipe {
    queue(Codel { ecn, ..Codel::default() })
}

pub(super) fn drop_head() -> QueueRecipe {
    queue(DropHead {})
}

pub(super) fn step(threshold: Level, mark: Option<MarkPlace>, drop_not_ect: bool) -> QueueRecipe {
    queue(Threshold { threshold, mark, drop_not_ect })
}

pub(super) fn bytes(bytes: u64) -> Level {
    Level::Bytes(Bytes::new(bytes))
}

/// RED between 30 and 90 kB on twelve megabits.
pub(super) fn red(ecn: bool) -> QueueRecipe {
    queue(thresholds(ecn))
}

/// [`red`] with a bandwidth of its own: that of the link would follow a change of its rate, and a schedule has one
/// mean.
pub(super) fn red_of_ten_megabits(ecn: bool) -> QueueRecipe {
    queue(Red { bandwidth: Some(Rate::from_bits_per_sec(10_000_000)), ..thresholds(ecn) })
}

fn thresholds(ecn: bool) -> Red {
    Red {
        min: Some(bytes(30_000)),
        max: Some(bytes(90_000)),
        max_probability: ratio(0.1),
        weight: Some(ratio(1.0 / 512.0)),
        ecn,
        ..Red::default()
    }
}

pub(super) fn bernoulli(p: f64) -> Option<LossRecipe> {
    Some(LossRecipe::of(Bernoulli { p: ratio(p), correlation: Ratio::ZERO }, &LinkContext::default()).unwrap())
}

pub(super) fn ratio(value: f64) -> Ratio {
    Ratio::new(value).unwrap()
}

fn policer(rate: u64, burst_bytes: u64) -> Option<Policer> {
    Some(Policer { rate: Rate::from_bits_per_sec(rate), burst: Level::Bytes(Bytes::new(burst_bytes)), initial: None })
}

pub(super) fn link(config: LinkConfig) -> Link<TestPacket> {
    Link::new(config, Rng::new(1))
}

pub(super) fn full(number: u64) -> TestPacket {
    TestPacket::new(number, 1500)
}

/// Everything that arrives, with its time, until the link has nothing left to do.
pub(super) fn drain(link: &mut Link<TestPacket>) -> Vec<(u64, u64)> {
    let mut arrived = Vec::new();
    while link.next_event() < Time::NEVER {
        let now = link.next_event();
        while let Some(packet) = link.poll(now) {
            arrived.push((packet.number, now.as_nanos()));
        }
    }
    arrived
}

fn departs(offer: Offer) -> Option<u64> {
    match offer {
        Offer::Accepted { departs } | Offer::Duplicated { departs } => departs.map(Time::as_nanos),
        Offer::Dropped(cause) => panic!("dropped: {cause:?}"),
    }
}

#[test]
fn a_packet_arrives_after_its_serialisation_and_the_propagation_delay() {
    let mut link = link(LinkConfig { overhead_bytes: 38, ..config(LinkRate::Constant(100_000_000)) });
    assert_eq!(link.next_event(), Time::NEVER);
    let end = 8 * (1500 + 38) * 10;
    assert_eq!(departs(link.offer(at(5), full(0))), Some(5 + end));
    assert_eq!(departs(link.offer(at(6), full(1))), Some(5 + 2 * end));
    assert_eq!(link.next_event(), at(5 + end + 10 * MS));
    assert_eq!(link.poll(at(4 + end + 10 * MS)), None);
    assert_eq!(drain(&mut link), [(0, 5 + end + 10 * MS), (1, 5 + 2 * end + 10 * MS)]);
}

#[test]
fn the_packets_of_a_run_leave_a_link_that_only_delays_them_together() {
    let mut together = link(config(LinkRate::Unlimited));
    let mut busy = link(twelve_megabits());
    let mut packet = TestPacket::default();
    for (link, at_once) in [(&mut together, 3), (&mut busy, 0)] {
        link.offer_run(at(0), TestPacket::new(7, 1500), 4).unwrap();
        let now = link.next_event();
        let (_, behind) = link.take_plain(now, &mut packet).unwrap();
        assert_eq!(
            (packet.number, behind, link.take_followers(behind, now + Duration::from_nanos(1), now).0),
            (7, 3, at_once)
        );
        assert_eq!(link.next_event() == Time::NEVER, at_once == 3);
    }
}

#[test]
fn an_unlimited_rate_only_delays() {
    let mut link = link(config(LinkRate::Unlimited));
    for i in 0..100 {
        assert_eq!(departs(link.offer(at(7), full(i))), Some(7));
    }
    assert_eq!(link.backlog(at(7)), Backlog::default());
    assert_eq!(link.queue_stats(at(7)).capacity_bits, None);
    assert!(drain(&mut link).iter().all(|&(_, time)| time == 7 + 10 * MS));
}

#[test]
fn the_packet_in_service_does_not_count_against_the_limit() {
    let mut config = twelve_megabits();
    config.limit = bytes_limit(3000);
    let mut link = link(config);
    let offers: Vec<_> = (0..4).map(|i| link.offer(at(0), full(i))).collect();
    assert!(offers[..3].iter().all(|offer| matches!(offer, Offer::Accepted { .. })));
    assert_eq!(offers[3], Offer::Dropped(DropCause::QueueFull));
    assert_eq!(link.backlog(at(0)), Backlog { packets: 2, bytes: 3000 });
    // At the instant at which the second begins, its place is free.
    assert_eq!(link.offer(at(MS - 5), full(4)), Offer::Dropped(DropCause::QueueFull));
    assert_eq!(departs(link.offer(at(MS), full(5))), Some(4 * MS));
    assert_eq!(link.pop_drop(), None);
}

#[test]
fn an_answer_to_a_departure_finds_the_place_of_the_packet_that_begins_with_it() {
    // 12,000 bits at 11 Mbit/s take 1,090,909 ns and an eleventh. Instants are rounded up: at 40 ms + 2,181,819 ns the
    // answer to the second departure comes, and a nanosecond later a packet begins, which is the same instant.
    let link = || link(LinkConfig { limit: bytes_limit(1500), ..config(LinkRate::Constant(11_000_000)) });
    let mut first_round = link();
    let departures = [0, 1].map(|i| departs(first_round.offer(at(0), full(i))).unwrap());
    assert_eq!(departures, [1_090_910, 2_181_819]);
    let answers = departures.map(|departure| at(departure + 40 * MS));
    let mut one_by_one = link();
    let [first, second] = answers.map(|now| [2, 3].map(|i| one_by_one.offer(now, full(i))));
    assert_eq!(first.map(departs), [Some(42_181_820), Some(43_272_729)]);
    assert_eq!(departs(second[0]), Some(44_363_638));
    assert_eq!(second[1], Offer::Dropped(DropCause::QueueFull));
    let mut in_runs = link();
    let runs = answers.map(|now| in_runs.offer_run(now, full(2), 2).map(|departures| departures.count()));
    assert_eq!(runs, [Some(2), Some(1)]);
    assert_eq!(in_runs.queue_stats(at(60 * MS)).max, Backlog { packets: 1, bytes: 1500 });
}

#[test]
fn a_queue_that_keeps_its_packets_has_let_that_one_go_which_begins_when_another_comes() {
    for is_asked in [false, true] {
        let config = config(LinkRate::Constant(11_000_000));
        let mut link = link(LinkConfig { limit: bytes_limit(1500), queue: codel(false), ..config });
        if is_asked {
            link.decide_when_asked();
        }
        // The instants of the test above.
        let accepted = [41_090_910, 42_181_819]
            .map(|now| [0, 1].map(|i| !matches!(link.offer(at(now), full(i)), Offer::Dropped(DropCause::QueueFull))));
        assert_eq!(accepted, [[true, true], [true, false]], "{is_asked}");
    }
}

#[test]
fn limits_in_packets_and_in_time_hold() {
    for limit in [
        QueueLimit { packets: Some(10), ..QueueLimit::default() },
        QueueLimit { time: Some(Duration::from_millis(10)), ..QueueLimit::default() },
    ] {
        for queue in [QueueRecipe::default(), codel(false)] {
            let config = LinkConfig { limit, queue: queue.clone(), ..twelve_megabits() };
            let mut link = link(config);
            let accepted = (0..100).filter(|&i| matches!(link.offer(at(0), full(i)), Offer::Accepted { .. })).count();
            assert_eq!(accepted, 11, "ten that wait and one in transmission: {limit:?} {queue:?}");
        }
    }
}

/// Offers full packets at so many percent of 12 Mb/s for ten seconds; returns backlogs in bytes, one a second.
fn constant_load(percent: u64) -> (Vec<u64>, Backlog) {
    let mut link = link(twelve_megabits());
    let spacing = MS * 100 / percent;
    let mut samples = Vec::new();
    for i in 0..100 * percent {
        let now = at(i * spacing);
        link.offer(now, full(i));
        if now.as_nanos() / 1_000_000_000 > samples.len() as u64 {
            samples.push(link.backlog(now).bytes);
        }
    }
    (samples, link.queue_stats(at(10_000 * MS)).max)
}

#[test]
fn at_99_percent_load_no_queue_builds_up_and_at_101_percent_it_grows_linearly() {
    let (_, max) = constant_load(99);
    assert!(max.packets <= 1, "{max:?}");
    let (samples, _) = constant_load(101);
    for (second, bytes) in samples.iter().enumerate() {
        let expected = (second as u64 + 1) * 10 * 1500;
        assert!(bytes.abs_diff(expected) <= 2 * 1500, "{bytes} after {} s", second + 1);
    }
}

#[test]
fn a_full_drop_tail_queue_delays_by_its_size_over_the_rate() {
    let mut config = twelve_megabits();
    config.limit = bytes_limit(30_000);
    let mut link = link(config);
    let mut worst = 0;
    for i in 0..2000 {
        let now = i * MS / 2;
        if let Offer::Accepted { departs: Some(departs) } = link.offer(at(now), full(i)) {
            worst = worst.max(departs.as_nanos() - now);
        }
    }
    assert_eq!(worst, 8 * 30_000 * 1000 / 12 + MS, "20 ms of waiting and its own millisecond");
    assert_eq!(link.queue_stats(at(1000 * MS)).max.bytes, 30_000);
}

#[test]
fn drop_head_accepts_the_newest_and_drops_the_oldest_waiting() {
    let mut config = twelve_megabits();
    config.limit = bytes_limit(3000);
    config.queue = drop_head();
    let mut link = link(config);
    assert_eq!(departs(link.offer(at(0), full(0))), Some(MS));
    for i in 1..5 {
        assert_eq!(link.offer(at(0), full(i)), Offer::Accepted { departs: None });
    }
    let dropped: Vec<_> = std::iter::from_fn(|| link.pop_drop()).map(|(p, cause)| (p.number, cause)).collect();
    assert_eq!(dropped, [(1, DropCause::Aqm), (2, DropCause::Aqm)]);
    assert_eq!(link.offer(at(0), TestPacket::new(9, 3001)), Offer::Dropped(DropCause::QueueFull));
    assert_eq!(link.next_event(), at(MS), "the decision about the next packet");
    assert_eq!(drain(&mut link), [(0, 11 * MS), (3, 12 * MS), (4, 13 * MS)]);
}

#[test]
fn held_queues_serve_as_exactly_as_analytic_ones() {
    // Rates whose packet times are not whole nanoseconds, and a bursty arrival process.
    let trace = LinkRate::Trace { opportunities_ms: [1, 1, 4, 9, 9, 9, 30].into(), once: false };
    for rate in [LinkRate::Constant(7_777_777), LinkRate::Constant(999_999_937), trace] {
        let arrivals = |mut link: Link<TestPacket>| {
            let mut rng = Rng::new(3);
            let mut now = 0;
            let mut arrived = Vec::new();
            for i in 0..3000 {
                now += if rng.below(50) == 0 { 90 * MS } else { u64::from(rng.below(2_000_000)) };
                while link.next_event() <= at(now) {
                    let event = link.next_event();
                    arrived.extend(std::iter::from_fn(|| link.poll(event)).map(|p| (p.number, event.as_nanos())));
                }
                link.offer(at(now), TestPacket::new(i, 40 + rng.below(1461)));
            }
            arrived.extend(drain(&mut link));
            arrived
        };
        let analytic = arrivals(link(config(rate.clone())));
        let mut held = config(rate);
        held.queue = drop_head();
        let held = arrivals(link(held));
        assert_eq!(analytic.len(), 3000);
        assert_eq!(analytic, held);
    }
}

#[test]
fn a_trace_link_departs_at_opportunities_and_follows_late_arrivals() {
    let mut link = link(config(LinkRate::Trace { opportunities_ms: [10, 20, 30].into(), once: true }));
    let sizes = [1000, 1000, 1000];
    let departures: Vec<_> = sizes.iter().map(|&size| departs(link.offer(at(0), TestPacket::new(0, size)))).collect();
    assert_eq!(departures, [Some(10 * MS), Some(20 * MS), Some(30 * MS)]);
    assert_eq!(link.backlog(at(9 * MS)).packets, 3, "nothing is in transit before the first opportunity");
    assert_eq!(link.backlog(at(10 * MS)).packets, 1, "the second is in transit: it began at 10 ms");
    assert_eq!(link.offer(at(30 * MS), full(3)), Offer::Accepted { departs: None }, "the trace has ended");
    assert_eq!(drain(&mut link).len(), 3);
    let counters = link.counters(at(500 * MS));
    assert_eq!((link.in_flight(at(500 * MS)), counters.departures.packets), (1, 3));
    assert_eq!(link.queue_stats(at(500 * MS)).capacity_bits, Some(36_000));
}

#[test]
fn an_outage_holds_packets_and_loses_none() {
    let steps = [(at(0), 12_000_000), (at(100 * MS), 0), (at(300 * MS), 24_000_000)];
    let mut link = link(config(LinkRate::Schedule { steps: steps.into(), repeat_after: None }));
    for i in 0..400 {
        link.offer(at(i * MS), full(i));
    }
    assert_eq!(link.counters(at(399 * MS)).drops.in_queue(), Tally::default());
    let arrived = drain(&mut link);
    assert_eq!(arrived.len(), 400);
    assert!(!arrived.iter().any(|&(_, time)| (110 * MS + 1..310 * MS).contains(&time)));
    // 300 packets are left at 300 ms or arrive later; at 24 Mb/s each takes half a millisecond.
    assert_eq!(arrived.last(), Some(&(399, 300 * MS + 300 * MS / 2 + 10 * MS)));
    assert_eq!(link.queue_stats(at(500 * MS)).capacity_bits, Some(1_200_000 + 4_800_000));
}

#[test]
fn a_link_that_decides_late_tells_departures_to_those_who_ask() {
    let mut config = twelve_megabits();
    config.queue = drop_head();
    config.delay.jitter.amount = Duration::from_nanos(MS / 2);
    let mut quiet = link(config.clone());
    let mut late = link(config);
    late.report_departures();
    for link in [&mut quiet, &mut late] {
        assert!(link.decides_late());
        (0..3).for_each(|number| assert!(matches!(link.offer(at(0), full(number)), Offer::Accepted { .. })));
        link.advance(at(2 * MS));
    }
    assert!(late.has_reports());
    let told: Vec<_> = std::iter::from_fn(|| late.pop_departure()).map(|(at, packet)| (packet.number, at)).collect();
    assert_eq!(told, [(0, at(MS)), (1, at(2 * MS)), (2, at(3 * MS))]);
    assert!(!late.has_reports() && !quiet.has_reports());
    assert_eq!(quiet.pop_departure(), None);
}

#[test]
fn a_link_without_a_rate_tells_at_once_what_it_loses() {
    let mut link = link(LinkConfig { loss_after: bernoulli(1.0), ..config(LinkRate::Unlimited) });
    for number in [0, 1] {
        assert_eq!(departs(link.offer(at(3), full(number))), Some(3));
        assert!(link.has_reports());
        assert_eq!(link.pop_drop(), Some((full(number), DropCause::LossAfter)));
    }
    assert_eq!((link.has_reports(), link.pop_drop(), link.next_event()), (false, None, Time::NEVER));
    assert_eq!(link.counters(at(3)).drops[DropCause::LossAfter], Tally { packets: 2, bytes: 3_000 });
}

#[test]
fn losses_before_the_queue_take_no_capacity_and_losses_after_it_do() {
    let mut before = link(LinkConfig { loss_before: bernoulli(1.0), ..twelve_megabits() });
    assert_eq!(before.offer(at(0), full(0)), Offer::Dropped(DropCause::LossBefore));
    assert_eq!(before.counters(at(MS)).departures.packets, 0);
    let mut after = link(LinkConfig { loss_after: bernoulli(1.0), ..twelve_megabits() });
    assert_eq!(departs(after.offer(at(0), full(0))), Some(MS));
    assert_eq!(departs(after.offer(at(0), full(1))), Some(2 * MS));
    assert_eq!((after.pop_drop(), after.poll(at(MS))), (None, None));
    assert_eq!(after.pop_drop(), Some((full(0), DropCause::LossAfter)));
    let counters = after.counters(at(MS));
    assert_eq!(
        (counters.departures.packets, counters.drops[DropCause::LossAfter].packets, after.in_flight(at(MS))),
        (1, 1, 1)
    );
    assert_eq!(after.poll(at(100 * MS)), None);
    assert_eq!(after.counters(at(100 * MS)).drops[DropCause::LossAfter], Tally { packets: 2, bytes: 3000 });
}

#[test]
fn mean_backlog_is_the_exact_integral_and_obeys_littles_law() {
    let mut link = link(twelve_megabits());
    for i in 0..10 {
        link.offer(at(0), full(i));
    }
    // Packet i waits i milliseconds.
    let stats = link.queue_stats(at(20 * MS));
    assert_eq!(stats.byte_nanos, 45 * 1500 * u128::from(MS));
    assert_eq!(stats.mean_bytes(), 45.0 * 1500.0 / 20.0);
    assert!(stats.quantile_bytes(0.5) == 0 && stats.quantile_bytes(0.95).abs_diff(12_000) <= 48);
    assert_eq!((stats.departed.packets, stats.capacity_bits), (10, Some(240_000)));
    link.start_measuring(at(20 * MS));
    link.offer(at(20 * MS), full(10));
    let stats = link.queue_stats(at(20 * MS + MS / 2));
    assert_eq!((stats.departed.packets, stats.max.bytes, stats.capacity_bits), (0, 0, Some(6_000)));
}

#[test]
fn a_policer_loses_one_minus_one_over_the_overload_without_any_queue() {
    let policer = policer(2_000_000, 30_000);
    let mut link = link(LinkConfig { policer, ..twelve_megabits() });
    for i in 0..50_000 {
        // 6 Mb/s.
        match link.offer(at(i * 2 * MS), full(i)) {
            Offer::Accepted { departs } => assert_eq!(departs, Some(at(i * 2 * MS + MS))),
            Offer::Dropped(cause) => assert_eq!(cause, DropCause::Policed),
            Offer::Duplicated { .. } => panic!("nothing is duplicated here"),
        }
    }
    let now = at(100_000 * MS);
    let counters = link.counters(now);
    let lost = counters.drops[DropCause::Policed].packets as f64 / counters.arrivals.packets as f64;
    assert!((lost - 2.0 / 3.0).abs() < 0.001, "{lost}");
    assert_eq!(
        (link.queue_stats(now).max, counters.drops.in_queue()),
        (Backlog::default(), counters.drops[DropCause::Policed])
    );
}

fn event(action: Action, packets: (u64, u64)) -> PacketEvent {
    let (flow, bytes, from, until, by) = (None, None, None, None, None);
    let (repeat, times) = (None, None);
    PacketEvent { action, of: Selection::Data, flow, packets: Some(packets), bytes, from, until, repeat, times, by }
}

fn with_events(events: Vec<PacketEvent>) -> LinkConfig {
    let impairments = Impairments { events: events.into(), ..Impairments::default() };
    LinkConfig { impairments: Arc::new(impairments), ..twelve_megabits() }
}

#[test]
fn chosen_packets_are_dropped_marked_and_delayed_and_no_others() {
    let by = Some(Duration::from_millis(5));
    let delay = PacketEvent { by, ..event(Action::Delay, (2, 2)) };
    let mut link = link(with_events(vec![event(Action::Drop, (4, 5)), event(Action::Mark, (7, 7)), delay]));
    let offers: Vec<_> = (1..=8).map(|i| link.offer(at(0), TestPacket { ecn: Ecn::Ect0, ..full(i) })).collect();
    let dropped = |offer: &Offer| *offer == Offer::Dropped(DropCause::LossBefore);
    assert_eq!(offers.iter().map(dropped).collect::<Vec<_>>(), (1..=8).map(|i| i == 4 || i == 5).collect::<Vec<_>>());
    let mut arrived = Vec::new();
    while link.next_event() < Time::NEVER {
        let now = link.next_event();
        arrived.extend(link.poll(now).map(|packet| (packet.number, now.as_nanos() / MS, packet.ecn == Ecn::Ce)));
    }
    let expected = [(1, 11, false), (3, 13, false), (6, 14, false), (7, 15, true), (8, 16, false), (2, 17, false)];
    assert_eq!(arrived, expected, "packet 2 is 5 ms late");
    assert_eq!(
        (link.counters(at(99 * MS)).marked, link.counters(at(99 * MS)).drops[DropCause::LossBefore].packets),
        (1, 2)
    );
}

#[test]
fn a_duplicated_packet_is_followed_by_its_copy_which_takes_capacity() {
    let mut link = link(with_events(vec![event(Action::Duplicate, (2, 2))]));
    for i in 1..=3 {
        if let Offer::Duplicated { departs } = link.offer(at(0), full(i)) {
            assert_eq!((i, departs), (2, Some(at(2 * MS))));
            assert_eq!(link.offer_copy(at(0), full(i)), Offer::Accepted { departs: Some(at(3 * MS)) });
        }
    }
    assert_eq!(drain(&mut link), [(1, 11 * MS), (2, 12 * MS), (2, 13 * MS), (3, 14 * MS)]);
    assert_eq!(link.counters(at(99 * MS)).arrivals.packets, 4);
    let duplicate =
        Impairments { duplicate: Share { probability: ratio(0.1), ..Share::default() }, ..Impairments::default() };
    let mut random = super::tests::link(LinkConfig { impairments: Arc::new(duplicate), ..config(LinkRate::Unlimited) });
    let copies = (0..50_000).filter(|&i| matches!(random.offer(at(i), full(i)), Offer::Duplicated { .. })).count();
    assert!((4_800..5_200).contains(&copies), "{copies}");
}

#[test]
fn damaged_packets_take_capacity_and_are_lost_behind_the_transmitter() {
    let corrupt = Share { probability: ratio(0.2), ..Share::default() };
    let impairments = Impairments { corrupt, ..Impairments::default() };
    let mut link =
        link(LinkConfig { impairments: Arc::new(impairments), loss_after: bernoulli(0.1), ..twelve_megabits() });
    (0..20_000).for_each(|i| _ = link.offer(at(i * MS), full(i)));
    let arrived = drain(&mut link).len() as f64 / 20_000.0;
    assert!((arrived - 0.8 * 0.9).abs() < 0.01, "{arrived}");
    let counters = link.counters(at(30_000 * MS));
    assert_eq!((counters.departures.packets, counters.drops[DropCause::LossBefore].packets), (20_000, 0));
    link.change(at(30_000 * MS), &Change::LossAfter(None));
    (0..10_000).for_each(|i| _ = link.offer(at((30_000 + i) * MS), full(i)));
    let arrived = drain(&mut link).len() as f64 / 10_000.0;
    assert!((arrived - 0.8).abs() < 0.02, "a change of the losses does not mend what damages packets: {arrived}");
}

#[test]
fn netems_limit_counts_what_is_on_its_way_too() {
    for queue in [QueueRecipe::default(), codel(false)] {
        let impairments = Impairments { most_packets: Some(15), ..Impairments::default() };
        let mut link = link(LinkConfig { impairments: Arc::new(impairments), queue, ..twelve_megabits() });
        // A packet a millisecond, ten milliseconds of delay: eleven are on the link, of which one is in transmission.
        (0..100).for_each(|i| _ = poll_and_offer(&mut link, i * MS, i));
        assert_eq!(link.counters(at(99 * MS)).drops.in_queue().packets, 0);
        let accepted = (100..120).filter(|&i| poll_and_offer(&mut link, 100 * MS, i)).count();
        assert_eq!((accepted, link.in_flight(at(100 * MS))), (5, 15));
        assert_eq!(link.counters(at(100 * MS)).drops[DropCause::QueueFull].packets, 15);
    }
}

/// Takes what has arrived, and offers a packet; returns whether it was accepted.
fn poll_and_offer(link: &mut Link<TestPacket>, now: u64, number: u64) -> bool {
    while link.poll(at(now)).is_some() {}
    matches!(link.offer(at(now), full(number)), Offer::Accepted { .. })
}

#[test]
fn a_link_that_aggregates_releases_bundles_and_counts_what_it_holds() {
    let aggregate =
        Some(Aggregate { timeout: Some(Duration::from_millis(4)), packets: Some(3), ..Aggregate::default() });
    for queue in [QueueRecipe::default(), codel(false)] {
        let impairments = Impairments { aggregate, ..Impairments::default() };
        let mut link = link(LinkConfig { impairments: Arc::new(impairments), queue, ..twelve_megabits() });
        (0..5).for_each(|i| _ = link.offer(at(0), full(i)));
        assert_eq!(link.poll(at(11 * MS)), None, "the first has come, and is held");
        assert_eq!(link.in_flight(at(11 * MS)), 5);
        let times = [13, 13, 13, 18, 18].map(|ms| ms * MS);
        assert_eq!(drain(&mut link), (0..).zip(times).collect::<Vec<_>>());
    }
}

#[test]
fn a_policer_stands_behind_random_loss_and_before_an_unlimited_link() {
    let policer = policer(1, 3_000);
    let mut lossless = link(LinkConfig { policer, ..config(LinkRate::Unlimited) });
    let passed = (0..10).filter(|&i| matches!(lossless.offer(at(0), full(i)), Offer::Accepted { .. })).count();
    assert_eq!(passed, 2);
    let mut lossy = link(LinkConfig { policer, loss_before: bernoulli(1.0), ..config(LinkRate::Unlimited) });
    assert_eq!(lossy.offer(at(0), full(0)), Offer::Dropped(DropCause::LossBefore));
    assert_eq!(lossy.counters(at(0)).drops[DropCause::Policed], Tally::default());
}

#[test]
fn a_packet_that_enters_a_link_ahead_of_its_time_counts_as_arrived_when_it_would_have() {
    let [mut first, mut second] = [(); 2].map(|()| link(config(LinkRate::Unlimited)));
    assert!(first.only_delays() && !link(twelve_megabits()).only_delays());
    let enters = first.pass(at(0), 1500);
    assert_eq!(second.delay_from(enters, full(0)), at(20 * MS));
    assert_eq!(first.counters(at(0)).departures, Tally { packets: 1, bytes: 1500 });
    let arrived = |link: &mut Link<TestPacket>, now| {
        let counters = link.counters(at(now));
        (counters.arrivals.packets, counters.departures.packets)
    };
    assert_eq!(arrived(&mut second, 10 * MS), (0, 0), "who looks comes first");
    assert_eq!(arrived(&mut second, 10 * MS + 1), (1, 1));
    for (end, entered) in [(10 * MS - 1, 0), (10 * MS, 1)] {
        let mut over = second.clone();
        over.end_at(at(end));
        assert_eq!(arrived(&mut over, end), (entered, entered));
    }
    assert_eq!(drain(&mut second), [(0, 20 * MS)]);
    assert_eq!(arrived(&mut second, 20 * MS), (1, 1));
}
