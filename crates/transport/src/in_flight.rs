//! `transport.in_flight_by_buffer`: how the sender counts what was in flight when a segment left.

use dumbbell_cc_contract::Needs;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Whether the kernel's buffers count, or each segment for itself. Written as `"auto"`, `true` or `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlightByBuffer {
    /// Where the controller comes from a kernel that counts so.
    #[default]
    Auto,
    /// Buffers count.
    On,
    /// Each segment counts for itself.
    Off,
}

/// The word for [`InFlightByBuffer::Auto`].
const AUTO: &str = "auto";

impl InFlightByBuffer {
    /// Whether buffers count for a controller that needs this.
    pub fn is_on(self, needs: Needs) -> bool {
        match self {
            InFlightByBuffer::Auto => needs.in_flight_by_buffer,
            InFlightByBuffer::On => true,
            InFlightByBuffer::Off => false,
        }
    }
}

impl From<bool> for InFlightByBuffer {
    fn from(is_on: bool) -> InFlightByBuffer {
        if is_on { InFlightByBuffer::On } else { InFlightByBuffer::Off }
    }
}

impl Serialize for InFlightByBuffer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            InFlightByBuffer::Auto => serializer.serialize_str(AUTO),
            InFlightByBuffer::On => serializer.serialize_bool(true),
            InFlightByBuffer::Off => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for InFlightByBuffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InFlightByBuffer, D::Error> {
        struct Forms;

        impl Visitor<'_> for Forms {
            type Value = InFlightByBuffer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\", `true` or `false`")
            }

            fn visit_bool<E: Error>(self, is_on: bool) -> Result<InFlightByBuffer, E> {
                Ok(is_on.into())
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<InFlightByBuffer, E> {
                if word == AUTO {
                    Ok(InFlightByBuffer::Auto)
                } else {
                    Err(E::unknown_variant(word, &[AUTO, "true", "false"]))
                }
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for InFlightByBuffer {
    fn schema_name() -> Cow<'static, str> {
        "InFlightByBuffer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "const": AUTO, "description": "As the kernel does that the controller comes from." },
                { "const": true, "description": "By buffers, whatever the controller is." },
                { "const": false, "description": "Each segment has its own amount." },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_a_word_or_a_switch() {
        let forms =
            [(InFlightByBuffer::Auto, "\"auto\""), (InFlightByBuffer::On, "true"), (InFlightByBuffer::Off, "false")];
        for (value, json) in forms {
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
            assert_eq!(serde_json::from_str::<InFlightByBuffer>(json).unwrap(), value);
        }
        let refused = serde_json::from_str::<InFlightByBuffer>("\"on\"").unwrap_err().to_string();
        assert!(refused.contains("unknown variant `on`, expected one of `auto`, `true`, `false`"), "{refused}");
        let refused = serde_json::from_str::<InFlightByBuffer>("1").unwrap_err().to_string();
        assert!(refused.contains("expected \"auto\", `true` or `false`"), "{refused}");
    }

    #[test]
    fn the_file_overrules_the_controller() {
        for wanted in [false, true] {
            let needs = Needs { in_flight_by_buffer: wanted, ..Needs::NONE };
            let is_on = |choice: InFlightByBuffer| choice.is_on(needs);
            assert_eq!([InFlightByBuffer::Auto, true.into(), false.into()].map(is_on), [wanted, true, false]);
        }
    }
}
