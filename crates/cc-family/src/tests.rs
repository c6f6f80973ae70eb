//! What the families' rules do to a flow. The harness is that of Linux's rules.

#![expect(clippy::cast_possible_truncation, reason = "numbers in these tests are small")]

#[path = "../../cc/src/bbr1/tests/flow.rs"]
mod flow;

use crate::{FamilyRules, Parameters, acd, catalog};
use dumbbell_cc::bbr1::{BW_UNIT, Bbr1, FullPipe, Mode, Rules};
use dumbbell_cc::minmax::MaxFilter;
use dumbbell_cc::parameters::Gain;
use dumbbell_cc::{CaState, Control, Controller, Event, RateSample, View};
use dumbbell_units::{Duration, Rng, Time};
use flow::{BW, Flow, MIN_RTT_US};
use serde_json::{Value, json};

fn bbr(overrides: Value) -> Bbr1<FamilyRules> {
    let values = catalog().find("bbr").unwrap().parameters(overrides.as_object().unwrap()).unwrap();
    let Parameters { constants, rules } = serde_json::from_value(Value::Object(values)).unwrap();
    Bbr1::with_rules(constants, FamilyRules::new(rules), Rng::new(3), "test".into())
}

/// A flow that is established and has sent nothing.
fn established(overrides: Value) -> Flow<FamilyRules> {
    Flow::established(bbr(overrides))
}

/// A flow in phase `phase` of PROBE_BW.
fn cruising(overrides: Value, phase: usize) -> Flow<FamilyRules> {
    let mut flow = Flow::established_in(bbr(overrides), phase);
    flow.bbr.rules.quic.unbounded_cwnd = flow.control.cwnd;
    flow
}

#[test]
fn a_held_draining_gain_outlasts_its_phase_until_one_bdp_is_in_flight() {
    let parameters = json!({ "cycle_policy": "timed_drain" });
    let mut flow = cruising(parameters, 1);
    for _ in 0..75 {
        flow.ack(&RateSample { prior_in_flight: 60, ..flow.sample(1) });
        assert_eq!(flow.bbr.core.pacing_gain, Gain::new(192));
    }
    assert_eq!(flow.bbr.core.state.phase as usize, 3, "the phases tick on");
    flow.ack(&RateSample { prior_in_flight: 40, ..flow.sample(1) });
    assert_eq!(flow.bbr.core.pacing_gain, Gain::ONE);
}

#[test]
fn a_random_cycle_probes_drains_and_cruises_for_two_to_eight_round_trips() {
    let parameters = json!({ "cycle_policy": "random_length", "probe_rtt_dwell": "0s" });
    let mut flow = cruising(parameters, 3);
    flow.bbr.rules.zhang.cycle_length = 0;
    let mut lengths = [0u32; 9];
    let mut started = flow.view.mstamp_us;
    let mut visited = vec![];
    for _ in 0..40_000 {
        let before = flow.bbr.core.state.phase as usize;
        let in_flight = if flow.bbr.core.pacing_gain > Gain::ONE { 60 } else { 30 };
        flow.ack(&RateSample { prior_in_flight: in_flight, ..flow.sample(1) });
        visited.push(flow.bbr.core.state.phase as usize);
        if before != 0 && flow.bbr.core.state.phase == 0 {
            // The cycle ended with the first ACK after `length` round trips.
            let round_trips = (flow.view.mstamp_us - started - 1) / u64::from(MIN_RTT_US);
            lengths[round_trips as usize] += 1;
            started = flow.view.mstamp_us;
        }
    }
    assert!(visited.contains(&1) && visited.contains(&2) && visited.iter().all(|index| *index <= 2));
    let cycles: u32 = lengths[2..].iter().sum();
    assert!(cycles > 150, "{lengths:?}");
    assert!(lengths[2..].iter().all(|count| (cycles / 14..=cycles / 4).contains(count)), "{lengths:?}");
}

#[test]
fn a_random_cycle_stops_probing_when_the_application_is_the_limit() {
    for (policy, next) in [("random_length", 1), ("timed", 0)] {
        let mut flow = cruising(json!({ "cycle_policy": policy }), 0);
        flow.bbr.rules.zhang.cycle_length = 8;
        flow.wait(Duration::from_millis(42));
        flow.ack(&RateSample { prior_in_flight: 10, is_app_limited: true, ..flow.sample(1) });
        assert_eq!(flow.bbr.core.state.phase as usize, next, "{policy}");
    }
}

