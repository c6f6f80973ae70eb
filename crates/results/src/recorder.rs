//! Time series, sampled at a fixed interval into columns.
//!
//! The recorder only looks: a run gives the same bytes in its summary tables whether it records or not.

#[cfg(test)]
use crate::Names;
use crate::columns::{Declared, each, simulated};
use crate::{Column, Table, Values};
use dumbbell_units::{Duration, Time};
use std::mem::replace;
use std::sync::Arc;

/// A flow at one instant. Windows and counts are in packets.
#[derive(Clone, Debug, Default)]
pub struct FlowSample {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold, if there is one.
    pub ssthresh: Option<u32>,
    /// Packets in flight.
    pub inflight: u32,
    /// Bytes per second.
    pub pacing_rate: u64,
    /// Eight times the smoothed round-trip time in microseconds, as the kernel holds it.
    pub srtt_us_x8: u32,
    /// Round-trip time of the latest acknowledgement in microseconds, if it gave one.
    pub rtt_us: Option<i64>,
    /// Windowed minimum of the round-trip time in microseconds, if there is one.
    pub min_rtt_us: Option<u32>,
    /// Latest sample of the delivery rate in Mbit/s, if there is one.
    pub delivery_mbps: Option<f64>,
    /// Bytes that the receiving application got since the sample before.
    pub goodput_bytes: u64,
    /// IP bytes of data packets, duplicates included, that arrived at the receiver since the sample before.
    pub received_bytes: u64,
    /// Mbit/s of a byte in every interval between samples.
    pub mbps_per_byte: f64,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Data packets sent so far.
    pub sent: u64,
    /// Packets declared lost so far, if the ground can tell.
    pub lost: Option<u64>,
    /// Packets sent again so far.
    pub retransmits: u64,
    /// Packets selectively acknowledged and not yet acknowledged.
    pub sacked_out: u32,
    /// Packets sent and not yet acknowledged.
    pub packets_out: u32,
    /// The sender's state: `open`, `disorder`, `cwr`, `recovery` or `loss`.
    pub ca_state: &'static str,
    /// The controller's phase, empty for controllers without phases.
    pub mode: &'static str,
    /// What keeps the sender from sending more.
    pub limited_by: &'static str,
    /// Nobody can look into the sender: only what arrived is known.
    pub is_opaque: bool,
}

impl FlowSample {
    /// What the sender says; NaN where nobody can look into it.
    fn told(&self, value: f64) -> f64 {
        if self.is_opaque { f64::NAN } else { value }
    }
}

/// A link at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkSample {
    /// Bytes that wait.
    pub queue_bytes: u64,
    /// Packets that wait.
    pub queue_packets: u64,
    /// Bits that left since the sample before.
    pub departed_bits: f64,
    /// Bits that could have left; `None` for an unlimited rate.
    pub capacity_bits: Option<u64>,
    /// Packets dropped so far by the queue and the policer in front of it.
    pub drops: u64,
    /// Packets lost at random so far.
    pub losses: u64,
}

/// When something was sampled, which flow or link it was, and what was seen.
pub(crate) struct Row<S> {
    t_s: f64,
    index: u32,
    sample: S,
}

/// NaN for a number that there is not.
fn known<T>(value: Option<T>, convert: fn(T) -> f64) -> f64 {
    value.map_or(f64::NAN, convert)
}

