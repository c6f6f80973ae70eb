//! Numbers in the fixed point of the kernel: gains and shares.

use serde::de;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A non-negative number held as a whole number of `1/SCALE`, truncated as in the kernel.
///
/// Reads a number (`2.885`) or a fraction (`"739/256"`, `"1000/2885"`); prints the exact number it holds. Values of
/// `SCALE` used here are powers of two, so what is printed reads back as the same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fixed<const SCALE: u32>(u32);

/// A gain in 1/256 (`BBR_UNIT`).
pub type Gain = Fixed<256>;

/// A multiplicative-decrease factor in 1/1024 (`BICTCP_BETA_SCALE`).
pub type Factor = Fixed<1024>;

impl<const SCALE: u32> Fixed<SCALE> {
    /// One.
    pub const ONE: Fixed<SCALE> = Fixed(SCALE);
    /// The largest value that can be read; it keeps all products within 64 bits.
    pub const MAX: f64 = 1_000.0;

    /// `numerator / SCALE`.
    pub const fn new(numerator: u32) -> Fixed<SCALE> {
        Fixed(numerator)
    }

    /// The value in units of `1/SCALE`.
    #[inline]
    pub const fn numerator(self) -> u32 {
        self.0
    }

    /// The value as a float, for reports.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(SCALE)
    }

    /// `value` times this, truncated.
    #[inline]
    pub const fn of(self, value: u64) -> u64 {
        value.saturating_mul(self.0 as u64) / SCALE as u64
    }

    /// This share of `value`, truncated; for shares of at most one.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a share of at most one does not exceed `value`")]
    pub const fn share_of(self, value: u32) -> u32 {
        debug_assert!(self.0 <= SCALE);
        self.of(value as u64) as u32
    }

    /// The share of a whole that remains where one of `parts` equal parts keeps `self` and the others everything.
    pub const fn of_one_in(self, parts: u32) -> Fixed<SCALE> {
        let parts = if parts == 0 { 1 } else { parts };
        Fixed(((parts - 1) * SCALE + self.0) / parts)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most `MAX * SCALE`; the fraction is cut off as in the kernel"
    )]
    fn from_f64(value: f64) -> Option<Fixed<SCALE>> {
        (0.0..=Self::MAX).contains(&value).then(|| Fixed((value * f64::from(SCALE)) as u32))
    }

    fn from_fraction(text: &str) -> Option<Fixed<SCALE>> {
        let Some((numerator, denominator)) = text.split_once('/') else {
            return text.trim().parse().ok().and_then(Self::from_f64);
        };
        let numerator: u32 = numerator.trim().parse().ok()?;
        let denominator: u32 = denominator.trim().parse().ok().filter(|d| *d > 0)?;
        let scaled = u64::from(numerator) * u64::from(SCALE) / u64::from(denominator);
        u32::try_from(scaled).ok().map(Fixed).filter(|v| v.as_f64() <= Self::MAX)
    }
}

impl<const SCALE: u32> Serialize for Fixed<SCALE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de, const SCALE: u32> Deserialize<'de> for Fixed<SCALE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<const SCALE: u32>;
        impl<const SCALE: u32> de::Visitor<'_> for Visitor<SCALE> {
            type Value = Fixed<SCALE>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number from 0 to {} or a fraction such as \"739/256\"", Fixed::<SCALE>::MAX)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Fixed<SCALE>, E> {
                Fixed::from_f64(value).ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Fixed<SCALE>, E> {
                self.visit_f64(value as f64)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Fixed<SCALE>, E> {
                self.visit_f64(value as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fixed<SCALE>, E> {
                Fixed::from_fraction(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visitor::<SCALE>)
    }
}

impl<const SCALE: u32> schemars::JsonSchema for Fixed<SCALE> {
    fn schema_name() -> Cow<'static, str> {
        format!("FixedPoint{SCALE}").into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["number", "string"],
            "minimum": 0,
            "maximum": Self::MAX,
            "pattern": r"^\s*[0-9.]+\s*(/\s*[0-9]+\s*)?$",
            "x-resolution": format!("1/{SCALE}, truncated"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn gain(value: Value) -> Result<Gain, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn gains_are_truncated_to_256ths_like_the_kernels() {
        assert_eq!(gain(json!(1.25)).unwrap().numerator(), 320);
        assert_eq!(gain(json!(2.885)).unwrap().numerator(), 738);
        assert_eq!(gain(json!("739/256")).unwrap().numerator(), 739);
        assert_eq!(gain(json!("1000/2885")).unwrap().numerator(), 88);
        assert_eq!(gain(json!(2)).unwrap().numerator(), 512);
        assert_eq!(gain(json!("0.75")).unwrap().numerator(), 192);
    }

    #[test]
    fn what_is_printed_reads_back() {
        for numerator in 0..2_000 {
            let printed = serde_json::to_value(Gain::new(numerator)).unwrap();
            assert_eq!(gain(printed).unwrap().numerator(), numerator);
        }
    }

    #[test]
    fn impossible_gains_say_what_is_allowed() {
        for value in [json!(-1), json!("1/0"), json!("fast"), json!(1e9), json!(null), json!("4000000000/1")] {
            let message = gain(value.clone()).unwrap_err().to_string();
            assert!(message.contains("fraction such as"), "{value}: {message}");
        }
    }

    #[test]
    fn gains_lie_between_zero_and_a_thousand() {
        for (value, is_gain) in [
            (json!(0), true),
            (json!(1_000), true),
            (json!(1_000.001), false),
            (json!("1000/1"), true),
            (json!("1001/1"), false),
            (json!("1/1"), true),
            (json!(-0.001), false),
        ] {
            assert_eq!(gain(value.clone()).is_ok(), is_gain, "{value}");
        }
    }

    #[test]
    fn one_of_several_equal_parts_is_reduced_and_the_others_stay() {
        assert_eq!(Factor::new(512).of_one_in(1), Factor::new(512));
        // Three of four parts whole, the fourth a half: 7/8.
        assert_eq!(Factor::new(512).of_one_in(4), Factor::new(896));
        assert_eq!(Factor::new(512).of_one_in(0), Factor::new(512));
        assert_eq!(Gain::new(384).of(100), 150);
        assert_eq!(Factor::new(512).share_of(101), 50);
    }

    #[test]
    fn the_schema_of_a_gain_tells_its_bounds_its_pattern_and_its_resolution() {
        let schema = schemars::schema_for!(Gain);
        assert_eq!((&schema.get("minimum"), &schema.get("maximum")), (&Some(&json!(0)), &Some(&json!(1_000.0))));
        assert_eq!(schema.get("type"), Some(&json!(["number", "string"])));
        assert_eq!(schema.get("x-resolution"), Some(&json!("1/256, truncated")));
        // It stands where it is used, without a definition of its own.
        assert!(<Gain as schemars::JsonSchema>::inline_schema());
        assert_eq!(<Gain as schemars::JsonSchema>::schema_name(), "FixedPoint256");
    }
}
