#![expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "numbers in these tests are small")]

mod flow;

use super::*;
use dumbbell_cc_contract::minmax::MaxFilter;
use dumbbell_units::{Duration, Time};
use flow::{BW, Flow, MIN_RTT_US};

/// The defaults without the allowance for aggregated ACKs, for exact windows.
fn no_allowance() -> Parameters {
    Parameters { aggregation_gain: Gain::new(0), ..Parameters::default() }
}

/// A flow that is established and has sent nothing.
fn established(parameters: Parameters) -> Flow<Linux> {
    Flow::established(Bbr1::new(parameters, Rng::new(3)))
}

/// A flow in phase `phase` of PROBE_BW.
fn cruising(parameters: Parameters, phase: usize) -> Flow<Linux> {
    Flow::established_in(Bbr1::new(parameters, Rng::new(3)), phase)
}

#[test]
fn the_first_phase_is_uniform_and_never_the_draining_one() {
    let mut flow = cruising(Parameters::default(), 2);
    let mut counts = [0u32; 8];
    for _ in 0..7_000 {
        flow.enter_probe_bw();
        counts[flow.bbr.core.state.phase as usize] += 1;
    }
    assert_eq!(counts[1], 0);
    for phase in [0, 2, 3, 4, 5, 6, 7] {
        assert!((880..=1_120).contains(&counts[phase]), "{counts:?}");
    }
}

#[test]
fn bursts_grow_with_the_rate() {
    let mut flow = established(Parameters::default());
    for (mbit, packets) in [(1, 1), (10, 2), (100, 8), (540, 45), (10_000, 45)] {
        flow.control.pacing_rate = mbit * 125_000;
        assert_eq!(flow.bbr.core.bursts.packets(&flow.view, &flow.control, 0), packets, "{mbit} Mbit/s");
    }
    let aggregating = Parameters { burst_min: 4, ..Parameters::default() };
    let mut flow = established(aggregating);
    for (kbit, packets) in [(1_000, 1), (10_000, 4)] {
        flow.control.pacing_rate = kbit * 125;
        assert_eq!(flow.bbr.core.bursts.packets(&flow.view, &flow.control, 0), packets, "{kbit} kbit/s");
    }
}

#[test]
fn the_steady_window_is_two_bdp_and_the_budget() {
    let flow = |phase| cruising(Parameters::default(), phase);
    assert_eq!(flow(3).target(), 76);
    assert_eq!(flow(0).target(), 78, "two more to probe with");
    let no_bursts = Parameters { budget_bursts: 0, ..Parameters::default() };
    assert_eq!(cruising(no_bursts, 3).target(), 70);
    let aggregating = Parameters { burst_min: 4, ..Parameters::default() };
    assert_eq!(cruising(aggregating, 3).target(), 82, "a budget of twelve packets (BBR-n)");
}

#[test]
fn on_a_tiny_path_the_target_is_the_smallest_window_or_the_budget_for_bursts() {
    let target = |budget_bursts| {
        cruising(Parameters { budget_bursts, ..Parameters::default() }, 3).inflight_target(BW / 100, Gain::ONE)
    };
    assert_eq!(target(0), 4, "one packet, made even, is below it");
    assert_eq!(target(1), 4, "one packet and a burst of two, made even");
    let small = Parameters { min_window: 2, budget_bursts: 0, ..Parameters::default() };
    assert_eq!(cruising(small, 3).inflight_target(BW / 100, Gain::ONE), 2);
    let large = |budget_bursts| Parameters { min_window: 20, budget_bursts, ..Parameters::default() };
    assert_eq!([0, 3].map(|bursts| cruising(large(bursts), 3).inflight_target(BW / 100, Gain::ONE)), [20, 8]);
}

