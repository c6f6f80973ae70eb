//! What flows see of queues with a line for each of them.

use crate::lab::{Run, assert_near, run};

/// Flows over 50 Mbit/s behind a queue; every goodput in Mbit/s.
fn share(queue: &str, flows: &str) -> Run {
    run(&format!(
        r#"
        duration = "60s"
        warmup = "20s"
        record.series = false
        path = {{ rate = "50mbit", rtt = "40ms", buffer = "1000packets", queue = {queue} }}
        flows = [{flows}]
        "#
    ))
}

#[test]
fn fair_queues_give_flows_of_any_kind_and_path_the_same() {
    let flows = r#"{ cc = "cubic" }, { cc = "bbr", rtt = "120ms" }, { cc = "reno" }, { cc = "bic", rtt = "60ms" }"#;
    for queue in [r#"{ kind = "fq_codel", perfect_hash = true }"#, "\"fq\""] {
        let run = share(queue, flows);
        let goodputs = run.flows("goodput_mbps");
        let fair = goodputs.iter().sum::<f64>() / 4.0;
        for goodput in &goodputs {
            assert!((goodput / fair - 1.0).abs() < 0.15, "{queue}: {goodputs:?}");
        }
    }
}

/// A flow that sends less than its share waits for a turn of the others at most: 4 packets of 0.24 ms.
#[test]
fn a_thin_flow_is_hardly_delayed_by_the_others() {
    let flows = r#"{ cc = "cubic", count = 4 }, { cc = "cubic", rate = "200kbit" }"#;
    for queue in [r#"{ kind = "fq_codel", perfect_hash = true }"#, "\"fq\""] {
        let run = share(queue, flows);
        let delay_ms = run.flow("mean_rtt_ms", 4) - 40.0;
        assert!(delay_ms < 2.0, "{queue}: the thin flow waits {delay_ms} ms");
        assert_near("its goodput", run.flow("goodput_mbps", 4), 0.2, 0.01);
    }
    let fifo = share("\"droptail\"", flows).flow("mean_rtt_ms", 4) - 40.0;
    assert!(fifo > 50.0, "drop-tail makes it wait {fifo} ms");
}

#[test]
fn fq_codel_holds_each_flow_near_its_target_and_a_flood_hits_itself() {
    let queue = r#"{ kind = "fq_codel", perfect_hash = true }"#;
    for flows in [1, 4] {
        let run = share(queue, &format!("{{ cc = \"reno\", count = {flows} }}"));
        let delay_ms = run.link("mean_queue_bytes", 0) * 8.0 / 50e3;
        assert!((1.0..10.0).contains(&delay_ms), "{flows} flows wait {delay_ms} ms");
    }
    let flood = r#"{ cc = "reno", count = 2 }, { transport = "udp", rate = "60mbit" }"#;
    let run = share(queue, flood);
    for flow in 0..2 {
        let delay_ms = run.flow("mean_rtt_ms", flow) - 40.0;
        assert!(delay_ms < 15.0, "flow {flow} waits {delay_ms} ms beside a flood");
        assert!(run.flow("goodput_mbps", flow) > 12.0, "flow {flow}: {}", run.flow("goodput_mbps", flow));
    }
}

/// The tin of CAKE comes from the code point of a flow, also of flows that come and go and use numbers again.
#[test]
fn pages_marked_as_urgent_load_sooner_beside_many_downloads() {
    let p95 = |dscp: &str| {
        let run = run(&format!(
            r#"
            duration = "60s"
            warmup = "5s"
            record.series = false
            path = {{ rate = "20mbit", rtt = "40ms", queue = {{ kind = "cake", bandwidth = "19mbit" }} }}
            flows = [{{ cc = "cubic", count = 16 }}]
            traffic = [
                {{ kind = "web-pages", cc = "cubic", users = 5, think = "1s", dscp = "{dscp}" }},
                {{ kind = "short-flows", cc = "cubic", per_second = 20, size = "5kB" }},
            ]
            "#
        ));
        [run.traffic("p95_plt_s", 0), run.flows("goodput_mbps").iter().sum()]
    };
    let ([urgent, _], [plain, beside_plain], [background, beside_background]) = (p95("ef"), p95("be"), p95("cs1"));
    assert!(urgent < 0.8 * plain && background > 1.2 * plain, "{urgent} s, {plain} s, {background} s");
    assert!(beside_background > beside_plain, "{beside_background} and {beside_plain} Mbit/s");
}

/// A download whose ACKs share a thin way up with an upload: filtered ACKs are never delivered, the upload gets their
/// room, and the download does without them.
#[test]
fn filtered_acks_leave_their_room_to_an_upload() {
    let measure = |filter: &str| {
        let run = run(&format!(
            r#"
            duration = "30s"
            warmup = "5s"
            record.series = false
            [path]
            rate = "10gbit"
            rtt = "40ms"
            buffer = "4MiB"
            queue = {{ kind = "cake", bandwidth = "1mbit", tins = "besteffort", ack_filter = {filter} }}
            reverse = {{ rate = "20mbit", buffer = "4MiB", queue = "cake" }}
            [[flows]]
            cc = "cubic"
            direction = "down"
            [[flows]]
            cc = "cubic"
            "#
        ));
        let way_up = |column: &str| run.link(column, 0);
        let [drops, aqm, full, filtered] = ["drops", "drops_aqm", "drops_full", "drops_ack_filter"].map(way_up);
        assert_eq!(drops, aqm + full + filtered, "{filter}");
        (run.flows("goodput_mbps"), filtered / run.flows("acks")[0])
    };
    let (plain, none) = measure("false");
    assert_eq!(none, 0.0);
    for (filter, least) in [("true", 0.5), ("\"aggressive\"", 0.7)] {
        let (goodputs, filtered) = measure(filter);
        assert!(filtered > least && filtered < 1.0, "{filter}: {filtered} of the ACKs");
        assert!(goodputs[1] > 1.2 * plain[1], "{filter}: {goodputs:?} and {plain:?} Mbit/s");
        assert!(goodputs[0] > 0.95 * plain[0], "{filter}: {goodputs:?} and {plain:?} Mbit/s");
    }
}

/// QUIC's ACKs are encrypted: the filter sees none.
#[test]
fn acks_of_quic_are_not_filtered() {
    let run = run(r#"
        duration = "10s"
        [path]
        rate = "10mbit"
        rtt = "30ms"
        queue = { kind = "cake", bandwidth = "200kbit", ack_filter = "aggressive" }
        reverse = { rate = "20mbit" }
        [[flows]]
        cc = "cubic"
        direction = "down"
        transport = "quic"
        "#);
    assert!(run.link("arrivals", 0) > 500.0);
    assert_eq!(run.link("drops_ack_filter", 0), 0.0);
}
