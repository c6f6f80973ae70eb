//! The pacing rate, the size of bursts, and what the network will hold when the next burst leaves.

use super::model::Bbr2;
use crate::estimators::{Pacing, in_network_at_departure};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, View};

impl Bbr2 {
    /// The first pacing rate: the window per round-trip time, measured or nominal.
    pub(super) fn init_pacing_rate(&mut self, view: &View, control: &mut Control) {
        self.pacing.is_nominal = view.srtt_us_x8 == 0;
        let bw = Pacing::initial_bandwidth(view, control, self.parameters.nominal_rtt);
        control.pacing_rate = self.pacing.rate(view, bw, self.parameters.initial_pacing_gain);
    }

    /// Paces at `bw` times `gain`; before the pipe is full the rate only rises, because early samples are too low.
    pub(super) fn set_pacing_rate(&mut self, view: &View, control: &mut Control, bw: u32, gain: Gain) {
        if self.pacing.is_nominal && view.srtt_us_x8 > 0 {
            self.init_pacing_rate(view, control);
        }
        self.pacing.set(view, control, bw, gain, self.full_pipe.reached);
    }

    /// Packets in one burst of the sender at its present rate: larger on short paths, where ACKs are expensive.
    pub(super) fn burst_packets(&self, view: &View, control: &Control) -> u32 {
        let halvings = u64::from(self.min_rtt.rtt_us) / self.parameters.burst_rtt_step.as_micros().max(1);
        let extra = if halvings < 32 { self.parameters.burst_rtt_bytes.as_u64() >> halvings } else { 0 };
        self.bursts.packets(view, control, extra)
    }

    /// Packets left in the network when the next burst departs, if `in_flight` are in it now.
    pub(super) fn in_network(&self, view: &View, control: &Control, in_flight: u32) -> u32 {
        if !self.parameters.net_estimate {
            return in_flight;
        }
        // When probing, the burst that is about to leave counts: it is what fills the pipe.
        let burst = if self.pacing_gain > Gain::ONE { self.burst_packets(view, control) } else { 0 };
        in_network_at_departure(view, self.bw(), in_flight, burst)
    }
}
