//! Constants of BBR v1. The defaults are Linux 6.18; the variants published since 2016 are overrides of them.

use crate::parameters::{Gain, Invalid, ParameterSet};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use serde::{Deserialize, Serialize};

/// Constants of [`Bbr1`](super::Bbr1); the defaults are Linux 6.18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Pacing gain in STARTUP: the smallest that doubles the rate every round, 2/ln 2.
    #[schemars(extend("x-source" = "bbr_high_gain = 2885/1000 + 1/256"))]
    pub startup_pacing_gain: Gain,
    /// Window gain in STARTUP and DRAIN.
    #[schemars(extend("x-source" = "bbr_high_gain"))]
    pub startup_window_gain: Gain,
    /// Pacing gain in DRAIN.
    #[schemars(extend("x-source" = "bbr_drain_gain = 1000/2885"))]
    pub drain_gain: Gain,
    /// Window gain in PROBE_BW.
    #[schemars(extend("x-source" = "bbr_cwnd_gain"))]
    pub steady_window_gain: Gain,
    /// Pacing gains of the phases of PROBE_BW. Phase 0 probes, phase 1 drains, the others cruise.
    #[schemars(length(min = 3, max = 64), extend("x-source" = "bbr_pacing_gain[CYCLE_LEN]"))]
    pub cycle_gains: Vec<Gain>,
    /// When PROBE_BW moves to its next phase.
    #[schemars(extend("x-source" = "bbr_is_next_cycle_phase; DrainQueueCongestion; tcp_bbrplus.c"))]
    pub cycle_policy: CyclePolicy,
    /// Number of phases among which the first one is drawn, counted backwards from the one after the last.
    #[schemars(range(min = 1), extend("x-source" = "bbr_cycle_rand"))]
    pub cycle_random_phases: u32,
    /// Phases to enter PROBE_BW at the first time, the second, and so on, over and over; empty draws them. In ns-3 all
    /// flows draw the same ones, from one stream of random numbers.
    #[schemars(extend("x-source" = "ns-3: TcpBbr::SetStream, attribute Stream"))]
    pub cycle_first_phases: Vec<u32>,
    /// The amount in flight that tests of PROBE_BW's phases look at.
    #[schemars(extend("x-source" = "bbr_is_next_cycle_phase: rs->prior_in_flight"))]
    pub cycle_in_flight: InFlight,
    /// The time that the lengths of PROBE_BW's phases are measured with.
    #[schemars(extend("x-source" = "bbr_is_next_cycle_phase: tp->delivered_mstamp"))]
    pub cycle_clock: CycleClock,

    /// Rounds that the bandwidth filter remembers.
    #[schemars(range(min = 1), extend("x-source" = "bbr_bw_rtts"))]
    pub bw_window_rounds: u32,
    /// Start the bandwidth filter from the initial window per round trip instead of from nothing.
    #[schemars(extend("x-source" = "bbr_init: minmax_reset to 0; ns-3 TcpBbr: InitPacingRate"))]
    pub initial_bw_estimate: bool,

    /// How long a minimum round-trip time is believed; also the interval of PROBE_RTT.
    #[schemars(extend("x-source" = "bbr_min_rtt_win_sec"))]
    pub min_rtt_window: Duration,
    /// A sample equal to the minimum renews it (before Linux 5.10).
    #[schemars(extend("x-source" = "bbr_update_min_rtt: rtt_us < min_rtt_us"))]
    pub min_rtt_tie_refreshes: bool,
    /// Standard deviations of the round-trip time that are added to the minimum for the BDP (BBR+ on high-speed rail).
    #[schemars(extend("x-source" = "BBR+: lambda"))]
    pub min_rtt_offset: Gain,
    /// A sample that probably contains an ACK delay does not replace an expired minimum (since Linux 4.16).
    #[schemars(extend("x-source" = "bbr_update_min_rtt: is_ack_delayed"))]
    pub delayed_ack_guard: bool,

    /// How long PROBE_RTT holds the window down; at least one round. Zero disables PROBE_RTT.
    #[schemars(extend("x-source" = "bbr_probe_rtt_mode_ms"))]
    pub probe_rtt_dwell: Duration,
    /// The window in PROBE_RTT.
    #[schemars(extend("x-source" = "bbr_cwnd_min_target"))]
    pub probe_rtt_window: ProbeRttWindow,
    /// When the window from before PROBE_RTT comes back.
    #[schemars(extend("x-source" = "bbr_check_probe_rtt_done"))]
    pub probe_rtt_restore: Restore,
    /// Leave PROBE_RTT when transmission restarts after its time is over (since Linux 4.19).
    #[schemars(extend("x-source" = "bbr_cwnd_event: bbr_check_probe_rtt_done"))]
    pub probe_rtt_exit_from_idle: bool,
    /// An ACK that delivers nothing ends the restart from idle, too (before Linux 4.16).
    #[schemars(extend("x-source" = "bbr_update_min_rtt: idle_restart"))]
    pub idle_ends_with_any_ack: bool,

    /// Before the first bandwidth sample the window's target is its gain times `initial_window`, not a BDP of nothing.
    #[schemars(extend("x-source" = "QUIC: GetTargetCongestionWindow, gain * initial_congestion_window"))]
    pub gain_before_bandwidth: bool,
    /// Smallest window in packets.
    #[schemars(range(min = 1), extend("x-source" = "bbr_cwnd_min_target"))]
    pub min_window: u32,
    /// Window in packets assumed as BDP while no round-trip time is known, and below which growth is free.
    #[schemars(range(min = 1), extend("x-source" = "TCP_INIT_CWND"))]
    pub initial_window: u32,
    /// Bursts added to the window target so that bursts at both ends do not starve the path; 0 adds none.
    #[schemars(extend("x-source" = "bbr_quantization_budget: 3 * bbr_tso_segs_goal"))]
    pub budget_bursts: u32,
    /// Round the window target up to an even number, for receivers that acknowledge every second packet.
    #[schemars(extend("x-source" = "bbr_quantization_budget: (cwnd + 1) & ~1"))]
    pub budget_even: bool,
    /// Packets added to the window target while probing, so that small windows can probe at all.
    #[schemars(extend("x-source" = "bbr_quantization_budget: cwnd += 2"))]
    pub budget_probe_packets: u32,
    /// When `budget_probe_packets` are added.
    #[schemars(extend("x-source" = "bbr_quantization_budget: cycle_idx == 0"))]
    pub budget_probe_when: ProbeBudget,
    /// Compare the amount that will be in flight at the next departure time, not the present one (since Linux 4.20).
    #[schemars(extend("x-source" = "bbr_packets_in_net_at_edt"))]
    pub net_estimate: bool,
    /// The window's caps also act on ACKs that deliver nothing (since Linux 4.19).
    #[schemars(extend("x-source" = "bbr_set_cwnd: done"))]
    pub zero_ack_caps: bool,

    /// Ask the sender to pace. Off is Linux before 4.13 without the fq queueing discipline: the window alone governs.
    #[schemars(extend("x-source" = "bbr_init: SK_PACING_NEEDED; ReBBR, kernel 4.11 without fq"))]
    pub paced: bool,
    /// Share by which the pacing rate stays below the estimated bandwidth.
    #[schemars(extend("x-source" = "bbr_pacing_margin_percent"))]
    pub pacing_margin: Ratio,
    /// Gain of the first pacing rate.
    #[schemars(extend("x-source" = "bbr_init_pacing_rate_from_rtt: bbr_high_gain; QUIC: 1"))]
    pub initial_pacing_gain: Gain,
    /// Gain of the pacing rate while no round-trip time is known.
    #[schemars(extend("x-source" = "bbr_init_pacing_rate_from_rtt: bbr_high_gain; QUIC: PacingRate"))]
    pub nominal_pacing_gain: Gain,
    /// Round-trip time of the first pacing rate while none is known.
    #[schemars(extend("x-source" = "bbr_init_pacing_rate_from_rtt: USEC_PER_MSEC"))]
    pub nominal_rtt: Duration,
    /// Compute the first pacing rate again when the first round-trip time becomes known (since Linux 4.13).
    #[schemars(extend("x-source" = "bbr_set_pacing_rate: has_seen_rtt"))]
    pub pacing_reinit: bool,
    /// How long the pacing rate may rise only.
    #[schemars(extend("x-source" = "bbr_set_pacing_rate: bbr_full_bw_reached"))]
    pub pacing_rises_only: RisesOnly,

    /// Smallest burst in packets at and above `burst_min_rate`.
    #[schemars(range(min = 1), extend("x-source" = "bbr_min_tso_segs"))]
    pub burst_min: u32,
    /// Smallest burst in packets below `burst_min_rate`.
    #[schemars(range(min = 1), extend("x-source" = "bbr_min_tso_segs"))]
    pub burst_min_slow: u32,
    /// Pacing rate that separates the two.
    #[schemars(extend("x-source" = "bbr_min_tso_rate"))]
    pub burst_min_rate: Rate,
    /// Largest burst in packets.
    #[schemars(range(min = 1), extend("x-source" = "bbr_tso_segs_goal: 0x7F"))]
    pub burst_max: u32,
    /// Largest burst in bytes.
    #[schemars(extend("x-source" = "GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER"))]
    pub burst_max_bytes: Bytes,
    /// Sets the connection's burst length to `2^-pacing_shift` seconds of its rate (8 is 4 ms); absent leaves it alone.
    #[schemars(range(max = 31), extend("x-source" = "sk_pacing_shift"))]
    pub pacing_shift: Option<u32>,

    /// Growth of the bandwidth estimate that counts as growth in STARTUP.
    #[schemars(extend("x-source" = "bbr_full_bw_thresh"))]
    pub full_threshold: Gain,
    /// Rounds without growth after which the pipe is full.
    #[schemars(range(min = 1), extend("x-source" = "bbr_full_bw_cnt"))]
    pub full_rounds: u32,
    /// A loss that proved spurious restarts the search for a full pipe and the policer's sampling (since Linux 4.15).
    #[schemars(extend("x-source" = "bbr_undo_cwnd"))]
    pub undo_resets_plateau: bool,
    /// A retransmission timeout forgets the bandwidth that the search for a full pipe compares with.
    #[schemars(extend("x-source" = "bbr_set_state: full_bw = 0"))]
    pub rto_resets_plateau: bool,

    /// How the window reacts to loss.
    #[schemars(extend("x-source" = "bbr_set_cwnd_to_recover_or_restore"))]
    pub recovery: Recovery,
    /// Round-trip times that differ by at most this are alike (`recovery = "acd_*"`).
    #[schemars(extend("x-source" = "BBR-ACD: alpha = 1000 us"))]
    pub acd_tolerance: Duration,
    /// How often in a row a round-trip time above the minimum must be like the one before to reveal a full queue.
    #[schemars(extend("x-source" = "BBR-ACD: three near-identical samples, two repetitions"))]
    pub acd_repetitions: u32,
    /// A round-trip time above this many minima reveals a full queue by itself.
    #[schemars(extend("x-source" = "BBR-ACD: 2"))]
    pub acd_rtt_factor: Gain,

    /// Allowance for aggregated ACKs on top of the window target.
    #[schemars(extend("x-source" = "bbr_update_ack_aggregation"))]
    pub aggregation: Aggregation,
    /// Multiple of the measured aggregation that is allowed.
    #[schemars(extend("x-source" = "bbr_extra_acked_gain"))]
    pub aggregation_gain: Gain,
    /// Rounds that one of the two slots of the aggregation's maximum covers (at most 31); with `quic`, rounds that its
    /// maximum filter remembers.
    #[schemars(range(min = 1, max = 31), extend("x-source" = "bbr_extra_acked_win_rtts"))]
    pub aggregation_window_rounds: u32,
    /// The allowance is at most what the estimated bandwidth delivers in this time.
    #[schemars(extend("x-source" = "bbr_extra_acked_max_us"))]
    pub aggregation_cap: Duration,
    /// A sampling epoch restarts when it has seen this many packets.
    #[schemars(range(min = 2), extend("x-source" = "bbr_ack_epoch_acked_reset_thresh"))]
    pub aggregation_epoch_packets: u32,
    /// Epochs are measured in whole multiples of this time (1 s in ns-3).
    #[schemars(extend("x-source" = "ns-3 TcpBbr::UpdateAckAggregation"))]
    pub aggregation_resolution: Duration,

    /// Look for a traffic policer and follow its rate.
    #[schemars(extend("x-source" = "bbr_lt_bw_sampling"))]
    pub policer_sampler: bool,
    /// Shortest sampling interval in rounds.
    #[schemars(extend("x-source" = "bbr_lt_intvl_min_rtts"))]
    pub policer_min_rounds: u32,
    /// Longest sampling interval in rounds.
    #[schemars(extend("x-source" = "4 * bbr_lt_intvl_min_rtts"))]
    pub policer_max_rounds: u32,
    /// Lost per delivered packets from which on an interval looks policed.
    #[schemars(extend("x-source" = "bbr_lt_loss_thresh"))]
    pub policer_loss_threshold: Gain,
    /// Two intervals agree when their rates differ by at most this share of the first.
    #[schemars(extend("x-source" = "bbr_lt_bw_ratio"))]
    pub policer_ratio: Gain,
    /// Two intervals agree when their rates differ by at most this rate.
    #[schemars(extend("x-source" = "bbr_lt_bw_diff"))]
    pub policer_difference: Rate,
    /// Rounds that a policer's rate is used before probing again.
    #[schemars(extend("x-source" = "bbr_lt_bw_max_rtts"))]
    pub policer_use_rounds: u32,
    /// PROBE_BW's phases stand still while a policer's rate is used (before Linux 4.16).
    #[schemars(extend("x-source" = "bbr_update_cycle_phase: lt_use_bw"))]
    pub policer_freezes_cycle: bool,
}

