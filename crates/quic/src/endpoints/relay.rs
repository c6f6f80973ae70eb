//! What connects a connection of the library with a governor that is elsewhere: calls are kept until the connection has
//! done its step, and its questions are answered with what the governor said last.

use super::governors::Factory;
use crate::adapter::{Call, Clock, Listener, Told, metrics};
use crate::governor::Governor;
use noq_proto::congestion::{self, ControllerFactory, ControllerMetrics};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Clone)]
pub(super) struct Relay {
    clock: Clock,
    initial_window: u64,
    state: Arc<Mutex<State>>,
    own: Option<Factory>,
}

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    window: u64,
    pacing_rate: Option<u64>,
}

impl Relay {
    /// `own` makes the library's own controller, where that decides.
    pub fn new(clock: Clock, governor: &Governor, own: Option<Factory>) -> Relay {
        let relay = Relay { clock, initial_window: governor.window(), state: Arc::default(), own };
        relay.publish(governor);
        relay
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the governor hear what was told, and the library what it says to that. Returns whether a packet had to wait
    /// for the window.
    pub fn pass_on(&self, governor: &mut Governor) -> bool {
        let mut calls = std::mem::take(&mut self.state().calls);
        if calls.is_empty() {
            return false;
        }
        let mut is_cwnd_limited = false;
        for call in calls.drain(..) {
            is_cwnd_limited |= matches!(call, Call::CwndLimited);
            governor.hear(call);
        }
        governor.settle();
        self.state().calls = calls;
        self.publish(governor);
        is_cwnd_limited
    }

    /// Answers questions with what the governor says now.
    pub fn publish(&self, governor: &Governor) {
        let mut state = self.state();
        (state.window, state.pacing_rate) = (governor.window(), governor.pacing_rate());
    }

    fn controller(&self, decides: Option<Box<dyn congestion::Controller>>) -> Box<dyn congestion::Controller> {
        Box::new(Told { listener: self.clone(), decides })
    }
}

impl ControllerFactory for Relay {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        self.controller(self.own.clone().map(|own| own.build(now, current_mtu)))
    }
}

impl Listener for Relay {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn hear(&self, call: Call) {
        self.state().calls.push(call);
    }

    fn metrics(&self) -> ControllerMetrics {
        let state = self.state();
        metrics(state.window, state.pacing_rate)
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn again(&self) -> Box<dyn congestion::Controller> {
        self.controller(None)
    }
}
