//! BIC (Xu, Harfoush and Rhee, 2004; Linux's `tcp_bic.c`): binary search for the window at which the last loss
//! happened.
//!
//! Below that window every round goes a quarter of the remaining distance, at most `max_increment` packets; near it the
//! window creeps, and beyond it the steps grow again. It was Linux's default from 2.6.8 to 2.6.18; CUBIC smoothed its
//! curve and made it independent of the round-trip time.
//!
//! The growth counts segments and divides by the measured segments of an ACK besides, as the kernel does: delayed ACKs
//! are compensated twice.

use super::arithmetic::scaled;
use dumbbell_cc_contract::parameters::{Factor, ParameterSet};
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Hooks, View};
use dumbbell_units::{Duration, Rng};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// `log2` of the scale of the delayed-ACK ratio (`ACK_RATIO_SHIFT`).
const ACK_RATIO_SHIFT: u32 = 4;
/// Two segments an ACK.
const INITIAL_ACK_RATIO: u32 = 2 << ACK_RATIO_SHIFT;

/// Constants of [`Bic`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Share of the window that remains after a loss.
    #[schemars(range(min = 0, max = 1), extend("x-source" = "tcp_bic.c: beta = 819/1024"))]
    pub beta: Factor,
    /// Windows of at most this many packets grow and shrink as Reno's.
    #[schemars(extend("x-source" = "tcp_bic.c: low_window"))]
    pub low_window: u32,
    /// Most packets that a round adds.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "tcp_bic.c: max_increment"))]
    pub max_increment: u32,
    /// A round goes one in this many of the remaining distance.
    #[schemars(range(min = 2, max = 1000), extend("x-source" = "BICTCP_B"))]
    pub search_divisor: u32,
    /// Near the window of the last loss, rounds for `search_divisor` packets.
    #[schemars(range(min = 1, max = 1000), extend("x-source" = "tcp_bic.c: smooth_part"))]
    pub smooth_part: u32,
    /// A loss below the previous maximum lowers the remembered maximum further, releasing bandwidth to newcomers.
    #[schemars(extend("x-source" = "tcp_bic.c: fast_convergence"))]
    pub fast_convergence: bool,
    /// Slow-start threshold of a new connection in packets; absent is infinite.
    #[schemars(range(min = 2), extend("x-source" = "tcp_bic.c: initial_ssthresh; some ports: 100"))]
    pub initial_ssthresh: Option<u32>,
    /// While the window does not change the growth is not determined more often than this.
    #[schemars(extend("x-source" = "bictcp_update: HZ / 32"))]
    pub update_interval: Duration,
    /// Before the first loss the window grows by at least one packet per this many acknowledged.
    #[schemars(range(min = 1), extend("x-source" = "bictcp_update: cnt <= 20"))]
    pub first_epoch_max_acks: u32,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            beta: Factor::new(819),
            low_window: 14,
            max_increment: 16,
            search_divisor: 4,
            smooth_part: 20,
            fast_convergence: true,
            initial_ssthresh: None,
            update_interval: Duration::from_micros(31_250),
            first_epoch_max_acks: 20,
        }
    }
}

impl ParameterSet for Parameters {}

/// The BIC controller.
#[derive(Clone, Debug)]
pub struct Bic {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// `update_interval` in ticks.
    update_ticks: i32,
    /// Acknowledged packets per increment of the window (`cnt`).
    count: u32,
    /// Window before the last reduction, lowered by fast convergence; 0 before the first one.
    last_max_cwnd: u32,
    /// Window when the growth was determined last.
    last_cwnd: u32,
    /// Tick at which the growth was determined last.
    last_time: u32,
    /// Segments an ACK covers, in 1/16 (`delayed_ack`).
    ack_ratio: u32,
}

impl Bic {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> Bic {
        Bic {
            name: Bic::EXACT_NAME.into(),
            parameters: parameters.into(),
            update_ticks: 0,
            count: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            ack_ratio: INITIAL_ACK_RATIO,
        }
    }

