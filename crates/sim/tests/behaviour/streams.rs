//! An application with several streams: what messages take, and what their data waits for.

use crate::lab::{Run, assert_between, assert_near, run};

/// A flow with these keys on 20 Mbit/s and 60 ms; 10 s are not measured.
fn flow(transport: &str, streams: &str, path: &str) -> Run {
    run(&format!(
        r#"
        duration = "60s"
        warmup = "10s"
        record.series = false
        path = {{ rate = "20mbit", rtt = "60ms", buffer = "4bdp", {path} }}
        flows = [{{ cc = "bbr", transport = "{transport}"{streams} }}]
        "#
    ))
}

const EIGHT: &str = r#", streams = { count = 8, size = "100kB" }"#;
const LOSS: &str = r#"loss = "1%""#;

#[test]
fn with_a_percent_of_loss_data_waits_much_longer_over_one_stream_than_over_eight() {
    let [tcp, quic] = ["tcp", "quic"].map(|transport| flow(transport, EIGHT, LOSS));
    let hol = |run: &Run| run.flow("mean_hol_ms", 0);
    assert_between("QUIC", hol(&quic), 1.0..=8.0);
    assert_between("TCP", hol(&tcp) / hol(&quic), 4.0..=10.0);
    let share = |run: &Run| run.flow("hol_share", 0);
    assert!(share(&tcp) > 4.0 * share(&quic), "{} and {} of packets waited", share(&tcp), share(&quic));
    assert!(tcp.flow("p99_hol_ms", 0) > 60.0, "a round trip and more");
    // One message that never ends holds up everything behind a loss over QUIC, too.
    let one = flow("quic", r#", streams = { count = 1, size = "1GB" }"#, LOSS);
    assert!(hol(&one) > 4.0 * hol(&quic), "{} ms", hol(&one));
    assert_eq!(one.flow("messages", 0), 0.0, "none ends");
}

#[test]
fn where_nothing_is_lost_nothing_waits_and_messages_take_what_their_packets_take() {
    for transport in ["tcp", "quic"] {
        let whole = flow(transport, EIGHT, "");
        assert_eq!((whole.flow("mean_hol_ms", 0), whole.flow("hol_share", 0)), (0.0, 0.0), "{transport}");
        // Of packets of 1448 bytes over TCP, and of 1350 over QUIC, 100 kB are so many.
        let packets = if transport == "tcp" { 70.0 * 1_448.0 } else { 75.0 * 1_350.0 };
        let expected = whole.flow("delivered_bytes", 0) / packets;
        assert_near("messages", whole.flow("messages", 0), expected, 0.02);
        // Eight of them share the link: each takes as long as all, and the way there.
        let all_ms = 8.0 * packets * 8.0 / whole.flow("goodput_mbps", 0) / 1e3;
        assert_near("a message", whole.flow("mean_message_ms", 0), all_ms + 30.0, 0.15);
        let alone = flow(transport, r#", streams = { count = 1, size = "100kB" }"#, "");
        assert_near("a message alone", alone.flow("mean_message_ms", 0), all_ms / 8.0 + 30.0, 0.25);
    }
}

/// The packets are those of a flow without streams.
#[test]
fn looking_at_messages_changes_nothing() {
    for transport in ["tcp", "quic"] {
        for path in ["", LOSS, r#"reorder = "2%", jitter = "1ms""#] {
            let [plain, watched] = ["", EIGHT].map(|streams| flow(transport, streams, path));
            for column in ["goodput_mbps", "mean_rtt_ms", "p95_rtt_ms", "sent_total", "retransmits_total", "acks_total"]
            {
                assert_eq!(plain.flow(column, 0), watched.flow(column, 0), "{column} over {transport}, {path}");
            }
            assert!(plain.flow("mean_hol_ms", 0).is_nan() && !watched.flow("mean_hol_ms", 0).is_nan());
        }
    }
}

#[test]
fn a_transfer_ends_with_its_last_whole_message() {
    for transport in ["tcp", "quic"] {
        // Ten messages of ten packets and something more.
        let mss = if transport == "tcp" { 1_448 } else { 1_350 };
        let keys = format!(r#", bytes = "{}B", streams = {{ count = 5, size = "{}B" }}"#, 104 * mss, 10 * mss);
        let run = run(&format!(
            r#"
            duration = "20s"
            record.series = false
            path = {{ rate = "20mbit", rtt = "60ms", loss = "2%" }}
            flows = [{{ cc = "cubic", transport = "{transport}"{keys} }}]
            "#
        ));
        assert_eq!(run.flow("messages", 0), 10.0, "{transport}");
    }
}
