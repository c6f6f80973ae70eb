//! Additive increase, multiplicative decrease (Chiu and Jain, 1989), with both numbers free.

use dumbbell_cc::parameters::{Factor, ParameterSet};
use dumbbell_cc::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`Aimd`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Packets by which the window grows per round trip.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "Chiu and Jain, 1989, section 3"))]
    pub increase: u32,
    /// Share of the window that remains after a loss.
    #[schemars(extend("exclusiveMaximum" = 1, "x-source" = "Chiu and Jain, 1989, section 3"))]
    pub decrease: Factor,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { increase: 1, decrease: Factor::new(896) }
    }
}

impl ParameterSet for Parameters {}

/// The controller.
#[derive(Clone, Debug)]
pub struct Aimd {
    exact_name: Arc<str>,
    parameters: Arc<Parameters>,
    reductions: u32,
}

impl Algorithm for Aimd {
    type Parameters = Parameters;
    const NAME: &str = "aimd";
    const EXACT_NAME: &str = "aimd-1.0";
    const SUMMARY: &str = "AIMD: some packets more per round trip, a share of the window less per loss";
    const SOURCE: &str = "Chiu and Jain, Analysis of the Increase and Decrease Algorithms, 1989";
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    // While it is being written its version says little: results follow the text of this file.
    const CODE: &str = include_str!("aimd.rs");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Aimd {
        Aimd { exact_name, parameters, reductions: 0 }
    }
}

impl Controller for Aimd {
    fn algorithm(&self) -> &str {
        &self.exact_name
    }

    fn init(&mut self, _: &View, _: &mut Control) {}

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
        self.reductions += 1;
        let rest = self.parameters.decrease.of(u64::from(control.cwnd));
        u32::try_from(rest).unwrap_or(u32::MAX).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        let acked = if control.in_slow_start() { control.slow_start(view, acked) } else { acked };
        if acked > 0 {
            control.additive_increase(view, (control.cwnd / self.parameters.increase).max(1), acked);
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec!["reductions".into()]
    }

    fn observe(&self, _: &View, _: &Control, values: &mut [f64]) {
        values[0] = f64::from(self.reductions);
    }
}
