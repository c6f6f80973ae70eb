//! The token-bucket filter in front of a faster link.

use super::*;
use crate::catalog::QueueLimit;
use crate::packet::Ecn;
use crate::testing::{Bottleneck, TestPacket};

const MS: u64 = 1_000_000;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// 2 Mbit/s, a full packet each 6 ms, and a bucket of ten packets.
fn two_megabits() -> Tbf {
    Tbf {
        rate: Rate::from_bits_per_sec(2_000_000),
        burst: Level::Packets(10),
        initial: None,
        peak_rate: None,
        mtu: None,
        latency: None,
        overhead: 0,
    }
}

fn shaped(rules: Tbf) -> Bottleneck {
    Bottleneck::new(rules, QueueLimit { packets: Some(100), ..QueueLimit::default() })
}

/// When packets of full size arrive that are all offered at the start, in milliseconds.
fn arrivals(rules: Tbf, packets: usize) -> Vec<f64> {
    let mut link = shaped(rules);
    link.offer_burst(at(0), [0], packets, Ecn::NotEct);
    link.drain();
    link.arrived.iter().map(|(at, _)| at.as_nanos() as f64 / MS as f64).collect()
}

#[test]
fn the_rate_passes_in_the_long_run_and_the_bucket_besides() {
    let mut link = shaped(two_megabits());
    for number in 0..20_000 {
        link.offer(at(number * 3 * MS), TestPacket::of(0, Ecn::NotEct));
    }
    link.run_until(at(60_000 * MS));
    let expected = 10 + 60_000 / 6;
    assert!(link.arrived.len().abs_diff(expected) <= 1, "{} of {expected}", link.arrived.len());
    let counters = link.counters();
    assert!(counters.drops[DropCause::QueueFull].packets > 9_000 && counters.drops[DropCause::Aqm].packets == 0);
}

#[test]
fn a_burst_leaves_at_line_speed_and_the_rest_at_the_rate() {
    let times = arrivals(two_megabits(), 40);
    // Each millisecond a packet leaves and the tokens for a sixth of one come in: b/(1 - r/line) is twelve packets.
    let at_line_speed = (0..40).take_while(|&i| times[i] <= (i + 1) as f64 + 1e-6).count();
    assert_eq!(at_line_speed, 11, "the twelfth begins when its last tokens have come in: {:?}", &times[..14]);
    assert!(times[12..].windows(2).all(|pair| (pair[1] - pair[0] - 6.0).abs() < 1e-5));
    assert_eq!(times.len(), 40, "nothing is lost that fits, and nothing overtakes");
}

#[test]
fn a_bucket_that_starts_empty_holds_the_first_packet_until_its_tokens_have_come() {
    let times = arrivals(Tbf { initial: Some(Level::Packets(0)), ..two_megabits() }, 3);
    for (time, expected) in times.iter().zip([7.0, 13.0, 19.0]) {
        assert!((time - expected).abs() < 1e-5, "{times:?}");
    }
}

#[test]
fn a_peak_rate_spreads_the_burst() {
    let peak_rate = Some(Rate::from_bits_per_sec(4_000_000));
    let times = arrivals(Tbf { peak_rate, ..two_megabits() }, 40);
    // Three milliseconds a packet at the peak; 4 Mbit/s empty the bucket at half its speed.
    assert!(times[1..19].windows(2).all(|pair| (pair[1] - pair[0] - 3.0).abs() < 1e-5), "{times:?}");
    assert!(times[21..].windows(2).all(|pair| (pair[1] - pair[0] - 6.0).abs() < 1e-5), "{times:?}");
}

#[test]
fn a_latency_limits_what_may_wait() {
    let mut link = shaped(Tbf { latency: Some(Duration::from_millis(60)), ..two_megabits() });
    link.offer_burst(at(0), [0], 100, Ecn::NotEct);
    // Ten packets in 60 ms, and the bucket's ten; one is in transmission.
    assert_eq!(link.link.backlog(at(0)).packets, 20);
    link.drain();
    let last = link.arrived.last().unwrap();
    assert!((link.took_ms(last) - (60.0 + 6.0 + 1.0)).abs() < 6.0, "{} ms", link.took_ms(last));
}

#[test]
fn overhead_takes_tokens_too_and_a_packet_larger_than_the_bucket_is_dropped() {
    let mut link = shaped(Tbf { overhead: 500, initial: Some(Level::Packets(0)), ..two_megabits() });
    link.offer_burst(at(0), [0], 2, Ecn::NotEct);
    link.offer(at(0), TestPacket { size: 14_501, ..TestPacket::of(0, Ecn::NotEct) });
    link.drain();
    assert_eq!(link.arrived.len(), 2);
    assert!(
        (link.arrived[1].0.as_nanos() as f64 / MS as f64 - 17.0).abs() < 1e-5,
        "8 ms a packet, and 1 ms on the line"
    );
    assert_eq!(link.counters().drops[DropCause::QueueFull].packets, 1);
}

#[test]
fn a_packet_that_has_to_wait_for_tokens_needs_room() {
    let none = QueueLimit { packets: Some(0), ..QueueLimit::default() };
    let mut link = Bottleneck::new(Tbf { initial: Some(Level::Packets(1)), ..two_megabits() }, none);
    assert!(link.offer(at(0), TestPacket::of(0, Ecn::NotEct)));
    assert!(!link.offer(at(2 * MS), TestPacket::of(0, Ecn::NotEct)), "the link is free, the bucket empty");
    assert!(link.offer(at(6 * MS), TestPacket::of(0, Ecn::NotEct)));
}

#[test]
fn impossible_buckets_are_refused() {
    let link = LinkContext { largest_packet: Bytes::new(1_500), ..LinkContext::default() };
    let refused = |rules: Tbf| rules.resolve(&link).unwrap_err().key;
    assert_eq!(refused(Tbf { burst: Level::Bytes(Bytes::new(1_000)), ..two_megabits() }), "burst");
    assert_eq!(refused(Tbf { initial: Some(Level::Packets(11)), ..two_megabits() }), "initial");
    let peak_rate = Some(Rate::from_bits_per_sec(1_000_000));
    assert_eq!(refused(Tbf { peak_rate, ..two_megabits() }), "peak_rate");
    assert_eq!(refused(Tbf { mtu: Some(Bytes::new(1_500)), ..two_megabits() }), "mtu");
    let peak_rate = Some(Rate::from_bits_per_sec(3_000_000));
    assert_eq!(refused(Tbf { peak_rate, mtu: Some(Bytes::new(1_000)), ..two_megabits() }), "mtu");
}
