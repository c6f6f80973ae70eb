//! Time series, sampled at a fixed interval into columns.
//!
//! The recorder only looks: a run gives the same bytes in its summary tables whether it records or not.

use crate::flow::{Flow, Phase};
use crate::packet::Packet;
use crate::table::{Column, Table, Values};
use dumbbell_cc::{CaState, Control, View};
use dumbbell_path::Link;
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};

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

/// Records the series of a run.
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
        let view = flow.ends.view();
        let control = flow.ends.control();
        let stats = flow.ends.sender_stats();
        let received = flow.ends.receiver_stats();
        let sample = flow.ends.last_sample();
        let mss_bits = f64::from(view.mss) * 8.0;
        let known = |present: bool, value: f64| if present { value } else { f64::NAN };
        let arrived_bytes = received.arrived_bytes;
        let (last_delivered, last_arrived) = flow.last_sample;
        let values: [f64; FLOW_COLUMNS.len()] = [
            f64::from(control.cwnd),
            known(control.ssthresh < Control::INFINITE_SSTHRESH, f64::from(control.ssthresh)),
            f64::from(view.in_flight()),
            control.pacing_rate as f64 * 8e-6,
            f64::from(view.srtt_us_x8) / 8e3,
            known(sample.rtt_us >= 0, sample.rtt_us as f64 / 1e3),
            known(view.min_rtt_us != View::UNKNOWN_RTT, f64::from(view.min_rtt_us) / 1e3),
            known(
                sample.delivered >= 0 && sample.interval_us > 0,
                f64::from(sample.delivered) * mss_bits / sample.interval_us as f64,
            ),
            (received.delivered_bytes - last_delivered) as f64 * per_interval_mbps,
            (arrived_bytes - last_arrived) as f64 * per_interval_mbps,
            view.delivered as f64,
            stats.sent_segments as f64,
            view.lost as f64,
            stats.retransmitted_segments as f64,
            f64::from(view.sacked_out),
            f64::from(view.packets_out),
        ];
        flow.last_sample = (received.delivered_bytes, arrived_bytes);
        self.flows.time_s.push(now.as_secs_f64());
        self.flows.index.push(index as u32);
        for (column, value) in self.flows.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.states.push(state_name(view.ca_state));
        let controller = flow.ends.controller();
        self.modes.push(controller.mode());
        let places = &self.placement[index];
        controller.observe(view, control, &mut self.scratch[..places.len()]);
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

    /// The series of the flows and of the links.
    pub fn finish(self) -> (Table, Table) {
        let observed: Vec<String> = self.observables.iter().map(|name| format!("cc_{name}")).collect();
        let names = FLOW_COLUMNS.into_iter().chain(observed.iter().map(String::as_str));
        let mut flows = self.flows.into_columns("flow", names);
        flows.push(Column { name: "ca_state".to_owned(), values: Values::Name(self.states) });
        flows.push(Column { name: "mode".to_owned(), values: Values::Name(self.modes) });
        let links = self.links.into_columns("link", LINK_COLUMNS.into_iter());
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
