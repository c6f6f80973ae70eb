//! The BBR family on a small bottleneck: 10 Mbit/s, 40 ms, packets of 1500 bytes, so that the BDP is 34.3 packets.
//!
//! Expected numbers are those of the specifications' "observable checks", which come from a packet model of their own;
//! they hold to within 15 % unless a test says otherwise. Bursts are off, as there, to make single packets count.

mod bottleneck;

use bottleneck::{Network, Path};
use dumbbell_cc::registry;
use serde_json::{Value, json};

/// Parameters without bursts and budgets.
fn single_packets(name: &str) -> Value {
    let known = registry::resolve_parameters(name, &Default::default()).expect("a registered name");
    let second_generation = known.contains_key("headroom");
    let mut parameters = json!({ "budget_bursts": 0, "burst_min": 1, "burst_min_slow": 1, "burst_max": 1 });
    if !second_generation {
        parameters["budget_even"] = json!(false);
        parameters["net_estimate"] = json!(false);
    }
    parameters
}

fn alone(name: &str, buffer_bdps: f64) -> Network {
    Network::alone(Path::ten_mbit(buffer_bdps), name, single_packets(name))
}

/// `count` flows, 100 ms apart, after ten seconds.
fn together(count: u64, name: &str, buffer_bdps: f64) -> Network {
    let mut network = Network::new(Path::ten_mbit(buffer_bdps));
    for flow in 0..count {
        network.add(name, single_packets(name), 40, flow * 100);
    }
    network.settle(10.0);
    network.run(60.0);
    network
}

/// Runs to the end of STARTUP.
fn start_up(name: &str, buffer_bdps: f64) -> Network {
    let mut network = alone(name, buffer_bdps);
    network.run_while(|n| n.flows[0].controller.mode() == "startup");
    network
}

/// Throughput in Mbit/s over 60 s with random loss.
fn with_random_loss(name: &str, loss: f64) -> f64 {
    let path = Path { loss, ..Path::ten_mbit(10.0) };
    let mut network = Network::alone(path, name, single_packets(name));
    network.run(60.0);
    network.throughput()[0]
}

#[track_caller]
fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{what}: {value:.3}, not {expected}");
}

#[track_caller]
fn assert_within(what: &str, value: f64, range: std::ops::RangeInclusive<f64>) {
    assert!(range.contains(&value), "{what}: {value:.3}, not in {range:?}");
}

#[test]
fn v2_leaves_startup_at_a_plateau_when_the_buffer_is_deep() {
    let mut network = start_up("bbr2", 10.0);
    assert_near("end of STARTUP in s", network.now.as_secs_f64(), 0.5, 0.05);
    assert_near("queue", network.queue_len() as f64, 74.0, 0.1);
    assert!(network.flows[0].value("inflight_hi_packets").is_nan());
    network.run_while(|n| n.flows[0].controller.mode() != "probe_bw_cruise");
    assert_within("CRUISE in s", network.now.as_secs_f64(), 0.6..=0.66);
}

#[test]
fn v2_leaves_startup_by_loss_with_one_bdp_as_its_bound_when_the_buffer_is_shallow() {
    for (buffer, at) in [(0.1, 0.25), (0.25, 0.25), (1.0, 0.33)] {
        let network = start_up("bbr2", buffer);
        assert_near("end of STARTUP in s", network.now.as_secs_f64(), at, 0.15);
        assert_eq!(network.flows[0].value("inflight_hi_packets"), 35.0, "{buffer} BDP");
    }
}

#[test]
fn v2_cycles_every_one_and_a_half_seconds_to_coexist_with_reno() {
    let mut network = alone("bbr2", 10.0);
    network.settle(10.0);
    network.run(70.0);
    let flow = &network.flows[0];
    assert_within("REFILL in ms", flow.median_stay_ms("probe_bw_refill"), 41.0..=42.5);
    assert_within("UP in ms", flow.median_stay_ms("probe_bw_up"), 41.0..=50.0);
    assert_within("DOWN in ms", flow.median_stay_ms("probe_bw_down"), 35.0..=43.0);
    assert_within("CRUISE in ms", flow.median_stay_ms("probe_bw_cruise"), 1_340.0..=1_420.0);
    assert_within("probes", flow.entries("probe_bw_up").len() as f64, 36.0..=42.0);
    assert_near("throughput", network.throughput()[0], 9.88, 0.01);
    assert!(network.max_queue <= 12, "{}", network.max_queue);
    assert_near("mean queue", network.mean_queue(), 1.25, 0.15);
}

