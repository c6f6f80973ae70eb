//! A call: an encoder whose rate follows what the network can take, as interactive media should (RFC 8836).
//!
//! The near end ([`Source`](source::Source)) makes a frame every `1/fps` seconds at the rate that the rule allows, cuts
//! it into packets of `mss` bytes and paces them. The far end ([`Sink`](sink::Sink)) puts frames together, measures,
//! and reports every `feedback` seconds. The rule is NADA (RFC 8698): the receiver's half, which turns delay, loss and
//! marks into one congestion signal, is in `signal.rs`, the sender's half, which turns that into rates, in `nada.rs`.
//!
//! Left out are key frames and other variation of frame sizes (RFC 8593), repair and redundancy (RTX, FEC), the circuit
//! breaker (RFC 8083), and clock drift, for which RFC 8698 renews the base delay every ten minutes.

mod frames;
mod nada;
mod signal;
mod sink;
mod source;

use crate::endpoint::Endpoint;
use crate::udp;
use dumbbell_units::{Duration, Ecn, Rate};
pub use nada::OwnRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// IP, UDP and RTP headers.
pub(crate) const HEADER: u16 = udp::HEADER + 12;
/// A report: IP, UDP and RTCP headers, two sources, and the fields of RFC 8698, section 5.3, with the echo of a send
/// time.
const REPORT_SIZE: u16 = udp::HEADER + 8 + 4 + 24;

/// Parameters of calls. Rates are those of payload; a packet has at most `mss` bytes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RealTimeConfig {
    /// Frames in a second.
    #[schemars(range(min = 1, max = 240), extend("x-unit" = "1/s", "x-source" = "RFC 8698: FPS"))]
    pub fps: u32,
    /// Lowest rate of the encoder, at which it starts.
    #[schemars(extend("x-at-least" = "1kbit", "x-at-most" = "real_time.max_rate", "x-source" = "RFC 8698: RMIN"))]
    pub min_rate: Rate,
    /// Highest rate of the encoder. The same as `min_rate`: it does not adapt.
    #[schemars(extend("x-at-most" = "1gbit", "x-source" = "RFC 8698: RMAX"))]
    pub max_rate: Rate,
    /// A frame that takes longer from camera to the arrival of its last packet is late.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "ITU-T G.114: 400 ms, the most that a conversation bears"))]
    pub deadline: Duration,
    /// Time from one report of the receiver to the next.
    #[schemars(extend("x-at-least" = "1ms", "x-at-most" = "10s", "x-source" = "RFC 8698: DELTA"))]
    pub feedback: Duration,
    /// Congestion signal at which a flow of weight 1 has `max_rate`.
    #[schemars(extend("x-at-least" = "100us", "x-at-most" = "10s", "x-source" = "RFC 8698: XREF"))]
    pub reference: Duration,
    /// Weight of the flow among others.
    #[schemars(range(max = 100), extend("x-above" = 0, "x-source" = "RFC 8698: PRIO"))]
    pub priority: f64,
    /// Strength of the response to the congestion signal.
    #[schemars(range(max = 10), extend("x-above" = 0, "x-source" = "RFC 8698: KAPPA"))]
    pub kappa: f64,
    /// Strength of the response to its change, relative to `kappa`.
    #[schemars(range(min = 0, max = 100), extend("x-source" = "RFC 8698: ETA"))]
    pub eta: f64,
    /// Upper bound of the round-trip times for which the response is meant to be stable.
    #[schemars(extend("x-at-least" = "1ms", "x-at-most" = "1h", "x-source" = "RFC 8698: TAU"))]
    pub tau: Duration,
}

impl Default for RealTimeConfig {
    fn default() -> RealTimeConfig {
        RealTimeConfig {
            fps: 30,
            min_rate: Rate::from_bits_per_sec(150_000),
            max_rate: Rate::from_bits_per_sec(1_500_000),
            deadline: Duration::from_millis(400),
            feedback: Duration::from_millis(100),
            reference: Duration::from_millis(10),
            priority: 1.0,
            kappa: 0.5,
            eta: 2.0,
            tau: Duration::from_millis(500),
        }
    }
}

/// The end with the camera and that with the screen. Packets carry `mss` bytes of payload at most, and `ecn`.
pub fn endpoints(config: &RealTimeConfig, mss: u16, ecn: Ecn) -> (Box<dyn Endpoint>, Box<dyn Endpoint>) {
    (Box::new(source::Source::new(config, mss, ecn)), Box::new(sink::Sink::new(config)))
}

/// What a packet tells besides the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MediaPacket {
    /// Number among all packets.
    number: u64,
    /// Number of its frame.
    frame: u64,
    /// Packets of that frame.
    packets: u32,
    /// When the frame was captured, and when the packet left, in nanoseconds.
    captured: u64,
    sent: u64,
}

impl MediaPacket {
    /// At most the smallest `mss`.
    const LEN: usize = 36;

    fn encode(&self, payload: &mut Vec<u8>) {
        for field in [self.number, self.frame, self.captured, self.sent] {
            payload.extend_from_slice(&field.to_le_bytes());
        }
        payload.extend_from_slice(&self.packets.to_le_bytes());
    }

    fn decode(payload: &[u8]) -> Option<MediaPacket> {
        let bytes: &[u8; MediaPacket::LEN] = payload.first_chunk()?;
        let field = |at: usize| bytes[at..].first_chunk().map_or(0, |field| u64::from_le_bytes(*field));
        let packets = bytes[32..].first_chunk().map_or(0, |field| u32::from_le_bytes(*field));
        Some(MediaPacket { number: field(0), frame: field(8), captured: field(16), sent: field(24), packets })
    }
}

/// What the receiver reports.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Report {
    /// Nothing has been lost and no queue has grown for a while: the rate may rise fast.
    may_ramp_up: bool,
    /// The congestion signal, in milliseconds.
    signal_ms: f64,
    /// Payload that arrived, in bits per second.
    receive_rate: f64,
    /// Packets that never came, so far.
    lost: u64,
    /// When the latest packet left, and how long ago it arrived, in nanoseconds.
    sent: u64,
    held: u64,
}

impl Report {
    const LEN: usize = 48;

    fn encode(&self, payload: &mut Vec<u8>) {
        let signal = [u64::from(self.may_ramp_up), self.signal_ms.to_bits(), self.receive_rate.to_bits()];
        for field in signal.into_iter().chain([self.lost, self.sent, self.held]) {
            payload.extend_from_slice(&field.to_le_bytes());
        }
    }

    fn decode(payload: &[u8]) -> Option<Report> {
        let bytes: &[u8; Report::LEN] = payload.first_chunk()?;
        let field = |at: usize| bytes[8 * at..].first_chunk().map_or(0, |field| u64::from_le_bytes(*field));
        Some(Report {
            may_ramp_up: field(0) == 1,
            signal_ms: f64::from_bits(field(1)),
            receive_rate: f64::from_bits(field(2)),
            lost: field(3),
            sent: field(4),
            held: field(5),
        })
    }
}

#[cfg(test)]
mod tests;
