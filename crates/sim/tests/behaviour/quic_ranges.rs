//! QUIC over a path that reorders and drops nothing: what is acknowledged in ranges is not taken for lost.

use crate::lab::{Run, run as run_text};

/// A quarter of the packets skip a delay of 5 ms. No packet is later than 9/8 of the round trip of 50 ms.
fn run(rate: &str, reordered: &str, quic: &str) -> Run {
    run_text(&format!(
        r#"
        duration = "10s"
        links = [
            {{ name = "wan", from = "a", to = "b", rate = "{rate}", delay = "22.5ms", buffer = "4bdp" }},
            {{ name = "late", from = "b", to = "c", rate = "unlimited", delay = "5ms",
               reorder = {{ probability = "{reordered}", correlation = "50%" }},
               reverse = {{ rate = "unlimited", delay = "0ms" }} }},
        ]
        [[flows]]
        from = "a"
        to = "c"
        cc = "bbr-quic"
        transport = {{ profile = "quic", quic = {{ {quic} }} }}
        "#
    ))
}

const NO_THRESHOLD: &str = "packet_threshold = 100000";

#[test]
fn without_a_packet_threshold_nothing_that_is_late_is_lost() {
    for rate in ["2mbit", "10mbit", "50mbit"] {
        let (ordered, reordered) = (run(rate, "0%", NO_THRESHOLD), run(rate, "25%", NO_THRESHOLD));
        assert_eq!(reordered.flow("lost_total", 0), 0.0, "{rate}");
        let ratio = reordered.flow("goodput_mbps", 0) / ordered.flow("goodput_mbps", 0);
        assert!((0.98..1.02).contains(&ratio), "{rate}: {ratio}");
    }
    // More ranges are open at once than an ACK carries.
    let fast = run("200mbit", "25%", NO_THRESHOLD);
    assert!(fast.flow("lost_total", 0) < 0.001 * fast.flow("sent_total", 0));
}

#[test]
fn a_larger_packet_threshold_loses_less() {
    let runs = [3, 10, 30, 100_000].map(|packets| run("50mbit", "25%", &format!("packet_threshold = {packets}")));
    let lost = runs.each_ref().map(|run| run.flow("lost_total", 0));
    let goodput = runs.each_ref().map(|run| run.flow("goodput_mbps", 0));
    assert!(lost.is_sorted_by(|less, more| less >= more), "{lost:?}");
    assert!(goodput.is_sorted_by(|less, more| *less <= 1.001 * more), "{goodput:?}");
    // The network drops nothing: whatever was declared lost arrives, but for what the end of the run cuts off.
    assert!(runs[0].flow("spurious_losses_total", 0) > 0.95 * lost[0]);
}

#[test]
fn an_ack_of_three_ranges_tells_too_little() {
    let few = run("50mbit", "25%", &format!("{NO_THRESHOLD}, ack_ranges = 3"));
    assert!(few.flow("lost_total", 0) > 0.0);
}
