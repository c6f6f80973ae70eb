//! A connection that cannot go on, whatever clock it has.

use dumbbell_cc_contract::Fault;
use dumbbell_scenario::Flow;
use dumbbell_units::Time;

/// The connection of a flow could not go on.
#[derive(Debug, thiserror::Error)]
#[error("the connection of flow {flow} (`{label}`, {protocol}) failed at {at}: {message}")]
pub struct FailedConnection {
    /// Number of the flow, from 0.
    pub flow: usize,
    /// Its label.
    pub label: String,
    /// What it speaks.
    pub protocol: &'static str,
    /// Time of the run.
    pub at: Time,
    /// What went wrong, and what would help.
    pub message: String,
}

impl FailedConnection {
    /// The connection of flow `flow` has this fault.
    pub fn new(flow: usize, spec: &Flow, fault: &Fault) -> FailedConnection {
        FailedConnection {
            flow,
            label: spec.label.to_string(),
            protocol: spec.transport.protocol.name(),
            at: fault.at,
            message: fault.message.clone(),
        }
    }
}
