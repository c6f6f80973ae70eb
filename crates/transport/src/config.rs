//! Every constant of the endpoints that somebody may want to change, with Linux 6.18's defaults.

use crate::library::registered;
use crate::probe::ProbeConfig;
use crate::protocol::Protocol;
use crate::quic::QuicConfig;
use crate::real_time::RealTimeConfig;
use crate::{EcnUse, InFlightByBuffer, SendBufferSize};
use dumbbell_parameters::{Parameter, Problem, check, declared};
use dumbbell_units::{Bytes, Duration, as_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Parameters of one connection's endpoints. Defaults are Linux 6.18 with timestamps over IPv4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TransportConfig {
    /// How data is numbered, acknowledged and repaired.
    #[schemars(extend("x-source" = "Linux 6.18; RFC 9000, RFC 9002"))]
    pub protocol: Protocol,
    /// Payload bytes of a full segment.
    #[schemars(range(min = 64, max = 65000), extend("x-unit" = "bytes", "x-default" = "`1448`; `1460` without timestamps; 12 less with accurate ECN", "x-source" = "1500 - 20 - 20 - 12 (timestamps) - 12 (counters of marks)"))]
    pub mss: u32,
    /// Window after the handshake in segments.
    #[schemars(range(min = 1), extend("x-unit" = "segments", "x-source" = "TCP_INIT_CWND; RFC 6928"))]
    pub initial_cwnd: u32,
    /// Largest receive window in bytes. With QUIC-like endpoints the bytes in flight that flow control allows.
    #[serde(with = "as_bytes")]
    #[schemars(with = "Bytes")]
    #[schemars(extend("x-at-least" = "mss", "x-at-most" = "1024TiB", "x-source" = "tcp_rmem[2], scaled"))]
    pub receive_window: u64,
    /// Whether the receive window starts at 64 kB and grows with the application's reading (dynamic right-sizing)
    /// instead of being constant.
    #[schemars(extend("x-source" = "tcp_moderate_rcvbuf"))]
    pub receive_autotuning: bool,
    /// How the receiver's buffer follows what the application reads. It decides the ACKs of slow start beside a
    /// constant window, too.
    #[schemars(extend("x-source" = "tcp_rcv_space_adjust, tcp_rcv_rtt_update"))]
    pub right_sizing: RightSizingRule,
    /// Whether data held above a gap takes room in the receive window (Linux) or the window lies behind the first gap
    /// whatever is held (ns-3). Without autotuning only.
    #[schemars(extend("x-source" = "tcp_select_window; ns-3: TcpRxBuffer"))]
    pub held_data_takes_window: bool,
    /// log2 of the unit in which TCP tells the receive window, rounded up. Where it is larger than a segment, two
    /// unread segments may not show in the window, and their ACK does not wait for the reader (`read_delay`). A window
    /// that would shrink is rounded with every ACK, so that repairs of less than a unit open it again.
    #[schemars(range(max = 14), extend("x-source" = "tcp_select_initial_window: log2(tcp_rmem[2]) - 15, for 32 MiB"))]
    pub window_scale: u8,
    /// How much an application may have written that is not acknowledged: `"unlimited"`; `"autotuning"`, Linux's
    /// buffer, which grows with the window and never shrinks; or a size as an application sets it, less than
    /// 1 GiB, of which Linux makes twice as many bytes, because headers and bookkeeping take room, too. Who has more to
    /// write waits until a third of the buffer is free. TCP only.
    #[schemars(extend("x-source" = "sk_sndbuf; tcp_sndbuf_expand, sk_stream_write_space; SO_SNDBUF"))]
    pub send_buffer: SendBufferSize,
    /// What an autotuned send buffer has at first, if that is more than the first window needs.
    #[serde(with = "as_bytes")]
    #[schemars(with = "Bytes")]
    #[schemars(extend("x-at-most" = "send_buffer_max", "x-source" = "tcp_wmem[1]"))]
    pub send_buffer_initial: u64,
    /// The most that an autotuned send buffer has.
    #[serde(with = "as_bytes")]
    #[schemars(with = "Bytes")]
    #[schemars(extend("x-at-least" = "4608B", "x-at-most" = "2147483647B", "x-source" = "tcp_wmem[2], an int"))]
    pub send_buffer_max: u64,
    /// Who shapes transmissions by the pacing rate.
    #[schemars(extend("x-source" = "sk_pacing_status; tc-fq"))]
    pub pacing: Pacing,
    /// Whether a burst that leaves later than pacing would have let it, because window or data were missing, shortens
    /// the pause after it, by at most a half (Linux), or every pause is as long as its burst takes at the pacing rate
    /// (ns-3).
    #[schemars(extend("x-source" = "tcp_update_skb_after_send; ns-3: none"))]
    pub pacing_credit: bool,
    /// Ticks of the kernel's coarse clock per second: granularity of RTO, TLP and delayed-ACK timers.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-unit" = "1/s", "x-source" = "CONFIG_HZ"))]
    pub hz: u32,
    /// Timers expire in the slots of Linux's timer wheel, a tick later than they were armed for, and up to an eighth of
    /// their span if that is 63 ticks and more; without it they expire at the tick that they were armed for.
    #[schemars(extend("x-source" = "kernel/time/timer.c: calc_wheel_index; ns-3: none"))]
    pub timer_wheel: bool,
    /// Smallest retransmission timeout above the smoothed RTT.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "rto_max", "x-source" = "tcp_rto_min_us, TCP_RTO_MIN"))]
    pub rto_min: Duration,
    /// Largest retransmission timeout.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "tcp_rto_max_ms, TCP_RTO_MAX"))]
    pub rto_max: Duration,
    /// Duplicate ACKs that mean loss before any reordering was seen.
    #[schemars(range(min = 1), extend("x-at-most" = "max_reordering", "x-unit" = "segments", "x-source" = "tcp_reordering"))]
    pub reordering: u32,
    /// Upper bound of the adaptive `reordering`.
    #[schemars(extend("x-unit" = "segments", "x-source" = "tcp_max_reordering"))]
    pub max_reordering: u32,
    /// Tail loss probes.
    #[schemars(extend("x-source" = "tcp_early_retrans; RFC 8985, section 7"))]
    pub tail_loss_probe: bool,
    /// Forward RTO recovery.
    #[schemars(extend("x-source" = "tcp_frto; RFC 5682"))]
    pub frto: bool,
    /// Take reductions back that prove spurious: by duplicates or timestamps over TCP (DSACK and Eifel undo), by ACKs
    /// for all packets that were declared lost over QUIC.
    #[schemars(extend("x-source" = "tcp_try_undo_recovery; RFC 3522, RFC 3708"))]
    pub undo: bool,
    /// How losses are found with selective acknowledgements.
    #[schemars(extend("x-source" = "tcp_recovery, without effect since Linux 6.17; RFC 8985"))]
    pub loss_detection: LossDetection,
    /// How the retransmission timeout follows from the RTT's estimate.
    #[schemars(extend("x-source" = "tcp_rtt_estimator; RFC 6298"))]
    pub rto_rule: RtoRule,
    /// What happens to timer, counters and window in fast recovery.
    #[schemars(extend("x-source" = "tcp_fastretrans_alert; RFC 6582"))]
    pub recovery: RecoveryRule,
    /// What fast recovery sends when nothing is known to be lost and nothing new may leave.
    #[schemars(extend("x-source" = "RFC 6675, section 4: NextSeg, rule 3"))]
    pub rescue: Rescue,
    /// How a delivery-rate sample is taken.
    #[schemars(extend("x-source" = "tcp_rate.c"))]
    pub delivery_rate: DeliveryRate,
    /// Which round-trip time the controller is shown.
    #[schemars(extend("x-source" = "struct rate_sample: rtt_us"))]
    pub controller_rtt: ControllerRtt,
    /// How the amount in flight when a segment left is counted, by which BBR v2 and v3 judge losses. By buffers: where
    /// an ACK ends within one of the kernel's buffers, the last segment that it acknowledges has the amount of the
    /// whole buffer. So have segments that SACK moves out of a buffer, and those that stay have so many less. Otherwise
    /// each segment has its own amount. `"auto"` is by buffers for controllers of the kernel that does so (`bbr3`). TCP
    /// only.
    #[schemars(extend("x-source" = "tcp_tso_acked, tcp_shifted_skb: tx.in_flight, of the public port of BBR v3 to Linux 6.12"))]
    pub in_flight_by_buffer: InFlightByBuffer,
    /// What round-trip times are measured from.
    #[schemars(extend("x-source" = "tcp_ack_update_rtt"))]
    pub rtt_samples: RttSamples,
    /// Timestamps on every segment, which take 12 bytes. Without them retransmitted data gives no round-trip time,
    /// originals that arrive late are not told from retransmissions (Eifel undo), segments with old timestamps are not
    /// dropped (PAWS), a fourth SACK block fits an ACK, and the receiver takes for its round-trip time the shortest
    /// time in which a window of data arrived. TCP only.
    #[schemars(extend("x-source" = "tcp_timestamps; RFC 7323"))]
    pub timestamps: bool,
    /// Selective acknowledgements; without them NewReno rules apply.
    #[schemars(extend("x-source" = "tcp_sack; RFC 2018"))]
    pub sack: bool,
    /// The receiver reports what arrives twice, and the sender counts it as delivered. ns-3 does not.
    #[schemars(extend("x-source" = "tcp_dsack; RFC 2883"))]
    pub dsack: bool,
    /// Explicit congestion notification: data is sent ECN-capable, marks reduce the window. Controllers that need marks
    /// (DCTCP, Prague) have it whatever this says; Prague's packets carry ECT(1), all others ECT(0).
    #[schemars(extend("x-source" = "tcp_ecn; RFC 3168, RFC 9768, RFC 9331"))]
    pub ecn: EcnUse,
    /// Halve the window for every RTO of idle time.
    #[schemars(extend("x-source" = "tcp_slow_start_after_idle; RFC 2861"))]
    pub slow_start_after_idle: bool,
    /// The sender counts `2^-pacing_shift` seconds of its rate as one burst.
    #[schemars(range(max = 32), extend("x-source" = "sk_pacing_shift: 10"))]
    pub pacing_shift: u32,
    /// log2 of the RTT step at which a burst may grow on short paths; 0 is off.
    #[schemars(range(max = 31), extend("x-source" = "tcp_tso_rtt_log: 9"))]
    pub tso_rtt_log: u32,
    /// Share of the window below which a burst is deferred; 0 is off.
    #[schemars(extend("x-source" = "tcp_tso_win_divisor: 3"))]
    pub tso_win_divisor: u32,
    /// Largest payload of one burst in bytes. With less than two segments packets leave one by one.
    #[serde(with = "as_bytes")]
    #[schemars(with = "Bytes")]
    #[schemars(extend("x-at-least" = "mss", "x-source" = "GSO_LEGACY_MAX_SIZE less headers"))]
    pub gso_max_bytes: u32,
    /// A short segment leaves although another one is unacknowledged (`TCP_NODELAY`). Without it Nagle's algorithm, as
    /// Minshall changed it, has it wait, which matters where data or a receive window that sizes itself ends within a
    /// segment.
    #[schemars(extend("x-source" = "TCP_NODELAY; tcp_nagle_check, tcp_minshall_check"))]
    pub nodelay: bool,
    /// When the host's first device reports a packet as sent, for TCP small queues.
    #[schemars(extend("x-source" = "tcp_small_queue_check"))]
    pub completion: Completion,
    /// Ceiling of TCP small queues in bytes.
    #[serde(with = "as_bytes")]
    #[schemars(with = "Bytes")]
    #[schemars(extend("x-source" = "tcp_limit_output_bytes: 4 MiB"))]
    pub limit_output_bytes: u64,
    /// Pacing ratio in slow start, percent of the window per round trip.
    #[schemars(range(min = 1), extend("x-unit" = "%", "x-source" = "tcp_pacing_ss_ratio: 200"))]
    pub pacing_ss_ratio: u32,
    /// Pacing ratio in congestion avoidance, percent of the window per round trip.
    #[schemars(range(min = 1), extend("x-unit" = "%", "x-source" = "tcp_pacing_ca_ratio: 120"))]
    pub pacing_ca_ratio: u32,
    /// Segments after which a receiver acknowledges at once.
    #[schemars(range(min = 1), extend("x-unit" = "segments", "x-source" = "__tcp_ack_snd_check; RFC 5681, section 4.2"))]
    pub ack_every: u32,
    /// Acknowledge a lone segment that carries PSH as soon as the application reads it, instead of waiting for a second
    /// one (Linux since 6.6). Every burst of several segments ends with PSH.
    #[schemars(extend("x-source" = "__tcp_cleanup_rbuf, since Linux 6.6"))]
    pub ack_pushes: bool,
    /// Largest number of quick ACKs at the start of a connection; 0 is off.
    #[schemars(extend("x-unit" = "ACKs", "x-source" = "TCP_MAX_QUICKACKS: 16"))]
    pub quick_acks: u32,
    /// Shortest delayed-ACK timer.
    #[schemars(extend("x-at-most" = "delayed_ack_max", "x-source" = "TCP_DELACK_MIN: HZ / 25"))]
    pub delayed_ack_min: Duration,
    /// Longest delayed-ACK timer.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "TCP_DELACK_MAX: HZ / 5"))]
    pub delayed_ack_max: Duration,
    /// Time from the arrival of data until the application has read it. An ACK for `ack_every` segments that arrived
    /// closer together leaves when they are read, and covers all that has arrived by then, and so does that of a lone
    /// segment with PSH; quick ACKs and duplicate ACKs do not wait, and unread data takes no window. 0 reads at once.
    #[schemars(extend(
        "x-at-most" = "1ms",
        "x-source" = "__tcp_ack_snd_check, tcp_cleanup_rbuf; 17 to 20 us measured on Linux 6.18"
    ))]
    pub read_delay: Duration,
    /// Compression of ACKs for out-of-order data.
    #[schemars(extend("x-source" = "tcp_comp_sack_delay_ns, tcp_comp_sack_nr"))]
    pub compress_sacks: bool,
    /// How long compression holds back an ACK.
    #[schemars(extend("x-source" = "tcp_comp_sack_rtt_percent, tcp_comp_sack_slack_ns"))]
    pub compress_sacks_delay: CompressionDelay,
    /// Parameters that only the QUIC-like endpoints have.
    pub quic: QuicConfig,
    /// Parameters that only probes have.
    pub probe: ProbeConfig,
    /// Parameters that only calls have.
    pub real_time: RealTimeConfig,
    /// Parameters that only the endpoints of a library have.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(skip)]
    pub library: Map<String, Value>,
}