#[test]
fn v2_probes_every_two_to_three_seconds_where_renos_pace_is_slower() {
    let mut network = Network::new(Path::ten_mbit(10.0));
    network.add("bbr2", single_packets("bbr2"), 100, 0);
    network.settle(10.0);
    network.run(70.0);
    let probes = network.flows[0].entries("probe_bw_up");
    // The wait runs from DOWN to REFILL; UP follows a round later.
    for pair in probes.windows(2) {
        assert_within("time between probes", pair[1] - pair[0], 2.1..=3.6);
    }
    assert!(probes.len() > 15);
}

#[test]
fn ties_spare_a_lone_v2_flow_its_probe_rtt() {
    for (ties, range) in [(true, 0.0..=3.0), (false, 10.0..=12.0)] {
        let mut parameters = single_packets("bbr2");
        parameters["min_rtt_tie_refreshes"] = json!(ties);
        let mut network = Network::alone(Path::ten_mbit(10.0), "bbr2", parameters);
        network.run(60.0);
        assert_within("PROBE_RTTs", network.flows[0].entries("probe_rtt").len() as f64, range);
    }
}

#[test]
fn v2_loses_little_where_v1_loses_much() {
    for (buffer, throughput) in [(0.25, 9.41), (0.5, 9.89)] {
        let mut network = alone("bbr2", buffer);
        network.run(60.0);
        assert_near("throughput", network.throughput()[0], throughput, 0.05);
        assert!(network.loss_ratio() < 0.005, "{}", network.loss_ratio());
    }
    for buffer in [0.5, 1.0] {
        let (v1, v2) = (together(3, "bbr", buffer), together(3, "bbr2", buffer));
        assert!(v1.loss_ratio() > 0.05 && v2.loss_ratio() < 0.008, "{} {}", v1.loss_ratio(), v2.loss_ratio());
    }
}

#[test]
fn random_loss_beyond_the_threshold_slows_v2_and_v3_but_not_v1() {
    for (loss, v2, v3) in [(0.001, 9.7, 9.6), (0.005, 9.2, 8.9), (0.02, 5.5, 4.7)] {
        assert_near("v2", with_random_loss("bbr2", loss), v2, 0.15);
        assert_near("v3", with_random_loss("bbr3", loss), v3, 0.15);
    }
    assert_near("v2 at 20 %", with_random_loss("bbr2", 0.2), 0.5, 0.25);
    assert_near("v3 at 5 %", with_random_loss("bbr3", 0.05), 2.1, 0.15);
    assert_near("v1 at 5 %", with_random_loss("bbr", 0.05), 9.2, 0.15);
}

#[test]
fn v3_starts_up_with_a_smaller_queue() {
    let mut network = start_up("bbr3", 10.0);
    assert_near("end of STARTUP in s", network.now.as_secs_f64(), 0.42, 0.03);
    assert_near("queue", network.queue_len() as f64, 43.0, 0.15);
    network.run_while(|n| n.flows[0].controller.mode() != "probe_bw_cruise");
    assert!(network.now.as_secs_f64() < 0.5);
    let mut network = alone("bbr3", 1.5);
    network.run(60.0);
    assert_eq!(network.flows[0].c.lost, 0, "no loss from 1.5 BDP on");
}

#[test]
fn v3_keeps_what_was_delivered_when_loss_ends_startup() {
    for (buffer, bound) in [(0.1, 37.0), (0.25, 42.0)] {
        let network = start_up("bbr3", buffer);
        let hi = network.flows[0].value("inflight_hi_packets");
        assert_near("inflight_hi", hi, bound, 0.1);
        assert!(hi > 35.0, "v2 would keep one BDP");
    }
}

#[test]
fn v3_probes_for_three_rounds_and_drains_slowly() {
    let mut network = alone("bbr3", 10.0);
    network.settle(10.0);
    network.run(60.0);
    let flow = &network.flows[0];
    assert_within("UP in ms", flow.median_stay_ms("probe_bw_up"), 150.0..=160.0);
    assert_within("DOWN in ms", flow.median_stay_ms("probe_bw_down"), 335.0..=375.0);
    assert_within("CRUISE in ms", flow.median_stay_ms("probe_bw_cruise"), 1_150.0..=1_230.0);
    assert_near("throughput", network.throughput()[0], 9.69, 0.01);
    assert_near("largest queue", network.max_queue as f64, 33.0, 0.1);
    assert_near("mean queue", network.mean_queue(), 4.1, 0.15);
}

