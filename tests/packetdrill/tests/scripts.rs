//! The scripts of this repository hold, and those of `DUMBBELL_PACKETDRILL` are judged.

#![allow(clippy::unwrap_used, reason = "tests")]

use dumbbell_packetdrill::{Row, Subject, Table, run_folder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

/// Script and what the endpoints are missing for it.
fn expected_failures() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(scripts().join("expected-failures.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let (script, missing) = line.split_once("  ").expect("a script, two blanks, and what is missing");
        (script.to_owned(), missing.trim().to_owned())
    };
    lines.map(entry).collect()
}

#[test]
fn every_script_of_the_repository_holds_but_for_what_is_known_to_be_missing() {
    let mut missing = expected_failures();
    let mut wrong = Vec::new();
    for row in run_folder(&scripts(), Subject::Endpoints).unwrap().rows {
        let (verdict, reason) = row.verdict();
        match missing.remove(&row.name) {
            Some(what) if row.holds() => {
                wrong.push(format!("{}: holds now; take it off expected-failures.txt ({what})", row.name));
            }
            None if !row.holds() => wrong.push(format!("{}: {verdict}: {reason}", row.name)),
            _ => {}
        }
    }
    wrong
        .extend(missing.keys().map(|name| format!("{name}: expected-failures.txt names a script that does not exist")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The kernel of this machine is the authority on the scripts of the repository.
#[test]
fn every_script_of_the_repository_holds_on_the_kernel_of_this_machine() {
    if std::env::var_os("DUMBBELL_PACKETDRILL_LIVE").is_none() {
        return;
    }
    let table = run_folder(&scripts(), Subject::Kernel).unwrap();
    println!("{table}");
    let is_right = |row: &Row| row.holds() || row.cannot_be_asked();
    assert!(table.rows.iter().all(is_right), "some scripts do not hold; the table says why");
}

/// Anybody's collection: its table is printed (`-- --nocapture`), and nothing in it may fail.
#[test]
fn the_scripts_of_a_collection_hold() {
    let Some(folder) = std::env::var_os("DUMBBELL_PACKETDRILL").map(PathBuf::from) else { return };
    let table: Table =
        run_folder(&folder, Subject::Endpoints).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    println!("{table}");
    assert!(!table.rows.iter().any(Row::fails), "some scripts do not hold; the table says why");
}
