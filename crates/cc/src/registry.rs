//! Every algorithm by name. A new controller is one file and one line here.

use crate::Controller;
use dumbbell_units::Rng;
use serde_json::{Map, Value};

/// One registered algorithm.
pub struct Algorithm {
    /// The name an experiment file uses, for example `bbr`.
    pub name: &'static str,
    /// The exact algorithm and version, for example `bbr1-linux-6.18`.
    pub exact_name: &'static str,
    /// One sentence on what it is.
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

/// Why a controller could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No algorithm has this name.
    #[error("unknown algorithm `{name}`")]
    UnknownAlgorithm {
        /// What was asked for.
        name: String,
    },
    /// A parameter does not exist or has an impossible value.
    #[error("{message}")]
    Parameter {
        /// The parameter, empty when the whole table is meant.
        key: String,
        /// What is wrong with it and what would be right.
        message: String,
    },
}

/// All algorithms, in the order of the documentation.
pub fn algorithms() -> &'static [Algorithm] {
    &[]
}

/// The JSON Schema of an algorithm's parameters: types, defaults, meaning and source of each.
pub fn parameter_schema(name: &str) -> Result<schemars::Schema, BuildError> {
    Err(BuildError::UnknownAlgorithm { name: name.to_owned() })
}

/// A controller named `name` with `parameters` in place of its defaults; `rng` is its only source of randomness.
pub fn build(name: &str, _parameters: &Map<String, Value>, _rng: Rng) -> Result<Box<dyn Controller>, BuildError> {
    Err(BuildError::UnknownAlgorithm { name: name.to_owned() })
}
