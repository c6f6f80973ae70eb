//! Asks the kernel about every connection, at each sample and at the ends of the measured interval.

use crate::bpf::{self, Report, Reports};
use crate::clock::Clock;
use crate::endpoints::{EndpointFlow, EndpointFlows};
use crate::limits::{Known, limit};
use crate::sys;
use crate::tcp_info::{BbrInfo, TcpInfo};
use crate::{Shared, rights};
use dumbbell_cc_contract::CaState;
use dumbbell_network::add_sender;
use dumbbell_results::{Arrived, FlowCounts, FlowSample, Recorder, Tells};
use dumbbell_scenario::{Flow, Scenario};
use dumbbell_transport::Pacing;
use dumbbell_units::{Duration, Time};
use rustix::fd::OwnedFd;
use std::borrow::Cow;
use std::sync::atomic::Ordering;

/// Below the emulator's, above every ordinary thread's.
const PRIORITY: i32 = 10;
/// What BBR lets be observed of itself, with the names that the simulator's has.
const BBR_VALUES: [&str; 4] = ["bw_mbps", "min_rtt_ms", "pacing_gain", "cwnd_gain"];
/// How long reports of our own programs may wait to be collected.
const COLLECTION: Duration = Duration::from_millis(20);
/// The kernel's "no threshold".
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// A connection at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    pub info: TcpInfo,
    pub delivered_bytes: u64,
    /// What a library's end has counted.
    pub counts: Option<FlowCounts>,
}

/// What the sampler has seen.
pub struct Sampled {
    /// The series of flows.
    pub recorder: Recorder,
    /// Every flow when the measured interval began.
    pub before: Vec<Snapshot>,
    /// When it ended.
    pub after: Vec<Snapshot>,
    /// When the run ended.
    pub total: Vec<Snapshot>,
    /// What each flow's controller has gone through, of those that tell.
    pub phases: Vec<Vec<&'static str>>,
}

/// Samples the flows of a scenario until the run is over.
pub struct Sampler<'a> {
    scenario: &'a Scenario,
    sockets: &'a [Option<OwnedFd>],
    endpoints: &'a EndpointFlows<'a>,
    clock: Clock,
    shared: &'a Shared,
    recorder: Recorder,
    /// Bytes delivered and arrived at the sample before, and what the kernel told then.
    last: Vec<(u64, u64)>,
    told: Vec<TcpInfo>,
    insights: Vec<Insight>,
    reports: Option<Reports>,
}

/// What shows the state of a flow's controller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Insight {
    Nothing,
    /// The kernel, for its BBR.
    CcInfo,
    /// Reports of our own program.
    Reports,
}

impl Insight {
    fn of(flow: &Flow) -> Insight {
        if bpf::reports_state(flow) {
            Insight::Reports
        } else if flow.cc.name() == "bbr" {
            Insight::CcInfo
        } else {
            Insight::Nothing
        }
    }

    fn names(self) -> Vec<&'static str> {
        match self {
            Insight::Nothing => Vec::new(),
            Insight::CcInfo => BBR_VALUES.to_vec(),
            Insight::Reports => bpf::VALUES.to_vec(),
        }
    }
}

