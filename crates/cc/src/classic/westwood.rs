//! Westwood+ (Mascolo and others, 2001 to 2004; Linux's `tcp_westwood.c`): Reno that returns after a loss to what the
//! path was measured to carry.
//!
//! What is acknowledged in an interval of at least 50 ms gives a sample of the bandwidth, filtered twice. After a
//! reduction window and threshold are bandwidth times smallest round-trip time, so random losses cost little and a deep
//! queue is emptied at once. For lossy (wireless) paths. Times are in ticks of the kernel's coarse clock, round-trip
//! times rounded up: at 100 ticks a second a path of 42 ms counts 50.

use super::arithmetic::{filtered, sample_ticks};
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{AckFlags, Algorithm, Control, Controller, Event, Hooks, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`Westwood`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Shortest interval over which bandwidth is measured.
    #[schemars(extend("x-source" = "TCP_WESTWOOD_RTT_MIN: 50 ms"))]
    pub min_interval: Duration,
    /// Round-trip time before the first sample.
    #[schemars(extend("x-above" = "0s", "x-source" = "TCP_WESTWOOD_INIT_RTT: 20 s"))]
    pub initial_rtt: Duration,
    /// Weight of a new sample in both filters is one in this many.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-source" = "westwood_do_filter: 7/8"))]
    pub filter_divisor: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { min_interval: Duration::from_millis(50), initial_rtt: Duration::from_secs(20), filter_divisor: 8 }
    }
}

impl ParameterSet for Parameters {}

/// The Westwood+ controller.
#[derive(Clone, Debug)]
pub struct Westwood {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    min_interval_ticks: u32,
    /// Bandwidth behind the first filter and behind both, in bytes a tick (`bw_ns_est`, `bw_est`).
    bw_once: u32,
    bw: u32,
    /// Tick at which the interval began (`rtt_win_sx`).
    interval_start: u32,
    /// Bytes acknowledged in the interval (`bk`).
    acked_bytes: u64,
    /// First position not acknowledged at the last ACK (`snd_una`).
    una: u64,
    /// Bytes that duplicates have counted ahead of their cumulative ACK (`accounted`).
    accounted: u64,
    /// Latest and smallest round-trip time in ticks.
    rtt: u32,
    rtt_min: u32,
    /// The next round-trip time replaces the smallest one (`reset_rtt_min`).
    resets_rtt_min: bool,
    is_first_ack: bool,
}

impl Westwood {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Westwood {
        Westwood {
            name: Westwood::EXACT_NAME.into(),
            parameters: parameters.into(),
            min_interval_ticks: 0,
            bw_once: 0,
            bw: 0,
            interval_start: 0,
            acked_bytes: 0,
            una: 0,
            accounted: 0,
            rtt: 0,
            rtt_min: 0,
            resets_rtt_min: true,
            is_first_ack: true,
        }
    }

    /// Takes the bandwidth of an interval that is over (`westwood_update_window`).
    fn close_interval(&mut self, view: &View) {
        if self.is_first_ack {
            self.una = view.snd_una;
            self.is_first_ack = false;
        }
        let elapsed = view.jiffies.wrapping_sub(self.interval_start);
        if self.rtt == 0 || elapsed <= self.rtt.max(self.min_interval_ticks) {
            return;
        }
        let sample = u32::try_from(self.acked_bytes / u64::from(elapsed)).unwrap_or(u32::MAX);
        if self.bw_once == 0 && self.bw == 0 {
            self.bw_once = sample;
            self.bw = sample;
        } else {
            let divisor = self.parameters.filter_divisor;
            self.bw_once = filtered(self.bw_once, sample, divisor);
            self.bw = filtered(self.bw, self.bw_once, divisor);
        }
        self.acked_bytes = 0;
        self.interval_start = view.jiffies;
    }

    /// Bytes that a suspicious ACK stands for: a duplicate is a segment that its cumulative ACK must not count again
    /// (`westwood_acked_count`).
    fn acked_count(&mut self, advance: u64, mss: u64) -> u64 {
        if advance == 0 {
            self.accounted += mss;
            mss
        } else if advance <= mss {
            advance
        } else if self.accounted >= advance {
            self.accounted -= advance;
            mss
        } else {
            advance - std::mem::take(&mut self.accounted)
        }
    }

    /// The window that fills the path without a queue (`tcp_westwood_bw_rttmin`).
    fn bdp(&self, view: &View) -> u32 {
        let packets = u64::from(self.bw) * u64::from(self.rtt_min) / u64::from(view.mss);
        u32::try_from(packets).unwrap_or(u32::MAX).clamp(2, Control::INFINITE_SSTHRESH - 1)
    }
}

impl Algorithm for Westwood {
    type Parameters = Parameters;
    const NAME: &str = "westwood";
    const EXACT_NAME: &str = "westwood-linux-6.18";
    const SUMMARY: &str =
        "Westwood+: Reno that returns after a loss to measured bandwidth times smallest RTT; for lossy wireless paths";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_westwood.c; Grieco and Mascolo, CCR 2004";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Westwood {
        Westwood { name: exact_name, ..Westwood::new(parameters) }
    }
}

