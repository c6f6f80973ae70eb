//! DualPI2 by itself and behind a bottleneck.

use super::*;
use crate::catalog::QueueLimit;
use crate::queue::held::testing::{buffer, waiting};
use crate::testing::{Bottleneck, TestPacket};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn packets(packets: u64) -> QueueLimit {
    QueueLimit { packets: Some(packets), ..QueueLimit::default() }
}

/// A queue whose base probability is given and stays.
fn settled(parameters: &DualPi2, base: f64) -> State {
    State { base, next_update: Time::NEVER, ..State::new(parameters, Rng::new(4)) }
}

/// Shares of packets that are dropped and marked of those that go through a queue in which a hundred wait.
fn shares(state: &mut State, ecn: Ecn) -> (f64, f64) {
    const PACKETS: usize = 400_000;
    let mut buffer = buffer();
    let (mut arrived, mut dropped, mut marked) = (0, 0, 0);
    while arrived < PACKETS {
        while buffer.backlog().packets < 100 {
            arrived += 1;
            state.push(Time::ZERO, waiting(Time::ZERO, ecn), &mut buffer).unwrap();
        }
        let _ = state.take(Time::ZERO, &mut buffer);
        let settled = buffer.settled();
        dropped += settled.0;
        marked += settled.1;
    }
    (dropped as f64 / arrived as f64, marked as f64 / arrived as f64)
}

#[test]
fn l4s_is_marked_with_k_times_the_root_of_what_the_classic_queue_drops() {
    for (k, base) in [(2.0, 0.05), (2.0, 0.2), (2.0, 0.45), (1.5, 0.3)] {
        let rules = DualPi2 { coupling: k, ..DualPi2::default() };
        let (dropped, none) = shares(&mut settled(&rules, base), Ecn::NotEct);
        let (not_dropped, classic_marks) = shares(&mut settled(&rules, base), Ecn::Ect0);
        let (lost, l4s_marks) = shares(&mut settled(&rules, base), Ecn::Ect1);
        assert_eq!((none, not_dropped, lost), (0.0, 0.0, 0.0));
        for classic in [dropped, classic_marks] {
            let expected = k * classic.sqrt();
            assert!((l4s_marks / expected - 1.0).abs() < 0.05, "k {k}, p {base}: {l4s_marks}, not {expected}");
        }
        assert!((l4s_marks / (k * base) - 1.0).abs() < 0.02 && (dropped / (base * base) - 1.0).abs() < 0.1);
    }
}

#[test]
fn when_marks_saturate_both_queues_are_dropped_alike() {
    let rules = DualPi2::default();
    let (lost, marked) = shares(&mut settled(&rules, 0.7), Ecn::Ect1);
    assert!((lost - 0.49).abs() < 0.01 && (marked + lost - 1.0).abs() < 0.001, "{lost} lost, {marked} marked");
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let (lost, marked) = shares(&mut settled(&rules, 0.7), ecn);
        assert!((lost - 0.49).abs() < 0.01 && marked == 0.0, "{ecn:?}: {lost} lost, {marked} marked");
    }
    let lenient = DualPi2 { drop_on_overload: false, ..DualPi2::default() };
    assert_eq!(shares(&mut settled(&lenient, 0.7), Ecn::Ect1).0, 0.0);
}

#[test]
fn below_saturation_no_l4s_packet_is_dropped_and_without_drops_the_probability_ends_there() {
    for drop_on_overload in [false, true] {
        let rules = DualPi2 { drop_on_overload, ..DualPi2::default() };
        let mut link = Bottleneck::new(rules, packets(1_000));
        for number in 0..5_000 {
            link.offer(at(number * MS), TestPacket::of(0, Ecn::NotEct));
            link.offer(at(number * MS + MS / 2), TestPacket::of(1, Ecn::Ect1));
        }
        let base = link.link.observe()[0].1;
        if drop_on_overload {
            assert!(base > 0.5, "an overload of 2 needs half of the packets dropped: {base}");
        } else {
            assert!((base - 0.5).abs() < 1e-9, "1/k: {base}");
            assert!(link.dropped.iter().all(|(packet, cause)| packet.flow == 0 || *cause == DropCause::QueueFull));
        }
    }
}

