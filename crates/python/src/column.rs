//! The columns of a table in Arrow's memory layout.

use std::sync::Arc;

/// What a column is called and means.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub unit: String,
    pub meaning: String,
}

/// Text in one piece: row `i` lies from `offsets[i]` to `offsets[i + 1]`.
#[derive(Debug)]
pub struct Strings {
    pub offsets: Vec<i32>,
    pub bytes: Vec<u8>,
}

impl Strings {
    pub fn new() -> Strings {
        Strings { offsets: vec![0], bytes: Vec::new() }
    }

    /// `None` if it would exceed the 2 GiB that Arrow has for the text of a column.
    pub fn push(&mut self, text: &str) -> Option<()> {
        let end = i32::try_from(self.bytes.len() + text.len()).ok()?;
        self.bytes.extend_from_slice(text.as_bytes());
        self.offsets.push(end);
        Some(())
    }

    /// Adds empty rows, up to row `rows`.
    pub fn pad(&mut self, rows: usize) {
        let end = self.offsets[self.offsets.len() - 1];
        self.offsets.resize(rows + 1, end);
    }

    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The text of a row.
    pub fn get(&self, row: usize) -> &str {
        // Offsets are what `push` has written: ends of texts, in order.
        let [from, to] = [self.offsets[row], self.offsets[row + 1]].map(|offset| usize::try_from(offset).unwrap_or(0));
        str::from_utf8(&self.bytes[from..to]).unwrap_or("")
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// The values of a column.
#[derive(Debug)]
pub enum Values {
    Float(Vec<f64>),
    Count(Vec<u64>),
    Index(Vec<u32>),
    Text(Strings),
    /// Few distinct names, and for each row the position of its own.
    Name {
        keys: Vec<u32>,
        names: Strings,
    },
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::Float(values) => values.len(),
            Values::Count(values) => values.len(),
            Values::Index(values) => values.len(),
            Values::Text(values) => values.len(),
            Values::Name { keys, .. } => keys.len(),
        }
    }
}

/// Which rows hold a value: one bit a row, the lowest of a byte first; no bits as long as all of them do.
#[derive(Debug, Default)]
pub struct Validity {
    pub bits: Vec<u8>,
    rows: usize,
    pub nulls: usize,
}

impl Validity {
    /// That of a row a value.
    pub fn where_not<T>(values: &[T], is_null: impl Fn(&T) -> bool) -> Validity {
        let mut validity = Validity::default();
        if values.iter().any(&is_null) {
            values.iter().for_each(|value| validity.push(!is_null(value), 1));
        } else {
            validity.push(true, values.len());
        }
        validity
    }

    /// Adds `rows` rows that all hold a value, or that all hold none.
    pub fn push(&mut self, is_valid: bool, rows: usize) {
        let end = self.rows + rows;
        if !is_valid && rows > 0 {
            if self.nulls == 0 {
                self.bits = vec![u8::MAX; self.rows.div_ceil(8)];
            }
            self.nulls += rows;
        }
        if self.nulls > 0 {
            self.bits.resize(end.div_ceil(8), 0);
            for row in self.rows..end {
                let bit = 1 << (row % 8);
                self.bits[row / 8] = if is_valid { self.bits[row / 8] | bit } else { self.bits[row / 8] & !bit };
            }
        }
        self.rows = end;
    }

    /// Adds the rows of another.
    pub fn append(&mut self, other: &Validity) {
        if other.nulls == 0 {
            self.push(true, other.rows);
        } else {
            (0..other.rows).for_each(|row| self.push(other.is_valid(row), 1));
        }
    }

    pub fn is_valid(&self, row: usize) -> bool {
        self.nulls == 0 || self.bits[row / 8] >> (row % 8) & 1 == 1
    }
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    pub field: Arc<Field>,
    pub values: Values,
    pub validity: Validity,
}

/// The columns of a table, all of them with as many rows.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<Column>,
    rows: usize,
}

impl Columns {
    /// Or the name of a column that has another number of rows than the first.
    pub fn new(columns: Vec<Column>) -> Result<Columns, String> {
        let rows = columns.first().map_or(0, |column| column.values.len());
        match columns.iter().find(|column| column.values.len() != rows || column.validity.rows != rows) {
            Some(column) => Err(format!("column `{}` does not have the {rows} rows of the first", column.field.name)),
            None => Ok(Columns { columns, rows }),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter()
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
}
