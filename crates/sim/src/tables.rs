//! The summary tables: one row a flow, one row a link.

use crate::flow::{Counts, Flow};
use crate::packet::Packet;
use crate::table::{Column, Table, Values};
use dumbbell_path::{Link, LinkCounters};
use dumbbell_scenario::Scenario;
use dumbbell_units::Time;

/// A link's measured interval, taken when it ended.
#[derive(Clone, Debug)]
pub(crate) struct LinkStats {
    mean_queue_bytes: f64,
    p95_queue_bytes: f64,
    max_queue_bytes: f64,
    departed_bytes: u64,
    capacity_bits: Option<u64>,
    /// At its start and at its end.
    counters: [LinkCounters; 2],
}

impl LinkStats {
    pub fn of(link: &mut Link<Packet>, now: Time) -> LinkStats {
        let counters = [link.counters_before(), link.counters(now)];
        let stats = link.queue_stats(now);
        LinkStats {
            mean_queue_bytes: stats.mean_bytes(),
            p95_queue_bytes: stats.quantile_bytes(0.95) as f64,
            max_queue_bytes: stats.max.bytes as f64,
            departed_bytes: stats.departed.bytes,
            capacity_bits: stats.capacity_bits,
            counters,
        }
    }
}

/// One row a flow. Rates and counts are over the measured interval of `measured_s` seconds; `_total` columns are over
/// the whole run.
pub(crate) fn flows(scenario: &Scenario, flows: &[Flow], measured_s: f64) -> Table {
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / measured_s;
    let specs = &scenario.flows;
    let float = |name: &str, value: &dyn Fn(&Flow) -> f64| Column {
        name: name.to_owned(),
        values: Values::Float(flows.iter().map(value).collect()),
    };
    let totals: Vec<Counts> = flows.iter().map(Flow::counts).collect();
    let count = |name: &str, value: &dyn Fn(&Counts) -> u64| {
        let measured = flows.iter().map(|flow| value(&flow.measured)).collect();
        let total = totals.iter().map(value).collect();
        [
            Column { name: name.to_owned(), values: Values::Count(measured) },
            Column { name: format!("{name}_total"), values: Values::Count(total) },
        ]
    };
    let text = |name: &str, values: Vec<String>| Column { name: name.to_owned(), values: Values::Text(values) };
    let mut columns = vec![
        Column { name: "flow".to_owned(), values: Values::Index((0..flows.len() as u32).collect()) },
        text("label", specs.iter().map(|spec| spec.label.clone()).collect()),
        text("cc", specs.iter().map(|spec| spec.cc.name().to_owned()).collect()),
        Column {
            name: "algorithm".to_owned(),
            values: Values::Name(flows.iter().map(|flow| flow.ends.controller().algorithm()).collect()),
        },
        float("start_s", &|flow| flow.start.as_secs_f64()),
        float("goodput_mbps", &|flow| mbps(flow.measured.delivered_bytes)),
        float("throughput_mbps", &|flow| mbps(flow.traffic.wire_bytes)),
        float("mean_rtt_ms", &|flow| flow.rtt.mean() / 1e3),
        float("p50_rtt_ms", &|flow| flow.rtt.quantile(0.5) / 1e3),
        float("p95_rtt_ms", &|flow| flow.rtt.quantile(0.95) / 1e3),
        float("p99_rtt_ms", &|flow| flow.rtt.quantile(0.99) / 1e3),
        float("min_rtt_ms", &|flow| flow.rtt.min() / 1e3),
        float("mean_one_way_delay_ms", &|flow| {
            flow.one_way_delays.as_nanos() as f64 / flow.measured.arrived as f64 / 1e6
        }),
        float("completion_s", &|flow| flow.finished_at.map_or(f64::NAN, |at| at.since(flow.start).as_secs_f64())),
    ];
    columns.push(Column {
        name: "base_rtt_ms".to_owned(),
        values: Values::Float(specs.iter().map(|spec| spec.base_rtt.as_secs_f64() * 1e3).collect()),
    });
    columns.extend(count("retransmits", &|counts| counts.retransmits));
    columns.extend(count("lost", &|counts| counts.lost));
    columns.extend(count("network_drops", &|counts| counts.network_drops));
    columns.extend(count("rto_count", &|counts| counts.rtos));
    columns.extend(count("probe_count", &|counts| counts.probes));
    columns.extend(count("undo_count", &|counts| counts.undos));
    columns.extend(count("sent", &|counts| counts.sent));
    columns.extend(count("duplicates", &|counts| counts.duplicates));
    columns.extend(count("acks", &|counts| counts.acks));
    columns.extend(count("delivered_bytes", &|counts| counts.delivered_bytes));
    columns.push(Column {
        name: "throughput_bytes_total".to_owned(),
        values: Values::Count(flows.iter().map(|flow| flow.traffic.wire_bytes_total).collect()),
    });
    Table { columns }
}

/// One row a link, `measured` over the measured interval and `_total` columns over the whole run.
pub(crate) fn links(scenario: &Scenario, links: &mut [Link<Packet>], measured: &[LinkStats], end: Time) -> Table {
    let totals: Vec<LinkCounters> = links.iter_mut().map(|link| link.counters(end)).collect();
    let seconds = scenario.duration.saturating_sub(scenario.cooldown).saturating_sub(scenario.warmup).as_secs_f64();
    let float = |name: &str, value: &dyn Fn(&LinkStats) -> f64| Column {
        name: name.to_owned(),
        values: Values::Float(measured.iter().map(value).collect()),
    };
    let mut columns = vec![
        Column { name: "link".to_owned(), values: Values::Index((0..links.len() as u32).collect()) },
        Column {
            name: "name".to_owned(),
            values: Values::Text(scenario.links.iter().map(|link| link.config.name.clone()).collect()),
        },
        float("utilization", &|stats| match stats.capacity_bits {
            Some(bits) if bits > 0 => stats.departed_bytes as f64 * 8.0 / bits as f64,
            _ => f64::NAN,
        }),
        float("throughput_mbps", &|stats| stats.departed_bytes as f64 * 8e-6 / seconds),
        float("capacity_mbps", &|stats| stats.capacity_bits.map_or(f64::NAN, |bits| bits as f64 * 1e-6 / seconds)),
        float("mean_queue_bytes", &|stats| stats.mean_queue_bytes),
        float("p95_queue_bytes", &|stats| stats.p95_queue_bytes),
        float("max_queue_bytes", &|stats| stats.max_queue_bytes),
    ];
    let mut count = |name: &str, value: &dyn Fn(&LinkCounters) -> u64| {
        let within = measured.iter().map(|LinkStats { counters: [start, end], .. }| value(end) - value(start));
        columns.push(Column { name: name.to_owned(), values: Values::Count(within.collect()) });
        columns
            .push(Column { name: format!("{name}_total"), values: Values::Count(totals.iter().map(value).collect()) });
    };
    count("arrivals", &|counts| counts.arrivals.packets);
    count("drops", &|counts| counts.queue_drops().packets);
    count("drops_full", &|counts| counts.dropped_full.packets);
    count("drops_aqm", &|counts| counts.dropped_aqm.packets);
    count("drops_policed", &|counts| counts.policed.packets);
    count("losses", &|counts| counts.lost_before.packets + counts.lost_after.packets);
    count("marks", &|counts| counts.marked);
    Table { columns }
}
