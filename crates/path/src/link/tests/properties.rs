//! What holds for every link and every sequence of packets.

use super::*;
use crate::catalog::{Catalog, Recipe};
use crate::delay::{Jitter, JitterDistribution, Reorder};
use crate::loss::GilbertElliott;
use dumbbell_units::Rng;
use proptest::prelude::*;

fn rates() -> impl Strategy<Value = LinkRate> {
    let steps = prop::collection::vec((1..50u64, 0..20_000_000u64), 1..6).prop_map(|parts| {
        let mut start = 0;
        let mut steps = Vec::new();
        for (ms, rate) in parts {
            steps.push((at(start * MS), rate));
            start += ms;
        }
        steps
    });
    let schedule = (steps, prop::option::of(1..200u64)).prop_map(|(steps, repeat)| LinkRate::Schedule {
        steps: steps.into(),
        repeat_after: repeat.map(Duration::from_millis),
    });
    let trace = (prop::collection::vec(0..60u32, 1..30), any::<bool>()).prop_map(|(mut ms, once)| {
        ms.sort_unstable();
        LinkRate::Trace { opportunities_ms: ms.into(), once }
    });
    prop_oneof![Just(LinkRate::Unlimited), (100_000..50_000_000u64).prop_map(LinkRate::Constant), schedule, trace]
}

pub(in crate::link) fn losses() -> impl Strategy<Value = Option<LossRecipe>> {
    let bursts = GilbertElliott {
        p: Some(ratio(0.1)),
        r: Some(ratio(0.3)),
        good_for: None,
        bad_for: None,
        loss_bad: ratio(0.9),
        loss_good: ratio(0.01),
    };
    let bursts = LossRecipe::of(bursts, &LinkContext::default()).unwrap();
    prop_oneof![
        Just(None),
        (0.0..0.5).prop_map(bernoulli),
        Just(Some(bursts)),
        registered(crate::loss::catalog()).prop_map(Some)
    ]
}

/// Every kind of a catalogue with its defaults, on twelve megabits.
pub(in crate::link) fn registered<T: 'static>(catalog: &Catalog<T>) -> impl Strategy<Value = Recipe<T>> {
    let rate = Some(Rate::from_bits_per_sec(12_000_000));
    let context = LinkContext { rate, limit: bytes_limit(60_000), ..LinkContext::default() };
    let recipes = catalog.kinds().iter().map(|kind| catalog.resolve(kind.name, &kind.example(), &context).unwrap());
    prop::sample::select(recipes.collect::<Vec<_>>())
}

fn delays() -> impl Strategy<Value = Delay> {
    (0..20u64, 0..10u64, any::<bool>(), any::<bool>(), prop_oneof![Just(0.0), Just(0.3)]).prop_map(
        |(base, jitter, normal, reorders, reorder)| Delay {
            base: Duration::from_millis(base),
            jitter: Jitter {
                amount: Duration::from_millis(jitter),
                distribution: if normal { JitterDistribution::Normal } else { JitterDistribution::Uniform },
                correlation: ratio(0.25),
                reorders,
            },
            reorder: Reorder { probability: ratio(reorder), gap: 3, ..Reorder::default() },
            ..Delay::default()
        },
    )
}

pub(in crate::link) fn configs() -> impl Strategy<Value = LinkConfig> {
    let fast =
        Codel { target: Duration::from_millis(2), interval: Duration::from_millis(10), ecn: true, ce_threshold: None };
    let queue = prop_oneof![
        8 => prop::sample::select(vec![
            QueueRecipe::default(),
            drop_head(),
            queue(fast),
            step(Level::Packets(5), None, true),
            step(bytes(6_000), Some(MarkPlace::Dequeue), true),
            step(Level::Time(Duration::from_millis(2)), None, false),
            red_of_ten_megabits(false),
            red_of_ten_megabits(true),
        ]),
        4 => registered(crate::queue::catalog()),
    ];
    let policer = prop::option::of((1..20_000_000u64, 0..20_000u64))
        .prop_map(|policer| policer.and_then(|(rate, burst_bytes)| self::policer(rate, burst_bytes)));
    let limit = (prop::option::of(0..40u64), prop::option::of(0..40_000u64), prop::option::of(0..40u64))
        .prop_map(|(packets, bytes, ms)| QueueLimit { packets, bytes, time: ms.map(Duration::from_millis) });
    (rates(), 0..40u32, delays(), policer, limit, queue, losses(), losses()).prop_map(
        |(rate, overhead_bytes, delay, policer, limit, queue, loss_before, loss_after)| LinkConfig {
            impairments: Arc::default(),
            name: String::from("link"),
            rate,
            overhead_bytes,
            delay,
            policer,
            limit,
            queue,
            loss_before,
            loss_after,
        },
    )
}

