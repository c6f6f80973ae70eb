//! The set-up of connections over the network: what is lost is sent again, and everything takes its place in queues.

use crate::lab::{Run, run, scenario};
use dumbbell_sim::{Bounds, Change, TimedChange, run_scripted};
use dumbbell_units::{Duration, Time};
use std::sync::atomic::AtomicBool;

/// A flow over `transport` whose packets on `lossy` (`path` or its `reverse`) are lost until `until_ms`.
fn with_losses_until(transport: &str, lossy: &str, until_ms: u64) -> Run {
    let loss = match lossy {
        "reverse" => r#"reverse = { loss = "100%" }"#,
        _ => r#"loss = "100%""#,
    };
    let scenario = scenario(&format!(
        r#"
        duration = "6s"
        record.interval = "10ms"
        transport = "{transport}"
        path = {{ rate = "10mbit", rtt = "40ms", buffer = "2bdp", {loss} }}
        flows = [{{ cc = "reno" }}]
        "#
    ));
    let link = usize::from(lossy == "reverse");
    let at = Time::ZERO + Duration::from_millis(until_ms);
    let script = [Change::LossBefore(None), Change::LossAfter(None)].map(|change| TimedChange { at, link, change });
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: u64::MAX, series: None, plain: false };
    Run { output: run_scripted(&scenario, script.to_vec(), bounds).unwrap() }
}

/// When the first window was open, in seconds, and its size.
fn first_window(run: &Run) -> (f64, f64) {
    let series = run.series(0);
    let first = series.number("cwnd").iter().position(|&cwnd| cwnd > 0.0).unwrap();
    (series.t[first], series.number("cwnd")[first])
}

#[test]
fn a_syn_that_is_lost_is_repeated_and_two_of_them_leave_a_window_of_one() {
    // SYNs at 0, 1 and 2 s, each up to 64 ms late; at 0, 1 and 3 s.
    for (transport, until_ms, expected_s, window) in
        [("tcp", 500, 1.0, 10.0), ("tcp", 1_500, 2.0, 1.0), ("quic", 1_500, 3.0, 10.0)]
    {
        let run = with_losses_until(transport, "path", until_ms);
        let (at_s, first) = first_window(&run);
        assert!((expected_s + 0.04..expected_s + 0.2).contains(&at_s), "{transport}: {at_s} s");
        assert!((window..=2.0 * window).contains(&first), "{transport}: a window of {first}");
    }
}

#[test]
fn a_lost_answer_makes_the_first_round_trip_of_tcp_too_long_and_not_that_of_quic() {
    // Linux's server goes on to echo the first SYN that it received; QUIC's answers tell which packet they are for.
    for (transport, shortest_ms) in [("tcp", 1_000.0), ("quic", 40.0)] {
        let run = with_losses_until(transport, "reverse", 500);
        let series = run.series(0);
        let first = *series.number("min_rtt_ms").iter().find(|rtt| **rtt > 0.0).unwrap();
        assert!((shortest_ms..shortest_ms + 150.0).contains(&first), "{transport}: {first} ms");
    }
}

#[test]
fn the_ack_that_ends_a_handshake_takes_its_place_in_the_queue() {
    let arrivals = |transport: &str| {
        let run = run(&format!(
            r#"
            duration = "5s"
            transport = "{transport}"
            path = {{ rate = "10mbit", rtt = "40ms", buffer = "2bdp" }}
            flows = [{{ cc = "reno", bytes = "14480B" }}]
            "#
        ));
        (run.link("arrivals", 0), run.flow("sent", 0))
    };
    // SYN, ACK and ten segments.
    assert_eq!(arrivals("tcp"), (12.0, 10.0));
    let (arrivals, sent) = arrivals("quic");
    assert_eq!(arrivals, sent + 2.0);
}

#[test]
fn a_client_that_nobody_answers_gives_up() {
    let run = run(r#"
        duration = "200s"
        record.series = false
        path = { rate = "10mbit", rtt = "40ms", loss = "100%" }
        flows = [{ cc = "reno" }]
        "#);
    assert_eq!((run.flow("sent", 0), run.link("losses", 0)), (0.0, 11.0), "one SYN and ten repetitions");
}
