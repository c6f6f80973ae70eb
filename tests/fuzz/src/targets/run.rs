//! Whole runs: a network of one to three links, one to four flows, and any keys of the schema on top. What the
//! experiment is refused for is taken out again, so that most cases run.

use super::{SCHEMA, refused};
use crate::judge::judge;
use crate::{Drawer, Outcome, Reach};
use arbitrary::Result;
use dumbbell_results::{Table, Values};
use dumbbell_scenario::{Experiment, Scenario};
use dumbbell_sim::{Bounds, RunError, RunOutput, Stepper};
use dumbbell_units::Duration as Span;
use serde_json::{Map, Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Memory that a run may take.
const MAX_MEMORY: u64 = 512 << 20;
/// Time after which a run is stopped, as one that somebody else should look at.
const PATIENCE: Duration = Duration::from_secs(30);
/// Keys taken out of an experiment before it is given up.
const ATTEMPTS: usize = 60;

pub fn draw(bytes: &[u8]) -> String {
    experiment(bytes).unwrap_or_default()
}

pub fn check(case: &str) -> std::result::Result<Outcome, String> {
    let experiment = match Experiment::from_toml(case, "case.toml", &[]) {
        Ok(experiment) => experiment,
        Err(errors) => return refused(&errors, Some(case)),
    };
    let scenario = experiment.points()[0].scenario();
    let output = match run(&scenario, Carriage::Usual) {
        Ok(output) => output,
        Err(error) => return ended(&error),
    };
    judge(&scenario, &output)?;
    // Once more, in steps.
    if let Ok(again) = run(&scenario, Carriage::InSteps) {
        // As texts, in which not a number is no different from itself.
        let texts = |run: &RunOutput| tables(run).map(|(_, table)| format!("{table:?}"));
        if texts(&output) != texts(&again) {
            return Err("a second run, in steps, has other results".to_owned());
        }
    }
    Ok(Outcome::Accepted)
}

/// What a run means that did not come to its end. A library ends connections for reasons of its own, and the error says which
/// parameter would help.
pub fn ended(error: &RunError) -> std::result::Result<Outcome, String> {
    match error {
        RunError::Cancelled | RunError::Memory(_) => Ok(Outcome::Stopped),
        RunError::Connection(failed) if failed.message.contains("transport.") => Ok(Outcome::Refused),
        error => Err(error.to_string()),
    }
}

/// Pauses of a run in steps.
const PAUSES: u64 = 97;

/// How packets are carried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Carriage {
    /// As the engine does it.
    Usual,
    /// [One by one](Bounds::plain).
    Plain,
    /// As the engine does it, with [`PAUSES`].
    InSteps,
}

static EVENTS: AtomicU64 = AtomicU64::new(0);

/// Events of all runs so far.
pub fn events() -> u64 {
    EVENTS.load(Ordering::Relaxed)
}

/// A number that stands for every bit of a run's tables; none where the case does not run to its end.
pub fn digest(case: &str) -> Option<u64> {
    let experiment = Experiment::from_toml(case, "case.toml", &[]).ok()?;
    let output = run(&experiment.points()[0].scenario(), Carriage::Usual).ok()?;
    let mut hasher = DefaultHasher::new();
    for (name, table) in tables(&output) {
        name.hash(&mut hasher);
        for column in &table.columns {
            column.name.hash(&mut hasher);
            match &column.values {
                Values::Float(rows) => rows.iter().for_each(|value| value.to_bits().hash(&mut hasher)),
                other => format!("{other:?}").hash(&mut hasher),
            }
        }
    }
    Some(hasher.finish())
}

/// All tables of a run, with their names.
pub fn tables(run: &RunOutput) -> [(&'static str, &Table); 9] {
    let RunOutput { flows, links, series, link_series, traffic, completions, pages, rounds, datagrams, summary: _ } =
        run;
    [
        ("flows", flows),
        ("links", links),
        ("series", series),
        ("link_series", link_series),
        ("traffic", traffic),
        ("completions", completions),
        ("pages", pages),
        ("rounds", rounds),
        ("datagrams", datagrams),
    ]
}

/// Runs within bounds; a watch stops what takes too long.
pub fn run(scenario: &Scenario, carriage: Carriage) -> std::result::Result<RunOutput, RunError> {
    let cancel = AtomicBool::new(false);
    let (done, watch) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let cancel = &cancel;
        scope.spawn(move || {
            if watch.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                cancel.store(true, Ordering::Relaxed);
            }
        });
        let bounds = Bounds { cancel, max_memory: MAX_MEMORY, series: None, plain: carriage == Carriage::Plain };
        let output = match carriage {
            Carriage::InSteps => in_steps(scenario, bounds),
            Carriage::Usual | Carriage::Plain => dumbbell_sim::run_within(scenario, bounds),
        };
        drop(done);
        EVENTS.fetch_add(output.as_ref().map_or(0, |output| output.summary.events), Ordering::Relaxed);
        output
    })
}

