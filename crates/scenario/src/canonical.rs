//! A resolved scenario as a complete experiment file, and its digest.
//!
//! The file is written as a general graph with one entry a flow and a direction a link: what the engine runs, nothing
//! more. Quantities print in their canonical spelling, which reads back as the same value.

use crate::file::Buffer;
use crate::resolve::{RateSource, Resolved, hexadecimal};
use crate::tree::json_to_toml;
use crate::{Flow, Link, Scenario};
use dumbbell_path::{JitterDistribution, Level, LinkRate, Loss, QueueKind, QueueLimit, RedConfig, Threshold};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use toml::{Table, Value};

/// The file.
pub(crate) fn to_toml(resolved: &Resolved) -> String {
    let mut text = String::from("# A resolved experiment: every default filled in, sweeps and presets expanded.\n\n");
    text.push_str(&body(resolved, false));
    text
}

/// SHA-256 of the file with every trace replaced by its digest, and with the identity of every algorithm's code: exact
/// name, version, digest.
pub(crate) fn content_hash(resolved: &Resolved) -> String {
    hexadecimal(&Sha256::digest(body(resolved, true)))
}

fn body(resolved: &Resolved, is_digested: bool) -> String {
    let Scenario { duration, warmup, cooldown, seed, record, nodes, links, flows } = &resolved.scenario;
    let mut top = Table::new();
    put(&mut top, "duration", duration.to_string());
    put(&mut top, "warmup", warmup.to_string());
    put(&mut top, "cooldown", cooldown.to_string());
    put(&mut top, "seed", i64::try_from(*seed).unwrap_or(i64::MAX));
    let mut recorded = Table::new();
    put(&mut recorded, "series", record.series);
    put(&mut recorded, "interval", record.interval.to_string());
    let mut text = String::new();
    write_table(&mut text, "", &top);
    write_table(&mut text, "\n[record]\n", &recorded);
    for name in nodes {
        write_table(&mut text, "\n[[nodes]]\n", &Table::from_iter([("name".to_owned(), Value::from(name.clone()))]));
    }
    for (link, notes) in links.iter().zip(&resolved.links) {
        let origin = if is_digested { String::new() } else { trace_origin(&notes.rate_source) };
        let header = format!("\n[[links]]{origin}\n");
        write_table(&mut text, &header, &link_table(link, &notes.rate_source, nodes, is_digested));
    }
    for flow in flows {
        let algorithm = if is_digested { flow.cc.entry().identity() } else { flow.cc.exact_name().to_owned() };
        write_table(&mut text, &format!("\n[[flows]] # {algorithm}\n"), &flow_table(flow, &resolved.scenario));
    }
    text
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key.to_owned(), value.into());
}

fn write_table(text: &mut String, header: &str, table: &Table) {
    text.push_str(header);
    for (key, value) in table {
        let _ = writeln!(text, "{key} = {value}");
    }
}

/// Where a trace comes from, as a comment.
fn trace_origin(source: &RateSource) -> String {
    match source {
        // A name may hold anything, a comment only one line.
        RateSource::File { name, sha256 } => format!(" # trace {}, SHA-256 {sha256}", name.escape_debug()),
        RateSource::Given | RateSource::Synth { .. } => String::new(),
    }
}

fn link_table(link: &Link, source: &RateSource, nodes: &[String], is_digested: bool) -> Table {
    let Link { from, to, config } = link;
    let mut table = Table::new();
    put(&mut table, "name", config.name.clone());
    put(&mut table, "from", nodes[*from].clone());
    put(&mut table, "to", nodes[*to].clone());
    put(&mut table, "duplex", false);
    put(&mut table, "rate", rate(&config.rate, source, is_digested));
    put(&mut table, "delay", config.delay.base.to_string());
    put(&mut table, "overhead", Bytes::new(config.overhead_bytes.into()).to_string());
    if let Some(policer) = &config.policer {
        let mut bucket = Table::new();
        put(&mut bucket, "rate", Rate::from_bits_per_sec(policer.rate).to_string());
        put(&mut bucket, "burst", Bytes::new(policer.burst_bytes).to_string());
        put(&mut table, "policer", bucket);
    }
    put(&mut table, "buffer", limit(&config.queue.limit));
    put(&mut table, "queue", queue(&config.queue.kind));
    let (loss, place) = match &config.loss_before {
        Loss::None => (&config.loss_after, "after"),
        before => (before, "before"),
    };
    put(&mut table, "loss", loss_value(loss));
    put(&mut table, "loss_at", place);
    let delay = &config.delay;
    let mut jitter = Table::new();
    put(&mut jitter, "amount", delay.jitter.to_string());
    put(
        &mut jitter,
        "distribution",
        match delay.distribution {
            JitterDistribution::Uniform => "uniform",
            JitterDistribution::Normal => "normal",
        },
    );
    put(&mut jitter, "correlation", ratio(delay.jitter_correlation));
    put(&mut jitter, "reorders", delay.jitter_reorders);
    put(&mut table, "jitter", jitter);
    let mut reorder = Table::new();
    put(&mut reorder, "probability", ratio(delay.reorder));
    put(&mut reorder, "gap", i64::from(delay.reorder_gap));
    put(&mut table, "reorder", reorder);
    table
}

