//! Stations and an access point on one radio channel.

use super::digest::Digest;
use super::options::{LOSSES, QUEUES};
use super::traffic::TestPacket;
use super::{loss, plain, queue};
use crate::wifi::{AccessCategory, RadioLink, Wifi, WifiChannel};
use crate::{Change, Ecn, LinkConfig, LinkRate, Medium, Offer, Port, QueueLimit};
use dumbbell_units::{Duration, Rng, Time};
use serde_json::{Map, Value};
use std::sync::Arc;

const PACKETS: u32 = 400;
const GRID_NS: u64 = 100_000;

/// Options of all links.
pub const OPTIONS: [&str; 16] = [
    "{}",
    r#"{"width": "20mhz", "mcs": 4, "streams": 2, "prebuild": true, "rts_threshold": "3kB"}"#,
    r#"{"width": "40mhz", "mcs": 0, "amsdu": 3, "airtime_fairness": false, "retries": 1}"#,
    r#"{"guard_interval": "long", "device_queue": "none", "ppdu": "1ms", "category": "vi"}"#,
    r#"{"width": "20mhz", "mcs": 0, "ppdu": "2ms", "block_ack_window": 4}"#,
    r#"{"width": "20mhz", "mcs": 1, "device_queue": "all", "device_packets": 5}"#,
    r#"{"width": "20mhz", "mcs": 2, "aql_low": "1ms", "aql_high": "2ms", "aql_threshold": "3ms"}"#,
    r#"{"width": "20mhz", "mcs": 2, "device_queue": "none", "ampdu": "3000B"}"#,
    r#"{"width": "20mhz", "mcs": 2, "device_queue": "none", "amsdu": 2, "amsdu_bytes": "3000B"}"#,
    r#"{"width": "20mhz", "mcs": 3, "retries": 0, "reorder_timeout": "1ms"}"#,
    r#"{"width": "20mhz", "mcs": 3, "retries": 2, "reorder_timeout": "10ms"}"#,
    r#"{"width": "20mhz", "mcs": 1, "airtime_weight": "1ms", "rts_threshold": "1B"}"#,
    r#"{"category": "bk"}"#,
    r#"{"category": "vo", "width": "160mhz", "streams": 4}"#,
    r#"{"width": "80mhz", "mcs": 9, "streams": 3, "device_queue": "none"}"#,
    r#"{"width": "20mhz", "mcs": 1, "device_queue": "none", "airtime_fairness": false, "prebuild": true}"#,
];

/// Stations that leave and come back while packets wait in their devices.
pub const AWAY: &str = r#"{"prebuild": true, "mcs": 4, "away": {"every": "20ms", "for": "9ms", "from": "5ms"}}"#;

fn wifi(json: &str) -> Wifi {
    let wifi: Wifi = serde_json::from_str(json).unwrap();
    wifi.check().unwrap();
    wifi
}

