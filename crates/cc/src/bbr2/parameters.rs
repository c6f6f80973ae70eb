//! Constants of BBR v2. The defaults are Linux's v2 alpha; version 3, the draft and QUIC's v2 are overrides of them.
//!
//! Long because it is one list: each parameter with its meaning, source, default and range.

use crate::estimators::Bursts;
use dumbbell_cc_contract::parameters::{Gain, ParameterSet};
use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use serde::{Deserialize, Serialize};

/// Constants of [`Bbr2`](super::Bbr2); the defaults are those of Linux's v2 alpha.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Pacing gain in STARTUP.
    #[schemars(extend(
        "exclusiveMinimum" = 0,
        "x-source" = "v2: bbr_startup_pacing_gain = 2885/1000 + 1/256; v3: 277/100 + 1/256"
    ))]
    pub startup_pacing_gain: Gain,
    /// Window gain in STARTUP and DRAIN.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "v2: bbr_startup_cwnd_gain = 2885/1000 + 1/256; v3: 2"))]
    pub startup_window_gain: Gain,
    /// Pacing gain in DRAIN.
    #[schemars(extend(
        "exclusiveMinimum" = 0,
        "exclusiveMaximum" = 1,
        "x-source" = "bbr_drain_gain = 1000/2885; draft-ietf-ccwg-bbr: 0.5"
    ))]
    pub drain_gain: Gain,
    /// Pacing gain in UP.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "bbr_pacing_gain[BBR_BW_PROBE_UP] = 5/4"))]
    pub up_pacing_gain: Gain,
    /// Pacing gain in DOWN.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "bbr_pacing_gain[BBR_BW_PROBE_DOWN]: v2 3/4, v3 91/100"))]
    pub down_pacing_gain: Gain,
    /// Pacing gain in CRUISE and REFILL.
    #[schemars(extend(
        "exclusiveMinimum" = 0,
        "x-source" = "bbr_pacing_gain[BBR_BW_PROBE_CRUISE], [BBR_BW_PROBE_REFILL]"
    ))]
    pub cruise_pacing_gain: Gain,
    /// Window gain in PROBE_BW, except UP.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "bbr_cwnd_gain = 2"))]
    pub steady_window_gain: Gain,
    /// Window gain in UP.
    #[schemars(extend("exclusiveMinimum" = 0, "x-source" = "v2: bbr_cwnd_gain = 2; v3: 2 + 1/4"))]
    pub up_window_gain: Gain,

    /// How long a minimum round-trip time is believed.
    #[schemars(extend("x-source" = "bbr_min_rtt_win_sec = 10"))]
    pub min_rtt_window: Duration,
    /// How long the minimum that schedules PROBE_RTT is believed.
    #[schemars(extend("x-source" = "bbr_probe_rtt_win_ms = 5000; QUIC: 10 s"))]
    pub probe_rtt_interval: Duration,
    /// It is believed for at least this many minimum round-trip times: a long path has PROBE_RTT less often.
    #[schemars(range(max = 10_000), extend("x-unit" = "RTTs", "x-source" = "0 in Linux and the draft; picoquic: 100"))]
    pub probe_rtt_interval_rtts: u32,
    /// A sample equal to the minimum that schedules PROBE_RTT renews it.
    #[schemars(extend("x-source" = "bbr_update_min_rtt: v2 rtt_us <= probe_rtt_min_us, v3 <"))]
    pub min_rtt_tie_refreshes: bool,
    /// A sample that probably contains an ACK delay does not replace an expired minimum.
    #[schemars(extend("x-source" = "bbr_update_min_rtt: is_ack_delayed; not in draft-ietf-ccwg-bbr"))]
    pub delayed_ack_guard: bool,
    /// Where PROBE_RTT may begin.
    #[schemars(extend("x-source" = "bbr_check_probe_rtt; quic_bbr2_probe_bw: only when DOWN ends"))]
    pub probe_rtt_entry: ProbeRttEntry,
    /// How long PROBE_RTT holds the window down. Zero disables PROBE_RTT.
    #[schemars(extend("x-source" = "bbr_probe_rtt_mode_ms = 200"))]
    pub probe_rtt_dwell: Duration,
    /// PROBE_RTT lasts at least a round, too.
    #[schemars(extend("x-source" = "bbr_update_min_rtt: probe_rtt_round_done; quic_bbr2_probe_rtt: time only"))]
    pub probe_rtt_round: bool,
    /// The window in PROBE_RTT as a share of the BDP.
    #[schemars(range(max = 1), extend("x-source" = "bbr_probe_rtt_cwnd_gain = 1/2"))]
    pub probe_rtt_window_gain: Gain,

    /// Smallest window in packets.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_cwnd_min_target = 4"))]
    pub min_window: u32,
    /// Bursts that the window target holds at least; 0 is no such floor.
    #[schemars(range(max = 1_000), extend("x-source" = "bbr_quantization_budget: 3 * tso_segs_goal"))]
    pub budget_bursts: u32,
    /// Packets added to the window target in UP, so that small windows can probe at all.
    #[schemars(extend("x-source" = "bbr_quantization_budget: cwnd += 2 in BBR_BW_PROBE_UP"))]
    pub budget_up_packets: u32,

    /// Compare the amount that will be in flight at the next departure time, not the present one.
    #[schemars(extend("x-source" = "bbr_packets_in_net_at_edt; not in QUIC"))]
    pub net_estimate: bool,
    /// PROBE_BW looks at the amount in flight after an ACK instead of before it.
    #[schemars(extend("x-source" = "draft-ietf-ccwg-bbr: C.inflight; Linux: rs->prior_in_flight"))]
    pub inflight_after_ack: bool,

    /// Share by which the pacing rate stays below the estimated bandwidth.
    #[schemars(extend("x-below" = "100%", "x-source" = "bbr_pacing_margin_percent = 1"))]
    pub pacing_margin: Ratio,
    /// Gain of the first pacing rate.
    #[schemars(extend("x-source" = "bbr_init_pacing_rate_from_rtt: bbr_startup_pacing_gain"))]
    pub initial_pacing_gain: Gain,
    /// Round-trip time of the first pacing rate while none is known.
    #[schemars(extend("x-source" = "bbr_init_pacing_rate_from_rtt: USEC_PER_MSEC"))]
    pub nominal_rtt: Duration,
    /// Smallest burst in packets at and above `burst_min_rate`.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_min_tso_segs: 2; BBR-n: 4"))]
    pub burst_min: u32,
    /// Smallest burst in packets below `burst_min_rate`.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_min_tso_segs: v2 1, v3 2"))]
    pub burst_min_slow: u32,
    /// Pacing rate that separates the two.
    #[schemars(extend("x-source" = "bbr_min_tso_rate = 1.2 Mbit/s"))]
    pub burst_min_rate: Rate,
    /// Largest burst in packets.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "bbr_tso_segs_goal: 0x7F"))]
    pub burst_max: u32,
    /// Largest burst in bytes.
    #[schemars(extend("x-source" = "GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER"))]
    pub burst_max_bytes: Bytes,
    /// Bytes that a burst may have beyond the pacing rate's share on the shortest paths; halved with every
    /// `burst_rtt_step` of round-trip time.
    #[schemars(extend("x-source" = "bbr_tso_segs_goal: GSO_MAX_SIZE >> r"))]
    pub burst_rtt_bytes: Bytes,
    /// Round-trip time that halves `burst_rtt_bytes`.
    #[schemars(extend("x-at-least" = "1us", "x-source" = "bbr_tso_rtt_shift = 9: 512 us"))]
    pub burst_rtt_step: Duration,
    /// The connection's small queues in its own host count `2^-small_queue_shift` seconds of its rate (8 is 4 ms);
    /// absent they count as much as a burst.
    #[schemars(range(max = 31), extend("x-source" = "BBR-n's patch of tcp_small_queue_check: sysctl tcp_pacing_shift"))]
    pub small_queue_shift: Option<u32>,

    /// What the search for a full pipe looks at, and when.
    #[schemars(extend("x-source" = "bbr_check_full_bw_reached; draft-ietf-ccwg-bbr, BBRCheckFullBWReached"))]
    pub full_test: FullTest,
    /// Growth of the bandwidth that counts as growth.
    #[schemars(extend("x-source" = "bbr_full_bw_thresh = 5/4"))]
    pub full_threshold: Gain,
    /// Rounds without growth after which the pipe is full.
    #[schemars(range(min = 1), extend("x-source" = "bbr_full_bw_cnt = 3"))]
    pub full_rounds: u32,
    /// ACKs with losses in a round after which STARTUP ends when the loss is too high as well.
    #[schemars(range(min = 1, max = 15), extend("x-source" = "bbr_full_loss_cnt: v2 8, v3 6"))]
    pub startup_loss_events: u32,
    /// The bound that a STARTUP ended by loss or marks leaves for the amount in flight.
    #[schemars(extend("x-source" = "bbr_handle_queue_too_high_in_startup"))]
    pub startup_bound: StartupBound,
    /// Rounds after which DRAIN ends whatever is in flight; absent is no limit.
    #[schemars(extend("x-source" = "draft-ietf-ccwg-bbr, BBRCheckDrainDone: 3"))]
    pub drain_max_rounds: Option<u32>,

    /// Share of what was in flight that may be lost before the amount in flight counts as too high.
    #[schemars(extend("exclusiveMaximum" = 1, "x-source" = "bbr_loss_thresh = 2/100, in 1/256"))]
    pub loss_threshold: Gain,
    /// Which losses are compared with `loss_threshold`.
    #[schemars(extend("x-source" = "bbr_is_inflight_too_high: rs->lost; quic_bbr2_misc: losses in the round"))]
    pub loss_count: LossCount,
    /// ACKs with losses that it takes in a round before the amount in flight can count as too high.
    #[schemars(extend("x-source" = "QUIC: probe_bw_full_loss_count = 2"))]
    pub loss_min_events: u32,
    /// Decide with every lost packet at which packet of its flight the loss became too high.
    #[schemars(extend("x-source" = "bbr_skb_marked_lost; not in QUIC"))]
    pub lost_packet_test: bool,
    /// What was in flight when a packet left, by which losses are judged, is counted by the buffers of the kernel that
    /// the algorithm comes from, unless `transport.in_flight_by_buffer` says otherwise. TCP only.
    #[schemars(extend("x-source" = "v3: tx.in_flight of a sk_buff; v2: not recorded; not in the drafts, not in QUIC"))]
    pub in_flight_by_buffer: bool,
    /// Decide with every ACK's sample whether the loss became too high.
    #[schemars(extend("x-source" = "bbr_adapt_upper_bounds: bbr_is_inflight_too_high; not in draft-ietf-ccwg-bbr"))]
    pub sample_test: bool,
    /// A loss that a tail loss probe repaired counts like one that was detected.
    #[schemars(extend("x-source" = "v3: CA_EVENT_TLP_RECOVERY"))]
    pub tlp_repair_counts: bool,
    /// Share by which bounds are reduced.
    #[schemars(extend("exclusiveMaximum" = 1, "x-source" = "bbr_beta = 30/100, in 1/256"))]
    pub beta: Gain,
    /// Share of `inflight_hi` that CRUISE and PROBE_RTT leave to other flows.
    #[schemars(extend("exclusiveMaximum" = 1, "x-source" = "bbr_inflight_headroom = 15/100, in 1/256"))]
    pub headroom: Gain,
    /// Least headroom in packets.
    #[schemars(extend("x-source" = "bbr_inflight_with_headroom: max(headroom, 1); not in QUIC"))]
    pub headroom_min: u32,
    /// Signals of the current loss round are replaced at the end of an ACK's processing, not before the model sees
    /// them.
    #[schemars(extend("x-source" = "v3: bbr_advance_latest_delivery_signals"))]
    pub latest_signals_last: bool,
    /// A sample that the application limited, and that lies below the maximum bandwidth, leaves window, pacing rate and
    /// aggregation as they are where the window has reached its target and no loss or mark came in the loss round.
    #[schemars(extend("x-source" = "bbr_run_fast_path; not in draft-ietf-ccwg-bbr, not in QUIC"))]
    pub app_limited_model_stands: bool,
    /// Loss that is too high lowers `inflight_hi` also where the application limited the flight that it hit, as case 6 of
    /// the draft's examples asks, against its pseudocode.
    #[schemars(extend("x-source" = "draft-ietf-ccwg-bbr, BBR Example Test Cases, 6; not in BBRHandleInflightTooHigh"))]
    pub app_limited_lowers_bound: bool,
    /// Losses are judged by rounds of their own, which begin with a loss.
    #[schemars(extend("x-source" = "bbr_update_congestion_signals: loss_round_delivered; not in QUIC"))]
    pub own_loss_rounds: bool,
    /// Entering CRUISE lowers `inflight_lo` to `inflight_hi`.
    #[schemars(extend("x-source" = "bbr_start_bw_probe_cruise; not in draft-ietf-ccwg-bbr"))]
    pub cruise_caps_inflight_lo: bool,
    /// What a reduction that proved spurious brings back.
    #[schemars(extend("x-source" = "bbr_undo_cwnd; draft-ietf-ccwg-bbr, BBRHandleSpuriousLossDetection"))]
    pub undo: Undo,
    /// What a retransmission timeout does to the model.
    #[schemars(extend("x-source" = "bbr_set_state"))]
    pub timeout: Timeout,

    /// How UP ends when neither loss nor marks end it.
    #[schemars(extend("x-source" = "bbr_update_cycle_phase: v2 queue, v3 plateau"))]
    pub up_exit: UpExit,
    /// UP ends when this many BDP are in flight (`up_exit = "queue"`).
    #[schemars(extend("x-source" = "bbr_bw_probe_pif_gain = 5/4"))]
    pub up_queue_gain: Gain,
    /// UP lasts at least a round instead of a minimum round-trip time, and the queue that ends it is larger by two
    /// packets and the aggregation allowance.
    #[schemars(extend("x-source" = "quic_bbr2_probe_bw: UpdateProbeUp"))]
    pub up_lasts_a_round: bool,
    /// Credit for raising `inflight_hi` survives ACKs on which the window was not the limit.
    #[schemars(extend("x-source" = "bbr_probe_inflight_hi_upward: v2 clears bw_probe_up_acks, v3 keeps it"))]
    pub growth_keeps_credit: bool,
    /// DOWN ends after one minimum round-trip time at the latest.
    #[schemars(extend("x-source" = "quic_bbr2_probe_bw: HasPhaseLasted(min_rtt)"))]
    pub down_time_limit: bool,
    /// Least time between two probes.
    #[schemars(extend("x-source" = "bbr_bw_probe_base_us = 2 s"))]
    pub probe_wait: Duration,
    /// Time up to which a random addition to `probe_wait` is drawn.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "bbr_bw_probe_rand_us = 1 s"))]
    pub probe_wait_random: Duration,
    /// Most rounds between two probes; fewer when fewer packets are in flight, to coexist with Reno.
    #[schemars(extend("x-source" = "bbr_bw_probe_max_rounds = 63"))]
    pub probe_max_rounds: u32,
    /// Rounds by which the count of rounds since the last probe may start ahead: 0 to this less one.
    #[schemars(extend("x-source" = "bbr_bw_probe_rand_rounds = 2"))]
    pub probe_random_rounds: u32,
    /// The amount in flight that Reno's growth and reductions are measured by contains the budget for bursts.
    #[schemars(extend("x-source" = "bbr_target_inflight; not in draft-ietf-ccwg-bbr"))]
    pub target_has_budget: bool,
    /// Packets by which REFILL raises `inflight_hi`.
    #[schemars(extend("x-source" = "bbr_refill_add_inc = 0"))]
    pub refill_increment: u32,

    /// Negotiate ECN with exact echoes and react to marks.
    #[schemars(extend("x-source" = "v2: bbr_ecn_enable = off; v3: ECN negotiated and RTAX_FEATURE_ECN_LOW"))]
    pub ecn: bool,
    /// Largest minimum round-trip time at which marks count: shallow thresholds are a data centre's.
    #[schemars(extend("x-source" = "bbr_ecn_max_rtt_us = 5000"))]
    pub ecn_max_rtt: Duration,
    /// Weight of a new round in the average share of marks.
    #[schemars(range(max = 1), extend("x-source" = "bbr_ecn_alpha_gain = 1/16"))]
    pub ecn_alpha_gain: Gain,
    /// Average share of marks at the start.
    #[schemars(range(max = 1), extend("x-source" = "bbr_ecn_alpha_init = 1"))]
    pub ecn_alpha_init: Gain,
    /// Share of the average by which marks reduce `inflight_lo`.
    #[schemars(range(max = 1), extend("x-source" = "bbr_ecn_factor = 1/3, in 1/256"))]
    pub ecn_factor: Gain,
    /// Share of marked packets from which on the amount in flight is too high.
    #[schemars(range(max = 1), extend("x-source" = "bbr_ecn_thresh = 1/2"))]
    pub ecn_threshold: Gain,
    /// The share must exceed `ecn_threshold`, reaching it is not enough.
    #[schemars(extend("x-source" = "bbr_is_inflight_too_high: v2 >=, v3 >"))]
    pub ecn_threshold_strict: bool,
    /// Rounds in a row with too many marks after which STARTUP ends.
    #[schemars(range(min = 1), extend("x-source" = "bbr_full_ecn_cnt = 2"))]
    pub ecn_startup_rounds: u32,
    /// Echoes count from when the path is known to be short enough only.
    #[schemars(extend("x-source" = "v3: ecn_eligible && is_ece"))]
    pub ecn_echo_needs_eligibility: bool,
    /// Probe again early after a cycle with marks but no loss: the slope starts at this many times `inflight_hi`, in
    /// powers of two. 0 is off.
    #[schemars(extend("x-source" = "bbr_ecn_reprobe_gain: v2 0, v3 1/2"))]
    pub ecn_reprobe_gain: Gain,

    /// Allowance for aggregated ACKs on top of the window target.
    #[schemars(extend("x-source" = "bbr_update_ack_aggregation"))]
    pub aggregation: Aggregation,
    /// Multiple of the measured aggregation that is allowed.
    #[schemars(extend("x-source" = "bbr_extra_acked_gain = 1"))]
    pub aggregation_gain: Gain,
    /// Rounds that one of the two slots of the aggregation's maximum covers; with the filters, rounds that
    /// they remember.
    #[schemars(range(min = 1, max = 31), extend("x-source" = "bbr_extra_acked_win_rtts = 5"))]
    pub aggregation_window_rounds: u32,
    /// Takes the place of `aggregation_window_rounds` until the pipe is full.
    #[schemars(range(min = 1, max = 31), extend("x-source" = "bbr_update_ack_aggregation: 1"))]
    pub aggregation_startup_rounds: u32,
    /// The allowance is at most what the estimated bandwidth delivers in this time; 0 is no limit.
    #[schemars(extend("x-source" = "bbr_extra_acked_max_us = 100 ms; not in draft-ietf-ccwg-bbr"))]
    pub aggregation_cap: Duration,
    /// A sampling epoch restarts when it has seen this many packets.
    #[schemars(range(min = 2), extend("x-source" = "bbr_ack_epoch_acked_reset_thresh = 2^20"))]
    pub aggregation_epoch_packets: u32,
    /// A mistake of the past, for seeing what it does: `unfilled_window`, `startup_bounds`, `probe_rtt_floor` or
    /// `up_needs_more`; absent is none.
    #[schemars(extend("x-default" = "none", "x-source" = "dumbbell check museum"))]
    pub fault: Option<Fault>,
}