#[test]
fn v3_visits_probe_rtt_every_five_seconds_with_half_a_bdp() {
    let mut network = alone("bbr3", 10.0);
    network.run_while(|n| n.flows[0].controller.mode() != "probe_rtt");
    network.run(network.now.as_secs_f64() + 0.1);
    assert_eq!(network.flows[0].c.cwnd, 18);
    network.run(60.0);
    let entries = network.flows[0].entries("probe_rtt");
    for pair in entries.windows(2) {
        assert_within("time between PROBE_RTTs", pair[1] - pair[0], 5.2..=5.4);
    }
    assert!(entries.len() >= 10);
    assert_within("PROBE_RTT in ms", network.flows[0].median_stay_ms("probe_rtt"), 225.0..=255.0);
    let modes: Vec<&str> = network.flows[0].modes.iter().map(|(_, mode)| *mode).collect();
    let after: Vec<&str> = modes.windows(2).filter(|pair| pair[0] == "probe_rtt").map(|pair| pair[1]).collect();
    assert!(after.iter().all(|mode| *mode == "probe_bw_cruise"), "{after:?}");
}

#[test]
fn v3_shares_fairly_where_v2_does_not() {
    let shares = |name| {
        let mut shares = together(2, name, 10.0).throughput();
        shares.sort_by(f64::total_cmp);
        shares
    };
    let (v2, v3) = (shares("bbr2"), shares("bbr3"));
    assert!(v3[0] > 4.5, "{v3:?}");
    assert!(v2[0] < 4.0, "{v2:?}");
    let three = together(3, "bbr3", 0.5);
    assert!(three.loss_ratio() < 0.02, "{}", three.loss_ratio());
    for share in three.throughput() {
        assert_near("share", share, 3.26, 0.1);
    }
}

#[test]
fn the_draft_drains_until_three_rounds_have_passed_and_linux_until_the_queue_is_gone() {
    // A standing queue of others: the draft's DRAIN gives up, Linux's does not.
    let drain_rounds = |name: &str| {
        let mut parameters = single_packets(name);
        // With a gain this close to one nothing drains.
        parameters["drain_gain"] = json!("255/256");
        let mut network = Network::alone(Path::ten_mbit(10.0), name, parameters);
        network.run_while(|n| n.flows[0].controller.mode() != "drain");
        let before = network.flows[0].value("round");
        network.run_while(|n| n.flows[0].controller.mode() == "drain" && n.now.as_secs_f64() < 3.0);
        network.flows[0].value("round") - before
    };
    assert_within("draft", drain_rounds("bbr3-draft"), 3.0..=4.0);
    assert!(drain_rounds("bbr3") > 8.0);
}

#[test]
fn marks_hold_the_queue_of_v2_and_v3_near_the_threshold() {
    for name in ["bbr2", "bbr3"] {
        let queue = |ecn: bool| {
            let mut parameters = single_packets(name);
            parameters["ecn"] = json!(ecn);
            // 100 Mbit/s and 2 ms: a BDP of 17.7 packets.
            let path = Path { service_us: 120, buffer: 500, loss: 0.0, mark_above: Some(3) };
            let mut network = Network::new(path);
            for flow in 0..2 {
                network.add(name, parameters.clone(), 2, flow * 10);
            }
            network.settle(1.0);
            network.run(6.0);
            (network.mean_queue(), network.throughput().iter().sum::<f64>())
        };
        let ((marked, throughput), (unmarked, _)) = (queue(true), queue(false));
        assert!(marked < 0.75 * unmarked, "{name}: {marked} {unmarked}");
        assert!(throughput > 85.0, "{name}: {throughput}");
    }
}

#[test]
fn quic_v2_visits_probe_rtt_when_down_ends_and_nowhere_else() {
    let mut network = alone("bbr2-quic", 10.0);
    network.run(60.0);
    let modes: Vec<&str> = network.flows[0].modes.iter().map(|(_, mode)| *mode).collect();
    let around: Vec<_> = modes.windows(3).filter(|around| around[1] == "probe_rtt").collect();
    assert!((4..=6).contains(&around.len()), "every ten seconds: {}", around.len());
    for visit in around {
        assert_eq!((visit[0], visit[2]), ("probe_bw_down", "probe_bw_cruise"));
    }
}

#[test]
fn variants_of_v1_differ_by_the_queue_they_keep() {
    // One flow, a deep buffer.
    for (name, mean, most) in [
        ("bbr", 2.7, 12.0),
        ("bbr-plus-hsr", 10.0, 21.0),
        ("bbrp", 26.0, 40.0),
        ("bbr-n-patch", 30.6, 40.0),
        ("tsunami", 34.5, 38.0),
        ("tsunami-paper", 34.5, 38.0),
    ] {
        let mut network = alone(name, 10.0);
        network.settle(10.0);
        network.run(60.0);
        assert_near(name, network.mean_queue(), mean, 0.15);
        assert!(network.max_queue as f64 <= most * 1.15, "{name}: {}", network.max_queue);
        assert!(network.throughput()[0] > 9.7, "{name}");
    }
    // Three flows: drains shorten the queue that competition leaves.
    let queue = |name| together(3, name, 10.0).mean_queue();
    let v1 = queue("bbr");
    assert_within("BBR", v1, 44.0..=63.0);
    assert_within("BBRPlus", queue("bbrplus"), 31.0..=43.0);
    assert!(queue("bbr-prime") < 0.65 * v1);
}