/// Errors: a loss process, by its JSON.
type Errors = Option<&'static str>;
/// A tenth of the frames.
pub const SOME: Errors = Some(r#"{"kind": "bernoulli", "p": "10%"}"#);
const ALL: Errors = Some(r#"{"kind": "bernoulli", "p": "100%"}"#);

const DROP_TAIL: &str = r#"{"kind": "droptail"}"#;

fn link(wifi: Wifi, from: usize, to: usize, errors: Errors, station_queue: &str) -> RadioLink {
    let limit = QueueLimit { packets: Some(40), ..QueueLimit::default() };
    let loss_after = errors.map(loss);
    // Those of the access point wait in a queue that drops when they leave it.
    let kind = if from == 0 { r#"{"kind": "fq_codel", "target": "1ms", "interval": "5ms"}"# } else { station_queue };
    let queue = queue(kind, limit);
    let config = LinkConfig { rate: LinkRate::Unlimited, limit, queue, loss_after, ..plain() };
    let rng = Rng::stream(3, (10 * from + to) as u64);
    RadioLink { config, wifi: Arc::new(wifi), from, to, is_from_access_point: from == 0, rng }
}

/// Two stations with two directions each: ports 0 and 2 lead to the access point, ports 1 and 3 come from there.
fn channel(json: &str, errors: Errors, categories: &[AccessCategory], station_queue: &str) -> WifiChannel<TestPacket> {
    let slow: Map<String, Value> = serde_json::from_str(json).unwrap();
    let near = wifi(json);
    // The second station is further away.
    let far = Wifi { mcs: slow.get("mcs").map_or(2, |_| near.mcs / 2), ..near.clone() };
    let links = vec![
        link(near.clone(), 1, 0, errors, station_queue),
        link(near, 0, 1, errors, station_queue),
        link(far.clone(), 2, 0, errors, station_queue),
        link(far, 0, 2, errors, station_queue),
    ];
    WifiChannel::new(links, categories, Rng::new(5))
}

struct Radio {
    channel: WifiChannel<TestPacket>,
    digest: Digest,
    out: [u32; 4],
    dropped: u32,
}

impl Radio {
    fn note(&mut self, what: u64, at: Time, port: Port, packet: &TestPacket) {
        for value in [what, at.as_nanos(), port.into(), packet.number, packet.ecn as u64] {
            self.digest.add(value);
        }
    }

    fn run_until(&mut self, until: Time) {
        while self.channel.next_event() <= until {
            let now = self.channel.next_event();
            while let Some((port, packet)) = self.channel.poll(now) {
                self.out[usize::from(port)] += 1;
                self.note(1, now, port, &packet);
            }
            self.note_what_happened(now);
        }
    }

    fn note_what_happened(&mut self, now: Time) {
        while let Some((port, packet, cause)) = self.channel.pop_drop() {
            self.dropped += 1;
            self.note(10 + cause as u64, now, port, &packet);
        }
        while let Some((port, at, packet)) = self.channel.pop_departure() {
            self.note(2, at, port, &packet);
        }
    }

    fn offer(&mut self, now: Time, port: Port, packet: TestPacket) {
        self.channel.advance(now);
        self.note_what_happened(now);
        if let Offer::Dropped(cause) = self.channel.offer(now, port, packet) {
            self.dropped += 1;
            self.note(20 + cause as u64, now, port, &packet);
        }
        self.note_what_happened(now);
        let waiting = self.channel.count_in_flight(&|_| true);
        let memory = self.channel.memory();
        let packet = size_of::<TestPacket>() as u64;
        assert!(memory >= packet * waiting, "{memory} bytes for {waiting} packets");
        assert!(memory <= 8_192 + 16 * packet * u64::from(PACKETS), "{memory} bytes for {waiting} packets");
        let backlog = self.channel.backlog(now, port);
        for value in [backlog.packets, backlog.bytes, self.channel.count_in_flight(&|packet| packet.flow == 1)] {
            self.digest.add(value);
        }
    }

    fn row(mut self, now: Time) -> String {
        let mut row = format!("{} out {:?} dropped {}", self.digest, self.out, self.dropped);
        for port in 0..self.channel.ports() {
            let measured = self.channel.measured(now, port);
            let radio = self.channel.radio(port);
            row += &format!(
                "; {:?} max {:?} mean {:.2} p95 {} departed {} {radio:?} {:?}",
                self.channel.counters(now, port).departures,
                measured.max,
                measured.mean_bytes,
                measured.p95_bytes,
                measured.departed.packets,
                measured.radio
            );
        }
        row
    }
}

/// Departures and drops that nobody fetches take memory.
#[test]
fn what_nobody_fetches_takes_memory() {
    const SENT: u64 = 30;
    for (errors, json) in [(None, "{}"), (ALL, r#"{"retries": 0}"#)] {
        let mut channel = channel(json, errors, &[], DROP_TAIL);
        channel.report_departures(0);
        let empty = channel.memory();
        for number in 0..SENT {
            let packet = TestPacket { number: 7 * number, size: 1_500, ..TestPacket::default() };
            channel.offer(Time::ZERO, 0, packet);
        }
        while channel.next_event() < Time::NEVER {
            let now = channel.next_event();
            while channel.poll(now).is_some() {}
        }
        let claimed = channel.memory() - empty;
        let packet = size_of::<TestPacket>() as u64;
        assert!(claimed >= SENT * packet && claimed <= 32 * SENT * packet, "{claimed} bytes");
        let departures = std::iter::from_fn(|| channel.pop_departure()).count() as u64;
        let drops = std::iter::from_fn(|| channel.pop_drop()).count() as u64;
        assert_eq!((departures, drops), if errors.is_none() { (SENT, 0) } else { (SENT, SENT) });
    }
}

/// A row of the table.
pub fn run(json: &str, errors: Errors, categories: &[AccessCategory]) -> String {
    live(channel(json, errors, categories, DROP_TAIL), 4)
}

/// A channel with several things at a time, drawn by its number: what it is, and a digest of its row.
pub fn drawn(number: u64) -> String {
    let mut draws = Rng::new(number);
    let mut draw = |below: usize| draws.below(u32::try_from(below).unwrap()) as usize;
    let (json, station_queue) = (OPTIONS[draw(OPTIONS.len())], QUEUES[draw(QUEUES.len())]);
    let errors = LOSSES.get(draw(2 * LOSSES.len())).copied();
    let categories = [AccessCategory::Voice, AccessCategory::Video, AccessCategory::Background];
    let categories = &categories[..[0, 0, 1, 3][draw(4)]];
    let row = live(channel(json, errors, categories, station_queue), number);
    format!("{json}, {station_queue}, errors {errors:?}, {categories:?}: {row}")
}

/// Lets packets pass a channel; all that can be seen of it.
fn live(channel: WifiChannel<TestPacket>, seed: u64) -> String {
    let mut radio = Radio { channel, digest: Digest::new(), out: [0; 4], dropped: 0 };
    (0..4).for_each(|port| radio.channel.report_departures(port));
    let mut rng = Rng::new(seed);
    let mut now = Time::ZERO;
    for number in 0..PACKETS {
        let gaps = if (number / 150).is_multiple_of(2) { [8, 4, 2, 0, 0, 0, 0, 0] } else { [40, 16, 8, 4, 1, 0, 0, 0] };
        now = Time::from_nanos(now.as_nanos() + gaps[rng.below(8) as usize] * GRID_NS);
        radio.run_until(now);
        match number {
            100 => radio.channel.start_measuring(now),
            200 => _ = radio.channel.change(now, 1, &Change::Delay(Duration::from_millis(1))),
            250 => _ = radio.channel.change(now, 0, &Change::LossAfter(None)),
            _ => {}
        }
        let port = [0, 1, 1, 3, 3, 2][rng.below(6) as usize];
        let size = [1_500, 1_500, 750, 60][rng.below(4) as usize];
        let ecn = [Ecn::NotEct, Ecn::Ect0][rng.below(2) as usize];
        radio.offer(now, port, TestPacket { number: number.into(), size, flow: rng.below(3), ecn });
    }
    now = Time::from_nanos(now.as_nanos() + 500_000_000);
    radio.run_until(now);
    radio.row(now)
}
