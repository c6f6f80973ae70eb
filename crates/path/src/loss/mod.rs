//! Random loss.
//!
//! A loss process is a struct of parameters that implements [`Model`]; it makes a [`Process`], which is asked about
//! every packet. [`catalog`] lists all of them. A new one is one file in this folder and its line there.

mod bernoulli;
mod four_state;
mod gilbert_elliott;
mod periodic;
mod process;
mod steps;

use crate::catalog::{Catalog, Kind};
use std::sync::LazyLock;

pub use crate::chance::Chance;
pub use bernoulli::Bernoulli;
pub use gilbert_elliott::GilbertElliott;
pub use process::{LossRecipe, Model, Process};
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

#[cfg(test)]
mod testing {
    use super::Model;
    use dumbbell_units::{Rng, Time};

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
