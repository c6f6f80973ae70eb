//! What no run may show, whatever its experiment, in the cases in which it was once seen: a round trip shorter than the
//! path's, goodput that is not what was read. `tests/fuzz` draws experiments that look for more.

use crate::lab::run;

/// A round trip that takes longer than the first SYN waits for its answer, so that a second one leaves.
#[test]
fn the_answer_to_the_first_syn_measures_its_own_round_trip_and_not_that_of_the_second() {
    for (transport, shortest_ms) in [("tcp", 1_300.0), ("quic", 1_300.0)] {
        let run = run(&format!(
            r#"
            duration = "10s"
            transport = "{transport}"
            path = {{ rate = "10mbit", rtt = "1300ms" }}
            flows = [{{ cc = "bbr" }}]
            "#
        ));
        let least = run.series(0).number("min_rtt_ms").iter().copied().fold(f64::INFINITY, f64::min);
        assert!((shortest_ms..shortest_ms + 2.0).contains(&least), "{transport}: {least} ms");
    }
}

/// Paced flows on slow paths that drop much: their timeouts do not wait for their turn.
#[test]
fn what_a_timeout_sends_in_spite_of_pacing_measures_the_whole_round_trip() {
    for (cc, rate, loss) in [("bbr", "200kbit", "0%"), ("bbr2", "500kbit", "35%")] {
        for seed in 1..=10 {
            let run = run(&format!(
                r#"
                duration = "30s"
                seed = {seed}
                record.series = false
                path = {{ rate = "{rate}", rtt = "100ms", buffer = "2packets", loss = "{loss}" }}
                flows = [{{ cc = "{cc}", count = 4 }}]
                "#
            ));
            // The timestamp option counts whole milliseconds.
            let least = run.flows("min_rtt_ms").into_iter().fold(f64::INFINITY, f64::min);
            assert!(least >= 100.0, "{cc}, seed {seed}: {least} ms");
        }
    }
}

/// Goodput counts what the application reads in the measured interval, as a receiver's application would. Data that
/// arrived before it behind a gap, and is read when the gap is filled, comes on top of what the link carries meanwhile.
#[test]
fn goodput_counts_what_is_read_and_throughput_what_the_link_carries() {
    let goodput = |seed: u64| {
        let run = run(&format!(
            r#"
            duration = "2.5s"
            warmup = "2s"
            seed = {seed}
            record.series = false
            path = {{ rate = "2mbit", rtt = "60ms", buffer = "40packets", loss = "3%" }}
            flows = [{{ cc = "cubic" }}]
            "#
        ));
        let one_packet_mbps = 1_500.0 * 8e-6 / 0.5;
        assert!(run.flow("throughput_mbps", 0) <= 2.0 + one_packet_mbps);
        assert!(run.flow("delivered_bytes_total", 0) <= run.flow("throughput_bytes_total", 0));
        run.flow("goodput_mbps", 0)
    };
    assert!((1..=60).any(|seed| goodput(seed) > 2.0), "a gap was open in one of the runs when the interval began");
}
