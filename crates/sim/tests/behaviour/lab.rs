//! Runs an experiment and looks things up in its tables.

use dumbbell_scenario::{Experiment, Scenario};
use dumbbell_sim::{RunOutput, Table, Values};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

fn experiment(toml: &str) -> Experiment {
    Experiment::from_toml(toml, "experiment.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// What an experiment says of itself.
pub fn explain(toml: &str) -> String {
    experiment(toml).explain()
}

/// The scenario of an experiment without a sweep.
pub fn scenario(toml: &str) -> Scenario {
    let experiment = experiment(toml);
    assert_eq!(experiment.points().len(), 1, "a sweep has many runs");
    (*experiment.points()[0].scenario()).clone()
}

/// Runs an experiment without a sweep.
pub fn run(toml: &str) -> Run {
    Run::of(&scenario(toml))
}

/// Goodput of the first of two flows of the same kind over the other's, whose round-trip time is ten times as long.
pub fn advantage_of_the_shorter_path(cc: &str) -> f64 {
    let run = run(&format!(
        r#"
        duration = "100s"
        warmup = "40s"
        record.series = false
        path = {{ rate = "100mbit", rtt = "20ms", buffer = "20ms" }}
        flows = [{{ cc = "{cc}" }}, {{ cc = "{cc}", rtt = "200ms" }}]
        "#
    ));
    run.flow("goodput_mbps", 0) / run.flow("goodput_mbps", 1)
}

/// Mean goodput of the first half of the flows of some runs over that of the other half.
pub fn first_half_over_second(runs: &[Run]) -> f64 {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for run in runs {
        let goodputs = run.flows("goodput_mbps");
        let (one, other) = goodputs.split_at(goodputs.len() / 2);
        first.extend_from_slice(one);
        second.extend_from_slice(other);
    }
    mean(&first) / mean(&second)
}

/// The results of a run.
pub struct Run {
    pub output: RunOutput,
}

impl Run {
    pub fn of(scenario: &Scenario) -> Run {
        Run { output: dumbbell_sim::run(scenario, &AtomicBool::new(false)).unwrap() }
    }

    /// A number of the flow table.
    pub fn flow(&self, column: &str, flow: usize) -> f64 {
        numbers(&self.output.flows, column)[flow]
    }

    /// A column of the flow table.
    pub fn flows(&self, column: &str) -> Vec<f64> {
        numbers(&self.output.flows, column)
    }

    /// A number of the table of sources of traffic.
    pub fn traffic(&self, column: &str, source: usize) -> f64 {
        numbers(&self.output.traffic, column)[source]
    }

    /// A column of the table of transfers.
    pub fn completions(&self, column: &str) -> Vec<f64> {
        numbers(&self.output.completions, column)
    }

    /// A column of the table of web pages.
    pub fn pages(&self, column: &str) -> Vec<f64> {
        numbers(&self.output.pages, column)
    }

    /// A column of the table of rounds of an incast.
    pub fn rounds(&self, column: &str) -> Vec<f64> {
        numbers(&self.output.rounds, column)
    }

    /// A column of the table of flows of datagrams.
    pub fn datagrams(&self, column: &str) -> Vec<f64> {
        numbers(&self.output.datagrams, column)
    }

    /// A number of the table of links; the first link is the bottleneck of a dumbbell.
    pub fn link(&self, column: &str, link: usize) -> f64 {
        numbers(&self.output.links, column)[link]
    }

    /// Mean window in segments that a flow's goodput amounts to.
    pub fn mean_window(&self, flow: usize) -> f64 {
        self.flow("goodput_mbps", flow) * self.flow("mean_rtt_ms", flow) * 1e3 / (1448.0 * 8.0)
    }

    /// Jain's index of the flows' goodput.
    pub fn jain(&self) -> f64 {
        jain(&self.flows("goodput_mbps"))
    }

    /// The samples of a flow.
    pub fn series(&self, flow: usize) -> Series {
        Series::of(&self.output.series, "flow", flow)
    }

    /// The samples of a link.
    pub fn link_series(&self, link: usize) -> Series {
        Series::of(&self.output.link_series, "link", link)
    }
}

/// Jain's fairness index.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    sum * sum / (values.len() as f64 * squares)
}

pub fn mean(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "no values");
    values.iter().sum::<f64>() / values.len() as f64
}

