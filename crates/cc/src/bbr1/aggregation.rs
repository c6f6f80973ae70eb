//! The allowance for aggregated ACKs.
//!
//! Links that deliver in aggregates (Wi-Fi, cable) and receivers that batch ACKs leave pauses in which a window of two
//! BDP runs dry. How many packets were acknowledged beyond what the bandwidth explains, at most over the last rounds,
//! is added to the window once the pipe is full.

use super::bandwidth::packets_in;
use super::{Aggregation, BW_UNIT, Bbr1, Parameters};
use crate::minmax::{MaxFilter, SlotFilter};
use crate::parameters::Gain;
use crate::{Control, RateSample, View};

/// `log2` of the parts of a packet in which QUIC's excess is kept: its windows are in bytes.
const PART_LOG2: u32 = 8;
/// `log2` of `BW_UNIT`.
const BW_LOG2: u32 = BW_UNIT.ilog2();

/// State of the measurement.
#[derive(Clone, Debug)]
pub(super) struct AckAggregation {
    /// How it is measured; not at all where nothing is made of it.
    method: Aggregation,
    /// Maximum excess in packets.
    pub(super) slots: SlotFilter,
    /// Maximum excess over a window of rounds in 1/256 packets, in place of the slots.
    filter: MaxFilter,
    /// The largest excess remembered, in the units of the method.
    pub(super) largest: u32,
    /// Packets acknowledged in the current epoch.
    pub(super) epoch_acked: u32,
    /// Start of the epoch in microseconds.
    pub(super) epoch_start_us: u64,
}

impl AckAggregation {
    pub(super) fn new(parameters: &Parameters) -> AckAggregation {
        let is_used = parameters.aggregation_gain > Gain::new(0);
        AckAggregation {
            method: if is_used { parameters.aggregation } else { Aggregation::Off },
            slots: SlotFilter::default(),
            filter: MaxFilter::default(),
            largest: 0,
            epoch_acked: 0,
            epoch_start_us: 0,
        }
    }

    /// The largest excess remembered, in packets.
    pub(super) fn max(&self) -> f64 {
        match self.method {
            Aggregation::Linux => f64::from(self.largest),
            Aggregation::Quic => f64::from(self.largest) / f64::from(1 << PART_LOG2),
            Aggregation::Off => 0.0,
        }
    }
}

impl Bbr1 {
    /// Measures how far an ACK with a delivery rate runs ahead of the bandwidth.
    #[inline]
    pub(super) fn update_aggregation(&mut self, view: &View, control: &Control, sample: &RateSample, bw: u32) {
        if sample.acked_sacked == 0 {
            return;
        }
        match self.aggregation.method {
            Aggregation::Linux => self.update_slots(view, control, sample.acked_sacked, bw),
            Aggregation::Quic => self.update_filter(view, sample.acked_sacked, bw),
            Aggregation::Off => {}
        }
    }

    #[inline]
    fn update_slots(&mut self, view: &View, control: &Control, acked: u32, bw: u32) {
        let expected = self.scaled_in_epoch(view, bw) / BW_UNIT;
        let state = &mut self.aggregation;
        let limit = u64::from(self.parameters.aggregation_epoch_packets);
        let before = u64::from(state.epoch_acked);
        let mut total = before + u64::from(acked);
        let excess = if before > expected && total < limit {
            total - expected
        } else {
            // When the ACKs no longer run ahead, a new burst may begin.
            state.epoch_start_us = view.delivered_mstamp_us;
            total = u64::from(acked).min(limit - 1);
            total
        };
        // Below the limit, which has 32 bits.
        state.epoch_acked = total as u32;
        let excess = excess.min(u64::from(control.cwnd)) as u32;
        state.largest = state.slots.update(self.parameters.aggregation_window_rounds, self.round.started, excess);
    }

    /// QUIC counts bytes, so the part of a packet that the bandwidth explains counts here, too.
    #[inline(never)]
    fn update_filter(&mut self, view: &View, acked: u32, bw: u32) {
        let expected = self.scaled_in_epoch(view, bw);
        let state = &mut self.aggregation;
        if u64::from(state.epoch_acked) * BW_UNIT <= expected {
            state.epoch_acked = acked;
            state.epoch_start_us = view.delivered_mstamp_us;
            return;
        }
        state.epoch_acked = state.epoch_acked.saturating_add(acked);
        let excess = (u64::from(state.epoch_acked) * BW_UNIT).saturating_sub(expected) >> (BW_LOG2 - PART_LOG2);
        let excess = u32::try_from(excess).unwrap_or(u32::MAX);
        state.largest = state.filter.update(self.parameters.aggregation_window_rounds, self.round.count, excess);
    }

    /// Packets that the bandwidth explains since the epoch began, times `BW_UNIT`.
    #[inline]
    fn scaled_in_epoch(&self, view: &View, bw: u32) -> u64 {
        let elapsed_us = view.delivered_mstamp_us.saturating_sub(self.aggregation.epoch_start_us);
        let resolution_us = self.parameters.aggregation_resolution.as_micros();
        let elapsed_us = if resolution_us > 1 { elapsed_us - elapsed_us % resolution_us } else { elapsed_us };
        u64::from(bw).saturating_mul(elapsed_us)
    }

    /// What to add to the window, in packets times `BW_UNIT`.
    pub(super) fn aggregation_allowance(&self) -> u64 {
        if !self.state.full_pipe {
            return 0;
        }
        let largest = self.parameters.aggregation_gain.of(u64::from(self.aggregation.largest));
        match self.aggregation.method {
            Aggregation::Linux => {
                let cap = packets_in(self.bw(), self.parameters.aggregation_cap.as_micros());
                largest.min(cap).saturating_mul(BW_UNIT)
            }
            Aggregation::Quic => largest << (BW_LOG2 - PART_LOG2),
            Aggregation::Off => 0,
        }
    }
}
