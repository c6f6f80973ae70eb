#![doc = include_str!("../README.md")]
//!
//! The simulator: virtual time, an event loop, the wiring of a scenario into endpoints and paths, and the recorder.

mod agenda;
mod bounds;
mod checks;
mod endpoints;
mod engine;
mod flow;
mod packet;
mod production;
mod script;
mod stepper;
mod streams;
mod tables;

use dumbbell_scenario::Scenario;
use dumbbell_units::Time;
use std::sync::atomic::AtomicBool;

use engine::Split;

pub use bounds::{Bounds, Growth, MemoryExceeded, SERIES_CHUNK_BYTES, SeriesSink};
pub use dumbbell_network::{FailedConnection, WayError};
pub use dumbbell_path::Change;
pub use dumbbell_results::{Column, Names, Series, Table, Values};
pub use dumbbell_transport::{Sending, Steer};
pub use engine::Unsplit;
pub use script::TimedChange;
pub use stepper::Stepper;

/// Everything one run produced.
#[derive(Clone, Debug, Default)]
pub struct RunOutput {
    /// One row a flow.
    pub flows: Table,
    /// One row a flow and sample, behind those that a [`SeriesSink`] took.
    pub series: Series,
    /// One row a link.
    pub links: Table,
    /// One row a link and sample, behind those that a [`SeriesSink`] took.
    pub link_series: Series,
    /// One row a source of traffic.
    pub traffic: Table,
    /// One row a transfer of such a source.
    pub completions: Table,
    /// One row a web page of such a source.
    pub pages: Table,
    /// One row a round of an incast of such a source.
    pub rounds: Table,
    /// One row a flow of datagrams: unresponsive flows, probes, calls.
    pub datagrams: Table,
    /// What was run and what it cost.
    pub summary: RunSummary,
}

/// What was run and what it cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSummary {
    /// Seed of the run.
    pub seed: u64,
    /// Simulated seconds.
    pub sim_s: f64,
    /// CPU seconds of the threads that ran it; 0 on platforms without such a clock (WebAssembly).
    pub cpu_s: f64,
    /// Events processed.
    pub events: u64,
    /// Data packets delivered to receivers.
    pub packets: u64,
    /// Bytes of memory per flow, besides packets in flight.
    pub bytes_per_flow: u64,
}

/// Why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The caller asked to stop.
    #[error("interrupted")]
    Cancelled,
    /// A controller could not go on.
    #[error("the controller of flow {flow} (`{label}`, {algorithm}) failed at {at}: {message}")]
    Controller {
        /// Index of the flow.
        flow: usize,
        /// Its label.
        label: String,
        /// Exact name of the algorithm.
        algorithm: String,
        /// Simulated time.
        at: Time,
        /// What went wrong, in the controller's words.
        message: String,
    },
    /// A connection could not go on.
    #[error(transparent)]
    Connection(#[from] FailedConnection),
    /// A flow is two programs, whose clock is the wall's.
    #[error(
        "flow {flow} ({label}) is a `program`, which runs in real time with --on linux only\n  help: give --on linux --allow-programs, in Python on=dumbbell.Linux(allow_programs=True), or a `cc` in place of `program`"
    )]
    Program {
        /// Index of the flow.
        flow: usize,
        /// Its label.
        label: String,
    },
    /// A flow has a way that cannot be taken; validation should have caught it.
    #[error(transparent)]
    Way(#[from] WayError),
    /// A script changes a link that there is not.
    #[error("there is no link {0} to change")]
    NoSuchLink(usize),
    /// The run would need more memory than it may take.
    #[error(transparent)]
    Memory(#[from] MemoryExceeded),
    /// The [`SeriesSink`] could not keep a piece.
    #[error("the time series cannot be kept: {0}")]
    Series(String),
}

/// Runs a scenario to its end, in as much memory as it needs; see [`run_within`].
///
/// # Errors
/// `cancel` was set before it ended.
pub fn run(scenario: &Scenario, cancel: &AtomicBool) -> Result<RunOutput, RunError> {
    run_within(scenario, Bounds { cancel, max_memory: u64::MAX, series: None, plain: false })
}

/// Runs a scenario to its end, within bounds.
///
/// # Errors
/// It would need more memory than it may take, was cancelled, or its series could not be kept.
pub fn run_within<'a>(scenario: &'a Scenario, bounds: Bounds<'a>) -> Result<RunOutput, RunError> {
    run_scripted(scenario, Vec::new(), bounds)
}

/// Runs a scenario to its end, within bounds, while its links change as `script` says. Of changes at the same instant
/// the later ones of the list come later.
///
/// # Errors
/// Those of [`run_within`], and a change of a link that there is not.
pub fn run_scripted<'a>(
    scenario: &'a Scenario,
    script: Vec<TimedChange>,
    bounds: Bounds<'a>,
) -> Result<RunOutput, RunError> {
    let before = cpu_time();
    let mut output = engine::Engine::new(scenario, script, bounds)?.run()?;
    output.summary.cpu_s = (cpu_time() - before).as_secs_f64();
    Ok(output)
}

/// Runs a scenario to its end, within bounds, on up to so many threads: as many as it has flows, and one where it
/// [cannot be split](why_one_thread). The results are the same to the byte.
///
/// # Errors
/// Those of [`run_within`].
pub fn run_on_threads<'a>(scenario: &'a Scenario, bounds: Bounds<'a>, threads: usize) -> Result<RunOutput, RunError> {
    let Some(split) = (threads > 1 && !bounds.plain).then(|| Split::of(scenario).ok()).flatten() else {
        return run_within(scenario, bounds);
    };
    let before = cpu_time();
    let (mut output, of_others) = engine::Engine::new(scenario, Vec::new(), bounds)?.run_in_shares(&split, threads)?;
    output.summary.cpu_s = (cpu_time() - before + of_others).as_secs_f64();
    Ok(output)
}

/// Why a run of `scenario` takes one thread, however many it may have.
pub fn why_one_thread(scenario: &Scenario) -> Option<Unsplit> {
    Split::of(scenario).err()
}

/// CPU time of the calling thread.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn cpu_time() -> std::time::Duration {
    cpu_time::ThreadTime::now().as_duration()
}

/// WebAssembly has no clock of CPU time: a run there reports 0 s.
#[cfg(target_family = "wasm")]
fn cpu_time() -> std::time::Duration {
    std::time::Duration::ZERO
}
