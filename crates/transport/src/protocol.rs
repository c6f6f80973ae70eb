//! The protocols: what is true of each, its ready-made endpoints, and what its packets carry besides payload.
//!
//! Who has to know which protocol a flow has asks here. Only what builds endpoints names them besides.

use crate::SendBufferSize;
use crate::config::{ControllerRtt, Pacing, RttSamples, TransportConfig};
use crate::ecn::EcnUse;
use crate::library::{Library, protocols};
use crate::quic::QuicConfig;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How data is numbered, acknowledged and repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum Protocol {
    /// Linux's TCP.
    #[default]
    Tcp,
    /// QUIC-like: a number for every transmission, RFC 9002's loss recovery.
    Quic,
    /// Datagrams without acknowledgements: an unresponsive source that sends what the application writes.
    Udp,
    /// Small datagrams at constant intervals, each sent back at once.
    Probe,
    /// A call: frames from an encoder whose rate follows the network (RFC 8698).
    RealTime,
    /// What a crate outside brings.
    #[schemars(skip)]
    Library(Library),
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Protocol, D::Error> {
        let name = String::deserialize(deserializer)?;
        let own = Protocol::OWN.into_iter().find(|protocol| protocol.name() == name);
        let found = own.or_else(|| Library::find(&name).map(Protocol::Library));
        found.ok_or_else(|| D::Error::unknown_variant(&name, protocols()))
    }
}

impl Protocol {
    /// Those whose endpoints are here.
    pub(crate) const OWN: [Protocol; 5] =
        [Protocol::Tcp, Protocol::Quic, Protocol::Udp, Protocol::Probe, Protocol::RealTime];

    /// The tables of parameters that belong to one protocol: their name, and the ready-made endpoints that read them.
    pub const TABLES: [(&'static str, &'static str); 3] =
        [("quic", "quic"), ("probe", "probe"), ("real_time", "real-time")];

    /// Whether it reads such a table; a library says by itself what it heeds.
    pub fn reads(self, table: &str) -> bool {
        match self {
            Protocol::Tcp | Protocol::Udp => false,
            Protocol::Quic => table == "quic",
            Protocol::Probe => table == "probe",
            Protocol::RealTime => table == "real_time",
            Protocol::Library(_) => true,
        }
    }

    /// Whether it reads what is of TCP ([`TransportConfig::OF_TCP`]); a library says by itself what it heeds.
    pub fn reads_all_of_tcp(self) -> bool {
        matches!(self, Protocol::Tcp | Protocol::Library(_))
    }

    /// Whether a congestion controller governs the sender.
    pub fn is_controlled(self) -> bool {
        self.why_uncontrolled().is_none()
    }

    /// Whether it is TCP as the kernel speaks it.
    pub fn is_tcp(self) -> bool {
        self == Protocol::Tcp
    }

    /// Whether the receiver has a window that a slow reader closes.
    pub fn has_receive_window(self) -> bool {
        self == Protocol::Tcp
    }

    /// Whether a connection can carry several streams of messages.
    pub fn has_streams(self) -> bool {
        matches!(self, Protocol::Tcp | Protocol::Quic)
    }

    /// Whether streams share one order, so that a gap in one holds all of them up.
    pub fn shares_order(self) -> bool {
        self == Protocol::Tcp
    }

    /// Whether the sender has a rule of its own in the place of a congestion controller.
    pub fn has_own_rule(self) -> bool {
        self == Protocol::RealTime
    }

    /// Whether it sends frames.
    pub fn has_frames(self) -> bool {
        self == Protocol::RealTime
    }

    /// Whether an application writes what is sent.
    pub fn has_application(self) -> bool {
        !matches!(self, Protocol::Probe | Protocol::RealTime)
    }

    /// Why no congestion controller governs it, and what decides how fast it sends instead; `None` where one does.
    pub fn why_uncontrolled(self) -> Option<(&'static str, &'static str)> {
        match self {
            Protocol::Tcp | Protocol::Quic | Protocol::Library(_) => None,
            Protocol::Udp => Some((
                "datagrams over UDP have no congestion controller",
                "the application's `rate` is how fast they leave",
            )),
            Protocol::Probe => Some((
                "probes have no congestion controller",
                "their size is transport.mss, their spacing transport.probe.interval",
            )),
            Protocol::RealTime => {
                Some(("a call has a rule of its own, NADA", "its rates are transport.real_time.min_rate and max_rate"))
            }
        }
    }

    /// Its name in experiment files.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Quic => "quic",
            Protocol::Udp => "udp",
            Protocol::Probe => "probe",
            Protocol::RealTime => "real-time",
            Protocol::Library(library) => library.name(),
        }
    }
}

impl TransportConfig {
    /// Names of the ready-made endpoints of [`TransportConfig::built_in`].
    pub const PROFILES: [&str; 7] = ["tcp", "linux-host", "quic", "dqc", "udp", "probe", "real-time"];
    /// Bytes of IP and TCP headers without options.
    const TCP_HEADER: u32 = 40;
    /// Bytes of the timestamp option, padding included.
    pub const TIMESTAMP_OPTION: u32 = 12;
    /// Bytes of the option of accurate ECN with its three counters, padding included.
    const MARKS_OPTION: u32 = 12;

    /// Ready-made endpoints by name: [those that are here](Self::built_in), or those of a
    /// [registered](crate::library::register) transport.
    pub fn profile(name: &str) -> Option<TransportConfig> {
        TransportConfig::built_in(name).or_else(|| Library::find(name).map(|library| library.profile()))
    }

