//! The seams of the engine: media that stations share, and ends that are neither TCP nor QUIC.

use super::clock::Clock;
use super::wiring::Network;
use super::*;
use crate::endpoints::{Endpoints, Ends};
use dumbbell_path::{
    Backlog, Change, DropCause, Ecn, Link, LinkCounters, Measured, Medium, Offer, Packet as _, Port, Retimed,
};
use dumbbell_results::{Table, Values};
use dumbbell_scenario::Experiment;
use dumbbell_scenario::Scenario;
use dumbbell_transport::{Arrival, Datagram, Endpoint, News, ReceiverStats, Report, SenderStats};
use dumbbell_units::Duration;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

const MS: Duration = Duration::from_millis(1);

pub(super) fn scenario(toml: &str) -> Scenario {
    let experiment = Experiment::from_toml(toml, "experiment.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{toml}"));
    (*experiment.points()[0].scenario()).clone()
}

/// Runs a scenario on a network that is built from it.
pub(super) fn run_over(scenario: &Scenario, build: impl FnOnce(&AtomicBool) -> Network) -> RunOutput {
    let cancel = AtomicBool::new(false);
    let network = build(&cancel);
    let bounds = Bounds { cancel: &cancel, max_memory: u64::MAX, series: None, plain: false };
    let recorder = tables::recorder(scenario, &network.flows);
    let clock = Clock::new(scenario, &recorder, Vec::new()).unwrap();
    let checks = Checks::new(scenario, &[], &cancel).unwrap();
    Engine::over(network, scenario.into(), bounds, recorder, clock, checks).run().unwrap()
}

fn values<'t>(table: &'t Table, column: &str) -> &'t Values {
    &table.columns.iter().find(|found| found.name == column).unwrap_or_else(|| panic!("{column}")).values
}

fn counts(table: &Table, column: &str) -> Vec<u64> {
    let Values::Count(counts) = values(table, column) else { panic!("{column} is a count") };
    counts.clone()
}

fn floats(table: &Table, column: &str) -> Vec<f64> {
    let Values::Float(floats) = values(table, column) else { panic!("{column} is a number") };
    floats.clone()
}

#[test]
fn traffic_weighs_its_flows_and_numbers_and_leaves_distributions_to_themselves() {
    let scenario = scenario(
        r#"
        duration = "5s"
        record.series = false
        path = { rate = "20mbit", rtt = "40ms", jitter = { amount = "9ms", reorders = true } }
        traffic = [{ kind = "request-response", cc = "reno", users = 200, think = "500ms", size = "20kB" }]
        "#,
    );
    let cancel = AtomicBool::new(false);
    let bounds = Bounds { cancel: &cancel, max_memory: u64::MAX, series: None, plain: false };
    let mut engine = Engine::new(&scenario, Vec::new(), bounds).unwrap();
    super::turns(&mut engine).unwrap();
    let places = engine.traffic.spawned.places();
    let flows: usize = engine.flows.iter().map(Flow::memory).sum();
    let weight = engine.traffic.memory(&engine.flows);
    let rows = (engine.traffic.completions.len() * size_of::<dumbbell_results::Completion>()) as u64;
    assert!(places > 150 && engine.traffic.spawned.memory() > 40 * places as u64);
    assert!(weight >= flows as u64 + rows + engine.traffic.spawned.memory(), "{weight}");
    assert!(engine.flows.iter().map(Flow::histograms).sum::<usize>() > 2_500);
    for flow in &mut engine.flows {
        flow.rtt = results::Histogram::default();
    }
    assert_eq!(engine.traffic.memory(&engine.flows), weight, "distributions are weighed by themselves");
}

/// A wire on which only one station can send at a time. Those that have something to send take turns.
struct HalfDuplex {
    ports: Vec<Station>,
    delay: Duration,
    nanos_per_byte: u64,
    free_at: Time,
    turn: usize,
    /// What has been sent, with the time of its arrival and the port.
    sent: VecDeque<(Time, Port, Packet)>,
    drops: VecDeque<(Port, Packet, DropCause)>,
    departures: VecDeque<(Port, Time, Packet)>,
}

#[derive(Default)]
struct Station {
    waiting: VecDeque<Packet>,
    counters: LinkCounters,
    before: LinkCounters,
}

