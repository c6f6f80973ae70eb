//! Time series, sampled at a fixed interval into columns.
//!
//! The recorder only looks: a run gives the same bytes in its summary tables whether it records or not.

use crate::flow::{Flow, Phase};
use crate::packet::Packet;
use crate::table::{Column, Table, Values};
use dumbbell_cc::{CaState, Connection};
use dumbbell_path::Link;
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};
use std::mem::{replace, take};

const FLOW_COLUMNS: [&str; 16] = [
    "cwnd",
    "ssthresh",
    "inflight",
    "pacing_mbps",
    "srtt_ms",
    "rtt_ms",
    "min_rtt_ms",
    "delivery_mbps",
    "goodput_mbps",
    "throughput_mbps",
    "acked_total",
    "sent_total",
    "lost_total",
    "retransmits_total",
    "sacked",
    "packets_out",
];
const LINK_COLUMNS: [&str; 5] = ["queue_bytes", "queue_packets", "utilization", "drops_total", "losses_total"];

/// Samples of one kind of row, column by column.
struct Samples {
    time_s: Vec<f64>,
    index: Vec<u32>,
    columns: Vec<Vec<f64>>,
}

impl Samples {
    fn new(columns: usize) -> Samples {
        Samples { time_s: Vec::new(), index: Vec::new(), columns: vec![Vec::new(); columns] }
    }

    /// All samples; none are left.
    fn take(&mut self) -> Samples {
        let columns = self.columns.len();
        replace(self, Samples::new(columns))
    }

    /// Bytes of memory held in columns of numbers, and of `others` bytes a row beside them.
    fn memory(&self, others: usize) -> u64 {
        let row = size_of::<f64>() * (1 + self.columns.len()) + size_of::<u32>() + others;
        self.time_s.capacity() as u64 * row as u64
    }

    fn into_columns<'n>(self, index_name: &str, names: impl Iterator<Item = &'n str>) -> Vec<Column> {
        let mut columns = vec![
            Column { name: "t_s".to_owned(), values: Values::Float(self.time_s) },
            Column { name: index_name.to_owned(), values: Values::Index(self.index) },
        ];
        columns.extend(
            names
                .zip(self.columns)
                .map(|(name, values)| Column { name: name.to_owned(), values: Values::Float(values) }),
        );
        columns
    }
}

/// Records the series of a run. What has been recorded is [taken](Recorder::take) from time to time.
pub(crate) struct Recorder {
    interval: Option<Duration>,
    samples: u64,
    flows: Samples,
    states: Vec<&'static str>,
    modes: Vec<&'static str>,
    /// Names of all values any controller of the run observes, and for each flow where its own go.
    observables: Vec<&'static str>,
    placement: Vec<Vec<usize>>,
    scratch: Vec<f64>,
    links: Samples,
    departed: Vec<u64>,
}

