//! A controller of another crate is as good as a built-in one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use dumbbell_cc::Catalog;
use dumbbell_scenario::{Experiment, json_schema_with};
use dumbbell_sim::Values;
use serde_json::Value;
use std::sync::atomic::AtomicBool;

fn experiment(cc: &str) -> Result<Experiment, String> {
    let text = format!(
        "duration = \"10s\"\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n[[flows]]\ncc = {cc}\n"
    );
    let catalog = own_controller::catalog().unwrap();
    Experiment::from_toml_with(&catalog, &text, "own.toml", &[]).map_err(|errors| errors.to_string())
}

fn hash(cc: &str) -> String {
    experiment(cc).unwrap().points()[0].content_hash()
}

#[test]
fn it_runs_and_its_values_are_recorded() {
    let goodput = |cc: &str| {
        let run = dumbbell_sim::run(&experiment(cc).unwrap().points()[0].scenario(), &AtomicBool::new(false)).unwrap();
        let column = |name: &str| run.flows.columns.iter().find(|column| column.name == name).unwrap().values.clone();
        let Values::Name(algorithms) = column("algorithm") else { panic!("not a name") };
        assert!(algorithms.iter().eq(["aimd-1.0"]));
        let observed = run.series.columns.iter().find(|column| column.name == "cc_reductions").unwrap();
        let Values::Float(reductions) = &observed.values else { panic!("not numbers") };
        assert!(reductions.last().unwrap() > &1.0);
        let Values::Float(goodput) = column("goodput_mbps") else { panic!("not numbers") };
        goodput[0]
    };
    let gentle = goodput("\"aimd\"");
    assert!((8.0..=9.6).contains(&gentle), "{gentle}");
    // Half of one BDP of buffer and path: the pipe stays full; a tenth: it does not.
    assert!(goodput("{ name = \"aimd\", decrease = 0.1 }") < gentle);
}

#[test]
fn the_explanation_names_it_with_its_parameters() {
    let text = experiment("{ name = \"aimd\", increase = 3 }").unwrap().explain();
    assert!(text.contains("aimd -> aimd-1.0 (increase = 3)"), "{text}");
}

#[test]
fn the_resolved_experiment_names_every_parameter_and_reads_back() {
    let first = experiment("\"aimd-1.0\"").unwrap();
    let text = first.points()[0].resolved_toml();
    assert!(text.contains("# aimd-1.0\n") && text.contains("increase = 1, decrease = 0.875"), "{text}");
    let again = Experiment::from_toml_with(&own_controller::catalog().unwrap(), &text, "again.toml", &[]).unwrap();
    assert_eq!(again.points()[0].content_hash(), first.points()[0].content_hash());
    assert!(Experiment::from_toml(&text, "again.toml", &[]).is_err(), "without it the file makes no sense");
}

#[test]
fn errors_suggest_its_name_and_its_parameters() {
    let message = experiment("\"amid\"").unwrap_err();
    assert!(message.contains("unknown algorithm `amid`") && message.contains("did you mean `aimd`?"), "{message}");
    let message = experiment("{ name = \"aimd\", increse = 2 }").unwrap_err();
    assert!(message.contains("own.toml:7") && message.contains("did you mean `increase`?"), "{message}");
    let message = experiment("{ name = \"aimd\", decrease = 1.5 }").unwrap_err();
    assert!(message.contains("allowed: at least 0, less than 1"), "{message}");
}

#[test]
fn a_preset_of_a_file_can_start_from_it() {
    let text =
        experiment("\"slow\"\n[presets.slow]\nbase = \"aimd\"\nincrease = 1\ndecrease = 0.25").unwrap().explain();
    assert!(text.contains("slow = aimd -> aimd-1.0 (decrease = 0.25)"), "{text}");
}

#[test]
fn the_schema_and_the_list_of_algorithms_describe_it() {
    let catalog = own_controller::catalog().unwrap();
    let schema: Value = serde_json::from_str(&json_schema_with(&catalog)).unwrap();
    let forms = schema["$defs"]["CcSpec"]["allOf"].as_array().unwrap();
    let form = forms.iter().map(|form| &form["then"]).find(|form| form["title"] == "aimd").unwrap();
    assert!(form["properties"]["increase"].is_object());
    let listed = catalog.describe();
    let entry = listed.as_array().unwrap().iter().find(|entry| entry["name"] == "aimd").unwrap();
    assert_eq!((&entry["exact_name"], &entry["version"]), (&"aimd-1.0".into(), &"1.0.0".into()));
    let increase = &entry["parameters"]["properties"]["increase"];
    assert_eq!(increase["default"], 1);
    assert!(increase["description"].is_string() && increase["x-source"].is_string());
    assert_eq!(listed.as_array().unwrap().len(), dumbbell_cc_family::catalog().names().len() + 1);
}

#[test]
fn results_depend_on_its_code_and_its_parameters() {
    assert_eq!(hash("\"aimd\""), hash("{ name = \"aimd\", increase = 1 }"));
    assert_ne!(hash("\"aimd\""), hash("{ name = \"aimd\", increase = 2 }"));
    // The algorithm stays, and its text is another.
    let mut other = dumbbell_cc_family::catalog().clone();
    let mut about = own_controller::catalog().unwrap().find("aimd").unwrap().about().clone();
    let code = own_controller::catalog().unwrap().find("aimd").unwrap().code();
    let hash_with = |catalog: &Catalog| {
        let text = experiment("\"aimd\"").unwrap().points()[0].resolved_toml();
        Experiment::from_toml_with(catalog, &text, "own.toml", &[]).unwrap().points()[0].content_hash()
    };
    about.digest = "another".to_owned();
    other.register_code(about, code).unwrap();
    assert_eq!(hash_with(&own_controller::catalog().unwrap()), hash("\"aimd\""));
    assert_ne!(hash_with(&other), hash("\"aimd\""));
}
