//! The congestion window: BDP, budget for bursts, growth to the target, and loss recovery.

use super::acd::Acd;
use super::{BW_UNIT, Bbr1, Mode, ProbeBudget, Recovery};
use crate::parameters::Gain;
use crate::{CaState, Control, RateSample, View};

/// What recovery remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct RecoveryState {
    /// The last good window before a reduction or PROBE_RTT.
    pub(super) prior_cwnd: u32,
    /// Every delivered packet admits one, no more.
    pub(super) packet_conservation: bool,
    /// Congestion-avoidance state at the last ACK that delivered something.
    pub(super) previous_state: CaState,
    /// The next ACK that delivers something restores `prior_cwnd`.
    pub(super) restore_pending: bool,
    /// QUIC's recovery: the window without the recovery window's bound.
    pub(super) unbounded_cwnd: u32,
    quic: QuicRecovery,
    pub(super) acd: Acd,
    /// The window's gain is one for as long as this mode lasts (BBR-ACD's ns-3 code).
    pub(super) unit_gain_in: Option<Mode>,
}

/// QUIC's recovery: a window beside the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum QuicRecovery {
    #[default]
    Off,
    /// In recovery with this window until a packet sent after `delivered` reached `end_delivered` is acknowledged
    /// without further loss; `grows` after the first round.
    On { window: u32, end_delivered: u64, grows: bool },
}

impl Bbr1 {
    /// `gain` bandwidth-delay products in packets, rounded up.
    pub(super) fn bdp(&self, bw: u32, gain: Gain) -> u32 {
        self.bdp_and(bw, gain, 0)
    }

    /// `gain` bandwidth-delay products and `allowance / BW_UNIT` packets, rounded up; without the allowance before there
    /// is a model.
    fn bdp_and(&self, bw: u32, gain: Gain, allowance: u64) -> u32 {
        if self.min_rtt.rtt_us == View::UNKNOWN_RTT {
            return self.parameters.initial_window;
        }
        if bw == 0 && self.parameters.gain_before_bandwidth {
            return gain.of(u64::from(self.parameters.initial_window)) as u32;
        }
        let scaled = gain.of(u64::from(bw).saturating_mul(self.min_rtt.model_us));
        u32::try_from(scaled.saturating_add(allowance).div_ceil(BW_UNIT)).unwrap_or(u32::MAX)
    }

