//! Vegas (Brakmo and Peterson, 1995; Linux's `tcp_vegas.c`): keeps a few packets of its own in the queue.
//!
//! Once a round the window is compared with what the smallest round-trip time ever would need. Fewer than `alpha`
//! packets too many: one more; more than `beta`: one less. It keeps queues short where all flows do so, and starves
//! beside loss-based ones. The comparison divides by the smallest round-trip time, so it exceeds the number of queued
//! packets where the queue is long. Windows that are not used grow as well, as in the kernel.

use super::arithmetic::scaled;
use super::round::Round;
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Event, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`Vegas`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// With fewer packets than this in the queue the window grows.
    #[schemars(extend("x-at-most" = "beta", "x-source" = "tcp_vegas.c: alpha"))]
    pub alpha: u32,
    /// With more packets than this in the queue the window shrinks.
    #[schemars(extend("x-source" = "tcp_vegas.c: beta"))]
    pub beta: u32,
    /// With more packets than this in the queue slow start ends.
    #[schemars(extend("x-source" = "tcp_vegas.c: gamma"))]
    pub gamma: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { alpha: 2, beta: 4, gamma: 1 }
    }
}

impl ParameterSet for Parameters {}

/// The Vegas controller.
#[derive(Clone, Debug)]
pub struct Vegas {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    round: Round,
}

impl Vegas {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Vegas {
        Vegas { name: Vegas::EXACT_NAME.into(), parameters: parameters.into(), round: Round::default() }
    }

    /// The decision at the end of a round.
    fn judge(&self, view: &View, control: &mut Control, acked: u32) {
        let Parameters { alpha, beta, gamma } = *self.parameters;
        let Round { base_us, min_us, .. } = self.round;
        let target = scaled(control.cwnd, base_us, min_us);
        let excess = scaled(control.cwnd, self.round.queueing_us(), base_us);
        if control.in_slow_start() {
            if excess > gamma {
                control.cwnd = control.cwnd.min(target.saturating_add(1));
                control.ssthresh = control.ssthresh.min(control.cwnd);
            } else {
                control.slow_start(view, acked);
            }
        } else if excess > beta {
            control.cwnd -= 1;
            control.ssthresh = control.ssthresh.min(control.cwnd);
        } else if excess < alpha {
            control.cwnd += 1;
        }
        control.cwnd = control.cwnd.min(view.cwnd_clamp).max(2);
        control.ssthresh = control.current_ssthresh();
    }
}

impl Algorithm for Vegas {
    type Parameters = Parameters;
    const NAME: &str = "vegas";
    const EXACT_NAME: &str = "vegas-linux-6.18";
    const SUMMARY: &str =
        "Vegas: two to four packets in the queue, by delay alone; for paths without loss-based competitors";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_vegas.c; Brakmo and Peterson, JSAC 1995";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Vegas {
        Vegas { name: exact_name, ..Vegas::new(parameters) }
    }
}

impl Controller for Vegas {
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
        control.half()
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !self.round.is_enabled {
            return control.grow_like_reno(view, acked);
        }
        if self.round.is_over(view) {
            if self.round.has_enough_samples() {
                self.judge(view, control, acked);
            } else {
                control.grow_like_reno(view, acked);
            }
            self.round.begin(view);
        } else if control.in_slow_start() {
            control.slow_start(view, acked);
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
        vec![Cow::Borrowed("base_rtt_ms")]
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        values[0] = self.round.base_ms();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    /// In congestion avoidance with this window after a round of 50 ms.
    fn settled(cwnd: u32) -> (Vegas, Side) {
        let mut vegas = Vegas::new(Parameters::default());
        let mut c = Side::limited(cwnd, 10);
        vegas.init(&c.view, &mut c.control);
        round(&mut vegas, &mut c, 50_000);
        c.control.cwnd = cwnd;
        (vegas, c)
    }

    #[test]
    fn a_round_with_fewer_than_two_packets_queued_adds_one_and_with_more_than_four_removes_one() {
        // Of 50 packets one is a millisecond. The verdict on a round comes with the first ACK of the next.
        for (rtt_us, change) in [(50_000, 1), (51_900, 1), (52_100, 0), (54_900, 0), (55_100, -1), (80_000, -1)] {
            let (mut vegas, mut c) = settled(50);
            round(&mut vegas, &mut c, rtt_us);
            c.control.cwnd = 50;
            round(&mut vegas, &mut c, rtt_us);
            assert_eq!(i64::from(c.control.cwnd) - 50, change, "{rtt_us} us");
        }
    }

    #[test]
    fn slow_start_ends_one_packet_above_what_the_smallest_round_trip_time_needs() {
        let mut vegas = Vegas::new(Parameters::default());
        let mut c = Side::limited(10, Control::INFINITE_SSTHRESH);
        vegas.init(&c.view, &mut c.control);
        round(&mut vegas, &mut c, 50_000);
        assert_eq!(c.control.cwnd, 20, "doubles in every round");
        for rtt_us in [50_000, 100_000, 100_000] {
            round(&mut vegas, &mut c, rtt_us);
        }
        assert!(!c.control.in_slow_start());
        assert_eq!(c.control.cwnd, 41, "half of 80, and one");
    }

    #[test]
    fn a_longer_path_without_idle_time_is_taken_for_a_queue_until_the_window_is_small() {
        let (mut vegas, mut c) = settled(60);
        for _ in 0..100 {
            round(&mut vegas, &mut c, 75_000);
        }
        assert_eq!(c.control.cwnd, 10, "half of it counts as queued, four packets after cutting off");
        c.control.cwnd = 60;
        vegas.event(&c.view, &mut c.control, Event::TxStart);
        for _ in 0..5 {
            round(&mut vegas, &mut c, 75_000);
        }
        assert!(c.control.cwnd >= 63, "idle time forgets the old path: {}", c.control.cwnd);
    }

    #[test]
    fn outside_of_open_it_is_reno() {
        let (mut vegas, mut c) = settled(50);
        vegas.set_state(&c.view, &mut c.control, CaState::Disorder);
        c.control.cwnd_cnt = 0;
        round(&mut vegas, &mut c, 500_000);
        assert_eq!(c.control.cwnd, 51);
        assert_eq!(vegas.ssthresh(&c.view, &c.control), 25);
    }
}