/// The columns of the series of flows, before the values that controllers let be observed.
pub(crate) const FLOW_SERIES: &[Declared<Row<FlowSample>>] = &[
    Declared::floats("t_s", "s", "Instant of the sample.", each!(|r| r.t_s)),
    Declared::index("flow", "Number of the flow.", |r| r.index),
    Declared::floats("cwnd", "packets", "Congestion window.", each!(|r| r.sample.told(f64::from(r.sample.cwnd)))),
    Declared::floats(
        "ssthresh",
        "packets",
        "Slow-start threshold; null before the first reduction.",
        each!(|r| { known(r.sample.ssthresh, f64::from) }),
    ),
    Declared::floats(
        "inflight",
        "packets",
        "Packets in flight as the sender counts them.",
        each!(|r| { r.sample.told(f64::from(r.sample.inflight)) }),
    ),
    Declared::floats(
        "pacing_mbps",
        "Mbit/s",
        "Rate at which the sender may transmit.",
        each!(|r| { r.sample.told(r.sample.pacing_rate as f64 * 8e-6) }),
    ),
    Declared::floats(
        "srtt_ms",
        "ms",
        "Smoothed round-trip time.",
        each!(|r| r.sample.told(f64::from(r.sample.srtt_us_x8) / 8e3)),
    ),
    simulated(Declared::floats(
        "rtt_ms",
        "ms",
        "Round-trip time of the latest acknowledgement; null if it gave none.",
        each!(|r| known(r.sample.rtt_us, |us| us as f64 / 1e3)),
    )),
    Declared::floats(
        "min_rtt_ms",
        "ms",
        "The sender's windowed minimum of the round-trip time.",
        each!(|r| { known(r.sample.min_rtt_us, |us| f64::from(us) / 1e3) }),
    ),
    Declared::floats(
        "delivery_mbps",
        "Mbit/s",
        "Latest sample of the delivery rate; null if there is none.",
        each!(|r| { known(r.sample.delivery_mbps, |mbps| mbps) }),
    ),
    Declared::floats(
        "goodput_mbps",
        "Mbit/s",
        "Payload that the application got since the sample before.",
        each!(|r| { r.sample.goodput_bytes as f64 * r.sample.mbps_per_byte }),
    ),
    Declared::floats(
        "received_mbps",
        "Mbit/s",
        "IP bytes of data packets, duplicates included, that arrived at the receiver since the sample before.",
        each!(|r| r.sample.received_bytes as f64 * r.sample.mbps_per_byte),
    ),
    Declared::floats(
        "acked_total",
        "packets",
        "Packets delivered so far, each counted once.",
        each!(|r| { r.sample.told(r.sample.delivered as f64) }),
    ),
    Declared::floats(
        "sent_total",
        "packets",
        "Data packets sent so far.",
        each!(|r| r.sample.told(r.sample.sent as f64)),
    ),
    simulated(Declared::floats(
        "lost_total",
        "packets",
        "Packets declared lost so far.",
        each!(|r| { known(r.sample.lost, |lost| lost as f64) }),
    )),
    Declared::floats(
        "retransmits_total",
        "packets",
        "Packets sent again so far.",
        each!(|r| r.sample.told(r.sample.retransmits as f64)),
    ),
    Declared::floats(
        "sacked",
        "packets",
        "Packets selectively acknowledged (`sacked_out`).",
        each!(|r| { r.sample.told(f64::from(r.sample.sacked_out)) }),
    ),
    Declared::floats(
        "packets_out",
        "packets",
        "Packets sent and not cumulatively acknowledged.",
        each!(|r| { r.sample.told(f64::from(r.sample.packets_out)) }),
    ),
];

/// The columns of the series of flows behind those values.
pub(crate) const FLOW_STATES: &[Declared<Row<FlowSample>>] = &[
    Declared::name("ca_state", "State of the sender: open, disorder, cwr, recovery or loss.", |r| r.sample.ca_state),
    Declared::name("mode", "Phase of the controller; empty for controllers without phases.", |r| r.sample.mode),
    Declared::name(
        "limited_by",
        "What keeps the sender from sending more: application, send_buffer, nagle, receive_window, host_queue, timeout, \
         recovery, probe_rtt, slow_start, cwnd, pacing, or link, if a link on the way is full.",
        |r| r.sample.limited_by,
    ),
];

/// What a value is that a controller lets be observed.
const OBSERVED: &str = "Value of the controller's own; its unit is part of its name.";

/// The columns of the series of links.
pub(crate) const LINK_SERIES: &[Declared<Row<LinkSample>>] = &[
    Declared::floats("t_s", "s", "Instant of the sample.", each!(|r| r.t_s)),
    Declared::index("link", "Number of the link.", |r| r.index),
    Declared::floats(
        "queue_bytes",
        "bytes",
        "Bytes waiting; the packet in transmission does not count.",
        each!(|r| { r.sample.queue_bytes as f64 }),
    ),
    Declared::floats("queue_packets", "packets", "Packets waiting.", each!(|r| r.sample.queue_packets as f64)),
    Declared::floats(
        "utilization",
        "share",
        "Bits that left over those that could have since the sample before.",
        each!(|r| match r.sample.capacity_bits {
            Some(bits) if bits > 0 => r.sample.departed_bits / bits as f64,
            _ => f64::NAN,
        }),
    ),
    Declared::floats(
        "drops_total",
        "packets",
        "Packets dropped so far by the queue and its policer.",
        each!(|r| { r.sample.drops as f64 }),
    ),
    Declared::floats("losses_total", "packets", "Packets lost at random so far.", each!(|r| r.sample.losses as f64)),
];

