//! Smoothed round-trip time and retransmission timeout (`tcp_rtt_estimator`, `tcp_set_rto`; RFC 6298).
//!
//! Linux's estimator is RFC 6298's filter with a variation that rises quickly, does not rise when the RTT falls, decays
//! once per window, and never drops below `rto_min`. So the timeout is at least the smoothed RTT *plus* 200 ms, whereas
//! RFC 6298 bounds the sum. An expiry doubles the timeout (back-off); the next sample ends the back-off.

/// How the variation and the timeout follow from the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Linux,
    Rfc6298,
}

/// Smoothed round-trip time and its variation, in the kernel's fixed point.
#[derive(Debug, Clone)]
pub struct RttEstimator {
    rule: Rule,
    /// `srtt_us`: eight times the smoothed RTT; 0 before the first sample.
    srtt_us_x8: u32,
    /// `mdev_us`: four times the mean deviation.
    mdev_us_x4: u32,
    /// Largest `mdev_us` of this window.
    mdev_max_us: u32,
    /// `rttvar_us`: what the timeout adds to the smoothed RTT.
    rttvar_us: u32,
    /// `rtt_seq`: the window ends when this is acknowledged.
    window_end: u32,
    rto_min_us: u32,
    rto_max_us: u32,
    rto_us: u32,
}

impl RttEstimator {
    /// Timeout before the first sample (`TCP_TIMEOUT_INIT`).
    const INITIAL_RTO_US: u32 = 1_000_000;

    /// Timeout after a handshake without a sample (`TCP_TIMEOUT_FALLBACK`; RFC 6298, section 5.7).
    const FALLBACK_RTO_US: u32 = 3_000_000;

    /// Linux's: srtt + max(4 mdev, `rto_min`), with a slow decay.
    pub fn linux(rto_min_us: u32, rto_max_us: u32) -> RttEstimator {
        RttEstimator::new(Rule::Linux, rto_min_us, rto_max_us)
    }

    /// Section 2 of RFC 6298: max(srtt + 4 rttvar, `rto_min`).
    pub fn rfc6298(rto_min_us: u32, rto_max_us: u32) -> RttEstimator {
        RttEstimator::new(Rule::Rfc6298, rto_min_us, rto_max_us)
    }

    fn new(rule: Rule, rto_min_us: u32, rto_max_us: u32) -> RttEstimator {
        RttEstimator {
            rule,
            srtt_us_x8: 0,
            mdev_us_x4: 0,
            mdev_max_us: rto_min_us,
            rttvar_us: 0,
            window_end: 0,
            rto_min_us,
            rto_max_us,
            rto_us: RttEstimator::INITIAL_RTO_US,
        }
    }

