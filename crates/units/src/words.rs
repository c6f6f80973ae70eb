//! Quantities in the words of a report: `20 ms`, `10 Mbit/s`, `50 000 bytes`.

use crate::{Bytes, Duration, Rate};

impl Duration {
    /// `20 ms`.
    pub fn in_words(self) -> String {
        let text = self.to_string();
        let digits = text.trim_end_matches(char::is_alphabetic);
        format!("{digits} {}", &text[digits.len()..])
    }
}

impl Rate {
    /// `10 Mbit/s`.
    pub fn in_words(self) -> String {
        let text = self.to_string();
        let digits = text.trim_end_matches(char::is_alphabetic);
        let unit = match &text[digits.len()..] {
            "kbit" => "kbit/s",
            "mbit" => "Mbit/s",
            "gbit" => "Gbit/s",
            "tbit" => "Tbit/s",
            _ => "bit/s",
        };
        // Four significant digits are enough for a report: means have many more.
        let number: f64 = digits.parse().unwrap_or(0.0);
        let decimals = if digits.len() > 6 { 2 } else { digits.split_once('.').map_or(0, |(_, part)| part.len()) };
        format!("{number:.decimals$} {unit}")
    }
}

impl Bytes {
    /// `50 000 bytes`.
    pub fn in_words(self) -> String {
        format!("{} bytes", grouped(self.as_u64()))
    }
}

/// `50 000`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_easy_to_read() {
        assert_eq!(Duration::from_millis(20).in_words(), "20 ms");
        assert_eq!(Rate::from_bits_per_sec(10_000_000).in_words(), "10 Mbit/s");
        assert_eq!(Rate::from_bits_per_sec(9_876_543_210).in_words(), "9.88 Gbit/s");
        assert_eq!(Bytes::new(50_000).in_words(), "50 000 bytes");
        assert_eq!((grouped(7), grouped(1_234_567)), ("7".to_owned(), "1 234 567".to_owned()));
    }
}