/// How a receiver's buffer follows what the application reads in a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RightSizingRule {
    /// Twice what was read, and more while that grows. Data above a gap has room besides. The receiver's RTT leaves
    /// out how long data waits to be read (Linux since 6.16).
    #[default]
    Linux,
    /// Twice what was read and 16 segments, and more while that grows. Data above a gap has no room besides (Linux
    /// 6.12.117).
    #[serde(rename = "linux-6.12")]
    Linux612,
}

/// How long compression holds back an ACK for out-of-order data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompressionDelay {
    /// For a third of the round trip, and at most a millisecond (Linux since 6.19).
    #[default]
    Linux,
    /// For a twentieth of the round trip, at most a millisecond, and the timer's slack of 100 us (Linux 5.8 to 6.18).
    #[serde(rename = "linux-6.18")]
    Linux618,
}

/// The parameters in which the receivers of versions of Linux differ, with their values in this one.
pub fn receivers_of_linux(version: (u32, u32)) -> [(&'static str, Value); 2] {
    let right_sizing = if version < (6, 16) { RightSizingRule::Linux612 } else { RightSizingRule::Linux };
    let delay = if version < (6, 19) { CompressionDelay::Linux618 } else { CompressionDelay::Linux };
    [("right_sizing", json!(right_sizing)), ("compress_sacks_delay", json!(delay))]
}

/// How losses are found with selective acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LossDetection {
    /// By time, lost retransmissions included (RFC 8985).
    #[default]
    Rack,
    /// A segment is lost when `reordering` segments above it are selectively acknowledged; a retransmission that is
    /// lost waits for the timeout (RFC 6675, ns-3).
    DupThresh,
}

