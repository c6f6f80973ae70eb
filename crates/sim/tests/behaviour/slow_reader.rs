//! A receiver that reads slowly: the window closes, opens, and is probed.

use crate::lab::{Run, assert_between, assert_near, mean, run};

/// A flow over a fast path whose receiver reads as `reader` says, with a window of 256 kB.
fn read_by(reader: &str, keys: &str) -> Run {
    run(&format!(
        r#"
        duration = "30s"
        record.interval = "100ms"
        path = {{ rate = "100mbit", rtt = "20ms", buffer = "10bdp" }}
        flows = [{{ cc = "cubic", read_rate = {reader}, transport = {{ receive_window = "256KiB", {keys} }} }}]
        "#
    ))
}

#[test]
fn what_arrives_is_what_the_application_reads_and_what_its_buffer_takes() {
    // What fills the buffer arrives besides what is read.
    let buffer = 256.0 * 1024.0 * 8e-6 / 30.0;
    for keys in ["", "receive_autotuning = true", "timestamps = false", "sack = false"] {
        let run = read_by("\"8mbit\"", keys);
        assert_between(&format!("goodput with {keys}"), run.flow("goodput_mbps", 0), 7.9..=8.0 + buffer);
        assert_eq!((run.flow("retransmits", 0), run.link("drops", 0)), (0.0, 0.0), "nothing is lost: {keys}");
    }
}

#[test]
fn a_reader_that_is_fast_enough_is_no_limit() {
    let run = read_by("\"200mbit\"", "");
    assert_near("goodput", run.flow("goodput_mbps", 0), 94.0, 0.05);
}

#[test]
fn a_pause_closes_the_window_and_the_sender_asks_until_it_opens() {
    let run = read_by(r#"[["0s", "80mbit"], ["5s", "0bit"], ["15s", "80mbit"]]"#, "");
    let series = run.series(0);
    assert!(series.during("inflight", 5.5..14.9).iter().all(|&inflight| inflight == 0.0), "the window is closed");
    assert!(series.during("goodput_mbps", 5.5..14.9).iter().all(|&goodput| goodput == 0.0));
    assert_between("goodput after it", mean(series.during("goodput_mbps", 16.0..30.0)), 75.0..=81.0);
    assert_eq!(run.flow("rto_count", 0), 0.0, "a closed window is no loss");
}

#[test]
fn an_announcement_that_is_lost_is_made_up_for_by_a_probe() {
    let goodput = |until: &str| {
        let run = run(&format!(
            r#"
            duration = "30s"
            record.interval = "100ms"
            [path]
            rate = "100mbit"
            rtt = "20ms"
            [path.reverse]
            events = [{{ action = "drop", of = "acks", from = "9900ms", until = "{until}" }}]
            [[flows]]
            cc = "cubic"
            read_rate = [["0s", "80mbit"], ["5s", "0bit"], ["10s", "80mbit"]]
            transport = {{ receive_window = "256KiB" }}
            "#
        ));
        let series = run.series(0);
        [10.1..11.0, 25.0..30.0].map(|span: std::ops::Range<f64>| mean(series.during("goodput_mbps", span)))
    };
    let [at_once, _] = goodput("9901ms");
    assert!(at_once > 70.0, "{at_once}");
    // The announcement of the open window is lost, and nothing leaves until the next probe is answered.
    let [lost, later] = goodput("10200ms");
    assert!(lost < 0.95 * at_once && later > 70.0, "{lost} and {later}");
}
