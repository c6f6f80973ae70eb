//! The pages of the reference that are made from declarations are what the program prints. A change of a declaration
//! updates them with
//!
//! ```text
//! DUMBBELL_UPDATE_REFERENCE=1 cargo test -p dumbbell-scenario --test file reference
//! ```
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use dumbbell_parameters::Kind;
use dumbbell_path::{loss, queue};
use dumbbell_scenario::{Experiment, json_schema, reference_pages};
use dumbbell_transport::TransportConfig;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

fn file(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/reference/{page}.md"))
}

#[test]
fn the_committed_pages_are_what_the_program_prints() {
    for page in reference_pages() {
        let path = file(page.name);
        if std::env::var_os("DUMBBELL_UPDATE_REFERENCE").is_some() {
            std::fs::write(&path, &page.text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == page.text, "{} is out of date; see the top of this test", path.display());
    }
}

/// A kind of queue or of loss.
struct Registered {
    /// The key of a link that holds it.
    key: &'static str,
    name: &'static str,
    /// Examples of what it requires.
    example: Map<String, Value>,
    parameters: Vec<String>,
}

fn kinds() -> Vec<Registered> {
    fn registered<T: 'static, C: 'static>(key: &'static str, kind: &Kind<T, C>) -> Registered {
        let parameters = kind.parameters.iter().map(|parameter| parameter.key.clone()).collect();
        Registered { key, name: kind.name, example: kind.example(), parameters }
    }
    let queues = queue::catalog().kinds().iter().map(|kind| registered("queue", kind));
    queues.chain(loss::catalog().kinds().iter().map(|kind| registered("loss", kind))).collect()
}

fn experiment(key: &str, value: &Value) -> Value {
    let mut path = json!({ "rate": "10mbit", "rtt": "40ms" });
    path[key] = value.clone();
    json!({ "path": path, "flows": [{ "cc": "reno" }] })
}

/// A table that names a kind and its required parameters.
fn written(name: &str, example: &Map<String, Value>) -> Value {
    let mut table = json!({ "kind": name });
    table.as_object_mut().unwrap().extend(example.clone());
    table
}

#[test]
fn every_registered_kind_is_described_everywhere() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let page = &reference_pages()[0].text;
    for Registered { key, name, example, parameters } in kinds() {
        assert!(page.contains(&format!("### `kind = \"{name}\"`")), "the page does not know {name}");
        let definition = if key == "queue" { "QueueSpec" } else { "LossSpec" };
        let mut forms = schema["$defs"][definition]["allOf"].as_array().unwrap().iter().map(|asked| &asked["then"]);
        let form = forms.find(|form| form["title"] == name).unwrap_or_else(|| panic!("no schema of {name}"));
        let loaded = Experiment::from_json(&experiment(key, &written(name, &example)), "kinds", &[]);
        let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
        let resolved = loaded.points()[0].resolved_toml();
        for parameter in &parameters {
            assert!(form["properties"][parameter].is_object(), "no schema of {name}'s {parameter}");
            assert!(page.contains(&format!("| `{parameter}` |")), "the page does not know {name}'s {parameter}");
        }
        let again = Experiment::from_toml(&resolved, "kinds", &[]).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(again.points()[0].resolved_toml(), resolved, "{name} does not resolve to itself");
        assert!(!loaded.explain().is_empty());
    }
}

#[test]
fn a_parameter_of_no_kind_is_refused_with_the_kinds_own() {
    for Registered { key, name, example, parameters } in kinds() {
        let mut table = written(name, &example);
        table["colour"] = json!("red");
        let errors = Experiment::from_json(&experiment(key, &table), "kinds", &[]).unwrap_err();
        let [error] = errors.errors() else { panic!("{errors}") };
        assert_eq!(error.key, format!("path.{key}.colour"));
        let help = error.help.clone().unwrap();
        assert!(parameters.iter().all(|parameter| help.contains(parameter.as_str())), "{help}");
    }
}

#[test]
fn the_bounds_of_parameters_are_values_or_parameters() {
    let queues = queue::catalog().kinds().iter().map(|kind| &kind.parameters[..]);
    let losses = loss::catalog().kinds().iter().map(|kind| &kind.parameters[..]);
    for parameters in queues.chain(losses).chain([TransportConfig::parameters()]) {
        for parameter in parameters {
            for bound in parameter.range.parameters() {
                assert!(parameters.iter().any(|other| other.key == bound), "{}: {bound}", parameter.key);
            }
            assert!(!parameter.meaning.is_empty() && parameter.source.is_some(), "{}", parameter.key);
        }
    }
}
