//! The operating point: gains, the pacing rate, and the amounts in flight that follow from the model.

use super::model::{Bbr2, Mode, OperatingPoint, Phase};
use crate::basis::Basis;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, View};

impl Bbr2 {
    /// Moves to the operating point of the present model: sets gains, pacing rate and the window's target.
    #[inline]
    pub(super) fn set_operating_point(&mut self, view: &View, control: &mut Control) {
        if self.basis(view, control) != self.operating_point.basis {
            self.move_operating_point(view, control);
        }
        debug_assert_eq!(self.window_target(), self.compute_window_target(view, control), "the basis lacks something");
    }

    #[inline]
    fn basis(&self, view: &View, control: &Control) -> Basis<(Mode, Phase, bool)> {
        let state = (self.mode, self.phase, self.full_pipe.reached);
        Basis::new(view, control, self.bw(), self.min_rtt.rtt_us.into(), self.aggregation.largest, state)
    }

    #[inline(never)]
    fn move_operating_point(&mut self, view: &View, control: &mut Control) {
        self.update_gains();
        self.set_pacing_rate(view, control, self.bw(), self.pacing_gain);
        // With the rate as it is now: setting it once more would change nothing, unless it is a makeshift.
        self.operating_point = OperatingPoint {
            basis: self.basis(view, control),
            window_target: self.compute_window_target(view, control),
            one_bdp: self.compute_one_bdp(view, control),
        };
        if self.pacing.is_nominal {
            self.operating_point.basis.invalidate();
        }
    }

    pub(super) fn update_gains(&mut self) {
        let p = &self.parameters;
        (self.pacing_gain, self.cwnd_gain) = match (self.mode, self.phase) {
            (Mode::Startup, _) => (p.startup_pacing_gain, p.startup_window_gain),
            (Mode::Drain, _) => (p.drain_gain, p.startup_window_gain),
            (Mode::ProbeBw, Phase::Up) => (p.up_pacing_gain, p.up_window_gain),
            (Mode::ProbeBw, Phase::Down) => (p.down_pacing_gain, p.steady_window_gain),
            (Mode::ProbeBw, Phase::Cruise | Phase::Refill) => (p.cruise_pacing_gain, p.steady_window_gain),
            (Mode::ProbeRtt, _) => (Gain::ONE, Gain::ONE),
        };
    }

    /// The window to grow to, in packets.
    #[inline]
    pub(super) fn window_target(&self) -> u32 {
        self.operating_point.window_target
    }

    /// The amount in flight for one BDP with the present model, which may have changed since the operating point was
    /// set, in packets.
    #[inline]
    pub(super) fn one_bdp(&self, view: &View, control: &Control) -> u32 {
        if self.basis(view, control) == self.operating_point.basis {
            self.operating_point.one_bdp
        } else {
            self.compute_one_bdp(view, control)
        }
    }

    #[inline(never)]
    fn compute_one_bdp(&self, view: &View, control: &Control) -> u32 {
        if self.parameters.target_has_budget {
            self.inflight_target(view, control, self.bw(), Gain::ONE)
        } else {
            self.bdp(self.bw(), Gain::ONE)
        }
    }
}
