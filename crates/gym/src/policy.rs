//! A trained agent as an algorithm: `cc = { policy = "agent.npz" }`. A file of NumPy holds the layers of a network and,
//! as JSON, what it sees and does; everything is evaluated here, without Python. Files of other formats are made such
//! files by a [`Converter`].

use crate::agent::Agent;
use crate::npz::Arrays;
use crate::spec::{Span, Spec};
use dumbbell_cc::catalog::{BuildError, Builder, Code, LoadError, Loaded, Loader, digest};
use dumbbell_cc::{Control, Controller, Hooks, RateSample, View};
use dumbbell_units::{Rng, Time};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Name of the array with what an agent sees and does: JSON as bytes.
const META: &str = "agent";

/// What a layer does with its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activation {
    None,
    Tanh,
    Relu,
    Sigmoid,
}

impl Activation {
    const ALL: [(&'static str, Activation); 4] = [
        ("tanh", Activation::Tanh),
        ("relu", Activation::Relu),
        ("sigmoid", Activation::Sigmoid),
        ("none", Activation::None),
    ];

    fn read(name: &Value) -> Result<Activation, String> {
        let found = Activation::ALL.iter().find(|(known, _)| name.as_str() == Some(known));
        found.map(|(_, activation)| *activation).ok_or_else(|| {
            let known = Activation::ALL.map(|(known, _)| format!("`{known}`")).join(", ");
            format!("activation = {name} is not known; there are {known}")
        })
    }

    /// That of each layer. A name alone is for all but the last, whose output is the action.
    fn of_layers(given: Option<&Value>, layers: usize) -> Result<Vec<Activation>, String> {
        let between = match given {
            Some(Value::Array(names)) if names.len() == layers => return names.iter().map(Activation::read).collect(),
            Some(Value::Array(names)) => {
                return Err(format!("activation has {} names for {layers} layers", names.len()));
            }
            Some(name) => Activation::read(name)?,
            None => Activation::Tanh,
        };
        let mut all = vec![between; layers];
        if let Some(last) = all.last_mut() {
            *last = Activation::None;
        }
        Ok(all)
    }

    fn apply(self, values: &mut [f32]) {
        let function: fn(f32) -> f32 = match self {
            Activation::None => return,
            Activation::Tanh => libm::tanhf,
            Activation::Relu => |value| value.max(0.0),
            Activation::Sigmoid => |value| 1.0 / (1.0 + libm::expf(-value)),
        };
        for value in values {
            *value = function(*value);
        }
    }
}

/// outputs = weights × inputs + biases.
#[derive(Clone, Debug)]
struct Layer {
    inputs: usize,
    /// A row for each output.
    weights: Vec<f32>,
    biases: Vec<f32>,
}

impl Layer {
    fn apply(&self, inputs: &[f32], outputs: &mut Vec<f32>) {
        outputs.clear();
        outputs.extend(self.weights.chunks_exact(self.inputs).zip(&self.biases).map(|(row, bias)| {
            // In one order, so that every machine has one result.
            row.iter().zip(inputs).fold(*bias, |sum, (weight, input)| sum + weight * input)
        }));
    }
}

/// A network and what it sees and does.
#[derive(Clone, Debug)]
struct Network {
    spec: Spec,
    /// One for each layer.
    activations: Vec<Activation>,
    layers: Vec<Layer>,
}

impl Network {
    fn read(bytes: &[u8]) -> Result<Network, String> {
        let mut arrays = Arrays::open(bytes)?;
        let meta = arrays.bytes(META)?.ok_or_else(|| format!("there is no array `{META}`"))?;
        let mut meta: Value = serde_json::from_slice(&meta).map_err(|error| format!("`{META}` is no JSON: {error}"))?;
        let activation = meta.as_object_mut().and_then(|meta| meta.remove("activation"));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert("reward".to_owned(), json!("aurora"));
        }
        let spec = Spec::read(&meta.to_string()).map_err(|error| format!("`{META}`: {error}"))?;
        let mut layers: Vec<Layer> = Vec::new();
        let mut inputs = spec.width();
        while let Some((shape, weights)) = arrays.numbers(&format!("weight_{}", layers.len()))? {
            let number = layers.len();
            let (_, biases) = arrays
                .numbers(&format!("bias_{number}"))?
                .ok_or_else(|| format!("there is weight_{number} and no bias_{number}"))?;
            if shape != [biases.len(), inputs] || biases.is_empty() {
                return Err(format!(
                    "weight_{number} has the shape {shape:?}, but it has {inputs} inputs and bias_{number} has {} numbers",
                    biases.len()
                ));
            }
            if weights.iter().chain(&biases).any(|number| !number.is_finite()) {
                return Err(format!("a number of layer {number} is not finite"));
            }
            layers.push(Layer { inputs, weights, biases });
            inputs = layers.last().map_or(0, |layer| layer.biases.len());
        }
        match layers.last() {
            None => Err("there is no array `weight_0`".to_owned()),
            Some(last) if last.biases.len() != 1 => {
                Err(format!("the last layer has {} outputs, but an action is one number", last.biases.len()))
            }
            Some(_) => {
                let activations = Activation::of_layers(activation.as_ref(), layers.len())?;
                Ok(Network { spec, activations, layers })
            }
        }
    }

    /// The action for what is seen; `room` is kept from one call to the next.
    fn act(&self, seen: &[f32], room: &mut [Vec<f32>; 2]) -> f64 {
        let [values, next] = room;
        values.clear();
        values.extend_from_slice(seen);
        for (layer, activation) in self.layers.iter().zip(&self.activations) {
            layer.apply(values, next);
            activation.apply(next);
            std::mem::swap(values, next);
        }
        f64::from(values.first().copied().filter(|action| action.is_finite()).unwrap_or(0.0))
    }
}

