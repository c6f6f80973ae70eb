//! TCP over Wi-Fi: what stations get of a channel, and that losses on the air are not TCP's.

use crate::lab::{Run, assert_between, run, scenario};
use dumbbell_scenario::Experiment;
use dumbbell_units::Rng;

/// A station that uploads to its access point.
fn upload(path: &str) -> Run {
    run(&format!(
        r#"
        duration = "6s"
        warmup = "2s"
        record.series = false
        path = {{ rtt = "4ms", {path} }}
        flows = [{{ cc = "cubic" }}]
        "#
    ))
}

#[test]
fn an_upload_fills_aggregates_and_gets_what_its_acks_leave_of_the_channel() {
    let run = upload("wifi = {}");
    // 299 Mbit/s with an ACK for every two segments; a receiver that gets 42 at once sends fewer.
    assert_between("goodput", run.flow("goodput_mbps", 0), 290.0..=330.0);
    assert_between("aggregates", run.link("mean_aggregate", 0), 41.5..=42.0);
    assert_between("airtime of data", run.link("airtime", 0), 0.75..=0.95);
    assert_between("airtime of ACKs", run.link("airtime", 1), 0.03..=0.15);
    assert!(run.link("airtime", 0) + run.link("airtime", 1) < 1.0);
}

#[test]
fn frames_that_fail_cost_airtime_and_no_retransmission() {
    // Twenty frames an aggregate: with more of the window of 64 each hole also makes the next aggregates smaller.
    let with = |loss: &str| upload(&format!(r#"wifi = {{ ampdu = "31200B" }}, loss = "{loss}""#));
    let (clean, lossy) = (with("0%"), with("10%"));
    let share = lossy.flow("goodput_mbps", 0) / clean.flow("goodput_mbps", 0);
    assert_between("goodput", share, 0.88..=0.92);
    assert_eq!(lossy.link("losses_total", 0), 0.0, "no frame fails eight times");
    assert_eq!(lossy.flow("rto_count_total", 0), 0.0);
    assert_between("frames sent again", lossy.link("frame_retries", 0), 10_000.0..=20_000.0);
    assert!(clean.link("frame_retries", 0) < 0.5 * lossy.link("frame_retries", 0), "collisions");
}

#[test]
fn packets_wait_for_a_station_that_is_away_in_both_directions() {
    let run = |from: &str, away: &str| {
        run(&format!(
            r#"
            duration = "6s"
            warmup = "2s"
            record.series = false
            path = {{ rtt = "4ms", wifi = {{ {away} }}, queue = "droptail", buffer = "8000packets" }}
            flows = [
                {{ cc = "reno", rate = "2mbit", direction = "{from}" }},
                {{ transport = {{ profile = "probe", mss = 64, probe = {{ interval = "10ms" }} }} }},
            ]
            "#
        ))
    };
    for direction in ["up", "down"] {
        let stays = run(direction, "");
        let leaves = run(direction, r#"away = { every = "200ms", for = "100ms", from = "1s" }"#);
        let goodput = |run: &Run| run.flow("goodput_mbps", 0);
        assert_between("goodput", goodput(&leaves) / goodput(&stays), 0.99..=1.01);
        assert_eq!(leaves.flow("network_drops_total", 0), 0.0);
        assert!(stays.flow("p95_rtt_ms", 1) < 10.0);
        // Half of the probes meet an absence, of which 50 ms are left on average.
        assert_between("RTT", leaves.flow("mean_rtt_ms", 1) - stays.flow("mean_rtt_ms", 1), 20.0..=30.0);
        assert_between("longest", leaves.flow("p95_rtt_ms", 1), 85.0..=105.0);
    }
}

/// A fast and a slow station that load from a server behind their access point.
fn downloads(wifi: &str) -> Run {
    run(&format!(
        r#"
        duration = "12s"
        warmup = "4s"
        record.series = false
        links = [
            {{ name = "fast", from = "laptop", to = "ap", delay = "0s", wifi = {{ mcs = 9, {wifi} }} }},
            {{ name = "slow", from = "attic", to = "ap", delay = "0s", wifi = {{ mcs = 0, {wifi} }} }},
            {{ name = "wire", from = "ap", to = "server", delay = "5ms", rate = "1gbit", reverse = "symmetric" }},
        ]
        flows = [
            {{ cc = "cubic", from = "server", to = "laptop" }},
            {{ cc = "cubic", from = "server", to = "attic" }},
        ]
        "#
    ))
}

#[test]
fn airtime_fairness_cures_the_anomaly() {
    let turns = downloads("airtime_fairness = false, block_ack_window = 8");
    let fair = downloads("airtime_fairness = true, block_ack_window = 8");
    let [anomaly, cured] = [&turns, &fair].map(|run| run.flow("goodput_mbps", 0) / run.flow("goodput_mbps", 1));
    assert_between("the fast over the slow station, in turn", anomaly, 0.95..=1.15);
    assert!(cured > 5.0, "{cured}");
    // Links are rows in the order of the file, whatever they are. What a station sends counts as its airtime, too.
    let airtime = [0, 2].map(|link| fair.link("airtime", link) + fair.link("airtime", link + 1));
    assert_between("airtime of both stations", airtime[0] / airtime[1], 0.9..=1.1);
    assert!(fair.link("airtime", 4).is_nan() && fair.link("utilization", 4) < 1.0);
}

#[test]
fn a_marked_flow_goes_before_others() {
    let mean_rtt = |dscp: &str| {
        let run = run(&format!(
            r#"
            duration = "6s"
            warmup = "2s"
            record.series = false
            path = {{ rtt = "4ms", wifi = {{}}, queue = "droptail", buffer = "1000packets" }}
            flows = [{{ cc = "cubic" }}, {{ cc = "reno", rate = "200kbit", dscp = "{dscp}" }}]
            "#
        ));
        run.flow("mean_rtt_ms", 1)
    };
    let [voice, best_effort, background] = ["ef", "be", "cs1"].map(mean_rtt);
    assert!(voice * 5.0 < best_effort, "a backoff of its own, and a queue of its own: {voice} {best_effort}");
    assert!(
        voice * 2.0 < background && background < best_effort,
        "background waits longer, and not behind others: {background}"
    );
}

#[test]
fn a_stations_queue_keeps_flows_apart_and_short() {
    let mean_rtt = |queue: &str| {
        let run = run(&format!(
            r#"
            duration = "6s"
            warmup = "2s"
            record.series = false
            path = {{ rtt = "4ms", wifi = {{}} {queue} }}
            flows = [{{ cc = "cubic", count = 2 }}, {{ cc = "reno", rate = "200kbit" }}]
            "#
        ));
        [run.flow("mean_rtt_ms", 0), run.flow("mean_rtt_ms", 2)]
    };
    let [bulk, sparse] = mean_rtt("");
    assert!(bulk < 40.0 && sparse < bulk, "CoDel's target is 20 ms, the device holds 12 ms: {bulk} {sparse}");
    let [bulk, sparse] = mean_rtt(r#", queue = "droptail", buffer = "2000packets""#);
    assert!(bulk > 40.0 && sparse > 40.0, "an older driver's queue: {bulk} {sparse}");
}

/// A channel with some stations, drawn at random, their access point, and flows both ways over a wire behind it.
fn draw(number: u64) -> String {
    let mut rng = Rng::new(number);
    let mut one_of = |values: &[&str]| values[rng.below(values.len() as u32) as usize].to_owned();
    let stations: u32 = one_of(&["1", "2", "3"]).parse().unwrap();
    let mut toml = format!("duration = \"1.5s\"\nwarmup = \"300ms\"\nseed = {number}\nrecord.series = false\n");
    for station in 0..stations {
        let wifi = [
            format!("mcs = {}", one_of(&["0", "3", "8"])),
            format!("streams = {}", one_of(&["1", "2", "4"])),
            format!("width = \"{}\"", one_of(&["20mhz", "40mhz", "160mhz"])),
            format!("retries = {}", one_of(&["0", "1", "7"])),
            format!("prebuild = {}", one_of(&["true", "false"])),
            format!("amsdu = {}", one_of(&["1", "3"])),
            format!("block_ack_window = {}", one_of(&["1", "8", "64"])),
            format!("device_queue = \"{}\"", one_of(&["aql", "none", "all"])),
            format!("rts_threshold = \"{}\"", one_of(&["0B", "3000B", "1MB"])),
            format!("reorder_timeout = \"{}\"", one_of(&["1ms", "100ms"])),
        ];
        let away = one_of(&["", "", ", away = { every = \"100ms\", for = \"30ms\", from = \"400ms\" }"]);
        let loss = one_of(&["0%", "5%", "40%"]);
        let queue = one_of(&["droptail", "codel", "red", "pie", "drophead", "fq_codel", "fq", "cake"]);
        let buffer = one_of(&["2packets", "50packets", "1000packets"]);
        toml += &format!(
            "[[links]]\nfrom = \"s{station}\"\nto = \"ap\"\ndelay = \"{}\"\nloss = \"{loss}\"\nqueue = \"{queue}\"\n\
             buffer = \"{buffer}\"\nwifi = {{ {}{away} }}\n",
            one_of(&["0s", "2ms"]),
            wifi.join(", ")
        );
    }
    toml += "[[links]]\nfrom = \"ap\"\nto = \"server\"\nrate = \"100mbit\"\ndelay = \"4ms\"\nreverse = \"symmetric\"\n";
    for flow in 0..4 {
        let (station, server) = (format!("s{}", flow % stations), "server".to_owned());
        let (from, to) = if one_of(&["up", "down"]) == "up" { (station, server) } else { (server, station) };
        let cc = one_of(&["bbr", "cubic", "reno", "bbr3"]);
        let transport = one_of(&["\"tcp\"", "\"quic\"", "{ completion = \"wire\" }", "{ ecn = true }"]);
        let dscp = one_of(&["be", "cs1", "cs5", "ef"]);
        toml += &format!(
            "[[flows]]\ncc = \"{cc}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = {transport}\ndscp = \"{dscp}\"\n"
        );
    }
    toml
}

/// The engine itself checks that packets are conserved and round trips are long enough.
#[test]
fn channels_drawn_at_random_lose_no_packet_and_give_the_same_results_again() {
    for number in 0..60 {
        let toml = draw(number);
        let scenario = scenario(&toml);
        let tables = || {
            let run = Run::of(&scenario);
            format!("{:?} {:?}", run.output.flows, run.output.links)
        };
        let first = tables();
        if number % 10 == 0 {
            assert_eq!(first, tables(), "{toml}");
        }
        let again = Experiment::from_toml(&resolved(&toml), "resolved.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(format!("{:?}", again.points()[0].scenario()), format!("{scenario:?}"), "{toml}");
    }
}

fn resolved(toml: &str) -> String {
    Experiment::from_toml(toml, "experiment.toml", &[]).unwrap_or_else(|e| panic!("{e}")).points()[0].resolved_toml()
}

/// A lone upload of BBR with bursts of so many segments, which count in small queues until the Block-ACK.
fn small_queues(burst: u32, shift: u32) -> [f64; 2] {
    let run = run(&format!(
        r#"
        duration = "6s"
        warmup = "2s"
        record.series = false
        transport = {{ completion = "wire", pacing_shift = {shift}, gso_max_bytes = "{}B" }}
        path = {{ rtt = "2ms", wifi = {{}} }}
        flows = [{{ cc = "bbr" }}]
        "#,
        burst * 1448
    ));
    [run.link("mean_aggregate", 0), run.flow("goodput_mbps", 0)]
}

/// The fixed points of the specification: what is below TCP, all of it in an aggregate or half of it on the air.
#[test]
fn small_queues_bound_aggregates_until_the_block_ack() {
    let of = |shift| [2, 4, 8].map(|burst| small_queues(burst, shift)[0]);
    let (one_ms, two_ms, four_ms) = (of(10), of(9), of(8));
    for (found, (half, whole)) in one_ms.into_iter().zip([(3.0, 16.0), (6.0, 20.0), (12.0, 24.0)]) {
        assert_between("1 ms of the rate", found, half..=whole);
    }
    for (found, (half, whole)) in two_ms.into_iter().zip([(15.0, 40.0), (18.0, 42.0), (20.0, 42.0)]) {
        assert_between("2 ms of the rate", found, half..=whole);
    }
    assert!(four_ms.iter().all(|found| *found > 40.0), "4 ms fill aggregates of 42: {four_ms:?}");
    for shorter in [one_ms, two_ms] {
        assert!(shorter.is_sorted(), "larger bursts are larger aggregates: {shorter:?}");
    }
    let [one_ms, four_ms] = [10, 8].map(|shift| small_queues(2, shift)[1]);
    assert!(four_ms > 1.3 * one_ms, "and that is throughput: {one_ms} {four_ms} Mbit/s");
}

/// The host's queue discipline stands above its device: with completions at the wire its backlog counts, too.
#[test]
fn what_waits_in_a_queue_discipline_counts_in_small_queues() {
    let queue = |completion: &str| {
        let run = run(&format!(
            r#"
            duration = "6s"
            warmup = "2s"
            record.series = false
            transport = {{ completion = "{completion}" }}
            path = {{ rate = "50mbit", rtt = "20ms", queue = {{ kind = "codel", target = "1s" }}, buffer = "1000packets" }}
            flows = [{{ cc = "cubic" }}]
            "#
        ));
        run.link("p95_queue_bytes", 0)
    };
    let (unseen, seen) = (queue("immediate"), queue("wire"));
    // Two bursts, or 2 ms of the rate.
    assert!(unseen > 100_000.0 && seen < 40_000.0, "{unseen} {seen}");
}

#[test]
fn answers_of_traffic_marked_as_voice_pass_a_download_of_the_same_station() {
    let p95_rtt_ms = |dscp: &str| {
        let run = run(&format!(
            r#"
            duration = "8s"
            warmup = "1s"
            record.series = false
            path = {{ rtt = "4ms", wifi = {{ mcs = 1 }}, buffer = "500packets" }}
            flows = [{{ cc = "cubic", count = 4 }}]
            traffic = [{{ kind = "request-response", cc = "cubic", users = 2, think = "50ms", size = "5kB"{dscp} }}]
            "#
        ));
        run.traffic("p95_rtt_ms", 0)
    };
    let (marked, unmarked) = (p95_rtt_ms(r#", dscp = "ef""#), p95_rtt_ms(""));
    assert!(marked < 0.5 * unmarked, "{marked} ms and {unmarked} ms");
}
