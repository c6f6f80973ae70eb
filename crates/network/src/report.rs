//! What links show of themselves, as the rows that result tables are made of.

use dumbbell_path::{LinkCounters, Medium, Packet, Port};
use dumbbell_results::{LinkCounts, LinkSample, LinkSummary};
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};

/// A port of a medium at `now`, `interval` after the sample before. `departed` holds the bytes that had left it then, and
/// those that have left it now when this returns.
pub fn link_sample<P: Packet>(
    medium: &mut dyn Medium<P>,
    port: Port,
    now: Time,
    interval: Duration,
    departed: &mut u64,
) -> LinkSample {
    let backlog = medium.backlog(now, port);
    let counters = medium.counters(now, port);
    let counts = counts(&counters);
    let departed_bits = (counters.departures.bytes - *departed) as f64 * 8.0;
    *departed = counters.departures.bytes;
    LinkSample {
        queue_bytes: backlog.bytes,
        queue_packets: backlog.packets,
        departed_bits,
        capacity_bits: medium.capacity_bits(port, Time::ZERO + now.since(Time::ZERO + interval), now),
        drops: counts.drops,
        losses: counts.losses,
    }
}

/// A row for a port of a medium, which for a link is the link, when the measured interval is over at `now`; its totals
/// come when the run is over.
pub fn link_summary<P: Packet>(
    scenario: &Scenario,
    number: u32,
    medium: &mut dyn Medium<P>,
    port: Port,
    now: Time,
) -> LinkSummary {
    let stats = medium.measured(now, port);
    let measured = counts(&medium.counters(now, port)).since(counts(&stats.before));
    LinkSummary {
        link: number,
        measured_s: scenario.duration.saturating_sub(scenario.cooldown).saturating_sub(scenario.warmup).as_secs_f64(),
        departed_bytes: stats.departed.bytes,
        capacity_bits: stats.capacity_bits,
        mean_queue_bytes: stats.mean_bytes,
        p95_queue_bytes: stats.p95_bytes as f64,
        max_queue_bytes: stats.max.bytes as f64,
        measured,
        name: medium.name(port).to_owned(),
        ..LinkSummary::default()
    }
}

/// What a link counts, as tables show it.
pub fn counts(counters: &LinkCounters) -> LinkCounts {
    LinkCounts {
        arrivals: counters.arrivals.packets,
        drops: counters.queue_drops().packets,
        drops_full: counters.dropped_full.packets,
        drops_aqm: counters.dropped_aqm.packets,
        drops_policed: counters.policed.packets,
        losses: counters.lost_before.packets + counters.lost_after.packets,
        marks: counters.marked,
    }
}
