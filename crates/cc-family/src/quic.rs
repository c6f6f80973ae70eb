//! BBR v1 of Chromium's QUIC: a recovery window beside the window, and an allowance that counts parts of packets.

use dumbbell_cc::bbr1::{BW_UNIT, Core, Linux, Mode};
use dumbbell_cc::estimators::AckAggregation;
use dumbbell_cc::parameters::Gain;
use dumbbell_cc::{Control, RateSample, View};
use serde::{Deserialize, Serialize};

/// What QUIC does otherwise; the defaults are Linux 6.18.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Parameters {
    /// Before the first bandwidth sample the window's target is its gain times `initial_window`, not a BDP of nothing.
    #[schemars(extend("x-source" = "QUIC: GetTargetCongestionWindow, gain * initial_congestion_window"))]
    pub gain_before_bandwidth: bool,
}

/// What these rules keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The window without the recovery window's bound.
    pub(crate) unbounded_cwnd: u32,
    recovery: RecoveryWindow,
}

/// A window beside the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum RecoveryWindow {
    #[default]
    Off,
    /// In recovery with this window until a packet sent after `delivered` reached `end_delivered` is acknowledged
    /// without further loss; `grows` after the first round.
    On { window: u32, end_delivered: u64, grows: bool },
}

impl State {
    /// The smaller one of the window that grows to the target, and of the recovery window beside it.
    pub(crate) fn recover(&mut self, core: &mut Core, view: &View, control: &mut Control, sample: &RateSample) -> bool {
        // PROBE_RTT's cap does not touch the window beneath.
        if core.state.mode != Mode::ProbeRtt {
            self.unbounded_cwnd = core.grown(&Linux, view, self.unbounded_cwnd, sample.acked_sacked);
        }
        let window = self.unbounded_cwnd;
        let bound = self.recovery_window(core, view, sample);
        control.cwnd = window.min(bound.unwrap_or(window));
        true
    }

    /// The recovery window after this ACK; none outside of recovery.
    fn recovery_window(&mut self, core: &mut Core, view: &View, sample: &RateSample) -> Option<u32> {
        let acked = sample.acked_sacked;
        let floor = core.parameters.min_window;
        let conserved = view.in_flight().saturating_add(acked).max(floor);
        self.recovery = match self.recovery {
            RecoveryWindow::Off if sample.losses > 0 => {
                // Conservation lasts a whole round from here.
                core.round.next_delivered = view.delivered;
                RecoveryWindow::On { window: conserved, end_delivered: view.delivered, grows: false }
            }
            RecoveryWindow::Off => RecoveryWindow::Off,
            RecoveryWindow::On { window, end_delivered, grows } => {
                let grows = grows || core.round.started;
                let end_delivered = if sample.losses > 0 { view.delivered } else { end_delivered };
                let beyond_the_loss = sample.delivered >= 0 && sample.prior_delivered >= end_delivered;
                if grows && sample.losses == 0 && beyond_the_loss {
                    RecoveryWindow::Off
                } else {
                    let grown =
                        window.saturating_sub(sample.losses).max(1).saturating_add(if grows { acked } else { 0 });
                    RecoveryWindow::On { window: grown.max(conserved), end_delivered, grows }
                }
            }
        };
        match self.recovery {
            RecoveryWindow::On { window, .. } => Some(window),
            RecoveryWindow::Off => None,
        }
    }
}

/// QUIC counts bytes, so the part of a packet that the bandwidth explains counts, and it has no bounds. The ACK that
/// begins an epoch is no news.
#[inline(never)]
pub(crate) fn measure_aggregation(core: &mut Core, view: &View, acked: u32, bw: u32, elapsed_us: u64) {
    if core.parameters.aggregation_gain == Gain::new(0) {
        return;
    }
    let expected = u64::from(bw).saturating_mul(elapsed_us);
    let excess = core.aggregation.take(view, acked, expected, BW_UNIT, u32::MAX);
    if !excess.begins {
        let rounds = core.parameters.aggregation_window_rounds;
        core.aggregation.remember_scaled(rounds, core.round.count, excess.amount);
    }
}

/// What to add to the window, in packets times `BW_UNIT`.
pub(crate) fn aggregation_allowance(core: &Core) -> u64 {
    AckAggregation::scaled(core.parameters.aggregation_gain.of(u64::from(core.aggregation.largest)))
}
