//! Packet-timed rounds and the bandwidth filter.
//!
//! A round ends when a packet sent after its start is acknowledged: one trip through the path, however long the queue.

use super::{BW_UNIT, Bbr1};
use crate::{RateSample, View};

/// The current round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Rounds so far.
    pub(super) count: u32,
    /// The round ends with the first sample of a packet sent when at least this much was delivered.
    pub(super) next_delivered: u64,
    /// This ACK started a round.
    pub(super) started: bool,
}

impl Bbr1 {
    /// Counts rounds and feeds the delivery rate of a sample that has one to the maximum filter.
    pub(super) fn update_bandwidth(&mut self, view: &View, sample: &RateSample) {
        if sample.prior_delivered >= self.round.next_delivered {
            self.round.next_delivered = view.delivered;
            self.round.count = self.round.count.wrapping_add(1);
            self.round.started = true;
            self.recovery.packet_conservation = false;
        }
        // The sampler sleeps until a loss.
        if self.policer.sampling || sample.losses > 0 {
            self.sample_policer(view, sample);
        }
        let bw = delivery_rate(sample.delivered as u64, sample.interval_us as u64);
        // A rate that the application held down says nothing, unless it exceeds the estimate all the same.
        if !sample.is_app_limited || bw >= self.max_bw() {
            self.bandwidth.update(self.parameters.bw_window_rounds, self.round.count, bw);
        }
    }
}

/// Whether the sample carries a delivery rate.
#[inline]
pub(super) fn has_rate(sample: &RateSample) -> bool {
    sample.delivered >= 0 && sample.interval_us > 0
}

/// `packets` per `interval_us` in the scale of bandwidths.
#[inline]
pub(super) fn delivery_rate(packets: u64, interval_us: u64) -> u32 {
    u32::try_from(packets.saturating_mul(BW_UNIT) / interval_us).unwrap_or(u32::MAX)
}

/// Whole packets that `bw` delivers in `span_us`.
#[inline]
pub(super) fn packets_in(bw: u32, span_us: u64) -> u64 {
    u64::from(bw).saturating_mul(span_us) / BW_UNIT
}
