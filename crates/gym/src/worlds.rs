//! Many worlds of one kind, stepped together on some threads.

use crate::GymError;
use crate::draw::Draws;
use crate::monitor::Interval;
use crate::spec::Spec;
use crate::world::{Kind, World};
use dumbbell_units::Rng;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;

/// Worlds that are stepped together. A world that is over begins again at the next step, which earns nothing.
pub struct Worlds {
    kind: Arc<Kind>,
    worlds: Vec<World>,
    threads: usize,
    pool: Option<ThreadPool>,
}

impl Worlds {
    /// So many worlds in which agents govern `flows`, on up to so many threads.
    ///
    /// # Errors
    /// As [`Kind::new`], and there is no world.
    pub fn new(spec: Spec, draws: Draws, flows: Vec<usize>, count: usize, threads: usize) -> Result<Worlds, GymError> {
        if count == 0 {
            return Err(GymError::Refused("there must be at least one world".to_owned()));
        }
        let kind = Arc::new(Kind::new(spec, draws, flows)?);
        let worlds = (0..count).map(|number| World::new(Arc::clone(&kind), number as u64)).collect();
        Ok(Worlds { kind, worlds, threads: threads.clamp(1, count), pool: None })
    }

    /// What they see, earn and do.
    pub fn spec(&self) -> &Spec {
        &self.kind.spec
    }

    /// Agents of a world.
    pub fn agents(&self) -> usize {
        self.kind.flows.len()
    }

    /// Whether no file is resolved for a new episode.
    pub fn is_quick(&self) -> bool {
        self.kind.draws.is_quick()
    }

    /// How many numbers the agents of a world see.
    pub fn width(&self) -> usize {
        self.kind.width()
    }

    /// The worlds.
    pub fn worlds(&self) -> &[World] {
        &self.worlds
    }

    /// The last interval of each agent of a world.
    pub fn intervals(&self, world: usize) -> &[Interval] {
        self.worlds[world].intervals()
    }

    /// Begins an episode in every world; those of a `seed` differ from each other.
    ///
    /// # Errors
    /// As [`World::reset`].
    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), GymError> {
        let seed = move |number: usize| match (seed, number) {
            (Some(seed), 0) => Some(seed),
            (Some(seed), number) => Some(Rng::stream(seed, number as u64).next_u64()),
            (None, _) => None,
        };
        self.each(&|number, world| world.reset(seed(number)))
    }

    /// Every agent of every world acts. A world that was over begins again instead.
    ///
    /// # Errors
    /// As [`World::step`], and where actions are missing.
    pub fn step(&mut self, actions: &[f32]) -> Result<(), GymError> {
        let agents = self.agents();
        let expected = agents * self.worlds.len();
        if actions.len() != expected {
            return Err(GymError::Refused(format!("there are {} actions for {expected} agents", actions.len())));
        }
        let begins_again = self.worlds.len() > 1;
        self.each(&|number, world| {
            if world.is_over() && begins_again {
                return world.reset(None);
            }
            world.step(&actions[number * agents..(number + 1) * agents])
        })
    }

    fn each(&mut self, what: &(dyn Fn(usize, &mut World) -> Result<(), GymError> + Sync)) -> Result<(), GymError> {
        if self.threads < 2 {
            return self.worlds.iter_mut().enumerate().try_for_each(|(number, world)| what(number, world));
        }
        if self.pool.is_none() {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
            self.pool = Some(pool.map_err(|error| GymError::Refused(error.to_string()))?);
        }
        let worlds = &mut self.worlds;
        self.pool.as_ref().map_or(Ok(()), |pool| {
            pool.install(|| worlds.par_iter_mut().enumerate().try_for_each(|(number, world)| what(number, world)))
        })
    }
}
