//! An experiment in words and values: "10 Mbit/s, 20 ms one way, queue 50 000 bytes = 1.00 BDP".

pub(crate) mod parameters;

use crate::resolve::{FlowNotes, LinkNotes, RateSource, Resolved};
use crate::{Experiment, Flow, Link, Pool, PoolShare, Program, Scenario};
use dumbbell_path::{Aggregate, EcnFault, Impairments, Late, LinkRate, PacketEvent, Policer, QueueLimit};
use dumbbell_traffic::Streams;
use dumbbell_transport::TransportConfig;
use dumbbell_units::{Bytes, Duration, Rate, Ratio, grouped};
use serde_json::Value;
use std::fmt::Write;

const DEFAULT: &str = " (default)";

/// The report on the first point and on what the sweep varies.
pub(crate) fn explain(experiment: &Experiment) -> String {
    let mut text = String::new();
    let Some(first) = experiment.points().first() else { return text };
    let resolved = &*first.as_given();
    let scenario = &resolved.scenario;
    let default = |key: &str| mark(&resolved.defaults, key);
    let _ = writeln!(text, "{}", experiment.name());
    if !experiment.included().is_empty() {
        let _ = writeln!(text, "  includes {}", experiment.included().join(", "));
    }
    let end = scenario.duration - scenario.cooldown;
    let _ = writeln!(text, "  runs {}{}", scenario.duration.in_words(), default("duration"));
    let edges =
        if resolved.defaults.contains(&"warmup") && resolved.defaults.contains(&"cooldown") { DEFAULT } else { "" };
    let _ = writeln!(text, "  measured from {} to {}{edges}", scenario.warmup.in_words(), end.in_words());
    let _ = writeln!(text, "  seed {}{}", scenario.seed, default("seed"));
    if resolved.varies_phase {
        text.push_str("  rates that repeat begin at a place drawn from the seed\n");
    }
    if scenario.record.series {
        let _ = writeln!(text, "  time series every {}{}", scenario.record.interval.in_words(), default("interval"));
    } else {
        let _ = writeln!(text, "  no time series");
    }
    text.push_str("links\n");
    for (link, notes) in scenario.links.iter().zip(&resolved.links) {
        link_in_words(&mut text, link, notes, scenario);
    }
    if !scenario.flows.is_empty() {
        text.push_str("flows\n");
        flows_in_words(&mut text, resolved);
    }
    if !scenario.traffic.is_empty() {
        text.push_str("traffic\n");
        for (number, traffic) in scenario.traffic.iter().enumerate() {
            let (flow, source) = (traffic.flow(), &traffic.source);
            let (kind, cc, rtt) = (source.in_words(), flow.cc.exact_name(), flow.base_rtt.in_words());
            let _ = writeln!(text, "  {number}: {}: {kind}, {cc}, base RTT {rtt}", flow.label);
        }
    }
    if experiment.points().len() > 1 {
        sweep_in_words(&mut text, experiment);
    }
    text
}