fn in_steps(scenario: &Scenario, bounds: Bounds<'_>) -> std::result::Result<RunOutput, RunError> {
    let mut run = Stepper::new(Arc::new(scenario.clone()), bounds)?;
    let step = Span::from_nanos(scenario.duration.as_nanos() / PAUSES + 1);
    while !run.is_over() {
        run.run_until(run.now() + step)?;
    }
    run.finish()
}

/// The text of an experiment that is likely to run.
pub fn experiment(bytes: &[u8]) -> Option<String> {
    toml::to_string(&runnable(bytes)?).ok()
}

/// An experiment that is likely to run.
pub fn runnable(bytes: &[u8]) -> Option<Value> {
    let mut document = sketch(&mut Drawer::new(bytes, &SCHEMA, Reach::Usual)).ok()?;
    without_nulls(&mut document);
    mend(&mut document);
    Some(document)
}

/// Takes out what the experiment is refused for.
pub fn mend(document: &mut Value) {
    for _ in 0..ATTEMPTS {
        let Err(errors) = Experiment::from_json(document, "sketch", &[]) else { return };
        if errors.errors().iter().filter(|error| take_out(document, &error.key)).count() == 0 {
            return;
        }
    }
}

fn sketch(drawer: &mut Drawer) -> Result<Value> {
    let duration_ms = drawer.number(200..=3_000)?;
    let mut document = json!({
        "duration": format!("{duration_ms}ms"),
        "seed": drawer.number(1..=1_000)?,
        "record": { "interval": format!("{}ms", drawer.number(1..=50)?) },
    });
    let mut transport = table(drawer.definition("TransportTable")?);
    transport.entry("receive_window").or_insert(json!("256kB"));
    document["transport"] = transport.into();
    let mut nodes = vec!["a", "b"];
    if drawer.chance(1, 2)? {
        document["path"] = link(drawer, "PathSpec")?.into();
    } else {
        nodes = vec!["a", "b", "c", "d"];
        nodes.truncate(usize::try_from(drawer.number(2..=4)?).unwrap_or(2));
        let mut links = Vec::new();
        for pair in nodes.windows(2) {
            let mut drawn = link(drawer, "LinkSpec")?;
            drawn.extend([("from".to_owned(), json!(pair[0])), ("to".to_owned(), json!(pair[1]))]);
            drawn.remove("name");
            links.push(Value::Object(drawn));
        }
        document["links"] = Value::Array(links);
    }
    let nodes = document.get("links").map(|_| &nodes[..]);
    let mut flows = Vec::new();
    for _ in 0..drawer.number(1..=4)? {
        flows.push(flow(drawer, "FlowSpec", nodes)?);
    }
    document["flows"] = Value::Array(flows);
    if drawer.chance(1, 4)? {
        document["traffic"] = json!([flow(drawer, "Traffic", nodes)?]);
    }
    Ok(document)
}

fn link(drawer: &mut Drawer, definition: &str) -> Result<Map<String, Value>> {
    let mut link = table(drawer.definition(definition)?);
    link.remove("routes");
    // There are more queues and transports than keys of a link or a flow, so they would seldom be drawn among those.
    if drawer.chance(1, 2)? {
        link.insert("queue".to_owned(), drawer.definition("QueueSpec")?);
    }
    if !link.contains_key("trace") && !link.get("rate").is_some_and(Value::is_object) {
        link.insert("rate".to_owned(), json!(format!("{}kbit", drawer.number(100..=50_000)?)));
    }
    let delay = if definition == "PathSpec" { "rtt" } else { "delay" };
    link.entry(delay).or_insert(json!(format!("{}us", drawer.number(100..=80_000)?)));
    Ok(link)
}

