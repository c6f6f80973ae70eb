//! A run in steps: it pauses at instants, and somebody outside may speak to the controllers of its flows then.
//!
//! A pause is an instant at which somebody looks, so whatever is decided ahead of its time is decided up to there and
//! no further. What has been decided by then follows from packets that have left already. So a run in steps gives what
//! a whole run gives, to the last bit.

use super::Engine;
use crate::flow::Phase;
use crate::{RunError, RunOutput, Sending, Steer};
use dumbbell_units::{Duration, Time};

impl Engine<'_> {
    /// Handles everything that is due before `until`, or the rest of the run if that ends before.
    pub fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        let over = self.end + Duration::from_nanos(1);
        self.clock.stop_at(until.min(over));
        self.go_on()?;
        if until <= self.end {
            self.reach(until);
        }
        Ok(())
    }

    /// Runs the rest.
    pub fn run_rest(mut self) -> Result<RunOutput, RunError> {
        self.run_until(Time::NEVER)?;
        self.close();
        self.finish()
    }

    /// Whether the connection of a flow is there.
    pub fn is_established(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(|flow| flow.phase == Phase::Established)
    }

    /// The sending of a flow that lasts, if a controller governs it.
    pub fn sending(&self, flow: usize) -> Option<Sending<'_>> {
        self.flows[..self.scenario.flows.len()].get(flow)?.ends.sending()
    }

    /// Somebody outside speaks to the controller of a flow, whose sender acts on it at once. Returns whether it has
    /// one.
    pub fn steer(&mut self, flow: usize, steer: &mut Steer<'_>) -> bool {
        let lasting = self.scenario.flows.len();
        let Some(known) = self.flows[..lasting].get_mut(flow) else { return false };
        let has_changed = known.ends.steer(self.now, steer);
        // A sender that is asked although nothing has changed might find that a tick of its clock has passed.
        if has_changed == Some(true) {
            self.transmit(flow);
        }
        has_changed.is_some()
    }
}
