//! H-TCP (Leith and Shorten, 2004; Linux's `tcp_htcp.c`): the longer ago the last loss, the faster the growth.
//!
//! For a second after a loss the window grows as Reno's, then by a quadratic function of the time since; long round
//! trips grow faster and short ones slower, so that the speed in time is equal. What remains after a loss follows from
//! how full the queue was: the smallest round-trip time over the largest, unless the throughput has changed by more
//! than a fifth. For long fast paths. Times are in ticks of the kernel's coarse clock, round-trip times rounded up.

use super::arithmetic::{filtered, sample_ticks, scaled};
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Hooks, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// `alpha` and `beta` are in 1/128.
const ONE: u32 = 1 << 7;
/// Smallest `beta`: half.
const BETA_MIN: u32 = 1 << 6;
/// Largest `beta`: 0.8.
const BETA_MAX: u32 = 102;
/// Smallest and largest ratio of the reference round-trip time to the path's, in eighths: 0.5 and 10.
const RTT_RATIO_EIGHTHS: std::ops::RangeInclusive<u32> = 4..=80;

/// Constants of [`Htcp`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Growth counts in time instead of round trips: it is scaled by the round-trip time over 100 ms.
    #[schemars(extend("x-source" = "tcp_htcp.c: use_rtt_scaling"))]
    pub use_rtt_scaling: bool,
    /// A throughput that changed by more than a fifth since the last loss halves the window whatever the queue was.
    #[schemars(extend("x-source" = "tcp_htcp.c: use_bandwidth_switch"))]
    pub use_bandwidth_switch: bool,
    /// A sample raises the largest round-trip time if it is not longer than that by more than this.
    #[schemars(extend("x-source" = "measure_rtt: 20 ms"))]
    pub max_rtt_step: Duration,
    /// On paths of at most this round-trip time a loss halves.
    #[schemars(extend("x-source" = "htcp_beta_update: 10 ms"))]
    pub min_rtt_for_beta: Duration,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            use_rtt_scaling: true,
            use_bandwidth_switch: true,
            max_rtt_step: Duration::from_millis(20),
            min_rtt_for_beta: Duration::from_millis(10),
        }
    }
}

impl ParameterSet for Parameters {}

/// What a reduction that proves spurious restores.
#[derive(Clone, Copy, Debug, Default)]
struct BeforeReduction {
    last_congestion: u32,
    max_rtt: u32,
    old_max_bw: u32,
}

/// The H-TCP controller.
#[derive(Clone, Debug)]
pub struct Htcp {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// Packets a round in 1/128.
    alpha: u32,
    /// Share of the window that remains after a loss in 1/128.
    beta: u32,
    /// The throughput has been steady since the last loss (`modeswitch`).
    is_steady: bool,
    /// Packets that the latest ACK removed (`pkts_acked`).
    acked: u32,
    /// Packets acknowledged since `measured_from` (`packetcount`).
    packets: u32,
    /// Tick at which the sample of the throughput began (`lasttime`).
    measured_from: u32,
    /// Smallest and largest round-trip time in ticks.
    min_rtt: u32,
    max_rtt: u32,
    /// Throughput in packets a second: filtered, its largest value, and that before the last loss (`Bi`, `maxB`,
    /// `old_maxB`).
    bw: u32,
    max_bw: u32,
    old_max_bw: u32,
    /// Tick of the last loss (`last_cong`).
    last_congestion: u32,
    undo: Option<BeforeReduction>,
}

impl Htcp {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Htcp {
        Htcp {
            name: Htcp::EXACT_NAME.into(),
            parameters: parameters.into(),
            alpha: ONE,
            beta: BETA_MIN,
            is_steady: false,
            acked: 1,
            packets: 0,
            measured_from: 0,
            min_rtt: 0,
            max_rtt: 0,
            bw: 0,
            max_bw: 0,
            old_max_bw: 0,
            last_congestion: 0,
            undo: None,
        }
    }