#[test]
fn an_equal_round_trip_renews_the_minimum_only_where_ties_count() {
    for (ties, mode) in [(false, "probe_rtt"), (true, "probe_bw")] {
        let parameters = json!({ "min_rtt_tie_refreshes": ties });
        let mut flow = cruising(parameters, 3);
        flow.wait(Duration::from_secs(9));
        flow.ack(&RateSample { rtt_us: i64::from(MIN_RTT_US), ..flow.sample(1) });
        flow.wait(Duration::from_secs(2));
        flow.ack_one();
        assert_eq!(flow.bbr.mode(), mode);
    }
}

#[test]
fn a_delayed_ack_does_not_replace_an_expired_minimum() {
    for (guard, expected) in [(true, MIN_RTT_US), (false, 90_000)] {
        let mut flow = cruising(json!({ "delayed_ack_guard": guard }), 3);
        flow.wait(Duration::from_secs(11));
        flow.ack(&RateSample { rtt_us: 90_000, is_ack_delayed: true, ..flow.sample(1) });
        assert_eq!(flow.bbr.core.min_rtt.rtt_us, expected);
    }
}

#[test]
fn probe_rtt_windows_can_halve_or_follow_the_bdp() {
    let mut flow = cruising(json!({ "probe_rtt_window": "halving", "aggregation": "off" }), 3);
    flow.wait(Duration::from_secs(11));
    let mut windows = vec![];
    for _ in 0..6 {
        flow.ack_one();
        windows.push(flow.control.cwnd);
    }
    // Before it is halved, the window may regrow by the packet acknowledged, to at most the one-BDP target.
    assert_eq!(windows, [21, 11, 6, 4, 4, 4]);
    let share = json!({ "bdp": 0.75 });
    let mut flow = cruising(json!({ "probe_rtt_window": share, "aggregation": "off" }), 3);
    flow.wait(Duration::from_secs(11));
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 27, "three quarters of a BDP at the new minimum of 42.2 ms, rounded up");
}

#[test]
fn a_spurious_loss_restarts_the_search_for_a_full_pipe_where_asked() {
    for (resets, expected) in [(true, (0, 0)), (false, (BW, 2))] {
        let mut flow = established(json!({ "undo_resets_plateau": resets }));
        flow.bbr.core.full_pipe = FullPipe { baseline: BW, rounds: 2 };
        assert_eq!(flow.bbr.undo_cwnd(&flow.view, &flow.control), flow.control.cwnd);
        assert_eq!((flow.bbr.core.full_pipe.baseline, flow.bbr.core.full_pipe.rounds), expected);
    }
}

#[test]
fn an_ack_that_delivers_nothing_caps_the_window_since_linux_4_19() {
    for (caps, window) in [(true, 4), (false, 76)] {
        let mut flow = cruising(json!({ "zero_ack_caps": caps }), 3);
        flow.wait(Duration::from_secs(11));
        flow.ack(&RateSample { rtt_us: 50_000, ..RateSample::invalid() });
        assert_eq!((flow.bbr.mode(), flow.control.cwnd), ("probe_rtt", window));
    }
}

