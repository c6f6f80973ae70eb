//! Illinois (Liu, Başar and Srikant, 2006; Linux's `tcp_illinois.c`): losses decide when to reduce, delay decides how
//! much.
//!
//! At an empty queue the window grows by 10 packets a round and loses an eighth, at a full one it grows by 0.3 and
//! loses half: its curve over time is concave. For long fast paths with random losses.

use super::arithmetic::{sample_us, scaled};
use dumbbell_cc_contract::parameters::{Fixed, ParameterSet};
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Packets a round in 1/128 (`ALPHA_SHIFT`).
type Alpha = Fixed<128>;
/// Shares of the window in 1/64 (`BETA_SHIFT`).
type Beta = Fixed<64>;

/// Round-trip times above 3.3 s count as that (`RTT_MAX`).
const RTT_MAX_US: u32 = u32::MAX / 1280;

/// Constants of [`Illinois`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Growth in packets a round when the queue is full.
    #[schemars(extend("exclusiveMinimum" = 0, "x-at-most" = "alpha_max", "x-source" = "ALPHA_MIN: 38/128"))]
    pub alpha_min: Alpha,
    /// Growth in packets a round when the queue is empty.
    #[schemars(extend("x-source" = "ALPHA_MAX: 10"))]
    pub alpha_max: Alpha,
    /// Share of the window that a loss takes when the queue is empty.
    #[schemars(range(max = 1), extend("x-at-most" = "beta_max", "x-source" = "BETA_MIN: 1/8"))]
    pub beta_min: Beta,
    /// Share of the window that a loss takes when the queue is full.
    #[schemars(range(max = 1), extend("x-source" = "BETA_MAX: 1/2"))]
    pub beta_max: Beta,
    /// Windows of fewer packets grow and shrink as Reno's.
    #[schemars(extend("x-source" = "tcp_illinois.c: win_thresh"))]
    pub win_thresh: u32,
    /// Rounds with an empty queue after which the growth returns to its largest value.
    #[schemars(extend("x-source" = "tcp_illinois.c: theta"))]
    pub theta: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            alpha_min: Fixed::new(38),
            alpha_max: Fixed::new(1280),
            beta_min: Fixed::new(8),
            beta_max: Fixed::new(32),
            win_thresh: 15,
            theta: 5,
        }
    }
}

impl ParameterSet for Parameters {}

/// The Illinois controller.
#[derive(Clone, Debug)]
pub struct Illinois {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    alpha: u32,
    beta: u32,
    /// Smallest and largest round-trip time ever, in microseconds.
    base_us: u32,
    max_us: u32,
    /// Sum and number of the round's.
    sum_us: u64,
    count: u32,
    /// The round ends when more than this is acknowledged (`end_seq`).
    round_end: u64,
    /// Packets that the latest ACK removed (`acked`).
    acked: u32,
    /// The delay has exceeded the first threshold (`rtt_above`).
    was_above: bool,
    /// Rounds below it since (`rtt_low`).
    low_rounds: u32,
}

/// One packet a round and half the window: Reno.
const ALPHA_BASE: u32 = 128;
const BETA_BASE: u32 = 32;

impl Illinois {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Illinois {
        let parameters = parameters.into();
        Illinois {
            name: Illinois::EXACT_NAME.into(),
            alpha: parameters.alpha_max.numerator(),
            beta: BETA_BASE,
            parameters,
            base_us: 0x7fff_ffff,
            max_us: 0,
            sum_us: 0,
            count: 0,
            round_end: 0,
            acked: 0,
            was_above: false,
            low_rounds: 0,
        }
    }

    fn begin_round(&mut self, view: &View) {
        self.round_end = view.snd_nxt;
        self.sum_us = 0;
        self.count = 0;
    }

    /// Growth and reduction for the next round (`update_params`).
    fn judge(&mut self, view: &View, cwnd: u32) {
        if cwnd < self.parameters.win_thresh {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
        } else if self.count > 0 {
            let mean_us = u32::try_from(self.sum_us / u64::from(self.count)).unwrap_or(u32::MAX);
            let (delay, largest) = (mean_us.saturating_sub(self.base_us), self.max_us.saturating_sub(self.base_us));
            self.alpha = self.alpha_at(delay, largest);
            self.beta = self.beta_at(delay, largest);
        }
        self.begin_round(view);
    }

    fn alpha_at(&mut self, delay: u32, largest: u32) -> u32 {
        let [min, max] = [self.parameters.alpha_min, self.parameters.alpha_max].map(Fixed::numerator);
        let first = largest / 100;
        if delay <= first {
            if !self.was_above {
                return max;
            }
            self.low_rounds += 1;
            if self.low_rounds < self.parameters.theta {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.was_above = false;
            return max;
        }
        self.was_above = true;
        let (largest, delay) = (largest - first, delay - first);
        scaled(largest, max, largest.saturating_add(scaled(delay, max - min, min)))
    }

    fn beta_at(&self, delay: u32, largest: u32) -> u32 {
        let [min, max] = [self.parameters.beta_min, self.parameters.beta_max].map(|beta| u64::from(beta.numerator()));
        let (delay, largest) = (u64::from(delay), u64::from(largest));
        let (low, high) = (largest / 10, 8 * largest / 10);
        let beta = if delay <= low {
            min
        } else if delay >= high || high <= low {
            max
        } else {
            min + (max - min) * (delay - low) / (high - low)
        };
        u32::try_from(beta).unwrap_or(BETA_BASE)
    }
}

impl Algorithm for Illinois {
    type Parameters = Parameters;
    const NAME: &str = "illinois";
    const EXACT_NAME: &str = "illinois-linux-6.18";
    const SUMMARY: &str =
        "Illinois: delay decides how much a round adds and a loss takes; for long fast paths with random losses";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_illinois.c; Liu, Başar and Srikant, VALUETOOLS 2006";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Illinois {
        Illinois { name: exact_name, ..Illinois::new(parameters) }
    }
}

