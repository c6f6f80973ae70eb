//! Congestion controllers: pure state machines, one file an algorithm.
//!
//! A controller sees a [`View`] of the connection it governs (what a Linux congestion-control module sees of
//! `struct tcp_sock`), is called at the events of [`Controller`], and answers by writing its [`Control`]: the congestion
//! window, the slow-start threshold, the pacing rate. It knows no clock, no socket and no other connection. Decisions are
//! taken in integers with the kernel's scales, so that a controller replays the running kernel's calls bit for bit
//! (`tests/kernel_replay.rs`).
//!
//! A [`Catalog`] finds a controller by the name an experiment file uses and takes up those of other crates; the modules
//! below offer the concrete types for those who want one algorithm alone. What papers and other stacks change about BBR
//! is in `dumbbell-cc-family`.

#![deny(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::cast_lossless)]

mod basis;
pub mod bbr1;
pub mod bbr2;
pub mod catalog;
mod control;
mod controller;
pub mod cubic;
pub mod estimators;
pub mod minmax;
pub mod parameters;
mod rate_sample;
pub mod reno;
#[cfg(test)]
mod testing;
mod view;

pub use catalog::{Algorithm, Catalog, Recipe};
pub use control::Control;
pub use controller::{AckFlags, Controller, EcnMode, Event, Fault, Hooks, LostPacket};
pub use rate_sample::RateSample;
pub use view::{CaState, View};
