//! CUBIC as in Linux 6.18, with HyStart.
//!
//! After a loss the window follows a cubic function of time that starts steep, flattens at the window where the loss
//! happened (the origin, reached after time K) and then accelerates again: `W(t) = origin + C (t - K)^3`. Growth
//! therefore depends on time and not on the round-trip time. Where Reno would be faster, CUBIC follows an estimate of
//! Reno's window instead. In slow start HyStart looks for the end of the ramp in the ACK train and in delay.
//!
//! With N emulated connections (an addition of QUIC stacks) one of N loses at a time: the window keeps
//! `(N - 1 + beta) / N` of itself, and Reno's estimate grows by what N connections with that factor would.
//!
//! Where marks alone are the reason, more of the window may remain (RFC 8511). Fast convergence goes by the share that
//! remains then; Reno's slope by that of a loss.
//!
//! Fixed point: time on the curve in 1/1024 s, `C` as `bic_scale * 10 / 1024` packets/s³, decrease factors in 1/1024,
//! and the clock is the kernel's coarse tick. Where the kernel's 64-bit curve would wrap (347 s from the origin) this
//! one saturates.

mod cube_root;
mod hystart;
mod parameters;

pub use parameters::{Fault, HystartDetect, Parameters};

use cube_root::cube_root;
use dumbbell_cc_contract::parameters::Factor;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Event, Hooks, Needs, View};
use dumbbell_units::Rng;
use hystart::Hystart;
use std::borrow::Cow;
use std::sync::Arc;

/// `log2` of the curve's time resolution: 1/1024 s (`BICTCP_HZ`).
const CURVE_HZ_LOG2: u32 = 10;
/// `log2` of the scale of `C (t - K)^3`: three times the time's and that of `C`.
const CURVE_SCALE_LOG2: u32 = 10 + 3 * CURVE_HZ_LOG2;

/// The CUBIC controller.
#[derive(Clone, Debug)]
pub struct Cubic {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// Share of the window that remains after a loss of one of the emulated connections.
    beta: Factor,
    /// The factor where marks alone are the reason.
    beta_ecn: Factor,
    /// `C` in 1/1024 packets/s³.
    c: u64,
    /// Acknowledged packets per packet of Reno's estimated window, in 1/8: Reno's slope for this `beta`.
    reno_scale: u32,
    curve: Curve,
    hystart: Hystart,
    /// Smallest round-trip time in microseconds; 0 before the first.
    delay_min_us: u32,
    /// `update_interval` in ticks.
    update_ticks: i32,
    /// `rtt_blackout` in ticks.
    blackout_ticks: i32,
}

/// The cubic curve and Reno's estimate beside it.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// Acknowledged packets per increment of the window.
    count: u32,
    /// Window before the last reduction, lowered by fast convergence; 0 before the first reduction.
    last_max_cwnd: u32,
    /// Window at the last evaluation.
    last_cwnd: u32,
    /// Tick of the last evaluation.
    last_time: u32,
    /// Window at the curve's plateau.
    origin: u32,
    /// Time from the epoch's start to the plateau in 1/1024 s.
    k: u32,
    /// Tick at which the current epoch began; 0 when none runs.
    epoch_start: u32,
    /// Packets acknowledged since Reno's estimate last grew.
    ack_count: u32,
    /// The window Reno would have.
    reno_cwnd: u32,
}

/// The private state of a [`Cubic`] in the units of the kernel's `struct bictcp`, for comparing it with a kernel's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the kernel's fields")]
pub struct Snapshot {
    pub cnt: u32,
    pub last_max_cwnd: u32,
    pub last_cwnd: u32,
    pub last_time: u32,
    pub bic_origin_point: u32,
    pub bic_k: u32,
    pub delay_min: u32,
    pub epoch_start: u32,
    pub ack_cnt: u32,
    pub tcp_cwnd: u32,
    pub sample_cnt: u32,
    pub found: bool,
    pub round_start: u32,
    pub end_seq: u64,
    pub last_ack: u32,
    pub curr_rtt: u32,
}

