//! The tables of traffic that comes and goes: one row a source, a transfer, a web page, a round of an incast.

use crate::columns::{self, Declared};
use crate::{FlowCounts, Histogram, Table};
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// What a ground knows of a source of traffic when the run is over.
#[derive(Clone, Debug, Default)]
pub struct TrafficSummary {
    /// Number of the source, from 0.
    pub source: u32,
    /// Its name in reports.
    pub label: String,
    /// Its kind.
    pub kind: &'static str,
    /// The algorithm as the experiment file names it.
    pub cc: String,
    /// The exact algorithm and version.
    pub algorithm: String,
    /// Length of the measured interval.
    pub measured_s: f64,
    /// Transfers that began in the measured interval, and in the whole run.
    pub started: (u64, u64),
    /// Transfers that were complete in the measured interval, and in the whole run.
    pub completed: (u64, u64),
    /// The most flows at a time.
    pub max_active: u64,
    /// Counts of the measured interval.
    pub measured: FlowCounts,
    /// Counts of the whole run.
    pub total: FlowCounts,
    /// Bytes (IP length) that left the bottleneck's transmitter in the measured interval.
    pub wire_bytes: u64,
    /// Round-trip times of the measured interval, in microseconds.
    pub rtt: Histogram,
    /// Pages that began in the measured interval and have loaded, and all that have.
    pub pages: (u64, u64),
    /// Load times of the former, in microseconds.
    pub page_loads: Histogram,
    /// Rounds of an incast that began in the measured interval and are complete, and all that are.
    pub rounds: (u64, u64),
    /// Times that the former took, in microseconds.
    pub round_times: Histogram,
}

impl TrafficSummary {
    fn mbps(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e-6 / self.measured_s
    }
}

/// A count of the measured interval and of the whole run.
macro_rules! both {
    ($name:literal, $unit:literal, $meaning:literal, $count:ident) => {
        Declared::both($name, $unit, $meaning, |row| row.measured.$count, |row| row.total.$count)
    };
}

/// A count of the measured interval and of the whole run, which the row has as a pair in one field.
macro_rules! pair {
    ($name:literal, $unit:literal, $meaning:literal, $counts:ident) => {
        Declared::both($name, $unit, $meaning, |row| row.$counts.0, |row| row.$counts.1)
    };
}

/// The columns of the table of sources of traffic.
pub(crate) const TRAFFIC: &[Declared<TrafficSummary>] = &[
    Declared::index("source", "Number of the source of traffic, from 0 in the order of the file.", |t| t.source),
    Declared::text("label", "Name of the source; its kind unless the file gives one.", |t| &t.label),
    Declared::name("kind", "Kind of the traffic.", |t| t.kind),
    Declared::text("cc", "Algorithm as the file names it.", |t| &t.cc),
    Declared::name("algorithm", "Exact name and version of the algorithm.", |t| &t.algorithm),
    pair!("started", "transfers", "Transfers that began in the measured interval.", started),
    pair!("completed", "transfers", "Transfers that were complete in the measured interval.", completed),
    Declared::count("max_active", "flows", "Most flows of the source at a time.", |t| t.max_active),
    Declared::float("goodput_mbps", "Mbit/s", "Payload that the receiving applications got, each byte once.", |t| {
        t.mbps(t.measured.delivered_bytes)
    }),
    Declared::float(
        "throughput_mbps",
        "Mbit/s",
        "IP bytes of all packets to the receiver, duplicates and the handshake's included, that left the route's slowest link.",
        |t| t.mbps(t.wire_bytes),
    ),
    Declared::float("mean_rtt_ms", "ms", "Mean of the round-trip time samples of all its flows.", |t| {
        t.rtt.mean() / 1e3
    }),
    Declared::float("p95_rtt_ms", "ms", "95th percentile of the round-trip time samples.", |t| {
        t.rtt.quantile(0.95) / 1e3
    }),
    both!("sent", "segments", "Data segments sent, retransmissions included.", sent),
    both!("retransmits", "segments", "Segments sent again.", retransmits),
    both!("network_drops", "packets", "Data packets that the network lost or dropped.", network_drops),
    both!("rto_count", "events", "Expiries of the retransmission timers.", rtos),
    both!("delivered_bytes", "bytes", "Payload that the receiving applications got, each byte once.", delivered_bytes),
    pair!("pages", "pages", "Web pages that began in the measured interval and have loaded.", pages),
    Declared::float("mean_plt_s", "s", "Mean time in which these pages loaded; null without any.", |t| {
        t.page_loads.mean() / 1e6
    }),
    Declared::float("p50_plt_s", "s", "Median of the load times of pages.", |t| t.page_loads.quantile(0.5) / 1e6),
    Declared::float("p95_plt_s", "s", "95th percentile of the load times of pages.", |t| {
        t.page_loads.quantile(0.95) / 1e6
    }),
    Declared::float("p99_plt_s", "s", "99th percentile of the load times of pages.", |t| {
        t.page_loads.quantile(0.99) / 1e6
    }),
    pair!("rounds", "rounds", "Rounds of an incast that began in the measured interval and are complete.", rounds),
    Declared::float("mean_qct_s", "s", "Mean query completion time of these rounds; null without any.", |t| {
        t.round_times.mean() / 1e6
    }),
    Declared::float("p50_qct_s", "s", "Median of the query completion times.", |t| t.round_times.quantile(0.5) / 1e6),
    Declared::float("p95_qct_s", "s", "95th percentile of the query completion times.", |t| {
        t.round_times.quantile(0.95) / 1e6
    }),
    Declared::float("p99_qct_s", "s", "99th percentile of the query completion times.", |t| {
        t.round_times.quantile(0.99) / 1e6
    }),
];

