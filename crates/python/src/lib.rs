//! `dumbbell._core`: the engine for Python, as thin as it can be. Everything a person sees is in `python/dumbbell`.

mod experiment;
mod gym;
mod joined;
mod own;
mod table;

use dumbbell_path::Level;
use dumbbell_path::synth::{CellularModel, PRESETS};
use dumbbell_scenario::Recording;
use dumbbell_units::{Bytes, Duration, Rate, Ratio, Rng};
use experiment::Experiment;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

create_exception!(dumbbell._core, ScenarioError, PyException, "An experiment is wrong; the message says where.");
create_exception!(dumbbell._core, RunError, PyException, "A run could not go on; the message says why.");
create_exception!(dumbbell._core, ProgramError, RunError, "A program of a flow failed; the message says how.");
create_exception!(dumbbell._core, RunCancelled, PyException, "A run was stopped by its token.");

/// A day: longer synthetic traces are a mistake in the unit.
const MAX_TRACE_SECONDS: f64 = 86_400.0;

/// The engine of Dumbbell.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::experiment::{
        CancelToken, Experiment, Point, RunOutput, ShellOutput, Watch, become_root_of_own_namespace,
    };
    #[pymodule_export]
    use crate::gym::{Worlds, observations};
    #[pymodule_export]
    use crate::joined::joined;
    #[pymodule_export]
    use crate::own::{Ack, Conn, Loss, Stream, machine_contract};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::{ProgramError, RunCancelled, RunError, ScenarioError};
    #[pymodule_export]
    use crate::{
        algorithms, columns, contracts, described, load, load_json, parse_size, quantity, receivers_of_linux,
        recording, reference, schema, seconds, synthesise_trace, toml_as_json,
    };
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    /// Digest of the sources and of the versions of all dependencies: builds that share it give the same results.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __sources__: &str = env!("DUMBBELL_SOURCES");
    /// What it is built for and how: target, profile, level of optimisation.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __build__: &str = env!("DUMBBELL_BUILD");
}

/// Validates and expands an experiment in TOML; `source` names it in messages and anchors relative paths.
///
/// The interpreter lock is released, because a large sweep takes seconds and an interrupt should not wait for it. With
/// `only_read` no algorithm is loaded from a file, and those that are named so cannot run.
#[pyfunction]
#[pyo3(signature = (text, source, overrides, only_read=false))]
fn load(
    py: Python<'_>,
    text: &str,
    source: &str,
    overrides: Vec<(String, String)>,
    only_read: bool,
) -> PyResult<Experiment> {
    let catalog = if only_read { &*own::KNOWN } else { &*own::CATALOG };
    Experiment::new(py.detach(|| dumbbell_scenario::Experiment::from_toml_with(catalog, text, source, &overrides)))
}

/// What there is to say about an algorithm of a file, as [`algorithms`] says it of others.
#[pyfunction]
fn described(py: Python<'_>, key: &str, text: &str) -> PyResult<String> {
    let loaded = py.detach(|| own::CATALOG.load(key, text, Path::new(""), None));
    loaded
        .map(|entry| entry.describe().to_string())
        .map_err(|error| ScenarioError::new_err(format!("error: {}\n  help: {}", error.message, error.help)))
}

/// Validates and expands an experiment in JSON that has the structure of the file; `source` names it in messages.
#[pyfunction]
fn load_json(py: Python<'_>, text: &str, source: &str, overrides: Vec<(String, String)>) -> PyResult<Experiment> {
    let value = serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Experiment::new(
        py.detach(|| dumbbell_scenario::Experiment::from_json_with(&own::CATALOG, &value, source, &overrides)),
    )
}

/// The parameters of `transport` in which the receivers of versions of Linux differ, with their values in one.
#[pyfunction]
fn receivers_of_linux(version: (u32, u32)) -> BTreeMap<&'static str, String> {
    let texts = |(key, value): (_, Value)| (key, value.as_str().unwrap_or_default().to_owned());
    dumbbell_scenario::receivers_of_linux(version).into_iter().map(texts).collect()
}

