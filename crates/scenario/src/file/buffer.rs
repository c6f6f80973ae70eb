//! `buffer`: what a queue holds.

use super::shorthand::{NoList, Shorthand, shorthand, table};
use dumbbell_path::Level;
use dumbbell_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;

/// What a queue holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buffer {
    Unlimited,
    Level(Level),
    /// Several limits at once; the first one reached counts.
    Limits {
        packets: Option<u64>,
        bytes: Option<Bytes>,
        time: Option<Duration>,
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
        let BufferTable { packets, bytes, time } = table;
        if packets.is_none() && bytes.is_none() && time.is_none() {
            return Err("a table of limits needs one of `packets`, `bytes` and `time`".to_owned());
        }
        Ok(Buffer::Limits { packets, bytes, time })
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