/// How the retransmission timeout follows from the RTT's estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RtoRule {
    /// srtt + max(4 mdev, `rto_min`), with Linux's slow decay.
    #[default]
    Linux,
    /// max(srtt + 4 rttvar, `rto_min`) (RFC 6298, ns-3 with `rto_min = "1s"`).
    Rfc6298,
}

/// What happens to timer, counters and window in fast recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecoveryRule {
    /// Every ACK that advances restarts the retransmission timer, and a repaired segment is no longer in flight.
    #[default]
    Linux,
    /// As in ns-3: of the partial ACKs of a fast recovery only the first one restarts the timer (RFC 6582's impatient
    /// variant); a retransmission that was selectively acknowledged counts as in flight until the cumulative ACK covers
    /// it; repairs need room in the receive window for all that is in flight, copies included, besides room in the
    /// congestion window; the end of fast recovery sets the window to the slow-start threshold also where a controller
    /// governs the window; and the losses of an ACK are the change of the number of lost segments, repairs included.
    Ns3,
}

/// What fast recovery sends when nothing is known to be lost and nothing new may leave, because the application has
/// nothing or the receive window is full: `NextSeg`'s rule 3 of RFC 6675. Window and pacing hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rescue {
    /// Nothing (Linux).
    #[default]
    Off,
    /// The lowest segment below the highest selectively acknowledged one that was not retransmitted (RFC 6675; ns-3
    /// from 3.43).
    BelowSack,
    /// The lowest segment that was not retransmitted, wherever it is (ns-3 up to 3.42).
    Any,
}

