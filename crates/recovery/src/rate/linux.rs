//! Linux's rule since 5.19: the source is the segment sent last (`tcp_skb_sent_after`), and a sample with an interval
//! shorter than the minimum RTT is discarded.

use super::{Record, Source, View};
use dumbbell_cc_contract::RateSample;

/// Whether a segment was sent after the source of this ACK's sample; of one stamp the higher one was.
#[inline]
pub(super) fn is_newer(source: &Source, record: &Record, seq: u32) -> bool {
    record.sent > source.first_tx || record.sent == source.first_tx && seq >= source.end
}

/// The interval is the longer of the two phases; -1, which discards the sample, where it is shorter than the minimum
/// RTT.
#[inline(always)]
pub(super) fn measure(sample: &mut RateSample, view: &View) {
    let ack_phase_us = view.mstamp_us.cast_signed() - sample.prior_mstamp_us.cast_signed();
    sample.interval_us = sample.interval_us.max(ack_phase_us);
    if sample.interval_us < i64::from(view.min_rtt_us) {
        sample.interval_us = -1;
    }
}
