//! NV, "New Vegas" (Brakmo, 2010 to 2015; Linux's `tcp_nv.c`): Vegas for data centres with few queues and coarse
//! timing.
//!
//! The rate is what was in flight over the averaged round-trip time, and its largest value of a round times the
//! smallest round-trip time is the window that fills the path. With more than `pad` packets above it the window
//! shrinks, with fewer it grows as Reno's; both decisions need many samples, because single ones mislead. The smallest
//! round-trip time is forgotten every five seconds. For data centres whose switches do not mark.

use super::arithmetic::{sample_us, scaled};
use dumbbell_cc_contract::parameters::{Factor, Fixed, ParameterSet};
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Hooks, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Smallest window that is reduced, and by how much it grows where offloads make ACKs rare (`NV_MIN_CWND`,
/// `NV_MIN_CWND_GROW`, `NV_TSO_CWND_BOUND`).
const MIN_CWND: u32 = 4;
const MIN_CWND_GROWTH: u32 = 2;
const MIN_CWND_BOUND: u32 = 81;
/// Gaps above the window that fills the path by at most this are closed at once.
const SMALL_GAP: u32 = 2;
/// Slowest growth: one packet in 2^8 windows.
const SLOWEST: i32 = -8;

/// Constants of [`Nv`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Packets that the window may exceed what fills the path.
    #[schemars(range(max = 1_000_000), extend("x-source" = "tcp_nv.c: nv_pad"))]
    pub pad: u32,
    /// The window grows if it is below that by at least this many packets.
    #[schemars(range(max = 1_000_000), extend("x-at-most" = "pad", "x-source" = "tcp_nv.c: nv_pad_buffer"))]
    pub pad_buffer: u32,
    /// How long the smallest round-trip time holds, give or take a quarter.
    #[schemars(extend("x-source" = "tcp_nv.c: nv_reset_period, 5 s"))]
    pub reset_period: Duration,
    /// Share of the excess by which the window shrinks.
    #[schemars(range(max = 1), extend("x-source" = "tcp_nv.c: nv_cong_dec_mult = 30 %"))]
    pub congestion_decrease: Fixed<128>,
    /// Threshold after a decrease as a share of the largest window.
    #[schemars(range(max = 8), extend("x-source" = "tcp_nv.c: nv_ssthresh_factor = 8/8"))]
    pub ssthresh_factor: Fixed<8>,
    /// Weight of a new sample in the averaged round-trip time.
    #[schemars(range(max = 1), extend("x-source" = "tcp_nv.c: nv_rtt_factor = 128/256"))]
    pub rtt_factor: Fixed<256>,
    /// Share of the window that remains after a loss.
    #[schemars(range(max = 1), extend("x-source" = "tcp_nv.c: nv_loss_dec_factor = 819/1024"))]
    pub loss_beta: Factor,
    /// Samples that a decision to shrink needs.
    #[schemars(extend("x-source" = "tcp_nv.c: nv_dec_eval_min_calls"))]
    pub decrease_min_samples: u32,
    /// Samples that a decision to grow needs.
    #[schemars(extend("x-source" = "tcp_nv.c: nv_inc_eval_min_calls"))]
    pub increase_min_samples: u32,
    /// Samples that the end of the first slow start needs.
    #[schemars(extend("x-source" = "tcp_nv.c: nv_ssthresh_eval_min_calls"))]
    pub ssthresh_min_samples: u32,
    /// Rounds with an excess and too few samples after which the window stops growing.
    #[schemars(extend("x-source" = "tcp_nv.c: nv_stop_rtt_cnt"))]
    pub stop_rounds: u32,
    /// Rounds that a decision to shrink needs.
    #[schemars(extend("x-source" = "tcp_nv.c: nv_rtt_min_cnt"))]
    pub min_rounds: u32,
    /// Decisions to grow that undo the slowdown of one timeout; 0 is no slowdown.
    #[schemars(extend("x-source" = "tcp_nv.c: nv_cwnd_growth_rate_neg"))]
    pub growth_recovery: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            pad: 10,
            pad_buffer: 2,
            reset_period: Duration::from_secs(5),
            congestion_decrease: Fixed::new(30 * 128 / 100),
            ssthresh_factor: Fixed::new(8),
            rtt_factor: Fixed::new(128),
            loss_beta: Factor::new(819),
            decrease_min_samples: 60,
            increase_min_samples: 20,
            ssthresh_min_samples: 30,
            stop_rounds: 10,
            min_rounds: 2,
            growth_recovery: 8,
        }
    }
}

