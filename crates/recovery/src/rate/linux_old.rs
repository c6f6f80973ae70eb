//! Linux's rule before 5.19: the source is the first segment with the largest delivered count. Of the segments that left
//! between the same two ACKs that is the first one an ACK delivers, where the rule of today takes the last one.

use super::Record;
use dumbbell_cc::RateSample;

/// Whether more had been delivered when a segment was sent than when the source of this ACK's sample was.
#[inline]
pub(super) fn is_newer(sample: &RateSample, record: &Record) -> bool {
    record.delivered > sample.prior_delivered
}
