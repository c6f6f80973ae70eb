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

/// A bottleneck of 10 Mbit/s whose queue marks, between two links; these keys belong to the first and to the last.
fn with_ecn_fault(before: &str, behind: &str, cc: &str, transport: &str) -> crate::lab::Run {
    run(&format!(
        r#"
        duration = "40s"
        warmup = "10s"
        record.series = false
        links = [
            {{ from = "a", to = "b", name = "before", rate = "100mbit", delay = "5ms"{before} }},
            {{ from = "b", to = "c", name = "bottleneck", rate = "10mbit", delay = "10ms", buffer = "400packets", queue = {{ kind = "codel", ecn = true }} }},
            {{ from = "c", to = "d", name = "behind", rate = "100mbit", delay = "5ms"{behind} }},
        ]
        flows = [{{ from = "a", to = "d", cc = "{cc}", transport = {{ profile = "{transport}", ecn = true }} }}]
        "#
    ))
}

const BOTTLENECK: usize = 2;

/// A queue cannot mark what comes without ECT, and drops it instead.
#[test]
fn packets_whose_bits_are_cleared_before_a_queue_are_dropped_where_they_would_be_marked() {
    for transport in ["tcp", "quic"] {
        let seen = |run: &crate::lab::Run| [run.link("marks", BOTTLENECK), run.link("drops_aqm", BOTTLENECK)];
        let [marks, drops] = seen(&with_ecn_fault("", "", "reno", transport));
        assert!(marks > 10.0 && drops == 0.0, "{transport}: {marks} marks, {drops} drops");
        let bleached = with_ecn_fault(", ecn_fault = { kind = \"bleach\" }", "", "reno", transport);
        let [marks, drops] = seen(&bleached);
        assert!(marks == 0.0 && drops > 10.0, "{transport}: {marks} marks, {drops} drops");
        assert!(bleached.link("ecn_changed_total", 0) > 0.0);
    }
}

/// TCP does not notice that marks are erased: the queue marks in vain, and fills. QUIC compares what it sent with what
/// is counted, finds the bits cleared, sends without from then on, and is told by drops. Marks that become ECT(0) it
/// cannot notice.
#[test]
fn marks_that_are_erased_leave_a_queue_without_effect_unless_the_sender_notices() {
    let fault = |kind: &str| format!(", ecn_fault = {{ kind = \"{kind}\" }}");
    let queue = |run: &crate::lab::Run| run.link("mean_queue_bytes", BOTTLENECK) / 1_500.0;
    for (transport, kind, is_noticed) in
        [("tcp", "bleach", false), ("quic", "bleach", true), ("tcp", "unmark", false), ("quic", "unmark", false)]
    {
        let run = with_ecn_fault("", &fault(kind), "reno", transport);
        let packets = queue(&run);
        if is_noticed {
            assert!(
                packets < 15.0 && run.link("drops_aqm", BOTTLENECK) > 10.0,
                "{transport}, {kind}: {packets} packets"
            );
            assert_eq!(run.link("marks", BOTTLENECK), 0.0, "it sends without ECT");
            assert_eq!(run.link("ecn_changed", 4), 0.0, "nothing is left to clear");
        } else {
            assert!(packets > 150.0, "{transport}, {kind}: {packets} packets");
            assert!(run.link("marks", BOTTLENECK) > 1_000.0 && run.link("ecn_changed", 4) > 1_000.0);
        }
    }
    assert!(queue(&with_ecn_fault("", "", "reno", "tcp")) < 15.0, "where nothing is erased");
}

/// False marks cost a sender that believes them most of its rate; one that takes no marks loses nothing.
#[test]
fn false_marks_cost_the_rate_of_those_who_believe_them() {
    let goodput = |transport: &str, probability: &str| {
        let mark = format!(", ecn_fault = {{ kind = \"mark\", probability = \"{probability}\" }}");
        let run = with_ecn_fault(&mark, "", "reno", transport);
        assert_near("changed", run.link("ecn_changed_total", 0) / run.link("arrivals_total", 0), 0.01, 0.3);
        run.flow("goodput_mbps", 0)
    };
    // 1500 bytes over √(2p/3) of 40 ms are some 3.5 Mbit/s, with an ACK for two segments fewer.
    for transport in ["tcp", "quic"] {
        let rate = goodput(transport, "1%");
        assert_between("goodput", rate, 2.0..=5.0);
    }
}

/// L4S queues take packets for classic ones whose ECT(1) was changed, and mark or drop them as such.
#[test]
fn a_scalable_flow_waits_with_classic_ones_where_its_code_point_is_changed() {
    let delay_ms = |fault: &str| {
        let run = run(&format!(
            r#"
            duration = "40s"
            warmup = "10s"
            record.series = false
            links = [
                {{ from = "a", to = "b", rate = "200mbit", delay = "2ms"{fault} }},
                {{ from = "b", to = "c", rate = "20mbit", delay = "8ms", buffer = "400packets", queue = "dualpi2" }},
            ]
            flows = [{{ from = "a", to = "c", cc = "prague" }}]
            "#
        ));
        run.flow("mean_rtt_ms", 0) - 20.0
    };
    let (l4s, classic) = (delay_ms(""), delay_ms(", ecn_fault = { kind = \"ect1-to-ect0\" }"));
    assert!(l4s < 2.0 && classic > 3.0 * l4s, "{l4s} ms and {classic} ms");
}
