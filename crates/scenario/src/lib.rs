//! The experiment file: schema, defaults, validation, sweep expansion.

mod resolved;

pub use resolved::{Algorithm, Flow, Link, Record, Scenario};
