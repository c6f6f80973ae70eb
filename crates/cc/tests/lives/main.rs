//! The life of every controller without a transport, compared with tables in `tests/snapshots/`.
//!
//! A life is a script: slow start into a queue, losses, marks, a restart after idle time, a timeout, an application
//! that has too little, a path that becomes longer. All of it happens on a grid of half a millisecond and with few
//! packets, so that windows, delays and counts meet the bounds of the rules exactly: that is where rules are wrong
//! first. Lives with tiny windows and with large ones follow the same script. A row has a digest of all that happened
//! until then; of lives with other parameters the tables have the last row.
//!
//! The tables hold no truth; they show what a change does to what nobody thought of. A change that means to alter
//! results updates them with
//!
//! ```text
//! DUMBBELL_UPDATE_SNAPSHOTS=1 cargo test -p dumbbell-cc --test lives
//! ```
//!
//! and the difference is part of its review.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod connection;
#[path = "../../../../tests/snapshots/digest.rs"]
mod digest;
mod path;
#[path = "../../../../tests/snapshots/tables.rs"]
mod tables;

use connection::Connection;
use dumbbell_cc::{Catalog, Recipe};
use dumbbell_units::Rng;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use tables::check;

/// What kind of life it is.
#[derive(Clone, Copy, Debug)]
struct Life {
    name: &'static str,
    /// Packets that the queue holds; an arriving one that finds so many is lost.
    queue: u32,
    /// Every so many packets one is lost or late at random; 0: none.
    accidents: u32,
    hz: u32,
    /// All times are so many times as long.
    slowness: u64,
    /// Packets that the path holds without a queue.
    width: u64,
    /// So many ACKs pass for one of the script.
    stretch: u32,
    cwnd_clamp: u32,
    /// The handshake has told the round-trip time.
    knows_rtt: bool,
}

const SHALLOW: Life = Life {
    name: "shallow",
    queue: 4,
    accidents: 0,
    hz: 1_000,
    slowness: 1,
    width: 10,
    stretch: 1,
    cwnd_clamp: u32::MAX,
    knows_rtt: true,
};

const LIVES: [Life; 5] = [
    SHALLOW,
    Life { name: "deep", queue: 24, hz: 250, ..SHALLOW },
    Life { name: "rough", queue: 12, accidents: 40, ..SHALLOW },
    Life { name: "slow", queue: 24, slowness: 10, ..SHALLOW },
    Life { name: "clamped", queue: 24, cwnd_clamp: 12, knows_rtt: false, ..SHALLOW },
];

/// Where windows are as small as they may be, and where they are large.
const OTHER_LIVES: [Life; 4] = [
    Life { name: "tiny", queue: 2, width: 2, ..SHALLOW },
    Life { name: "wide", queue: 60, width: 120, stretch: 5, hz: 250, ..SHALLOW },
    Life { name: "wide and shallow", queue: 8, width: 120, stretch: 5, accidents: 800, ..SHALLOW },
    Life { name: "huge", queue: 400, width: 800, stretch: 20, hz: 100, ..SHALLOW },
];

/// Every algorithm and variant, with rows along each life.
fn lives() -> String {
    let mut table = String::new();
    for entry in Catalog::builtin().entries() {
        let recipe = recipe(entry.name(), &Map::new()).unwrap();
        for life in LIVES {
            writeln!(table, "{}, {}", entry.name(), life.name).unwrap();
            for row in Connection::new(&recipe, life).live() {
                writeln!(table, "{row}").unwrap();
            }
        }
    }
    table
}

