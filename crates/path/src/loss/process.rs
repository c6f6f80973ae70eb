//! What a loss process is.

use crate::catalog::{Described, LinkContext, Recipe};
use dumbbell_parameters::MadeOf;
use dumbbell_units::{Rng, Time};
use dyn_clone::DynClone;
use std::fmt;

/// The parameters of a loss process.
pub trait Model: Described<LinkContext> {
    /// A new process with these parameters, which are complete; `rng` is its only source of randomness.
    fn process(&self, rng: Rng) -> Box<dyn Process>;
}

/// Decides which packets are lost.
pub trait Process: DynClone + fmt::Debug + Send {
    /// Whether the packet that passes now is lost. Called once for every packet, in order of time.
    fn strikes(&mut self, now: Time) -> bool;
}

dyn_clone::clone_trait_object!(Process);

/// How links build their loss processes.
pub type LossRecipe = Recipe<Box<dyn Process>>;

impl<M: Model> MadeOf<M> for Box<dyn Process> {
    fn made_of(parameters: &M, rng: Rng) -> Box<dyn Process> {
        parameters.process(rng)
    }
}
