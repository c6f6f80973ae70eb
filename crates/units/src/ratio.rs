//! Shares and probabilities.

use crate::quantity::{ParseError, as_text};
use std::fmt;
use std::str::FromStr;

/// A share of a whole: finite and not negative; 1 is all of it.
///
/// Reads `"0.1%"`, `"0.001"` and, in files, a plain number. Prints percent. Whether a ratio above 1 makes sense is for
/// its user to decide ([`Ratio::is_probability`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Ratio = Ratio(0.0);

    /// The ratio `value`; `None` when it is negative or not finite.
    pub fn new(value: f64) -> Option<Ratio> {
        // Adding zero turns -0 into 0, so that equal ratios print equally.
        (value.is_finite() && value >= 0.0).then_some(Ratio(value + 0.0))
    }

    /// The ratio as a number: 0.5 for `50%`.
    #[inline]
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// Whether it lies within 0..=1.
    pub fn is_probability(self) -> bool {
        self.0 <= 1.0
    }
}

impl FromStr for Ratio {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Ratio, ParseError> {
        let fail = |reason: &str| ParseError { what: "a ratio", read: text.to_owned(), reason: reason.to_owned() };
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(fail("a ratio cannot be negative"));
        }
        let (number, percent) = match trimmed.strip_suffix('%') {
            Some(number) => (number.trim_end(), true),
            None => (trimmed, false),
        };
        let wrong = || fail("write a percentage or a number, as in \"0.1%\" or 0.001");
        // `f64::from_str` also reads names such as "inf".
        if !number.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(wrong());
        }
        let value: f64 =
            if percent { scale_by_hundredth(number) } else { number.to_owned() }.parse().map_err(|_| wrong())?;
        Ratio::new(value).ok_or_else(|| fail("it is too large"))
    }
}

/// The decimal `number` divided by 100, as text: dividing in floating point would round twice.
fn scale_by_hundredth(number: &str) -> String {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) => format!("{mantissa}e{}", exponent.saturating_sub(2)),
        Err(_) => number.to_owned() + "%",
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest decimal of the value with its point moved by two digits: reads back as the same value.
        let plain = self.0.to_string();
        let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
        let padded = format!("{part:0<2}");
        let (moved, part) = padded.split_at(2);
        let digits = format!("{whole}{moved}");
        let whole = digits.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        if part.is_empty() { f.pad(&format!("{whole}%")) } else { f.pad(&format!("{whole}.{part}%")) }
    }
}

as_text!(
    Ratio,
    "ratio",
    ["string", "number"],
    "a percentage or a number, for example \"0.1%\" or 0.001",
    r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*%?\s*$",
    ["0.1%", "1%"],
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Ratio, E> {
        Ratio::new(value).ok_or_else(|| E::custom(format!("cannot read {value} as a ratio: it must be at least 0")))
    },
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Ratio, E> {
        self.visit_f64(value as f64)
    },
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Ratio, E> {
        self.visit_f64(value as f64)
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ratio(text: &str) -> f64 {
        text.parse::<Ratio>().unwrap().as_f64()
    }

    #[test]
    fn percentages_and_numbers_are_the_same_ratio() {
        assert_eq!(ratio("0.1%"), 0.001);
        assert_eq!(ratio("0.001"), 0.001);
        assert_eq!(ratio("1%"), 0.01);
        assert_eq!(ratio("100 %"), 1.0);
        assert_eq!(ratio("1e-4%"), 1e-6);
        assert_eq!(ratio("150%"), 1.5);
    }

    #[test]
    fn what_is_no_ratio_is_refused() {
        for text in ["-1%", "inf", "nan", "1%%", "half", "", "%", "1e999", "1e99999999999%"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }

    #[test]
    fn ratios_print_as_percent() {
        for text in ["0.1%", "0%", "1%", "50%", "100%", "12.5%", "0.00001%"] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(value in 0.0f64..1e6) {
            let ratio = Ratio::new(value).unwrap();
            prop_assert_eq!(ratio.to_string().parse::<Ratio>().unwrap(), ratio);
        }

        #[test]
        fn tiny_ratios_read_back_too(exponent in -300i32..0) {
            let ratio = Ratio::new(10f64.powi(exponent) * 1.234_567).unwrap();
            prop_assert_eq!(ratio.to_string().parse::<Ratio>().unwrap(), ratio);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Ratio>();
        }
    }
}
