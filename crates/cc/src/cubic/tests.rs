#![expect(clippy::cast_possible_truncation, reason = "numbers in these tests are small")]

use super::*;
use crate::testing::Side;
use dumbbell_units::{Duration, Time};

fn at(side: &mut Side, time: Duration) {
    let view = &mut side.view;
    view.now = Time::ZERO + time;
    view.mstamp_us = view.now.as_micros();
    // Never 0, which means "no epoch" to CUBIC.
    view.jiffies = 1_000 + (time.as_micros() / 1_000) as u32;
}

/// CUBIC after a loss at `w_max`, its minimum round-trip time negligible.
fn after_loss(w_max: u32, parameters: Parameters) -> (Cubic, Side) {
    let mut cubic = Cubic::new(parameters);
    let mut c = Side::limited(w_max, 10);
    at(&mut c, Duration::ZERO);
    cubic.init(&c.view, &mut c.control);
    c.control.ssthresh = cubic.ssthresh(&c.view, &c.control);
    c.control.cwnd = c.control.ssthresh;
    (cubic, c)
}

#[test]
fn the_window_follows_the_cubic_curve() {
    let expected: [(u32, &[(u64, f64)]); 2] = [
        (100, &[(1, 86.7), (2, 95.6), (3, 99.3), (4, 100.0), (5, 100.2), (6, 102.3), (8, 121.7)]),
        (1000, &[(1, 788.6), (2, 857.7), (3, 909.9), (4, 947.4), (5, 972.7), (8, 999.5)]),
    ];
    for (w_max, points) in expected {
        let parameters = Parameters { tcp_friendliness: false, ..Parameters::default() };
        let (mut cubic, mut c) = after_loss(w_max, parameters);
        let mut points = points.iter();
        let mut next = points.next();
        // A window of ACKs every 100 ms brings the window to the curve. Truncation lets it run up to a packet ahead,
        // and on the plateau it creeps by a packet in 100 rounds.
        for round in 0..90 {
            at(&mut c, Duration::from_millis(round * 100));
            let cwnd = c.control.cwnd;
            cubic.cong_avoid(&c.view, &mut c.control, cwnd);
            if let Some((second, window)) = next
                && round == second * 10
            {
                let error = f64::from(c.control.cwnd) - window;
                assert!((-1.0..=1.5 + 0.005 * window).contains(&error), "{second} s: {} not {window}", c.control.cwnd);
                next = points.next();
            }
        }
        assert!(next.is_none());
    }
}

#[test]
fn k_is_the_time_to_the_old_maximum() {
    for (w_max, k_s) in [(100, 4.217), (1000, 9.086)] {
        let (mut cubic, mut c) = after_loss(w_max, Parameters::default());
        cubic.cong_avoid(&c.view, &mut c.control, 1);
        let k = f64::from(cubic.snapshot().bic_k) / 1024.0;
        assert!((k - k_s).abs() < 0.005 * k_s + 0.02, "W_max {w_max}: K = {k}, not {k_s}");
    }
}

#[test]
fn fast_convergence_remembers_less_than_the_window_of_a_second_loss() {
    let (mut cubic, mut c) = after_loss(100, Parameters::default());
    assert_eq!(cubic.snapshot().last_max_cwnd, 100);
    c.control.cwnd = 80;
    assert_eq!(cubic.ssthresh(&c.view, &c.control), 56);
    assert_eq!(cubic.snapshot().last_max_cwnd, 68, "0.85 of 80");
    let (mut cubic, mut c) = after_loss(100, Parameters { fast_convergence: false, ..Parameters::default() });
    c.control.cwnd = 80;
    cubic.ssthresh(&c.view, &c.control);
    assert_eq!(cubic.snapshot().last_max_cwnd, 80);
}

#[test]
fn a_timeout_forgets_everything_but_the_threshold() {
    let (mut cubic, mut c) = after_loss(100, Parameters::default());
    cubic.pkts_acked(&c.view, &mut c.control, 1, 50_000, 10);
    assert_eq!(cubic.ssthresh(&c.view, &c.control), 49);
    cubic.set_state(&c.view, &mut c.control, CaState::Loss);
    let state = cubic.snapshot();
    assert_eq!((state.last_max_cwnd, state.delay_min, state.epoch_start, state.found), (0, 0, 0, false));
}

#[test]
fn idle_time_does_not_advance_the_curve() {
    let (mut cubic, mut c) = after_loss(100, Parameters::default());
    cubic.cong_avoid(&c.view, &mut c.control, 1);
    let start = cubic.snapshot().epoch_start;
    at(&mut c, Duration::from_secs(5));
    c.view.last_sent = Time::ZERO + Duration::from_secs(2);
    cubic.event(&c.view, &mut c.control, Event::TxStart);
    assert_eq!(cubic.snapshot().epoch_start, start + 3_000);
    c.view.last_sent = Time::ZERO;
    cubic.event(&c.view, &mut c.control, Event::TxStart);
    assert_eq!(cubic.snapshot().epoch_start, c.view.jiffies, "never ahead of the clock");
}

/// Runs one round of slow start: `acks` ACKs spaced by `gap`, all with `rtt_us`.
fn slow_start_round(cubic: &mut Cubic, c: &mut Side, start: Duration, acks: u64, gap: Duration, rtt_us: i64) {
    c.view.snd_una = c.view.snd_nxt + 1;
    c.view.snd_nxt += 10_000;
    for i in 0..acks {
        at(c, start + gap * i);
        let in_flight = c.control.cwnd;
        cubic.pkts_acked(&c.view, &mut c.control, 1, rtt_us, in_flight);
    }
}