/// The bytes of a size such as `2GiB`.
#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    text.parse::<Bytes>().map(Bytes::as_u64).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The seconds of a time such as `40ms`.
#[pyfunction]
fn seconds(text: &str) -> PyResult<f64> {
    text.parse::<Duration>().map(Duration::as_secs_f64).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The number and the unit of a quantity in the unit that pictures show: `Mbit/s`, `ms`, `%`, `BDP`, `packets`, `kB`,
/// or none; `None` for any other text.
#[pyfunction]
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(number) = text.trim().parse::<f64>() {
        return number.is_finite().then_some((number, ""));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.as_bits_per_sec() as f64 / 1e6, "Mbit/s"));
    }
    if let Ok(time) = text.parse::<Duration>() {
        return Some((time.as_secs_f64() * 1e3, "ms"));
    }
    if let Ok(ratio) = text.parse::<Ratio>() {
        return Some((100.0 * ratio.as_f64(), "%"));
    }
    match Level::parse(text, "a quantity", "").ok()? {
        Level::Bdp(multiple) => Some((multiple, "BDP")),
        Level::Packets(packets) => Some((packets as f64, "packets")),
        Level::Bytes(bytes) => Some((bytes.as_u64() as f64 / 1e3, "kB")),
        Level::Time(time) => Some((time.as_secs_f64() * 1e3, "ms")),
    }
}

/// A TOML document as JSON, which Python reads without another library. The resolved form of an experiment is one.
#[pyfunction]
fn toml_as_json(text: &str) -> PyResult<String> {
    toml::from_str::<Value>(text)
        .map(|value| value.to_string())
        .map_err(|error| PyValueError::new_err(error.message().to_owned()))
}

/// The JSON Schema of experiment files.
#[pyfunction]
fn schema() -> String {
    dumbbell_scenario::json_schema_with(&own::KNOWN)
}

/// The pages of the reference that list parameters, by name, in Markdown.
#[pyfunction]
fn reference() -> Vec<(&'static str, String)> {
    dumbbell_scenario::reference_pages().into_iter().map(|page| (page.name, page.text)).collect()
}

/// All algorithms as a JSON array: `name`, `exact_name`, `version`, `base`, `summary`, `source`, and `parameters`, a
/// JSON Schema with default, meaning and source of each.
#[pyfunction]
fn algorithms() -> String {
    own::KNOWN.describe().to_string()
}

/// The contract of algorithms in libraries: `dumbbell_cc.h`, and what takes its place in Rust.
#[pyfunction]
fn contracts() -> (&'static str, &'static str) {
    (dumbbell_library::HEADER, dumbbell_library::CONTRACT)
}

/// All columns of all result tables as a JSON array: `table`, `name`, `unit`, `meaning`, and `grounds`, a list of who
/// fills it.
#[pyfunction]
fn columns() -> String {
    let list = dumbbell_results::columns::catalogue().into_iter().map(|column| {
        json!({
            "table": column.table,
            "name": column.name,
            "unit": column.unit,
            "meaning": column.meaning,
            "grounds": column.grounds.iter().map(|ground| ground.name()).collect::<Vec<_>>(),
        })
    });
    Value::Array(list.collect()).to_string()
}

/// The mean rate of a recording in megabits per second, and its length in seconds.
#[pyfunction]
fn recording(file: &str) -> PyResult<(f64, f64)> {
    let found = Recording::read(file).map_err(PyValueError::new_err)?;
    Ok((found.mean.as_bits_per_sec() as f64 / 1e6, found.length.as_secs_f64()))
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
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole milliseconds of at most a day")]
    let millis = (seconds * 1e3) as u64;
    let mut text = String::new();
    for opportunity_ms in model.synthesise(Duration::from_millis(millis), &mut Rng::new(seed)) {
        text.push_str(&opportunity_ms.to_string());
        text.push('\n');
    }
    Ok(text)
}
