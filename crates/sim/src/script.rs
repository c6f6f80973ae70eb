//! Changes of links at instants that are known when a run begins.

use dumbbell_path::Change;
use dumbbell_units::Time;

/// A link changes.
///
/// What was computed ahead is computed again: when packets leave the link, and the throughput that is counted of them.
/// Only a sender that waits for its own device (`completion = "wire"`) keeps the times that it was told for what the
/// device already has.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedChange {
    /// When: before everything else that happens at that instant.
    pub at: Time,
    /// Number of the link in the scenario.
    pub link: usize,
    /// What changes.
    pub change: Change,
}
