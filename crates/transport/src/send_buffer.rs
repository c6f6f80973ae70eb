//! `transport.send_buffer`: who bounds what an application has written, and how.

use dumbbell_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// How large the send buffer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendBufferSize {
    /// There is always room.
    #[default]
    Unlimited,
    /// As Linux sizes it.
    Autotuning,
    /// As the application asks for it (`SO_SNDBUF`).
    Fixed(Bytes),
}

/// What a file may say.
const EXPECTING: &str = "a send buffer: \"unlimited\", \"autotuning\" or a size such as \"256KiB\"";

impl fmt::Display for SendBufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendBufferSize::Unlimited => f.write_str("unlimited"),
            SendBufferSize::Autotuning => f.write_str("autotuning"),
            SendBufferSize::Fixed(bytes) => bytes.fmt(f),
        }
    }
}

impl Serialize for SendBufferSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SendBufferSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SendBufferSize, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = SendBufferSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTING)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SendBufferSize, E> {
                match text.trim() {
                    "unlimited" => Ok(SendBufferSize::Unlimited),
                    "autotuning" => Ok(SendBufferSize::Autotuning),
                    size if size.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
                        of_size(size.parse().map_err(E::custom)?)
                    }
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<SendBufferSize, E> {
                of_size(Bytes::new(bytes))
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<SendBufferSize, E> {
                u64::try_from(bytes)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
                    .and_then(|bytes| self.visit_u64(bytes))
            }
        }

        deserializer.deserialize_any(Text)
    }
}

/// The most that an application may ask for: twice as much still is an `int` (sock_setsockopt: `INT_MAX / 2`).
const MOST: Bytes = Bytes::new((i32::MAX / 2) as u64);

/// Nothing could be written into an empty buffer, and what is written into it takes memory.
fn of_size<E: de::Error>(size: Bytes) -> Result<SendBufferSize, E> {
    if size == Bytes::ZERO {
        return Err(E::custom("a send buffer of 0 bytes takes nothing; allowed: at least 1 byte, or \"unlimited\""));
    }
    if size > MOST {
        return Err(E::custom(format_args!(
            "a send buffer of {size} is more than Linux has; allowed: at most {} bytes (INT_MAX / 2), or \"unlimited\"",
            MOST.as_u64()
        )));
    }
    Ok(SendBufferSize::Fixed(size))
}

impl JsonSchema for SendBufferSize {
    fn schema_name() -> Cow<'static, str> {
        "SendBuffer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": EXPECTING,
            "type": ["string", "integer"],
            "examples": ["unlimited", "autotuning", "256KiB"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SendBufferSize, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_kinds_of_buffers_read_and_print() {
        for (text, size) in [
            ("\"unlimited\"", SendBufferSize::Unlimited),
            ("\"autotuning\"", SendBufferSize::Autotuning),
            ("\"256KiB\"", SendBufferSize::Fixed(Bytes::new(256 << 10))),
        ] {
            assert_eq!(read(text), Ok(size));
            assert_eq!(serde_json::to_string(&size).unwrap(), text);
        }
        assert_eq!(read("4096"), Ok(SendBufferSize::Fixed(Bytes::new(4_096))));
    }

    #[test]
    fn what_is_no_buffer_is_refused_with_what_would_be_one() {
        assert!(read("\"auto\"").unwrap_err().contains("\"unlimited\", \"autotuning\" or a size"));
        assert!(read("-1").unwrap_err().contains("\"autotuning\""));
        assert!(read("0").unwrap_err().contains("at least 1 byte"));
        assert_eq!(read("1073741823"), Ok(SendBufferSize::Fixed(MOST)));
        for too_large in ["1073741824", "\"1GiB\"", "9223372036854775807"] {
            assert!(read(too_large).unwrap_err().contains("allowed: at most 1073741823 bytes"));
        }
        assert!(read("\"10kbit\"").unwrap_err().contains("bytes"));
    }
}
