//! Delays: constants, steps, sinusoids, recorded delays.

use super::rates::SERIES_HELP;
use super::series::Quantity;
use super::{Context, MAX_DELAY};
use crate::file::{DELAYS, DelaySpec};
use crate::key_path::{KeyPath, Step};
use dumbbell_parameters::check;
use dumbbell_path::{Delay, Schedule};
use dumbbell_units::{Duration, Time};
use serde_json::json;
use std::sync::Arc;

/// The longest step of a sinusoid unless the file gives one, and how many a wave has at least then.
const STEP: Duration = Duration::from_millis(10);
const STEPS_OF_A_WAVE: u64 = 100;
/// The most steps of a sinusoid's wave.
const MAX_STEPS: u64 = 1_000_000;

/// A delay at the start, and what it is from time to time if it changes.
#[derive(Clone, Debug)]
pub(super) struct ResolvedDelay {
    pub base: Duration,
    pub schedule: Option<Schedule<Duration>>,
}

impl ResolvedDelay {
    pub(super) fn constant(base: Duration) -> ResolvedDelay {
        ResolvedDelay { base, schedule: None }
    }

    /// The shortest value.
    pub(super) fn shortest(&self) -> Duration {
        self.schedule.iter().flat_map(Schedule::values).min().unwrap_or(self.base)
    }

    /// The delay with every value changed by `change`.
    pub(super) fn map(&self, change: impl Fn(Duration) -> Duration) -> ResolvedDelay {
        let schedule = self.schedule.as_ref().map(|schedule| {
            let steps = schedule.steps.iter().map(|(start, delay)| (*start, change(*delay))).collect();
            Schedule { steps, repeat_after: schedule.repeat_after }
        });
        ResolvedDelay { base: change(self.base), schedule }
    }
}

impl Context<'_> {
    /// Resolves the delay written at `at`; `None` when that found problems.
    pub(super) fn delay(&mut self, spec: &DelaySpec, at: &KeyPath) -> Option<ResolvedDelay> {
        match spec {
            DelaySpec::Constant(delay) => Some(ResolvedDelay::constant(*delay)),
            DelaySpec::Steps { steps, repeat } => self.delay_steps(steps.clone(), *repeat, at),
            DelaySpec::Sinusoid { mean, amplitude, period, step } => {
                let longest = Duration::from_nanos((period.as_nanos() / STEPS_OF_A_WAVE).max(1));
                let step = step.unwrap_or(STEP.min(longest));
                let values = json!({ "mean": mean, "amplitude": amplitude, "period": period, "step": step });
                let problems = check(&DELAYS, &values);
                if !problems.is_empty() {
                    self.report.parameters(at, problems);
                    return None;
                }
                if period.as_nanos() / step.as_nanos().max(1) > MAX_STEPS {
                    let message = format!("a wave of {period} in steps of {step} has more than {MAX_STEPS} steps");
                    self.report.value(&at.key("step"), message, "write a longer `step`");
                    return None;
                }
                let schedule = Delay::sinusoid(*mean, *amplitude, *period, step);
                Some(ResolvedDelay { base: *mean, schedule: Some(schedule) })
            }
            DelaySpec::Trace { file, columns, repeat } => {
                let is_rtt = matches!(at.0.last(), Some(Step::Key(key)) if key == "rtt");
                let quantity = if is_rtt { Quantity::RoundTrip } else { Quantity::Delay };
                match self.loader.series(file, quantity, columns) {
                    Ok(series) => {
                        #[expect(
                            clippy::cast_possible_truncation,
                            clippy::cast_sign_loss,
                            reason = "not negative, and at most `MAX_DELAY`"
                        )]
                        let delay = |nanos: f64| Duration::from_nanos(nanos.round() as u64);
                        let steps: Vec<_> = series.steps.iter().map(|(start, nanos)| (*start, delay(*nanos))).collect();
                        self.delay_steps(steps, *repeat, at)
                    }
                    Err(message) => {
                        self.report.value(&at.key("trace"), message, SERIES_HELP);
                        None
                    }
                }
            }
        }
    }

    fn delay_steps(
        &mut self,
        steps: impl Into<Arc<[(Time, Duration)]>>,
        repeat: Option<Duration>,
        at: &KeyPath,
    ) -> Option<ResolvedDelay> {
        match Schedule::new(steps, repeat) {
            Ok(schedule) => {
                let base = schedule.at(Time::ZERO);
                // One that never changes is a constant.
                let changes = schedule.values().any(|delay| delay != base);
                Some(ResolvedDelay { base, schedule: changes.then_some(schedule) })
            }
            Err(problem) => {
                self.report.parameters(at, [problem]);
                None
            }
        }
    }

    /// Refuses delays that are too long.
    pub(super) fn check_delay(&mut self, delay: &ResolvedDelay, at: &KeyPath) {
        let longest = delay.schedule.iter().flat_map(Schedule::values).max().unwrap_or(delay.base);
        if longest > MAX_DELAY {
            self.report.value(at, format!("a propagation delay of {longest}"), format!("allowed: at most {MAX_DELAY}"));
        }
    }
}
