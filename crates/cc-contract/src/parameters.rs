//! The parameters of controllers, and reading a table of overrides with errors that name the key, the value and what is
//! allowed.

pub use crate::fixed::{Factor, Fixed, Gain};

use dumbbell_parameters::{Parameter, Problem, check, declared, nearest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A parameter that does not exist or has an impossible value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParameterError {
    /// The parameter, empty when the whole table is meant.
    pub key: String,
    /// What is wrong with it and what would be right.
    pub message: String,
}

/// A parameter whose value does not go with that of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Name of the parameter.
    pub key: &'static str,
    /// What would be right.
    pub allowed: String,
}

impl Invalid {
    /// Refuses the value of `key` unless it `is_right`, for what relates parameters in a way that none of them can
    /// declare.
    ///
    /// # Errors
    /// It is not; the error says what is `allowed`.
    pub fn unless(is_right: bool, key: &'static str, allowed: &str) -> Result<(), Invalid> {
        if is_right { Ok(()) } else { Err(Invalid { key, allowed: allowed.to_owned() }) }
    }
}

/// The parameters of one controller. Each is declared once, as a field of the struct: [`dumbbell_parameters`] tells
/// which attributes say what it can be.
pub trait ParameterSet: Default + Serialize + DeserializeOwned + schemars::JsonSchema + 'static {
    /// Refuses what no declaration of a single parameter can: combinations that the algorithm cannot run with.
    fn validate(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// The parameters of a controller that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

impl ParameterSet for NoParameters {}

/// Defaults with `preset` on top, and `overrides` on top of that.
///
/// # Errors
/// An override has an unknown name or an impossible value; the error names it and tells what is allowed.
pub fn read<P: ParameterSet>(preset: &Map<String, Value>, overrides: &Map<String, Value>) -> Result<P, ParameterError> {
    let mut parameters = P::default();
    read_into(&mut parameters, preset, overrides)?;
    Ok(parameters)
}

/// All parameters by name.
pub fn to_map<P: ParameterSet>(parameters: &P) -> Map<String, Value> {
    AnySet::to_map(parameters)
}

/// A [`ParameterSet`] of any type, so that what reads and checks tables is compiled once and not for each algorithm.
trait AnySet: Any {
    /// Takes over what `table` holds, and defaults for the rest.
    fn set(&mut self, table: &Map<String, Value>) -> Result<(), Vec<Problem>>;
    /// [`to_map`].
    fn to_map(&self) -> Map<String, Value>;
    /// What is out of the `declared` ranges.
    fn check(&self, declared: &[Parameter]) -> Vec<Problem>;
    /// [`ParameterSet::validate`].
    fn validate(&self) -> Result<(), Invalid>;
    /// What the type declares.
    fn declared(&self) -> Vec<Parameter>;
}

impl<P: ParameterSet> AnySet for P {
    fn set(&mut self, table: &Map<String, Value>) -> Result<(), Vec<Problem>> {
        *self = dumbbell_parameters::read(table)?;
        Ok(())
    }

    fn to_map(&self) -> Map<String, Value> {
        dumbbell_parameters::to_map(self)
    }

    fn check(&self, declared: &[Parameter]) -> Vec<Problem> {
        check(declared, self)
    }

    fn validate(&self) -> Result<(), Invalid> {
        ParameterSet::validate(self)
    }

    fn declared(&self) -> Vec<Parameter> {
        declared::<P>()
    }
}

fn read_into(
    parameters: &mut dyn AnySet,
    preset: &Map<String, Value>,
    overrides: &Map<String, Value>,
) -> Result<(), ParameterError> {
    let declared = declaration(parameters);
    let names = || declared.iter().map(|parameter| parameter.key.split('.').next().unwrap_or_default());
    if let Some(key) = overrides.keys().find(|key| !names().any(|name| name == *key)) {
        return Err(ParameterError { key: key.clone(), message: unknown_key(key, &names().collect::<Vec<_>>()) });
    }
    let mut all = preset.clone();
    all.extend(overrides.clone());
    if let Err(problems) = parameters.set(&given(all, &declared)) {
        return Err(refused(parameters, preset, overrides, &problems));
    }
    let wrong = |key: &str, help: &str| {
        let value = overrides.get(key).cloned().unwrap_or_else(|| parameters.to_map()[key].clone());
        ParameterError { key: key.to_owned(), message: format!("`{key} = {value}`: {help}") }
    };
    if let Some(Problem { key, help, .. }) = parameters.check(&declared).first() {
        return Err(wrong(key, help));
    }
    parameters.validate().map_err(|Invalid { key, allowed }| wrong(key, &allowed))
}

/// The entries of a table that say something: `null` says that a parameter is absent, where it can be.
fn given(mut table: Map<String, Value>, declared: &[Parameter]) -> Map<String, Value> {
    let can_be_absent =
        |key: &str| declared.iter().any(|parameter| parameter.key == key && parameter.default.is_none());
    table.retain(|key, value| !value.is_null() || !can_be_absent(key));
    table
}

/// Names the override that cannot be read, by reading one at a time; `problems` is what all of them have together.
fn refused(
    parameters: &mut dyn AnySet,
    preset: &Map<String, Value>,
    overrides: &Map<String, Value>,
    problems: &[Problem],
) -> ParameterError {
    let declared = declaration(parameters);
    let mut read = |table: Map<String, Value>| parameters.set(&given(table, &declared));
    let wrong = overrides.iter().find_map(|(key, value)| {
        let problems = read(Map::from_iter([(key.clone(), value.clone())])).err()?;
        Some((key, value, in_words(&problems)))
    });
    let Some((key, value, words)) = wrong.filter(|_| read(preset.clone()).is_ok()) else {
        return ParameterError { key: String::new(), message: in_words(problems) };
    };
    let default = &parameters.to_map()[key];
    ParameterError { key: key.clone(), message: format!("`{key} = {value}`: {words} (the default is {default})") }
}

/// What is wrong with a table, in one line.
fn in_words(problems: &[Problem]) -> String {
    let words = |Problem { message, help, .. }: &Problem| match help.as_str() {
        "" => message.clone(),
        help => format!("{message}; {help}"),
    };
    problems.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// What the type of `parameters` declares. It is asked for with every flow, and a schema takes long to make, so that of
/// each type is kept.
fn declaration(parameters: &dyn AnySet) -> Arc<[Parameter]> {
    static KNOWN: Mutex<BTreeMap<TypeId, Arc<[Parameter]>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry(parameters.type_id()).or_insert_with(|| parameters.declared().into()))
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied()) {
        Some(close) => format!("unknown parameter `{key}`; did you mean `{close}`?"),
        None => format!("unknown parameter `{key}`; allowed are {}", known.join(", ")),
    }
}