    /// `window` plus what bursts at the sender, in the network and at the receiver need.
    fn with_budget(&self, view: &View, control: &Control, window: u64, gain: Gain) -> u32 {
        let parameters = &self.parameters;
        let mut window = window;
        if parameters.budget_bursts > 0 {
            window += u64::from(parameters.budget_bursts) * u64::from(self.burst_packets(view, control));
        }
        if parameters.budget_even {
            window = (window + 1) & !1;
        }
        let probes = self.state.mode == Mode::ProbeBw
            && match parameters.budget_probe_when {
                ProbeBudget::PhaseZero => self.state.phase == 0,
                ProbeBudget::GainAboveOne => gain > Gain::ONE,
            };
        if probes {
            window += u64::from(parameters.budget_probe_packets);
        }
        // Without a budget (QUIC) nothing else keeps the target of a tiny path reachable.
        if parameters.budget_bursts == 0 {
            window = window.max(u64::from(parameters.min_window));
        }
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// The amount to have in flight for `gain` BDP at bandwidth `bw`, in packets.
    pub(super) fn inflight_target(&self, view: &View, control: &Control, bw: u32, gain: Gain) -> u32 {
        self.with_budget(view, control, u64::from(self.bdp(bw, gain)), gain)
    }

    /// Remembers the window before it is reduced.
    pub(super) fn save_window(&mut self, control: &Control) {
        let untouched = self.recovery.previous_state < CaState::Recovery && self.state.mode != Mode::ProbeRtt;
        let saved = if untouched { 0 } else { self.recovery.prior_cwnd };
        self.recovery.prior_cwnd = saved.max(control.cwnd);
    }

    /// The amount to have in flight at the window's gain, with the allowance for aggregated ACKs.
    pub(super) fn window_target(&self, view: &View, control: &Control, bw: u32) -> u32 {
        let window = self.bdp_and(bw, self.cwnd_gain, self.aggregation_allowance());
        self.with_budget(view, control, u64::from(window), self.cwnd_gain)
    }

    /// Sets the window for an ACK.
    pub(super) fn set_window(&mut self, view: &View, control: &mut Control, sample: &RateSample, bw: u32) {
        let acked = sample.acked_sacked;
        if acked == 0 && !self.parameters.zero_ack_caps {
            return;
        }
        if acked > 0 {
            let is_set = match self.parameters.recovery {
                Recovery::Linux => self.recover_or_restore(view, control, sample),
                _ => self.recover_like_variant(view, control, sample, bw),
            };
            if !is_set {
                control.cwnd = self.grown(view, control.cwnd, acked);
            }
        }
        control.cwnd = control.cwnd.min(view.cwnd_clamp);
        if self.state.mode == Mode::ProbeRtt {
            control.cwnd = control.cwnd.min(self.probe_rtt_cap(control));
        }
    }

    /// `window` grown by `acked` packets towards the target.
    #[inline]
    fn grown(&self, view: &View, window: u32, acked: u32) -> u32 {
        let target = self.target();
        // Leaving recovery in STARTUP sets ns-3's window to the largest 32-bit number; the addition then wraps around.
        let wraps = window >= Control::INFINITE_SSTHRESH
            && matches!(self.parameters.recovery, Recovery::Ns3 | Recovery::Ns3Of2018);
        let grown = if wraps { acked } else { window.saturating_add(acked) };
        let window = if self.state.full_pipe {
            grown.min(target)
        } else if window < target || view.delivered < u64::from(self.parameters.initial_window) {
            grown
        } else {
            window
        };
        window.max(self.parameters.min_window)
    }

    /// Linux's recovery; true when it has set the window and ordinary growth must not.
    ///
    /// The first round of recovery conserves packets, since the bandwidth may have shrunk; after it, a slow start
    /// towards the target follows. Leaving recovery restores the window of before.
    fn recover_or_restore(&mut self, view: &View, control: &mut Control, sample: &RateSample) -> bool {
        let acked = sample.acked_sacked;
        if sample.losses > 0 {
            control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
        }
        let state = view.ca_state;
        let before = self.recovery.previous_state;
        if state != before {
            if state == CaState::Recovery {
                self.recovery.packet_conservation = true;
                self.round.next_delivered = view.delivered;
                control.cwnd = view.in_flight() + acked;
            } else if before >= CaState::Recovery && state < CaState::Recovery {
                self.recovery.restore_pending = true;
                self.recovery.packet_conservation = false;
            }
            self.recovery.previous_state = state;
        }
        if self.recovery.restore_pending {
            self.recovery.restore_pending = false;
            control.cwnd = control.cwnd.max(self.recovery.prior_cwnd);
        }
        if self.recovery.packet_conservation {
            control.cwnd = control.cwnd.max(view.in_flight() + acked);
        }
        self.recovery.packet_conservation
    }

    /// Recovery as in a variant of BBR; true when it has set the window and ordinary growth must not.
    #[inline(never)]
    fn recover_like_variant(&mut self, view: &View, control: &mut Control, sample: &RateSample, bw: u32) -> bool {
        match self.parameters.recovery {
            Recovery::Linux => self.recover_or_restore(view, control, sample),
            Recovery::Quic => self.recover_like_quic(view, control, sample),
            Recovery::Ns3 => self.recover_like_ns3(view, control, sample),
            Recovery::Ns3Of2018 => self.recover_like_ns3_of_2018(view, control, sample),
            Recovery::AcdPaper => self.recover_like_acd_paper(view, control, sample, bw),
            Recovery::AcdKernel => self.recover_like_acd_kernel(view, control, sample, bw),
            Recovery::AcdNs3 => self.recover_like_acd_ns3(view, control, sample, bw),
        }
    }

    /// ns-3's recovery: what an ACK finds lost is subtracted and packets are conserved, in fast recovery only.
    fn recover_like_ns3(&mut self, view: &View, control: &mut Control, sample: &RateSample) -> bool {
        self.recovery.previous_state = view.ca_state;
        if view.ca_state != CaState::Recovery {
            return false;
        }
        if sample.losses > 0 {
            control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
        }
        if self.recovery.packet_conservation {
            control.cwnd = control.cwnd.max(view.in_flight() + sample.acked_sacked);
        }
        self.recovery.packet_conservation
    }

    /// The port that ns-3's BBR grew from: conservation for one ACK, and losses outside of recovery count, too.
    fn recover_like_ns3_of_2018(&mut self, view: &View, control: &mut Control, sample: &RateSample) -> bool {
        self.recovery.previous_state = view.ca_state;
        if sample.losses > 0 {
            // A signed number there: what is infinite is negative.
            let is_infinite = control.cwnd >= Control::INFINITE_SSTHRESH;
            let left = control.cwnd.saturating_sub(sample.losses);
            control.cwnd = if is_infinite { 1 } else { left.max(1) };
        }
        let conserves = self.recovery.packet_conservation;
        if conserves {
            control.cwnd = control.cwnd.max(view.in_flight() + sample.acked_sacked);
        }
        if view.ca_state == CaState::Recovery {
            self.recovery.packet_conservation = false;
        }
        conserves
    }

    /// ns-3 conserves packets from the moment fast recovery begins to the start of the next round, which does not begin
    /// anew with recovery as in Linux; and it restores the window when fast recovery completes, not with the next ACK.
    pub(super) fn change_ns3_state(&mut self, view: &View, control: &mut Control, next: CaState) {
        let before = view.ca_state;
        let (enters, leaves) = match self.parameters.recovery {
            Recovery::Ns3 | Recovery::Ns3Of2018 => (next == CaState::Recovery, before == CaState::Recovery),
            Recovery::AcdNs3 => (false, before >= CaState::Recovery),
            _ => return,
        };
        if enters {
            self.recovery.packet_conservation = true;
            control.cwnd = view.in_flight() + 1;
        } else if leaves && next < CaState::Recovery {
            self.recovery.packet_conservation = false;
            control.cwnd = control.cwnd.max(self.recovery.prior_cwnd);
        }
    }

    /// QUIC's window: the smaller one of the window that grows to the target, and of the recovery window beside it.
    fn recover_like_quic(&mut self, view: &View, control: &mut Control, sample: &RateSample) -> bool {
        // PROBE_RTT's cap does not touch the window beneath.
        if self.state.mode != Mode::ProbeRtt {
            self.recovery.unbounded_cwnd = self.grown(view, self.recovery.unbounded_cwnd, sample.acked_sacked);
        }
        let window = self.recovery.unbounded_cwnd;
        let bound = self.quic_recovery_window(view, sample);
        control.cwnd = window.min(bound.unwrap_or(window));
        true
    }

    /// QUIC's recovery window after this ACK; none outside of recovery.
    fn quic_recovery_window(&mut self, view: &View, sample: &RateSample) -> Option<u32> {
        let acked = sample.acked_sacked;
        let floor = self.parameters.min_window;
        let conserved = view.in_flight().saturating_add(acked).max(floor);
        self.recovery.quic = match self.recovery.quic {
            QuicRecovery::Off if sample.losses > 0 => {
                // Conservation lasts a whole round from here.
                self.round.next_delivered = view.delivered;
                QuicRecovery::On { window: conserved, end_delivered: view.delivered, grows: false }
            }
            QuicRecovery::Off => QuicRecovery::Off,
            QuicRecovery::On { window, end_delivered, grows } => {
                let grows = grows || self.round.started;
                let end_delivered = if sample.losses > 0 { view.delivered } else { end_delivered };
                let beyond_the_loss = sample.delivered >= 0 && sample.prior_delivered >= end_delivered;
                if grows && sample.losses == 0 && beyond_the_loss {
                    QuicRecovery::Off
                } else {
                    let grown = window.saturating_sub(sample.losses).max(1) + if grows { acked } else { 0 };
                    QuicRecovery::On { window: grown.max(conserved), end_delivered, grows }
                }
            }
        };
        match self.recovery.quic {
            QuicRecovery::On { window, .. } => Some(window),
            QuicRecovery::Off => None,
        }
    }
}
