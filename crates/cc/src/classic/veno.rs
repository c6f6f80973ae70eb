//! Veno (Fu and Liew, 2003; Linux's `tcp_veno.c`): Reno that asks Vegas whether a loss means congestion.
//!
//! With fewer than `beta` packets in the queue a loss is taken for a random one and costs a fifth of the window; with
//! more it costs half, and the window grows at half the speed. For lossy (wireless) access links.

use super::arithmetic::{sample_us, scaled};
use dumbbell_cc_contract::parameters::{Factor, ParameterSet};
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Event, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// No round-trip time yet (the kernel's 0x7fffffff).
const NONE: u32 = 0x7fff_ffff;
/// Fewest round-trip times of the connection that are judged, less one.
const MIN_SAMPLES: u32 = 2;

/// Constants of [`Veno`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// From this many packets in the queue on a loss means congestion.
    #[schemars(range(max = 1_000_000), extend("x-source" = "tcp_veno.c: beta"))]
    pub beta: u32,
    /// Share of the window that remains after a loss that is taken for a random one.
    #[schemars(range(max = 1), extend("x-source" = "tcp_veno_ssthresh: 4/5"))]
    pub random_loss_beta: Factor,
}

impl Default for Parameters {
    fn default() -> Parameters {
        // 4/5 in 1/1024 is rounded up, so that multiples of five packets lose exactly a fifth.
        Parameters { beta: 3, random_loss_beta: Factor::new(820) }
    }
}

impl ParameterSet for Parameters {}

/// The Veno controller.
#[derive(Clone, Debug)]
pub struct Veno {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    is_enabled: bool,
    /// Smallest round-trip time since the last idle time, plus 1 µs (`basertt`).
    base_us: u32,
    /// Smallest one since the window was last looked at, plus 1 µs (`minrtt`).
    min_us: u32,
    /// Round-trip times so far (`cntrtt`).
    count: u32,
    /// The next full window of ACKs adds a packet (`inc`).
    is_turn: bool,
    /// Packets in the queue in halves (`diff`).
    backlog_x2: u32,
}

impl Veno {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Veno {
        Veno {
            name: Veno::EXACT_NAME.into(),
            parameters: parameters.into(),
            is_enabled: true,
            base_us: NONE,
            min_us: NONE,
            // That of the handshake: Linux asks for it before `init`, which leaves the count as it is.
            count: 1,
            is_turn: true,
            backlog_x2: 0,
        }
    }

    fn restart(&mut self) {
        self.base_us = NONE;
        self.is_turn = true;
        self.enable();
    }

    fn enable(&mut self) {
        self.is_enabled = true;
        self.min_us = NONE;
    }

    fn is_congested(&self) -> bool {
        self.backlog_x2 >= 2 * self.parameters.beta
    }

    fn grow(&mut self, view: &View, control: &mut Control, acked: u32) {
        let cwnd = control.cwnd;
        self.backlog_x2 = (2 * cwnd).saturating_sub(scaled(2 * cwnd, self.base_us, self.min_us));
        let acked = control.slow_start_if_below(view, acked);
        if acked == 0 {
            return;
        }
        if !self.is_congested() {
            control.additive_increase(view, control.cwnd, acked);
        } else if control.cwnd_cnt < control.cwnd {
            control.cwnd_cnt += acked;
        } else {
            control.cwnd_cnt = 0;
            if self.is_turn && control.cwnd < view.cwnd_clamp {
                control.cwnd += 1;
                self.is_turn = false;
            } else {
                self.is_turn = true;
            }
        }
    }
}

impl Algorithm for Veno {
    type Parameters = Parameters;
    const NAME: &str = "veno";
    const EXACT_NAME: &str = "veno-linux-6.18";
    const SUMMARY: &str =
        "Veno: Reno that takes a loss at an empty queue for a random one and gives up a fifth; for lossy access links";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_veno.c; Fu and Liew, JSAC 2003";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Veno {
        Veno { name: exact_name, ..Veno::new(parameters) }
    }
}

impl Controller for Veno {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {
        self.restart();
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        if self.is_congested() {
            control.half()
        } else {
            self.parameters.random_loss_beta.share_of(control.cwnd).max(2)
        }
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !self.is_enabled {
            return control.grow_like_reno(view, acked);
        }
        if !view.is_cwnd_limited(control) {
            return;
        }
        if self.count <= MIN_SAMPLES {
            control.grow_like_reno(view, acked);
        } else {
            self.grow(view, control, acked);
            control.cwnd = control.cwnd.min(view.cwnd_clamp).max(2);
        }
        self.min_us = NONE;
    }

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        let Some(rtt_us) = sample_us(rtt_us) else { return };
        let rtt_us = rtt_us.saturating_add(1);
        self.base_us = self.base_us.min(rtt_us);
        self.min_us = self.min_us.min(rtt_us);
        self.count = self.count.saturating_add(1);
    }

    fn set_state(&mut self, _view: &View, _control: &mut Control, next: CaState) {
        if next == CaState::Open {
            self.enable();
        } else {
            self.is_enabled = false;
        }
    }

    fn event(&mut self, _view: &View, _control: &mut Control, event: Event) {
        if matches!(event, Event::CwndRestart | Event::TxStart) {
            self.restart();
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        vec![Cow::Borrowed("backlog_packets")]
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values[0] = f64::from(self.backlog_x2) / 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    /// With this window after rounds of 50 ms and then of `rtt_us`.
    fn queueing(cwnd: u32, rtt_us: i64) -> (Veno, Side) {
        let mut veno = Veno::new(Parameters::default());
        let mut c = Side::limited(cwnd, 10);
        veno.init(&c.view, &mut c.control);
        for rtt_us in [50_000, rtt_us] {
            c.control.cwnd = cwnd;
            round(&mut veno, &mut c, rtt_us);
        }
        c.control.cwnd = cwnd;
        c.control.cwnd_cnt = 0;
        (veno, c)
    }

    #[test]
    fn a_loss_at_an_empty_queue_takes_a_fifth_and_at_a_full_one_half() {
        let (mut veno, c) = queueing(50, 50_000);
        assert_eq!(veno.ssthresh(&c.view, &c.control), 40);
        let (mut veno, c) = queueing(50, 80_000);
        assert_eq!(veno.ssthresh(&c.view, &c.control), 25);
    }

    #[test]
    fn from_three_packets_in_the_queue_on_it_grows_by_a_packet_in_two_rounds() {
        // Of 50 packets, 50 · 50/53 need 50 ms: 2.8 are queued; at 54 ms 3.7.
        for (rtt_us, growth) in [(50_000, 10), (53_000, 10), (54_000, 5), (60_000, 5)] {
            let (mut veno, mut c) = queueing(50, rtt_us);
            for _ in 0..10 {
                let cwnd = c.control.cwnd;
                round(&mut veno, &mut c, rtt_us * i64::from(cwnd) / 50);
            }
            // As the window grows the queue does, and it goes on at half the speed.
            let grown = c.control.cwnd - 50;
            assert!(grown <= growth && grown >= 4, "{rtt_us} us: {grown} packets in ten rounds");
            assert!(grown >= growth || rtt_us > 50_000 || growth == 10, "{grown}");
        }
    }

    #[test]
    fn outside_of_open_it_is_reno() {
        let (mut veno, mut c) = queueing(50, 80_000);
        veno.set_state(&c.view, &mut c.control, CaState::Disorder);
        round(&mut veno, &mut c, 80_000);
        assert_eq!(c.control.cwnd, 51);
    }
}
