//! Controllers that cannot go on.

use super::Engine;
use crate::RunError;

impl Engine<'_> {
    /// Ends the run where a controller has failed, the first one if several have. Looked at now and then: a fault tells
    /// its time itself.
    #[inline(never)]
    pub(super) fn check_controllers(&self) -> Result<(), RunError> {
        let controllers = self.flows.iter().map(|flow| flow.ends.sending().map(|sending| sending.controller));
        let faults = controllers.enumerate().filter_map(|(index, controller)| {
            let controller = controller?;
            Some((controller.fault()?, index, controller))
        });
        match faults.min_by_key(|(fault, index, _)| (fault.at, *index)) {
            None => Ok(()),
            Some((fault, flow, controller)) => Err(RunError::Controller {
                flow,
                label: self.scenario.flows[flow].label.clone(),
                algorithm: controller.algorithm().to_owned(),
                at: fault.at,
                message: fault.message.clone(),
            }),
        }
    }
}
