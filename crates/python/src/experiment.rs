//! Experiments, their points, and running them with the interpreter lock released.

use crate::table::Table;
use crate::{RunCancelled, RunFailed, ScenarioError};
use dumbbell_scenario as scenario;
use dumbbell_sim::{RunError, RunSummary};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the runs that hold it.
#[pyclass(frozen, module = "dumbbell._core")]
#[derive(Default)]
pub struct CancelToken {
    cancelled: AtomicBool,
}

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Runs that hold this token end soon with `RunCancelled`.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// A validated experiment, expanded into its points.
#[pyclass(frozen, module = "dumbbell._core")]
pub struct Experiment {
    inner: scenario::Experiment,
}

impl Experiment {
    /// Wraps what validation returned; errors become `ScenarioError` with the rendered message.
    pub fn new(loaded: Result<scenario::Experiment, scenario::ScenarioErrors>) -> PyResult<Experiment> {
        let inner = loaded.map_err(|errors| ScenarioError::new_err(errors.to_string()))?;
        Ok(Experiment { inner })
    }
}

#[pymethods]
impl Experiment {
    /// The runs of the experiment, in the order of the file.
    #[getter]
    fn points(&self) -> Vec<Point> {
        self.inner.points().iter().map(|point| Point { inner: point.clone() }).collect()
    }

    /// The experiment in words and values, with what is a default marked.
    fn explain(&self) -> String {
        self.inner.explain()
    }
}

/// One run of an experiment.
#[pyclass(frozen, module = "dumbbell._core")]
pub struct Point {
    inner: scenario::Point,
}

#[pymethods]
impl Point {
    /// The settings of the sweep as `key=value`, separated by commas; empty for a single run.
    #[getter]
    fn label(&self) -> String {
        let word = |(key, value): &(String, Value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        };
        self.inner.label().iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// The settings of the sweep, as a dictionary.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let settings: Map<String, Value> = self.inner.label().iter().cloned().collect();
        py.import("json")?.call_method1("loads", (Value::Object(settings).to_string(),))
    }

    /// Number of the repetition, from 0.
    #[getter]
    fn repeat(&self) -> u32 {
        self.inner.repeat()
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    /// Hash of the resolved scenario with its seed.
    #[getter]
    fn content_hash(&self) -> String {
        self.inner.content_hash()
    }

    /// The experiment of this point alone, with every default filled in.
    #[getter]
    fn resolved_toml(&self) -> String {
        self.inner.resolved_toml()
    }

    /// Simulates the point with the interpreter lock released.
    fn run(&self, py: Python<'_>, cancel: &CancelToken) -> PyResult<RunOutput> {
        let output = py.detach(|| dumbbell_sim::run(&self.inner.scenario(), &cancel.cancelled)).map_err(run_error)?;
        RunOutput::new(py, output)
    }
}

/// What a run produced.
#[pyclass(frozen, get_all, module = "dumbbell._core")]
pub struct RunOutput {
    /// One row a flow.
    flows: Py<Table>,
    /// One row a flow and sample.
    series: Py<Table>,
    /// One row a link.
    links: Py<Table>,
    /// One row a link and sample.
    link_series: Py<Table>,
    /// Seed of the run.
    seed: u64,
    /// Simulated seconds.
    sim_s: f64,
    /// CPU seconds of the thread that ran it.
    cpu_s: f64,
    /// Events processed.
    events: u64,
    /// Data packets delivered to receivers.
    packets: u64,
}

impl RunOutput {
    fn new(py: Python<'_>, output: dumbbell_sim::RunOutput) -> PyResult<RunOutput> {
        let table = |table| Py::new(py, Table::new(table)?);
        let RunSummary { seed, sim_s, cpu_s, events, packets, .. } = output.summary;
        Ok(RunOutput {
            flows: table(output.flows)?,
            series: table(output.series)?,
            links: table(output.links)?,
            link_series: table(output.link_series)?,
            seed,
            sim_s,
            cpu_s,
            events,
            packets,
        })
    }
}

fn run_error(error: RunError) -> PyErr {
    match error {
        RunError::Cancelled => RunCancelled::new_err(error.to_string()),
        RunError::Controller { .. } => RunFailed::new_err(error.to_string()),
        RunError::NoWay(_) => PyRuntimeError::new_err(error.to_string()),
    }
}
