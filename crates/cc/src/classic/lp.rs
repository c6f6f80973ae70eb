//! TCP-LP (Kuzmanovic and Knightly, 2003; Linux's `tcp_lp.c`): gives way at the first sign of a queue.
//!
//! It grows as Reno does and infers congestion when the smoothed delay exceeds the smallest one by 15 % of its range.
//! The first inference halves the window, another one within three round trips leaves one packet, and until then
//! nothing grows. For transfers of low priority.
//!
//! Linux takes one-way delays from timestamps, in 32 bits: the receiver's clock when an ACK left, times 1000 over the
//! rate of that clock in whole numbers, less the echoed time of the sender's clock. It estimates the rate from one ACK
//! to the next, and in milliseconds the ratio of two short spans is more often too large than too small: as soon as the
//! estimate exceeds 1000 Hz the factor is 0, and the "delay" is the negative echo, some 2³². And since hosts add a
//! random number to their timestamps, what should be a small difference is any number. Eight times a number above 2²⁹
//! overflows, so that the smoothed delay lies below any threshold. So most of the time nothing is ever inferred, and
//! Linux's TCP-LP is Reno. [`Parameters`] can make the algorithm that was meant of it.

use super::delayed_acks::DelayedAcks;
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, Needs, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Rate of the clock of timestamps (`TCP_TS_HZ`, `LP_RESOL`).
const TIMESTAMP_HZ: u32 = 1000;
/// For how long a sender's host has been up when a run begins, in milliseconds: a day. Linux takes an echo of 0 for
/// none.
const UP_MS: u32 = 86_400_000;

/// What delays are measured from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// One-way delays from timestamps, as Linux computes them. Without timestamps there are none, and it is Reno.
    #[default]
    Timestamps,
    /// Round-trip times, in milliseconds; ACKs that the receiver has probably delayed do not count. This is the
    /// algorithm that was meant, where the way back has no queue.
    RoundTrip,
}

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
    /// What delays are measured from.
    #[schemars(extend("x-source" = "tcp_lp_owd_calculator"))]
    pub delay: Delay,
    /// Whether the receiver's timestamps count from a random number, as they do by default; otherwise the clocks of
    /// both ends show the same.
    #[schemars(extend("x-source" = "tcp_timestamps: 1, or 2 without"))]
    pub timestamp_offsets: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { threshold_percent: 15, inference_rounds: 3, delay: Delay::Timestamps, timestamp_offsets: true }
    }
}

impl ParameterSet for Parameters {}

/// What an ACK says of both clocks, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    /// The receiver's when it left (`rcv_tsval`), and the sender's that it echoes (`rcv_tsecr`).
    value: u32,
    echo: u32,
}

/// One-way delays as Linux takes them from timestamps.
#[derive(Clone, Debug)]
struct OneWay {
    /// What the receiver's timestamps count from.
    offset: u32,
    /// The ACK that `pkts_acked` is about to tell of, and the one of the delay before.
    latest: Stamps,
    reference: Stamps,
    /// Estimated rate of the receiver's clock in Hz; 0 before the first estimate (`remote_hz`).
    remote_hz: u32,
}

impl OneWay {
    fn new(offset: u32) -> OneWay {
        OneWay { offset, latest: Stamps::default(), reference: Stamps::default(), remote_hz: 0 }
    }

    /// Follows the rate of the receiver's clock, an average over 64 ACKs in whole hertz (`tcp_lp_remote_hz_estimator`).
    fn estimate_remote_hz(&mut self) {
        let Stamps { value, echo } = self.latest;
        let before = std::mem::replace(&mut self.reference, self.latest);
        if before.value == 0 || before.echo == 0 || before.value == value || before.echo == echo {
            return;
        }
        let hz = TIMESTAMP_HZ.wrapping_mul(value.wrapping_sub(before.value)) / echo.wrapping_sub(before.echo);
        self.remote_hz = match i64::from(self.remote_hz) {
            0 => hz,
            old => u32::try_from(old + (i64::from(hz) - old).div_euclid(64)).unwrap_or(u32::MAX),
        };
    }

    /// The delay of the latest ACK, if there is one (`tcp_lp_owd_calculator`).
    fn delay(&mut self) -> Option<u32> {
        self.estimate_remote_hz();
        let tick_ms = TIMESTAMP_HZ.checked_div(self.remote_hz)?;
        Some(self.latest.value.wrapping_mul(tick_ms).wrapping_sub(self.latest.echo)).filter(|&delay| delay > 0)
    }
}

