//! How to build the controllers of a flow.

use super::entry::{Builder, Entry};
use super::error::BuildError;
use dumbbell_cc_contract::Controller;
use dumbbell_units::Rng;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Builds any number of controllers of one kind: an algorithm and its parameters, which they share.
pub struct Recipe {
    entry: Arc<Entry>,
    parameters: Map<String, Value>,
    changed: Map<String, Value>,
    builder: Builder,
}

impl Recipe {
    /// `entry` with `overrides` in place of its defaults.
    ///
    /// # Errors
    /// A parameter does not exist or has an impossible value.
    pub fn new(entry: Arc<Entry>, overrides: &Map<String, Value>) -> Result<Recipe, BuildError> {
        let parameters = entry.parameters(overrides)?;
        let changed = if overrides.is_empty() {
            Map::new()
        } else {
            let defaults = entry.parameters(&Map::new())?;
            let differs = |(key, value): &(&String, &Value)| defaults.get(*key) != Some(*value);
            parameters.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let builder = entry.prepare(overrides)?;
        Ok(Recipe { entry, parameters, changed, builder })
    }

    /// The algorithm.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The name an experiment file uses.
    pub fn name(&self) -> &str {
        self.entry.name()
    }

    /// The exact algorithm and version.
    pub fn exact_name(&self) -> &str {
        self.entry.exact_name()
    }

    /// All parameters in the algorithm's own spelling.
    pub fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// Those that do not have their default value.
    pub fn changed(&self) -> &Map<String, Value> {
        &self.changed
    }

    /// A new controller; `rng` is its only source of randomness.
    pub fn controller(&self, rng: Rng) -> Box<dyn Controller> {
        (self.builder)(rng)
    }
}

/// Two recipes are equal when they build the same controllers.
impl PartialEq for Recipe {
    fn eq(&self, other: &Recipe) -> bool {
        self.entry.about() == other.entry.about() && self.parameters == other.parameters
    }
}

impl std::fmt::Debug for Recipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recipe")
            .field("name", &self.name())
            .field("parameters", &self.parameters)
            .finish_non_exhaustive()
    }
}
