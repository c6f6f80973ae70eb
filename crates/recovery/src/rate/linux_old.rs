//! Linux's rule before 5.19: the source is the first segment with the largest `delivered`. Segments sent between the
//! same two ACKs have the same `delivered`: of these the first one that an ACK delivers is taken, and since 5.19 the
//! last one.

use super::Record;
use dumbbell_cc_contract::RateSample;

/// Whether more had been delivered when a segment was sent than when the source of this ACK's sample was.
#[inline]
pub(super) fn is_newer(sample: &RateSample, record: &Record) -> bool {
    record.delivered > sample.prior_delivered
}
