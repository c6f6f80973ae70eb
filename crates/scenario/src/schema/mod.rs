//! The JSON Schema of the experiment file, for editors: the structs of the file and every algorithm's parameters.

mod forms;
mod tables;

pub(crate) use tables::name_tables;

use crate::file::File;
use crate::resolve::algorithms::{BPF, BPF_ALGORITHMS};
use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::{About, Entry, ORIGINS};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The JSON Schema (draft 2020-12) of an experiment file, with the parameters of every built-in algorithm.
pub fn json_schema() -> String {
    json_schema_with(dumbbell_cc_family::catalog())
}

/// [`json_schema`] with the algorithms of `catalog`.
pub fn json_schema_with(catalog: &Catalog) -> String {
    let mut schema = of_a_file();
    let controllers = controllers(catalog, &mut schema);
    insert(&mut schema, &["$defs", "CcSpec"], controllers);
    forms::ask_first(&mut schema);
    insert(&mut schema, &["$id"], concat!("urn:dumbbell:experiment:", env!("CARGO_PKG_VERSION")).into());
    insert(&mut schema, &["allOf"], json!([names_of_algorithms(catalog)]));
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// The schema of all tables of a file, whatever algorithms there are.
fn of_a_file() -> Value {
    let mut schema = Value::from(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<File>());
    insert(&mut schema, &["properties", "include"], include_schema());
    insert(&mut schema, &["properties", "sweep"], sweep_schema());
    schema
}

/// Without presets, of the file or of one that it includes, the name of an algorithm is one of the catalogue's.
fn names_of_algorithms(catalog: &Catalog) -> Value {
    let programs = BPF_ALGORITHMS.map(|name| format!("{BPF}{name}"));
    let names: Vec<&str> = catalog.names().chain(programs.iter().map(String::as_str)).collect();
    let text = json!({ "if": { "type": "string" }, "then": { "enum": names } });
    let table = json!({ "if": { "type": "object" }, "then": { "properties": { "name": { "enum": names } } } });
    let presets = json!({ "anyOf": [{ "required": ["presets"] }, { "required": ["include"] }] });
    json!({
        "if": { "not": presets },
        "then": { "properties": { "flows": { "items": { "properties": { "cc": { "allOf": [text, table] } } } } } },
    })
}

fn insert(schema: &mut Value, path: &[&str], value: Value) {
    let mut place = schema;
    for key in path {
        let Value::Object(map) = place else { return };
        place = map.entry(*key).or_insert_with(|| json!({}));
    }
    *place = value;
}

fn include_schema() -> Value {
    json!({
        "description": "Experiment files that this one stands on, relative to it. Tables merge; other values are replaced.",
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
    })
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

/// Moves what `parameters` refers to by `#/$defs/...` to the root of `schema`; a name that means something else there
/// is put behind the algorithm's.
fn hoist_definitions(parameters: Value, algorithm: &str, schema: &mut Value) -> Value {
    let Some(definitions) = parameters.get("$defs").and_then(Value::as_object).cloned() else { return parameters };
    let conflict = |name: &str, definition: &Value| schema["$defs"].get(name).is_some_and(|known| known != definition);
    let renamed: Vec<&String> = definitions.iter().filter(|(n, d)| conflict(n, d)).map(|(name, _)| name).collect();
    let new_name = |name: &str| {
        if renamed.iter().any(|r| *r == name) { format!("{algorithm}.{name}") } else { name.to_owned() }
    };
    for (name, definition) in &definitions {
        let definition = rename_references(definition.clone(), &new_name);
        insert(schema, &["$defs", &new_name(name)], definition);
    }
    rename_references(parameters, &new_name)
}

fn rename_references(value: Value, new_name: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Object(map) => {
            let rename = |(key, value): (String, Value)| match (key.as_str(), &value) {
                ("$ref", Value::String(reference)) => {
                    let name = reference.strip_prefix("#/$defs/").map(new_name);
                    let reference = name.map_or_else(|| reference.clone(), |name| format!("#/$defs/{name}"));
                    (key, Value::String(reference))
                }
                _ => (key, rename_references(value, new_name)),
            };
            Value::Object(map.into_iter().map(rename).collect())
        }
        Value::Array(list) => list.into_iter().map(|v| rename_references(v, new_name)).collect(),
        other => other,
    }
}

/// A reference to `parameter` under the root's `$defs`. Variants have most parameters in common with their base, down
/// to the default, and these are defined once, under the name of the algorithm that had them first.
fn share(key: &str, parameter: &Value, algorithm: &str, schema: &mut Value) -> Value {
    let is_the_same = |(name, known): &(&String, &Value)| name.split('.').nth(1) == Some(key) && *known == parameter;
    let known =
        schema["$defs"].as_object().and_then(|defs| defs.iter().find(is_the_same)).map(|(name, _)| name.clone());
    let name = known.unwrap_or_else(|| {
        let name = format!("{algorithm}.{key}");
        insert(schema, &["$defs", &name], parameter.clone());
        name
    });
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A name, or a table whose other keys are the parameters of the algorithm it names.
fn controllers(catalog: &Catalog, schema: &mut Value) -> Value {
    let described = |entry: &Entry| {
        let About { exact_name, summary, source, .. } = entry.about();
        format!("{summary} ({exact_name}). {source}")
    };
    let names: Vec<&str> = catalog.names().collect();
    let with_parameters: Vec<Value> = catalog
        .entries()
        .map(|entry| {
            let name = entry.name();
            let parameters = hoist_definitions(entry.parameter_schema(), name, schema);
            let mut properties = Map::new();
            properties.insert("name".to_owned(), json!({ "const": name }));
            if let Some(Value::Object(own)) = parameters.get("properties") {
                let shared = |(key, value): (&String, &Value)| (key.clone(), share(key, value, name, schema));
                properties.extend(own.iter().map(shared));
            }
            json!({
                "title": name,
                "description": described(entry),
                "type": "object",
                "required": ["name"],
                "properties": properties,
                "additionalProperties": false,
            })
        })
        .collect();
    let elsewhere = ORIGINS.map(|key| json!({ "required": [key] }));
    let place = json!({ "type": "string", "description": "Where the code of an algorithm of your own is." });
    let preset = json!({
        "title": "a preset of this file, or an algorithm of your own",
        "type": "object",
        "if": { "anyOf": elsewhere },
        "then": { "properties": ORIGINS.map(|key| (key, place.clone())).into_iter().collect::<BTreeMap<_, _>>() },
        "else": {
            "required": ["name"],
            "properties": { "name": { "type": "string", "not": { "enum": catalog.names().collect::<Vec<_>>() } } },
        },
    });
    let mut forms = vec![json!({ "type": "string", "examples": names })];
    forms.extend(with_parameters);
    forms.push(preset);
    json!({ "description": "A congestion controller: its name, or a table with its name and parameters.", "anyOf": forms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_with_the_same_name_and_another_meaning_live_side_by_side() {
        let mut schema = json!({ "$defs": { "Mode": { "const": 1 }, "Same": { "const": 2 } } });
        let own = json!({
            "properties": { "a": { "$ref": "#/$defs/Mode" }, "b": { "$ref": "#/$defs/Same" } },
            "$defs": { "Mode": { "const": 3 }, "Same": { "const": 2 } },
        });
        let hoisted = hoist_definitions(own, "bbr9", &mut schema);
        assert_eq!(hoisted["properties"]["a"]["$ref"], "#/$defs/bbr9.Mode");
        assert_eq!(hoisted["properties"]["b"]["$ref"], "#/$defs/Same");
        assert_eq!(
            schema["$defs"],
            json!({ "Mode": { "const": 1 }, "Same": { "const": 2 }, "bbr9.Mode": { "const": 3 } })
        );
    }
}
