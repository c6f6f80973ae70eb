//! What is fuzzed, one file each.

mod dictionary;
mod extreme;
mod file;
mod run;
mod trace;
mod twin;

use crate::{Outcome, Target};
use dumbbell_scenario::{Experiment, ScenarioErrors, json_schema};
use serde_json::Value;
use std::sync::{LazyLock, Once};

pub use run::{digest, events};

/// Everything that is fuzzed.
pub const TARGETS: &[Target] = &[
    Target {
        name: "file",
        about: "the text of an experiment, with slips of the pen: read, refused with a place, and read again as written back",
        runs: false,
        draw: file::draw,
        check: file::check,
    },
    Target {
        name: "dictionary",
        about: "an experiment as a dictionary with values at and beyond every limit",
        runs: false,
        draw: dictionary::draw,
        check: dictionary::check,
    },
    Target {
        name: "trace",
        about: "traces of capacity and of delay",
        runs: false,
        draw: trace::draw,
        check: trace::check,
    },
    Target {
        name: "run",
        about: "an experiment that can be run, to its end, with everything that must hold of it",
        runs: true,
        draw: run::draw,
        check: run::check,
    },
    Target {
        name: "extreme",
        about: "a run with parameters of endpoints and controllers at the ends of their ranges",
        runs: true,
        draw: extreme::draw,
        check: run::check,
    },
    Target {
        name: "twin",
        about: "a run whose packets are carried one by one, with the tables of one whose packets are not",
        runs: true,
        draw: twin::draw,
        check: twin::check,
    },
];

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&json_schema()).unwrap_or_default());

/// Makes the transport of the QUIC library known, so that it is drawn and read. The library's own controllers stay unknown, since one
/// of them does not repeat.
pub fn know_the_library() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(dumbbell_quic::register(&mut dumbbell_cc_family::catalog().clone())));
}

/// An experiment that was accepted is explained, written back and read again as the same one.
fn accepted(experiment: &Experiment) -> Result<Outcome, String> {
    const FEW: usize = 3;
    if experiment.explain().is_empty() {
        return Err("the experiment is explained in no word".to_owned());
    }
    for point in experiment.points().iter().take(FEW) {
        let written = point.resolved_toml();
        let again = Experiment::from_toml(&written, "written.toml", &[])
            .map_err(|errors| format!("what was written back is refused:\n{errors}\n{written}"))?;
        let (before, after) = (point.content_hash(), again.points()[0].content_hash());
        if before != after {
            return Err(format!("read again it is another experiment: {before}, {after}\n{written}"));
        }
    }
    Ok(Outcome::Accepted)
}

/// Errors name a place that exists, and say something that a terminal can show.
fn refused(errors: &ScenarioErrors, text: Option<&str>) -> Result<Outcome, String> {
    if errors.errors().is_empty() {
        return Err("refused without an error".to_owned());
    }
    for error in errors.errors() {
        let said = error.to_string();
        if error.message.is_empty() || said.chars().any(|c| c.is_control() && !"\n\t".contains(c)) {
            return Err(format!("an error that cannot be shown: {said:?}"));
        }
        if let Some(text) = text {
            let lines = text.split('\n').count();
            if !error.line.is_some_and(|line| (1..=lines).contains(&line)) && !error.key.is_empty() {
                return Err(format!("an error without a line of the file's {lines}: {said}"));
            }
        }
    }
    Ok(Outcome::Refused)
}