#[test]
fn startup_paces_from_the_first_round_trip_and_never_slower() {
    let mut flow = established(Parameters::default());
    let initial = flow.control.pacing_rate;
    let expected = 10.0 * 1448.0 / 0.0412 * 739.0 / 256.0 * 0.99;
    assert!((initial as f64 / expected - 1.0).abs() < 1e-4, "{initial} not {expected}");
    flow.ack(&RateSample { delivered: 1, interval_us: 40_000, ..flow.sample(1) });
    assert_eq!(flow.control.pacing_rate, initial, "an early low sample does not slow it down");
    flow.ack(&RateSample { delivered: 60, interval_us: 40_000, ..flow.sample(1) });
    assert!(flow.control.pacing_rate > 4 * initial);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_growth() {
    let mut flow = established(Parameters::default());
    flow.view.packets_out = 90;
    for round in 0..4 {
        assert_eq!(flow.bbr.mode(), "startup", "round {round}");
        flow.ack_round();
        for _ in 0..5 {
            flow.ack_one();
        }
    }
    assert_eq!(flow.bbr.mode(), "drain");
    assert!(flow.bbr.core.state.full_pipe);
    assert_eq!(flow.bbr.core.pacing_gain, Gain::new(88));
    assert_eq!(flow.bbr.core.cwnd_gain, Gain::new(739), "the window stays wide");
    flow.view.packets_out = 40;
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_bw", "at one BDP and the budget");
}

#[test]
fn an_application_limited_sample_may_raise_the_estimate_only() {
    let mut flow = cruising(Parameters::default(), 3);
    for _ in 0..20 {
        flow.ack(&RateSample {
            is_app_limited: true,
            delivered: 7,
            prior_delivered: flow.bbr.core.round.next_delivered,
            ..flow.sample(1)
        });
    }
    assert_eq!(flow.bbr.core.max_bw(), BW);
    flow.ack(&RateSample { is_app_limited: true, delivered: 68, ..flow.sample(1) });
    assert_eq!(flow.bbr.core.max_bw(), BW * 2);
}

#[test]
fn probing_lasts_until_its_amount_is_in_flight_or_a_packet_is_lost() {
    for (in_flight, losses, next) in [(43, 0, 0), (52, 0, 1), (43, 1, 1)] {
        let mut flow = cruising(Parameters::default(), 0);
        flow.wait(Duration::from_millis(42));
        flow.ack(&RateSample { prior_in_flight: in_flight, losses, ..flow.sample(1) });
        assert_eq!(flow.bbr.core.state.phase as usize, next, "{in_flight} in flight, {losses} lost");
    }
    let mut early = cruising(Parameters::default(), 0);
    early.ack(&RateSample { prior_in_flight: 60, losses: 1, ..early.sample(1) });
    assert_eq!(early.bbr.core.state.phase, 0, "for one round trip at least");
}

#[test]
fn draining_ends_at_one_bdp_or_after_one_round_trip() {
    let mut flow = cruising(Parameters::default(), 1);
    flow.ack(&RateSample { prior_in_flight: 50, ..flow.sample(1) });
    assert_eq!(flow.bbr.core.state.phase as usize, 1);
    flow.ack(&RateSample { prior_in_flight: 42, ..flow.sample(1) });
    assert_eq!(flow.bbr.core.state.phase as usize, 2, "one BDP and the budget");
    let mut flow = cruising(Parameters::default(), 1);
    flow.wait(Duration::from_millis(42));
    flow.ack(&RateSample { prior_in_flight: 50, ..flow.sample(1) });
    assert_eq!(flow.bbr.core.state.phase as usize, 2);
}

#[test]
fn an_old_minimum_brings_probe_rtt_for_200_ms_and_a_round() {
    let mut flow = cruising(Parameters::default(), 3);
    flow.wait(Duration::from_secs(10));
    flow.ack_one();
    assert_eq!((flow.bbr.mode(), flow.control.cwnd), ("probe_rtt", 4));
    flow.wait(Duration::from_secs(1));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_rtt", "too much is still in flight");
    flow.view.packets_out = 4;
    flow.ack_one();
    let armed = flow.view.now;
    flow.wait(Duration::from_millis(300));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_rtt", "no round has passed");
    assert_eq!(flow.control.app_limited, flow.view.delivered + 4, "its low rates are marked");
    flow.ack_round();
    assert_eq!(flow.bbr.mode(), "probe_bw");
    assert!(flow.view.now.since(armed) > Duration::from_millis(200));
    assert!(flow.control.cwnd >= 76, "the window is back: {}", flow.control.cwnd);
}

#[test]
fn a_quick_round_does_not_shorten_probe_rtt() {
    let mut flow = cruising(Parameters::default(), 3);
    flow.view.packets_out = 4;
    flow.wait(Duration::from_secs(10));
    flow.ack_one();
    let armed = flow.view.now;
    while flow.bbr.mode() == "probe_rtt" {
        flow.ack_round();
    }
    let dwell = flow.view.now.since(armed);
    assert!((200..=204).contains(&(dwell.as_micros() / 1_000)), "{dwell:?}");
}

#[test]
fn no_dwell_is_no_probe_rtt() {
    let mut flow = cruising(Parameters { probe_rtt_dwell: Duration::ZERO, ..Parameters::default() }, 3);
    flow.wait(Duration::from_secs(30));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_bw");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
    let mut flow = cruising(no_allowance(), 3);
    let saved = flow.control.cwnd;
    assert_eq!(
        flow.bbr.ssthresh(&flow.view, &flow.control),
        Control::INFINITE_SSTHRESH,
        "BBR leaves the threshold alone"
    );
    flow.view.ca_state = CaState::Recovery;
    flow.view.packets_out = 70;
    flow.view.lost_out = 1;
    flow.ack(&RateSample { losses: 1, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 69 + 1, "what is in flight and what was delivered");
    for in_flight in [68, 67, 69] {
        flow.view.packets_out = in_flight;
        flow.view.lost_out = 0;
        flow.ack_one();
        assert_eq!(flow.control.cwnd, 70, "conserved");
    }
    flow.view.packets_out = 40;
    flow.ack_round();
    assert_eq!(flow.control.cwnd, 71, "the next round grows again");
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, flow.target().min(saved + 1));
    assert!(!flow.bbr.core.recovery.packet_conservation);
}

#[test]
fn conservation_admits_as_many_packets_as_an_ack_delivers() {
    let mut flow = cruising(no_allowance(), 3);
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.view.ca_state = CaState::Recovery;
    flow.view.packets_out = 60;
    flow.ack(&flow.sample(3));
    assert_eq!(flow.control.cwnd, 60 + 3, "at its beginning");
    flow.view.packets_out = 66;
    flow.ack(&flow.sample(2));
    assert_eq!(flow.control.cwnd, 66 + 2, "and later, when more is in flight");
}

#[test]
fn only_the_end_of_a_recovery_restores_the_window() {
    let mut flow = cruising(no_allowance(), 3);
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.control.cwnd = 20;
    for (state, window) in [(CaState::Disorder, 21), (CaState::Open, 22)] {
        flow.view.ca_state = state;
        flow.ack_one();
        assert_eq!(flow.control.cwnd, window, "{state:?}");
    }
}

#[test]
fn before_the_pipe_is_full_a_window_at_its_target_stays() {
    let mut flow = cruising(no_allowance(), 3);
    flow.ack_one();
    flow.bbr.core.state.full_pipe = false;
    let Bbr1 { core, rules, .. } = &flow.bbr;
    let target = core.target();
    let grown = |window| core.grown(rules, &flow.view, window, 2);
    assert_eq!([target - 1, target, target + 5].map(grown), [target + 1, target, target + 5]);
}

#[test]
fn a_timeout_keeps_the_model_and_the_saved_window() {
    let mut flow = cruising(no_allowance(), 3);
    let saved = flow.control.cwnd;
    flow.bbr.core.full_pipe.baseline = BW;
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Loss);
    assert_eq!(flow.bbr.core.full_pipe.baseline, 0);
    flow.view.ca_state = CaState::Loss;
    flow.control.cwnd = 1;
    flow.view.packets_out = 34;
    flow.view.lost_out = 33;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 4);
    assert_eq!(flow.bbr.core.max_bw(), BW);
    flow.view.ca_state = CaState::Open;
    flow.view.lost_out = 0;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, saved);
}

