//! Every algorithm and every published variant by name.
//!
//! A new algorithm is one file and one entry of `ALGORITHMS`; a new variant of one is an entry of `presets.toml`.

use crate::Controller;
use crate::bbr1::{self, Bbr1};
use crate::bbr2::{self, Bbr2};
use crate::cubic::{self, Cubic};
use crate::parameters::{self, ParameterSet};
use crate::presets::{Preset, presets};
use crate::reno::{self, Reno};
use dumbbell_units::Rng;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// One registered algorithm or variant.
#[derive(Clone)]
pub struct Algorithm {
    /// The name an experiment file uses, for example `bbr`.
    pub name: &'static str,
    /// The exact algorithm and version, for example `bbr1-linux-6.18`.
    pub exact_name: &'static str,
    /// One sentence on what it is.
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// For a variant: the algorithm or variant it starts from.
    pub base: Option<&'static str>,
    /// For a variant: the parameters that differ from its base, and their values.
    pub overrides: Map<String, Value>,
    /// All parameters that differ from the algorithm's own defaults.
    preset: Map<String, Value>,
    schema: fn() -> schemars::Schema,
    resolve: Resolve,
    prepare: Prepare,
}

type Resolve = fn(&Map<String, Value>, &Map<String, Value>) -> Result<Map<String, Value>, parameters::ReadError>;
type Prepare = fn(&Algorithm, &Map<String, Value>) -> Result<Recipe, parameters::ReadError>;

/// Builds any number of controllers of one kind: one algorithm and its parameters, which they share.
pub struct Recipe(Box<dyn Fn(Rng) -> Box<dyn Controller> + Send + Sync>);

impl Recipe {
    /// A new controller; `rng` is its only source of randomness.
    pub fn controller(&self, rng: Rng) -> Box<dyn Controller> {
        (self.0)(rng)
    }
}

