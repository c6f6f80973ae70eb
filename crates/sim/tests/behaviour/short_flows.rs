//! Flows that arrive, transfer and leave.

use crate::lab::{Run, assert_between, assert_near, mean, run, scenario};
use dumbbell_sim::{Bounds, Values, run_within};
use std::sync::atomic::AtomicBool;

/// Everything that can go wrong with a packet, in both directions, under more flows than the link can take for a while.
fn rough(transport: &str, seed: u64) -> String {
    format!(
        r#"
        duration = "6s"
        warmup = "1s"
        cooldown = "1s"
        seed = {seed}
        transport = "{transport}"
        record.series = false

        [path]
        rate = "20mbit"
        rtt = "30ms"
        buffer = "0.5bdp"
        loss = {{ kind = "gilbert-elliott", p = "1%", r = "30%" }}
        jitter = {{ amount = "5ms", distribution = "normal", reorders = true }}
        duplicate = "2%"

        [path.reverse]
        rate = "5mbit"
        queue = "codel"
        buffer = "50packets"
        loss = "2%"

        [[flows]]
        cc = "cubic"

        [[traffic]]
        kind = "short-flows"
        cc = "cubic"
        load = "60%"
        size = {{ kind = "pareto", mean = "20kB", shape = 1.3, max = "1MB" }}

        [[traffic]]
        kind = "short-flows"
        label = "back"
        cc = "bbr"
        direction = "down"
        rtt = "50ms"
        per_second = 20
        arrivals = "periodic"
        count = 80
        size = "5kB"
        start = "500ms"

        [[traffic]]
        kind = "request-response"
        cc = "reno"
        users = 5
        think = "100ms"
        size = {{ kind = "lognormal", mean = "20kB", sigma = 1.0 }}
        "#
    )
}

