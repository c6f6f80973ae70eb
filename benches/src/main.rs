//! Runs the first point of an experiment file and prints what it cost as one line of JSON.
//!
//! An executable without an interpreter around it, so that callgrind counts and peak memory are those of the engine.
//!
//! ```text
//! dumbbell-bench [--threads N] [--plain] FILE [KEY=VALUE]...
//! ```

use cpu_time::ProcessTime;
use dumbbell_scenario::{Experiment, Scenario};
use dumbbell_sim::{Bounds, RunOutput, Table, Values, run_on_threads};
use serde_json::{Value, json};
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_given = arguments.next_if(|argument| argument == "--threads").is_some();
    let threads = if is_given { arguments.next().and_then(|count| count.parse().ok()) } else { Some(1) };
    let plain = arguments.next_if(|argument| argument == "--plain").is_some();
    let (Some(file), Some(threads)) = (arguments.next(), threads) else {
        eprintln!("usage: dumbbell-bench [--threads N] [--plain] FILE [KEY=VALUE]...");
        return ExitCode::from(2);
    };
    match measure(&file, (threads, plain), arguments) {
        Ok(cost) => {
            println!("{cost}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn measure(
    file: &str,
    (threads, plain): (usize, bool),
    overrides: impl Iterator<Item = String>,
) -> Result<Value, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let overrides = overrides
        .map(|argument| match argument.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("`{argument}` is not KEY=VALUE")),
        })
        .collect::<Result<Vec<_>, String>>()?;
    let experiment = Experiment::from_toml(&text, file, &overrides)?;
    let scenario = experiment.points()[0].scenario();
    let bounds = Bounds { cancel: &AtomicBool::new(false), max_memory: u64::MAX, series: None, plain };
    let output = run_on_threads(&scenario, bounds, threads)?;
    Ok(cost(&scenario, &output))
}

/// `packets` are the data packets that reached a receiver, duplicates included; `goodput_bytes` counts every payload
/// byte once.
fn cost(scenario: &Scenario, output: &RunOutput) -> Value {
    let summary = &output.summary;
    json!({
        "flows": scenario.flows.len(),
        "sim_s": summary.sim_s,
        "cpu_s": summary.cpu_s,
        "process_cpu_s": ProcessTime::try_now().map_or(0.0, |used| used.as_duration().as_secs_f64()),
        "events": summary.events,
        "packets": summary.packets,
        "acks": total(&output.flows, "acks_total"),
        "drops": total(&output.links, "drops_total"),
        "goodput_bytes": total(&output.flows, "delivered_bytes_total"),
        "bytes_per_flow": summary.bytes_per_flow,
        "series_rows": output.series.len() + output.link_series.len(),
        "series_bytes": output.series.memory() + output.link_series.memory(),
        "peak_rss_bytes": peak_rss_bytes(),
    })
}

/// Sum of a column of counts; none when the table has no such column.
fn total(table: &Table, name: &str) -> Option<u64> {
    table.columns.iter().find(|column| column.name == name).and_then(|column| match &column.values {
        Values::Count(counts) => Some(counts.iter().sum()),
        _ => None,
    })
}

/// Largest resident set of this process so far; none where the system has no `/proc`.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