impl<'a> Sampler<'a> {
    pub fn new(
        scenario: &'a Scenario,
        sockets: &'a [Option<OwnedFd>],
        endpoints: &'a EndpointFlows<'a>,
        clock: Clock,
        shared: &'a Shared,
        reports: Option<Reports>,
    ) -> Sampler<'a> {
        let insights: Vec<Insight> = scenario.flows.iter().map(Insight::of).collect();
        let interval = scenario.record.series.then_some(scenario.record.interval);
        let names = insights.iter().enumerate().map(|(flow, insight)| match endpoints.get(flow) {
            Some(pair) => observables(pair),
            None => insight.names().into_iter().map(Cow::Borrowed).collect(),
        });
        Sampler {
            scenario,
            sockets,
            endpoints,
            clock,
            shared,
            recorder: Recorder::new(interval, names),
            last: vec![(0, 0); sockets.len()],
            told: vec![TcpInfo::default(); sockets.len()],
            insights,
            reports,
        }
    }

    /// Samples to the end; what is missing of a run that ends early is empty.
    pub fn run(mut self) -> Sampled {
        // Without it samples are a little later.
        let _ = sys::schedule_first(PRIORITY);
        // Where this could fail the emulator ends the run.
        let _ = rights::drop_all();
        let end = Time::ZERO + self.scenario.duration;
        let bounds = [
            self.scenario.warmup,
            self.scenario.duration.saturating_sub(self.scenario.cooldown),
            self.scenario.duration,
        ];
        let mut snapshots = Vec::with_capacity(bounds.len());
        for bound in bounds {
            let bound = Time::ZERO + bound;
            while self.recorder.next(end) <= bound {
                if !self.sleep_until(self.recorder.next(end)) {
                    break;
                }
                self.sample();
            }
            if self.sleep_until(bound) {
                snapshots.push(self.snapshot());
            }
        }
        let mut snapshots = snapshots.into_iter();
        let mut next = || snapshots.next().unwrap_or_else(|| vec![Snapshot::default(); self.sockets.len()]);
        let phases = (0..self.sockets.len())
            .map(|flow| {
                self.reports.as_ref().and_then(|reports| reports.of(flow)).map_or_else(Vec::new, Report::passed)
            })
            .collect();
        Sampled { before: next(), after: next(), total: next(), recorder: self.recorder, phases }
    }

    /// Sleeps, and collects what is reported meanwhile; false if the run was over before.
    fn sleep_until(&mut self, instant: Time) -> bool {
        let Some(reports) = &mut self.reports else { return self.clock.sleep_until(instant, &self.shared.is_over) };
        loop {
            let next = instant.min(self.clock.now() + COLLECTION);
            if !self.clock.sleep_until(next, &self.shared.is_over) {
                return false;
            }
            reports.collect(self.clock, next);
            if next == instant {
                return true;
            }
        }
    }

    fn snapshot(&self) -> Vec<Snapshot> {
        let flows = self.sockets.iter().zip(&self.shared.flows);
        flows
            .enumerate()
            .map(|(flow, (socket, state))| Snapshot {
                counts: self.endpoints.get(flow).map(EndpointFlow::counts),
                info: socket.as_ref().and_then(|socket| TcpInfo::of(socket).ok()).unwrap_or_default(),
                delivered_bytes: state.delivered_bytes.load(Ordering::Relaxed),
            })
            .collect()
    }

    fn sample(&mut self) {
        let due = self.recorder.next(Time::ZERO + self.scenario.duration);
        let Some(interval) = self.recorder.begin() else { return };
        for (index, socket) in self.sockets.iter().enumerate() {
            let state = &self.shared.flows[index];
            if !state.is_established.load(Ordering::Acquire) {
                continue;
            }
            let flow = &self.scenario.flows[index];
            let is_full = flow.forward.iter().any(|&link| self.shared.full_links[link].load(Ordering::Relaxed));
            let Some(socket) = socket else {
                let counted = state.counted();
                let last = std::mem::replace(&mut self.last[index], counted);
                if let Some(pair) = self.endpoints.get(index) {
                    sample_endpoint(&mut self.recorder, (due, index), pair, arrivals(counted, last, interval), is_full);
                    continue;
                }
                let sample = FlowSample { tells: Tells::Nothing, ..arrivals(counted, last, interval) };
                self.recorder.flow(due, index, sample, |values| values.fill(f64::NAN));
                continue;
            };
            let Ok(info) = TcpInfo::of(socket) else { continue };
            let bbr = if self.insights[index] == Insight::CcInfo { BbrInfo::of(socket).ok() } else { None };
            let report = self.reports.as_ref().and_then(|reports| reports.of(index));
            let mode = bbr.as_ref().map(BbrInfo::mode).or_else(|| report.map(Report::mode)).unwrap_or_default();
            let counted = state.counted();
            let last = std::mem::replace(&mut self.last[index], counted);
            let before = std::mem::replace(&mut self.told[index], info);
            let is_paced = !mode.is_empty() || flow.transport.pacing == Pacing::On;
            let is_writing = state.is_writing.load(Ordering::Relaxed);
            let limit = limit(&Known { before: &before, info: &info, interval, mode, is_paced, is_writing, is_full });
            let counted = flow_sample(&info, counted, last, interval);
            let sample = FlowSample { mode, limited_by: limit.name(), ..counted };
            self.recorder.flow(due, index, sample, |values| {
                if let Some(bbr) = bbr {
                    let min_rtt_ms =
                        if bbr.min_rtt_us == u32::MAX { f64::NAN } else { f64::from(bbr.min_rtt_us) / 1e3 };
                    let gain = |gain: u32| f64::from(gain) / f64::from(BbrInfo::UNIT);
                    values.copy_from_slice(&[
                        bbr.bw as f64 * 8e-6,
                        min_rtt_ms,
                        gain(bbr.pacing_gain),
                        gain(bbr.cwnd_gain),
                    ]);
                } else if let Some(report) = report {
                    values.copy_from_slice(&report.values);
                } else {
                    values.fill(f64::NAN);
                }
            });
        }
        self.shared.sampled_bytes.store(self.recorder.memory_with_tables(), Ordering::Relaxed);
    }
}

