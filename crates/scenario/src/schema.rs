//! The JSON Schema of the experiment file, for editors: the structs of the file and every algorithm's parameters.

use crate::file::File;
use dumbbell_cc::registry;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of an experiment file, with the parameters of every registered algorithm.
pub fn json_schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<File>();
    let mut schema = Value::from(schema);
    insert(&mut schema, &["properties", "sweep"], sweep_schema());
    for algorithm in registry::algorithms() {
        // What the parameters refer to by `#/$defs/...` belongs to the root.
        let parameters = registry::parameter_schema(algorithm.name).map(Value::from).unwrap_or_default();
        for (name, definition) in parameters.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            insert(&mut schema, &["$defs", name], definition.clone());
        }
    }
    insert(&mut schema, &["$defs", "CcSpec"], controllers());
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

fn insert(schema: &mut Value, path: &[&str], value: Value) {
    let mut place = schema;
    for key in path {
        let Value::Object(map) = place else { return };
        place = map.entry(*key).or_insert_with(|| json!({}));
    }
    *place = value;
}

fn sweep_schema() -> Value {
    json!({
        "description": "Runs the product of lists of values over key paths, for example \"path.loss\" = [\"0%\", \"1%\"].",
        "type": "object",
        "properties": {
            "repeat": {
                "description": "Repetitions of every point with derived seeds. Default 1.",
                "type": "integer",
                "minimum": 1,
            },
            "zip": {
                "description": "Groups of swept keys that move together instead of forming a product.",
                "type": "array",
                "items": { "type": "array", "items": { "type": "string" } },
            },
        },
        "additionalProperties": { "type": ["array", "object"] },
    })
}

/// A name, or a table whose other keys are the parameters of the algorithm it names.
fn controllers() -> Value {
    let algorithms = registry::algorithms();
    let names: Vec<Value> = algorithms
        .iter()
        .map(|a| json!({ "const": a.name, "description": format!("{} ({}). {}", a.summary, a.exact_name, a.source) }))
        .collect();
    let with_parameters = algorithms.iter().map(|a| {
        let parameters = registry::parameter_schema(a.name).map(Value::from).unwrap_or_default();
        let mut properties = Map::new();
        properties.insert("name".to_owned(), json!({ "const": a.name }));
        if let Some(Value::Object(own)) = parameters.get("properties") {
            properties.extend(own.clone());
        }
        json!({
            "title": a.name,
            "description": format!("{} ({}). {}", a.summary, a.exact_name, a.source),
            "type": "object",
            "required": ["name"],
            "properties": properties,
            "additionalProperties": false,
        })
    });
    let preset = json!({
        "title": "a preset of this file",
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "type": "string", "not": { "enum": algorithms.iter().map(|a| a.name).collect::<Vec<_>>() } } },
    });
    let mut forms =
        vec![json!({ "type": "string", "anyOf": names.into_iter().chain([json!({})]).collect::<Vec<_>>() })];
    forms.extend(with_parameters);
    forms.push(preset);
    json!({ "description": "A congestion controller: its name, or a table with its name and parameters.", "anyOf": forms })
}
