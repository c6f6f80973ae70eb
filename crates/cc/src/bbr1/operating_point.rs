//! The operating point: gains, the pacing rate, and the amount in flight that follow from the model.

use super::model::{Core, Mode, OperatingPoint, State};
use super::rules::Rules;
use crate::basis::Basis;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, View};

impl Core {
    /// Moves to the operating point of the present model: sets gains, pacing rate and the window's target.
    #[inline]
    pub(super) fn set_operating_point<R: Rules>(&mut self, rules: &mut R, view: &View, control: &mut Control, bw: u32) {
        if self.basis(view, control, bw) != self.operating_point.basis {
            self.move_operating_point(rules, view, control, bw);
        }
        debug_assert_eq!(self.target(), self.window_target(rules, view, control, bw), "the basis lacks something");
    }

    /// Asks for another operating point with the next ACK, whether its basis changes or not.
    pub fn unsettle(&mut self) {
        self.operating_point.basis.invalidate();
    }

    #[inline]
    fn basis(&self, view: &View, control: &Control, bw: u32) -> Basis<State> {
        Basis::new(view, control, bw, self.model_rtt_us, self.aggregation.largest, self.state)
    }

    #[inline(never)]
    fn move_operating_point<R: Rules>(&mut self, rules: &mut R, view: &View, control: &mut Control, bw: u32) {
        self.update_gains(rules);
        self.set_pacing_rate(rules, view, control, bw, self.pacing_gain);
        let target = self.window_target(rules, view, control, bw);
        // With the rate as it is now: setting it once more would change nothing, unless it is a makeshift.
        self.operating_point = OperatingPoint { basis: self.basis(view, control, bw), target };
        if self.pacing.is_nominal {
            self.unsettle();
        }
    }

    /// Sets the gains of the present mode and phase.
    pub fn update_gains<R: Rules>(&mut self, rules: &mut R) {
        let parameters = &self.parameters;
        let (pacing, window) = match self.state.mode {
            Mode::Startup => (parameters.startup_pacing_gain, parameters.startup_window_gain),
            Mode::Drain => (parameters.drain_gain, parameters.startup_window_gain),
            Mode::ProbeBw => {
                let pacing = if self.state.policed { self.cycle.policed_gain } else { self.cycle.gain };
                (pacing, parameters.steady_window_gain)
            }
            Mode::ProbeRtt => (Gain::ONE, Gain::ONE),
        };
        self.pacing_gain = pacing;
        self.cwnd_gain = rules.window_gain(self.state.mode, window);
    }

    /// The window to grow to, in packets.
    #[inline]
    pub(super) fn target(&self) -> u32 {
        self.operating_point.target
    }
}
