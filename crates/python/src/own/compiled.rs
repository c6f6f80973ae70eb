//! A class whose hooks `dumbbell.compiled` has made machine code of.

use super::class::{HOOKS, Hook};
use super::conn::{MAX_ACKED, MAX_CWND, MAX_RATE};
use super::controller::{EVENTS, NO_PACING};
use dumbbell_library::machine::{Entry, Flow, Wrong, functions, layouts};
use dumbbell_units::Rng;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;

/// A class that is compiled for one set of parameters.
pub struct Machine {
    /// The `dumbbell.compiled.Machine`, which keeps the code.
    python: Py<PyAny>,
    entries: [Option<Entry>; HOOKS],
}

/// A flow of it.
pub struct Compiled {
    pub flow: Flow,
    /// The object, for `observe`.
    object: Py<PyAny>,
    /// What `observe` names.
    pub observed: Vec<String>,
}

impl Machine {
    /// From a `dumbbell.compiled.Machine`.
    pub fn new(python: &Bound<'_, PyAny>) -> PyResult<Machine> {
        let addresses: HashMap<String, usize> = python.getattr("addresses")?.extract()?;
        let entries = Hook::ALL.map(|hook| addresses.get(hook.name()).copied().and_then(Entry::at));
        Ok(Machine { python: python.clone().unbind(), entries })
    }

    #[inline]
    pub fn entry(&self, hook: Hook) -> Option<Entry> {
        self.entries[hook as usize]
    }

    /// A flow, whose object is made.
    pub fn start(&self, py: Python<'_>, parameters: &str, rng: Rng) -> PyResult<Compiled> {
        let started = self.python.bind(py).call_method1("start", (parameters,))?;
        let (object, state, observed): (Py<PyAny>, Vec<u8>, Vec<String>) = started.extract()?;
        Ok(Compiled { flow: Flow::new(&state, rng), object, observed })
    }

    /// What went wrong in a call, for whoever reads the error.
    pub fn described(&self, py: Python<'_>, hook: Hook, wrong: Wrong) -> String {
        let Wrong { kind, site, value } = wrong;
        let text = self.python.bind(py).call_method1("described", (hook.name(), kind, site, value));
        text.and_then(|text| text.extract()).unwrap_or_else(|error: PyErr| error.to_string())
    }

    /// The values of what `observe` returns. It is interpreted, and may change the state.
    pub fn observe(&self, py: Python<'_>, of: &mut Compiled) -> PyResult<Vec<f64>> {
        let arguments = (&of.object, of.flow.state(), &of.observed);
        let observed = self.python.bind(py).call_method1("observe", arguments)?;
        let (values, state): (Vec<f64>, Vec<u8>) = observed.extract()?;
        of.flow.set_state(&state);
        Ok(values)
    }
}

/// What compiled hooks are made for: layouts of structs, addresses of functions, and bounds.
#[pyfunction]
pub fn machine_contract(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (records, calls, bounds) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    for (name, size, fields) in layouts() {
        records.set_item(name, (size, fields))?;
    }
    for (name, address) in functions() {
        calls.set_item(name, address)?;
    }
    bounds.set_item("cwnd", MAX_CWND)?;
    bounds.set_item("acked", MAX_ACKED)?;
    bounds.set_item("rate", MAX_RATE)?;
    let contract = PyDict::new(py);
    contract.set_item("records", records)?;
    contract.set_item("functions", calls)?;
    contract.set_item("bounds", bounds)?;
    contract.set_item("events", EVENTS)?;
    contract.set_item("no_pacing", NO_PACING)?;
    Ok(contract)
}
