//! FQ-CoDel behind a bottleneck.

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

fn exact() -> FqCodel {
    FqCodel { perfect_hash: true, ..FqCodel::default() }
}

#[test]
fn backlogged_flows_get_equal_bytes_to_a_quantum() {
    // Flow 0 sends packets of 300 bytes, the others full ones; CoDel has no time to begin.
    let mut link = Bottleneck::new(exact(), packets(10_000));
    for _ in 0..300 {
        link.offer(at(0), TestPacket { size: 300, ..TestPacket::of(0, Ecn::NotEct) });
    }
    link.offer_burst(at(0), 1..5, 100, Ecn::NotEct);
    link.run_until(at(90 * MS));
    let bytes: Vec<_> = (0..5).map(|flow| link.bytes(flow)).collect();
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(most - least <= 1_500 && *least > 15_000, "{bytes:?}");
    assert_eq!(link.counters().drops.in_queue().packets, 0);
}

#[test]
fn a_sparse_flow_waits_for_no_more_than_a_turn_of_the_others() {
    let mut link = Bottleneck::new(exact(), packets(1_000));
    for ms in 0..2_000 {
        link.offer_burst(at(ms * MS), 1..5, 1, Ecn::NotEct);
        if ms % 20 == 7 {
            link.offer(at(ms * MS), TestPacket { size: 200, ..TestPacket::of(0, Ecn::NotEct) });
        }
    }
    let delays = link.delays_ms(0, at(0));
    assert_eq!(delays.len(), 100);
    // New flows come before the others: it waits for the packet in transmission alone.
    let worst = delays.iter().copied().fold(0.0, f64::max);
    assert!(worst <= 1.0 + 200.0 / 1_500.0 + 1e-6, "{worst} ms");
}

#[test]
fn a_flow_that_comes_back_at_once_is_not_new_again() {
    // Flow 0 has one packet at a time, but always one: it waits for the turns of the others.
    let mut link = Bottleneck::new(exact(), packets(1_000));
    link.offer_burst(at(0), 1..4, 30, Ecn::NotEct);
    for ms in 0..60 {
        link.offer(at(ms * MS + MS / 2), TestPacket::of(0, Ecn::NotEct));
    }
    link.run_until(at(60 * MS));
    assert!((14..=16).contains(&(link.bytes(0) / 1_500)), "a quarter, {} packets", link.bytes(0) / 1_500);
}

#[test]
fn an_unresponsive_flow_hurts_itself_alone() {
    let mut link = Bottleneck::new(exact(), packets(1_000));
    for ms in 0..10_000 {
        link.offer_burst(at(ms * MS), [9], 2, Ecn::NotEct);
        if ms % 10 == 0 {
            link.offer_burst(at(ms * MS + 1), 0..4, 1, Ecn::NotEct);
        }
    }
    let since = at(5_000 * MS);
    for flow in 0..4 {
        let worst = link.delays_ms(flow, since).iter().copied().fold(0.0, f64::max);
        assert!(worst < 7.0 && link.drops(flow) == 0, "flow {flow}: {worst} ms");
    }
    let flood = link.delays_ms(9, since);
    assert!(link.drops(9) > 1_000 && flood.iter().sum::<f64>() / flood.len() as f64 > 100.0);
}

#[test]
fn a_full_buffer_takes_from_the_head_of_the_longest_line() {
    let rules = FqCodel { drop_batch: 8, ..exact() };
    let mut link = Bottleneck::new(rules, packets(100));
    link.offer_burst(at(0), [1], 61, Ecn::NotEct);
    link.offer_burst(at(0), [2], 40, Ecn::NotEct);
    assert_eq!(link.dropped.len(), 0, "one is in transmission, a hundred wait");
    assert!(link.offer(at(0), TestPacket::of(2, Ecn::NotEct)), "it takes the place of others");
    let lost: Vec<u64> = link.dropped.iter().map(|(packet, _)| packet.number).collect();
    assert_eq!(lost, (1..9).collect::<Vec<_>>(), "the oldest of flow 1");
    assert_eq!(link.counters().drops[DropCause::QueueFull].packets, 8);
    assert_eq!(link.counters().drops[DropCause::Aqm].packets, 0);
}

#[test]
fn no_more_than_half_of_the_longest_line_is_taken() {
    let mut link = Bottleneck::new(exact(), packets(20));
    link.offer_burst(at(0), [1], 12, Ecn::NotEct);
    link.offer_burst(at(0), [2], 9, Ecn::NotEct);
    link.offer(at(0), TestPacket::of(2, Ecn::NotEct));
    // Flow 1 has eleven waiting: six are more than half.
    assert_eq!((link.drops(1), link.drops(2)), (6, 0));
}

#[test]
fn ecn_capable_packets_are_marked_and_not_dropped() {
    let mut link = Bottleneck::new(exact(), packets(1_000));
    // Two flows that offer 5 % too much between them, capable of ECN.
    for packet in 0..20_000 {
        link.offer(at(packet * MS * 100 / 105), TestPacket::of(u32::from(packet % 2 == 0), Ecn::Ect0));
    }
    link.drain();
    let counters = link.counters();
    assert!(counters.marked > 500 && counters.drops.in_queue().packets == 0, "{counters:?}");
    assert_eq!(link.arrived.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce).count() as u64, counters.marked);
}

#[test]
fn hashed_flows_that_meet_share_a_line_and_its_turns() {
    let one_line = FqCodel { flows: 1, ..FqCodel::default() };
    let mut link = Bottleneck::new(one_line, packets(1_000));
    link.offer_burst(at(0), [1], 20, Ecn::NotEct);
    link.offer_burst(at(0), [2], 20, Ecn::NotEct);
    link.drain();
    assert!(link.arrived.windows(2).all(|pair| pair[0].1.number < pair[1].1.number), "first in, first out");
}
