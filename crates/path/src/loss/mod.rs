//! Random loss.
//!
//! A loss process is a struct of parameters that implements [`Model`]; it makes a [`Process`], which is asked about every
//! packet. [`catalog`] lists all of them. A new one is one file in this folder and its line there.

mod bernoulli;
mod chance;
mod four_state;
mod gilbert_elliott;
mod periodic;
mod steps;

use crate::catalog::{Catalog, Described, Kind, LinkContext, Recipe};
use dumbbell_parameters::MadeOf;
use dumbbell_units::{Rng, Time};
use dyn_clone::DynClone;
use std::fmt;
use std::sync::LazyLock;

pub use bernoulli::Bernoulli;
pub use chance::Chance;
pub use gilbert_elliott::GilbertElliott;
pub use steps::Steps;

/// All loss processes, in the order of the documentation.
pub fn catalog() -> &'static Catalog<Box<dyn Process>> {
    static CATALOG: LazyLock<Catalog<Box<dyn Process>>> = LazyLock::new(|| {
        Catalog::new(
            "loss",
            vec![
                kind::<Bernoulli>(),
                kind::<GilbertElliott>(),
                kind::<four_state::FourState>(),
                kind::<periodic::Periodic>(),
                kind::<Steps>(),
            ],
        )
    });
    &CATALOG
}

fn kind<M: Model>() -> Kind<Box<dyn Process>> {
    Kind::new(M::process)
}

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

#[cfg(test)]
mod testing {
    use super::*;

    pub(crate) const PACKETS: usize = 1_000_000;

    pub(crate) fn losses(model: &impl Model) -> Vec<bool> {
        let mut process = model.process(Rng::new(7));
        (0..PACKETS).map(|_| process.strikes(Time::ZERO)).collect()
    }

    pub(crate) fn ratio(losses: &[bool]) -> f64 {
        losses.iter().filter(|&&lost| lost).count() as f64 / losses.len() as f64
    }

    pub(crate) fn mean_run(losses: &[bool]) -> f64 {
        let lost = losses.iter().filter(|&&lost| lost).count();
        let runs = losses.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
        lost as f64 / runs as f64
    }
}
