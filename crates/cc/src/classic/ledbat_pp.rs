//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01): LEDBAT that shares with its like and yields to short round trips.
//!
//! Four changes: delays are round-trip times; the target is 60 ms; above it the window shrinks by a share of itself, so
//! that two flows converge; and from time to time the flow slows down to two packets for two round trips, in which
//! everybody sees the empty path again. Windows uses it for updates. The draft's constants are confirmed by an
//! independent port to ns-3 only.

use super::arithmetic::{sample_us, smoothed_us};
use super::delay::QueueingDelay;
use super::fraction::Fraction;
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`LedbatPlusPlus`]; the defaults are the draft's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Queueing delay that the flow keeps.
    #[schemars(extend(
        "x-at-least" = "1ms",
        "x-at-most" = "1h",
        "x-source" = "draft-irtf-iccrg-ledbat-plus-plus-01, section 4.1: TARGET = 60 ms"
    ))]
    pub target: Duration,
    /// Steepness of the decrease above the target.
    #[schemars(range(min = 0, max = 16), extend("x-source" = "section 4.2: Constant = 1"))]
    pub constant: f64,
    /// A round without a queue adds at least one packet in this many rounds.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "section 4.2: GAIN = 1 / min(16, CEIL(2*TARGET/base))"))]
    pub max_gain_divisor: u32,
    /// Smallest window in packets.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "section 4.4: 2 packets"))]
    pub min_cwnd: u32,
    /// Slow down now and then to see the empty path.
    #[schemars(extend("x-source" = "section 4.4"))]
    pub slowdowns: bool,
    /// Time between slowdowns in multiples of what one takes.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "section 4.4: 9 times the slowdown"))]
    pub slowdown_interval: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            target: Duration::from_millis(60),
            constant: 1.0,
            max_gain_divisor: 16,
            min_cwnd: 2,
            slowdowns: true,
            slowdown_interval: 9,
        }
    }
}

impl ParameterSet for Parameters {}

/// What the flow is doing; times are of the microsecond clock.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The slow start that begins a connection.
    First,
    /// The window follows the delay, until the next slowdown is due.
    Following { slowdown_at: u64 },
    /// Two packets a round until `until`.
    SlowedDown { since: u64, until: u64 },
    /// Slow start back to the window before.
    Returning { since: u64 },
}

/// The LEDBAT++ controller.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    delay: QueueingDelay,
    fraction: Fraction,
    phase: Phase,
    /// When the window may shrink again: once a round.
    decrease_at: u64,
}

impl LedbatPlusPlus {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> LedbatPlusPlus {
        LedbatPlusPlus {
            name: LedbatPlusPlus::EXACT_NAME.into(),
            parameters: parameters.into(),
            delay: QueueingDelay::default(),
            fraction: Fraction::default(),
            phase: Phase::First,
            decrease_at: 0,
        }
    }

    fn target_us(&self) -> u64 {
        self.parameters.target.as_micros()
    }

    /// Packets that a round adds: fewer on paths that are short beside the target.
    fn gain(&self) -> f64 {
        let base = u64::from(self.delay.base_us()).max(1);
        let divisor = (2 * self.target_us()).div_ceil(base).clamp(1, u64::from(self.parameters.max_gain_divisor));
        1.0 / f64::from(u32::try_from(divisor).unwrap_or(u32::MAX))
    }

    /// The window over the target, as a share of that; negative below.
    fn excess(&self) -> f64 {
        f64::from(self.delay.queue_us()) / (self.parameters.target.as_secs_f64() * 1e6) - 1.0
    }

    fn follow(&mut self, view: &View, control: &mut Control, acked: u32) {
        let (gain, excess, window) = (self.gain(), self.excess(), self.fraction.window(control));
        let floor = self.parameters.min_cwnd;
        if excess <= 0.0 {
            if view.is_cwnd_limited(control) {
                self.fraction.change(control, gain * f64::from(acked) / window, floor, view.cwnd_clamp);
            }
        } else if view.mstamp_us >= self.decrease_at {
            let change = (gain - self.parameters.constant * window * excess).max(-window / 2.0);
            self.fraction.change(control, change, floor, view.cwnd_clamp);
            self.decrease_at = view.mstamp_us + smoothed_us(view);
        }
    }

    fn slow_start(&mut self, view: &View, control: &mut Control, acked: u32) {
        if view.is_cwnd_limited(control) {
            let (floor, ceiling) = (self.parameters.min_cwnd, control.ssthresh.min(view.cwnd_clamp));
            self.fraction.change(control, self.gain() * f64::from(acked), floor, ceiling.max(floor));
        }
    }

    fn end_first_slow_start(&mut self, view: &View) {
        self.phase = Phase::Following { slowdown_at: view.mstamp_us + 2 * smoothed_us(view) };
    }
}

