//! The BBR family on a small bottleneck: 10 Mbit/s, 40 ms, packets of 1500 bytes, so that the BDP is 34.3 packets.
//!
//! Expected numbers are those of the specifications' "observable checks", which come from a packet model of their own;
//! they hold to within 15 % unless a test says otherwise. Bursts are off, as there, to make single packets count.
//!
//! Where flows share the path, what they see at their start decides much of what they do later, and the checks do not
//! say how far apart they start. Such numbers are medians over seeds, and either from a start that a test names or
//! bracketed by those of several starts.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the numbers are those of these tests, and small"
)]

mod bottleneck;
mod entries;

use bottleneck::{Network, Path};
use dumbbell_cc::catalog::Entry;
use dumbbell_cc_family::catalog;
use serde_json::{Value, json};

/// Parameters without bursts and budgets.
fn single_packets(name: &str) -> Value {
    let known =
        catalog().find(name).and_then(|entry| entry.parameters(&Default::default())).expect("a registered name");
    let second_generation = known.contains_key("headroom");
    let mut parameters = json!({ "budget_bursts": 0, "burst_min": 1, "burst_min_slow": 1, "burst_max": 1 });
    if !second_generation {
        parameters["budget_even"] = json!(false);
        parameters["net_estimate"] = json!(false);
    }
    parameters
}

/// [`single_packets`] with one parameter changed.
fn single_packets_with(name: &str, key: &str, value: Value) -> Value {
    let mut parameters = single_packets(name);
    parameters[key] = value;
    parameters
}

fn alone(name: &str, buffer_bdps: f64) -> Network {
    Network::alone(Path::ten_mbit(buffer_bdps), name, single_packets(name))
}

/// An algorithm and its parameters.
struct Kind<'a> {
    name: &'a str,
    parameters: Value,
}

impl Kind<'_> {
    fn single_packets(name: &str) -> Kind<'_> {
        Kind { name, parameters: single_packets(name) }
    }

    /// Flows that start `gap_ms` apart, seen from `from_s` to 60 s.
    fn together(&self, count: u64, buffer_bdps: f64, gap_ms: u64, from_s: f64, seed: u64) -> Network {
        let mut network = Network::seeded(Path::ten_mbit(buffer_bdps), seed);
        for flow in 0..count {
            network.add(self.name, self.parameters.clone(), 40, flow * gap_ms);
        }
        network.settle(from_s);
        network.run(60.0);
        network
    }

    /// Mean queue of flows in a deep buffer from 10 s on, 250 ms between their starts.
    fn queue(&self, count: u64) -> f64 {
        median(|seed| self.together(count, 10.0, 250, 10.0, seed).mean_queue())
    }

    /// Share of packets that three flows lose in a minute, for each of several starts.
    fn losses(&self, buffer_bdps: f64) -> [f64; 4] {
        STARTS_MS.map(|gap| median(|seed| self.together(3, buffer_bdps, gap, 0.0, seed).loss_ratio()))
    }

    /// Throughput of a flow with 101 ms over that of one with 41 ms from 20 s on; the second starts 20 ms later.
    fn rtt_unfairness(&self) -> f64 {
        median(|seed| {
            let mut network = Network::seeded(Path::ten_mbit(5.0), seed);
            network.add(self.name, self.parameters.clone(), 40, 0);
            network.add(self.name, self.parameters.clone(), 100, 20);
            network.settle(20.0);
            network.run(60.0);
            let shares = network.throughput();
            shares[1] / shares[0]
        })
    }
}

/// Milliseconds between the starts of flows.
const STARTS_MS: [u64; 4] = [50, 100, 250, 500];

/// Median over seven seeds.
fn median(run: impl Fn(u64) -> f64) -> f64 {
    let mut values: Vec<f64> = (0..7).map(run).collect();
    values.sort_by(f64::total_cmp);
    values[3]
}

/// Runs to the end of STARTUP.
fn start_up(name: &str, buffer_bdps: f64) -> Network {
    let mut network = alone(name, buffer_bdps);
    network.run_while(|n| n.flows[0].controller.mode() == "startup");
    network
}

/// Throughput in Mbit/s over 60 s with random loss.
fn with_random_loss(name: &str, loss: f64) -> f64 {
    median(|seed| {
        let mut network = Network::seeded(Path { loss, ..Path::ten_mbit(10.0) }, seed);
        network.add(name, single_packets(name), 40, 0);
        network.run(60.0);
        network.throughput()[0]
    })
}

#[track_caller]
fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{what}: {value:.3}, not {expected}");
}

