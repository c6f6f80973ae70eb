//! The sample of the delivery rate that a controller gets with every ACK.

/// What one ACK taught the sender (`struct rate_sample`); see `docs/specs/delivery-rate.md`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// `delivered` when the sampled packet was sent; drives round counting.
    pub prior_delivered: u64,
    /// `delivered_mstamp_us` when the sampled packet was sent; 0 when there is no sampled packet.
    pub prior_mstamp_us: u64,
    /// Packets delivered over the sampling interval; -1 when invalid.
    pub delivered: i32,
    /// Length of the sampling interval in microseconds; -1 when invalid.
    pub interval_us: i64,
    /// Round-trip time of this ACK in microseconds; -1 when it gives none.
    pub rtt_us: i64,
    /// Packets newly marked lost while this ACK was processed.
    pub losses: u32,
    /// Packets newly acknowledged, cumulatively or selectively, by this ACK.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// The sampled packet was sent while the application was the limit.
    pub is_app_limited: bool,
    /// The sampled packet was a retransmission.
    pub is_retrans: bool,
    /// `rtt_us` probably contains the receiver's wait for a second segment.
    pub is_ack_delayed: bool,
    /// Packets in flight when the sampled packet was sent, itself included.
    pub tx_in_flight: u32,
    /// Packets marked lost since the sampled packet was sent.
    pub lost_since_sent: i32,
    /// Packets delivered with a congestion mark since the sampled packet was sent.
    pub delivered_ce: i32,
    /// This ACK echoes congestion.
    pub is_ece: bool,
    /// This ACK covers a tail-loss probe that was a retransmission.
    pub is_acking_tlp: bool,
}

impl RateSample {
    /// The sample of an ACK that delivered nothing.
    pub fn invalid() -> RateSample {
        RateSample { delivered: -1, interval_us: -1, rtt_us: -1, ..RateSample::default() }
    }

    /// Packets of `delivered` that were delivered since the sampled packet was sent: those in flight then.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2^32 packets are in flight")]
    pub fn delivered_since_sent(&self, delivered: u64) -> u32 {
        (delivered - self.prior_delivered) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_sample_knows_nothing() {
        let sample = RateSample::invalid();
        assert_eq!((sample.delivered, sample.interval_us, sample.rtt_us, sample.acked_sacked), (-1, -1, -1, 0));
    }

    #[test]
    fn what_was_delivered_since_a_packet_was_sent_was_in_flight_then() {
        let sample = RateSample { prior_delivered: 90, ..RateSample::default() };
        assert_eq!(sample.delivered_since_sent(100), 10);
    }
}