/// Mistakes that BBR had in some stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A flight below the window counts as limited by the application (lsquic, issues 544 and 554, 2025).
    UnfilledWindow,
    /// Losses lower `bw_lo` and `inflight_lo` in STARTUP (s2n-quic, pull request 1510, September 2022).
    StartupBounds,
    /// PROBE_RTT waits until its share of a BDP is in flight, though the smallest window is more (Cloudflare's quiche,
    /// issue 2698, September 2026).
    ProbeRttFloor,
    /// UP waits until more than its target is in flight, which a window of the smallest size never admits (picoquic,
    /// issue 2118, June 2026).
    UpNeedsMore,
}

/// Where PROBE_RTT may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRttEntry {
    /// In every state, as soon as the minimum has expired.
    #[default]
    Anywhere,
    /// When DOWN ends; the phase that would have followed resumes afterwards (QUIC).
    AfterDown,
}

/// What the search for a full pipe looks at, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FullTest {
    /// The maximum bandwidth, at the start of every round, until the pipe is full for the first time (v2).
    #[default]
    Maximum,
    /// The bandwidth sample of every ACK; searched again in every UP (v3).
    EverySample,
    /// The bandwidth sample of ACKs that start a round; searched again in every UP (draft).
    RoundSample,
}

/// The bound that a STARTUP ended by loss or marks leaves for the amount in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartupBound {
    /// One BDP (v2).
    #[default]
    Bdp,
    /// One BDP or what was delivered in the last loss round, whichever is more (v3).
    BdpOrDelivered,
}

