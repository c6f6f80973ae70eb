//! What the ends of a connection agree on about explicit congestion notification.

use crate::EcnEcho;
use dumbbell_cc_contract::EcnMode;
use dumbbell_units::Ecn;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Whether data is sent ECN-capable, and how marks come back. Written as `false`, `true` or `"accurate"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// Not at all.
    #[default]
    Off,
    /// An echo that stays until the sender has answered it (RFC 3168). Over QUIC the same as [`EcnUse::Accurate`],
    /// because its ACKs always count marks.
    Classic,
    /// The receiver counts marks, and every ACK tells how many (RFC 9768; RFC 9000, section 13.4).
    Accurate,
}

/// The word for [`EcnUse::Accurate`].
const ACCURATE: &str = "accurate";

impl EcnUse {
    /// Whether data is sent ECN-capable.
    #[inline]
    pub fn is_on(self) -> bool {
        self != EcnUse::Off
    }

    /// What a connection agrees on whose controller wants this.
    pub fn with(self, wanted: EcnMode) -> EcnUse {
        match (self, wanted) {
            (_, EcnMode::L4s) => EcnUse::Accurate,
            (EcnUse::Off, EcnMode::Classic | EcnMode::Accurate) => EcnUse::Classic,
            _ => self,
        }
    }

    /// How a TCP receiver reports marks to a sender with such a controller.
    pub fn echo(self, wanted: EcnMode) -> EcnEcho {
        match (self, wanted) {
            (EcnUse::Accurate, _) => EcnEcho::Accurate,
            (_, EcnMode::Accurate) => EcnEcho::Dctcp,
            _ => EcnEcho::Classic,
        }
    }

    /// The ECN bits of data of a sender with such a controller: ECT(1) says that it is to be marked as L4S (RFC 9331).
    pub fn codepoint(self, wanted: EcnMode) -> Ecn {
        match (self, wanted) {
            (EcnUse::Off, _) => Ecn::NotEct,
            (_, EcnMode::L4s) => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    /// The ECN bits of what such a sender sends again, and of ACKs, which RFC 3168 allows no bits. With AccECN, and
    /// with a controller that needs marks, every packet has them (`tcp_ecn_send`; RFC 9331, section 4.1).
    pub fn codepoint_again(self, wanted: EcnMode) -> Ecn {
        let on_all = self == EcnUse::Accurate || wanted != EcnMode::None;
        if on_all { self.codepoint(wanted) } else { Ecn::NotEct }
    }
}

impl From<bool> for EcnUse {
    fn from(is_on: bool) -> EcnUse {
        if is_on { EcnUse::Classic } else { EcnUse::Off }
    }
}

impl Serialize for EcnUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EcnUse::Off => serializer.serialize_bool(false),
            EcnUse::Classic => serializer.serialize_bool(true),
            EcnUse::Accurate => serializer.serialize_str(ACCURATE),
        }
    }
}

impl<'de> Deserialize<'de> for EcnUse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EcnUse, D::Error> {
        struct Forms;

        impl Visitor<'_> for Forms {
            type Value = EcnUse;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or \"accurate\"")
            }

            fn visit_bool<E: Error>(self, is_on: bool) -> Result<EcnUse, E> {
                Ok(is_on.into())
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<EcnUse, E> {
                if word == ACCURATE {
                    Ok(EcnUse::Accurate)
                } else {
                    Err(E::unknown_variant(word, &["false", "true", ACCURATE]))
                }
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for EcnUse {
    fn schema_name() -> Cow<'static, str> {
        "EcnUse".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "const": false, "description": "None; a controller that needs marks gets them all the same." },
                {
                    "const": true,
                    "description": "An echo until the sender has answered it, one reduction a round trip (RFC 3168).",
                },
                {
                    "const": ACCURATE,
                    "description": "Every ACK tells how many packets and bytes were marked (RFC 9768). \
                                    QUIC-like ends do so in any case.",
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_a_switch_or_a_word() {
        for (value, json) in [(EcnUse::Off, "false"), (EcnUse::Classic, "true"), (EcnUse::Accurate, "\"accurate\"")] {
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
            assert_eq!(serde_json::from_str::<EcnUse>(json).unwrap(), value);
        }
        let refused = serde_json::from_str::<EcnUse>("\"acurate\"").unwrap_err().to_string();
        assert!(
            refused.contains("unknown variant `acurate`, expected one of `false`, `true`, `accurate`"),
            "{refused}"
        );
        let refused = serde_json::from_str::<EcnUse>("1").unwrap_err().to_string();
        assert!(refused.contains("expected `true`, `false` or \"accurate\""), "{refused}");
    }

    #[test]
    fn senders_for_l4s_queues_say_so_and_count_marks_and_those_for_data_centres_keep_their_echo() {
        let agreed = |ecn: EcnUse, mode| {
            let ecn = ecn.with(mode);
            (ecn.echo(mode), ecn.codepoint(mode))
        };
        assert_eq!(agreed(EcnUse::Off, EcnMode::L4s), (EcnEcho::Accurate, Ecn::Ect1));
        assert_eq!(agreed(EcnUse::Off, EcnMode::Accurate), (EcnEcho::Dctcp, Ecn::Ect0));
        assert_eq!(agreed(EcnUse::Accurate, EcnMode::Accurate), (EcnEcho::Accurate, Ecn::Ect0));
        assert_eq!(agreed(EcnUse::Classic, EcnMode::None), (EcnEcho::Classic, Ecn::Ect0));
        assert_eq!(agreed(EcnUse::Off, EcnMode::None).1, Ecn::NotEct);
    }

    #[test]
    fn what_is_sent_again_has_bits_where_marks_are_counted_or_needed() {
        let again = |ecn: EcnUse, mode| ecn.with(mode).codepoint_again(mode);
        assert_eq!(again(EcnUse::Classic, EcnMode::None), Ecn::NotEct);
        assert_eq!(again(EcnUse::Accurate, EcnMode::None), Ecn::Ect0);
        assert_eq!(again(EcnUse::Off, EcnMode::Accurate), Ecn::Ect0);
        assert_eq!(again(EcnUse::Off, EcnMode::L4s), Ecn::Ect1);
        assert_eq!(again(EcnUse::Off, EcnMode::None), Ecn::NotEct);
    }
}
