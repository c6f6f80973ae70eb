//! Probes and calls.

use crate::lab::{Run, assert_between, assert_near, run};

/// Loss, delay and frames of the flows of datagrams: a row of the table.
fn row(run: &Run, row: usize) -> impl Fn(&str) -> f64 {
    move |column| run.datagrams(column)[row]
}

#[test]
fn a_probe_measures_the_path_that_it_shares_and_takes_next_to_nothing_of_it() {
    let run = run(r#"
        duration = "30s"
        warmup = "5s"
        path = { rate = "20mbit", rtt = "40ms", buffer = "1bdp", reverse = "symmetric" }
        flows = [{ cc = "cubic" }, { transport = "probe" }, { transport = "probe", direction = "down" }]
    "#);
    let (there, back) = (row(&run, 0), row(&run, 1));
    // 125 probes in 25 s, each of which crosses the queue once, there or on its way back.
    assert_near("probes", there("sent"), 125.0, 0.01);
    for probe in [&there, &back] {
        assert_near("what CUBIC sees", probe("mean_rtt_ms"), run.flow("mean_rtt_ms", 0), 0.05);
        assert_eq!(probe("min_rtt_ms"), run.flow("min_rtt_ms", probe("flow") as usize));
    }
    assert!(there("p95_one_way_ms") > 40.0 && back("p95_one_way_ms") < 20.5, "queue one way only");
    assert_near("bytes of probes", run.flow("throughput_mbps", 1), 92.0 * 8.0 * 5.0 / 1e6, 0.01);
    let series = run.series(1);
    assert!(series.during("rtt_ms", 6.0..29.0).iter().filter(|rtt| !rtt.is_nan()).count() > 110);
}

#[test]
fn what_no_controller_governs_has_no_window_and_no_smoothed_round_trip() {
    let run = run(r#"
        duration = "3s"
        path = { rate = "5mbit", rtt = "20ms" }
        flows = [
            { transport = "probe" },
            { transport = "udp", rate = "1mbit" },
            { transport = "real-time" },
            { cc = "cubic" },
        ]
    "#);
    let governed = [
        "cwnd",
        "ssthresh",
        "inflight",
        "pacing_mbps",
        "srtt_ms",
        "min_rtt_ms",
        "acked_total",
        "sacked",
        "packets_out",
    ];
    for flow in 0..3 {
        let series = run.series(flow);
        for column in governed {
            assert!(series.during(column, 0.5..3.0).iter().all(|value| value.is_nan()), "{column} of {flow}");
        }
        for column in ["sent_total", "goodput_mbps", "received_mbps"] {
            assert!(series.during(column, 1.0..3.0).iter().all(|value| !value.is_nan()), "{column} of {flow}");
        }
    }
    let cubic = run.series(3);
    assert!(cubic.during("srtt_ms", 0.5..3.0).iter().all(|&srtt| srtt >= 20.0));
}

#[test]
fn a_probe_knows_its_losses_on_both_ways() {
    let run = run(r#"
        duration = "400s"
        path = { rate = "20mbit", rtt = "40ms", loss = "5%", reverse = { loss = "10%" } }
        flows = [
            { transport = { profile = "probe", probe = { interval = "20ms" } } },
            { transport = { profile = "probe", probe = { interval = "20ms", answers = false } } },
            { transport = "udp", rate = "1mbit" },
        ]
    "#);
    assert_near("lost there or back", row(&run, 0)("loss"), 1.0 - 0.95 * 0.9, 0.05);
    for one_way in [1, 2] {
        assert_near("lost there", row(&run, one_way)("loss"), 0.05, 0.1);
        assert!(row(&run, one_way)("mean_rtt_ms").is_nan(), "nothing comes back");
        assert_between("one way", row(&run, one_way)("p99_one_way_ms"), 20.0..=21.0);
    }
}

#[test]
fn during_an_outage_probes_are_lost_and_afterwards_they_are_not() {
    let run = run(r#"
        duration = "40s"
        record.interval = "200ms"
        path = { rate = [["0s", "1mbit"], ["10s", "0bit"], ["18s", "1mbit"]], rtt = "20ms", buffer = "10packets" }
        flows = [{ transport = "probe" }]
    "#);
    // Ten wait until the link is there again.
    assert_eq!(run.flow("lost", 0), 30.0);
    assert_eq!(run.flow("network_drops", 0), 30.0);
    assert!(run.series(0).during("rtt_ms", 11.0..17.9).iter().all(|rtt| rtt.is_nan()), "no answer, no value");
}

/// A call of up to 2.5 Mbit/s beside a CUBIC flow over 10 Mbit/s with this queue.
fn call_beside_cubic(queue: &str) -> Run {
    run(&format!(
        r#"
        duration = "120s"
        warmup = "20s"
        path = {{ rate = "10mbit", rtt = "40ms", queue = {queue} }}
        flows = [{{ transport = {{ profile = "real-time", real_time = {{ max_rate = "2.5mbit" }} }} }}, {{ cc = "cubic" }}]
        "#
    ))
}

#[test]
fn a_call_suffers_beside_cubic_in_one_queue_and_not_where_flows_have_their_own() {
    let (shared, fair) = (call_beside_cubic(r#""droptail", buffer = "2bdp""#), call_beside_cubic(r#""fq_codel""#));
    let (bad, good) = (row(&shared, 0), row(&fair, 0));
    assert_near("frames", good("frames"), 3_000.0, 0.005);
    assert!(good("rate_mbps") > 2.0 && bad("rate_mbps") < 1.0, "{} and {}", good("rate_mbps"), bad("rate_mbps"));
    assert!(
        good("p99_frame_ms") < 80.0 && bad("p99_frame_ms") > 90.0,
        "{} and {}",
        good("p99_frame_ms"),
        bad("p99_frame_ms")
    );
    assert!(good("late_frames") == 0.0 && good("lost_frames") == 0.0);
    assert_eq!(bad("flow"), 0.0);
}

#[test]
fn a_call_follows_a_link_that_becomes_narrow_and_wide_again() {
    let run = run(r#"
        duration = "120s"
        record.interval = "1s"
        path = { rate = [["0s", "4mbit"], ["40s", "1mbit"], ["80s", "4mbit"]], rtt = "50ms", buffer = "300ms" }
        flows = [{ transport = { profile = "real-time", real_time = { max_rate = "2.5mbit", fps = 60 } } }]
    "#);
    let series = run.series(0);
    let mean = |from: f64, to: f64| crate::lab::mean(series.during("goodput_mbps", from..to));
    assert_between("at first", mean(30.0, 40.0), 2.4..=2.55);
    assert_between("while it is narrow", mean(60.0, 80.0), 0.7..=0.98);
    assert_between("afterwards", mean(110.0, 120.0), 2.3..=2.55);
    assert!(row(&run, 0)("frames") > 7_000.0);
}
