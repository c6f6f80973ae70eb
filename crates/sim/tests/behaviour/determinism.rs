//! A scenario always gives identical bytes, wherever and however often it runs and whatever is recorded.

use crate::lab::{Run, scenario};
use dumbbell_scenario::Scenario;
use dumbbell_sim::{Bounds, Change, RunOutput, Table, TimedChange, Values, run_scripted};
use dumbbell_units::{Duration, Time};
use std::sync::atomic::AtomicBool;

/// Every part of the simulator that draws random numbers or holds state between events: both directions, loss of both
/// kinds, jitter, reordering, CoDel, finite flows, paced applications, late starts and early stops.
const MIXED: &str = r#"
    duration = "20s"
    seed = 7
    record.interval = "10ms"

    [path]
    rate = "20mbit"
    rtt = "40ms"
    buffer = "1bdp"
    loss = { kind = "gilbert-elliott", p = "0.1%", r = "30%" }
    jitter = { amount = "1ms", distribution = "normal", correlation = "25%" }
    reorder = { probability = "1%", gap = 5 }

    [path.reverse]
    rate = "5mbit"
    buffer = "100packets"
    queue = "codel"
    loss = "0.2%"

    [[flows]]
    cc = "bbr"
    count = 2
    start_jitter = "500ms"

    [[flows]]
    cc = "cubic"
    rtt = "80ms"

    [[flows]]
    cc = { name = "reno", beta = 0.7 }
    direction = "down"
    start = "2s"
    stop = "15s"

    [[flows]]
    cc = "cubic"
    count = 3
    bytes = "700kB"
    start = "3s"
    stagger = "4s"

    [[flows]]
    cc = "bbr"
    rate = "1mbit"
    direction = "down"
"#;