/// When PROBE_BW moves to its next phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CyclePolicy {
    /// After one minimum round-trip time; probing lasts until its amount is in flight or a loss, draining ends as soon
    /// as one BDP is in flight.
    #[default]
    Timed,
    /// As `timed`, but the draining gain is held through the following phases until one BDP is in flight (BBR').
    TimedDrain,
    /// As `timed`, but draining lasts until one BDP is in flight, however long that takes (BBR' in its paper's words).
    StrictDrain,
    /// A cycle has a random length of 2 to 8 minimum round-trip times; it probes, drains to one BDP and cruises for the
    /// rest (BBRPlus, kernel).
    RandomLength,
    /// As `random_length` with the differences of BBRPlus in DrainQueueCongestion: a loss keeps draining even where one
    /// BDP is reached, and every entry of PROBE_BW begins a cycle.
    RandomLengthDqc,
}

impl CyclePolicy {
    /// Whether a cycle, and not each of its phases, has a length.
    #[inline]
    pub(super) fn has_random_lengths(self) -> bool {
        matches!(self, CyclePolicy::RandomLength | CyclePolicy::RandomLengthDqc)
    }
}

/// An amount in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InFlight {
    /// Before the ACK (Linux).
    #[default]
    Prior,
    /// After the ACK (QUIC), except for the end of probing under `timed` and `timed_drain`.
    Current,
}

