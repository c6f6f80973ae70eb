//! The most telling differences within the BBR family, with a whole transport around the controllers. The complete list
//! of checks runs against a smaller model, in `crates/cc/tests/family`.
//!
//! 10 Mbit/s and 40 ms, a BDP of 34 packets with the transmission of one; ACKs for every packet and Linux's bursts.

use crate::lab::{Run, assert_between, assert_near, mean, run};

/// `count` flows over a buffer of so many BDP.
fn flows(cc: &str, count: u32, buffer: &str, seconds: u32) -> Run {
    let stagger = if count > 1 { r#", stagger = "100ms""# } else { "" };
    run(&format!(
        r#"
        duration = "{seconds}s"
        warmup = "1s"
        record.interval = "4ms"
        transport.ack_every = 1
        path = {{ rate = "10mbit", rtt = "40ms", buffer = "{buffer}" }}
        flows = [{{ cc = {cc}, count = {count}{stagger} }}]
        "#
    ))
}

/// Throughput of a flow with random loss, Mbit/s.
fn with_loss(cc: &str, loss: &str) -> f64 {
    let run = run(&format!(
        r#"
        duration = "20s"
        warmup = "2s"
        record.series = false
        path = {{ rate = "10mbit", rtt = "40ms", buffer = "4bdp", loss = "{loss}" }}
        flows = [{{ cc = "{cc}" }}]
        "#
    ));
    run.flow("goodput_mbps", 0)
}

#[test]
fn loss_ends_startup_and_bounds_what_is_in_flight() {
    for (cc, bound) in [(r#""bbr2""#, 33.0..=36.0), (r#""bbr3""#, 33.0..=60.0)] {
        let run = flows(cc, 1, "0.5bdp", 2);
        let series = run.series(0);
        let out = series.name("mode").iter().position(|mode| *mode != "startup").unwrap();
        assert_between("end of STARTUP", series.t[out], 0.2..=0.42);
        assert_between("inflight_hi", series.number("cc_inflight_hi_packets")[out], bound);
    }
    let run = flows(r#""bbr3""#, 1, "2bdp", 2);
    assert_eq!(run.flow("network_drops_total", 0), 0.0, "version 3's window of two BDP fits");
}

#[test]
fn versions_2_and_3_lose_a_fraction_of_what_version_1_loses_in_shallow_buffers() {
    let loss = |cc| {
        let run = flows(cc, 3, "1bdp", 12);
        run.flows("network_drops").iter().sum::<f64>() / run.flows("sent").iter().sum::<f64>()
    };
    let (v1, v2, v3) = (loss(r#""bbr""#), loss(r#""bbr2""#), loss(r#""bbr3""#));
    assert!(v1 > 0.05, "{v1}");
    assert!(v2 < v1 / 5.0 && v3 < v1 / 3.0, "{v1} {v2} {v3}");
}

#[test]
fn version_3_probes_for_three_rounds_and_version_2_for_one() {
    let length = |cc| {
        let run = flows(cc, 1, "10bdp", 5);
        let series = run.series(0);
        let ups: Vec<f64> = series
            .episodes("mode")
            .iter()
            .filter(|(mode, rows)| *mode == "probe_bw_up" && rows.end < series.t.len())
            .map(|(_, rows)| series.t[rows.end] - series.t[rows.start])
            .collect();
        mean(&ups)
    };
    assert_between("UP of version 2", length(r#""bbr2""#), 0.037..=0.055);
    assert_between("UP of version 3", length(r#""bbr3""#), 0.14..=0.17);
}

#[test]
fn version_3_visits_probe_rtt_every_five_seconds_with_half_a_bdp() {
    let run = flows(r#""bbr3""#, 1, "10bdp", 17);
    let series = run.series(0);
    let entries = series.entries("mode", "probe_rtt");
    assert_eq!(entries.len(), 3);
    for pair in entries.windows(2) {
        assert_between("between PROBE_RTTs", pair[1] - pair[0], 5.1..=5.4);
    }
    let windows = series.during("cwnd", entries[1] + 0.1..entries[1] + 0.2);
    assert_near("window", mean(windows), 18.0, 0.06);
}

#[test]
fn random_loss_stops_version_2_beyond_its_threshold_and_not_version_1() {
    assert!(with_loss("bbr2", "0.1%") > 9.0);
    assert!(with_loss("bbr2", "5%") < 4.0);
    assert!(with_loss("bbr", "5%") > 8.0);
}

#[test]
fn tsunami_is_limited_by_its_window_and_version_1_by_its_rate() {
    let limited = |cc| {
        let run = flows(cc, 1, "10bdp", 8);
        let series = run.series(0);
        let rows = series.rows(2.0..8.0);
        let (cwnd, inflight) = (&series.number("cwnd")[rows.clone()], &series.number("inflight")[rows]);
        let near = cwnd.iter().zip(inflight).filter(|(cwnd, inflight)| *inflight + 3.0 >= **cwnd).count();
        near as f64 / cwnd.len() as f64
    };
    assert!(limited(r#""tsunami""#) > 0.7);
    assert!(limited(r#""bbr""#) < 0.05);
}

#[test]
fn draining_to_the_end_leaves_a_third_of_the_queue() {
    let queue = |cc| {
        let run = flows(cc, 3, "10bdp", 12);
        mean(run.link_series(0).during("queue_packets", 4.0..10.0))
    };
    let v1 = queue(r#""bbr""#);
    let (words, code) = (queue(r#"{ name = "bbr-prime", cycle_policy = "strict_drain" }"#), queue(r#""bbr-prime""#));
    // The code that the paper ran gives up draining when it is time to probe.
    assert!(words < v1 / 3.0 && words < code && code < 0.6 * v1, "{words} {code} {v1}");
}

#[test]
fn marks_hold_the_queue_at_the_threshold() {
    // A flow that starts into a queue sees more than the 5 ms up to which marks count, until the first PROBE_RTT.
    let queue = |cc: &str, ecn: bool| {
        let run = run(&format!(
            r#"
            duration = "9s"
            warmup = "6s"
            record.series = false
            path = {{ rate = "100mbit", rtt = "2ms", buffer = "200packets", queue = {{ kind = "threshold", threshold = "10packets" }} }}
            flows = [{{ cc = {{ name = "{cc}", ecn = {ecn} }}, count = 4, start_jitter = "100ms" }}]
            "#
        ));
        assert_eq!(run.flows("network_drops").iter().sum::<f64>(), 0.0);
        assert!(run.flows("goodput_mbps").iter().sum::<f64>() > 94.0);
        run.link("mean_queue_bytes", 0) / 1_500.0
    };
    for cc in ["bbr2", "bbr3"] {
        assert_between("queue with marks", queue(cc, true), 6.0..=13.0);
        assert!(queue(cc, false) > 25.0);
    }
}
