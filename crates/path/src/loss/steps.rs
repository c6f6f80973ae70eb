//! Losses that change with time: independent losses whose probability has steps.

use super::process::{Model, Process};
use crate::catalog::{Described, LinkContext};
use crate::chance::Chance;
use dumbbell_parameters::Problem;
use dumbbell_parameters::Schedule;
use dumbbell_units::{Duration, Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent losses with a probability that changes with time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Pairs of start and probability in the order of time, the first at `"0s"`.
    #[schemars(
        extend("examples" = [[["0s", "0%"], ["10s", "1%"]]]),
        extend("x-source" = "tc-netem: loss random, changed while it runs")
    )]
    pub steps: Vec<(Time, Ratio)>,
    /// The steps start again after this time.
    #[serde(default)]
    #[schemars(extend("x-default" = "never: the last probability stays", "x-source" = "like `rate`"))]
    pub repeat: Option<Duration>,
}

impl Described<LinkContext> for Steps {
    const NAME: &'static str = "steps";
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_netem.c: loss_event, CLG_RANDOM, and netem_change";

    fn resolve(self, _: &LinkContext) -> Result<Steps, Problem> {
        Schedule::new(self.steps.clone(), self.repeat)?;
        if let Some((start, p)) = self.steps.iter().find(|(_, p)| !p.is_probability()) {
            let message = format!("the probability from {start} on is {p}");
            return Err(Problem::value("steps", message, "allowed: at most 100%"));
        }
        Ok(self)
    }

    fn in_words(&self) -> String {
        let least = self.steps.iter().map(|(_, p)| p.as_f64()).fold(1.0, f64::min);
        let most = self.steps.iter().map(|(_, p)| p.as_f64()).fold(0.0, f64::max);
        let [least, most] = [least, most].map(|p| Ratio::new(p).unwrap_or_default());
        let again = self.repeat.map_or_else(String::new, |period| format!(", again every {}", period.in_words()));
        format!("loss of {least} to {most} in {} steps{again}", self.steps.len())
    }
}

impl Model for Steps {
    fn process(&self, rng: Rng) -> Box<dyn Process> {
        let steps: Vec<_> = self.steps.iter().map(|(start, p)| (*start, Chance::new(p.as_f64()))).collect();
        Box::new(State { chance: Schedule { steps: steps.into(), repeat_after: self.repeat }, rng })
    }
}

#[derive(Clone, Debug)]
struct State {
    chance: Schedule<Chance>,
    rng: Rng,
}

impl Process for State {
    fn strikes(&mut self, now: Time) -> bool {
        self.chance.at(now).happens(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::catalog;
    use serde_json::json;

    fn process(table: &serde_json::Value) -> Box<dyn Process> {
        let resolved = catalog().resolve("steps", table.as_object().unwrap(), &LinkContext::default());
        resolved.unwrap().make(Rng::new(3))
    }

    #[test]
    fn losses_follow_the_steps_and_their_repetition() {
        let steps = json!({ "steps": [["0s", "0%"], ["1s", "30%"], ["2s", "100%"]], "repeat": "3s" });
        let mut process = process(&steps);
        let mut ratio = |from_ms: u64| {
            let at = |i: u64| Time::ZERO + Duration::from_millis(from_ms) + Duration::from_micros(i * 10);
            (0..100_000).filter(|&i| process.strikes(at(i))).count() as f64 / 1e5
        };
        for pass in [0, 3_000, 300_000] {
            assert_eq!((ratio(pass), ratio(pass + 2_000)), (0.0, 1.0));
            assert!((ratio(pass + 1_000) - 0.3).abs() < 0.005, "in pass {pass}");
        }
    }

    #[test]
    fn a_constant_probability_loses_the_packets_that_independent_losses_do() {
        let p = Ratio::new(0.1).unwrap();
        let mut steps = process(&json!({ "steps": [["0s", "10%"]] }));
        let mut constant = super::super::Bernoulli { p, correlation: Ratio::ZERO }.process(Rng::new(3));
        assert!((0..10_000).all(|i| steps.strikes(Time::from_nanos(i)) == constant.strikes(Time::ZERO)));
    }

    #[test]
    fn steps_without_order_and_above_certainty_are_refused() {
        for (steps, said) in [
            (json!([]), "no step"),
            (json!([["1s", "1%"]]), "starts at 1s"),
            (json!([["0s", "1%"], ["2s", "101%"]]), "from 2s on is 101%"),
        ] {
            let table = json!({ "steps": steps });
            let refused = catalog().resolve("steps", table.as_object().unwrap(), &LinkContext::default()).unwrap_err();
            assert!(refused[0].message.contains(said) && refused[0].key == "steps", "{refused:?}");
        }
    }
}
