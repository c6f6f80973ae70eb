#![doc = include_str!("../README.md")]

mod bytes;
mod ecn;
mod memory;
mod prefetch;
mod quantity;
mod rate;
mod ratio;
mod rng;
mod time;
mod words;

pub use bytes::{Bytes, as_bytes};
pub use ecn::Ecn;
pub use memory::claimed;
pub use prefetch::{prefetch, prefetch_all};
pub use quantity::ParseError;
pub use rate::Rate;
pub use ratio::Ratio;
pub use rng::Rng;
pub use time::{Duration, Time};
pub use words::grouped;
