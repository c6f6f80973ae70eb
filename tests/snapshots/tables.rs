//! Tables of results, compared with those beside this file. Test binaries of several crates include it.

use std::fmt;
use std::path::PathBuf;

const UPDATE: &str = "DUMBBELL_UPDATE_SNAPSHOTS";

/// Compares with the committed table, or replaces it when asked to.
pub fn check(name: &str, table: &str) {
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "tests", "snapshots", name].iter().collect();
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        std::fs::write(file, table).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default().replace("\r\n", "\n");
    let mut differences = committed.lines().zip(table.lines()).filter(|(was, is)| was != is);
    if let Some((was, is)) = differences.next() {
        let more = differences.count();
        panic!("{name}: {more} more rows differ after\n-{was}\n+{is}\nIf this is meant, set {UPDATE}=1");
    }
    assert_eq!(committed.lines().count(), table.lines().count(), "{name}: if this is meant, set {UPDATE}=1");
}

/// One number for all that was seen. Each value moves it to another one: a product with an odd number has an inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    pub fn new() -> Digest {
        Digest(0)
    }

    pub fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// A real number by its bits; all that are no numbers are the same.
    pub fn add_real(&mut self, value: f64) {
        self.add(if value.is_nan() { u64::MAX } else { value.to_bits() });
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
