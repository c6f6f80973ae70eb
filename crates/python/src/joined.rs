//! The rows of many tables as one table: what a sweep stores of points that it commits together.

use crate::column::{Column, Strings, Validity, Values};
use crate::table::{Table, field, internal, too_long};
use pyo3::prelude::*;
use std::collections::HashMap;

/// The column that says from which of the tables a row comes.
const RUN: &str = "run";

/// The rows of all tables, one after the other, behind the column `run`: the position of their table among `tables`.
/// Columns come in the order in which they are met; what a table does not have is null in its rows.
#[pyfunction]
pub fn joined(tables: Vec<PyRef<'_, Table>>) -> PyResult<Table> {
    let mut columns: Vec<Joined> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut runs = Vec::new();
    for (run, table) in (0..).zip(&tables) {
        let first = runs.len();
        for column in table.columns().iter() {
            let place = *places.entry(&column.field.name).or_insert(columns.len());
            if place == columns.len() {
                columns.push(Joined::like(column));
            }
            columns[place].pad(first);
            columns[place].append(column)?;
        }
        runs.resize(first + table.columns().rows(), run);
    }
    let rows = runs.len();
    let mut validity = Validity::default();
    validity.push(true, rows);
    let mut all = vec![Column { field: field(RUN, "", ""), values: Values::Index(runs), validity }];
    all.extend(columns.into_iter().map(|mut joined| {
        joined.pad(rows);
        joined.column
    }));
    Table::of(all)
}

/// A column that grows.
struct Joined {
    column: Column,
    /// The positions of its names, if it has names.
    keys: HashMap<String, u32>,
}

impl Joined {
    /// One without rows.
    fn like(column: &Column) -> Joined {
        let values = match column.values {
            Values::Float(_) => Values::Float(Vec::new()),
            Values::Count(_) => Values::Count(Vec::new()),
            Values::Index(_) => Values::Index(Vec::new()),
            Values::Text(_) => Values::Text(Strings::new()),
            Values::Name { .. } => Values::Name { keys: Vec::new(), names: Strings::new() },
        };
        let column = Column { field: column.field.clone(), values, validity: Validity::default() };
        Joined { column, keys: HashMap::new() }
    }

    /// Nulls up to row `rows`.
    fn pad(&mut self, rows: usize) {
        self.column.validity.push(false, rows - self.column.values.len());
        match &mut self.column.values {
            Values::Float(values) => values.resize(rows, f64::NAN),
            Values::Count(values) => values.resize(rows, 0),
            Values::Index(values) => values.resize(rows, 0),
            Values::Text(texts) => texts.pad(rows),
            Values::Name { keys, .. } => keys.resize(rows, 0),
        }
    }

    /// Adds the rows of a column.
    fn append(&mut self, column: &Column) -> PyResult<()> {
        let name = &column.field.name;
        match (&mut self.column.values, &column.values) {
            (Values::Float(values), Values::Float(more)) => values.extend_from_slice(more),
            (Values::Count(values), Values::Count(more)) => values.extend_from_slice(more),
            (Values::Index(values), Values::Index(more)) => values.extend_from_slice(more),
            (Values::Text(texts), Values::Text(more)) => {
                more.iter().try_for_each(|text| texts.push(text)).ok_or_else(|| too_long(name))?;
            }
            (Values::Name { keys, names }, Values::Name { keys: more, names: theirs }) => {
                let mut ours = Vec::with_capacity(theirs.len());
                for text in theirs.iter() {
                    let key = match self.keys.get(text) {
                        Some(&key) => key,
                        None => {
                            let key = u32::try_from(names.len()).map_err(|_| too_long(name))?;
                            names.push(text).ok_or_else(|| too_long(name))?;
                            self.keys.insert(text.to_owned(), key);
                            key
                        }
                    };
                    ours.push(key);
                }
                keys.extend(more.iter().map(|&key| ours[key as usize]));
            }
            _ => return Err(internal(format!("column `{name}` holds values of two types"))),
        }
        self.column.validity.append(&column.validity);
        Ok(())
    }
}
