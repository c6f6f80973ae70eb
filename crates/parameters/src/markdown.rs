//! Declarations as a table for people.

use crate::declaration::Parameter;
use std::fmt::Write;

/// A Markdown table of parameters, whose keys are shown without `prefix`.
pub fn table(parameters: &[&Parameter], prefix: &str) -> String {
    let mut text = String::from("| key | default | allowed | meaning | source |\n|---|---|---|---|---|\n");
    for parameter in parameters {
        let key = parameter.key.strip_prefix(prefix).unwrap_or(&parameter.key);
        let mut meaning = parameter.meaning.clone();
        for choice in parameter.choices.iter().filter(|choice| !choice.meaning.is_empty()) {
            let _ = write!(meaning, "<br>`\"{}\"`: {}", choice.name, choice.meaning);
        }
        let cells = [
            format!("`{key}`"),
            parameter.default_as_written(),
            allowed(parameter),
            meaning,
            parameter.source.clone().unwrap_or_default(),
        ];
        let _ = writeln!(text, "| {} |", cells.map(|text| cell(&text)).join(" | "));
    }
    text
}

/// Text in a cell of a table.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The range with its unit, or what can be chosen.
fn allowed(parameter: &Parameter) -> String {
    let mut parts = Vec::new();
    if parameter.choices.iter().any(|choice| choice.meaning.is_empty()) {
        parts.push(
            parameter.choices.iter().map(|choice| format!("`\"{}\"`", choice.name)).collect::<Vec<_>>().join(", "),
        );
    }
    if !parameter.range.is_everything() {
        parts.push(parameter.range.to_string());
    }
    parts.extend(parameter.unit.clone());
    let mut text = parts.join(" ");
    if let Some(with) = &parameter.with {
        let _ = write!(text, "{}with `{with}`", if text.is_empty() { "" } else { "; " });
    }
    text
}