#[track_caller]
fn assert_within(what: &str, value: f64, range: std::ops::RangeInclusive<f64>) {
    assert!(range.contains(&value), "{what}: {value:.3}, not in {range:?}");
}

/// `expected` lies between the values that different starts lead to, or within 15 % of them; and starts matter less
/// than by a factor of `most`.
#[track_caller]
fn assert_bracketed(what: &str, by_start: [f64; 4], expected: f64, most: f64) {
    let low = by_start.into_iter().fold(f64::INFINITY, f64::min);
    let high = by_start.into_iter().fold(0.0, f64::max);
    assert!((0.85 * low..=1.15 * high).contains(&expected), "{what}: {by_start:?}, not {expected}");
    assert!(high <= most * low, "{what}: {by_start:?}");
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
    // With three packets of buffer one round trip decides: 0.21 s, not 0.25.
    for (buffer, at, tolerance) in [(0.1, 0.25, 0.2), (0.25, 0.25, 0.15), (1.0, 0.33, 0.15), (2.0, 0.44, 0.15)] {
        let network = start_up("bbr2", buffer);
        assert_near("end of STARTUP in s", network.now.as_secs_f64(), at, tolerance);
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
        let parameters = single_packets_with("bbr2", "min_rtt_tie_refreshes", json!(ties));
        let mut network = Network::alone(Path::ten_mbit(10.0), "bbr2", parameters);
        network.run(60.0);
        assert_within("PROBE_RTTs", network.flows[0].entries("probe_rtt").len() as f64, range);
    }
}

#[test]
fn v2_holds_half_a_bdp_in_probe_rtt_and_cruises_for_another_time_after_each() {
    let parameters = single_packets_with("bbr2", "min_rtt_tie_refreshes", json!(false));
    let mut network = Network::alone(Path::ten_mbit(10.0), "bbr2", parameters);
    network.run_while(|n| n.flows[0].controller.mode() != "probe_rtt");
    network.run(network.now.as_secs_f64() + 0.1);
    assert_eq!(network.flows[0].control.cwnd, 18);
    network.run(60.0);
    let flow = &network.flows[0];
    let entries = flow.entries("probe_rtt");
    for pair in entries.windows(2) {
        assert_within("time between PROBE_RTTs", pair[1] - pair[0], 5.2..=5.4);
    }
    let mut waits = vec![];
    for around in flow.modes.windows(3).filter(|around| around[0].1 == "probe_rtt") {
        assert!(around[1].0 - around[0].0 >= 0.2, "the dwell");
        assert_eq!(around[1].1, "probe_bw_cruise");
        waits.push(((around[2].0 - around[1].0) * 1e3) as u64);
    }
    waits.sort_unstable();
    waits.dedup();
    assert!(waits.len() > 1, "a new random time each: {waits:?}");
}

#[test]
fn v2_loses_little_where_v1_loses_much() {
    // With three packets of buffer, 0.1 BDP, it is the order of simultaneous events that decides about some losses.
    for (buffer, throughput, loss, tolerance) in
        [(0.1, 8.96, 0.005, 0.25), (0.25, 9.41, 0.0044, 0.15), (0.5, 9.89, 0.0024, 0.15)]
    {
        let mut network = alone("bbr2", buffer);
        network.run(60.0);
        assert_near("throughput", network.throughput()[0], throughput, 0.03);
        assert_near("loss", network.loss_ratio(), loss, tolerance);
    }
    // The first version's numbers include its bursts.
    for (buffer, range) in [(0.1, 0.034..=0.046), (0.25, 0.0136..=0.0322), (0.5, 0.002..=0.0046)] {
        let mut network = Network::alone(Path::ten_mbit(buffer), "bbr", json!({}));
        network.run(60.0);
        assert_within("v1", network.loss_ratio(), range);
        assert!(network.throughput()[0] > 9.5);
    }
}

#[test]
fn three_flows_of_v2_lose_a_fraction_of_what_those_of_v1_lose() {
    let (v1, v2, v3) = (Kind::single_packets("bbr"), Kind::single_packets("bbr2"), Kind::single_packets("bbr3"));
    for (buffer, first, second, third) in [(0.5, 0.10, 0.007, 0.018), (1.0, 0.08, 0.004, 0.014)] {
        assert_bracketed("v1", v1.losses(buffer), first, 1.2);
        assert_bracketed("v2", v2.losses(buffer), second, 2.5);
        assert_bracketed("v3", v3.losses(buffer), third, 1.6);
    }
    assert_bracketed("v2 in 2 BDP", v2.losses(2.0), 0.002, 3.0);
    // 0.2 to 0.3 %, where the check has 0.4.
    assert_bracketed("v3 in 2 BDP", v3.losses(2.0), 0.003, 2.5);
    let bursts = Kind { name: "bbr", parameters: json!({}) };
    assert_bracketed("v1 with bursts in 2 BDP", bursts.losses(2.0), 0.025, 1.5);
}

