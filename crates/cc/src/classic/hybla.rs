//! Hybla (Caini and Firrincieli, 2004; Linux's `tcp_hybla.c`): a long path grows as fast in time as one of 25 ms.
//!
//! `rho` is the round-trip time over 25 ms. Slow start multiplies the window by `2^rho` a round, congestion avoidance
//! adds `rho^2` packets. For satellite links, where Reno would need hours.

use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Hooks, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// `128 * 2^(i / 8)`: what a fraction of `rho` multiplies by.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Largest power of two in slow start.
const MAX_SHIFT: u32 = 16;

/// Constants of [`Hybla`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Round-trip time of the path whose growth is imitated.
    #[schemars(extend("x-at-least" = "1ms", "x-at-most" = "1h", "x-source" = "tcp_hybla.c: rtt0 = 25 ms"))]
    pub rtt0: Duration,
    /// Largest window in packets.
    #[schemars(range(min = 2), extend("x-source" = "hybla_init: snd_cwnd_clamp = 65535"))]
    pub max_cwnd: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { rtt0: Duration::from_millis(25), max_cwnd: 65_535 }
    }
}

impl ParameterSet for Parameters {}

/// The Hybla controller.
#[derive(Clone, Debug)]
pub struct Hybla {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    is_enabled: bool,
    /// Round-trip time over `rtt0` in eighths, at least 8 (`rho_3ls`).
    rho_x8: u32,
    /// Hundred-and-twenty-eighths of a packet that the window is short of (`snd_cwnd_cents`).
    cents: u32,
    /// Smallest smoothed round-trip time so far, times eight (`minrtt_us`).
    min_srtt_us_x8: u32,
}

impl Hybla {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Hybla {
        Hybla {
            name: Hybla::EXACT_NAME.into(),
            parameters: parameters.into(),
            is_enabled: true,
            rho_x8: 8,
            cents: 0,
            min_srtt_us_x8: 0,
        }
    }

    fn measure(&mut self, view: &View) {
        let rho_x8 = u64::from(view.srtt_us_x8) / self.parameters.rtt0.as_micros();
        // 32 bits hold the square of what is not above this.
        self.rho_x8 = u32::try_from(rho_x8.clamp(8, 40_000)).unwrap_or(8);
        self.min_srtt_us_x8 = view.srtt_us_x8;
    }

    fn rho(&self) -> u32 {
        self.rho_x8 >> 3
    }

    /// What an ACK adds in slow start, in 1/128 packets: `2^rho - 1`.
    fn slow_start_increment(&self) -> u32 {
        let fraction = self.rho_x8 - 8 * self.rho();
        (1 << self.rho().min(MAX_SHIFT)) * POWERS[fraction as usize] - 128
    }

    /// `rho^2 / cwnd` in 1/128 packets.
    fn avoidance_increment(&self, cwnd: u32) -> u32 {
        (self.rho_x8 * self.rho_x8 * 2) / cwnd.max(1)
    }
}

impl Algorithm for Hybla {
    type Parameters = Parameters;
    const NAME: &str = "hybla";
    const EXACT_NAME: &str = "hybla-linux-6.18";
    const SUMMARY: &str =
        "Hybla: grows per second as Reno does on a path of 25 ms, whatever the path; for satellite links";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_hybla.c; Caini and Firrincieli, IJSCN 2004";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Hybla {
        Hybla { name: exact_name, ..Hybla::new(parameters) }
    }
}