/// So many rows are made into columns at a time: what they take stays in the processor's cache meanwhile.
const CHUNK: usize = 64;

/// Rows of one kind: the latest as they came, those before column by column.
struct Rows<S: 'static> {
    latest: Vec<Row<S>>,
    columns: Vec<(&'static Declared<Row<S>>, Values)>,
}

impl<S> Rows<S> {
    /// Rows for these columns.
    fn new(declared: impl IntoIterator<Item = &'static Declared<Row<S>>>) -> Rows<S> {
        let columns = declared.into_iter().map(|column| (column, column.none())).collect();
        Rows { latest: Vec::new(), columns }
    }

    /// Adds a row; whether it is time to [settle](Rows::settle) them.
    #[inline]
    fn append(&mut self, row: Row<S>) -> bool {
        self.latest.push(row);
        self.latest.len() >= CHUNK
    }

    /// Makes the latest rows part of the columns.
    fn settle(&mut self) {
        for (declared, values) in &mut self.columns {
            declared.extend(&self.latest, values);
        }
        self.latest.clear();
    }

    /// All rows; none are left.
    fn take(&mut self) -> impl Iterator<Item = Column> {
        self.settle();
        self.columns.iter_mut().map(|(declared, values)| declared.with(replace(values, declared.none())))
    }

    fn memory(&self) -> u64 {
        let columns: u64 = self.columns.iter().map(|(_, values)| values.memory()).sum();
        columns + (self.latest.len() * size_of::<Row<S>>()) as u64
    }
}

/// The values that controllers let be observed: a column for every name that any controller of the run has.
#[derive(Default)]
struct Observed {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// For each flow where its own values go.
    places: Vec<Arc<[usize]>>,
    /// Every flow has a value for every column, in their order.
    are_alike: bool,
    scratch: Vec<f64>,
    /// Room for [`CHUNK`] rows, one behind the other, and how many there are.
    latest: Vec<f64>,
    rows: usize,
}

impl Observed {
    fn new<N: AsRef<str>>(flows: impl Iterator<Item = Vec<N>>) -> Observed {
        let mut observed = Observed { places: Vec::with_capacity(flows.size_hint().0), ..Observed::default() };
        for names in flows {
            let places = match observed.places.last() {
                Some(latest) if observed.are_at(latest, &names) => latest.clone(),
                _ => names.iter().map(|name| observed.place(name.as_ref())).collect(),
            };
            observed.places.push(places);
        }
        observed.are_alike = observed.places.iter().all(|places| places.iter().copied().eq(0..observed.names.len()));
        observed.columns = vec![Vec::new(); observed.names.len()];
        observed.scratch = vec![0.0; observed.names.len()];
        observed.latest = vec![0.0; CHUNK * observed.names.len()];
        observed
    }

    /// Whether the columns of these names are at those `places`.
    fn are_at<N: AsRef<str>>(&self, places: &[usize], names: &[N]) -> bool {
        places.iter().map(|&place| self.names[place].as_str()).eq(names.iter().map(AsRef::as_ref))
    }

    fn place(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Appends a row; `observe` writes the values of `flow` in the order of their names.
    #[inline]
    fn append(&mut self, flow: usize, observe: impl FnOnce(&mut [f64])) {
        let (places, width) = (&self.places[flow], self.names.len());
        let row = &mut self.latest[self.rows * width..][..width];
        self.rows += 1;
        if self.are_alike {
            return observe(row);
        }
        row.fill(f64::NAN);
        observe(&mut self.scratch[..places.len()]);
        for (&place, &value) in places.iter().zip(&self.scratch) {
            row[place] = value;
        }
    }

    /// Makes the latest rows part of the columns.
    fn settle(&mut self) {
        let width = self.names.len();
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.extend(self.latest.chunks_exact(width).take(self.rows).map(|row| row[place]));
        }
        self.rows = 0;
    }

    /// All rows; none are left.
    fn take(&mut self) -> impl Iterator<Item = Column> {
        self.settle();
        self.names.iter().zip(&mut self.columns).map(|(name, values)| Column {
            name: format!("cc_{name}"),
            unit: "",
            meaning: OBSERVED,
            values: Values::Float(std::mem::take(values)),
        })
    }

    fn memory(&self) -> u64 {
        let numbers = self.rows * self.names.len() + self.columns.iter().map(Vec::capacity).sum::<usize>();
        (numbers * size_of::<f64>()) as u64
    }
}

