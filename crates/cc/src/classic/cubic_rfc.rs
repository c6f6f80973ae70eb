//! CUBIC as RFC 9438 has it, in real numbers, with HyStart++ (RFC 9406).
//!
//! Linux differs: it looks ahead by the smallest round-trip time and not the smoothed one, adds at most one packet for
//! two acknowledged, never raises Reno's slope to one packet, forgets everything at a timeout, and creeps at the
//! plateau. What other stacks (Windows, FreeBSD, QUIC libraries) do lies between the two.

use super::arithmetic::sample_us;
use super::fraction::Fraction;
use super::hystart_pp::HystartPlusPlus;
use dumbbell_cc_contract::parameters::ParameterSet;
use dumbbell_cc_contract::{Algorithm, CaState, Control, Controller, Event, Hooks, Needs, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Constants of [`CubicRfc`]; the defaults are the RFC's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Steepness of the curve in packets/s³.
    #[schemars(range(min = 0.001, max = 1000), extend("x-source" = "RFC 9438, section 5: C = 0.4"))]
    pub c: f64,
    /// Share of the window that remains after a loss.
    #[schemars(range(min = 0.1, max = 0.99), extend("x-source" = "RFC 9438, section 4.6: 0.7"))]
    pub beta: f64,
    /// Share of the window that remains where marks alone are the reason, and no loss. Needs `ecn`.
    #[schemars(range(min = 0.1, max = 0.99), extend("x-default" = "`beta`", "x-source" = "RFC 8511, section 3.1: 0.85"))]
    pub beta_ecn: Option<f64>,
    /// A loss below the previous maximum lowers the remembered maximum further, releasing bandwidth to newcomers.
    #[schemars(extend("x-source" = "RFC 9438, section 4.7"))]
    pub fast_convergence: bool,
    /// Grow at least as fast as Reno would.
    #[schemars(extend("x-source" = "RFC 9438, section 4.3"))]
    pub reno_friendliness: bool,
    /// Leave the first slow start by delay.
    #[schemars(extend("x-source" = "RFC 9406"))]
    pub hystart_plus_plus: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            c: 0.4,
            beta: 0.7,
            beta_ecn: None,
            fast_convergence: true,
            reno_friendliness: true,
            hystart_plus_plus: true,
        }
    }
}

impl ParameterSet for Parameters {}

/// The curve of an epoch, which begins with congestion avoidance.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// Window at the last loss, lowered by fast convergence; 0 before the first.
    w_max: f64,
    /// Window before the last reduction.
    prior: f64,
    /// Time from the epoch's begin to `w_max` in seconds.
    k: f64,
    /// When the epoch began, in microseconds.
    epoch_us: Option<u64>,
    /// Reno's estimate.
    reno: f64,
    /// The next epoch follows a timeout.
    after_timeout: bool,
}

/// The RFC 9438 controller.
#[derive(Clone, Debug)]
pub struct CubicRfc {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    curve: Curve,
    /// The curve before the last reduction, in case that proves spurious.
    before: Curve,
    fraction: Fraction,
    hystart: HystartPlusPlus,
}

impl CubicRfc {
    /// A controller with these constants.
    pub fn new(parameters: impl Into<Arc<Parameters>>) -> CubicRfc {
        CubicRfc {
            name: CubicRfc::EXACT_NAME.into(),
            parameters: parameters.into(),
            curve: Curve::default(),
            before: Curve::default(),
            fraction: Fraction::default(),
            hystart: HystartPlusPlus::default(),
        }
    }

    fn begin_epoch(&mut self, now_us: u64, window: f64) {
        let curve = &mut self.curve;
        curve.epoch_us = Some(now_us);
        curve.reno = window;
        if std::mem::take(&mut curve.after_timeout) || curve.w_max <= window {
            curve.k = 0.0;
            curve.w_max = window;
        } else {
            curve.k = libm::cbrt((curve.w_max - window) / self.parameters.c);
        }
    }