/// More than so many packets do not wait at a station.
const ROOM: usize = 50;

impl HalfDuplex {
    fn new(ports: usize, delay: Duration, nanos_per_byte: u64) -> HalfDuplex {
        HalfDuplex {
            ports: (0..ports).map(|_| Station::default()).collect(),
            delay,
            nanos_per_byte,
            free_at: Time::ZERO,
            turn: 0,
            sent: VecDeque::new(),
            drops: VecDeque::new(),
            departures: VecDeque::new(),
        }
    }

    fn next_transmission(&self) -> Time {
        if self.ports.iter().any(|port| !port.waiting.is_empty()) { self.free_at } else { Time::NEVER }
    }

    /// Makes the transmissions that begin by `now`.
    fn transmit_until(&mut self, now: Time) {
        while self.next_transmission() <= now {
            while self.ports[self.turn].waiting.is_empty() {
                self.turn = (self.turn + 1) % self.ports.len();
            }
            let station = &mut self.ports[self.turn];
            let Some(packet) = station.waiting.pop_front() else { return };
            let departs = self.free_at + Duration::from_nanos(u64::from(packet.size()) * self.nanos_per_byte);
            station.counters.departures.packets += 1;
            station.counters.departures.bytes += u64::from(packet.size());
            let port = Port::try_from(self.turn).unwrap();
            self.departures.push_back((port, departs, packet));
            self.sent.push_back((departs + self.delay, port, packet));
            self.free_at = departs;
            self.turn = (self.turn + 1) % self.ports.len();
        }
    }
}

impl Medium<Packet> for HalfDuplex {
    fn ports(&self) -> Port {
        Port::try_from(self.ports.len()).unwrap()
    }

    fn name(&self, port: Port) -> &str {
        ["up", "down"][usize::from(port)]
    }

    fn offer(&mut self, now: Time, port: Port, packet: Packet) -> Offer {
        self.transmit_until(now);
        let station = &mut self.ports[usize::from(port)];
        station.counters.arrivals.packets += 1;
        if station.waiting.len() >= ROOM {
            station.counters.drops[DropCause::QueueFull].packets += 1;
            return Offer::Dropped(DropCause::QueueFull);
        }
        station.waiting.push_back(packet);
        self.free_at = self.free_at.max(now);
        Offer::Accepted { departs: None }
    }

    fn poll(&mut self, now: Time) -> Option<(Port, Packet)> {
        self.transmit_until(now);
        let (arrives, port, packet) = self.sent.pop_front()?;
        if arrives > now {
            self.sent.push_front((arrives, port, packet));
            return None;
        }
        Some((port, packet))
    }

    fn next_event(&self) -> Time {
        self.sent.front().map_or(Time::NEVER, |sent| sent.0).min(self.next_transmission())
    }

    fn pop_drop(&mut self) -> Option<(Port, Packet, DropCause)> {
        self.drops.pop_front()
    }

    fn decides_late(&self, _port: Port) -> bool {
        true
    }

    fn report_departures(&mut self, _port: Port) {}

    fn pop_departure(&mut self) -> Option<(Port, Time, Packet)> {
        self.departures.pop_front()
    }

    fn advance(&mut self, now: Time) {
        self.transmit_until(now);
    }

    fn change(&mut self, _now: Time, _port: Port, _change: &Change) -> Vec<Retimed<Packet>> {
        Vec::new()
    }

    fn backlog(&mut self, now: Time, port: Port) -> Backlog {
        self.transmit_until(now);
        Backlog { packets: self.ports[usize::from(port)].waiting.len() as u64, bytes: 0 }
    }

    fn counters(&mut self, now: Time, port: Port) -> LinkCounters {
        self.transmit_until(now);
        self.ports[usize::from(port)].counters
    }

    fn capacity_bits(&self, _port: Port, since: Time, until: Time) -> Option<u64> {
        Some(until.since(since).as_nanos() * 8 / self.nanos_per_byte)
    }

    fn start_measuring(&mut self, now: Time) {
        self.transmit_until(now);
        self.ports.iter_mut().for_each(|port| port.before = port.counters);
    }

    fn measured(&mut self, now: Time, port: Port) -> Measured {
        self.transmit_until(now);
        let Station { counters, before, .. } = self.ports[usize::from(port)];
        let mut departed = counters.departures;
        departed.packets -= before.departures.packets;
        departed.bytes -= before.departures.bytes;
        Measured { before, departed, ..Measured::default() }
    }

