//! Rates in integer bits per second.

use crate::quantity::{ParseError, Scaled, Unit, as_text, print_decimal, split};
use crate::{Bytes, Duration};
use std::fmt;
use std::str::FromStr;

/// A rate in bits per second.
///
/// Reads tc's bit units (`"10mbit"`, powers of 1000; `"1mibit"`, powers of 1024) in any case, with or without `/s` or
/// `ps`, and `"10Mbps"` with a capital prefix as bits. `"10mbps"` is bytes for tc and bits for most people, `"10MBps"`
/// is bytes: both are refused with a hint. Prints the canonical spelling, for example `1.5mbit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

const PRINTED: [Unit; 5] =
    [("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000), ("tbit", 1_000_000_000_000)];
const ALLOWED: &str = "allowed units are bit, kbit, mbit, gbit, tbit, kibit, mibit, gibit (per second)";

impl Rate {
    /// No transmission.
    pub const ZERO: Rate = Rate(0);

    /// A rate of `bits` per second.
    #[inline]
    pub const fn from_bits_per_sec(bits: u64) -> Rate {
        Rate(bits)
    }

    /// Bits per second.
    #[inline]
    pub const fn as_bits_per_sec(self) -> u64 {
        self.0
    }

    /// Whole bytes transmitted in `span`; saturates.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let fail = |reason: String| ParseError { what: "a rate", read: text.to_owned(), reason };
        let (number, unit) = split("a rate", text, "10mbit")?;
        if unit.is_empty() {
            if number.is_zero() {
                return Ok(Rate::ZERO);
            }
            return Err(fail(format!("the unit is missing; {ALLOWED}, as in \"10mbit\"")));
        }
        let factor = unit_factor(unit).ok_or_else(|| fail(explain_unit(text.trim(), unit)))?;
        match number.scale(factor) {
            Scaled::Exact(bits) | Scaled::Rounded(bits) => Ok(Rate(bits)),
            Scaled::TooLarge => Err(fail("it is too large; the largest rate is 18446744 tbit".to_owned())),
        }
    }
}

/// Bits per second of one `unit`.
fn unit_factor(unit: &str) -> Option<u64> {
    if let Some(prefix @ ("K" | "M" | "G" | "T")) = unit.strip_suffix("bps") {
        return prefix_factor(&prefix.to_ascii_lowercase());
    }
    let lower = unit.to_ascii_lowercase();
    let stem = lower.strip_suffix("/s").or_else(|| lower.strip_suffix("ps")).unwrap_or(&lower);
    prefix_factor(stem.strip_suffix("bits").or_else(|| stem.strip_suffix("bit"))?)
}

fn prefix_factor(prefix: &str) -> Option<u64> {
    Some(match prefix {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1 << 40,
        _ => return None,
    })
}

/// Why `unit` is refused, with the spelling that was probably meant.
fn explain_unit(text: &str, unit: &str) -> String {
    let number = text[..text.len() - unit.len()].trim_end();
    let prefix = unit.chars().next().map_or(' ', |c| c.to_ascii_lowercase());
    let prefix = if "kmgt".contains(prefix) { prefix.to_string() } else { String::new() };
    let bits = format!("{number}{prefix}bit");
    let rest = &unit[prefix.len()..];
    match rest {
        "bps" | "bp/s" => format!(
            "\"{unit}\" means bytes per second to tc and bits per second to most people; write \"{bits}\" for bits"
        ),
        "Bps" | "B/s" | "Byte/s" | "byte/s" | "bytes/s" => {
            format!("\"{unit}\" is bytes per second; rates are in bits, so multiply by 8 and write \"{prefix}bit\"")
        }
        "b" | "b/s" | "" if !prefix.is_empty() || !rest.is_empty() => {
            format!("unknown unit \"{unit}\"; if you mean bits per second, write \"{bits}\"")
        }
        _ => format!("unknown unit \"{unit}\"; {ALLOWED}"),
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_decimal(f, self.0, &PRINTED)
    }
}

as_text!(
    Rate,
    "rate",
    "string",
    "a rate in bits per second with its unit, for example \"10mbit\" (powers of 1000)",
    r"^\s*(0+(\.0*)?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*([KMGT]bps|([kKmMgGtT][iI]?)?[bB][iI][tT][sS]?(/[sS]|[pP][sS])?))\s*$",
    ["10mbit", "1.5gbit", "64kbit"],
    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Rate, E> {
        n.to_string().parse().map_err(E::custom)
    },
    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Rate, E> {
        n.to_string().parse().map_err(E::custom)
    },
    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Rate, E> {
        n.to_string().parse().map_err(E::custom)
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(text: &str) -> u64 {
        text.parse::<Rate>().unwrap().as_bits_per_sec()
    }

    fn reason(text: &str) -> String {
        text.parse::<Rate>().unwrap_err().reason
    }

    #[test]
    fn the_spellings_of_tc_and_of_papers_are_bits() {
        for text in ["10mbit", "10Mbit", "10 Mbit/s", "10Mbps", "10mbit/s", "10 Mbits/s", "10000kbit", "10e6bit"] {
            assert_eq!(bits(text), 10_000_000, "{text}");
        }
        assert_eq!(bits("1gbit"), 1_000_000_000);
        assert_eq!(bits("64kbit"), 64_000);
        assert_eq!(bits("1.5Gbps"), 1_500_000_000);
        assert_eq!(bits("1mibit"), 1 << 20);
        assert_eq!(bits("0"), 0);
    }

    #[test]
    fn ambiguous_spellings_are_refused_with_the_unambiguous_one() {
        assert!(reason("10mbps").contains("write \"10mbit\" for bits"));
        assert!(reason("500kbps").contains("write \"500kbit\" for bits"));
        assert!(reason("10MBps").contains("bytes per second"));
        assert!(reason("10MB/s").contains("multiply by 8"));
        assert!(reason("10M").contains("write \"10mbit\""));
        assert!(reason("10bps").contains("write \"10bit\""));
        assert!(reason("10mb").contains("write \"10mbit\""));
    }

    #[test]
    fn a_rate_needs_a_unit_a_number_and_no_sign() {
        assert!(reason("10").contains("the unit is missing"));
        assert!(reason("-1mbit").contains("cannot be negative"));
        assert!(reason("fast").contains("does not start with a number"));
        assert!(reason("").contains("empty"));
        assert!(reason("10furlong").contains("allowed units are bit, kbit"));
        assert!(reason("1e40mbit").contains("too large"));
    }

    #[test]
    fn the_canonical_spelling_uses_the_largest_unit() {
        for text in ["10mbit", "1.5mbit", "1.448123gbit", "0bit", "999bit", "2tbit"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_rate_over_a_span_is_bytes() {
        let bdp = Rate::from_bits_per_sec(10_000_000).bytes_in(Duration::from_millis(40));
        assert_eq!(bdp, Bytes::new(50_000));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(bits: u64) {
            let rate = Rate::from_bits_per_sec(bits);
            prop_assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Rate>();
        }

        #[test]
        fn no_number_with_any_tail_panics(text in "[0-9.eE+-]{0,50}\\PC{0,5}") {
            let _ = text.parse::<Rate>();
        }
    }
}
