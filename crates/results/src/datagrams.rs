//! The table of flows of datagrams: unresponsive flows, probes and calls.

use crate::columns::{self, Declared};
use crate::{FlowCounts, Histogram, Table, UNKNOWN};
use std::sync::Arc;

/// What a ground knows of a flow of datagrams when the run is over. Counts and times are those of the measured
/// interval.
#[derive(Clone, Debug, Default)]
pub struct DatagramSummary {
    /// Number of the flow, from 0.
    pub flow: u32,
    /// Its name in reports.
    pub label: Arc<str>,
    /// What its ends are.
    pub kind: &'static str,
    /// Length of the measured interval.
    pub measured_s: f64,
    /// Counts.
    pub counts: FlowCounts,
    /// Whether its sender hears of losses; otherwise the network's drops count.
    pub knows_losses: bool,
    /// Whether it consists of frames.
    pub has_frames: bool,
    /// One-way delays of packets, in microseconds.
    pub one_way: Histogram,
    /// Round-trip times, in microseconds.
    pub rtt: Histogram,
    /// Times of complete frames from the camera to the arrival of their last packet, in microseconds.
    pub frames: Histogram,
}

impl DatagramSummary {
    fn lost(&self) -> u64 {
        if self.knows_losses { self.counts.lost } else { self.counts.network_drops }
    }

    /// A count of frames, which is unknown where there are none.
    fn frames(&self, count: u64) -> u64 {
        if self.has_frames { count } else { UNKNOWN }
    }
}

/// A quantile of a distribution in microseconds, as milliseconds.
macro_rules! quantile {
    ($name:literal, $of:ident, $q:literal, $meaning:literal) => {
        Declared::float($name, "ms", $meaning, |row| row.$of.quantile($q) / 1e3)
    };
}

/// The columns of the table.
pub(crate) const DATAGRAMS: &[Declared<DatagramSummary>] = &[
    Declared::index("flow", "Number of the flow, from 0 in the order of the file.", |d| d.flow),
    Declared::text("label", "Name of the flow; that of its kind unless the file gives one.", |d| &d.label),
    Declared::name("kind", "What it is: udp, probe or real-time.", |d| d.kind),
    Declared::count("sent", "packets", "Datagrams that its sender sent.", |d| d.counts.sent),
    Declared::count(
        "lost",
        "packets",
        "Probes without an answer; packets that the receiver of a call missed; of others those that the network dropped.",
        DatagramSummary::lost,
    ),
    Declared::float("loss", "share", "`lost` over `sent`.", |d| d.lost() as f64 / d.counts.sent as f64),
    Declared::float("rate_mbps", "Mbit/s", "Payload sent, on average: the rate of an encoder.", |d| {
        d.counts.sent_bytes as f64 * 8e-6 / d.measured_s
    }),
    Declared::float("mean_one_way_ms", "ms", "Mean time of datagrams from host to host.", |d| d.one_way.mean() / 1e3),
    quantile!("p50_one_way_ms", one_way, 0.5, "Median of that time."),
    quantile!("p95_one_way_ms", one_way, 0.95, "95th percentile of that time."),
    quantile!("p99_one_way_ms", one_way, 0.99, "99th percentile of that time."),
    Declared::float("min_rtt_ms", "ms", "Smallest round-trip time; null without answers.", |d| d.rtt.min() / 1e3),
    Declared::float("mean_rtt_ms", "ms", "Mean round-trip time.", |d| d.rtt.mean() / 1e3),
    quantile!("p50_rtt_ms", rtt, 0.5, "Median of the round-trip times."),
    quantile!("p95_rtt_ms", rtt, 0.95, "95th percentile of the round-trip times."),
    quantile!("p99_rtt_ms", rtt, 0.99, "99th percentile of the round-trip times."),
    Declared::count("frames", "frames", "Frames of a call that arrived whole; null where there are none.", |d| {
        d.frames(d.counts.frames)
    }),
    Declared::count("late_frames", "frames", "Those of them that took longer than the call's `deadline`.", |d| {
        d.frames(d.counts.late_frames)
    }),
    Declared::count("lost_frames", "frames", "Frames of which something never came.", |d| {
        d.frames(d.counts.lost_frames)
    }),
    quantile!("p50_frame_ms", frames, 0.5, "Median time of whole frames from the camera to their last packet."),
    quantile!("p95_frame_ms", frames, 0.95, "95th percentile of that time."),
    quantile!("p99_frame_ms", frames, 0.99, "99th percentile of that time."),
];

/// The table of flows of datagrams.
pub fn datagrams(rows: &[DatagramSummary]) -> Table {
    columns::table(DATAGRAMS, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;

    #[test]
    fn what_does_not_exist_is_no_number() {
        let counts = FlowCounts { sent: 10, lost: 0, network_drops: 3, ..FlowCounts::default() };
        let udp = DatagramSummary { counts, measured_s: 1.0, ..DatagramSummary::default() };
        let call = DatagramSummary { knows_losses: true, has_frames: true, ..udp.clone() };
        let table = datagrams(&[udp, call]);
        let column = |name: &str| match &table.columns.iter().find(|column| column.name == name).unwrap().values {
            Values::Float(values) => values.clone(),
            Values::Count(values) => values.iter().map(|&value| value as f64).collect(),
            _ => panic!("{name} is no number"),
        };
        assert_eq!((column("lost"), column("loss")), (vec![3.0, 0.0], vec![0.3, 0.0]));
        assert_eq!(column("frames"), [UNKNOWN as f64, 0.0]);
        assert!(column("p99_frame_ms")[1].is_nan());
    }
}
