//! What links do to packets besides delaying and losing them.

use crate::lab::{assert_between, assert_near, run};

/// A flow of Reno alone on 20 Mbit/s and 40 ms, with these keys of the path and of the way back.
fn alone(path: &str, reverse: &str, flow: &str) -> crate::lab::Run {
    run(&format!(
        r#"
        duration = "10s"
        record.interval = "1ms"
        flows = [{{ cc = "reno", bytes = "8MB", {flow} }}]
        [path]
        rate = "20mbit"
        rtt = "40ms"
        buffer = "unlimited"
        {path}
        [path.reverse]
        {reverse}
        "#
    ))
}

#[test]
fn data_packets_17_to_19_are_dropped_and_sent_again() {
    let run = alone("events = [{ action = \"drop\", packets = [17, 19] }]", "", "");
    assert_eq!((run.flow("network_drops_total", 0), run.flow("retransmits_total", 0)), (3.0, 3.0));
    assert_eq!(run.link("losses_total", 0), 3.0);
    let again = alone("events = [{ action = \"drop\", packets = [17, 19], flow = 1 }]", "", "");
    assert_eq!(again.flow("network_drops_total", 0), 0.0, "there is no flow 1");
}

#[test]
fn acks_are_held_for_80_ms_at_a_second() {
    let hold = "events = [{ action = \"hold\", of = \"acks\", from = \"1s\", until = \"1080ms\" }]";
    let run = alone("", hold, "rate = \"2mbit\"");
    let series = run.series(0);
    let delivered = series.during("acked_total", 1.001..1.079);
    assert!(delivered.iter().all(|count| *count == delivered[0]), "no ACK arrives in between");
    // 2 Mbit/s are 14 segments in 80 ms.
    let after = series.during("acked_total", 1.0805..1.0815)[0];
    assert_between("what they acknowledge together", after - delivered[0], 11.0..=15.0);
    assert_eq!(run.flow("retransmits_total", 0), 0.0);
}

#[test]
fn the_packets_of_a_range_of_bytes_are_marked() {
    let mark = "events = [{ action = \"mark\", bytes = [\"1MB\", \"2MB\"] }]";
    let run = alone(mark, "", "transport = { ecn = true }");
    assert_near("marks", run.link("marks_total", 0), 1e6 / 1500.0, 0.005);
    assert_eq!(alone(mark, "", "").link("marks_total", 0), 0.0, "without ECN there is nothing to mark");
}

#[test]
fn duplicates_arrive_twice_over_both_transports() {
    for transport in ["tcp", "quic"] {
        let flow = format!("transport = \"{transport}\"");
        let run = alone("duplicate = \"2%\"", "duplicate = \"5%\"", &flow);
        let sent = run.flow("sent_total", 0);
        assert_near("copies", run.link("arrivals_total", 0) - sent, 0.02 * sent, 0.25);
        assert_near("what comes twice", run.flow("duplicates_total", 0), 0.02 * sent, 0.25);
        assert_eq!(run.flow("delivered_bytes_total", 0), 8e6, "{transport}");
    }
}

#[test]
fn single_packets_are_late_and_copied() {
    let delay = "events = [{ action = \"delay\", packets = [30, 30], by = \"7ms\" }]";
    let run = alone(delay, "", "");
    assert_eq!(run.flow("network_drops_total", 0), 0.0);
    assert_between("what reordering costs", run.flow("retransmits_total", 0), 0.0..=3.0);
    let copy = alone("events = [{ action = \"duplicate\", packets = [30, 31] }]", "", "");
    assert_eq!((copy.flow("duplicates_total", 0), copy.flow("retransmits_total", 0)), (2.0, 0.0));
}

#[test]
fn a_link_that_aggregates_delivers_in_bundles_and_loses_nothing() {
    for aggregate in ["{ timeout = \"4ms\", packets = 8 }", "{ every = \"4ms\" }"] {
        let run = alone(&format!("aggregate = {aggregate}"), "aggregate = { timeout = \"2ms\" }", "");
        assert_eq!((run.flow("delivered_bytes_total", 0), run.flow("network_drops_total", 0)), (8e6, 0.0));
        assert_eq!(run.flow("retransmits_total", 0), 0.0);
        assert_between("the shortest round trip", run.flow("min_rtt_ms", 0), 41.0..=49.0);
    }
}

#[test]
fn late_packets_and_delays_that_change_lose_nothing() {
    let path = r#"
        delay = { mean = "20ms", amplitude = "10ms", period = "2s" }
        late = { probability = "1%", min = "5ms", max = "30ms" }
        reorder = { probability = "1%", delay = "10ms" }
    "#;
    for transport in ["tcp", "quic"] {
        let run = alone(path, "", &format!("transport = \"{transport}\""));
        assert_eq!(run.flow("network_drops_total", 0), 0.0, "{transport}");
        assert_between("the shortest round trip", run.flow("min_rtt_ms", 0), 30.0..=42.0);
        assert!(run.flow("delivered_bytes_total", 0) > 3e6, "{transport}");
    }
}