/// Asserts that a value is within a share of what is expected.
#[track_caller]
pub fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance * expected.abs(),
        "{what} is {value}, expected {expected} ± {} %",
        tolerance * 100.0
    );
}

/// Asserts that a value lies between two bounds.
#[track_caller]
pub fn assert_between(what: &str, value: f64, bounds: std::ops::RangeInclusive<f64>) {
    assert!(bounds.contains(&value), "{what} is {value}, expected {bounds:?}");
}

fn values<'t>(table: &'t Table, name: &str) -> &'t Values {
    let column = table.columns.iter().find(|column| column.name == name);
    &column.unwrap_or_else(|| panic!("no column {name}")).values
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match values(table, name) {
        Values::Float(values) => values.clone(),
        Values::Count(values) => values.iter().map(|&v| v as f64).collect(),
        Values::Index(values) => values.iter().map(|&v| f64::from(v)).collect(),
        Values::Text(_) | Values::Name(_) => panic!("{name} is text"),
    }
}

/// The samples of one flow or link, in order of time.
pub struct Series {
    pub t: Vec<f64>,
    numbers: BTreeMap<String, Vec<f64>>,
    names: BTreeMap<String, Vec<String>>,
}

impl Series {
    fn of(table: &Table, index: &str, wanted: usize) -> Series {
        let rows: Vec<usize> = numbers(table, index)
            .iter()
            .enumerate()
            .filter(|(_, i)| **i == wanted as f64)
            .map(|(row, _)| row)
            .collect();
        let mut series = Series { t: Vec::new(), numbers: BTreeMap::new(), names: BTreeMap::new() };
        for column in &table.columns {
            let name = column.name.clone();
            match &column.values {
                Values::Float(values) => {
                    series.numbers.insert(name, rows.iter().map(|&row| values[row]).collect());
                }
                Values::Name(values) => {
                    let names = rows.iter().filter_map(|&row| values.get(row)).map(str::to_owned);
                    series.names.insert(name, names.collect());
                }
                _ => {}
            }
        }
        series.t = series.numbers["t_s"].clone();
        series
    }

    /// A column of numbers.
    pub fn number(&self, column: &str) -> &[f64] {
        self.numbers.get(column).unwrap_or_else(|| panic!("no column {column}"))
    }

    /// All columns of numbers.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.numbers.iter().map(|(name, numbers)| (name.as_str(), numbers.as_slice()))
    }

    /// A column of names.
    pub fn name(&self, column: &str) -> &[String] {
        self.names.get(column).unwrap_or_else(|| panic!("no column {column}"))
    }

    /// Rows of a span of time.
    pub fn rows(&self, span: Range<f64>) -> Range<usize> {
        self.t.partition_point(|&t| t < span.start)..self.t.partition_point(|&t| t < span.end)
    }

    /// A column of numbers in a span of time.
    pub fn during(&self, column: &str, span: Range<f64>) -> &[f64] {
        &self.number(column)[self.rows(span)]
    }

    /// Runs of equal values of a column of names: the value and its first and one-past-last row.
    pub fn episodes(&self, column: &str) -> Vec<(&str, Range<usize>)> {
        let mut episodes: Vec<(&str, Range<usize>)> = Vec::new();
        for (row, name) in self.name(column).iter().enumerate() {
            match episodes.last_mut() {
                Some((last, rows)) if *last == name => rows.end = row + 1,
                _ => episodes.push((name, row..row + 1)),
            }
        }
        episodes
    }

    /// Time of the first row of every episode with this name.
    pub fn entries(&self, column: &str, name: &str) -> Vec<f64> {
        self.episodes(column).iter().filter(|(n, _)| *n == name).map(|(_, rows)| self.t[rows.start]).collect()
    }
}
