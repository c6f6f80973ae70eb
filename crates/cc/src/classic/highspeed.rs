//! HighSpeed TCP (RFC 3649; Linux's `tcp_highspeed.c`): the larger the window, the more it grows and the less it loses.
//!
//! Up to 38 packets it is Reno. Above, a table gives the packets that a round adds and the share that a loss takes, so
//! that a window of 83,000 packets needs a loss rate of 10⁻⁷ where Reno would need 2·10⁻¹⁰. For very fast long paths.
//! The growth counts ACKs and not segments, as in the kernel: with one ACK for two segments it is half as fast.

use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, Control, Controller, Hooks, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Row `i`: the largest window for which a round adds `i + 1` packets, and what a loss takes, in 1/256
/// (`hstcp_aimd_vals`; RFC 3649, appendix B).
#[rustfmt::skip]
const ROWS: [(u32, u32); 72] = [
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83),
    (1284, 81), (1529, 78), (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68),
    (3778, 66), (4177, 65), (4596, 64), (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58),
    (7558, 57), (8130, 56), (8726, 55), (9346, 54), (9991, 53), (10661, 52), (11358, 52), (12082, 51),
    (12834, 50), (13614, 49), (14424, 48), (15265, 48), (16137, 47), (17042, 46), (17981, 45), (18955, 45),
    (19965, 44), (21013, 43), (22101, 43), (23230, 42), (24402, 41), (25618, 41), (26881, 40), (28193, 39),
    (29557, 39), (30975, 38), (32450, 38), (33986, 37), (35586, 36), (37253, 36), (38992, 35), (40808, 35),
    (42707, 34), (44694, 33), (46776, 33), (48961, 32), (51258, 32), (53677, 31), (56230, 30), (58932, 30),
    (61799, 29), (64851, 28), (68113, 28), (71617, 27), (75401, 26), (79517, 26), (84035, 25), (89053, 24),
];

/// Constants of [`HighSpeed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Windows of at most this many packets grow and shrink as Reno's.
    #[schemars(range(min = 1), extend("x-source" = "RFC 3649: Low_Window = 38"))]
    pub low_window: u32,
    /// The growth counts ACKs, as Linux does, or segments, as the RFC means it.
    #[schemars(extend("x-source" = "hstcp_cong_avoid: snd_cwnd_cnt += ai + 1"))]
    pub counts_acks: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { low_window: 38, counts_acks: true }
    }
}

impl ParameterSet for Parameters {}

/// The HighSpeed controller.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    /// Row of the table (`ai`).
    row: usize,
}

impl HighSpeed {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> HighSpeed {
        HighSpeed { name: HighSpeed::EXACT_NAME.into(), parameters: parameters.into(), row: 0 }
    }

    /// The row with `ROWS[row - 1] < cwnd <= ROWS[row]`, from the last one on: windows change by little.
    fn find_row(&mut self, cwnd: u32) {
        if cwnd <= self.parameters.low_window {
            self.row = 0;
            return;
        }
        while self.row + 1 < ROWS.len() && cwnd > ROWS[self.row].0 {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= ROWS[self.row - 1].0 {
            self.row -= 1;
        }
    }
}

impl Algorithm for HighSpeed {
    type Parameters = Parameters;
    const NAME: &str = "highspeed";
    const EXACT_NAME: &str = "highspeed-linux-6.18";
    const SUMMARY: &str = "HighSpeed TCP: the larger the window, the more a round adds and the less a loss takes; for very fast long paths";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_highspeed.c; RFC 3649";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> HighSpeed {
        HighSpeed { name: exact_name, ..HighSpeed::new(parameters) }
    }
}

