//! The pacing rate, the size of bursts, and what the network will hold when the next burst leaves.

use super::bandwidth::{delivery_rate, packets_in};
use super::{BW_UNIT, Bbr1, Mode, RisesOnly};
use crate::parameters::Gain;
use crate::{Connection, Controller};

impl Bbr1 {
    /// `bw` times `gain` less the margin, in payload bytes per second.
    pub(super) fn bytes_per_second(&self, connection: &Connection, bw: u32, gain: Gain) -> u64 {
        let per_us = gain.of(u64::from(bw).saturating_mul(u64::from(connection.mss)));
        per_us.saturating_mul(self.pacing_share_ppm) / BW_UNIT
    }

    fn pacing_rate(&self, connection: &Connection, bw: u32, gain: Gain) -> u64 {
        self.bytes_per_second(connection, bw, gain).min(connection.max_pacing_rate)
    }

    /// The window per round-trip time, measured or nominal.
    pub(super) fn initial_bandwidth(&self, connection: &Connection) -> u32 {
        let rtt_us = if connection.srtt_us_x8 > 0 {
            u64::from((connection.srtt_us_x8 >> 3).max(1))
        } else {
            self.parameters.nominal_rtt.as_micros().max(1)
        };
        delivery_rate(u64::from(connection.cwnd), rtt_us)
    }

    /// The first pacing rate.
    pub(super) fn init_pacing_rate(&mut self, connection: &mut Connection) {
        self.rate_is_nominal = connection.srtt_us_x8 == 0 && self.parameters.pacing_reinit;
        let bw = self.initial_bandwidth(connection);
        let gain = if connection.srtt_us_x8 > 0 {
            self.parameters.initial_pacing_gain
        } else {
            self.parameters.nominal_pacing_gain
        };
        connection.pacing_rate = self.pacing_rate(connection, bw, gain);
    }

    /// Paces at `bw` times `gain`; before the pipe is full the rate only rises, because early samples are too low.
    pub(super) fn set_pacing_rate(&mut self, connection: &mut Connection, bw: u32, gain: Gain) {
        if self.rate_is_nominal && connection.srtt_us_x8 > 0 {
            self.init_pacing_rate(connection);
        }
        let rate = self.pacing_rate(connection, bw, gain);
        if rate > connection.pacing_rate || (rate < connection.pacing_rate && self.pacing_may_fall()) {
            connection.pacing_rate = rate;
        }
    }

    fn pacing_may_fall(&self) -> bool {
        match self.parameters.pacing_rises_only {
            RisesOnly::UntilFull => self.state.full_pipe,
            RisesOnly::InStartup => self.state.mode != Mode::Startup,
        }
    }

    /// Packets in one burst of the sender at its present rate.
    pub(super) fn burst_packets(&self, connection: &Connection) -> u32 {
        let bytes = (connection.pacing_rate >> connection.pacing_shift).min(self.parameters.burst_max_bytes.as_u64());
        let packets = u32::try_from(bytes / u64::from(connection.mss)).unwrap_or(u32::MAX);
        packets.max(self.min_tso_segs(connection)).min(self.parameters.burst_max)
    }

    /// Packets left in the network when the next burst departs, if `in_flight` are in it now.
    pub(super) fn in_network(&self, connection: &Connection, in_flight: u32) -> u32 {
        if !self.parameters.net_estimate {
            return in_flight;
        }
        let wait_us = connection.next_departure.since(connection.now).as_micros();
        let delivered_until_then = packets_in(self.bw(), wait_us);
        // When probing, the burst that is about to leave counts: it is what fills the pipe.
        let burst = if self.pacing_gain > Gain::ONE { self.burst_packets(connection) } else { 0 };
        (u64::from(in_flight) + u64::from(burst)).saturating_sub(delivered_until_then) as u32
    }
}