impl Controller for Illinois {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, _control: &mut Control) {
        self.begin_round(view);
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        (control.cwnd - scaled(control.cwnd, self.beta, 64)).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if view.snd_una > self.round_end {
            self.judge(view, control.cwnd);
        }
        if !view.is_cwnd_limited(control) {
            return;
        }
        if control.in_slow_start() {
            control.slow_start(view, acked);
            return;
        }
        control.cwnd_cnt += std::mem::replace(&mut self.acked, 1);
        let credit = scaled(control.cwnd_cnt, self.alpha, ALPHA_BASE);
        if credit >= control.cwnd {
            control.cwnd = (control.cwnd + credit / control.cwnd.max(1)).min(view.cwnd_clamp);
            control.cwnd_cnt = 0;
        }
    }

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, acked: u32, rtt_us: i64, _in_flight: u32) {
        self.acked = acked;
        let Some(rtt_us) = sample_us(rtt_us) else { return };
        let rtt_us = rtt_us.min(RTT_MAX_US);
        self.base_us = self.base_us.min(rtt_us);
        self.max_us = self.max_us.max(rtt_us);
        self.sum_us += u64::from(rtt_us);
        self.count += 1;
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, next: CaState) {
        if next == CaState::Loss {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
            self.low_rounds = 0;
            self.was_above = false;
            self.begin_round(view);
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["alpha_packets", "beta"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values.copy_from_slice(&[f64::from(self.alpha) / 128.0, f64::from(self.beta) / 64.0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    /// With a window of 100 packets on a path where delays of up to 100 ms have been seen.
    fn begun() -> (Illinois, Side) {
        let mut illinois = Illinois::new(Parameters::default());
        let mut c = Side::limited(100, 10);
        illinois.init(&c.view, &mut c.control);
        for rtt_us in [50_000, 150_000] {
            illinois.pkts_acked(&c.view, &mut c.control, 1, rtt_us, 1);
        }
        (illinois, c)
    }

    /// Growth in one round and threshold after rounds with this delay.
    fn at_delay(delay_us: i64) -> (u32, u32) {
        let (mut illinois, mut c) = begun();
        let mut before = 0;
        for _ in 0..10 {
            (c.control.cwnd, c.control.cwnd_cnt, before) = (100, 0, 100);
            round(&mut illinois, &mut c, 50_000 + delay_us);
        }
        let growth = c.control.cwnd - before;
        c.control.cwnd = 100;
        (growth, illinois.ssthresh(&c.view, &c.control))
    }

    #[test]
    fn a_window_below_the_threshold_has_the_constants_of_reno() {
        for (cwnd, has_base) in [(14, true), (15, false)] {
            let (mut illinois, c) = begun();
            (illinois.alpha, illinois.beta) = (0, 0);
            illinois.judge(&c.view, cwnd);
            assert_eq!((illinois.alpha, illinois.beta) == (ALPHA_BASE, BETA_BASE), has_base, "{cwnd} packets");
        }
    }

    #[test]
    fn an_empty_queue_adds_ten_packets_a_round_and_a_loss_takes_an_eighth() {
        let (growth, ssthresh) = at_delay(0);
        assert!((9..=10).contains(&growth), "{growth}");
        assert_eq!(ssthresh, 88);
    }

    #[test]
    fn a_full_queue_adds_a_third_of_a_packet_and_a_loss_takes_half() {
        let (growth, ssthresh) = at_delay(100_000);
        assert_eq!((growth, ssthresh), (0, 50));
        let (mut illinois, _) = begun();
        assert_eq!(illinois.alpha_at(100_000, 100_000), 38);
    }

    #[test]
    fn the_growth_falls_with_the_delay_and_the_reduction_rises() {
        let (mut illinois, _) = begun();
        let delays = [5_000, 20_000, 50_000, 90_000];
        let alphas = delays.map(|delay| illinois.alpha_at(delay, 100_000));
        assert!(alphas.is_sorted_by(|a, b| a > b), "{alphas:?}");
        // dm' α_max / (dm' + da' (α_max − α_min)/α_min) with d1 = 1 ms.
        assert!(illinois.alpha_at(50_000, 100_000).abs_diff(73) <= 1, "{}", alphas[2]);
        assert_eq!([10_000, 45_000, 80_000].map(|delay| illinois.beta_at(delay, 100_000)), [8, 20, 32]);
    }

    #[test]
    fn after_a_full_queue_five_rounds_without_delay_bring_the_full_growth_back() {
        let (mut illinois, _) = begun();
        illinois.alpha = illinois.alpha_at(50_000, 100_000);
        for _ in 0..4 {
            assert_eq!(illinois.alpha_at(0, 100_000), illinois.alpha);
        }
        assert_eq!(illinois.alpha_at(0, 100_000), 1280);
    }

    #[test]
    fn small_windows_and_timeouts_make_it_reno() {
        let (mut illinois, mut c) = begun();
        c.control.cwnd = 14;
        round(&mut illinois, &mut c, 50_000);
        assert_eq!((illinois.alpha, illinois.beta), (ALPHA_BASE, BETA_BASE));
        let (mut illinois, mut c) = begun();
        illinois.beta = 8;
        illinois.set_state(&c.view, &mut c.control, CaState::Loss);
        assert_eq!((illinois.alpha, illinois.beta), (ALPHA_BASE, BETA_BASE));
    }
}