fn ratio(value: f64) -> String {
    Ratio::new(value).unwrap_or_default().to_string()
}

fn rate(rate: &LinkRate, source: &RateSource, is_digested: bool) -> Value {
    let mut table = Table::new();
    match (rate, source) {
        (LinkRate::Unlimited, _) => return "unlimited".into(),
        (LinkRate::Constant(bits), _) => return Rate::from_bits_per_sec(*bits).to_string().into(),
        (LinkRate::Schedule { steps, repeat_after }, _) => {
            let step = |(start, bits): &(_, u64)| {
                let start: &dumbbell_units::Time = start;
                Value::Array(vec![start.to_string().into(), Rate::from_bits_per_sec(*bits).to_string().into()])
            };
            put(&mut table, "steps", steps.iter().map(step).collect::<Vec<Value>>());
            if let Some(period) = repeat_after {
                put(&mut table, "repeat", period.to_string());
            }
        }
        (LinkRate::Trace { opportunities_ms, once }, _) if is_digested => {
            let bytes: Vec<u8> = opportunities_ms.iter().flat_map(|ms| ms.to_le_bytes()).collect();
            put(&mut table, "opportunities", hexadecimal(&Sha256::digest(bytes)));
            put(&mut table, "once", *once);
        }
        (LinkRate::Trace { .. }, RateSource::Synth { preset, seed, length, .. }) => {
            put(&mut table, "synth", preset.clone());
            put(&mut table, "seed", i64::try_from(*seed).unwrap_or(i64::MAX));
            put(&mut table, "length", length.to_string());
        }
        // Whole, also from a file: what is written here must run wherever it is taken.
        (LinkRate::Trace { opportunities_ms, once }, RateSource::Given | RateSource::File { .. }) => {
            let times: Vec<Value> = opportunities_ms.iter().map(|ms| Value::from(i64::from(*ms))).collect();
            put(&mut table, "trace", times);
            put(&mut table, "once", *once);
        }
    }
    table.into()
}

fn limit(limit: &QueueLimit) -> Value {
    let QueueLimit { packets, bytes, time } = *limit;
    let single = match (packets, bytes, time) {
        (None, None, None) => Some(Buffer::Unlimited),
        (Some(packets), None, None) => Some(Buffer::Packets(packets)),
        (None, Some(bytes), None) => Some(Buffer::Bytes(Bytes::new(bytes))),
        (None, None, Some(time)) => Some(Buffer::Time(time)),
        _ => None,
    };
    if let Some(single) = single {
        return single.to_string().into();
    }
    let mut table = Table::new();
    if let Some(packets) = packets {
        put(&mut table, "packets", i64::try_from(packets).unwrap_or(i64::MAX));
    }
    if let Some(bytes) = bytes {
        put(&mut table, "bytes", Bytes::new(bytes).to_string());
    }
    if let Some(time) = time {
        put(&mut table, "time", time.to_string());
    }
    table.into()
}

