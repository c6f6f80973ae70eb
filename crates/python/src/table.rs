//! Result tables as Arrow, handed to Python without a copy.
//!
//! The engine's columns are plain vectors, and Arrow's buffers are these vectors. A table leaves through the Arrow PyCapsule
//! interface (`__arrow_c_stream__`), which Polars, pandas, PyArrow and DuckDB all read. Nothing here depends on any of them.

use crate::arrow::{ArrowArrayStream, ArrowSchema};
use crate::column::{Column, Columns, Field, Strings, Validity, Values};
use dumbbell_results::UNKNOWN;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// One table of a run's results. Immutable; every consumer shares the same buffers.
#[pyclass(frozen, module = "dumbbell._core")]
pub struct Table {
    columns: Arc<Columns>,
}

impl Table {
    /// Moves the engine's columns into Arrow.
    pub fn new(table: dumbbell_results::Table) -> PyResult<Table> {
        let column = |column| {
            let dumbbell_results::Column { name, unit, meaning, values } = column;
            let (values, validity) = arrow(values).ok_or_else(|| too_long(&name))?;
            Ok(Column { field: field(&name, unit, meaning), values, validity })
        };
        Table::of(table.columns.into_iter().map(column).collect::<PyResult<_>>()?)
    }

    /// A table of these columns.
    pub fn of(columns: Vec<Column>) -> PyResult<Table> {
        Ok(Table { columns: Arc::new(Columns::new(columns).map_err(internal)?) })
    }

    /// The columns for Rust.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }
}

#[pymethods]
impl Table {
    /// Names of the columns, in order.
    #[getter(columns)]
    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.field.name).collect()
    }

    fn __len__(&self) -> usize {
        self.columns.rows()
    }

    /// The rows as dictionaries, for small tables.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let row = |index: usize| {
            let row = PyDict::new(py);
            for column in self.columns.iter() {
                row.set_item(&column.field.name, cell(py, column, index)?)?;
            }
            Ok(row)
        };
        (0..self.columns.rows()).map(row).collect()
    }

    /// The Arrow C schema of the table, as the Arrow PyCapsule interface defines it.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, ArrowSchema::of(&self.columns), c"arrow_schema")
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
        PyCapsule::new_with_value(py, ArrowArrayStream::of(self.columns.clone()), c"arrow_array_stream")
    }
}

/// The fields that were ever made, by the name of their column. The tables of a sweep have the same, and units and meanings
/// would take more memory and time than the rows of a short run.
static FIELDS: LazyLock<Mutex<HashMap<String, Vec<Arc<Field>>>>> = LazyLock::new(Mutex::default);

/// The field of a column.
pub fn field(name: &str, unit: &str, meaning: &str) -> Arc<Field> {
    let mut fields = FIELDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) =
        fields.get(name).into_iter().flatten().find(|field| field.unit == unit && field.meaning == meaning)
    {
        return known.clone();
    }
    let field = Arc::new(Field { name: name.to_owned(), unit: unit.to_owned(), meaning: meaning.to_owned() });
    fields.entry(name.to_owned()).or_default().push(field.clone());
    field
}

/// The values of a column and where there are any; `None` if its text is too long.
fn arrow(values: dumbbell_results::Values) -> Option<(Values, Validity)> {
    let all = |rows| {
        let mut validity = Validity::default();
        validity.push(true, rows);
        validity
    };
    Some(match values {
        dumbbell_results::Values::Float(values) => {
            let validity = Validity::where_not(&values, |value| value.is_nan());
            (Values::Float(values), validity)
        }
        dumbbell_results::Values::Count(values) => {
            let validity = Validity::where_not(&values, |&value| value == UNKNOWN);
            (Values::Count(values), validity)
        }
        dumbbell_results::Values::Index(values) => {
            let rows = values.len();
            (Values::Index(values), all(rows))
        }
        dumbbell_results::Values::Text(texts) => (Values::Text(strings(&texts)?), all(texts.len())),
        dumbbell_results::Values::Name(names) => {
            let (distinct, keys) = names.into_parts();
            let rows = keys.len();
            (Values::Name { keys, names: strings(&distinct)? }, all(rows))
        }
    })
}

fn strings(texts: &[String]) -> Option<Strings> {
    let mut strings = Strings::new();
    texts.iter().try_for_each(|text| strings.push(text))?;
    Some(strings)
}

/// One value for Python; `None` where there is none.
fn cell<'py>(py: Python<'py>, column: &Column, row: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !column.validity.is_valid(row) {
        return Ok(None);
    }
    Ok(Some(match &column.values {
        Values::Float(values) => values[row].into_pyobject(py)?.into_any(),
        Values::Count(values) => values[row].into_pyobject(py)?.into_any(),
        Values::Index(values) => values[row].into_pyobject(py)?.into_any(),
        Values::Text(texts) => texts.get(row).into_pyobject(py)?.into_any(),
        Values::Name { keys, names } => names.get(keys[row] as usize).into_pyobject(py)?.into_any(),
    }))
}

/// An invariant of the tables was broken.
pub fn internal(message: String) -> PyErr {
    PyRuntimeError::new_err(message)
}

/// A column whose text is longer than Arrow's offsets reach.
pub fn too_long(name: &str) -> PyErr {
    internal(format!("column `{name}` holds more than 2 GiB of text"))
}