#[test]
fn random_loss_beyond_the_threshold_slows_v2_and_v3_but_not_v1() {
    // The checks give one run each; at 1 to 2 % ours span a sixth to either side of their median.
    for (loss, v2, v3) in [(0.001, 9.7, 9.6), (0.005, 9.2, 8.9), (0.01, 7.0, 6.6), (0.015, 5.8, 5.65), (0.02, 5.5, 4.7)]
    {
        assert_near("v2", with_random_loss("bbr2", loss), v2, 0.17);
        assert_near("v3", with_random_loss("bbr3", loss), v3, 0.17);
    }
    assert_near("v3 at 5 %", with_random_loss("bbr3", 0.05), 2.1, 0.15);
    // Below the floor of four packets, 1.2 Mbit/s, timeouts decide: 1.2 Mbit/s where the check has 0.9.
    assert_within("v3 at 10 %", with_random_loss("bbr3", 0.1), 0.8..=1.25);
    assert_near("v2 at 20 %", with_random_loss("bbr2", 0.2), 0.5, 0.2);
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
    assert_eq!(network.flows[0].view.lost, 0, "no loss from 1.5 BDP on");
}

#[test]
fn v3_loses_less_than_half_a_percent_in_shallow_buffers() {
    for (buffer, throughput, loss) in [(0.1, 8.94, 0.0036), (0.25, 9.56, 0.0039), (0.5, 9.71, 0.0027)] {
        let mut network = alone("bbr3", buffer);
        network.run(60.0);
        assert_near("throughput", network.throughput()[0], throughput, 0.03);
        // A quarter of a BDP: 0.31 %, a few packets in STARTUP less than the check.
        assert_near("loss", network.loss_ratio(), loss, 0.2);
    }
    let mut network = alone("bbr3", 1.0);
    network.run(60.0);
    assert_near("throughput", network.throughput()[0], 9.72, 0.01);
    assert_within("loss", network.loss_ratio(), 0.0003..=0.0007);
}

