//! Packet-timed rounds and the bandwidth filter.
//!
//! A round ends when a packet sent after its start is acknowledged: one trip through the path, however long the queue.

use super::model::Core;
use super::rules::Rules;
use crate::estimators::delivery_rate;
use dumbbell_cc_contract::{RateSample, View};

impl Core {
    /// Counts rounds and feeds the delivery rate of a sample that has one to the maximum filter.
    #[inline]
    pub(super) fn update_bandwidth<R: Rules>(&mut self, rules: &mut R, view: &View, sample: &RateSample) {
        if sample.prior_delivered >= self.round.next_delivered {
            self.round.next_delivered = view.delivered;
            self.round.count = self.round.count.wrapping_add(1);
            self.round.started = true;
            self.recovery.packet_conservation = false;
        }
        // The sampler sleeps until a loss.
        if self.policer.sampling || sample.losses > 0 {
            self.sample_policer(rules, view, sample);
        }
        #[expect(clippy::cast_sign_loss, reason = "a sample that has a rate has neither below zero")]
        let bw = delivery_rate(sample.delivered as u64, sample.interval_us as u64);
        // A rate that the application held down says nothing, unless it exceeds the estimate all the same.
        if !sample.is_app_limited || bw >= self.max_bw() {
            self.bandwidth.update(self.parameters.bw_window_rounds, self.round.count, bw);
        }
    }
}
