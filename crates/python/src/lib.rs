//! `dumbbell._core`: the engine for Python, as thin as it can be. Everything a person sees is in `python/dumbbell`.

mod experiment;
mod table;

use dumbbell_path::synth::{CellularModel, PRESETS};
use dumbbell_units::{Duration, Rng};
use experiment::Experiment;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(dumbbell._core, ScenarioError, PyException, "An experiment is wrong; the message says where.");
create_exception!(dumbbell._core, RunCancelled, PyException, "A run was stopped by its token.");
create_exception!(
    dumbbell._core,
    RunFailed,
    PyException,
    "A controller could not go on; the message names flow, algorithm and simulated time."
);

/// A day: longer synthetic traces are a mistake in the unit.
const MAX_TRACE_SECONDS: f64 = 86_400.0;

/// The engine of Dumbbell.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::experiment::{CancelToken, Experiment, Point, RunOutput};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::{RunCancelled, RunFailed, ScenarioError};
    #[pymodule_export]
    use crate::{algorithms, load, load_json, schema, synthesise_trace};
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Validates and expands an experiment in TOML; `source` names it in messages and anchors relative paths.
#[pyfunction]
fn load(text: &str, source: &str, overrides: Vec<(String, String)>) -> PyResult<Experiment> {
    Experiment::new(dumbbell_scenario::Experiment::from_toml(text, source, &overrides))
}

/// The same for JSON of the same structure.
#[pyfunction]
fn load_json(text: &str, source: &str, overrides: Vec<(String, String)>) -> PyResult<Experiment> {
    let value = serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Experiment::new(dumbbell_scenario::Experiment::from_json(&value, source, &overrides))
}

/// The JSON Schema of experiment files.
#[pyfunction]
fn schema() -> String {
    dumbbell_scenario::json_schema()
}

/// All algorithms as a JSON array: `name`, `exact_name`, `version`, `base`, `summary`, `source`, and `parameters`, a
/// JSON Schema with default, meaning and source of each.
#[pyfunction]
fn algorithms() -> String {
    dumbbell_cc_family::catalog().describe().to_string()
}

/// A synthetic cellular link of `seconds` in Mahimahi's format: one delivery opportunity a line, in milliseconds.
#[pyfunction]
fn synthesise_trace(preset: &str, seed: u64, seconds: f64) -> PyResult<String> {
    let model = CellularModel::preset(preset).ok_or_else(|| {
        PyValueError::new_err(format!("unknown preset `{preset}`; there are: {}", PRESETS.join(", ")))
    })?;
    if !(0.001..=MAX_TRACE_SECONDS).contains(&seconds) {
        return Err(PyValueError::new_err(format!(
            "a trace lasts 0.001 to {MAX_TRACE_SECONDS} seconds, not {seconds}"
        )));
    }
    let duration = Duration::from_millis((seconds * 1e3) as u64);
    let mut text = String::new();
    for opportunity_ms in model.synthesise(duration, &mut Rng::new(seed)) {
        text.push_str(&opportunity_ms.to_string());
        text.push('\n');
    }
    Ok(text)
}
