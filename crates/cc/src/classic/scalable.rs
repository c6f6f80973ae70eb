//! Scalable TCP (Kelly, 2003; Linux's `tcp_scalable.c`): the window grows by a hundredth of itself a round and loses an
//! eighth, so that the time between losses does not depend on it. For experiments with very fast paths: two flows with
//! the same losses keep the ratio of their windows for ever.

use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Constants of [`Scalable`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The window grows by one packet per this many acknowledged, or per window if that is smaller.
    #[schemars(range(min = 1), extend("x-source" = "TCP_SCALABLE_AI_CNT"))]
    pub acks_per_increment: u32,
    /// A loss takes the window divided by two to the power of this.
    #[schemars(range(min = 1, max = 31), extend("x-source" = "TCP_SCALABLE_MD_SCALE"))]
    pub decrease_shift: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { acks_per_increment: 100, decrease_shift: 3 }
    }
}

impl ParameterSet for Parameters {}

/// The Scalable controller.
#[derive(Clone, Debug)]
pub struct Scalable {
    name: Arc<str>,
    parameters: Arc<Parameters>,
}

impl Algorithm for Scalable {
    type Parameters = Parameters;
    const NAME: &str = "scalable";
    const EXACT_NAME: &str = "scalable-linux-6.18";
    const SUMMARY: &str =
        "Scalable TCP: a hundredth of the window more per round trip, an eighth less per loss; for very fast paths";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_scalable.c; Kelly, CCR 2003";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Scalable {
        Scalable { name: exact_name, parameters }
    }
}

impl Controller for Scalable {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        (control.cwnd - (control.cwnd >> self.parameters.decrease_shift)).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        let acked = control.slow_start_if_below(view, acked);
        if acked > 0 {
            control.additive_increase(view, control.cwnd.min(self.parameters.acks_per_increment), acked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, grow_for_rounds};

    fn scalable() -> Scalable {
        Scalable { name: Scalable::EXACT_NAME.into(), parameters: Arc::default() }
    }

    #[test]
    fn recovery_from_a_loss_takes_13_rounds_whatever_the_window() {
        for w in [1_000, 10_000, 100_000] {
            let mut c = Side::limited(w, 10);
            let mut scalable = scalable();
            c.control.cwnd = scalable.ssthresh(&c.view, &c.control);
            assert_eq!(c.control.cwnd, w - w / 8);
            let mut rounds = 0;
            while c.control.cwnd < w {
                grow_for_rounds(&mut scalable, &mut c, 1);
                rounds += 1;
            }
            assert!((13..=14).contains(&rounds), "{rounds} rounds for {w} packets");
        }
    }

    #[test]
    fn two_windows_with_the_same_losses_keep_their_ratio() {
        let mut sides = [Side::limited(1_000, 10), Side::limited(4_000, 10)];
        for _ in 0..20 {
            for c in &mut sides {
                c.control.cwnd = scalable().ssthresh(&c.view, &c.control);
                grow_for_rounds(&mut scalable(), c, 13);
            }
        }
        let ratio = f64::from(sides[1].control.cwnd) / f64::from(sides[0].control.cwnd);
        assert!((ratio - 4.0).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn windows_below_100_packets_grow_as_renos() {
        let mut c = Side::limited(50, 10);
        grow_for_rounds(&mut scalable(), &mut c, 5);
        assert_eq!(c.control.cwnd, 55);
    }
}
