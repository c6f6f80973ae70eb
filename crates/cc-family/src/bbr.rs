//! `bbr` with the parameters of all families.

use crate::rules::{FamilyRules, RuleParameters};
use dumbbell_cc::bbr1::{self, Bbr1, Linux};
use dumbbell_cc::catalog::{BuildError, Builder, Code};
use dumbbell_cc::parameters::{self, Invalid, ParameterSet};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Constants and rules of a BBR v1; the defaults are Linux 6.18.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Parameters {
    /// The kernel's constants.
    #[serde(flatten)]
    pub constants: bbr1::Parameters,
    /// What is decided otherwise than in the kernel.
    #[serde(flatten)]
    pub rules: RuleParameters,
}

impl ParameterSet for Parameters {
    fn validate(&self) -> Result<(), Invalid> {
        self.constants.validate()?;
        let phases = self.constants.cycle_gains.len();
        let are_phases = self.rules.ns3.cycle_first_phases.iter().all(|&phase| (phase as usize) < phases);
        Invalid::unless(are_phases, "cycle_first_phases", "allowed: phases of the cycle, counted from 0")
    }
}

/// The code of the BBR v1 family: Linux's where no rule differs, else the same compiled for [`FamilyRules`].
pub struct Family;

impl Code for Family {
    fn schema(&self) -> Value {
        schemars::schema_for!(Parameters).into()
    }

    fn read(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
    ) -> Result<Map<String, Value>, BuildError> {
        Ok(parameters::to_map(&parameters::read::<Parameters>(preset, overrides)?))
    }

    fn prepare(
        &self,
        preset: &Map<String, Value>,
        overrides: &Map<String, Value>,
        exact_name: Arc<str>,
    ) -> Result<Builder, BuildError> {
        let Parameters { constants, rules } = parameters::read::<Parameters>(preset, overrides)?;
        let constants = Arc::new(constants);
        if rules == RuleParameters::default() {
            return Ok(Box::new(move |rng| {
                Box::new(Bbr1::with_rules(Arc::clone(&constants), Linux, rng, Arc::clone(&exact_name)))
            }));
        }
        let rules = FamilyRules::new(rules);
        Ok(Box::new(move |rng| {
            Box::new(Bbr1::with_rules(Arc::clone(&constants), rules.clone(), rng, Arc::clone(&exact_name)))
        }))
    }
}