#[test]
fn quic_recovery_bounds_the_window_and_leaves_it_untouched() {
    let parameters = json!({ "recovery": "quic", "aggregation": "off" });
    let mut flow = cruising(parameters, 3);
    flow.view.packets_out = 50;
    flow.ack(&RateSample { losses: 2, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 51, "in flight and acknowledged");
    flow.view.packets_out = 30;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 51, "conservation: no growth");
    // A new round, but of packets sent before the last loss: growth.
    let beyond = flow.view.delivered;
    flow.bbr.core.round.next_delivered = 1;
    flow.ack(&RateSample { prior_delivered: 10_000, ..flow.sample(3) });
    assert_eq!(flow.control.cwnd, 54);
    flow.ack(&RateSample { prior_delivered: beyond, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 76, "over: the window of before");
}

#[test]
fn quic_recovery_does_not_grow_beyond_the_largest_window() {
    let parameters = json!({ "recovery": "quic", "aggregation": "off", "min_window": u32::MAX });
    let mut flow = cruising(parameters, 3);
    flow.ack(&RateSample { losses: 2, ..flow.sample(1) });
    flow.bbr.core.round.next_delivered = 1;
    flow.ack(&RateSample { prior_delivered: 10_000, ..flow.sample(3) });
    assert_eq!(flow.bbr.mode(), "probe_bw");
    assert!(flow.control.cwnd >= 51);
}

#[test]
fn acks_in_aggregates_widen_the_window() {
    for (kind, widened) in [("linux", true), ("quic", true), ("off", false)] {
        let mut flow = cruising(json!({ "aggregation": kind }), 3);
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
        assert_eq!((10..=20).contains(&excess), widened, "{kind}: {excess}");
    }
}

#[test]
fn quic_s_allowance_counts_parts_of_packets() {
    let mut flow = cruising(json!({ "aggregation": "quic" }), 3);
    let mut ack_after = |wait_us| {
        flow.wait(Duration::from_micros(wait_us));
        flow.view.delivered += 1;
        flow.view.delivered_mstamp_us = flow.view.mstamp_us;
        let sample = RateSample { prior_in_flight: 34, ..flow.sample(1) };
        flow.bbr.cong_control(&flow.view, &mut flow.control, &sample);
        flow.bbr.core.aggregation.max()
    };
    ack_after(50_000);
    // 1200 us a packet: two packets 1100 us apart are 1.08 more than the bandwidth explains.
    assert!((ack_after(1_100) - 1.08).abs() < 0.01);
    assert!((ack_after(100) - 2.0).abs() < 0.01, "three packets in the time of one");
}

#[test]
fn what_leaves_the_network_before_the_next_departure_does_not_count() {
    let mut flow = cruising(json!({}), 3);
    flow.view.next_departure = flow.view.now + Duration::from_micros(12_100);
    assert_eq!(flow.in_network(30), 20);
    assert_eq!(flow.in_network(5), 0);
    flow.view.next_departure = Time::ZERO;
    assert_eq!(flow.in_network(30), 30);
    let mut probing = cruising(json!({}), 0);
    probing.view.next_departure = probing.view.now;
    assert_eq!(probing.in_network(30), 32, "the burst about to leave counts");
    let mut now_only = cruising(json!({ "net_estimate": false }), 0);
    now_only.view.next_departure = now_only.view.now;
    assert_eq!(now_only.in_network(30), 30);
}

#[test]
fn a_spread_of_round_trips_raises_the_bdp_where_asked() {
    for (offset, raised) in [(0, false), (256, true)] {
        let mut flow = cruising(json!({ "min_rtt_offset": f64::from(offset) / 256.0 }), 3);
        for i in 0..200 {
            flow.ack(&RateSample { rtt_us: 60_000 + if i % 2 == 0 { 10_000 } else { -10_000 }, ..flow.sample(1) });
        }
        assert_eq!(flow.bbr.core.min_rtt.rtt_us, MIN_RTT_US);
        let spread_us = flow.bbr.core.model_rtt_us - u64::from(MIN_RTT_US);
        assert_eq!((9_000..=12_000).contains(&spread_us), raised, "{spread_us} µs");
    }
}

/// The detector's verdicts on a series of round-trip times in microseconds over a minimum of 40 ms.
fn acd_verdicts(rtts_us: &[i64]) -> Vec<bool> {
    let parameters = acd::Parameters::default();
    let mut detector = acd::State::default();
    rtts_us.iter().map(|rtt_us| detector.detect(*rtt_us, 40_000, &parameters, true)).collect()
}

#[test]
fn three_like_round_trips_or_one_of_twice_the_minimum_reveal_a_full_queue() {
    let series = [45_000, 60_000, 60_500, 61_200, 70_000];
    assert_eq!(acd_verdicts(&series), [false, false, false, true, false]);
    assert_eq!(acd_verdicts(&[45_000, 81_000]), [false, true]);
    assert_eq!(acd_verdicts(&[60_000, 60_000, -1, 60_000, 60_000, 60_000]), [false, false, false, false, false, true]);
    assert_eq!(acd_verdicts(&[40_000; 5]), [false; 5], "the minimum itself is no queue");
}

/// A flow with this recovery that sees `rtt_us` with the ACK that takes it into recovery, and its window after that ACK
/// and after each of the following.
fn acd_windows(recovery: &str, rtt_us: i64, acks: usize) -> (Flow<FamilyRules>, Vec<u32>) {
    let mut flow = cruising(json!({ "recovery": recovery, "aggregation": "off" }), 3);
    flow.control.cwnd = 64;
    flow.view.packets_out = 60;
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.view.ca_state = CaState::Recovery;
    let mut windows = vec![];
    for ack in 0..acks {
        let losses = u32::from(ack == 0);
        flow.ack(&RateSample { losses, rtt_us, prior_delivered: 0, ..flow.sample(1) });
        windows.push(flow.control.cwnd);
    }
    (flow, windows)
}

#[test]
fn the_kernels_acd_halves_the_window_with_every_ack_of_the_round() {
    let (mut flow, windows) = acd_windows("acd_kernel", 90_000, 6);
    assert_eq!(windows, [31, 15, 7, 4, 4, 4]);
    flow.ack_round();
    assert_eq!(flow.control.cwnd, 5, "the next round grows");
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert!(flow.control.cwnd >= 64, "the exit restores: {}", flow.control.cwnd);
    let (_, windows) = acd_windows("acd_kernel", 50_000, 3);
    assert_eq!(windows, [64, 65, 66], "no congestion: the lost packet, and growth");
}

#[test]
fn the_papers_acd_halves_the_window_once() {
    let (_, windows) = acd_windows("acd_paper", 90_000, 3);
    assert_eq!(windows, [32, 33, 34]);
    let (_, windows) = acd_windows("acd_paper", 50_000, 2);
    assert_eq!(windows, [64, 65]);
}

#[test]
fn ns3s_acd_halves_the_window_in_every_recovery_and_keeps_its_gain_at_one() {
    let (mut flow, windows) = acd_windows("acd_ns3", 50_000, 3);
    assert_eq!(windows, [32, 30, 30], "half of what is in flight and delivered");
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Open);
    assert_eq!(flow.control.cwnd, 64);
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert_eq!(flow.bbr.core.cwnd_gain, Gain::ONE);
    flow.bbr.core.state.mode = Mode::ProbeRtt;
    flow.update_gains();
    flow.bbr.core.state.mode = Mode::ProbeBw;
    flow.update_gains();
    assert_eq!(flow.bbr.core.cwnd_gain, Gain::new(512), "until the next state");
}

