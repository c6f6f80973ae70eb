//! Levels: a threshold of a queue, the size of a bucket. They are written in whatever unit is natural, and most of
//! those need a link to become bytes.

use dumbbell_units::{Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// An amount of packets that wait; what is in transmission does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// Multiple of the bandwidth-delay product.
    Bdp(f64),
    /// Packets.
    Packets(u64),
    /// Bytes of IP length.
    Bytes(Bytes),
    /// Waiting time.
    Time(Duration),
}

const EXPECTING: &str = "a level such as \"20packets\", \"30kB\", \"5ms\" or \"0.2bdp\"";

impl Level {
    /// The texts that are packets, as a regular expression.
    pub const PACKETS_PATTERN: &'static str = r"^\s*[0-9]+\s*(packets?|pkts|p)\s*$";

    /// The texts that can be read, as a regular expression.
    pub fn pattern() -> String {
        let bdp_or_bytes = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*(bdp|BDP|([kKMGT]i?)?B|bytes?)\s*$";
        [bdp_or_bytes, Level::PACKETS_PATTERN, Duration::PATTERN].join("|")
    }

    /// Reads the text form of `what`, which could also be one of `others`: words for error messages.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what is allowed.
    pub fn parse(text: &str, what: &str, others: &str) -> Result<Level, String> {
        let trimmed = text.trim();
        let digits = trimmed.trim_end_matches(|c: char| c.is_alphabetic() || c == '%');
        let (number, unit) = (digits.trim_end(), &trimmed[digits.len()..]);
        let fail = |reason: &str| Err(format!("cannot read {text:?} as {what}: {reason}"));
        if number.starts_with('-') {
            return fail("it cannot be negative");
        }
        match unit {
            "bdp" | "BDP" => match number.parse::<f64>() {
                Ok(multiple) if multiple.is_finite() => Ok(Level::Bdp(multiple)),
                _ => fail("write a multiple of the bandwidth-delay product like \"1.5bdp\""),
            },
            "packets" | "packet" | "pkts" | "p" => match number.parse() {
                Ok(packets) => Ok(Level::Packets(packets)),
                Err(_) => fail("write a whole number of packets like \"100packets\""),
            },
            "" if number.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !number.is_empty() => fail(&format!(
                "the unit is missing; write \"{number}packets\", \"{number}kB\", \"{number}ms\" or \"1bdp\""
            )),
            "ns" | "us" | "ms" | "s" | "min" => trimmed.parse().map(Level::Time).map_err(|e| e.to_string()),
            _ if unit.ends_with('B') || unit.starts_with("byte") => {
                trimmed.parse().map(Level::Bytes).map_err(|e| e.to_string())
            }
            _ => fail(&format!(
                "allowed are multiples of the bandwidth-delay product (\"1bdp\"), packets (\"100packets\"), sizes \
                 (\"64kB\"), times (\"50ms\"){others}"
            )),
        }
    }

    /// The bytes of a level in bytes; 0 for one that a link has not turned into bytes.
    pub fn as_bytes(self) -> u64 {
        match self {
            Level::Bytes(bytes) => bytes.as_u64(),
            Level::Bdp(_) | Level::Packets(_) | Level::Time(_) => 0,
        }
    }

    /// `50 000 bytes`, `20 packets`, `5 ms`.
    pub fn in_words(self) -> String {
        match self {
            Level::Bdp(multiple) => format!("{multiple} BDP"),
            Level::Packets(packets) => format!("{packets} packets"),
            Level::Bytes(bytes) => bytes.in_words(),
            Level::Time(time) => time.in_words(),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Bdp(multiple) => write!(f, "{multiple}bdp"),
            Level::Packets(packets) => write!(f, "{packets}packets"),
            Level::Bytes(bytes) => bytes.fmt(f),
            Level::Time(time) => time.fmt(f),
        }
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Level;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTING)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Level, E> {
                if text.trim() == "unlimited" {
                    return Err(E::invalid_value(de::Unexpected::Str(text), &self));
                }
                Level::parse(text, "a level", "").map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Level, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Level, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Level, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Level {
    fn schema_name() -> Cow<'static, str> {
        "Level".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": EXPECTING,
            "type": "string",
            "pattern": Level::pattern(),
            "examples": ["20packets", "30kB", "5ms", "0.2bdp"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Level, String> {
        Level::parse(text, "a level", "")
    }

    #[test]
    fn levels_read_in_all_their_units() {
        assert_eq!(read("1bdp"), Ok(Level::Bdp(1.0)));
        assert_eq!(read("0.5 BDP"), Ok(Level::Bdp(0.5)));
        assert_eq!(read("100packets"), Ok(Level::Packets(100)));
        assert_eq!(read("100p"), Ok(Level::Packets(100)));
        assert_eq!(read("1500B"), Ok(Level::Bytes(Bytes::new(1_500))));
        assert_eq!(read("64kB"), Ok(Level::Bytes(Bytes::new(64_000))));
        assert_eq!(read("50ms"), Ok(Level::Time(Duration::from_millis(50))));
    }

    #[test]
    fn wrong_levels_say_what_is_missing() {
        let reason = |text: &str| read(text).unwrap_err();
        assert!(reason("100").contains("the unit is missing; write \"100packets\""));
        assert!(reason("-1bdp").contains("cannot be negative"));
        assert!(reason("1.5packets").contains("whole number of packets"));
        assert!(reason("big").contains("allowed are multiples"));
        assert!(reason("64kb").contains("allowed are multiples"));
        assert!(reason("1e999bdp").contains("like \"1.5bdp\""));
    }

    fn levels() -> impl Strategy<Value = Level> {
        prop_oneof![
            (0.0f64..1e6).prop_map(Level::Bdp),
            any::<u64>().prop_map(Level::Packets),
            any::<u64>().prop_map(|bytes| Level::Bytes(Bytes::new(bytes))),
            (1u64..).prop_map(|nanos| Level::Time(Duration::from_nanos(nanos))),
        ]
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(level in levels()) {
            prop_assert_eq!(read(&level.to_string()), Ok(level));
        }
    }
}
