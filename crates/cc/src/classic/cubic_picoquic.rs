//! CUBIC of picoquic: leaves slow start by filtered round-trip times, starts faster on long paths, and takes a few
//! losses for noise.
//!
//! It is unlike Linux's in what matters on satellite links. Slow start ends when the smallest of the latest seven
//! round-trip times has been a quarter above the smallest of their largest ones seven times. On paths longer than 100 ms
//! half of what the window has above its share of them is given back then. In slow start the window holds at least half
//! of what the largest delivery rate would have in flight. A loss counts when more than 15 % of the latest packets are
//! lost. What remains after one is 7/8, and there is no slow start in between.

use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Event, Hooks, RateSample, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Round-trip times that the filter looks at, and how often they have to be too long.
const SCOPE: usize = 7;
/// Weight of a packet in the share of lost ones, and how far back that looks.
const LOSS_WEIGHT: f64 = 1.0 / 16.0;
const LOSS_SCOPE: u32 = 32;

/// Constants of [`CubicPicoquic`]; the defaults are picoquic's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Steepness of the curve in packets/s³.
    #[schemars(range(min = 0.001, max = 1000), extend("x-source" = "picoquic, cubic.c: C = 0.4"))]
    pub c: f64,
    /// Share of the window that remains after a loss.
    #[schemars(range(min = 0.1, max = 0.99), extend("x-source" = "picoquic, cubic.c: 7/8"))]
    pub beta: f64,
    /// Leave the first slow start by delay.
    #[schemars(extend("x-source" = "picoquic, cc_common.c: hystart_test"))]
    pub delay_exit: bool,
    /// Longest round-trip time of paths on which that leaves the window as it is.
    #[schemars(extend("x-source" = "picoquic: TARGET_RENO_RTT, 100 ms"))]
    pub usual_rtt: Duration,
    /// Round-trip time that longer ones are measured by.
    #[schemars(extend("x-source" = "picoquic: TARGET_SATELLITE_RTT, 610 ms"))]
    pub longest_rtt: Duration,
    /// On longer paths the first window is larger, in proportion to the round-trip time.
    #[schemars(extend("x-source" = "picoquic, cubic.c: off in cubic, on in dcubic"))]
    pub scales_first_window: bool,
    /// Share of the latest packets that may be lost without a reduction; 0 reduces with every loss.
    #[schemars(range(min = 0, max = 1), extend("x-source" = "picoquic, cc_common.h: SMOOTHED_LOSS_THRESHOLD, 0.15"))]
    pub loss_tolerance: f64,
    /// In slow start the window holds at least half of the largest delivery rate times the smoothed round-trip time.
    #[schemars(extend("x-source" = "picoquic, cubic.c: cubic_update_bandwidth"))]
    pub follows_rate: bool,
    /// Smallest window in packets.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "picoquic: CWIN_MINIMUM, 2"))]
    pub min_cwnd: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            c: 0.4,
            beta: 0.875,
            delay_exit: true,
            usual_rtt: Duration::from_millis(100),
            longest_rtt: Duration::from_millis(610),
            scales_first_window: false,
            loss_tolerance: 0.15,
            follows_rate: true,
            min_cwnd: 2,
        }
    }
}

impl ParameterSet for Parameters {}

/// The latest round-trip times, at most one a millisecond, in microseconds.
#[derive(Clone, Debug, Default)]
struct RttFilter {
    latest: [u64; SCOPE],
    count: usize,
    sampled_us: u64,
    /// Smallest of the largest of seven.
    floor: u64,
    excesses: usize,
}

impl RttFilter {
    /// A round-trip time; whether the path's delay has grown for good.
    fn sample(&mut self, now_us: u64, rtt_us: u64) -> bool {
        if self.count > 0 && now_us <= self.sampled_us + 1_000 {
            return false;
        }
        self.sampled_us = now_us;
        self.latest[self.count % SCOPE] = rtt_us;
        self.count += 1;
        if self.count < SCOPE {
            return false;
        }
        let largest = self.latest.into_iter().max().unwrap_or(rtt_us);
        let smallest = self.latest.into_iter().min().unwrap_or(rtt_us);
        self.floor = if self.floor == 0 { largest } else { self.floor.min(largest) };
        if smallest <= self.floor {
            self.excesses = 0;
        } else if smallest > self.floor + self.floor / 4 {
            self.excesses += 1;
        }
        self.excesses >= SCOPE
    }
}

