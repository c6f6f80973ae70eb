//! One message for one mistake.
//!
//! Where a value may have several forms (`"codel"`, or a table of `kind` and parameters), a schema says so with
//! `anyOf`. A validator that finds none of them right then complains about every one. Here each form is put behind a
//! question, `if`, that tells which one was meant: the type of the value, and for tables the key that names the kind.

use serde_json::{Map, Value, json};

/// Turns every `anyOf` below `schema` whose forms can be told apart into questions.
pub(super) fn ask_first(schema: &mut Value) {
    // The type of a definition that has several forms is known when its own questions are.
    loop {
        let before = schema.clone();
        let definitions = before["$defs"].clone();
        walk(schema, &definitions);
        if *schema == before {
            return;
        }
    }
}

fn walk(part: &mut Value, definitions: &Value) {
    if let Some(asked) = part.get("anyOf").and_then(Value::as_array).and_then(|forms| questions(forms, definitions))
        && let Value::Object(map) = part
    {
        map.remove("anyOf");
        map.extend(asked);
    }
    match part {
        Value::Object(map) => map.values_mut().for_each(|value| walk(value, definitions)),
        Value::Array(list) => list.iter_mut().for_each(|value| walk(value, definitions)),
        _ => {}
    }
}

/// What stands in the place of an `anyOf` of these forms; `None` if nothing tells them apart.
fn questions(forms: &[Value], definitions: &Value) -> Option<Map<String, Value>> {
    let types: Vec<Vec<&str>> = forms.iter().map(|form| types_of(form, definitions)).collect::<Option<_>>()?;
    let mut all: Vec<&str> = types.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let mut asked = Vec::new();
    for kind in &all {
        let own = forms.iter().zip(&types).filter(|(_, types)| types.contains(kind)).map(|(form, _)| form);
        match &own.collect::<Vec<_>>()[..] {
            [only] => asked.push(json!({ "if": { "type": kind }, "then": only })),
            several if *kind == "object" => asked.extend(by_name(several)?),
            several if *kind == "string" => asked.push(json!({ "if": { "type": kind }, "then": texts(several)? })),
            _ => return None,
        }
    }
    Some(Map::from_iter([("type".to_owned(), json!(all)), ("allOf".to_owned(), asked.into())]))
}

fn types_of<'a>(form: &'a Value, definitions: &'a Value) -> Option<Vec<&'a str>> {
    let meant = match form.get("$ref").and_then(Value::as_str) {
        Some(reference) => definitions.get(reference.strip_prefix("#/$defs/")?)?,
        None => form,
    };
    match meant.get("type")? {
        Value::String(one) => Some(vec![one]),
        Value::Array(several) => several.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Tables that a key tells apart: `kind` of queues and losses, `name` of algorithms.
fn by_name(tables: &[&Value]) -> Option<Vec<Value>> {
    let key = tables.first()?["required"].get(0)?.as_str()?;
    let mut named = Vec::new();
    let mut asked = Vec::new();
    let mut others = None;
    for table in tables {
        let name = &table["properties"][key];
        match (name.get("const"), name.get("enum").and_then(Value::as_array)) {
            (Some(name), _) => named.push(name.clone()),
            (None, Some(names)) => named.extend(names.iter().cloned()),
            (None, None) => {
                others = Some((*table).clone());
                continue;
            }
        }
        let question = json!({ "type": "object", "required": [key], "properties": { key: name } });
        asked.push(json!({ "if": question, "then": table }));
    }
    let rest = others.unwrap_or_else(|| json!({ "required": [key], "properties": { key: { "enum": named } } }));
    let known = json!({ "type": "object", "required": [key], "properties": { key: { "enum": named } } });
    asked.push(json!({ "if": { "allOf": [{ "type": "object" }, { "not": known }] }, "then": rest }));
    Some(asked)
}

/// Texts of which some are names: the names alone, as a list, with what each means for the editors that show it.
fn texts(forms: &[&Value]) -> Option<Value> {
    let names = forms.iter().find_map(|form| form["anyOf"].as_array())?;
    let names: Vec<&Value> = names.iter().filter(|name| name.get("const").is_some()).collect();
    let list = |key: &str| names.iter().map(|name| name.get(key).cloned().unwrap_or_default()).collect::<Vec<_>>();
    Some(json!({
        "type": "string",
        "enum": list("const"),
        "x-taplo": { "docs": { "enumValues": list("description") } },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_different_types_are_asked_for_by_type() {
        let mut schema = json!({ "anyOf": [{ "type": "string", "pattern": "x" }, { "type": "array" }], "$defs": {} });
        ask_first(&mut schema);
        assert_eq!(schema["type"], json!(["array", "string"]));
        assert_eq!(schema["allOf"][1]["then"]["pattern"], "x");
        assert!(schema.get("anyOf").is_none());
    }

    #[test]
    fn tables_are_asked_for_by_the_key_that_names_them() {
        let table = |name: &str| json!({ "type": "object", "required": ["kind"], "properties": { "kind": { "enum": [name] } } });
        let mut schema = json!({ "anyOf": [table("red"), table("pie")], "$defs": {} });
        ask_first(&mut schema);
        let asked = schema["allOf"].as_array().unwrap();
        assert_eq!(asked[1]["if"]["properties"]["kind"]["enum"], json!(["pie"]));
        assert_eq!(asked[2]["then"]["properties"]["kind"]["enum"], json!(["red", "pie"]));
    }

    #[test]
    fn forms_that_nothing_tells_apart_stay() {
        let forms = json!({ "anyOf": [{ "type": "array", "items": {} }, { "type": "array" }], "$defs": {} });
        let mut schema = forms.clone();
        ask_first(&mut schema);
        assert_eq!(schema, forms);
    }
}
