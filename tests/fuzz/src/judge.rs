//! What must hold of the results of any run.
//!
//! The engine checks round-trip times, conservation and its clock as it runs (`sim`, with debug assertions). Here its
//! tables are judged, as whoever reads them would.

use dumbbell_path::LinkRate;
use dumbbell_results::{Column, Table, Values};
use dumbbell_scenario::Scenario;
use dumbbell_sim::RunOutput;
use dumbbell_units::Duration;

/// The largest packet, in megabits.
const PACKET_MBIT: f64 = 0.53;

type Judgement = Result<(), String>;

/// Judges all tables of a run.
pub fn judge(scenario: &Scenario, output: &RunOutput) -> Judgement {
    for (name, table) in [
        ("flows", &output.flows),
        ("links", &output.links),
        ("series", &output.series),
        ("link_series", &output.link_series),
    ] {
        table.columns.iter().try_for_each(|column| finite(name, column))?;
    }
    flows(scenario, &output.flows)?;
    links(scenario, &output.links)?;
    series(scenario.flows.len(), &output.series, "flow")?;
    series(scenario.links.len(), &output.link_series, "link")?;
    windows(scenario, &output.series)
}

/// Numbers are numbers: there may be none, but no infinite one, and none below zero.
fn finite(table: &str, column: &Column) -> Judgement {
    let Values::Float(rows) = &column.values else { return Ok(()) };
    let may_be_negative = column.name.starts_with("cc_");
    match rows.iter().position(|value| value.is_infinite() || *value < 0.0 && !may_be_negative) {
        Some(row) => Err(format!("{table}.{} is {} in row {row}", column.name, rows[row])),
        None => Ok(()),
    }
}

fn flows(scenario: &Scenario, table: &Table) -> Judgement {
    let measured_s = (scenario.duration - scenario.warmup - scenario.cooldown).as_secs_f64();
    for (row, flow) in scenario.flows.iter().enumerate() {
        let number = |name: &str| number(table, name, row);
        // Where rates vary, the slowest link is not the slowest one of every interval.
        let slowest = flow.forward.iter().map(|&link| match scenario.links[link].config.rate {
            LinkRate::Constant(rate) => rate as f64 / 1e6,
            _ => f64::INFINITY,
        });
        let capacity = slowest.fold(f64::INFINITY, f64::min);
        // One packet is on the transmitter at each end of the interval.
        if let Some(throughput) = number("throughput_mbps")
            && throughput > capacity * 1.000_001 + PACKET_MBIT / measured_s
        {
            return Err(format!("flow {row} puts {throughput} Mbit/s through a link of {capacity}"));
        }
        // After a warm-up, what had arrived before it may come on top.
        if let Some(goodput) = number("goodput_mbps").filter(|_| scenario.warmup == Duration::ZERO)
            && goodput > capacity
        {
            return Err(format!("flow {row} has a goodput of {goodput} Mbit/s over a link of {capacity}"));
        }
        let no_more = |less: &str, more: &str| match (number(less), number(more)) {
            (Some(less_is), Some(more_is)) if less_is > more_is => {
                Err(format!("flow {row}: {less} {less_is}, {more} {more_is}"))
            }
            _ => Ok(()),
        };
        no_more("retransmits_total", "sent_total")?;
        no_more("retransmits", "sent")?;
        no_more("delivered_bytes_total", "throughput_bytes_total")?;
        no_more("min_rtt_ms", "mean_rtt_ms")?;
        no_more("p50_rtt_ms", "p95_rtt_ms")?;
        no_more("p95_rtt_ms", "p99_rtt_ms")?;
        let finished = number("completion_s").is_some();
        match (number("delivered_bytes_total"), flow.bytes) {
            (Some(delivered), Some(bytes)) if delivered > bytes as f64 || finished && delivered < bytes as f64 => {
                return Err(format!("flow {row}: {delivered} of {bytes} bytes delivered, finished: {finished}"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn links(scenario: &Scenario, table: &Table) -> Judgement {
    for (row, link) in scenario.links.iter().enumerate() {
        let number = |name: &str| number(table, name, row).unwrap_or(0.0);
        let name = &link.config.name;
        let (arrivals, drops, losses) = (number("arrivals_total"), number("drops_total"), number("losses_total"));
        if drops + losses > arrivals {
            return Err(format!("{name}: {drops} dropped and {losses} lost of {arrivals}"));
        }
        if drops
            != number("drops_full_total")
                + number("drops_aqm_total")
                + number("drops_ack_filter_total")
                + number("drops_policed_total")
        {
            return Err(format!("{name}: {drops} drops have other causes than those told"));
        }
        // A packet is counted whole where it ends; one may have begun before the measured interval.
        let seconds = (scenario.duration - scenario.warmup - scenario.cooldown).as_secs_f64();
        let (rate, capacity) = (number("throughput_mbps"), number("capacity_mbps"));
        if capacity > 0.0 && rate * seconds > capacity * seconds * 1.000_001 + PACKET_MBIT {
            return Err(format!("{name} carries {rate} Mbit/s of {capacity}"));
        }
    }
    Ok(())
}

/// Time goes on, and what is counted does not fall.
fn series(count: usize, table: &Table, key: &str) -> Judgement {
    let Some(Values::Index(owners)) =
        table.columns.iter().find(|column| column.name == key).map(|column| &column.values)
    else {
        return Ok(());
    };
    let rises = |column: &&Column| column.name.ends_with("_total") || column.name == "t_s";
    for column in table.columns.iter().filter(rises) {
        let mut latest = vec![f64::NEG_INFINITY; count];
        for (row, &owner) in owners.iter().enumerate() {
            let Some(value) = value(&column.values, row) else { continue };
            let latest = &mut latest[owner as usize];
            if value < *latest {
                return Err(format!("{key} {owner}: {} falls from {latest} to {value} in row {row}", column.name));
            }
            *latest = value;
        }
    }
    Ok(())
}

/// Who has a window has one of at least a packet, and no more SACKed than sent.
fn windows(scenario: &Scenario, table: &Table) -> Judgement {
    let owners = table.columns.iter().find(|column| column.name == "flow").map(|column| &column.values);
    let Some(Values::Index(owners)) = owners else { return Ok(()) };
    for (row, &flow) in owners.iter().enumerate() {
        let number = |name: &str| number(table, name, row);
        if !scenario.flows[flow as usize].transport.protocol.is_controlled() {
            continue;
        }
        if number("cwnd").is_some_and(|cwnd| cwnd < 1.0) {
            return Err(format!("flow {flow}: a window below one packet in row {row}"));
        }
        if number("sacked") > number("packets_out") {
            return Err(format!("flow {flow}: more is SACKed than outstanding in row {row}"));
        }
    }
    Ok(())
}

fn number(table: &Table, name: &str, row: usize) -> Option<f64> {
    table.columns.iter().find(|column| column.name == name).and_then(|column| value(&column.values, row))
}

/// A number of a column; none where there is no value.
fn value(values: &Values, row: usize) -> Option<f64> {
    match values {
        Values::Float(rows) => rows.get(row).copied().filter(|value| !value.is_nan()),
        Values::Count(rows) => {
            rows.get(row).filter(|value| **value != dumbbell_results::UNKNOWN).map(|&value| value as f64)
        }
        Values::Index(rows) => rows.get(row).map(|&value| f64::from(value)),
        Values::Text(_) | Values::Name(_) => None,
    }
}
