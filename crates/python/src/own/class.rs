//! A class in Python as a catalogue holds it: its hooks, and its parameters, which are read and checked without Python,
//! because threads that hold locks read them while others hold the interpreter's.

use super::compiled::Machine;
use super::controller::PythonController;
use dumbbell_cc::EcnMode;
use dumbbell_cc::catalog::{BuildError, Builder, Code, LoadError, Recipe};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The parameter that every class has: whether it runs as machine code.
const COMPILED: &str = "compiled";

/// Names of the hooks and the numbers of their places.
macro_rules! hooks {
    ($($hook:ident = $name:literal),* $(,)?) => {
        /// What a class may define.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Hook {
            $($hook,)*
        }

        impl Hook {
            pub const ALL: [Hook; HOOKS] = [$(Hook::$hook),*];

            /// The name of the method.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Hook::$hook => $name,)*
                }
            }
        }

        /// Their number.
        pub const HOOKS: usize = [$($name),*].len();
    };
}

hooks! {
    OnStart = "on_start",
    OnAck = "on_ack",
    OnLoss = "on_loss",
    OnTimeout = "on_timeout",
    Init = "init",
    Ssthresh = "ssthresh",
    CongAvoid = "cong_avoid",
    CongControl = "cong_control",
    BeginsReduction = "begins_reduction",
    AckTimestamps = "ack_timestamps",
    PktsAcked = "pkts_acked",
    InAckEvent = "in_ack_event",
    PacketLost = "packet_lost",
    SetState = "set_state",
    CwndEvent = "cwnd_event",
    UndoCwnd = "undo_cwnd",
    MinTsoSegs = "min_tso_segs",
    Observe = "observe",
}

/// A parameter as the class declares it.
#[derive(Debug, Deserialize)]
struct Parameter {
    name: String,
    #[serde(rename = "type")]
    kind: Kind,
    default: Value,
    minimum: Option<f64>,
    maximum: Option<f64>,
    unit: String,
    meaning: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Float,
    Int,
    Bool,
    Str,
}

impl Kind {
    /// For messages, and the type of the JSON Schema.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Float => ("a number", "number"),
            Kind::Int => ("a whole number", "integer"),
            Kind::Bool => ("true or false", "boolean"),
            Kind::Str => ("a text", "string"),
        }
    }
}

impl Parameter {
    /// A value of its type and within its range, in its canonical form.
    fn read(&self, value: &Value) -> Result<Value, BuildError> {
        let Parameter { name, kind, default, minimum, maximum, unit, .. } = self;
        let wrong = |what: String| {
            let message = format!("`{name} = {value}`: {what} (the default is {default})");
            Err(BuildError::Parameter { key: name.clone(), message })
        };
        let read = match kind {
            Kind::Float => value.as_f64().map(Value::from),
            Kind::Int => value.as_i64().map(Value::from),
            Kind::Bool => value.as_bool().map(Value::from),
            Kind::Str => value.as_str().map(Value::from),
        };
        let Some(read) = read else { return wrong(format!("it must be {}", kind.words().0)) };
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        match (read.as_f64(), *minimum, *maximum) {
            (Some(number), Some(least), Some(most)) if !(least..=most).contains(&number) => {
                wrong(format!("it must lie between {least} and {most}{unit}"))
            }
            (Some(number), Some(least), None) if number < least => wrong(format!("it must be at least {least}{unit}")),
            (Some(number), None, Some(most)) if number > most => wrong(format!("it must be at most {most}{unit}")),
            _ => Ok(read),
        }
    }

    fn schema(&self) -> Value {
        let Parameter { kind, default, minimum, maximum, unit, meaning, .. } = self;
        let meaning = match (meaning.as_str(), unit.as_str()) {
            (meaning, "") => meaning.to_owned(),
            ("", unit) => format!("In {unit}."),
            (meaning, unit) => format!("{meaning} In {unit}."),
        };
        let mut schema = json!({
            "type": kind.words().1, "default": default, "description": meaning,
        });
        if let Value::Object(map) = &mut schema {
            map.extend(minimum.map(|least| ("minimum".to_owned(), least.into())));
            map.extend(maximum.map(|most| ("maximum".to_owned(), most.into())));
        }
        schema
    }
}

/// A class, checked.
pub struct Class {
    /// The `dumbbell.own.Algorithm`.
    pub python: Py<PyAny>,
    hooks: [bool; HOOKS],
    parameters: Vec<Parameter>,
    /// Attributes that are annotated and have no default.
    annotated: Vec<String>,
    /// It has the simple hooks, `on_ack` and so on.
    pub is_simple: bool,
    pub full_control: bool,
    pub wants_pacing: bool,
    pub ecn: EcnMode,
    pub sndbuf_expand: u32,
}

