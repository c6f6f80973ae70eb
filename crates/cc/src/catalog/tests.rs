mod bounds;

use super::*;
use dumbbell_cc_contract::parameters::NoParameters;
use dumbbell_cc_contract::{Control, View};
use serde_json::json;

fn table(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn error(name: &str, parameters: Value) -> (String, String) {
    match Catalog::builtin().build(name, &table(parameters), Rng::new(1)).err().unwrap() {
        BuildError::Parameter { key, message } => (key, message),
        other => panic!("{other}"),
    }
}

#[test]
fn every_algorithm_builds_under_both_names_and_knows_its_own() {
    for entry in Catalog::builtin().entries() {
        for name in [entry.name(), entry.exact_name()] {
            let controller = Catalog::builtin().build(name, &Map::new(), Rng::new(1)).unwrap();
            assert_eq!(controller.algorithm(), entry.exact_name());
        }
    }
}

#[test]
fn every_controller_of_a_recipe_has_its_parameters_and_its_name() {
    let recipe = Catalog::builtin().recipe("reno", &table(json!({"beta": 0.25}))).unwrap();
    assert_eq!(recipe.changed(), &table(json!({"beta": 0.25})));
    for seed in 0..3 {
        let mut controller = recipe.controller(Rng::new(seed));
        assert_eq!(controller.algorithm(), Reno::EXACT_NAME);
        let control = Control { cwnd: 100, ..Control::default() };
        assert_eq!(controller.ssthresh(&View::new(1448), &control), 25);
    }
}

#[test]
fn every_parameter_is_documented_with_default_meaning_and_source() {
    for entry in Catalog::builtin().entries() {
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
fn resolved_parameters_read_back_to_themselves() {
    for entry in Catalog::builtin().entries() {
        let defaults = entry.parameters(&Map::new()).unwrap();
        assert_eq!(entry.parameters(&defaults).unwrap(), defaults);
    }
}

#[test]
fn an_unknown_algorithm_is_answered_with_the_nearest() {
    let message = Catalog::builtin().build("qubic", &Map::new(), Rng::new(1)).err().unwrap().to_string();
    assert!(message.contains("did you mean `cubic`"), "{message}");
    let message = Catalog::builtin().build("xyz", &Map::new(), Rng::new(1)).err().unwrap().to_string();
    assert!(message.starts_with("unknown algorithm `xyz`; allowed are "), "{message}");
    assert!(Catalog::builtin().names().all(|name| message.contains(name)), "{message}");
}

#[test]
fn an_unknown_parameter_is_answered_with_the_nearest() {
    let (key, message) = error("cubic", json!({ "hystrat": false }));
    assert_eq!(key, "hystrat");
    assert!(message.contains("did you mean `hystart`"), "{message}");
    let (_, message) = error("reno", json!({ "xyz": 1 }));
    assert!(message.contains("allowed are beta, beta_ecn, emulated_connections, increase"), "{message}");
}

#[test]
fn a_wrong_value_is_named_with_what_is_allowed() {
    for (parameters, key, parts) in [
        (json!({ "hystart": "no" }), "hystart", ["\"no\"", "true or false"]),
        (json!({ "hystart_detect": "fast" }), "hystart_detect", ["`fast`", "allowed: both, train, delay"]),
        (json!({ "rtt_blackout": 3 }), "rtt_blackout", ["3", "unit"]),
        (json!({ "beta": 1.5 }), "beta", ["1.5", "allowed: more than 0, less than 1"]),
        (json!({ "beta": "x" }), "beta", ["\"x\"", "\"739/256\""]),
    ] {
        let (found, message) = error("cubic", parameters);
        assert_eq!(found, key);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    let (key, message) = error("bbr", json!({ "policer_min_rounds": 20 }));
    assert_eq!(
        (key.as_str(), message.contains("at most `policer_max_rounds`, which is 16")),
        ("policer_min_rounds", true)
    );
    let (key, _) = error("bbr", json!({ "cycle_gains": [1.25, 0.75, 0, 1] }));
    assert_eq!(key, "cycle_gains");
}

/// Keeps its window.
struct Still(Arc<str>);

impl Controller for Still {
    fn algorithm(&self) -> &str {
        &self.0
    }
    fn init(&mut self, _: &View, _: &mut Control) {}
    fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
        control.cwnd
    }
}

impl Algorithm for Still {
    type Parameters = NoParameters;
    const NAME: &str = "still";
    const EXACT_NAME: &str = "still-1.0";
    const SUMMARY: &str = "keeps its window";
    const SOURCE: &str = "this test";
    const VERSION: &str = "1.0";
    const CODE: &str = "v1";
    fn build(_: Arc<NoParameters>, _: Rng, exact_name: Arc<str>) -> Still {
        Still(exact_name)
    }
}

#[test]
fn a_registered_algorithm_is_found_built_and_described_like_the_built_in_ones() {
    let mut catalog = Catalog::builtin().clone();
    catalog.register::<Still>().unwrap();
    assert!(catalog.names().eq(Catalog::builtin().names().chain(["still"])));
    let controller = catalog.build("still-1.0", &Map::new(), Rng::new(1)).unwrap();
    assert_eq!(controller.algorithm(), "still-1.0");
    let message = catalog.find("stil").unwrap_err().to_string();
    assert!(message.contains("did you mean `still`"), "{message}");
    let described = catalog.describe();
    let described = described.as_array().unwrap().last().unwrap();
    assert_eq!((&described["name"], &described["version"]), (&json!("still"), &json!("1.0")));
    assert!(Catalog::builtin().find("still").is_err(), "the built-in catalogue is untouched");
}

#[test]
fn the_identity_of_an_algorithm_follows_its_version_and_its_code() {
    let about = |digest: &str, version: &str| {
        let mut about = Entry::of::<Still>().about().clone();
        about.version = version.to_owned();
        about.digest = digest.to_owned();
        let mut catalog = Catalog::default();
        let code = Entry::of::<Still>();
        catalog.register_code(about, code.code()).unwrap();
        catalog.find("still").unwrap().identity()
    };
    assert_eq!(about("", "1.0"), "still-1.0 1.0");
    assert_ne!(about("a", "1.0"), about("b", "1.0"));
    assert_ne!(about("a", "1.0"), about("a", "1.1"));
    assert!(Entry::of::<Still>().identity().starts_with("still-1.0 1.0 "));
    assert_eq!(Entry::of::<Still>().identity().len(), "still-1.0 1.0 ".len() + 64);
}

#[test]
fn names_are_one_word_and_not_taken() {
    let mut catalog = Catalog::default();
    catalog.register::<Still>().unwrap();
    let message = catalog.register::<Still>().unwrap_err().to_string();
    assert_eq!(message, "the name `still` is taken by still-1.0");
    for name in ["", "two words", "stiĺl"] {
        let about = About { name: name.to_owned(), exact_name: "x".to_owned(), ..About::default() };
        let error = catalog.register_code(about, Entry::of::<Still>().code()).unwrap_err();
        assert!(matches!(error, RegisterError::Name { .. }), "{error}");
    }
    assert_eq!(catalog.entries().len(), 1);
}

/// The catalogue with a variant `v` of `base`.
fn with_variant(base: &str, overrides: &str) -> Result<Catalog, RegisterError> {
    let text = format!(
        "[[preset]]\nname = 'v'\nexact_name = 'v-1'\nbase = '{base}'\nsummary = 's'\nsource = 's'\n\
         overrides = {{ {overrides} }}"
    );
    let mut catalog = Catalog::builtin().clone();
    catalog.register_variants(&text)?;
    Ok(catalog)
}

#[test]
fn a_variant_of_any_algorithm_has_a_name_of_its_own() {
    for base in Catalog::builtin().entries().filter(|entry| entry.base().is_none()) {
        let controller = with_variant(base.name(), "").unwrap().build("v", &Map::new(), Rng::new(1)).unwrap();
        assert_eq!(controller.algorithm(), "v-1", "{}", base.name());
    }
}

#[test]
fn recipes_are_equal_when_their_algorithms_and_all_parameters_are() {
    let catalog = with_variant("reno", "").unwrap();
    let recipe = |name, parameters| catalog.recipe(name, &table(parameters)).unwrap();
    let reno = recipe("reno", json!({}));
    assert_eq!(reno, recipe("reno", json!({"beta": 0.5})), "a default that is written down");
    assert_ne!(reno, recipe("reno", json!({"beta": 0.25})));
    assert_ne!(reno, recipe("v", json!({})), "another name for the same");
}

#[test]
fn a_wrong_variant_is_refused_by_name() {
    let variant = |base, overrides| with_variant(base, overrides).map(drop).map_err(|error| error.to_string());
    assert!(variant("reno", "beta = 0.7").is_ok());
    assert!(variant("rino", "").unwrap_err().starts_with("variant `v`: unknown algorithm `rino`; did you mean"));
    assert!(variant("reno", "betta = 1").unwrap_err().contains("did you mean `beta`"));
}

#[test]
fn recipes_and_entries_tell_their_names_to_who_debugs() {
    let recipe = Catalog::builtin().recipe("reno", &table(json!({"beta": 0.25}))).unwrap();
    let text = format!("{recipe:?}");
    assert!(text.starts_with("Recipe { name: \"reno\"") && text.contains("0.25"), "{text}");
    let text = format!("{:?}", Catalog::builtin().find("bbr3").unwrap());
    assert!(text.starts_with("Entry { about: About { name: \"bbr3\""), "{text}");
}

#[test]
fn other_code_behind_a_name_keeps_the_place_and_what_is_told() {
    let mut catalog = Catalog::builtin().clone();
    let names: Vec<String> = catalog.names().map(str::to_owned).collect();
    catalog.replace_code("cubic", Entry::of::<Still>().code()).unwrap();
    assert!(catalog.names().eq(names.iter().map(String::as_str)));
    let cubic = catalog.find("cubic").unwrap();
    assert_eq!(cubic.about(), Catalog::builtin().find("cubic").unwrap().about());
    assert!(cubic.parameters(&Map::new()).unwrap().is_empty(), "the other code has no parameters");
    let error = catalog.replace_code("qubic", Entry::of::<Still>().code()).unwrap_err();
    assert!(error.to_string().contains("did you mean `cubic`"), "{error}");
}
