//! Unresponsive flows.

use crate::lab::{assert_between, assert_near, mean, run};

#[test]
fn an_unresponsive_flow_sends_at_its_rate_whatever_is_lost() {
    let run = run(r#"
        duration = "20s"
        warmup = "2s"
        path = { rate = "10mbit", rtt = "40ms", buffer = "50packets", reverse = "symmetric" }
        flows = [{ transport = "udp", rate = "6mbit" }, { transport = "udp", rate = "9mbit", label = "flood" }]
    "#);
    let arrived: f64 = run.flows("goodput_mbps").iter().sum();
    assert_near("what the link carries", arrived, 10.0 * 1472.0 / 1500.0, 0.005);
    assert_near("what is lost", run.link("drops_total", 0) / run.link("arrivals_total", 0), 1.0 - 10.0 / 15.3, 0.03);
    assert_eq!((run.flow("retransmits_total", 1), run.flow("acks_total", 1)), (0.0, 0.0));
}

#[test]
fn cubic_gets_what_an_unresponsive_flow_leaves() {
    let run = run(r#"
        duration = "20s"
        warmup = "5s"
        path = { rate = "20mbit", rtt = "40ms", buffer = "1bdp", duplicate = "1%", loss = "0.01%" }
        flows = [{ cc = "cubic" }, { transport = "udp", rate = "8mbit", start = "2s" }]
    "#);
    assert_near("the datagrams", run.flow("goodput_mbps", 1), 8.0, 0.2);
    assert_between("the rest", run.flow("goodput_mbps", 0), 9.0..=13.5);
}

#[test]
fn a_link_that_is_full_is_used_whole_whatever_frames_its_packets() {
    for (overhead, mss) in [(0, 1472), (100, 272)] {
        let run = run(&format!(
            r#"
            duration = "4s"
            warmup = "1s"
            path = {{ rate = "10mbit", rtt = "40ms", buffer = "50packets", overhead = {overhead} }}
            flows = [{{ transport = {{ profile = "udp", mss = {mss} }}, rate = "15mbit" }}]
        "#
        ));
        assert_near("the part that is used", run.link("utilization", 0), 1.0, 0.001);
        let (ip, framed) = (f64::from(mss + 28), f64::from(mss + 28 + overhead));
        assert_near("IP bytes", run.link("throughput_mbps", 0), 10.0 * ip / framed, 0.01);
        assert_near("samples", mean(run.link_series(0).during("utilization", 1.0..4.0)), 1.0, 0.002);
    }
}
