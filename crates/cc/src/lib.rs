#![doc = include_str!("../README.md")]
//!
//! One file or folder an algorithm. Each offers its concrete type for those who want it alone. The contract that they
//! keep is `dumbbell-cc-contract`, which this crate hands on. What papers and other stacks change about BBR is in
//! `dumbbell-cc-family`, with the CUBIC and the Reno of Chromium's QUIC.

mod basis;
pub mod bbr1;
pub mod bbr2;
pub mod catalog;
pub mod classic;
pub mod cubic;
pub mod estimators;
pub mod reno;
#[cfg(test)]
mod testing;

pub use catalog::{Catalog, Recipe};
pub use dumbbell_cc_contract::{
    AckFlags, Algorithm, CaState, Control, Controller, EcnMode, Event, Fault, Hooks, LostPacket, Needs, RateSample,
    StandIn, StandsFor, View, minmax, parameters,
};
