//! LEDBAT (RFC 6817): background transfers that leave as soon as others come.
//!
//! The window follows the difference between the queueing delay and a target of 100 ms in proportion: it grows by a
//! packet a round while there is no queue and shrinks as fast at twice the target. Loss-based flows fill the queue
//! beyond the target, and LEDBAT goes down to two packets. What it was made for is µTP (BitTorrent) and software
//! updates. A flow that comes when another one holds the target takes that queue for the path (the latecomer's
//! advantage); `ledbat++` repairs it.

use super::arithmetic::sample_us;
use super::delay::QueueingDelay;
use super::fraction::Fraction;
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`Ledbat`]; the defaults are the RFC's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Queueing delay that the flow keeps.
    #[schemars(extend(
        "x-at-least" = "1ms",
        "x-at-most" = "1h",
        "x-source" = "RFC 6817, section 2.5: TARGET, at most 100 ms"
    ))]
    pub target: Duration,
    /// Packets that a round without a queue adds.
    #[schemars(range(min = 0.001, max = 1), extend("x-source" = "RFC 6817, section 2.5: GAIN, at most 1"))]
    pub gain: f64,
    /// Packets that the window may exceed what was in flight.
    #[schemars(extend("x-source" = "RFC 6817, section 2.5: ALLOWED_INCREASE"))]
    pub allowed_increase: u32,
    /// Smallest window in packets.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "RFC 6817, section 2.5: MIN_CWND"))]
    pub min_cwnd: u32,
    /// A connection begins with slow start until a quarter of the target waits, or with the proportional rule.
    #[schemars(extend("x-source" = "RFC 6817, section 2.4.2: slow start is optional"))]
    pub slow_start: bool,
    /// No queue takes more than a packet for each acknowledged one.
    #[schemars(extend("x-source" = "the RFC's formula has no bound below"))]
    pub bounded_decrease: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            target: Duration::from_millis(100),
            gain: 1.0,
            allowed_increase: 1,
            min_cwnd: 2,
            slow_start: true,
            bounded_decrease: true,
        }
    }
}

impl ParameterSet for Parameters {}

/// The LEDBAT controller.
#[derive(Clone, Debug)]
pub struct Ledbat {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    delay: QueueingDelay,
    fraction: Fraction,
    in_flight: u32,
}

impl Ledbat {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Ledbat {
        Ledbat {
            name: Ledbat::EXACT_NAME.into(),
            parameters: parameters.into(),
            delay: QueueingDelay::default(),
            fraction: Fraction::default(),
            in_flight: 0,
        }
    }

    /// How far the queue is from the target, as a share of that: 1 without a queue.
    fn off_target(&self) -> f64 {
        let off = 1.0 - f64::from(self.delay.queue_us()) / self.parameters.target.as_secs_f64() / 1e6;
        if self.parameters.bounded_decrease { off.max(-1.0) } else { off }
    }
}

impl Algorithm for Ledbat {
    type Parameters = Parameters;
    const NAME: &str = "ledbat";
    const EXACT_NAME: &str = "ledbat-rfc6817";
    const SUMMARY: &str = "LEDBAT: holds 100 ms of queue at most and yields to everybody else; for background transfers (BitTorrent, updates)";
    const SOURCE: &str = "RFC 6817";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Ledbat {
        Ledbat { name: exact_name, ..Ledbat::new(parameters) }
    }
}

impl Controller for Ledbat {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, control: &mut Control) {
        if !self.parameters.slow_start {
            control.ssthresh = control.cwnd.min(self.parameters.min_cwnd);
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        (control.cwnd / 2).max(self.parameters.min_cwnd)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        let mut acked = acked;
        if control.in_slow_start() {
            if self.off_target() > 0.75 {
                if !view.is_cwnd_limited(control) {
                    return;
                }
                acked = control.slow_start(view, acked);
            } else {
                control.ssthresh = control.cwnd;
            }
        }
        let change = self.parameters.gain * self.off_target() * f64::from(acked) / f64::from(control.cwnd.max(1));
        if change > 0.0 && !view.is_cwnd_limited(control) {
            return;
        }
        let flight = self.in_flight.saturating_add(self.parameters.allowed_increase);
        let ceiling = if change > 0.0 { flight.max(control.cwnd) } else { u32::MAX };
        self.fraction.change(control, change, self.parameters.min_cwnd, ceiling.min(view.cwnd_clamp));
    }

    fn pkts_acked(&mut self, view: &View, _control: &mut Control, acked: u32, rtt_us: i64, _in_flight: u32) {
        self.in_flight = view.in_flight() + acked;
        if let Some(rtt_us) = sample_us(rtt_us) {
            self.delay.sample(view.mstamp_us, rtt_us);
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

    /// The window after ten rounds from 100 packets at this queue.
    fn after_rounds_at(queue_us: i64, parameters: Parameters) -> f64 {
        let mut ledbat = Ledbat::new(parameters);
        let mut c = Side::limited(100, 10);
        ledbat.init(&c.view, &mut c.control);
        c.view.packets_out = 200;
        round(&mut ledbat, &mut c, 50_000);
        c.control.cwnd = 100;
        for _ in 0..10 {
            round(&mut ledbat, &mut c, 50_000 + queue_us);
        }
        ledbat.fraction.window(&c.control)
    }

    #[test]
    fn the_window_moves_in_proportion_to_the_distance_from_the_target() {
        for (queue_us, window) in [(0, 110.0), (50_000, 105.0), (100_000, 100.0), (150_000, 95.0), (400_000, 90.0)] {
            let found = after_rounds_at(queue_us, Parameters::default());
            assert!((found - window).abs() < 1.5, "{queue_us} us: {found}, expected {window}");
        }
        let unbounded = after_rounds_at(400_000, Parameters { bounded_decrease: false, ..Parameters::default() });
        assert!(unbounded < 75.0, "{unbounded}");
    }

    #[test]
    fn the_window_is_never_below_two_packets() {
        let mut ledbat = Ledbat::new(Parameters::default());
        let mut c = Side::limited(4, 2);
        round(&mut ledbat, &mut c, 50_000);
        for _ in 0..100 {
            round(&mut ledbat, &mut c, 900_000);
        }
        assert_eq!(c.control.cwnd, 2);
        assert_eq!(ledbat.ssthresh(&c.view, &c.control), 2);
    }
}