/// Makes a file of NumPy of a file of another format.
pub trait Converter: Send + Sync {
    /// How names of such files end, with the dot.
    fn ending(&self) -> &'static str;

    /// The file of NumPy.
    ///
    /// # Errors
    /// It is no such file, or has more in it than layers.
    fn converted(&self, bytes: &[u8]) -> Result<Vec<u8>, LoadError>;
}

/// The largest file that is read.
const MAX_BYTES: u64 = 64 << 20;

/// Finds trained agents in files: those of NumPy, and those of a format that is converted.
#[derive(Default)]
pub struct PolicyLoader {
    /// For files that are not of NumPy.
    pub converter: Option<Box<dyn Converter>>,
}

impl Loader for PolicyLoader {
    fn key(&self) -> &'static str {
        "policy"
    }

    fn load(&self, text: &str, folder: &Path) -> Result<Loaded, LoadError> {
        let path = folder.join(text);
        let path = std::path::absolute(&path).unwrap_or(path);
        let wrong = |message: String| LoadError {
            message,
            help: "`dumbbell.gym.save_policy` writes such a file; docs/learners.md says what is in it".to_owned(),
        };
        let bytes = read(&path).map_err(|error| wrong(format!("cannot read `{text}`: {error}")))?;
        let named = |message: &str| format!("`{text}` is no trained agent: {message}");
        let converter = self.converter.as_ref().filter(|converter| text.ends_with(converter.ending()));
        let network = match converter {
            Some(converter) => {
                let converted = converter.converted(&bytes);
                let converted =
                    converted.map_err(|LoadError { message, help }| LoadError { message: named(&message), help })?;
                Network::read(&converted)
            }
            None => Network::read(&bytes),
        };
        let network = network.map_err(|error| wrong(named(&error)))?;
        let shapes: Vec<_> = network.layers.iter().map(|layer| layer.biases.len().to_string()).collect();
        let names: Vec<_> = network.spec.observation.iter().map(|feature| feature.name).collect();
        Ok(Loaded {
            text: path.to_string_lossy().into_owned(),
            summary: format!(
                "a trained agent: {} of {} intervals through layers of {}",
                names.join(", "),
                network.spec.history,
                shapes.join(", ")
            ),
            digest: digest(&bytes),
            files: vec![path],
            code: Arc::new(PolicyCode(Arc::new(network))),
        })
    }
}

/// The bytes of a file that is not too large.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| error.to_string();
    // Opening a pipe waits for somebody who writes.
    if !std::fs::metadata(path).map_err(said)?.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(said)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
    }
    Ok(bytes)
}

/// Makes controllers that a network governs. It has no parameters.
struct PolicyCode(Arc<Network>);

impl Code for PolicyCode {
    fn schema(&self) -> Value {
        json!({ "type": "object", "properties": {} })
    }

    fn read(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
    ) -> Result<Map<String, Value>, BuildError> {
        match preset.keys().chain(overrides.keys()).next() {
            None => Ok(Map::new()),
            Some(key) => Err(BuildError::Parameter {
                key: key.clone(),
                message: format!("a trained agent has no parameter `{key}`: all is in its file"),
            }),
        }
    }

    fn prepare(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError> {
        self.read(preset, overrides)?;
        let network = Arc::clone(&self.0);
        Ok(Box::new(move |_: Rng| Box::new(Policy::new(Arc::clone(&network), Arc::clone(&exact_name)))))
    }
}

/// An agent whose actions a network says. It acts with the first ACK after the end of each interval.
struct Policy {
    network: Arc<Network>,
    agent: Agent,
    seen: Vec<f32>,
    room: [Vec<f32>; 2],
    until: Time,
    action: f64,
}

impl Policy {
    fn new(network: Arc<Network>, name: Arc<str>) -> Policy {
        let agent = Agent::new(&network.spec, name);
        let seen = vec![0.0; network.spec.width()];
        Policy { network, agent, seen, room: Default::default(), until: Time::NEVER, action: 0.0 }
    }

    fn span(&self, view: &View) -> Time {
        let interval: Span = self.network.spec.interval;
        view.now + interval.length(view)
    }

    #[cold]
    fn decide(&mut self, view: &View, control: &mut Control) {
        let interval = self.agent.end_interval(view.now, view, control);
        self.network.spec.remember(&mut self.seen, &interval);
        self.action = self.network.act(&self.seen, &mut self.room);
        self.agent.act(view, control, self.action);
        self.until = self.span(view);
    }
}

impl Controller for Policy {
    fn algorithm(&self) -> &str {
        self.agent.algorithm()
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.agent.init(view, control);
        self.until = self.span(view);
    }

    fn full_control(&self) -> bool {
        self.agent.full_control()
    }

    fn hooks(&self) -> Hooks {
        self.agent.hooks()
    }

    fn wants_pacing(&self) -> bool {
        self.agent.wants_pacing()
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.agent.ssthresh(view, control)
    }

    #[inline]
    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        self.agent.cong_control(view, control, sample);
        if view.now >= self.until {
            self.decide(view, control);
        }
    }

    fn min_tso_segs(&self, view: &View, control: &Control) -> u32 {
        self.agent.min_tso_segs(view, control)
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec!["action".into()]
    }

    fn observe(&self, _: &View, _: &Control, values: &mut [f64]) {
        values.fill(self.action);
    }
}
