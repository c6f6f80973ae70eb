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

/// What other tools, papers and kernels call something, and what it is called here.
const OTHER_WORDS: [(&str, &[&str]); 15] = [
    ("rate", &["bandwidth", "bw", "capacity", "link_rate", "throughput"]),
    ("duration", &["dur", "length", "runtime", "seconds", "time"]),
    ("delay", &["latency", "one_way_delay", "owd"]),
    ("buffer", &["buf", "qlen", "qsize", "queue_length", "queue_limit", "queue_size"]),
    ("queue", &["aqm", "discipline", "qdisc", "queue_discipline"]),
    ("loss", &["drop", "drop_rate", "loss_rate", "packet_loss", "plr"]),
    ("cc", &["alg", "algorithm", "cca", "congestion", "congestion_control", "controller"]),
    ("count", &["n", "num", "number"]),
    ("bytes", &["flow_size", "size", "transfer"]),
    ("initial_cwnd", &["init_cwnd", "initcwnd", "initial_window", "iw"]),
    ("reno", &["new_reno", "newreno"]),
    ("lp", &["tcp_lp"]),
    ("droptail", &["bfifo", "pfifo", "tail_drop", "taildrop"]),
    ("dualpi2", &["dualq", "l4s"]),
    ("fq", &["sfq"]),
];

/// The one of `allowed` that other tools call so.
fn known_elsewhere<'a>(wanted: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let (here, _) = OTHER_WORDS.iter().find(|(here, words)| words.contains(&wanted) && allowed.contains(here))?;
    allowed.iter().copied().find(|word| word == here)
}

fn nearest_of<'a>(read: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let normal = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = normal(read);
    let slips = |candidate: &str| {
        let shorter = candidate.len().min(read.len());
        // Of three letters two that differ make another word.
        (1 + shorter / 3).min(shorter.saturating_sub(2)).max(1)
    };
    if let Some(word) = known_elsewhere(&wanted, allowed) {
        return Some(word);
    }
    allowed
        .iter()
        .map(|&candidate| (strsim::damerau_levenshtein(&wanted, &normal(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= slips(candidate))
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
        assert_eq!(nearest("gcc", ["bic", "cubic"]), None, "two of three letters differ");
    }

    #[test]
    fn words_of_other_tools_lead_to_those_that_mean_the_same_where_these_are_allowed() {
        let link = ["rate", "delay", "buffer", "queue", "loss"];
        for (read, here) in
            [("bw", "rate"), ("Bandwidth", "rate"), ("qdisc", "queue"), ("queue-size", "buffer"), ("latency", "delay")]
        {
            assert_eq!(nearest(read, link), Some(here), "{read}");
        }
        assert_eq!(nearest("bw", ["cc", "count"]), None);
        assert_eq!(nearest("congestion_control", ["cc", "count"]), Some("cc"));
        assert!(OTHER_WORDS.iter().all(|(here, words)| !words.contains(here)));
    }
}
