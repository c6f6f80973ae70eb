//! Senders that remember a path of 40 ms and 200 packets (RFC 9959).

use super::*;
use dumbbell_cc::reno::{Parameters, Reno};
use dumbbell_recovery::careful_resume::Phase;

const SAVED_PACKETS: u64 = 200;

fn remembering(saved_rtt: Duration) -> TransportConfig {
    let saved_cwnd = SAVED_PACKETS * QuicPacket::bytes(1350);
    let quic = QuicConfig { saved_cwnd, saved_rtt, ..QuicConfig::default() };
    TransportConfig { quic, ack_every: 1, ..TransportConfig::profile("quic").unwrap() }
}

fn reno(config: &TransportConfig, lose: fn(u32) -> bool) -> Pair {
    let mut pair = Pair::new(config, lose);
    pair.sender = QuicSender::new(config.clone().into(), Box::new(Reno::new(Parameters::default())));
    pair.sender.establish(Time::ZERO, ONE_WAY * 2);
    pair
}

fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// How many packets left in a time.
fn departures(pair: &Pair, from: Time, until: Time) -> usize {
    pair.sent.iter().filter(|(at, _)| (from..until).contains(at)).count()
}

#[test]
fn once_the_initial_window_is_acknowledged_half_of_the_saved_one_leaves_within_a_round_trip() {
    let mut pair = reno(&remembering(ONE_WAY * 2), |_| false);
    pair.sender.write(Time::ZERO, 3_000, 1350);
    pair.run_until(ms(39));
    assert_eq!(pair.sender.resume_phase(), Phase::Reconnaissance);
    assert_eq!(pair.sent.len(), 10);
    pair.run_until(ms(79));
    assert!(matches!(pair.sender.resume_phase(), Phase::Unvalidated { .. }), "{:?}", pair.sender.resume_phase());
    assert_eq!(pair.sender.control().cwnd, 100);
    assert_eq!(pair.sender.control().pacing_rate, 1350 * 100 * 25, "100 packets in 40 ms");
    // An alarm of a millisecond lets two or three packets leave at a time.
    for millis in (45..75).step_by(10) {
        let left = departures(&pair, ms(millis), ms(millis + 10));
        assert!((23..=27).contains(&left), "{left} packets in 10 ms");
    }
    pair.run_until(ms(100));
    assert!(matches!(pair.sender.resume_phase(), Phase::Validating { .. }));
    assert!((95..150).contains(&pair.sender.control().cwnd), "{}", pair.sender.control().cwnd);
    pair.run_until(ms(170));
    assert_eq!(pair.sender.resume_phase(), Phase::Normal);
    assert!(pair.sender.control().in_slow_start());
}

#[test]
fn on_another_path_or_without_more_data_than_the_window_it_starts_as_if_it_remembered_nothing() {
    let sent = |config: &TransportConfig, packets: u32| {
        let mut pair = reno(config, |_| false);
        pair.sender.write(Time::ZERO, packets, 1350);
        pair.run_until(ms(300));
        (pair.sent, pair.sender.resume_phase())
    };
    let nothing = TransportConfig { quic: QuicConfig::default(), ..remembering(ONE_WAY) };
    for other in [Duration::from_millis(3), Duration::from_millis(81)] {
        let (packets, phase) = sent(&remembering(other), 3_000);
        assert_eq!(packets, sent(&nothing, 3_000).0, "{other}");
        assert_eq!(phase, Phase::Normal);
    }
    let (packets, phase) = sent(&remembering(ONE_WAY * 2), 10);
    assert_eq!((packets, phase), (sent(&nothing, 10).0, Phase::Reconnaissance));
}

#[test]
fn it_jumps_when_what_is_in_flight_and_what_is_to_be_sent_exceed_the_window_together() {
    let mut pair = reno(&remembering(ONE_WAY * 2), |_| false);
    pair.sender.write(Time::ZERO, 10, 1350);
    pair.run_until(ms(100));
    pair.now = ms(100);
    let window = u64::from(pair.sender.control().cwnd) * QuicPacket::bytes(1350);
    pair.sender.write(ms(100), 5, 1350);
    pair.run_until(ms(110));
    pair.now = ms(110);
    let in_flight = 5 * QuicPacket::bytes(1350);
    assert_eq!((pair.sender.resume_phase(), pair.sender.view().packets_out), (Phase::Reconnaissance, 5));
    let room = u32::try_from((window - in_flight) / 1350).unwrap();
    pair.sender.write(ms(110), room, 1350);
    pair.sender.poll_transmit(ms(110));
    assert_eq!(pair.sender.resume_phase(), Phase::Reconnaissance, "all of it fits");
    pair.sender.write(ms(110), 1, 1350);
    pair.sender.poll_transmit(ms(110));
    assert!(matches!(pair.sender.resume_phase(), Phase::Unvalidated { .. }), "{:?}", pair.sender.resume_phase());
}

