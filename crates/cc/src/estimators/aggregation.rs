//! How far ACKs run ahead of the bandwidth.
//!
//! Links that deliver in aggregates (Wi-Fi, cable) and receivers that batch ACKs leave pauses in which a window of two
//! BDP runs dry. An epoch counts what is acknowledged for as long as that is more than the bandwidth explains; the
//! largest excess of the last rounds is what the window needs on top.

use super::BW_UNIT;
use dumbbell_cc_contract::View;
use dumbbell_cc_contract::minmax::{MaxFilter, SlotFilter};

/// State of the measurement: an epoch, and the largest excess in two slots or in a filter.
#[derive(Clone, Debug, Default)]
pub struct AckAggregation {
    /// Maximum excess in packets (Linux).
    pub slots: SlotFilter,
    /// Maximum excess in parts of a packet (stacks that count bytes), in place of the slots.
    pub filter: MaxFilter,
    /// The largest excess remembered, in packets or in the filter's parts of them.
    pub largest: u32,
    /// Packets acknowledged in the current epoch.
    pub epoch_acked: u32,
    /// Start of the epoch in microseconds.
    pub epoch_start_us: u64,
}

/// What an ACK brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// How much more was acknowledged in the epoch than expected.
    pub amount: u64,
    /// The ACKs no longer ran ahead, and this one begins an epoch.
    pub begins: bool,
}

impl AckAggregation {
    /// `log2` of the parts of a packet that the filter counts.
    pub const PART_LOG2: u32 = 8;
    /// `log2` of what turns the scale of bandwidths into parts.
    const SCALED_LOG2: u32 = BW_UNIT.ilog2() - AckAggregation::PART_LOG2;

    /// Begins an epoch.
    pub fn start_epoch(&mut self, now_us: u64) {
        self.epoch_acked = 0;
        self.epoch_start_us = now_us;
    }

    /// Age of the epoch in microseconds.
    #[inline]
    pub fn elapsed_us(&self, view: &View) -> u64 {
        view.delivered_mstamp_us.saturating_sub(self.epoch_start_us)
    }

    /// Takes an ACK of `acked` packets into the epoch, which ends with `most` packets. `expected` is what the bandwidth
    /// explains since the epoch began; it and the excess count packets in `1/unit`.
    #[inline]
    pub fn take(&mut self, view: &View, acked: u32, expected: u64, unit: u64, most: u32) -> Excess {
        let before = u64::from(self.epoch_acked);
        let total = before + u64::from(acked);
        if before * unit > expected && total < u64::from(most) {
            #[expect(clippy::cast_possible_truncation, reason = "it is below `most`, which has 32 bits")]
            let total_acked = total as u32;
            self.epoch_acked = total_acked;
            return Excess { amount: total * unit - expected, begins: false };
        }
        self.epoch_start_us = view.delivered_mstamp_us;
        self.epoch_acked = acked.min(most - 1);
        Excess { amount: u64::from(self.epoch_acked) * unit, begins: true }
    }

    /// Remembers an excess of whole packets for one to two times `rounds` rounds.
    #[inline]
    pub fn remember_packets(&mut self, rounds: u32, round_started: bool, packets: u32) {
        self.largest = self.slots.update(rounds, round_started, packets);
    }

    /// Remembers an excess in the scale of bandwidths for `rounds` rounds.
    #[inline]
    pub fn remember_scaled(&mut self, rounds: u32, round: u32, excess: u64) {
        let parts = u32::try_from(excess >> AckAggregation::SCALED_LOG2).unwrap_or(u32::MAX);
        self.largest = self.filter.update(rounds, round, parts);
    }

    /// Parts of a packet in the scale of bandwidths.
    #[inline]
    pub fn scaled(parts: u64) -> u64 {
        parts << AckAggregation::SCALED_LOG2
    }

    /// The largest excess remembered, in packets.
    #[inline]
    pub fn max(&self) -> f64 {
        f64::from(self.slots.max()).max(f64::from(self.filter.max()) / f64::from(1 << AckAggregation::PART_LOG2))
    }

    /// The largest excess remembered, in whole packets, rounded up.
    #[inline]
    pub fn max_packets(&self) -> u32 {
        self.slots.max().max(self.filter.max().div_ceil(1 << AckAggregation::PART_LOG2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_lasts_for_as_long_as_acks_run_ahead() {
        let at = |us: u64| View { delivered_mstamp_us: us, ..View::new(1448) };
        let mut measured = AckAggregation::default();
        // A packet per 100 us is what the bandwidth explains.
        let mut ack = |us: u64, acked: u32| {
            let expected = measured.elapsed_us(&at(us)) / 100;
            measured.take(&at(us), acked, expected, 1, 30)
        };
        assert_eq!(ack(1_000, 8), Excess { amount: 8, begins: true });
        assert_eq!(ack(1_100, 8), Excess { amount: 15, begins: false });
        assert_eq!(ack(2_700, 4), Excess { amount: 4, begins: true }, "17 were expected, 16 had come");
        assert_eq!(ack(2_700, 26), Excess { amount: 26, begins: true }, "an epoch is full with 30 packets");
        assert_eq!(ack(2_700, 40), Excess { amount: 29, begins: true });
    }

    #[test]
    fn slots_count_packets_and_the_filter_parts_of_them() {
        let mut measured = AckAggregation::default();
        measured.remember_packets(5, true, 7);
        assert_eq!((measured.largest, measured.max(), measured.max_packets()), (7, 7.0, 7));
        let mut measured = AckAggregation::default();
        measured.remember_scaled(10, 1, BW_UNIT * 5 / 2);
        assert_eq!((measured.max(), measured.max_packets()), (2.5, 3));
        assert_eq!(AckAggregation::scaled(measured.largest.into()), BW_UNIT * 5 / 2);
    }
}