    /// The curve's window so long after the epoch began.
    fn at(&self, t_s: f64) -> f64 {
        let offset = t_s - self.curve.k;
        self.parameters.c * offset * offset * offset + self.curve.w_max
    }

    fn avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        let window = self.fraction.window(control);
        if self.curve.epoch_us.is_none() {
            self.begin_epoch(view.mstamp_us, window);
        }
        let elapsed_us = view.mstamp_us.saturating_sub(self.curve.epoch_us.unwrap_or(view.mstamp_us));
        #[expect(clippy::cast_precision_loss, reason = "microseconds of an epoch")]
        let t = elapsed_us as f64 * 1e-6;
        let rtt = f64::from(view.srtt_us_x8) / 8e6;
        let acked = f64::from(acked);
        let target = self.at(t + rtt).clamp(window, 1.5 * window);
        let mut change = acked * (target - window) / window;
        if self.parameters.reno_friendliness {
            let beta = self.parameters.beta;
            let slope = if self.curve.reno >= self.curve.prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
            self.curve.reno += slope * acked / window;
            if self.at(t) < self.curve.reno {
                change = change.max(self.curve.reno - window);
            }
        }
        self.fraction.change(control, change.max(0.0), 2, view.cwnd_clamp);
    }
}

impl Algorithm for CubicRfc {
    type Parameters = Parameters;
    const NAME: &str = "cubic-rfc";
    const EXACT_NAME: &str = "cubic-rfc9438";
    const SUMMARY: &str = "CUBIC in the RFC's own terms with HyStart++; for comparing other stacks' CUBIC with Linux's";
    const SOURCE: &str = "RFC 9438; RFC 9406";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, _: Rng, exact_name: Arc<str>) -> CubicRfc {
        CubicRfc { name: exact_name, ..CubicRfc::new(parameters) }
    }
}

