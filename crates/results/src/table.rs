//! Results as columns: the engine's side of an Arrow table.

use crate::Names;
use std::sync::Arc;

/// A table: columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, in order.
    pub columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, with the unit where there is one: `goodput_mbps`.
    pub name: String,
    /// Unit in words, empty for names and text.
    pub unit: &'static str,
    /// One sentence on what it holds.
    pub meaning: &'static str,
    /// Values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Floating point; NaN means "no value" and becomes null.
    Float(Vec<f64>),
    /// Counts; [`UNKNOWN`](crate::UNKNOWN) becomes null.
    Count(Vec<u64>),
    /// Small numbers such as the index of a flow.
    Index(Vec<u32>),
    /// Text. Rows with the same text in succession share it.
    Text(Vec<Arc<str>>),
    /// Names from a small set (modes, states).
    Name(Names),
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Float(rows) => rows.len(),
            Values::Count(rows) => rows.len(),
            Values::Index(rows) => rows.len(),
            Values::Text(rows) => rows.len(),
            Values::Name(rows) => rows.len(),
        }
    }

    /// Bytes of memory held. Text counts without its letters.
    pub fn memory(&self) -> u64 {
        let bytes = match self {
            Values::Float(rows) => rows.capacity() * size_of::<f64>(),
            Values::Count(rows) => rows.capacity() * size_of::<u64>(),
            Values::Index(rows) => rows.capacity() * size_of::<u32>(),
            Values::Text(rows) => rows.capacity() * size_of::<Arc<str>>(),
            Values::Name(rows) => rows.memory(),
        };
        bytes as u64
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_knows_its_rows_and_the_memory_that_they_take() {
        let columns = [
            (Values::Float(vec![0.0; 3]), 3 * 8),
            (Values::Count(vec![0; 3]), 3 * 8),
            (Values::Index(vec![0; 3]), 3 * 4),
            (Values::Text(vec!["".into(); 3]), 3 * size_of::<Arc<str>>() as u64),
        ];
        for (values, bytes) in columns {
            assert_eq!((values.len(), values.is_empty(), values.memory()), (3, false, bytes));
        }
        let names = Values::Name(["open", "open", "loss"].into_iter().collect());
        // A key of four bytes a row; a vector that grows has room for some more.
        assert_eq!((names.len(), names.memory() % 4), (3, 0));
        assert!((3 * 4..=8 * 4).contains(&names.memory()), "{}", names.memory());
        assert!(Values::Float(Vec::new()).is_empty() && Values::Name(Names::default()).is_empty());
    }
}
