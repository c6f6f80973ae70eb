//! Losses in bursts: the chain of Gilbert and Elliott.
//!
//! This is netem's `gemodel`: a two-state Markov chain that may move once a packet, and in each state independent losses.
//! Both draws of a packet are made in the state before the move. The stationary loss ratio is
//! (p·loss_bad + r·loss_good)/(p + r), and the chain stays in the bad state for 1/r packets on average.

use super::{Chance, Model, Process};
use crate::catalog::{Described, LinkContext};
use dumbbell_parameters::Problem;
use dumbbell_units::{Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses in bursts: a chain of a good and a bad state (Gilbert and Elliott), with netem's parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability of the transition from good to bad, for each packet.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss gemodel p"))]
    pub p: Ratio,
    /// Probability of the transition from bad to good, for each packet.
    #[schemars(extend("x-default" = "1 - `p`", "x-at-most" = "100%", "x-source" = "tc-netem: loss gemodel r"))]
    pub r: Option<Ratio>,
    /// Loss probability in the bad state.
    #[serde(default = "always")]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss gemodel 1-h"))]
    pub loss_bad: Ratio,
    /// Loss probability in the good state.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss gemodel 1-k"))]
    pub loss_good: Ratio,
}

fn always() -> Ratio {
    Ratio::new(1.0).unwrap_or_default()
}

impl Described for GilbertElliott {
    const NAME: &'static str = "gilbert-elliott";
    const ALIASES: &'static [&'static str] = &["gemodel"];
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_netem.c: loss_gilb_ell";

    fn resolve(self, _: &LinkContext) -> Result<GilbertElliott, Problem> {
        let rest = Ratio::new((1.0 - self.p.as_f64()).max(0.0));
        Ok(GilbertElliott { r: self.r.or(rest), ..self })
    }

    fn in_words(&self) -> String {
        let GilbertElliott { p, r, loss_bad, loss_good } = self;
        let r = r.unwrap_or_default();
        format!("Gilbert-Elliott loss (p {p}, r {r}, {loss_bad} when bad, {loss_good} when good)")
    }
}

impl Model for GilbertElliott {
    fn process(&self, rng: Rng) -> Box<dyn Process> {
        let chance = |ratio: Ratio| Chance::new(ratio.as_f64());
        Box::new(State {
            to_bad: chance(self.p),
            to_good: chance(self.r.unwrap_or_default()),
            loss_bad: chance(self.loss_bad),
            loss_good: chance(self.loss_good),
            is_bad: false,
            rng,
        })
    }
}

#[derive(Clone, Debug)]
struct State {
    to_bad: Chance,
    to_good: Chance,
    loss_bad: Chance,
    loss_good: Chance,
    is_bad: bool,
    rng: Rng,
}

impl Process for State {
    fn strikes(&mut self, _: Time) -> bool {
        let (leave, loss) = if self.is_bad { (self.to_good, self.loss_bad) } else { (self.to_bad, self.loss_good) };
        if leave.happens(&mut self.rng) {
            self.is_bad = !self.is_bad;
        }
        loss.happens(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{PACKETS, losses, mean_run, ratio};

    fn bursts(p: f64, r: f64, loss_bad: f64, loss_good: f64) -> Vec<bool> {
        let ratio = |value| Ratio::new(value).unwrap();
        let (loss_bad, loss_good) = (ratio(loss_bad), ratio(loss_good));
        losses(&GilbertElliott { p: ratio(p), r: Some(ratio(r)), loss_bad, loss_good })
    }

    #[test]
    fn gilbert_elliott_loses_the_stationary_ratio_in_runs_of_one_over_r() {
        let (p, r) = (0.01, 0.25);
        let simple = bursts(p, r, 1.0, 0.0);
        let expected = p / (p + r);
        // The variance of the mean of a two-state chain is (1 + λ)/(1 − λ) times that of independent draws.
        let lambda = 1.0 - p - r;
        let sigma = (expected * (1.0 - expected) * (1.0 + lambda) / (1.0 - lambda) / PACKETS as f64).sqrt();
        assert!((ratio(&simple) - expected).abs() < 3.0 * sigma);
        let runs = expected * r * PACKETS as f64;
        let sigma = ((1.0 - r) / (r * r) / runs).sqrt();
        assert!((mean_run(&simple) - 1.0 / r).abs() < 3.0 * sigma);
    }

    #[test]
    fn gilbert_elliott_mixes_the_losses_of_both_states() {
        let (p, r, loss_bad, loss_good) = (0.02, 0.2, 0.6, 0.05);
        let mixed = bursts(p, r, loss_bad, loss_good);
        let expected = (p * loss_bad + r * loss_good) / (p + r);
        assert!((ratio(&mixed) - expected).abs() < 0.002, "{} for {expected}", ratio(&mixed));
    }

    #[test]
    fn gilbert_elliott_has_netems_defaults() {
        let written = serde_json::json!({ "p": "25%" });
        let link = LinkContext::default();
        let recipe = crate::loss::catalog().resolve("gemodel", written.as_object().unwrap(), &link).unwrap();
        let expected = serde_json::json!({ "p": "25%", "r": "75%", "loss_bad": "100%", "loss_good": "0%" });
        assert_eq!(serde_json::Value::from(recipe.parameters().clone()), expected);
    }
}