impl ParameterSet for Parameters {}

/// The NV controller.
#[derive(Clone, Debug)]
pub struct Nv {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    rng: Rng,
    /// Tick at which the smallest round-trip time is forgotten.
    reset_at: u32,
    /// Growth: one packet in `2^-this` windows (`cwnd_growth_factor`).
    growth: i32,
    may_grow: bool,
    /// The next return to Open begins anew.
    resets: bool,
    /// Samples and rounds since the last decision (`nv_eval_call_cnt`, `nv_rtt_cnt`).
    samples: u32,
    rounds: u32,
    min_cwnd: u32,
    /// Averaged round-trip time, its minimum, and that since the last reset, in microseconds.
    rtt_us: u32,
    min_rtt_us: u32,
    new_min_rtt_us: u32,
    /// Largest rate since the last decision, in packets a second.
    max_rate: u64,
    /// The round ends when more than this is acknowledged (`nv_rtt_start_seq`).
    round_end: u64,
    una: u64,
    /// Decisions to grow in a row (`nv_no_cong_cnt`).
    calm: u32,
}

impl Nv {
    /// A controller with these constants; `rng` spreads the resets of the smallest round-trip time.
    pub fn new(parameters: impl Into<Arc<Parameters>>, rng: Rng) -> Nv {
        Nv {
            name: Nv::EXACT_NAME.into(),
            parameters: parameters.into(),
            rng,
            reset_at: 0,
            growth: 0,
            may_grow: true,
            resets: false,
            samples: 0,
            rounds: 0,
            min_cwnd: MIN_CWND,
            rtt_us: 0,
            min_rtt_us: u32::MAX,
            new_min_rtt_us: u32::MAX,
            max_rate: 0,
            round_end: 0,
            una: 0,
            calm: 0,
        }
    }

    fn restart(&mut self, view: &View) {
        self.resets = false;
        self.calm = 0;
        self.rounds = 0;
        self.rtt_us = 0;
        self.max_rate = 0;
        self.round_end = view.snd_una;
        self.samples = 0;
        self.una = view.snd_una;
    }

    /// Averages a round-trip time and keeps the minima (the first half of `tcpnv_acked`).
    fn sample(&mut self, view: &View, rtt_us: u32, in_flight: u32) {
        let weight = self.parameters.rtt_factor;
        if self.rtt_us == 0 {
            self.min_rtt_us = rtt_us.saturating_mul(2);
            self.rtt_us = rtt_us;
        } else {
            let one = Fixed::<256>::ONE.numerator();
            let sum = weight.of(u64::from(rtt_us)) + Fixed::<256>::new(one - weight.numerator()).of(self.rtt_us.into());
            self.rtt_us = u32::try_from(sum).unwrap_or(u32::MAX);
        }
        let rate = u64::from(in_flight) * 1_000_000_000 / u64::from(self.rtt_us.max(1));
        self.max_rate = self.max_rate.max(rate);
        self.samples = (self.samples + 1).min(255);
        self.min_rtt_us = self.min_rtt_us.min(self.rtt_us);
        self.new_min_rtt_us = self.new_min_rtt_us.min(self.rtt_us);
        if view.jiffies.wrapping_sub(self.reset_at).cast_signed() >= 0 {
            self.min_rtt_us = self.new_min_rtt_us;
            self.new_min_rtt_us = u32::MAX;
            // Between three quarters of the period and five quarters.
            let ticks = u64::from(view.ticks(self.parameters.reset_period));
            let spread = ticks * u64::from(384 + self.rng.below(256)) / 512;
            self.reset_at = view.jiffies.wrapping_add(u32::try_from(spread).unwrap_or(u32::MAX / 2));
            self.min_cwnd = (self.min_cwnd / 2).max(MIN_CWND);
        }
    }

    /// The window that fills the path at the largest rate and the smallest round-trip time.
    fn filling_window(&self) -> u32 {
        let packets = self.max_rate.saturating_mul(u64::from(self.min_rtt_us)) / 1_000_000_000;
        u32::try_from(packets).unwrap_or(u32::MAX / 2)
    }

