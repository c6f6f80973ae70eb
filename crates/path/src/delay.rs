//! How long packets travel: a constant delay, per-packet variation of it, and deliberate reordering.
//!
//! Variation follows netem. The uniform number behind each packet's delay is x ← (1 − ρ)·u + ρ·x, in 32-bit fixed
//! point; it shrinks the variance as netem does. Uniform jitter is base − jitter + x·2·jitter, normal jitter is
//! base + jitter·z(x) with the normal quantile z; a negative delay is zero. Reordering lets a packet skip the pipe when
//! at least `gap` − 1 packets have gone the normal way since the last that did, and a draw succeeds.

use crate::loss::Chance;
use crate::normal::{QUANTILE_BITS, quantile};
use dumbbell_units::{Duration, Ratio, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Propagation.
#[derive(Clone, Debug, Default)]
pub struct Delay {
    /// Constant part.
    pub base: Duration,
    /// Variation from packet to packet.
    pub jitter: Jitter,
    /// Packets that overtake.
    pub reorder: Reorder,
}

/// Random variation of the propagation delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Half width (uniform) or standard deviation (normal).
    #[schemars(extend("x-at-most" = "1h", "x-source" = "tc-netem: delay JITTER"))]
    pub amount: Duration,
    /// Shape.
    #[serde(default)]
    #[schemars(extend("x-source" = "tc-netem: distribution"))]
    pub distribution: JitterDistribution,
    /// Correlation of successive variations.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: delay CORRELATION"))]
    pub correlation: Ratio,
    /// Whether packets may overtake each other. Without it a packet waits for those before it.
    #[serde(default)]
    #[schemars(extend("x-source" = "netem reorders; behind a rate or a pfifo it does not"))]
    pub reorders: bool,
}

impl Jitter {
    /// For a report; nothing when there is none.
    pub fn in_words(&self) -> Option<String> {
        let order = if self.reorders { ", may reorder" } else { "" };
        (self.amount > Duration::ZERO).then(|| format!("jitter {}{order}", self.amount.in_words()))
    }
}

/// Shape of jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JitterDistribution {
    /// Delay plus or minus the amount.
    #[default]
    Uniform,
    /// Standard deviation of the amount, cut at zero delay.
    Normal,
}

/// Packets that skip the delay and so overtake others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability for each candidate.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: reorder"))]
    pub probability: Ratio,
    /// Only every so many packets is a candidate.
    #[serde(default = "every_packet")]
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "tc-netem: gap"))]
    pub gap: u32,
}

impl Reorder {
    /// For a report; nothing when there is none.
    pub fn in_words(&self) -> Option<String> {
        (self.probability > Ratio::ZERO).then(|| format!("{} of packets overtake", self.probability))
    }
}

fn every_packet() -> u32 {
    1
}

impl Default for Reorder {
    fn default() -> Reorder {
        Reorder { probability: Ratio::ZERO, gap: every_packet() }
    }
}

/// How a packet passes the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// It takes this many nanoseconds more than the constant delay, or less.
    Delayed(i64),
    /// It skips the delay.
    Skips,
}

