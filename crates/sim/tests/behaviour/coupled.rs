//! Classic and scalable flows in DualPI2's two queues.

use crate::lab::{Run, first_half_over_second, run};
use std::slice;

/// CUBIC and DCTCP over 50 Mbit/s behind DualPI2. DCTCP's packets are ECT(0), so that the queue has to be told to take
/// them for L4S.
fn shared(rtt_ms: u32, flows: &str) -> Run {
    run(&format!(
        r#"
        duration = "200s"
        warmup = "50s"
        record.series = false
        path = {{ rate = "50mbit", rtt = "{rtt_ms}ms", buffer = "2000packets", queue = {{ kind = "dualpi2", l4s = "any-ect" }} }}
        flows = [{flows}]
        "#
    ))
}

#[test]
fn cubic_and_a_scalable_flow_share_a_coupled_queue() {
    for (rtt_ms, count) in [(10, 1), (20, 1), (20, 4), (40, 4), (100, 4)] {
        let flows = format!(r#"{{ cc = "cubic", count = {count} }}, {{ cc = "dctcp", count = {count} }}"#);
        let run = shared(rtt_ms, &flows);
        let ratio = first_half_over_second(slice::from_ref(&run));
        assert!((0.5..2.0).contains(&ratio), "{count} of each at {rtt_ms} ms: {:?}", run.flows("goodput_mbps"));
        assert!(run.link("utilization", 0) > 0.99, "{count} of each at {rtt_ms} ms");
    }
}

#[test]
fn a_scalable_flow_hardly_waits_while_the_classic_one_waits_for_its_target() {
    let run = shared(20, r#"{ cc = "cubic", count = 2 }, { cc = "dctcp", count = 2 }"#);
    for flow in [2, 3] {
        let p99_ms = run.flow("p99_rtt_ms", flow) - run.flow("base_rtt_ms", flow);
        assert!(p99_ms < 2.0, "flow {flow}: {p99_ms} ms");
    }
    for flow in [0, 1] {
        let mean_ms = run.flow("mean_rtt_ms", flow) - run.flow("base_rtt_ms", flow);
        assert!((8.0..22.0).contains(&mean_ms), "flow {flow}: {mean_ms} ms");
    }
}

/// Prague's packets are ECT(1), and its rate does not depend on short round-trip times. Single runs differ by a
/// twentieth.
#[test]
fn four_cubic_and_four_prague_flows_share_within_a_factor_of_one_and_a_half() {
    for rtt_ms in [5, 10, 20, 40, 100] {
        let runs = [1, 2, 3].map(|seed| {
            run(&format!(
                r#"
                duration = "200s"
                warmup = "50s"
                seed = {seed}
                record.series = false
                path = {{ rate = "50mbit", rtt = "{rtt_ms}ms", buffer = "2000packets", queue = "dualpi2" }}
                flows = [{{ cc = "cubic", count = 4 }}, {{ cc = "prague", count = 4 }}]
                "#
            ))
        });
        let ratio = first_half_over_second(&runs);
        assert!((1.0 / 1.5..1.5).contains(&ratio), "{rtt_ms} ms: {ratio}");
        for run in &runs {
            let p99_ms = run.flow("p99_rtt_ms", 4) - run.flow("base_rtt_ms", 4);
            assert!(p99_ms < 2.0, "{rtt_ms} ms: L4S waits {p99_ms} ms");
        }
    }
}