impl Algorithm for LedbatPlusPlus {
    type Parameters = Parameters;
    const NAME: &str = "ledbat++";
    const EXACT_NAME: &str = "ledbat++-draft-01";
    const SUMMARY: &str = "LEDBAT++: 60 ms of queue at most, fair among its like, yields to others; for background transfers (Windows updates)";
    const SOURCE: &str = "draft-irtf-iccrg-ledbat-plus-plus-01";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> LedbatPlusPlus {
        LedbatPlusPlus { name: exact_name, ..LedbatPlusPlus::new(parameters) }
    }
}

impl Controller for LedbatPlusPlus {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        if self.phase == Phase::First {
            self.end_first_slow_start(view);
        }
        (control.cwnd / 2).max(self.parameters.min_cwnd)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        let now = view.mstamp_us;
        match self.phase {
            Phase::First => {
                if control.in_slow_start() && self.excess() <= -0.25 {
                    self.slow_start(view, control, acked);
                } else {
                    control.ssthresh = control.cwnd;
                    self.end_first_slow_start(view);
                }
            }
            Phase::Following { slowdown_at } if self.parameters.slowdowns && now >= slowdown_at => {
                control.ssthresh = control.cwnd;
                control.cwnd = self.parameters.min_cwnd;
                self.fraction = Fraction::default();
                self.phase = Phase::SlowedDown { since: now, until: now + 2 * smoothed_us(view) };
            }
            Phase::Following { .. } => {
                if control.in_slow_start() {
                    // After a timeout.
                    self.slow_start(view, control, acked);
                } else {
                    self.follow(view, control, acked);
                }
            }
            Phase::SlowedDown { since, until } => {
                if now >= until {
                    self.phase = Phase::Returning { since };
                }
            }
            Phase::Returning { since } => {
                if control.in_slow_start() {
                    self.slow_start(view, control, acked);
                } else {
                    let pause = u64::from(self.parameters.slowdown_interval) * (now - since);
                    self.phase = Phase::Following { slowdown_at: now + pause };
                }
            }
        }
    }

    fn pkts_acked(&mut self, view: &View, _control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        if let Some(rtt_us) = sample_us(rtt_us) {
            self.delay.sample(view.mstamp_us, rtt_us);
        }
    }

    fn mode(&self) -> &'static str {
        match self.phase {
            Phase::First => "first slow start",
            Phase::Following { .. } => "following",
            Phase::SlowedDown { .. } => "slowed down",
            Phase::Returning { .. } => "returning",
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        QueueingDelay::observables()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        self.delay.observe(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    fn following(cwnd: u32) -> (LedbatPlusPlus, Side) {
        let mut ledbat = LedbatPlusPlus::new(Parameters { slowdowns: false, ..Parameters::default() });
        let mut c = Side::limited(cwnd, 2);
        c.view.srtt_us_x8 = 8 * 60_000;
        round(&mut ledbat, &mut c, 60_000);
        c.control.cwnd = cwnd;
        (ledbat, c)
    }

    #[test]
    fn the_gain_is_smaller_on_short_paths() {
        for (rtt_us, gain) in [(200_000, 1.0), (60_000, 0.5), (10_000, 1.0 / 12.0), (1_000, 1.0 / 16.0)] {
            let mut ledbat = LedbatPlusPlus::new(Parameters::default());
            ledbat.delay.sample(0, rtt_us);
            assert!((ledbat.gain() - gain).abs() < 1e-9, "{rtt_us} us: {}", ledbat.gain());
        }
    }

    #[test]
    fn above_the_target_the_window_loses_a_share_of_itself_once_a_round_and_at_most_half() {
        for (queue_us, kept) in [(72_000, 80.5), (90_000, 50.5), (300_000, 50.0)] {
            let (mut ledbat, mut c) = following(100);
            for _ in 0..4 {
                ledbat.delay.sample(c.view.mstamp_us, 60_000 + queue_us);
            }
            for _ in 0..50 {
                ledbat.cong_avoid(&c.view, &mut c.control, 1);
            }
            let window = ledbat.fraction.window(&c.control);
            assert!((window - kept).abs() < 1.0, "{queue_us} us: {window}, expected {kept}");
        }
    }

    #[test]
    fn a_slowdown_lasts_two_round_trips_and_comes_again_after_nine_times_as_long_as_it_took() {
        let mut ledbat = LedbatPlusPlus::new(Parameters::default());
        let mut c = Side::limited(32, 16);
        c.view.srtt_us_x8 = 8 * 60_000;
        let mut slowed = Vec::new();
        for n in 0..400 {
            round(&mut ledbat, &mut c, 60_000);
            if matches!(ledbat.phase, Phase::SlowedDown { .. }) {
                assert_eq!(c.control.cwnd, 2);
                slowed.push(n);
            }
        }
        let starts: Vec<i32> = slowed.chunk_by(|a, b| b - a == 1).map(|run| run[0]).collect();
        assert!(starts[0] <= 5 && starts.len() >= 3, "{starts:?}");
        assert!(slowed.len() <= 3 * starts.len() && slowed.len() >= 2 * starts.len(), "{slowed:?}");
        let shares: Vec<i32> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(shares.iter().all(|&rounds| rounds >= 60), "at most a tenth of the time: {shares:?}");
    }
}