    fn take_rtt(&mut self, view: &View, rtt: u32) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if view.ca_state == CaState::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            let highest = self.max_rtt.saturating_add(view.ticks(self.parameters.max_rtt_step));
            if (self.max_rtt..=highest).contains(&rtt) {
                self.max_rtt = rtt;
            }
        }
    }

    /// The achieved throughput, a round trip at a time (`measure_achieved_throughput`).
    fn measure(&mut self, view: &View, control: &Control, acked: u32) {
        let now = view.jiffies;
        if !matches!(view.ca_state, CaState::Open | CaState::Disorder) {
            self.packets = 0;
            self.measured_from = now;
            return;
        }
        self.packets = self.packets.saturating_add(acked);
        let elapsed = now.wrapping_sub(self.measured_from);
        let round = control.cwnd.saturating_sub((self.alpha / ONE).max(1));
        if self.packets < round || elapsed < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let bw = scaled(self.packets, view.hz, elapsed);
        if now.wrapping_sub(self.last_congestion) / self.min_rtt <= 3 {
            // The first rounds after a loss begin anew.
            self.bw = bw;
            self.max_bw = bw;
        } else {
            self.bw = filtered(self.bw, bw, 4);
            self.max_bw = self.max_bw.max(self.bw);
        }
        self.packets = 0;
        self.measured_from = now;
    }

    /// How fast to grow by now (`htcp_alpha_update`).
    fn update_alpha(&mut self, view: &View) {
        let hz = u64::from(view.hz);
        let since = u64::from(view.jiffies.wrapping_sub(self.last_congestion));
        let mut factor = match since.checked_sub(hz) {
            Some(over) if over > 0 => 1 + (10 * over + (over / 2) * (over / 2) / hz) / hz,
            _ => 1,
        };
        if self.parameters.use_rtt_scaling && self.min_rtt > 0 {
            let eighths = 8 * hz / (10 * u64::from(self.min_rtt));
            let (low, high) = (u64::from(*RTT_RATIO_EIGHTHS.start()), u64::from(*RTT_RATIO_EIGHTHS.end()));
            factor = (8 * factor / eighths.clamp(low, high)).max(1);
        }
        let alpha = 2 * factor * u64::from(ONE - self.beta);
        self.alpha = u32::try_from(alpha).unwrap_or(u32::MAX).max(1);
    }

    /// What to keep after a loss (`htcp_beta_update`).
    fn update_beta(&mut self, view: &View) {
        if self.parameters.use_bandwidth_switch {
            let (new, old) = (5 * u64::from(self.max_bw), u64::from(self.old_max_bw));
            self.old_max_bw = self.max_bw;
            if !(4 * old..=6 * old).contains(&new) {
                self.beta = BETA_MIN;
                self.is_steady = false;
                return;
            }
        }
        let is_long = self.min_rtt > view.ticks(self.parameters.min_rtt_for_beta);
        if self.is_steady && is_long && self.max_rtt > 0 {
            self.beta = scaled(self.min_rtt, ONE, self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.is_steady = true;
        }
    }
}

impl Algorithm for Htcp {
    type Parameters = Parameters;
    const NAME: &str = "htcp";
    const EXACT_NAME: &str = "htcp-linux-6.18";
    const SUMMARY: &str = "H-TCP: the longer ago the last loss, the faster the growth; for long fast paths, fair to flows that begin late";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_htcp.c; Leith and Shorten, PFLDnet 2004";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Htcp {
        Htcp { name: exact_name, ..Htcp::new(parameters) }
    }
}

