//! Reno: additive increase, multiplicative decrease.
//!
//! Below the slow-start threshold the window grows by what is acknowledged, above it by one packet per window. A loss
//! halves it; marks alone may leave more of it (RFC 8511). The sender executes the reduction itself (proportional rate
//! reduction) and restarts from one packet after a timeout; NewReno and SACK differ in the sender, not here.

use dumbbell_cc_contract::parameters::{Factor, ParameterSet};
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, Needs, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Constants of [`Reno`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Share of the window that remains after a loss.
    #[schemars(range(max = 1), extend("x-source" = "tcp_reno_ssthresh: cwnd / 2"))]
    pub beta: Factor,
    /// Share of the window that remains where marks alone are the reason, and no loss. Needs `ecn`.
    #[schemars(range(max = 1), extend("x-default" = "`beta`, as in Linux", "x-source" = "RFC 8511, section 3: 0.8"))]
    pub beta_ecn: Option<Factor>,
    /// Connections that this one stands for: it reduces and grows like this many that share its window.
    #[schemars(
        range(min = 1, max = 16),
        extend("x-source" = "Linux has none (1); Chromium's QUIC: kDefaultNumConnections = 2")
    )]
    pub emulated_connections: u32,
    /// Packets by which the window grows per round trip above the slow-start threshold.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "tcp_reno_cong_avoid: 1"))]
    pub increase: u32,
    /// Smallest slow-start threshold in packets.
    #[schemars(range(min = 1, max = 2_147_483_646), extend("x-unit" = "packets", "x-source" = "tcp_reno_ssthresh: 2"))]
    pub min_ssthresh: u32,
    /// Most packets that one ACK may add in slow start; absent is no limit, as in Linux.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "RFC 3465, L"))]
    pub stretch_limit: Option<u32>,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            beta: Factor::new(512),
            beta_ecn: None,
            emulated_connections: 1,
            increase: 1,
            min_ssthresh: 2,
            stretch_limit: None,
        }
    }
}

impl ParameterSet for Parameters {}

/// The Reno controller (`tcp_reno` of Linux 6.18).
#[derive(Clone, Debug)]
pub struct Reno {
    name: Arc<str>,
    parameters: Arc<Parameters>,
}

impl Reno {
    /// A controller with these constants. Flows with the same constants can share them.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Reno {
        Reno { name: Reno::EXACT_NAME.into(), parameters: parameters.into() }
    }
}

impl Algorithm for Reno {
    type Parameters = Parameters;
    const NAME: &str = "reno";
    const EXACT_NAME: &str = "reno-linux-6.18";
    const SUMMARY: &str = "Reno: one packet more per round trip, half the window less per loss";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_cong.c; RFC 5681";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Reno {
        Reno { name: exact_name, ..Reno::new(parameters) }
    }
}

impl Controller for Reno {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn needs(&self) -> Needs {
        Needs { marks: self.parameters.beta_ecn.is_some(), ..Needs::NONE }
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        let Parameters { beta, beta_ecn, emulated_connections, .. } = *self.parameters;
        let beta = beta_ecn.filter(|_| view.marked).unwrap_or(beta).of_one_in(emulated_connections);
        beta.share_of(control.cwnd).max(self.parameters.min_ssthresh)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        let mut acked = acked;
        if control.in_slow_start() {
            acked = control.slow_start(view, self.parameters.stretch_limit.map_or(acked, |limit| acked.min(limit)));
            if acked == 0 {
                return;
            }
        }
        let increase = self.parameters.increase.saturating_mul(self.parameters.emulated_connections);
        control.additive_increase(view, (control.cwnd / increase).max(1), acked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;

    fn reno() -> Reno {
        Reno::new(Parameters::default())
    }

    #[test]
    fn the_window_grows_by_one_packet_per_round_whatever_the_ack_ratio() {
        for acked in [1, 2, 4, 10] {
            let mut c = Side::limited(20, 10);
            let mut reno = reno();
            for round in 0..10 {
                let mut left = c.control.cwnd;
                while left > 0 {
                    let n = left.min(acked);
                    reno.cong_avoid(&c.view, &mut c.control, n);
                    left -= n;
                }
                assert_eq!(c.control.cwnd, 21 + round, "{acked} packets per ACK");
            }
        }
    }

    #[test]
    fn slow_start_doubles_per_round_and_hands_the_rest_to_avoidance() {
        let mut c = Side::limited(10, 16);
        reno().cong_avoid(&c.view, &mut c.control, 10);
        assert_eq!((c.control.cwnd, c.control.cwnd_cnt), (16, 4));
    }

    #[test]
    fn a_loss_halves_the_window_but_never_below_two_packets() {
        for (cwnd, ssthresh) in [(21, 10), (100, 50), (3, 2), (1, 2)] {
            let c = Side::limited(cwnd, 50);
            assert_eq!(reno().ssthresh(&c.view, &c.control), ssthresh);
        }
    }

    #[test]
    fn marks_alone_leave_the_share_that_is_meant_for_them_and_a_loss_leaves_half() {
        let abe = Parameters { beta_ecn: Some(Factor::new(819)), ..Parameters::default() };
        for (parameters, after_marks) in [(Parameters::default(), 50), (abe.clone(), 79)] {
            let mut reno = Reno::new(parameters);
            let mut c = Side::limited(100, 50);
            assert_eq!(reno.ssthresh(&c.view, &c.control), 50);
            c.view.marked = true;
            assert_eq!(reno.ssthresh(&c.view, &c.control), after_marks);
            c.control.cwnd = 2;
            assert_eq!(reno.ssthresh(&c.view, &c.control), 2, "never below two packets");
        }
        assert!(Reno::new(abe).needs().marks && !reno().needs().marks);
    }

    #[test]
    fn two_emulated_connections_lose_a_quarter_and_grow_by_two_packets() {
        let mut reno = Reno::new(Parameters { emulated_connections: 2, ..Parameters::default() });
        let c = Side::limited(100, 50);
        assert_eq!(reno.ssthresh(&c.view, &c.control), 75);
        let mut c = Side::limited(20, 10);
        for _ in 0..20 {
            reno.cong_avoid(&c.view, &mut c.control, 1);
        }
        assert_eq!(c.control.cwnd, 22);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut c = Side::limited(20, 10);
        c.view.cwnd_limited = false;
        c.view.max_packets_out = 5;
        reno().cong_avoid(&c.view, &mut c.control, 20);
        assert_eq!((c.control.cwnd, c.control.cwnd_cnt), (20, 0));
    }

    #[test]
    fn a_stretch_limit_caps_slow_start_per_ack() {
        let mut c = Side::limited(10, 100);
        Reno::new(Parameters { stretch_limit: Some(2), ..Parameters::default() }).cong_avoid(
            &c.view,
            &mut c.control,
            8,
        );
        assert_eq!(c.control.cwnd, 12);
    }
}
