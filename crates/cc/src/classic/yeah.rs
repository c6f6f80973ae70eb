//! YeAH (Baiocchi, Castellani and Vacirca, 2007; Linux's `tcp_yeah.c`): fast while the queue is short, Reno when it is
//! not.
//!
//! Once a round the queue is estimated as Vegas does. While it is short the window grows as Scalable's. When it is not,
//! the window grows as Reno's, and a queue of more than `alpha` packets is drained at once ("precautionary
//! decongestion"), but not below what Reno competitors are thought to have. For long fast paths with small buffers.

use super::arithmetic::scaled;
use super::round::Round;
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Event, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Smallest count of what Reno competitors have.
const MIN_RENO_COUNT: u32 = 2;

/// Constants of [`Yeah`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Packets in the queue from which on it is drained.
    #[schemars(extend("x-source" = "TCP_YEAH_ALPHA"))]
    pub alpha: u32,
    /// Draining takes the queue divided by this.
    #[schemars(range(min = 1), extend("x-source" = "TCP_YEAH_GAMMA"))]
    pub gamma: u32,
    /// A loss takes at least the window divided by two to the power of this.
    #[schemars(range(max = 31), extend("x-source" = "TCP_YEAH_DELTA"))]
    pub delta: u32,
    /// Draining takes at most the window divided by two to the power of this.
    #[schemars(range(max = 31), extend("x-source" = "TCP_YEAH_EPSILON"))]
    pub epsilon: u32,
    /// A delay of the smallest round-trip time divided by this means congestion.
    #[schemars(range(min = 1), extend("x-source" = "TCP_YEAH_PHY"))]
    pub phy: u32,
    /// Rounds in a row with congestion after which a loss halves.
    #[schemars(extend("x-source" = "TCP_YEAH_RHO"))]
    pub rho: u32,
    /// Rounds without congestion after which Reno competitors are thought to be gone.
    #[schemars(extend("x-source" = "TCP_YEAH_ZETA"))]
    pub zeta: u32,
    /// Without congestion the window grows by one packet per this many acknowledged.
    #[schemars(range(min = 1), extend("x-source" = "TCP_SCALABLE_AI_CNT"))]
    pub acks_per_increment: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { alpha: 80, gamma: 1, delta: 3, epsilon: 1, phy: 8, rho: 16, zeta: 50, acks_per_increment: 100 }
    }
}

impl ParameterSet for Parameters {}

/// The YeAH controller.
#[derive(Clone, Debug)]
pub struct Yeah {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    round: Round,
    /// Packets in the queue at the end of the last round (`lastQ`).
    queue: u32,
    /// Rounds in a row with congestion (`doing_reno_now`).
    reno_rounds: u32,
    /// What a Reno competitor is thought to have (`reno_count`).
    reno_count: u32,
    /// Rounds without congestion (`fast_count`).
    fast_rounds: u32,
}

impl Yeah {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Yeah {
        Yeah {
            name: Yeah::EXACT_NAME.into(),
            parameters: parameters.into(),
            round: Round::default(),
            queue: 0,
            reno_rounds: 0,
            reno_count: MIN_RENO_COUNT,
            fast_rounds: 0,
        }
    }

    /// The decision at the end of a round.
    fn judge(&mut self, control: &mut Control) {
        let Parameters { alpha, gamma, epsilon, phy, zeta, .. } = *self.parameters;
        let queueing_us = self.round.queueing_us();
        let queue = scaled(control.cwnd, queueing_us, self.round.min_us);
        if queue > alpha || queueing_us > self.round.base_us / phy {
            if queue > alpha && control.cwnd > self.reno_count {
                let excess = (queue / gamma).min(control.cwnd >> epsilon);
                control.cwnd = (control.cwnd - excess).max(self.reno_count);
                control.ssthresh = control.cwnd;
            }
            self.reno_count = if self.reno_count <= MIN_RENO_COUNT { control.half() } else { self.reno_count + 1 };
            self.reno_rounds = self.reno_rounds.saturating_add(1);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > zeta {
                self.reno_count = MIN_RENO_COUNT;
                self.fast_rounds = 0;
            }
            self.reno_rounds = 0;
        }
        self.queue = queue;
    }
}

