//! QUIC-like endpoints: the loss recovery of RFC 9002 without streams, handshakes or encryption.
//!
//! Every transmission has a packet number of its own, and lost data is sent again in a new packet. Losses are detected
//! by packet threshold and time threshold. A probe timeout sends probes and leaves the congestion window alone. The
//! window is reduced once per recovery period. The controllers are the same as over TCP, and count packets where TCP
//! counts segments. Two profiles share the code: `quic` (RFC 9002) and `dqc`, the user-space framework of Zhang's
//! study, which differs in its thresholds, its timeout, its ACK for every packet, and its clock of 1 ms.
//!
//! An ACK carries the highest ranges of packet numbers, as many as `ack_ranges` says. Once a round trip a sender that
//! has got several tells the receiver so, which forgets the ranges of that ACK (RFC 9000, sections 13.2.3 and 13.2.4).

mod clock;
mod endpoint;
mod receiver;
mod sender;
mod sent_packets;
mod stream;
#[cfg(test)]
mod tests;

use dumbbell_parameters::Problem;
use dumbbell_units::{Bytes, Duration, Ecn, Time, as_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Pacing, SackBlock};

pub(crate) use endpoint::PACKET_OVERHEAD;
pub use endpoint::endpoints;
pub use receiver::QuicReceiver;
pub use sender::QuicSender;

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicPacket {
    /// Packet number. It is never used twice.
    pub number: u32,
    /// Which part of the stream it carries. A part is what fits into one packet.
    pub seq: u32,
    /// Payload bytes.
    pub len: u16,
    /// ECN bits of the packet.
    pub ecn: Ecn,
    /// It carries data that was sent before.
    pub is_retransmission: bool,
    /// When it was sent.
    pub sent_at: Time,
    /// How often the receiver is asked to acknowledge from now on, where the sender asks (an ACK_FREQUENCY frame).
    pub ack_frequency: Option<AckFrequency>,
    /// The largest number in an ACK that the sender has got: the receiver may forget the ranges up to it.
    pub known_up_to: Option<u32>,
}

/// How often a receiver acknowledges (draft-ietf-quic-ack-frequency).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFrequency {
    /// An ACK for so many packets.
    pub every: u16,
    /// Longest delay of an ACK in microseconds.
    pub delay_us: u32,
}

/// An ACK frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicAck {
    /// Ranges of packet numbers that have arrived, highest first.
    pub ranges: Vec<SackBlock>,
    /// ACK delay: time from the arrival of the packet with the largest number to this ACK, in microseconds.
    pub delay_us: u32,
    /// Packets that have arrived, by their ECN bits.
    pub ecn: EcnCounts,
}

/// Counts of an ACK frame (RFC 9000, section 19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: u32,
    /// Packets with ECT(1).
    pub ect1: u32,
    /// Packets with a congestion mark.
    pub ce: u32,
}

impl QuicPacket {
    /// Short header and authentication tag.
    pub const OVERHEAD: u16 = 22;

    /// Bytes that a packet with `len` bytes of payload counts in flight: all but IP and UDP.
    #[inline]
    pub fn bytes(len: u16) -> u64 {
        u64::from(len) + u64::from(QuicPacket::OVERHEAD)
    }
}

impl QuicAck {
    /// Length on the wire in bytes: IPv4, UDP, short header, authentication tag and an ACK frame of few ranges.
    pub const WIRE_SIZE: u16 = 70;
    /// So many ranges have room in that.
    pub const FEW_RANGES: usize = 3;
}