    fn count_in_flight(&self, is_meant: &dyn Fn(&Packet) -> bool) -> u64 {
        let waiting = self.ports.iter().flat_map(|port| &port.waiting);
        let sent = self.sent.iter().map(|(_, _, packet)| packet);
        waiting.chain(sent).filter(|packet| is_meant(packet)).count() as u64
    }

    fn memory(&self) -> u64 {
        0
    }
}

/// A dumbbell without a bar: both directions of its links are ports of one half-duplex wire.
fn over_half_duplex(scenario: &Scenario) -> RunOutput {
    assert_eq!(scenario.links.len(), 2);
    run_over(scenario, |cancel| {
        let wire = HalfDuplex::new(2, MS * 10, 800);
        let entries = [0, 1].map(|port| Entry { medium: 0, port }).to_vec();
        Network::over(Media::new(Vec::new(), vec![Box::new(wire)]), entries, scenario, cancel).unwrap()
    })
}

const BULK: &str = r#"
    duration = "10s"
    warmup = "2s"
    record.interval = "100ms"
    path = { rate = "10mbit", rtt = "20ms", buffer = "50packets" }
    flows = [{ cc = "reno" }, { cc = "cubic", transport = "quic" }]
"#;

#[test]
fn stations_share_a_medium_and_acks_take_their_part_of_it() {
    let output = over_half_duplex(&scenario(BULK));
    // Ten megabits, all of which is used: what acknowledgements take is missing in the data.
    let departed = floats(&output.links, "throughput_mbps");
    assert_eq!(departed.len(), 2, "a row for each port");
    assert!((departed.iter().sum::<f64>() - 10.0).abs() < 0.05, "{departed:?}");
    assert!(departed[0] > 9.0 && departed[1] > 0.1, "{departed:?}");
    let goodput = floats(&output.flows, "goodput_mbps");
    assert!(goodput.iter().all(|&mbps| mbps > 1.0), "{goodput:?}");
    // What the flows sent on the wire is what left at the first port.
    let wire: f64 = floats(&output.flows, "throughput_mbps").iter().sum();
    assert!((wire - departed[0]).abs() < 0.01, "{wire} {departed:?}");
    let drops = counts(&output.links, "drops_total");
    assert!(drops[0] > 0, "its queue was full");
    assert!(!output.link_series.columns.is_empty());
    assert_eq!(values(&output.links, "name"), &Values::Text(vec!["up".into(), "down".into()]));
}

#[test]
fn over_links_the_same_flows_have_the_medium_to_themselves() {
    let output = run_over(&scenario(BULK), |cancel| Network::new(&scenario(BULK), cancel).unwrap());
    assert!(floats(&output.links, "throughput_mbps")[0] > 9.95);
}

#[test]
fn links_that_are_taken_for_shared_media_carry_as_links_do() {
    let scenario = scenario(
        r#"
        duration = "5s"
        record.series = false
        path = { rate = "10mbit", rtt = "40ms", buffer = "50packets", loss = "1%", duplicate = "30%", jitter = { amount = "5ms", reorders = true } }
        flows = [{ cc = "reno", rate = "200kbit" }, { cc = "cubic", transport = "quic", start = "1s" }]
        "#,
    );
    let over_links = run_over(&scenario, |cancel| Network::new(&scenario, cancel).unwrap());
    let over_media = run_over(&scenario, |cancel| {
        let boxed = |link: Link<Packet>| Box::new(link) as Box<dyn Medium<Packet>>;
        let links = (0..scenario.links.len()).map(|link| dumbbell_network::wire(&scenario, link));
        let media = links.map(boxed).collect();
        let entries = Entry::of_links(scenario.links.len());
        Network::over(Media::new(Vec::new(), media), entries, &scenario, cancel).unwrap()
    });
    let tables = |output: RunOutput| format!("{:?} {:?}", output.flows, output.links);
    assert_eq!(tables(over_media), tables(over_links));
}

/// Sends `left` probes, one every ten milliseconds, and measures their round trips.
struct Prober {
    left: u32,
    next: Time,
    sent: SenderStats,
}

