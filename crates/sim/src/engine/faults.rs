//! Controllers, and connections, that cannot go on.

use super::Engine;
use crate::RunError;
use crate::flow::Flow;
use dumbbell_cc::Fault;
use dumbbell_network::FailedConnection;

/// Flows that may fail.
pub(super) fn fallible(flows: &[Flow]) -> Vec<usize> {
    (0..flows.len()).filter(|&index| flows[index].ends.may_fail()).collect()
}

impl Engine<'_> {
    /// Watches a flow that has come, if it may fail.
    pub(super) fn watch(&mut self, index: usize) {
        if self.flows[index].ends.may_fail() && !self.fallible.contains(&index) {
            self.fallible.push(index);
        }
    }

    /// Ends the run where a controller or a connection has failed, the first one if several have. Looked at now and then:
    /// a fault tells its time itself.
    #[inline(never)]
    pub(super) fn check_faults(&self) -> Result<(), RunError> {
        let faults = self.fallible.iter().filter_map(|&index| Some((self.fault(index)?, index)));
        match faults.min_by_key(|((fault, _), index)| (fault.at, *index)) {
            None => Ok(()),
            Some(((fault, algorithm), flow)) => {
                let spec = self.traffic.spec(&self.scenario, flow);
                Err(match algorithm {
                    Some(algorithm) => RunError::Controller {
                        flow,
                        label: spec.label.to_string(),
                        algorithm: algorithm.to_owned(),
                        at: fault.at,
                        message: fault.message.clone(),
                    },
                    None => FailedConnection::new(flow, spec, fault).into(),
                })
            }
        }
    }

    /// What has failed in a flow, with the algorithm if that is its controller.
    fn fault(&self, index: usize) -> Option<(&Fault, Option<&str>)> {
        let ends = &self.flows[index].ends;
        let controller = ends.sending().map(|sending| sending.controller);
        let of_controller = controller.and_then(|own| Some((own.fault()?, Some(own.algorithm()))));
        of_controller.or_else(|| Some((ends.fault()?, None)))
    }
}