/// How a delivery-rate sample is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryRate {
    /// From the segment sent last among those an ACK delivers (Linux since 5.19).
    #[default]
    Linux,
    /// From the first segment with the largest delivered count (Linux before 5.19).
    LinuxOld,
    /// As `linux-old`; an application-limited sample below the last rate repeats the last rate. The source of a sample
    /// outlives its ACK: an ACK without a newer one measures from it again, unless the sample was discarded. An empty
    /// pipe is one with nothing in flight, whatever is lost (ns-3 from 3.41).
    Ns3,
    /// As `ns3`, but the ACK phase is measured from the *previous* source's prior time, and a discarded sample leaves
    /// zero in its place and hands out the last rate again (ns-3 up to 3.40, its issue 1026).
    #[serde(rename = "ns3-3.40")]
    Ns3Before341,
}

/// Which round-trip time the controller is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ControllerRtt {
    /// The latest sample.
    #[default]
    Last,
    /// The smoothed one, also for the minimum (ns-3 before 3.43).
    Smoothed,
}

/// What round-trip times are measured from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttSamples {
    /// From the departures of what an ACK delivers, in microseconds; from the timestamp option only where those are
    /// ambiguous.
    #[default]
    Linux,
    /// From the echoed timestamp, in whole milliseconds, where the cumulative ACK advances; an ACK without a sample
    /// shows the controller the last one again (ns-3 from 3.43). A minimum in whole milliseconds is met again by every
    /// ACK that finds less than a millisecond of queue, so BBR hardly ever enters PROBE_RTT.
    Timestamps,
    /// As `timestamps`, but not from ACKs of retransmitted data (ns-3 before 3.43).
    TimestampsOfOriginals,
}