impl Cubic {
    /// A controller with these constants, which must lie in their declared ranges and be
    /// [valid](crate::parameters::ParameterSet::validate). Flows with the same constants can share them.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Cubic {
        let parameters = parameters.into();
        let beta = parameters.beta.of_one_in(parameters.emulated_connections);
        let beta_ecn = parameters.beta_ecn.unwrap_or(parameters.beta).of_one_in(parameters.emulated_connections);
        let connections = parameters.emulated_connections.max(1);
        let (kept, one) = (beta.numerator(), Factor::ONE.numerator());
        Cubic {
            name: Cubic::EXACT_NAME.into(),
            beta,
            beta_ecn,
            c: u64::from(parameters.bic_scale) * 10,
            // Two divisions, as the kernel does it: 15 for the default beta where the exact value is 15.12.
            reno_scale: 8 * (one + kept) / 3 / (one - kept) / (connections * connections),
            parameters,
            curve: Curve::default(),
            hystart: Hystart::default(),
            delay_min_us: 0,
            update_ticks: 0,
            blackout_ticks: 0,
        }
    }

    /// The private state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            cnt: self.curve.count,
            last_max_cwnd: self.curve.last_max_cwnd,
            last_cwnd: self.curve.last_cwnd,
            last_time: self.curve.last_time,
            bic_origin_point: self.curve.origin,
            bic_k: self.curve.k,
            delay_min: self.delay_min_us,
            epoch_start: self.curve.epoch_start,
            ack_cnt: self.curve.ack_count,
            tcp_cwnd: self.curve.reno_cwnd,
            sample_cnt: self.hystart.sample_count,
            found: self.hystart.found,
            round_start: self.hystart.round_start_us,
            end_seq: self.hystart.end_seq,
            last_ack: self.hystart.last_ack_us,
            curr_rtt: self.hystart.round_rtt_us,
        }
    }

    fn reset(&mut self) {
        self.curve = Curve::default();
        self.hystart.found = false;
        self.delay_min_us = 0;
    }

    /// Ticks since `then`, which may lie ahead.
    #[inline]
    fn ticks_since(view: &View, then: u32) -> i32 {
        view.jiffies.wrapping_sub(then).cast_signed()
    }

    /// Congestion avoidance: one packet more for every `count` acknowledged.
    #[inline]
    fn grow(&mut self, view: &View, control: &mut Control, acked: u32) {
        self.curve.ack_count = self.curve.ack_count.saturating_add(acked);
        let is_recent = Self::ticks_since(view, self.curve.last_time) <= self.update_ticks;
        if is_recent && self.curve.last_cwnd == control.cwnd {
            control.additive_increase(view, self.curve.count, acked);
        } else {
            self.grow_anew(view, control, acked);
        }
    }

    #[inline(never)]
    fn grow_anew(&mut self, view: &View, control: &mut Control, acked: u32) {
        self.update_count(view, control, acked);
        control.additive_increase(view, self.curve.count, acked);
    }

    /// Finds how many packets must be acknowledged for the window to grow by one.
    fn update_count(&mut self, view: &View, control: &Control, acked: u32) {
        let cwnd = control.cwnd;
        let now = view.jiffies;
        // The curve moves with the coarse clock; Reno's estimate with every ACK.
        if self.curve.epoch_start == 0 || now != self.curve.last_time {
            self.curve.last_cwnd = cwnd;
            self.curve.last_time = now;
            if self.curve.epoch_start == 0 {
                self.start_epoch(view, control, acked);
            }
            self.curve.count = self.follow_curve(view, control);
        }
        if self.parameters.tcp_friendliness {
            self.follow_reno(cwnd);
        }
        self.curve.count = self.curve.count.max(self.parameters.min_acks_per_increment);
    }

    fn start_epoch(&mut self, view: &View, control: &Control, acked: u32) {
        let cwnd = control.cwnd;
        let curve = &mut self.curve;
        curve.epoch_start = view.jiffies;
        curve.ack_count = acked;
        curve.reno_cwnd = cwnd;
        if curve.last_max_cwnd <= cwnd {
            curve.k = 0;
            curve.origin = cwnd;
        } else {
            let cubes_per_packet = (1 << CURVE_SCALE_LOG2) / self.c;
            curve.k = cube_root(cubes_per_packet.saturating_mul(u64::from(curve.last_max_cwnd - cwnd)));
            curve.origin = curve.last_max_cwnd;
        }
    }

    /// Acknowledgements per increment that lead to the curve's window one round-trip time from now.
    fn follow_curve(&self, view: &View, control: &Control) -> u32 {
        let cwnd = control.cwnd;
        let curve = &self.curve;
        let look_ahead = (u64::from(self.delay_min_us) * u64::from(view.hz)).div_ceil(1_000_000);
        let elapsed = u64::from(view.jiffies.wrapping_sub(curve.epoch_start)) + look_ahead;
        let t = (elapsed << CURVE_HZ_LOG2) / u64::from(view.hz);
        let k = u64::from(curve.k);
        let offset = t.abs_diff(k);
        let cubed = self.c.saturating_mul(offset).saturating_mul(offset).saturating_mul(offset);
        let delta = u32::try_from(cubed >> CURVE_SCALE_LOG2).unwrap_or(u32::MAX);
        let target = if t < k { curve.origin.saturating_sub(delta) } else { curve.origin.saturating_add(delta) };
        let count =
            if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(self.parameters.plateau_windows) };
        if curve.last_max_cwnd == 0 { count.min(self.parameters.first_epoch_max_acks) } else { count }
    }

    /// Advances Reno's estimate and lowers the count where Reno would be faster.
    fn follow_reno(&mut self, cwnd: u32) {
        let curve = &mut self.curve;
        let acks_per_packet = ((u64::from(cwnd) * u64::from(self.reno_scale)) >> 3).max(1);
        if u64::from(curve.ack_count) > acks_per_packet {
            #[expect(clippy::cast_possible_truncation, reason = "it is less than `ack_count`")]
            let acks_per_packet = acks_per_packet as u32;
            let packets = (curve.ack_count - 1) / acks_per_packet;
            curve.ack_count -= packets * acks_per_packet;
            curve.reno_cwnd = curve.reno_cwnd.saturating_add(packets);
        }
        if curve.reno_cwnd > cwnd {
            curve.count = curve.count.min(cwnd / (curve.reno_cwnd - cwnd));
        }
    }
}

