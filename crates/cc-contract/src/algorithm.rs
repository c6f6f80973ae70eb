//! A controller with its name, its parameters and how it is made.

use crate::controller::Controller;
use crate::parameters::ParameterSet;
use dumbbell_units::Rng;
use std::sync::Arc;

/// A controller that a catalogue can hold: what it is called, what its parameters are, and how it is made.
pub trait Algorithm: Controller + Sized + 'static {
    /// Its constants.
    type Parameters: ParameterSet + Send + Sync + 'static;
    /// The name an experiment file uses, for example `bbr`.
    const NAME: &'static str;
    /// The exact algorithm and version, for example `bbr1-linux-6.18`.
    const EXACT_NAME: &'static str;
    /// One sentence on what it is.
    const SUMMARY: &'static str;
    /// Where it is defined: a paper, an RFC, a file of a kernel.
    const SOURCE: &'static str;
    /// Version of the code, usually `env!("CARGO_PKG_VERSION")`.
    const VERSION: &'static str;
    /// The code itself, as `include_str!` gives it, where versions do not tell two states of it apart: results of
    /// another text then count as results of another algorithm.
    const CODE: &'static str = "";

    /// A controller. Flows with the same parameters share them; `rng` is its only source of randomness; `exact_name` is
    /// what [`Controller::algorithm`] has to answer, which differs from [`Algorithm::EXACT_NAME`] for variants.
    fn build(parameters: Arc<Self::Parameters>, rng: Rng, exact_name: Arc<str>) -> Self;
}
