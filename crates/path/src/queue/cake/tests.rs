//! CAKE behind a bottleneck.

use super::*;
use crate::config::QueueLimit;
use crate::packet::Ecn;
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
        let Rules { target, interval, .. } = cake.rules(cake.bandwidth);
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

/// Flows 0 to 3 send as much as they can for a second: best effort, background, video and voice. Returns their shares.
fn shares(cake: Cake, dscps: [Option<Dscp>; 4], senders: &[u32]) -> [f64; 4] {
    let mut link = Bottleneck::new(cake, packets(100_000));
    for (flow, dscp) in (0..).zip(dscps) {
        link.link.assign(flow, dscp);
    }
    link.offer_burst(at(0), senders.iter().copied(), 3_000, Ecn::Ect0);
    link.run_until(at(2_000 * MS));
    let bytes = [0, 1, 2, 3].map(|flow| link.bytes(flow) as f64);
    bytes.map(|own| own / bytes.iter().sum::<f64>())
}

const MARKS: [Option<Dscp>; 4] = [None, Some(Dscp::Cs1), Some(Dscp::Cs3), Some(Dscp::Ef)];

fn assert_shares(shares: [f64; 4], expected: [f64; 4]) {
    for (share, expected) in shares.into_iter().zip(expected) {
        assert!((share - expected).abs() < 0.015, "{shares:?}, not {expected}");
    }
}

#[test]
fn tins_get_their_parts_of_the_rate_and_best_effort_the_rest() {
    let four = Cake { tins: Tins::Diffserv4, ..shaped(8) };
    assert_shares(shares(four.clone(), MARKS, &[0, 1, 2, 3]), [3.0 / 16.0, 1.0 / 16.0, 0.5, 0.25]);
    // With three tins cs3 is best effort, and the two flows share it.
    assert_shares(shares(shaped(8), MARKS, &[0, 1, 2, 3]), [11.0 / 32.0, 2.0 / 32.0, 11.0 / 32.0, 0.25]);
    assert_shares(shares(four.clone(), MARKS, &[0, 1]), [15.0 / 16.0, 1.0 / 16.0, 0.0, 0.0]);
    let one = Cake { tins: Tins::BestEffort, ..shaped(8) };
    assert_shares(shares(one, MARKS, &[0, 1, 2, 3]), [0.25; 4]);
}

#[test]
fn a_tin_alone_has_the_whole_rate_and_unshaped_tins_have_weights() {
    for flow in [1, 3] {
        let mut expected = [0.0; 4];
        expected[flow as usize] = 1.0;
        assert_shares(shares(shaped(8), MARKS, &[flow]), expected);
    }
    let mut link = Bottleneck::new(shaped(8), packets(10_000));
    link.link.assign(0, Some(Dscp::Cs1));
    link.offer_burst(at(0), [0], 1_000, Ecn::Ect0);
    link.run_until(at(1_000 * MS));
    assert!((link.bytes(0) as f64 * 8.0 / 8e6 - 1.0).abs() < 0.01, "{} bytes in a second", link.bytes(0));
    let weights = [1_024.0, 64.0, 512.0, 256.0].map(|weight| weight / 1_856.0);
    assert_shares(shares(Cake { tins: Tins::Diffserv4, ..Cake::default() }, MARKS, &[0, 1, 2, 3]), weights);
}

#[test]
fn a_voice_flow_below_its_part_does_not_wait_for_the_turns_of_others() {
    let worst_ms = |dscp| {
        let mut link = Bottleneck::new(shaped(8), packets(10_000));
        link.link.assign(9, Some(Dscp::Ef));
        link.link.assign(9, dscp);
        link.offer_burst(at(0), 0..8, 500, Ecn::Ect0);
        for number in 1..200 {
            // A fifth of the rate, and more than its share among nine flows.
            link.offer(at(number * 15 * MS / 2 + 1), TestPacket::of(9, Ecn::Ect0));
        }
        link.run_until(at(3_000 * MS));
        link.delays_ms(9, at(0)).into_iter().fold(0.0, f64::max)
    };
    let voice = worst_ms(Some(Dscp::Ef));
    // A packet that has begun to leave, and its own transmission by the shaper and by the link.
    assert!(voice < 1.5 + 1.5 + 1.0 + 0.1, "{voice} ms");
    let plain = worst_ms(None);
    assert!(plain > 100.0, "without a code point it takes turns with the others: {plain} ms");
}
