//! Controllers over QUIC-like endpoints: what the loss recovery of RFC 9002 tells them, and what they make of it.

use crate::lab::{Run, assert_between, run};

/// One flow for so many seconds.
fn alone(cc: &str, transport: &str, seconds: u32, path: &str) -> Run {
    run(&format!(
        r#"
        duration = "{seconds}s"
        record.interval = "1ms"
        path = {{ {path} }}
        flows = [{{ cc = "{cc}", transport = "{transport}" }}]
        "#
    ))
}

/// Share of the packets that were sent.
fn loss(run: &Run) -> f64 {
    run.flow("network_drops_total", 0) / run.flow("sent_total", 0)
}

/// A policer drops the tail of each burst, which the loss timer finds. A controller that counts the losses that ACKs show
/// goes on probing at 18 % of loss.
#[test]
fn losses_that_the_timer_finds_end_a_probe_behind_a_policer() {
    let policed =
        r#"rate = "100mbit", rtt = "40ms", buffer = "1bdp", policer = { rate = "5mbit", burst = "10packets" }"#;
    for (cc, most) in [("bbr2-quic", 0.05), ("bbr2", 0.05), ("bbr3", 0.05), ("bbr", 0.08)] {
        let run = alone(cc, "quic", 20, policed);
        assert_between(&format!("loss of {cc}"), loss(&run), 0.0..=most);
        assert_between(&format!("goodput of {cc}"), run.flow("goodput_mbps", 0), 4.5..=5.0);
    }
}

/// BBR leaves STARTUP when a loss round ends during recovery. Over QUIC recovery ends with the same ACK.
#[test]
fn loss_ends_startup_as_soon_as_over_tcp() {
    for buffer in ["0.1bdp", "0.25bdp", "0.5bdp", "1bdp"] {
        for cc in ["bbr2", "bbr3", "bbr3-draft"] {
            let startup = |transport| {
                let path = format!(r#"rate = "10mbit", rtt = "40ms", buffer = "{buffer}""#);
                let run = alone(cc, transport, 1, &path);
                let modes = run.series(0);
                let end = modes.t[modes.rows(0.0..1.0).rfind(|&row| modes.name("mode")[row] == "startup").unwrap()];
                (end, run.flow("network_drops_total", 0))
            };
            let (tcp, quic) = (startup("tcp"), startup("quic"));
            let name = format!("{cc} with {buffer}");
            assert_between(&format!("end of STARTUP of {name}"), quic.0, tcp.0 - 0.02..=tcp.0 + 0.08);
            assert_between(&format!("drops of {name}"), quic.1, 0.0..=1.6 * tcp.1);
        }
    }
}