/// The TCP-LP controller. Delays are in milliseconds.
#[derive(Clone, Debug)]
pub struct Lp {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    one_way: OneWay,
    /// Smoothed delay times eight; 0 before the first (`sowd`).
    smoothed_x8: u32,
    min: u32,
    /// Second-largest delay, and the largest one (`owd_max`, `owd_max_rsv`).
    max: u32,
    reserve: u32,
    /// When congestion was inferred last (`last_drop`), and how long that holds.
    inferred_at: Option<u64>,
    inference_ms: u32,
    is_within_inference: bool,
    delayed_acks: DelayedAcks,
}

impl Lp {
    /// A controller with these constants; `rng` draws what the receiver's timestamps count from.
    pub fn new(parameters: impl Into<Arc<Parameters>>, mut rng: Rng) -> Lp {
        let parameters = parameters.into();
        let offset = if parameters.timestamp_offsets { rng.below(u32::MAX) } else { 0 };
        Lp {
            name: Lp::EXACT_NAME.into(),
            parameters,
            one_way: OneWay::new(offset),
            smoothed_x8: 0,
            min: u32::MAX,
            max: 0,
            reserve: 0,
            inferred_at: None,
            inference_ms: 0,
            is_within_inference: false,
            delayed_acks: DelayedAcks::default(),
        }
    }

    fn takes_round_trips(&self) -> bool {
        self.parameters.delay == Delay::RoundTrip
    }

    fn smoothed(&self) -> u32 {
        self.smoothed_x8 / 8
    }

    /// Whether the receiver has probably waited for a second segment, which says nothing about the path: an ACK of the
    /// only segment in flight, or of one among ACKs of several.
    fn is_probably_delayed(&mut self, view: &View, acked: u32) -> bool {
        (acked == 1 && view.packets_out == 0) || self.delayed_acks.take(acked)
    }

    /// Takes a delay (`tcp_lp_rtt_sample`), in the 32 bits that Linux has for it.
    fn sample(&mut self, delay: u32) {
        self.min = self.min.min(delay);
        if delay > self.reserve {
            self.max = if self.reserve == 0 { delay } else { self.reserve };
            self.reserve = delay;
        } else if delay > self.max {
            self.max = delay;
        }
        self.smoothed_x8 = match self.smoothed_x8 {
            0 => delay.wrapping_shl(3),
            before => before.wrapping_sub(self.smoothed()).wrapping_add(delay),
        };
    }

    /// Whether the smoothed delay is near the smallest one. Linux halves the window at the very first delay, which is
    /// the smallest, the largest and the smoothed one; of round-trip times that would always be so.
    fn is_within_threshold(&self) -> bool {
        let range = self.max.wrapping_sub(self.min);
        let threshold = self.min.wrapping_add(self.parameters.threshold_percent.wrapping_mul(range) / 100);
        self.smoothed() < threshold || (self.takes_round_trips() && self.smoothed() == threshold)
    }

    /// Takes the delay of an ACK, and notes for how long an inference holds; false where the ACK tells nothing.
    fn take_delay(&mut self, view: &View, acked: u32, rtt_us: Option<u64>) -> bool {
        let round_trip_ms = if self.takes_round_trips() {
            let Some(rtt_us) = rtt_us.filter(|_| !self.is_probably_delayed(view, acked)) else { return false };
            let rtt_ms = u32::try_from(rtt_us / 1_000).unwrap_or(u32::MAX / 16).clamp(1, u32::MAX / 16);
            self.sample(rtt_ms);
            rtt_ms
        } else {
            if rtt_us.is_some()
                && let Some(delay) = self.one_way.delay()
            {
                self.sample(delay);
            }
            now_ms(view).wrapping_sub(self.one_way.latest.echo)
        };
        if round_trip_ms.cast_signed() > 0 {
            self.inference_ms = self.parameters.inference_rounds.saturating_mul(round_trip_ms);
        }
        true
    }
}

/// The sender's clock of timestamps.
#[expect(clippy::cast_possible_truncation, reason = "32 bits that wrap")]
fn now_ms(view: &View) -> u32 {
    ((view.mstamp_us / 1_000) as u32).wrapping_add(UP_MS)
}

impl Algorithm for Lp {
    type Parameters = Parameters;
    const NAME: &str = "lp";
    const EXACT_NAME: &str = "lp-linux-6.18";
    const SUMMARY: &str =
        "TCP-LP as Linux has it, which is Reno most of the time; with delay = \"round-trip\" what was meant";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_lp.c; Kuzmanovic and Knightly, INFOCOM 2003";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, rng: Rng, exact_name: Arc<str>) -> Lp {
        Lp { name: exact_name, ..Lp::new(parameters, rng) }
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