/// A round-trip time in 32 bits, at least 1 µs.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn clamp_rtt(rtt_us: i64) -> u32 {
    rtt_us.clamp(1, i64::from(u32::MAX)) as u32
}

impl Algorithm for Cubic {
    type Parameters = Parameters;
    const NAME: &str = "cubic";
    const EXACT_NAME: &str = "cubic-linux-6.18";
    const SUMMARY: &str =
        "CUBIC: the window follows a cubic function of the time since the last loss; HyStart ends slow start";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_cubic.c; RFC 9438";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Cubic {
        Cubic { name: exact_name, ..Cubic::new(parameters) }
    }
}

impl Controller for Cubic {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.reset();
        self.update_ticks = i32::try_from(view.whole_ticks(self.parameters.update_interval)).unwrap_or(i32::MAX);
        self.blackout_ticks = i32::try_from(view.ticks(self.parameters.rtt_blackout)).unwrap_or(i32::MAX);
        if self.parameters.hystart {
            self.hystart.start_round(view);
        } else if let Some(ssthresh) = self.parameters.initial_ssthresh {
            control.ssthresh = ssthresh;
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn needs(&self) -> Needs {
        Needs { marks: self.parameters.beta_ecn.is_some(), ..Needs::NONE }
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        let beta = if view.marked { self.beta_ecn } else { self.beta };
        self.curve.epoch_start = 0;
        // Losing before the old maximum was regained means that somebody else needs room: release some.
        let converge = control.cwnd < self.curve.last_max_cwnd && self.parameters.fast_convergence;
        self.curve.last_max_cwnd = if converge {
            let one_and_beta = u64::from(Factor::ONE.numerator() + beta.numerator());
            #[expect(clippy::cast_possible_truncation, reason = "the mean of the window and a share of it")]
            let lowered = (u64::from(control.cwnd) * one_and_beta / u64::from(2 * Factor::ONE.numerator())) as u32;
            lowered
        } else {
            control.cwnd
        };
        beta.share_of(control.cwnd).max(self.parameters.min_ssthresh)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) && self.parameters.fault != Some(Fault::UnusedWindow) {
            return;
        }
        let mut acked = acked;
        if control.in_slow_start() {
            if self.parameters.fault == Some(Fault::UnusedRounds) {
                self.hystart.end_round(view);
            }
            acked = control.slow_start(view, acked);
            if acked == 0 {
                return;
            }
        }
        self.grow(view, control, acked);
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        if rtt_us < 0 {
            return;
        }
        // Right after a loss the queue is still full: its round-trip times say nothing about the path.
        let epoch_start = self.curve.epoch_start;
        if epoch_start != 0 && Self::ticks_since(view, epoch_start) < self.blackout_ticks {
            return;
        }
        if rtt_us < i64::from(self.delay_min_us) || self.delay_min_us == 0 {
            self.delay_min_us = clamp_rtt(rtt_us);
        }
        if control.in_slow_start() && !self.hystart.found && self.parameters.hystart {
            self.hystart.update(&self.parameters, view, control, clamp_rtt(rtt_us), self.delay_min_us);
        }
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, next: CaState) {
        if next == CaState::Loss {
            self.reset();
            self.hystart.start_round(view);
        }
    }

    fn event(&mut self, view: &View, _control: &mut Control, event: Event) {
        if event != Event::TxStart || self.curve.epoch_start == 0 || self.parameters.fault == Some(Fault::IdleEpoch) {
            return;
        }
        // The curve stands still while the application is silent.
        #[expect(clippy::cast_possible_truncation, reason = "the kernel's tick counter of 32 bits, which wraps")]
        let tick = |nanos: u64| (u128::from(nanos) * u128::from(view.hz) / 1_000_000_000) as u32;
        let idle = tick(view.now.as_nanos()).wrapping_sub(tick(view.last_sent.as_nanos())).cast_signed();
        if idle > 0 {
            let shifted = self.curve.epoch_start.wrapping_add(idle.cast_unsigned());
            let ahead = view.jiffies.wrapping_sub(shifted).cast_signed() <= 0;
            self.curve.epoch_start = if ahead { view.jiffies } else { shifted };
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["w_max_packets", "k_s", "reno_cwnd_packets", "min_rtt_ms", "hystart_found"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let current = [
            f64::from(self.curve.last_max_cwnd),
            f64::from(self.curve.k) / f64::from(1 << CURVE_HZ_LOG2),
            f64::from(self.curve.reno_cwnd),
            f64::from(self.delay_min_us) / 1e3,
            f64::from(u8::from(self.hystart.found)),
        ];
        for (value, current) in values.iter_mut().zip(current) {
            *value = current;
        }
    }
}

#[cfg(test)]
mod tests;
