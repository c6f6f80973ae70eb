//! What a flow shows of the queue it goes through.

use crate::lab::{assert_near, run};

#[test]
fn reno_fills_a_drop_tail_queue_to_its_limit_and_never_beyond() {
    for packets in [20, 50, 100] {
        let run = run(&format!(
            r#"
            duration = "60s"
            path = {{ rate = "10mbit", rtt = "50ms", buffer = "{packets}packets" }}
            flows = [{{ cc = "reno" }}]
            "#
        ));
        assert_eq!(run.link("max_queue_bytes", 0), f64::from(packets * 1_500));
        assert!(run.link("drops_total", 0) > 0.0);
    }
}

/// What waits is at most the limit, so that no packet is delayed by more than limit, own transmission and the rest of
/// the packet in transmission.
#[test]
fn the_delay_of_a_drop_tail_queue_is_at_most_its_limit_over_the_rate() {
    let run = run(r#"
        duration = "60s"
        record.interval = "1ms"
        path = { rate = "10mbit", rtt = "50ms", buffer = "100kB" }
        transport = { ack_every = 1 }
        flows = [{ cc = "reno" }, { cc = "cubic" }]
        "#);
    let packet_ms = 1.2;
    let largest = 50.0 + 100_000.0 * 8.0 / 10e6 * 1e3 + 2.0 * packet_ms;
    for flow in 0..2 {
        let seen = run.series(flow).number("rtt_ms").iter().copied().fold(0.0, f64::max);
        assert!(seen <= largest && seen > largest - 5.0 * packet_ms, "{seen} ms of {largest} ms");
    }
}

/// Equal limits in packets, bytes and time are equal for packets of full size.
#[test]
fn a_buffer_is_the_same_in_every_unit() {
    let drops = |buffer: &str| {
        let run = run(&format!(
            r#"
            duration = "30s"
            path = {{ rate = "10mbit", rtt = "48ms", buffer = "{buffer}" }}
            flows = [{{ cc = "reno" }}]
            "#
        ));
        (run.link("drops_total", 0), run.link("max_queue_bytes", 0))
    };
    let packets = drops("40packets");
    assert!(packets.0 > 0.0);
    for buffer in ["60kB", "48ms", "1bdp"] {
        assert_eq!(drops(buffer), packets, "{buffer}");
    }
}

/// A saturated link is busy all the time: as many bytes leave as the rate allows, to the packet.
#[test]
fn a_saturated_link_delivers_exactly_its_rate() {
    let run = run(r#"
        duration = "30s"
        warmup = "10s"
        record.series = false
        path = { rate = "12mbit", rtt = "20ms", buffer = "4bdp" }
        flows = [{ cc = "reno", count = 2 }]
        "#);
    assert_near("throughput", run.link("throughput_mbps", 0), 12.0, 1.0 / 20_000.0);
    let flows: f64 = run.flows("throughput_mbps").iter().sum();
    assert_near("flows' throughput", flows, 12.0, 1.0 / 20_000.0);
}

/// One opportunity of 1500 bytes a millisecond is 12 Mbit/s.
#[test]
fn a_trace_of_one_packet_a_millisecond_carries_12_mbit_per_second() {
    let run = run(r#"
        duration = "20s"
        warmup = "5s"
        record.series = false
        path = { trace = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], rtt = "40ms", buffer = "200packets" }
        flows = [{ cc = "cubic" }]
        "#);
    assert_near("throughput", run.link("throughput_mbps", 0), 12.0, 1.0 / 15_000.0);
}

/// CoDel keeps the standing queue of a Reno flow near its target of 5 ms where drop-tail keeps it near the limit.
#[test]
fn codel_keeps_the_standing_queue_near_its_target() {
    let mean_queue_ms = |queue: &str| {
        let run = run(&format!(
            r#"
            duration = "60s"
            warmup = "20s"
            record.series = false
            path = {{ rate = "10mbit", rtt = "50ms", buffer = "200packets", queue = "{queue}" }}
            flows = [{{ cc = "reno" }}]
            "#
        ));
        run.link("mean_queue_bytes", 0) * 8.0 / 10e3
    };
    let (codel, fifo) = (mean_queue_ms("codel"), mean_queue_ms("fifo"));
    assert!(codel < 10.0, "CoDel's queue is {codel} ms");
    assert!(fifo > 100.0, "drop-tail's queue is {fifo} ms");
}

/// PIE holds the queueing delay of many Reno flows at its target, by the loss rate that their windows ask for.
#[test]
fn pie_holds_many_flows_at_its_target_by_the_loss_rate_they_ask_for() {
    for flows in [10, 20, 40] {
        let run = run(&format!(
            r#"
            duration = "120s"
            warmup = "40s"
            record.series = false
            path = {{ rate = "50mbit", rtt = "50ms", buffer = "1000packets", queue = "pie" }}
            transport = {{ ack_every = 1 }}
            flows = [{{ cc = "reno", count = {flows}, start_jitter = "1s" }}]
            "#
        ));
        let delay_ms = run.link("mean_queue_bytes", 0) * 8.0 / 50e3;
        assert!((delay_ms - 15.0).abs() < 3.0, "{flows} flows wait {delay_ms} ms");
        // A window of √(3/2p) segments is sent every round-trip time.
        let rtt = (50.0 + delay_ms) * 1e-3;
        let window = run.link("throughput_mbps", 0) * 1e6 * rtt / (1_500.0 * 8.0) / f64::from(flows);
        let expected = 1.5 / (window * window);
        let dropped = run.link("drops", 0) / run.link("arrivals", 0);
        assert!((0.6..1.5).contains(&(dropped / expected)), "{flows} flows: {dropped} of packets, not {expected}");
    }
}

/// What a link counts before the warm-up has passed and after the cool-down has begun is in its totals only.
#[test]
fn a_link_counts_what_happens_in_the_measured_interval() {
    let counted = |duration: &str, interval: &str| {
        let run = run(&format!(
            r#"
            duration = "{duration}"
            {interval}
            record.series = false
            path = {{ rate = "10mbit", rtt = "40ms", buffer = "1bdp", loss = "1%" }}
            flows = [{{ cc = "bbr" }}, {{ cc = "cubic" }}]
            "#
        ));
        ["arrivals", "drops", "drops_full", "losses"]
            .map(|column| (run.link(column, 0), run.link(&format!("{column}_total"), 0)))
    };
    let (first, until_20) = (counted("10s", ""), counted("20s", ""));
    let within = counted("30s", "warmup = \"10s\"\ncooldown = \"10s\"");
    let whole = counted("30s", "");
    for (column, &(measured, total)) in within.iter().enumerate() {
        assert!(first[column].0 > 0.0);
        assert_eq!(first[column].0, first[column].1, "without a warm-up the interval is the run");
        assert_eq!(measured, until_20[column].1 - first[column].1);
        assert_eq!(total, whole[column].1);
    }
}

/// The average backlog, of which the queue over some seconds is a measure, enters the range between 0.4 and 0.6 of the
/// way from `min` to `max` whatever the load, as long as that asks for more than the least probability, 1 %.
#[test]
fn adaptive_red_brings_the_average_into_its_range_within_some_tens_of_seconds() {
    for (flows, rtt_ms) in [(40, 60), (60, 60), (80, 100)] {
        let run = run(&format!(
            r#"
            duration = "120s"
            record.interval = "100ms"
            path = {{ rate = "50mbit", rtt = "{rtt_ms}ms", buffer = "4000packets", queue = {{ kind = "adaptive-red", target = "20ms" }} }}
            flows = [{{ cc = "reno", count = {flows}, start_jitter = "2s" }}]
            "#
        ));
        // 62,500 and 187,500 bytes; the average, with a time constant of a second, stays within their middle fifth.
        let series = run.link_series(0);
        let queue = series.during("queue_bytes", 40.0..120.0);
        let average = queue.iter().sum::<f64>() / queue.len() as f64;
        let (low, high) = (62_500.0 + 0.4 * 125_000.0, 62_500.0 + 0.6 * 125_000.0);
        assert!((low..high).contains(&average), "{flows} flows: {average} bytes");
    }
}

/// What Mahimahi's own queues do to one flow on a trace.
#[test]
fn queues_of_mahimahi_hold_a_flow_on_a_trace() {
    let mean_queue_ms = |queue: &str| {
        let run = run(&format!(
            r#"
            duration = "60s"
            warmup = "20s"
            record.series = false
            path = {{ trace = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], rtt = "40ms", buffer = "1000packets", queue = "{queue}" }}
            flows = [{{ cc = "cubic" }}]
            "#
        ));
        assert!(run.link("drops_aqm", 0) > 5.0 || queue == "fifo", "{queue} drops nothing");
        assert!(run.link("utilization", 0) > 0.8, "{queue}: {}", run.link("utilization", 0));
        run.link("mean_queue_bytes", 0) * 8.0 / 12e3
    };
    let [codel, pie, fifo] = ["mahimahi-codel", "mahimahi-pie", "fifo"].map(mean_queue_ms);
    assert!(codel < 15.0 && pie < 30.0 && fifo > 200.0, "{codel} ms, {pie} ms and {fifo} ms");
}

/// A shaper in front of a fast link: the flow gets the shaper's rate, and waits in its queue.
#[test]
fn a_token_bucket_filter_gives_a_flow_its_rate_whatever_the_link_could_carry() {
    let run = run(r#"
        duration = "60s"
        warmup = "20s"
        record.series = false
        path = { rate = "100mbit", rtt = "40ms", buffer = "60packets", queue = { kind = "tbf", rate = "12mbit", burst = "10packets" } }
        flows = [{ cc = "cubic" }]
        "#);
    assert_near("throughput", run.link("throughput_mbps", 0), 12.0, 0.001);
    assert_eq!(run.link("max_queue_bytes", 0), 90_000.0);
    assert!(run.link("drops_full", 0) > 0.0 && run.link("drops_aqm", 0) == 0.0);
}

/// BLUE finds the probability at which twenty flows neither fill the queue nor leave the link idle, and stays near it.
#[test]
fn blue_settles_where_many_flows_neither_fill_the_queue_nor_leave_the_link_idle() {
    for (rate, buffer) in [(20, 300), (50, 600), (100, 1_000)] {
        let counted = |ecn: bool| {
            let run = run(&format!(
                r#"
                duration = "120s"
                warmup = "40s"
                record.series = false
                path = {{ rate = "{rate}mbit", rtt = "60ms", buffer = "{buffer}packets", queue = {{ kind = "blue", increment = "0.25%", decrement = "0.025%", ecn = {ecn} }} }}
                transport = {{ ecn = {ecn} }}
                flows = [{{ cc = "reno", count = 20, start_jitter = "2s" }}]
                "#
            ));
            assert_eq!(run.link("drops_full", 0), 0.0, "the queue overflows at {rate} Mbit/s");
            assert!(run.link("utilization", 0) > 0.999, "the link idles: {}", run.link("utilization", 0));
            let mean_packets = run.link("mean_queue_bytes", 0) / 1_500.0;
            assert!(mean_packets < f64::from(buffer) / 3.0, "{mean_packets} packets wait");
            [run.link("drops_aqm", 0), run.link("marks", 0)]
        };
        let ([drops, none], [not_one, marks]) = (counted(false), counted(true));
        assert_eq!([none, not_one], [0.0, 0.0]);
        assert!(drops > 500.0 && marks > 500.0, "{drops} drops, {marks} marks");
    }
}

/// A flow that sends twice what the link carries does not respond. Where the share of each of forty flows is small, SFB
/// finds it out and gives it the penalty rate alone; beside four it gets about a share. Drop-tail gives it all.
#[test]
fn sfb_holds_a_flow_that_does_not_respond_to_the_penalty_rate_or_to_a_share() {
    let flood_and_others = |queue: &str, flows: usize| {
        let run = run(&format!(
            r#"
            duration = "120s"
            warmup = "40s"
            record.series = false
            path = {{ rate = "10mbit", rtt = "40ms", buffer = "1000packets", queue = "{queue}" }}
            flows = [{{ cc = "reno", count = {flows}, start_jitter = "1s" }}, {{ transport = "udp", rate = "20mbit" }}]
            "#
        ));
        let rates = run.flows("throughput_mbps");
        (rates[flows], rates[..flows].iter().sum::<f64>())
    };
    let (flood, others) = flood_and_others("sfb", 40);
    // Ten packets a second.
    assert_near("flood", flood, 0.12, 0.01);
    assert_near("others", others, 9.88, 0.01);
    let (flood, others) = flood_and_others("sfb", 4);
    assert!(flood < 1.5 * others / 4.0 && flood + others > 9.9, "{flood} beside {others} Mbit/s");
    assert!(flood_and_others("fifo", 4).1 < 0.2);
}
