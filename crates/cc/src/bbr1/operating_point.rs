//! The operating point: gains, the pacing rate, and the amount in flight that follow from the model.

use super::{Bbr1, Mode, State};
use crate::basis::Basis;
use crate::parameters::Gain;
use crate::{Control, View};

/// The operating point, kept for as long as its basis holds.
#[derive(Clone, Debug, Default)]
pub(super) struct OperatingPoint {
    basis: Basis<State>,
    /// The window to grow to, in packets.
    target: u32,
}

impl OperatingPoint {
    /// Asks for another one with the next ACK, whatever its basis.
    pub(super) fn unsettle(&mut self) {
        self.basis.invalidate();
    }
}

impl Bbr1 {
    /// Moves to the operating point of the present model: sets gains, pacing rate and the window's target.
    #[inline]
    pub(super) fn set_operating_point(&mut self, view: &View, control: &mut Control, bw: u32) {
        if self.basis(view, control, bw) != self.operating_point.basis {
            self.move_operating_point(view, control, bw);
        }
        debug_assert_eq!(self.target(), self.window_target(view, control, bw), "the basis lacks something");
    }

    #[inline]
    fn basis(&self, view: &View, control: &Control, bw: u32) -> Basis<State> {
        Basis::new(view, control, bw, self.min_rtt.model_us, self.aggregation.largest, self.state)
    }

    #[inline(never)]
    fn move_operating_point(&mut self, view: &View, control: &mut Control, bw: u32) {
        self.update_gains();
        self.set_pacing_rate(view, control, bw, self.pacing_gain);
        let target = self.window_target(view, control, bw);
        // With the rate as it is now: setting it once more would change nothing, unless it is a makeshift.
        self.operating_point = OperatingPoint { basis: self.basis(view, control, bw), target };
        if self.rate_is_nominal {
            self.operating_point.unsettle();
        }
    }

    pub(super) fn update_gains(&mut self) {
        let parameters = &self.parameters;
        (self.pacing_gain, self.cwnd_gain) = match self.state.mode {
            Mode::Startup => (parameters.startup_pacing_gain, parameters.startup_window_gain),
            Mode::Drain => (parameters.drain_gain, parameters.startup_window_gain),
            Mode::ProbeBw => {
                let pacing = if self.state.policed { Gain::ONE } else { self.cycle.gain };
                (pacing, parameters.steady_window_gain)
            }
            Mode::ProbeRtt => (Gain::ONE, Gain::ONE),
        };
        if self.recovery.unit_gain_in == Some(self.state.mode) {
            self.cwnd_gain = Gain::ONE;
        } else {
            self.recovery.unit_gain_in = None;
        }
    }

    /// The window to grow to, in packets.
    #[inline]
    pub(super) fn target(&self) -> u32 {
        self.operating_point.target
    }
}