/// Who shapes transmissions by the pacing rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// The sender, when the controller asks for it (BBR does, CUBIC and Reno do not).
    #[default]
    Auto,
    /// The sender, whatever the controller asks for (the effect of an `fq` qdisc).
    On,
    /// Nobody: only the window and the burst size limit the sender (BBR before Linux 4.13 without `fq`).
    Off,
}

/// When a packet stops counting against TCP small queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Completion {
    /// At hand-over: a virtual device takes everything at once.
    #[default]
    Immediate,
    /// When the first link of the route has transmitted it (an Ethernet device); over Wi-Fi when its Block-ACK has
    /// come.
    Wire,
}

impl Default for TransportConfig {
    fn default() -> TransportConfig {
        TransportConfig {
            protocol: Protocol::default(),
            mss: 1448,
            initial_cwnd: 10,
            receive_window: 32 << 20,
            receive_autotuning: false,
            right_sizing: RightSizingRule::Linux,
            held_data_takes_window: true,
            window_scale: 10,
            send_buffer: SendBufferSize::Unlimited,
            send_buffer_initial: 16 << 10,
            send_buffer_max: 4 << 20,
            pacing: Pacing::Auto,
            pacing_credit: true,
            hz: 1000,
            timer_wheel: true,
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(120),
            reordering: 3,
            max_reordering: 300,
            tail_loss_probe: true,
            frto: true,
            undo: true,
            loss_detection: LossDetection::Rack,
            rto_rule: RtoRule::Linux,
            recovery: RecoveryRule::Linux,
            rescue: Rescue::Off,
            delivery_rate: DeliveryRate::Linux,
            controller_rtt: ControllerRtt::Last,
            in_flight_by_buffer: InFlightByBuffer::Auto,
            rtt_samples: RttSamples::Linux,
            timestamps: true,
            sack: true,
            dsack: true,
            ecn: EcnUse::Off,
            slow_start_after_idle: true,
            pacing_shift: 10,
            tso_rtt_log: 9,
            tso_win_divisor: 3,
            gso_max_bytes: 65_215,
            nodelay: false,
            completion: Completion::Immediate,
            limit_output_bytes: 4 << 20,
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
            ack_every: 2,
            ack_pushes: true,
            quick_acks: 16,
            delayed_ack_min: Duration::from_millis(40),
            delayed_ack_max: Duration::from_millis(200),
            read_delay: Duration::from_micros(20),
            compress_sacks: true,
            compress_sacks_delay: CompressionDelay::Linux,
            quic: QuicConfig::default(),
            probe: ProbeConfig::default(),
            real_time: RealTimeConfig::default(),
            library: Map::new(),
        }
    }
}

