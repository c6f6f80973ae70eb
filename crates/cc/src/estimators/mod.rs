//! What both versions of BBR estimate, one type each: the minimum round-trip time, the aggregation of ACKs, and what
//! follows from bandwidth for pacing and bursts.
//!
//! Bandwidth is in packets per microsecond times [`BW_UNIT`] everywhere.

mod aggregation;
mod min_rtt;
mod pacing;

pub use aggregation::{AckAggregation, Excess};
pub use min_rtt::{MinRttFilter, is_after};
pub use pacing::{Bursts, Pacing, in_network_at_departure};

use dumbbell_cc_contract::RateSample;

/// One packet per microsecond in the scale of all bandwidths (`BW_UNIT`).
pub const BW_UNIT: u64 = 1 << 24;

/// Whether the sample carries a delivery rate.
#[inline]
pub fn has_rate(sample: &RateSample) -> bool {
    sample.delivered >= 0 && sample.interval_us > 0
}

/// `packets` per `interval_us` in the scale of bandwidths.
#[inline]
pub fn delivery_rate(packets: u64, interval_us: u64) -> u32 {
    u32::try_from(packets.saturating_mul(BW_UNIT) / interval_us).unwrap_or(u32::MAX)
}

/// Whole packets that `bw` delivers in `span_us`.
#[inline]
pub fn packets_in(bw: u32, span_us: u64) -> u64 {
    u64::from(bw).saturating_mul(span_us) / BW_UNIT
}
