//! What was seen of a run, as the rows that result tables are made of.

use crate::certificate::{Certificate, FlowNotes};
use crate::endpoints::{EndpointFlow, EndpointFlows};
use crate::kernel::release;
use crate::sampler::{Sampled, Snapshot};
use crate::seen::{Counts, Seen};
use crate::tcp_info::TcpInfo;
use crate::{FlowShared, NOTHING, RunOutput, Shared};
use dumbbell_results::{FlowCounts, FlowSummary, UNKNOWN, flows, links};
use dumbbell_scenario::{Flow, Scenario};
use dumbbell_units::Time;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The tables of a run.
pub fn output(
    scenario: &Scenario,
    shared: &Shared,
    endpoints: &EndpointFlows<'_>,
    seen: Seen,
    sampled: Sampled,
    certificate: Certificate,
) -> RunOutput {
    let Sampled { mut recorder, before, after, total, .. } = sampled;
    let mut link_recorder = seen.recorder;
    let (series, _) = recorder.take();
    let (_, link_series) = link_recorder.take();
    let measured = scenario.duration.saturating_sub(scenario.cooldown).saturating_sub(scenario.warmup);
    let packets = seen.flows.iter().map(|flow| flow.total.arrived).sum();
    let rows = (0u32..).zip(scenario.flows.iter().zip(seen.flows)).zip(before.iter().zip(&after).zip(&total));
    let rows = rows.map(|((number, (spec, flow)), ((before, after), total))| FlowSummary {
        flow: number,
        label: spec.label.clone(),
        cc: cc(spec),
        algorithm: algorithm(spec).into(),
        start: Time::from_nanos(shared.flows[number as usize].started_at.load(Ordering::Relaxed)),
        base_rtt: spec.base_rtt,
        measured_s: measured.as_secs_f64(),
        measured: counts(spec, &flow.measured, after).since(counts(spec, &Counts::default(), before)),
        total: counts(spec, &flow.total, total),
        wire_bytes: flow.wire_bytes,
        wire_bytes_total: flow.wire_bytes_total,
        rtt: endpoints.get(number as usize).map_or(flow.rtt, EndpointFlow::rtt),
        one_way_delays: flow.one_way_delays,
        finished_at: flow.finished_at.or_else(|| completed(&shared.flows[number as usize])),
        streams: None,
    });
    RunOutput {
        flows: flows(rows),
        series,
        links: links(&seen.links),
        link_series,
        seed: scenario.seed,
        duration_s: scenario.duration.as_secs_f64(),
        cpu_s: seen.cpu_s,
        events: seen.packets,
        packets,
        certificate,
    }
}

/// The algorithm as the file names it, or the programs that stand in its place, so that two stacks are two groups.
fn cc(flow: &Flow) -> Arc<str> {
    if flow.program.is_some() { flow.label.clone() } else { flow.cc.name().into() }
}

/// When the client of two programs had done its work.
fn completed(flow: &FlowShared) -> Option<Time> {
    Some(flow.completed_at.load(Ordering::Relaxed)).filter(|&at| at != NOTHING).map(Time::from_nanos)
}

/// The exact name of a flow's algorithm in the running kernel. Every kernel of the main line has version 1 of BBR.
/// Nobody knows that of a program.
fn algorithm(flow: &Flow) -> String {
    let name = flow.cc.name();
    if flow.program.is_some() {
        return name.to_owned();
    }
    if !flow.transport.protocol.is_tcp() {
        return flow.cc.exact_name().to_owned();
    }
    let version = if name == "bbr" { "bbr1" } else { name };
    let whose = if flow.is_bpf { "-bpf" } else { "" };
    format!("{version}{whose}-linux-{}", release())
}

/// What the emulator counted and what the kernel tells, up to the same instant. Of a program the kernel tells nothing, and
/// the ends of a library have told it themselves.
fn counts(flow: &Flow, seen: &Counts, Snapshot { info, delivered_bytes, counts }: &Snapshot) -> FlowCounts {
    if let Some(counts) = *counts {
        return FlowCounts {
            network_drops: seen.drops,
            acks: seen.acks,
            arrived: seen.arrived,
            delivered_bytes: *delivered_bytes,
            ..counts
        };
    }
    if flow.program.is_some() {
        return FlowCounts {
            sent: seen.sent,
            network_drops: seen.drops,
            arrived: seen.arrived,
            delivered_bytes: *delivered_bytes,
            ..FlowCounts::UNKNOWN
        };
    }
    FlowCounts {
        sent: u64::from(info.data_segs_out),
        retransmits: u64::from(info.total_retrans),
        lost: UNKNOWN,
        network_drops: seen.drops,
        rtos: info.total_rto.map_or(UNKNOWN, u64::from),
        spurious_losses: u64::from(info.dsack_dups.min(info.total_retrans)),
        probes: UNKNOWN,
        undos: UNKNOWN,
        duplicates: UNKNOWN,
        acks: seen.acks,
        arrived: seen.arrived,
        delivered_bytes: *delivered_bytes,
        // Of datagrams, which this ground refuses.
        ..FlowCounts::default()
    }
}

