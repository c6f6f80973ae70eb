//! From a question to an answer: a head in JSON, and behind it the numbers of the time series.

use crate::csv::csv;
use crate::form::{self, Change, Form};
use dumbbell_results::{Table, UNKNOWN, Values};
use dumbbell_scenario::{Experiment, ScenarioError};
use dumbbell_sim::{Bounds, RunOutput};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// What an experiment is called in messages.
const NAME: &str = "experiment.toml";

/// A page has 4 GiB at most, and a tablet gives it less.
const MAX_MEMORY: u64 = 1 << 30;

/// The columns of time series that the page draws.
const SERIES: [&str; 7] = ["t_s", "flow", "received_mbps", "srtt_ms", "cwnd", "inflight", "lost_total"];
const LINK_SERIES: [&str; 5] = ["t_s", "link", "queue_bytes", "drops_total", "losses_total"];

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Question {
    /// What the engine is, and which algorithms it has.
    About,
    Run(Asked),
}

#[derive(Deserialize)]
struct Asked {
    toml: String,
    #[serde(default)]
    changes: Vec<Change>,
    /// Which run of a sweep; one that is not there stands for the last.
    #[serde(default)]
    point: usize,
}

/// The head of an answer.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    /// The experiment with its changes.
    toml: String,
    /// What a form shows; none where the text is no TOML.
    form: Option<Form>,
    errors: Vec<Fault>,
    run: Option<Run>,
}

/// One thing that is wrong.
#[derive(Serialize)]
struct Fault {
    line: Option<usize>,
    /// As on a terminal: with the line, the key, and what would be right.
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    /// The settings of each run of a sweep; one empty text without a sweep.
    points: Vec<String>,
    point: usize,
    content_hash: String,
    duration_s: f64,
    packets: u64,
    /// Tables as CSV, those that have rows.
    tables: BTreeMap<&'static str, String>,
    /// Of each table the unit and the meaning of each column.
    columns: BTreeMap<&'static str, Vec<(&'static str, &'static str)>>,
    series: Vec<Series>,
}

/// Where the numbers of a column are: so many behind the head.
#[derive(Serialize)]
struct Series {
    table: &'static str,
    column: &'static str,
    start: usize,
    length: usize,
}

/// Answers a question. The answer is the length of the head in four bytes, the head, and the numbers, which begin at a
/// multiple of eight bytes; both sides have the lowest byte first.
pub fn answer(question: &[u8]) -> Vec<u8> {
    let (head, numbers) = match serde_json::from_slice(question) {
        Ok(Question::About) => (about(), Vec::new()),
        Ok(Question::Run(asked)) => {
            let (head, numbers) = run(asked);
            (json!(head), numbers)
        }
        Err(error) => (json!({ "errors": [{ "line": null, "text": error.to_string() }] }), Vec::new()),
    };
    let mut head = head.to_string();
    while !(4 + head.len()).is_multiple_of(8) {
        head.push(' ');
    }
    let length = u32::try_from(head.len()).expect("tables are far shorter than 4 GiB");
    let mut bytes = Vec::with_capacity(4 + head.len() + 8 * numbers.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend(numbers.iter().flat_map(|number: &f64| number.to_le_bytes()));
    bytes
}

fn about() -> Value {
    let catalog = dumbbell_cc_family::catalog().describe();
    let algorithms: Vec<Value> = catalog
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| json!({ "name": entry["name"], "summary": entry["summary"] }))
        .collect();
    json!({ "version": env!("CARGO_PKG_VERSION"), "algorithms": algorithms })
}

fn run(asked: Asked) -> (Head, Vec<f64>) {
    let (toml, form) = form::changed(&asked.toml, &asked.changes);
    let mut head = Head { toml, form, ..Head::default() };
    let experiment = match Experiment::from_toml(&head.toml, NAME, &[]) {
        Ok(experiment) => experiment,
        Err(errors) => {
            head.errors = errors.errors().iter().map(Fault::of).collect();
            return (head, Vec::new());
        }
    };
    let points = experiment.points();
    let number = asked.point.min(points.len() - 1);
    let point = &points[number];
    let cancel = AtomicBool::new(false);
    let bounds = Bounds { cancel: &cancel, max_memory: MAX_MEMORY, series: None, plain: false };
    match dumbbell_sim::run_within(&point.scenario(), bounds) {
        Ok(output) => {
            let (series, numbers) = series(&output);
            head.run = Some(Run {
                points: points.iter().map(label).collect(),
                point: number,
                content_hash: point.content_hash(),
                duration_s: output.summary.sim_s,
                packets: output.summary.packets,
                tables: tables(&output).map(|(name, table)| (name, csv(table))).collect(),
                columns: tables(&output).map(|(name, table)| (name, meanings(table))).collect(),
                series,
            });
            (head, numbers)
        }
        Err(error) => {
            head.errors.push(Fault { line: None, text: error.to_string() });
            (head, Vec::new())
        }
    }
}

impl Fault {
    fn of(error: &ScenarioError) -> Fault {
        // What the standard library says in WebAssembly of every file.
        let text = error.to_string().replace("operation not supported on this platform", "a page has no files");
        Fault { line: error.line, text }
    }
}

fn label(point: &dumbbell_scenario::Point) -> String {
    let word = |(key, value): (String, Value)| match value {
        Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    let mut words: Vec<String> = point.label().into_iter().map(word).collect();
    if point.repeat() > 0 {
        words.push(format!("repetition {}", point.repeat()));
    }
    words.join(", ")
}

/// The tables of which a person reads every row.
fn tables(output: &RunOutput) -> impl Iterator<Item = (&'static str, &Table)> {
    let RunOutput { flows, links, traffic, datagrams, .. } = output;
    let all = [("flows", flows), ("links", links), ("traffic", traffic), ("datagrams", datagrams)];
    all.into_iter().filter(|(_, table)| table.columns.iter().any(|column| !column.values.is_empty()))
}

fn meanings(table: &Table) -> Vec<(&'static str, &'static str)> {
    table.columns.iter().map(|column| (column.unit, column.meaning)).collect()
}

fn series(output: &RunOutput) -> (Vec<Series>, Vec<f64>) {
    let of_flows = SERIES.map(|column| ("series", &output.series, column));
    let of_links = LINK_SERIES.map(|column| ("linkSeries", &output.link_series, column));
    let mut numbers = Vec::new();
    let mut places = Vec::new();
    for (table, source, column) in of_flows.into_iter().chain(of_links) {
        let Some(found) = source.columns.iter().find(|one| one.name == column) else { continue };
        let start = numbers.len();
        append(&mut numbers, &found.values);
        places.push(Series { table, column, start, length: numbers.len() - start });
    }
    (places, numbers)
}

/// Adds the rows of a column of numbers; NaN stands for none.
fn append(numbers: &mut Vec<f64>, values: &Values) {
    match values {
        Values::Float(rows) => numbers.extend_from_slice(rows),
        // Counts of a picture are far below 2^53, up to which a float has every whole number.
        Values::Count(rows) => {
            numbers.extend(rows.iter().map(|&count| if count == UNKNOWN { f64::NAN } else { count as f64 }));
        }
        Values::Index(rows) => numbers.extend(rows.iter().map(|&index| f64::from(index))),
        Values::Text(_) | Values::Name(_) => {}
    }
}

#[cfg(test)]
mod tests;
