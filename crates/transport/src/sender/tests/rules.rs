//! Rules of other stacks than Linux 6.18: RFC 6675, RFC 6298, and ns-3's samplers.

use super::harness::*;
use crate::{
    Ack, AdvertisedWindow, ControllerRtt, DeliveryRate, Handshake, LossDetection, RecoveryRule, Rescue, RtoRule,
    RttSamples, Sender, Timestamp, TransportConfig,
};
use dumbbell_cc_contract::CaState;
use dumbbell_units::Duration;

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
    assert_eq!((script.view().lost_out, script.state()), (0, CaState::Disorder));
    let sent = script.ack(at(102), 0, &[(1, 4)]);
    assert_eq!((script.state(), sent.as_slice()), (CaState::Recovery, [0].as_slice()));
    // Segments 4 and 6 have 5, 7 and 8 above them, segment 9 has none.
    script.ack(at(104), 0, &[(7, 9), (5, 6), (1, 4)]);
    assert_eq!(script.view().lost_out, 2);
    script.ack(at(106), 0, &[(7, 10), (5, 6), (1, 4)]);
    assert_eq!(script.view().lost_out, 3);
}

#[test]
fn by_count_a_lost_retransmission_waits_for_the_timeout() {
    let mut script = bulk(ns3(DeliveryRate::Ns3), 20);
    for n in 1..=19 {
        script.ack(at(100 + 2 * u64::from(n)), 0, &[(1, 1 + n)]);
    }
    let lost_once = script.view().lost;
    assert_eq!(lost_once, 1);
    // A whole round trip of later data is acknowledged; RACK would have found the retransmission lost.
    for n in 20..=24 {
        script.ack(at(250 + 2 * u64::from(n)), 0, &[(1, 1 + n)]);
    }
    assert_eq!(script.view().lost, lost_once);
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
    assert_eq!((script.state(), script.control().cwnd), (CaState::Open, 10));
    assert_eq!(script.sender.stats().undo_count, 0);
}

