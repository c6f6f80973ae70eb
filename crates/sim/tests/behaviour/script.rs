//! Links that change while a run goes on.

use crate::lab::{Run, scenario};
use dumbbell_scenario::Scenario;
use dumbbell_sim::{Bounds, Change, RunError, RunOutput, Table, TimedChange, Values, run_scripted};
use dumbbell_units::{Duration, Rate, Time};
use std::sync::atomic::AtomicBool;

fn scripted(scenario: &Scenario, script: Vec<TimedChange>) -> Result<RunOutput, RunError> {
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: u64::MAX, series: None, plain: false };
    run_scripted(scenario, script, bounds)
}

fn change(at_ms: u64, change: Change) -> TimedChange {
    TimedChange { at: Time::ZERO + Duration::from_millis(at_ms), link: 0, change }
}

fn mbit(mbit: u64) -> Change {
    Change::Rate(Rate::from_bits_per_sec(mbit * 1_000_000))
}

/// What differs first between two tables.
fn difference(one: &Table, other: &Table) -> Option<String> {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    one.columns.iter().zip(&other.columns).find_map(|(a, b)| match (&a.values, &b.values) {
        (Values::Float(x), Values::Float(y)) if bits(x) == bits(y) => None,
        (Values::Float(x), Values::Float(y)) => {
            let row = x.iter().zip(y).position(|(x, y)| x.to_bits() != y.to_bits());
            Some(format!("{} in row {row:?}: {:?} {:?}", a.name, row.map(|row| x[row]), row.map(|row| y[row])))
        }
        (x, y) => (x != y).then(|| a.name.clone()),
    })
}

/// Flows of all kinds over a bottleneck with this rate, buffer and queue, sampled when its rate changes, too.
fn mixed(rate: &str, queue: &str) -> Scenario {
    scenario(&format!(
        r#"
        duration = "6s"
        warmup = "2s"
        record.interval = "100ms"
        path = {{ rate = {rate}, rtt = "40ms", buffer = "60kB", queue = "{queue}", loss = "0.1%", jitter = "1ms", reverse = {{ rate = "5mbit", buffer = "30packets" }} }}
        flows = [
            {{ cc = "cubic" }},
            {{ cc = "bbr", rtt = "70ms" }},
            {{ cc = "reno", direction = "down" }},
            {{ cc = "bbr", transport = "quic" }},
        ]
        "#
    ))
}

#[test]
fn a_scripted_rate_gives_what_a_schedule_gives_to_the_last_bit() {
    for queue in
        ["fifo", "codel", "drophead", "pie", "fq", "fq_codel", "dualpi2", "mahimahi-codel", "mahimahi-pie", "cake"]
    {
        let schedule = r#"[["0s", "10mbit"], ["1s", "2mbit"], ["2s", "0bit"], ["2300ms", "25mbit"], ["5s", "7mbit"]]"#;
        let scheduled = Run::of(&mixed(schedule, queue)).output;
        let script =
            vec![change(5_000, mbit(7)), change(1_000, mbit(2)), change(2_000, mbit(0)), change(2_300, mbit(25))];
        let changed = scripted(&mixed("\"10mbit\"", queue), script).unwrap();
        for (name, one, other) in [
            ("flows", &scheduled.flows, &changed.flows),
            ("links", &scheduled.links, &changed.links),
            ("series", &scheduled.series, &changed.series),
            ("link series", &scheduled.link_series, &changed.link_series),
        ] {
            assert_eq!(difference(one, other), None, "{name} behind {queue}");
        }
    }
}

#[test]
fn recording_does_not_disturb_a_script() {
    let run = |interval_ms: u64| {
        let mut scenario = mixed("\"10mbit\"", "fifo");
        scenario.record.interval = Duration::from_millis(interval_ms);
        scripted(&scenario, (1..50).map(|i| change(100 * i, mbit(i * 7 % 20))).collect()).unwrap()
    };
    let (often, seldom) = (run(1), run(3_000));
    assert_eq!(difference(&often.flows, &seldom.flows), None);
    assert_eq!(difference(&often.links, &seldom.links), None);
}

#[test]
fn a_longer_delay_lengthens_the_round_trip_from_then_on() {
    let plain = scenario(
        r#"
        duration = "4s"
        record.interval = "10ms"
        path = { rate = "10mbit", rtt = "20ms", buffer = "unlimited" }
        flows = [{ cc = "reno", rate = "1mbit" }]
        "#,
    );
    let delay = |ms| Change::Delay(Duration::from_millis(ms));
    // The forward half of the round trip becomes 60 ms longer, and then 5 ms shorter than at first.
    let run = Run { output: scripted(&plain, vec![change(1_000, delay(70)), change(2_500, delay(5))]).unwrap() };
    let series = run.series(0);
    let around = |from_s: f64, to_s: f64| {
        let samples = series.t.iter().zip(series.number("rtt_ms"));
        let within = samples.filter(|&(&t, rtt)| t > from_s && t < to_s && !rtt.is_nan());
        within.fold((f64::MAX, f64::MIN), |(low, high), (_, &rtt)| (low.min(rtt), high.max(rtt)))
    };
    for ((from_s, to_s), expected) in [((0.3, 1.0), 21.2), ((1.2, 2.5), 81.2), ((2.8, 4.0), 16.2)] {
        let (low, high) = around(from_s, to_s);
        assert!((low - expected).abs() < 0.1 && high - low < 41.0, "{from_s} s: {low} to {high} ms, not {expected} ms");
    }
}

#[test]
fn a_delay_with_steps_gives_what_a_scripted_delay_gives_to_the_last_bit() {
    for queue in ["fifo", "codel"] {
        let with_delay = |delay: &str| {
            scenario(&format!(
                r#"
                duration = "6s"
                path = {{ rate = "10mbit", rtt = "40ms", delay = {delay}, buffer = "60kB", queue = "{queue}", loss = "0.1%" }}
                flows = [{{ cc = "cubic" }}, {{ cc = "bbr", rtt = "70ms" }}]
                "#
            ))
        };
        let stepped = with_delay(r#"[["0s", "20ms"], ["1s", "70ms"], ["2500ms", "5ms"], ["4s", "30ms"]]"#);
        let delay = |at_ms, ms| change(at_ms, Change::Delay(Duration::from_millis(ms)));
        let script = vec![delay(1_000, 70), delay(2_500, 5), delay(4_000, 30)];
        let scheduled = Run::of(&stepped).output;
        let changed = scripted(&with_delay("\"20ms\""), script).unwrap();
        for (one, other) in [(&scheduled.flows, &changed.flows), (&scheduled.series, &changed.series)] {
            assert_eq!(difference(one, other), None, "behind {queue}");
        }
    }
}

#[test]
fn changes_are_in_force_at_their_instant_and_those_of_one_instant_in_their_order() {
    let scenario = mixed("\"10mbit\"", "fifo");
    let twice = scripted(&scenario, vec![change(0, mbit(3)), change(0, mbit(10)), change(9_000, mbit(1))]).unwrap();
    let never = scripted(&scenario, Vec::new()).unwrap();
    assert_eq!(difference(&twice.flows, &never.flows), None);
    assert_eq!(difference(&twice.links, &never.links), None);
}

#[test]
fn a_link_that_there_is_not_cannot_change() {
    let stray = TimedChange { link: 99, ..change(0, mbit(1)) };
    let error = scripted(&mixed("\"10mbit\"", "fifo"), vec![stray]).map(|output| output.summary).unwrap_err();
    assert_eq!(error.to_string(), "there is no link 99 to change");
}