/// Records the series of a run. What has been recorded is [taken](Recorder::take) from time to time.
pub struct Recorder {
    interval: Option<Duration>,
    samples: u64,
    flows: Rows<FlowSample>,
    observed: Observed,
    links: Rows<LinkSample>,
}

impl Recorder {
    /// A recorder that wants a sample every `interval`; none where that is `None` or zero. `observables` gives for each
    /// flow the names of the values that its controller lets be observed.
    pub fn new<N: AsRef<str>>(interval: Option<Duration>, observables: impl Iterator<Item = Vec<N>>) -> Recorder {
        Recorder {
            interval: interval.filter(|interval| *interval > Duration::ZERO),
            samples: 0,
            flows: Rows::new(FLOW_SERIES.iter().chain(FLOW_STATES)),
            observed: Observed::new(observables),
            links: Rows::new(LINK_SERIES),
        }
    }

    /// When the next sample is due; [`Time::NEVER`] without recording or after `end`.
    pub fn next(&self, end: Time) -> Time {
        match self.interval {
            Some(interval) => {
                let due = Time::ZERO + interval * (self.samples + 1);
                if due <= end { due } else { Time::NEVER }
            }
            None => Time::NEVER,
        }
    }

    /// Begins the sample that is due; its spacing, or `None` where nothing is recorded.
    pub fn begin(&mut self) -> Option<Duration> {
        self.samples += u64::from(self.interval.is_some());
        self.interval
    }

    /// Adds a flow to the sample. `observe` writes the values of its controller, in the order of their names.
    #[inline]
    pub fn flow(&mut self, now: Time, index: usize, sample: FlowSample, observe: impl FnOnce(&mut [f64])) {
        self.observed.append(index, observe);
        if self.flows.append(row(now, index, sample)) {
            self.flows.settle();
            self.observed.settle();
        }
    }

    /// Adds a link to the sample.
    pub fn link(&mut self, now: Time, index: usize, sample: LinkSample) {
        if self.links.append(row(now, index, sample)) {
            self.links.settle();
        }
    }

    /// Bytes of memory that the samples hold which have not been taken.
    pub fn memory(&self) -> u64 {
        self.flows.memory() + self.observed.memory() + self.links.memory()
    }

    /// The series of the flows and of the links since they were taken last.
    pub fn take(&mut self) -> (Table, Table) {
        let mut columns: Vec<_> = self.flows.take().collect();
        let states = columns.split_off(FLOW_SERIES.len());
        columns.extend(self.observed.take());
        columns.extend(states);
        (Table { columns }, Table { columns: self.links.take().collect() })
    }
}

