//! Controllers that cannot go on.

use super::Engine;
use crate::RunError;
use crate::flow::Flow;

/// Flows whose controllers may fail.
pub(super) fn fallible(flows: &[Flow]) -> Vec<usize> {
    let may_fail = |flow: &Flow| flow.ends.sending().is_some_and(|sending| sending.controller.hooks().fault);
    (0..flows.len()).filter(|&index| may_fail(&flows[index])).collect()
}

impl Engine<'_> {
    /// Watches the controller of a flow that has come, if it may fail.
    pub(super) fn watch_controller(&mut self, index: usize) {
        let may_fail = self.flows[index].ends.sending().is_some_and(|sending| sending.controller.hooks().fault);
        if may_fail && !self.fallible.contains(&index) {
            self.fallible.push(index);
        }
    }

    /// Ends the run where a controller has failed, the first one if several have. Looked at now and then: a fault tells
    /// its time itself.
    #[inline(never)]
    pub(super) fn check_controllers(&self) -> Result<(), RunError> {
        let faults = self.fallible.iter().filter_map(|&index| {
            let controller = self.flows[index].ends.sending()?.controller;
            Some((controller.fault()?, index, controller))
        });
        match faults.min_by_key(|(fault, index, _)| (fault.at, *index)) {
            None => Ok(()),
            Some((fault, flow, controller)) => Err(RunError::Controller {
                flow,
                label: self.traffic.spec(&self.scenario, flow).label.to_string(),
                algorithm: controller.algorithm().to_owned(),
                at: fault.at,
                message: fault.message.clone(),
            }),
        }
    }
}
