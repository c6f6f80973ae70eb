//! Round-trip time: the smoothed estimate, the retransmission timeout and the windowed minimum.
//!
//! The estimator is Linux's `tcp_rtt_estimator`: an RFC 6298 filter whose variance follows rises quickly, does not rise
//! when the RTT falls, decays once per window, and never drops below `rto_min`. The timeout is therefore at least the
//! smoothed RTT *plus* 200 ms.

use crate::RtoRule;

/// Smoothed round-trip time and its variation, in the kernel's fixed point.
#[derive(Debug, Clone)]
pub(super) struct RttEstimator {
    rule: RtoRule,
    /// Eight times the smoothed RTT, microseconds; 0 before the first sample.
    pub srtt_x8: u32,
    mdev_x4: u32,
    mdev_max: u32,
    rttvar: u32,
    window_end: u32,
    rto_min_us: u32,
    rto_max_us: u32,
    /// Current timeout, backed off after expiries.
    rto_us: u32,
}

impl RttEstimator {
    pub fn new(rule: RtoRule, rto_min_us: u32, rto_max_us: u32) -> RttEstimator {
        const INITIAL_RTO_US: u32 = 1_000_000;
        RttEstimator {
            rule,
            srtt_x8: 0,
            mdev_x4: 0,
            mdev_max: rto_min_us,
            rttvar: 0,
            window_end: 0,
            rto_min_us,
            rto_max_us,
            rto_us: INITIAL_RTO_US,
        }
    }

    /// A valid sample; `snd_una` and `snd_nxt` tell when a window has passed.
    #[inline]
    pub fn sample(&mut self, rtt_us: u32, snd_una: u32, snd_nxt: u32) {
        if self.rule == RtoRule::Rfc6298 {
            self.sample_rfc6298(rtt_us);
            return;
        }
        let mut error = i64::from(rtt_us);
        if self.srtt_x8 == 0 {
            self.srtt_x8 = rtt_us << 3;
            self.mdev_x4 = rtt_us << 1;
            self.rttvar = self.mdev_x4.max(self.rto_min_us);
            self.mdev_max = self.rttvar;
            self.window_end = snd_nxt;
        } else {
            error -= i64::from(self.srtt_x8 >> 3);
            self.srtt_x8 = (i64::from(self.srtt_x8) + error) as u32;
            let deviation = i64::from(self.mdev_x4 >> 2);
            if error < 0 {
                error = -error - deviation;
                if error > 0 {
                    error >>= 3;
                }
            } else {
                error -= deviation;
            }
            self.mdev_x4 = (i64::from(self.mdev_x4) + error) as u32;
            if self.mdev_x4 > self.mdev_max {
                self.mdev_max = self.mdev_x4;
                self.rttvar = self.rttvar.max(self.mdev_max);
            }
            if snd_una > self.window_end {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                }
                self.window_end = snd_nxt;
                self.mdev_max = self.rto_min_us;
            }
        }
        self.srtt_x8 = self.srtt_x8.max(1);
        self.rto_us = ((self.srtt_x8 >> 3) + self.rttvar).min(self.rto_max_us);
    }

    /// Section 2 of RFC 6298.
    fn sample_rfc6298(&mut self, rtt_us: u32) {
        if self.srtt_x8 == 0 {
            self.srtt_x8 = rtt_us << 3;
            self.mdev_x4 = rtt_us << 1;
        } else {
            let error = i64::from(rtt_us) - i64::from(self.srtt_x8 >> 3);
            let deviation = error.abs() - i64::from(self.mdev_x4 >> 2);
            self.mdev_x4 = (i64::from(self.mdev_x4) + deviation) as u32;
            self.srtt_x8 = (i64::from(self.srtt_x8) + error) as u32;
        }
        self.srtt_x8 = self.srtt_x8.max(1);
        self.rto_us = ((self.srtt_x8 >> 3) + self.mdev_x4).clamp(self.rto_min_us, self.rto_max_us);
    }

    /// Current retransmission timeout in microseconds.
    #[inline]
    pub fn rto_us(&self) -> u32 {
        self.rto_us
    }

    /// Doubles the timeout after an expiry; the next valid sample removes the back-off.
    pub fn back_off(&mut self) {
        self.rto_us = self.rto_us.saturating_mul(2).min(self.rto_max_us);
    }
}

