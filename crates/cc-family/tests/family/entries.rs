//! The catalogue of all variants: the properties that every entry has, and the values that sources print.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::{BuildError, Entry};
use dumbbell_cc_family::catalog;
use dumbbell_units::Rng;
use serde_json::{Map, Value, json};

fn table(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn entry(name: &str) -> &'static Entry {
    catalog().find(name).unwrap()
}

fn parameters(name: &str, overrides: Value) -> Map<String, Value> {
    entry(name).parameters(&table(overrides)).unwrap()
}

fn error(name: &str, parameters: Value) -> (String, String) {
    match catalog().build(name, &table(parameters), Rng::new(1)).err().unwrap() {
        BuildError::Parameter { key, message } => (key, message),
        other => panic!("{other}"),
    }
}

#[test]
fn resolved_parameters_read_back_to_themselves() {
    for entry in catalog().entries() {
        let defaults = entry.parameters(&Map::new()).unwrap();
        assert_eq!(entry.parameters(&defaults).unwrap(), defaults);
    }
}

#[test]
fn every_parameter_is_documented_with_default_meaning_and_source() {
    for entry in catalog().entries() {
        let schema = entry.parameter_schema();
        let properties = schema["properties"].as_object().unwrap();
        let defaults = entry.parameters(&Map::new()).unwrap();
        assert_eq!(properties.len(), defaults.len());
        for (key, property) in properties {
            assert!(property["description"].as_str().is_some_and(|d| d.len() > 10), "{key}");
            assert!(property["x-source"].is_string(), "{key}");
            assert_eq!(property.get("default").unwrap_or(&Value::Null), &defaults[key], "{key}");
        }
    }
}

#[test]
fn every_algorithm_builds_under_both_names_and_knows_its_own() {
    for entry in catalog().entries() {
        for name in [entry.name(), entry.exact_name()] {
            let controller = catalog().build(name, &Map::new(), Rng::new(1)).unwrap();
            assert_eq!(controller.algorithm(), entry.exact_name());
        }
    }
}

#[test]
fn every_preset_has_a_base_above_it_and_changes_something() {
    let known: Vec<&Entry> = catalog().entries().collect();
    for (position, variant) in known.iter().enumerate().filter(|(_, entry)| entry.base().is_some()) {
        let base = known[..position].iter().find(|entry| Some(entry.name()) == variant.base()).unwrap();
        let of = |entry: &Entry| entry.parameters(&Map::new()).unwrap();
        let (base, own) = (of(base), of(variant));
        assert_eq!(base.len(), own.len());
        for (key, value) in &own {
            let overridden = variant.overrides().contains_key(key);
            assert!(overridden || &base[key] == value, "{}: {key}", variant.name());
            // A value repeated for the reader's sake is one that the source names.
            let repeated = ["startup_pacing_gain", "startup_window_gain", "drain_gain", "burst_min_slow"];
            assert!(
                !overridden || &base[key] != value || repeated.contains(&key.as_str()),
                "{}: {key}",
                variant.name()
            );
        }
    }
}

#[test]
fn a_preset_set_back_to_its_base_is_its_base() {
    for variant in catalog().entries().filter(|entry| entry.base().is_some()) {
        let base = entry(variant.base().unwrap()).parameters(&Map::new()).unwrap();
        assert_eq!(variant.parameters(&base).unwrap(), base, "{}", variant.name());
    }
}

#[test]
fn parameters_of_a_file_come_on_top_of_a_presets() {
    let resolved = parameters("tsunami", json!({ "bw_window_rounds": 12 }));
    assert_eq!((&resolved["bw_window_rounds"], &resolved["min_rtt_window"]), (&json!(12), &json!("20s")));
    let (key, message) = error("bbrplus", json!({ "cycle_policy": "random" }));
    assert_eq!(key, "cycle_policy");
    assert!(message.contains("the default is \"random_length\""), "{message}");
}

#[test]
fn the_published_constants_are_what_the_presets_hold() {
    let of = |name: &str| parameters(name, json!({}));
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

#[test]
fn the_families_bbr_has_the_place_the_names_and_the_constants_of_linux() {
    assert!(catalog().names().take(Catalog::builtin().names().len()).eq(Catalog::builtin().names()));
    let linux = Catalog::builtin().find("bbr").unwrap();
    assert_eq!(entry("bbr").about(), linux.about());
    let (constants, all) = (linux.parameters(&Map::new()).unwrap(), parameters("bbr", json!({})));
    assert!(constants.iter().all(|(key, value)| all[key] == *value));
    assert!(all.len() > constants.len(), "and the families' rules");
}

#[test]
fn a_rule_of_one_stack_can_be_taken_into_another() {
    let mixed = json!({ "recovery": "quic", "cycle_policy": "timed_drain", "net_estimate": false });
    let recipe = catalog().recipe("bbr", &table(mixed.clone())).unwrap();
    assert_eq!(recipe.changed(), &table(mixed));
    assert_eq!(recipe.controller(Rng::new(1)).algorithm(), "bbr1-linux-6.18");
    let (key, message) = error("bbr", json!({ "recovery": "ns4" }));
    assert_eq!(key, "recovery");
    assert!(message.contains("`ns3`"), "{message}");
    let (_, message) = error("tsunami", json!({ "recovry": "ns3" }));
    assert!(message.contains("did you mean `recovery`"), "{message}");
}

#[test]
fn only_the_controller_of_bbr3s_kernel_asks_for_its_count_of_what_is_in_flight() {
    let asks = |entry: &&Entry| {
        let controller = catalog().build(entry.name(), &Map::new(), Rng::new(0)).unwrap();
        controller.needs().in_flight_by_buffer
    };
    let names: Vec<&str> = catalog().entries().filter(asks).map(Entry::name).collect();
    assert_eq!(names, ["bbr3"]);
}