impl Algorithm {
    /// An algorithm with code of its own.
    fn new<P: ParameterSet>([name, exact_name, summary, source]: [&'static str; 4], prepare: Prepare) -> Algorithm {
        Algorithm {
            name,
            exact_name,
            summary,
            source,
            base: None,
            overrides: Map::new(),
            preset: Map::new(),
            schema: || schemars::schema_for!(P),
            resolve: |preset, overrides| parameters::read::<P>(preset, overrides).map(|p| parameters::to_map(&p)),
            prepare,
        }
    }

    /// Reads parameters for `build`, which makes a controller of them, of a source of randomness and of its exact name.
    fn recipe<P, C>(
        &self,
        overrides: &Map<String, Value>,
        build: fn(Arc<P>, Rng, &'static str) -> C,
    ) -> Result<Recipe, parameters::ReadError>
    where
        P: ParameterSet + Send + Sync + 'static,
        C: Controller + 'static,
    {
        let parameters = Arc::new(parameters::read::<P>(&self.preset, overrides)?);
        let name = self.exact_name;
        Ok(Recipe(Box::new(move |rng| Box::new(build(Arc::clone(&parameters), rng, name)))))
    }

    /// A variant of this algorithm or variant.
    fn variant(&self, preset: Preset) -> Algorithm {
        // Once per process: names live as long as it does.
        let leak = |text: String| -> &'static str { text.leak() };
        let mut all = self.preset.clone();
        all.extend(preset.overrides.clone());
        Algorithm {
            name: leak(preset.name),
            exact_name: leak(preset.exact_name),
            summary: leak(preset.summary),
            source: leak(preset.source),
            base: Some(self.name),
            overrides: preset.overrides,
            preset: all,
            ..self.clone()
        }
    }
}

/// Why a controller could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No algorithm has this name.
    #[error("{}", explain_unknown(.name))]
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

static ALGORITHMS: LazyLock<Vec<Algorithm>> = LazyLock::new(|| {
    let mut algorithms = vec![
        Algorithm::new::<bbr1::Parameters>(
            [
                "bbr",
                Bbr1::NAME,
                "BBR version 1: paces at the estimated bandwidth and bounds the window by the estimated BDP",
                "Linux 6.18, net/ipv4/tcp_bbr.c; Cardwell et al., BBR: Congestion-Based Congestion Control, 2016",
            ],
            |a, overrides| {
                a.recipe(overrides, |parameters: Arc<bbr1::Parameters>, rng, name| {
                    Bbr1::new(parameters, rng).named(name)
                })
            },
        ),
        Algorithm::new::<bbr2::Parameters>(
            [
                "bbr2",
                Bbr2::NAME,
                "BBR version 2: bounds the amount in flight by what it found to be safe, and probes every few seconds",
                "google/bbr v2alpha, net/ipv4/tcp_bbr2.c, commit 8d11b540",
            ],
            |a, overrides| {
                a.recipe(overrides, |parameters: Arc<bbr2::Parameters>, rng, name| {
                    Bbr2::new(parameters, rng).named(name)
                })
            },
        ),
        Algorithm::new::<cubic::Parameters>(
            [
                "cubic",
                Cubic::NAME,
                "CUBIC: the window follows a cubic function of the time since the last loss; HyStart ends slow start",
                "Linux 6.18, net/ipv4/tcp_cubic.c; RFC 9438",
            ],
            |a, overrides| a.recipe(overrides, |parameters: Arc<cubic::Parameters>, _, _| Cubic::new(parameters)),
        ),
        Algorithm::new::<reno::Parameters>(
            [
                "reno",
                Reno::NAME,
                "Reno: one packet more per round trip, half the window less per loss",
                "Linux 6.18, net/ipv4/tcp_cong.c; RFC 5681",
            ],
            |a, overrides| a.recipe(overrides, |parameters: Arc<reno::Parameters>, _, _| Reno::new(parameters)),
        ),
    ];
    for preset in presets() {
        let base = algorithms.iter().find(|base| base.name == preset.base).cloned();
        algorithms.extend(base.map(|base| base.variant(preset)));
    }
    algorithms
});

/// All algorithms, then all variants, in the order of the documentation.
pub fn algorithms() -> &'static [Algorithm] {
    &ALGORITHMS
}

/// The algorithm or variant called `name`, short or exact.
pub fn find(name: &str) -> Result<&'static Algorithm, BuildError> {
    ALGORITHMS
        .iter()
        .find(|algorithm| algorithm.name == name || algorithm.exact_name == name)
        .ok_or_else(|| BuildError::UnknownAlgorithm { name: name.to_owned() })
}

/// The JSON Schema of an algorithm's parameters: types, defaults, meaning and source (`x-source`) of each. A variant's
/// defaults are its own.
pub fn parameter_schema(name: &str) -> Result<schemars::Schema, BuildError> {
    let algorithm = find(name)?;
    let mut schema = (algorithm.schema)();
    let defaults = (algorithm.resolve)(&algorithm.preset, &Map::new()).map_err(into_build_error)?;
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for key in algorithm.preset.keys() {
            if let (Some(Value::Object(property)), Some(default)) = (properties.get_mut(key), defaults.get(key)) {
                property.insert("default".to_owned(), default.clone());
            }
        }
    }
    Ok(schema)
}

/// All parameters of `name` with their values: `overrides` where given, defaults elsewhere.
pub fn resolve_parameters(name: &str, overrides: &Map<String, Value>) -> Result<Map<String, Value>, BuildError> {
    let algorithm = find(name)?;
    (algorithm.resolve)(&algorithm.preset, overrides).map_err(into_build_error)
}

/// How to build controllers named `name` with `parameters` in place of their defaults.
pub fn recipe(name: &str, parameters: &Map<String, Value>) -> Result<Recipe, BuildError> {
    let algorithm = find(name)?;
    (algorithm.prepare)(algorithm, parameters).map_err(into_build_error)
}