#[test]
fn it_jumps_with_nothing_in_flight() {
    let mut pair = reno(&remembering(ONE_WAY * 2), |_| false);
    pair.sender.write(Time::ZERO, 10, 1350);
    pair.run_until(ms(100));
    pair.sender.write(ms(100), 500, 1350);
    pair.sender.poll_transmit(ms(100));
    assert_eq!(pair.sender.resume_phase(), Phase::Unvalidated { first: 10, since_us: 100_000 });
}

#[test]
fn an_ack_without_news_does_not_end_the_jump_however_late_it_comes() {
    let mut pair = reno(&remembering(ONE_WAY * 2), |_| false);
    pair.sender.write(Time::ZERO, 3_000, 1350);
    pair.run_until(ms(45));
    let Phase::Unvalidated { first, .. } = pair.sender.resume_phase() else { panic!("no jump") };
    for (end, is_over) in [(10, false), (first + 1, true)] {
        let ack = QuicAck { ranges: vec![SackBlock { start: 0, end }], ..QuicAck::default() };
        pair.sender.on_ack(ms(95), &ack);
        assert_eq!(!matches!(pair.sender.resume_phase(), Phase::Unvalidated { .. }), is_over, "up to {end}");
    }
}

#[test]
fn a_jump_that_meets_loss_leaves_half_of_what_arrived_and_slow_start_goes_up_to_all_of_it() {
    // The path drops every packet of the jump above 50 but one in three.
    let mut pair = reno(&remembering(ONE_WAY * 2), |number| (50..110).contains(&number) && number % 3 != 0);
    pair.sender.write(Time::ZERO, 3_000, 1350);
    while pair.sender.view().ca_state != CaState::Recovery {
        let next = pair.now + Duration::from_millis(1);
        pair.run_until(next);
        pair.now = next;
    }
    let Phase::SafeRetreat { most, .. } = pair.sender.resume_phase() else { panic!("no retreat") };
    assert_eq!(pair.sender.control().cwnd, most);
    assert!((20..=40).contains(&most), "{most}");
    while pair.sender.resume_phase() != Phase::Normal {
        assert!(pair.sender.control().cwnd <= most);
        let next = pair.now + Duration::from_millis(1);
        pair.run_until(next);
        pair.now = next;
    }
    let Control { cwnd, ssthresh, .. } = *pair.sender.control();
    assert!(ssthresh > 2 * most && cwnd < ssthresh, "{cwnd} of {ssthresh}");
    pair.run_until(seconds(5));
    assert!(pair.sender.is_idle());
}

#[test]
fn losses_of_the_initial_window_keep_it_from_jumping() {
    let mut pair = reno(&remembering(ONE_WAY * 2), |number| number == 4);
    pair.sender.write(Time::ZERO, 500, 1350);
    pair.run_until(ms(60));
    assert_eq!((pair.sender.resume_phase(), pair.sender.stats().recovery_count), (Phase::Normal, 1));
    assert!(pair.sender.control().cwnd < 12);
}

#[test]
fn a_controller_with_full_control_is_shown_the_jump_and_bounded_in_the_retreat() {
    let config = remembering(ONE_WAY * 2);
    let (mut pair, _) = listening(&config, |number| (60..90).contains(&number));
    pair.sender.write(Time::ZERO, 3_000, 1350);
    pair.run_until(ms(79));
    assert_eq!((pair.sender.control().cwnd, pair.sender.control().pacing_rate), (100, 1350 * 100 * 25));
    let mut retreated = false;
    for millis in 80..400 {
        pair.run_until(ms(millis));
        pair.now = ms(millis);
        if let Phase::SafeRetreat { most, .. } = pair.sender.resume_phase() {
            retreated = true;
            assert!(pair.sender.control().cwnd <= most);
        }
    }
    assert!(retreated);
    assert_eq!(pair.sender.resume_phase(), Phase::Normal);
}
