//! The catalogue of columns: name, unit, meaning and value of each, declared once.
//!
//! A new column is one line in one of the lists of this crate, one for each table: [`flows`](crate::flows) and
//! [`links`](crate::links) in `summary.rs`, the two series in `samples.rs`, [`traffic`](crate::traffic()),
//! [`completions`](crate::completions), [`pages`](crate::pages) and [`rounds`](crate::rounds) in `traffic.rs`,
//! [`datagrams`](crate::datagrams()) in `datagrams.rs`.

use crate::{Column, Names, Table, Values};
use std::borrow::Borrow;
use std::sync::Arc;

/// What runs an experiment and fills its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ground {
    /// The simulator.
    Simulator,
    /// The TCP of the running Linux kernel, over the simulator's links.
    Linux,
}

impl Ground {
    /// The word for it in tables and documents.
    pub fn name(self) -> &'static str {
        match self {
            Ground::Simulator => "simulator",
            Ground::Linux => "linux",
        }
    }
}

/// Grounds that fill a column of their own accord.
pub(crate) const EVERYWHERE: &[Ground] = &[Ground::Simulator, Ground::Linux];
/// What only an endpoint knows that can be looked into.
const SIMULATOR: &[Ground] = &[Ground::Simulator];

/// A column of a table whose rows are made from `R`.
pub(crate) struct Declared<R: 'static> {
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    grounds: &'static [Ground],
    value: Value<R>,
}

/// A column that only the simulator fills; elsewhere it is null.
pub(crate) const fn simulated<R>(column: Declared<R>) -> Declared<R> {
    Declared { grounds: SIMULATOR, ..column }
}

/// Appends the numbers that follow from rows, one for each.
pub(crate) type Numbers<R> = fn(&[R], &mut Vec<f64>);

/// The [`Numbers`] of a closure that gives the number of one row: a loop of its own for each column.
macro_rules! each {
    ($number:expr) => {
        |rows, values| values.extend(rows.iter().map($number))
    };
}
pub(crate) use each;

/// How a column's value follows from a row.
enum Value<R> {
    Float(fn(&R) -> f64),
    /// Many rows at a time.
    Floats(Numbers<R>),
    Count(fn(&R) -> u64),
    /// Over the measured interval and, in a second column, over the whole run.
    Both(fn(&R) -> u64, fn(&R) -> u64),
    Index(fn(&R) -> u32),
    Text(fn(&R) -> &str),
    Name(fn(&R) -> &str),
}

impl<R> Clone for Value<R> {
    fn clone(&self) -> Value<R> {
        *self
    }
}

impl<R> Copy for Value<R> {}

impl<R> Value<R> {
    /// No values yet, and room for those of so many rows.
    fn none(self, rows: usize) -> Values {
        match self {
            Value::Float(_) | Value::Floats(_) => Values::Float(Vec::with_capacity(rows)),
            Value::Count(_) | Value::Both(..) => Values::Count(Vec::with_capacity(rows)),
            Value::Index(_) => Values::Index(Vec::with_capacity(rows)),
            Value::Text(_) => Values::Text(Vec::with_capacity(rows)),
            Value::Name(_) => Values::Name(Names::default()),
        }
    }

    /// Appends those of `rows`.
    fn extend(self, rows: &[R], values: &mut Values) {
        match (self, values) {
            (Value::Floats(numbers), Values::Float(values)) => numbers(rows, values),
            (Value::Index(value), Values::Index(values)) => values.extend(rows.iter().map(value)),
            (Value::Name(value), Values::Name(values)) => values.extend(rows.iter().map(value)),
            (_, values) => rows.iter().for_each(|row| self.append(row, values)),
        }
    }

    /// Appends that of `row`.
    #[inline(always)]
    fn append(self, row: &R, values: &mut Values) {
        match (self, values) {
            (Value::Float(value), Values::Float(rows)) => rows.push(value(row)),
            (Value::Floats(numbers), Values::Float(rows)) => numbers(std::slice::from_ref(row), rows),
            (Value::Count(value) | Value::Both(value, _), Values::Count(rows)) => rows.push(value(row)),
            (Value::Index(value), Values::Index(rows)) => rows.push(value(row)),
            (Value::Text(value), Values::Text(rows)) => rows.push(shared(value(row), rows.last())),
            (Value::Name(value), Values::Name(rows)) => rows.push(value(row)),
            _ => debug_assert!(false, "values of another kind"),
        }
    }
}

/// A text, which may be the `latest` once more.
fn shared(text: &str, latest: Option<&Arc<str>>) -> Arc<str> {
    latest.filter(|latest| ***latest == *text).cloned().unwrap_or_else(|| text.into())
}

impl<R> Declared<R> {
    const fn new(name: &'static str, unit: &'static str, meaning: &'static str, value: Value<R>) -> Declared<R> {
        Declared { name, unit, meaning, grounds: EVERYWHERE, value }
    }

    /// A number; NaN where there is none.
    pub(crate) const fn float(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        value: fn(&R) -> f64,
    ) -> Declared<R> {
        Declared::new(name, unit, meaning, Value::Float(value))
    }

    /// A number as [`float`](Declared::float), which many rows give at a time (`each!`).
    pub(crate) const fn floats(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        numbers: Numbers<R>,
    ) -> Declared<R> {
        Declared::new(name, unit, meaning, Value::Floats(numbers))
    }

    /// How many.
    pub(crate) const fn count(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        value: fn(&R) -> u64,
    ) -> Declared<R> {
        Declared::new(name, unit, meaning, Value::Count(value))
    }

    /// A count over the measured interval, and a second column `NAME_total` over the whole run.
    pub(crate) const fn both(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        measured: fn(&R) -> u64,
        total: fn(&R) -> u64,
    ) -> Declared<R> {
        Declared::new(name, unit, meaning, Value::Both(measured, total))
    }

