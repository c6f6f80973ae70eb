//! The scenario of a run: lent for as long as it lasts, or kept by it.

use dumbbell_scenario::Scenario;
use std::ops::Deref;
use std::sync::Arc;

/// A scenario that a run reads.
#[derive(Clone)]
pub(crate) enum Scene<'a> {
    /// Whoever called for the run has it.
    Lent(&'a Scenario),
    /// The run has a part in it, and may outlive whoever called for it.
    Kept(Arc<Scenario>),
}

impl Deref for Scene<'_> {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        match self {
            Scene::Lent(scenario) => scenario,
            Scene::Kept(scenario) => scenario,
        }
    }
}

impl<'a> From<&'a Scenario> for Scene<'a> {
    fn from(scenario: &'a Scenario) -> Scene<'a> {
        Scene::Lent(scenario)
    }
}

impl From<Arc<Scenario>> for Scene<'_> {
    fn from(scenario: Arc<Scenario>) -> Self {
        Scene::Kept(scenario)
    }
}
