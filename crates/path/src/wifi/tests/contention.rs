//! Throughput of contending stations beside what is known of it.

use super::bench::{DATA, PAYLOAD_BITS, channel, link, mbps, of_frames, pair, plain, run, saturate, secs};
use crate::medium::Medium;
use crate::testing::TestPacket;
use crate::wifi::phy::{BLOCK_ACK, Modulation, SIFS, SLOT};
use crate::wifi::{ChannelWidth, GuardInterval, Wifi};
use dumbbell_units::{Bytes, Duration};

fn near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found / wanted - 1.0).abs() <= tolerance, "{found:.1}, wanted {wanted:.1}");
}

fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// AIFS of best effort and the mean backoff of a lone sender.
const AIFS: f64 = 43e-6;
const BACKOFF: f64 = 67.5e-6;

fn fastest() -> Modulation {
    Modulation::new(ChannelWidth::Mhz80, 1, 9, GuardInterval::Short).unwrap()
}

/// What an exchange of so many bytes takes a lone sender on average.
fn cycle(bytes: u64) -> f64 {
    AIFS + BACKOFF + seconds(fastest().ppdu(bytes) + SIFS + BLOCK_ACK)
}

/// Aggregate, serial formula, two contenders, one way: the columns of the specification in Mbit/s.
const WORKED_EXAMPLE: [(u32, f64, Option<f64>, f64); 17] = [
    (1, 26.8, Some(38.0), 50.2),
    (2, 50.2, Some(65.0), 89.2),
    (4, 88.6, Some(110.0), 146.0),
    (6, 119.7, None, 185.4),
    (8, 144.4, Some(169.0), 214.3),
    (10, 165.6, None, 236.4),
    (12, 182.8, Some(206.0), 253.8),
    (16, 210.8, Some(231.0), 279.6),
    (20, 232.1, Some(249.0), 297.8),
    (24, 248.9, Some(264.0), 311.2),
    (28, 261.7, Some(274.0), 321.6),
    (32, 272.9, Some(283.0), 329.9),
    (40, 290.4, None, 342.2),
    (42, 293.6, Some(299.0), 344.6),
    (48, 303.3, Some(304.0), 350.9),
    (56, 312.7, None, 357.4),
    (64, 320.6, Some(315.0), 362.5),
];

#[test]
fn durations_give_the_serial_formula() {
    for (n, serial, _, one_way) in WORKED_EXAMPLE {
        let (data, acks) = (u64::from(n), u64::from(n.div_ceil(2)));
        let bits = PAYLOAD_BITS * f64::from(n);
        near(bits / (cycle(1560 * data) + cycle(112 * acks)) / 1e6, serial, 0.005);
        near(bits / cycle(1560 * data) / 1e6, one_way, 0.005);
    }
}

#[test]
fn a_lone_station_gets_what_its_mean_backoff_leaves() {
    for (n, _, _, one_way) in WORKED_EXAMPLE {
        let packets = saturate(&mut pair(&of_frames(n)), &[0], secs(5));
        near(mbps(packets[0], secs(5)), one_way, 0.005);
    }
}

/// A station always has `n` frames, and the access point answers two with an ACK, of which up to 64 go together.
fn with_acks(n: u32) -> f64 {
    let to_station = Wifi { ampdu: Bytes::new(1_048_575), ..plain() };
    let mut channel = channel(vec![link(of_frames(n), 1, 0, 0.0, 1), link(to_station, 0, 1, 0.0, 1)]);
    let mut unanswered = 0;
    let out = run(&mut channel, &[0], secs(10), |channel, now, port, _| {
        unanswered += u32::from(port == 0);
        if unanswered == 2 {
            unanswered = 0;
            channel.offer(now, 1, TestPacket::new(0, 52));
        }
    });
    mbps(out[0], secs(10))
}

#[test]
fn a_station_whose_access_point_answers_gets_the_throughput_of_two_contenders() {
    for (n, _, contending, _) in WORKED_EXAMPLE {
        if let Some(contending) = contending {
            near(with_acks(n), contending, 0.03);
        }
    }
}

/// Bianchi's model (2000) of `k` saturated stations whose exchange of a frame of `bytes` takes a fixed time: frames a
/// second. A station transmits in a slot with probability tau.
fn bianchi(k: i32, bytes: u64) -> f64 {
    let (window, doublings) = (16.0, 6);
    let tau_of = |p: f64| {
        2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (window + 1.0) + p * window * (1.0 - (2.0 * p).powi(doublings)))
    };
    let (mut low, mut high) = (0.0, 0.499_999);
    for _ in 0..200 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - tau_of(p)).powi(k - 1) > p { low = p } else { high = p }
    }
    let tau = tau_of(low);
    let some = 1.0 - (1.0 - tau).powi(k);
    let one = f64::from(k) * tau * (1.0 - tau).powi(k - 1);
    let exchange = AIFS + seconds(fastest().ppdu(bytes) + SIFS + BLOCK_ACK);
    let collision = exchange + seconds(SLOT);
    one / ((1.0 - some) * seconds(SLOT) + one * exchange + (some - one) * collision)
}

#[test]
fn saturated_stations_get_what_bianchi_says() {
    for k in [2, 5, 10, 20] {
        let links = (1..=k).map(|station| link(of_frames(1), station, 0, 0.0, 1)).collect();
        let ports: Vec<u16> = (0..u16::try_from(k).unwrap()).collect();
        let packets: u64 = saturate(&mut channel(links), &ports, secs(10)).iter().sum();
        near(packets as f64 / 10.0, bianchi(i32::try_from(k).unwrap(), 1560), 0.03);
    }
}

#[test]
fn two_saturated_stations_share_evenly_and_collide_in_4_to_6_percent_of_exchanges() {
    let mut channel = channel([1, 2].map(|station| link(plain(), station, 0, 0.0, 1)).to_vec());
    let packets = saturate(&mut channel, &[0, 1], secs(20));
    near(packets[0] as f64, packets[1] as f64, 0.02);
    let [first, second] = [0, 1].map(|port| channel.radio(port).unwrap());
    let exchanges = first.aggregates + second.aggregates - first.collisions;
    let collided = first.collisions as f64 / exchanges as f64;
    assert_eq!(first.collisions, second.collisions);
    assert!((0.04..0.06).contains(&collided), "{collided}");
}

#[test]
fn rts_and_cts_shorten_collisions_and_lengthen_everything_else() {
    let rate = |k: usize, rts_threshold| {
        let wifi = Wifi { rts_threshold, ..plain() };
        let links = (1..=k).map(|station| link(wifi.clone(), station, 0, 0.0, 1)).collect();
        let ports: Vec<u16> = (0..u16::try_from(k).unwrap()).collect();
        saturate(&mut channel(links), &ports, secs(5)).iter().sum::<u64>()
    };
    let always = Some(Bytes::new(0));
    assert!(rate(20, always) * 10 > rate(20, None) * 11, "{} {}", rate(20, always), rate(20, None));
    assert!(rate(1, always) * 100 < rate(1, None) * 98);
}

#[test]
fn one_that_finds_the_channel_idle_transmits_at_once() {
    let mut channel = pair(&plain());
    let now = dumbbell_units::Time::ZERO + Duration::from_millis(5);
    channel.offer(now, 0, TestPacket::new(0, DATA));
    assert_eq!(channel.next_event(), now);
    assert_eq!(channel.poll(now), None);
    assert_eq!(channel.next_event(), now + fastest().ppdu(1560));
    assert!(channel.poll(channel.next_event()).is_some());
}