/// Which losses are compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossCount {
    /// Those since the sampled packet was sent (Linux).
    #[default]
    SinceSent,
    /// Those in the current round (QUIC).
    InRound,
}

/// What a reduction that proved spurious brings back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// The window and the bounds (Linux).
    #[default]
    Bounds,
    /// These and the state: STARTUP when the loss had ended it, REFILL when it had ended UP (draft). They are saved with
    /// the first loss of every loss round, so that a second loss that comes after the first one has ended UP saves
    /// what the first one has lowered.
    State,
    /// As `state`, but saved once an episode: with the first loss of a recovery, and not again before it is over.
    Episode,
    /// Nothing (QUIC).
    Nothing,
}

/// What a retransmission timeout does to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timeout {
    /// The search for a full pipe starts over from its baseline; `inflight_lo` becomes the window of before (v2).
    #[default]
    Baseline,
    /// The search starts over completely, otherwise the same (v3).
    Search,
    /// Nothing (draft, QUIC).
    Nothing,
}

/// How UP ends when neither loss nor marks end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpExit {
    /// When a queue has formed (v2).
    #[default]
    Queue,
    /// When the bandwidth has stopped growing (v3).
    Plateau,
}

/// How aggregated ACKs are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Two slots of `aggregation_window_rounds` rounds (Linux).
    #[default]
    Slots,
    /// A maximum filter over `aggregation_window_rounds` rounds; parts of packets count (draft).
    Filter,
    /// As `filter`, but an ACK that begins an epoch does not count (QUIC).
    Quic,
    /// Not at all.
    Off,
}

