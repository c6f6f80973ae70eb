//! The private state in the kernel's units.

use super::Bbr1;
use super::model::Mode;
use super::rules::Rules;

/// The private state of a [`Bbr1`] in the units of the kernel's `struct bbr`, for comparing it with a kernel's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the kernel's fields")]
pub struct Snapshot {
    pub mode: Mode,
    pub min_rtt_us: u32,
    /// Bandwidth filter: best, second and third value.
    pub bw: [u32; 3],
    pub rtt_cnt: u32,
    pub next_rtt_delivered: u64,
    pub cycle_idx: u32,
    pub pacing_gain: u32,
    pub cwnd_gain: u32,
    pub full_bw: u32,
    pub full_bw_cnt: u32,
    pub full_bw_reached: bool,
    pub packet_conservation: bool,
    pub round_start: bool,
    pub idle_restart: bool,
    pub lt_use_bw: bool,
    pub lt_is_sampling: bool,
    pub lt_bw: u32,
    pub lt_rtt_cnt: u32,
    pub prior_cwnd: u32,
    pub min_rtt_stamp: u32,
    pub probe_rtt_done_stamp: u32,
    pub cycle_mstamp: u64,
    pub extra_acked: [u32; 2],
    pub ack_epoch_acked: u32,
    pub ack_epoch_mstamp: u64,
}

impl<R: Rules> Bbr1<R> {
    /// The private state.
    pub fn snapshot(&self) -> Snapshot {
        let core = &self.core;
        Snapshot {
            mode: core.state.mode,
            min_rtt_us: core.min_rtt.rtt_us,
            bw: core.bandwidth.measurements().map(|m| m.value),
            rtt_cnt: core.round.count,
            next_rtt_delivered: core.round.next_delivered,
            cycle_idx: core.state.phase.into(),
            pacing_gain: core.pacing_gain.numerator(),
            cwnd_gain: core.cwnd_gain.numerator(),
            full_bw: core.full_pipe.baseline,
            full_bw_cnt: core.full_pipe.rounds,
            full_bw_reached: core.state.full_pipe,
            packet_conservation: core.recovery.packet_conservation,
            round_start: core.round.started,
            idle_restart: core.idle_restart,
            lt_use_bw: core.state.policed,
            lt_is_sampling: core.policer.sampling,
            lt_bw: core.policer.bandwidth,
            lt_rtt_cnt: core.policer.rounds,
            prior_cwnd: core.recovery.prior_cwnd,
            min_rtt_stamp: core.min_rtt.stamp,
            probe_rtt_done_stamp: core.probe_rtt.done_stamp,
            cycle_mstamp: core.cycle.start_us,
            extra_acked: core.aggregation.slots.maxima,
            ack_epoch_acked: core.aggregation.epoch_acked,
            ack_epoch_mstamp: core.aggregation.epoch_start_us,
        }
    }
}
