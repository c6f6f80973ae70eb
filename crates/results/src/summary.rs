//! The summary tables: one row a flow, one row a link.
//!
//! Rates and counts are over the measured interval, between `warmup` and `cooldown`; columns that end in `_total` count
//! the whole run. Metrics over several flows, bins or runs are computed from these tables elsewhere.

use crate::columns::{self, Declared, simulated};
use crate::{Histogram, Table};
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// A count that the ground cannot know. It becomes null in tables.
pub const UNKNOWN: u64 = u64::MAX;

/// Declares counts: the struct, and what is done with each of them.
macro_rules! counts {
    ($(#[$meaning:meta])* $name:ident { $($count:ident),* $(,)? }) => {
        $(#[$meaning])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the columns of the same names say what they count")]
        pub struct $name {
            $(pub $count: u64,)*
        }

        impl $name {
            /// Nothing is known.
            pub const UNKNOWN: $name = $name { $($count: UNKNOWN),* };

            /// Both together; unknown where either is.
            pub fn plus(self, other: $name) -> $name {
                $name { $($count: where_known(self.$count, other.$count, |one, other| one + other)),* }
            }

            /// What came on top of `earlier`; unknown where either is.
            pub fn since(self, earlier: $name) -> $name {
                $name { $($count: where_known(self.$count, earlier.$count, |now, earlier| now - earlier)),* }
            }
        }
    };
}

/// What becomes of two counts; unknown if either is.
fn where_known(one: u64, other: u64, both: impl FnOnce(u64, u64) -> u64) -> u64 {
    if one == UNKNOWN || other == UNKNOWN { UNKNOWN } else { both(one, other) }
}

counts! {
    /// What is counted of a flow, over the whole run or an interval. What a ground does not know is [`UNKNOWN`].
    FlowCounts {
        sent,
        retransmits,
        lost,
        network_drops,
        rtos,
        spurious_losses,
        probes,
        undos,
        duplicates,
        acks,
        arrived,
        delivered_bytes,
        sent_bytes,
        frames,
        late_frames,
        lost_frames,
    }
}

/// What a ground knows of a flow when the run is over.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// Number of the flow, from 0.
    pub flow: u32,
    /// Its name in reports.
    pub label: Arc<str>,
    /// The algorithm as the experiment file names it.
    pub cc: Arc<str>,
    /// The exact algorithm and version.
    pub algorithm: Arc<str>,
    /// When the connection attempt began.
    pub start: Time,
    /// Round-trip propagation delay of the route.
    pub base_rtt: Duration,
    /// Length of the measured interval.
    pub measured_s: f64,
    /// Counts of the measured interval.
    pub measured: FlowCounts,
    /// Counts of the whole run.
    pub total: FlowCounts,
    /// Bytes (IP length) that left the bottleneck's transmitter in the measured interval.
    pub wire_bytes: u64,
    /// Bytes (IP length) that left the bottleneck's transmitter in the whole run.
    pub wire_bytes_total: u64,
    /// Round-trip times of the measured interval, in microseconds.
    pub rtt: Histogram,
    /// Sum of the one-way delays of the data packets that arrived in the measured interval.
    pub one_way_delays: Duration,
    /// When all data of a finite transfer was acknowledged.
    pub finished_at: Option<Time>,
    /// Its streams, if it has `streams`.
    pub streams: Option<Box<StreamSummary>>,
}

/// What is measured of a flow with several streams in the measured interval.
#[derive(Clone, Debug, Default)]
pub struct StreamSummary {
    /// Times of whole messages, in microseconds.
    pub messages: Histogram,
    /// How long each packet of data waited for what comes before it on its stream, in microseconds.
    pub waits: Histogram,
    /// Packets that waited.
    pub waited: u64,
}

impl FlowSummary {
    /// A number of its streams.
    fn streams(&self, number: impl Fn(&StreamSummary) -> f64) -> f64 {
        self.streams.as_deref().map_or(f64::NAN, number)
    }

    fn mbps(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e-6 / self.measured_s
    }
}

/// A count of the measured interval and of the whole run.
macro_rules! both {
    ($name:literal, $unit:literal, $meaning:literal, $($count:ident).+) => {
        Declared::both($name, $unit, $meaning, |row| row.measured.$($count).+, |row| row.total.$($count).+)
    };
}

/// The columns of the table of flows.
pub(crate) const FLOWS: &[Declared<FlowSummary>] = &[
    Declared::index("flow", "Number of the flow, from 0 in the order of the file.", |f| f.flow),
    Declared::text("label", "Name of the flow; the algorithm's name unless the file gives one.", |f| &f.label),
    Declared::text("cc", "Algorithm as the file names it; the label of a program.", |f| &f.cc),
    Declared::name("algorithm", "Exact name and version of the algorithm.", |f| &f.algorithm),
    Declared::float("start_s", "s", "When the connection attempt began.", |f| f.start.as_secs_f64()),
    Declared::float(
        "goodput_mbps",
        "Mbit/s",
        "Payload that the receiving application got, each byte once, over the measured interval.",
        |f| f.mbps(f.measured.delivered_bytes),
    ),
    Declared::float(
        "throughput_mbps",
        "Mbit/s",
        "IP bytes of all packets to the receiver, duplicates and the handshake's included, that left the route's slowest link.",
        |f| f.mbps(f.wire_bytes),
    ),
    Declared::float("mean_rtt_ms", "ms", "Mean of the sender's round-trip time samples.", |f| f.rtt.mean() / 1e3),
    Declared::float("p50_rtt_ms", "ms", "Median of the round-trip time samples.", |f| f.rtt.quantile(0.5) / 1e3),
    Declared::float("p95_rtt_ms", "ms", "95th percentile of the round-trip time samples.", |f| {
        f.rtt.quantile(0.95) / 1e3
    }),
    Declared::float("p99_rtt_ms", "ms", "99th percentile of the round-trip time samples.", |f| {
        f.rtt.quantile(0.99) / 1e3
    }),
    Declared::float("min_rtt_ms", "ms", "Smallest round-trip time sample.", |f| f.rtt.min() / 1e3),
    Declared::float(
        "mean_one_way_delay_ms",
        "ms",
        "Mean time of data packets from the sender's host to the receiver's.",
        |f| f.one_way_delays.as_nanos() as f64 / f.measured.arrived as f64 / 1e6,
    ),
    Declared::float(
        "completion_s",
        "s",
        "Time from the connection attempt until all data of a finite transfer was acknowledged; null if it was not.",
        |f| f.finished_at.map_or(f64::NAN, |at| at.since(f.start).as_secs_f64()),
    ),
    Declared::float(
        "transfer_mbps",
        "Mbit/s",
        "Payload of a finite transfer over the time that it took, `completion_s`; null if that is.",
        |f| {
            f.finished_at.map_or(f64::NAN, |at| f.total.delivered_bytes as f64 * 8e-6 / at.since(f.start).as_secs_f64())
        },
    ),
    Declared::float("base_rtt_ms", "ms", "Propagation delay of the route there and back.", |f| {
        f.base_rtt.as_secs_f64() * 1e3
    }),
    both!("retransmits", "segments", "Segments sent again.", retransmits),
    simulated(both!("lost", "segments", "Segments that the sender declared lost, rightly or not.", lost)),
    both!(
        "spurious_losses",
        "segments",
        "Segments declared lost that had arrived: acknowledged late (QUIC), or reported as duplicates (TCP: DSACK).",
        spurious_losses
    ),
    both!("network_drops", "packets", "Data packets of the flow that the network lost or dropped.", network_drops),
    both!("rto_count", "events", "Expiries of the retransmission timer.", rtos),
    simulated(both!("probe_count", "events", "Tail loss probes sent.", probes)),
    simulated(both!("undo_count", "events", "Window reductions taken back because they proved spurious.", undos)),
    both!("sent", "segments", "Data segments sent, retransmissions included.", sent),
    simulated(both!("duplicates", "segments", "Data segments that the receiver already had.", duplicates)),
    both!("acks", "packets", "Acknowledgements that the receiver sent.", acks),
    both!("delivered_bytes", "bytes", "Payload that the receiving application got, each byte once.", delivered_bytes),
    Declared::count("throughput_bytes_total", "bytes", "The bytes of `throughput_mbps` over the whole run.", |f| {
        f.wire_bytes_total
    }),
    simulated(Declared::count(
        "messages",
        "messages",
        "Messages of `streams` that could be read whole; null without.",
        |f| f.streams.as_ref().map_or(UNKNOWN, |streams| streams.messages.count()),
    )),
    simulated(Declared::float(
        "mean_message_ms",
        "ms",
        "Mean time of messages from the departure of their first packet until all of them could be read.",
        |f| f.streams(|streams| streams.messages.mean() / 1e3),
    )),
    simulated(Declared::float("p95_message_ms", "ms", "95th percentile of that time.", |f| {
        f.streams(|streams| streams.messages.quantile(0.95) / 1e3)
    })),
    simulated(Declared::float(
        "mean_hol_ms",
        "ms",
        "Mean head-of-line delay: how long data that had arrived waited for what comes before it on its stream. TCP has one.",
        |f| f.streams(|streams| streams.waits.mean() / 1e3),
    )),
    simulated(Declared::float("p99_hol_ms", "ms", "99th percentile of that delay.", |f| {
        f.streams(|streams| streams.waits.quantile(0.99) / 1e3)
    })),
    simulated(Declared::float("hol_share", "share", "Share of data packets that waited so.", |f| {
        f.streams(|streams| streams.waited as f64 / streams.waits.count() as f64)
    })),
];

counts! {
    /// What is counted of a link, over the whole run or an interval. What a wire does not have is [`UNKNOWN`].
    LinkCounts {
        arrivals,
        drops,
        drops_full,
        drops_aqm,
        drops_ack_filter,
        drops_policed,
        losses,
        marks,
        ecn_changed,
        aggregates,
        frame_retries,
        collisions,
    }
}

/// What a ground knows of a link when the run is over.
#[derive(Clone, Debug, Default)]
pub struct LinkSummary {
    /// Number of the link, from 0.
    pub link: u32,
    /// Its name.
    pub name: String,
    /// Length of the measured interval.
    pub measured_s: f64,
    /// Bytes (IP length) that left the transmitter in the measured interval.
    pub departed_bytes: u64,
    /// The same with the framing of its line.
    pub framed_bytes: u64,
    /// Bits that it could have sent in that time; `None` for an unlimited rate.
    pub capacity_bits: Option<u64>,
    /// Bytes that waited, by time.
    pub mean_queue_bytes: f64,
    /// The level that was not exceeded 95 % of the time.
    pub p95_queue_bytes: f64,
    /// The highest level.
    pub max_queue_bytes: f64,
    /// Seconds of the measured interval for which its radio transmitted; `None` for a wire.
    pub airtime_s: Option<f64>,
    /// Packets in the aggregates of its radio; `None` for a wire.
    pub aggregated_packets: Option<u64>,
    /// Counts of the measured interval.
    pub measured: LinkCounts,
    /// Counts of the whole run.
    pub total: LinkCounts,
}

/// The columns of the table of links.
pub(crate) const LINKS: &[Declared<LinkSummary>] = &[
    Declared::index("link", "Number of the link, from 0; each direction is a link of its own.", |l| l.link),
    Declared::text("name", "Name of the link.", |l| &l.name),
    Declared::float(
        "utilization",
        "share",
        "Bytes that left, framing (`overhead`) included, over those that could have; null without a rate.",
        |l| match l.capacity_bits {
            Some(bits) if bits > 0 => l.framed_bytes as f64 * 8.0 / bits as f64,
            _ => f64::NAN,
        },
    ),
    Declared::float("throughput_mbps", "Mbit/s", "IP bytes that left the transmitter.", |l| {
        l.departed_bytes as f64 * 8e-6 / l.measured_s
    }),
    Declared::float("capacity_mbps", "Mbit/s", "Mean rate of the transmitter; null if it is unlimited.", |l| {
        l.capacity_bits.map_or(f64::NAN, |bits| bits as f64 * 1e-6 / l.measured_s)
    }),
    Declared::float("mean_queue_bytes", "bytes", "Bytes waiting, averaged over time.", |l| l.mean_queue_bytes),
    Declared::float("p95_queue_bytes", "bytes", "Bytes waiting that are not exceeded 95 % of the time.", |l| {
        l.p95_queue_bytes
    }),
    Declared::float("max_queue_bytes", "bytes", "Most bytes waiting.", |l| l.max_queue_bytes),
    both!("arrivals", "packets", "Packets offered to the link.", arrivals),
    both!("drops", "packets", "Packets dropped by the queue and by the policer in front of it.", drops),
    both!(
        "drops_full",
        "packets",
        "Packets that did not fit into the queue, and those dropped from a fair queue to make room.",
        drops_full
    ),
    both!("drops_aqm", "packets", "Packets that the queue discipline dropped although they fitted.", drops_aqm),
    both!(
        "drops_ack_filter",
        "packets",
        "ACKs that the queue dropped because later ones made them redundant.",
        drops_ack_filter
    ),
    both!("drops_policed", "packets", "Packets that exceeded the policer.", drops_policed),
    both!("losses", "packets", "Packets lost at random, before or after the transmitter.", losses),
    both!("marks", "packets", "Packets marked with \"congestion experienced\" (ECN).", marks),
    both!("ecn_changed", "packets", "Packets whose ECN bits a fault of the link changed (`ecn_fault`).", ecn_changed),
    Declared::float(
        "airtime",
        "share",
        "Share of time for which its radio transmitted, Block-ACKs included; null for a wire.",
        |l| l.airtime_s.map_or(f64::NAN, |airtime_s| airtime_s / l.measured_s),
    ),
    Declared::float("mean_aggregate", "packets", "Packets of an aggregate, averaged; null for a wire.", |l| {
        match l.aggregated_packets {
            Some(packets) if l.measured.aggregates > 0 => packets as f64 / l.measured.aggregates as f64,
            _ => f64::NAN,
        }
    }),
    both!("aggregates", "aggregates", "Aggregates that its radio sent; null for a wire.", aggregates),
    both!("frame_retries", "frames", "Frames that its radio sent again; null for a wire.", frame_retries),
    both!("collisions", "aggregates", "Aggregates that collided with those of others; null for a wire.", collisions),
];

/// The table of flows, whose rows are made one after the other.
pub fn flows(rows: impl IntoIterator<Item = FlowSummary>) -> Table {
    columns::table(FLOWS, rows)
}

/// The table of links.
pub fn links(rows: &[LinkSummary]) -> Table {
    columns::table(LINKS, rows)
}
