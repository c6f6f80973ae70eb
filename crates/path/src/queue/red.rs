//! Random early detection (Floyd and Jacobson, 1993) and its adaptive form (Floyd, Gummadi and Shenker, 2001).
//!
//! RED keeps an exponential average of the backlog that arriving packets find. Below `min` nothing happens; between
//! `min` and `max` packets are dropped (or marked) with a probability that rises linearly to `max_probability`; from
//! `max` on all are. Drops are spread out: with probability p the number of packets from one drop to the next is uniform
//! over 1..1/p, not geometric. While the link is idle no packet updates the average; on the next arrival it decays as if
//! typical packets had found an empty queue all that time. With `gentle` the probability rises on from `max` to twice
//! `max` instead of jumping to 1.
//!
//! The adaptive form changes `max_probability` every half second, up by at most a quarter and down by a tenth, to keep
//! the average in the middle fifth between the thresholds.

use super::Verdict;
use crate::config::RedConfig;
use crate::packet::Ecn;
use dumbbell_units::{Duration, Rng, Time};

const ADAPT_EVERY: Duration = Duration::from_millis(500);
/// After a pause of this many adaptations the probability has come to its end.
const ADAPTATIONS_AT_MOST: u64 = 100;
/// Bounds between which the probability is adapted, and the largest step up.
const ADAPT_BELOW: f64 = 0.5;
const ADAPT_ABOVE: f64 = 0.01;
const STEP_UP_AT_MOST: f64 = 0.01;

/// State of a RED queue.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    max_probability: f64,
    /// Average backlog in bytes.
    average: f64,
    /// Packets since the last drop, or since the average rose above `min`; `None` while it is outside the range.
    count: Option<u64>,
    /// Uniform number that decides about the next drop.
    draw: f64,
    next_adaptation: Time,
    rng: Rng,
}

impl Red {
    pub(crate) fn new(config: RedConfig, rng: Rng) -> Red {
        Red {
            config,
            max_probability: config.max_probability,
            average: 0.0,
            count: None,
            draw: 0.0,
            next_adaptation: Time::ZERO + ADAPT_EVERY,
            rng,
        }
    }

    /// About a packet that arrives at a backlog of `bytes`; `idle_since` is known when the link is idle.
    pub(crate) fn judge(&mut self, now: Time, bytes: u64, idle_since: Option<Time>, ecn: Ecn) -> Verdict {
        if self.config.adaptive {
            self.adapt(now, idle_since);
        }
        self.average = match idle_since {
            Some(since) => self.decayed(now, since),
            None => self.average + self.config.weight * (bytes as f64 - self.average),
        };
        let (min, max) = (self.config.min_bytes as f64, self.config.max_bytes as f64);
        let probability = if self.average < min {
            self.count = None;
            return Verdict::Pass;
        } else if self.average < max {
            self.max_probability * (self.average - min) / (max - min)
        } else if self.config.gentle && self.average < 2.0 * max {
            self.max_probability + (1.0 - self.max_probability) * (self.average - max) / max
        } else {
            self.count = None;
            return if self.config.ecn && !self.config.hard_drop { self.strike(ecn) } else { Verdict::Drop };
        };
        let Some(count) = self.count else {
            self.restart();
            return Verdict::Pass;
        };
        if (count + 1) as f64 * probability < self.draw {
            self.count = Some(count + 1);
            return Verdict::Pass;
        }
        self.restart();
        self.strike(ecn)
    }

    fn restart(&mut self) {
        self.count = Some(0);
        self.draw = self.rng.uniform();
    }

    fn strike(&self, ecn: Ecn) -> Verdict {
        if self.config.ecn && ecn != Ecn::NotEct { Verdict::Mark } else { Verdict::Drop }
    }

    /// The average at `now` when the link has been idle since `since`.
    fn decayed(&self, now: Time, since: Time) -> f64 {
        let idle = now.since(since).as_nanos() as f64 * 1e-9;
        let missed = idle * self.config.bandwidth as f64 / (8.0 * f64::from(self.config.average_packet));
        self.average * libm::pow(1.0 - self.config.weight, missed)
    }

    /// Makes the adaptations that are due; the average has not changed since the last arrival but for idleness.
    fn adapt(&mut self, now: Time, idle_since: Option<Time>) {
        let due = now.since(self.next_adaptation).as_nanos() / ADAPT_EVERY.as_nanos();
        self.next_adaptation += ADAPT_EVERY * due.saturating_sub(ADAPTATIONS_AT_MOST);
        let (min, max) = (self.config.min_bytes as f64, self.config.max_bytes as f64);
        let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        while self.next_adaptation <= now {
            let average = match idle_since {
                Some(since) if since < self.next_adaptation => self.decayed(self.next_adaptation, since),
                _ => self.average,
            };
            let p = self.max_probability;
            if average > high && p <= ADAPT_BELOW {
                self.max_probability = p + f64::min(STEP_UP_AT_MOST, p / 4.0);
            } else if average < low && p >= ADAPT_ABOVE {
                self.max_probability = p * 0.9;
            }
            self.next_adaptation += ADAPT_EVERY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Thresholds of 30 and 90 kB on a link of 12 Mb/s: a packet of 1500 bytes a millisecond.
    const PLAIN: RedConfig = RedConfig {
        min_bytes: 30_000,
        max_bytes: 90_000,
        max_probability: 0.1,
        weight: 1.0 / 512.0,
        average_packet: 1500,
        bandwidth: 12_000_000,
        ecn: false,
        hard_drop: false,
        gentle: false,
        adaptive: false,
    };

    fn red(config: RedConfig, average: f64) -> Red {
        Red { average, ..Red::new(config, Rng::new(3)) }
    }

    /// Verdicts on packets, one a millisecond, that all find the same backlog.
    fn verdicts(red: &mut Red, packets: u64, bytes: u64, ecn: Ecn) -> Vec<Verdict> {
        (0..packets).map(|i| red.judge(Time::from_nanos(i * MS), bytes, None, ecn)).collect()
    }

    fn drop_ratio(config: RedConfig, bytes: u64) -> f64 {
        let verdicts = verdicts(&mut red(config, bytes as f64), 20_000, bytes, Ecn::NotEct);
        verdicts.iter().filter(|&&v| v == Verdict::Drop).count() as f64 / verdicts.len() as f64
    }

    #[test]
    fn at_a_constant_average_the_gaps_between_drops_are_uniform_over_one_to_one_over_p() {
        // Half way between the thresholds: p = 0.05.
        let verdicts = verdicts(&mut red(PLAIN, 60_000.0), 200_000, 60_000, Ecn::NotEct);
        let drops: Vec<usize> = (0..verdicts.len()).filter(|&i| verdicts[i] == Verdict::Drop).collect();
        let gaps: Vec<usize> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|&gap| (1..=20).contains(&gap)));
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        // The standard deviation of one gap is √((20² − 1)/12).
        assert!((mean - 10.5).abs() < 3.0 * 5.77 / (gaps.len() as f64).sqrt(), "{mean}");
        let expected = gaps.len() as f64 / 20.0;
        for gap in 1..=20 {
            let seen = gaps.iter().filter(|&&g| g == gap).count() as f64;
            assert!(
                (seen - expected).abs() < 4.0 * expected.sqrt(),
                "a gap of {gap} came {seen} times, not {expected}"
            );
        }
    }

