//! The allowance for aggregated ACKs.
//!
//! How many packets were acknowledged beyond what the bandwidth explains, at most over the last rounds, is added to the
//! window, so that links that deliver in aggregates do not run dry. Unlike version 1's it acts in STARTUP, too, with a
//! memory of one round there.

use super::{Aggregation, BW_UNIT, Bbr2};
use crate::minmax::{MaxFilter, SlotFilter};
use crate::{Control, View};

/// `log2` of the parts of a packet in which the filters keep the excess: draft and QUIC count bytes.
const PART_LOG2: u32 = 8;
/// `log2` of `BW_UNIT`.
const BW_LOG2: u32 = BW_UNIT.ilog2();

/// State of the measurement.
#[derive(Clone, Debug, Default)]
pub(super) struct AckAggregation {
    /// Maximum excess in packets.
    slots: SlotFilter,
    /// Maximum excess over a window of rounds in 1/256 packets, in place of the slots.
    filter: MaxFilter,
    /// The largest excess remembered, in packets or in the filter's parts of them.
    pub(super) largest: u32,
    /// Packets acknowledged in the current epoch.
    epoch_acked: u32,
    epoch_start_us: u64,
}

impl AckAggregation {
    /// The largest excess remembered, in packets.
    #[inline]
    pub(super) fn max(&self) -> f64 {
        f64::from(self.slots.max()).max(f64::from(self.filter.max()) / f64::from(1 << PART_LOG2))
    }

    /// The same in whole packets, rounded up.
    #[inline]
    pub(super) fn max_packets(&self) -> u32 {
        self.slots.max().max(self.filter.max().div_ceil(1 << PART_LOG2))
    }

    /// Begins an epoch.
    pub(super) fn start_epoch(&mut self, now_us: u64) {
        self.epoch_acked = 0;
        self.epoch_start_us = now_us;
    }
}

impl Bbr2 {
    /// Measures how far an ACK of `acked` packets and with a delivery rate runs ahead of the bandwidth.
    pub(super) fn update_aggregation(&mut self, view: &View, control: &Control, acked: u32) {
        let p = &self.parameters;
        if p.aggregation == Aggregation::Off || p.aggregation_gain.numerator() == 0 {
            return;
        }
        let elapsed_us = view.delivered_mstamp_us.saturating_sub(self.aggregation.epoch_start_us);
        let mut expected = u64::from(self.bw()).saturating_mul(elapsed_us);
        if p.aggregation == Aggregation::Slots {
            // The kernel counts whole packets.
            expected -= expected % BW_UNIT;
        }
        let rounds = if self.full_pipe.reached { p.aggregation_window_rounds } else { p.aggregation_startup_rounds };
        let state = &mut self.aggregation;
        // When the ACKs no longer run ahead, a new burst may begin.
        if u64::from(state.epoch_acked) * BW_UNIT <= expected
            || state.epoch_acked.saturating_add(acked) >= p.aggregation_epoch_packets
        {
            state.start_epoch(view.delivered_mstamp_us);
            // In QUIC the ACK that begins an epoch is no excess itself.
            expected = if p.aggregation == Aggregation::Quic { u64::from(acked) * BW_UNIT } else { 0 };
        }
        state.epoch_acked = state.epoch_acked.saturating_add(acked).min(p.aggregation_epoch_packets - 1);
        let excess = (u64::from(state.epoch_acked) * BW_UNIT).saturating_sub(expected);
        let excess = excess.min(u64::from(control.cwnd) * BW_UNIT);
        match p.aggregation {
            Aggregation::Slots => {
                state.largest = state.slots.update(rounds, self.round.started, (excess >> BW_LOG2) as u32);
            }
            Aggregation::Filter | Aggregation::Quic => {
                let parts = u32::try_from(excess >> (BW_LOG2 - PART_LOG2)).unwrap_or(u32::MAX);
                state.largest = state.filter.update(rounds, self.round.count, parts);
            }
            Aggregation::Off => {}
        }
    }

    /// What to add to the window, in packets times `BW_UNIT`.
    pub(super) fn aggregation_allowance(&self) -> u64 {
        let p = &self.parameters;
        let cap = match p.aggregation_cap.as_micros() {
            0 => u64::MAX,
            micros => u64::from(self.bw()).saturating_mul(micros),
        };
        match p.aggregation {
            Aggregation::Slots => {
                let excess = p.aggregation_gain.of(u64::from(self.aggregation.slots.max()));
                excess.min(cap / BW_UNIT).saturating_mul(BW_UNIT)
            }
            Aggregation::Filter | Aggregation::Quic => {
                let excess = p.aggregation_gain.of(u64::from(self.aggregation.filter.max()));
                (excess << (BW_LOG2 - PART_LOG2)).min(cap)
            }
            Aggregation::Off => 0,
        }
    }
}