#[test]
fn v3_keeps_what_was_delivered_when_loss_ends_startup() {
    for (buffer, bound) in [(0.1, 37.0), (0.25, 42.0)] {
        let network = start_up("bbr3", buffer);
        assert_eq!(network.flows[0].value("inflight_hi_packets"), bound, "v2 would keep one BDP, 35");
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
    let ups = network.flows[0].entries("probe_bw_up");
    let mut cycles: Vec<f64> = ups.windows(2).map(|pair| pair[1] - pair[0]).collect();
    cycles.sort_by(f64::total_cmp);
    assert_near("cycle in s", cycles[cycles.len() / 2], 1.72, 0.05);
    // The draft's gain of 0.90 drains a little sooner.
    let mut draft = alone("bbr3-draft", 10.0);
    draft.settle(10.0);
    draft.run(60.0);
    let (draft, linux) = (&draft.flows[0], &network.flows[0]);
    assert!(draft.median_stay_ms("probe_bw_down") < linux.median_stay_ms("probe_bw_down"));
}

#[test]
fn v3_lets_the_window_grow_to_two_and_a_quarter_bdp_in_a_probe() {
    let mut network = alone("bbr3", 10.0);
    network.run(2.0);
    network.run_while(|n| n.flows[0].controller.mode() != "probe_bw_up");
    let mut most = 0;
    while network.flows[0].controller.mode() == "probe_bw_up" {
        network.run(network.now.as_secs_f64() + 0.001);
        most = most.max(network.flows[0].control.cwnd);
    }
    assert_within("window", f64::from(most), 79.0..=82.0);
}

#[test]
fn v3_visits_probe_rtt_every_five_seconds_with_half_a_bdp() {
    let mut network = alone("bbr3", 10.0);
    network.run_while(|n| n.flows[0].controller.mode() != "probe_rtt");
    network.run(network.now.as_secs_f64() + 0.1);
    assert_eq!(network.flows[0].control.cwnd, 18);
    network.run(60.0);
    let entries = network.flows[0].entries("probe_rtt");
    for pair in entries.windows(2) {
        assert_within("time between PROBE_RTTs", pair[1] - pair[0], 5.2..=5.4);
    }
    assert!(entries.len() >= 10);
    assert_within("PROBE_RTT in ms", network.flows[0].median_stay_ms("probe_rtt"), 225.0..=255.0);
    let modes: Vec<&str> = network.flows[0].modes.iter().map(|(_, mode)| mode.as_str()).collect();
    let after: Vec<&str> = modes.windows(2).filter(|pair| pair[0] == "probe_rtt").map(|pair| pair[1]).collect();
    assert!(after.iter().all(|mode| *mode == "probe_bw_cruise"), "{after:?}");
}

#[test]
fn v3_shares_fairly_where_v2_does_not() {
    let (v2, v3) = (Kind::single_packets("bbr2"), Kind::single_packets("bbr3"));
    let larger = |kind: &Kind| {
        let shares = |seed| kind.together(2, 10.0, 50, 40.0, seed).throughput();
        median(|seed| shares(seed).into_iter().fold(0.0, f64::max))
    };
    assert_near("larger share of v2", larger(&v2), 6.5, 0.05);
    assert_near("larger share of v3", larger(&v3), 4.9, 0.05);
    assert_near("queue of two", median(|seed| v3.together(2, 10.0, 50, 10.0, seed).mean_queue()), 36.0, 0.15);
    assert_near("queue of five", median(|seed| v3.together(5, 10.0, 50, 10.0, seed).mean_queue()), 59.0, 0.15);
    for buffer in [0.5, 1.0, 2.0] {
        let spread = median(|seed| {
            let shares = v3.together(3, buffer, 50, 10.0, seed).throughput();
            let mean = shares.iter().sum::<f64>() / 3.0;
            shares.iter().map(|share| (share / mean - 1.0).abs()).fold(0.0, f64::max)
        });
        assert!(spread <= 0.1, "{buffer} BDP: {spread}");
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
    let modes: Vec<&str> = network.flows[0].modes.iter().map(|(_, mode)| mode.as_str()).collect();
    let around: Vec<_> = modes.windows(3).filter(|around| around[1] == "probe_rtt").collect();
    assert!((4..=6).contains(&around.len()), "every ten seconds: {}", around.len());
    for visit in around {
        assert_eq!((visit[0], visit[2]), ("probe_bw_down", "probe_bw_cruise"));
    }
}

#[test]
fn variants_of_v1_differ_by_the_queue_they_keep_alone() {
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
}

/// BBR' as its paper words it: draining has no end but one BDP in flight.
fn strict_prime() -> Kind<'static> {
    let parameters = single_packets_with("bbr-prime", "cycle_policy", json!("strict_drain"));
    Kind { name: "bbr-prime", parameters }
}

#[test]
fn drains_shorten_the_queue_that_competition_leaves() {
    let (v1, hsr) = (Kind::single_packets("bbr"), Kind::single_packets("bbr-plus-hsr"));
    assert_near("BBR, three flows", v1.queue(3), 47.0, 0.15);
    assert_near("BBR, five flows", v1.queue(5), 61.0, 0.15);
    assert_within("BBRPlus", Kind::single_packets("bbrplus").queue(3), 31.0..=43.0);
    assert_near("BBR+", hsr.queue(3), 62.0, 0.15);
    let most = median(|seed| hsr.together(3, 10.0, 250, 10.0, seed).max_queue as f64);
    assert_near("largest queue of BBR+", most, 140.0, 0.15);
    let prime = strict_prime();
    let at_once = |count| median(|seed| prime.together(count, 10.0, 0, 10.0, seed).mean_queue());
    assert_within("BBR', three flows: a third of BBR's", at_once(3), 0.85 * 16.0..=1.15 * 22.0);
    assert_near("BBR', five flows", at_once(5), 25.0, 0.15);
    let network = prime.together(3, 10.0, 0, 10.0, 0);
    assert_eq!(network.loss_ratio(), 0.0);
    assert!(network.throughput().iter().sum::<f64>() > 9.7);
    // The code that the paper ran ends draining when it is time to probe again, and so drains less.
    let code = Kind::single_packets("bbr-prime").queue(3);
    assert_within("BBR' of the code", code, 22.0..=0.65 * 48.0);
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
            let flow = &network.flows[0];
            near += u32::from(flow.view.in_flight() + 3 >= flow.control.cwnd);
        }
        near
    };
    // Not for more than nine tenths of the time, as the check has it: at 0.75 a flow drains a dozen packets in one
    // phase of eight, and needs two more to fill up again.
    assert!(limited(&mut network) > 700);
    let mut v1 = alone("bbr", 10.0);
    v1.run(10.5);
    assert!(limited(&mut v1) < 100);
}