#[test]
fn after_a_discarded_sample_ns3_before_341_measures_from_time_zero() {
    let rates = |rule| {
        let config = TransportConfig { recovery: RecoveryRule::Ns3, rescue: Rescue::Any, ..ns3(rule) };
        let mut script = Scripted::new(config, 20, 10);
        script.write(20);
        // Segment 0 is lost. Recovery has nothing new to send and repeats what is on its way; the originals arrive.
        (4..20)
            .map(|end| {
                script.ack(at(100 + 2 * u64::from(end)), 0, &[(1, end)]);
                (script.sample().delivered, script.sample().interval_us)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(rates(DeliveryRate::Ns3)[..5], [(3, 108_000), (1, 108_000), (1, -1), (1, -1), (-1, -1)]);
    // In place of the discarded sample stands the last rate, and the next one spans the 1.114 s since time zero.
    let broken = rates(DeliveryRate::Ns3Before341);
    assert_eq!(broken[..5], [(3, 1_108_000), (1, 110_000), (1, 110_000), (1, 1_114_000), (2, 1_114_000)]);
}

#[test]
fn the_source_of_an_ns3_sample_outlives_its_ack() {
    let intervals = |rule| {
        let mut script = bulk(ns3(rule), 4);
        [(100, 1), (101, 2), (102, 3)].map(|(time, ack)| {
            script.ack(at(time), ack, &[]);
            (script.sample().delivered, script.sample().interval_us)
        })
    };
    // Sent with the same count of deliveries, the later segments are no sources of their own.
    assert_eq!(intervals(DeliveryRate::Ns3), [(1, 100_000), (2, 100_000), (3, 100_000)]);
    assert_eq!(intervals(DeliveryRate::LinuxOld), [(1, 100_000), (2, 101_000), (3, 102_000)]);
    // Before 3.41 the first sample has no predecessor: it spans everything since the start of the run.
    assert_eq!(intervals(DeliveryRate::Ns3Before341)[0], (1, 1_100_000));
}

#[test]
fn a_smoothed_rtt_is_shown_to_the_controller_where_asked() {
    let shown = |controller_rtt| {
        let mut script = bulk(TransportConfig { controller_rtt, ..TransportConfig::default() }, 4);
        script.ack(at(180), 1, &[]);
        (script.sample().rtt_us, script.view().min_rtt_us)
    };
    assert_eq!(shown(ControllerRtt::Last), (180_000, 100_000));
    assert_eq!(shown(ControllerRtt::Smoothed), (110_000, 100_000));
}

#[test]
fn round_trips_come_from_timestamps_in_whole_milliseconds_where_asked() {
    let shown = |rtt_samples| {
        let mut script = bulk(TransportConfig { rtt_samples, ..ns3(DeliveryRate::Ns3) }, 20);
        script.ack(at(100) + Duration::from_micros(400), 1, &[]);
        let sampled = script.sample().rtt_us;
        // Nothing new below the gap: Linux samples what is selectively acknowledged.
        script.ack(at(130), 1, &[(2, 3)]);
        (sampled, script.sample().rtt_us)
    };
    assert_eq!(shown(RttSamples::Linux), (100_400, 130_000));
    assert_eq!(shown(RttSamples::Timestamps), (100_000, 100_000));
}

#[test]
fn retransmitted_data_gives_no_round_trip_before_ns3_3_43() {
    let shown = |rtt_samples| {
        let mut script = bulk(TransportConfig { rtt_samples, ..ns3_recovery(Rescue::Off) }, 20);
        script.ack(at(110), 0, &[(1, 4)]);
        script.ack(at(250), 4, &[]);
        script.sample().rtt_us
    };
    // The handshake's 100 ms are the last ones known.
    assert_eq!((shown(RttSamples::Timestamps), shown(RttSamples::TimestampsOfOriginals)), (100_000, 100_000));
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

/// As [`ns3`], with the recovery of ns-3 and this rescue.
fn ns3_recovery(rescue: Rescue) -> TransportConfig {
    TransportConfig { recovery: RecoveryRule::Ns3, rescue, ..ns3(DeliveryRate::Ns3) }
}

#[test]
fn with_nothing_new_to_send_a_rescue_repeats_what_nobody_knows_to_be_lost() {
    let sent_in_recovery = |rescue| {
        let mut script = Scripted::new(ns3_recovery(rescue), 20, 20);
        script.write(10);
        let mut sent = script.ack(at(100), 0, &[(1, 4)]);
        sent.extend(script.ack(at(102), 0, &[(1, 4), (6, 7)]));
        sent
    };
    // Segment 0 is lost; 4 and 5 lie below what is held, 7 to 9 above.
    assert_eq!(sent_in_recovery(Rescue::Off), [0]);
    assert_eq!(sent_in_recovery(Rescue::BelowSack), [0, 4, 5]);
    assert_eq!(sent_in_recovery(Rescue::Any), [0, 4, 5, 7, 8, 9]);
}

#[test]
fn a_rescue_waits_while_new_data_may_leave() {
    let mut script = bulk(ns3_recovery(Rescue::Any), 20);
    let sent = script.ack(at(100), 0, &[(1, 4)]);
    assert!(sent.iter().all(|&seq| seq == 0 || seq >= 20), "{sent:?}");
}

#[test]
fn in_ns3_only_the_first_partial_ack_of_a_recovery_restarts_the_timer() {
    let timeouts = |recovery| {
        let mut script = bulk(TransportConfig { recovery, ..ns3(DeliveryRate::Ns3) }, 20);
        script.ack(at(100), 0, &[(1, 4), (5, 8), (9, 12)]);
        // The repairs arrive one by one, 400 ms apart.
        for (time, ack) in [(500, 4), (900, 8), (1_300, 12)] {
            script.advance_to(at(time));
            script.ack(at(time), ack, &[(13, 16)]);
        }
        script.advance_to(at(1_600));
        script.sender.stats().rto_count
    };
    assert_eq!((timeouts(RecoveryRule::Linux), timeouts(RecoveryRule::Ns3)), (0, 1));
}

#[test]
fn in_ns3_a_repair_counts_as_in_flight_until_the_cumulative_ack_covers_it() {
    let in_flight = |recovery, ack| {
        let mut script = Scripted::new(TransportConfig { recovery, ..ns3(DeliveryRate::Ns3) }, 20, 20);
        script.write(10);
        script.ack(at(100), 0, &[(1, 2), (3, 10)]);
        // Segments 0 and 2 were retransmitted; the copy of 2 arrives.
        script.ack(at(200), ack, &[(1, 10)]);
        script.view().in_flight()
    };
    assert_eq!((in_flight(RecoveryRule::Linux, 0), in_flight(RecoveryRule::Ns3, 0)), (1, 2));
    assert_eq!((in_flight(RecoveryRule::Linux, 10), in_flight(RecoveryRule::Ns3, 10)), (0, 0));
}

#[test]
fn in_ns3_copies_in_flight_take_room_in_the_receive_window_from_repairs() {
    let sent_in_recovery = |recovery| {
        let receive_window = 10 * u64::from(MSS);
        let config = TransportConfig { recovery, receive_window, ..ns3_recovery(Rescue::Any) };
        let mut script = Scripted::new(config, 20, 20);
        script.write(10);
        let mut sent = Vec::new();
        for (time, sacks) in [(100, [(1, 4)].as_slice()), (102, &[(1, 4), (6, 7)])] {
            script.advance_to(at(time));
            sent.extend(script.hear(&Ack { window: AdvertisedWindow::whole(10), ..script.ack_of(0, sacks) }));
        }
        sent
    };
    // Of ten segments four have arrived and one is lost; with five copies ten are in flight, which is all of the
    // window.
    assert_eq!(sent_in_recovery(RecoveryRule::Linux), [0, 4, 5, 7, 8, 9]);
    assert_eq!(sent_in_recovery(RecoveryRule::Ns3), [0, 4, 5, 7, 8]);
}

#[test]
fn in_ns3_a_timeout_forgets_what_was_rescued() {
    let mut script = Scripted::new(ns3_recovery(Rescue::Any), 20, 20);
    script.write(10);
    script.ack(at(100), 0, &[(1, 4)]);
    assert_eq!(script.view().retrans_out, 3);
    script.advance_to(at(1_300));
    let view = script.view();
    assert_eq!(script.sender.stats().rto_count, 1);
    assert_eq!((view.lost_out, view.in_flight()), (7, 1));
}

#[test]
fn by_count_a_timeout_takes_everything_for_lost() {
    let mut script = bulk(ns3(DeliveryRate::Ns3), 20);
    let sent = script.ack(at(900), 0, &[(1, 3)]);
    assert_eq!(sent, [20, 21]);
    script.advance_to(at(1_950));
    let view = script.view();
    assert_eq!(script.sender.stats().rto_count, 1);
    assert_eq!((view.lost_out, view.in_flight()), (20, 1));
}

#[test]
fn before_the_first_sample_an_ack_shows_no_round_trip() {
    for rule in [DeliveryRate::Ns3, DeliveryRate::Ns3Before341] {
        let mut script = Scripted::new(TransportConfig { delivery_rate: rule, ..TransportConfig::default() }, 10, 5);
        script.write(100);
        // It acknowledges nothing, and there is nothing yet that it could repeat.
        script.ack(at(60), 0, &[]);
        assert_eq!(script.sample().rtt_us, -1);
    }
}

fn with_timestamps(timestamps: bool) -> TransportConfig {
    TransportConfig { timestamps, ..TransportConfig::default() }
}

#[test]
fn without_timestamps_an_original_that_arrives_late_is_not_told_from_its_retransmission() {
    for timestamps in [true, false] {
        let mut script = bulk(with_timestamps(timestamps), 20);
        for n in 1..=3 {
            script.ack(at(100 + 2 * n), 0, &[(1, 1 + n as u32)]);
        }
        assert_eq!(script.sender.stats().retransmitted_segments, 1);
        // The echo is that of the original.
        script.ack(at(120), 22, &[]);
        assert_eq!(script.sender.stats().undo_count, u64::from(timestamps));
        assert_eq!(script.control().cwnd == 20, timestamps, "{}", script.control().cwnd);
    }
}

#[test]
fn without_timestamps_a_timeout_is_taken_back_by_frto_alone() {
    for (timestamps, undos) in [(true, 1), (false, 0)] {
        let config = TransportConfig { frto: false, tail_loss_probe: false, ..with_timestamps(timestamps) };
        let mut script = bulk(config, 10);
        assert_eq!(script.advance_to(at(320)), [0], "a timeout");
        let mut ack = script.ack_of(1, &[]);
        ack.echo = Timestamp::at(at(0));
        script.hear(&ack);
        assert_eq!(script.sender.stats().undo_count, undos, "{timestamps}");
    }
}

#[test]
fn without_timestamps_retransmitted_data_gives_no_round_trip() {
    let shown = |timestamps| {
        let mut script = bulk(with_timestamps(timestamps), 20);
        for n in 1..=3 {
            script.ack(at(100 + 2 * n), 0, &[(1, 1 + n as u32)]);
        }
        script.ack(at(250), 1, &[]);
        script.sample().rtt_us
    };
    assert_eq!((shown(true), shown(false)), (100_000, -1));
}

#[test]
fn without_timestamps_a_repeated_syn_gives_no_round_trip_and_a_timeout_of_three_seconds() {
    let established = |timestamps, syn_retransmits| {
        let calls = Calls::default();
        let mut sender = Sender::new(with_timestamps(timestamps).into(), Box::new(Fixed { ssthresh: 10, calls }));
        sender.establish(START, Handshake { retries: syn_retransmits, ..Handshake::symmetric(Scripted::RTT) });
        (sender.view().srtt_us_x8 / 8, sender.view().min_rtt_us, sender.rto())
    };
    let sampled = (100_000, 100_000, Duration::from_millis(300));
    assert_eq!(established(true, 1), sampled);
    assert_eq!(established(false, 0), sampled);
    assert_eq!(established(false, 1), (0, u32::MAX, Duration::from_secs(3)));
}
