//! Patient Reno: it grows as Reno does, but not while packets wait longer than they should.

use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`Patient`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Queueing delay above which the window stays as it is.
    #[schemars(range(max = 10_000_000), extend("x-unit" = "us", "x-source" = "the tutorial"))]
    pub max_queue_us: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { max_queue_us: 10_000 }
    }
}

impl ParameterSet for Parameters {}

/// The controller.
#[derive(Clone, Debug)]
pub struct Patient {
    name: Arc<str>,
    parameters: Arc<Parameters>,
}

impl Patient {
    /// How long packets wait: the smoothed round-trip time above the shortest.
    fn queue_us(view: &View) -> u32 {
        (view.srtt_us_x8 / 8).saturating_sub(view.min_rtt_us)
    }
}

impl Algorithm for Patient {
    type Parameters = Parameters;
    const NAME: &str = "patient";
    const EXACT_NAME: &str = "patient-1.0";
    const SUMMARY: &str = "Reno that does not grow while packets wait; from the tutorial";
    const SOURCE: &str = "docs/tutorials/controller.md";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Patient {
        Patient { name: exact_name, parameters }
    }
}

impl Controller for Patient {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _: &View, _: &mut Control) {}

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
        control.half()
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if Patient::queue_us(view) <= self.parameters.max_queue_us {
            control.grow_like_reno(view, acked);
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec!["queue_us".into()]
    }

    fn observe(&self, view: &View, _: &Control, values: &mut [f64]) {
        values[0] = f64::from(Patient::queue_us(view));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, grow_for_rounds};

    #[test]
    fn it_grows_as_reno_does_while_nothing_waits_and_stays_while_packets_do() {
        let mut patient = Patient { name: Patient::EXACT_NAME.into(), parameters: Arc::default() };
        let mut c = Side::limited(20, 10);
        c.view.min_rtt_us = 40_000;
        for (srtt_us, expected) in [(40_000, 23), (50_000, 26), (50_001, 26), (80_000, 26), (45_000, 29)] {
            c.view.srtt_us_x8 = srtt_us * 8;
            grow_for_rounds(&mut patient, &mut c, 3);
            assert_eq!(c.control.cwnd, expected, "at {srtt_us} us");
        }
        assert_eq!(patient.ssthresh(&c.view, &c.control), 14);
    }
}
