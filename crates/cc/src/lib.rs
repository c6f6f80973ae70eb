//! Congestion controllers: pure state machines, one file an algorithm.
//!
//! A controller sees the [`Connection`] it governs (what a Linux congestion-control module sees of `struct tcp_sock`),
//! is called at the events of [`Controller`], and answers by writing the congestion window, the slow-start threshold
//! and the pacing rate. It knows no clock, no socket and no other connection. Decisions are taken in integers with the
//! kernel's scales, so that a controller replays the running kernel's calls bit for bit (`tests/kernel_replay.rs`).
//!
//! [`registry`] finds a controller, or a published variant of one (`presets.toml`), by the name an experiment file uses; the modules below offer the concrete types for
//! those who want one algorithm alone.

mod basis;
pub mod bbr1;
pub mod bbr2;
mod connection;
mod controller;
pub mod cubic;
pub mod minmax;
pub mod parameters;
mod presets;
pub mod registry;
pub mod reno;

pub use connection::{CaState, Connection, RateSample};
pub use controller::{AckFlags, Controller, EcnMode, Event, Hooks, LostPacket};
