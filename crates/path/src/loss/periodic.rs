//! Losses at regular intervals.

use super::process::{Model, Process};
use crate::catalog::{Described, LinkContext};
use dumbbell_units::{Ratio, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses at regular intervals: one packet after every `1/p`. Response functions of congestion controllers are derived
/// for them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Periodic {
    /// Share of packets that are lost.
    #[schemars(extend("x-at-most" = "100%", "x-source" = "RFC 3649, section 3; RFC 9438, section 5.1: deterministic loss"))]
    pub p: Ratio,
}

impl Described<LinkContext> for Periodic {
    const NAME: &'static str = "periodic";
    const SOURCE: &'static str = "RFC 9438, section 5.1: the deterministic loss model";

    fn in_words(&self) -> String {
        format!("periodic loss {}", self.p)
    }
}

impl Model for Periodic {
    fn process(&self, _: Rng) -> Box<dyn Process> {
        Box::new(State { p: self.p.as_f64(), due: 0.0 })
    }
}

#[derive(Clone, Debug)]
struct State {
    p: f64,
    /// Losses that are due, a share of one between two of them.
    due: f64,
}

impl Process for State {
    fn strikes(&mut self, _: Time) -> bool {
        self.due += self.p;
        let strikes = self.due >= 1.0;
        if strikes {
            self.due -= 1.0;
        }
        strikes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{PACKETS, losses, ratio};

    #[test]
    fn losses_are_equally_far_apart() {
        for p in [0.25, 0.01, 0.003] {
            let losses = losses(&Periodic { p: Ratio::new(p).unwrap() });
            assert!((ratio(&losses) - p).abs() < 2.0 / PACKETS as f64, "p = {p}");
            let places: Vec<usize> = losses.iter().enumerate().filter(|(_, lost)| **lost).map(|(i, _)| i).collect();
            for pair in places.windows(2) {
                let gap = (pair[1] - pair[0]) as f64;
                assert!((gap - 1.0 / p).abs() <= 1.0, "{gap} packets at p = {p}");
            }
        }
    }
}
