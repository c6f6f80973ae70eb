//! Independent losses.

use super::process::{Model, Process};
use crate::catalog::{Described, LinkContext};
use crate::correlated::{CorrelatedChance, Share, is_zero};
use dumbbell_units::{Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent losses, or, with a `correlation`, netem's correlated ones.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// Probability that a packet is lost.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss random"))]
    pub p: Ratio,
    /// Correlation of successive draws, which also makes small probabilities smaller.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss random CORRELATION"))]
    pub correlation: Ratio,
}

impl Described<LinkContext> for Bernoulli {
    const NAME: &'static str = "bernoulli";
    const ALIASES: &'static [&'static str] = &["random"];
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_netem.c: loss_event, CLG_RANDOM";

    fn in_words(&self) -> String {
        format!("loss {}", Share { probability: self.p, correlation: self.correlation }.in_words())
    }
}

impl Model for Bernoulli {
    fn process(&self, rng: Rng) -> Box<dyn Process> {
        Box::new(State { loss: CorrelatedChance::new(self.p, self.correlation), rng })
    }
}

#[derive(Clone, Debug)]
struct State {
    loss: CorrelatedChance,
    rng: Rng,
}

impl Process for State {
    fn strikes(&mut self, _: Time) -> bool {
        self.loss.happens(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{PACKETS, losses, mean_run, ratio};

    fn independent(p: f64) -> Vec<bool> {
        losses(&Bernoulli { p: Ratio::new(p).unwrap(), correlation: Ratio::ZERO })
    }

    #[test]
    fn independent_losses_have_the_asked_ratio_and_geometric_runs() {
        for p in [0.001, 0.01, 0.3] {
            let losses = independent(p);
            let sigma = (p * (1.0 - p) / PACKETS as f64).sqrt();
            assert!((ratio(&losses) - p).abs() < 3.0 * sigma, "p = {p}");
            let expected = 1.0 / (1.0 - p);
            let sigma = (p / (1.0 - p).powi(2) / (p * PACKETS as f64 * (1.0 - p))).sqrt();
            assert!((mean_run(&losses) - expected).abs() < 3.0 * sigma, "p = {p}");
        }
    }

    #[test]
    fn correlated_losses_come_in_longer_runs() {
        let half = Bernoulli { p: Ratio::new(0.5).unwrap(), correlation: Ratio::new(0.6).unwrap() };
        let losses = losses(&half);
        assert!((ratio(&losses) - 0.5).abs() < 0.01, "{}", ratio(&losses));
        assert!(mean_run(&losses) > 2.5, "independent losses come in runs of 2: {}", mean_run(&losses));
    }

    #[test]
    fn probability_zero_never_strikes_and_one_always_does() {
        assert_eq!(ratio(&independent(0.0)), 0.0);
        assert_eq!(ratio(&independent(1.0)), 1.0);
    }
}
