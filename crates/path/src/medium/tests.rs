use super::*;
use crate::correlated::Share;
use crate::queue::{MarkPlace, QueueRecipe, Threshold};
use crate::testing::TestPacket;
use crate::{Impairments, Level, LinkConfig, LinkContext, LinkRate, QueueLimit};
use dumbbell_units::{Duration, Rate, Ratio, Rng};
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

/// A full packet a millisecond, and four of them wait at most. Every packet is duplicated, and marked behind another.
fn link(name: &str) -> Link<TestPacket> {
    let threshold = Threshold { threshold: Level::Packets(1), mark: Some(MarkPlace::Dequeue), drop_not_ect: false };
    let impairments = Impairments {
        duplicate: Share { probability: Ratio::new(1.0).unwrap(), correlation: Ratio::ZERO },
        ..Impairments::default()
    };
    let config = LinkConfig {
        name: name.to_owned(),
        rate: LinkRate::Constant(12_000_000),
        overhead_bytes: 0,
        delay: crate::Delay { base: Duration::from_millis(10), ..crate::Delay::default() },
        policer: None,
        limit: QueueLimit { packets: Some(4), ..QueueLimit::default() },
        queue: QueueRecipe::of(threshold, &LinkContext::default()).unwrap(),
        loss_before: None,
        loss_after: None,
        impairments: Arc::new(impairments),
    };
    Link::new(config, Rng::new(1))
}

#[test]
fn a_link_behind_the_trait_does_what_the_link_does() {
    let mut direct = link("wire");
    let mut behind = link("wire");
    let medium: &mut dyn Medium<TestPacket> = &mut behind;
    assert_eq!((medium.ports(), medium.name(0)), (1, "wire"));
    assert!(medium.decides_late(0) && direct.decides_late(), "it decides when packets leave the queue");
    medium.report_departures(0);
    direct.report_departures();
    for number in 0..3 {
        let packet = TestPacket { ecn: crate::Ecn::Ect0, ..TestPacket::new(number, 1500) };
        let offer = direct.offer(at(0), packet);
        assert_eq!(medium.offer(at(0), 0, packet), offer);
        assert!(matches!(offer, Offer::Duplicated { .. }));
        assert_eq!(medium.offer_copy(at(0), 0, packet), direct.offer_copy(at(0), packet));
    }
    // Six packets: one is in transmission, four wait, one is dropped.
    assert_eq!(medium.backlog(at(0), 0), Backlog { packets: 4, bytes: 6_000 });
    assert_eq!(medium.count_in_flight(&|packet| packet.number == 0), 2);
    assert_eq!(medium.count_in_flight(&|_| true), 5);
    assert_eq!(medium.memory(), direct.memory());
    assert!(medium.memory() > 0);
    medium.start_measuring(at(1));
    direct.start_measuring(at(1));
    let rate = Change::Rate(Rate::from_bits_per_sec(6_000_000));
    assert_eq!(medium.change(at(2), 0, &rate), direct.change(at(2), &rate));
    medium.advance(at(6));
    direct.advance(at(6));
    assert_eq!(medium.next_event(), direct.next_event());
    // 12 Mbit/s for a millisecond, then 6 Mbit/s for four.
    assert_eq!(medium.capacity_bits(0, at(1), at(6)), Some(36_000));
    let counters = medium.counters(at(6), 0);
    assert_eq!(counters, direct.counters(at(6)));
    assert_eq!(
        (counters.arrivals.packets, counters.departures.packets, counters.drops[DropCause::QueueFull].packets),
        (6, 4, 1)
    );
    let measured = medium.measured(at(6), 0);
    let stats = direct.queue_stats(at(6));
    assert_eq!(measured.departed, stats.departed);
    assert_eq!((measured.capacity_bits, measured.max), (stats.capacity_bits, stats.max));
    assert_eq!((measured.mean_bytes, measured.p95_bytes), (stats.mean_bytes(), stats.quantile_bytes(0.95)));
    assert!(measured.mean_bytes > 0.0 && measured.p95_bytes > 0 && measured.radio.is_none());
    assert_eq!((measured.before.departures.packets, medium.radio(0)), (1, None));
    let departures: Vec<_> = std::iter::from_fn(|| medium.pop_departure()).collect();
    let expected: Vec<_> = std::iter::from_fn(|| direct.pop_departure()).map(|(at, packet)| (0, at, packet)).collect();
    assert_eq!(departures, expected);
    assert_eq!(departures.len(), 5);
    let mut arrived = Vec::new();
    while medium.next_event() < Time::NEVER {
        let now = medium.next_event();
        while let Some((port, packet)) = medium.poll(now) {
            assert_eq!((port, direct.poll(now)), (0, Some(packet)));
            arrived.push(packet);
        }
    }
    assert_eq!(arrived.len(), 5);
    assert_eq!(medium.pop_drop(), direct.pop_drop().map(|(packet, cause)| (0, packet, cause)));
}

#[test]
fn media_are_numbered_links_first() {
    let shared: Box<dyn Medium<TestPacket>> = Box::new(link("shared"));
    let mut media = Media::new(vec![link("first"), link("second")], vec![shared]);
    assert_eq!((media.len(), media.is_empty()), (3, false));
    assert!(Media::<TestPacket>::new(Vec::new(), Vec::new()).is_empty());
    let names: Vec<String> = media.iter().map(|medium| medium.name(0).to_owned()).collect();
    assert_eq!(names, ["first", "second", "shared"]);
    for (number, name) in names.iter().enumerate() {
        assert_eq!(media.get(number).name(0), name);
        assert_eq!(media.get_mut(number).name(0), name);
        assert_eq!(media.link_mut(number).is_some(), number < 2);
    }
}

#[test]
fn a_drop_tail_link_knows_departures_at_once_even_if_it_loses_packets_later() {
    let config = link("wire").config().clone();
    let loss = crate::loss::Bernoulli { p: Ratio::new(0.5).unwrap(), correlation: Ratio::ZERO };
    let loss_after = Some(crate::LossRecipe::of(loss, &LinkContext::default()).unwrap());
    let lossy = LinkConfig { queue: QueueRecipe::default(), loss_after, ..config };
    assert!(!Link::<TestPacket>::new(lossy, Rng::new(1)).decides_late());
}
