//! CUBIC and Reno as Chromium's QUIC has them (`TcpCubicSenderBytes`, `CubicBytes`): windows in bytes, in units of
//! 1460.
//!
//! What differs from Linux:
//!
//! * The window is a number of bytes, whatever the size of the packets. Growth is in units of 1460 bytes, so that a
//!   sender of smaller packets grows by more than a packet where Linux would grow by one.
//! * A packet may leave as long as fewer bytes than the window are in flight: the last one goes beyond it.
//! * CUBIC moves to its target with every ACK, by at most half of what the ACK acknowledges, instead of counting ACKs
//!   towards the next packet; and where Reno's estimate is larger, it adopts that at once.
//! * Reno counts ACKs of packets, and not bytes.
//! * N emulated connections (two by default) lose one at a time: `(N - 1 + beta) / N` of the window remains, and growth
//!   is that of N connections.
//! * HyStart ends slow start by delay alone.
//! * In recovery packets leave in proportion to what is delivered, counted in bytes, and the first one at once:
//!   recovery takes one round trip, and not the time that it takes until the reduced window is not full any more
//!   besides.

use dumbbell_cc::parameters::{Factor, Invalid, ParameterSet};
use dumbbell_cc::{Algorithm, CaState, Control, Controller, Event, Hooks, Needs, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// `log2` of the curve's time resolution: 1/1024 s.
const CURVE_HZ_LOG2: u32 = 10;
/// `log2` of the scale of `C (t - K)^3` (`kCubeScale`).
const CURVE_SCALE_LOG2: u32 = 40;

/// How the window grows above the slow-start threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// Along a cubic curve, or as Reno where that is faster.
    #[default]
    Cubic,
    /// By one unit a window.
    Reno,
}

/// Constants of [`CubicBytes`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// How the window grows above the slow-start threshold.
    #[schemars(extend("x-source" = "TcpCubicSenderBytes: reno_"))]
    pub growth: Growth,
    /// Share of the window that remains after a loss of one of the emulated connections.
    #[schemars(extend(
        "exclusiveMinimum" = 0,
        "exclusiveMaximum" = 1,
        "x-source" = "kDefaultCubicBackoffFactor = 0.7, kRenoBeta = 0.7"
    ))]
    pub beta: Factor,
    /// Share of the window that is remembered as the maximum after a loss below the one before.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-source" = "kBetaLastMax = 0.85"))]
    pub beta_last_max: Factor,
    /// Connections that this one stands for.
    #[schemars(range(min = 1, max = 16), extend("x-source" = "kDefaultNumConnections = 2"))]
    pub emulated_connections: u32,
    /// Steepness of the curve: `C = steepness/1024` units/s³ (410 gives 0.4).
    #[schemars(range(min = 1, max = 1_000_000), extend("x-source" = "kCubeCongestionWindowScale = 410"))]
    pub steepness: u32,
    /// The unit in which the window is counted and grows.
    #[schemars(range(min = 1, max = 65_535), extend("x-unit" = "bytes", "x-source" = "kDefaultTCPMSS = 1460"))]
    pub unit: u32,
    /// Bytes of a packet that count besides its payload.
    #[schemars(range(max = 1_000), extend("x-unit" = "bytes", "x-source" = "bytes_in_flight counts encrypted packets"))]
    pub overhead: u32,
    /// Window at the start, in units.
    #[schemars(range(min = 1, max = 10_000), extend("x-unit" = "units", "x-source" = "kInitialCongestionWindow = 10 (32 since 2013)"))]
    pub initial_window: u32,
    /// Smallest window, in units.
    #[schemars(range(min = 1, max = 10_000), extend("x-unit" = "units", "x-source" = "kDefaultMinimumCongestionWindow = 2"))]
    pub min_window: u32,
    /// Largest window, in units.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-unit" = "units", "x-source" = "kMaxCongestionWindowPackets = 2000"))]
    pub max_window: u32,
    /// End slow start when the round-trip time rises.
    #[schemars(extend("x-source" = "HybridSlowStart"))]
    pub hystart: bool,
    /// Reduce in proportion to what is delivered.
    #[schemars(extend("x-source" = "PrrSender; option NPRR switches it off"))]
    pub prr: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            growth: Growth::Cubic,
            beta: Factor::new(717),
            beta_last_max: Factor::new(870),
            emulated_connections: 2,
            steepness: 410,
            unit: 1460,
            overhead: 22,
            initial_window: 10,
            min_window: 2,
            max_window: 2000,
            hystart: true,
            prr: true,
        }
    }
}

impl ParameterSet for Parameters {
    fn validate(&self) -> Result<(), Invalid> {
        let holds_both = self.max_window >= self.initial_window.max(self.min_window);
        Invalid::unless(holds_both, "max_window", "allowed: at least `initial_window` and `min_window`")
    }
}

