//! Which tables of a file have a key: for one that stands where it means nothing.

use super::{insert, sweep_schema};
use crate::file::File;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The tables at the top of a file that have a key, as they are written: `[path]`, `[[flows]]`.
pub(crate) fn tables_with(key: &str) -> Vec<String> {
    let mut schema = Value::from(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<File>());
    insert(&mut schema, &["properties", "sweep"], sweep_schema());
    let Some(tables) = schema["properties"].as_object() else { return Vec::new() };
    let written = |(name, table): (&String, &Value)| {
        let entries = &table["items"];
        if has(entries, key, &schema) {
            return Some(format!("[[{name}]]"));
        }
        has(table, key, &schema).then(|| format!("[{name}]"))
    };
    tables.iter().filter_map(written).collect()
}

/// Whether one of the forms of a value is a table with this key.
fn has(value: &Value, key: &str, schema: &Value) -> bool {
    let referred = value["$ref"].as_str().and_then(|to| schema.pointer(to.strip_prefix('#')?));
    let forms = ["allOf", "anyOf", "oneOf"].iter().filter_map(|of| value[of].as_array()).flatten();
    value["properties"].get(key).is_some()
        || forms.chain(referred).chain(value.get("then")).any(|form| has(form, key, schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_every_table_that_has_it() {
        assert_eq!(tables_with("repeat"), ["[sweep]"]);
        assert_eq!(tables_with("count"), ["[[flows]]", "[[traffic]]"]);
        assert_eq!(tables_with("mss"), ["[transport]"]);
        assert_eq!(tables_with("queue"), ["[path]", "[[links]]"]);
        assert_eq!(tables_with("zebra"), [""; 0]);
    }
}