/// Rounds of a policed path: in each, `delivered` packets in 100 ms and a loss of a quarter of them.
fn policed_round(flow: &mut Flow<Linux>, delivered: u32) {
    flow.view.lost += u64::from(delivered / 4);
    flow.wait(Duration::from_millis(100) - Duration::from_micros(1_200) * u64::from(delivered));
    let sample = RateSample {
        prior_delivered: flow.bbr.core.round.next_delivered,
        losses: delivered / 4,
        delivered: delivered as i32,
        interval_us: 100_000,
        ..flow.sample(delivered)
    };
    flow.ack(&sample);
}

#[test]
fn two_intervals_of_heavy_loss_at_one_rate_reveal_a_policer() {
    let mut flow = cruising(Parameters::default(), 3);
    for round in 0..8 {
        assert!(!flow.bbr.core.state.policed, "round {round}");
        policed_round(&mut flow, 17);
    }
    assert!(flow.bbr.core.state.policed);
    assert_eq!(flow.bbr.core.pacing_gain, Gain::ONE);
    let expected = 17.0 / 100_000.0 * BW_UNIT as f64;
    assert!(
        (f64::from(flow.bbr.core.bw()) - expected).abs() < 0.03 * expected,
        "{} not {expected}",
        flow.bbr.core.bw()
    );
    assert!(flow.bbr.core.bw() < flow.bbr.core.max_bw());
    for round in 0..48 {
        assert!(flow.bbr.core.state.policed, "round {round}");
        flow.ack_round();
    }
    assert!(!flow.bbr.core.state.policed, "after 48 rounds it probes again");
}