    /// A valid sample; a window has passed when `snd_una` exceeds the `snd_nxt` of its beginning.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the kernel's 32 bits hold 8 RTTs of 536 s"
    )]
    pub fn sample(&mut self, rtt_us: u32, snd_una: u32, snd_nxt: u32) {
        if self.rule == Rule::Rfc6298 {
            self.sample_rfc6298(rtt_us);
            return;
        }
        let mut error = i64::from(rtt_us);
        if self.srtt_us_x8 == 0 {
            self.srtt_us_x8 = rtt_us << 3;
            self.mdev_us_x4 = rtt_us << 1;
            self.rttvar_us = self.mdev_us_x4.max(self.rto_min_us);
            self.mdev_max_us = self.rttvar_us;
            self.window_end = snd_nxt;
        } else {
            error -= i64::from(self.srtt_us_x8 >> 3);
            self.srtt_us_x8 = (i64::from(self.srtt_us_x8) + error) as u32;
            let deviation = i64::from(self.mdev_us_x4 >> 2);
            if error < 0 {
                error = -error - deviation;
                if error > 0 {
                    error >>= 3;
                }
            } else {
                error -= deviation;
            }
            self.mdev_us_x4 = (i64::from(self.mdev_us_x4) + error) as u32;
            if self.mdev_us_x4 > self.mdev_max_us {
                self.mdev_max_us = self.mdev_us_x4;
                self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
            }
            if snd_una > self.window_end {
                if self.mdev_max_us < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
                }
                self.window_end = snd_nxt;
                self.mdev_max_us = self.rto_min_us;
            }
        }
        self.srtt_us_x8 = self.srtt_us_x8.max(1);
        self.rto_us = ((self.srtt_us_x8 >> 3) + self.rttvar_us).min(self.rto_max_us);
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits hold 8 RTTs of 536 s")]
    fn sample_rfc6298(&mut self, rtt_us: u32) {
        if self.srtt_us_x8 == 0 {
            self.srtt_us_x8 = rtt_us << 3;
            self.mdev_us_x4 = rtt_us << 1;
        } else {
            let error = i64::from(rtt_us) - i64::from(self.srtt_us_x8 >> 3);
            let deviation = error.abs() - i64::from(self.mdev_us_x4 >> 2);
            self.mdev_us_x4 = (i64::from(self.mdev_us_x4) + deviation) as u32;
            self.srtt_us_x8 = (i64::from(self.srtt_us_x8) + error) as u32;
        }
        self.srtt_us_x8 = self.srtt_us_x8.max(1);
        self.rto_us = ((self.srtt_us_x8 >> 3) + self.mdev_us_x4).clamp(self.rto_min_us, self.rto_max_us);
    }

    /// Eight times the smoothed RTT in microseconds (`srtt_us`); 0 before the first sample.
    #[inline]
    pub fn srtt_us_x8(&self) -> u32 {
        self.srtt_us_x8
    }

    /// The smoothed RTT in microseconds; 0 before the first sample.
    #[inline]
    pub fn srtt_us(&self) -> u32 {
        self.srtt_us_x8 >> 3
    }

    /// Current retransmission timeout in microseconds, backed off after expiries.
    #[inline]
    pub fn rto_us(&self) -> u32 {
        self.rto_us
    }

    /// The handshake gave no sample: the timeout is 3 s until there is one (`tcp_init_metrics`).
    pub fn fall_back(&mut self) {
        self.rto_us = RttEstimator::FALLBACK_RTO_US.min(self.rto_max_us);
    }

    /// Doubles the timeout after an expiry, which came after `rto_us`; the next valid sample removes the back-off.
    pub fn back_off(&mut self, rto_us: u64) {
        self.rto_us = u32::try_from(2 * rto_us).unwrap_or(u32::MAX).min(self.rto_max_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimator_reproduces_the_published_vector() {
        let samples = [100_000, 100_000, 120_000, 100_000, 80_000, 400_000, 100_000, 100_000, 100_000];
        let mut rtt = RttEstimator::linux(200_000, 120_000_000);
        let mut rto = Vec::new();
        for (window, sample) in samples.into_iter().enumerate() {
            let una = u32::try_from(window).unwrap() * 10 + 1;
            rtt.sample(sample, una, una + 9);
            rto.push(rtt.rto_us());
            if window == 3 {
                assert_eq!(rtt.mdev_us_x4, 101_875);
            }
        }
        assert_eq!(rto, [300_000, 300_000, 302_500, 302_187, 299_414, 511_519, 492_735, 466_291, 436_109]);
        // The vector is rounded to whole microseconds.
        assert_eq!((rtt.srtt_us_x8 + 4) >> 3, 124_779);
    }

    #[test]
    fn a_constant_rtt_gives_a_timeout_of_rtt_plus_200_ms_and_doubles_when_unanswered() {
        let mut rtt = RttEstimator::linux(200_000, 120_000_000);
        for window in 0..50 {
            rtt.sample(50_000, window * 10 + 1, window * 10 + 10);
        }
        assert_eq!(rtt.rto_us(), 250_000);
        rtt.back_off(u64::from(rtt.rto_us()));
        assert_eq!(rtt.rto_us(), 500_000);
        rtt.back_off(u64::from(rtt.rto_us()));
        assert_eq!(rtt.rto_us(), 1_000_000);
        rtt.sample(50_000, 10_000, 10_010);
        assert_eq!(rtt.rto_us(), 250_000);
        for _ in 0..30 {
            rtt.back_off(u64::from(rtt.rto_us()));
        }
        assert_eq!(rtt.rto_us(), 120_000_000);
    }

    #[test]
    fn without_a_sample_of_the_handshake_the_timeout_is_three_seconds_until_there_is_one() {
        let mut rtt = RttEstimator::linux(200_000, 120_000_000);
        assert_eq!(rtt.rto_us(), 1_000_000);
        rtt.fall_back();
        assert_eq!((rtt.rto_us(), rtt.srtt_us()), (3_000_000, 0));
        rtt.sample(50_000, 0, 10);
        assert_eq!((rtt.rto_us(), rtt.srtt_us()), (250_000, 50_000));
    }

    #[test]
    fn the_timeout_of_rfc_6298_has_a_floor_instead_of_an_addend() {
        let mut rtt = RttEstimator::rfc6298(1_000_000, 60_000_000);
        for _ in 0..20 {
            rtt.sample(50_000, 0, 0);
        }
        assert_eq!((rtt.srtt_us(), rtt.rto_us()), (50_000, 1_000_000));
        rtt.sample(2_050_000, 0, 0);
        assert!(rtt.rto_us() > 2_000_000, "{}", rtt.rto_us());
    }

    #[test]
    fn a_falling_rtt_does_not_lengthen_the_timeout() {
        let mut rtt = RttEstimator::linux(200_000, 120_000_000);
        rtt.sample(400_000, 1, 10);
        let before_us = rtt.rto_us();
        rtt.sample(100_000, 11, 20);
        assert!(rtt.rto_us() < before_us, "{} after {before_us}", rtt.rto_us());
    }
}
