//! What was drawn at random for a packet.

use crate::delay::Passage;
use dumbbell_units::Time;

/// When a packet leaves the transmitter, and what happens to it then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drawn {
    pub(super) departs: Time,
    /// How it passes the pipe; `None` if it is lost.
    pub(super) passage: Option<Passage>,
}
