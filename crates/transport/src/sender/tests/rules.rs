//! Rules of other stacks than Linux 6.18: RFC 6675, RFC 6298, and ns-3's samplers.

use super::harness::*;
use crate::{ControllerRtt, DeliveryRate, LossDetection, RtoRule, TransportConfig};
use dumbbell_cc::CaState;

/// ns-3's transport with this sampler.
fn ns3(delivery_rate: DeliveryRate) -> TransportConfig {
    TransportConfig {
        loss_detection: LossDetection::DupThresh,
        rto_rule: RtoRule::Rfc6298,
        rto_min: ms(1_000),
        tail_loss_probe: false,
        frto: false,
        undo: false,
        delivery_rate,
        ..TransportConfig::default()
    }
}

fn bulk(config: TransportConfig, cwnd: u32) -> Scripted {
    let mut script = Scripted::new(config, cwnd, cwnd / 2);
    script.write(1_000_000);
    script
}

#[test]
fn by_count_a_segment_is_lost_when_three_above_it_are_held() {
    let mut script = bulk(ns3(DeliveryRate::Ns3), 20);
    script.ack(at(100), 0, &[(1, 3)]);
    assert_eq!((script.connection().lost_out, script.state()), (0, CaState::Disorder));
    let sent = script.ack(at(102), 0, &[(1, 4)]);
    assert_eq!((script.state(), sent.as_slice()), (CaState::Recovery, [0].as_slice()));
    // Segments 4 and 6 have 5, 7 and 8 above them, segment 9 has none.
    script.ack(at(104), 0, &[(7, 9), (5, 6), (1, 4)]);
    assert_eq!(script.connection().lost_out, 2);
    script.ack(at(106), 0, &[(7, 10), (5, 6), (1, 4)]);
    assert_eq!(script.connection().lost_out, 3);
}

#[test]
fn by_count_a_lost_retransmission_waits_for_the_timeout() {
    let mut script = bulk(ns3(DeliveryRate::Ns3), 20);
    for n in 1..=19 {
        script.ack(at(100 + 2 * u64::from(n)), 0, &[(1, 1 + n)]);
    }
    let lost_once = script.connection().lost;
    assert_eq!(lost_once, 1);
    // A whole round trip of later data is acknowledged; RACK would have found the retransmission lost.
    for n in 20..=24 {
        script.ack(at(250 + 2 * u64::from(n)), 0, &[(1, 1 + n)]);
    }
    assert_eq!(script.connection().lost, lost_once);
    let sent = script.advance_to(at(1_500));
    assert!(sent.contains(&0), "{sent:?}");
    assert_eq!(script.sender.stats().rto_count, 1);
}

#[test]
fn without_undo_a_spurious_reduction_stays() {
    let mut script = bulk(ns3(DeliveryRate::Ns3), 20);
    script.ack(at(100), 0, &[(1, 4)]);
    assert_eq!(script.state(), CaState::Recovery);
    // The original of segment 0 arrives late: the echo is older than the retransmission.
    script.ack(at(102), 20, &[]);
    script.ack(at(220), 22, &[]);
    assert_eq!((script.state(), script.connection().cwnd), (CaState::Open, 10));
    assert_eq!(script.sender.stats().undo_count, 0);
}

#[test]
fn a_sample_of_ns3_before_341_spans_from_time_zero_after_a_discarded_one() {
    let intervals = |rule| {
        // The minimum of a smoothed RTT is easily undercut.
        let mut script = bulk(TransportConfig { controller_rtt: ControllerRtt::Smoothed, ..ns3(rule) }, 4);
        let mut intervals = Vec::new();
        // Segments 7 and 8 leave at 160 ms and are acknowledged 70 and 80 ms later: shorter than the minimum RTT.
        for (time, ack) in [(100, 1), (101, 2), (102, 3), (160, 5), (202, 7), (230, 8), (240, 9), (310, 10)] {
            script.ack(at(time), ack, &[]);
            intervals.push(script.sample().interval_us);
        }
        intervals
    };
    let fixed = intervals(DeliveryRate::Ns3);
    assert_eq!(fixed[..4], [100_000, 101_000, 102_000, 100_000]);
    assert_eq!(fixed[5..], [-1, -1, 108_000]);
    let broken = intervals(DeliveryRate::Ns3Before341);
    // The first sample has no predecessor either: it spans everything since the start of the run.
    assert_eq!(broken[0], 1_100_000, "{broken:?}");
    // Measured from the sample before, the first of the two is not discarded. The second is: it hands out the rate
    // before it, and the next sample reaches back to time zero.
    assert_eq!(broken[5..], [128_000, 128_000, 1_310_000], "{broken:?}");
}

#[test]
fn a_smoothed_rtt_is_shown_to_the_controller_where_asked() {
    let shown = |controller_rtt| {
        let mut script = bulk(TransportConfig { controller_rtt, ..TransportConfig::default() }, 4);
        script.ack(at(180), 1, &[]);
        (script.sample().rtt_us, script.connection().min_rtt_us)
    };
    assert_eq!(shown(ControllerRtt::Last), (180_000, 100_000));
    assert_eq!(shown(ControllerRtt::Smoothed), (110_000, 100_000));
}

#[test]
fn of_segments_sent_with_the_same_count_of_deliveries_linux_samples_the_last_and_others_the_first() {
    let sampled = |delivery_rate| {
        let mut script = bulk(TransportConfig { delivery_rate, ..TransportConfig::default() }, 4);
        script.ack(at(100), 3, &[]);
        script.sample().tx_in_flight
    };
    assert_eq!(sampled(DeliveryRate::Linux), 3);
    assert_eq!(sampled(DeliveryRate::LinuxOld), 1);
    assert_eq!(sampled(DeliveryRate::Ns3), 1);
}
