//! The loss recovery of QUIC (RFC 9002): its RTT estimate, its thresholds, its timeout, and its pacing.
//!
//! Every transmission has a number of its own, so nothing is ambiguous and no scoreboard of copies is needed. The rules
//! are plain functions of numbers and times; the packets themselves belong to whoever sends them.

mod loss;
mod pacer;
mod rtt;

pub use loss::{LossThreshold, PersistentCongestion, Verdict};
pub use pacer::{BurstPacer, pacing_rate};
pub use rtt::RttEstimator;
