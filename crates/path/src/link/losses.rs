//! Losses behind the transmitter: packets that are lost at random, and packets that are damaged.

use crate::config::LinkConfig;
use crate::correlated::Share;
use crate::loss::{Bernoulli, LossRecipe, Model, Process};
use dumbbell_units::{Ratio, Rng, Time};

/// What is lost behind the transmitter: random losses, and packets that are damaged.
pub(super) fn losses_behind(config: &LinkConfig, loss: Option<&LossRecipe>, rng: Rng) -> Option<Box<dyn Process>> {
    let Share { probability, correlation } = config.impairments.corrupt;
    let damaged = (probability > Ratio::ZERO).then_some(Bernoulli { p: probability, correlation });
    let damages = damaged.map(|damaged| damaged.process(Rng::new(rng.clone().next_u64())));
    let loss = loss.map(|recipe| recipe.make(rng));
    match (loss, damages) {
        (Some(loss), Some(damages)) => Some(Box::new(Both(loss, damages))),
        (loss, damages) => loss.or(damages),
    }
}

/// Two processes, each of which is asked about every packet.
#[derive(Clone, Debug)]
struct Both(Box<dyn Process>, Box<dyn Process>);

impl Process for Both {
    fn strikes(&mut self, now: Time) -> bool {
        let (first, second) = (self.0.strikes(now), self.1.strikes(now));
        first || second
    }
}
