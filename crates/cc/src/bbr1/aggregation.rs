//! The allowance for aggregated ACKs (since Linux 5.1): two slots of a few rounds, bounded by the window and by what
//! the bandwidth delivers in a tenth of a second.

use super::model::Core;
use crate::estimators::BW_UNIT;
use crate::estimators::packets_in;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, View};

impl Core {
    /// Measures how far an ACK runs ahead of what `bw` delivers in `elapsed_us`, the age of the epoch.
    #[inline]
    pub fn measure_aggregation(&mut self, view: &View, control: &Control, acked: u32, bw: u32, elapsed_us: u64) {
        let p = &self.parameters;
        if p.aggregation_gain == Gain::new(0) {
            return;
        }
        let expected = packets_in(bw, elapsed_us);
        let excess = self.aggregation.take(view, acked, expected, 1, p.aggregation_epoch_packets);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most the window, which has 32 bits")]
        let excess = excess.amount.min(u64::from(control.cwnd)) as u32;
        self.aggregation.remember_packets(p.aggregation_window_rounds, self.round.started, excess);
    }

    /// What to add to the window, in packets times `BW_UNIT`.
    pub fn aggregation_allowance(&self) -> u64 {
        let largest = self.parameters.aggregation_gain.of(u64::from(self.aggregation.largest));
        let cap = packets_in(self.bw(), self.parameters.aggregation_cap.as_micros());
        largest.min(cap).saturating_mul(BW_UNIT)
    }
}