impl Endpoint for Prober {
    fn on_packet(&mut self, now: Time, packet: Arrival<'_>) -> News {
        let sent_at = packet.payload.first_chunk().map(|bytes| Time::from_nanos(u64::from_le_bytes(*bytes)));
        News::of_answer(sent_at.map(|sent_at| now.since(sent_at)), false)
    }

    fn on_timer(&mut self, _now: Time) {}

    fn next_timer(&self) -> Time {
        if self.left > 0 { self.next } else { Time::NEVER }
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        if self.next_timer() > now {
            return None;
        }
        self.left -= 1;
        self.next = now + MS * 10;
        self.sent.sent_segments += 1;
        payload.extend(now.as_nanos().to_le_bytes());
        // More than a short payload holds.
        payload.resize(100, 7);
        Some(Datagram { size: 1_000, ecn: Ecn::NotEct })
    }

    fn report(&self) -> Report<'_> {
        Report { sent: Some(&self.sent), is_connectionless: true, ..Report::default() }
    }
}

/// Sends back what it gets, as small packets.
#[derive(Default)]
struct Echo {
    waiting: VecDeque<Vec<u8>>,
    received: ReceiverStats,
}

impl Endpoint for Echo {
    fn on_packet(&mut self, _now: Time, packet: Arrival<'_>) -> News {
        assert_eq!((packet.payload.len(), packet.size), (100, 1_000));
        self.received.arrived_segments += 1;
        self.waiting.push_back(packet.payload[..8].to_vec());
        News::default()
    }

    fn on_timer(&mut self, _now: Time) {}

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn poll_transmit(&mut self, _now: Time, payload: &mut Vec<u8>) -> Option<Datagram> {
        assert!(payload.is_empty());
        payload.extend(self.waiting.pop_front()?);
        Some(Datagram { size: 100, ecn: Ecn::NotEct })
    }

    fn report(&self) -> Report<'_> {
        Report { received: Some(&self.received), ..Report::default() }
    }
}

#[test]
fn a_probe_is_an_end_of_a_flow_with_a_file_of_its_own() {
    let scenario = scenario(
        r#"
        duration = "3s"
        record.interval = "100ms"
        path = { rate = "8mbit", rtt = "40ms", buffer = "50packets", loss = "10%" }
        flows = [{ cc = "reno", start = "1s" }]
        "#,
    );
    let output = run_over(&scenario, |cancel| {
        let mut network = Network::new(&scenario, cancel).unwrap();
        let near = Prober { left: 150, next: Time::ZERO, sent: SenderStats::default() };
        network.flows[0].ends = Endpoints::Other(Ends { near: Box::new(near), far: Box::<Echo>::default() });
        network
    });
    let [sent, drops] = ["sent_total", "network_drops_total"].map(|column| counts(&output.flows, column)[0]);
    let lost: u64 = counts(&output.links, "losses_total").iter().sum();
    assert_eq!(sent, 150);
    assert!((5..30).contains(&drops) && drops == lost, "{drops} of 150 probes, {lost} packets");
    // A millisecond of transmission there, and none back.
    assert_eq!(floats(&output.flows, "min_rtt_ms"), [41.0]);
    assert!((floats(&output.flows, "mean_rtt_ms")[0] - 41.0).abs() < 0.01);
    let Values::Float(cwnd) = values(&output.series, "cwnd") else { panic!("a number") };
    assert_eq!(cwnd.len(), 20, "no controller, and a sample of what there is all the same");
}

#[test]
fn a_link_and_a_shared_medium_are_numbered_together() {
    let link = scenario(BULK).links[0].config.clone();
    let mut media = Media::<Packet>::new(
        vec![Link::new(link, dumbbell_units::Rng::new(1))],
        vec![Box::new(HalfDuplex::new(2, MS, 800))],
    );
    assert_eq!((media.len(), media.get(0).ports(), media.get(1).ports()), (2, 1, 2));
    assert!(media.link_mut(0).is_some() && media.link_mut(1).is_none());
    let mut names = Vec::new();
    let entries = [(1, 1), (0, 0), (1, 0)].map(|(medium, port)| Entry { medium, port });
    for_each_link(&mut media, &entries, |medium, port| names.push(medium.name(port).to_owned()));
    assert_eq!(names, ["down", "bottleneck", "up"]);
}