#[test]
fn variants_of_v1_differ_by_their_losses() {
    let v1 = Kind::single_packets("bbr").losses(1.5);
    assert_bracketed("BBR", v1, 0.025, 2.0);
    let prime = Kind::single_packets("bbr-prime").losses(1.5);
    assert!(prime.into_iter().zip(v1).all(|(prime, v1)| prime < 0.5 * v1), "{prime:?} {v1:?}");
    assert_bracketed("BBR+", Kind::single_packets("bbr-plus-hsr").losses(1.5), 0.06, 6.0);
    // The later the flows of Tsunami start, the longer the queue that they take for the propagation delay.
    let late = |kind: &Kind, gap| median(|seed| kind.together(3, 1.5, gap, 10.0, seed).loss_ratio());
    assert_near("Tsunami, paper", late(&Kind::single_packets("tsunami-paper"), 1_000), 0.10, 0.15);
    assert_near("Tsunami, kernel", late(&Kind { name: "tsunami", parameters: json!({}) }, 500), 0.14, 0.15);
}

#[test]
fn drains_make_round_trip_times_matter_less() {
    let ratio = |name| Kind::single_packets(name).rtt_unfairness();
    assert_near("BBR", ratio("bbr"), 6.2, 0.15);
    assert_near("BBRPlus", ratio("bbrplus"), 1.8, 0.15);
    assert_within("BBR'", strict_prime().rtt_unfairness(), 0.85 * 3.3..=1.15 * 3.7);
    assert_near("v2", ratio("bbr2"), 4.7, 0.15);
    // 1.85: a little fairer than the check.
    assert_near("v3", ratio("bbr3"), 2.2, 0.18);
}

#[test]
fn v2_keeps_the_shares_that_the_order_of_starts_gave() {
    // The flow with the longer round-trip time leads where both start at once, and does not where it is 0.3 s late.
    let late = median(|seed| {
        let mut network = Network::seeded(Path::ten_mbit(5.0), seed);
        network.add("bbr2", single_packets("bbr2"), 40, 0);
        network.add("bbr2", single_packets("bbr2"), 100, 300);
        network.settle(20.0);
        network.run(60.0);
        let shares = network.throughput();
        shares[1] / shares[0]
    });
    assert!(late < 0.5 * Kind::single_packets("bbr2").rtt_unfairness(), "{late}");
}

#[test]
fn a_variant_with_the_values_of_its_base_is_its_base() {
    let trace = |name: &str, parameters: Value| {
        let mut network = Network::alone(Path { loss: 0.01, ..Path::ten_mbit(1.0) }, name, parameters);
        network.run(15.0);
        let flow = &network.flows[0];
        (flow.modes.clone(), flow.view.delivered, flow.view.lost, flow.control.cwnd, flow.control.pacing_rate)
    };
    for variant in catalog().entries() {
        let Some(base) = variant.base() else { continue };
        let values = catalog().find(base).and_then(|entry| entry.parameters(&Default::default()));
        let values = Value::Object(values.expect("a registered name"));
        assert_eq!(trace(variant.name(), values), trace(base, json!({})), "{}", variant.name());
    }
    assert_ne!(trace("tsunami", json!({})), trace("bbr-4.14", json!({})), "the comparison sees differences");
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

/// Whether an algorithm is a BBR, or a variant of one however many steps away.
fn is_bbr(entry: &Entry) -> bool {
    match entry.base() {
        Some(base) => is_bbr(catalog().find(base).expect("a base is registered")),
        None => entry.name().starts_with("bbr"),
    }
}

#[test]
fn every_variant_fills_a_clean_path_and_survives_a_bad_one() {
    for entry in catalog().entries().filter(|entry| is_bbr(entry)) {
        let name = entry.name();
        let mut clean = Network::alone(Path::ten_mbit(2.0), name, json!({}));
        clean.run(20.0);
        assert!(clean.throughput()[0] > 9.2, "{name}: {:?}", clean.throughput());
        let path = Path { loss: 0.3, ..Path::ten_mbit(0.2) };
        let mut bad = Network::alone(path, name, json!({}));
        bad.run(20.0);
        assert!(bad.throughput()[0] > 0.05, "{name}: {:?}", bad.throughput());
        assert!(bad.flows[0].control.cwnd >= 1 && bad.flows[0].control.pacing_rate > 0, "{name}");
    }
}
