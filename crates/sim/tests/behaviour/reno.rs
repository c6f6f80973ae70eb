//! Reno's window on a simulated path: the square-root law, the sawtooth, its buffer and its fairness.

use crate::lab::{assert_between, assert_near, mean, run};

/// Mean window under independent losses, over three seeds.
fn window_under_loss(loss: f64, seconds: u32) -> f64 {
    let window = |seed: u32| {
        run(&format!(
            r#"
            duration = "{seconds}s"
            warmup = "20s"
            seed = {seed}
            record.series = false
            path = {{ rate = "1gbit", rtt = "100ms", loss = {loss} }}
            flows = [{{ cc = "reno" }}]
            "#
        ))
        .mean_window(0)
    };
    mean(&[window(1), window(2), window(3)])
}

/// W = √(3/(2p)) holds for periodic losses; independent ones give up to √(1.7/p), 7 % more. Some hundred of them give
/// the mean to a few percent.
#[test]
fn the_window_follows_the_square_root_law_of_loss() {
    for (loss, expected, seconds) in [(1e-2, 12.2, 300), (1e-3, 38.7, 500), (1e-4, 122.5, 700)] {
        assert_near(&format!("window at a loss of {loss}"), window_under_loss(loss, seconds), expected, 0.15);
    }
}

/// A fluid sawtooth between W/2 and W keeps a link with a buffer of `b` BDP busy for this share of time.
fn sawtooth_utilization(b: f64) -> f64 {
    if b >= 1.0 {
        return 1.0;
    }
    let full = b * (1.0 + b / 2.0);
    ((1.0 - b) * (3.0 + b) / 8.0 + full) / ((1.0 - b) / 2.0 + full)
}

#[test]
fn utilization_depends_on_the_buffer_as_a_sawtooth_of_one_half_demands() {
    let bdp_packets = 10e6 * 0.1 / 12_000.0;
    for packets in [2.0, 10.0, 21.0, 42.0, 84.0, 168.0] {
        let run = run(&format!(
            r#"
            duration = "150s"
            warmup = "50s"
            record.series = false
            path = {{ rate = "10mbit", rtt = "100ms", buffer = "{packets}packets" }}
            flows = [{{ cc = "reno" }}]
            "#
        ));
        let utilization = run.link("utilization", 0);
        assert_near(
            &format!("utilization with {packets} packets"),
            utilization,
            sawtooth_utilization(packets / bdp_packets),
            0.02,
        );
    }
}

/// In avoidance the window grows by one segment per round trip, whether the receiver acknowledges every segment or
/// every fourth.
#[test]
fn the_window_grows_by_one_segment_per_round_trip_whatever_the_ack_ratio() {
    for ack_every in [1, 2, 4] {
        let run = run(&format!(
            r#"
            duration = "60s"
            record.interval = "10ms"
            transport.ack_every = {ack_every}
            path = {{ rate = "20mbit", rtt = "100ms", buffer = "0.5bdp" }}
            flows = [{{ cc = "reno" }}]
            "#
        ));
        let series = run.series(0);
        let (cwnd, srtt) = (series.number("cwnd"), series.number("srtt_ms"));
        let mut slopes = Vec::new();
        for (state, rows) in series.episodes("ca_state") {
            if state == "open" && rows.len() > 300 && series.t[rows.start] > 5.0 {
                let round_trips: f64 = srtt[rows.clone()].iter().map(|srtt| 10.0 / srtt).sum();
                slopes.push((cwnd[rows.end - 1] - cwnd[rows.start]) / round_trips);
            }
        }
        assert!(slopes.len() >= 2, "too few sawteeth");
        assert_near(&format!("slope with an ACK every {ack_every}"), mean(&slopes), 1.0, 0.05);
    }
}

