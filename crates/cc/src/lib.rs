#![doc = include_str!("../README.md")]
//!
//! One file or folder an algorithm. Each offers its concrete type for those who want it alone. What papers and other stacks
//! change about BBR is in `dumbbell-cc-family`, with the CUBIC and the Reno of Chromium's QUIC.

mod basis;
pub mod bbr1;
pub mod bbr2;
pub mod catalog;
pub mod classic;
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
pub use controller::{AckFlags, Controller, EcnMode, Event, Fault, Hooks, LostPacket, Needs};
pub use rate_sample::RateSample;
pub use view::{CaState, View};
