//! A resolved scenario as a complete experiment file, and its digest.
//!
//! The file is written as a general graph with one entry a flow and a direction a link: what the engine runs, nothing
//! more. Quantities print in their canonical spelling, which reads back as the same value.

use crate::file::Buffer;
use crate::resolve::algorithms::BPF;
use crate::resolve::{RateSource, Resolved};
use crate::{Flow, Link, Program, Scenario, Traffic};
use dumbbell_cc::catalog::{DIGEST, digest};
use dumbbell_parameters::{inline, present};
use dumbbell_path::loss::Bernoulli;
use dumbbell_path::{Delay, Described, Impairments, KIND, Level, LinkRate, LossRecipe, QueueLimit, Recipe, Schedule};
use dumbbell_units::{Bytes, Duration, Rate, Ratio, Time};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write;

/// A table of the file, in the order in which it is written. What is null is left out.
type Table = Map<String, Value>;

/// The file. Its traces are written whole, or are files in `folder` with the names that [`traces`] gives them.
pub(crate) fn to_toml(resolved: &Resolved, folder: Option<&str>) -> String {
    let mut text = String::from("# A resolved experiment: every default filled in, sweeps and presets expanded.\n\n");
    text.push_str(&body(resolved, folder.map_or(Traces::Whole, Traces::In)));
    text
}

/// The traces of links, each with the name of its file and its content, in Mahimahi's format.
pub(crate) fn traces(resolved: &Resolved) -> Vec<(String, String)> {
    let recorded = resolved.scenario.links.iter().zip(&resolved.links);
    let recorded = recorded.filter(|(_, notes)| !matches!(notes.rate_source, RateSource::Synth { .. }));
    let mut found: Vec<(String, String)> = recorded.filter_map(|(link, _)| trace_file(&link.config.rate)).collect();
    found.sort();
    found.dedup();
    found
}

/// How a file names its traces.
#[derive(Clone, Copy)]
enum Traces<'a> {
    /// Times of opportunities in the file itself.
    Whole,
    /// By digest, as files in this folder.
    In(&'a str),
    /// By digest alone.
    Digested,
}

/// The name of a file for a trace, which is its digest, and its content.
fn trace_file(rate: &LinkRate) -> Option<(String, String)> {
    let LinkRate::Trace { opportunities_ms, .. } = rate else { return None };
    let mut content = String::new();
    for ms in opportunities_ms.iter() {
        let _ = writeln!(content, "{ms}");
    }
    Some((format!("{}.trace", digest(content.as_bytes())), content))
}

/// SHA-256 of the file with every trace replaced by its digest, and with the identity of every algorithm's code: exact
/// name, version, digest.
pub(crate) fn content_hash(resolved: &Resolved) -> String {
    digest(body(resolved, Traces::Digested).as_bytes())
}

fn body(resolved: &Resolved, traces: Traces<'_>) -> String {
    let is_digested = matches!(traces, Traces::Digested);
    let Scenario { duration, warmup, cooldown, seed, record, nodes, links, pools, flows, traffic } =
        &*resolved.scenario;
    let mut top = Table::new();
    put(&mut top, "duration", duration.to_string());
    put(&mut top, "warmup", warmup.to_string());
    put(&mut top, "cooldown", cooldown.to_string());
    put(&mut top, "seed", i64::try_from(*seed).unwrap_or(i64::MAX));
    // A flow that is a program has no endpoints of its own to say it.
    if let Some(flow) = flows.iter().find(|flow| flow.program.is_some()) {
        put(&mut top, "transport", flow.transport.to_json());
    }
    let mut recorded = Table::new();
    put(&mut recorded, "series", record.series);
    put(&mut recorded, "interval", record.interval.to_string());
    let mut text = String::new();
    write_table(&mut text, "", &top);
    write_table(&mut text, "\n[record]\n", &recorded);
    for name in nodes {
        write_table(&mut text, "\n[[nodes]]\n", &Table::from_iter([("name".to_owned(), Value::from(name.clone()))]));
    }
    for pool in pools {
        let mut table = Table::new();
        put(&mut table, "name", pool.name.clone());
        put(&mut table, "size", Bytes::new(pool.bytes).to_string());
        write_table(&mut text, "\n[[pools]]\n", &table);
    }
    for (link, notes) in links.iter().zip(&resolved.links) {
        let origin = if is_digested { String::new() } else { trace_origin(&notes.rate_source) };
        let header = format!("\n[[links]]{origin}\n");
        write_table(&mut text, &header, &link_table(link, &notes.rate_source, &resolved.scenario, traces));
    }
    let algorithm =
        |flow: &Flow| if is_digested { flow.cc.entry().identity() } else { flow.cc.exact_name().to_owned() };
    for flow in flows {
        write_table(
            &mut text,
            &format!("\n[[flows]] # {}\n", algorithm(flow)),
            &flow_table(flow, &resolved.scenario, is_digested),
        );
    }
    for traffic in traffic {
        let header = format!("\n[[traffic]] # {}\n", algorithm(traffic.flow()));
        write_table(&mut text, &header, &traffic_table(traffic, &resolved.scenario, is_digested));
    }
    text
}

