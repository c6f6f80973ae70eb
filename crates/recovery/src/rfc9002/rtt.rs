//! Round-trip time and probe timeout (RFC 9002, sections 5 and 6.2).
//!
//! A sample (`latest_rtt`) is the time since the packet was sent that has the largest number an ACK newly acknowledges.
//! For `smoothed_rtt` the ACK delay that the peer reports is subtracted, unless the result would be below `min_rtt`.
//! `min_rtt` itself ignores the reported delay.

/// Smoothed round-trip time, its variation and its minimum, in microseconds.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    max_ack_delay_us: u64,
    latest_us: u64,
    srtt_us: u64,
    rttvar_us: u64,
    min_rtt_us: u64,
    first_sample_at_us: Option<u64>,
}

impl RttEstimator {
    /// No sample yet. The peer delays ACKs by at most `max_ack_delay_us`.
    pub fn new(max_ack_delay_us: u64) -> RttEstimator {
        RttEstimator {
            max_ack_delay_us,
            latest_us: 0,
            srtt_us: 0,
            rttvar_us: 0,
            min_rtt_us: u64::MAX,
            first_sample_at_us: None,
        }
    }

    /// A sample at `now_us` from an ACK whose reported delay is `ack_delay_us`.
    #[inline]
    pub fn sample(&mut self, now_us: u64, latest_us: u64, ack_delay_us: u64) {
        self.latest_us = latest_us;
        self.min_rtt_us = self.min_rtt_us.min(latest_us);
        if self.first_sample_at_us.is_none() {
            self.first_sample_at_us = Some(now_us);
            self.srtt_us = latest_us;
            self.rttvar_us = latest_us / 2;
            return;
        }
        let delay_us = ack_delay_us.min(self.max_ack_delay_us);
        let adjusted_us = if latest_us >= self.min_rtt_us + delay_us { latest_us - delay_us } else { latest_us };
        self.rttvar_us = (3 * self.rttvar_us + self.srtt_us.abs_diff(adjusted_us)) / 4;
        self.srtt_us = (7 * self.srtt_us + adjusted_us) / 8;
    }

    /// `latest_rtt`; 0 before the first sample.
    #[inline]
    pub fn latest_us(&self) -> u64 {
        self.latest_us
    }

    /// `smoothed_rtt`; 0 before the first sample.
    #[inline]
    pub fn srtt_us(&self) -> u64 {
        self.srtt_us
    }

    /// `min_rtt`; `u64::MAX` before the first sample.
    #[inline]
    pub fn min_rtt_us(&self) -> u64 {
        self.min_rtt_us
    }

    /// When the first sample was taken (`first_rtt_sample`).
    pub fn first_sample_at_us(&self) -> Option<u64> {
        self.first_sample_at_us
    }

    /// The probe timeout: `smoothed_rtt` + max(4 `rttvar`, `granularity_us`) + `max_ack_delay_us`; `None` before the
    /// first sample (section 6.2.1).
    #[inline]
    pub fn pto_us(&self, granularity_us: u64, max_ack_delay_us: u64) -> Option<u64> {
        self.first_sample_at_us.map(|_| self.srtt_us + (4 * self.rttvar_us).max(granularity_us) + max_ack_delay_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_sets_the_estimate_and_later_ones_move_it_by_an_eighth() {
        let mut rtt = RttEstimator::new(25_000);
        assert_eq!(rtt.pto_us(1_000, 25_000), None);
        rtt.sample(5, 40_000, 9_000);
        assert_eq!((rtt.srtt_us(), rtt.pto_us(1_000, 25_000)), (40_000, Some(40_000 + 80_000 + 25_000)));
        rtt.sample(6, 80_000, 0);
        assert_eq!((rtt.srtt_us(), rtt.min_rtt_us(), rtt.first_sample_at_us()), (45_000, 40_000, Some(5)));
        assert_eq!(rtt.latest_us(), 80_000);
    }

    #[test]
    fn a_reported_delay_counts_up_to_its_bound_and_not_below_the_minimum() {
        let smoothed = |delay_us| {
            let mut rtt = RttEstimator::new(25_000);
            rtt.sample(5, 40_000, 0);
            rtt.sample(6, 72_000, delay_us);
            rtt.srtt_us()
        };
        assert_eq!(smoothed(8_000), 43_000);
        assert_eq!(smoothed(25_000), smoothed(90_000));
        let mut rtt = RttEstimator::new(25_000);
        rtt.sample(5, 40_000, 0);
        rtt.sample(6, 48_000, 20_000);
        assert_eq!(rtt.srtt_us(), 41_000, "an RTT of 28 ms is less than the minimum");
    }

    #[test]
    fn the_variation_in_a_timeout_has_a_floor() {
        let mut rtt = RttEstimator::new(25_000);
        for _ in 0..100 {
            rtt.sample(5, 40_000, 0);
        }
        assert_eq!(rtt.pto_us(1_000, 0), Some(41_000));
    }
}