#[test]
fn ns3_conserves_packets_in_recovery_and_restores_at_its_end() {
    let mut flow = cruising(json!({ "recovery": "ns3", "aggregation": "off" }), 3);
    let saved = flow.control.cwnd;
    flow.ack(&RateSample { losses: 3, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, saved, "a loss outside of recovery changes nothing");
    flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.view.packets_out = 50;
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Recovery);
    flow.view.ca_state = CaState::Recovery;
    assert_eq!(flow.control.cwnd, 51, "from the moment it begins");
    flow.ack(&RateSample { losses: 1, prior_delivered: 0, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, 51);
    flow.ack_round();
    assert!(flow.control.cwnd > 51, "conservation ends with the round that was under way: {}", flow.control.cwnd);
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Open);
    assert!(flow.control.cwnd >= saved);
}

#[test]
fn the_first_port_to_ns3_conserves_one_ack_and_leaves_recovery_with_the_smallest_window() {
    let mut flow = cruising(json!({ "recovery": "ns3_2018", "aggregation": "off" }), 3);
    let cruising = flow.control.cwnd;
    flow.ack(&RateSample { losses: 3, ..flow.sample(1) });
    assert_eq!(flow.control.cwnd, cruising - 2, "a loss counts outside of recovery, too");
    flow.control.ssthresh = flow.bbr.ssthresh(&flow.view, &flow.control);
    flow.view.packets_out = 50;
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Recovery);
    flow.view.ca_state = CaState::Recovery;
    let mut windows = vec![];
    for _ in 0..3 {
        flow.ack(&RateSample { prior_delivered: 0, ..flow.sample(1) });
        windows.push(flow.control.cwnd);
    }
    assert_eq!(windows, [51, 52, 53]);
    // What the transport does at the end of recovery.
    flow.control.cwnd = flow.control.ssthresh;
    flow.bbr.set_state(&flow.view, &mut flow.control, CaState::Open);
    flow.view.ca_state = CaState::Open;
    flow.ack_one();
    assert_eq!(flow.control.cwnd, 4);
}

#[test]
fn an_infinite_window_wraps_around_in_ns3_when_the_pipe_is_full() {
    for (recovery, window) in [("ns3", 4), ("linux", 76)] {
        let mut flow = cruising(json!({ "recovery": recovery, "aggregation": "off" }), 3);
        flow.control.cwnd = Control::INFINITE_SSTHRESH;
        flow.ack_one();
        assert_eq!(flow.control.cwnd, window, "{recovery}");
    }
}

#[test]
fn the_phases_that_probe_bw_begins_with_can_be_given() {
    let parameters = json!({ "cycle_first_phases": [0, 6, 5] });
    let mut flow = cruising(parameters, 3);
    let mut entered = vec![];
    for _ in 0..4 {
        flow.enter_probe_bw();
        entered.push(flow.bbr.core.state.phase as usize);
    }
    let from = [0, 6, 5].iter().position(|phase| *phase == entered[0]).unwrap();
    let expected: Vec<usize> = [0, 6, 5].into_iter().cycle().skip(from).take(4).collect();
    assert_eq!(entered, expected);
    let unknown = catalog().recipe("bbr", json!({ "cycle_first_phases": [8] }).as_object().unwrap());
    assert!(unknown.unwrap_err().to_string().contains("phases of the cycle"));
}

