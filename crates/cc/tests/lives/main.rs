//! The life of every controller without a transport, compared with tables in `tests/snapshots/`.
//!
//! A life is a script: slow start into a queue, losses, marks, a restart after idle time, a timeout, an application that has
//! too little, a path that becomes longer. All of it happens on a grid of half a millisecond and with few packets, so that
//! windows, delays and counts meet the bounds of the rules exactly: that is where rules are wrong first.
//!
//! The tables hold no truth; they show what a change does to what nobody thought of. A change that means to alter results
//! updates them with
//!
//! ```text
//! DUMBBELL_UPDATE_SNAPSHOTS=1 cargo test -p dumbbell-cc --test lives
//! ```
//!
//! and the difference is part of its review.

mod connection;
mod path;
#[path = "../../../../tests/snapshots/tables.rs"]
mod tables;

use connection::Connection;
use dumbbell_cc::Catalog;
use dumbbell_units::Rng;
use serde_json::{Map, Value};
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
    cwnd_clamp: u32,
    /// The handshake has told the round-trip time.
    knows_rtt: bool,
}

const SHALLOW: Life =
    Life { name: "shallow", queue: 4, accidents: 0, hz: 1_000, slowness: 1, cwnd_clamp: u32::MAX, knows_rtt: true };

const LIVES: [Life; 5] = [
    SHALLOW,
    Life { name: "deep", queue: 24, hz: 250, ..SHALLOW },
    Life { name: "rough", queue: 12, accidents: 40, ..SHALLOW },
    Life { name: "slow", queue: 24, slowness: 10, ..SHALLOW },
    Life { name: "clamped", queue: 24, cwnd_clamp: 12, knows_rtt: false, ..SHALLOW },
];

/// Every algorithm and variant, with rows along each life.
fn lives() -> String {
    let mut table = String::new();
    for entry in Catalog::builtin().entries() {
        for life in LIVES {
            writeln!(table, "{}, {}", entry.name(), life.name).unwrap();
            Connection::new(entry.name(), &Map::new(), life).live(Some(&mut table));
        }
    }
    table
}

/// Every switch of every algorithm the other way round: a digest of each life.
fn lives_with_other_switches() -> String {
    let mut table = String::new();
    for entry in Catalog::builtin().entries().filter(|entry| entry.base().is_none()) {
        for (key, value) in entry.parameters(&Map::new()).unwrap() {
            if let Value::Bool(is_on) = value {
                let parameters = Map::from_iter([(key.clone(), Value::Bool(!is_on))]);
                write!(table, "{}, {key} = {}:", entry.name(), !is_on).unwrap();
                for life in LIVES {
                    write!(table, " {}", Connection::new(entry.name(), &parameters, life).live(None)).unwrap();
                }
                table.push('\n');
            }
        }
    }
    table
}

#[test]
fn the_lives_of_all_controllers_are_unchanged() {
    check("lives.txt", &lives());
}

#[test]
fn the_lives_of_controllers_with_other_switches_are_unchanged() {
    check("lives-switches.txt", &lives_with_other_switches());
}

/// A random generator of its own for everything that is not the controller.
fn accidents() -> Rng {
    Rng::new(7)
}