impl Algorithm for Yeah {
    type Parameters = Parameters;
    const NAME: &str = "yeah";
    const EXACT_NAME: &str = "yeah-linux-6.18";
    const SUMMARY: &str =
        "YeAH: grows as Scalable while the queue is short, else as Reno; for long fast paths with small buffers";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_yeah.c; Baiocchi, Castellani and Vacirca, PFLDnet 2007";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Yeah {
        Yeah { name: exact_name, ..Yeah::new(parameters) }
    }
}

impl Controller for Yeah {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, _control: &mut Control) {
        self.round.restart(view);
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        let half = control.half();
        let reduction = if self.reno_rounds < self.parameters.rho {
            self.queue.min(half).max(control.cwnd >> self.parameters.delta)
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count >> 1).max(MIN_RENO_COUNT);
        control.cwnd.saturating_sub(reduction).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        let acked = control.slow_start_if_below(view, acked);
        if acked > 0 {
            let is_fast = self.reno_rounds == 0;
            let most = if is_fast { self.parameters.acks_per_increment } else { u32::MAX };
            control.additive_increase(view, control.cwnd.min(most), acked);
        }
        if self.round.is_over(view) {
            if self.round.has_enough_samples() {
                self.judge(control);
            }
            self.round.begin(view);
        }
    }

    fn pkts_acked(&mut self, _view: &View, _control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        self.round.sample(rtt_us);
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, next: CaState) {
        self.round.set_state(view, next);
    }

    fn event(&mut self, view: &View, _control: &mut Control, event: Event) {
        self.round.event(view, event);
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["queue_packets", "reno_rounds", "base_rtt_ms"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values.copy_from_slice(&[f64::from(self.queue), f64::from(self.reno_rounds), self.round.base_ms()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    /// With this window after a round of 100 ms.
    fn settled(cwnd: u32) -> (Yeah, Side) {
        let mut yeah = Yeah::new(Parameters::default());
        let mut c = Side::limited(cwnd, 10);
        yeah.init(&c.view, &mut c.control);
        round(&mut yeah, &mut c, 100_000);
        c.control.cwnd = cwnd;
        (yeah, c)
    }

    #[test]
    fn an_empty_queue_adds_a_hundredth_a_round_and_a_delay_of_an_eighth_makes_it_reno() {
        let (mut yeah, mut c) = settled(1_000);
        round(&mut yeah, &mut c, 101_000);
        assert!((1_009..=1_011).contains(&c.control.cwnd), "{}", c.control.cwnd);
        c.control.cwnd = 300;
        round(&mut yeah, &mut c, 115_000);
        round(&mut yeah, &mut c, 115_000);
        let before = c.control.cwnd;
        round(&mut yeah, &mut c, 115_000);
        assert!(c.control.cwnd <= before + 1, "{before}, {}", c.control.cwnd);
        assert!(yeah.reno_rounds >= 1);
    }

    #[test]
    fn a_queue_of_more_than_80_packets_is_drained_at_once() {
        let (mut yeah, mut c) = settled(1_000);
        round(&mut yeah, &mut c, 125_000);
        c.control.cwnd = 1_000;
        round(&mut yeah, &mut c, 125_000);
        assert!((800..=805).contains(&c.control.cwnd), "a fifth was queued: {}", c.control.cwnd);
    }

    #[test]
    fn a_loss_takes_the_queue_and_at_least_an_eighth_and_half_beside_reno() {
        let (mut yeah, mut c) = settled(800);
        assert_eq!(yeah.ssthresh(&c.view, &c.control), 700);
        yeah.queue = 200;
        assert_eq!(yeah.ssthresh(&c.view, &c.control), 600);
        yeah.reno_rounds = 16;
        assert_eq!(yeah.ssthresh(&c.view, &c.control), 400);
        c.control.cwnd = 3;
        assert_eq!(yeah.ssthresh(&c.view, &c.control), 2);
    }
}
