//! A run that pauses.

use crate::engine::{Engine, Scene};
use crate::{Bounds, RunError, RunOutput, Sending, Steer};
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// A run that is handled in steps: to an instant, and from there to the next.
///
/// However it is divided, its tables are those of a [whole run](crate::run), to the last bit. The CPU time is not
/// measured, and more or fewer events may make the same run, as with samples at other instants. At a pause somebody
/// outside may [speak](Stepper::steer) to the controllers of its flows.
///
/// ```
/// # use dumbbell_scenario::Experiment;
/// # use dumbbell_sim::{Bounds, Stepper};
/// # use dumbbell_units::{Duration, Time};
/// # use std::sync::atomic::AtomicBool;
/// static CANCEL: AtomicBool = AtomicBool::new(false);
/// let text = "duration = \"2s\"\npath = { rate = \"10mbit\", rtt = \"40ms\" }\nflows = [{ cc = \"cubic\" }]";
/// let scenario = Experiment::from_toml(text, "", &[])?.points()[0].scenario();
/// let mut run = Stepper::new(scenario, Bounds { cancel: &CANCEL, max_memory: u64::MAX, series: None, plain: false })?;
/// while !run.is_over() {
///     run.run_until(run.now() + Duration::from_millis(100))?;
/// }
/// assert!(run.sending(0).unwrap().view.delivered > 1_000);
/// assert_eq!(run.finish()?.summary.sim_s, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Stepper<'a> {
    engine: Engine<'a>,
    now: Time,
    end: Time,
}

impl<'a> Stepper<'a> {
    /// A run that begins.
    ///
    /// # Errors
    /// A flow has a way that cannot be taken, or the run was cancelled.
    pub fn new(scenario: Arc<Scenario>, bounds: Bounds<'a>) -> Result<Stepper<'a>, RunError> {
        let end = Time::ZERO + scenario.duration;
        let engine = Engine::new(Scene::from(scenario), Vec::new(), bounds)?;
        Ok(Stepper { engine, now: Time::ZERO, end })
    }

    /// The instant at which it pauses.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether there is nothing left but to [finish](Stepper::finish).
    pub fn is_over(&self) -> bool {
        self.now > self.end
    }

    /// Handles everything that is due before `until`, an instant that is not past. What is due at that instant itself
    /// has not happened.
    ///
    /// # Errors
    /// As a whole run; it cannot go on then.
    pub fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        if until > self.now {
            self.engine.run_until(until)?;
            self.now = until.min(self.end + Duration::from_nanos(1));
        }
        Ok(())
    }

    /// The sending of a flow of the file, as its controller saw it last; `None` where no controller governs it, and
    /// while its connection is not there.
    pub fn sending(&self, flow: usize) -> Option<Sending<'_>> {
        self.engine.is_established(flow).then(|| self.engine.sending(flow)).flatten()
    }

    /// Speaks to the controller of a flow, which may change its window and its pacing rate. Both hold from this instant
    /// on: what they allow leaves now, before everything else that is due now, and a pause that pacing has begun
    /// becomes as long as it is at the new rate. What is under way has left. Returns whether a controller governs the
    /// flow.
    ///
    /// The controller answers the next ACK itself. So what shall last has to be known to it, and not only be written
    /// into its `Control`.
    pub fn steer(&mut self, flow: usize, steer: &mut Steer<'_>) -> bool {
        !self.is_over() && self.engine.steer(flow, steer)
    }

    /// Runs the rest, and returns the tables of the whole run.
    ///
    /// # Errors
    /// As a whole run.
    pub fn finish(self) -> Result<RunOutput, RunError> {
        self.engine.run_rest()
    }
}