#[test]
fn an_overload_of_classic_packets_is_held_at_the_target() {
    let mut link = Bottleneck::new(DualPi2::default(), packets(1_000));
    for number in 0..40_000 {
        link.offer(at(number * MS * 10 / 11), TestPacket::of(0, Ecn::NotEct));
    }
    let delays = link.delays_ms(0, at(10_000 * MS));
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean - 16.0).abs() < 1.5, "the target and its own transmission: {mean} ms");
    let counters = link.counters();
    let lost = counters.drops[DropCause::Aqm].packets as f64 / counters.arrivals.packets as f64;
    assert!((lost - 1.0 / 11.0).abs() < 0.01, "{lost}");
}

#[test]
fn l4s_comes_first_and_the_classic_queue_gets_its_share() {
    // Both queues are full all the time.
    for share in [0.1, 0.3] {
        let classic_share = Ratio::new(share).unwrap();
        let mut state = settled(&DualPi2 { classic_share, ..DualPi2::default() }, 0.0);
        let mut buffer = buffer();
        let mut taken = [0u32; 2];
        for _ in 0..10_000 {
            for ecn in [Ecn::NotEct, Ecn::Ect1] {
                state.push(Time::ZERO, waiting(Time::ZERO, ecn), &mut buffer).unwrap();
            }
            let packet = state.take(Time::ZERO, &mut buffer).unwrap();
            taken[usize::from(packet.ecn() == Ecn::Ect1)] += 1;
        }
        assert!((f64::from(taken[0]) / 10_000.0 - share).abs() < 0.002, "{taken:?}");
    }
}

#[test]
fn a_packet_of_l4s_does_not_wait_for_a_full_classic_queue() {
    let mut link = Bottleneck::new(DualPi2::default(), packets(1_000));
    link.offer_burst(at(0), [0], 50, Ecn::NotEct);
    link.offer(at(MS / 2), TestPacket::of(1, Ecn::Ect1));
    link.drain();
    assert_eq!(link.delays_ms(1, at(0)), [1.5], "the rest of the packet in transmission and its own");
}

#[test]
fn a_step_in_time_marks_what_has_waited_longer_and_a_ramp_marks_some_of_it() {
    let marked = |rules: DualPi2| {
        let mut link = Bottleneck::new(DualPi2 { alpha: 0.0, beta: 0.0, ..rules }, packets(1_000));
        link.offer_burst(at(0), [1], 50, Ecn::Ect1);
        link.drain();
        link.arrived.iter().map(|(_, packet)| packet.ecn == Ecn::Ce).collect::<Vec<_>>()
    };
    let step = Level::Time(Duration::from_millis(10));
    // Packet i waits i milliseconds.
    assert_eq!(marked(DualPi2 { step, ..DualPi2::default() }), (0..50).map(|i| i > 10).collect::<Vec<_>>());
    let ramp = marked(DualPi2 { step, ramp: Duration::from_millis(30), ..DualPi2::default() });
    assert!(!ramp[..11].contains(&true) && !ramp[40..].contains(&false));
    let between = ramp[11..40].iter().filter(|&&marked| marked).count();
    assert!((8..=21).contains(&between), "half of 29: {between}");
    let five = marked(DualPi2 { step: Level::Packets(5), ..DualPi2::default() });
    // The first is taken before the others come; when packet i is taken, 49 - i are behind it.
    assert_eq!(five, (0..50).map(|i| i > 0 && 49 - i > 5).collect::<Vec<_>>());
    let late = marked(DualPi2 { step, min_step_queue: 30, ..DualPi2::default() });
    assert_eq!(late.iter().position(|&marked| marked), Some(31), "it is the first that finds thirty in L");
}

