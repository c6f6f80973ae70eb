//! Tables as comma-separated text, with the bytes that Polars writes for the tables of the Python package.

use dumbbell_results::{Table, UNKNOWN, Values};
use serde_json::json;
use std::fmt::Write as _;

/// A line with the names of the columns, then one a row. A value that does not exist is empty.
pub fn csv(table: &Table) -> String {
    let names: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let rows = table.columns.first().map_or(0, |column| column.values.len());
    let mut text = names.join(",") + "\n";
    for row in 0..rows {
        for (number, column) in table.columns.iter().enumerate() {
            text.push_str(if number > 0 { "," } else { "" });
            cell(&mut text, &column.values, row);
        }
        text.push('\n');
    }
    text
}

fn cell(text: &mut String, values: &Values, row: usize) {
    match values {
        Values::Float(rows) if rows[row].is_nan() => Ok(()),
        Values::Float(rows) if rows[row].is_infinite() => write!(text, "{}", rows[row]),
        // The fewest digits that give the same number, a point in a whole one, and exponents as Polars has them.
        Values::Float(rows) => write!(text, "{}", json!(rows[row])),
        Values::Count(rows) if rows[row] == UNKNOWN => Ok(()),
        Values::Count(rows) => write!(text, "{}", rows[row]),
        Values::Index(rows) => write!(text, "{}", rows[row]),
        Values::Text(rows) => text.write_str(&quoted(&rows[row])),
        Values::Name(rows) => text.write_str(&quoted(rows.get(row).unwrap_or_default())),
    }
    .expect("a text takes whatever is written to it");
}

/// In quotes where a reader would take it for something else; the empty text, too, because nothing stands for no value.
fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_results::Column;

    #[test]
    fn a_table_has_a_line_a_row_and_nothing_for_what_does_not_exist() {
        let column = |name: &str, values| Column { name: name.into(), unit: "", meaning: "", values };
        let table = Table {
            columns: vec![
                column("flow", Values::Index(vec![0, 1])),
                column("label", Values::Text(vec!["a, \"b\"".into(), "".into()])),
                column("goodput_mbps", Values::Float(vec![9.5, f64::NAN])),
                column("lost", Values::Count(vec![3, UNKNOWN])),
                column("mode", Values::Name(["startup", "drain"].into_iter().collect())),
            ],
        };
        assert_eq!(
            csv(&table),
            "flow,label,goodput_mbps,lost,mode\n0,\"a, \"\"b\"\"\",9.5,3,startup\n1,\"\",,,drain\n"
        );
    }

    #[test]
    fn numbers_have_the_fewest_digits_that_read_back_as_the_same() {
        let floats = vec![0.1 + 0.2, 10.0, 0.0, 1e16, 1e-5, 1e-7, f64::NEG_INFINITY];
        let column = Column { name: "x".into(), unit: "", meaning: "", values: Values::Float(floats) };
        assert_eq!(
            csv(&Table { columns: vec![column] }),
            "x\n0.30000000000000004\n10.0\n0.0\n1e+16\n0.00001\n1e-7\n-inf\n"
        );
    }
}
