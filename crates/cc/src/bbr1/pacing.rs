//! The first pacing rate and those that follow, and what the network will hold when the next burst leaves.

use super::model::Core;
use super::rules::Rules;
use crate::estimators::{Pacing, in_network_at_departure};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, View};

impl Core {
    /// The window per round-trip time, measured or nominal.
    pub fn initial_bandwidth(&self, view: &View, control: &Control) -> u32 {
        Pacing::initial_bandwidth(view, control, self.parameters.nominal_rtt)
    }

    /// The first pacing rate.
    pub(super) fn init_pacing_rate<R: Rules>(&mut self, rules: &R, view: &View, control: &mut Control) {
        let is_nominal = view.srtt_us_x8 == 0;
        self.pacing.is_nominal = is_nominal && rules.repeats_first_rate();
        let p = &self.parameters;
        let gain = if is_nominal { p.nominal_pacing_gain } else { p.initial_pacing_gain };
        control.pacing_rate = self.pacing.rate(view, self.initial_bandwidth(view, control), gain);
    }

    /// Paces at `bw` times `gain`; before the pipe is full the rate only rises, because early samples are too low.
    pub fn set_pacing_rate<R: Rules>(&mut self, rules: &R, view: &View, control: &mut Control, bw: u32, gain: Gain) {
        if self.pacing.is_nominal && view.srtt_us_x8 > 0 {
            self.init_pacing_rate(rules, view, control);
        }
        self.pacing.set(view, control, bw, gain, rules.pacing_may_fall(self));
    }

    /// Packets left in the network when the next burst departs, if `in_flight` are in it now.
    pub fn in_network<R: Rules>(&self, rules: &R, view: &View, control: &Control, in_flight: u32) -> u32 {
        if !rules.foresees_departure() {
            return in_flight;
        }
        // When probing, the burst that is about to leave counts: it is what fills the pipe.
        let probes = self.pacing_gain > Gain::ONE;
        let burst = if probes { self.bursts.packets(view, control, 0) } else { 0 };
        in_network_at_departure(view, self.bw(), in_flight, burst)
    }
}
