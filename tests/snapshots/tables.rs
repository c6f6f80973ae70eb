//! Tables of results, compared with those beside this file. Test binaries of several crates include it.

use std::fmt::Write;
use std::path::PathBuf;

const UPDATE: &str = "DUMBBELL_UPDATE_SNAPSHOTS";

/// Whether the tables are to be written anew.
pub fn is_update() -> bool {
    std::env::var_os(UPDATE).is_some_and(|value| value == "1")
}

fn path_of(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "tests", "snapshots", name].iter().collect()
}

/// The committed table.
pub fn committed(name: &str) -> String {
    std::fs::read_to_string(path_of(name)).unwrap_or_default().replace("\r\n", "\n")
}

/// Compares with the committed table, or replaces it when asked to.
pub fn check(name: &str, table: &str) {
    if is_update() {
        std::fs::write(path_of(name), table).unwrap();
        return;
    }
    let committed = committed(name);
    if committed == table {
        return;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (committed.lines().collect(), table.lines().collect());
    let mut difference = String::new();
    for i in 0..old.len().max(new.len()) {
        let (was, is) = (old.get(i), new.get(i));
        if was != is {
            for (sign, line) in [("-", was), ("+", is)] {
                if let Some(line) = line {
                    writeln!(difference, "{sign}{line}").unwrap();
                }
            }
        }
    }
    panic!(
        "results differ from tests/snapshots/{name}:\n {}\n{difference}\
         If this is meant, set {UPDATE}=1, run these tests of {} again, and commit the file.",
        old.first().unwrap_or(&""),
        env!("CARGO_PKG_NAME")
    );
}