#[test]
fn no_policer_is_seen_in_unequal_rates_light_losses_or_application_pauses() {
    let mut unequal = cruising(Parameters::default(), 3);
    for round in 0..40 {
        policed_round(&mut unequal, if round / 5 % 2 == 0 { 17 } else { 50 });
    }
    let mut light = cruising(Parameters::default(), 3);
    for _ in 0..40 {
        light.ack(&RateSample { losses: 1, ..light.sample(30) });
        light.view.lost += 1;
        light.ack_round();
    }
    let mut pauses = cruising(Parameters::default(), 3);
    for _ in 0..40 {
        policed_round(&mut pauses, 17);
        pauses.ack(&RateSample { is_app_limited: true, ..pauses.sample(1) });
    }
    for flow in [unequal, light, pauses] {
        assert!(!flow.bbr.core.state.policed);
    }
}

#[test]
fn a_restart_from_idle_paces_at_the_bandwidth_and_postpones_probe_rtt() {
    let mut flow = cruising(Parameters::default(), 0);
    flow.wait(Duration::from_secs(11));
    flow.view.packets_out = 0;
    flow.control.app_limited = flow.view.delivered;
    flow.bbr.event(&flow.view, &mut flow.control, Event::TxStart);
    assert_eq!(flow.control.pacing_rate, flow.bytes_per_second(BW, Gain::ONE));
    flow.ack(&RateSample { rtt_us: 60_000, ..flow.sample(1) });
    assert_eq!(flow.bbr.mode(), "probe_bw");
    assert_eq!(flow.bbr.core.min_rtt.rtt_us, 60_000, "the expired minimum is replaced all the same");
}

#[test]
fn observables_are_as_many_as_their_names() {
    let flow = cruising(Parameters::default(), 3);
    let names = flow.bbr.observables();
    let mut values = vec![f64::NEG_INFINITY; names.len() + 1];
    flow.bbr.observe(&flow.view, &flow.control, &mut values);
    let value = |name| values[names.iter().position(|n| *n == name).unwrap()];
    assert!((value("bw_mbps") - 1448.0 * 8.0 / 1_200.0).abs() < 0.01);
    assert_eq!((value("min_rtt_ms"), value("cycle_index")), (41.2, 3.0));
    assert!(values[..names.len()].iter().all(|v| *v != f64::NEG_INFINITY));
    assert_eq!(values[names.len()], f64::NEG_INFINITY);
}

#[test]
fn while_no_round_trip_is_known_the_first_rate_has_a_gain_of_its_own() {
    let parameters = Parameters {
        initial_pacing_gain: Gain::ONE,
        nominal_pacing_gain: Gain::new(512),
        nominal_rtt: Duration::from_millis(100),
        pacing_margin: Default::default(),
        ..Parameters::default()
    };
    let mut flow = established(parameters);
    flow.view.srtt_us_x8 = 0;
    flow.bbr.init(&flow.view, &mut flow.control);
    let packet_per_s = |rate: u64| (rate as f64 / 1448.0).round();
    assert_eq!(packet_per_s(flow.control.pacing_rate), 200.0, "twice ten packets in 100 ms");
    flow.view.srtt_us_x8 = 8 * 40_000;
    let Bbr1 { core, rules, .. } = &mut flow.bbr;
    core.set_pacing_rate(rules, &flow.view, &mut flow.control, 0, Gain::ONE);
    assert_eq!(packet_per_s(flow.control.pacing_rate), 250.0, "ten packets in 40 ms");
}