/// The share of the latest packets that was lost.
#[derive(Clone, Debug, Default)]
struct LossFilter {
    share: f64,
    /// Packets delivered since the latest loss.
    delivered: u32,
}

impl LossFilter {
    fn note_delivered(&mut self, packets: u32) {
        self.delivered = self.delivered.saturating_add(packets);
    }

    fn note_lost(&mut self, packets: u32) {
        let packets = packets.min(10 * LOSS_SCOPE);
        for _ in 0..packets {
            // The lost packet is one of those that the share fades by.
            let faded = (self.delivered + 1).min(LOSS_SCOPE);
            self.share *= libm::pow(1.0 - LOSS_WEIGHT, f64::from(faded));
            self.share += (1.0 - self.share) * LOSS_WEIGHT;
            self.delivered = 0;
        }
    }
}

/// What the window follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Avoidance,
}

/// The controller. Windows are in packets.
#[derive(Clone, Debug)]
pub struct CubicPicoquic {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    phase: Phase,
    /// Slow start goes on to here; infinite in the first one.
    ssthresh: f64,
    window: f64,
    w_max: f64,
    last_max: f64,
    reno: f64,
    /// When the curve began, which may be before the connection, and how long it takes to `w_max`.
    epoch_s: f64,
    k_s: f64,
    rtts: RttFilter,
    losses: LossFilter,
    /// What was sent before a reduction is no reason for another one.
    recovery_end: u64,
    /// Largest delivery rate in packets a second.
    peak_rate: f64,
}

impl CubicPicoquic {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> CubicPicoquic {
        CubicPicoquic {
            name: CubicPicoquic::EXACT_NAME.into(),
            parameters: parameters.into(),
            phase: Phase::SlowStart,
            ssthresh: f64::INFINITY,
            window: 0.0,
            w_max: f64::INFINITY,
            last_max: f64::INFINITY,
            reno: 0.0,
            epoch_s: 0.0,
            k_s: 0.0,
            rtts: RttFilter::default(),
            losses: LossFilter::default(),
            recovery_end: 0,
            peak_rate: 0.0,
        }
    }

    fn begin_epoch(&mut self, now_s: f64) {
        self.k_s = libm::cbrt(self.w_max * (1.0 - self.parameters.beta) / self.parameters.c);
        self.phase = Phase::Avoidance;
        self.epoch_s = now_s;
    }

    /// The curve's window.
    fn curve(&self, now_s: f64) -> f64 {
        let offset = now_s - self.epoch_s - self.k_s;
        self.w_max + self.parameters.c * offset * offset * offset
    }

    /// The delay has grown in the first slow start: the window is near enough, and the curve begins at its plateau.
    fn leave_slow_start(&mut self, now_s: f64) {
        let (floor, usual) = (self.rtts.floor, self.parameters.usual_rtt.as_micros());
        if floor > usual {
            let longest = self.parameters.longest_rtt.as_micros();
            let share = seconds(if floor > longest { longest } else { usual }) / seconds(floor);
            self.window = (self.window + share * self.window) / 2.0;
        }
        self.ssthresh = self.window;
        (self.w_max, self.last_max, self.reno) = (self.window, self.window, self.window);
        self.begin_epoch(now_s);
        self.epoch_s -= self.k_s;
    }

    /// So many packets were lost that it is no noise.
    fn reduce(&mut self, now_s: f64) {
        let (beta, least) = (self.parameters.beta, f64::from(self.parameters.min_cwnd));
        self.w_max = self.window;
        let converges = self.w_max < self.last_max && self.last_max.is_finite();
        self.last_max = self.w_max;
        if converges {
            self.w_max *= beta;
        }
        self.ssthresh = self.w_max * beta;
        if self.ssthresh < least {
            self.restart(f64::INFINITY);
        } else {
            self.begin_epoch(now_s);
            self.reno = self.window / 2.0;
            self.window = self.curve(now_s).max(self.reno);
        }
    }

    fn restart(&mut self, ssthresh: f64) {
        let least = f64::from(self.parameters.min_cwnd);
        (self.phase, self.ssthresh, self.window, self.reno) = (Phase::SlowStart, ssthresh, least, least);
    }