/// The kind with its parameters, and what its flows have in common.
fn traffic_table(traffic: &Traffic, scenario: &Scenario, is_digested: bool) -> Table {
    let mut table = Table::new();
    put(&mut table, KIND, traffic.source.kind());
    table.extend(traffic.source.parameters().clone());
    let common = flow_table(traffic.flow(), scenario, is_digested).into_iter();
    table.extend(common.filter(|(key, _)| key != "start_jitter"));
    if traffic.senders.len() > 1 {
        for key in ["from", "route", "reverse_route"] {
            let of_sender = |sender| flow_table(sender, scenario, is_digested).shift_remove(key);
            put(&mut table, key, traffic.senders.iter().filter_map(of_sender).collect::<Vec<Value>>());
        }
    }
    table
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key.to_owned(), value.into());
}

fn write_table(text: &mut String, header: &str, table: &Table) {
    text.push_str(header);
    for (key, value) in present(table) {
        text.push_str(key);
        text.push_str(" = ");
        inline(text, value);
        text.push('\n');
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

fn link_table(link: &Link, source: &RateSource, scenario: &Scenario, traces: Traces<'_>) -> Table {
    let Link { from, to, config, radio, pool } = link;
    let nodes = &scenario.nodes;
    let mut table = Table::new();
    put(&mut table, "name", config.name.clone());
    put(&mut table, "from", nodes[*from].clone());
    put(&mut table, "to", nodes[*to].clone());
    put(&mut table, "duplex", false);
    match radio {
        None => put(&mut table, "rate", rate(&config.rate, source, traces)),
        Some(radio) => put(&mut table, "wifi", declared(&*radio.wifi)),
    }
    put(&mut table, "delay", delay(&config.delay));
    if radio.is_none() {
        put(&mut table, "overhead", Bytes::new(config.overhead_bytes.into()).to_string());
    }
    if let Some(policer) = &config.policer {
        put(&mut table, "policer", declared(policer));
    }
    let shared = pool.map(|share| (scenario.pools[share.pool].name.as_str(), share.alpha));
    put(&mut table, "buffer", limit(&config.limit, shared));
    put(&mut table, "queue", kind(&config.queue));
    let (loss, place) = match &config.loss_before {
        None => (&config.loss_after, "after"),
        before => (before, "before"),
    };
    put(&mut table, "loss", loss_value(loss.as_ref()));
    if radio.is_none() {
        put(&mut table, "loss_at", place);
    }
    put(&mut table, "jitter", declared(&config.delay.jitter));
    put(&mut table, "reorder", declared(&config.delay.reorder));
    if let Some(late) = &config.delay.late {
        put(&mut table, "late", declared(late));
    }
    impairments(&mut table, &config.impairments);
    table
}

/// What few links do to packets: only what there is, so that other links look as they always did.
fn impairments(table: &mut Table, impairments: &Impairments) {
    let Impairments { duplicate, corrupt, most_packets, events, aggregate, ecn_fault } = impairments;
    for (key, share) in [("duplicate", duplicate), ("corrupt", corrupt)] {
        if share.correlation > Ratio::ZERO {
            put(table, key, declared(share));
        } else if share.probability > Ratio::ZERO {
            put(table, key, share.probability.to_string());
        }
    }
    if let Some(most) = most_packets {
        put(table, "limit", i64::from(*most));
    }
    if let Some(aggregate) = aggregate {
        put(table, "aggregate", declared(aggregate));
    }
    if let Some(fault) = ecn_fault {
        put(table, "ecn_fault", declared(fault));
    }
    if !events.is_empty() {
        put(table, "events", events.iter().map(declared).collect::<Vec<Value>>());
    }
}

/// A struct of parameters as a table.
fn declared(parameters: &impl Serialize) -> Value {
    serde_json::to_value(parameters).unwrap_or_default()
}

/// A kind with all its parameters: its name alone when it has none.
fn kind<T>(recipe: &Recipe<T>) -> Value {
    if recipe.parameters().is_empty() {
        return recipe.kind().into();
    }
    let mut table = Table::new();
    put(&mut table, KIND, recipe.kind());
    table.extend(recipe.parameters().clone());
    table.into()
}

fn loss_value(loss: Option<&LossRecipe>) -> Value {
    match loss {
        None => "0%".into(),
        // Short for the kind.
        Some(recipe) if recipe.kind() == Bernoulli::NAME => declared(&recipe.parameters()["p"]),
        Some(recipe) => kind(recipe),
    }
}

fn rate(rate: &LinkRate, source: &RateSource, traces: Traces<'_>) -> Value {
    let mut table = Table::new();
    match (rate, source) {
        (LinkRate::Unlimited, _) => return "unlimited".into(),
        (LinkRate::Constant(bits), _) => return bit_rate(*bits).into(),
        (LinkRate::Schedule { steps, repeat_after }, _) => return schedule(steps, *repeat_after, bit_rate),
        (LinkRate::Trace { opportunities_ms, once }, _) if matches!(traces, Traces::Digested) => {
            let bytes: Vec<u8> = opportunities_ms.iter().flat_map(|ms| ms.to_le_bytes()).collect();
            put(&mut table, "opportunities", digest(&bytes));
            put(&mut table, "once", *once);
        }
        (LinkRate::Trace { .. }, RateSource::Synth { preset, seed, length, .. }) => {
            put(&mut table, "synth", preset.clone());
            put(&mut table, "seed", i64::try_from(*seed).unwrap_or(i64::MAX));
            put(&mut table, "length", length.to_string());
        }
        (LinkRate::Trace { opportunities_ms, once }, RateSource::Given | RateSource::File { .. }) => {
            if let Traces::In(folder) = traces
                && let Some((name, _)) = trace_file(rate)
            {
                put(&mut table, "trace", format!("{folder}/{name}"));
                put(&mut table, "once", *once);
                return table.into();
            }
            // Whole, also from a file: what is written here must run wherever it is taken.
            let times: Vec<Value> = opportunities_ms.iter().map(|ms| Value::from(i64::from(*ms))).collect();
            put(&mut table, "trace", times);
            put(&mut table, "once", *once);
        }
    }
    table.into()
}

fn bit_rate(bits: u64) -> String {
    Rate::from_bits_per_sec(bits).to_string()
}

fn delay(delay: &Delay) -> Value {
    match &delay.schedule {
        None => delay.base.to_string().into(),
        Some(Schedule { steps, repeat_after }) => schedule(steps, *repeat_after, |delay| delay.to_string()),
    }
}

/// The steps of a value that changes with time, and when they start again.
fn schedule<T: Copy>(steps: &[(Time, T)], repeat_after: Option<Duration>, written: impl Fn(T) -> String) -> Value {
    let step = |(start, value): &(Time, T)| Value::from(vec![start.to_string(), written(*value)]);
    let mut table = Table::new();
    put(&mut table, "steps", steps.iter().map(step).collect::<Vec<Value>>());
    if let Some(period) = repeat_after {
        put(&mut table, "repeat", period.to_string());
    }
    table.into()
}

/// What a queue holds, and the pool that it shares with its α.
fn limit(limit: &QueueLimit, shared: Option<(&str, f64)>) -> Value {
    let QueueLimit { packets, bytes, time } = *limit;
    let single = match (packets, bytes, time) {
        _ if shared.is_some() => None,
        (None, None, None) => Some(Buffer::Unlimited),
        (Some(packets), None, None) => Some(Buffer::Level(Level::Packets(packets))),
        (None, Some(bytes), None) => Some(Buffer::Level(Level::Bytes(Bytes::new(bytes)))),
        (None, None, Some(time)) => Some(Buffer::Level(Level::Time(time))),
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
    if let Some((pool, alpha)) = shared {
        put(&mut table, "pool", pool);
        put(&mut table, "alpha", alpha);
    }
    table.into()
}

fn app_schedule(Schedule { steps, repeat_after }: &Schedule<u64>) -> Value {
    let ([(_, bits), (off, 0)], Some(period)) = (&steps[..], repeat_after) else {
        return schedule(steps, *repeat_after, bit_rate);
    };
    let on = off.since(Time::ZERO);
    let mut table = Table::new();
    put(&mut table, "on", on.to_string());
    put(&mut table, "off", (*period - on).to_string());
    if *bits < u64::MAX {
        put(&mut table, "rate", bit_rate(*bits));
    }
    table.into()
}

fn flow_table(flow: &Flow, scenario: &Scenario, is_digested: bool) -> Table {
    let mut table = Table::new();
    put(&mut table, "label", &*flow.label);
    match &flow.program {
        Some(program) => put(&mut table, "program", program_table(program)),
        None => put(&mut table, "cc", cc_table(flow, is_digested)),
    }
    put(&mut table, "start", flow.start.to_string());
    put(&mut table, "start_jitter", flow.start_jitter.to_string());
    if let Some(stop) = flow.stop {
        put(&mut table, "stop", stop.to_string());
    }
    if let Some(bytes) = flow.bytes {
        put(&mut table, "bytes", Bytes::new(bytes).to_string());
    }
    if let Some(rate) = flow.app_rate {
        let rate = bit_rate(rate);
        match flow.app_write {
            None => put(&mut table, "rate", rate),
            Some(write) => {
                let mut app = Table::new();
                put(&mut app, "rate", rate);
                put(&mut app, "write", Bytes::new(write).to_string());
                put(&mut table, "app", app);
            }
        }
    }
    if let Some(schedule) = &flow.app_schedule {
        put(&mut table, "rate", app_schedule(schedule));
    }
    if let Some(schedule) = &flow.read_schedule {
        let value = match (&schedule.steps[..], schedule.repeat_after) {
            ([(_, bits)], None) => bit_rate(*bits).into(),
            _ => app_schedule(schedule),
        };
        put(&mut table, "read_rate", value);
    }
    if let Some(streams) = &flow.streams {
        put(&mut table, "streams", declared(streams));
    }
    if let Some(dscp) = &flow.dscp {
        put(&mut table, "dscp", declared(dscp));
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
    if flow.program.is_none() {
        put(&mut table, "transport", flow.transport.to_json());
    }
    table
}

fn cc_table(flow: &Flow, is_digested: bool) -> Table {
    let mut cc = Table::new();
    let kind = if flow.is_bpf { BPF } else { "" };
    match flow.cc.entry().origin() {
        // Where it is found does not matter, what it is does.
        Some(origin) if !is_digested => {
            put(&mut cc, origin.key, origin.text.clone());
            put(&mut cc, DIGEST, flow.cc.entry().about().digest.clone());
        }
        _ => put(&mut cc, "name", format!("{kind}{}", flow.cc.name())),
    }
    cc.extend(flow.cc.parameters().clone());
    cc
}

fn program_table(program: &Program) -> Table {
    let mut table = Table::new();
    put(&mut table, "server", program.server.text());
    put(&mut table, "client", program.client.text());
    put(&mut table, "direction", if program.is_download { "down" } else { "up" });
    table
}
