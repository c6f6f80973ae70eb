//! The pacing rate, the size of bursts, and what the network will hold when the next burst leaves.

use super::{BW_UNIT, Bbr2};
use crate::parameters::Gain;
use crate::{Connection, Controller};

impl Bbr2 {
    fn pacing_rate(&self, connection: &Connection, bw: u32, gain: Gain) -> u64 {
        let per_us = gain.of(u64::from(bw).saturating_mul(u64::from(connection.mss)));
        (per_us.saturating_mul(self.pacing_share_ppm) / BW_UNIT).min(connection.max_pacing_rate)
    }

    /// The first pacing rate: the window per round-trip time, measured or nominal.
    pub(super) fn init_pacing_rate(&mut self, connection: &mut Connection) {
        let rtt_us = if connection.srtt_us_x8 > 0 {
            self.rate_is_nominal = false;
            u64::from((connection.srtt_us_x8 >> 3).max(1))
        } else {
            self.parameters.nominal_rtt.as_micros().max(1)
        };
        let bw = u32::try_from(u64::from(connection.cwnd) * BW_UNIT / rtt_us).unwrap_or(u32::MAX);
        connection.pacing_rate = self.pacing_rate(connection, bw, self.parameters.initial_pacing_gain);
    }

    /// Paces at `bw` times `gain`; before the pipe is full the rate only rises, because early samples are too low.
    pub(super) fn set_pacing_rate(&mut self, connection: &mut Connection, bw: u32, gain: Gain) {
        if self.rate_is_nominal && connection.srtt_us_x8 > 0 {
            self.init_pacing_rate(connection);
        }
        let rate = self.pacing_rate(connection, bw, gain);
        if self.full_pipe.reached || rate > connection.pacing_rate {
            connection.pacing_rate = rate;
        }
    }

    /// Packets in one burst of the sender at its present rate: larger on short paths, where ACKs are expensive.
    pub(super) fn burst_packets(&self, connection: &Connection) -> u32 {
        let halvings = u64::from(self.min_rtt.rtt_us) / self.parameters.burst_rtt_step.as_micros().max(1);
        let extra = if halvings < 32 { self.parameters.burst_rtt_bytes.as_u64() >> halvings } else { 0 };
        let bytes = (connection.pacing_rate >> connection.pacing_shift).saturating_add(extra);
        let bytes = bytes.min(self.parameters.burst_max_bytes.as_u64());
        let packets = u32::try_from(bytes / u64::from(connection.mss)).unwrap_or(u32::MAX);
        packets.max(self.min_tso_segs(connection)).min(self.parameters.burst_max)
    }

    /// Packets left in the network when the next burst departs, if `in_flight` are in it now.
    pub(super) fn in_network(&self, connection: &Connection, in_flight: u32) -> u32 {
        if !self.parameters.net_estimate {
            return in_flight;
        }
        let wait_us = connection.next_departure.since(connection.now).as_micros();
        let delivered_until_then = u64::from(self.bw()).saturating_mul(wait_us) / BW_UNIT;
        // When probing, the burst that is about to leave counts: it is what fills the pipe.
        let burst = if self.pacing_gain > Gain::ONE { self.burst_packets(connection) } else { 0 };
        (u64::from(in_flight) + u64::from(burst)).saturating_sub(delivered_until_then) as u32
    }
}