    fn grow(&mut self, view: &View, now_s: f64, acked: u32) {
        let acked = f64::from(acked);
        match self.phase {
            Phase::SlowStart => {
                if self.parameters.follows_rate {
                    let in_flight = self.peak_rate * f64::from(view.srtt_us_x8) / 8e6;
                    self.window = self.window.max(in_flight / 2.0);
                }
                self.window += acked;
                if self.window >= self.ssthresh {
                    self.reno = self.window / 2.0;
                    self.w_max = self.w_max.min(self.window);
                    self.begin_epoch(now_s);
                }
            }
            Phase::Avoidance => {
                self.reno += acked / self.reno;
                self.window = self.curve(now_s).max(self.reno);
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what the types hold")]
    fn apply(&mut self, view: &View, control: &mut Control) {
        self.window = self.window.clamp(f64::from(self.parameters.min_cwnd), f64::from(view.cwnd_clamp));
        control.cwnd = self.window as u32;
        if view.srtt_us_x8 > 0 {
            // A quarter above the window's rate, and twice of it in the first slow start.
            let gain = if self.ssthresh.is_infinite() { 2.0 } else { 1.25 };
            let rate = gain * self.window * f64::from(view.mss) * 8e6 / f64::from(view.srtt_us_x8);
            control.pacing_rate = (rate as u64).clamp(1, view.max_pacing_rate);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a connection")]
fn seconds(us: u64) -> f64 {
    us as f64 * 1e-6
}

impl Algorithm for CubicPicoquic {
    type Parameters = Parameters;
    const NAME: &str = "cubic-picoquic";
    const EXACT_NAME: &str = "cubic-picoquic-2025";
    const SUMMARY: &str =
        "CUBIC of picoquic: leaves slow start by filtered round-trip times, and takes up to 15 % of loss for noise";
    const SOURCE: &str = "picoquic, picoquic/cubic.c and cc_common.c";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> CubicPicoquic {
        CubicPicoquic { name: exact_name, ..CubicPicoquic::new(parameters) }
    }
}

impl Controller for CubicPicoquic {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.window = f64::from(control.cwnd);
        let (rtt, usual) = (u64::from(view.srtt_us_x8 / 8), self.parameters.usual_rtt.as_micros());
        if self.parameters.scales_first_window && rtt > usual {
            self.window *= seconds(rtt.min(self.parameters.longest_rtt.as_micros())) / seconds(usual);
        }
        self.reno = self.window;
        self.apply(view, control);
    }

    fn full_control(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn wants_pacing(&self) -> bool {
        true
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        // Losses are counted with the ACKs.
        control.cwnd.max(2)
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &RateSample) {
        let now_s = seconds(view.mstamp_us);
        if sample.delivered > 0 && sample.interval_us > 0 && !sample.is_app_limited {
            let rate = f64::from(sample.delivered) / seconds(sample.interval_us.unsigned_abs());
            self.peak_rate = self.peak_rate.max(rate);
        }
        self.losses.note_delivered(sample.acked_sacked);
        if sample.losses > 0 {
            self.losses.note_lost(sample.losses);
            let is_new = sample.prior_delivered >= self.recovery_end;
            if is_new && self.losses.share > self.parameters.loss_tolerance {
                self.recovery_end = view.delivered.saturating_add(u64::from(view.in_flight()));
                self.reduce(now_s);
                return self.apply(view, control);
            }
        }
        let is_first = self.phase == Phase::SlowStart && self.ssthresh.is_infinite();
        if let Ok(rtt_us) = u64::try_from(sample.rtt_us)
            && is_first
            && self.parameters.delay_exit
            && self.rtts.sample(view.mstamp_us, rtt_us)
        {
            self.leave_slow_start(now_s);
        } else if sample.acked_sacked > 0 && !sample.is_app_limited {
            self.grow(view, now_s, sample.acked_sacked);
        }
        self.apply(view, control);
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        match event {
            Event::Loss => {
                self.w_max = self.window;
                self.last_max = self.window;
                let ssthresh = self.window * self.parameters.beta;
                self.restart(ssthresh);
                self.apply(view, control);
            }
            // The curve stands still while the application is silent.
            Event::TxStart => self.epoch_s += seconds(view.mstamp_us.saturating_sub(view.last_sent.as_micros())),
            _ => {}
        }
    }

    fn undo_cwnd(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd
    }

    fn mode(&self) -> &'static str {
        match self.phase {
            Phase::SlowStart => "slow start",
            Phase::Avoidance if self.window > self.reno => "curve",
            Phase::Avoidance => "reno",
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["loss_share", "rtt_floor_ms", "w_max"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let floor_ms = if self.rtts.floor > 0 { 1e3 * seconds(self.rtts.floor) } else { f64::NAN };
        let w_max = if self.w_max.is_finite() { self.w_max } else { f64::NAN };
        values.copy_from_slice(&[self.losses.share, floor_ms, w_max]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;

    /// The times of samples, a few milliseconds apart, until the filter says that the delay has grown.
    fn samples_until_exit(rtts_ms: impl IntoIterator<Item = u64>) -> Option<usize> {
        let mut filter = RttFilter::default();
        rtts_ms.into_iter().enumerate().position(|(n, rtt_ms)| filter.sample(5_000 * n as u64, 1_000 * rtt_ms))
    }

    #[test]
    fn seven_windows_of_round_trip_times_a_quarter_above_the_floor_end_slow_start() {
        let grown = |ms: u64| std::iter::repeat_n(100, 10).chain(std::iter::repeat_n(ms, 20));
        // Seven samples until none of the old ones is left, and seven windows of new ones.
        assert_eq!(samples_until_exit(grown(126)), Some(10 + 7 + 6 - 1));
        assert_eq!(samples_until_exit(grown(125)), None, "a quarter is not more than a quarter");
        // One that is as short as before begins anew.
        let interrupted = grown(150).enumerate().map(|(n, ms)| if n == 20 { 100 } else { ms });
        assert!(samples_until_exit(interrupted).is_none_or(|n| n > 22));
    }

    #[test]
    fn of_the_round_trip_times_within_a_millisecond_the_first_one_counts() {
        let mut filter = RttFilter::default();
        for n in 0..100 {
            filter.sample(10 * n, 50_000);
        }
        assert_eq!(filter.count, 1);
    }

    #[test]
    fn the_share_of_lost_packets_fades_with_those_that_arrive() {
        let share = |delivered: u32, losses: u32| {
            let mut filter = LossFilter::default();
            for _ in 0..losses {
                filter.note_delivered(delivered);
                filter.note_lost(1);
            }
            filter.share
        };
        assert!(share(99, 50) < 0.15 && share(30, 50) < 0.15, "1 % and 3 %");
        assert!(share(4, 50) > 0.15, "20 %");
        assert_eq!(share(1_000, 1), LOSS_WEIGHT);
    }

    #[test]
    fn on_a_long_path_half_of_what_is_above_its_share_is_given_back() {
        let left_at = |rtt_ms: u64| {
            let mut cubic = CubicPicoquic::new(Parameters::default());
            cubic.window = 1_000.0;
            cubic.rtts.floor = 1_000 * rtt_ms;
            cubic.leave_slow_start(3.0);
            assert!((cubic.curve(3.0) - cubic.window).abs() < 1e-9, "the plateau");
            cubic.window
        };
        assert_eq!(left_at(100), 1_000.0);
        assert_eq!(left_at(200), 750.0);
        assert_eq!(left_at(1_220), 750.0);
    }

    #[test]
    fn the_first_window_may_grow_with_the_round_trip_time_up_to_a_satellite_s() {
        let first = |scales_first_window: bool, rtt_ms: u32| {
            let mut side = Side::limited(10, Control::INFINITE_SSTHRESH);
            side.view.srtt_us_x8 = rtt_ms * 8_000;
            CubicPicoquic::new(Parameters { scales_first_window, ..Parameters::default() })
                .init(&side.view, &mut side.control);
            side.control.cwnd
        };
        assert_eq!([80, 100, 300, 2_000].map(|rtt_ms| first(true, rtt_ms)), [10, 10, 30, 61]);
        assert_eq!(first(false, 300), 10);
    }

    #[test]
    fn a_reduction_keeps_seven_eighths_and_returns_along_the_curve() {
        let mut cubic = CubicPicoquic::new(Parameters::default());
        cubic.window = 800.0;
        cubic.reduce(10.0);
        assert!((cubic.window - 700.0).abs() < 1e-9, "{}", cubic.window);
        assert!((cubic.curve(10.0 + cubic.k_s) - 800.0).abs() < 1e-9);
        // Another one below the last: room for newcomers.
        cubic.reduce(11.0);
        assert!((cubic.w_max - 0.875 * 700.0).abs() < 1.0, "{}", cubic.w_max);
    }
}