impl Default for Parameters {
    #[expect(clippy::too_many_lines, reason = "a list, one line a parameter")]
    fn default() -> Parameters {
        let high_gain = Gain::new(739);
        let two = Gain::new(512);
        Parameters {
            startup_pacing_gain: high_gain,
            startup_window_gain: high_gain,
            drain_gain: Gain::new(88),
            up_pacing_gain: Gain::new(320),
            down_pacing_gain: Gain::new(192),
            cruise_pacing_gain: Gain::ONE,
            steady_window_gain: two,
            up_window_gain: two,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt_interval_rtts: 0,
            min_rtt_tie_refreshes: true,
            delayed_ack_guard: true,
            probe_rtt_entry: ProbeRttEntry::Anywhere,
            probe_rtt_dwell: Duration::from_millis(200),
            probe_rtt_round: true,
            probe_rtt_window_gain: Gain::new(128),
            min_window: 4,
            budget_bursts: 3,
            budget_up_packets: 2,
            net_estimate: true,
            inflight_after_ack: false,
            pacing_margin: Ratio::new(0.01).unwrap_or_default(),
            initial_pacing_gain: high_gain,
            nominal_rtt: Duration::from_millis(1),
            burst_min: 2,
            burst_min_slow: 1,
            burst_min_rate: Rate::from_bits_per_sec(1_200_000),
            burst_max: 127,
            burst_max_bytes: Bytes::new(65_215),
            burst_rtt_bytes: Bytes::new(65_536),
            burst_rtt_step: Duration::from_micros(512),
            small_queue_shift: None,
            full_test: FullTest::Maximum,
            full_threshold: Gain::new(320),
            full_rounds: 3,
            startup_loss_events: 8,
            startup_bound: StartupBound::Bdp,
            drain_max_rounds: None,
            loss_threshold: Gain::new(5),
            loss_count: LossCount::SinceSent,
            loss_min_events: 0,
            lost_packet_test: true,
            in_flight_by_buffer: false,
            sample_test: true,
            tlp_repair_counts: false,
            beta: Gain::new(76),
            headroom: Gain::new(38),
            headroom_min: 1,
            latest_signals_last: false,
            app_limited_model_stands: true,
            app_limited_lowers_bound: false,
            own_loss_rounds: true,
            cruise_caps_inflight_lo: true,
            undo: Undo::Bounds,
            timeout: Timeout::Baseline,
            up_exit: UpExit::Queue,
            up_queue_gain: Gain::new(320),
            up_lasts_a_round: false,
            growth_keeps_credit: false,
            down_time_limit: false,
            probe_wait: Duration::from_secs(2),
            probe_wait_random: Duration::from_secs(1),
            probe_max_rounds: 63,
            probe_random_rounds: 2,
            target_has_budget: true,
            refill_increment: 0,
            ecn: false,
            ecn_max_rtt: Duration::from_millis(5),
            ecn_alpha_gain: Gain::new(16),
            ecn_alpha_init: Gain::ONE,
            ecn_factor: Gain::new(85),
            ecn_threshold: Gain::new(128),
            ecn_threshold_strict: false,
            ecn_startup_rounds: 2,
            ecn_echo_needs_eligibility: false,
            ecn_reprobe_gain: Gain::new(0),
            aggregation: Aggregation::Slots,
            aggregation_gain: Gain::ONE,
            aggregation_window_rounds: 5,
            aggregation_startup_rounds: 1,
            aggregation_cap: Duration::from_millis(100),
            aggregation_epoch_packets: 1 << 20,
            fault: None,
        }
    }
}

impl Parameters {
    /// How large bursts are to be.
    pub(super) fn bursts(&self) -> Bursts {
        Bursts::new(self.burst_min, self.burst_min_slow, self.burst_min_rate, self.burst_max, self.burst_max_bytes)
    }
}

impl ParameterSet for Parameters {}