/// A transfer that is over, or that the end of the run cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Number of its source.
    pub source: u32,
    /// Its number among those of its source, from 0.
    pub number: u64,
    /// When it began.
    pub start: Time,
    /// Whether that was in the measured interval.
    pub is_measured: bool,
    /// Payload bytes.
    pub bytes: u64,
    /// How long it took; `None` if the run ended before.
    pub took: Option<Duration>,
    /// How long it would take at the full rate of an empty path.
    pub ideal: Duration,
}

/// A web page that has loaded, or that the end of the run cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageLoad {
    /// Number of its source.
    pub source: u32,
    /// Its number among those of its source, from 0.
    pub number: u64,
    /// When it began.
    pub start: Time,
    /// Whether that was in the measured interval.
    pub is_measured: bool,
    /// Objects that its document names.
    pub objects: u32,
    /// Payload that was asked for.
    pub bytes: u64,
    /// How long it took; `None` if the run ended before.
    pub took: Option<Duration>,
}

/// A round of an incast that is complete, or that the end of the run cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Number of its source.
    pub source: u32,
    /// Its number among those of its source, from 0.
    pub number: u64,
    /// When the client asked.
    pub start: Time,
    /// Whether that was in the measured interval.
    pub is_measured: bool,
    /// Payload of all answers.
    pub bytes: u64,
    /// Time until the slowest answer had arrived; `None` if the run ended before.
    pub took: Option<Duration>,
    /// Expiries of the servers' retransmission timers meanwhile.
    pub rtos: u64,
}

/// A row of a source, with the name of that.
pub(crate) struct Of<R> {
    row: R,
    label: Arc<str>,
}

/// The columns of the table of pages.
pub(crate) const PAGES: &[Declared<Of<PageLoad>>] = &[
    Declared::index("source", "Number of the source of traffic.", |p| p.row.source),
    Declared::name("label", "Name of the source.", |p| &p.label),
    Declared::count("number", "", "Number of the page among those of its source, from 0.", |p| p.row.number),
    Declared::float("start_s", "s", "When its first connection attempt began.", |p| p.row.start.as_secs_f64()),
    Declared::index("measured", "1 if it began in the measured interval, otherwise 0.", |p| {
        u32::from(p.row.is_measured)
    }),
    Declared::count("objects", "", "Objects that its document names.", |p| u64::from(p.row.objects)),
    Declared::count("bytes", "bytes", "Payload of the document and of the objects that were asked for.", |p| {
        p.row.bytes
    }),
    Declared::float("plt_s", "s", "Time until everything had arrived; null if the run ended before.", |p| {
        p.row.took.map_or(f64::NAN, Duration::as_secs_f64)
    }),
];

/// The columns of the table of rounds.
pub(crate) const ROUNDS: &[Declared<Of<Round>>] = &[
    Declared::index("source", "Number of the source of traffic.", |r| r.row.source),
    Declared::name("label", "Name of the source.", |r| &r.label),
    Declared::count("number", "", "Number of the round among those of its source, from 0.", |r| r.row.number),
    Declared::float("start_s", "s", "When the client asked all servers.", |r| r.row.start.as_secs_f64()),
    Declared::index("measured", "1 if that was in the measured interval, otherwise 0.", |r| {
        u32::from(r.row.is_measured)
    }),
    Declared::count("bytes", "bytes", "Payload of the answers of all servers.", |r| r.row.bytes),
    Declared::float(
        "qct_s",
        "s",
        "Query completion time: until the slowest answer had arrived; null if the run ended before.",
        |r| r.row.took.map_or(f64::NAN, Duration::as_secs_f64),
    ),
    Declared::count("rto_count", "events", "Expiries of the servers' retransmission timers meanwhile.", |r| r.row.rtos),
];