    fn needs(&self) -> Needs {
        Needs { timestamps: !self.takes_round_trips(), ..Needs::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.half()
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !self.is_within_inference {
            control.grow_like_reno(view, acked);
        }
    }

    fn ack_timestamps(&mut self, value_ms: u32, echo_ms: u32) {
        let value = value_ms.wrapping_add(UP_MS).wrapping_add(self.one_way.offset);
        self.one_way.latest = Stamps { value, echo: echo_ms.wrapping_add(UP_MS) };
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, acked: u32, rtt_us: i64, _in_flight: u32) {
        if !self.take_delay(view, acked, u64::try_from(rtt_us).ok()) {
            return;
        }
        let now_ms = view.mstamp_us / 1_000;
        self.is_within_inference = self.inferred_at.is_some_and(|at| now_ms - at < u64::from(self.inference_ms));
        if self.is_within_threshold() {
            return;
        }
        // The range may belong to a path that is gone.
        self.min = self.smoothed();
        self.max = self.smoothed_x8 / 4;
        self.reserve = self.max;
        control.cwnd = if self.is_within_inference { 1 } else { (control.cwnd / 2).max(1) };
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

    fn of_round_trips() -> Lp {
        Lp::new(Parameters { delay: Delay::RoundTrip, ..Parameters::default() }, Rng::new(1))
    }

    /// With timestamps that count from this number.
    fn with_offset(offset: u32) -> Lp {
        let mut lp = Lp::new(Parameters::default(), Rng::new(1));
        lp.one_way.offset = offset;
        lp
    }

    fn begun() -> (Lp, Side) {
        let mut lp = of_round_trips();
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
        let mut lp = of_round_trips();
        for (delay, max, reserve) in [(50, 50, 50), (90, 50, 90), (70, 70, 90), (100, 90, 100)] {
            lp.sample(delay);
            assert_eq!((lp.max, lp.reserve), (max, reserve));
        }
    }

    /// An ACK of a packet that left at `sent_ms`, `delay_ms` after the packet and 20 ms before it is here.
    fn ack(lp: &mut Lp, c: &mut Side, sent_ms: u32, delay_ms: u32) {
        c.at(Duration::from_millis(u64::from(sent_ms + delay_ms + 20)));
        lp.ack_timestamps(sent_ms + delay_ms, sent_ms);
        lp.pkts_acked(&c.view, &mut c.control, 1, i64::from(1_000 * (delay_ms + 20)), 64);
    }

    #[test]
    fn clocks_that_show_the_same_give_one_way_delays_and_the_first_is_too_long() {
        let (mut lp, mut c) = (with_offset(0), Side::limited(64, 10));
        ack(&mut lp, &mut c, 10, 20);
        assert_eq!((lp.smoothed_x8, c.control.cwnd), (0, 64), "one ACK tells no rate of a clock");
        ack(&mut lp, &mut c, 20, 20);
        assert_eq!((lp.one_way.remote_hz, lp.smoothed(), c.control.cwnd), (1000, 20, 32));
        ack(&mut lp, &mut c, 30, 20);
        assert_eq!((lp.smoothed(), c.control.cwnd), (20, 32), "below 15 % of what is between 20 and 40 ms");
        // A delay that grows makes the clock seem too fast.
        lp.one_way.remote_hz = 900;
        ack(&mut lp, &mut c, 50, 60);
        assert_eq!((lp.one_way.remote_hz, lp.smoothed(), c.control.cwnd), (932, 25, 1), "within three round trips");
    }

    #[test]
    fn a_rate_estimated_above_that_of_the_clock_leaves_no_delay_but_the_echo() {
        let (mut lp, mut c) = (with_offset(0), Side::limited(64, 10));
        ack(&mut lp, &mut c, 10, 20);
        ack(&mut lp, &mut c, 20, 21);
        assert_eq!(lp.one_way.remote_hz, 1100, "11 ms there are 10 ms here");
        assert_eq!((lp.max, c.control.cwnd), (0u32.wrapping_sub(UP_MS + 20), 64));
        let before = c.control.cwnd;
        for i in 2..200 {
            ack(&mut lp, &mut c, 10 * i, 20 + i);
        }
        assert_eq!(c.control.cwnd, before, "eight times that overflows, and is below any threshold");
    }

    #[test]
    fn with_a_random_offset_no_delay_is_too_long() {
        let (mut lp, mut c) = (with_offset(3_000_000_000), Side::limited(64, 10));
        for i in 1..200 {
            ack(&mut lp, &mut c, 10 * i, 20 + 10 * (i % 7));
        }
        assert_eq!(c.control.cwnd, 64);
    }
}