impl Controller for Hybla {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.measure(view);
        control.cwnd = self.rho().min(self.parameters.max_cwnd);
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.half()
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if view.srtt_us_x8 < self.min_srtt_us_x8 {
            self.measure(view);
        }
        if !view.is_cwnd_limited(control) {
            return;
        }
        if !self.is_enabled {
            return control.grow_like_reno(view, acked);
        }
        let is_slow_start = control.in_slow_start();
        let increment = if is_slow_start {
            self.slow_start_increment()
        } else {
            let increment = self.avoidance_increment(control.cwnd);
            control.cwnd_cnt += u32::from(increment < 128);
            increment
        };
        self.cents += increment % 128;
        control.cwnd = control.cwnd.saturating_add(increment / 128);
        if self.cents >= 128 {
            control.cwnd = control.cwnd.saturating_add(1);
            self.cents -= 128;
            control.cwnd_cnt = 0;
        }
        // Windows so large that an increment is nothing grow as Reno's.
        if increment == 0 && control.cwnd_cnt >= control.cwnd {
            control.cwnd += 1;
            control.cwnd_cnt = 0;
        }
        if is_slow_start {
            control.cwnd = control.cwnd.min(control.ssthresh);
        }
        control.cwnd = control.cwnd.min(view.cwnd_clamp).min(self.parameters.max_cwnd);
    }

    fn set_state(&mut self, _view: &View, _control: &mut Control, next: CaState) {
        self.is_enabled = next == CaState::Open;
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec![Cow::Borrowed("rho")]
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values[0] = f64::from(self.rho_x8) / 8.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, grow_for_rounds};

    fn on_path(rtt_ms: u32) -> (Hybla, Side) {
        let mut hybla = Hybla::new(Parameters::default());
        let mut c = Side::limited(10, Control::INFINITE_SSTHRESH);
        c.view.srtt_us_x8 = 8 * rtt_ms * 1_000;
        hybla.init(&c.view, &mut c.control);
        (hybla, c)
    }

    #[test]
    fn at_200_ms_the_window_grows_by_64_packets_a_round() {
        let (mut hybla, mut c) = on_path(200);
        (c.control.cwnd, c.control.ssthresh) = (512, 10);
        grow_for_rounds(&mut hybla, &mut c, 1);
        // As it grows within a round, so does the divisor; and 1/128 packets are cut off.
        assert!((566..=572).contains(&c.control.cwnd), "{}", c.control.cwnd);
    }

    #[test]
    fn a_connection_begins_with_rho_packets_and_slow_start_multiplies_by_two_to_the_power_of_rho() {
        let (mut hybla, mut c) = on_path(100);
        assert_eq!(c.control.cwnd, 4);
        hybla.cong_avoid(&c.view, &mut c.control, 1);
        assert_eq!(c.control.cwnd, 4 + 15);
        c.control.ssthresh = 30;
        hybla.cong_avoid(&c.view, &mut c.control, 1);
        assert_eq!(c.control.cwnd, 30, "held at the threshold");
    }

    #[test]
    fn on_a_path_of_at_most_25_ms_and_outside_of_open_it_is_reno() {
        let (mut hybla, mut c) = on_path(10);
        (c.control.cwnd, c.control.ssthresh) = (50, 10);
        grow_for_rounds(&mut hybla, &mut c, 10);
        assert!((57..=60).contains(&c.control.cwnd), "1/128 packets are cut off: {}", c.control.cwnd);
        let (mut hybla, mut c) = on_path(200);
        hybla.set_state(&c.view, &mut c.control, CaState::Disorder);
        (c.control.cwnd, c.control.ssthresh, c.control.cwnd_cnt) = (50, 10, 0);
        grow_for_rounds(&mut hybla, &mut c, 10);
        assert_eq!(c.control.cwnd, 60);
    }

    #[test]
    fn a_shorter_smoothed_round_trip_time_lowers_rho_and_a_longer_one_does_not_raise_it() {
        let (mut hybla, mut c) = on_path(100);
        for (rtt_ms, rho) in [(150, 4), (75, 3), (200, 3)] {
            c.view.srtt_us_x8 = 8 * rtt_ms * 1_000;
            hybla.cong_avoid(&c.view, &mut c.control, 1);
            assert_eq!(hybla.rho(), rho);
        }
    }
}