/// Parameters of the QUIC-like endpoints; defaults are RFC 9002's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuicConfig {
    /// Packet threshold: a packet is lost when one whose number is this much higher is acknowledged.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "RFC 9002, section 6.1.1: kPacketThreshold"))]
    pub packet_threshold: u32,
    /// Time threshold: a packet is lost when a later one is acknowledged and it was sent this many eighths of an RTT
    /// ago; 0 switches the rule off.
    #[schemars(extend("x-unit" = "1/8", "x-source" = "RFC 9002, section 6.1.2: kTimeThreshold 9/8"))]
    pub time_threshold_eighths: u32,
    /// Timer granularity: the smallest time threshold, and the smallest 4·rttvar in a probe timeout.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "RFC 9002, section 6.1.2: kGranularity"))]
    pub granularity: Duration,
    /// Longest time by which the receiver delays an ACK.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "RFC 9000, section 18.2: max_ack_delay"))]
    pub max_ack_delay: Duration,
    /// Most ranges of packet numbers that the receiver remembers, and that an ACK carries.
    #[schemars(range(min = 1, max = 256), extend("x-unit" = "ranges", "x-source" = "RFC 9000, section 13.2.3; stacks: 32 to 256"))]
    pub ack_ranges: u32,
    /// ACKs a round trip that the sender asks for: the receiver acknowledges each so many packets as the pacing rate
    /// sends in that share of the smoothed RTT, from `ack_every` to 64, and delays an ACK by no more than that share; 0
    /// leaves it to `ack_every`.
    #[schemars(range(max = 1_000), extend("x-source" = "draft-ietf-quic-ack-frequency; picoquic: 4"))]
    pub acks_per_rtt: u32,
    /// What an expired timeout does.
    #[schemars(extend("x-source" = "RFC 9002, section 6.2"))]
    pub timeout: Timeout,
    /// Smallest timeout; RFC 9002 has none.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "RFC 9002 has none"))]
    pub timeout_min: Duration,
    /// Timeout before the first RTT sample.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "RFC 9002, section 6.2.2: 3 kInitialRtt"))]
    pub initial_timeout: Duration,
    /// A packet may leave this much earlier than pacing says (granularity of the sender's alarms).
    #[schemars(extend("x-at-most" = "1h", "x-source" = "Chromium: kAlarmGranularity"))]
    pub pacing_granularity: Duration,
    /// Packets that may leave at once when nothing is in flight, within the window and outside of recovery.
    #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "RFC 9002, section 7.7"))]
    pub initial_burst: u32,
    /// Payload bytes of the packets, one after the other, again and again; none: all have `mss`. Their mean must be
    /// `mss`, which stays the unit of windows and rates.
    #[schemars(extend("x-unit" = "bytes", "x-source" = "dqc: 1400, 1400, 200 of the 3000 bytes that its application writes"))]
    pub packet_sizes: Vec<u16>,
    /// Measure the ACK rate of a bandwidth sample from before a train of ACKs, not from within one, so that ACKs which
    /// come in aggregates do not make it too high.
    #[schemars(extend("x-source" = "Chromium: BSAO, bandwidth sampler overestimate avoidance"))]
    pub avoid_overestimates: bool,
    /// Window of an earlier connection over the same path, in bytes of QUIC packets. Once its initial window is
    /// acknowledged, a sender with more data than its window allows jumps to half of it, paced over a round trip, if
    /// its smallest RTT lies between half of `saved_rtt` and ten times that (careful resume); 0: no path is remembered.
    #[serde(with = "as_bytes")]
    #[schemars(with = "Bytes")]
    #[schemars(extend("x-at-most" = "1024TiB", "x-source" = "RFC 9959: saved_cwnd"))]
    pub saved_cwnd: u64,
    /// Smallest RTT of the earlier connection.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "RFC 9959: saved_rtt"))]
    pub saved_rtt: Duration,
    /// Resolution of the sender's clock: all times that it knows (send times, RTTs, pacing) are rounded down to a
    /// multiple of this; 0 is an exact clock.
    #[schemars(extend("x-source" = "dqc: 1 ms"))]
    pub clock_resolution: Duration,
    /// The sender sends only at multiples of this (a loop that polls); 0 is a sender that sends as soon as it may.
    #[schemars(extend("x-source" = "dqc: 0.5 ms"))]
    pub poll_interval: Duration,
}

/// What an expired timeout does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timeout {
    /// Sends up to two probes beyond the window and doubles the timeout. Nothing is declared lost (RFC 9002).
    #[default]
    Probe,
    /// Declares the two oldest packets lost, does not tell the congestion controller, and does not back off (the
    /// framework of Zhang's study).
    ResendQuietly,
}

impl Default for QuicConfig {
    fn default() -> QuicConfig {
        QuicConfig {
            packet_threshold: 3,
            time_threshold_eighths: 9,
            granularity: Duration::from_millis(1),
            max_ack_delay: Duration::from_millis(25),
            ack_ranges: 64,
            acks_per_rtt: 0,
            timeout: Timeout::Probe,
            timeout_min: Duration::ZERO,
            initial_timeout: Duration::from_millis(999),
            pacing_granularity: Duration::from_millis(1),
            initial_burst: 10,
            packet_sizes: Vec::new(),
            avoid_overestimates: false,
            saved_cwnd: 0,
            saved_rtt: Duration::ZERO,
            clock_resolution: Duration::ZERO,
            poll_interval: Duration::ZERO,
        }
    }
}

impl QuicConfig {
    /// The framework of Zhang's study: no tolerance for reordering, a quiet timeout with a floor of 200 ms, a clock
    /// that counts milliseconds and a sender that looks every half a millisecond whether it may send.
    pub fn dqc() -> QuicConfig {
        QuicConfig {
            packet_threshold: 1,
            time_threshold_eighths: 0,
            timeout: Timeout::ResendQuietly,
            timeout_min: Duration::from_millis(200),
            initial_timeout: Duration::from_millis(500),
            clock_resolution: Duration::from_millis(1),
            poll_interval: Duration::from_micros(500),
            ..QuicConfig::default()
        }
    }

    /// What is wrong with the path that a sender is to remember.
    pub(crate) fn check_memory(&self, pacing: Pacing) -> Vec<Problem> {
        let mut problems = Vec::new();
        let (has_window, has_rtt) = (self.saved_cwnd > 0, self.saved_rtt > Duration::ZERO);
        if has_window != has_rtt {
            let (given, missing) = if has_window { ("saved_cwnd", "saved_rtt") } else { ("saved_rtt", "saved_cwnd") };
            let message = format!("`quic.{given}` is given without `quic.{missing}`");
            let help = "give the window and the smallest RTT of the earlier connection, or neither";
            problems.push(Problem::value(format!("quic.{given}"), message, help));
        }
        if has_window && pacing == Pacing::Off {
            let message = "`quic.saved_cwnd` needs pacing, which is switched off: a jump is spread over a round trip";
            problems.push(Problem::value("quic.saved_cwnd", message, "allowed without pacing: `0B`"));
        }
        problems
    }
}
