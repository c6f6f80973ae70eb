//! The fair queue behind a bottleneck.

use super::*;
use crate::catalog::QueueLimit;
use crate::packet::Ecn;
use crate::testing::{Bottleneck, TestPacket};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn packets(packets: u64) -> QueueLimit {
    QueueLimit { packets: Some(packets), ..QueueLimit::default() }
}

/// Flows of the packets that have arrived, in their order.
fn order(link: &Bottleneck) -> Vec<u32> {
    link.arrived.iter().map(|(_, packet)| packet.flow).collect()
}

#[test]
fn flows_share_a_saturated_link_equally_by_bytes() {
    let mut link = Bottleneck::new(Fq { initial_quantum: Bytes::new(3_000), ..Fq::default() }, packets(10_000));
    let sizes = [200, 700, 1_500, 1_500];
    for (flow, size) in (0..).zip(sizes) {
        for _ in 0..100 {
            link.offer(at(0), TestPacket { size, ..TestPacket::of(flow, Ecn::NotEct) });
        }
    }
    link.run_until(at(50 * MS));
    let bytes: Vec<_> = (0..4).map(|flow| link.bytes(flow)).collect();
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(most - least <= 3_000 + 1_500 && *least > 12_000, "{bytes:?}");
}

#[test]
fn the_first_turn_of_a_flow_has_ten_packets_and_the_others_two() {
    let mut link = Bottleneck::new(Fq::default(), packets(1_000));
    link.offer_burst(at(0), [1], 30, Ecn::NotEct);
    link.offer_burst(at(0), [2], 30, Ecn::NotEct);
    link.drain();
    let turns: Vec<_> = order(&link).chunk_by(|a, b| a == b).map(|turn| (turn[0], turn.len())).collect();
    assert_eq!(turns[..6], [(1, 10), (2, 10), (1, 2), (2, 2), (1, 2), (2, 2)]);
}

#[test]
fn a_sparse_flow_is_served_within_a_round() {
    let mut link = Bottleneck::new(Fq::default(), packets(1_000));
    for ms in 0..2_000 {
        link.offer_burst(at(ms * MS), 1..5, 1, Ecn::NotEct);
        if ms % 50 == 17 {
            link.offer(at(ms * MS), TestPacket { size: 200, ..TestPacket::of(0, Ecn::NotEct) });
        }
    }
    let worst = link.delays_ms(0, at(500 * MS)).into_iter().fold(0.0, f64::max);
    assert!(worst <= 1.0 + 200.0 / 1_500.0 + 1e-6, "as a new flow it waits for the packet in transmission: {worst} ms");
    // One that comes too soon for that waits for a turn of each of the others.
    let mut link = Bottleneck::new(Fq::default(), packets(1_000));
    for ms in 0..2_000 {
        link.offer_burst(at(ms * MS), 1..5, 1, Ecn::NotEct);
        if ms % 9 == 0 {
            link.offer(at(ms * MS), TestPacket::of(0, Ecn::NotEct));
        }
    }
    let worst = link.delays_ms(0, at(500 * MS)).into_iter().fold(0.0, f64::max);
    assert!(worst <= 4.0 * 2.0 + 2.0, "four turns of two packets, and the rest of one: {worst} ms");
}

#[test]
fn a_flow_may_have_no_more_waiting_than_its_limit() {
    let mut link = Bottleneck::new(Fq { flow_limit: 10, ..Fq::default() }, packets(1_000));
    link.offer_burst(at(0), [1, 2], 30, Ecn::NotEct);
    // One of flow 1 is in transmission.
    assert_eq!((link.drops(1), link.drops(2)), (19, 20));
    assert!(link.dropped.iter().all(|(_, cause)| *cause == DropCause::QueueFull));
}

#[test]
fn no_flow_exceeds_its_rate_and_the_link_serves_others_meanwhile() {
    for (flow_rate, spacing_ms) in [(2_000_000, 12), (500_000, 24)] {
        let max_rate = Some(Rate::from_bits_per_sec(flow_rate));
        let rules = Fq { max_rate, initial_quantum: Bytes::new(1_500), ..Fq::default() };
        let mut link = Bottleneck::new(rules, packets(1_000));
        link.offer_burst(at(0), [1, 2], 100, Ecn::NotEct);
        link.drain();
        for flow in [1, 2] {
            let times: Vec<_> =
                link.arrived.iter().filter(|(_, packet)| packet.flow == flow).map(|(at, _)| at.as_nanos()).collect();
            // Fast flows send two packets at once and then wait; slow ones wait after each.
            let step = if flow_rate > 550_000 { 2 } else { 1 };
            let gaps: Vec<_> = times[20..].windows(1 + step).map(|pair| pair[step] - pair[0]).collect();
            assert!(gaps.iter().all(|gap| gap.abs_diff(spacing_ms * MS) <= 2 * MS), "{gaps:?}");
            let rate = (times[99] - times[20]) as f64 / 79.0 / MS as f64 / (spacing_ms as f64 / step as f64);
            assert!((rate - 1.0).abs() < 0.03, "flow {flow} at {flow_rate}: {rate}");
        }
    }
}

#[test]
fn packets_that_wait_for_the_link_are_marked_and_those_that_wait_for_their_rate_are_not() {
    let ce_threshold = Some(Duration::from_millis(5));
    let mut busy = Bottleneck::new(Fq { ce_threshold, ..Fq::default() }, packets(1_000));
    busy.offer_burst(at(0), [1], 20, Ecn::Ect0);
    busy.drain();
    assert_eq!(busy.counters().marked, 14, "packet i waits i milliseconds");
    let max_rate = Some(Rate::from_bits_per_sec(1_000_000));
    let mut slow =
        Bottleneck::new(Fq { ce_threshold, max_rate, initial_quantum: Bytes::ZERO, ..Fq::default() }, packets(1_000));
    slow.offer_burst(at(0), [1], 10, Ecn::Ect0);
    slow.drain();
    assert!(slow.arrived.last().unwrap().0 > at(90 * MS), "a packet each 12 ms");
    assert_eq!(slow.counters().marked, 0);
}
