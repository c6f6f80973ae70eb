//! JSON as TOML, in one line.
//!
//! A point of a sweep is written whole for its digest and once more for its file, with hundreds of values, nearly all
//! of which are plain words and whole numbers. Those are written at once; what TOML can write in several ways is left
//! to the library. That is done here and not where files are read, because the crate that reads them is not optimised.

use serde_json::{Map, Value};
use std::fmt::Write;

/// Writes a value as the `toml` crate does. What TOML cannot say (null) is left out.
pub fn inline(text: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::Bool(is_true) => text.push_str(if *is_true { "true" } else { "false" }),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => _ = write!(text, "{integer}"),
            None => text.push_str(&toml::Value::from(number.as_f64().unwrap_or(f64::NAN)).to_string()),
        },
        Value::String(word) => push_word(text, word),
        Value::Array(list) => {
            text.push('[');
            for (index, value) in list.iter().filter(|value| !value.is_null()).enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                inline(text, value);
            }
            text.push(']');
        }
        Value::Object(table) => {
            text.push('{');
            let mut is_empty = true;
            for (key, value) in present(table) {
                text.push_str(if is_empty { " " } else { ", " });
                is_empty = false;
                push_key(text, key);
                text.push_str(" = ");
                inline(text, value);
            }
            text.push_str(if is_empty { "}" } else { " }" });
        }
    }
}

/// The entries of a table that TOML can say.
pub fn present(table: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    table.iter().filter(|(_, value)| !value.is_null())
}

fn push_key(text: &mut String, key: &str) {
    let is_bare =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare {
        text.push_str(key);
        return;
    }
    let entry = toml::Value::Table([(key.to_owned(), true.into())].into_iter().collect()).to_string();
    text.push_str(entry.strip_prefix("{ ").and_then(|rest| rest.strip_suffix(" = true }")).unwrap_or(&entry));
}

fn push_word(text: &mut String, word: &str) {
    if word.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        text.push('"');
        text.push_str(word);
        text.push('"');
    } else {
        text.push_str(&toml::Value::from(word).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `json` as a value of the library, which can write it itself.
    fn by_the_library(json: &Value) -> Option<toml::Value> {
        Some(match json {
            Value::Null => return None,
            Value::Bool(is_true) => toml::Value::from(*is_true),
            Value::Number(number) => match number.as_i64() {
                Some(integer) => toml::Value::from(integer),
                None => toml::Value::from(number.as_f64()?),
            },
            Value::String(word) => toml::Value::from(word.as_str()),
            Value::Array(list) => toml::Value::Array(list.iter().filter_map(by_the_library).collect()),
            Value::Object(table) => toml::Value::Table(
                table.iter().filter_map(|(key, value)| Some((key.clone(), by_the_library(value)?))).collect(),
            ),
        })
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (0..1_000_i64).prop_map(|n| Value::from(n as f64 / 8.0)),
            "[a-z0-9 _.%/-]{0,12}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((prop_oneof!["[a-z_]{1,6}", any::<String>()], inner), 0..6)
                    .prop_map(|entries| Value::from(entries.into_iter().collect::<Map<String, Value>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_are_written_as_the_library_writes_them(value in json()) {
            let mut text = String::new();
            inline(&mut text, &value);
            prop_assert_eq!(text, by_the_library(&value).map_or(String::new(), |value| value.to_string()));
        }
    }
}