#[test]
fn a_tsunami_flow_is_limited_by_its_window() {
    let mut network = alone("tsunami", 10.0);
    network.run(10.0);
    let limited = |network: &mut Network| {
        let begin = network.now.as_secs_f64();
        let mut near = 0;
        for step in 0..1_000 {
            network.run(begin + f64::from(step) * 0.005);
            let c = &network.flows[0].c;
            near += u32::from(c.in_flight() + 3 >= c.cwnd);
        }
        near
    };
    // The draining phase and the two that fill up after it are the exception.
    assert!(limited(&mut network) > 700);
    let mut v1 = alone("bbr", 10.0);
    v1.run(10.5);
    assert!(limited(&mut v1) < 100);
}

#[test]
fn variants_of_v1_differ_by_their_losses() {
    let loss = |name, buffer| together(3, name, buffer).loss_ratio();
    let v1 = loss("bbr", 1.5);
    assert_within("BBR", v1, 0.005..=0.03);
    assert!(loss("bbr-prime", 1.5) < 0.5 * v1);
    // Probes of three flows stack by chance: over seeds the loss spans 0.04 to 0.09 around its mean of 0.06.
    assert_within("BBR+", loss("bbr-plus-hsr", 1.5), 0.04..=0.09);
    // At one BDP, beside the versions that they start from.
    assert!(loss("tsunami", 1.0) > 1.5 * loss("bbr-4.14", 1.0));
    assert!(loss("tsunami-paper", 1.0) > 1.3 * loss("bbr-quic", 1.0));
}

#[test]
fn drains_make_round_trip_times_matter_less() {
    let ratio = |name: &str| {
        let mut network = Network::new(Path::ten_mbit(5.0));
        network.add(name, single_packets(name), 40, 0);
        network.add(name, single_packets(name), 100, 100);
        network.settle(10.0);
        network.run(60.0);
        let shares = network.throughput();
        shares[1] / shares[0]
    };
    assert_near("BBR", ratio("bbr"), 6.2, 0.15);
    assert_near("BBRPlus", ratio("bbrplus"), 1.8, 0.15);
    assert!(ratio("bbr-prime") < 4.0);
    assert_within("v3", ratio("bbr3"), 1.5..=2.6);
}

#[test]
fn a_bbrplus_cycle_is_two_to_eight_round_trips_long() {
    let mut network = alone("bbrplus", 10.0);
    network.run(3.0);
    let mut starts = vec![];
    let mut was_probing = false;
    while network.now.as_secs_f64() < 9.0 {
        network.run(network.now.as_secs_f64() + 0.0012);
        let flow = &network.flows[0];
        let probes = flow.controller.mode() == "probe_bw" && flow.value("cycle_index") == 0.0;
        if probes && !was_probing {
            starts.push(network.now.as_secs_f64());
        }
        was_probing = probes;
    }
    let lengths: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) / 0.0412).collect();
    assert!(lengths.len() > 15);
    assert!(lengths.iter().all(|length| (2.0..=8.2).contains(length)), "{lengths:?}");
    assert_near("mean length", lengths.iter().sum::<f64>() / lengths.len() as f64, 5.0, 0.3);
}

#[test]
fn every_variant_fills_a_clean_path_and_survives_a_bad_one() {
    for algorithm in registry::algorithms().iter().filter(|a| a.exact_name.contains("bbr") || a.base.is_some()) {
        let mut clean = Network::alone(Path::ten_mbit(2.0), algorithm.name, json!({}));
        clean.run(20.0);
        assert!(clean.throughput()[0] > 9.2, "{}: {:?}", algorithm.name, clean.throughput());
        let path = Path { loss: 0.3, ..Path::ten_mbit(0.2) };
        let mut bad = Network::alone(path, algorithm.name, json!({}));
        bad.run(20.0);
        assert!(bad.throughput()[0] > 0.05, "{}: {:?}", algorithm.name, bad.throughput());
        assert!(bad.flows[0].c.cwnd >= 1 && bad.flows[0].c.pacing_rate > 0, "{}", algorithm.name);
    }
}