/// A controller named `name` with `parameters` in place of its defaults; `rng` is its only source of randomness.
pub fn build(name: &str, parameters: &Map<String, Value>, rng: Rng) -> Result<Box<dyn Controller>, BuildError> {
    recipe(name, parameters).map(|recipe| recipe.controller(rng))
}

fn into_build_error((key, message): parameters::ReadError) -> BuildError {
    BuildError::Parameter { key, message }
}

fn explain_unknown(name: &str) -> String {
    let names = || ALGORITHMS.iter().map(|algorithm| algorithm.name);
    let all: Vec<&str> = names().collect();
    let hint = match parameters::nearest(name, names()) {
        Some(close) => format!("did you mean `{close}`? Allowed are {}", all.join(", ")),
        None => format!("allowed are {}", all.join(", ")),
    };
    format!("unknown algorithm `{name}`; {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Control, View};
    use serde_json::json;

    fn table(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn error(name: &str, parameters: Value) -> (String, String) {
        match build(name, &table(parameters), Rng::new(1)).err().unwrap() {
            BuildError::Parameter { key, message } => (key, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn every_algorithm_builds_under_both_names_and_knows_its_own() {
        for algorithm in algorithms() {
            for name in [algorithm.name, algorithm.exact_name] {
                let controller = build(name, &Map::new(), Rng::new(1)).unwrap();
                assert_eq!(controller.algorithm(), algorithm.exact_name);
            }
        }
    }

    #[test]
    fn every_controller_of_a_recipe_has_its_parameters_and_its_name() {
        let recipe = recipe("reno", &table(json!({"beta": 0.25}))).unwrap();
        for seed in 0..3 {
            let mut controller = recipe.controller(Rng::new(seed));
            assert_eq!(controller.algorithm(), Reno::NAME);
            let control = Control { cwnd: 100, ..Control::default() };
            assert_eq!(controller.ssthresh(&View::new(1448), &control), 25);
        }
    }

    #[test]
    fn every_parameter_is_documented_with_default_meaning_and_source() {
        for algorithm in algorithms() {
            let schema = parameter_schema(algorithm.name).unwrap().to_value();
            let properties = schema["properties"].as_object().unwrap();
            let defaults = resolve_parameters(algorithm.name, &Map::new()).unwrap();
            assert_eq!(properties.len(), defaults.len());
            for (key, property) in properties {
                assert!(property["description"].as_str().is_some_and(|d| d.len() > 10), "{key}");
                assert!(property["x-source"].is_string(), "{key}");
                assert_eq!(property.get("default").unwrap_or(&Value::Null), &defaults[key], "{key}");
            }
        }
    }

    #[test]
    fn resolved_parameters_read_back_to_themselves() {
        for algorithm in algorithms() {
            let defaults = resolve_parameters(algorithm.name, &Map::new()).unwrap();
            assert_eq!(resolve_parameters(algorithm.name, &defaults).unwrap(), defaults);
        }
    }

    #[test]
    fn an_unknown_algorithm_is_answered_with_the_nearest() {
        let message = build("qubic", &Map::new(), Rng::new(1)).err().unwrap().to_string();
        assert!(message.contains("did you mean `cubic`"), "{message}");
        let message = build("xyz", &Map::new(), Rng::new(1)).err().unwrap().to_string();
        assert!(message.contains("allowed are bbr, bbr2, cubic, reno, bbr-4.14"), "{message}");
    }

    #[test]
    fn an_unknown_parameter_is_answered_with_the_nearest() {
        let (key, message) = error("cubic", json!({ "hystrat": false }));
        assert_eq!(key, "hystrat");
        assert!(message.contains("did you mean `hystart`"), "{message}");
        let (_, message) = error("reno", json!({ "xyz": 1 }));
        assert!(message.contains("allowed are beta, emulated_connections, increase"), "{message}");
    }

    #[test]
    fn a_wrong_value_is_named_with_what_is_allowed() {
        for (parameters, key, parts) in [
            (json!({ "hystart": "no" }), "hystart", ["\"no\"", "a boolean"]),
            (json!({ "hystart_detect": "fast" }), "hystart_detect", ["`fast`", "`both`, `train`"]),
            (json!({ "rtt_blackout": 3 }), "rtt_blackout", ["3", "unit"]),
            (json!({ "beta": 1.5 }), "beta", ["1.5", "between 0 and 1"]),
            (json!({ "beta": "x" }), "beta", ["\"x\"", "\"739/256\""]),
        ] {
            let (found, message) = error("cubic", parameters);
            assert_eq!(found, key);
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
        let (key, message) = error("bbr", json!({ "policer_min_rounds": 20 }));
        assert_eq!(
            (key.as_str(), message.contains("must not exceed policer_max_rounds")),
            ("policer_min_rounds", true)
        );
        let (key, _) = error("bbr", json!({ "cycle_gains": [1.25, 0.75, 0, 1] }));
        assert_eq!(key, "cycle_gains");
    }

    #[test]
    fn every_preset_has_a_base_above_it_and_changes_something() {
        let known = algorithms();
        assert_eq!(known.len(), 4 + presets().len(), "every base is found");
        for (position, variant) in known.iter().enumerate().filter(|(_, a)| a.base.is_some()) {
            let earlier = &known[..position];
            assert!(earlier.iter().all(|a| a.name != variant.name && a.exact_name != variant.exact_name));
            let base = earlier.iter().find(|a| Some(a.name) == variant.base).unwrap();
            let of = |name| resolve_parameters(name, &Map::new()).unwrap();
            let (base, own) = (of(base.name), of(variant.name));
            assert_eq!(base.len(), own.len());
            for (key, value) in &own {
                let overridden = variant.overrides.contains_key(key);
                assert!(overridden || &base[key] == value, "{}: {key}", variant.name);
                // A value repeated for the reader's sake is one that the source names.
                let repeated = ["startup_pacing_gain", "startup_window_gain", "drain_gain", "burst_min_slow"];
                assert!(
                    !overridden || &base[key] != value || repeated.contains(&key.as_str()),
                    "{}: {key}",
                    variant.name
                );
            }
        }
    }

    #[test]
    fn a_preset_set_back_to_its_base_is_its_base() {
        for variant in algorithms().iter().filter(|a| a.base.is_some()) {
            let base = resolve_parameters(variant.base.unwrap(), &Map::new()).unwrap();
            assert_eq!(resolve_parameters(variant.name, &base).unwrap(), base, "{}", variant.name);
        }
    }

    #[test]
    fn parameters_of_a_file_come_on_top_of_a_presets() {
        let resolved = resolve_parameters("tsunami", &table(json!({ "bw_window_rounds": 12 }))).unwrap();
        assert_eq!((&resolved["bw_window_rounds"], &resolved["min_rtt_window"]), (&json!(12), &json!("20s")));
        let (key, message) = error("bbrplus", json!({ "cycle_policy": "random" }));
        assert_eq!(key, "cycle_policy");
        assert!(message.contains("the default is \"random_length\""), "{message}");
    }

    #[test]
    fn the_published_constants_are_what_the_presets_hold() {
        let of = |name: &str| resolve_parameters(name, &Map::new()).unwrap();
        let exact = |numerator: u32| json!(f64::from(numerator) / 256.0);
        assert_eq!(of("bbr3")["startup_pacing_gain"], exact(710));
        assert_eq!(of("bbr3")["down_pacing_gain"], exact(232));
        assert_eq!(of("bbr3")["drain_gain"], exact(88));
        assert_eq!(of("tsunami")["drain_gain"], exact(106));
        assert_eq!(of("nanqinlang")["drain_gain"], exact(85));
        assert_eq!(of("nanqinlang")["startup_window_gain"], exact(769));
        assert_eq!(of("bbr-quic")["startup_pacing_gain"], exact(739));
        assert_eq!(of("bbr-prime")["startup_pacing_gain"], json!(2.0));
        assert_eq!(of("bbr2-draft")["startup_loss_events"], json!(3));
    }
}