impl FlowNotes {
    /// As the kernel tells them.
    pub(crate) fn of(info: &TcpInfo, phases: Vec<&'static str>) -> FlowNotes {
        let seconds = |us: u64| us as f64 / 1e6;
        FlowNotes {
            busy_s: seconds(info.busy_us),
            rwnd_limited_s: seconds(info.rwnd_limited_us),
            sndbuf_limited_s: seconds(info.sndbuf_limited_us),
            phases,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_scenario::Experiment;

    fn flow(entry: &str) -> Flow {
        let text = format!("duration = \"1s\"\npath = {{ rate = \"1mbit\", rtt = \"10ms\" }}\nflows = [{{ {entry} }}]");
        Experiment::from_toml(&text, "test.toml", &[]).unwrap().points()[0].scenario().flows[0].clone()
    }

    const PROGRAM: &str = r#"program = { server = "serve {port}", client = "fetch {server}" }, label = "two""#;

    #[test]
    fn an_algorithm_is_that_of_the_running_kernel_and_of_a_program_unknown() {
        let named = |entry: &str| (cc(&flow(entry)).to_string(), algorithm(&flow(entry)));
        let linux = |algorithm: &str| format!("{algorithm}-linux-{}", release());
        assert_eq!(named(r#"cc = "cubic""#), ("cubic".to_owned(), linux("cubic")));
        assert_eq!(named(r#"cc = "bbr""#), ("bbr".to_owned(), linux("bbr1")));
        assert_eq!(named(r#"cc = "bpf:scalable""#), ("scalable".to_owned(), linux("scalable-bpf")));
        assert_eq!(named(PROGRAM), ("two".to_owned(), "unknown".to_owned()));
    }

    const SEEN: Counts = Counts { sent: 90, drops: 4, arrived: 86, acks: 43 };

    fn snapshot(counts: Option<FlowCounts>) -> Snapshot {
        let info =
            TcpInfo { data_segs_out: 100, total_retrans: 5, dsack_dups: 7, total_rto: Some(2), ..TcpInfo::default() };
        Snapshot { info, delivered_bytes: 1_000, counts }
    }

    #[test]
    fn the_kernel_tells_what_it_has_sent_and_the_emulator_what_came() {
        let reno = flow(r#"cc = "reno""#);
        let known = FlowCounts {
            sent: 100,
            retransmits: 5,
            lost: UNKNOWN,
            network_drops: 4,
            rtos: 2,
            // No more than were sent again.
            spurious_losses: 5,
            probes: UNKNOWN,
            undos: UNKNOWN,
            duplicates: UNKNOWN,
            acks: 43,
            arrived: 86,
            delivered_bytes: 1_000,
            ..FlowCounts::default()
        };
        assert_eq!(counts(&reno, &SEEN, &snapshot(None)), known);
        let mut old = snapshot(None);
        (old.info.total_rto, old.info.dsack_dups) = (None, 3);
        assert_eq!(counts(&reno, &SEEN, &old), FlowCounts { rtos: UNKNOWN, spurious_losses: 3, ..known });
    }

    #[test]
    fn nobody_tells_what_a_program_has_sent_again() {
        let known =
            FlowCounts { sent: 90, network_drops: 4, arrived: 86, delivered_bytes: 1_000, ..FlowCounts::UNKNOWN };
        assert_eq!(counts(&flow(PROGRAM), &SEEN, &snapshot(None)), known);
    }

    #[test]
    fn ends_of_a_library_have_told_what_they_did_themselves() {
        let own = FlowCounts { sent: 77, rtos: 1, ..FlowCounts::default() };
        let known = FlowCounts { network_drops: 4, acks: 43, arrived: 86, delivered_bytes: 1_000, ..own };
        assert_eq!(counts(&flow(r#"cc = "reno""#), &SEEN, &snapshot(Some(own))), known);
    }

    #[test]
    fn the_kernels_microseconds_become_seconds() {
        let info = TcpInfo { busy_us: 1_500_000, rwnd_limited_us: 250_000, sndbuf_limited_us: 1, ..TcpInfo::default() };
        let notes = FlowNotes::of(&info, vec!["startup"]);
        assert_eq!((notes.busy_s, notes.rwnd_limited_s, notes.sndbuf_limited_s), (1.5, 0.25, 1e-6));
        assert_eq!(notes.phases, ["startup"]);
    }
}
