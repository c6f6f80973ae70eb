//! Every algorithm by name. A new controller is one file and one entry of `ALGORITHMS`.

use crate::Controller;
use crate::bbr1::{self, Bbr1};
use crate::cubic::{self, Cubic};
use crate::parameters::{self, ParameterSet};
use crate::reno::{self, Reno};
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
    schema: fn() -> schemars::Schema,
    resolve: Resolve,
    build: Build,
}

type Resolve = fn(&Map<String, Value>) -> Result<Map<String, Value>, parameters::ReadError>;
type Build = fn(&Map<String, Value>, Rng) -> Result<Box<dyn Controller>, parameters::ReadError>;

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

static ALGORITHMS: [Algorithm; 3] = [
    Algorithm {
        name: "bbr",
        exact_name: Bbr1::NAME,
        summary: "BBR version 1: paces at the estimated bandwidth and bounds the window by the estimated BDP",
        source: "Linux 6.18, net/ipv4/tcp_bbr.c; Cardwell et al., BBR: Congestion-Based Congestion Control, 2016",
        schema: schema::<bbr1::Parameters>,
        resolve: resolve::<bbr1::Parameters>,
        build: |overrides, rng| Ok(Box::new(Bbr1::new(parameters::read(overrides)?, rng))),
    },
    Algorithm {
        name: "cubic",
        exact_name: Cubic::NAME,
        summary: "CUBIC: the window follows a cubic function of the time since the last loss; HyStart ends slow start",
        source: "Linux 6.18, net/ipv4/tcp_cubic.c; RFC 9438",
        schema: schema::<cubic::Parameters>,
        resolve: resolve::<cubic::Parameters>,
        build: |overrides, _| Ok(Box::new(Cubic::new(parameters::read(overrides)?))),
    },
    Algorithm {
        name: "reno",
        exact_name: Reno::NAME,
        summary: "Reno: one packet more per round trip, half the window less per loss",
        source: "Linux 6.18, net/ipv4/tcp_cong.c; RFC 5681",
        schema: schema::<reno::Parameters>,
        resolve: resolve::<reno::Parameters>,
        build: |overrides, _| Ok(Box::new(Reno::new(parameters::read(overrides)?))),
    },
];

/// All algorithms, in the order of the documentation.
pub fn algorithms() -> &'static [Algorithm] {
    &ALGORITHMS
}

/// The algorithm called `name`, short or exact.
pub fn find(name: &str) -> Result<&'static Algorithm, BuildError> {
    ALGORITHMS
        .iter()
        .find(|algorithm| algorithm.name == name || algorithm.exact_name == name)
        .ok_or_else(|| BuildError::UnknownAlgorithm { name: name.to_owned() })
}

/// The JSON Schema of an algorithm's parameters: types, defaults, meaning and source (`x-source`) of each.
pub fn parameter_schema(name: &str) -> Result<schemars::Schema, BuildError> {
    Ok((find(name)?.schema)())
}

/// All parameters of `name` with their values: `overrides` where given, defaults elsewhere.
pub fn resolve_parameters(name: &str, overrides: &Map<String, Value>) -> Result<Map<String, Value>, BuildError> {
    (find(name)?.resolve)(overrides).map_err(into_build_error)
}

/// A controller named `name` with `parameters` in place of its defaults; `rng` is its only source of randomness.
pub fn build(name: &str, parameters: &Map<String, Value>, rng: Rng) -> Result<Box<dyn Controller>, BuildError> {
    (find(name)?.build)(parameters, rng).map_err(into_build_error)
}

fn into_build_error((key, message): parameters::ReadError) -> BuildError {
    BuildError::Parameter { key, message }
}

fn schema<P: ParameterSet>() -> schemars::Schema {
    schemars::schema_for!(P)
}

fn resolve<P: ParameterSet>(overrides: &Map<String, Value>) -> Result<Map<String, Value>, parameters::ReadError> {
    parameters::read::<P>(overrides).map(|parameters| parameters::to_map(&parameters))
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
        assert!(message.contains("allowed are bbr, cubic, reno"), "{message}");
    }

    #[test]
    fn an_unknown_parameter_is_answered_with_the_nearest() {
        let (key, message) = error("cubic", json!({ "hystrat": false }));
        assert_eq!(key, "hystrat");
        assert!(message.contains("did you mean `hystart`"), "{message}");
        let (_, message) = error("reno", json!({ "xyz": 1 }));
        assert!(message.contains("allowed are beta, increase"), "{message}");
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
    fn the_published_variants_are_overrides() {
        let kernel_4_14 = json!({
            "net_estimate": false, "aggregation": "off", "pacing_margin": "0%", "min_rtt_tie_refreshes": true,
            "delayed_ack_guard": false, "idle_ends_with_any_ack": true, "zero_ack_caps": false,
            "probe_rtt_restore": "next_delivery", "policer_freezes_cycle": true, "budget_probe_packets": 0,
            "undo_resets_plateau": false, "probe_rtt_exit_from_idle": false,
        });
        let kernel_4_11 = json!({ "pacing_reinit": false, "pacing_rises_only": "in_startup" });
        let quic = json!({
            "startup_pacing_gain": 2.0, "startup_window_gain": 2.0, "drain_gain": 0.5, "budget_bursts": 0,
            "budget_even": false, "budget_probe_packets": 0, "pacing_margin": 0, "nominal_rtt": "100ms",
            "initial_pacing_gain": 1, "net_estimate": false, "cycle_policy": "timed_drain",
            "cycle_in_flight": "current", "cycle_clock": "now", "recovery": "quic", "aggregation": "quic",
            "aggregation_window_rounds": 10, "policer_sampler": false, "rto_resets_plateau": false,
            "undo_resets_plateau": false, "probe_rtt_window": { "bdp": 0.75 },
        });
        let tsunami = json!({
            "cycle_gains": ["3/2", "3/4", "9/8", "9/8", "9/8", "9/8", "9/8", "9/8"], "bw_window_rounds": 15,
            "min_rtt_window": "20s", "drain_gain": "1200/2885", "probe_rtt_window": "halving",
            "probe_rtt_dwell": "100ms", "cycle_policy": "random_length",
        });
        let ns3 = json!({
            "startup_pacing_gain": 2.89, "startup_window_gain": 2.89, "drain_gain": "100/289", "burst_max": 1,
            "budget_even": false, "net_estimate": false, "policer_sampler": false, "cycle_random_phases": 6,
            "cycle_clock": "now", "initial_bw_estimate": true, "aggregation_resolution": "1s",
            "rto_resets_plateau": false,
        });
        let bbr_n = json!({
            "cycle_gains": [1.5, 0.9, 1, 1, 1, 1, 1, 1], "min_window": 10, "full_threshold": 1.5, "burst_min": 4,
            "pacing_shift": 8, "drain_gain": "1000/2885",
        });
        let hsr = json!({ "cycle_gains": [1.5, 0.5, 1.5, 0.5, 1.5, 0.5, 1.5, 0.5], "min_rtt_offset": 0.5 });
        for overrides in [kernel_4_14, kernel_4_11, quic, tsunami, ns3, bbr_n, hsr] {
            let resolved = resolve_parameters("bbr", &table(overrides.clone())).unwrap();
            for key in overrides.as_object().unwrap().keys() {
                assert!(resolved.contains_key(key));
            }
        }
    }
}