impl Of<Completion> {
    fn took_s(&self) -> f64 {
        self.row.took.map_or(f64::NAN, Duration::as_secs_f64)
    }
}

/// The columns of the table of transfers.
pub(crate) const COMPLETIONS: &[Declared<Of<Completion>>] = &[
    Declared::index("source", "Number of the source of traffic.", |c| c.row.source),
    Declared::name("label", "Name of the source.", |c| &c.label),
    Declared::count("number", "", "Number of the transfer among those of its source, from 0.", |c| c.row.number),
    Declared::float(
        "start_s",
        "s",
        "When it began: the connection attempt of a short flow, the request of a user.",
        |c| c.row.start.as_secs_f64(),
    ),
    Declared::index("measured", "1 if it began in the measured interval, otherwise 0.", |c| {
        u32::from(c.row.is_measured)
    }),
    Declared::count("bytes", "bytes", "Payload to transfer.", |c| c.row.bytes),
    Declared::float(
        "fct_s",
        "s",
        "Time from its beginning until the receiving application had all of it; null if the run ended before.",
        Of::<Completion>::took_s,
    ),
    Declared::float("ideal_s", "s", "One base round trip, and the payload at the rate of the slowest link.", |c| {
        c.row.ideal.as_secs_f64()
    }),
    Declared::float("slowdown", "", "`fct_s` over `ideal_s`.", |c| c.took_s() / c.row.ideal.as_secs_f64()),
];

/// The table of sources of traffic.
pub fn traffic(rows: &[TrafficSummary]) -> Table {
    columns::table(TRAFFIC, rows)
}

/// The table of transfers in the order of their beginning. `sources` are the rows of their sources.
pub fn completions(mut rows: Vec<Completion>, sources: &[TrafficSummary]) -> Table {
    rows.sort_by_key(|row| (row.start, row.source, row.number));
    columns::table(COMPLETIONS, named(rows, |row| row.source, sources))
}

/// The table of web pages in the order of their beginning. `sources` are the rows of their sources.
pub fn pages(mut rows: Vec<PageLoad>, sources: &[TrafficSummary]) -> Table {
    rows.sort_by_key(|row| (row.start, row.source, row.number));
    columns::table(PAGES, named(rows, |row| row.source, sources))
}

/// The table of rounds in the order of their beginning. `sources` are the rows of their sources.
pub fn rounds(mut rows: Vec<Round>, sources: &[TrafficSummary]) -> Table {
    rows.sort_by_key(|row| (row.start, row.source, row.number));
    columns::table(ROUNDS, named(rows, |row| row.source, sources))
}

fn named<R>(rows: Vec<R>, source: impl Fn(&R) -> u32, sources: &[TrafficSummary]) -> impl Iterator<Item = Of<R>> {
    let labels: Vec<Arc<str>> = sources.iter().map(|source| source.label.as_str().into()).collect();
    let label = move |row: &R| labels.get(source(row) as usize).cloned().unwrap_or_default();
    rows.into_iter().map(move |row| Of { label: label(&row), row })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Values;

    fn transfer(source: u32, number: u64, start_ms: u64, took_ms: Option<u64>) -> Completion {
        let start = Time::ZERO + Duration::from_millis(start_ms);
        let took = took_ms.map(Duration::from_millis);
        Completion { source, number, start, is_measured: true, bytes: 1_000, took, ideal: Duration::from_millis(10) }
    }

    #[test]
    fn transfers_stand_in_the_order_of_their_beginning_and_unfinished_ones_took_no_time() {
        let sources = ["web", "mail"].map(|label| TrafficSummary { label: label.to_owned(), ..Default::default() });
        let rows = vec![transfer(1, 0, 7, Some(20)), transfer(0, 1, 9, None), transfer(0, 0, 7, Some(25))];
        let table = completions(rows, &sources);
        let column = |name: &str| &table.columns.iter().find(|column| column.name == name).unwrap().values;
        assert_eq!(column("label"), &Values::Name(["web", "mail", "web"].into_iter().collect()));
        let Values::Float(slowdown) = column("slowdown") else { panic!("a number") };
        assert_eq!(slowdown[..2], [2.5, 2.0]);
        assert!(slowdown[2].is_nan());
    }
}