/// The time that the lengths of phases are measured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CycleClock {
    /// When data was last delivered (Linux).
    #[default]
    Delivered,
    /// Now (ns-3, QUIC).
    Now,
}

/// The window in PROBE_RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRttWindow {
    /// `min_window`.
    #[default]
    MinWindow,
    /// Half the window with every ACK, down to `min_window` (Tsunami).
    Halving,
    /// This share of the BDP, at least `min_window`.
    Bdp(Gain),
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

/// When the budget contains the extra packets for probing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeBudget {
    /// In phase 0 of PROBE_BW.
    #[default]
    PhaseZero,
    /// In PROBE_BW, for every target with a gain above one (BBR-ACD).
    GainAboveOne,
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

/// How the window reacts to loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Packet conservation for a round, then slow start to the target; the saved window returns at the end.
    #[default]
    Linux,
    /// A recovery window beside the window: conservation for a round, then growth; the smaller of the two applies.
    Quic,
    /// As `linux`, but in fast recovery alone: losses elsewhere leave the window as it is (ns-3).
    Ns3,
    /// As the port that ns-3's BBR grew from: what an ACK finds lost is subtracted in every state, packets are conserved
    /// for the first ACK of fast recovery only, and its end sets the window to the initial threshold, which is infinite:
    /// the next ACK's addition wraps around to the smallest window.
    #[serde(rename = "ns3_2018")]
    Ns3Of2018,
    /// No conservation; a loss while the round-trip times reveal congestion halves the window, to at most one BDP, once
    /// per recovery (BBR-ACD as its paper words it).
    AcdPaper,
    /// The same if the ACK that begins the recovery reveals congestion, but repeated with every ACK of the round
    /// (BBR-ACD's kernel code).
    AcdKernel,
    /// The window is halved with every ACK of a recovery, and its gain is one until the next state (BBR-ACD's ns-3 code,
    /// which never uses what it detects).
    AcdNs3,
}