    /// The number of a flow or a link.
    pub(crate) const fn index(name: &'static str, meaning: &'static str, value: fn(&R) -> u32) -> Declared<R> {
        Declared::new(name, "", meaning, Value::Index(value))
    }

    /// Text that differs from row to row.
    pub(crate) const fn text(name: &'static str, meaning: &'static str, value: fn(&R) -> &str) -> Declared<R> {
        Declared::new(name, "", meaning, Value::Text(value))
    }

    /// A name from a small set.
    pub(crate) const fn name(name: &'static str, meaning: &'static str, value: fn(&R) -> &str) -> Declared<R> {
        Declared::new(name, "", meaning, Value::Name(value))
    }

    /// No values of its kind, and room for those of so many rows, to [extend](Declared::extend).
    pub(crate) fn none(&self, rows: usize) -> Values {
        self.value.none(rows)
    }

    /// Appends the values of `rows`.
    pub(crate) fn extend(&self, rows: &[R], values: &mut Values) {
        self.value.extend(rows, values);
    }

    /// The column with these values.
    pub(crate) fn with(&self, values: Values) -> Column {
        self.column(self.name.to_owned(), values)
    }

    fn column(&self, name: String, values: Values) -> Column {
        Column { name, unit: self.unit, meaning: self.meaning, values }
    }

    /// The column or the two columns that it is, with room for so many rows, and what each of them holds.
    fn columns(&self, rows: usize) -> impl Iterator<Item = (Value<R>, Column)> {
        let second = match self.value {
            Value::Both(_, total) => Some((self.total_name(), Value::Count(total))),
            _ => None,
        };
        let columns = [(self.name.to_owned(), self.value)].into_iter().chain(second);
        columns.map(move |(name, value)| (value, self.column(name, value.none(rows))))
    }

    fn total_name(&self) -> String {
        format!("{}_total", self.name)
    }

    fn describe(&self, table: &'static str) -> Vec<Description> {
        let description = |name: String, meaning: String| Description {
            table,
            name,
            unit: self.unit,
            meaning,
            grounds: self.grounds,
        };
        let mut descriptions = vec![description(self.name.to_owned(), self.meaning.to_owned())];
        if let Value::Both(..) = self.value {
            let meaning = format!("`{}` over the whole run.", self.name);
            descriptions.push(description(self.total_name(), meaning));
        }
        descriptions
    }
}

/// The table that `rows` give. Each row is asked for when the one before has been written: there may be very many.
pub(crate) fn table<R, B: Borrow<R>>(declared: &[Declared<R>], rows: impl IntoIterator<Item = B>) -> Table {
    let rows = rows.into_iter();
    let room = rows.size_hint().0;
    let mut columns: Vec<_> = declared.iter().flat_map(|column| column.columns(room)).collect();
    for row in rows {
        columns.iter_mut().for_each(|(value, column)| value.append(row.borrow(), &mut column.values));
    }
    Table { columns: columns.into_iter().map(|(_, column)| column).collect() }
}

/// What a column is, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The table it belongs to: `flows`, `links`, `series`, `link_series`, `traffic`, `completions`, `pages`,
    /// `rounds` or `datagrams`.
    pub table: &'static str,
    /// Its name.
    pub name: String,
    /// Its unit in words; empty for names and text.
    pub unit: &'static str,
    /// What it holds.
    pub meaning: String,
    /// Who fills it.
    pub grounds: &'static [Ground],
}

/// Every column of every table, in their order. The series of flows have a column `cc_NAME` more for every value that a
/// controller of the run lets be observed.
pub fn catalogue() -> Vec<Description> {
    let mut all = Vec::new();
    all.extend(crate::summary::FLOWS.iter().flat_map(|column| column.describe("flows")));
    all.extend(crate::summary::LINKS.iter().flat_map(|column| column.describe("links")));
    let series = crate::samples::FLOW_SERIES.iter().chain(crate::samples::FLOW_STATES);
    all.extend(series.flat_map(|column| column.describe("series")));
    all.extend(crate::samples::LINK_SERIES.iter().flat_map(|column| column.describe("link_series")));
    let simulated = |mut column: Description| {
        column.grounds = SIMULATOR;
        column
    };
    all.extend(crate::traffic::TRAFFIC.iter().flat_map(|column| column.describe("traffic")).map(simulated));
    all.extend(crate::traffic::COMPLETIONS.iter().flat_map(|column| column.describe("completions")).map(simulated));
    all.extend(crate::traffic::PAGES.iter().flat_map(|column| column.describe("pages")).map(simulated));
    all.extend(crate::traffic::ROUNDS.iter().flat_map(|column| column.describe("rounds")).map(simulated));
    all.extend(crate::datagrams::DATAGRAMS.iter().flat_map(|column| column.describe("datagrams")).map(simulated));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_column_has_a_meaning_and_a_name_of_its_own_in_its_table() {
        let mut names = HashSet::new();
        for column in catalogue() {
            assert!(names.insert((column.table, column.name.clone())), "{} twice in {}", column.name, column.table);
            assert!(column.meaning.ends_with('.') && column.meaning.len() > 15, "{}", column.name);
            assert!(!column.grounds.is_empty());
        }
    }

    #[test]
    fn a_suffix_that_names_a_unit_agrees_with_the_unit() {
        for (suffix, unit) in [("_mbps", "Mbit/s"), ("_ms", "ms"), ("_s", "s"), ("_bytes", "bytes")] {
            for column in catalogue().iter().filter(|column| column.name.ends_with(suffix)) {
                assert_eq!(column.unit, unit, "{}", column.name);
            }
        }
    }
}