impl Passage {
    /// How long it takes where the constant delay is `base`.
    #[inline]
    pub(crate) fn delay(self, base: Duration) -> Duration {
        match self {
            Passage::Skips => Duration::ZERO,
            Passage::Delayed(more) => {
                let nanos = i128::from(base.as_nanos()) + i128::from(more);
                Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Everything about a delay that differs from packet to packet.
#[derive(Clone, Debug)]
pub(crate) struct Variation {
    jitter: u64,
    distribution: JitterDistribution,
    uniform: CorrelatedUniform,
    reorder: Option<Chance>,
    gap: u32,
    normal_ones: u32,
    rng: Rng,
}

impl Variation {
    pub(crate) fn new(delay: &Delay, rng: Rng) -> Variation {
        let Jitter { amount, distribution, correlation, .. } = delay.jitter;
        let Reorder { probability, gap } = delay.reorder;
        Variation {
            jitter: amount.as_nanos(),
            distribution,
            uniform: CorrelatedUniform::new(correlation.as_f64()),
            reorder: (probability > Ratio::ZERO).then(|| Chance::new(probability.as_f64())),
            gap: gap.max(1),
            normal_ones: 0,
            rng,
        }
    }

    /// Draws how the next packet passes.
    pub(crate) fn draw(&mut self) -> Passage {
        if let Some(reorder) = self.reorder {
            if self.normal_ones >= self.gap - 1 && reorder.happens(&mut self.rng) {
                self.normal_ones = 0;
                return Passage::Skips;
            }
            self.normal_ones = self.normal_ones.saturating_add(1);
        }
        Passage::Delayed(self.jitter())
    }

    /// By how many nanoseconds the delay differs.
    fn jitter(&mut self) -> i64 {
        if self.jitter == 0 {
            return 0;
        }
        let x = self.uniform.next(&mut self.rng);
        let variation = match self.distribution {
            JitterDistribution::Uniform => {
                ((i128::from(x) * 2 * i128::from(self.jitter)) >> 32) - i128::from(self.jitter)
            }
            JitterDistribution::Normal => (i128::from(self.jitter) * i128::from(quantile(x))) >> QUANTILE_BITS,
        };
        i64::try_from(variation).unwrap_or(if variation < 0 { i64::MIN } else { i64::MAX })
    }
}

/// netem's correlated uniform numbers in 32-bit fixed point.
#[derive(Clone, Debug)]
struct CorrelatedUniform {
    correlation: u64,
    last: Option<u64>,
}

impl CorrelatedUniform {
    fn new(correlation: f64) -> CorrelatedUniform {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to 0..=1")]
        let correlation = (correlation.clamp(0.0, 1.0) * 2f64.powi(32)) as u64;
        CorrelatedUniform { correlation, last: None }
    }

    fn next(&mut self, rng: &mut Rng) -> u32 {
        let fresh = rng.next_u64() >> 32;
        let fresh_weight = (1u64 << 32) - self.correlation;
        // Both products are below 2⁶⁴ and so is their sum: the weights add up to 2³², the numbers are below it.
        let x = (fresh * fresh_weight + self.last.unwrap_or(fresh) * self.correlation) >> 32;
        self.last = Some(x);
        x as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn delays(delay: &Delay, packets: usize) -> Vec<f64> {
        let mut variation = Variation::new(delay, Rng::new(11));
        (0..packets).map(|_| variation.draw().delay(delay.base).as_nanos() as f64 / MS as f64).collect()
    }

    fn mean_sd(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
    }

    fn autocorrelation(values: &[f64]) -> f64 {
        let (mean, sd) = mean_sd(values);
        values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / (values.len() as f64 * sd * sd)
    }

    fn jittery(distribution: JitterDistribution, correlation: f64) -> Delay {
        let (amount, correlation) = (Duration::from_millis(5), Ratio::new(correlation).unwrap());
        let jitter = Jitter { amount, distribution, correlation, reorders: false };
        Delay { base: Duration::from_millis(50), jitter, ..Delay::default() }
    }

    #[test]
    fn uniform_jitter_fills_base_plus_minus_jitter() {
        let delays = delays(&jittery(JitterDistribution::Uniform, 0.0), 200_000);
        let (mean, sd) = mean_sd(&delays);
        assert!((mean - 50.0).abs() < 0.03 && (sd - 5.0 / 3f64.sqrt()).abs() < 0.02);
        assert!(delays.iter().all(|d| (45.0..=55.0).contains(d)));
        assert!(delays.iter().any(|&d| d < 45.1) && delays.iter().any(|&d| d > 54.9));
    }

    #[test]
    fn normal_jitter_has_the_asked_standard_deviation_and_is_never_negative() {
        let (mean, sd) = mean_sd(&delays(&jittery(JitterDistribution::Normal, 0.0), 200_000));
        assert!((mean - 50.0).abs() < 0.05 && (sd - 5.0).abs() < 0.05);
        let wide = Delay { base: Duration::from_millis(1), ..jittery(JitterDistribution::Normal, 0.0) };
        let cut = delays(&wide, 10_000).iter().filter(|&&d| d == 0.0).count();
        assert!((3_800..4_600).contains(&cut), "P(z < -0.2) is 42 %, {cut} of 10 000 were cut");
    }

    #[test]
    fn correlation_of_successive_delays_is_the_parameter_and_shrinks_their_spread() {
        for rho in [0.25, 0.8] {
            let delays = delays(&jittery(JitterDistribution::Uniform, rho), 400_000);
            assert!((autocorrelation(&delays) - rho).abs() < 0.01);
            let shrunk = 5.0 / 3f64.sqrt() * ((1.0 - rho) / (1.0 + rho)).sqrt();
            assert!((mean_sd(&delays).1 - shrunk).abs() < 0.03);
        }
    }

    #[test]
    fn after_a_gap_each_packet_has_the_same_chance_to_skip_the_delay() {
        let overtakers = |gap, packets: usize| {
            let mut variation = Variation::new(
                &Delay { reorder: Reorder { probability: Ratio::new(0.25).unwrap(), gap }, ..Delay::default() },
                Rng::new(9),
            );
            (0..packets).filter(|_| variation.draw() == Passage::Skips).count() as f64
        };
        // Four ordinary packets, then a trial with success 1/4 for each further one: one in 4 + 4.
        assert!((overtakers(5, 400_000) / 400_000.0 - 1.0 / 8.0).abs() < 0.003);
        assert!((overtakers(1, 400_000) / 400_000.0 - 0.25).abs() < 0.003);
    }
}
