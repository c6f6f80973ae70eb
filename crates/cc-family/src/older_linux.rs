//! BBR v1 in older kernels, 4.9 to 5.9: rules that Linux 6.18 no longer has.

use dumbbell_cc::Control;
use dumbbell_cc::bbr1::{Core, Mode};
use serde::{Deserialize, Serialize};

/// What older kernels did otherwise; the defaults are Linux 6.18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Parameters {
    /// A sample equal to the minimum renews it (before Linux 5.10).
    #[schemars(extend("x-source" = "bbr_update_min_rtt: rtt_us < min_rtt_us"))]
    pub min_rtt_tie_refreshes: bool,
    /// A sample that probably contains an ACK delay does not replace an expired minimum (since Linux 4.16).
    #[schemars(extend("x-source" = "bbr_update_min_rtt: is_ack_delayed"))]
    pub delayed_ack_guard: bool,
    /// When the window from before PROBE_RTT comes back.
    #[schemars(extend("x-source" = "bbr_check_probe_rtt_done"))]
    pub probe_rtt_restore: Restore,
    /// Leave PROBE_RTT when transmission restarts after its time is over (since Linux 4.19).
    #[schemars(extend("x-source" = "bbr_cwnd_event: bbr_check_probe_rtt_done"))]
    pub probe_rtt_exit_from_idle: bool,
    /// An ACK that delivers nothing ends the restart from idle, too (before Linux 4.16).
    #[schemars(extend("x-source" = "bbr_update_min_rtt: idle_restart"))]
    pub idle_ends_with_any_ack: bool,
    /// Compare the amount that will be in flight at the next departure time, not the present one (since Linux 4.20).
    #[schemars(extend("x-source" = "bbr_packets_in_net_at_edt"))]
    pub net_estimate: bool,
    /// The window's caps also act on ACKs that deliver nothing (since Linux 4.19).
    #[schemars(extend("x-source" = "bbr_set_cwnd: done"))]
    pub zero_ack_caps: bool,
    /// Ask the sender to pace. Off is Linux before 4.13 without the fq queueing discipline: the window alone governs.
    #[schemars(extend("x-source" = "bbr_init: SK_PACING_NEEDED; ReBBR, kernel 4.11 without fq"))]
    pub paced: bool,
    /// Compute the first pacing rate again when the first round-trip time becomes known (since Linux 4.13).
    #[schemars(extend("x-source" = "bbr_set_pacing_rate: has_seen_rtt"))]
    pub pacing_reinit: bool,
    /// How long the pacing rate may rise only.
    #[schemars(extend("x-source" = "bbr_set_pacing_rate: bbr_full_bw_reached"))]
    pub pacing_rises_only: RisesOnly,
    /// A loss that proved spurious restarts the search for a full pipe and the policer's sampling (since Linux 4.15).
    #[schemars(extend("x-source" = "bbr_undo_cwnd"))]
    pub undo_resets_plateau: bool,
    /// PROBE_BW's phases stand still while a policer's rate is used (before Linux 4.16).
    #[schemars(extend("x-source" = "bbr_update_cycle_phase: lt_use_bw"))]
    pub policer_freezes_cycle: bool,
    /// PROBE_BW that begins while a policer's rate is used has the gain of its phase instead of one (before Linux 4.16).
    #[schemars(extend("x-source" = "bbr_advance_cycle_phase: lt_use_bw; 3aff3b4b986e"))]
    pub policer_is_probed: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            min_rtt_tie_refreshes: false,
            delayed_ack_guard: true,
            probe_rtt_restore: Restore::AtExit,
            probe_rtt_exit_from_idle: true,
            idle_ends_with_any_ack: false,
            net_estimate: true,
            zero_ack_caps: true,
            paced: true,
            pacing_reinit: true,
            pacing_rises_only: RisesOnly::UntilFull,
            undo_resets_plateau: true,
            policer_freezes_cycle: false,
            policer_is_probed: false,
        }
    }
}

/// When the window from before PROBE_RTT comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restore {
    /// At the exit.
    #[default]
    AtExit,
    /// With the next ACK that delivers something (before Linux 4.19).
    NextDelivery,
    /// Not at all; it grows anew (BBR-ACD's kernel code).
    Never,
}

/// How long the pacing rate may rise only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RisesOnly {
    /// Until the pipe is full (since Linux 4.13).
    #[default]
    UntilFull,
    /// In STARTUP (before Linux 4.13).
    InStartup,
}

impl Parameters {
    /// Whether the pacing rate may fall now.
    #[inline]
    pub(crate) fn pacing_may_fall(&self, core: &Core) -> bool {
        match self.pacing_rises_only {
            RisesOnly::UntilFull => core.state.full_pipe,
            RisesOnly::InStartup => core.state.mode != Mode::Startup,
        }
    }

    /// PROBE_RTT is over.
    pub(crate) fn restore_window(&self, core: &mut Core, control: &mut Control) {
        match self.probe_rtt_restore {
            Restore::AtExit => control.cwnd = control.cwnd.max(core.recovery.prior_cwnd),
            Restore::NextDelivery => core.recovery.restore_pending = true,
            Restore::Never => {}
        }
    }
}
