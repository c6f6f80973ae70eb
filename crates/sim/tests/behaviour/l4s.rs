//! Prague behind a coupled queue (DualPI2), with ECT(1) and accurate ECN: low delay for itself, its share for others.

use crate::lab::{Run, assert_between, first_half_over_second, mean, run};
use std::slice;

/// Flows behind DualPI2, measured from 20 s to 60 s; the buffer is too large to matter.
fn coupled(seed: u64, rate: &str, rtt: &str, flows: &str) -> Run {
    run(&format!(
        r#"
        duration = "60s"
        warmup = "20s"
        seed = {seed}
        record.series = false
        path = {{ rate = "{rate}", rtt = "{rtt}", buffer = "10000packets", queue = "dualpi2" }}
        flows = [{flows}]
        "#
    ))
}

#[test]
fn prague_alone_keeps_the_l4s_queue_below_a_millisecond_and_a_half() {
    for transport in ["tcp", "quic"] {
        for rate in ["10mbit", "40mbit", "100mbit"] {
            let run = coupled(1, rate, "20ms", &format!(r#"{{ cc = "prague", transport = "{transport}" }}"#));
            let rate_mbps: f64 = rate.trim_end_matches("mbit").parse().unwrap();
            let delay_ms = run.link("mean_queue_bytes", 0) * 8.0 / rate_mbps / 1e3;
            assert!(delay_ms < 1.5, "{transport}: {delay_ms} ms at {rate}");
            assert!(run.link("utilization", 0) > 0.95, "{transport}: {} at {rate}", run.link("utilization", 0));
            assert_eq!(run.flow("retransmits", 0), 0.0, "{transport} at {rate}");
        }
    }
}

/// Of `count` Prague flows and as many of CUBIC, over three seeds: single runs differ by a twentieth.
fn ratio(rate: &str, rtt: &str, count: usize) -> f64 {
    let flow = |cc: &str| format!(r#"{{ cc = "{cc}", count = {count}, start_jitter = "100ms" }}"#);
    let flows = [flow("prague"), flow("cubic")].join(", ");
    first_half_over_second(&[1, 2, 3].map(|seed| coupled(seed, rate, rtt, &flows)))
}

/// Where there are many flows, or few with small windows; the others are below.
#[test]
fn prague_beside_cubic_gets_between_two_thirds_and_one_and_a_half_of_its_rate() {
    for rtt in ["5ms", "10ms", "20ms", "50ms", "100ms"] {
        assert_between(&format!("8 and 8 at {rtt}"), ratio("100mbit", rtt, 8), 0.67..=1.5);
    }
    for rtt in ["10ms", "20ms", "50ms"] {
        assert_between(&format!("1 and 1 at {rtt}"), ratio("20mbit", rtt, 1), 0.67..=1.5);
    }
}

/// The rate of Prague over that of Reno-like CUBIC by their window laws, with so many flows of each: Prague has n = (1
/// − m) + √((1 − m)² + 2(1 − m)) marks a virtual round trip at a share m of marks, CUBIC √(3/(2p)) packets a round
/// trip, which is longer by the 15 ms of its queue, and m = 2√p.
fn ratio_by_law(mbps: f64, rtt_ms: f64, count: f64) -> f64 {
    let packets_per_ms = mbps / 12.0;
    let rates = |marks: f64| {
        let unmarked = 1.0 - marks;
        let in_a_round = unmarked + f64::sqrt(unmarked * unmarked + 2.0 * unmarked);
        (in_a_round / marks / rtt_ms.max(25.0), f64::sqrt(1.5) / (marks / 2.0) / (rtt_ms + 15.0))
    };
    let (mut low, mut high) = (1e-6_f64, 1.0);
    for _ in 0..100 {
        let marks = f64::sqrt(low * high);
        let (prague, cubic) = rates(marks);
        if count * (prague + cubic) > packets_per_ms { low = marks } else { high = marks }
    }
    let (prague, cubic) = rates(low);
    prague / cubic
}

#[test]
fn many_flows_share_as_the_laws_of_both_windows_say() {
    for rtt_ms in [5, 10, 20, 50, 100_u32] {
        let law = ratio_by_law(100.0, f64::from(rtt_ms), 8.0);
        let measured = ratio("100mbit", &format!("{rtt_ms}ms"), 8);
        assert!((measured / law - 1.0).abs() < 0.1, "{rtt_ms} ms: {measured} and {law}");
    }
}

/// With few flows p follows the single losses of CUBIC, whose queue runs empty: the mean of p² exceeds the square of
/// the mean, and CUBIC loses more than Prague is marked for. A controller with a tenth of the gains holds p steady.
#[test]
fn few_flows_share_so_too_where_the_probability_is_steady() {
    let ratio = |queue: &str, rtt_ms: u32, seed: u64| {
        let run = run(&format!(
            r#"
            duration = "400s"
            warmup = "60s"
            seed = {seed}
            record.series = false
            path = {{ rate = "40mbit", rtt = "{rtt_ms}ms", buffer = "10000packets", queue = {{ kind = "dualpi2"{queue} }} }}
            flows = [{{ cc = "prague", count = 2, start_jitter = "100ms" }}, {{ cc = "cubic", count = 2, start_jitter = "100ms" }}]
            "#
        ));
        // What p is in the mean over what it would have to be for the losses of CUBIC.
        let losses = run.flows("network_drops")[2..].iter().sum::<f64>() / run.flows("sent")[2..].iter().sum::<f64>();
        let marks = run.link("marks", 0) / run.flows("sent")[..2].iter().sum::<f64>();
        (first_half_over_second(slice::from_ref(&run)), marks / losses.sqrt())
    };
    for rtt_ms in [20, 50] {
        let law = ratio_by_law(40.0, f64::from(rtt_ms), 2.0);
        let (steady, coupling) = ratio(", alpha = 0.016, beta = 0.32", rtt_ms, 1);
        assert!((steady / law - 1.0).abs() < 0.1 && coupling > 1.85, "{rtt_ms} ms: {steady}, {law}, k {coupling}");
    }
    let (ratios, couplings): (Vec<f64>, Vec<f64>) = (1..=3).map(|seed| ratio("", 50, seed)).unzip();
    let (with_defaults, coupling) = (mean(&ratios), mean(&couplings));
    assert!(with_defaults > 1.1 * ratio_by_law(40.0, 50.0, 2.0) && coupling < 1.75, "{with_defaults}, k {coupling}");
}

/// Without a fall-back Prague takes nearly all of a single queue that marks for classic senders.
#[test]
fn behind_a_single_queue_that_marks_classically_the_fall_back_lets_cubic_live() {
    let share = |prague: &str| {
        let run = run(&format!(
            r#"
            duration = "60s"
            warmup = "20s"
            record.series = false
            path = {{ rate = "40mbit", rtt = "20ms", buffer = "1000packets", queue = {{ kind = "codel", ecn = true }} }}
            flows = [{{ cc = {prague} }}, {{ cc = "cubic", transport.ecn = true }}]
            "#
        ));
        run.flow("goodput_mbps", 0) / run.flow("goodput_mbps", 1)
    };
    let without = share(r#""prague""#);
    let with = share(r#"{ name = "prague", classic_fallback = true }"#);
    assert!(without > 4.0, "{without}");
    assert_between("with the fall-back", with, 0.4..=2.5);
}
