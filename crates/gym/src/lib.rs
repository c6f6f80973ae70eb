#![doc = include_str!("../README.md")]

mod agent;
mod draw;
mod feature;
mod monitor;
mod npz;
mod policy;
mod reward;
mod spec;
mod world;
mod worlds;

pub use agent::{Agent, Lever};
pub use draw::{Draw, Draws, Resolve};
pub use feature::Feature;
pub use monitor::{Interval, Monitor};
pub use policy::{Converter, PolicyLoader};
pub use reward::Reward;
pub use spec::{Span, Spec};
pub use world::World;
pub use worlds::Worlds;

/// Why a world, or an agent, is refused or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum GymError {
    /// Something that was asked for is not there or not possible.
    #[error("{0}")]
    Refused(String),
    /// An experiment with drawn values is wrong; the message says where.
    #[error("{0}")]
    Scenario(String),
    /// The run could not go on.
    #[error(transparent)]
    Run(#[from] dumbbell_sim::RunError),
}