    /// The decision at the end of a round (the second half of `tcpnv_acked`).
    fn judge(&mut self, control: &mut Control) {
        let Parameters { pad, pad_buffer, .. } = *self.parameters;
        let largest = self.filling_window().saturating_add(pad);
        if control.cwnd > largest {
            if !self.is_sure_of_congestion(control) {
                return;
            }
            self.may_grow = false;
            control.ssthresh = scaled(largest, self.parameters.ssthresh_factor.numerator(), 8);
            let excess = control.cwnd - largest;
            if excess > SMALL_GAP {
                control.cwnd -= self.parameters.congestion_decrease.share_of(excess).max(2);
            } else if self.parameters.congestion_decrease.numerator() > 0 {
                control.cwnd = largest;
            }
            self.growth = self.growth.min(0);
            self.calm = 0;
        } else if control.cwnd <= largest - pad_buffer {
            if self.samples < self.parameters.increase_min_samples {
                return;
            }
            self.may_grow = true;
            self.calm += 1;
            let needed = self.parameters.growth_recovery;
            if self.growth < 0 && needed > 0 && self.calm > needed {
                self.growth += 1;
                self.calm = 0;
            }
        } else {
            return;
        }
        self.samples = 0;
        self.rounds = 0;
        self.max_rate = 0;
        control.cwnd = control.cwnd.max(self.min_cwnd);
    }

    fn is_sure_of_congestion(&mut self, control: &Control) -> bool {
        if self.rounds < self.parameters.min_rounds {
            return false;
        }
        if control.ssthresh == Control::INFINITE_SSTHRESH {
            return self.samples >= self.parameters.ssthresh_min_samples;
        }
        let is_sure = self.samples >= self.parameters.decrease_min_samples;
        if !is_sure && self.rounds > self.parameters.stop_rounds {
            self.may_grow = false;
        }
        is_sure
    }
}

impl Algorithm for Nv {
    type Parameters = Parameters;
    const NAME: &str = "nv";
    const EXACT_NAME: &str = "nv-linux-6.18";
    const SUMMARY: &str =
        "NV: New Vegas, at most ten packets above what fills the path; for data centres whose switches do not mark";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_nv.c; Brakmo, \"TCP-NV\", Linux Plumbers 2010";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, rng: Rng, exact_name: Arc<str>) -> Nv {
        Nv { name: exact_name, ..Nv::new(parameters, rng) }
    }
}