fn mark(defaults: &[&'static str], key: &str) -> &'static str {
    if defaults.contains(&key) { DEFAULT } else { "" }
}

fn link_in_words(text: &mut String, link: &Link, notes: &LinkNotes, scenario: &Scenario) {
    let (config, nodes) = (&link.config, &scenario.nodes);
    let default = |key: &str| mark(&notes.defaults, key);
    let mut parts = vec![match &link.radio {
        Some(radio) => radio.wifi.in_words(),
        None => format!("{}{}", rate_in_words(&config.rate, notes), default("rate")),
    }];
    parts.push(config.delay.in_words());
    if config.overhead_bytes > 0 {
        parts.push(format!("{} bytes of framing a packet", config.overhead_bytes));
    }
    parts.extend(config.policer.as_ref().map(Policer::in_words));
    let limits = limit_in_words(&config.limit);
    if !matches!(config.rate, LinkRate::Unlimited) || !limits.is_empty() {
        let mut held = if limits.is_empty() { "unlimited".to_owned() } else { limits.join(" or ") };
        if let (Some(bytes), Some(bdp)) = (config.limit.bytes, notes.bdp.filter(|b| *b != Bytes::ZERO)) {
            let of_mean = if matches!(config.rate, LinkRate::Constant(_)) { "" } else { " of the mean rate" };
            let _ = write!(held, " = {:.2} BDP{of_mean}", bytes as f64 / bdp.as_u64() as f64);
        }
        let discipline = config.queue.in_words();
        let space = if discipline.is_empty() { "" } else { " " };
        parts.push(format!("{discipline}{space}queue {held}{}", default("buffer")));
        parts.extend(link.pool.map(|PoolShare { pool, alpha }| {
            let Pool { name, bytes } = &scenario.pools[pool];
            format!("at most {alpha} times what is free of the {} of pool {name}", Bytes::new(*bytes).in_words())
        }));
    }
    let after = if link.radio.is_some() { "of frames on the air" } else { "after transmission" };
    for (loss, place) in [(&config.loss_before, "before the queue"), (&config.loss_after, after)] {
        // Whether the place is a default is not said: the mark would seem to be that of the loss, which is given.
        parts.extend(loss.iter().map(|loss| format!("{} {place}", loss.in_words())));
    }
    parts.extend(config.delay.jitter.in_words());
    parts.extend(config.delay.reorder.in_words());
    parts.extend(config.delay.late.as_ref().map(Late::in_words));
    let Impairments { duplicate, corrupt, most_packets, events, aggregate, ecn_fault } = &*config.impairments;
    for (share, what) in [(duplicate, "duplicated"), (corrupt, "damaged")] {
        let happens = share.probability > Ratio::ZERO;
        parts.extend(happens.then(|| format!("{} of packets {what}", share.in_words())));
    }
    parts.extend(most_packets.map(|most| format!("at most {most} packets on it")));
    parts.extend(aggregate.as_ref().map(Aggregate::in_words));
    parts.extend(ecn_fault.as_ref().map(EcnFault::in_words));
    parts.extend(events.iter().map(PacketEvent::in_words));
    let _ = writeln!(text, "  {} ({} -> {}): {}", config.name, nodes[link.from], nodes[link.to], parts.join(", "));
}

fn limit_in_words(limit: &QueueLimit) -> Vec<String> {
    let QueueLimit { packets, bytes, time } = limit;
    let packets = packets.map(|packets| format!("{packets} packets"));
    let bytes = bytes.map(|bytes| Bytes::new(bytes).in_words());
    let time = time.map(|time| format!("{time} at the current rate"));
    [packets, bytes, time].into_iter().flatten().collect()
}

fn rate_in_words(rate: &LinkRate, notes: &LinkNotes) -> String {
    let mean = notes.mean_rate.map_or_else(String::new, Rate::in_words);
    match (rate, &notes.rate_source) {
        (LinkRate::Unlimited, _) => "unlimited rate".to_owned(),
        (LinkRate::Constant(_), _) => mean,
        (LinkRate::Schedule { steps, repeat_after }, source) => {
            let trace = match source {
                RateSource::File { name, .. } => format!("trace {name}, "),
                RateSource::Given | RateSource::Synth { .. } => String::new(),
            };
            let again = repeat_after.map_or_else(String::new, |p| format!(", again every {}", p.in_words()));
            format!("{trace}{} steps, mean {mean}{again}", steps.len())
        }
        (LinkRate::Trace { .. }, RateSource::Synth { preset, seed, length, .. }) => {
            format!("synthesised {preset} (seed {seed}, {}), mean {mean}", length.in_words())
        }
        (LinkRate::Trace { once, .. }, source) => {
            let name = if let RateSource::File { name, .. } = source { format!(" {name}") } else { String::new() };
            format!("trace{name}{}, mean {mean}", if *once { " once" } else { "" })
        }
    }
}

fn flows_in_words(text: &mut String, resolved: &Resolved) {
    let flows = &resolved.scenario.flows;
    let mut number = 0;
    while number < flows.len() {
        let entry = resolved.flows[number].entry;
        let count = resolved.flows[number..].iter().take_while(|notes| notes.entry == entry).count();
        let numbers = if count == 1 { number.to_string() } else { format!("{number} to {}", number + count - 1) };
        let last = &flows[number + count - 1];
        let longer = resolved.rtt_spans.get(number).copied();
        let _ = writeln!(text, "  {numbers}: {}", flow_in_words(&flows[number], last, longer, &resolved.flows[number]));
        number += count;
    }
}

fn flow_in_words(flow: &Flow, last: &Flow, longer: Option<Duration>, notes: &FlowNotes) -> String {
    let defaults = &notes.defaults;
    let what = match &flow.program {
        Some(program) => program_in_words(&flow.label, program),
        None => algorithm_in_words(flow),
    };
    let since = |t: dumbbell_units::Time| Duration::from_nanos(t.as_nanos()).in_words();
    let mut rtt = format!("base RTT {}", flow.base_rtt.in_words());
    if let Some(longer) = longer {
        let _ = write!(rtt, " plus up to {}", longer.in_words());
    }
    let mut parts = vec![what, rtt];
    let mut start = since(flow.start);
    if last.start != flow.start {
        let _ = write!(start, " to {}", since(last.start));
    }
    if flow.start_jitter > Duration::ZERO {
        let _ = write!(start, " plus up to {}", flow.start_jitter.in_words());
    }
    parts.push(format!("starts at {start}{}", mark(defaults, "start")));
    parts.push(match flow.stop {
        Some(stop) => format!("stops at {}", since(stop)),
        None => format!("until the end{}", mark(defaults, "stop")),
    });
    if let Some(bytes) = flow.bytes {
        parts.push(format!("transfers {} bytes", grouped(bytes)));
    }
    if let Some(rate) = flow.app_rate {
        let write = flow.app_write.map_or(String::new(), |bytes| format!(" in writes of {} bytes", grouped(bytes)));
        parts.push(format!("application produces {}{write}", Rate::from_bits_per_sec(rate).in_words()));
    }
    if let Some(schedule) = &flow.app_schedule {
        let again = schedule.repeat_after.map_or_else(String::new, |span| format!(", again every {}", span.in_words()));
        parts.push(format!("application's rate has {} steps{again}", schedule.steps.len()));
    }
    parts.extend(flow.streams.as_ref().map(Streams::in_words));
    if let Some(schedule) = &flow.read_schedule {
        parts.push(match (&schedule.steps[..], schedule.repeat_after) {
            ([(_, bits)], None) => format!("its receiver reads {}", Rate::from_bits_per_sec(*bits).in_words()),
            (steps, again) => {
                let again = again.map_or_else(String::new, |span| format!(", again every {}", span.in_words()));
                format!("the rate at which its receiver reads has {} steps{again}", steps.len())
            }
        });
    }
    parts.extend(transport_in_words(&flow.transport, notes.profile));
    parts.join(", ")
}

fn algorithm_in_words(flow: &Flow) -> String {
    let (name, exact) = (flow.cc.name(), flow.cc.exact_name());
    let mut cc = if *flow.label == *name { name.to_string() } else { format!("{} = {name}", flow.label) };
    if exact != name {
        let _ = write!(cc, " -> {exact}");
    }
    if !flow.cc.changed().is_empty() {
        let list: Vec<String> = flow.cc.changed().iter().map(|(k, v)| format!("{k} = {v}")).collect();
        let _ = write!(cc, " ({})", list.join(", "));
    }
    cc
}

/// Both command lines, so that everybody sees what would run.
fn program_in_words(label: &str, Program { server, client, is_download }: &Program) -> String {
    let sender = if *is_download { "server" } else { "client" };
    format!("{label} = two programs, server `{server}` and client `{client}`, of which the {sender} sends the data")
}

/// The profile and what differs from it; nothing for plain TCP.
fn transport_in_words(config: &TransportConfig, profile: &str) -> Option<String> {
    let json = |config: Option<&TransportConfig>| serde_json::to_value(config).unwrap_or_default();
    let mut changes = Vec::new();
    differences("", &json(TransportConfig::profile(profile).as_ref()), &json(Some(config)), &mut changes);
    if changes.is_empty() {
        return (profile != TransportConfig::PROFILES[0]).then(|| format!("transport {profile}"));
    }
    Some(format!("transport {profile} ({})", changes.join(", ")))
}

/// Values of `changed` that are others than in `base`, as `key = value` with the path of the key.
pub(crate) fn differences(at: &str, base: &Value, changed: &Value, found: &mut Vec<String>) {
    match (base, changed) {
        (Value::Object(base), Value::Object(changed)) => {
            for (key, value) in changed {
                let dot = if at.is_empty() { "" } else { "." };
                differences(&format!("{at}{dot}{key}"), base.get(key).unwrap_or(&Value::Null), value, found);
            }
        }
        _ if base != changed => found.push(format!("{at} = {changed}")),
        _ => {}
    }
}

fn sweep_in_words(text: &mut String, experiment: &Experiment) {
    let points = experiment.points();
    let repeats = points.iter().map(|p| p.repeat()).max().map_or(1, |r| r + 1);
    let _ = writeln!(text, "sweep: {} runs", points.len());
    let keys = points[0].label().into_iter().map(|(key, _)| key);
    for (i, key) in keys.enumerate() {
        let mut values: Vec<String> = points.iter().map(|p| in_words(&p.label()[i].1)).collect();
        values.dedup();
        let mut distinct: Vec<String> = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let _ = writeln!(text, "  {key}: {}", distinct.join(", "));
    }
    if repeats > 1 {
        let _ = writeln!(text, "  {repeats} repetitions, seeds {}, {}, ...", points[0].seed(), points[1].seed());
    }
    if !points[0].label().is_empty() {
        text.push_str("  shown above: the first run\n");
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        _ => value.to_string(),
    }
}