impl Class {
    /// From a `dumbbell.own.Algorithm`.
    pub fn new(algorithm: &Bound<'_, PyAny>) -> PyResult<Class> {
        let names: Vec<String> = algorithm.getattr("hooks")?.extract()?;
        let declared: String = algorithm.getattr("declared")?.extract()?;
        let parameters = serde_json::from_str(&declared)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        let ecn: String = algorithm.getattr("ecn")?.extract()?;
        let hooks = Hook::ALL.map(|hook| names.iter().any(|name| name == hook.name()));
        Ok(Class {
            is_simple: hooks[Hook::OnAck as usize],
            full_control: hooks[Hook::OnAck as usize] || hooks[Hook::CongControl as usize],
            wants_pacing: algorithm.getattr("wants_pacing")?.extract()?,
            sndbuf_expand: algorithm.getattr("sndbuf_expand")?.extract()?,
            ecn: match ecn.as_str() {
                "classic" => EcnMode::Classic,
                "accurate" => EcnMode::Accurate,
                "l4s" => EcnMode::L4s,
                _ => EcnMode::None,
            },
            annotated: algorithm.getattr("annotated")?.extract()?,
            python: algorithm.clone().unbind(),
            hooks,
            parameters,
        })
    }

    #[inline]
    pub fn has(&self, hook: Hook) -> bool {
        self.hooks[hook as usize]
    }

    /// The class as machine code, made once for all parameters that leave its attributes of one kind.
    fn machine(&self, parameters: &Map<String, Value>) -> Result<Arc<Machine>, LoadError> {
        Python::attach(|py| {
            let parameters = Value::Object(parameters.clone()).to_string();
            let machine = || {
                let compiled = py.import("dumbbell.compiled")?;
                let machine = compiled.call_method1("machine", (self.python.bind(py), parameters))?;
                Ok(Arc::new(Machine::new(&machine)?))
            };
            machine().map_err(|error: PyErr| super::refusal(py, &error))
        })
    }

    /// What went wrong in a method, for whoever reads the error.
    pub fn described(&self, py: Python<'_>, what: &str, error: &PyErr) -> String {
        let described = self.python.bind(py).call_method1("described", (what, error.value(py), error.traceback(py)));
        described.and_then(|text| text.extract()).unwrap_or_else(|_| error.to_string())
    }

    /// The values of what `observe` returned.
    pub fn observed(&self, py: Python<'_>, answer: &Py<PyAny>, names: &[String]) -> PyResult<Vec<f64>> {
        self.python.bind(py).call_method1("observed", (answer, names))?.extract()
    }
}

fn says_compiled(parameters: &Map<String, Value>) -> bool {
    parameters.get(COMPILED).and_then(Value::as_bool) == Some(true)
}

/// Whether a class runs as machine code.
pub fn is_compiled(recipe: &Recipe) -> bool {
    says_compiled(recipe.parameters())
}

/// The code of a class.
pub struct PythonCode(pub Arc<Class>);

impl Code for PythonCode {
    fn schema(&self) -> Value {
        let parameters = &self.0.parameters;
        let properties: Map<String, Value> =
            parameters.iter().map(|parameter| (parameter.name.clone(), parameter.schema())).collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    }

    fn read(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
    ) -> Result<Map<String, Value>, BuildError> {
        let parameters = &self.0.parameters;
        for key in overrides.keys() {
            if !parameters.iter().any(|parameter| parameter.name == *key) {
                let message = if self.0.annotated.contains(key) {
                    format!("it is annotated in the class, but has no default: write {key}: float = 1.5")
                } else {
                    format!("unknown parameter `{key}`")
                };
                return Err(BuildError::Parameter { key: key.clone(), message });
            }
        }
        let value = |parameter: &Parameter| {
            let given = overrides.get(&parameter.name).or_else(|| preset.get(&parameter.name));
            Ok((parameter.name.clone(), parameter.read(given.unwrap_or(&parameter.default))?))
        };
        parameters.iter().map(value).collect()
    }

    fn prepare(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError> {
        let parameters = Arc::new(self.read(preset, overrides)?);
        let machine = says_compiled(&parameters).then(|| self.0.machine(&parameters)).transpose()?;
        let class = Arc::clone(&self.0);
        Ok(Box::new(move |rng| {
            let (class, name, parameters) = (Arc::clone(&class), Arc::clone(&exact_name), Arc::clone(&parameters));
            Box::new(PythonController::new(class, machine.clone(), name, parameters, rng))
        }))
    }
}
