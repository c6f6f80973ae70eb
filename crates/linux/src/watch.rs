//! A look at a run while it goes on.

use crate::{FlowShared, locked};
use dumbbell_units::{Duration, Time};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// What others see of a run that goes on.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Progress>);

/// How far a run is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// How long the run will last; zero before it begins.
    pub duration: Duration,
    /// How long it has lasted.
    pub elapsed: Duration,
    /// Payload bytes that the receiving application of each flow has read.
    pub delivered_bytes: Vec<u64>,
}

impl Watch {
    /// The latest look at the run, which is never older than 20 ms.
    pub fn progress(&self) -> Progress {
        locked(&self.0).clone()
    }

    pub(crate) fn note(&self, now: Time, duration: Duration, flows: &[FlowShared]) {
        let mut progress = locked(&self.0);
        progress.duration = duration;
        progress.elapsed = now.since(Time::ZERO).min(duration);
        progress.delivered_bytes.clear();
        progress.delivered_bytes.extend(flows.iter().map(|flow| flow.delivered_bytes.load(Ordering::Relaxed)));
    }
}
