#![doc = include_str!("../README.md")]
//!
//! [`TARGETS`] lists what is fuzzed. Each target reads one case from bytes and says what went wrong with it; panics are
//! failures as well ([`Target::try_bytes`]).

mod draw;
mod features;
mod judge;
mod targets;

use dumbbell_units::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use draw::{Drawer, Reach};
pub use features::features;
pub use targets::{TARGETS, digest, events};

/// Bytes that a seed stands for.
const SEED_BYTES: usize = 4096;

/// Something that is fuzzed.
pub struct Target {
    /// Its name, and that of its folder in `corpus/`.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Whether what is accepted is run.
    pub runs: bool,
    /// Makes a case from bytes: the text that is kept when it fails.
    pub(crate) draw: fn(&[u8]) -> String,
    /// Runs a case.
    pub(crate) check: fn(&str) -> Result<Outcome, String>,
}

/// How a case that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was taken, or run to its end.
    Accepted,
    /// It was refused with an error as errors should be.
    Refused,
    /// The run was ended because it took too much time or memory.
    Stopped,
}

/// A case that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case.
    pub case: String,
    /// What went wrong.
    pub reason: String,
}

impl Target {
    /// The target of a name.
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Tries the case that `bytes` stand for.
    ///
    /// # Errors
    /// The case, and what went wrong.
    pub fn try_bytes(&self, bytes: &[u8]) -> Result<Outcome, Failure> {
        self.try_case(&self.case_from(bytes))
    }

    fn case_from(&self, bytes: &[u8]) -> String {
        targets::know_the_library();
        (self.draw)(bytes)
    }

    /// Tries the case of a seed.
    ///
    /// # Errors
    /// As [`Target::try_bytes`].
    pub fn try_seed(&self, seed: u64) -> Result<Outcome, Failure> {
        self.try_case(&self.case_of(seed))
    }

    /// The case of a seed.
    pub fn case_of(&self, seed: u64) -> String {
        let mut rng = Rng::new(seed);
        let bytes: Vec<u8> = (0..SEED_BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        self.case_from(&bytes)
    }

    /// Tries a case as it is kept in `corpus/`.
    ///
    /// # Errors
    /// As [`Target::try_bytes`].
    pub fn try_case(&self, case: &str) -> Result<Outcome, Failure> {
        targets::know_the_library();
        let result = catch_unwind(AssertUnwindSafe(|| (self.check)(case))).unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("panic: {}", message.unwrap_or_default()))
        });
        result.map_err(|reason| Failure { case: case.to_owned(), reason })
    }
}

/// Tries a case of a target, for fuzzers that choose the bytes.
///
/// # Panics
/// The case fails, or there is no such target.
pub fn must_hold(target: &str, bytes: &[u8]) {
    match Target::named(target).map(|target| target.try_bytes(bytes)) {
        Some(Ok(_)) => {}
        Some(Err(Failure { case, reason })) => panic!("{reason}\n{case}"),
        None => panic!("there is no target {target}"),
    }
}