/// How aggregated ACKs are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Two slots of `aggregation_window_rounds` rounds, bounded by the window and `aggregation_cap` (since Linux 5.1).
    #[default]
    Linux,
    /// A maximum filter over `aggregation_window_rounds` rounds without bounds.
    Quic,
    /// Not at all.
    Off,
}

impl Default for Parameters {
    fn default() -> Parameters {
        let high_gain = Gain::new(739);
        Parameters {
            startup_pacing_gain: high_gain,
            startup_window_gain: high_gain,
            drain_gain: Gain::new(88),
            steady_window_gain: Gain::new(512),
            cycle_gains: [320, 192, 256, 256, 256, 256, 256, 256].map(Gain::new).to_vec(),
            cycle_policy: CyclePolicy::Timed,
            cycle_random_phases: 7,
            cycle_first_phases: Vec::new(),
            cycle_in_flight: InFlight::Prior,
            cycle_clock: CycleClock::Delivered,
            bw_window_rounds: 10,
            initial_bw_estimate: false,
            min_rtt_window: Duration::from_secs(10),
            min_rtt_tie_refreshes: false,
            min_rtt_offset: Gain::new(0),
            delayed_ack_guard: true,
            probe_rtt_dwell: Duration::from_millis(200),
            probe_rtt_window: ProbeRttWindow::MinWindow,
            probe_rtt_restore: Restore::AtExit,
            probe_rtt_exit_from_idle: true,
            idle_ends_with_any_ack: false,
            gain_before_bandwidth: false,
            min_window: 4,
            initial_window: 10,
            budget_bursts: 3,
            budget_even: true,
            budget_probe_packets: 2,
            budget_probe_when: ProbeBudget::PhaseZero,
            net_estimate: true,
            zero_ack_caps: true,
            paced: true,
            pacing_margin: Ratio::new(0.01).unwrap_or_default(),
            initial_pacing_gain: high_gain,
            nominal_pacing_gain: high_gain,
            nominal_rtt: Duration::from_millis(1),
            pacing_reinit: true,
            pacing_rises_only: RisesOnly::UntilFull,
            burst_min: 2,
            burst_min_slow: 1,
            burst_min_rate: Rate::from_bits_per_sec(1_200_000),
            burst_max: 127,
            burst_max_bytes: Bytes::new(65_215),
            pacing_shift: None,
            full_threshold: Gain::new(320),
            full_rounds: 3,
            undo_resets_plateau: true,
            rto_resets_plateau: true,
            recovery: Recovery::Linux,
            acd_tolerance: Duration::from_millis(1),
            acd_repetitions: 2,
            acd_rtt_factor: Gain::new(512),
            aggregation: Aggregation::Linux,
            aggregation_gain: Gain::ONE,
            aggregation_window_rounds: 5,
            aggregation_cap: Duration::from_millis(100),
            aggregation_epoch_packets: 1 << 20,
            aggregation_resolution: Duration::from_micros(1),
            policer_sampler: true,
            policer_min_rounds: 4,
            policer_max_rounds: 16,
            policer_loss_threshold: Gain::new(50),
            policer_ratio: Gain::new(32),
            policer_difference: Rate::from_bits_per_sec(4_000),
            policer_use_rounds: 48,
            policer_freezes_cycle: false,
        }
    }
}

