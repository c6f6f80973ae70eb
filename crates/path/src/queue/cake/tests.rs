//! CAKE behind a bottleneck.

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
    assert!(
        counters.drops[DropCause::QueueFull].packets > 1_000 && counters.drops[DropCause::Aqm].packets > 1_000,
        "{counters:?}"
    );
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

#[test]
fn cells_take_their_time_of_the_shaper() {
    let mut link = Bottleneck::new(Cake { framing: Framing::Atm, overhead: 10, ..shaped(4) }, packets(200));
    link.offer_burst(at(0), [0], 10, Ecn::NotEct);
    link.drain();
    // 1510 bytes need 32 cells.
    let cells = 32 * 53 * 8 * 1_000_000_000 / 4_000_000;
    assert!(link.arrived.windows(2).all(|pair| pair[1].0.since(pair[0].0).as_nanos() == cells));
}

/// Offers ACKs of a flow, in the order of their numbers, at one instant.
fn offer_acks(link: &mut Bottleneck, now: Time, flow: u32, numbers: std::ops::Range<u32>) {
    for number in numbers {
        link.link.read_ack(Some(PureAck { number, ..PureAck::default() }));
        link.offer(now, TestPacket { size: 40, ..TestPacket::of(flow, Ecn::NotEct) });
    }
    link.link.read_ack(None);
}

/// How many of 20 ACKs that wait behind a packet arrive, of each of two flows.
fn acks_that_arrive(ack_filter: AckFilter) -> ([usize; 2], Bottleneck) {
    let mut link = Bottleneck::new(Cake { ack_filter, ..shaped(1) }, packets(200));
    link.offer_burst(at(0), [9], 1, Ecn::NotEct);
    for flow in [0, 1] {
        offer_acks(&mut link, at(1), flow, 1..21);
    }
    link.drain();
    ([0, 1].map(|flow| link.arrived.iter().filter(|(_, packet)| packet.flow == flow).count()), link)
}

#[test]
fn of_acks_that_wait_two_remain_or_one_and_the_last_is_among_them() {
    let ([first, second], link) = acks_that_arrive(AckFilter::Off);
    assert_eq!((first, second, link.dropped.len()), (20, 20, 0));
    for (ack_filter, remain) in [(AckFilter::On, 2_u64), (AckFilter::Aggressive, 1)] {
        let (arrived, mut link) = acks_that_arrive(ack_filter);
        assert_eq!(arrived.map(|packets| packets as u64), [remain; 2]);
        assert!(link.dropped.iter().all(|(_, cause)| *cause == DropCause::AckFilter));
        // They are numbered behind the first packet.
        let last: Vec<u64> = link.arrived.iter().map(|(_, packet)| packet.number).collect();
        assert!(last.contains(&20) && last.contains(&40), "{last:?}");
        let counters = link.counters();
        assert_eq!(counters.drops[DropCause::AckFilter].packets, 40 - 2 * remain);
        assert_eq!(counters.drops.in_queue(), counters.drops[DropCause::AckFilter]);
        assert_eq!(counters.departures.packets, 1 + 2 * remain);
    }
}

#[test]
fn data_between_acks_stays_and_a_replaced_ack_makes_room() {
    let mut link = Bottleneck::new(Cake { ack_filter: AckFilter::On, ..shaped(1) }, packets(4));
    link.offer_burst(at(0), [9], 1, Ecn::NotEct);
    offer_acks(&mut link, at(1), 0, 1..3);
    link.offer_burst(at(1), [0], 1, Ecn::NotEct);
    offer_acks(&mut link, at(1), 0, 3..30);
    link.drain();
    let sizes: Vec<u32> = link.arrived.iter().map(|(_, packet)| packet.size).collect();
    assert_eq!(sizes, [1_500, 1_500, 40, 40], "no ACK was dropped for want of room: {:?}", link.dropped.last());
    assert_eq!(link.counters().drops[DropCause::QueueFull].packets, 0);
}

/// Shares of flow 0 and of flows 1 to 3, which have a host in common.
fn shares_of_hosts(isolation: Isolation, hosts: &[&[u32]], destinations: &[&[u32]]) -> [f64; 4] {
    let groups = |of: &[&[u32]]| of.iter().map(|flows| flows.to_vec()).collect();
    let cake = Cake { isolation, hosts: groups(hosts), destinations: groups(destinations), ..shaped(8) };
    shares(cake, [None; 4], &[0, 1, 2, 3])
}

#[test]
fn turns_are_equal_between_whom_isolation_says() {
    const ONE_HOST: &[&[u32]] = &[&[1, 2, 3]];
    let by_host = [0.5, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0];
    assert_shares(shares_of_hosts(Isolation::TripleIsolate, ONE_HOST, &[]), by_host);
    assert_shares(shares_of_hosts(Isolation::TripleIsolate, &[], ONE_HOST), by_host);
    assert_shares(shares_of_hosts(Isolation::DualSrchost, ONE_HOST, &[]), by_host);
    assert_shares(shares_of_hosts(Isolation::DualDsthost, &[], ONE_HOST), by_host);
    assert_shares(shares_of_hosts(Isolation::Flows, &[], &[]), [0.25; 4]);
    // The flows of a host wait in one line, and the first has sent all of its packets before the next ones come to
    // theirs.
    assert_shares(shares_of_hosts(Isolation::Srchost, ONE_HOST, &[]), [0.5, 0.5, 0.0, 0.0]);
    assert_shares(shares_of_hosts(Isolation::Dsthost, &[], ONE_HOST), [0.5, 0.5, 0.0, 0.0]);
}

#[test]
fn with_ingress_dropped_packets_take_their_time_and_the_failsafe_lets_some_through() {
    let sent = |ingress| {
        let mut link = Bottleneck::new(Cake { ingress, ..shaped(6) }, packets(10_000));
        // 12 Mbit/s of packets that nothing slows down.
        for number in 0..10_000 {
            link.offer(at(number * MS), TestPacket::of(0, Ecn::NotEct));
        }
        link.run_until(at(10_000 * MS));
        let counters = link.counters();
        (counters.departures.packets as f64 / 5_000.0, counters.drops[DropCause::Aqm].packets)
    };
    let (plain, _) = sent(false);
    let (ingress, dropped) = sent(true);
    assert!((plain - 1.0).abs() < 0.01, "{plain} of the rate");
    assert!(dropped > 500 && (0.66..0.95).contains(&ingress), "{ingress} of the rate, {dropped} dropped");
}

#[test]
fn with_ingress_a_delay_of_two_packets_a_bulk_flow_is_no_reason_to_drop() {
    let drops = |ingress| {
        let mut link = Bottleneck::new(Cake { ingress, ..shaped(12) }, packets(10_000));
        // Two packets of each of ten flows wait at all times, so that each packet has waited 20 ms.
        link.offer_burst(at(0), 0..10, 2, Ecn::NotEct);
        for number in 0..3_000 {
            let flow = u32::try_from(number % 10).unwrap();
            link.offer(at(number * MS + MS / 2), TestPacket::of(flow, Ecn::NotEct));
        }
        link.counters().drops[DropCause::Aqm].packets
    };
    assert!(drops(false) > 5, "{}", drops(false));
    assert_eq!(drops(true), 0);
}