#[test]
fn a_fast_retransmit_halves_the_window() {
    let run = run(r#"
        duration = "100s"
        record.interval = "1ms"
        path = { rate = "10mbit", rtt = "80ms", buffer = "1bdp" }
        flows = [{ cc = "reno" }]
        "#);
    let series = run.series(0);
    let (cwnd, ssthresh) = (series.number("cwnd"), series.number("ssthresh"));
    let mut halvings = 0;
    let episodes = series.episodes("ca_state");
    for pair in episodes.windows(2) {
        let ((_, before), (state, recovery)) = (&pair[0], &pair[1]);
        if *state == "recovery" && series.t[recovery.start] > 10.0 && recovery.end < cwnd.len() {
            let half = ssthresh[recovery.start];
            // Within the millisecond of a sample the window may have grown by one.
            assert_between("twice the half", 2.0 * half - cwnd[before.end - 1], -1.0..=1.0);
            assert_between("window at the exit", cwnd[recovery.end] - half, 0.0..=1.0);
            halvings += 1;
        }
    }
    assert!(halvings >= 4, "only {halvings} recoveries");
    assert_eq!(run.flow("rto_count_total", 0), 0.0);
}

#[test]
fn two_flows_with_the_same_round_trip_time_share_equally() {
    let run = run(r#"
        duration = "150s"
        warmup = "30s"
        record.series = false
        path = { rate = "10mbit", rtt = "50ms", buffer = "1bdp" }
        flows = [{ cc = "reno", count = 2, stagger = "3s" }]
        "#);
    assert!(run.jain() > 0.95, "{:?}", run.flows("goodput_mbps"));
}

/// Independent losses give throughputs in the ratio of the round-trip times; the synchronised losses of a full
/// drop-tail queue the square of it.
#[test]
fn the_shorter_round_trip_wins_between_proportionally_and_quadratically() {
    let run = run(r#"
        duration = "400s"
        warmup = "100s"
        record.series = false
        path = { rate = "20mbit", rtt = "20ms", buffer = "1bdp" }
        flows = [{ cc = "reno" }, { cc = "reno", rtt = "80ms" }]
        "#);
    let ratio = run.flow("goodput_mbps", 0) / run.flow("goodput_mbps", 1);
    assert_between("ratio of goodputs", ratio, 4.0..=16.0);
}

/// Behind a short queue half the window leaves the link idle after each mark. A share of 0.8 (0.85 for CUBIC) does so
/// less, whatever the transport, and changes nothing where losses are the reason (RFC 8511).
#[test]
fn a_smaller_reduction_for_marks_uses_more_of_a_link_with_a_short_queue() {
    let utilization = |cc: &str, beta_ecn: Option<f64>, transport: &str, marks: bool| {
        let beta = beta_ecn.map_or_else(String::new, |beta| format!(", beta_ecn = {beta}"));
        let run = run(&format!(
            r#"
            duration = "120s"
            warmup = "20s"
            record.series = false
            path = {{ rate = "20mbit", rtt = "100ms", buffer = "1bdp", queue = {{ kind = "codel", ecn = {marks} }} }}
            flows = [{{ cc = {{ name = "{cc}"{beta} }}, transport = {{ profile = "{transport}", ecn = true }} }}]
            "#
        ));
        let counted = [run.link("marks", 0), run.link("drops_aqm", 0)];
        assert!(counted[usize::from(!marks)] > 5.0 && counted[usize::from(marks)] == 0.0, "{cc}, {counted:?}");
        run.link("utilization", 0)
    };
    for (cc, beta) in [("reno", 0.8), ("cubic", 0.85), ("cubic-rfc", 0.85)] {
        for transport in ["tcp", "quic"] {
            let [plain, abe] = [None, Some(beta)].map(|beta| utilization(cc, beta, transport, true));
            assert!(abe > plain + 0.01, "{cc} over {transport}: {abe}, and {plain} without");
            let [plain, abe] = [None, Some(beta)].map(|beta| utilization(cc, beta, transport, false));
            assert_eq!(plain, abe, "{cc} over {transport}: losses are losses");
        }
    }
}
