//! Every option of a link under traffic on a grid of times, compared with a table in `tests/snapshots/`.
//!
//! A full packet takes a millisecond, packets come at multiples of a quarter of one and with few sizes, and the
//! parameters are round: so waiting times, backlogs and counts meet the bounds of the rules exactly, which is where
//! rules are wrong first. A row has the final counters and a digest of every decision on the way. Links and radio
//! channels that have several things at a time are drawn.
//!
//! The table holds no truth; it shows what a change does to what nobody thought of. A change that means to alter
//! results updates it with
//!
//! ```text
//! DUMBBELL_UPDATE_SNAPSHOTS=1 cargo test -p dumbbell-path --lib grid
//! ```
//!
//! and the difference is part of its review.

#[path = "../../../../tests/snapshots/digest.rs"]
mod digest;
mod options;
#[path = "../../../../tests/snapshots/tables.rs"]
mod tables;
mod traffic;
mod wifi;

use crate::wifi::AccessCategory;
use crate::{Delay, LinkConfig, LinkContext, LinkRate, LossRecipe, QueueLimit, QueueRecipe};
use dumbbell_units::Rate;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::sync::Arc;
use tables::check;
use traffic::Traffic;

/// A full packet a millisecond.
const RATE: u64 = 12_000_000;

fn context(limit: QueueLimit) -> LinkContext {
    LinkContext { rate: Some(Rate::from_bits_per_sec(RATE)), limit, ..LinkContext::default() }
}

fn table_of(json: &str) -> (String, Map<String, Value>) {
    let mut table: Map<String, Value> = serde_json::from_str(json).unwrap();
    let kind = table.remove("kind").unwrap();
    (kind.as_str().unwrap().to_owned(), table)
}

fn queue(json: &str, limit: QueueLimit) -> QueueRecipe {
    let (kind, table) = table_of(json);
    crate::queue::catalog().resolve(&kind, &table, &context(limit)).unwrap()
}

fn loss(json: &str) -> LossRecipe {
    let (kind, table) = table_of(json);
    crate::loss::catalog().resolve(&kind, &table, &context(QueueLimit::default())).unwrap()
}

fn plain() -> LinkConfig {
    LinkConfig {
        name: String::from("link"),
        rate: LinkRate::Constant(RATE),
        overhead_bytes: 0,
        delay: Delay::default(),
        policer: None,
        limit: QueueLimit { packets: Some(20), ..QueueLimit::default() },
        queue: QueueRecipe::default(),
        loss_before: None,
        loss_after: None,
        impairments: Arc::default(),
    }
}

#[test]
fn every_queue_decides_as_it_did() {
    let mut table = String::new();
    for json in options::QUEUES {
        for (name, limit) in options::limits() {
            let config = LinkConfig { limit, queue: queue(json, limit), ..plain() };
            writeln!(table, "{json}, {name}: {}", Traffic::new(config, &[]).run()).unwrap();
        }
        let limit = QueueLimit { packets: Some(60), ..QueueLimit::default() };
        for (name, rate) in options::rates() {
            let config = LinkConfig { rate, limit, queue: queue(json, limit), ..plain() };
            writeln!(table, "{json}, {name}: {}", Traffic::new(config, &[]).run()).unwrap();
        }
    }
    check("grid-queues.txt", &table);
}

#[test]
fn every_kind_of_queue_and_of_loss_has_a_place_here() {
    let has = |tables: &[&str], kind: &str| tables.iter().any(|table| table.contains(&format!("\"kind\": \"{kind}\"")));
    for kind in crate::queue::catalog().kinds() {
        assert!(has(&options::QUEUES, kind.name), "{}", kind.name);
    }
    for kind in crate::loss::catalog().kinds() {
        assert!(has(&options::LOSSES, kind.name), "{}", kind.name);
    }
}

#[test]
fn every_other_part_of_a_link_does_as_it_did() {
    let mut table = String::new();
    for (name, config) in options::parts() {
        writeln!(table, "{name}: {}", Traffic::new(config, &[]).run()).unwrap();
    }
    check("grid-parts.txt", &table);
}

#[test]
fn links_that_are_changed_on_the_way_do_as_they_did() {
    let mut table = String::new();
    for json in ["{\"kind\": \"droptail\"}", "{\"kind\": \"codel\"}", "{\"kind\": \"red\"}"] {
        let config = LinkConfig { queue: queue(json, plain().limit), ..plain() };
        for (name, changes) in options::changes() {
            writeln!(table, "{json}, {name}: {}", Traffic::new(config.clone(), &changes).run()).unwrap();
        }
    }
    check("grid-changes.txt", &table);
}

#[test]
fn links_and_channels_with_several_things_at_a_time_do_as_they_did() {
    let mut table = String::new();
    for number in 1..=400 {
        let (name, config, changes) = options::drawn(number);
        writeln!(table, "{number}, {name}: {}", Traffic::new(config, &changes).seeded(number).run()).unwrap();
    }
    for number in 1..=100 {
        writeln!(table, "{number}, {}", wifi::drawn(number)).unwrap();
    }
    check("grid-drawn.txt", &table);
}

#[test]
fn stations_on_a_radio_channel_do_as_they_did() {
    let mut table = String::new();
    let categories = [AccessCategory::Voice, AccessCategory::BestEffort, AccessCategory::Background];
    for json in wifi::OPTIONS.into_iter().chain([wifi::AWAY]) {
        writeln!(table, "{json}: {}", wifi::run(json, None, &[])).unwrap();
        writeln!(table, "{json}, errors: {}", wifi::run(json, wifi::SOME, &[])).unwrap();
    }
    writeln!(table, "categories: {}", wifi::run("{\"mcs\": 2}", None, &categories)).unwrap();
    check("grid-wifi.txt", &table);
}
