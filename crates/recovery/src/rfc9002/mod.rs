//! The loss recovery of QUIC (RFC 9002): its RTT estimate, its thresholds, its timeout, and its pacing.
//!
//! Every transmission has a number of its own, so an ACK is never ambiguous and nothing has to be kept about copies of
//! the same data. The rules are plain functions of numbers and times; the packets themselves are kept by the sender.

mod loss;
mod pacer;
mod rtt;

pub use loss::{LossThreshold, PersistentCongestion, Verdict};
pub use pacer::{BurstPacer, pacing_rate};
pub use rtt::RttEstimator;