    /// Ready-made endpoints: `tcp` (Linux 6.18 with ample buffers and a fine clock), `linux-host` (the same with the
    /// buffers of its hosts, which size themselves, and the clock of most distributions), `quic` (RFC 9002), `dqc` (the
    /// user-space framework of Zhang's study: an ACK for every packet, no tolerance for reordering, a quiet timeout, a
    /// clock that counts milliseconds), `udp` (datagrams that nobody acknowledges), `probe` (datagrams that are sent
    /// back) and `real-time` (a call).
    pub fn built_in(name: &str) -> Option<TransportConfig> {
        let quic =
            TransportConfig { protocol: Protocol::Quic, mss: 1350, pacing: Pacing::On, ..TransportConfig::default() };
        match name {
            "tcp" => Some(TransportConfig::default()),
            "linux-host" => Some(TransportConfig {
                receive_autotuning: true,
                send_buffer: SendBufferSize::Autotuning,
                hz: 250,
                ..TransportConfig::default()
            }),
            "quic" => Some(quic),
            "dqc" => Some(TransportConfig { ack_every: 1, undo: false, quic: QuicConfig::dqc(), ..quic }),
            "udp" => Some(TransportConfig { protocol: Protocol::Udp, mss: 1472, ..TransportConfig::default() }),
            "probe" => Some(TransportConfig { protocol: Protocol::Probe, mss: 64, ..TransportConfig::default() }),
            "real-time" => {
                Some(TransportConfig { protocol: Protocol::RealTime, mss: 1200, ..TransportConfig::default() })
            }
            _ => None,
        }
    }

    /// Makes segments as large as they are by default: the place of a missing timestamp option is payload, that of
    /// counters of marks is not.
    pub fn fill_segments(&mut self) {
        if self.protocol == Protocol::Tcp {
            let missing = TransportConfig::TIMESTAMP_OPTION - self.timestamp_option();
            self.mss = self.mss + missing - self.marks_option();
        }
    }

    fn timestamp_option(&self) -> u32 {
        if self.timestamps { TransportConfig::TIMESTAMP_OPTION } else { 0 }
    }

    /// Bytes that the counters of marks take of each data segment: with `ecn = "accurate"` both ends of a TCP
    /// connection send them (`tcp_ecn_option = 2`).
    pub fn marks_option(&self) -> u32 {
        let has_counters = self.protocol == Protocol::Tcp && self.ecn == EcnUse::Accurate;
        if has_counters { TransportConfig::MARKS_OPTION } else { 0 }
    }

    /// Payload of a TCP segment without options in bytes (`mss_clamp`).
    pub fn largest_segment(&self) -> u32 {
        self.mss + self.marks_option() + self.timestamp_option()
    }

    /// The receive buffer of a Linux host whose largest window is `receive_window`, in bytes (`tcp_rmem[2]`).
    pub fn receive_buffer(&self) -> u64 {
        crate::receiver::right_sizing::buffer_for(self.receive_window, self.mss)
    }

    /// Payload of the largest data packet in bytes.
    pub fn largest_payload(&self) -> u32 {
        match self.protocol {
            Protocol::Tcp | Protocol::Udp | Protocol::Probe | Protocol::RealTime | Protocol::Library(_) => self.mss,
            Protocol::Quic => self.quic.packet_sizes.iter().map(|&size| u32::from(size)).max().unwrap_or(self.mss),
        }
    }

    /// Bytes of headers around the payload of a data packet, IP included.
    pub fn header_bytes(&self) -> u32 {
        self.ack_header_bytes() + self.marks_option()
    }

    /// Bytes of an ACK, IP included, besides its options for SACK blocks and counters of marks.
    pub fn ack_header_bytes(&self) -> u32 {
        match self.protocol {
            Protocol::Tcp => TransportConfig::TCP_HEADER + self.timestamp_option(),
            Protocol::Quic => u32::from(crate::quic::PACKET_OVERHEAD),
            Protocol::Udp | Protocol::Probe | Protocol::Library(_) => u32::from(crate::udp::HEADER),
            Protocol::RealTime => u32::from(crate::real_time::HEADER),
        }
    }

    /// Bytes of a packet of the handshake, IP included.
    pub fn handshake_bytes(&self) -> u32 {
        // MSS 4, window scale 3 and a NOP; SACK permitted 2, with timestamps instead of two NOPs.
        let has_timestamps = self.timestamps || self.protocol == Protocol::Quic;
        let timestamps = if has_timestamps { TransportConfig::TIMESTAMP_OPTION } else { 4 };
        TransportConfig::TCP_HEADER + 4 + 4 + timestamps
    }

    /// Whether ACKs bring timestamps back.
    pub fn has_timestamps(&self) -> bool {
        self.protocol == Protocol::Tcp && self.timestamps
    }

    /// The step in which a sender measures round-trip times, in microseconds; at least 1.
    pub fn rtt_step_us(&self) -> u64 {
        let step_us = match self.protocol {
            Protocol::Quic => self.quic.clock_resolution.as_micros(),
            Protocol::Tcp if self.rtt_samples != RttSamples::Linux => 1_000,
            Protocol::Tcp if self.controller_rtt == ControllerRtt::Smoothed => 1_000,
            _ => 1,
        };
        step_us.max(1)
    }
}
