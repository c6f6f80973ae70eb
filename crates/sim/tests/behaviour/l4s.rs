//! Prague behind a coupled queue (DualPI2), with ECT(1) and accurate ECN: low delay for itself, its share for others.

use crate::lab::{Run, assert_between, mean, run};

/// Flows behind DualPI2, measured from 20 s to 60 s; the buffer is too large to matter.
fn coupled(rate: &str, rtt: &str, flows: &str) -> Run {
    run(&format!(
        r#"
        duration = "60s"
        warmup = "20s"
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
            let run = coupled(rate, "20ms", &format!(r#"{{ cc = "prague", transport = "{transport}" }}"#));
            let rate_mbps: f64 = rate.trim_end_matches("mbit").parse().unwrap();
            let delay_ms = run.link("mean_queue_bytes", 0) * 8.0 / rate_mbps / 1e3;
            assert!(delay_ms < 1.5, "{transport}: {delay_ms} ms at {rate}");
            assert!(run.link("utilization", 0) > 0.95, "{transport}: {} at {rate}", run.link("utilization", 0));
            assert_eq!(run.flow("retransmits", 0), 0.0, "{transport} at {rate}");
        }
    }
}

/// Of `count` Prague flows and as many of CUBIC.
fn ratio(rate: &str, rtt: &str, count: usize) -> f64 {
    let flow = |cc: &str| format!(r#"{{ cc = "{cc}", count = {count}, start_jitter = "100ms" }}"#);
    let run = coupled(rate, rtt, &[flow("prague"), flow("cubic")].join(", "));
    let goodputs = run.flows("goodput_mbps");
    let (prague, cubic) = goodputs.split_at(count);
    mean(prague) / mean(cubic)
}

/// With few flows on a long path the probability follows single losses of CUBIC, and the ratio exceeds the range: see
/// `docs/algorithms/classic.md`.
#[test]
fn prague_beside_cubic_gets_between_two_thirds_and_one_and_a_half_of_its_rate() {
    for rtt in ["5ms", "10ms", "20ms", "50ms", "100ms"] {
        assert_between(&format!("8 and 8 at {rtt}"), ratio("100mbit", rtt, 8), 0.67..=1.5);
    }
    for rtt in ["10ms", "20ms", "50ms"] {
        assert_between(&format!("1 and 1 at {rtt}"), ratio("20mbit", rtt, 1), 0.67..=1.5);
    }
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
