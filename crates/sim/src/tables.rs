//! The summary tables: one row a flow, one row a link.

use crate::flow::{Flow, Snapshot};
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
    counters: LinkCounters,
}

impl LinkStats {
    pub fn of(link: &mut Link<Packet>, now: Time) -> LinkStats {
        let counters = link.counters(now);
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
    let rows: Vec<(&Flow, Snapshot, Snapshot, Snapshot)> =
        flows.iter().map(|flow| (flow, flow.at_warmup, flow.at_end.unwrap_or_default(), flow.snapshot())).collect();
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / measured_s;
    let specs = &scenario.flows;
    let float = |name: &str, value: &dyn Fn(&Flow, &Snapshot, &Snapshot) -> f64| Column {
        name: name.to_owned(),
        values: Values::Float(rows.iter().map(|(flow, start, end, _)| value(flow, start, end)).collect()),
    };
    let count = |name: &str, value: &dyn Fn(&Snapshot) -> u64| {
        let measured = rows.iter().map(|(_, start, end, _)| value(end) - value(start)).collect();
        let total = rows.iter().map(|(_, _, _, total)| value(total)).collect();
        [
            Column { name: name.to_owned(), values: Values::Count(measured) },
            Column { name: format!("{name}_total"), values: Values::Count(total) },
        ]
    };
    let text = |name: &str, values: Vec<String>| Column { name: name.to_owned(), values: Values::Text(values) };
    let mut columns = vec![
        Column { name: "flow".to_owned(), values: Values::Index((0..rows.len() as u32).collect()) },
        text("label", specs.iter().map(|spec| spec.label.clone()).collect()),
        text("cc", specs.iter().map(|spec| spec.cc.name.clone()).collect()),
        Column {
            name: "algorithm".to_owned(),
            values: Values::Name(flows.iter().map(|flow| flow.ends.controller().algorithm()).collect()),
        },
        float("start_s", &|flow, _, _| flow.start.as_secs_f64()),
        float("goodput_mbps", &|_, start, end| mbps(end.receiver.delivered_bytes - start.receiver.delivered_bytes)),
        float("throughput_mbps", &|flow, _, _| mbps(flow.traffic.wire_bytes)),
        float("mean_rtt_ms", &|flow, _, _| flow.rtt.mean() / 1e3),
        float("p50_rtt_ms", &|flow, _, _| flow.rtt.quantile(0.5) / 1e3),
        float("p95_rtt_ms", &|flow, _, _| flow.rtt.quantile(0.95) / 1e3),
        float("p99_rtt_ms", &|flow, _, _| flow.rtt.quantile(0.99) / 1e3),
        float("min_rtt_ms", &|flow, _, _| flow.rtt.min() / 1e3),
        float("mean_one_way_delay_ms", &|flow, _, _| flow.one_way_us as f64 / flow.one_way_count as f64 / 1e3),
        float("completion_s", &|flow, _, _| flow.finished_at.map_or(f64::NAN, |at| at.since(flow.start).as_secs_f64())),
    ];
    columns.push(Column {
        name: "base_rtt_ms".to_owned(),
        values: Values::Float(specs.iter().map(|spec| spec.base_rtt.as_secs_f64() * 1e3).collect()),
    });
    columns.extend(count("retransmits", &|at| at.sender.retransmitted_segments));
    columns.extend(count("lost", &|at| at.lost));
    columns.extend(count("network_drops", &|at| at.network_drops));
    columns.extend(count("rto_count", &|at| at.sender.rto_count));
    columns.extend(count("probe_count", &|at| at.sender.probe_count));
    columns.extend(count("undo_count", &|at| at.sender.undo_count));
    columns.extend(count("sent", &|at| at.sender.sent_segments));
    columns.extend(count("duplicates", &|at| at.receiver.duplicate_segments));
    columns.extend(count("acks", &|at| at.receiver.acks_sent));
    columns.extend(count("delivered_bytes", &|at| at.receiver.delivered_bytes));
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
    let starts: &[LinkCounters] = &measured.iter().map(|stats| stats.counters).collect::<Vec<_>>();
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
        columns.push(Column { name: name.to_owned(), values: Values::Count(starts.iter().map(value).collect()) });
        columns
            .push(Column { name: format!("{name}_total"), values: Values::Count(totals.iter().map(value).collect()) });
    };
    count("arrivals", &|at| at.arrivals.packets);
    count("drops", &|at| at.queue_drops().packets);
    count("drops_full", &|at| at.dropped_full.packets);
    count("drops_aqm", &|at| at.dropped_aqm.packets);
    count("drops_policed", &|at| at.policed.packets);
    count("losses", &|at| at.lost_before.packets + at.lost_after.packets);
    count("marks", &|at| at.marked);
    Table { columns }
}