impl Controller for HighSpeed {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {}

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most half of the window")]
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        let reduction = u64::from(control.cwnd) * u64::from(ROWS[self.row].1) / 256;
        (control.cwnd - reduction as u32).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        if control.in_slow_start() {
            control.slow_start(view, acked);
            return;
        }
        self.find_row(control.cwnd);
        if control.cwnd < view.cwnd_clamp {
            #[expect(clippy::cast_possible_truncation, reason = "72 rows")]
            let packets = self.row as u32 + 1;
            control.cwnd_cnt += packets * if self.parameters.counts_acks { 1 } else { acked };
            while control.cwnd_cnt >= control.cwnd {
                control.cwnd_cnt -= control.cwnd;
                control.cwnd += 1;
            }
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["increase_packets", "decrease"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        #[expect(clippy::cast_precision_loss, reason = "72 rows")]
        let increase = (self.row + 1) as f64;
        values.copy_from_slice(&[increase, f64::from(ROWS[self.row].1) / 256.0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, grow_for_rounds};

    /// Growth in a round and threshold at this window.
    fn at(cwnd: u32) -> (u32, u32) {
        let mut highspeed = HighSpeed::new(Parameters::default());
        let mut c = Side::limited(cwnd, 10);
        grow_for_rounds(&mut highspeed, &mut c, 1);
        let growth = c.control.cwnd - cwnd;
        c.control.cwnd = cwnd;
        (growth, highspeed.ssthresh(&c.view, &c.control))
    }

    #[test]
    fn at_10_000_packets_a_round_adds_29_and_a_loss_takes_21_percent() {
        let (growth, ssthresh) = at(10_000);
        assert!((29..=30).contains(&growth), "{growth}");
        assert!((0.2..=0.215).contains(&(1.0 - f64::from(ssthresh) / 1e4)), "{ssthresh}");
    }

    #[test]
    fn up_to_38_packets_it_is_reno() {
        assert_eq!(at(30), (1, 15));
        assert_eq!(at(38), (1, 19));
        let (growth, ssthresh) = at(60);
        assert!((1..=2).contains(&growth), "two packets for 60 ACKs and then 61: {growth}");
        assert_eq!(ssthresh, 34);
    }

    /// RFC 3649, section 5: a(W) = W² p(W) 2 b(W)/(2 − b(W)) with p = 0.078/W^1.2.
    #[test]
    fn the_rows_are_those_of_the_formula() {
        for (row, (cwnd, decrease)) in ROWS.into_iter().enumerate().skip(1) {
            let w = f64::from(cwnd);
            let b = 0.5 - 0.4 * (w.ln() - 38f64.ln()) / (83_000f64.ln() - 38f64.ln());
            let a = w * w * 0.078 / w.powf(1.2) * 2.0 * b / (2.0 - b);
            assert!((a - (row as f64 + 1.0)).abs() <= 0.05 * a + 0.15, "row {row}: a = {a}");
            assert!((b - f64::from(decrease) / 256.0).abs() < 0.01, "row {row}: b = {b}");
        }
    }

    #[test]
    fn the_row_of_a_window_is_found_from_any_other_and_the_last_one_has_no_end() {
        let mut highspeed = HighSpeed::new(Parameters::default());
        for before in [0, 118, 40_000, u32::MAX] {
            for (cwnd, row) in [(38, 0), (39, 1), (118, 1), (119, 2), (10_661, 29), (10_662, 30), (u32::MAX, 71)] {
                highspeed.find_row(before);
                highspeed.find_row(cwnd);
                assert_eq!(highspeed.row, row, "{cwnd} after {before}");
            }
        }
    }

    #[test]
    fn segments_count_on_request() {
        let mut growth = [true, false].map(|counts_acks| {
            let mut highspeed = HighSpeed::new(Parameters { counts_acks, ..Parameters::default() });
            let mut c = Side::limited(1_000, 10);
            for _ in 0..500 {
                highspeed.cong_avoid(&c.view, &mut c.control, 2);
            }
            c.control.cwnd - 1_000
        });
        growth.sort_unstable();
        assert_eq!(growth, [3, 7]);
    }
}
