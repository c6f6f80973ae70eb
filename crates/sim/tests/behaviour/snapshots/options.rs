//! One experiment for each option of links, endpoints and algorithms: whatever an option does, it shows here.

use super::check;
use crate::lab::{Run, Series, explain, run};
use dumbbell_cc_family::catalog;
use dumbbell_results::UNKNOWN;
use std::fmt::Write;

/// What is shown of flows.
const FLOWS: [&str; 15] = [
    "goodput_mbps",
    "throughput_mbps",
    "mean_rtt_ms",
    "p95_rtt_ms",
    "min_rtt_ms",
    "mean_one_way_delay_ms",
    "sent_total",
    "retransmits_total",
    "lost_total",
    "network_drops_total",
    "rto_count_total",
    "probe_count_total",
    "undo_count_total",
    "duplicates_total",
    "acks_total",
];
/// What is shown of links.
const LINKS: [&str; 13] = [
    "utilization",
    "mean_queue_bytes",
    "p95_queue_bytes",
    "max_queue_bytes",
    "drops_full_total",
    "drops_aqm_total",
    "drops_policed_total",
    "losses_total",
    "marks_total",
    "airtime",
    "mean_aggregate",
    "frame_retries_total",
    "collisions_total",
];

/// Writes the numbers in a line; what is zero or unknown is left out.
fn line(table: &mut String, what: &str, numbers: impl Iterator<Item = (String, f64)>) {
    write!(table, "  {what}:").unwrap();
    let is_known = |number: f64| !number.is_nan() && number < UNKNOWN as f64;
    for (name, number) in numbers.filter(|(_, number)| *number != 0.0 && is_known(*number)) {
        let places = if number.fract() == 0.0 { 0 } else { 4 };
        write!(table, " {name}={number:.places$}").unwrap();
    }
    table.push('\n');
}