#[test]
fn a_ramp_and_the_coupling_mark_with_the_larger_of_their_probabilities() {
    let rules = DualPi2 { step: Level::Time(Duration::ZERO), ramp: Duration::from_millis(10), ..DualPi2::default() };
    let mut state = settled(&rules, 0.2);
    let mut marks = |waited_ms: u64| {
        let mut probability = 0;
        for _ in 0..100_000 {
            let packet = waiting(Time::ZERO, Ecn::Ect1);
            let native = state.native(at(waited_ms * MS), &packet);
            probability += u32::from(state.draw(true, Ecn::Ect1, 0.2, native) == Verdict::Mark);
        }
        f64::from(probability) / 1e5
    };
    assert!((marks(3) - 0.4).abs() < 0.01 && (marks(7) - 0.7).abs() < 0.01);
}

#[test]
fn ect0_goes_to_the_classic_queue_unless_it_is_asked_for() {
    let first = |l4s| {
        let mut link = Bottleneck::new(DualPi2 { l4s, ..DualPi2::default() }, packets(1_000));
        link.offer_burst(at(0), [0], 5, Ecn::NotEct);
        link.offer(at(0), TestPacket::of(1, Ecn::Ect0));
        link.drain();
        link.arrived[1].1.flow
    };
    assert_eq!((first(Scalable::Ect1), first(Scalable::AnyEct)), (0, 1));
}

#[test]
fn a_step_in_bytes_and_a_ramp_in_packets_are_refused() {
    let refused = |rules: DualPi2| rules.resolve(&LinkContext::default()).unwrap_err().key;
    assert_eq!(refused(DualPi2 { step: Level::Bdp(0.1), ..DualPi2::default() }), "step");
    let step = Level::Packets(3);
    assert_eq!(refused(DualPi2 { step, ramp: Duration::from_millis(1), ..DualPi2::default() }), "ramp");
}

#[test]
fn the_corrections_of_a_long_outage_are_made_together_with_the_same_result() {
    let us = Duration::from_micros(1);
    let pairs = [(0.16, 3.2), (0.001, 0.0), (0.0, 0.01), (0.0, 0.0)];
    for ((alpha, beta), base) in pairs.into_iter().flat_map(|pair| [0.0, 0.004, 0.3].map(|base| (pair, base))) {
        let rules = DualPi2 { tupdate: us * 10, alpha, beta, target: us * 60_000, ..DualPi2::default() };
        for waits in [true, false] {
            let mut buffer = buffer();
            let mut fresh = State { base, ..State::new(&rules, Rng::new(4)) };
            if waits {
                fresh.push(Time::ZERO, waiting(Time::ZERO, Ecn::NotEct), &mut buffer).unwrap();
            }
            let (mut slow, mut fast) = (fresh.clone(), fresh);
            // As one by one, up to 200 ms.
            for number in 1..=20_000 {
                slow.update_until(Time::ZERO + us * (10 * number));
            }
            fast.update_until(Time::ZERO + us * 200_000);
            assert!((slow.base - fast.base).abs() < 1e-9, "{rules:?}: {} and {}", slow.base, fast.base);
            assert_eq!((slow.last_delay, slow.next_update), (fast.last_delay, fast.next_update));
        }
    }
}

#[test]
fn an_outage_of_an_hour_at_the_shortest_interval_takes_no_time() {
    let rules = DualPi2 { tupdate: Duration::from_micros(1), alpha: 1e-13, beta: 0.0, ..DualPi2::default() };
    let mut state = State::new(&rules, Rng::new(4));
    state.push(Time::ZERO, waiting(Time::ZERO, Ecn::NotEct), &mut buffer()).unwrap();
    let hour = Time::ZERO + Duration::from_secs(3_600);
    state.update_until(hour);
    assert_eq!(state.next_update, hour + Duration::from_micros(1));
    // Each adds 10^-13 times what the delay exceeds 15 ms by, on average half an hour.
    assert!((state.base - 1e-13 * 3.6e9 * (1_800.0 - 0.015)).abs() < 1e-6, "{}", state.base);
}
