//! Applications that pause, and whose rate changes.

use crate::lab::{Run, assert_between, assert_near, run};

fn flow(flow: &str) -> Run {
    run(&format!(
        r#"
        duration = "12s"
        record.interval = "10ms"
        path = {{ rate = "20mbit", rtt = "40ms", buffer = "1bdp" }}
        flows = [{{ {flow} }}]
        "#
    ))
}

fn goodput(run: &Run, from: f64, to: f64) -> f64 {
    crate::lab::mean(run.series(0).during("goodput_mbps", from..to))
}

#[test]
fn an_application_that_goes_on_and_off_sends_nothing_while_it_is_off() {
    for transport in ["tcp", "quic"] {
        let run = flow(&format!("cc = \"cubic\", transport = \"{transport}\", rate = {{ on = \"2s\", off = \"1s\" }}"));
        // It begins after the handshake; what is in flight arrives within a round trip.
        for (on, off) in [(0.5, 2.2), (3.5, 5.2), (6.5, 8.2)] {
            assert_near("while it is on", goodput(&run, on, on + 1.4), 19.3, 0.05);
            assert_eq!(goodput(&run, off, off + 0.7), 0.0, "{transport} is off from {off} s on");
        }
    }
}

#[test]
fn what_an_application_has_not_sent_when_it_pauses_is_sent_later() {
    for transport in ["tcp", "quic"] {
        let run = flow(&format!(
            "cc = \"cubic\", transport = \"{transport}\", bytes = \"8MB\", rate = {{ on = \"1s\", off = \"1s\" }}"
        ));
        assert_eq!(run.flow("delivered_bytes_total", 0), 8e6, "{transport}");
        // 8 MB take 3.4 s at 20 Mbit/s, and three pauses.
        assert_between("the completion time", run.flow("completion_s", 0), 6.3..=7.2);
    }
}

#[test]
fn the_rate_of_an_application_has_steps() {
    let run = flow(r#"cc = "bbr", rate = [["0s", "2mbit"], ["4s", "0bit"], ["6s", "8mbit"], ["9s", "1mbit"]]"#);
    for (from, to, mbps) in [(0.5, 3.5, 2.0), (6.5, 8.5, 8.0), (9.5, 12.0, 1.0)] {
        assert_near("the rate", goodput(&run, from, to), mbps, 0.03);
    }
    assert_eq!(goodput(&run, 4.3, 6.0), 0.0);
    let constant = flow(r#"cc = "bbr", rate = "2mbit""#);
    let steps = flow(r#"cc = "bbr", rate = [["0s", "2mbit"], ["5s", "2mbit"]]"#);
    assert_eq!(constant.flow("delivered_bytes_total", 0), steps.flow("delivered_bytes_total", 0));
}

#[test]
fn an_unresponsive_flow_goes_on_and_off() {
    let run = flow(r#"transport = "udp", rate = { on = "1s", off = "3s", rate = "8mbit" }"#);
    assert_near("a quarter of the time", goodput(&run, 0.0, 12.0), 2.0, 0.02);
    assert_eq!(run.flow("network_drops_total", 0), 0.0);
}
