//! What links can be: limits, rates, queues, and everything else.

use super::{RATE, loss, plain, queue};
use crate::synth::{CellularModel, PRESETS};
use crate::{
    Action, Aggregate, Change, Delay, Ecn, EcnChange, EcnFault, Impairments, Jitter, JitterDistribution, Late, Level,
    LinkConfig, LinkRate, PacketEvent, Policer, QueueLimit, Reorder, Selection, Share,
};
use dumbbell_units::{Bytes, Duration, Rate, Ratio, Rng, Time};
use std::sync::Arc;

pub const QUEUES: [&str; 55] = [
    r#"{"kind": "droptail"}"#,
    r#"{"kind": "drophead"}"#,
    r#"{"kind": "codel"}"#,
    r#"{"kind": "codel", "ecn": true, "target": "2ms", "interval": "10ms"}"#,
    r#"{"kind": "codel", "ecn": true, "target": "2ms", "interval": "10ms", "ce_threshold": "1ms"}"#,
    r#"{"kind": "threshold", "threshold": "5packets"}"#,
    r#"{"kind": "threshold", "threshold": "6000B", "drop_not_ect": true}"#,
    r#"{"kind": "threshold", "threshold": "3ms"}"#,
    r#"{"kind": "threshold", "threshold": "3ms", "mark": "dequeue", "drop_not_ect": true}"#,
    r#"{"kind": "threshold", "threshold": "5packets", "mark": "dequeue"}"#,
    r#"{"kind": "threshold", "threshold": "1packets", "mark": "enqueue"}"#,
    r#"{"kind": "red", "min": "3000B", "max": "9000B"}"#,
    r#"{"kind": "red", "min": "3000B", "max": "9000B", "weight": "25%", "ecn": true}"#,
    r#"{"kind": "red", "min": "2packets", "max": "6packets", "weight": "50%", "gentle": true}"#,
    r#"{"kind": "red", "min": "2ms", "max": "5ms", "weight": "25%", "ecn": true, "hard_drop": true}"#,
    r#"{"kind": "red", "min": "2ms", "max": "5ms", "weight": "25%", "ecn": true, "no_drop": true}"#,
    r#"{"kind": "red", "min": "3000B", "max": "9000B", "weight": "12.5%", "adaptive": true}"#,
    r#"{"kind": "red", "min": "3000B", "max": "9000B", "max_probability": "50%", "average_packet": "500B", "bandwidth": "6mbit"}"#,
    r#"{"kind": "adaptive-red"}"#,
    r#"{"kind": "adaptive-red", "target": "3ms", "ecn": true, "min": "3000B", "max": "9000B", "weight": "25%"}"#,
    r#"{"kind": "blue"}"#,
    r#"{"kind": "blue", "increment": "10%", "decrement": "5%", "freeze_time": "2ms", "ecn": true}"#,
    r#"{"kind": "blue", "increment": "10%", "decrement": "1%", "freeze_time": "4ms", "threshold": "1000B"}"#,
    r#"{"kind": "sfb"}"#,
    r#"{"kind": "sfb", "max": 4, "bin_size": 2, "increment": "10%", "decrement": "2%", "ecn": false}"#,
    r#"{"kind": "sfb", "bin_size": 1, "increment": "20%", "decrement": "10%", "rehash_interval": "40ms", "warmup": "20ms", "penalty_rate": 100, "penalty_burst": 2}"#,
    r#"{"kind": "pie"}"#,
    r#"{"kind": "pie", "target": "2ms", "tupdate": "2ms", "max_burst": "0s", "ecn": true}"#,
    r#"{"kind": "pie", "target": "2ms", "tupdate": "4ms", "max_burst": "8ms", "bytemode": true, "alpha": 20, "beta": 100}"#,
    r#"{"kind": "pie", "target": "2ms", "tupdate": "2ms", "max_burst": "0s", "delay": "rate", "alpha": 10, "beta": 100}"#,
    r#"{"kind": "mahimahi-codel"}"#,
    r#"{"kind": "mahimahi-codel", "target": "2ms", "interval": "10ms"}"#,
    r#"{"kind": "mahimahi-pie"}"#,
    r#"{"kind": "mahimahi-pie", "qdelay_ref": "2ms", "max_burst": "4ms"}"#,
    r#"{"kind": "fq"}"#,
    r#"{"kind": "fq", "flow_limit": 3, "quantum": "1500B", "initial_quantum": "3000B", "ce_threshold": "4ms"}"#,
    r#"{"kind": "fq", "flows": 2, "quantum": "750B", "initial_quantum": "750B", "refill_delay": "2ms"}"#,
    r#"{"kind": "fq", "max_rate": "3mbit"}"#,
    r#"{"kind": "fq", "max_rate": "3mbit", "low_rate_threshold": "4mbit", "quantum": "1500B"}"#,
    r#"{"kind": "fq_codel", "target": "2ms", "interval": "10ms"}"#,
    r#"{"kind": "fq_codel", "target": "2ms", "interval": "10ms", "flows": 2, "quantum": "375B", "drop_batch": 2, "ecn": false}"#,
    r#"{"kind": "fq_codel", "perfect_hash": true, "ce_threshold": "3ms", "quantum": "750B"}"#,
    r#"{"kind": "cake"}"#,
    r#"{"kind": "cake", "bandwidth": "12mbit", "rtt": "10ms", "tins": "besteffort"}"#,
    r#"{"kind": "cake", "bandwidth": "8mbit", "rtt": "10ms", "overhead": 38, "mpu": "256B"}"#,
    r#"{"kind": "cake", "rtt": "10ms", "hosts": [[0, 1, 2], [3]]}"#,
    r#"{"kind": "dualpi2"}"#,
    r#"{"kind": "dualpi2", "target": "3ms", "tupdate": "2ms", "alpha": 10, "beta": 50, "step": "2ms"}"#,
    r#"{"kind": "dualpi2", "target": "3ms", "tupdate": "2ms", "alpha": 10, "beta": 50, "step": "2packets", "min_step_queue": 1, "decide": "enqueue", "l4s": "any-ect"}"#,
    r#"{"kind": "dualpi2", "target": "1ms", "tupdate": "1ms", "alpha": 30, "beta": 90, "drop_on_overload": false, "classic_share": "50%"}"#,
    r#"{"kind": "dualpi2", "target": "1ms", "tupdate": "1ms", "alpha": 30, "beta": 90, "step": "1ms", "ramp": "2ms", "coupling": 4}"#,
    r#"{"kind": "tbf", "rate": "6mbit", "burst": "2packets"}"#,
    r#"{"kind": "tbf", "rate": "6mbit", "burst": "6000B", "initial": "1500B", "latency": "10ms"}"#,
    r#"{"kind": "tbf", "rate": "6mbit", "burst": "6000B", "peak_rate": "9mbit", "mtu": "1500B"}"#,
    r#"{"kind": "tbf", "rate": "9mbit", "burst": "3000B", "overhead": 24}"#,
];

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn percent(percent: f64) -> Ratio {
    Ratio::new(percent / 100.0).unwrap()
}

