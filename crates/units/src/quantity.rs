//! Reading and printing "number unit" exactly: decimal arithmetic in integers, so that `"0.1s"` is 100 000 000 ns and
//! what is printed reads back as the same value.

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {read:?} as {what}: {reason}")]
pub struct ParseError {
    /// What was asked for, with its article: `a rate`.
    pub what: &'static str,
    /// What was read.
    pub read: String,
    /// What is wrong with it and what is allowed.
    pub reason: String,
}

/// A unit's spelling and how many base units it is.
pub(crate) type Unit = (&'static str, u64);

/// A decimal number `digits * 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    exponent: i32,
}

/// The number times `factor`, as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scaled {
    /// Without a remainder.
    Exact(u64),
    /// Rounded to the nearest integer.
    Rounded(u64),
    /// Beyond 64 bits.
    TooLarge,
}

/// Splits `text` into its number and the unit after it. Scientific notation is understood, because programs print it.
pub(crate) fn split<'a>(what: &'static str, text: &'a str, example: &str) -> Result<(Decimal, &'a str), ParseError> {
    let fail = |reason: String| ParseError { what, read: text.to_owned(), reason };
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(fail(format!("it is empty; write it like {example:?}")));
    }
    if trimmed.starts_with('-') {
        return Err(fail(format!("{what} cannot be negative; write it like {example:?}")));
    }
    let bytes = trimmed.as_bytes();
    let digits_from = |start: usize| start + bytes[start..].iter().take_while(|b| b.is_ascii_digit()).count();
    let integer_end = digits_from(0);
    let fraction_end = if bytes.get(integer_end) == Some(&b'.') { digits_from(integer_end + 1) } else { integer_end };
    let integer = &trimmed[..integer_end];
    let fraction = trimmed[integer_end..fraction_end].trim_start_matches('.');
    if integer.is_empty() && fraction.is_empty() {
        return Err(fail(format!("it does not start with a number; write it like {example:?}")));
    }
    let mut number_end = fraction_end;
    let mut exponent = 0i32;
    if matches!(bytes.get(fraction_end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(fraction_end + 1), Some(b'+' | b'-')));
        let first = fraction_end + 1 + sign;
        let end = if first <= bytes.len() { digits_from(first) } else { first };
        if end > first {
            exponent = trimmed[fraction_end + 1..end]
                .parse::<i32>()
                .ok()
                .filter(|e| e.abs() < 1_000)
                .ok_or_else(|| fail("its exponent is out of range".to_owned()))?;
            number_end = end;
        }
    }
    // Thirty significant digits are far beyond the resolution of any quantity; the rest is cut.
    let mut digits = 0u128;
    let mut kept = 0;
    for (i, digit) in integer.bytes().chain(fraction.bytes()).enumerate() {
        let in_fraction = i >= integer.len();
        if kept < 30 {
            digits = digits * 10 + u128::from(digit - b'0');
            kept += usize::from(digits > 0);
            exponent -= i32::from(in_fraction);
        } else {
            exponent += i32::from(!in_fraction);
        }
    }
    Ok((Decimal { digits, exponent }, trimmed[number_end..].trim_start()))
}

impl Decimal {
    pub(crate) fn is_zero(self) -> bool {
        self.digits == 0
    }

    pub(crate) fn scale(self, factor: u64) -> Scaled {
        if self.digits == 0 {
            return Scaled::Exact(0);
        }
        let to_u64 = |n: Option<u128>| n.and_then(|n| u64::try_from(n).ok());
        if self.exponent >= 0 {
            let power = 10u128.checked_pow(self.exponent.unsigned_abs());
            let product = power.and_then(|p| self.digits.checked_mul(p)).and_then(|n| n.checked_mul(factor.into()));
            return to_u64(product).map_or(Scaled::TooLarge, Scaled::Exact);
        }
        let Some(divisor) = 10u128.checked_pow(self.exponent.unsigned_abs()) else { return Scaled::Rounded(0) };
        // Whole and fractional part apart, so that the product stays within 128 bits for every value that fits in 64.
        let (whole, part) = (self.digits / divisor, self.digits % divisor);
        let (part, divisor) = shorten(part, divisor, factor);
        let scaled_part = part * u128::from(factor);
        let rounded = (scaled_part + divisor / 2) / divisor;
        match to_u64(whole.checked_mul(factor.into()).and_then(|n| n.checked_add(rounded))) {
            None => Scaled::TooLarge,
            Some(n) if scaled_part.is_multiple_of(divisor) => Scaled::Exact(n),
            Some(n) => Scaled::Rounded(n),
        }
    }
}

