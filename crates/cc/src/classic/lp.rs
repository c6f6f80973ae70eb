//! TCP-LP (Kuzmanovic and Knightly, 2003; Linux's `tcp_lp.c`): gives way at the first sign of a queue.
//!
//! It grows as Reno does and infers congestion when the smoothed delay exceeds the smallest one by 15 % of its range. The first
//! inference halves the window, another one within three round trips leaves one packet, and until then nothing grows. For
//! transfers of low priority.
//!
//! Delays are round-trip times here, in milliseconds. Linux takes one-way delays from timestamps, which the acknowledgements of
//! our endpoints do not carry; on a reverse path without a queue the difference is a constant.

use super::delayed_acks::DelayedAcks;
use crate::parameters::ParameterSet;
use crate::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`Lp`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Share of the range of delays, in percent, above which congestion is inferred.
    #[schemars(range(max = 100), extend("x-source" = "tcp_lp_pkts_acked: 15 * (owd_max - owd_min) / 100"))]
    pub threshold_percent: u32,
    /// Round trips in which nothing grows after an inference.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "tcp_lp_pkts_acked: inference = 3 * delta"))]
    pub inference_rounds: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { threshold_percent: 15, inference_rounds: 3 }
    }
}

impl ParameterSet for Parameters {}

/// The TCP-LP controller. Delays are in milliseconds.
#[derive(Clone, Debug)]
pub struct Lp {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// Smoothed delay times eight; 0 before the first (`sowd`).
    smoothed_x8: u32,
    min: u32,
    /// Second-largest delay, and the largest one (`owd_max`, `owd_max_rsv`).
    max: u32,
    reserve: u32,
    /// When congestion was inferred last (`last_drop`), and how long that holds.
    inferred_at: Option<u64>,
    inference_ms: u64,
    delayed_acks: DelayedAcks,
}

impl Lp {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Lp {
        Lp {
            name: Lp::EXACT_NAME.into(),
            parameters: parameters.into(),
            smoothed_x8: 0,
            min: u32::MAX,
            max: 0,
            reserve: 0,
            inferred_at: None,
            inference_ms: 0,
            delayed_acks: DelayedAcks::default(),
        }
    }

    fn smoothed(&self) -> u32 {
        self.smoothed_x8 / 8
    }

    /// Whether the receiver has probably waited for a second segment, which says nothing about the path: an ACK of the only
    /// segment in flight, or of one among ACKs of several.
    fn is_probably_delayed(&mut self, view: &View, acked: u32) -> bool {
        (acked == 1 && view.packets_out == 0) || self.delayed_acks.take(acked)
    }

    /// Takes a delay (`tcp_lp_rtt_sample`).
    fn sample(&mut self, delay: u32) {
        self.min = self.min.min(delay);
        if delay > self.reserve {
            self.max = if self.reserve == 0 { delay } else { self.reserve };
            self.reserve = delay;
        } else if delay > self.max {
            self.max = delay;
        }
        self.smoothed_x8 = if self.smoothed_x8 == 0 { 8 * delay } else { self.smoothed_x8 - self.smoothed() + delay };
    }

    /// Whether congestion was inferred less than three round trips ago.
    fn is_within_inference(&self, view: &View) -> bool {
        self.inferred_at.is_some_and(|at| view.mstamp_us / 1_000 - at < self.inference_ms)
    }

    fn is_within_threshold(&self) -> bool {
        let range = self.max.saturating_sub(self.min);
        self.smoothed() <= self.min.saturating_add(self.parameters.threshold_percent * range / 100)
    }
}

impl Algorithm for Lp {
    type Parameters = Parameters;
    const NAME: &str = "lp";
    const EXACT_NAME: &str = "lp-linux-6.18-rtt";
    const SUMMARY: &str = "TCP-LP: Reno that gives way at the first sign of a queue; for transfers of low priority";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_lp.c; Kuzmanovic and Knightly, INFOCOM 2003";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Lp {
        Lp { name: exact_name, ..Lp::new(parameters) }
    }
}

impl Controller for Lp {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.half()
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !self.is_within_inference(view) {
            control.grow_like_reno(view, acked);
        }
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, acked: u32, rtt_us: i64, _in_flight: u32) {
        let Ok(rtt_us) = u64::try_from(rtt_us) else { return };
        if self.is_probably_delayed(view, acked) {
            return;
        }
        let now_ms = view.mstamp_us / 1_000;
        let rtt_ms = u32::try_from(rtt_us / 1_000).unwrap_or(u32::MAX / 16).clamp(1, u32::MAX / 16);
        self.sample(rtt_ms);
        self.inference_ms = u64::from(self.parameters.inference_rounds) * u64::from(rtt_ms);
        if self.is_within_threshold() {
            return;
        }
        // The range may belong to a path that is gone.
        self.min = self.smoothed();
        self.max = 2 * self.smoothed();
        self.reserve = self.max;
        control.cwnd = if self.is_within_inference(view) { 1 } else { (control.cwnd / 2).max(1) };
        self.inferred_at = Some(now_ms);
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["delay_ms", "min_delay_ms", "max_delay_ms"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let min = if self.min == u32::MAX { f64::NAN } else { f64::from(self.min) };
        values.copy_from_slice(&[f64::from(self.smoothed_x8) / 8.0, min, f64::from(self.max)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;
    use dumbbell_units::Duration;

    fn begun() -> (Lp, Side) {
        let mut lp = Lp::new(Parameters::default());
        let mut c = Side::limited(64, 10);
        for rtt_ms in [50, 50, 150, 150, 50, 50, 50] {
            lp.sample(rtt_ms);
        }
        // Long without a queue.
        lp.smoothed_x8 = 8 * 52;
        c.at(Duration::from_secs(10));
        c.view.packets_out = 64;
        (lp, c)
    }

    #[test]
    fn the_first_inference_halves_the_window_and_a_second_within_three_round_trips_leaves_a_packet() {
        let (mut lp, mut c) = begun();
        lp.pkts_acked(&c.view, &mut c.control, 1, 60_000, 64);
        assert_eq!(c.control.cwnd, 64, "53 ms are within 15 % of the range of 100 ms");
        lp.smoothed_x8 = 8 * 70;
        lp.pkts_acked(&c.view, &mut c.control, 1, 80_000, 64);
        assert_eq!(c.control.cwnd, 32);
        c.pass(Duration::from_millis(100));
        lp.smoothed_x8 = 8 * 100;
        lp.pkts_acked(&c.view, &mut c.control, 1, 100_000, 64);
        assert_eq!(c.control.cwnd, 1);
    }

    #[test]
    fn nothing_grows_for_three_round_trips_after_an_inference() {
        let (mut lp, mut c) = begun();
        lp.smoothed_x8 = 8 * 70;
        lp.pkts_acked(&c.view, &mut c.control, 1, 80_000, 64);
        for (after_ms, grows) in [(100, false), (200, true)] {
            c.pass(Duration::from_millis(after_ms));
            lp.pkts_acked(&c.view, &mut c.control, 1, 80_000, 64);
            let before = c.control.cwnd;
            for _ in 0..before {
                lp.cong_avoid(&c.view, &mut c.control, 1);
            }
            assert_eq!(c.control.cwnd > before, grows, "{after_ms} ms later");
        }
    }

    #[test]
    fn the_largest_delay_is_kept_in_reserve() {
        let mut lp = Lp::new(Parameters::default());
        for (delay, max, reserve) in [(50, 50, 50), (90, 50, 90), (70, 70, 90), (100, 90, 100)] {
            lp.sample(delay);
            assert_eq!((lp.max, lp.reserve), (max, reserve));
        }
    }
}