#[test]
fn the_operating_point_follows_the_connections_segment_size_and_highest_rate() {
    let mut flow = cruising(no_allowance(), 3);
    flow.ack_one();
    let (rate, target) = (flow.control.pacing_rate, flow.target());
    flow.view.max_pacing_rate = rate / 2;
    flow.ack_one();
    assert_eq!(flow.control.pacing_rate, rate / 2);
    flow.view.max_pacing_rate = u64::MAX;
    flow.ack_one();
    assert_eq!(flow.control.pacing_rate, rate);
    // As many packets a second, but longer ones; the bursts of the budget hold as many bytes as before.
    flow.view.mss *= 4;
    flow.ack_one();
    assert!(flow.control.pacing_rate.abs_diff(4 * rate) <= 4, "{} for {rate}", flow.control.pacing_rate);
    assert_eq!(flow.target(), target, "bursts of two packets, whatever their size");
    flow.control.pacing_shift = 3;
    flow.ack_one();
    assert!(flow.target() > target);
    for _ in 0..200 {
        flow.ack_one();
    }
    assert_eq!(flow.control.cwnd, flow.target());
}

#[test]
fn an_equal_round_trip_does_not_renew_the_minimum() {
    let mut flow = cruising(Parameters::default(), 3);
    flow.wait(Duration::from_secs(9));
    flow.ack(&RateSample { rtt_us: i64::from(MIN_RTT_US), ..flow.sample(1) });
    flow.wait(Duration::from_secs(2));
    flow.ack_one();
    assert_eq!(flow.bbr.mode(), "probe_rtt");
}

#[test]
fn a_delayed_ack_does_not_replace_an_expired_minimum() {
    for (is_ack_delayed, minimum) in [(true, MIN_RTT_US), (false, 90_000)] {
        let mut flow = cruising(Parameters::default(), 3);
        flow.wait(Duration::from_secs(11));
        flow.ack(&RateSample { rtt_us: 90_000, is_ack_delayed, ..flow.sample(1) });
        assert_eq!(flow.bbr.core.min_rtt.rtt_us, minimum);
    }
}

#[test]
fn a_spurious_loss_restarts_the_search_for_a_full_pipe() {
    let mut flow = established(Parameters::default());
    flow.bbr.core.full_pipe = FullPipe { baseline: BW, rounds: 2 };
    assert_eq!(flow.bbr.undo_cwnd(&flow.view, &flow.control), flow.control.cwnd);
    assert_eq!((flow.bbr.core.full_pipe.baseline, flow.bbr.core.full_pipe.rounds), (0, 0));
}

#[test]
fn an_ack_that_delivers_nothing_caps_the_window() {
    let mut flow = cruising(Parameters::default(), 3);
    flow.wait(Duration::from_secs(11));
    flow.ack(&RateSample { rtt_us: 50_000, ..RateSample::invalid() });
    assert_eq!((flow.bbr.mode(), flow.control.cwnd), ("probe_rtt", 4));
}

#[test]
fn acks_in_aggregates_widen_the_window() {
    let mut flow = cruising(Parameters::default(), 3);
    for _ in 0..10 {
        // Nothing for 24 ms, then all 20 packets within 2 ms.
        flow.wait(Duration::from_millis(22));
        for _ in 0..10 {
            flow.wait(Duration::from_micros(200));
            flow.view.delivered += 2;
            flow.view.delivered_mstamp_us = flow.view.mstamp_us;
            let sample = RateSample { prior_in_flight: 34, ..flow.sample(2) };
            flow.bbr.cong_control(&flow.view, &mut flow.control, &sample);
        }
    }
    let excess = flow.control.cwnd.saturating_sub(76);
    assert!((10..=20).contains(&excess), "{excess}");
}

#[test]
fn what_leaves_the_network_before_the_next_departure_does_not_count() {
    let mut flow = cruising(Parameters::default(), 3);
    flow.view.next_departure = flow.view.now + Duration::from_micros(12_100);
    assert_eq!(flow.in_network(30), 20);
    assert_eq!(flow.in_network(5), 0);
    flow.view.next_departure = Time::ZERO;
    assert_eq!(flow.in_network(30), 30);
    let mut probing = cruising(Parameters::default(), 0);
    probing.view.next_departure = probing.view.now;
    assert_eq!(probing.in_network(30), 32, "the burst about to leave counts");
}