/// Drops the last digits of a fraction until its product with `factor` fits in 128 bits.
fn shorten(mut part: u128, mut divisor: u128, factor: u64) -> (u128, u128) {
    while part.checked_mul(factor.into()).is_none() {
        part /= 10;
        divisor /= 10;
    }
    (part, divisor)
}

/// `value` in the largest unit that it reaches, with as many decimals as it needs. `units` ascend from 1.
pub(crate) fn print_decimal(f: &mut std::fmt::Formatter<'_>, value: u64, units: &[Unit]) -> std::fmt::Result {
    let mut chosen = units[0];
    for unit in units {
        if value >= unit.1 {
            chosen = *unit;
        }
    }
    let (name, factor) = chosen;
    let (whole, mut part) = (value / factor, value % factor);
    let mut text = whole.to_string();
    let mut weight = factor;
    if part > 0 {
        text.push('.');
        while part > 0 {
            weight /= 10;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the remainder of a power of ten by the next smaller one: a digit"
            )]
            let digit = (part / weight) as u8;
            text.push(char::from(b'0' + digit));
            part %= weight;
        }
    }
    text.push_str(name);
    f.pad(&text)
}

/// Serde and JSON Schema of a type that is a text with a unit.
macro_rules! as_text {
    ($type:ident, $quantity:literal, $json_type:tt, $expecting:literal, $pattern:literal, [$($example:literal),+] $(, $visit:item)*) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    $($visit)*
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl $type {
            /// The texts that can be read, as a regular expression: what an editor can tell before a file is run.
            pub const PATTERN: &'static str = $pattern;
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": $expecting,
                    "type": $json_type,
                    "x-quantity": $quantity,
                    "pattern": $pattern,
                    "minimum": 0,
                    "examples": [$($example),+],
                })
            }
        }
    };
}
pub(crate) use as_text;

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(text: &str, factor: u64) -> Scaled {
        split("a test", text, "1").unwrap().0.scale(factor)
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(scaled("0.1", 1_000_000_000), Scaled::Exact(100_000_000));
        assert_eq!(scaled("1.5e3", 1), Scaled::Exact(1_500));
        assert_eq!(scaled("1e-3", 1_000), Scaled::Exact(1));
        assert_eq!(scaled(".5", 2), Scaled::Exact(1));
        assert_eq!(scaled("18446744073709551615", 1), Scaled::Exact(u64::MAX));
    }

    #[test]
    fn what_is_finer_than_the_base_unit_is_rounded_and_said_so() {
        assert_eq!(scaled("0.30000000000000004", 1_000), Scaled::Rounded(300));
        assert_eq!(scaled("1e-900", 1_000), Scaled::Rounded(0));
        assert_eq!(scaled("0.33333333333333333333333333333333333333", 60_000_000_000), Scaled::Rounded(20_000_000_000));
    }

    #[test]
    fn numbers_beyond_64_bits_are_too_large() {
        assert_eq!(scaled("18446744073709551616", 1), Scaled::TooLarge);
        assert_eq!(scaled("1e30", 1), Scaled::TooLarge);
        assert_eq!(scaled("999999999999999999999999999999999999999999999", 1), Scaled::TooLarge);
    }

    #[test]
    fn files_hold_the_canonical_spelling() {
        use crate::{Bytes, Duration, Rate, Ratio};
        let values =
            (Rate::from_bits_per_sec(10_000_000), Duration::from_millis(20), Bytes::new(64_000), Ratio::new(0.01));
        let json = serde_json::to_string(&values).unwrap();
        assert_eq!(json, r#"["10mbit","20ms","64kB","1%"]"#);
        assert_eq!(serde_json::from_str::<(Rate, Duration, Bytes, Option<Ratio>)>(&json).unwrap(), values);
        let plain: (Rate, Duration, Bytes, Ratio) = serde_json::from_str(r#"[0, 0, 1500, 0.5]"#).unwrap();
        assert_eq!(plain, (Rate::ZERO, Duration::ZERO, Bytes::new(1_500), Ratio::new(0.5).unwrap()));
        assert!(serde_json::from_str::<Rate>("10").unwrap_err().to_string().contains("the unit is missing"));
        assert!(serde_json::from_str::<Bytes>("-1").unwrap_err().to_string().contains("cannot be negative"));
    }

    #[test]
    fn an_exponent_needs_digits_and_bounds() {
        assert_eq!(split("a test", "1e", "1").unwrap().1, "e");
        assert!(split("a test", "1e99999999999", "1").unwrap_err().reason.contains("exponent"));
    }
}