fn mean_of_known(numbers: &[f64]) -> f64 {
    let known: Vec<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

/// Writes flows and links.
fn tables(table: &mut String, run: &Run) {
    let flows = run.flows("goodput_mbps").len();
    for flow in 0..flows {
        line(table, &format!("flow {flow}"), FLOWS.iter().map(|&name| (name.to_owned(), run.flow(name, flow))));
    }
    let links = if run.link("throughput_mbps", 1) > 0.0 { 2 } else { 1 };
    for link in 0..links {
        line(table, &format!("link {link}"), LINKS.iter().map(|&name| (name.to_owned(), run.link(name, link))));
    }
}

/// Writes the means of a flow's samples, and how many of them have each mode and state.
fn samples(table: &mut String, series: &Series) {
    line(table, "samples", series.columns().map(|(name, numbers)| (name.to_owned(), mean_of_known(numbers))));
    for column in ["mode", "ca_state"] {
        let mut counts = std::collections::BTreeMap::<&str, f64>::new();
        for name in series.name(column) {
            *counts.entry(name).or_default() += 1.0;
        }
        line(table, column, counts.into_iter().map(|(name, count)| (name.to_owned(), count)));
    }
}

/// A link with an option, and three flows: two that take marks, over TCP and over QUIC, and one that does not.
fn with_link(table: &mut String, option: &str) {
    let rate = if option.starts_with("rate =") || option.contains("wifi =") { "" } else { "rate = \"20mbit\", " };
    let buffer = if option.contains("buffer =") { "" } else { ", buffer = \"1bdp\"" };
    let experiment = format!(
        r#"
        duration = "6s"
        warmup = "1s"
        record.interval = "50ms"
        path = {{ {rate}rtt = "40ms"{buffer}, {option} }}
        flows = [
            {{ cc = "cubic", transport.ecn = true }},
            {{ cc = "bbr3", transport = {{ profile = "quic", ecn = true }}, start = "1s" }},
            {{ cc = "reno", start = "2s" }},
        ]
        "#
    );
    let words = explain(&experiment);
    let link = words.lines().skip_while(|line| *line != "links").nth(1).unwrap();
    writeln!(table, "{option}\n{link}").unwrap();
    tables(table, &run(&experiment));
}

/// Endpoints with an option on a lossy link, and small transfers with pauses between them.
fn with_endpoint(table: &mut String, option: &str) {
    for cc in ["cubic", "bbr"] {
        let run = run(&format!(
            r#"
            duration = "6s"
            record.interval = "20ms"
            path = {{ rate = "20mbit", rtt = "40ms", buffer = "0.5bdp", loss = "0.5%", jitter = "1ms" }}
            flows = [
                {{ cc = "{cc}", transport = {{ {option} }} }},
                {{ cc = "{cc}", transport = {{ {option} }}, rate = {{ on = "300ms", off = "500ms" }}, start = "1s" }},
            ]
            "#
        ));
        writeln!(table, "{cc}, {option}").unwrap();
        tables(table, &run);
        samples(table, &run.series(0));
    }
}

#[test]
fn every_option_of_links_does_what_it_did() {
    let mut table = String::new();
    for option in LINK_OPTIONS {
        with_link(&mut table, option);
    }
    check("links.txt", &table);
}

#[test]
fn every_option_of_endpoints_does_what_it_did() {
    let mut table = String::new();
    for option in ENDPOINT_OPTIONS {
        with_endpoint(&mut table, option);
    }
    check("endpoints.txt", &table);
}

#[test]
fn what_algorithms_let_be_observed_is_unchanged() {
    let mut table = String::new();
    for cc in catalog().names() {
        let run = run(&format!(
            r#"
            duration = "12s"
            record.interval = "10ms"
            path = {{ rate = "10mbit", rtt = "40ms", buffer = "1bdp", loss = "0.1%" }}
            flows = [{{ cc = "{cc}", transport.ecn = true }}, {{ cc = "cubic", start = "5s", stop = "8s" }}]
            "#
        ));
        writeln!(table, "{cc}").unwrap();
        samples(&mut table, &run.series(0));
    }
    check("samples.txt", &table);
}

const LINK_OPTIONS: [&str; 75] = [
    r#"queue = "droptail""#,
    r#"queue = "drophead""#,
    r#"queue = "codel""#,
    r#"queue = { kind = "codel", ecn = true }"#,
    r#"queue = { kind = "codel", ecn = true, ce_threshold = "2ms", target = "10ms" }"#,
    r#"queue = { kind = "threshold", threshold = "20packets" }"#,
    r#"queue = { kind = "threshold", threshold = "5ms" }"#,
    r#"queue = { kind = "threshold", threshold = "20packets", mark = "dequeue", drop_not_ect = true }"#,
    r#"queue = "red""#,
    r#"queue = { kind = "red", ecn = true, gentle = true }"#,
    r#"queue = { kind = "red", ecn = true, hard_drop = true, max_probability = "10%" }"#,
    r#"queue = { kind = "red", ecn = true, no_drop = true }"#,
    r#"queue = { kind = "red", adaptive = true }"#,
    r#"queue = "adaptive-red""#,
    r#"queue = { kind = "adaptive-red", ecn = true }"#,
    r#"queue = "blue""#,
    r#"queue = { kind = "blue", ecn = true, threshold = "10packets", freeze_time = "20ms" }"#,
    r#"queue = "sfb""#,
    r#"queue = { kind = "sfb", ecn = false, increment = "1%", decrement = "0.5%" }"#,
    r#"queue = "pie""#,
    r#"queue = { kind = "pie", ecn = true, bytemode = true }"#,
    r#"queue = { kind = "pie", delay = "rate", max_burst = "0s" }"#,
    r#"queue = "mahimahi-codel""#,
    r#"queue = "mahimahi-pie""#,
    r#"queue = "fq""#,
    r#"queue = { kind = "fq", flows = 1, flow_limit = 30, ce_threshold = "5ms" }"#,
    r#"queue = { kind = "fq", max_rate = "4mbit" }"#,
    r#"queue = { kind = "fq", max_rate = "400kbit" }"#,
    r#"queue = "fq_codel""#,
    r#"queue = { kind = "fq_codel", ecn = false, flows = 2, drop_batch = 4 }"#,
    r#"queue = { kind = "fq_codel", perfect_hash = true, ce_threshold = "1ms", quantum = "300B" }"#,
    r#"queue = "cake""#,
    r#"queue = { kind = "cake", bandwidth = "15mbit", overhead = 40, mpu = "84B" }"#,
    r#"queue = { kind = "cake", tins = "besteffort", hosts = [[0, 1], [2]], rtt = "20ms" }"#,
    r#"queue = { kind = "cake" }, buffer = "10packets""#,
    r#"queue = "dualpi2""#,
    r#"queue = { kind = "dualpi2", l4s = "any-ect", step = "2ms", ramp = "2ms", decide = "enqueue" }"#,
    r#"queue = { kind = "dualpi2", l4s = "any-ect", step = "5packets", drop_on_overload = false, classic_share = "30%" }"#,
    r#"queue = { kind = "tbf", rate = "8mbit", burst = "20packets" }"#,
    r#"queue = { kind = "tbf", rate = "8mbit", burst = "20packets", peak_rate = "10mbit", latency = "30ms", overhead = 30 }"#,
    r#"buffer = "unlimited""#,
    r#"buffer = "10packets", overhead = "38B""#,
    r#"policer = { rate = "10mbit", burst = "20packets", initial = "5packets" }"#,
    r#"loss = "1%", loss_at = "before""#,
    r#"loss = { kind = "bernoulli", p = "1%", correlation = "30%" }"#,
    r#"loss = { kind = "gilbert-elliott", p = "1%", r = "30%", loss_bad = "80%", loss_good = "0.1%" }"#,
    r#"loss = { kind = "four-state", p13 = "0.5%", p31 = "20%", p32 = "20%", p23 = "50%", p14 = "0.5%" }"#,
    r#"loss = { kind = "periodic", p = "1%" }"#,
    r#"loss = { kind = "steps", steps = [["0s", "0%"], ["1s", "2%"]], repeat = "2s" }"#,
    r#"jitter = "3ms""#,
    r#"jitter = { amount = "3ms", reorders = true, distribution = "normal", correlation = "25%" }"#,
    r#"reorder = "1%""#,
    r#"reorder = { probability = "10%", gap = 7, correlation = "20%", delay = "5ms" }"#,
    r#"duplicate = "1%""#,
    r#"corrupt = { probability = "1%", correlation = "30%" }"#,
    r#"late = { probability = "1%", min = "20ms", max = "50ms" }"#,
    r#"queue = { kind = "codel", ecn = true }, ecn_fault = { kind = "bleach" }"#,
    r#"queue = { kind = "codel", ecn = true }, ecn_fault = { kind = "mark", probability = "2%" }"#,
    r#"aggregate = { timeout = "2ms", packets = 32 }"#,
    r#"aggregate = { every = "5ms", bytes = "6kB" }"#,
    r#"aggregate = { slot = ["1ms", "8ms"] }"#,
    r#"events = [{ action = "drop", packets = [170, 175] }, { action = "mark", flow = 0, from = "2s", until = "2100ms" }]"#,
    r#"events = [{ action = "delay", by = "30ms", of = "any", bytes = ["1MB", "1100kB"] }]"#,
    r#"rate = { steps = [["0s", "20mbit"], ["2s", "5mbit"], ["3s", "0mbit"], ["3500ms", "30mbit"]] }"#,
    r#"rate = { steps = [["0s", "20mbit"], ["1s", "8mbit"]], repeat = "1500ms" }, queue = "codel""#,
    r#"rate = { trace = [1, 2, 2, 3, 5, 9, 10] }, buffer = "50packets""#,
    r#"rate = { trace = [1, 2, 2, 3, 5, 9, 10] }, buffer = "50packets", queue = "pie""#,
    r#"rate = { synth = "lte-verizon" }, buffer = "200packets""#,
    r#"reverse = "symmetric""#,
    r#"reverse = { rate = "300kbit", loss = "2%", buffer = "20packets" }"#,
    r#"wifi = {}"#,
    r#"wifi = { away = { every = "264ms", for = "117ms", from = "500ms" } }"#,
    r#"wifi = { width = "20mhz", mcs = 4, streams = 2, prebuild = true, rts_threshold = "3kB" }, loss = "5%""#,
    r#"wifi = { width = "40mhz", mcs = 7, amsdu = 3, airtime_fairness = false, retries = 1 }, loss = "20%""#,
    r#"wifi = { guard_interval = "long", device_queue = "none", ppdu = "1ms", category = "vi" }"#,
];

const ENDPOINT_OPTIONS: [&str; 44] = [
    "ecn = true",
    "sack = false",
    "dsack = false",
    "timestamps = false",
    r#"loss_detection = "dupthresh""#,
    r#"loss_detection = "dupthresh", rescue = "below-sack""#,
    r#"loss_detection = "dupthresh", rescue = "any", recovery = "ns3", delivery_rate = "ns3-3.40""#,
    r#"recovery = "ns3", delivery_rate = "ns3", pacing_credit = false, held_data_takes_window = false"#,
    r#"rto_rule = "rfc6298", rto_min = "1s""#,
    r#"controller_rtt = "smoothed""#,
    r#"rtt_samples = "timestamps""#,
    r#"rtt_samples = "timestamps-of-originals""#,
    r#"delivery_rate = "linux-old""#,
    r#"completion = "wire""#,
    r#"pacing = "on""#,
    r#"pacing = "off""#,
    "receive_autotuning = true",
    r#"receive_window = "64kB""#,
    r#"receive_window = "20kB", window_scale = 0"#,
    r#"send_buffer = "autotuning""#,
    r#"send_buffer = "100kB""#,
    "hz = 250",
    "hz = 100, timer_wheel = false",
    "undo = false",
    "frto = false, tail_loss_probe = false",
    "reordering = 10, max_reordering = 20",
    "slow_start_after_idle = false",
    "initial_cwnd = 2",
    "mss = 500",
    r#"tso_win_divisor = 0, tso_rtt_log = 0, gso_max_bytes = "10kB""#,
    r#"pacing = "on", pacing_ss_ratio = 150, pacing_ca_ratio = 101, pacing_shift = 8"#,
    "ack_every = 1, ack_pushes = false, quick_acks = 0",
    r#"ack_every = 8, delayed_ack_min = "10ms", delayed_ack_max = "20ms", read_delay = "1ms""#,
    "compress_sacks = false",
    r#"profile = "quic""#,
    r#"profile = "quic", ecn = true, undo = false"#,
    r#"profile = "dqc""#,
    r#"profile = "quic", quic = { packet_threshold = 10, time_threshold_eighths = 16, granularity = "5ms" }"#,
    r#"profile = "quic", quic = { acks_per_rtt = 4, max_ack_delay = "50ms", avoid_overestimates = true }"#,
    r#"profile = "quic", quic = { timeout = "resend-quietly", timeout_min = "300ms" }"#,
    r#"profile = "quic", quic = { saved_cwnd = "400kB", saved_rtt = "40ms" }"#,
    r#"profile = "quic", quic = { clock_resolution = "1ms", poll_interval = "2ms", pacing_granularity = "0s" }"#,
    r#"profile = "quic", quic = { initial_burst = 1, initial_timeout = "100ms" }"#,
    r#"profile = "quic", receive_window = "64kB""#,
];
