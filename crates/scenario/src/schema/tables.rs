//! Which tables of a file have a key: for one that stands where it means nothing.

use super::of_a_file;
use crate::error::{Problem, Problems};
use serde_json::Value;

/// Helps with keys that the top of a file does not have: it names the tables that have them.
pub(crate) fn name_tables(problems: &mut Problems) {
    let is_at_top = |problem: &&mut Problem| problem.message == format!("unknown key `{}`", problem.key);
    let unknown: Vec<_> = problems.iter_mut().filter(is_at_top).collect();
    if unknown.is_empty() {
        return;
    }
    let schema = of_a_file();
    for Problem { key, help, .. } in unknown {
        let tables = tables_with(key, &schema);
        let Some((last, others)) = tables.split_last() else { continue };
        let tables = if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
        *help = help.take().map(|help| format!("`{key}` belongs to {tables}; {help}"));
    }
}

/// The tables at the top of a file that have a key, as they are written: `[path]`, `[[flows]]`.
fn tables_with(key: &str, schema: &Value) -> Vec<String> {
    let Some(tables) = schema["properties"].as_object() else { return Vec::new() };
    let written = |(name, table): (&String, &Value)| {
        let entries = &table["items"];
        if has(entries, key, schema) {
            return Some(format!("[[{name}]]"));
        }
        has(table, key, schema).then(|| format!("[{name}]"))
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
        let schema = of_a_file();
        let tables_with = |key| tables_with(key, &schema);
        assert_eq!(tables_with("repeat"), ["[sweep]"]);
        assert_eq!(tables_with("count"), ["[[flows]]", "[[traffic]]"]);
        assert_eq!(tables_with("mss"), ["[transport]"]);
        assert_eq!(tables_with("queue"), ["[path]", "[[links]]"]);
        assert_eq!(tables_with("zebra"), [""; 0]);
    }
}