/// Minimum over a sliding window, from the three best candidates of its sub-windows (Kathleen Nichols' filter,
/// `lib/win_minmax.c`).
#[derive(Debug, Clone)]
pub(super) struct WindowedMin {
    best: [(u64, u32); 3],
}

impl WindowedMin {
    const WINDOW_US: u64 = 300_000_000;

    pub fn new() -> WindowedMin {
        WindowedMin { best: [(0, u32::MAX); 3] }
    }

    #[inline]
    pub fn get(&self) -> u32 {
        self.best[0].1
    }

    #[inline]
    pub fn update(&mut self, now_us: u64, value: u32) {
        let new = (now_us, value);
        let best = &mut self.best;
        if value > best[2].1 && now_us - best[0].0 <= WindowedMin::WINDOW_US / 4 {
            // No candidate, and none of the others needs a successor yet: the rule for most samples.
            return;
        }
        if value <= best[0].1 || now_us - best[2].0 > WindowedMin::WINDOW_US {
            *best = [new; 3];
            return;
        }
        if value <= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value <= best[2].1 {
            best[2] = new;
        }
        let age = now_us - best[0].0;
        if age > WindowedMin::WINDOW_US {
            *best = [best[1], best[2], new];
            if now_us - best[0].0 > WindowedMin::WINDOW_US {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > WindowedMin::WINDOW_US / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].0 == best[1].0 && age > WindowedMin::WINDOW_US / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimator_reproduces_the_published_vector() {
        let samples = [100_000, 100_000, 120_000, 100_000, 80_000, 400_000, 100_000, 100_000, 100_000];
        let mut rtt = RttEstimator::new(RtoRule::Linux, 200_000, 120_000_000);
        let mut rto = Vec::new();
        for (window, sample) in samples.into_iter().enumerate() {
            let una = window as u32 * 10 + 1;
            rtt.sample(sample, una, una + 9);
            rto.push(rtt.rto_us());
            if window == 3 {
                assert_eq!(rtt.mdev_x4, 101_875);
            }
        }
        assert_eq!(rto, [300_000, 300_000, 302_500, 302_187, 299_414, 511_519, 492_735, 466_291, 436_109]);
        // The vector is rounded to whole microseconds.
        assert_eq!((rtt.srtt_x8 + 4) >> 3, 124_779);
    }

    #[test]
    fn a_constant_rtt_gives_a_timeout_of_rtt_plus_200_ms_and_doubles_when_unanswered() {
        let mut rtt = RttEstimator::new(RtoRule::Linux, 200_000, 120_000_000);
        for window in 0..50 {
            rtt.sample(50_000, window * 10 + 1, window * 10 + 10);
        }
        assert_eq!(rtt.rto_us(), 250_000);
        rtt.back_off();
        assert_eq!(rtt.rto_us(), 500_000);
        rtt.back_off();
        assert_eq!(rtt.rto_us(), 1_000_000);
        rtt.sample(50_000, 10_000, 10_010);
        assert_eq!(rtt.rto_us(), 250_000);
        for _ in 0..30 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto_us(), 120_000_000);
    }

    #[test]
    fn the_timeout_of_rfc_6298_has_a_floor_instead_of_an_addend() {
        let mut rtt = RttEstimator::new(RtoRule::Rfc6298, 1_000_000, 60_000_000);
        for _ in 0..20 {
            rtt.sample(50_000, 0, 0);
        }
        assert_eq!((rtt.srtt_x8 >> 3, rtt.rto_us()), (50_000, 1_000_000));
        rtt.sample(2_050_000, 0, 0);
        assert!(rtt.rto_us() > 2_000_000, "{}", rtt.rto_us());
    }

    #[test]
    fn the_windowed_minimum_forgets_after_300_seconds() {
        let mut min = WindowedMin::new();
        min.update(0, 40_000);
        for second in 1..=300 {
            min.update(second * 1_000_000, 50_000);
            assert_eq!(min.get(), 40_000);
        }
        min.update(301_000_000, 50_000);
        assert_eq!(min.get(), 50_000);
    }
}
