//! Result tables as Arrow, handed to Python without a copy.
//!
//! The engine's columns are plain vectors. Each vector becomes the buffer of an Arrow array by moving it, the arrays
//! become one record batch, and the batch leaves through the Arrow PyCapsule interface (`__arrow_c_stream__`), which
//! Polars, pandas, PyArrow and DuckDB all read. Nothing here depends on any of them.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, DictionaryArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, FieldRef, Schema};
use dumbbell_results::{Names, Series, UNKNOWN, Values};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// One table of a run's results. Immutable; every consumer shares the same buffers.
#[pyclass(frozen, module = "dumbbell._core")]
pub struct Table {
    /// Made when somebody looks at it first.
    batch: OnceLock<RecordBatch>,
    /// What it is made of until then.
    series: Mutex<Option<Series>>,
}

impl Table {
    /// Moves the engine's columns into Arrow.
    pub fn new(table: dumbbell_results::Table) -> PyResult<Table> {
        batch(table).map(Table::from)
    }

    /// The table of time series, which stay packed until somebody looks at them.
    pub fn of_series(series: Series) -> Table {
        Table { batch: OnceLock::new(), series: Mutex::new(Some(series)) }
    }

    /// The table for Rust.
    pub fn batch(&self) -> PyResult<&RecordBatch> {
        if let Some(batch) = self.batch.get() {
            return Ok(batch);
        }
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = series.take() {
            let made = batch(series.into_table())?;
            return Ok(self.batch.get_or_init(|| made));
        }
        Ok(self.batch.get_or_init(|| RecordBatch::new_empty(Arc::new(Schema::empty()))))
    }
}

/// The engine's columns as Arrow.
fn batch(table: dumbbell_results::Table) -> PyResult<RecordBatch> {
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) = table
        .columns
        .into_iter()
        .map(|column| {
            let dumbbell_results::Column { name, unit, meaning, values } = column;
            let array = array(values)?;
            Ok((field(&name, unit, meaning, &array), array))
        })
        .collect::<Result<Vec<_>, ArrowError>>()
        .map_err(internal)?
        .into_iter()
        .unzip();
    let schema = Arc::new(Schema::new(fields));
    let batch = if arrays.is_empty() {
        RecordBatch::new_empty(schema)
    } else {
        RecordBatch::try_new(schema, arrays).map_err(internal)?
    };
    Ok(batch)
}

impl From<RecordBatch> for Table {
    fn from(batch: RecordBatch) -> Table {
        Table { batch: batch.into(), series: Mutex::default() }
    }
}

#[pymethods]
impl Table {
    /// Names of the columns, in order.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        Ok(self.batch()?.schema_ref().fields().iter().map(|field| field.name().clone()).collect())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.batch()?.num_rows())
    }

    /// The rows as dictionaries, for small tables.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let batch = self.batch()?;
        let row = |index: usize| {
            let row = PyDict::new(py);
            for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                row.set_item(field.name(), cell(py, array, index)?)?;
            }
            Ok(row)
        };
        (0..batch.num_rows()).map(row).collect()
    }

    /// The Arrow C schema of the table, as the Arrow PyCapsule interface defines it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch()?.schema_ref().as_ref()).map_err(internal)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// An Arrow C stream of one batch that shares this table's buffers. A requested schema is a hint that the
    /// interface allows to ignore.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batch = self.batch()?;
        let batches = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// The fields that were ever made, by the name of their column. The tables of a sweep have the same, and units and
/// meanings would take more memory and time than the rows of a short run.
static FIELDS: LazyLock<Mutex<HashMap<String, Vec<FieldRef>>>> = LazyLock::new(Mutex::default);

/// The field of a column: its name, type, unit and meaning.
fn field(name: &str, unit: &str, meaning: &str, array: &ArrayRef) -> FieldRef {
    let is_nullable = array.null_count() > 0;
    let described = [("unit", unit), ("description", meaning)].into_iter().filter(|(_, text)| !text.is_empty());
    let mut fields = FIELDS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = fields.get(name).into_iter().flatten().find(|field| {
        field.is_nullable() == is_nullable
            && field.data_type() == array.data_type()
            && described.clone().count() == field.metadata().len()
            && described.clone().all(|(key, text)| field.metadata().get(key).is_some_and(|known| known == text))
    });
    if let Some(field) = known {
        return field.clone();
    }
    let metadata: HashMap<String, String> = described.map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
    let field = Arc::new(Field::new(name, array.data_type().clone(), is_nullable).with_metadata(metadata));
    fields.entry(name.to_owned()).or_default().push(field.clone());
    field
}

fn array(values: Values) -> Result<ArrayRef, ArrowError> {
    Ok(match values {
        Values::Float(values) => {
            let nulls = nulls(&values, |value| value.is_nan());
            Arc::new(Float64Array::try_new(values.into(), nulls)?)
        }
        Values::Count(values) => {
            let nulls = nulls(&values, |value| *value == UNKNOWN);
            Arc::new(UInt64Array::try_new(values.into(), nulls)?)
        }
        Values::Index(values) => Arc::new(UInt32Array::from(values)),
        Values::Text(values) => Arc::new(StringArray::from_iter_values(values)),
        Values::Name(values) => Arc::new(dictionary(values)?),
    })
}

/// One value for Python; `None` where there is none.
fn cell<'py>(py: Python<'py>, array: &ArrayRef, index: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    if array.is_null(index) {
        return Ok(None);
    }
    if let Some(values) = array.as_primitive_opt::<Float64Type>() {
        return Ok(Some(values.value(index).into_pyobject(py)?.into_any()));
    }
    if let Some(values) = array.as_primitive_opt::<UInt64Type>() {
        return Ok(Some(values.value(index).into_pyobject(py)?.into_any()));
    }
    if let Some(values) = array.as_primitive_opt::<UInt32Type>() {
        return Ok(Some(values.value(index).into_pyobject(py)?.into_any()));
    }
    if let Some(values) = array.as_string_opt::<i32>() {
        return Ok(Some(values.value(index).into_pyobject(py)?.into_any()));
    }
    let names = array.as_dictionary_opt::<UInt32Type>().and_then(|names| names.downcast_dict::<StringArray>());
    let name = names.map(|names| names.value(index).to_owned());
    Ok(name.map(|name| name.into_pyobject(py)).transpose()?.map(Bound::into_any))
}

/// Which values are there; `None` if all of them are.
fn nulls<T>(values: &[T], is_null: impl Fn(&T) -> bool) -> Option<NullBuffer> {
    let is_any = values.iter().any(&is_null);
    is_any.then(|| NullBuffer::new(BooleanBuffer::collect_bool(values.len(), |index| !is_null(&values[index]))))
}

fn dictionary(names: Names) -> Result<DictionaryArray<UInt32Type>, ArrowError> {
    let (distinct, keys) = names.into_parts();
    DictionaryArray::try_new(keys.into(), Arc::new(StringArray::from(distinct)))
}

/// An invariant of the tables was broken: columns of unequal length, text beyond Arrow's limits.
pub fn internal(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
