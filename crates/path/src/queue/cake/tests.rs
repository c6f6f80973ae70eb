//! CAKE behind a bottleneck.

use super::*;
use crate::config::QueueLimit;
use crate::testing::{Bottleneck, TestPacket};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn packets(packets: u64) -> QueueLimit {
    QueueLimit { packets: Some(packets), ..QueueLimit::default() }
}

fn shaped(mbit: u64) -> Cake {
    Cake { bandwidth: Some(Rate::from_bits_per_sec(mbit * 1_000_000)), ..Cake::default() }
}

#[test]
fn the_shaped_rate_is_exact_and_there_is_no_burst() {
    let mut link = Bottleneck::new(shaped(8), packets(200));
    for number in 0..20_000 {
        link.offer(at(number * MS), TestPacket::of(u32::from(number % 3 == 0), Ecn::Ect0));
    }
    link.run_until(at(20_000 * MS));
    let since = link.arrived.iter().filter(|(at, _)| at.as_nanos() > 1_000 * MS).count() as f64;
    assert!((since * 12_000.0 / 19.0 / 8e6 - 1.0).abs() < 0.001, "{since} packets in 19 s");
    let least = link.arrived.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_nanos()).min();
    assert!(least >= Some(1_500_000 - 1), "a packet takes 1.5 ms: {least:?}");
}

#[test]
fn idle_time_earns_nothing_and_overhead_takes_its_share() {
    let mut link = Bottleneck::new(Cake { overhead: 100, mpu: Bytes::new(200), ..shaped(8) }, packets(200));
    link.offer_burst(at(1_000 * MS), [0], 10, Ecn::NotEct);
    for number in 0..10 {
        link.offer(at(2_000 * MS + number), TestPacket { size: 40, ..TestPacket::of(0, Ecn::NotEct) });
    }
    link.drain();
    let gap = |i: usize| link.arrived[i + 1].0.since(link.arrived[i].0).as_nanos();
    assert!((0..9).all(|i| gap(i) == 1_600_000), "1600 bytes at 8 Mbit/s");
    assert!((11..19).all(|i| gap(i) == 200_000), "200 bytes are the least");
}

#[test]
fn flows_get_equal_bytes_and_a_sparse_one_comes_first() {
    let mut link = Bottleneck::new(Cake::default(), packets(10_000));
    for _ in 0..300 {
        link.offer(at(0), TestPacket { size: 300, ..TestPacket::of(0, Ecn::NotEct) });
    }
    link.offer_burst(at(0), 1..5, 100, Ecn::NotEct);
    link.offer(at(50 * MS + MS / 2), TestPacket { size: 200, ..TestPacket::of(7, Ecn::NotEct) });
    link.run_until(at(90 * MS));
    let bytes: Vec<_> = (0..5).map(|flow| link.bytes(flow)).collect();
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(most - least <= 1_500 && *least > 15_000, "{bytes:?}");
    assert!(link.delays_ms(7, at(0))[0] <= 1.0 + 200.0 / 1_500.0 + 1e-6);
}

#[test]
fn hosts_share_equally_whatever_the_number_of_their_flows() {
    let hosts = vec![vec![0, 1, 2, 3], vec![4]];
    let mut link = Bottleneck::new(Cake { hosts, ..Cake::default() }, packets(10_000));
    link.offer_burst(at(0), 0..5, 1_000, Ecn::Ect0);
    link.run_until(at(500 * MS));
    let many: u64 = (0..4).map(|flow| link.bytes(flow)).sum();
    let ratio = many as f64 / link.bytes(4) as f64;
    assert!((ratio - 1.0).abs() < 0.06, "{many} and {} bytes", link.bytes(4));
    for flow in 0..4 {
        let share = link.bytes(flow) as f64 / many as f64;
        assert!((share - 0.25).abs() < 0.03, "flow {flow} has {share} of its host's");
    }
}

#[test]
fn a_flood_drives_blue_and_others_keep_the_target() {
    // Ten times what the link carries, ECN-capable, which ignores marks, beside two flows that send little.
    let mut link = Bottleneck::new(Cake::default(), packets(200));
    let mut blue: f64 = 0.0;
    for ms in 0..10_000 {
        link.offer_burst(at(ms * MS), [9], 10, Ecn::Ect0);
        if ms % 10 == 5 {
            link.offer_burst(at(ms * MS + 1), [0, 1], 1, Ecn::NotEct);
        }
        blue = blue.max(link.link.observe()[1].1);
    }
    assert!(blue > 0.3, "BLUE's probability rises to {blue}");
    let counters = link.counters();
    assert!(counters.dropped_full.packets > 1_000 && counters.dropped_aqm.packets > 1_000, "{counters:?}");
    for flow in [0, 1] {
        let worst = link.delays_ms(flow, at(1_000 * MS)).into_iter().fold(0.0, f64::max);
        assert!(worst < 5.0 && link.drops(flow) == 0, "flow {flow}: {worst} ms, {} drops", link.drops(flow));
    }
}

#[test]
fn target_and_interval_follow_from_the_rate_and_the_round_trip_time() {
    let rules = |cake: Cake| {
        let Rules { target, interval, .. } = cake.rules();
        (target.as_nanos(), interval.as_nanos())
    };
    assert_eq!(rules(Cake::default()), (5 * MS, 100 * MS));
    assert_eq!(rules(shaped(100)), (5 * MS, 100 * MS));
    // 1 Mbit/s: a packet takes 12 ms.
    assert_eq!(rules(shaped(1)), (18 * MS, 113 * MS));
    let rtt = Some(Duration::from_millis(40));
    assert_eq!(rules(Cake { rtt, ..shaped(100) }), (2 * MS, 40 * MS));
}

#[test]
fn a_flow_in_two_groups_is_refused() {
    let cake = Cake { hosts: vec![vec![0, 1], vec![1]], ..Cake::default() };
    assert_eq!(cake.resolve(&LinkContext::default()).unwrap_err().message, "flow 1 is in two groups");
}
