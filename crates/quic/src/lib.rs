#![doc = include_str!("../README.md")]
//!
//! | file | what is there |
//! |---|---|
//! | `governor.rs` | what a QUIC library tells, told to a controller of ours |
//! | `ledger.rs` | the packets in flight |
//! | `adapter.rs` | the governor as a controller of noq |
//! | `endpoints/` | noq's ends behind [`Endpoint`](dumbbell_transport::Endpoint), its parameters, its own controllers |

mod adapter;
#[cfg(feature = "endpoints")]
mod endpoints;
mod governor;
mod ledger;

pub use adapter::{Controllers, Make};
#[cfg(feature = "endpoints")]
pub use endpoints::{NoqParameters, register};
