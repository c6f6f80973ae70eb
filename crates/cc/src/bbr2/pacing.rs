//! The pacing rate, the size of bursts, and what the network will hold when the next burst leaves.

use super::{BW_UNIT, Bbr2};
use crate::parameters::Gain;
use crate::{Control, Controller, View};

impl Bbr2 {
    fn pacing_rate(&self, view: &View, bw: u32, gain: Gain) -> u64 {
        let per_us = gain.of(u64::from(bw).saturating_mul(u64::from(view.mss)));
        (per_us.saturating_mul(self.pacing_share_ppm) / BW_UNIT).min(view.max_pacing_rate)
    }

    /// The first pacing rate: the window per round-trip time, measured or nominal.
    pub(super) fn init_pacing_rate(&mut self, view: &View, control: &mut Control) {
        let rtt_us = if view.srtt_us_x8 > 0 {
            self.rate_is_nominal = false;
            u64::from((view.srtt_us_x8 >> 3).max(1))
        } else {
            self.parameters.nominal_rtt.as_micros().max(1)
        };
        let bw = u32::try_from(u64::from(control.cwnd) * BW_UNIT / rtt_us).unwrap_or(u32::MAX);
        control.pacing_rate = self.pacing_rate(view, bw, self.parameters.initial_pacing_gain);
    }

    /// Paces at `bw` times `gain`; before the pipe is full the rate only rises, because early samples are too low.
    pub(super) fn set_pacing_rate(&mut self, view: &View, control: &mut Control, bw: u32, gain: Gain) {
        if self.rate_is_nominal && view.srtt_us_x8 > 0 {
            self.init_pacing_rate(view, control);
        }
        let rate = self.pacing_rate(view, bw, gain);
        if self.full_pipe.reached || rate > control.pacing_rate {
            control.pacing_rate = rate;
        }
    }

    /// Packets in one burst of the sender at its present rate: larger on short paths, where ACKs are expensive.
    pub(super) fn burst_packets(&self, view: &View, control: &Control) -> u32 {
        let halvings = u64::from(self.min_rtt.rtt_us) / self.parameters.burst_rtt_step.as_micros().max(1);
        let extra = if halvings < 32 { self.parameters.burst_rtt_bytes.as_u64() >> halvings } else { 0 };
        let bytes = (control.pacing_rate >> control.pacing_shift).saturating_add(extra);
        let bytes = bytes.min(self.parameters.burst_max_bytes.as_u64());
        let packets = u32::try_from(bytes / u64::from(view.mss)).unwrap_or(u32::MAX);
        packets.max(self.min_tso_segs(view, control)).min(self.parameters.burst_max)
    }

    /// Packets left in the network when the next burst departs, if `in_flight` are in it now.
    pub(super) fn in_network(&self, view: &View, control: &Control, in_flight: u32) -> u32 {
        if !self.parameters.net_estimate {
            return in_flight;
        }
        let wait_us = view.next_departure.since(view.now).as_micros();
        let delivered_until_then = u64::from(self.bw()).saturating_mul(wait_us) / BW_UNIT;
        // When probing, the burst that is about to leave counts: it is what fills the pipe.
        let burst = if self.pacing_gain > Gain::ONE { self.burst_packets(view, control) } else { 0 };
        (u64::from(in_flight) + u64::from(burst)).saturating_sub(delivered_until_then) as u32
    }
}
