//! The rows of many tables as one table: what a sweep stores of points that it commits together.

use crate::table::{Table, internal};
use arrow_array::builder::{Float64Builder, StringBuilder, StringDictionaryBuilder, UInt32Builder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// The column that says from which of the tables a row comes.
const RUN: &str = "run";

/// The rows of all tables, one after the other, behind the column `run`: the position of their table among `tables`.
/// Columns come in the order in which they are met; what a table does not have is null in its rows.
#[pyfunction]
pub fn joined(tables: Vec<PyRef<'_, Table>>) -> PyResult<Table> {
    let batches: Vec<&RecordBatch> = tables.iter().map(|table| table.batch()).collect::<PyResult<_>>()?;
    join(&batches).map(Table::from).map_err(internal)
}

fn join(batches: &[&RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let mut columns: Vec<Column> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut runs = UInt32Builder::new();
    let mut rows = 0;
    for (run, batch) in (0..).zip(batches) {
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let place = *places.entry(field.name()).or_insert(columns.len());
            if place == columns.len() {
                columns.push(Column::new(field)?);
            }
            columns[place].append(array, rows)?;
        }
        runs.append_value_n(run, batch.num_rows());
        rows += batch.num_rows();
    }
    let mut fields: Vec<FieldRef> = vec![Arc::new(Field::new(RUN, DataType::UInt32, false))];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(runs.finish())];
    for mut column in columns {
        column.values.pad(rows);
        let array = column.values.finish();
        let is_nullable = array.null_count() > 0;
        let field = column.field;
        fields.push(if field.is_nullable() == is_nullable {
            field
        } else {
            Arc::new(field.as_ref().clone().with_nullable(is_nullable))
        });
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// A column that grows.
struct Column {
    field: FieldRef,
    values: Values,
}

impl Column {
    fn new(field: &FieldRef) -> Result<Column, ArrowError> {
        let values = match field.data_type() {
            DataType::Float64 => Values::Float(Float64Builder::new()),
            DataType::UInt64 => Values::Count(UInt64Builder::new()),
            DataType::UInt32 => Values::Index(UInt32Builder::new()),
            DataType::Utf8 => Values::Text(StringBuilder::new()),
            DataType::Dictionary(..) => Values::Name(StringDictionaryBuilder::new()),
            other => return Err(ArrowError::SchemaError(format!("column `{}` holds {other}", field.name()))),
        };
        Ok(Column { field: field.clone(), values })
    }

    /// Adds the values of a table whose rows begin at `first`.
    fn append(&mut self, array: &ArrayRef, first: usize) -> Result<(), ArrowError> {
        self.values.pad(first);
        self.values.append(array).ok_or_else(|| {
            ArrowError::SchemaError(format!("column `{}` holds {}", self.field.name(), array.data_type()))
        })?
    }
}

/// Its values so far, by their type.
enum Values {
    Float(Float64Builder),
    Count(UInt64Builder),
    Index(UInt32Builder),
    Text(StringBuilder),
    Name(StringDictionaryBuilder<UInt32Type>),
}

impl Values {
    /// Nulls up to row `rows`.
    fn pad(&mut self, rows: usize) {
        use arrow_array::builder::ArrayBuilder;
        match self {
            Values::Float(values) => values.append_nulls(rows - values.len()),
            Values::Count(values) => values.append_nulls(rows - values.len()),
            Values::Index(values) => values.append_nulls(rows - values.len()),
            Values::Text(values) => values.append_nulls(rows - values.len()),
            Values::Name(values) => values.append_nulls(rows - values.len()),
        }
    }

    /// Adds the values of an array; `None` if it is of another type.
    fn append(&mut self, array: &ArrayRef) -> Option<Result<(), ArrowError>> {
        match self {
            Values::Float(values) => values.append_array(array.as_primitive_opt::<Float64Type>()?),
            Values::Count(values) => values.append_array(array.as_primitive_opt::<UInt64Type>()?),
            Values::Index(values) => values.append_array(array.as_primitive_opt::<UInt32Type>()?),
            Values::Text(values) => return Some(values.append_array(array.as_string_opt::<i32>()?)),
            Values::Name(values) => {
                let names = array.as_dictionary_opt::<UInt32Type>()?;
                return Some(values.extend_dictionary(&names.downcast_dict::<StringArray>()?));
            }
        }
        Some(Ok(()))
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Values::Float(values) => Arc::new(values.finish()),
            Values::Count(values) => Arc::new(values.finish()),
            Values::Index(values) => Arc::new(values.finish()),
            Values::Text(values) => Arc::new(values.finish()),
            Values::Name(values) => Arc::new(values.finish()),
        }
    }
}
