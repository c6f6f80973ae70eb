//! The experiment as a form shows it, and the changes that a form makes to the text.

use dumbbell_path::Level;
use dumbbell_units::{Duration, Rate, Ratio};
use serde::{Deserialize, Serialize};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, Value, value};

/// A change of the text.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Change {
    /// Sets a key of the top level, or of `[path]` (`path.rate`), to a text.
    Set(String, String),
    /// Gives a flow, by its place among `[[flows]]`, another algorithm.
    Algorithm(usize, String),
    /// Adds a flow with this algorithm.
    AddFlow(String),
    /// Takes a flow away.
    RemoveFlow(usize),
}

/// What a form shows of an experiment.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Form {
    duration: Option<Setting>,
    rate: Option<Setting>,
    rtt: Option<Setting>,
    buffer: Option<Setting>,
    loss: Option<Setting>,
    flows: Vec<FormFlow>,
}

/// A key that a slider can move; there is none for a key that has a table or steps, or that a sweep sets.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Setting {
    text: String,
    /// In the slider's unit: s, Mbit/s, ms, BDP, %. None for a text in another unit, such as a buffer in packets.
    number: Option<f64>,
}

/// An entry of `[[flows]]`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FormFlow {
    label: String,
    /// Name of the algorithm; none if it is of a file, or if a sweep sets it.
    algorithm: Option<String>,
    /// Whether parameters are given besides, which another algorithm would not have.
    has_parameters: bool,
    /// How many flows it stands for.
    count: i64,
}

/// The text with the changes, and the form of that. A text that is no TOML stays as it is, and has no form.
pub(crate) fn changed(toml: &str, changes: &[Change]) -> (String, Option<Form>) {
    let Ok(mut document) = toml.parse::<DocumentMut>() else { return (toml.to_owned(), None) };
    for change in changes {
        make(change, &mut document);
    }
    let text = if changes.is_empty() { toml.to_owned() } else { document.to_string() };
    (text, Some(form(&document)))
}

// --- reading --------------------------------------------------------------------------------------------------------

fn form(document: &DocumentMut) -> Form {
    let path = document.get("path").and_then(Item::as_table_like);
    let of_path = |key: &str, default: Option<&str>, read: fn(&str) -> Option<f64>| {
        if is_swept(document, &format!("path.{key}")) { None } else { setting(path?, key, default, read) }
    };
    let duration = || setting(document.as_table(), "duration", Some("60s"), |text| Some(span(text)?.as_secs_f64()));
    Form {
        duration: if is_swept(document, "duration") { None } else { duration() },
        rate: of_path("rate", None, |text| Some(text.parse::<Rate>().ok()?.as_bits_per_sec() as f64 / 1e6)),
        rtt: of_path("rtt", None, |text| Some(1e3 * span(text)?.as_secs_f64())),
        buffer: of_path("buffer", Some("1bdp"), |text| match Level::parse(text, "a buffer", "").ok()? {
            Level::Bdp(multiple) => Some(multiple),
            _ => None,
        }),
        loss: of_path("loss", Some("0%"), |text| Some(100.0 * text.parse::<Ratio>().ok()?.as_f64())),
        flows: flows(document),
    }
}

fn span(text: &str) -> Option<Duration> {
    text.parse().ok()
}

fn is_swept(document: &DocumentMut, key: &str) -> bool {
    document.get("sweep").and_then(Item::as_table_like).is_some_and(|sweep| sweep.contains_key(key))
}

fn setting(table: &dyn TableLike, key: &str, default: Option<&str>, read: fn(&str) -> Option<f64>) -> Option<Setting> {
    let text = match table.get(key).map(Item::as_value) {
        None => default?.to_owned(),
        Some(Some(Value::String(text))) => text.value().clone(),
        Some(Some(number @ (Value::Integer(_) | Value::Float(_)))) => number.to_string().trim().to_owned(),
        Some(_) => return None,
    };
    let number = read(&text);
    Some(Setting { text, number })
}

fn flows(document: &DocumentMut) -> Vec<FormFlow> {
    let tables: Vec<&dyn TableLike> = match document.get("flows") {
        Some(Item::ArrayOfTables(tables)) => tables.iter().map(|table| table as _).collect(),
        Some(Item::Value(Value::Array(array))) => {
            array.iter().filter_map(Value::as_inline_table).map(|table| table as _).collect()
        }
        _ => Vec::new(),
    };
    let text = |item: Option<&Item>| item.and_then(Item::as_str).map(str::to_owned);
    let flow = |(index, table): (usize, &&dyn TableLike)| {
        let cc = table.get("cc");
        let parts = cc.and_then(Item::as_table_like);
        let name = text(cc).or_else(|| text(parts?.get("name")));
        let is_swept =
            ["*".to_owned(), index.to_string()].iter().any(|place| is_swept(document, &format!("flows[{place}].cc")));
        FormFlow {
            label: text(table.get("label")).or_else(|| name.clone()).unwrap_or_default(),
            algorithm: name.filter(|_| !is_swept),
            has_parameters: parts.is_some_and(|parts| parts.len() > 1),
            count: table.get("count").and_then(Item::as_integer).unwrap_or(1),
        }
    };
    tables.iter().enumerate().map(flow).collect()
}

// --- writing --------------------------------------------------------------------------------------------------------

/// Makes a change; one that does not fit the text changes nothing.
fn make(change: &Change, document: &mut DocumentMut) {
    match change {
        Change::Set(key, text) => match key.split_once('.') {
            None => set(document.as_table_mut(), key, text),
            Some((table, key)) => match document.get_mut(table) {
                Some(Item::Value(Value::InlineTable(table))) if !table.contains_key(key) => {
                    set(table, key, text);
                    // There was a space behind what was last.
                    table.fmt();
                }
                Some(table) => {
                    if let Some(table) = table.as_table_like_mut() {
                        set(table, key, text);
                    }
                }
                None => {}
            },
        },
        Change::Algorithm(index, name) => {
            if let Some(flow) = flow_mut(document, *index) {
                set(flow, "cc", name);
            }
        }
        Change::AddFlow(name) => add_flow(document, name),
        Change::RemoveFlow(index) => match document.get_mut("flows") {
            Some(Item::ArrayOfTables(tables)) if *index < tables.len() => {
                tables.remove(*index);
            }
            Some(Item::Value(Value::Array(array))) if *index < array.len() => {
                array.remove(*index);
            }
            _ => {}
        },
    }
}

/// Sets a key to a text; spaces and a comment behind the old value stay.
fn set(table: &mut dyn TableLike, key: &str, text: &str) {
    let mut new = Value::from(text);
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        _ => {
            table.insert(key, value(new));
        }
    }
}

fn flow_mut(document: &mut DocumentMut, index: usize) -> Option<&mut dyn TableLike> {
    match document.get_mut("flows")? {
        Item::ArrayOfTables(tables) => tables.get_mut(index).map(|table| table as _),
        Item::Value(Value::Array(array)) => array.get_mut(index)?.as_inline_table_mut().map(|table| table as _),
        _ => None,
    }
}

fn add_flow(document: &mut DocumentMut, name: &str) {
    if let Some(array) = document.get_mut("flows").and_then(Item::as_array_mut) {
        let mut flow = toml_edit::InlineTable::new();
        flow.insert("cc", name.into());
        array.push(flow);
        return;
    }
    let mut flow = Table::new();
    flow.insert("cc", value(name));
    let flows = document.as_table_mut().entry("flows").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    if let Some(flows) = flows.as_array_of_tables_mut() {
        flows.push(flow);
    }
}

#[cfg(test)]
mod tests;
