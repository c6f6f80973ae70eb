//! Both ends of every transport over a small network on a grid of times, compared with a table in `tests/snapshots/`.
//!
//! The network takes a packet a millisecond, and losses, copies, marks, packets that come late and an outage strike at
//! fixed places; the application writes little and much, with pauses. Everything happens at multiples of a quarter of a
//! millisecond, so that counts and times meet the bounds of the rules exactly: that is where rules are wrong first. A
//! row has what both ends count at a stage of the story, and a digest of every packet and of all that the sender shows.
//! Other paths, accidents and applications are drawn; the table has the last row of each such story.
//!
//! The table holds no truth; it shows what a change does to what nobody thought of. A change that means to alter
//! results updates it with
//!
//! ```text
//! DUMBBELL_UPDATE_SNAPSHOTS=1 cargo test -p dumbbell-transport --test wire
//! ```
//!
//! and the difference is part of its review.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod datagrams;
#[path = "../../../../tests/snapshots/digest.rs"]
mod digest;
mod network;
mod options;
mod story;
#[path = "../../../../tests/snapshots/tables.rs"]
mod tables;
mod tcp;

use dumbbell_cc::{Catalog, Controller};
use dumbbell_transport::TransportConfig;
use dumbbell_units::Rng;
use serde_json::{Map, Value};
use std::fmt::Write;
use story::{Ends, Plan, Story};
use tables::check;

fn controller(name: &str) -> Box<dyn Controller> {
    Catalog::builtin().build(name, &Map::new(), Rng::new(1)).unwrap()
}

/// A profile with the values of a JSON object in place of its own.
fn config(profile: &str, json: &str) -> TransportConfig {
    let profile = TransportConfig::profile(profile).unwrap();
    let mut config = serde_json::to_value(&profile).unwrap();
    let changes: Map<String, Value> = serde_json::from_str(json).unwrap();
    for (key, value) in changes {
        match (&mut config[&key], value) {
            (Value::Object(inner), Value::Object(changed)) => inner.extend(changed),
            (whole, changed) => *whole = changed,
        }
    }
    let config: TransportConfig = serde_json::from_value(config).unwrap();
    assert!(config.check().is_empty(), "{json}: {:?}", config.check());
    config
}

#[test]
fn tcp_puts_on_the_wire_what_it_did() {
    let mut table = String::new();
    for (cc, json) in options::tcp() {
        let story = Story::new(tcp::Tcp::new(config("tcp", json), controller(cc)), Plan::told());
        story.tell(&format!("{cc}, {json}"), &mut table);
    }
    check("wire-tcp.txt", &table);
}

#[test]
fn other_transports_put_on_the_wire_what_they_did() {
    let mut table = String::new();
    for (profile, cc, json) in options::others() {
        let story = Story::new(datagrams::Datagrams::new(&config(profile, json), controller(cc)), Plan::told());
        story.tell(&format!("{profile}, {cc}, {json}"), &mut table);
    }
    check("wire-others.txt", &table);
}

/// How many drawn stories there are of each set of options.
const DRAWN: u64 = 10;

/// Drawn stories with the ends that `ends` makes: the last row of each.
fn tell_drawn<E: Ends>(name: &str, table: &mut String, ends: impl Fn() -> E) {
    writeln!(table, "{name}").unwrap();
    for number in 1..=DRAWN {
        let mut rows = String::new();
        Story::new(ends(), Plan::drawn(number)).tell("", &mut rows);
        writeln!(table, "{number:>4} at {}", rows.lines().last().unwrap().trim_start()).unwrap();
    }
}

#[test]
fn in_drawn_stories_all_transports_put_on_the_wire_what_they_did() {
    let mut table = String::new();
    for (cc, json) in options::tcp() {
        tell_drawn(&format!("{cc}, {json}"), &mut table, || tcp::Tcp::new(config("tcp", json), controller(cc)));
    }
    for (profile, cc, json) in options::others() {
        let ends = || datagrams::Datagrams::new(&config(profile, json), controller(cc));
        tell_drawn(&format!("{profile}, {cc}, {json}"), &mut table, ends);
    }
    check("wire-drawn.txt", &table);
}
