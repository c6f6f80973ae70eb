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

/// A policer drops the tail of each burst, which the loss timer finds. A controller that counts the losses that ACKs
/// show goes on probing at 18 % of loss.
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

/// An ACK for every second packet costs as many as the rate demands; four a round trip cost four.
#[test]
fn the_sender_may_ask_for_a_number_of_acks_a_round_trip() {
    let acks = |rate: &str, rtt: &str, acks_per_rtt: u32| {
        let run = run(&format!(
            r#"
            duration = "10s"
            warmup = "5s"
            record.series = false
            transport = {{ profile = "quic", quic = {{ acks_per_rtt = {acks_per_rtt} }} }}
            path = {{ rate = "{rate}", rtt = "{rtt}", buffer = "1bdp" }}
            flows = [{{ cc = "bbr" }}]
            "#
        ));
        assert_between("utilization", run.link("utilization", 0), 0.9..=1.001);
        (run.flow("acks", 0), run.flow("sent", 0))
    };
    let (often, sent) = acks("20mbit", "40ms", 0);
    assert_between("packets for each ACK", sent / often, 1.9..=2.1);
    // 71 packets a round trip of 40 ms: an ACK for each 18, and 125 round trips in 5 s.
    assert_between("ACKs at 20 Mbit/s", acks("20mbit", "40ms", 4).0, 400.0..=620.0);
    // 7 packets a round trip and some that queue: two or three for an ACK.
    assert_between("ACKs at 2 Mbit/s", acks("2mbit", "40ms", 4).0, 300.0..=460.0);
    // 357 packets a round trip would be 89 for an ACK: 64 are allowed.
    let (seldom, sent) = acks("100mbit", "40ms", 4);
    assert_between("packets for each ACK at 100 Mbit/s", sent / seldom, 45.0..=65.0);
}

/// PROBE_RTT every five seconds, or every hundred round trips where those are longer.
#[test]
fn probe_rtt_may_come_every_hundred_round_trips() {
    for (rtt, apart) in [("30ms", 5.0), ("100ms", 10.0)] {
        for transport in ["tcp", "quic"] {
            let run = run(&format!(
                r#"
                duration = "35s"
                record.interval = "5ms"
                transport = "{transport}"
                path = {{ rate = "10mbit", rtt = "{rtt}", buffer = "4bdp" }}
                flows = [{{ cc = {{ name = "bbr3", probe_rtt_interval_rtts = 100 }} }}]
                "#
            ));
            let entries = run.series(0).entries("mode", "probe_rtt");
            assert!(entries.len() >= 2, "{entries:?}");
            for pair in entries.windows(2) {
                assert_between(&format!("between PROBE_RTTs at {rtt}"), pair[1] - pair[0], apart..=apart + 0.7);
            }
        }
    }
}
