//! What a BBR's operating point follows from.
//!
//! The pacing rate and the window's target are functions of the model. Every ACK updates the model, but few change what
//! follows from it: the estimates seldom move, a phase lasts many ACKs. So a controller keeps its operating point
//! together with its basis and determines it anew when that differs.

use dumbbell_cc_contract::{Control, View};

/// The model at one instant, and what of the connection matters besides: everything but the constants. `S` is what the
/// controller is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Basis<S> {
    bw: u32,
    rtt_us: u64,
    extra_acked: u32,
    state: S,
    /// The rate before: whether it may fall depends on the state.
    pacing_rate: u64,
    max_pacing_rate: u64,
    pacing_shift: u32,
    mss: u32,
}

impl<S> Basis<S> {
    /// The present basis: bandwidth and round-trip time to operate with, and the largest excess of aggregated ACKs.
    #[inline]
    pub(crate) fn new(view: &View, control: &Control, bw: u32, rtt_us: u64, extra_acked: u32, state: S) -> Basis<S> {
        Basis {
            bw,
            rtt_us,
            extra_acked,
            state,
            pacing_rate: control.pacing_rate,
            max_pacing_rate: view.max_pacing_rate,
            pacing_shift: control.pacing_shift,
            mss: view.mss,
        }
    }

    /// Makes it differ from every other basis, as the default does: no connection has empty segments.
    pub(crate) fn invalidate(&mut self) {
        self.mss = 0;
    }
}