/// Parameters that only TCP's endpoints read, and how others leave them at their defaults.
macro_rules! of_tcp {
    ($($parameter:ident),* $(,)?) => {
        impl TransportConfig {
            /// Parameters that only TCP's endpoints read.
            pub const OF_TCP: &'static [&'static str] = &[$(stringify!($parameter)),*];

            fn forget_what_is_of_tcp(&mut self) -> bool {
                let usual = TransportConfig::default();
                let mut changes = false;
                $(
                    changes |= self.$parameter != usual.$parameter;
                    self.$parameter = usual.$parameter;
                )*
                changes
            }
        }
    };
}

of_tcp!(
    receive_autotuning,
    right_sizing,
    held_data_takes_window,
    window_scale,
    send_buffer,
    send_buffer_initial,
    send_buffer_max,
    pacing_credit,
    rto_min,
    rto_max,
    reordering,
    max_reordering,
    tail_loss_probe,
    frto,
    loss_detection,
    rto_rule,
    recovery,
    rescue,
    delivery_rate,
    controller_rtt,
    in_flight_by_buffer,
    rtt_samples,
    sack,
    dsack,
    slow_start_after_idle,
    tso_rtt_log,
    tso_win_divisor,
    nodelay,
    limit_output_bytes,
    ack_pushes,
    quick_acks,
    delayed_ack_min,
    delayed_ack_max,
    read_delay,
    compress_sacks,
    compress_sacks_delay,
);

impl TransportConfig {
    /// All parameters, those of `quic` included.
    pub fn parameters() -> &'static [Parameter] {
        static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(declared::<TransportConfig>);
        &PARAMETERS
    }

    /// All parameters with their values, as a table. The code for it is here and optimised, as sweeps ask for it with
    /// every run.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Leaves what its protocol does not read at its defaults: tables of others, and what is of TCP alone; whether that
    /// changes anything.
    pub fn forget_unread(&mut self) -> bool {
        fn forget<T: Default + PartialEq>(table: &mut T, is_read: bool) -> bool {
            !is_read && std::mem::take(table) != T::default()
        }
        let protocol = self.protocol;
        let quic = forget(&mut self.quic, protocol.reads("quic"));
        let probe = forget(&mut self.probe, protocol.reads("probe"));
        let real_time = forget(&mut self.real_time, protocol.reads("real_time"));
        let of_tcp = !protocol.reads_all_of_tcp() && self.forget_what_is_of_tcp();
        quic || probe || real_time || of_tcp
    }

    /// What is out of its declared range, or contradicts something else.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = check(TransportConfig::parameters(), self);
        if !self.timestamps && self.rtt_samples != RttSamples::Linux {
            let message = "`rtt_samples` needs timestamps, which are switched off";
            problems.push(Problem::value("rtt_samples", message, "allowed without timestamps: `\"linux\"`"));
        }
        problems.extend(self.quic.check_memory(self.pacing));
        match self.protocol {
            Protocol::Library(library) => problems.extend(library.check(self)),
            _ if self.library.is_empty() => {}
            own => {
                let message = format!("`library` means nothing over \"{}\"", own.name());
                let known: Vec<&str> = registered().into_iter().map(|library| library.name()).collect();
                let help = match &known[..] {
                    [] => "leave it out".to_owned(),
                    names => format!("it belongs to the transports {}", names.join(", ")),
                };
                problems.push(Problem::key("library", message, help));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests;