#[test]
fn a_lone_flow_of_one_segment_takes_a_handshake_and_half_a_round_trip() {
    let run = run(r#"
        duration = "2s"
        path = { rate = "12mbit", rtt = "100ms" }
        [[traffic]]
        kind = "short-flows"
        cc = "cubic"
        arrivals = "periodic"
        per_second = 2
        count = 3
        size = 1448
    "#);
    // 60 bytes of a SYN, 52 of the ACK that ends the handshake and 1500 of the segment at 12 Mbit/s; the way back takes
    // no time but its delay.
    let took = 0.1 + 0.05 + f64::from(60 + 52 + 1500) * 8.0 / 12e6;
    let fct = run.completions("fct_s");
    assert_eq!(fct.len(), 3);
    for fct in fct {
        assert!((fct - took).abs() < 1e-9, "{fct} for {took}");
    }
    assert_eq!(run.completions("start_s"), [0.5, 1.0, 1.5]);
    assert_near("the ideal", run.completions("ideal_s")[0], 0.1 + 1448.0 * 8.0 / 12e6, 1e-8);
    assert_eq!(run.traffic("max_active", 0), 1.0);
}

#[test]
fn a_flow_that_fits_the_initial_window_needs_no_second_round_trip() {
    let fct = |segments: u32| {
        let file = format!(
            r#"
            duration = "1s"
            path = {{ rate = "1gbit", rtt = "100ms" }}
            traffic = [{{ kind = "short-flows", cc = "reno", per_second = 10, count = 1, size = {} }}]
            "#,
            segments * 1448
        );
        run(&file).completions("fct_s")[0]
    };
    assert!(fct(10) < 0.151, "{}", fct(10));
    assert!(fct(11) > 0.25 && fct(30) < 0.251, "{} and {}", fct(11), fct(30));
}

#[test]
fn the_link_carries_the_load_that_is_offered() {
    for load in [30, 85] {
        let run = run(&format!(
            r#"
            duration = "30s"
            warmup = "2s"
            record.series = false
            path = {{ rate = "100mbit", rtt = "20ms", buffer = "10bdp" }}
            traffic = [{{ kind = "short-flows", cc = "cubic", load = "{load}%", size = {{ kind = "exponential", mean = "100kB" }} }}]
            "#
        ));
        assert_near("utilization", run.link("utilization", 0), f64::from(load) / 100.0, 0.06);
        assert_near("throughput", run.traffic("throughput_mbps", 0), f64::from(load), 0.06);
    }
}

#[test]
fn every_flow_gets_all_its_bytes_once_whatever_happens_to_packets() {
    for transport in ["tcp", "quic"] {
        let run = Run::of(&scenario(&rough(transport, 3)));
        let (fct, bytes) = (run.completions("fct_s"), run.completions("bytes"));
        for source in 0..3 {
            let started = run.traffic("started_total", source);
            let rows = numbers_of(&run, source);
            assert_eq!(started, rows.len() as f64);
            let complete: f64 = rows.iter().filter(|&&row| !fct[row].is_nan()).map(|&row| bytes[row]).sum();
            let all: f64 = rows.iter().map(|&row| bytes[row]).sum();
            let delivered = run.traffic("delivered_bytes_total", source);
            assert!(complete <= delivered && delivered <= all, "{complete} <= {delivered} <= {all}");
            assert_eq!(
                run.traffic("completed_total", source),
                rows.iter().filter(|&&row| !fct[row].is_nan()).count() as f64
            );
            assert!(run.traffic("retransmits_total", source) > 0.0);
        }
        assert_eq!(run.traffic("started_total", 1), 80.0);
        assert!(run.traffic("started_total", 0) > 300.0);
    }
}

/// The rows of a source in the table of transfers.
fn numbers_of(run: &Run, source: usize) -> Vec<usize> {
    let table = &run.output.completions;
    let Values::Index(sources) = &table.columns.iter().find(|column| column.name == "source").unwrap().values else {
        panic!("an index")
    };
    (0..sources.len()).filter(|&row| sources[row] as usize == source).collect()
}

#[test]
fn the_same_seed_gives_the_same_transfers_and_another_seed_others() {
    let once = Run::of(&scenario(&rough("tcp", 3)));
    let again = Run::of(&scenario(&rough("tcp", 3)));
    let recorded = Run::of(&scenario(&rough("tcp", 3).replace("record.series = false", "record.interval = \"3ms\"")));
    let other = Run::of(&scenario(&rough("tcp", 4)));
    for table in [|run: &Run| format!("{:?}", run.output.completions), |run: &Run| format!("{:?}", run.output.traffic)]
    {
        assert_eq!(table(&once), table(&again));
        assert_eq!(table(&once), table(&recorded), "recording only looks");
        assert_ne!(table(&once), table(&other));
    }
}

#[test]
fn the_number_of_a_flow_that_is_over_is_used_again() {
    let toml = r#"
        duration = "20s"
        record.series = false
        path = { rate = "100mbit", rtt = "10ms" }
        traffic = [{ kind = "short-flows", cc = "cubic", load = "50%", size = "5kB" }]
    "#;
    let cancel = AtomicBool::new(false);
    // Twenty thousand flows of two kilobytes each would need twice that.
    let bounds = Bounds { cancel: &cancel, max_memory: 20 << 20, series: None, plain: false };
    let run = Run { output: run_within(&scenario(toml), bounds).unwrap() };
    assert!(run.traffic("completed_total", 0) > 20_000.0);
    assert!(run.traffic("max_active", 0) < 200.0);
    let slowdowns: Vec<f64> = run.completions("slowdown").into_iter().filter(|slowdown| !slowdown.is_nan()).collect();
    assert_between("slowdown", mean(&slowdowns), 1.45..=1.7);
}

#[test]
fn a_run_that_cannot_end_its_flows_ends_itself_before_the_memory_is_full() {
    let toml = r#"
        duration = "1h"
        record.series = false
        path = { rate = "1mbit", rtt = "10ms" }
        traffic = [{ kind = "short-flows", cc = "cubic", per_second = 5000, size = "1MB" }]
    "#;
    let cancel = AtomicBool::new(false);
    let bounds = Bounds { cancel: &cancel, max_memory: 50 << 20, series: None, plain: false };
    let error = run_within(&scenario(toml), bounds).unwrap_err().to_string();
    assert!(error.contains("is for traffic") && error.contains("a lower `load`"), "{error}");
}

#[test]
fn an_answer_takes_a_request_and_its_own_way_once_the_connection_is_there() {
    let run = run(r#"
        duration = "20s"
        path = { rate = "12mbit", rtt = "100ms" }
        traffic = [{ kind = "request-response", cc = "cubic", size = 1448, think = "500ms" }]
    "#);
    let (start, fct) = (run.completions("start_s"), run.completions("fct_s"));
    assert!(fct.len() > 20, "{}", fct.len());
    // The first comes behind a handshake.
    assert!((fct[0] - (0.15 + f64::from(60 + 52 + 1500) * 8.0 / 12e6)).abs() < 1e-9, "{}", fct[0]);
    for (number, fct) in fct.iter().enumerate().skip(1).filter(|(_, fct)| !fct.is_nan()) {
        assert!((fct - (0.1 + 1500.0 * 8.0 / 12e6)).abs() < 1e-9, "answer {number} took {fct}");
        assert!(start[number] > start[number - 1] + 0.1, "one after the other");
    }
    assert_eq!(run.traffic("max_active", 0), 1.0, "the connection stays");
    let slowdown = run.completions("slowdown");
    assert!(slowdown[1] >= 1.0 && slowdown[1] < 1.001, "{}", slowdown[1]);
}

#[test]
fn users_ask_as_fast_as_the_network_answers_and_for_the_same_whatever_it_does() {
    let file = |rate: &str| {
        format!(
            r#"
            duration = "30s"
            record.series = false
            path = {{ rate = "{rate}", rtt = "20ms", buffer = "2bdp", loss = "0.1%" }}
            traffic = [{{ kind = "request-response", cc = "cubic", users = 10, think = "100ms", stop = "20s",
                          size = {{ kind = "exponential", mean = "50kB" }} }}]
            "#
        )
    };
    let (slow, fast) = (Run::of(&scenario(&file("5mbit"))), Run::of(&scenario(&file("100mbit"))));
    assert_between("a busy link", slow.link("throughput_mbps", 0) * 30.0 / 20.0, 4.5..=5.4);
    assert!(fast.traffic("completed_total", 0) > 4.0 * slow.traffic("completed_total", 0));
    for run in [&slow, &fast] {
        assert_eq!(run.traffic("max_active", 0), 10.0);
        assert_eq!(run.traffic("started_total", 0), run.traffic("completed_total", 0), "the last answers arrive");
        let bytes: f64 = run.completions("bytes").iter().sum();
        assert_eq!(run.traffic("delivered_bytes_total", 0), bytes);
    }
    // The first requests are drawn from the users' own streams.
    let mut first = [slow.completions("bytes"), fast.completions("bytes")].map(|bytes| bytes[..3].to_vec());
    first.iter_mut().for_each(|bytes| bytes.sort_by(f64::total_cmp));
    assert_eq!(first[0], first[1]);
}