impl Controller for Westwood {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, _control: &mut Control) {
        self.rtt = view.ticks(self.parameters.initial_rtt);
        self.rtt_min = self.rtt;
        self.min_interval_ticks = view.ticks(self.parameters.min_interval);
        self.interval_start = view.jiffies;
        self.una = view.snd_una;
    }

    fn hooks(&self) -> Hooks {
        Hooks { in_ack_event: true, pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.half()
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        control.grow_like_reno(view, acked);
    }

    fn in_ack_event(&mut self, view: &View, _control: &mut Control, flags: AckFlags) {
        self.close_interval(view);
        let mss = u64::from(view.mss);
        let advance = (view.snd_una - self.una) * mss;
        self.una = view.snd_una;
        self.acked_bytes += if flags.slow_path { self.acked_count(advance, mss) } else { advance };
        if self.resets_rtt_min {
            self.rtt_min = self.rtt;
            self.resets_rtt_min = false;
        } else {
            self.rtt_min = self.rtt_min.min(self.rtt);
        }
    }

    fn pkts_acked(&mut self, view: &View, _control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        if let Some(rtt) = sample_ticks(view, rtt_us) {
            self.rtt = rtt;
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        match event {
            Event::CompleteCwr => {
                control.cwnd = self.bdp(view);
                control.ssthresh = control.cwnd;
            }
            Event::Loss => {
                control.ssthresh = self.bdp(view);
                self.resets_rtt_min = true;
            }
            _ => {}
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["bw_mbps", "min_rtt_ms"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, view: &View, _control: &Control, values: &mut [f64]) {
        let hz = f64::from(view.hz);
        values.copy_from_slice(&[f64::from(self.bw) * 8e-6 * hz, f64::from(self.rtt_min) * 1e3 / hz]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;

    /// A link of 10 packets per 10 ms with a round-trip time of 100 ms has been full for two seconds.
    fn saturated() -> (Westwood, Side) {
        let mut westwood = Westwood::new(Parameters::default());
        let mut c = Side::limited(100, 10);
        c.at(Duration::from_secs(1));
        westwood.init(&c.view, &mut c.control);
        for _ in 0..200 {
            c.pass(Duration::from_millis(10));
            c.view.snd_una += 10;
            westwood.in_ack_event(&c.view, &mut c.control, AckFlags::default());
            westwood.pkts_acked(&c.view, &mut c.control, 10, 100_000, 100);
        }
        (westwood, c)
    }

    #[test]
    fn the_estimate_is_the_rate_of_a_saturated_link() {
        let (westwood, _) = saturated();
        let expected = 1448;
        assert!(westwood.bw.abs_diff(expected) <= expected / 10, "{} bytes a millisecond", westwood.bw);
    }

    #[test]
    fn after_a_reduction_the_window_is_what_fills_the_path() {
        let (mut westwood, mut c) = saturated();
        c.control.cwnd = 300;
        assert_eq!(westwood.ssthresh(&c.view, &c.control), 150, "while it is reduced it goes to the half");
        westwood.event(&c.view, &mut c.control, Event::CompleteCwr);
        assert_eq!(c.control.cwnd, c.control.ssthresh);
        assert!((90..=110).contains(&c.control.cwnd), "{}", c.control.cwnd);
    }

    #[test]
    fn after_a_timeout_the_threshold_is_what_fills_the_path_and_the_smallest_time_is_taken_anew() {
        let (mut westwood, mut c) = saturated();
        westwood.event(&c.view, &mut c.control, Event::Loss);
        assert!((90..=110).contains(&c.control.ssthresh), "{}", c.control.ssthresh);
        westwood.pkts_acked(&c.view, &mut c.control, 1, 250_000, 1);
        westwood.in_ack_event(&c.view, &mut c.control, AckFlags::default());
        assert_eq!(westwood.rtt_min, 250);
    }

    #[test]
    fn what_duplicates_have_counted_their_cumulative_ack_does_not_count_again() {
        let (mut westwood, mut c) = saturated();
        westwood.acked_bytes = 0;
        let slow = AckFlags { slow_path: true, ..AckFlags::default() };
        for advance in [0, 0, 0, 4, 1] {
            c.view.snd_una += advance;
            westwood.in_ack_event(&c.view, &mut c.control, slow);
        }
        assert_eq!(westwood.acked_bytes, 5 * 1448);
    }

    #[test]
    fn what_fills_the_path_is_two_packets_at_least_and_less_than_an_infinite_threshold() {
        let (mut westwood, c) = saturated();
        (westwood.bw, westwood.rtt_min) = (1, 1);
        assert_eq!(westwood.bdp(&c.view), 2);
        (westwood.bw, westwood.rtt_min) = (1_448, 100);
        assert_eq!(westwood.bdp(&c.view), 100);
        (westwood.bw, westwood.rtt_min) = (u32::MAX, u32::MAX);
        assert_eq!(westwood.bdp(&c.view), Control::INFINITE_SSTHRESH - 1);
    }
}
