//! What is wrong with a parameter, and what was probably meant.

use std::fmt::Write;

/// Something that is wrong with a table of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The parameter, with dots where it stands in a table of its own; empty when the whole table is meant.
    pub key: String,
    /// What of it is wrong.
    pub place: Place,
    /// What was read and what is wrong with it.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// The part of an entry that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Its key.
    Key,
    /// Its value.
    Value,
    /// It is required and not there.
    Missing,
}

impl Problem {
    /// A problem with the value of `key`.
    pub fn value(key: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem { key: key.into(), place: Place::Value, message: message.into(), help: help.into() }
    }

    /// A problem with `key` itself.
    pub fn key(key: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem { place: Place::Key, ..Problem::value(key, message, help) }
    }

    /// `key` is required and not there.
    pub fn missing(key: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem { place: Place::Missing, ..Problem::value(key, message, help) }
    }

    /// A problem with the whole table.
    pub fn whole(message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::value("", message, help)
    }
}

/// The nearest of `allowed` to what was read, if it is near enough to be a slip.
pub fn nearest<'a>(read: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(read, &allowed.into_iter().collect::<Vec<_>>())
}

fn nearest_of<'a>(read: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let normal = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = normal(read);
    allowed
        .iter()
        .map(|&candidate| (strsim::damerau_levenshtein(&wanted, &normal(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(read.len()) / 3)
        // Slips are rarer at the beginning of a word.
        .min_by_key(|(distance, candidate)| {
            let shared = normal(candidate).chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
            (*distance, std::cmp::Reverse(shared))
        })
        .map(|(_, candidate)| candidate)
}

/// A longer list of what is allowed hides the suggestion.
const LONG_LIST: usize = 25;

/// "did you mean `x`? allowed: a, b, c".
pub fn suggest<'a>(read: &str, what: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    suggest_of(read, what, &allowed.into_iter().collect::<Vec<_>>())
}

fn suggest_of(read: &str, what: &str, allowed: &[&str]) -> String {
    let mut help = String::new();
    if let Some(near) = nearest_of(read, allowed) {
        let _ = write!(help, "did you mean `{near}`?");
        if allowed.len() > LONG_LIST {
            return help;
        }
        help.push(' ');
    }
    let _ = write!(help, "{what}: {}", if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") });
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let keys = ["rate", "rtt", "buffer", "start_jitter"];
        assert_eq!(nearest("rtte", keys), Some("rtt"));
        assert_eq!(nearest("bufer", keys), Some("buffer"));
        assert_eq!(nearest("start-jitter", keys), Some("start_jitter"));
        assert_eq!(nearest("zebra", keys), None);
    }
}
