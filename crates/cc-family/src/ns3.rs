//! BBR v1 of ns-3, and the port of 2018 that it grew from.

use dumbbell_cc::bbr1::Core;
use dumbbell_cc::{CaState, Control, RateSample, View};
use dumbbell_units::Duration;
use serde::{Deserialize, Serialize};

/// What ns-3 does otherwise; the defaults are Linux 6.18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Parameters {
    /// Phases to enter PROBE_BW at the first time, the second, and so on, over and over; empty draws them. In ns-3 all
    /// flows draw the same ones, from one stream of random numbers.
    #[schemars(extend("x-source" = "ns-3: TcpBbr::SetStream, attribute Stream"))]
    pub cycle_first_phases: Vec<u32>,
    /// Start the bandwidth filter from the initial window per round trip instead of from nothing.
    #[schemars(extend("x-source" = "bbr_init: minmax_reset to 0; ns-3 TcpBbr: InitPacingRate"))]
    pub initial_bw_estimate: bool,
    /// Epochs are measured in whole multiples of this time (1 s in ns-3).
    #[schemars(extend("x-source" = "ns-3 TcpBbr::UpdateAckAggregation"))]
    pub aggregation_resolution: Duration,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            cycle_first_phases: Vec::new(),
            initial_bw_estimate: false,
            aggregation_resolution: Duration::from_micros(1),
        }
    }
}

/// What these rules keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// How often PROBE_BW was entered.
    entered: usize,
}

impl State {
    /// The phase to begin PROBE_BW with.
    pub(crate) fn first_phase(&mut self, given: &[u32], drawn: usize) -> usize {
        if given.is_empty() {
            return drawn;
        }
        self.entered += 1;
        given[(self.entered - 1) % given.len()] as usize
    }
}

impl Parameters {
    /// `elapsed_us` in whole multiples of the clock's resolution.
    pub(crate) fn counted_us(&self, elapsed_us: u64) -> u64 {
        let resolution_us = self.aggregation_resolution.as_micros();
        if resolution_us > 1 { elapsed_us - elapsed_us % resolution_us } else { elapsed_us }
    }
}

/// What an ACK finds lost is subtracted and packets are conserved, in fast recovery only.
pub(crate) fn recover(core: &mut Core, view: &View, control: &mut Control, sample: &RateSample) -> bool {
    core.recovery.previous_state = view.ca_state;
    if view.ca_state != CaState::Recovery {
        return false;
    }
    if sample.losses > 0 {
        control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
    }
    if core.recovery.packet_conservation {
        control.cwnd = control.cwnd.max(view.in_flight() + sample.acked_sacked);
    }
    core.recovery.packet_conservation
}

/// The port of 2018: conservation for one ACK, and losses outside of recovery count, too.
pub(crate) fn recover_as_of_2018(core: &mut Core, view: &View, control: &mut Control, sample: &RateSample) -> bool {
    core.recovery.previous_state = view.ca_state;
    if sample.losses > 0 {
        // A signed number there: what is infinite is negative.
        let is_infinite = control.cwnd >= Control::INFINITE_SSTHRESH;
        let left = control.cwnd.saturating_sub(sample.losses);
        control.cwnd = if is_infinite { 1 } else { left.max(1) };
    }
    let conserves = core.recovery.packet_conservation;
    if conserves {
        control.cwnd = control.cwnd.max(view.in_flight() + sample.acked_sacked);
    }
    if view.ca_state == CaState::Recovery {
        core.recovery.packet_conservation = false;
    }
    conserves
}

/// Packets are conserved from the moment fast recovery begins to the start of the next round, which does not begin anew
/// with recovery as in Linux; and the window is restored when fast recovery completes, not with the next ACK.
pub(crate) fn change_state(core: &mut Core, view: &View, control: &mut Control, next: CaState) {
    if next == CaState::Recovery {
        core.recovery.packet_conservation = true;
        control.cwnd = view.in_flight() + 1;
    } else if view.ca_state == CaState::Recovery && next < CaState::Recovery {
        restore(core, control);
    }
}

/// Fast recovery is over: the window from before returns at once.
pub(crate) fn restore(core: &mut Core, control: &mut Control) {
    core.recovery.packet_conservation = false;
    control.cwnd = control.cwnd.max(core.recovery.prior_cwnd);
}

/// Leaving recovery in STARTUP sets the window to the largest 32-bit number; the next addition wraps around.
pub(crate) fn grown(window: u32, acked: u32) -> u32 {
    if window >= Control::INFINITE_SSTHRESH { acked } else { window.saturating_add(acked) }
}
