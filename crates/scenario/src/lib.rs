#![doc = include_str!("../README.md")]
//!
//! [`Experiment`] reads a file (or a JSON value of the same structure) and gives the [`Point`]s it runs, each with a
//! resolved [`Scenario`] for the engine. [`json_schema`] describes the file to editors, and
//! `docs/reference/scenario.md` to people.
//!
//! The way of a file through this crate: `tree` (TOML, JSON and overrides become one tree of values that remember where
//! they were written), `include` (the files that it stands on), `sweep` and `combinations` (one tree a point, when it
//! is needed), `decode` (serde, collecting errors) into the structs of `file`, `resolve` (defaults, graph, routes,
//! checks), and back out through `canonical` and `explain`.

mod canonical;
mod combinations;
mod decode;
mod error;
mod experiment;
mod explain;
mod file;
mod include;
mod key_path;
mod overrides;
mod program;
mod reference;
mod regular;
mod resolve;
mod resolved;
mod schema;
mod sweep;
mod tables;
mod tree;

pub use dumbbell_path::Dscp;
pub use dumbbell_transport::receivers_of_linux;
pub use error::{ScenarioError, ScenarioErrors};
pub use experiment::{Experiment, Point};
pub use program::{CommandLine, Placeholder, Program};
pub use reference::{ReferencePage, reference_pages};
pub use resolve::algorithms::BPF_ALGORITHMS;
pub use resolve::rates::Recording;
pub use resolved::{Flow, Link, Pool, PoolShare, Radio, Record, Scenario, Traffic};
pub use schema::{json_schema, json_schema_with};
