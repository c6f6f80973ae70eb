//! Losses of a chain of four states: netem's general Markov model (Salsano, Ludovici and Ordine).
//!
//! In a gap packets pass and one may be lost by itself; in a burst of losses packets are lost, and the burst may be
//! broken by packets that pass. One number is drawn for each packet; it decides about the step, and the state that is
//! reached about the packet. In the long run the chain is in the loss states for the share (p13/p31 + p14) / (1 + p14 +
//! p13/p31·(1 + p32/p23)) of the packets.

use super::process::{Model, Process};
use crate::catalog::{Described, LinkContext};
use dumbbell_parameters::Problem;
use dumbbell_units::{Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses of a chain of four states: a gap (1), packets that pass within a burst (2), a burst of losses (3), a single
/// loss within a gap (4).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FourState {
    /// Probability that a burst of losses begins in a gap, for each packet.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss state p13"))]
    pub p13: Ratio,
    /// Probability that a burst ends, for each packet.
    #[schemars(extend("x-default" = "1 - `p13`", "x-above" = "0%", "x-at-most" = "100%", "x-source" = "tc-netem: loss state p31"))]
    pub p31: Option<Ratio>,
    /// Probability that packets begin to pass within a burst, for each packet.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss state p32"))]
    pub p32: Ratio,
    /// Probability that losses go on after packets that pass within a burst, for each packet.
    #[serde(default = "certain")]
    #[schemars(extend("x-above" = "0%", "x-at-most" = "100%", "x-source" = "tc-netem: loss state p23"))]
    pub p23: Ratio,
    /// Probability of a single loss in a gap, for each packet.
    #[serde(default)]
    #[schemars(extend("x-at-most" = "100%", "x-source" = "tc-netem: loss state p14"))]
    pub p14: Ratio,
}

fn certain() -> Ratio {
    Ratio::new(1.0).unwrap_or_default()
}

impl Described<LinkContext> for FourState {
    const NAME: &'static str = "four-state";
    const ALIASES: &'static [&'static str] = &["state"];
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_netem.c: loss_4state";

    fn resolve(self, _: &LinkContext) -> Result<FourState, Problem> {
        let rest = Ratio::new((1.0 - self.p13.as_f64()).max(0.0)).unwrap_or_default();
        let p31 = self.p31.unwrap_or(rest);
        if p31 == Ratio::ZERO {
            return Err(Problem::value("p13", "a burst of losses that begins at once never ends", "give `p31`"));
        }
        for (key, of, sum) in
            [("p14", "p13", self.p13.as_f64() + self.p14.as_f64()), ("p32", "p31", p31.as_f64() + self.p32.as_f64())]
        {
            if sum > 1.0 {
                let sum = Ratio::new(sum).unwrap_or_default();
                let message = format!("`{of}` and `{key}` leave one state with a probability of {sum}");
                return Err(Problem::value(key, message, "allowed: at most 100% together"));
            }
        }
        Ok(FourState { p31: Some(p31), ..self })
    }

    fn in_words(&self) -> String {
        let FourState { p13, p31, p32, p23, p14 } = self;
        format!("four-state loss (p13 {p13}, p31 {}, p32 {p32}, p23 {p23}, p14 {p14})", p31.unwrap_or_default())
    }
}

impl Model for FourState {
    fn process(&self, rng: Rng) -> Box<dyn Process> {
        Box::new(Chain { parameters: self.clone(), state: State::Gap, rng })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Gap,
    PassingInBurst,
    Burst,
    SingleLoss,
}

#[derive(Clone, Debug)]
struct Chain {
    parameters: FourState,
    state: State,
    rng: Rng,
}

impl Process for Chain {
    fn strikes(&mut self, _: Time) -> bool {
        let FourState { p13, p31, p32, p23, p14 } = &self.parameters;
        let [p13, p31, p32, p23, p14] = [*p13, p31.unwrap_or_default(), *p32, *p23, *p14].map(Ratio::as_f64);
        let draw = self.rng.uniform();
        self.state = match self.state {
            State::Gap if draw < p14 => State::SingleLoss,
            State::Gap if draw < p14 + p13 => State::Burst,
            State::PassingInBurst if draw < p23 => State::Burst,
            State::Burst if draw < p32 => State::PassingInBurst,
            State::Burst if draw < p32 + p31 => State::Gap,
            State::SingleLoss => State::Gap,
            unchanged => unchanged,
        };
        matches!(self.state, State::Burst | State::SingleLoss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{PACKETS, losses, mean_run, ratio};

    fn chain([p13, p31, p32, p23, p14]: [f64; 5]) -> Vec<bool> {
        let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(|p| Ratio::new(p).unwrap());
        losses(&FourState { p13, p31: Some(p31), p32, p23, p14 })
    }

    #[test]
    fn the_chain_loses_its_stationary_share() {
        for [p13, p31, p32, p23, p14] in
            [[0.01, 0.25, 0.0, 1.0, 0.0], [0.01, 0.3, 0.2, 0.5, 0.005], [0.0, 0.5, 0.0, 1.0, 0.02]]
        {
            let burst = p13 / p31;
            let expected = (burst + p14) / (1.0 + p14 + burst * (1.0 + p32 / p23));
            let seen = ratio(&chain([p13, p31, p32, p23, p14]));
            // Bursts of four losses make the mean vary less than three times as much as independent losses do.
            let sigma = 3.0 * (expected * (1.0 - expected) / PACKETS as f64).sqrt();
            assert!((seen - expected).abs() < 3.0 * sigma, "{seen} for {expected}");
        }
    }

    #[test]
    fn bursts_last_as_long_as_they_are_not_left_and_single_losses_one_packet() {
        assert!((mean_run(&chain([0.01, 0.2, 0.05, 0.5, 0.0])) - 4.0).abs() < 0.1, "left with 0.2 + 0.05");
        assert_eq!(mean_run(&chain([0.0, 1.0, 0.0, 1.0, 0.05])), 1.0);
    }

    #[test]
    fn probabilities_that_leave_a_state_are_at_most_certain_together() {
        let resolve = |table: serde_json::Value| {
            let link = LinkContext::default();
            crate::loss::catalog().resolve("four-state", table.as_object().unwrap(), &link)
        };
        let complete = resolve(serde_json::json!({ "p13": "10%" })).unwrap();
        let expected = serde_json::json!({ "p13": "10%", "p31": "90%", "p32": "0%", "p23": "100%", "p14": "0%" });
        assert_eq!(serde_json::Value::from(complete.parameters().clone()), expected);
        for (table, key) in [
            (serde_json::json!({ "p13": "60%", "p14": "50%" }), "p14"),
            (serde_json::json!({ "p13": "10%", "p32": "20%" }), "p32"),
            (serde_json::json!({ "p13": "100%" }), "p13"),
        ] {
            assert_eq!(resolve(table).unwrap_err()[0].key, key);
        }
    }
}