#[test]
fn idle_time_ends_probe_rtt_since_linux_4_19() {
    for (exit, mode) in [(true, "probe_bw"), (false, "probe_rtt")] {
        let mut flow = cruising(json!({ "probe_rtt_exit_from_idle": exit }), 3);
        flow.wait(Duration::from_secs(11));
        flow.ack(&RateSample { rtt_us: 60_000, prior_in_flight: 4, ..flow.sample(1) });
        assert_eq!(flow.bbr.mode(), "probe_rtt");
        flow.view.packets_out = 4;
        flow.ack(&RateSample { rtt_us: 60_000, prior_in_flight: 4, ..flow.sample(1) });
        flow.wait(Duration::from_secs(1));
        flow.view.packets_out = 0;
        flow.control.app_limited = flow.view.delivered;
        flow.bbr.event(&flow.view, &mut flow.control, Event::TxStart);
        assert_eq!(flow.bbr.mode(), mode);
    }
}

#[test]
fn a_window_that_probe_rtt_never_restores_grows_anew() {
    for (restore, back) in [("at_exit", true), ("next_delivery", true), ("never", false)] {
        let mut flow = cruising(json!({ "probe_rtt_restore": restore, "aggregation": "off" }), 3);
        flow.wait(Duration::from_secs(11));
        flow.ack_one();
        flow.view.packets_out = 4;
        flow.ack_one();
        flow.wait(Duration::from_millis(300));
        flow.ack_round();
        flow.ack_one();
        assert_eq!(flow.bbr.mode(), "probe_bw");
        assert_eq!(flow.control.cwnd > 60, back, "{restore}: {}", flow.control.cwnd);
    }
}

#[test]
fn probe_rtt_leaves_quics_window_beneath_as_it_was() {
    let parameters = json!({ "recovery": "quic", "aggregation": "off" });
    let mut flow = cruising(parameters, 3);
    let before = flow.bbr.rules.quic.unbounded_cwnd;
    flow.wait(Duration::from_secs(11));
    for _ in 0..5 {
        flow.ack_one();
        assert_eq!(flow.control.cwnd, 4);
    }
    assert_eq!(flow.bbr.rules.quic.unbounded_cwnd, before);
}

#[test]
fn before_any_bandwidth_quics_target_is_a_multiple_of_the_initial_window() {
    for (gain_before_bandwidth, target) in [(true, 20), (false, 0)] {
        let flow = established(json!({ "gain_before_bandwidth": gain_before_bandwidth }));
        assert_eq!(flow.bbr.core.bdp(&flow.bbr.rules, 0, Gain::new(512)), target);
    }
}

#[test]
fn a_loss_keeps_dqcs_bbrplus_draining_and_the_kernels_not() {
    for (policy, next) in [("random_length", 2), ("random_length_dqc", 1)] {
        let mut flow = cruising(json!({ "cycle_policy": policy }), 1);
        flow.bbr.rules.zhang.cycle_length = 8;
        flow.wait(Duration::from_millis(42));
        flow.ack(&RateSample { prior_in_flight: 20, losses: 1, ..flow.sample(1) });
        assert_eq!(flow.bbr.core.state.phase as usize, next, "{policy}");
    }
}

#[test]
fn the_kernels_bbrplus_stops_probing_without_data_or_receive_window() {
    for (no_unsent_data, receive_window_full) in [(true, false), (false, true)] {
        for (policy, next) in [("random_length", 1), ("random_length_dqc", 0)] {
            let mut flow = cruising(json!({ "cycle_policy": policy }), 0);
            flow.bbr.rules.zhang.cycle_length = 8;
            flow.view.no_unsent_data = no_unsent_data;
            flow.view.receive_window_full = receive_window_full;
            flow.wait(Duration::from_millis(42));
            flow.ack(&RateSample { prior_in_flight: 10, ..flow.sample(1) });
            assert_eq!(flow.bbr.core.state.phase as usize, next, "{policy}");
        }
    }
}

#[test]
fn acds_budget_widens_every_target_above_one_bdp() {
    let parameters = json!({ "budget_probe_when": "gain_above_one" });
    let flow = cruising(parameters, 3);
    assert_eq!(flow.target(), 78);
    assert_eq!(flow.inflight_target(BW, Gain::ONE), 42);
}
