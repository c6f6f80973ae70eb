//! Constants of BBR v1 in Linux 6.18.

use crate::estimators::Bursts;
use dumbbell_cc_contract::parameters::{Gain, Invalid, ParameterSet};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use serde::{Deserialize, Serialize};

/// Constants of [`Bbr1`](super::Bbr1); the defaults are Linux 6.18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Pacing gain in STARTUP: the smallest that doubles the rate every round, 2/ln 2.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "bbr_high_gain = 2885/1000 + 1/256"))]
    pub startup_pacing_gain: Gain,
    /// Window gain in STARTUP and DRAIN.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "bbr_high_gain"))]
    pub startup_window_gain: Gain,
    /// Pacing gain in DRAIN.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-source" = "bbr_drain_gain = 1000/2885"))]
    pub drain_gain: Gain,
    /// Window gain in PROBE_BW.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "bbr_cwnd_gain"))]
    pub steady_window_gain: Gain,
    /// Pacing gains of the phases of PROBE_BW. Phase 0 probes, phase 1 drains, the others cruise.
    #[schemars(
        length(min = 3, max = 64),
        inner(range(min = 0.003_906_25)),
        extend("x-source" = "bbr_pacing_gain[CYCLE_LEN]")
    )]
    pub cycle_gains: Vec<Gain>,
    /// Number of phases among which the first one is drawn, counted backwards from the one after the last.
    #[schemars(range(min = 1), extend("x-source" = "bbr_cycle_rand"))]
    pub cycle_random_phases: u32,

    /// Rounds that the bandwidth filter remembers.
    #[schemars(range(min = 1), extend("x-source" = "bbr_bw_rtts"))]
    pub bw_window_rounds: u32,
    /// How long a minimum round-trip time is believed; also the interval of PROBE_RTT.
    #[schemars(extend("x-source" = "bbr_min_rtt_win_sec"))]
    pub min_rtt_window: Duration,
    /// How long PROBE_RTT holds the window down; at least one round. Zero disables PROBE_RTT.
    #[schemars(extend("x-source" = "bbr_probe_rtt_mode_ms"))]
    pub probe_rtt_dwell: Duration,

    /// Smallest window in packets.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_cwnd_min_target"))]
    pub min_window: u32,
    /// Window in packets assumed as BDP while no round-trip time is known, and below which growth is free.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "TCP_INIT_CWND"))]
    pub initial_window: u32,
    /// Bursts added to the window target so that bursts at both ends do not starve the path; 0 adds none.
    #[schemars(range(max = 1_000), extend("x-source" = "bbr_quantization_budget: 3 * bbr_tso_segs_goal"))]
    pub budget_bursts: u32,
    /// Packets added to the window target while probing, so that small windows can probe at all.
    #[schemars(extend("x-source" = "bbr_quantization_budget: cwnd += 2"))]
    pub budget_probe_packets: u32,

    /// Share by which the pacing rate stays below the estimated bandwidth.
    #[schemars(extend("x-below" = "100%", "x-source" = "bbr_pacing_margin_percent"))]
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

    /// Smallest burst in packets at and above `burst_min_rate`.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_min_tso_segs"))]
    pub burst_min: u32,
    /// Smallest burst in packets below `burst_min_rate`.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_min_tso_segs"))]
    pub burst_min_slow: u32,
    /// Pacing rate that separates the two.
    #[schemars(extend("x-source" = "bbr_min_tso_rate"))]
    pub burst_min_rate: Rate,
    /// Largest burst in packets.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_tso_segs_goal: 0x7F"))]
    pub burst_max: u32,
    /// Largest burst in bytes.
    #[schemars(extend("x-source" = "GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER"))]
    pub burst_max_bytes: Bytes,
    /// The connection's small queues in its own host count `2^-small_queue_shift` seconds of its rate (8 is 4 ms);
    /// absent they count as much as a burst.
    #[schemars(range(max = 31), extend("x-source" = "BBR-n's patch of tcp_small_queue_check: sysctl tcp_pacing_shift"))]
    pub small_queue_shift: Option<u32>,

    /// Growth of the bandwidth estimate that counts as growth in STARTUP.
    #[schemars(extend("x-source" = "bbr_full_bw_thresh"))]
    pub full_threshold: Gain,
    /// Rounds without growth after which the pipe is full.
    #[schemars(range(min = 1), extend("x-source" = "bbr_full_bw_cnt"))]
    pub full_rounds: u32,

    /// Multiple of the measured aggregation that is allowed.
    #[schemars(extend("x-source" = "bbr_extra_acked_gain"))]
    pub aggregation_gain: Gain,
    /// Rounds that one of the two slots of the aggregation's maximum covers (at most 31).
    #[schemars(range(min = 1, max = 31), extend("x-source" = "bbr_extra_acked_win_rtts"))]
    pub aggregation_window_rounds: u32,
    /// The allowance is at most what the estimated bandwidth delivers in this time.
    #[schemars(extend("x-source" = "bbr_extra_acked_max_us"))]
    pub aggregation_cap: Duration,
    /// A sampling epoch restarts when it has seen this many packets.
    #[schemars(range(min = 2), extend("x-source" = "bbr_ack_epoch_acked_reset_thresh"))]
    pub aggregation_epoch_packets: u32,

    /// Shortest sampling interval in rounds.
    #[schemars(extend("x-at-most" = "policer_max_rounds", "x-source" = "bbr_lt_intvl_min_rtts"))]
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
            cycle_random_phases: 7,
            bw_window_rounds: 10,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_dwell: Duration::from_millis(200),
            min_window: 4,
            initial_window: 10,
            budget_bursts: 3,
            budget_probe_packets: 2,
            pacing_margin: Ratio::new(0.01).unwrap_or_default(),
            initial_pacing_gain: high_gain,
            nominal_pacing_gain: high_gain,
            nominal_rtt: Duration::from_millis(1),
            burst_min: 2,
            burst_min_slow: 1,
            burst_min_rate: Rate::from_bits_per_sec(1_200_000),
            burst_max: 127,
            burst_max_bytes: Bytes::new(65_215),
            small_queue_shift: None,
            full_threshold: Gain::new(320),
            full_rounds: 3,
            aggregation_gain: Gain::ONE,
            aggregation_window_rounds: 5,
            aggregation_cap: Duration::from_millis(100),
            aggregation_epoch_packets: 1 << 20,
            policer_min_rounds: 4,
            policer_max_rounds: 16,
            policer_loss_threshold: Gain::new(50),
            policer_ratio: Gain::new(32),
            policer_difference: Rate::from_bits_per_sec(4_000),
            policer_use_rounds: 48,
        }
    }
}

impl Parameters {
    /// How large bursts are to be.
    pub(super) fn bursts(&self) -> Bursts {
        Bursts::new(self.burst_min, self.burst_min_slow, self.burst_min_rate, self.burst_max, self.burst_max_bytes)
    }
}

impl ParameterSet for Parameters {
    fn validate(&self) -> Result<(), Invalid> {
        let are_phases = self.cycle_random_phases as usize <= self.cycle_gains.len();
        Invalid::unless(are_phases, "cycle_random_phases", "allowed: at most the number of phases in `cycle_gains`")
    }
}
