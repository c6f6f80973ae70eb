//! What the simulator knows of its flows and links, as the rows that result tables are made of.

use crate::flow::{Flow, Phase};
use crate::packet::Packet;
use dumbbell_network::{Entry, LinkWatch, add_sender};
use dumbbell_path::Media;
use dumbbell_results::{Arrived, DatagramSummary, FlowSample, FlowSummary, Recorder, Tells};
use dumbbell_scenario::{Flow as Spec, Scenario};
use dumbbell_transport::{Limit, Sending};
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// A recorder for the series that a scenario asks for.
pub(crate) fn recorder(scenario: &Scenario, flows: &[Flow]) -> Recorder {
    let interval = scenario.record.series.then_some(scenario.record.interval);
    let observables = |flow: &Flow| flow.ends.sending().map(|sending| sending.controller.observables());
    Recorder::new(interval, flows.iter().map(|flow| observables(flow).unwrap_or_default()))
}

/// The links of a scenario, to take samples of.
pub(crate) struct LinkView<'a> {
    pub media: &'a mut Media<Packet>,
    /// Where each of them is entered.
    pub entries: &'a [Entry],
    pub watch: &'a mut LinkWatch,
}

/// Takes the sample that is due.
pub(crate) fn sample<'f>(
    recorder: &mut Recorder,
    scenario: &Scenario,
    now: Time,
    flows: impl Iterator<Item = &'f mut Flow>,
    links: LinkView<'_>,
) {
    let Some(interval) = recorder.begin() else { return };
    let LinkView { media, entries, watch } = links;
    watch.sample(media, entries, (now, interval), |index, sample| recorder.link(now, index, sample));
    for (index, flow) in flows.enumerate() {
        if matches!(flow.phase, Phase::Waiting | Phase::Connecting) {
            continue;
        }
        let arrived = arrived(flow, interval);
        let Some(sending) = flow.ends.sending() else {
            recorder.flow(now, index, counted(flow, arrived), |_| {});
            continue;
        };
        let forward = &scenario.flows[index].forward;
        let limit = sending.limit(now).on(|| forward.iter().any(|&link| watch.is_full(link)));
        // What happens at the instant of a sample comes behind it. Where packets are few they have reached few senders.
        let is_still = now.since(sending.sender.acted_at()) > interval;
        if is_still && recorder.flow_again(now, index, &arrived, limit.name()) {
            debug_assert!(
                recorder.is_latest(index, &governed(&sending, arrived, limit), |values| observe(&sending, values)),
                "flow {index} has changed unnoticed"
            );
        } else {
            add_flow(recorder, now, index, &sending, arrived, limit);
        }
    }
}

/// Adds a flow that a controller governs to the sample.
// Kept apart, because most flows of many have a row that is that of before.
#[inline(never)]
fn add_flow(recorder: &mut Recorder, now: Time, index: usize, sending: &Sending<'_>, arrived: Arrived, limit: Limit) {
    recorder.flow(now, index, governed(sending, arrived, limit), |values| observe(sending, values));
}

/// A flow that a controller governs.
#[inline(always)]
fn governed(sending: &Sending<'_>, arrived: Arrived, limit: Limit) -> FlowSample {
    let mut sample = FlowSample {
        arrived,
        sent: sending.stats.sent_segments,
        retransmits: sending.stats.retransmitted_segments,
        limited_by: limit.name(),
        ..FlowSample::default()
    };
    add_sender(&mut sample, sending);
    sample
}

/// Has a controller write its values.
#[inline(always)]
fn observe(sending: &Sending<'_>, values: &mut [f64]) {
    sending.controller.observe(sending.view, sending.control, values);
}

/// What has arrived of a flow since the sample before, `interval` ago.
fn arrived(flow: &mut Flow, interval: Duration) -> Arrived {
    let received = flow.ends.received();
    let received_bytes = received.arrived_bytes + received.arrived_segments * u64::from(flow.header);
    let counted = (received.delivered_bytes, received_bytes);
    Arrived::between(std::mem::replace(&mut flow.last_sample, counted), counted, interval)
}

/// What is counted of a flow that no controller governs.
fn counted(flow: &mut Flow, arrived: Arrived) -> FlowSample {
    let stats = flow.ends.sent();
    let rtt = flow.datagrams.as_mut().and_then(|datagrams| datagrams.rtt.take());
    FlowSample {
        arrived,
        sent: stats.sent_segments,
        retransmits: stats.retransmitted_segments,
        rtt_us: rtt.and_then(|rtt| i64::try_from(rtt.as_micros()).ok()),
        limited_by: Limit::Application.name(),
        tells: Tells::Counts,
        ..FlowSample::default()
    }
}

/// A row for every flow of datagrams when the run is over.
pub(crate) fn datagram_summaries(scenario: &Scenario, flows: &[Flow], measured_s: f64) -> Vec<DatagramSummary> {
    let rows = (0u32..).zip(scenario.flows.iter().zip(flows));
    let row = |(number, (spec, flow)): (u32, (&Spec, &Flow))| {
        let datagrams = flow.datagrams.as_deref()?;
        Some(DatagramSummary {
            flow: number,
            label: spec.label.clone(),
            kind: spec.transport.protocol.name(),
            measured_s,
            counts: flow.measured,
            knows_losses: flow.ends.knows_losses(),
            has_frames: spec.transport.protocol.has_frames(),
            one_way: datagrams.one_way.clone(),
            rtt: flow.rtt.clone(),
            frames: datagrams.frames.clone(),
        })
    };
    rows.filter_map(row).collect()
}

/// What governs a flow; nothing where nothing does.
fn algorithm<'f>(spec: &'f Spec, flow: &'f Flow) -> &'f str {
    match flow.ends.sending() {
        Some(sending) => sending.controller.algorithm(),
        None if spec.transport.protocol.has_own_rule() => spec.cc.exact_name(),
        None => "",
    }
}

/// A row for every flow when the run is over. A flow is gone when its row has been made.
pub(crate) fn flow_summaries(
    scenario: &Scenario,
    flows: Vec<Flow>,
    measured_s: f64,
) -> impl Iterator<Item = FlowSummary> {
    let (mut cc, mut exact) = (Arc::default(), Arc::default());
    let rows = (0u32..).zip(scenario.flows.iter().zip(flows));
    rows.map(move |(number, (spec, flow))| FlowSummary {
        flow: number,
        label: spec.label.clone(),
        cc: shared(&mut cc, spec.cc.name()),
        algorithm: shared(&mut exact, algorithm(spec, &flow)),
        start: flow.start,
        base_rtt: spec.base_rtt,
        measured_s,
        measured: flow.measured,
        total: flow.counts(),
        wire_bytes: flow.traffic.wire_bytes,
        wire_bytes_total: flow.traffic.wire_bytes_total,
        one_way_delays: flow.one_way_delays,
        finished_at: flow.finished_at(),
        streams: flow.streams.map(|streams| Box::new(streams.seen().clone())),
        rtt: flow.rtt,
    })
}

/// A name, which mostly is the `latest` once more.
fn shared(latest: &mut Arc<str>, name: &str) -> Arc<str> {
    if **latest != *name {
        *latest = name.into();
    }
    latest.clone()
}