/// What the controller of a library's end shows of itself.
fn observables(pair: &EndpointFlow<'_>) -> Vec<Cow<'static, str>> {
    pair.near().report().sending.map_or_else(Vec::new, |sending| sending.controller.observables())
}

/// Adds what a library's end knows to what is known of its flow.
fn sample_endpoint(
    recorder: &mut Recorder,
    (due, index): (Time, usize),
    pair: &EndpointFlow<'_>,
    mut sample: FlowSample,
    is_full: bool,
) {
    let end = pair.near();
    let report = end.report();
    let sent = report.sent.copied().unwrap_or_default();
    (sample.sent, sample.retransmits) = (sent.sent_segments, sent.retransmitted_segments);
    let Some(sending) = report.sending else {
        sample.tells = Tells::Counts;
        return recorder.flow(due, index, sample, |_| {});
    };
    sample.limited_by = sending.limit(due).on(|| is_full).name();
    add_sender(&mut sample, &sending);
    recorder.flow(due, index, sample, |values| {
        sending.controller.observe(sending.view, sending.control, values);
    });
}

/// What is known of every flow: bytes that came to the receiver's host.
fn arrivals(counted: (u64, u64), last: (u64, u64), interval: Duration) -> FlowSample {
    FlowSample { arrived: Arrived::between(last, counted, interval), ..FlowSample::default() }
}

fn flow_sample(info: &TcpInfo, counted: (u64, u64), last: (u64, u64), interval: Duration) -> FlowSample {
    FlowSample {
        cwnd: info.cwnd,
        ssthresh: Some(info.ssthresh).filter(|&ssthresh| ssthresh < INFINITE_SSTHRESH),
        inflight: info.inflight(),
        pacing_rate: Some(info.pacing_rate).filter(|&rate| rate != u64::MAX).unwrap_or(0),
        srtt_us_x8: info.rtt_us.saturating_mul(8),
        rtt_us: None,
        min_rtt_us: Some(info.min_rtt_us).filter(|&us| us != u32::MAX && us != 0),
        delivery_mbps: Some(info.delivery_rate).filter(|&rate| rate > 0).map(|rate| rate as f64 * 8e-6),
        delivered: u64::from(info.delivered),
        sent: u64::from(info.data_segs_out),
        lost: None,
        retransmits: u64::from(info.total_retrans),
        sacked_out: info.sacked,
        packets_out: info.unacked,
        ca_state: state_name(info.ca_state),
        ..arrivals(counted, last, interval)
    }
}

/// `enum tcp_ca_state`.
fn state_name(state: u8) -> &'static str {
    let state = match state {
        0 => CaState::Open,
        1 => CaState::Disorder,
        2 => CaState::Cwr,
        3 => CaState::Recovery,
        _ => CaState::Loss,
    };
    state.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> TcpInfo {
        TcpInfo {
            ca_state: 3,
            unacked: 40,
            sacked: 6,
            lost: 3,
            retrans: 2,
            rtt_us: 10_000,
            ssthresh: 20,
            cwnd: 33,
            total_retrans: 12,
            pacing_rate: 125_000,
            min_rtt_us: 9_000,
            data_segs_out: 700,
            delivery_rate: 250_000,
            delivered: 650,
            ..TcpInfo::default()
        }
    }

    fn sample(info: &TcpInfo) -> FlowSample {
        flow_sample(info, (9_000, 12_000), (4_000, 5_000), Duration::from_millis(100))
    }

    #[test]
    fn a_sample_shows_what_the_kernel_tells_and_what_has_come_since_the_one_before() {
        let row = sample(&told());
        assert_eq!((row.cwnd, row.ssthresh, row.inflight, row.pacing_rate), (33, Some(20), 33, 125_000));
        assert_eq!((row.srtt_us_x8, row.min_rtt_us, row.rtt_us), (80_000, Some(9_000), None));
        assert_eq!((row.delivery_mbps, row.delivered, row.sent, row.retransmits), (Some(2.0), 650, 700, 12));
        assert_eq!((row.sacked_out, row.packets_out, row.ca_state, row.lost), (6, 40, "recovery", None));
        assert_eq!((row.arrived.goodput_bytes, row.arrived.received_bytes), (5_000, 7_000));
        // A byte in 0.1 s.
        assert!((row.arrived.mbps_per_byte - 8e-5).abs() < 1e-12);
    }

    #[test]
    fn what_the_kernel_does_not_know_yet_is_missing() {
        let most = u32::MAX;
        let none = TcpInfo { ssthresh: INFINITE_SSTHRESH, pacing_rate: u64::MAX, min_rtt_us: most, ..told() };
        let row = sample(&TcpInfo { delivery_rate: 0, ..none });
        assert_eq!((row.ssthresh, row.pacing_rate, row.min_rtt_us, row.delivery_mbps), (None, 0, None, None));
        assert_eq!(sample(&TcpInfo { min_rtt_us: 0, ..told() }).min_rtt_us, None);
        let least = TcpInfo { ssthresh: INFINITE_SSTHRESH - 1, delivery_rate: 1, rtt_us: most, ..told() };
        let row = sample(&least);
        assert_eq!((row.ssthresh, row.srtt_us_x8), (Some(INFINITE_SSTHRESH - 1), most));
        assert!(row.delivery_mbps.is_some());
    }

    #[test]
    fn states_have_the_names_of_linux() {
        assert_eq!([0, 1, 2, 3, 4].map(state_name), ["open", "disorder", "cwr", "recovery", "loss"]);
    }

    #[test]
    fn a_controller_is_looked_into_where_it_shows_itself() {
        assert_eq!(Insight::CcInfo.names(), BBR_VALUES);
        assert_eq!(Insight::Reports.names(), bpf::VALUES);
        assert!(Insight::Nothing.names().is_empty());
    }
}