impl Controller for Nv {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, _control: &mut Control) {
        self.restart(view);
        self.reset_at = view.jiffies.wrapping_add(2 * view.hz);
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.parameters.loss_beta.share_of(control.cwnd).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !self.may_grow || !view.is_cwnd_limited(control) {
            return;
        }
        let acked = control.slow_start_if_below(view, acked);
        if acked > 0 {
            let per_increment = match self.growth {
                ..0 => control.cwnd.saturating_mul(1 << self.growth.unsigned_abs().min(8)),
                _ => control.cwnd.max(4),
            };
            control.additive_increase(view, per_increment, acked);
        }
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, _acked: u32, rtt_us: i64, in_flight: u32) {
        let Some(rtt_us) = sample_us(rtt_us) else { return };
        if !matches!(view.ca_state, CaState::Open | CaState::Disorder) {
            return;
        }
        let advance = view.snd_una - std::mem::replace(&mut self.una, view.snd_una);
        if in_flight == 0 {
            return;
        }
        self.sample(view, rtt_us, in_flight);
        if view.snd_una <= self.round_end {
            return;
        }
        self.round_end = view.snd_nxt;
        self.rounds = (self.rounds + 1).min(255);
        let is_rarely_told = self.samples == 1 && advance >= u64::from(self.min_cwnd - 1);
        if is_rarely_told && self.min_cwnd < MIN_CWND_BOUND {
            self.min_cwnd = (self.min_cwnd + MIN_CWND_GROWTH).min(MIN_CWND_BOUND);
            self.round_end = view.snd_nxt + u64::from(self.min_cwnd);
            self.samples = 0;
            self.may_grow = true;
            return;
        }
        self.judge(control);
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, next: CaState) {
        match next {
            CaState::Open if self.resets => self.restart(view),
            CaState::Open | CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.resets = true;
                self.may_grow = false;
                if next == CaState::Loss {
                    self.growth = self.growth.min(0);
                    if self.parameters.growth_recovery > 0 && self.growth > SLOWEST {
                        self.growth -= 1;
                    }
                }
            }
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["filling_packets", "min_rtt_ms", "may_grow"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let known = self.min_rtt_us < u32::MAX;
        let (window, min_rtt) = (f64::from(self.filling_window()), f64::from(self.min_rtt_us) * 1e-3);
        let or_nothing = |value| if known { value } else { f64::NAN };
        values.copy_from_slice(&[or_nothing(window), or_nothing(min_rtt), f64::from(u8::from(self.may_grow))]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    /// In congestion avoidance with a window of 100 packets after a round of 50 ms.
    fn settled() -> (Nv, Side) {
        let mut nv = Nv::new(Parameters::default(), Rng::new(1));
        let mut c = Side::limited(100, 10);
        nv.init(&c.view, &mut c.control);
        round(&mut nv, &mut c, 50_000);
        c.control.cwnd = 100;
        (nv, c)
    }

    #[test]
    fn a_window_that_exceeds_what_fills_the_path_by_more_than_ten_packets_loses_a_third_of_the_excess() {
        let (mut nv, mut c) = settled();
        for _ in 0..7 {
            c.control.cwnd = 140;
            round(&mut nv, &mut c, 70_000);
        }
        assert!(!nv.may_grow);
        // 140 packets in 70 ms are 100 in 50 ms: 30 too many, of which 38/128 go.
        assert!((131..=133).contains(&c.control.cwnd), "{}", c.control.cwnd);
        assert!((109..=111).contains(&c.control.ssthresh), "{}", c.control.ssthresh);
    }

    #[test]
    fn a_window_within_eight_packets_of_it_grows_as_renos() {
        let (mut nv, mut c) = settled();
        let before = c.control.cwnd;
        for _ in 0..4 {
            round(&mut nv, &mut c, 50_000);
        }
        assert!((3..=4).contains(&(c.control.cwnd - before)), "{}", c.control.cwnd);
    }

    #[test]
    fn a_timeout_halves_the_growth_and_a_loss_keeps_four_fifths() {
        let (mut nv, mut c) = settled();
        assert_eq!(nv.ssthresh(&c.view, &c.control), 79);
        nv.set_state(&c.view, &mut c.control, CaState::Loss);
        nv.set_state(&c.view, &mut c.control, CaState::Open);
        assert_eq!(nv.growth, -1);
        nv.may_grow = true;
        let before = c.control.cwnd;
        for _ in 0..4 {
            round(&mut nv, &mut c, 50_000);
        }
        assert!((1..=2).contains(&(c.control.cwnd - before)), "{}", c.control.cwnd);
    }

    /// A round that a single ACK tells of.
    fn told_once(nv: &mut Nv, c: &mut Side, packets: u64) {
        c.pass(Duration::from_millis(50));
        c.view.snd_una = c.view.snd_nxt;
        c.view.snd_nxt += packets;
        nv.pkts_acked(&c.view, &mut c.control, 1, 50_000, 10);
    }

    #[test]
    fn the_smallest_window_grows_where_acks_are_rare_up_to_its_bound() {
        let (mut nv, mut c) = settled();
        nv.min_cwnd = MIN_CWND_BOUND - 1;
        nv.samples = 0;
        nv.una = c.view.snd_una;
        nv.round_end = c.view.snd_una;
        c.view.snd_nxt = c.view.snd_una + u64::from(nv.min_cwnd) - 1;
        told_once(&mut nv, &mut c, 100);
        assert_eq!(nv.min_cwnd, MIN_CWND_BOUND);
        assert_eq!(nv.round_end, c.view.snd_nxt + u64::from(MIN_CWND_BOUND));
        assert_eq!((nv.samples, nv.may_grow), (0, true));
        // At the bound a round is judged as any other.
        nv.may_grow = false;
        c.view.snd_nxt = nv.round_end + 1;
        told_once(&mut nv, &mut c, 100);
        assert_eq!((nv.min_cwnd, nv.round_end), (MIN_CWND_BOUND, c.view.snd_nxt));
    }

    #[test]
    fn a_decrease_of_nothing_leaves_the_window_where_it_is() {
        for (decrease, window) in [(38, 60), (0, 62)] {
            let parameters = Parameters { congestion_decrease: Fixed::new(decrease), ..Parameters::default() };
            let mut nv = Nv::new(parameters, Rng::new(1));
            // 50 packets fill the path, and ten more are allowed: two too many.
            (nv.max_rate, nv.min_rtt_us) = (1_000_000_000, 50);
            (nv.rounds, nv.samples) = (255, 255);
            let mut control = Control { cwnd: 62, ssthresh: 1_000, ..Control::default() };
            nv.judge(&mut control);
            assert_eq!(control.cwnd, window);
            assert!(!nv.may_grow);
        }
    }
}