#[inline]
fn row<S>(now: Time, index: usize, sample: S) -> Row<S> {
    Row { t_s: now.as_secs_f64(), index: u32::try_from(index).unwrap_or(u32::MAX), sample }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(observables: &[&[&str]]) -> Recorder {
        Recorder::new(Some(Duration::from_millis(10)), observables.iter().map(|names| names.to_vec()))
    }

    fn column<'t>(table: &'t Table, name: &str) -> &'t Values {
        &table.columns.iter().find(|column| column.name == name).unwrap().values
    }

    #[test]
    fn samples_are_due_at_multiples_of_the_interval_up_to_the_end() {
        let mut recorder = recorder(&[]);
        let end = Time::ZERO + Duration::from_millis(20);
        let mut due = Vec::new();
        while recorder.next(end) != Time::NEVER {
            due.push(recorder.next(end).as_nanos() / 1_000_000);
            recorder.begin();
        }
        assert_eq!(due, [10, 20]);
        assert_eq!(Recorder::new(None, std::iter::empty::<Vec<&str>>()).next(end), Time::NEVER);
    }

    #[test]
    fn flows_whose_controllers_observe_other_values_share_columns_by_name() {
        let mut recorder = recorder(&[&["bw_mbps", "round"], &["round"]]);
        let sample = FlowSample { ca_state: "open", ..FlowSample::default() };
        recorder.begin();
        recorder.flow(Time::ZERO, 0, sample.clone(), |values| values.copy_from_slice(&[5.0, 1.0]));
        recorder.flow(Time::ZERO, 1, sample, |values| values.copy_from_slice(&[7.0]));
        let (flows, _) = recorder.take();
        let Values::Float(bandwidth) = column(&flows, "cc_bw_mbps") else { panic!("a number") };
        assert!(bandwidth[0] == 5.0 && bandwidth[1].is_nan());
        assert_eq!(column(&flows, "cc_round"), &Values::Float(vec![1.0, 7.0]));
        assert_eq!(column(&flows, "ca_state"), &Values::Name(["open", "open"].into_iter().collect::<Names>()));
    }

    #[test]
    fn rows_keep_their_order_when_they_are_taken_between_two_of_any_number() {
        let mut recorder = recorder(&[&["bw_mbps", "round"], &["round"]]);
        let number = |row: u32| f64::from(row);
        let mut next = 0;
        for rows in [1, 63, 64, 65, 200, 0] {
            let wanted: Vec<_> = (next..next + rows).collect();
            for &row in &wanted {
                let sample =
                    FlowSample { cwnd: row, mode: ["drain", "startup"][row as usize / 3 % 2], ..FlowSample::default() };
                let observed = [number(row) / 2.0, -number(row)];
                let flow = row as usize % 2;
                recorder.flow(Time::ZERO, flow, sample, |values| values.copy_from_slice(&observed[flow..]));
                recorder.link(Time::ZERO, 0, LinkSample { drops: u64::from(row), ..LinkSample::default() });
            }
            next += rows;
            let (flows, links) = recorder.take();
            let floats = |of: &dyn Fn(u32) -> f64| Values::Float(wanted.iter().map(|&row| of(row)).collect());
            assert_eq!(column(&flows, "cwnd"), &floats(&number));
            assert_eq!(column(&flows, "cc_round"), &floats(&|row| -number(row)));
            assert_eq!(column(&links, "drops_total"), &floats(&number));
            let Values::Float(bandwidth) = column(&flows, "cc_bw_mbps") else { panic!("a number") };
            assert!(bandwidth.iter().zip(&wanted).all(|(&value, &row)| match row % 2 {
                0 => value == number(row) / 2.0,
                _ => value.is_nan(),
            }));
            let Values::Name(modes) = column(&flows, "mode") else { panic!("names") };
            assert!(modes.iter().eq(wanted.iter().map(|&row| ["drain", "startup"][row as usize / 3 % 2])));
            assert!(flows.columns.iter().all(|column| column.values.len() == wanted.len()));
        }
    }

    #[test]
    fn the_memory_of_samples_grows_with_them_until_they_are_taken() {
        let mut recorder = recorder(&[&["bw_mbps"]]);
        assert_eq!(recorder.memory(), 0);
        for _ in 0..64 {
            recorder.flow(Time::ZERO, 0, FlowSample::default(), |_| {});
        }
        // A flow: 17 numbers and one of its controller's own, its index, and three names.
        assert_eq!(recorder.memory(), 64 * (18 * 8 + 4 + 3 * 4));
        for _ in 0..64 {
            recorder.link(Time::ZERO, 0, LinkSample::default());
        }
        assert_eq!(recorder.memory(), 64 * (18 * 8 + 4 + 3 * 4) + 64 * (6 * 8 + 4));
        recorder.take();
        assert_eq!(recorder.memory(), 0);
    }

    #[test]
    fn of_a_sender_that_nobody_looks_into_only_arrivals_are_numbers() {
        let mut recorder = recorder(&[&[]]);
        let sample = FlowSample { is_opaque: true, goodput_bytes: 3, mbps_per_byte: 2.0, ..FlowSample::default() };
        recorder.flow(Time::ZERO, 0, sample, |_| {});
        let (flows, _) = recorder.take();
        let numbers = flows.columns.iter().filter_map(|column| match &column.values {
            Values::Float(values) => Some((column.name.as_str(), values[0])),
            _ => None,
        });
        let known: Vec<_> = numbers.filter(|(_, value)| !value.is_nan()).collect();
        assert_eq!(known, [("t_s", 0.0), ("goodput_mbps", 6.0), ("received_mbps", 0.0)]);
    }

    #[test]
    fn what_is_unknown_is_no_number() {
        let mut recorder = recorder(&[&[]]);
        recorder.flow(Time::ZERO, 0, FlowSample::default(), |_| {});
        recorder.link(Time::ZERO, 0, LinkSample::default());
        let (flows, links) = recorder.take();
        for (table, name) in [(&flows, "ssthresh"), (&flows, "rtt_ms"), (&flows, "min_rtt_ms"), (&links, "utilization")]
        {
            let Values::Float(values) = column(table, name) else { panic!("a number") };
            assert!(values[0].is_nan(), "{name}");
        }
    }
}
