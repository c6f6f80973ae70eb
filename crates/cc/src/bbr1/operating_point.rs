//! The operating point: the pacing rate and the amount in flight that follow from the model.
//!
//! Every ACK updates the model, but few change what follows from it: the two estimates seldom move, a phase lasts many
//! ACKs. So the operating point is kept together with its basis and determined anew when that differs.

use super::{Bbr1, Mode};
use crate::Connection;
use crate::parameters::Gain;

/// The operating point on a certain basis.
#[derive(Clone, Debug, Default)]
pub(super) struct OperatingPoint {
    /// At first without a segment size, which no connection has.
    basis: Basis,
    /// The window to grow to, in packets.
    target: u32,
}

/// Everything that the pacing rate and the window's target follow from, besides the constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Basis {
    bw: u32,
    rtt_us: u64,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    extra_acked: u32,
    mode: Mode,
    phase: u32,
    full_pipe: bool,
    /// The rate before: whether it may fall depends on the state.
    pacing_rate: u64,
    max_pacing_rate: u64,
    pacing_shift: u32,
    mss: u32,
}

impl Bbr1 {
    /// Moves to the operating point of the present model: sets the pacing rate and the window's target.
    #[inline]
    pub(super) fn set_operating_point(&mut self, connection: &mut Connection, bw: u32) {
        let basis = self.basis(connection, bw);
        if basis != self.operating_point.basis || self.rate_is_nominal {
            self.move_operating_point(connection, bw);
        }
    }

    #[inline]
    fn basis(&self, connection: &Connection, bw: u32) -> Basis {
        Basis {
            bw,
            rtt_us: self.model_rtt_us(),
            pacing_gain: self.pacing_gain,
            cwnd_gain: self.cwnd_gain,
            extra_acked: self.aggregation.raw_max(),
            mode: self.mode,
            phase: self.cycle.index(),
            full_pipe: self.full_pipe.reached,
            pacing_rate: connection.pacing_rate,
            max_pacing_rate: connection.max_pacing_rate,
            pacing_shift: connection.pacing_shift,
            mss: connection.mss,
        }
    }

    #[inline(never)]
    fn move_operating_point(&mut self, connection: &mut Connection, bw: u32) {
        self.set_pacing_rate(connection, bw, self.pacing_gain);
        let target = self.window_target(connection, bw);
        // With the rate as it is now: setting it once more would change nothing.
        self.operating_point = OperatingPoint { basis: self.basis(connection, bw), target };
    }

    /// The window to grow to, in packets.
    #[inline]
    pub(super) fn target(&self) -> u32 {
        self.operating_point.target
    }
}
