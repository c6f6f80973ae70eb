//! Worlds for agents that learn.

use crate::{RunError, ScenarioError};
use dumbbell_gym::{Draws, Feature, GymError, Spec, Worlds as Inner};
use dumbbell_scenario::{Experiment, Scenario};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Worlds that are stepped together.
#[pyclass(frozen, module = "dumbbell._core")]
pub struct Worlds {
    inner: Mutex<Inner>,
}

fn raised(error: GymError) -> PyErr {
    match error {
        GymError::Refused(message) => PyValueError::new_err(message),
        GymError::Scenario(message) => ScenarioError::new_err(message),
        GymError::Run(error) => RunError::new_err(error.to_string()),
    }
}

/// The numbers of the flows that are named by number or label.
fn numbers(scenario: &Scenario, names: &[String]) -> PyResult<Vec<usize>> {
    let number = |name: &String| {
        let by_label = || scenario.flows.iter().position(|flow| *flow.label == **name);
        name.parse().ok().or_else(by_label).ok_or_else(|| {
            let labels: Vec<_> = scenario.flows.iter().map(|flow| format!("`{}`", flow.label)).collect();
            PyValueError::new_err(format!("there is no flow `{name}`; there are {}", labels.join(", ")))
        })
    };
    names.iter().map(number).collect()
}

type Stepped<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

impl Worlds {
    fn changed(&self, py: Python<'_>, change: impl FnOnce(&mut Inner) -> Result<(), GymError> + Send) -> PyResult<()> {
        py.detach(|| change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))).map_err(raised)
    }

    fn read<T>(&self, read: impl FnOnce(&Inner) -> T) -> T {
        read(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Worlds {
    /// So many worlds of an experiment, given as TOML or as JSON. `flows` are numbers or labels, `spec` and `draw` JSON
    /// objects.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python's side has keywords for them")]
    fn new(
        py: Python<'_>,
        text: String,
        is_json: bool,
        source: String,
        overrides: Vec<(String, String)>,
        flows: Vec<String>,
        spec: &str,
        draw: &str,
        count: usize,
        threads: usize,
    ) -> PyResult<Worlds> {
        let resolve = move |drawn: &[(String, String)]| {
            let catalog = &crate::own::CATALOG;
            let all: Vec<_> = overrides.iter().chain(drawn).cloned().collect();
            let loaded = match is_json {
                true => {
                    let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                    Experiment::from_json_with(catalog, &value, &source, &all)
                }
                false => Experiment::from_toml_with(catalog, &text, &source, &all),
            };
            let loaded = loaded.map_err(|errors| errors.to_string())?;
            match loaded.points() {
                [point] => Ok(point.scenario()),
                points => Err(format!(
                    "error: {source} has {} points; a world is one: take [sweep] out, and draw what shall differ",
                    points.len()
                )),
            }
        };
        let inner = py
            .detach(|| {
                let draws = Draws::read(draw, Arc::new(resolve))?;
                Ok((Spec::read(spec)?, draws))
            })
            .map_err(raised)?;
        let (spec, draws) = inner;
        let flows = numbers(draws.template(), &flows)?;
        let inner = Inner::new(spec, draws, flows, count, threads).map_err(raised)?;
        Ok(Worlds { inner: Mutex::new(inner) })
    }

    /// Begins an episode in every world.
    #[pyo3(signature = (seed=None))]
    fn reset(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<()> {
        self.changed(py, |worlds| worlds.reset(seed))
    }

    /// The only agent of the only world acts; what it sees then as single-precision numbers, what that earns, and
    /// whether the episode is over.
    fn act<'py>(&self, py: Python<'py>, action: f32) -> PyResult<(Bound<'py, PyBytes>, f64, bool)> {
        self.changed(py, |worlds| worlds.step(&[action]))?;
        Ok(self.read(|worlds| {
            let world = &worlds.worlds()[0];
            (PyBytes::new(py, &bytes(world.seen())), world.rewards()[0], world.is_over())
        }))
    }

    /// All agents of all worlds act, in the order of worlds; actions are single-precision numbers.
    fn step<'py>(&self, py: Python<'py>, actions: &[u8]) -> PyResult<Stepped<'py>> {
        let actions: Vec<f32> = actions.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        self.changed(py, |worlds| worlds.step(&actions))?;
        Ok(self.state(py))
    }

    /// What all agents see as single-precision numbers, what they earned as double-precision ones, and a byte for each
    /// world: whether its episode is over.
    fn state<'py>(&self, py: Python<'py>) -> Stepped<'py> {
        self.read(|worlds| {
            let worlds = worlds.worlds();
            let seen: Vec<u8> = worlds.iter().flat_map(|world| bytes(world.seen())).collect();
            let rewards = worlds.iter().flat_map(|world| world.rewards());
            let rewards: Vec<u8> = rewards.flat_map(|reward| reward.to_le_bytes()).collect();
            let over: Vec<u8> = worlds.iter().map(|world| u8::from(world.is_over())).collect();
            (PyBytes::new(py, &seen), PyBytes::new(py, &rewards), PyBytes::new(py, &over))
        })
    }

    /// Everything that is known of the last interval of an agent, by name.
    fn features(&self, world: usize, agent: usize) -> Vec<(&'static str, f64)> {
        self.read(|worlds| {
            let interval = worlds.worlds().get(world).and_then(|world| world.intervals().get(agent).copied());
            let interval = interval.unwrap_or_default();
            Feature::all().iter().map(|feature| (feature.name, (feature.of)(&interval))).collect()
        })
    }

    /// Simulated seconds since the episode of a world began.
    fn time_s(&self, world: usize) -> f64 {
        self.read(|worlds| worlds.worlds().get(world).map_or(0.0, |world| world.now().as_secs_f64()))
    }

    /// How many numbers an agent sees.
    #[getter]
    fn width(&self) -> usize {
        self.read(|worlds| worlds.spec().width())
    }

    /// Names of what an agent sees of an interval.
    #[getter]
    fn observation(&self) -> Vec<&'static str> {
        self.read(|worlds| worlds.spec().observation.iter().map(|feature| feature.name).collect())
    }

    /// How many intervals it sees.
    #[getter]
    fn history(&self) -> usize {
        self.read(|worlds| worlds.spec().history)
    }

    /// Whether an episode begins without the experiment being resolved again.
    #[getter]
    fn is_quick(&self) -> bool {
        self.read(Inner::is_quick)
    }
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// All that an agent may see as a JSON array of `name` and `meaning`.
#[pyfunction]
pub fn observations() -> String {
    let list = Feature::all().iter().map(|feature| json!({ "name": feature.name, "meaning": feature.meaning }));
    Value::Array(list.collect()).to_string()
}