fn queue(kind: &QueueKind) -> Value {
    match kind {
        QueueKind::DropTail => "droptail".into(),
        QueueKind::DropHead => "drophead".into(),
        QueueKind::Codel { target, interval, ecn } => {
            let mut table = Table::new();
            put(&mut table, "kind", "codel");
            put(&mut table, "target", target.to_string());
            put(&mut table, "interval", interval.to_string());
            put(&mut table, "ecn", *ecn);
            table.into()
        }
        QueueKind::Threshold { threshold, drop_not_ect } => {
            let level = |level: &Level| match level {
                Level::Packets(packets) => Buffer::Packets(*packets),
                Level::Bytes(bytes) => Buffer::Bytes(Bytes::new(*bytes)),
            };
            let (level, mark) = match threshold {
                Threshold::Arriving(backlog) => (level(backlog), "enqueue"),
                Threshold::Departing(backlog) => (level(backlog), "dequeue"),
                Threshold::Sojourn(longest) => (Buffer::Time(*longest), "dequeue"),
            };
            let mut table = Table::new();
            put(&mut table, "kind", "threshold");
            put(&mut table, "threshold", level.to_string());
            put(&mut table, "mark", mark);
            put(&mut table, "drop_not_ect", *drop_not_ect);
            table.into()
        }
        QueueKind::Red(red) => red_table(red).into(),
    }
}

fn red_table(red: &RedConfig) -> Table {
    let mut table = Table::new();
    put(&mut table, "kind", "red");
    put(&mut table, "min", Bytes::new(red.min_bytes).to_string());
    put(&mut table, "max", Bytes::new(red.max_bytes).to_string());
    put(&mut table, "max_probability", ratio(red.max_probability));
    put(&mut table, "weight", ratio(red.weight));
    put(&mut table, "average_packet", Bytes::new(red.average_packet.into()).to_string());
    put(&mut table, "bandwidth", Rate::from_bits_per_sec(red.bandwidth).to_string());
    put(&mut table, "ecn", red.ecn);
    put(&mut table, "hard_drop", red.hard_drop);
    put(&mut table, "gentle", red.gentle);
    put(&mut table, "adaptive", red.adaptive);
    table
}

fn loss_value(loss: &Loss) -> Value {
    match loss {
        Loss::None => "0%".into(),
        Loss::Bernoulli(p) => ratio(*p).into(),
        Loss::GilbertElliott { p, r, loss_bad, loss_good } => {
            let mut table = Table::new();
            put(&mut table, "kind", "gilbert-elliott");
            for (key, value) in [("p", p), ("r", r), ("loss_bad", loss_bad), ("loss_good", loss_good)] {
                put(&mut table, key, ratio(*value));
            }
            table.into()
        }
    }
}

fn flow_table(flow: &Flow, scenario: &Scenario) -> Table {
    let mut table = Table::new();
    put(&mut table, "label", flow.label.clone());
    let mut cc = Table::new();
    put(&mut cc, "name", flow.cc.name());
    cc.extend(flow.cc.parameters().iter().filter_map(|(k, v)| Some((k.clone(), json_to_toml(v)?))));
    put(&mut table, "cc", cc);
    put(&mut table, "start", flow.start.to_string());
    put(&mut table, "start_jitter", flow.start_jitter.to_string());
    if let Some(stop) = flow.stop {
        put(&mut table, "stop", stop.to_string());
    }
    if let Some(bytes) = flow.bytes {
        put(&mut table, "bytes", Bytes::new(bytes).to_string());
    }
    if let Some(rate) = flow.app_rate {
        put(&mut table, "rate", Rate::from_bits_per_sec(rate).to_string());
    }
    let link = |index: &usize| &scenario.links[*index];
    let ends = |route: &[usize]| Some((link(route.first()?).from, link(route.last()?).to));
    if let Some((from, to)) = ends(&flow.forward) {
        put(&mut table, "from", scenario.nodes[from].clone());
        put(&mut table, "to", scenario.nodes[to].clone());
    }
    let names = |route: &[usize]| -> Vec<Value> { route.iter().map(|i| link(i).config.name.clone().into()).collect() };
    put(&mut table, "route", names(&flow.forward));
    put(&mut table, "reverse_route", names(&flow.reverse));
    let transport = serde_json::to_value(&flow.transport).ok().as_ref().and_then(json_to_toml);
    if let Some(transport) = transport {
        put(&mut table, "transport", transport);
    }
    table
}

/// The buffer as it is printed in reports.
pub(crate) fn limit_in_words(limit: &QueueLimit) -> Vec<String> {
    let QueueLimit { packets, bytes, time } = limit;
    let packets = packets.map(|p| format!("{p} packets"));
    let bytes = bytes.map(|b| format!("{} bytes", crate::explain::grouped(b)));
    let time = time.map(|t: Duration| format!("{t} at the current rate"));
    [packets, bytes, time].into_iter().flatten().collect()
}