/// Limits of about as much in packets, in bytes and in time, and two that leave hardly any room.
pub fn limits() -> [(&'static str, QueueLimit); 5] {
    let none = QueueLimit::default();
    [
        ("10 packets", QueueLimit { packets: Some(10), ..none }),
        ("15 kB", QueueLimit { bytes: Some(15_000), ..none }),
        ("10 ms", QueueLimit { time: Some(ms(10)), ..none }),
        ("a packet", QueueLimit { packets: Some(1), ..none }),
        ("no time", QueueLimit { time: Some(Duration::ZERO), ..none }),
    ]
}

/// Rates that are too low, and rates that change on the grid.
pub fn rates() -> [(&'static str, LinkRate); 5] {
    let steps = [(at(0), RATE), (at(20), RATE / 2), (at(40), 0), (at(50), 2 * RATE)];
    let opportunities = [1, 1, 2, 4, 4, 7, 8, 10];
    [
        ("half the rate", LinkRate::Constant(RATE / 2)),
        ("three quarters of the rate", LinkRate::Constant(RATE / 4 * 3)),
        ("steps", LinkRate::Schedule { steps: steps.into(), repeat_after: Some(ms(80)) }),
        ("steps once", LinkRate::Schedule { steps: steps.into(), repeat_after: None }),
        ("trace", LinkRate::Trace { opportunities_ms: opportunities.into(), once: false }),
    ]
}

/// Changes from outside.
pub fn changes() -> [(&'static str, Vec<(Time, Change)>); 5] {
    let rate = |rate| Change::Rate(Rate::from_bits_per_sec(rate));
    let delay = |span| Change::Delay(ms(span));
    let losses = || loss(r#"{"kind": "bernoulli", "p": "20%"}"#);
    [
        ("rate", vec![(at(20), rate(RATE / 2)), (at(40), rate(0)), (at(60), rate(RATE)), (at(61), rate(3 * RATE))]),
        ("outage in a pause", vec![(at(500), rate(0)), (at(1_400), rate(RATE))]),
        ("delay", vec![(at(20), delay(5)), (at(40), delay(1)), (at(60), delay(0))]),
        ("loss before", vec![(at(20), Change::LossBefore(Some(losses()))), (at(60), Change::LossBefore(None))]),
        ("loss after", vec![(at(20), Change::LossAfter(Some(losses()))), (at(60), Change::LossAfter(None))]),
    ]
}

/// Links with one thing more than plain ones.
pub fn parts() -> Vec<(String, LinkConfig)> {
    let mut parts = Vec::new();
    let mut add = |name: &str, config: LinkConfig| parts.push((name.to_owned(), config));
    add("plain", plain());
    add("overhead", LinkConfig { overhead_bytes: 375, ..plain() });
    add("unlimited", LinkConfig { rate: LinkRate::Unlimited, ..plain() });
    let once = LinkRate::Trace { opportunities_ms: [1, 1, 2, 4, 4, 7, 8, 150].into(), once: true };
    add("trace once", LinkConfig { rate: once, ..plain() });
    let limit = QueueLimit { time: Some(ms(5)), ..QueueLimit::default() };
    add("overhead and a limit in time", LinkConfig { overhead_bytes: 375, limit, ..plain() });
    for preset in PRESETS {
        let model = CellularModel::preset(preset).unwrap();
        let opportunities_ms = model.synthesise(Duration::from_secs(3), &mut Rng::new(3)).into();
        add(preset, LinkConfig { rate: LinkRate::Trace { opportunities_ms, once: false }, ..plain() });
    }
    for json in LOSSES {
        add(&format!("{json} before"), LinkConfig { loss_before: Some(loss(json)), ..plain() });
        add(&format!("{json} after"), LinkConfig { loss_after: Some(loss(json)), ..plain() });
    }
    for (burst, initial) in [(1_500, None), (6_000, Some(0)), (6_000, Some(1_500))] {
        let policer = Some(policer(burst, initial));
        add(&format!("policer {burst} {initial:?}"), LinkConfig { policer, ..plain() });
    }
    for (name, delay) in delays() {
        add(name, LinkConfig { delay, ..plain() });
    }
    for (name, impairments) in impairments() {
        add(
            name,
            LinkConfig {
                impairments: Arc::new(impairments),
                delay: Delay { base: ms(4), ..Delay::default() },
                ..plain()
            },
        );
    }
    parts
}

/// A policer at half the rate of the link.
fn policer(burst: u64, initial: Option<u64>) -> Policer {
    let bytes = |bytes| Level::Bytes(Bytes::new(bytes));
    Policer { rate: Rate::from_bits_per_sec(RATE / 2), burst: bytes(burst), initial: initial.map(bytes) }
}

/// Links with several things at a time, drawn by their numbers, and what happens to them on the way.
pub fn drawn(number: u64) -> (String, LinkConfig, Vec<(Time, Change)>) {
    let mut rng = Rng::new(number);
    let mut draw = |below: usize| rng.below(u32::try_from(below).unwrap()) as usize;
    let json = QUEUES[draw(QUEUES.len())];
    let (limit_name, limit) = limits()[draw(5)];
    let (rate_name, rate) = rates().into_iter().nth(draw(8)).unwrap_or(("full rate", LinkRate::Constant(RATE)));
    let (delay_name, delay) = delays().into_iter().nth(draw(20)).unwrap_or(("no delay", Delay::default()));
    let (impairment, impairments) =
        impairments().into_iter().nth(draw(30)).unwrap_or(("no impairment", Impairments::default()));
    let (change, changes) = changes().into_iter().nth(draw(10)).unwrap_or(("no change", Vec::new()));
    let mut a_loss = || LOSSES.get(draw(2 * LOSSES.len())).map(|json| loss(json));
    let (loss_before, loss_after) = (a_loss(), a_loss());
    let policer = (draw(4) == 0).then(|| policer(3_000, None));
    let overhead_bytes = [0, 0, 38, 375][draw(4)];
    let losses = [&loss_before, &loss_after].map(|loss| loss.as_ref().map_or("none", |loss| loss.kind()));
    let name = format!(
        "{json}, {limit_name}, {rate_name}, {delay_name}, {impairment}, losses {losses:?}, {}, {overhead_bytes} B, {change}",
        if policer.is_some() { "policed" } else { "not policed" }
    );
    let queue = queue(json, limit);
    let config = LinkConfig {
        rate,
        overhead_bytes,
        delay,
        policer,
        limit,
        queue,
        loss_before,
        loss_after,
        impairments: Arc::new(impairments),
        ..plain()
    };
    (name, config, changes)
}

pub const LOSSES: [&str; 7] = [
    r#"{"kind": "bernoulli", "p": "5%"}"#,
    r#"{"kind": "bernoulli", "p": "30%", "correlation": "25%"}"#,
    r#"{"kind": "gilbert-elliott", "p": "10%", "r": "30%", "loss_bad": "80%", "loss_good": "1%"}"#,
    r#"{"kind": "gilbert-elliott", "p": "10%"}"#,
    r#"{"kind": "four-state", "p13": "10%", "p31": "30%", "p32": "20%", "p23": "50%", "p14": "5%"}"#,
    r#"{"kind": "periodic", "p": "10%"}"#,
    r#"{"kind": "steps", "steps": [["0s", "0%"], ["50ms", "20%"]], "repeat": "100ms"}"#,
];

pub fn delays() -> Vec<(&'static str, Delay)> {
    let base = Delay { base: ms(4), ..Delay::default() };
    let jitter = Jitter { amount: ms(2), ..Jitter::default() };
    let normal = JitterDistribution::Normal;
    let reorder = Reorder { probability: percent(25.0), ..Reorder::default() };
    let sinusoid = Delay::sinusoid(ms(4), ms(3), ms(40), ms(5));
    let late = Late { probability: percent(20.0), min: ms(1), max: ms(6) };
    vec![
        ("jitter", Delay { jitter, ..base.clone() }),
        ("jitter wider than the delay", Delay { jitter: Jitter { amount: ms(9), ..jitter }, ..base.clone() }),
        ("jitter that reorders", Delay { jitter: Jitter { reorders: true, ..jitter }, ..base.clone() }),
        ("normal jitter", Delay { jitter: Jitter { distribution: normal, ..jitter }, ..base.clone() }),
        ("correlated jitter", Delay { jitter: Jitter { correlation: percent(50.0), ..jitter }, ..base.clone() }),
        ("reorder", Delay { reorder, ..base.clone() }),
        ("reorder with a gap", Delay { reorder: Reorder { gap: 3, delay: ms(1), ..reorder }, ..base.clone() }),
        ("late", Delay { late: Some(late), ..base.clone() }),
        ("sinusoid", Delay { schedule: Some(sinusoid), ..base }),
    ]
}

pub fn impairments() -> Vec<(&'static str, Impairments)> {
    let none = Impairments::default();
    let share = Share { probability: percent(20.0), correlation: Ratio::ZERO };
    let correlated = Share { probability: percent(40.0), correlation: percent(25.0) };
    let aggregate = |aggregate: Aggregate| Impairments { aggregate: Some(aggregate), ..Impairments::default() };
    let idle = Aggregate::default();
    let event = |action| PacketEvent {
        action,
        of: Selection::Data,
        flow: None,
        packets: None,
        bytes: None,
        from: None,
        until: None,
        repeat: None,
        times: None,
        by: (action == Action::Delay).then_some(ms(3)),
    };
    let events = |events: &[PacketEvent]| Impairments { events: events.into(), ..Impairments::default() };
    let ecn = |kind, share, to| {
        let fault = EcnFault { kind, to, probability: percent(share) };
        Impairments { ecn_fault: Some(fault), ..Impairments::default() }
    };
    let acks = PacketEvent { of: Selection::Acks, ..event(Action::Drop) };
    vec![
        ("duplicate", Impairments { duplicate: share, ..none.clone() }),
        ("correlated duplicate", Impairments { duplicate: correlated, ..none.clone() }),
        ("corrupt", Impairments { corrupt: share, ..none.clone() }),
        ("most packets", Impairments { most_packets: Some(8), ..none }),
        ("bundles by timeout", aggregate(Aggregate { timeout: Some(ms(2)), packets: Some(3), ..idle })),
        ("bundles by time", aggregate(Aggregate { every: Some(ms(3)), bytes: Some(Bytes::new(3_000)), ..idle })),
        ("bundles in slots", aggregate(Aggregate { slot: Some((ms(1), ms(5))), ..idle })),
        ("drops", events(&[PacketEvent { packets: Some((3, 5)), ..event(Action::Drop) }])),
        ("drops of ACKs", events(&[PacketEvent { from: Some(at(30)), until: Some(at(60)), ..acks.clone() }])),
        ("drops of a flow", events(&[PacketEvent { flow: Some(1), packets: Some((2, 9)), ..event(Action::Drop) }])),
        (
            "marks by bytes",
            events(&[PacketEvent { bytes: Some((Bytes::new(3_000), Bytes::new(60_000))), ..event(Action::Mark) }]),
        ),
        ("copies", events(&[PacketEvent { of: Selection::Any, packets: Some((10, 20)), ..event(Action::Duplicate) }])),
        ("delays", events(&[PacketEvent { packets: Some((20, 40)), ..event(Action::Delay) }])),
        ("holds", events(&[PacketEvent { from: Some(at(30)), until: Some(at(40)), ..event(Action::Hold) }])),
        (
            "holds again",
            events(&[PacketEvent {
                from: Some(at(30)),
                until: Some(at(33)),
                repeat: Some(ms(7)),
                times: Some(3),
                ..event(Action::Hold)
            }]),
        ),
        ("cleared ECN bits", ecn(EcnChange::Bleach, 100.0, None)),
        ("erased marks", ecn(EcnChange::Unmark, 50.0, None)),
        ("false marks", ecn(EcnChange::Mark, 10.0, None)),
        ("other ECN bits", ecn(EcnChange::Remark, 50.0, Some(Ecn::Ect1))),
        ("two events", events(&[acks, PacketEvent { flow: Some(2), ..event(Action::Mark) }])),
    ]
}
