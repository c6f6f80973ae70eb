//! The loss recovery of QUIC (RFC 9002): RTT estimate, loss thresholds, probe timeout and pacing.
//!
//! Every transmission has a packet number of its own, so an ACK always tells which transmission arrived. The rules are
//! functions of packet numbers and times; the sender keeps the list of sent packets.

mod loss;
mod pacer;
mod prr;
mod rtt;
mod undo;

pub use loss::{LossThreshold, PersistentCongestion, Verdict};
pub use pacer::{BurstPacer, pacing_rate};
pub use prr::ProportionalReduction;
pub use rtt::RttEstimator;
pub use undo::SpuriousLosses;