    #[test]
    fn nothing_is_dropped_below_the_range_and_everything_above_it() {
        assert_eq!(drop_ratio(PLAIN, 29_999), 0.0);
        assert_eq!(drop_ratio(PLAIN, 90_000), 1.0);
        let p = 0.1 * (75_000.0 - 30_000.0) / 60_000.0;
        assert!((drop_ratio(PLAIN, 75_000) - 2.0 * p / (1.0 + p)).abs() < 0.01);
    }

    #[test]
    fn the_gentle_form_goes_on_rising_to_twice_the_upper_threshold() {
        let gentle = RedConfig { gentle: true, ..PLAIN };
        let p = 0.1 + 0.9 * 0.5;
        // 1/p is not whole, so gaps are 1 or 2: 1 with probability p.
        assert!((drop_ratio(gentle, 135_000) - 1.0 / (2.0 - p)).abs() < 0.01);
        assert_eq!(drop_ratio(gentle, 180_000), 1.0);
        assert_eq!(drop_ratio(gentle, 60_000), drop_ratio(PLAIN, 60_000));
    }

    #[test]
    fn the_average_follows_a_step_with_a_time_constant_of_one_over_the_weight() {
        let mut red = red(PLAIN, 0.0);
        verdicts(&mut red, 512, 20_000, Ecn::NotEct);
        assert!((red.average / 20_000.0 - (1.0 - (-1.0f64).exp())).abs() < 0.001, "{}", red.average);
    }

    #[test]
    fn an_idle_link_forgets_as_if_packets_had_found_it_empty() {
        let mut idle = red(PLAIN, 20_000.0);
        idle.judge(Time::from_nanos(600 * MS), 0, Some(Time::from_nanos(100 * MS)), Ecn::NotEct);
        let mut busy = red(PLAIN, 20_000.0);
        verdicts(&mut busy, 500, 0, Ecn::NotEct);
        assert!((idle.average - busy.average).abs() < 1e-6, "{} and {}", idle.average, busy.average);
    }

    #[test]
    fn ecn_capable_packets_are_marked_even_above_the_range_unless_dropping_is_asked_for() {
        let marking = RedConfig { ecn: true, ..PLAIN };
        let all = |config, bytes, ecn, verdict| {
            verdicts(&mut red(config, bytes as f64), 1000, bytes, ecn).iter().all(|&v| v == verdict)
        };
        assert!(all(marking, 100_000, Ecn::Ect0, Verdict::Mark));
        assert!(all(marking, 100_000, Ecn::NotEct, Verdict::Drop));
        assert!(all(RedConfig { hard_drop: true, ..marking }, 100_000, Ecn::Ect0, Verdict::Drop));
        let inside = verdicts(&mut red(marking, 60_000.0), 1000, 60_000, Ecn::Ect0);
        assert!(inside.contains(&Verdict::Mark) && !inside.contains(&Verdict::Drop));
    }

    #[test]
    fn the_adaptive_form_steers_the_probability_towards_the_middle_of_the_range() {
        let adaptive = RedConfig { adaptive: true, ..PLAIN };
        let after_ten_seconds = |bytes: u64| {
            let mut red = red(adaptive, bytes as f64);
            verdicts(&mut red, 10_001, bytes, Ecn::NotEct);
            red.max_probability
        };
        assert!((after_ten_seconds(80_000) - (0.1 + 20.0 * 0.01)).abs() < 1e-9, "twenty steps up");
        assert!((after_ten_seconds(40_000) - 0.1 * 0.9f64.powi(20)).abs() < 1e-9, "twenty steps down");
        assert_eq!(after_ten_seconds(60_000), 0.1);
    }

    #[test]
    fn a_long_pause_ends_where_the_adaptation_would() {
        let mut red = red(RedConfig { adaptive: true, ..PLAIN }, 80_000.0);
        let month = Time::ZERO + Duration::from_secs(30 * 86_400);
        red.judge(month, 0, Some(Time::ZERO), Ecn::NotEct);
        assert!(red.max_probability < 0.01 && red.max_probability > 0.008);
        assert!(red.next_adaptation > month && red.next_adaptation <= month + ADAPT_EVERY);
    }
}
