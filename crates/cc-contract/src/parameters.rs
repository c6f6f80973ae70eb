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
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
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
    let wrong = |key: &str, message: String| ParameterError { key: key.to_owned(), message };
    let optional = absent(&parameters.to_map());
    let given = |mut table: Map<String, Value>| {
        table.retain(|key, value| !value.is_null() || !optional.contains(key));
        table
    };
    parameters.set(&given(preset.clone())).map_err(|problems| wrong("", in_words(&problems)))?;
    let known = parameters.to_map();
    for (key, value) in overrides {
        if !known.contains_key(key) {
            return Err(wrong(key, unknown_key(key, &known)));
        }
        // One key at a time, so that the error can name it.
        let alone = given(Map::from_iter([(key.clone(), value.clone())]));
        parameters.set(&alone).map_err(|problems| {
            wrong(key, format!("`{key} = {value}`: {} (the default is {})", in_words(&problems), known[key]))
        })?;
    }
    let mut all = preset.clone();
    all.extend(overrides.clone());
    parameters.set(&given(all)).map_err(|problems| wrong("", in_words(&problems)))?;
    let values = parameters.to_map();
    let as_given = |key: &str| overrides.get(key).unwrap_or(&values[key]).clone();
    if let Some(Problem { key, help, .. }) = check(&declaration(parameters), &values).into_iter().next() {
        return Err(wrong(&key, format!("`{key} = {}`: {help}", as_given(&key))));
    }
    parameters
        .validate()
        .map_err(|Invalid { key, allowed }| wrong(key, format!("`{key} = {}`: {allowed}", as_given(key))))
}

/// The names of parameters that can be absent: `null` says that they are.
fn absent(defaults: &Map<String, Value>) -> Vec<String> {
    defaults.iter().filter(|(_, value)| value.is_null()).map(|(key, _)| key.clone()).collect()
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

fn unknown_key(key: &str, known: &Map<String, Value>) -> String {
    match nearest(key, known.keys().map(String::as_str)) {
        Some(close) => format!("unknown parameter `{key}`; did you mean `{close}`?"),
        None => {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            format!("unknown parameter `{key}`; allowed are {}", names.join(", "))
        }
    }
}
