//! Sizes in integer bytes.

use crate::quantity::{ParseError, Scaled, Unit, as_text, split};
use std::fmt;
use std::str::FromStr;

/// A size in bytes.
///
/// Reads `"1500B"`, `"64kB"`, `"10MB"` (powers of 1000), `"1MiB"` (powers of 1024) and, in files, a plain integer.
/// Prints the largest unit that divides the size: `64kB`, `1MiB`, `1500B`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

const UNITS: [Unit; 9] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];
const ALLOWED: &str = "allowed units are B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024)";

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// A size of `bytes`.
    #[inline]
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// The size in bytes.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        let fail = |reason: String| ParseError { what: "a size", read: text.to_owned(), reason };
        let (number, unit) = split("a size", text, "64kB")?;
        if unit.is_empty() && !number.is_zero() {
            return Err(fail(format!("the unit is missing; {ALLOWED}, as in \"64kB\"")));
        }
        let factor = match unit {
            "" | "byte" | "bytes" => 1,
            "KB" => 1_000,
            "kiB" => 1 << 10,
            _ => UNITS.iter().find(|u| u.0 == unit).map(|u| u.1).ok_or_else(|| fail(explain_unit(unit)))?,
        };
        match number.scale(factor) {
            Scaled::Exact(bytes) => Ok(Bytes(bytes)),
            Scaled::Rounded(_) => Err(fail("it is not a whole number of bytes".to_owned())),
            Scaled::TooLarge => Err(fail("it is too large; the largest size is 18446744 TB".to_owned())),
        }
    }
}

fn explain_unit(unit: &str) -> String {
    let lower = unit.to_ascii_lowercase();
    if lower.contains("bit") {
        return format!("\"{unit}\" is bits, a size is in bytes; {ALLOWED}");
    }
    let meant = UNITS.iter().find(|u| {
        let name = u.0.to_ascii_lowercase();
        name == lower || name.trim_end_matches('b') == lower
    });
    match meant {
        Some((name, _)) => format!("unknown unit \"{unit}\"; did you mean \"{name}\"? {ALLOWED}"),
        None => format!("unknown unit \"{unit}\"; {ALLOWED}"),
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |u: &&Unit| self.0 != 0 && self.0.is_multiple_of(u.1);
        let (name, factor) = UNITS.iter().find(divides).copied().unwrap_or(("B", 1));
        f.pad(&format!("{}{name}", self.0 / factor))
    }
}

as_text!(
    Bytes,
    "bytes",
    ["string", "integer"],
    "a size with its unit, for example \"64kB\" or \"1MiB\", or a whole number of bytes",
    r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*(([kKMGT]i?)?B|bytes?)?\s*$",
    ["64kB", "1500B", "10MB", "1MiB"],
    fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<Bytes, E> {
        Ok(Bytes(bytes))
    },
    fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<Bytes, E> {
        let negative = || E::custom(format!("cannot read {bytes} as a size: a size cannot be negative"));
        u64::try_from(bytes).map(Bytes).map_err(|_| negative())
    }
);

/// Serde of a `u64` or `u32` field that counts bytes: reads what [`Bytes`] reads, writes its canonical spelling. Use as
/// `#[serde(with = "dumbbell_units::as_bytes")] #[schemars(with = "dumbbell_units::Bytes")]`.
pub mod as_bytes {
    use super::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes `bytes` as `"64kB"`.
    pub fn serialize<T: Copy + Into<u64>, S: Serializer>(bytes: &T, serializer: S) -> Result<S::Ok, S::Error> {
        Bytes::new((*bytes).into()).serialize(serializer)
    }

    /// Reads `"64kB"` or a whole number.
    pub fn deserialize<'de, T: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let bytes = Bytes::deserialize(deserializer)?;
        T::try_from(bytes.as_u64()).map_err(|_| {
            serde::de::Error::custom(format!("{bytes} is too large here; the largest size is {} bytes", u32::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(text: &str) -> u64 {
        text.parse::<Bytes>().unwrap().as_u64()
    }

    fn reason(text: &str) -> String {
        text.parse::<Bytes>().unwrap_err().reason
    }

    #[test]
    fn decimal_and_binary_units_differ() {
        assert_eq!(bytes("64kB"), 64_000);
        assert_eq!(bytes("64KB"), 64_000);
        assert_eq!(bytes("64KiB"), 65_536);
        assert_eq!(bytes("1500B"), 1_500);
        assert_eq!(bytes("1500 bytes"), 1_500);
        assert_eq!(bytes("1.5MB"), 1_500_000);
        assert_eq!(bytes("1MiB"), 1 << 20);
    }

    #[test]
    fn wrong_units_name_the_right_one() {
        assert!(reason("64kb").contains("did you mean \"kB\"?"));
        assert!(reason("64k").contains("did you mean \"kB\"?"));
        assert!(reason("64kbit").contains("is bits"));
        assert!(reason("64").contains("the unit is missing"));
        assert!(reason("-1B").contains("cannot be negative"));
        assert!(reason("1.5B").contains("whole number of bytes"));
        assert!(reason("1e30B").contains("too large"));
    }

    #[test]
    fn the_canonical_spelling_is_whole() {
        for text in ["64kB", "1500B", "10MB", "1MiB", "0B", "5GB"] {
            assert_eq!(bytes(text), text.parse::<Bytes>().unwrap().as_u64());
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(bytes: u64) {
            prop_assert_eq!(Bytes::new(bytes).to_string().parse::<Bytes>().unwrap(), Bytes::new(bytes));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Bytes>();
        }
    }
}