/// Other values of a parameter: the switch the other way round, half of a number, one more.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(is_on) => vec![json!(!is_on)],
        Value::Number(number) => match number.as_u64() {
            Some(whole) => vec![json!(whole / 2), json!(whole + 1)],
            None => number.as_f64().map(|real| json!(real / 2.0)).into_iter().collect(),
        },
        // "10ms", "65215B"
        Value::String(text) => {
            let digits = text.chars().take_while(char::is_ascii_digit).count();
            let (number, unit) = text.split_at(digits);
            number.parse::<u64>().map(|number| json!(format!("{}{unit}", 2 * number))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// How every algorithm and variant ends other lives, then each of their parameters with all its other values alone.
fn other_lives() -> String {
    let mut table = String::new();
    for entry in Catalog::builtin().entries() {
        write_ends(&mut table, &recipe(entry.name(), &Map::new()).unwrap(), &OTHER_LIVES);
    }
    for entry in Catalog::builtin().entries().filter(|entry| entry.base().is_none()) {
        for (key, value) in entry.parameters(&Map::new()).unwrap() {
            for other in others(&value) {
                if let Some(recipe) = recipe(entry.name(), &Map::from_iter([(key.clone(), other)])) {
                    write_ends(&mut table, &recipe, &[LIVES[1], LIVES[4], OTHER_LIVES[0], OTHER_LIVES[2]]);
                }
            }
        }
    }
    table
}

/// Every algorithm with each of its parameters changed alone: the ends of all lives for switches, of two for others.
fn lives_with_other_parameters() -> String {
    let mut table = String::new();
    for entry in Catalog::builtin().entries().filter(|entry| entry.base().is_none()) {
        for (key, value) in entry.parameters(&Map::new()).unwrap() {
            let parameters = others(&value).into_iter().map(|other| Map::from_iter([(key.clone(), other)]));
            let Some(recipe) = parameters.into_iter().find_map(|other| recipe(entry.name(), &other)) else { continue };
            write_ends(&mut table, &recipe, if value.is_boolean() { &LIVES[..] } else { &LIVES[2..4] });
        }
    }
    for (name, beta) in [("reno", 0.8), ("cubic", 0.85), ("cubic-rfc", 0.85)] {
        let parameters = Map::from_iter([("beta_ecn".to_owned(), json!(beta))]);
        write_ends(&mut table, &recipe(name, &parameters).unwrap(), &LIVES);
    }
    // Marks count for BBR on short paths, and a path of 10 ms is short here.
    for name in ["bbr2", "bbr3"] {
        for key in ["ecn", "ecn_echo_needs_eligibility", "ecn_threshold_strict"] {
            let mut parameters =
                Map::from_iter([("ecn_max_rtt".to_owned(), json!("20ms")), ("ecn".to_owned(), json!(true))]);
            let is_on = Catalog::builtin().find(name).unwrap().parameters(&Map::new()).unwrap()[key] == true;
            parameters.insert(key.to_owned(), json!(key == "ecn" || !is_on));
            write_ends(&mut table, &recipe(name, &parameters).unwrap(), &LIVES);
        }
    }
    table
}

fn recipe(name: &str, parameters: &Map<String, Value>) -> Option<Recipe> {
    Catalog::builtin().recipe(name, parameters).ok()
}

/// The last row of each life.
fn write_ends(table: &mut String, recipe: &Recipe, lives: &[Life]) {
    writeln!(table, "{}, {}", recipe.name(), Value::Object(recipe.changed().clone())).unwrap();
    for life in lives {
        let rows = Connection::new(recipe, *life).live();
        writeln!(table, "{:>16}: {}", life.name, rows.last().unwrap().trim_start()).unwrap();
    }
}

#[test]
fn the_lives_of_all_controllers_are_unchanged() {
    check("lives.txt", &lives());
}

#[test]
fn the_lives_of_controllers_with_other_parameters_are_unchanged() {
    check("lives-parameters.txt", &lives_with_other_parameters());
}

#[test]
fn the_lives_of_controllers_with_tiny_and_large_windows_are_unchanged() {
    check("lives-elsewhere.txt", &other_lives());
}

/// A random generator of its own for everything that is not the controller.
fn accidents() -> Rng {
    Rng::new(7)
}