/// What [`drain`] does, taking up to `most` packets with the one in front of them whose time has come, if they follow
/// soon enough.
fn drain_together(link: &mut Link<TestPacket>, most: u32, ahead_ns: u64) -> Vec<(u64, u64)> {
    let mut arrived = Vec::new();
    let mut packet = TestPacket::default();
    while link.next_event() < Time::NEVER {
        let now = link.next_event();
        let Some((_, behind)) = link.take_plain(now, &mut packet) else {
            arrived.extend(link.poll(now).map(|packet| (packet.number, now.as_nanos())));
            continue;
        };
        arrived.push((packet.number, now.as_nanos()));
        let mut alone = link.clone();
        let until = at(now.as_nanos() + ahead_ns);
        let (count, delays) = link.take_followers(behind.min(most), until, now);
        let taken = Vec::from_iter((0..count).map(|_| {
            let now = alone.next_event();
            (alone.poll(now).unwrap().number, now.as_nanos())
        }));
        assert!(taken.iter().all(|&(_, time)| time < until.as_nanos()));
        assert_eq!(taken.iter().map(|(_, time)| time - now.as_nanos()).sum::<u64>(), delays.as_nanos());
        assert!(count == behind.min(most) || alone.next_event() >= until, "{count} of {behind}");
        assert_eq!(link.next_event(), alone.next_event());
        arrived.extend(taken);
    }
    arrived
}

/// What a run of random arrivals showed: arrivals at the far end, offers, what waited, and the final counters.
#[derive(Debug, Default, PartialEq)]
pub(in crate::link) struct Run {
    pub arrived: Vec<(u64, u64)>,
    pub offers: Vec<Offer>,
    pub backlogs: Vec<Backlog>,
    pub counters: LinkCounters,
    pub capacity_bits: Option<u64>,
    pub byte_nanos: u128,
}

impl Run {
    /// Checks that no packet arrived twice, and that none overtook another unless the link lets them.
    pub fn arrives_in_order_and_once(&self, config: &LinkConfig) -> Result<(), TestCaseError> {
        let delay = &config.delay;
        if delay.reorder.probability == Ratio::ZERO && !delay.jitter.reorders {
            prop_assert!(self.arrived.is_sorted());
        }
        let mut numbers: Vec<_> = self.arrived.iter().map(|&(number, _)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), self.arrived.len(), "no packet arrives twice");
        Ok(())
    }
}

/// Takes what arrives before `until`; returns whether there was nothing out of order in time.
fn poll_until(link: &mut Link<TestPacket>, until: Time, arrived: &mut Vec<(u64, u64)>) -> bool {
    let mut is_in_order = true;
    while link.next_event() < until {
        let event = link.next_event();
        is_in_order &= arrived.last().is_none_or(|&(_, last)| last <= event.as_nanos());
        arrived.extend(std::iter::from_fn(|| link.poll(event)).map(|p| (p.number, event.as_nanos())));
    }
    is_in_order
}

fn run(config: &LinkConfig, seed: u64) -> Result<Run, TestCaseError> {
    run_with(config, seed, &[])
}

/// [`run`] with changes at the instants given in nanoseconds.
pub(in crate::link) fn run_with(
    config: &LinkConfig,
    seed: u64,
    changes: &[(u64, Change)],
) -> Result<Run, TestCaseError> {
    run_flows(config, seed, changes, 1)
}