/// Every bit of a table.
pub fn bytes(table: &Table) -> Vec<u8> {
    let mut bytes = Vec::new();
    for column in &table.columns {
        bytes.extend(column.name.as_bytes());
        match &column.values {
            Values::Float(values) => bytes.extend(values.iter().flat_map(|v| v.to_bits().to_le_bytes())),
            Values::Count(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
            Values::Index(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
            Values::Text(values) => bytes.extend(values.iter().flat_map(|v| v.bytes())),
            Values::Name(values) => bytes.extend(values.iter().flat_map(str::bytes)),
        }
        bytes.push(0);
    }
    bytes
}

fn summary(scenario: &Scenario) -> Vec<u8> {
    let output = Run::of(scenario).output;
    [bytes(&output.flows), bytes(&output.links)].concat()
}

pub fn assert_same_tables(first: &RunOutput, second: &RunOutput) {
    for (a, b) in [
        (&first.flows, &second.flows),
        (&first.links, &second.links),
        (&first.series, &second.series),
        (&first.link_series, &second.link_series),
    ] {
        assert!(!a.columns.is_empty());
        assert_eq!(bytes(a), bytes(b));
    }
}

#[test]
fn a_run_repeats_itself_to_the_last_bit() {
    let scenario = scenario(MIXED);
    assert_same_tables(&Run::of(&scenario).output, &Run::of(&scenario).output);
}

#[test]
fn runs_side_by_side_do_not_touch_each_other() {
    let mixed = scenario(MIXED);
    let alone = summary(&mixed);
    let other = Scenario { seed: 8, ..mixed.clone() };
    let together = std::thread::scope(|scope| {
        let threads: Vec<_> = [&mixed, &other, &mixed, &other].map(|s| scope.spawn(move || summary(s))).into();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(together[0], alone);
    assert_eq!(together[2], alone);
    assert_eq!(together[1], together[3]);
    assert_ne!(together[1], alone, "the seed changes nothing");
}

#[test]
fn recording_changes_nothing() {
    let recorded = scenario(MIXED);
    let expected = summary(&recorded);
    for interval in ["1ms", "333ms"] {
        assert_eq!(summary(&scenario(&MIXED.replace("10ms", interval))), expected, "every {interval}");
    }
    let silent = scenario(&MIXED.replace("record.interval = \"10ms\"", "record.series = false"));
    assert_eq!(summary(&silent), expected);
    assert!(Run::of(&silent).output.series.columns.iter().all(|column| column.values.is_empty()));
}

/// A link that loses nothing has fast paths: bursts enter it as a whole, and segments that a receiver does not answer,
/// or answers like those before, have no events of their own. One that might lose something has a shorter one, and one
/// that might duplicate something has none.
fn check_fast_paths(flows: &str, path: &str) {
    let text = format!(
        r#"
        duration = "3s"
        warmup = "1.2345678s"
        record.interval = "100us"
        flows = [{flows}]
        [path]
        {path}
        "#
    );
    let plain = Run::of(&scenario(&text)).output;
    for might in ["loss", "duplicate"] {
        let never = format!("{might} = \"0.0000000001%\"");
        let careful = Run::of(&scenario(&format!("{text}\n{never}\n[path.reverse]\n{never}"))).output;
        assert_same_tables(&plain, &careful);
        assert_eq!(plain.summary.events, careful.summary.events);
    }
}

#[test]
fn the_fast_paths_of_plain_links_change_nothing() {
    let crowd = r#"{ cc = "bbr", count = 4 }, { cc = "cubic", count = 2 }"#;
    check_fast_paths(crowd, r#"rate = "300mbit", rtt = "60ms", buffer = "40packets""#.replace(", ", "\n").as_str());
}

#[test]
fn receivers_that_answer_a_run_at_once_change_nothing() {
    for (flows, path) in [
        (r#"{ cc = "bbr" }"#, r#"rate = "100mbit", rtt = "20ms", buffer = "1bdp""#),
        (r#"{ cc = "cubic", transport = { ack_every = 1 } }"#, r#"rate = "70mbit", rtt = "15ms", buffer = "1bdp""#),
        // Here segments come faster than they are read.
        (r#"{ cc = "cubic" }"#, r#"rate = "1gbit", rtt = "3ms", buffer = "1bdp""#),
        (
            r#"{ cc = "bbr", count = 2, transport = { window_scale = 4 } }"#,
            r#"rate = "1gbit", rtt = "4ms", buffer = "2bdp""#,
        ),
    ] {
        check_fast_paths(flows, &path.replace(", ", "\n"));
    }
}

/// Packets that are lost at random take a short way over a link; one that might duplicate something has none.
#[test]
fn the_short_way_of_links_that_lose_packets_changes_nothing() {
    let text = r#"
        duration = "8s"
        warmup = "1.2345678s"
        cooldown = "300ms"
        record.interval = "7ms"
        flows = [
            { cc = "bbr", transport = { profile = "quic" } },
            { cc = "cubic", transport = { profile = "dqc" } },
            { cc = "cubic" },
        ]
        [path]
        rate = "20mbit"
        rtt = "60ms"
        buffer = "20packets"
        loss = "2%"
    "#;
    let short = Run::of(&scenario(text)).output;
    let long = Run::of(&scenario(&format!("{text}\nduplicate = \"0.0000000001%\""))).output;
    assert_same_tables(&short, &long);
    assert_eq!(short.summary.events, long.summary.events);
}

/// ACKs of flows with links of their own pass the first link of their way back without an event, unless something is to
/// change.
#[test]
fn shortened_ways_change_nothing() {
    let text = r#"
        duration = "4s"
        warmup = "1.2345678s"
        cooldown = "300ms"
        record.interval = "7ms"
        path = { rate = "100mbit", rtt = "20ms", buffer = "1bdp" }
        [[flows]]
        cc = "cubic"
        count = 4
        rtt = "50ms"
        [[flows]]
        cc = "bbr"
        rtt = "33ms"
        transport = { profile = "quic" }
        [[flows]]
        cc = "reno"
        bytes = "300kB"
        rtt = "70ms"
    "#;
    let scenario = scenario(text);
    let at = Time::ZERO + Duration::from_secs(3);
    let nothing = TimedChange { at, link: 0, change: Change::LossBefore(None) };
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: u64::MAX, series: None, plain: false };
    let whole = run_scripted(&scenario, vec![nothing], bounds).unwrap();
    let shortened = Run::of(&scenario).output;
    assert_same_tables(&shortened, &whole);
    assert!(shortened.summary.events < whole.summary.events);
}

#[test]
fn one_or_two_threads_with_or_without_series_give_the_same_bytes() {
    let recorded = scenario(MIXED);
    let silent = scenario(&MIXED.replace("record.interval = \"10ms\"", "record.series = false"));
    let expected = summary(&recorded);
    assert_eq!(summary(&silent), expected);
    let side_by_side = std::thread::scope(|scope| {
        let threads = [&recorded, &silent].map(|s| scope.spawn(move || [summary(s), summary(s)]));
        threads.map(|thread| thread.join().unwrap())
    });
    for repeated in side_by_side.as_flattened() {
        assert_eq!(repeated, &expected);
    }
}
