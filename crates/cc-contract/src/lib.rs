#![doc = include_str!("../README.md")]
//!
//! What a controller is called with and may change is in `controller.rs`, `view.rs` and `control.rs`; what it is built
//! from in `algorithm.rs` and `parameters.rs`; what stands for a rule that is elsewhere in `stand_in.rs`.

mod algorithm;
mod control;
mod controller;
mod fixed;
pub mod minmax;
pub mod parameters;
mod rate_sample;
mod stand_in;
mod view;

pub use algorithm::Algorithm;
pub use control::Control;
pub use controller::{AckFlags, Controller, EcnMode, Event, Fault, Hooks, LostPacket, Needs};
pub use rate_sample::RateSample;
pub use stand_in::{StandIn, StandsFor};
pub use view::{CaState, View};