impl Recorder {
    pub fn new(scenario: &Scenario, flows: &[Flow]) -> Recorder {
        let record = &scenario.record;
        let mut observables = Vec::new();
        let mut placement = Vec::new();
        for flow in flows {
            let names = flow.ends.controller().observables();
            let places = names.iter().map(|name| {
                observables.iter().position(|known| known == name).unwrap_or_else(|| {
                    observables.push(*name);
                    observables.len() - 1
                })
            });
            placement.push(places.collect());
        }
        Recorder {
            interval: (record.series && record.interval > Duration::ZERO).then_some(record.interval),
            samples: 0,
            flows: Samples::new(FLOW_COLUMNS.len() + observables.len()),
            states: Vec::new(),
            modes: Vec::new(),
            scratch: vec![0.0; observables.len()],
            observables,
            placement,
            links: Samples::new(LINK_COLUMNS.len()),
            departed: vec![0; scenario.links.len()],
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

    /// Bytes of memory that the samples hold which have not been taken.
    pub fn memory(&self) -> u64 {
        self.flows.memory(2 * size_of::<&str>()) + self.links.memory(0)
    }

    pub fn sample(&mut self, now: Time, flows: &mut [Flow], links: &mut [Link<Packet>]) {
        let Some(interval) = self.interval else { return };
        self.samples += 1;
        let per_interval_mbps = 8e-6 / interval.as_secs_f64();
        for (index, flow) in flows.iter_mut().enumerate() {
            if matches!(flow.phase, Phase::Waiting | Phase::Connecting { .. }) {
                continue;
            }
            self.sample_flow(now, index, flow, per_interval_mbps);
        }
        for (index, link) in links.iter_mut().enumerate() {
            let backlog = link.backlog(now);
            let counters = link.counters(now);
            let capacity = link.capacity_bits(Time::ZERO + now.since(Time::ZERO + interval), now);
            let departed_bits = (counters.departures.bytes - self.departed[index]) as f64 * 8.0;
            let utilization = match capacity {
                Some(bits) if bits > 0 => departed_bits / bits as f64,
                _ => f64::NAN,
            };
            self.departed[index] = counters.departures.bytes;
            let values = [
                backlog.bytes as f64,
                backlog.packets as f64,
                utilization,
                counters.queue_drops().packets as f64,
                (counters.lost_before.packets + counters.lost_after.packets) as f64,
            ];
            self.links.time_s.push(now.as_secs_f64());
            self.links.index.push(index as u32);
            for (column, value) in self.links.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
    }

    fn sample_flow(&mut self, now: Time, index: usize, flow: &mut Flow, per_interval_mbps: f64) {
        let connection = flow.ends.connection();
        let stats = flow.ends.sender_stats();
        let received = flow.ends.receiver_stats();
        let sample = flow.ends.last_sample();
        let mss_bits = f64::from(connection.mss) * 8.0;
        let known = |present: bool, value: f64| if present { value } else { f64::NAN };
        let arrived_bytes = received.arrived_bytes;
        let (last_delivered, last_arrived) = flow.last_sample;
        let values: [f64; FLOW_COLUMNS.len()] = [
            f64::from(connection.cwnd),
            known(connection.ssthresh < Connection::INFINITE_SSTHRESH, f64::from(connection.ssthresh)),
            f64::from(connection.in_flight()),
            connection.pacing_rate as f64 * 8e-6,
            f64::from(connection.srtt_us_x8) / 8e3,
            known(sample.rtt_us >= 0, sample.rtt_us as f64 / 1e3),
            known(connection.min_rtt_us != Connection::UNKNOWN_RTT, f64::from(connection.min_rtt_us) / 1e3),
            known(
                sample.delivered >= 0 && sample.interval_us > 0,
                f64::from(sample.delivered) * mss_bits / sample.interval_us as f64,
            ),
            (received.delivered_bytes - last_delivered) as f64 * per_interval_mbps,
            (arrived_bytes - last_arrived) as f64 * per_interval_mbps,
            connection.delivered as f64,
            stats.sent_segments as f64,
            connection.lost as f64,
            stats.retransmitted_segments as f64,
            f64::from(connection.sacked_out),
            f64::from(connection.packets_out),
        ];
        flow.last_sample = (received.delivered_bytes, arrived_bytes);
        self.flows.time_s.push(now.as_secs_f64());
        self.flows.index.push(index as u32);
        for (column, value) in self.flows.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.states.push(state_name(connection.ca_state));
        let controller = flow.ends.controller();
        self.modes.push(controller.mode());
        let places = &self.placement[index];
        controller.observe(connection, &mut self.scratch[..places.len()]);
        let observed = &mut self.flows.columns[FLOW_COLUMNS.len()..];
        for column in observed.iter_mut() {
            column.push(f64::NAN);
        }
        for (&place, &value) in places.iter().zip(&self.scratch) {
            if let Some(last) = observed[place].last_mut() {
                *last = value;
            }
        }
    }

    /// The series of the flows and of the links since they were taken last.
    pub fn take(&mut self) -> (Table, Table) {
        let observed: Vec<String> = self.observables.iter().map(|name| format!("cc_{name}")).collect();
        let names = FLOW_COLUMNS.into_iter().chain(observed.iter().map(String::as_str));
        let mut flows = self.flows.take().into_columns("flow", names);
        flows.push(Column { name: "ca_state".to_owned(), values: Values::Name(take(&mut self.states)) });
        flows.push(Column { name: "mode".to_owned(), values: Values::Name(take(&mut self.modes)) });
        let links = self.links.take().into_columns("link", LINK_COLUMNS.into_iter());
        (Table { columns: flows }, Table { columns: links })
    }
}

fn state_name(state: CaState) -> &'static str {
    match state {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}