fn in_slow_start(parameters: Parameters) -> (Cubic, Side) {
    let mut c = Side::limited(50, Control::INFINITE_SSTHRESH);
    at(&mut c, Duration::ZERO);
    let mut cubic = Cubic::new(parameters);
    cubic.init(&c.view, &mut c.control);
    // The minimum is known; spaced ACKs do not form a train.
    slow_start_round(&mut cubic, &mut c, Duration::from_secs(1), 5, Duration::from_millis(5), 50_000);
    (cubic, c)
}

#[test]
fn hystart_leaves_when_the_delay_has_grown_by_an_eighth() {
    let wide = Duration::from_millis(5);
    let (mut cubic, mut c) = in_slow_start(Parameters::default());
    slow_start_round(&mut cubic, &mut c, Duration::from_secs(2), 20, wide, 56_250);
    assert!(!cubic.snapshot().found, "6.25 ms is the threshold and not above it");
    slow_start_round(&mut cubic, &mut c, Duration::from_secs(3), 8, wide, 56_251);
    assert!(!cubic.snapshot().found, "eight samples are collected first");
    at(&mut c, Duration::from_secs(3) + wide * 9);
    cubic.pkts_acked(&c.view, &mut c.control, 1, 56_251, 50);
    assert!(cubic.snapshot().found);
    assert_eq!(c.control.ssthresh, c.control.cwnd);
}

#[test]
fn hystart_leaves_when_an_unpaced_train_lasts_half_the_round_trip() {
    let gap = Duration::from_millis(1);
    let (mut cubic, mut c) = in_slow_start(Parameters::default());
    slow_start_round(&mut cubic, &mut c, Duration::from_secs(2), 26, gap, 50_000);
    assert!(!cubic.snapshot().found, "25 ms is half the round trip and not above it");
    at(&mut c, Duration::from_secs(2) + gap * 26);
    cubic.pkts_acked(&c.view, &mut c.control, 1, 50_000, 50);
    assert!(cubic.snapshot().found);

    let (mut cubic, mut c) = in_slow_start(Parameters::default());
    c.view.paced = true;
    c.control.pacing_rate = 1_000_000;
    slow_start_round(&mut cubic, &mut c, Duration::from_secs(2), 52, gap, 50_000);
    assert!(!cubic.snapshot().found, "a paced train may last the round trip and a millisecond");
    at(&mut c, Duration::from_secs(2) + gap * 52);
    cubic.pkts_acked(&c.view, &mut c.control, 1, 50_000, 50);
    assert!(cubic.snapshot().found);
}

#[test]
fn each_detector_can_run_alone_and_hystart_can_be_off() {
    for (parameters, by_train, by_delay) in [
        (Parameters { hystart_detect: HystartDetect::Train, ..Parameters::default() }, true, false),
        (Parameters { hystart_detect: HystartDetect::Delay, ..Parameters::default() }, false, true),
        (Parameters { hystart: false, ..Parameters::default() }, false, false),
    ] {
        let (mut cubic, mut c) = in_slow_start(parameters.clone());
        slow_start_round(&mut cubic, &mut c, Duration::from_secs(2), 60, Duration::from_millis(1), 50_000);
        assert_eq!(cubic.snapshot().found, by_train);
        let (mut cubic, mut c) = in_slow_start(parameters);
        slow_start_round(&mut cubic, &mut c, Duration::from_secs(2), 20, Duration::from_millis(5), 80_000);
        assert_eq!(cubic.snapshot().found, by_delay);
    }
}

#[test]
fn small_windows_grow_like_reno() {
    // Below Reno's estimate the count is what Reno's slope for beta = 0.7 asks for: 0.533 packets per round.
    let (mut cubic, mut c) = after_loss(20, Parameters::default());
    let start = c.control.cwnd;
    for round in 0..40u64 {
        at(&mut c, Duration::from_millis(round * 10));
        for _ in 0..c.control.cwnd {
            cubic.cong_avoid(&c.view, &mut c.control, 1);
        }
    }
    let growth = c.control.cwnd - start;
    assert!((19..=23).contains(&growth), "{growth} packets in 40 rounds");
}

#[test]
fn two_emulated_connections_keep_half_of_the_reduction_and_grow_like_two() {
    let parameters = Parameters { emulated_connections: 2, ..Parameters::default() };
    let (mut cubic, mut c) = after_loss(100, parameters.clone());
    assert_eq!(c.control.cwnd, 84, "0.85 of 100");
    c.control.cwnd = 80;
    cubic.ssthresh(&c.view, &c.control);
    assert_eq!(cubic.snapshot().last_max_cwnd, 73, "0.925 of 80");
    // 3 N^2 (1 - beta) / (1 + beta) = 0.97 packets per round where a single connection grows by 0.53.
    let (mut cubic, mut c) = after_loss(20, parameters);
    let start = c.control.cwnd;
    for round in 0..40u64 {
        at(&mut c, Duration::from_millis(round * 10));
        for _ in 0..c.control.cwnd {
            cubic.cong_avoid(&c.view, &mut c.control, 1);
        }
    }
    let growth = c.control.cwnd - start;
    assert!((32..=41).contains(&growth), "{growth} packets in 40 rounds");
}

#[test]
fn acks_two_milliseconds_apart_are_a_train_and_later_ones_are_none() {
    for (gap_us, is_train) in [(2_000, true), (2_001, false)] {
        let (mut cubic, mut c) = in_slow_start(Parameters::default());
        slow_start_round(&mut cubic, &mut c, Duration::from_secs(2), 20, Duration::from_micros(gap_us), 50_000);
        assert_eq!(cubic.snapshot().found, is_train, "{gap_us} us");
    }
}
