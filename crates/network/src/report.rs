//! What links show of themselves, as the rows that result tables are made of.

use dumbbell_path::wifi::RadioCounters;
use dumbbell_path::{DropCause, LinkCounters, Medium, Packet, Port};
use dumbbell_results::{LinkCounts, LinkSample, LinkSummary, UNKNOWN};
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};

/// A port of a medium at `now`, `interval` after the sample before. `departed` holds the bytes that had left it then,
/// framing included, and those that have left it now when this returns.
#[inline]
pub(crate) fn link_sample<P: Packet>(
    medium: &mut dyn Medium<P>,
    port: Port,
    now: Time,
    interval: Duration,
    departed: &mut u64,
) -> LinkSample {
    let seen = medium.glance(port, Time::ZERO + now.since(Time::ZERO + interval), now);
    let departed_bits = (seen.framed_bytes - *departed) as f64 * 8.0;
    *departed = seen.framed_bytes;
    LinkSample {
        queue_bytes: seen.backlog.bytes,
        queue_packets: seen.backlog.packets,
        departed_bits,
        capacity_bits: seen.capacity_bits,
        drops: seen.drops,
        losses: seen.losses,
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
    let measured_s = scenario.duration.saturating_sub(scenario.cooldown).saturating_sub(scenario.warmup).as_secs_f64();
    let none = stats.radio.map(|_| RadioCounters::default());
    let measured = counts(&medium.counters(now, port), stats.radio).since(counts(&stats.before, none));
    LinkSummary {
        link: number,
        measured_s,
        departed_bytes: stats.departed.bytes,
        framed_bytes: stats.departed.framed(medium.framing_bytes(port)),
        capacity_bits: stats.capacity_bits,
        mean_queue_bytes: stats.mean_bytes,
        p95_queue_bytes: stats.p95_bytes as f64,
        max_queue_bytes: stats.max.bytes as f64,
        measured,
        airtime_s: stats.radio.map(|radio| radio.airtime.as_secs_f64()),
        aggregated_packets: stats.radio.map(|radio| radio.packets),
        name: medium.name(port).to_owned(),
        ..LinkSummary::default()
    }
}

/// Fills in what a link has counted when the run is over at `now`.
pub fn total<P: Packet>(row: &mut LinkSummary, medium: &mut dyn Medium<P>, port: Port, now: Time) {
    row.total = counts(&medium.counters(now, port), medium.radio(port));
}

/// What a link counts, as tables show it.
fn counts(counters: &LinkCounters, radio: Option<RadioCounters>) -> LinkCounts {
    LinkCounts {
        arrivals: counters.arrivals.packets,
        drops: counters.drops.in_queue().packets,
        drops_full: counters.drops[DropCause::QueueFull].packets,
        drops_aqm: counters.drops[DropCause::Aqm].packets,
        drops_ack_filter: counters.drops[DropCause::AckFilter].packets,
        drops_policed: counters.drops[DropCause::Policed].packets,
        losses: counters.drops.lost().packets,
        marks: counters.marked,
        ecn_changed: counters.ecn_changed,
        aggregates: radio.map_or(UNKNOWN, |radio| radio.aggregates),
        frame_retries: radio.map_or(UNKNOWN, |radio| radio.retries),
        collisions: radio.map_or(UNKNOWN, |radio| radio.collisions),
    }
}
