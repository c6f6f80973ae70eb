#![doc = include_str!("../README.md")]
//!
//! What a controller is called with and may change is in `controller.rs`, `view.rs` and `control.rs`; what it is built
//! from in `algorithm.rs` and `parameters.rs`.

mod algorithm;
mod control;
mod controller;
mod fixed;
pub mod minmax;
pub mod parameters;
mod rate_sample;
mod view;

pub use algorithm::Algorithm;
pub use control::Control;
pub use controller::{AckFlags, Controller, EcnMode, Event, Fault, Hooks, LostPacket, Needs};
pub use rate_sample::RateSample;
pub use view::{CaState, View};