/// CUBIC or Reno with windows in bytes.
#[derive(Clone, Debug)]
pub struct CubicBytes {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// The window in bytes.
    window: u64,
    /// Bytes that a packet counts.
    packet: u64,
    curve: Curve,
    /// Packets acknowledged since Reno's window last grew.
    acked_packets: u32,
    hystart: Hystart,
}

/// The cubic curve and Reno's estimate beside it, in bytes.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// When the epoch began; none after a loss.
    epoch_us: Option<u64>,
    /// Window before the last loss, or less.
    last_max: u64,
    /// Window at the plateau.
    origin: u64,
    /// Time from the epoch's start to the plateau in 1/1024 s.
    time_to_origin: u64,
    /// The window that Reno would have.
    reno: u64,
}

/// The end of slow start by delay (`HybridSlowStart`).
#[derive(Clone, Debug, Default)]
struct Hystart {
    /// The round ends when this has been acknowledged.
    round_end: u64,
    /// Samples of the round, and their minimum.
    samples: u32,
    round_min_us: u64,
}

impl Hystart {
    /// Samples of a round that count.
    const SAMPLES: u32 = 8;
    /// Smallest window in units.
    const LOW_WINDOW: u64 = 16;
    const THRESHOLD_MIN: Duration = Duration::from_millis(4);
    const THRESHOLD_MAX: Duration = Duration::from_millis(16);

    /// Whether the round-trip times of the round have risen above the minimum by an eighth of it.
    fn is_over(&mut self, view: &View, rtt_us: u64, window_units: u64) -> bool {
        if view.snd_una >= self.round_end {
            *self = Hystart { round_end: view.snd_nxt, samples: 0, round_min_us: u64::MAX };
        }
        self.samples = self.samples.saturating_add(1);
        if self.samples > Hystart::SAMPLES {
            return false;
        }
        self.round_min_us = self.round_min_us.min(rtt_us);
        let min_us = u64::from(view.min_rtt_us);
        let rise_us = (min_us / 8).clamp(Hystart::THRESHOLD_MIN.as_micros(), Hystart::THRESHOLD_MAX.as_micros());
        self.samples == Hystart::SAMPLES && self.round_min_us > min_us + rise_us && window_units >= Hystart::LOW_WINDOW
    }
}

impl CubicBytes {
    /// A controller with these constants, which must be valid.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> CubicBytes {
        let parameters = parameters.into();
        CubicBytes {
            name: CubicBytes::EXACT_NAME.into(),
            window: u64::from(parameters.initial_window) * u64::from(parameters.unit),
            packet: u64::from(parameters.unit),
            curve: Curve::default(),
            acked_packets: 0,
            hystart: Hystart::default(),
            parameters,
        }
    }

    fn unit(&self) -> u64 {
        u64::from(self.parameters.unit)
    }

    /// A share of the window that remains when one of the emulated connections keeps `one`.
    fn remaining(&self, one: Factor, window: u64) -> u64 {
        let kept = one.of_one_in(self.parameters.emulated_connections);
        window * u64::from(kept.numerator()) / u64::from(Factor::ONE.numerator())
    }

    fn bounded(&self, window: u64) -> u64 {
        window.clamp(
            u64::from(self.parameters.min_window) * self.unit(),
            u64::from(self.parameters.max_window) * self.unit(),
        )
    }

    /// The window in packets: one may leave as long as fewer bytes than the window are in flight.
    fn packets(&self) -> u32 {
        u32::try_from(self.window.div_ceil(self.packet)).unwrap_or(u32::MAX)
    }

    fn show(&self, view: &View, control: &mut Control) {
        control.cwnd = self.packets().min(view.cwnd_clamp);
        control.cwnd_bytes = self.window;
    }

    /// The window that the transport has set, where that is not the one that was shown to it.
    fn adopt(&mut self, control: &Control) {
        if control.cwnd != self.packets() {
            self.window = u64::from(control.cwnd) * self.packet;
        }
    }

    /// Congestion avoidance for one packet.
    fn grow(&mut self, view: &View) {
        let window = match self.parameters.growth {
            Growth::Cubic => self.follow_curve(view),
            Growth::Reno => {
                self.acked_packets += 1;
                let counted = u64::from(self.acked_packets) * u64::from(self.parameters.emulated_connections);
                if counted < self.window / self.unit() {
                    return;
                }
                self.acked_packets = 0;
                self.window + self.unit()
            }
        };
        self.window = self.bounded(window);
    }

    /// The window that the curve, or Reno's estimate, has for the packet that is acknowledged now.
    fn follow_curve(&mut self, view: &View) -> u64 {
        let steepness = u64::from(self.parameters.steepness);
        let (unit, packet, window) = (self.unit(), self.packet, self.window);
        let epoch_us = match self.curve.epoch_us {
            Some(epoch_us) => epoch_us,
            None => {
                let missing = self.curve.last_max.saturating_sub(window);
                self.curve.time_to_origin =
                    cube_root((u128::from(missing) << CURVE_SCALE_LOG2) / u128::from(steepness * unit));
                self.curve.origin = self.curve.last_max.max(window);
                self.curve.reno = window;
                *self.curve.epoch_us.insert(view.mstamp_us)
            }
        };
        let elapsed_us = view.mstamp_us - epoch_us + u64::from(view.min_rtt_us);
        let t = (elapsed_us << CURVE_HZ_LOG2) / 1_000_000;
        let offset = u128::from(t.abs_diff(self.curve.time_to_origin));
        let delta = (u128::from(steepness * unit) * offset.pow(3)) >> CURVE_SCALE_LOG2;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        let on_curve = if t > self.curve.time_to_origin {
            self.curve.origin.saturating_add(delta)
        } else {
            self.curve.origin.saturating_sub(delta)
        };
        let target = on_curve.min(window + packet / 2);
        self.curve.reno += self.reno_growth(packet);
        target.max(self.curve.reno)
    }

    /// What `N` Reno connections that keep `beta` add for `acked` bytes: `3 N² (1 - beta) / (1 + beta)` units a window.
    fn reno_growth(&self, acked: u64) -> u64 {
        let connections = u64::from(self.parameters.emulated_connections);
        let kept = u64::from(self.parameters.beta.of_one_in(self.parameters.emulated_connections).numerator());
        let one = u64::from(Factor::ONE.numerator());
        let alpha_units = 3 * connections * connections * (one - kept) * self.unit();
        acked * alpha_units / (one + kept) / self.curve.reno.max(1)
    }
}