    fn reset(&mut self) {
        self.count = 0;
        self.last_max_cwnd = 0;
        self.last_cwnd = 0;
        self.last_time = 0;
        self.ack_ratio = INITIAL_ACK_RATIO;
    }

    /// Finds how many packets must be acknowledged for the window to grow by one (`bictcp_update`).
    fn update(&mut self, view: &View, cwnd: u32) {
        let ticks = view.jiffies.wrapping_sub(self.last_time).cast_signed();
        if self.last_cwnd == cwnd && ticks <= self.update_ticks {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = view.jiffies;
        if cwnd <= self.parameters.low_window {
            self.count = cwnd;
            return;
        }
        let mut count = self.search(cwnd);
        if self.last_max_cwnd == 0 {
            count = count.min(self.parameters.first_epoch_max_acks);
        }
        self.count = scaled(count, 1 << ACK_RATIO_SHIFT, self.ack_ratio).max(1);
    }

    /// How many packets must be acknowledged for the window to grow by one, if no ACK is delayed.
    fn search(&self, cwnd: u32) -> u32 {
        let Parameters { max_increment, search_divisor, smooth_part, .. } = *self.parameters;
        let creeping = scaled(cwnd, smooth_part, search_divisor);
        let fastest = cwnd / max_increment;
        if cwnd < self.last_max_cwnd {
            let distance = (self.last_max_cwnd - cwnd) / search_divisor;
            return match distance {
                0..=1 => creeping,
                _ if distance > max_increment => fastest,
                _ => cwnd / distance,
            };
        }
        let beyond = cwnd - self.last_max_cwnd;
        if beyond < search_divisor {
            creeping
        } else if beyond < max_increment * (search_divisor - 1) {
            scaled(cwnd, search_divisor - 1, beyond)
        } else {
            fastest
        }
    }
}

impl Algorithm for Bic {
    type Parameters = Parameters;
    const NAME: &str = "bic";
    const EXACT_NAME: &str = "bic-linux-6.18";
    const SUMMARY: &str =
        "BIC: binary search for the window of the last loss; for long fast paths, Linux's default before CUBIC";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_bic.c; Xu, Harfoush and Rhee, INFOCOM 2004";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> Bic {
        Bic { name: exact_name, ..Bic::new(parameters) }
    }
}

impl Controller for Bic {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.reset();
        self.update_ticks = i32::try_from(view.whole_ticks(self.parameters.update_interval)).unwrap_or(i32::MAX);
        if let Some(ssthresh) = self.parameters.initial_ssthresh {
            control.ssthresh = ssthresh;
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        let (cwnd, beta) = (control.cwnd, self.parameters.beta);
        let converges = cwnd < self.last_max_cwnd && self.parameters.fast_convergence;
        let one = Factor::ONE.numerator();
        self.last_max_cwnd = if converges { scaled(cwnd, one + beta.numerator(), 2 * one) } else { cwnd };
        if cwnd <= self.parameters.low_window { control.half() } else { beta.share_of(cwnd).max(2) }
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        let acked = control.slow_start_if_below(view, acked);
        if acked > 0 {
            self.update(view, control.cwnd);
            control.additive_increase(view, self.count, acked);
        }
    }

    fn pkts_acked(&mut self, view: &View, _control: &mut Control, acked: u32, _rtt_us: i64, _in_flight: u32) {
        if view.ca_state == CaState::Open {
            self.ack_ratio = (self.ack_ratio - (self.ack_ratio >> ACK_RATIO_SHIFT)).saturating_add(acked);
        }
    }