impl Parameters {
    /// Whether PROBE_RTT exists.
    pub(super) fn has_probe_rtt(&self) -> bool {
        self.probe_rtt_dwell > Duration::ZERO
    }

    /// Parts per million of the estimated bandwidth that remain after the pacing margin.
    pub(super) fn pacing_share_ppm(&self) -> u64 {
        1_000_000 - (self.pacing_margin.as_f64() * 1e6).round() as u64
    }
}

impl ParameterSet for Parameters {
    fn validate(&self) -> Result<(), Invalid> {
        let check =
            |ok: bool, key, allowed: &str| if ok { Ok(()) } else { Err(Invalid { key, allowed: allowed.into() }) };
        let phases = self.cycle_gains.len();
        let positive = |gain: Gain| gain > Gain::new(0);
        check(positive(self.startup_pacing_gain), "startup_pacing_gain", "it must be at least 1/256")?;
        check(positive(self.startup_window_gain), "startup_window_gain", "it must be at least 1/256")?;
        check(positive(self.drain_gain) && self.drain_gain < Gain::ONE, "drain_gain", "it must lie between 0 and 1")?;
        check(positive(self.steady_window_gain), "steady_window_gain", "it must be at least 1/256")?;
        check((3..=64).contains(&phases), "cycle_gains", "there must be 3 to 64 phases")?;
        check(self.cycle_gains.iter().copied().all(positive), "cycle_gains", "every gain must be at least 1/256")?;
        check(
            (1..=phases).contains(&(self.cycle_random_phases as usize)),
            "cycle_random_phases",
            "it must lie between 1 and the number of phases",
        )?;
        let entered = &self.cycle_first_phases;
        let exist = entered.iter().all(|&phase| (phase as usize) < phases);
        check(exist, "cycle_first_phases", "each must be a phase of the cycle, counted from 0")?;
        check(self.bw_window_rounds > 0, "bw_window_rounds", "it must be at least 1")?;
        check(self.min_window > 0, "min_window", "it must be at least 1 packet")?;
        check(self.initial_window > 0, "initial_window", "it must be at least 1 packet")?;
        check(self.budget_bursts <= 1_000, "budget_bursts", "it must not exceed 1000")?;
        check(self.pacing_margin.as_f64() < 1.0, "pacing_margin", "it must be less than 100%")?;
        check(self.burst_min > 0, "burst_min", "it must be at least 1 packet")?;
        check(self.burst_min_slow > 0, "burst_min_slow", "it must be at least 1 packet")?;
        check(self.burst_max > 0, "burst_max", "it must be at least 1 packet")?;
        check(self.pacing_shift.is_none_or(|s| s < 32), "pacing_shift", "it must lie in 0..=31")?;
        check(self.full_rounds > 0, "full_rounds", "it must be at least 1")?;
        check(
            (1..=31).contains(&self.aggregation_window_rounds),
            "aggregation_window_rounds",
            "it must lie in 1..=31",
        )?;
        check(self.aggregation_epoch_packets > 1, "aggregation_epoch_packets", "it must be at least 2")?;
        check(
            self.policer_min_rounds <= self.policer_max_rounds,
            "policer_min_rounds",
            "it must not exceed policer_max_rounds",
        )
    }
}
