//! `buffer`: what a queue holds.

use super::shorthand::{NoList, Shorthand, shorthand, table};
use dumbbell_path::Level;
use dumbbell_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;

/// What a queue holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Buffer {
    Unlimited,
    Level(Level),
    /// Several limits at once; the first one reached counts.
    Limits {
        packets: Option<u64>,
        bytes: Option<Bytes>,
        time: Option<Duration>,
        /// The memory that it shares with other queues, and its α.
        pool: Option<(String, Option<f64>)>,
    },
}

/// Several limits of a queue; the first one reached counts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BufferTable {
    /// Packets.
    packets: Option<u64>,
    /// Bytes of IP length.
    bytes: Option<Bytes>,
    /// Waiting time at the current rate.
    time: Option<Duration>,
    /// Name of the pool of memory that the queue shares with others.
    pool: Option<String>,
    /// With `pool`: the queue may grow as long as it is shorter than so many times the memory that is free. Default 1.
    #[schemars(range(max = 1024), extend("exclusiveMinimum" = 0))]
    alpha: Option<f64>,
}

impl Shorthand for Buffer {
    const EXPECTING: &'static str =
        "a buffer such as \"1bdp\", \"100packets\", \"64kB\", \"50ms\", \"unlimited\", or a table of limits";
    type Table = BufferTable;
    type List = NoList;

    fn pattern() -> String {
        format!(r"^\s*unlimited\s*$|{}", Level::pattern())
    }

    fn from_text(text: &str) -> Result<Buffer, String> {
        match text.trim() {
            "unlimited" => Ok(Buffer::Unlimited),
            _ => Level::parse(text, "a buffer", " and \"unlimited\"").map(Buffer::Level),
        }
    }

    fn from_number(number: f64) -> Result<Buffer, String> {
        Buffer::from_text(&number.to_string())
    }

    fn from_table(table: BufferTable) -> Result<Buffer, String> {
        let BufferTable { packets, bytes, time, pool, alpha } = table;
        if pool.is_none() && alpha.is_some() {
            return Err("`alpha` belongs to `pool`, which is not given".to_owned());
        }
        if packets.is_none() && bytes.is_none() && time.is_none() && pool.is_none() {
            return Err("a table of limits needs one of `packets`, `bytes`, `time` and `pool`".to_owned());
        }
        Ok(Buffer::Limits { packets, bytes, time, pool: pool.map(|pool| (pool, alpha)) })
    }
}
shorthand!(Buffer, ["1bdp", "100packets", "64kB", "50ms", "unlimited"], table::<BufferTable>);

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Unlimited => f.write_str("unlimited"),
            Buffer::Level(level) => level.fmt(f),
            Buffer::Limits { .. } => f.write_str("several limits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_levels_or_unlimited() {
        let read = |text: &str| Buffer::from_text(text);
        assert_eq!(read("1bdp"), Ok(Buffer::Level(Level::Bdp(1.0))));
        assert_eq!(read("100p"), Ok(Buffer::Level(Level::Packets(100))));
        assert_eq!(read("unlimited"), Ok(Buffer::Unlimited));
        let reason = |text: &str| read(text).unwrap_err();
        assert!(reason("100").contains("the unit is missing; write \"100packets\""));
        assert!(reason("big").contains("times (\"50ms\") and \"unlimited\""));
    }
}
