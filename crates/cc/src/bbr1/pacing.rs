//! The pacing rate, the size of bursts, and what the network will hold when the next burst leaves.

use super::bandwidth::{delivery_rate, packets_in};
use super::{BW_UNIT, Bbr1, Mode, RisesOnly};
use crate::parameters::Gain;
use crate::{Control, Controller, View};

impl Bbr1 {
    /// `bw` times `gain` less the margin, in payload bytes per second.
    pub(super) fn bytes_per_second(&self, view: &View, bw: u32, gain: Gain) -> u64 {
        let per_us = gain.of(u64::from(bw).saturating_mul(u64::from(view.mss)));
        per_us.saturating_mul(self.pacing_share_ppm) / BW_UNIT
    }

    fn pacing_rate(&self, view: &View, bw: u32, gain: Gain) -> u64 {
        self.bytes_per_second(view, bw, gain).min(view.max_pacing_rate)
    }

    /// The window per round-trip time, measured or nominal.
    pub(super) fn initial_bandwidth(&self, view: &View, control: &Control) -> u32 {
        let rtt_us = if view.srtt_us_x8 > 0 {
            u64::from((view.srtt_us_x8 >> 3).max(1))
        } else {
            self.parameters.nominal_rtt.as_micros().max(1)
        };
        delivery_rate(u64::from(control.cwnd), rtt_us)
    }

    /// The first pacing rate.
    pub(super) fn init_pacing_rate(&mut self, view: &View, control: &mut Control) {
        self.rate_is_nominal = view.srtt_us_x8 == 0 && self.parameters.pacing_reinit;
        let bw = self.initial_bandwidth(view, control);
        let gain =
            if view.srtt_us_x8 > 0 { self.parameters.initial_pacing_gain } else { self.parameters.nominal_pacing_gain };
        control.pacing_rate = self.pacing_rate(view, bw, gain);
    }

    /// Paces at `bw` times `gain`; before the pipe is full the rate only rises, because early samples are too low.
    pub(super) fn set_pacing_rate(&mut self, view: &View, control: &mut Control, bw: u32, gain: Gain) {
        if self.rate_is_nominal && view.srtt_us_x8 > 0 {
            self.init_pacing_rate(view, control);
        }
        let rate = self.pacing_rate(view, bw, gain);
        if rate > control.pacing_rate || (rate < control.pacing_rate && self.pacing_may_fall()) {
            control.pacing_rate = rate;
        }
    }

    fn pacing_may_fall(&self) -> bool {
        match self.parameters.pacing_rises_only {
            RisesOnly::UntilFull => self.state.full_pipe,
            RisesOnly::InStartup => self.state.mode != Mode::Startup,
        }
    }

    /// Packets in one burst of the sender at its present rate.
    pub(super) fn burst_packets(&self, view: &View, control: &Control) -> u32 {
        let bytes = (control.pacing_rate >> control.pacing_shift).min(self.parameters.burst_max_bytes.as_u64());
        let packets = u32::try_from(bytes / u64::from(view.mss)).unwrap_or(u32::MAX);
        packets.max(self.min_tso_segs(view, control)).min(self.parameters.burst_max)
    }

    /// Packets left in the network when the next burst departs, if `in_flight` are in it now.
    pub(super) fn in_network(&self, view: &View, control: &Control, in_flight: u32) -> u32 {
        if !self.parameters.net_estimate {
            return in_flight;
        }
        let wait_us = view.next_departure.since(view.now).as_micros();
        let delivered_until_then = packets_in(self.bw(), wait_us);
        // When probing, the burst that is about to leave counts: it is what fills the pipe.
        let burst = if self.pacing_gain > Gain::ONE { self.burst_packets(view, control) } else { 0 };
        (u64::from(in_flight) + u64::from(burst)).saturating_sub(delivered_until_then) as u32
    }
}