    fn set_state(&mut self, _view: &View, _control: &mut Control, next: CaState) {
        if next == CaState::Loss {
            self.reset();
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["w_max_packets", "segments_per_ack"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let ratio = f64::from(self.ack_ratio) / f64::from(1 << ACK_RATIO_SHIFT);
        values.copy_from_slice(&[f64::from(self.last_max_cwnd), ratio]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, grow_for_rounds};

    /// After a loss at `w_max`; the receiver acknowledges each segment.
    fn after_loss(w_max: u32) -> (Bic, Side) {
        let mut bic = Bic::new(Parameters::default());
        let mut c = Side::limited(w_max, 10);
        bic.init(&c.view, &mut c.control);
        bic.ack_ratio = 1 << ACK_RATIO_SHIFT;
        c.control.ssthresh = bic.ssthresh(&c.view, &c.control);
        c.control.cwnd = c.control.ssthresh;
        (bic, c)
    }

    #[test]
    fn after_a_loss_the_search_takes_steps_of_at_most_16_and_ends_in_quarters_of_the_distance() {
        let (mut bic, mut c) = after_loss(1000);
        assert_eq!(c.control.cwnd, 799);
        let mut steps = Vec::new();
        while c.control.cwnd < 999 && steps.len() < 100 {
            let before = c.control.cwnd;
            grow_for_rounds(&mut bic, &mut c, 1);
            let (step, distance) = (c.control.cwnd - before, 1000 - before);
            match distance {
                81.. => assert!((15..=17).contains(&step), "{distance} packets away: + {step}"),
                64..=80 => assert!((12..=17).contains(&step), "{distance} packets away: + {step}"),
                12..=63 => assert!(step <= distance / 4 + 1 && step >= distance / 6, "{distance} away: + {step}"),
                _ => assert!(step <= 2, "{distance} packets away: + {step}"),
            }
            steps.push(step);
        }
        assert_eq!(steps.len(), steps.len().min(50), "the plateau is reached: {steps:?}");
    }

    #[test]
    fn beyond_the_old_maximum_the_steps_grow_from_a_fifth_of_a_packet_to_16() {
        let (mut bic, mut c) = after_loss(1000);
        let step_at = |bic: &mut Bic, c: &mut Side, cwnd: u32| {
            c.control.cwnd = cwnd;
            c.control.cwnd_cnt = 0;
            grow_for_rounds(bic, c, 1);
            c.control.cwnd - cwnd
        };
        assert_eq!(step_at(&mut bic, &mut c, 1001), 0, "five rounds for a packet");
        assert!((5..=8).contains(&step_at(&mut bic, &mut c, 1018)), "a third of what lies behind");
        assert!((15..=17).contains(&step_at(&mut bic, &mut c, 1050)));
    }

    #[test]
    fn windows_of_up_to_14_packets_grow_and_shrink_as_renos() {
        let (mut bic, mut c) = after_loss(100);
        (c.control.cwnd, c.control.ssthresh) = (10, 5);
        grow_for_rounds(&mut bic, &mut c, 3);
        assert_eq!(c.control.cwnd, 13);
        assert_eq!(bic.ssthresh(&c.view, &c.control), 6);
        c.control.cwnd = 15;
        assert_eq!(bic.ssthresh(&c.view, &c.control), 11);
    }

    #[test]
    fn a_second_loss_at_a_smaller_window_lowers_the_remembered_maximum() {
        let (mut bic, mut c) = after_loss(100);
        c.control.cwnd = 90;
        bic.ssthresh(&c.view, &c.control);
        assert_eq!(bic.last_max_cwnd, 80, "0.9 of 90");
    }

    #[test]
    fn acks_of_two_segments_double_the_growth() {
        let (mut bic, mut c) = after_loss(1000);
        bic.ack_ratio = INITIAL_ACK_RATIO;
        grow_for_rounds(&mut bic, &mut c, 1);
        assert!((31..=33).contains(&(c.control.cwnd - 799)), "{}", c.control.cwnd);
    }

    #[test]
    fn a_timeout_forgets_the_old_maximum() {
        let (mut bic, mut c) = after_loss(1000);
        bic.set_state(&c.view, &mut c.control, CaState::Loss);
        assert_eq!(bic.last_max_cwnd, 0);
        c.control.cwnd = 100;
        grow_for_rounds(&mut bic, &mut c, 1);
        assert!(c.control.cwnd > 105, "at least 5 %: {}", c.control.cwnd);
    }
}