/// [`run_with`] for so many flows, whose packets take turns; of several every other one sends ECT(1) instead of
/// ECT(0).
fn run_flows(config: &LinkConfig, seed: u64, changes: &[(u64, Change)], flows: u32) -> Result<Run, TestCaseError> {
    let mut link = Link::<TestPacket>::new(config.clone(), Rng::new(seed));
    let mut rng = Rng::new(seed ^ 0xA5A5);
    let (mut now, mut arrived, mut offers, mut backlogs) = (0, Vec::<(u64, u64)>::new(), Vec::new(), Vec::new());
    let (mut later_drops, mut dropped_at_once) = (0, 0);
    let mut changes = changes.iter().peekable();
    for i in 0..400 {
        now += match rng.below(20) {
            0 => u64::from(rng.below(100)) * MS,
            1..=8 => 0,
            _ => u64::from(rng.below(2_000_000)),
        };
        while let Some((instant, change)) = changes.next_if(|&&(instant, _)| instant <= now) {
            prop_assert!(poll_until(&mut link, at(*instant), &mut arrived));
            link.change(at(*instant), change);
        }
        prop_assert!(poll_until(&mut link, at(now + 1), &mut arrived));
        let flow = u32::try_from(i % u64::from(flows)).unwrap();
        let capable = if flow % 2 == 1 { Ecn::Ect1 } else { Ecn::Ect0 };
        let ecn = if rng.below(2) == 0 || flow % 2 == 1 { capable } else { Ecn::NotEct };
        let size = if rng.below(3) == 0 { 40 + rng.below(1461) } else { 1500 };
        let offer = link.offer(at(now), TestPacket { number: i, size, flow, ecn });
        dropped_at_once += u64::from(matches!(offer, Offer::Dropped(_)));
        offers.push(offer);
        later_drops += std::iter::from_fn(|| link.pop_drop()).count() as u64;

        let counters = link.counters(at(now));
        later_drops += std::iter::from_fn(|| link.pop_drop()).count() as u64;
        let lost = counters.drops[DropCause::LossBefore].packets
            + counters.drops[DropCause::LossAfter].packets
            + counters.drops.in_queue().packets;
        let (delivered, in_flight) = (arrived.len() as u64, link.in_flight(at(now)));
        prop_assert_eq!(counters.arrivals.packets, lost + delivered + in_flight, "conservation at {}", now);
        prop_assert_eq!(lost, dropped_at_once + later_drops, "every drop is told once");
        let backlog = link.backlog(at(now));
        backlogs.push(backlog);
        let through = counters.departures.packets - counters.drops[DropCause::LossAfter].packets - delivered;
        prop_assert!(backlog.packets + through <= in_flight && in_flight <= backlog.packets + through + 1);
        let limit = config.limit;
        prop_assert!(limit.packets.is_none_or(|packets| backlog.packets <= packets));
        prop_assert!(limit.bytes.is_none_or(|bytes| backlog.bytes <= bytes));
    }
    for (instant, change) in changes {
        prop_assert!(poll_until(&mut link, at(*instant), &mut arrived));
        link.change(at(*instant), change);
        now = *instant;
    }
    arrived.extend(drain(&mut link));
    let end = at(now + 1_000_000 * MS);
    let counters = link.counters(end);
    // A link that has nothing left to do holds what an outage holds, and no packet that a discipline forgot.
    prop_assert!(link.in_flight(end) <= link.backlog(end).packets + 1);
    let stats = link.queue_stats(end);
    let (capacity_bits, byte_nanos) = (stats.capacity_bits, stats.byte_nanos);
    Ok(Run { arrived, offers, backlogs, counters, capacity_bits, byte_nanos })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_limits_hold_and_order_is_kept(config in configs(), seed in 0..1000u64) {
        run(&config, seed)?.arrives_in_order_and_once(&config)?;
    }

    #[test]
    fn packets_of_several_flows_are_conserved_and_none_overtakes_another_of_its_flow(
        queue in registered(crate::queue::catalog()),
        config in configs(),
        seed in 0..1000u64,
    ) {
        let config = LinkConfig { queue, ..config };
        let together = run_flows(&config, seed, &[], 5)?;
        prop_assert_eq!(&together, &run_flows(&config, seed, &[], 5)?, "the same seed gives the same run");
        for flow in 0..5 {
            let arrived = together.arrived.iter().filter(|(number, _)| number % 5 == flow).copied().collect();
            Run { arrived, ..Run::default() }.arrives_in_order_and_once(&config)?;
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run(config in configs(), seed in 0..1000u64) {
        prop_assert_eq!(run(&config, seed)?, run(&config, seed)?);
    }

    #[test]
    fn a_constant_rate_link_never_idles_while_a_packet_waits(
        rate in 100_000..50_000_000u64,
        gaps in prop::collection::vec(0..3_000_000u64, 1..200),
    ) {
        let mut link = link(config(LinkRate::Constant(rate)));
        let (mut now, mut free) = (0, 0);
        for (i, gap) in gaps.iter().enumerate() {
            now += gap;
            let departs = departs(link.offer(at(now), full(i as u64))).unwrap_or(0);
            let expected = u64::max(now, free) + (12_000 * 1_000_000_000u64).div_ceil(rate);
            prop_assert!(departs <= expected && expected - departs <= 1, "{} instead of {}", departs, expected);
            free = departs;
        }
    }
}

proptest! {
    #[test]
    fn packets_offered_together_fare_as_they_do_one_by_one(
        rate in prop_oneof![
            Just(LinkRate::Unlimited),
            // Every packet takes whole nanoseconds, or hardly any does.
            prop_oneof![Just(10_000_000u64), Just(1_000_000_000)].prop_map(LinkRate::Constant),
            (1_000_000u64..2_000_000_000).prop_map(LinkRate::Constant),
        ],
        outage_ms in prop_oneof![Just(None), (1u64..20).prop_map(Some)],
        limit in (prop_oneof![Just(None), (1u64..20).prop_map(Some)], prop_oneof![Just(None), (100u64..30_000).prop_map(Some)]),
        wait_ms in prop_oneof![4 => Just(None), 1 => (1u64..10).prop_map(Some)],
        // After a pause, or so many nanoseconds around the instant at which the next packet leaves.
        bursts in proptest::collection::vec(
            (prop_oneof![3 => (0u64..2_000_000).prop_map(Ok), 1 => (0u64..12).prop_map(Err)], 1u32..20, 40u32..1600),
            1..60,
        ),
        (most, ahead_ns) in (0u32..8, 0u64..200_000),
    ) {
        let rate = match (rate, outage_ms) {
            (LinkRate::Constant(rate), Some(ms)) => {
                let steps = [(at(0), rate), (at(ms * MS), 0), (at(2 * ms * MS), rate / 2)];
                LinkRate::Schedule { steps: steps.to_vec().into(), repeat_after: None }
            }
            (rate, _) => rate,
        };
        let mut config = config(rate);
        config.limit = QueueLimit { packets: limit.0, bytes: limit.1, time: wait_ms.map(Duration::from_millis) };
        let mut together = link(config);
        let mut single = together.clone();
        let (mut now, mut number) = (0, 0);
        let mut leaves = Vec::new();
        for (pause, count, size) in bursts {
            let next = leaves.iter().copied().find(|&departs| departs > now + 6).unwrap_or(now + 6);
            now = pause.map_or_else(|around: u64| next + around - 6, |pause: u64| now + pause);
            let packet = |i: u32| TestPacket::new(number + u64::from(i), size);
            let offers: Vec<Offer> = (0..count).map(|i| single.offer(at(now), packet(i))).collect();
            leaves.extend(offers.iter().filter_map(|offer| match offer {
                Offer::Accepted { departs: Some(departs) } => Some(departs.as_nanos()),
                _ => None,
            }));
            match together.offer_run(at(now), packet(0), count) {
                Some(mut departures) => {
                    let accepted = departures.count() as usize;
                    for offer in &offers[..accepted] {
                        let departs = departures.next();
                        departures.advance();
                        prop_assert_eq!(*offer, Offer::Accepted { departs: Some(departs) });
                    }
                    prop_assert!(offers[accepted..].iter().all(|offer| *offer == Offer::Dropped(DropCause::QueueFull)));
                }
                None => {
                    for (i, offer) in (0..count).zip(&offers) {
                        prop_assert_eq!(together.offer(at(now), packet(i)), *offer);
                    }
                }
            }
            number += u64::from(count);
            prop_assert_eq!(together.next_event(), single.next_event());
            prop_assert_eq!(together.backlog(at(now)), single.backlog(at(now)));
        }
        prop_assert_eq!(drain_together(&mut together, most, ahead_ns), drain(&mut single));
        let end = at(now + 3_600_000 * MS);
        prop_assert_eq!(together.counters(end), single.counters(end));
        prop_assert_eq!(together.queue_stats(end).byte_nanos, single.queue_stats(end).byte_nanos);
    }
}
