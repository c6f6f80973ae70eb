//! The allowance for aggregated ACKs.
//!
//! Unlike version 1's it acts in STARTUP, too, with a memory of one round there; the draft and QUIC count parts of
//! packets.

use super::model::Bbr2;
use super::parameters::Aggregation;
use crate::estimators::AckAggregation;
use crate::estimators::BW_UNIT;
use dumbbell_cc_contract::{Control, View};

impl Bbr2 {
    /// Measures how far an ACK of `acked` packets and with a delivery rate runs ahead of the bandwidth.
    pub(super) fn update_aggregation(&mut self, view: &View, control: &Control, acked: u32) {
        let p = &self.parameters;
        if p.aggregation == Aggregation::Off || p.aggregation_gain.numerator() == 0 {
            return;
        }
        let mut expected = u64::from(self.bw()).saturating_mul(self.aggregation.elapsed_us(view));
        if p.aggregation == Aggregation::Slots {
            // The kernel counts whole packets.
            expected -= expected % BW_UNIT;
        }
        let rounds = if self.full_pipe.reached { p.aggregation_window_rounds } else { p.aggregation_startup_rounds };
        let excess = self.aggregation.take(view, acked, expected, BW_UNIT, p.aggregation_epoch_packets);
        // In QUIC the ACK that begins an epoch is no excess itself.
        let counts = !(excess.begins && p.aggregation == Aggregation::Quic);
        let excess = if counts { excess.amount.min(u64::from(control.cwnd) * BW_UNIT) } else { 0 };
        match p.aggregation {
            Aggregation::Slots => {
                #[expect(clippy::cast_possible_truncation, reason = "it is at most the window, which has 32 bits")]
                let packets = (excess / BW_UNIT) as u32;
                self.aggregation.remember_packets(rounds, self.round.started, packets);
            }
            Aggregation::Filter | Aggregation::Quic => {
                self.aggregation.remember_scaled(rounds, self.round.count, excess);
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
                AckAggregation::scaled(excess).min(cap)
            }
            Aggregation::Off => 0,
        }
    }
}