/// The integer cube root.
fn cube_root(value: u128) -> u64 {
    let mut root = 0u64;
    for bit in (0..=32).rev() {
        let candidate = root | 1 << bit;
        if u128::from(candidate).pow(3) <= value {
            root = candidate;
        }
    }
    root
}

impl Algorithm for CubicBytes {
    type Parameters = Parameters;
    const NAME: &str = "cubic-quic";
    const EXACT_NAME: &str = "cubic-chromium-bytes";
    const SUMMARY: &str = "CUBIC of Chromium's QUIC: counts bytes in units of 1460, two emulated connections";
    const SOURCE: &str = "Chromium, TcpCubicSenderBytes and CubicBytes";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> CubicBytes {
        CubicBytes { name: exact_name, ..CubicBytes::new(parameters) }
    }
}

impl Controller for CubicBytes {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.packet = u64::from(view.mss + self.parameters.overhead);
        self.show(view, control);
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn needs(&self) -> Needs {
        let proportional = if self.parameters.prr { self.parameters.unit } else { 0 };
        Needs { proportional, ..Needs::NONE }
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        let Ok(rtt_us) = u64::try_from(rtt_us) else { return };
        let is_searching = self.parameters.hystart && control.in_slow_start();
        if is_searching && self.hystart.is_over(view, rtt_us, self.window / self.unit()) {
            control.ssthresh = control.cwnd;
        }
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            // CUBIC's curve would run away from a window that does not follow it.
            self.curve.epoch_us = None;
            return;
        }
        self.adopt(control);
        for _ in 0..acked {
            if control.in_slow_start() {
                self.window = self.bounded(self.window + self.unit());
                self.show(view, control);
            } else {
                self.grow(view);
            }
        }
        self.show(view, control);
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.adopt(control);
        let converges = self.window + self.unit() < self.curve.last_max;
        self.curve.last_max =
            if converges { self.remaining(self.parameters.beta_last_max, self.window) } else { self.window };
        self.curve.epoch_us = None;
        self.acked_packets = 0;
        self.window = self.bounded(self.remaining(self.parameters.beta, self.window));
        self.packets()
    }

    fn set_state(&mut self, _view: &View, control: &mut Control, next: CaState) {
        match next {
            // The transport is about to set the threshold as window, which is this one in whole packets.
            CaState::Cwr | CaState::Recovery => control.cwnd_bytes = self.window,
            CaState::Loss => self.curve = Curve::default(),
            _ => {}
        }
    }

    fn event(&mut self, _view: &View, _control: &mut Control, event: Event) {
        if event == Event::TxStart {
            self.curve.epoch_us = None;
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec![Cow::Borrowed("window_bytes")]
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        #[expect(clippy::cast_precision_loss, reason = "for reports")]
        let window = self.window as f64;
        values.fill(window);
    }
}

#[cfg(test)]
mod tests;
