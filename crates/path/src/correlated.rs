//! netem's correlated random numbers, and what happens to a share of packets by them.
//!
//! x ← (1 − ρ)·u + ρ·x with u uniform, in 32-bit fixed point. The variance shrinks as ρ rises: at high correlations
//! fewer packets are struck than a small probability says, as in netem.

use crate::chance::Chance;
use dumbbell_units::{Ratio, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that happens to a share of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Probability for each packet.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: duplicate, corrupt"))]
    pub probability: Ratio,
    /// Correlation of successive draws, which also makes small probabilities smaller.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: CORRELATION"))]
    pub correlation: Ratio,
}

impl Share {
    /// `1%`, `1% (correlation 25%)`.
    pub fn in_words(&self) -> String {
        let Share { probability, correlation } = self;
        if is_zero(correlation) {
            probability.to_string()
        } else {
            format!("{probability} (correlation {correlation})")
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
pub(crate) fn is_zero(ratio: &Ratio) -> bool {
    *ratio == Ratio::ZERO
}

/// A probability whose successive draws are correlated.
#[derive(Clone, Debug)]
pub(crate) struct CorrelatedChance {
    chance: Chance,
    /// What a correlated number must not exceed.
    threshold: u32,
    uniform: Option<CorrelatedUniform>,
}

impl CorrelatedChance {
    pub(crate) fn new(probability: Ratio, correlation: Ratio) -> CorrelatedChance {
        let probability = probability.as_f64().clamp(0.0, 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to 0..=1")]
        let threshold = (probability * f64::from(u32::MAX)) as u32;
        let uniform = (!is_zero(&correlation)).then(|| CorrelatedUniform::new(correlation.as_f64()));
        CorrelatedChance { chance: Chance::new(probability), threshold, uniform }
    }

    /// Draws once.
    #[inline]
    pub(crate) fn happens(&mut self, rng: &mut Rng) -> bool {
        match &mut self.uniform {
            None => self.chance.happens(rng),
            Some(uniform) => {
                let x = uniform.next(rng);
                self.threshold > 0 && x <= self.threshold
            }
        }
    }
}

/// netem's correlated uniform numbers in 32-bit fixed point.
#[derive(Clone, Debug)]
pub(crate) struct CorrelatedUniform {
    correlation: u64,
    last: Option<u64>,
}

impl CorrelatedUniform {
    pub(crate) fn new(correlation: f64) -> CorrelatedUniform {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped to 0..=1")]
        let correlation = (correlation.clamp(0.0, 1.0) * 2f64.powi(32)) as u64;
        CorrelatedUniform { correlation, last: None }
    }

    pub(crate) fn next(&mut self, rng: &mut Rng) -> u32 {
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

    fn ratio(value: f64) -> Ratio {
        Ratio::new(value).unwrap()
    }

    fn struck(probability: f64, correlation: f64) -> Vec<bool> {
        let mut chance = CorrelatedChance::new(ratio(probability), ratio(correlation));
        let mut rng = Rng::new(5);
        (0..400_000).map(|_| chance.happens(&mut rng)).collect()
    }

    fn share(struck: &[bool]) -> f64 {
        struck.iter().filter(|&&struck| struck).count() as f64 / struck.len() as f64
    }

    /// How much more often a packet is struck behind one that was.
    fn clustering(struck: &[bool]) -> f64 {
        let behind = struck.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect::<Vec<_>>();
        share(&behind) / share(struck)
    }

    #[test]
    fn correlated_events_cluster_and_small_probabilities_shrink() {
        let (independent, correlated) = (struck(0.1, 0.0), struck(0.1, 0.5));
        assert!((share(&independent) - 0.1).abs() < 0.002 && (clustering(&independent) - 1.0).abs() < 0.05);
        assert!(share(&correlated) < 0.06, "{}", share(&correlated));
        assert!(clustering(&correlated) > 2.5, "{}", clustering(&correlated));
        assert!((share(&struck(0.5, 0.5)) - 0.5).abs() < 0.01, "the middle stays where it is");
    }

    #[test]
    fn probability_zero_never_happens_and_one_always_does() {
        for correlation in [0.0, 0.3, 1.0] {
            assert_eq!((share(&struck(0.0, correlation)), share(&struck(1.0, correlation))), (0.0, 1.0));
        }
    }
}
