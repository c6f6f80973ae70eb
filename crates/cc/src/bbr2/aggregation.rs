//! The allowance for aggregated ACKs.
//!
//! How many packets were acknowledged beyond what the bandwidth explains, at most over the last rounds, is added to the
//! window, so that links that deliver in aggregates do not run dry. Unlike version 1's it acts in STARTUP, too, with a
//! memory of one round there.

use super::{Aggregation, BW_UNIT, Bbr2};
use crate::minmax::MaxFilter;
use crate::{Connection, RateSample};

/// The highest age in rounds a slot can count to (a 5-bit field in the kernel).
const MAX_AGE: u32 = 31;

/// State of the measurement.
#[derive(Clone, Debug, Default)]
pub(super) struct AckAggregation {
    /// Maximum excess in packets of the current and the previous slot.
    slots: [u32; 2],
    slot: usize,
    slot_age: u32,
    /// Maximum excess over a window of rounds, in place of the slots.
    filter: MaxFilter,
    /// Packets acknowledged in the current epoch.
    epoch_acked: u32,
    epoch_start_us: u64,
}

impl AckAggregation {
    /// The largest excess remembered, in packets.
    #[inline]
    pub(super) fn max(&self) -> u32 {
        self.slots[0].max(self.slots[1]).max(self.filter.max())
    }

    /// Begins an epoch.
    pub(super) fn start_epoch(&mut self, now_us: u64) {
        self.epoch_acked = 0;
        self.epoch_start_us = now_us;
    }

    fn add_to_slots(&mut self, excess: u32, round_started: bool, rounds: u32) {
        if round_started {
            self.slot_age = (self.slot_age + 1).min(MAX_AGE);
            if self.slot_age >= rounds {
                self.slot_age = 0;
                self.slot ^= 1;
                self.slots[self.slot] = 0;
            }
        }
        self.slots[self.slot] = self.slots[self.slot].max(excess);
    }
}

impl Bbr2 {
    /// Measures how far this ACK runs ahead of the bandwidth.
    pub(super) fn update_aggregation(&mut self, connection: &Connection, sample: &RateSample) {
        let p = &self.parameters;
        let acked = sample.acked_sacked;
        let valid = acked > 0 && sample.delivered >= 0 && sample.interval_us > 0;
        if !valid || p.aggregation == Aggregation::Off || p.aggregation_gain.numerator() == 0 {
            return;
        }
        let elapsed_us = connection.delivered_mstamp_us.saturating_sub(self.aggregation.epoch_start_us);
        let mut expected = u64::from(self.bw()).saturating_mul(elapsed_us) / BW_UNIT;
        let rounds = if self.full_pipe.reached { p.aggregation_window_rounds } else { p.aggregation_startup_rounds };
        let state = &mut self.aggregation;
        // When the ACKs no longer run ahead, a new burst may begin.
        if u64::from(state.epoch_acked) <= expected
            || state.epoch_acked.saturating_add(acked) >= p.aggregation_epoch_packets
        {
            state.start_epoch(connection.delivered_mstamp_us);
            expected = 0;
        }
        state.epoch_acked = state.epoch_acked.saturating_add(acked).min(p.aggregation_epoch_packets - 1);
        let excess = u64::from(state.epoch_acked).saturating_sub(expected);
        let excess = excess.min(u64::from(connection.cwnd)) as u32;
        match p.aggregation {
            Aggregation::Slots => state.add_to_slots(excess, self.round.started, rounds),
            Aggregation::Filter => {
                state.filter.update(rounds, self.round.count, excess);
            }
            Aggregation::Off => {}
        }
    }

    /// Packets to add to the window.
    pub(super) fn aggregation_allowance(&self) -> u32 {
        let p = &self.parameters;
        if p.aggregation == Aggregation::Off {
            return 0;
        }
        let excess = p.aggregation_gain.of(u64::from(self.aggregation.max()));
        let cap = match p.aggregation_cap.as_micros() {
            0 => u64::MAX,
            micros => u64::from(self.bw()).saturating_mul(micros) / BW_UNIT,
        };
        u32::try_from(excess.min(cap)).unwrap_or(u32::MAX)
    }
}
