//! The keys of a measured series: which columns of a file are meant, and their units.

/// A table with the keys of a measured series besides its own.
macro_rules! with_columns {
    (
        $(#[$attribute:meta])*
        $name:ident, units = $units:expr, unit_default = $unit_default:literal,
        { $($(#[$own_attribute:meta])* $own:ident: $type:ty,)* }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$own_attribute])* $own: $type,)*
            /// The column of the values: its name in the first line, or its number from 1 in a file without names.
            #[schemars(extend("x-default" = "the only one whose name says that it is meant", "x-with" = "trace"))]
            column: Option<String>,
            /// Unit of the values.
            #[schemars(extend("x-default" = $unit_default, "x-with" = "trace", "enum" = $crate::file::columns::words($units)))]
            unit: Option<String>,
            /// The column of the times.
            #[schemars(extend("x-default" = "the only one whose name is that of a time", "x-with" = "trace"))]
            time: Option<String>,
            /// Unit of the times.
            #[schemars(extend(
                "x-default" = "from the name of the column; none for dates",
                "x-with" = "trace",
                "enum" = $crate::file::columns::words($crate::file::columns::TIME_UNITS)
            ))]
            time_unit: Option<String>,
        }

        impl $name {
            /// What it says about columns.
            fn columns(&self) -> $crate::file::columns::Columns {
                $crate::file::columns::Columns {
                    column: self.column.clone(),
                    unit: self.unit.clone(),
                    time: self.time.clone(),
                    time_unit: self.time_unit.clone(),
                }
            }
        }
    };
}
pub(crate) use with_columns;

/// Which columns of a file are meant, and their units, as far as the experiment says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Columns {
    pub column: Option<String>,
    pub unit: Option<String>,
    pub time: Option<String>,
    pub time_unit: Option<String>,
}

impl Columns {
    /// The first key that is given.
    pub(crate) fn first_key(&self) -> Option<&'static str> {
        let keys =
            [("column", &self.column), ("unit", &self.unit), ("time", &self.time), ("time_unit", &self.time_unit)];
        keys.iter().find(|(_, value)| value.is_some()).map(|(key, _)| *key)
    }
}

/// Units by name, each with what it is of the base unit.
pub(crate) type Units = &'static [(&'static str, f64)];

/// Of times and delays, in nanoseconds.
pub(crate) const TIME_UNITS: Units = &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];
/// Of rates, in bits per second.
pub(crate) const RATE_UNITS: Units =
    &[("bit", 1.0), ("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("byte", 8.0), ("kbyte", 8e3), ("mbyte", 8e6)];
/// Of losses, as shares.
pub(crate) const LOSS_UNITS: Units = &[("percent", 0.01), ("ratio", 1.0)];

/// The names of units.
pub(crate) fn words(units: Units) -> Vec<&'static str> {
    units.iter().map(|(name, _)| *name).collect()
}