fn flow(drawer: &mut Drawer, definition: &str, nodes: Option<&[&str]>) -> Result<Value> {
    let mut flow = table(drawer.definition(definition)?);
    if drawer.chance(1, 3)? {
        flow.insert("transport".to_owned(), drawer.definition("Transport")?);
    }
    if !flow.contains_key("cc") {
        flow.insert("cc".to_owned(), drawer.definition("CcSpec")?);
    }
    // What is meant for one of two kinds of networks, what fits by chance alone, and what the simulator refuses.
    let chosen = ["route", "reverse_route", "from", "to", "program"].into_iter();
    for key in chosen.chain(nodes.iter().flat_map(|_| ["direction", "rtt"])) {
        flow.remove(key);
    }
    if let Some(nodes) = nodes {
        let from = usize::try_from(drawer.number(0..=nodes.len() as u64 - 2)?).unwrap_or(0);
        let ends = [("from", nodes[from]), ("to", nodes[nodes.len() - 1])];
        flow.extend(ends.map(|(key, node)| (key.to_owned(), json!(node))));
    }
    if flow.contains_key("count") {
        flow.insert("count".to_owned(), json!(drawer.number(1..=6)?));
    }
    Ok(Value::Object(flow))
}

fn table(value: Value) -> Map<String, Value> {
    if let Value::Object(table) = value { table } else { Map::new() }
}

/// TOML has no null: what is null is absent.
pub fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => {
            items.retain(|value| !value.is_null());
            items.iter_mut().for_each(without_nulls);
        }
        _ => {}
    }
}

/// Takes out a key such as `flows[0].transport.mss`, or the nearest table or list around it that is there; what an
/// experiment cannot do without is replaced by something sound. Says whether that changed anything.
fn take_out(document: &mut Value, key: &str) -> bool {
    let pointer: String = key.replace('[', ".").replace(']', "").split('.').map(|step| format!("/{step}")).collect();
    let mut pointer = pointer.as_str();
    while let Some((parent, last)) = pointer.rsplit_once('/') {
        let depth = pointer.matches('/').count();
        let is_there = document.pointer(pointer).is_some();
        if let Some(sound) = sound(document, pointer, depth).filter(|sound| document.pointer(pointer) != Some(sound)) {
            match document.pointer_mut(parent) {
                Some(Value::Object(table)) => drop(table.insert(last.to_owned(), sound)),
                _ => document.pointer_mut(pointer).into_iter().for_each(|value| *value = sound.clone()),
            }
            return true;
        }
        match document.pointer_mut(parent) {
            Some(Value::Object(table)) if is_there => return table.remove(last).is_some(),
            _ => pointer = parent,
        }
    }
    false
}

/// What stands at a place without which nothing runs.
fn sound(document: &Value, pointer: &str, depth: usize) -> Option<Value> {
    let ends = |name: &str| document.pointer(&format!("{pointer}/{name}")).cloned();
    match (pointer.rsplit('/').next()?, depth) {
        ("path", 1) if document.get("links").is_none() => Some(json!({ "rate": "10mbit", "rtt": "40ms" })),
        ("flows", 1) => match (document.pointer("/links/0/from"), document.pointer("/links/0/to")) {
            (Some(from), Some(to)) => Some(json!([{ "cc": "cubic", "from": from, "to": to }])),
            _ => Some(json!([{ "cc": "cubic" }])),
        },
        ("rate", 2) if pointer == "/path/rate" => Some(json!("10mbit")),
        ("rtt", 2) if pointer == "/path/rtt" => Some(json!("40ms")),
        ("rate", 3) if pointer.starts_with("/links/") => Some(json!("10mbit")),
        ("delay", 3) if pointer.starts_with("/links/") => Some(json!("20ms")),
        (_, 2) if pointer.starts_with("/links/") => {
            Some(json!({ "from": ends("from")?, "to": ends("to")?, "rate": "10mbit", "delay": "20ms" }))
        }
        (_, 2) if pointer.starts_with("/flows/") => match (ends("from"), ends("to")) {
            (Some(from), Some(to)) => Some(json!({ "cc": "cubic", "from": from, "to": to })),
            _ => Some(json!({ "cc": "cubic" })),
        },
        _ => None,
    }
}
