//! Constants of CUBIC and HyStart.

use dumbbell_cc_contract::parameters::{Factor, ParameterSet};
use dumbbell_units::Duration;
use serde::{Deserialize, Serialize};

/// Constants of [`Cubic`](super::Cubic); the defaults are Linux 6.18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Share of the window that remains after a loss.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-source" = "tcp_cubic.c: beta = 717/1024"))]
    pub beta: Factor,
    /// Share of the window that remains where marks alone are the reason, and no loss. Needs `ecn`.
    #[schemars(extend(
        "exclusiveMinimum" = 0,
        "exclusiveMaximum" = 1,
        "x-default" = "`beta`, as in Linux",
        "x-source" = "RFC 8511, section 3.1: 0.85"
    ))]
    pub beta_ecn: Option<Factor>,
    /// Connections that this one stands for: it reduces and grows like this many that share its window.
    #[schemars(
        range(min = 1, max = 16),
        extend("x-source" = "Linux has none (1); Chromium's QUIC: kDefaultNumConnections = 2")
    )]
    pub emulated_connections: u32,
    /// Steepness of the curve: `C = bic_scale * 10/1024` packets/s³ (41 gives 0.4).
    #[schemars(range(min = 1, max = 100_000), extend("x-source" = "tcp_cubic.c: bic_scale"))]
    pub bic_scale: u32,
    /// A loss below the previous maximum lowers the remembered maximum further, releasing bandwidth to newcomers.
    #[schemars(extend("x-source" = "tcp_cubic.c: fast_convergence"))]
    pub fast_convergence: bool,
    /// Grow at least as fast as Reno would.
    #[schemars(extend("x-source" = "tcp_cubic.c: tcp_friendliness"))]
    pub tcp_friendliness: bool,
    /// Slow-start threshold of a new connection in packets, used when `hystart` is off; absent is infinite.
    #[schemars(range(min = 2), extend("x-unit" = "packets", "x-source" = "tcp_cubic.c: initial_ssthresh"))]
    pub initial_ssthresh: Option<u32>,
    /// Smallest slow-start threshold in packets.
    #[schemars(
        range(min = 1, max = 2_147_483_646),
        extend("x-unit" = "packets", "x-source" = "cubictcp_recalc_ssthresh: 2")
    )]
    pub min_ssthresh: u32,
    /// While the window does not change the curve is not evaluated more often than this.
    #[schemars(extend("x-source" = "bictcp_update: HZ / 32"))]
    pub update_interval: Duration,
    /// At or above the curve the window grows by one packet in this many windows.
    #[schemars(range(min = 1), extend("x-source" = "bictcp_update: 100 * cwnd"))]
    pub plateau_windows: u32,
    /// Before the first loss the window grows by at least one packet per this many acknowledged (20 is 5 % per round).
    #[schemars(range(min = 1), extend("x-source" = "bictcp_update: cnt <= 20"))]
    pub first_epoch_max_acks: u32,
    /// The window grows by at most one packet per this many acknowledged.
    #[schemars(range(min = 1), extend("x-source" = "bictcp_update: cnt >= 2"))]
    pub min_acks_per_increment: u32,
    /// Round-trip times are ignored for this long after an epoch starts.
    #[schemars(extend("x-source" = "cubictcp_acked: HZ"))]
    pub rtt_blackout: Duration,
    /// Look for the end of slow start before it overflows the queue.
    #[schemars(extend("x-source" = "tcp_cubic.c: hystart"))]
    pub hystart: bool,
    /// The detectors to use: `both`, `train` or `delay`.
    #[schemars(extend("x-source" = "tcp_cubic.c: hystart_detect"))]
    pub hystart_detect: HystartDetect,
    /// Smallest window in packets at which HyStart works.
    #[schemars(extend("x-source" = "tcp_cubic.c: hystart_low_window"))]
    pub hystart_low_window: u32,
    /// Longest gap between two ACKs of one train.
    #[schemars(extend("x-source" = "tcp_cubic.c: hystart_ack_delta_us"))]
    pub hystart_ack_delta: Duration,
    /// Upper bound of what the sender's own bursts (four at the pacing rate) may add to a train.
    #[schemars(extend("x-source" = "hystart_ack_delay: USEC_PER_MSEC"))]
    pub hystart_burst_delay_max: Duration,
    /// Round-trip times the delay detector collects in a round before it judges.
    #[schemars(extend("x-source" = "HYSTART_MIN_SAMPLES"))]
    pub hystart_min_samples: u32,
    /// The delay detector fires above the minimum by the minimum divided by this, within the next two bounds.
    #[schemars(range(min = 1), extend("x-source" = "hystart_update: delay_min >> 3"))]
    pub hystart_delay_divisor: u32,
    /// Lower bound of the delay threshold.
    #[schemars(extend("x-at-most" = "hystart_delay_max", "x-source" = "HYSTART_DELAY_MIN"))]
    pub hystart_delay_min: Duration,
    /// Upper bound of the delay threshold.
    #[schemars(extend("x-source" = "HYSTART_DELAY_MAX"))]
    pub hystart_delay_max: Duration,
    /// A mistake of the past, for seeing what it does: `idle_epoch`, `unused_window`, `paced_train`, `first_rtts` or
    /// `unused_rounds`; absent is none.
    #[schemars(extend("x-default" = "none", "x-source" = "dumbbell check museum"))]
    pub fault: Option<Fault>,
}

/// Mistakes that CUBIC had somewhere, and has no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The curve goes on while the application is silent (Linux until 4.3, 30927520dbae, September 2015).
    IdleEpoch,
    /// The window grows although it is not used (ns-3, issue 966; RFC 9438, section 5.8).
    UnusedWindow,
    /// Half a round-trip time is enough for an ACK train although the sender paces (Linux until 5.6, ede656e84658,
    /// December 2019).
    PacedTrain,
    /// Only the first eight round-trip times of a round are its minimum (Linux until 5.8, b344579ca847, June 2020).
    FirstRtts,
    /// A round of HyStart does not end while the window is not used (Linux until 5.16, 4e1fddc98d25, November 2021).
    UnusedRounds,
}

/// Which of HyStart's detectors run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HystartDetect {
    /// Both.
    #[default]
    Both,
    /// The ACK train alone.
    Train,
    /// The delay alone.
    Delay,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            beta: Factor::new(717),
            beta_ecn: None,
            emulated_connections: 1,
            bic_scale: 41,
            fast_convergence: true,
            tcp_friendliness: true,
            initial_ssthresh: None,
            min_ssthresh: 2,
            update_interval: Duration::from_micros(31_250),
            plateau_windows: 100,
            first_epoch_max_acks: 20,
            min_acks_per_increment: 2,
            rtt_blackout: Duration::from_secs(1),
            hystart: true,
            hystart_detect: HystartDetect::Both,
            hystart_low_window: 16,
            hystart_ack_delta: Duration::from_millis(2),
            hystart_burst_delay_max: Duration::from_millis(1),
            hystart_min_samples: 8,
            hystart_delay_divisor: 8,
            hystart_delay_min: Duration::from_millis(4),
            hystart_delay_max: Duration::from_millis(16),
            fault: None,
        }
    }
}

impl ParameterSet for Parameters {}
