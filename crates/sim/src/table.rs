//! Results as columns: the engine's side of an Arrow table.

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
    /// Values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Floating point; NaN means "no value" and becomes null.
    Float(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
    /// Small numbers such as the index of a flow.
    Index(Vec<u32>),
    /// Text; repeated values are worth dictionary encoding.
    Text(Vec<String>),
    /// Text from a fixed set (modes, states).
    Name(Vec<&'static str>),
}