impl Controller for Htcp {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, _control: &mut Control) {
        self.last_congestion = view.jiffies;
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.update_beta(view);
        self.update_alpha(view);
        // The largest round-trip time fades, in case the path has changed.
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + scaled(self.max_rtt - self.min_rtt, 95, 100);
        }
        scaled(control.cwnd, self.beta, ONE).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        if control.in_slow_start() {
            control.slow_start(view, acked);
            return;
        }
        if scaled(control.cwnd_cnt, self.alpha, ONE) >= control.cwnd {
            if control.cwnd < view.cwnd_clamp {
                control.cwnd += 1;
            }
            control.cwnd_cnt = 0;
            self.update_alpha(view);
        } else {
            control.cwnd_cnt += self.acked;
        }
        self.acked = 1;
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, acked: u32, rtt_us: i64, _in_flight: u32) {
        if view.ca_state == CaState::Open {
            self.acked = acked;
        }
        if let Some(rtt) = sample_ticks(view, rtt_us) {
            self.take_rtt(view, rtt);
        }
        if self.parameters.use_bandwidth_switch {
            self.measure(view, control, acked);
        }
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, next: CaState) {
        match next {
            CaState::Open => {
                if self.undo.take().is_some() {
                    self.last_congestion = view.jiffies;
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.undo = Some(BeforeReduction {
                    last_congestion: self.last_congestion,
                    max_rtt: self.max_rtt,
                    old_max_bw: self.old_max_bw,
                });
                self.last_congestion = view.jiffies;
            }
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        if let Some(before) = self.undo.take() {
            self.last_congestion = before.last_congestion;
            self.max_rtt = before.max_rtt;
            self.old_max_bw = before.old_max_bw;
        }
        control.cwnd.max(view.prior_cwnd)
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["alpha_packets", "beta"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values.copy_from_slice(&[self.alpha, self.beta].map(|fixed| f64::from(fixed) / f64::from(ONE)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    /// After a loss on a path with this round-trip time; a tick is a millisecond.
    fn after_loss(cwnd: u32, rtt_us: i64) -> (Htcp, Side) {
        let mut htcp = Htcp::new(Parameters::default());
        let mut c = Side::limited(cwnd, 10);
        c.at(Duration::ZERO);
        htcp.init(&c.view, &mut c.control);
        htcp.pkts_acked(&c.view, &mut c.control, 1, rtt_us, 1);
        c.control.ssthresh = htcp.ssthresh(&c.view, &c.control);
        c.control.cwnd = c.control.ssthresh;
        htcp.set_state(&c.view, &mut c.control, CaState::Recovery);
        htcp.set_state(&c.view, &mut c.control, CaState::Open);
        (htcp, c)
    }

    /// Packets a round so long after the loss.
    fn alpha_after(rtt_us: i64, since: Duration) -> f64 {
        let (mut htcp, mut c) = after_loss(100, rtt_us);
        c.pass(since);
        htcp.update_alpha(&c.view);
        f64::from(htcp.alpha) / f64::from(ONE)
    }

    #[test]
    fn in_the_first_second_after_a_loss_the_window_grows_by_one_packet_a_round() {
        assert!((alpha_after(100_000, Duration::from_millis(900)) - 1.0).abs() < 1e-9);
        let (mut htcp, mut c) = after_loss(200, 100_000);
        for _ in 0..8 {
            round(&mut htcp, &mut c, 100_000);
        }
        // The ACK that completes a window of them is not counted for the next one.
        assert!((106..=108).contains(&c.control.cwnd), "{}", c.control.cwnd);
    }

    #[test]
    fn eleven_seconds_after_a_loss_it_is_126_packets_a_round() {
        assert!((alpha_after(100_000, Duration::from_secs(11)) - 126.0).abs() < 1e-9);
        assert!((alpha_after(20_000, Duration::from_secs(11)) - 25.0).abs() < 1e-9, "a fifth on a short path");
        assert!((alpha_after(400_000, Duration::from_secs(11)) - 252.0).abs() < 1e-9, "at most twice as many");
    }

    #[test]
    fn a_gigabit_path_of_100_ms_is_full_again_after_ten_seconds() {
        let (mut htcp, mut c) = after_loss(8334, 100_000);
        assert_eq!(c.control.cwnd, 4167);
        let mut rounds = 0;
        while c.control.cwnd < 8334 && rounds < 200 {
            round(&mut htcp, &mut c, 100_000);
            rounds += 1;
        }
        assert!((90..=98).contains(&rounds), "{rounds} rounds of 100 ms, 94 in the fluid model");
    }

    #[test]
    fn at_a_steady_throughput_a_loss_keeps_the_smallest_over_the_largest_round_trip_time() {
        for (max_us, beta) in [(125_000, 102), (160_000, 80), (300_000, 64)] {
            let (mut htcp, mut c) = after_loss(100, 100_000);
            let mut rtt_us = 100_000;
            while rtt_us < max_us {
                rtt_us += 10_000;
                htcp.pkts_acked(&c.view, &mut c.control, 1, rtt_us.min(max_us), 1);
            }
            htcp.max_bw = 1_000;
            htcp.old_max_bw = 900;
            htcp.ssthresh(&c.view, &c.control);
            assert_eq!(htcp.beta, beta, "up to {max_us} us");
            htcp.max_bw = 2_000;
            htcp.ssthresh(&c.view, &c.control);
            assert_eq!(htcp.beta, 64, "the throughput has doubled");
        }
    }

    #[test]
    fn an_undo_returns_to_the_time_of_the_loss_before() {
        let (mut htcp, mut c) = after_loss(100, 100_000);
        let before = htcp.last_congestion;
        c.pass(Duration::from_secs(5));
        htcp.set_state(&c.view, &mut c.control, CaState::Recovery);
        assert_ne!(htcp.last_congestion, before);
        c.view.prior_cwnd = 100;
        assert_eq!(htcp.undo_cwnd(&c.view, &c.control), 100);
        htcp.set_state(&c.view, &mut c.control, CaState::Open);
        assert_eq!(htcp.last_congestion, before);
    }

    #[test]
    fn the_largest_round_trip_time_fades_with_every_loss() {
        let (mut htcp, mut c) = after_loss(100, 100_000);
        htcp.pkts_acked(&c.view, &mut c.control, 1, 121_000, 1);
        assert_eq!(htcp.max_rtt, 100, "a jump by more than 20 ms is none");
        htcp.pkts_acked(&c.view, &mut c.control, 1, 120_000, 1);
        assert_eq!(htcp.max_rtt, 120);
        htcp.ssthresh(&c.view, &c.control);
        assert_eq!(htcp.max_rtt, 119);
        htcp.pkts_acked(&c.view, &mut c.control, 1, 118_000, 1);
        assert_eq!((htcp.min_rtt, htcp.max_rtt), (100, 119));
    }

    #[test]
    fn round_trips_outside_of_open_are_the_smallest_and_never_the_largest() {
        let mut htcp = Htcp::new(Parameters::default());
        let mut c = Side::limited(100, 10);
        c.view.ca_state = CaState::Recovery;
        htcp.pkts_acked(&c.view, &mut c.control, 1, 50_000, 1);
        assert_eq!((htcp.min_rtt, htcp.max_rtt), (50, 0));
        assert_eq!((htcp.ssthresh(&c.view, &c.control), htcp.max_rtt), (50, 0));
    }

    #[test]
    fn a_loss_halves_on_a_short_path() {
        for (rtt_us, beta) in [(10_000, 64), (11_000, 102)] {
            let (mut htcp, mut c) = after_loss(100, rtt_us);
            (htcp.max_bw, htcp.old_max_bw) = (1_000, 1_000);
            htcp.pkts_acked(&c.view, &mut c.control, 1, rtt_us + 1_000, 1);
            htcp.ssthresh(&c.view, &c.control);
            assert_eq!(htcp.beta, beta, "{rtt_us}");
        }
    }

    #[test]
    fn what_is_switched_off_has_no_effect() {
        let parameters = Parameters { use_rtt_scaling: false, use_bandwidth_switch: false, ..Parameters::default() };
        let (mut htcp, mut c) = after_loss(100, 20_000);
        htcp.parameters = parameters.into();
        c.pass(Duration::from_secs(11));
        htcp.update_alpha(&c.view);
        assert_eq!(htcp.alpha, 126 * ONE);
        (htcp.packets, htcp.max_bw, htcp.old_max_bw) = (0, 9_000, 1_000);
        htcp.ssthresh(&c.view, &c.control);
        assert_eq!(htcp.beta, BETA_MAX, "however much the throughput has changed");
        htcp.pkts_acked(&c.view, &mut c.control, 500, 20_000, 1);
        assert_eq!((htcp.packets, htcp.max_bw), (0, 9_000), "it is not measured");
    }

    #[test]
    fn the_throughput_is_that_of_whole_windows_and_filtered_from_the_fourth_round_after_a_loss_on() {
        let (mut htcp, mut c) = after_loss(40, 100_000);
        c.control.cwnd = 20;
        c.view.ca_state = CaState::Recovery;
        htcp.measure(&c.view, &c.control, 7);
        c.view.ca_state = CaState::Disorder;
        c.pass(Duration::from_millis(100));
        htcp.measure(&c.view, &c.control, 18);
        assert_eq!((htcp.bw, htcp.packets), (0, 18), "a window less one growth is 19");
        htcp.measure(&c.view, &c.control, 1);
        assert_eq!((htcp.bw, htcp.max_bw, htcp.packets), (190, 190, 0));
        c.pass(Duration::from_millis(99));
        htcp.measure(&c.view, &c.control, 40);
        assert_eq!((htcp.bw, htcp.packets), (190, 40), "a round trip has not passed");
        c.pass(Duration::from_millis(101));
        htcp.measure(&c.view, &c.control, 0);
        assert_eq!((htcp.bw, htcp.max_bw), (200, 200));
        c.pass(Duration::from_millis(200));
        htcp.measure(&c.view, &c.control, 80);
        assert_eq!((htcp.bw, htcp.max_bw), (250, 250), "a quarter of 400 and three of 200");
        c.pass(Duration::from_millis(200));
        htcp.measure(&c.view, &c.control, 20);
        assert_eq!((htcp.bw, htcp.max_bw), (212, 250));
    }
}
