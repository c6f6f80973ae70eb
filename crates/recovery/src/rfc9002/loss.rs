//! Which packets are lost (RFC 9002, section 6.1), and when congestion is persistent (section 7.6).
//!
//! A packet is lost when a packet that was sent later is acknowledged, and either the number of that one is at least
//! the packet threshold higher, or the packet was sent longer ago than the time threshold (9/8 of the RTT). Congestion
//! is persistent when all packets that were sent over three probe timeouts are lost.

/// Congestion is persistent when losses span this many probe timeouts (`kPersistentCongestionThreshold`).
const PERSISTENT_CONGESTION_THRESHOLD: u64 = 3;

/// Packet threshold and time threshold at one instant.
#[derive(Clone, Copy, Debug)]
pub struct LossThreshold {
    largest_acked: u32,
    packets: u32,
    /// `None` switches the time threshold off.
    time_us: Option<u64>,
    now_us: u64,
}

/// What the thresholds say of a packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is lost.
    Lost,
    /// It is lost at this time unless it is acknowledged before (`loss_time`).
    LostAtUs(u64),
    /// Only an ACK for a packet with a higher number can tell.
    Unknown,
}

impl LossThreshold {
    /// For packets below `largest_acked`. `packets` is kPacketThreshold. The time threshold is `eighths` eighths of
    /// `rtt_us` (kTimeThreshold) but at least `granularity_us` (kGranularity); 0 eighths switch it off.
    pub fn new(
        now_us: u64,
        largest_acked: u32,
        packets: u32,
        eighths: u32,
        rtt_us: u64,
        granularity_us: u64,
    ) -> LossThreshold {
        let time_us = (eighths > 0).then(|| (rtt_us * u64::from(eighths) / 8).max(granularity_us));
        LossThreshold { largest_acked, packets, time_us, now_us }
    }

    /// Whether packet `number`, sent at `sent_us` and below the largest acknowledged number, is lost.
    #[inline]
    pub fn judge(&self, number: u32, sent_us: u64) -> Verdict {
        if self.largest_acked - number >= self.packets {
            return Verdict::Lost;
        }
        match self.time_us {
            None => Verdict::Unknown,
            Some(time_us) if sent_us + time_us <= self.now_us => Verdict::Lost,
            Some(time_us) => Verdict::LostAtUs(sent_us + time_us),
        }
    }
}

/// Looks for persistent congestion among the packets that one loss detection goes through, in the order of their
/// numbers.
#[derive(Clone, Copy, Debug)]
pub struct PersistentCongestion {
    first_sample_at_us: u64,
    began_us: Option<u64>,
    longest_us: u64,
}

impl PersistentCongestion {
    /// Packets that were sent before the first RTT sample, taken at `first_sample_at_us`, do not count.
    pub fn new(first_sample_at_us: u64) -> PersistentCongestion {
        PersistentCongestion { first_sample_at_us, began_us: None, longest_us: 0 }
    }

    /// The next packet was acknowledged.
    #[inline]
    pub fn acked(&mut self) {
        self.began_us = None;
    }

    /// The next packet, sent at `sent_us`, has just been declared lost.
    #[inline]
    pub fn lost(&mut self, sent_us: u64) {
        if sent_us > self.first_sample_at_us {
            let began_us = *self.began_us.get_or_insert(sent_us);
            self.longest_us = self.longest_us.max(sent_us - began_us);
        }
    }

    /// Whether the losses span three probe timeouts of `pto_us`.
    pub fn is_established(&self, pto_us: u64) -> bool {
        self.longest_us >= PERSISTENT_CONGESTION_THRESHOLD * pto_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_lost_by_number_or_by_time() {
        let threshold = LossThreshold::new(100_000, 10, 3, 9, 40_000, 1_000);
        assert_eq!(threshold.judge(7, 99_000), Verdict::Lost);
        assert_eq!(threshold.judge(8, 55_000), Verdict::Lost);
        assert_eq!(threshold.judge(8, 55_001), Verdict::LostAtUs(100_001));
    }

    #[test]
    fn the_time_threshold_has_a_floor_and_can_be_off() {
        let threshold = LossThreshold::new(100_000, 10, 3, 9, 100, 1_000);
        assert_eq!(threshold.judge(9, 99_500), Verdict::LostAtUs(100_500));
        let threshold = LossThreshold::new(100_000, 10, 1, 0, 40_000, 1_000);
        assert_eq!(threshold.judge(9, 99_500), Verdict::Lost);
        let threshold = LossThreshold::new(100_000, 10, 2, 0, 40_000, 1_000);
        assert_eq!(threshold.judge(9, 0), Verdict::Unknown);
        let threshold = LossThreshold::new(100_000, 10, u32::MAX, 0, 40_000, 1_000);
        assert_eq!(threshold.judge(9, 0), Verdict::Unknown);
    }

    #[test]
    fn losses_over_three_timeouts_with_nothing_acknowledged_between_them_are_persistent() {
        let mut congestion = PersistentCongestion::new(5_000);
        congestion.lost(1_000);
        congestion.lost(10_000);
        congestion.lost(39_999);
        assert!(!congestion.is_established(10_000), "what was sent before the first sample does not count");
        congestion.lost(40_000);
        assert!(congestion.is_established(10_000));
        let mut congestion = PersistentCongestion::new(5_000);
        congestion.lost(10_000);
        congestion.acked();
        congestion.lost(60_000);
        assert!(!congestion.is_established(10_000));
    }
}