impl Controller for CubicRfc {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, _view: &View, _control: &mut Control) {
        if !self.parameters.hystart_plus_plus {
            self.hystart.end();
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn needs(&self) -> Needs {
        Needs { marks: self.parameters.beta_ecn.is_some(), ..Needs::NONE }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the window")]
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.before = self.curve;
        self.hystart.end();
        let window = self.fraction.window(control);
        let Parameters { beta, beta_ecn, .. } = *self.parameters;
        let beta = beta_ecn.filter(|_| view.marked).unwrap_or(beta);
        let converges = self.parameters.fast_convergence && window < self.curve.w_max;
        self.curve.w_max = if converges { window * (1.0 + beta) / 2.0 } else { window };
        self.curve.prior = window;
        self.curve.epoch_us = None;
        self.fraction = Fraction::default();
        ((window * beta) as u32).max(2)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !view.is_cwnd_limited(control) {
            return;
        }
        let acked = if control.in_slow_start() { self.hystart.slow_start(view, control, acked) } else { acked };
        if acked > 0 && !control.in_slow_start() {
            self.avoid(view, control, acked);
        }
    }

    fn pkts_acked(&mut self, view: &View, control: &mut Control, _acked: u32, rtt_us: i64, _in_flight: u32) {
        if control.in_slow_start()
            && let Some(rtt_us) = sample_us(rtt_us)
        {
            self.hystart.sample(view, control, rtt_us);
        }
    }

    fn set_state(&mut self, _view: &View, _control: &mut Control, next: CaState) {
        if next == CaState::Loss {
            self.curve.after_timeout = true;
            self.curve.epoch_us = None;
            self.fraction = Fraction::default();
        }
    }

    fn event(&mut self, view: &View, _control: &mut Control, event: Event) {
        if event == Event::TxStart
            && let Some(epoch_us) = &mut self.curve.epoch_us
        {
            // The curve stands still while the application is silent.
            let idle_us = view.mstamp_us.saturating_sub(view.last_sent.as_micros());
            *epoch_us = (*epoch_us + idle_us).min(view.mstamp_us);
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.curve = self.before;
        control.cwnd.max(view.prior_cwnd)
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["w_max_packets", "k_s", "reno_cwnd_packets", "conservative"].map(Cow::Borrowed).to_vec()
    }

    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let conservative = f64::from(u8::from(self.hystart.is_conservative()));
        values.copy_from_slice(&[self.curve.w_max, self.curve.k, self.curve.reno, conservative]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Side;
    use dumbbell_units::Duration;

    /// After a loss at this window, without Reno's estimate.
    fn after_loss(w_max: u32, parameters: Parameters) -> (CubicRfc, Side) {
        let mut cubic = CubicRfc::new(parameters);
        let mut c = Side::limited(w_max, 10);
        cubic.init(&c.view, &mut c.control);
        c.control.ssthresh = cubic.ssthresh(&c.view, &c.control);
        c.control.cwnd = c.control.ssthresh;
        (cubic, c)
    }

    #[test]
    fn the_window_is_on_the_rfc_s_curve() {
        let parameters = Parameters { reno_friendliness: false, ..Parameters::default() };
        let (mut cubic, mut c) = after_loss(100, parameters);
        for (second, expected) in [(1, 86.7), (2, 95.6), (3, 99.3), (4, 100.0), (5, 100.2), (6, 102.3), (8, 121.7)] {
            while c.view.mstamp_us < second * 1_000_000 {
                c.pass(Duration::from_millis(20));
                let cwnd = c.control.cwnd;
                cubic.cong_avoid(&c.view, &mut c.control, cwnd);
            }
            let window = cubic.fraction.window(&c.control);
            assert!((window - expected).abs() < 0.5 + 0.01 * expected, "{second} s: {window}, expected {expected}");
        }
    }

    #[test]
    fn renos_slope_is_0_53_below_the_old_window_and_one_above() {
        let (mut cubic, mut c) = after_loss(20, Parameters::default());
        let mut grown = Vec::new();
        for _ in 0..40 {
            c.pass(Duration::from_millis(1));
            let before = cubic.curve.reno;
            let cwnd = c.control.cwnd;
            cubic.cong_avoid(&c.view, &mut c.control, cwnd);
            grown.push(cubic.curve.reno - before.max(14.0));
        }
        assert!((grown[5] - 0.529).abs() < 0.03, "{grown:?}");
        assert!((grown[39] - 1.0).abs() < 0.05, "{grown:?}");
    }

    #[test]
    fn a_second_loss_at_a_smaller_window_lowers_the_maximum_to_0_85_of_it_and_an_undo_restores_the_first() {
        let (mut cubic, mut c) = after_loss(100, Parameters::default());
        c.control.cwnd = 80;
        assert_eq!(cubic.ssthresh(&c.view, &c.control), 56);
        assert!((cubic.curve.w_max - 68.0).abs() < 1e-9);
        c.view.prior_cwnd = 80;
        assert_eq!(cubic.undo_cwnd(&c.view, &c.control), 80);
        assert!((cubic.curve.w_max - 100.0).abs() < 1e-9);
    }

    #[test]
    fn marks_alone_leave_the_share_that_is_meant_for_them() {
        let (mut cubic, mut c) = after_loss(100, Parameters { beta_ecn: Some(0.85), ..Parameters::default() });
        assert_eq!(c.control.cwnd, 70, "after a loss");
        c.control.cwnd = 80;
        c.view.marked = true;
        assert_eq!(cubic.ssthresh(&c.view, &c.control), 68);
        assert!((cubic.curve.w_max - 80.0 * 1.85 / 2.0).abs() < 1e-9);
        assert!(cubic.needs().marks);
    }

    #[test]
    fn after_a_timeout_the_curve_begins_at_its_plateau() {
        let (mut cubic, mut c) = after_loss(100, Parameters::default());
        cubic.ssthresh(&c.view, &c.control);
        cubic.set_state(&c.view, &mut c.control, CaState::Loss);
        (c.control.cwnd, c.control.ssthresh) = (49, 49);
        cubic.cong_avoid(&c.view, &mut c.control, 1);
        assert!(cubic.curve.k == 0.0 && (cubic.curve.w_max - 49.0).abs() < 1e-9);
    }
}
