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
            let _ = write!(meaning, "<br>`{}`: {}", choice.name, choice.meaning);
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
        parts.extend(parameter.choices.iter().map(|choice| format!("`{}`", choice.name)));
    }
    if !parameter.range.is_everything() {
        parts.push(parameter.range.to_string());
    }
    parts.extend(parameter.unit.iter().map(|unit| format!("in {unit}")));
    parts.extend(parameter.with.iter().map(|with| format!("with `{with}`")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared;
    use schemars::JsonSchema;

    #[derive(JsonSchema)]
    struct Shaper {
        /// Packets | bytes.
        #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "tc"))]
        #[expect(dead_code, reason = "only its declaration matters")]
        burst: u32,
    }

    #[test]
    fn a_parameter_is_a_row() {
        let parameters = declared::<Shaper>();
        let rows = table(&parameters.iter().collect::<Vec<_>>(), "");
        assert!(
            rows.ends_with("| `burst` | required | at least 1, in packets | Packets \\| bytes. | tc |\n"),
            "{rows}"
        );
    }
}
