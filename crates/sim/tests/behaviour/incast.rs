//! Many servers that answer one request behind a barrier.

use crate::lab::{Run, assert_between, assert_near, mean, run};

/// Servers behind links of their own at a switch with a shallow buffer.
fn incast(servers: u32, keys: &str) -> Run {
    run(&format!(
        r#"
        duration = "10s"
        record.series = false
        path = {{ rate = "1gbit", rtt = "100us", buffer = "100packets" }}
        traffic = [{{ kind = "incast", servers = {servers}, cc = "cubic", access_rate = "1gbit", {keys} }}]
        "#
    ))
}

#[test]
fn a_round_takes_a_request_and_the_answers_of_all_at_the_rate_of_the_bottleneck() {
    let run = incast(8, r#"size = "14480B", rounds = 50, pause = "1ms""#);
    let (starts, times) = (run.rounds("start_s"), run.rounds("qct_s"));
    assert_eq!((times.len(), run.traffic("rounds_total", 0)), (50, 50.0));
    // Eighty segments one after the other behind a round trip; the first of them takes its access link, too.
    let expected = 100e-6 + 81.0 * 1500.0 * 8.0 / 1e9;
    assert_near("the mean query", mean(&times[1..]), expected, 0.001);
    for round in 1..50 {
        let after = starts[round - 1] + times[round - 1] + 1e-3;
        assert!((starts[round] - after).abs() < 1e-9, "round {round} begins at {} for {after}", starts[round]);
    }
    assert!(run.rounds("bytes").iter().all(|&bytes| bytes == 8.0 * 14_480.0));
    assert_eq!(run.traffic("max_active", 0), 8.0, "connections stay");
    assert_eq!(run.traffic("completed_total", 0), 400.0);
    assert_eq!(run.traffic("delivered_bytes_total", 0), 400.0 * 14_480.0);
}

#[test]
fn the_slowest_server_decides_when_a_round_ends() {
    let run = incast(20, r#"size = "1448B", rounds = 100, service = { kind = "uniform", min = "0s", max = "10ms" }"#);
    let (starts, times) = (run.rounds("start_s"), run.rounds("qct_s"));
    let (began, took) = (run.completions("start_s"), run.completions("fct_s"));
    for round in 1..100 {
        let own = (0..took.len()).filter(|&row| (began[row] - starts[round]).abs() < 1e-9);
        let slowest = own.clone().map(|row| took[row]).fold(0.0, f64::max);
        assert_eq!((own.count(), times[round]), (20, slowest));
    }
    // The mean of the largest of twenty uniform times.
    assert_near("the mean query", mean(&times[1..]), 10e-3 * 20.0 / 21.0, 0.02);
}

#[test]
fn many_servers_overflow_the_switch_and_wait_for_their_timers() {
    let goodput = |servers: u32, rto_min: &str| {
        let keys =
            format!(r#"total = "1MB", transport = {{ rto_min = "{rto_min}", hz = 1000000, tail_loss_probe = false }}"#);
        let run = incast(servers, &keys);
        let timeouts: f64 = run.rounds("rto_count").iter().sum();
        assert_eq!(timeouts, run.traffic("rto_count_total", 0));
        (run.traffic("goodput_mbps", 0), timeouts)
    };
    let (few, no_timeouts) = goodput(1, "200ms");
    let (many, timeouts) = goodput(64, "200ms");
    assert!(few > 800.0 && no_timeouts == 0.0, "{few} Mbit/s, {no_timeouts} timeouts");
    assert!(many < 0.2 * few && timeouts > 20.0, "{many} Mbit/s, {timeouts} timeouts");
    // Vasudevan et al.: timers of microseconds prevent the collapse.
    let (prompt, _) = goodput(64, "1ms");
    assert!(prompt > 3.0 * many, "{prompt} for {many} Mbit/s");
}

#[test]
fn servers_stand_at_several_nodes_each_with_its_way() {
    let run = run(r#"
        duration = "1s"
        links = [
            { name = "near", from = "rack1", to = "client", rate = "1gbit", delay = "1ms" },
            { name = "far", from = "rack2", to = "client", rate = "1gbit", delay = "10ms" },
        ]
        traffic = [{ kind = "incast", servers = 4, cc = "dctcp", from = ["rack1", "rack2"], to = "client", size = 1448, rounds = 3 }]
    "#);
    let mut times = run.completions("fct_s")[4..8].to_vec();
    times.sort_by(f64::total_cmp);
    assert_between("the near ones", times[1], 2e-3..=2.1e-3);
    assert_between("the far ones", times[2], 20e-3..=20.1e-3);
    assert_eq!(run.rounds("qct_s")[1], times[3]);
    assert_eq!(
        (run.link("arrivals", 0), run.link("arrivals", 2)),
        (10.0, 10.0),
        "a handshake's two and three answers each"
    );
}

#[test]
fn nothing_begins_after_the_stop_and_the_end_cuts_a_round() {
    let stopped = incast(4, r#"size = "14480B", pause = "100ms", stop = "5s""#);
    assert!(stopped.rounds("start_s").iter().all(|&start| start < 5.0));
    assert!(stopped.rounds("qct_s").iter().all(|took| took.is_finite()));
    let cut = incast(4, r#"size = "100MB""#);
    let cut_times = cut.rounds("qct_s");
    assert!(cut_times.last().unwrap().is_nan() && cut_times[..cut_times.len() - 1].iter().all(|took| took.is_finite()));
    let quic = incast(4, r#"size = "14480B", rounds = 3, transport = "quic""#);
    assert_eq!(quic.traffic("rounds_total", 0), 3.0);
}
