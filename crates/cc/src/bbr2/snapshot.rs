//! The private state in the kernel's units.

use super::model::{Bbr2, Mode, Phase};

/// The private state of a [`Bbr2`] in the units of `struct bbr` of version 3, for comparing it with a kernel's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the kernel's fields")]
pub struct Snapshot {
    pub mode: Mode,
    pub cycle: Phase,
    /// 0 `INIT`, 1 `REFILLING`, 2 `PROBE_STARTING`, 3 `PROBE_FEEDBACK`, 4 `PROBE_STOPPING`.
    pub ack_phase: u32,
    pub min_rtt_us: u32,
    pub min_rtt_stamp: u32,
    pub probe_rtt_min_us: u32,
    pub probe_rtt_min_stamp: u32,
    pub probe_rtt_done_stamp: u32,
    pub probe_rtt_round_done: bool,
    pub next_rtt_delivered: u64,
    pub cycle_mstamp: u64,
    pub prev_ca_state: u32,
    pub round_start: bool,
    pub idle_restart: bool,
    pub try_fast_path: bool,
    pub init_cwnd: u32,
    pub prior_cwnd: u32,
    pub pacing_gain: u32,
    pub cwnd_gain: u32,
    pub full_bw: u32,
    pub full_bw_cnt: u32,
    pub full_bw_now: bool,
    pub full_bw_reached: bool,
    pub has_seen_rtt: bool,
    pub ack_epoch_mstamp: u64,
    pub ack_epoch_acked: u32,
    pub extra_acked: [u32; 2],
    pub startup_ecn_rounds: u32,
    pub loss_in_cycle: bool,
    pub ecn_in_cycle: bool,
    pub loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    pub ecn_in_round: bool,
    pub loss_events_in_round: u32,
    pub bw_latest: u32,
    pub bw_lo: u32,
    /// The maximum of the cycle before and of this one.
    pub bw_hi: [u32; 2],
    pub inflight_latest: u32,
    pub inflight_lo: u32,
    pub inflight_hi: u32,
    /// `bw_lo`, `inflight_lo` and `inflight_hi` before the reduction.
    pub undo: [u32; 3],
    pub bw_probe_up_rounds: u32,
    pub bw_probe_up_cnt: u32,
    pub bw_probe_up_acks: u32,
    pub bw_probe_samples: bool,
    pub prev_probe_too_high: bool,
    pub stopped_risky_probe: bool,
    pub rounds_since_probe: u32,
    pub probe_wait_us: u64,
    pub ecn_eligible: bool,
    pub ecn_alpha: u32,
    pub alpha_last_delivered: u64,
    pub alpha_last_delivered_ce: u64,
}

impl Bbr2 {
    /// The private state.
    pub fn snapshot(&self) -> Snapshot {
        let saved = &self.bounds.saved;
        Snapshot {
            mode: self.mode,
            cycle: self.phase,
            ack_phase: self.probe.ack_phase as u32,
            min_rtt_us: self.min_rtt.rtt_us,
            min_rtt_stamp: self.min_rtt.stamp,
            probe_rtt_min_us: self.probe_rtt.recent.rtt_us,
            probe_rtt_min_stamp: self.probe_rtt.recent.stamp,
            probe_rtt_done_stamp: self.probe_rtt.done_stamp.unwrap_or(0),
            probe_rtt_round_done: self.probe_rtt.round_done,
            next_rtt_delivered: self.round.next_delivered,
            cycle_mstamp: self.probe.phase_start_us,
            prev_ca_state: self.previous_state as u32,
            round_start: self.round.started,
            idle_restart: self.idle_restart,
            try_fast_path: self.window_is_set,
            init_cwnd: self.initial_window,
            prior_cwnd: self.prior_cwnd,
            pacing_gain: self.pacing_gain.numerator(),
            cwnd_gain: self.cwnd_gain.numerator(),
            full_bw: self.full_pipe.baseline,
            full_bw_cnt: self.full_pipe.rounds,
            full_bw_now: self.full_pipe.now,
            full_bw_reached: self.full_pipe.reached,
            has_seen_rtt: !self.pacing.is_nominal,
            ack_epoch_mstamp: self.aggregation.epoch_start_us,
            ack_epoch_acked: self.aggregation.epoch_acked,
            extra_acked: self.aggregation.slots.maxima,
            startup_ecn_rounds: self.ecn.startup_rounds,
            loss_in_cycle: self.probe.saw_loss,
            ecn_in_cycle: self.probe.saw_ce,
            loss_round_delivered: self.signals.next_delivered,
            loss_round_start: self.signals.ended,
            loss_in_round: self.signals.loss,
            ecn_in_round: self.signals.echo,
            loss_events_in_round: self.signals.startup_loss_events,
            bw_latest: self.signals.bw,
            bw_lo: self.bounds.bw_lo,
            bw_hi: self.bandwidth.both(),
            inflight_latest: self.signals.delivered,
            inflight_lo: self.bounds.inflight_lo,
            inflight_hi: self.bounds.inflight_hi,
            undo: [saved.bw_lo, saved.inflight_lo, saved.inflight_hi],
            bw_probe_up_rounds: self.probe.slope_rounds,
            bw_probe_up_cnt: self.probe.packets_per_step,
            bw_probe_up_acks: self.probe.credit,
            bw_probe_samples: self.probe.samples_probe,
            prev_probe_too_high: self.probe.was_too_high,
            stopped_risky_probe: self.probe.was_cautious,
            rounds_since_probe: self.probe.rounds_since,
            probe_wait_us: self.probe.wait_us,
            ecn_eligible: self.ecn.eligible,
            ecn_alpha: self.ecn.alpha.numerator(),
            alpha_last_delivered: self.ecn.delivered,
            alpha_last_delivered_ce: self.ecn.delivered_ce,
        }
    }

    /// Replaces what was drawn when the present wait for a probe began.
    pub fn force_wait(&mut self, rounds_since_probe: u32, probe_wait_us: u64) {
        self.probe.rounds_since = rounds_since_probe;
        self.probe.wait_us = probe_wait_us;
    }
}
