//! Aggregates, errors, order, what is kept.

use super::bench::{Channel, DATA, channel, link, mbps, of_frames, pair, plain, run, saturate, secs};
use crate::LinkContext;
use crate::ledger::DropCause;
use crate::medium::Medium;
use crate::queue::{Codel, QueueRecipe};
use crate::testing::TestPacket;
use crate::wifi::{DeviceQueue, Wifi};
use dumbbell_units::{Bytes, Duration, Time};
use proptest::prelude::*;

fn mean_aggregate(channel: &Channel) -> f64 {
    let radio = channel.radio(0).unwrap();
    radio.packets as f64 / radio.aggregates as f64
}

fn aggregate_of(wifi: &Wifi) -> f64 {
    let mut channel = pair(wifi);
    saturate(&mut channel, &[0], secs(1));
    mean_aggregate(&channel)
}

#[test]
fn an_aggregate_holds_what_its_bytes_its_window_and_its_duration_allow() {
    assert_eq!(aggregate_of(&plain()), 42.0, "65,535 bytes");
    assert_eq!(aggregate_of(&of_frames(64)), 64.0, "the Block-ACK window");
    assert_eq!(aggregate_of(&Wifi { mcs: 0, ..plain() }), 10.0, "4 ms at 32.5 Mbit/s");
    assert_eq!(aggregate_of(&Wifi { mcs: 0, ppdu: Duration::from_micros(1), ..plain() }), 1.0, "at least one");
}

#[test]
fn packets_that_share_an_mpdu_make_larger_aggregates_with_fewer_headers() {
    let shared = Wifi { amsdu: 3, amsdu_bytes: Bytes::new(7_935), ..plain() };
    assert_eq!(aggregate_of(&shared), 42.0, "3 packets take 4 + 46 + 3 x 1524 bytes, of which 14 fit");
    let large = Wifi { ampdu: Bytes::new(1_048_575), streams: 2, ..shared };
    assert_eq!(aggregate_of(&large), 64.0 * 3.0);
    assert!(aggregate_of(&Wifi { amsdu_bytes: Bytes::new(3_839), ..large }) == 64.0 * 2.0, "two packets fit");
}

#[test]
fn a_prebuilt_aggregate_is_what_waited_when_the_one_before_started() {
    // Fifteen packets wait, of which ten fit into an aggregate; ten more come while these are on the air.
    let aggregates = |prebuild| {
        let mut channel = pair(&Wifi { prebuild, ampdu: Bytes::new(10 * 1_560), ..plain() });
        let offer = |channel: &mut Channel, now, numbers: std::ops::Range<u64>| {
            for number in numbers {
                channel.offer(now, 0, TestPacket::new(number, DATA));
            }
        };
        offer(&mut channel, Time::ZERO, 0..15);
        let start = channel.next_event();
        assert_eq!(channel.poll(start), None);
        offer(&mut channel, start + Duration::from_micros(1), 15..25);
        let mut arrivals = Vec::new();
        run(&mut channel, &[], secs(1), |_, now, _, _| arrivals.push(now));
        arrivals.chunk_by(|a, b| a == b).map(<[Time]>::len).collect::<Vec<_>>()
    };
    assert_eq!(aggregates(false), [10, 10, 5]);
    assert_eq!(aggregates(true), [10, 5, 10]);
}

/// Runs a saturated station, with twenty frames an aggregate, whose frames fail with probability `error`.
fn with_errors(error: f64, retries: u32) -> (Channel, Vec<u64>, Vec<u64>) {
    let wifi = Wifi { retries, ampdu: Bytes::new(20 * 1_560), ..plain() };
    let mut channel = channel(vec![link(wifi.clone(), 1, 0, error, 3), link(wifi, 0, 1, 0.0, 3)]);
    let mut numbers = Vec::new();
    let out = run(&mut channel, &[0], secs(2), |_, _, _, packet| numbers.push(packet.number));
    (channel, out, numbers)
}

#[test]
fn frames_that_fail_are_sent_again_in_order_and_cost_what_they_fail() {
    let clean = with_errors(0.0, 7).1[0];
    let (mut channel, out, numbers) = with_errors(0.1, 7);
    assert!(numbers.iter().enumerate().all(|(place, &number)| number == place as u64), "in order, and none is missing");
    let share = out[0] as f64 / clean as f64;
    assert!((0.89..0.91).contains(&share), "{share}");
    assert_eq!(channel.counters(Time::ZERO + secs(2), 0).drops[DropCause::LossAfter].packets, 0);
    let radio = channel.radio(0).unwrap();
    let again = radio.retries as f64 / radio.packets as f64;
    assert!((0.09..0.11).contains(&again), "{again}");
    assert!(channel.pop_drop().is_none());
}

#[test]
fn a_frame_that_fails_too_often_is_lost_and_others_do_not_wait_for_it() {
    let (mut channel, _, numbers) = with_errors(0.3, 1);
    assert!(numbers.is_sorted());
    let lost = channel.counters(Time::ZERO + secs(2), 0).drops[DropCause::LossAfter].packets;
    let share = lost as f64 / (lost + numbers.len() as u64) as f64;
    assert!((0.08..0.10).contains(&share), "0.3 squared: {share}");
    let reported = std::iter::from_fn(|| channel.pop_drop()).count() as u64;
    assert_eq!(reported, lost);
}

#[test]
fn a_device_holds_no_more_airtime_than_its_limit() {
    let held = |device_queue, aql_high| {
        let wifi =
            Wifi { device_queue, aql_high, aql_low: aql_high.min(Duration::from_millis(5)), mcs: 0, ..Wifi::default() };
        let mut channel = pair(&wifi);
        for number in 0..500 {
            channel.offer(Time::ZERO, 0, TestPacket::new(number, DATA));
        }
        channel.lanes[0].pending.as_secs_f64() * 1e3
    };
    let frame_ms = 1560.0 * 8.0 / 32.5e3;
    let limited = held(DeviceQueue::Aql, Duration::from_millis(12));
    assert!((12.0..12.0 + frame_ms).contains(&limited), "{limited}");
    let less = held(DeviceQueue::Aql, Duration::from_millis(2));
    assert!((2.0..2.0 + frame_ms).contains(&less), "{less}");
    assert!(held(DeviceQueue::All, Duration::from_millis(12)) > 190.0);
    assert_eq!(held(DeviceQueue::None, Duration::from_millis(12)), 0.0);
}

#[test]
fn a_device_that_takes_everything_is_full_at_some_time() {
    let wifi = Wifi { device_queue: DeviceQueue::All, device_packets: 40, ..Wifi::default() };
    let mut channel = pair(&wifi);
    for number in 0..500 {
        channel.offer(Time::ZERO, 0, TestPacket::new(number, DATA));
    }
    let lane = &channel.lanes[0];
    let frame = lane.pending.as_nanos() / 40;
    assert_eq!(lane.pending.as_nanos(), 40 * frame, "so much waits in the device, or was taken from it");
    assert!(lane.packets().count() > 300 && lane.queue_ready() == Time::ZERO, "the rest waits in the queue");
}

#[test]
fn what_codel_drops_when_the_device_hears_the_block_ack_is_told_to_who_asks_then() {
    let wifi =
        Wifi { mcs: 0, aql_low: Duration::from_millis(2), aql_high: Duration::from_millis(2), ..Wifi::default() };
    let mut up = link(wifi.clone(), 1, 0, 0.0, 1);
    up.config.queue = QueueRecipe::of(Codel::default(), &LinkContext::default()).unwrap();
    let mut channel = channel(vec![up, link(wifi, 0, 1, 0.0, 1)]);
    for number in 0..1_000 {
        channel.offer(Time::ZERO, 0, TestPacket::new(number, DATA));
    }
    let mut told = 0;
    while channel.next_event() < Time::NEVER {
        let now = channel.next_event();
        while channel.poll(now).is_some() {}
        assert_eq!(channel.pop_drop(), None, "the exchange itself drops nothing");
        let end = channel.race.idle_since();
        channel.advance(Time::from_nanos(end.as_nanos() - 1));
        assert_eq!(channel.pop_drop(), None, "it is under way");
        channel.advance(end);
        told += std::iter::from_fn(|| channel.pop_drop()).count();
    }
    let now = channel.race.idle_since();
    assert_eq!(told as u64, channel.counters(now, 0).drops[DropCause::Aqm].packets);
    assert!(told > 3, "{told}");
}

#[test]
fn a_device_takes_what_a_shaper_lets_go_at_its_time() {
    let six_megabits = serde_json::json!({ "rate": "6mbit", "burst": "1packets" });
    let shaper = crate::queue::catalog().resolve("tbf", six_megabits.as_object().unwrap(), &LinkContext::default());
    let shaper = shaper.unwrap();
    for device_queue in [DeviceQueue::Aql, DeviceQueue::None, DeviceQueue::All] {
        let wifi = Wifi { device_queue, ..Wifi::default() };
        let mut up = link(wifi.clone(), 1, 0, 0.0, 1);
        up.config.queue = shaper.clone();
        let mut channel = channel(vec![up, link(wifi, 0, 1, 0.0, 1)]);
        for number in 0..10 {
            channel.offer(Time::ZERO, 0, TestPacket::new(number, DATA));
        }
        let mut arrivals = Vec::new();
        for _ in 0..100 {
            let now = channel.next_event().min(Time::ZERO + secs(1));
            arrivals.extend(std::iter::from_fn(|| channel.poll(now)).map(|(_, packet)| (packet.number, now)));
        }
        // A packet every two milliseconds, and up to 250 us for the backoff and the frame.
        let in_time = arrivals.iter().all(|&(number, now)| {
            let let_go = Time::ZERO + Duration::from_millis(2 * number);
            (let_go..let_go + Duration::from_micros(250)).contains(&now)
        });
        assert!(in_time && arrivals.len() == 10, "{device_queue:?}: {arrivals:?}");
    }
}

#[test]
fn a_deep_device_queue_delays_what_comes_last() {
    let goodput =
        |device_queue| mbps(saturate(&mut pair(&Wifi { device_queue, ..Wifi::default() }), &[0], secs(2))[0], secs(2));
    let [aql, none] = [DeviceQueue::Aql, DeviceQueue::None].map(goodput);
    assert!((aql / none - 1.0).abs() < 0.01, "12 ms are enough for full aggregates: {aql} {none}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_packet_arrives_once_in_order_or_is_counted_as_dropped(
        offers in proptest::collection::vec((0u16..4, 0u64..3_000, 1usize..40), 1..60),
        error in 0.0f64..0.6,
        retries in 0u32..4,
        prebuild in any::<bool>(),
        amsdu in 1u32..5,
        window in 1u32..=64,
        device in 0usize..3,
        rts in any::<bool>(),
    ) {
        let device_queue = [DeviceQueue::Aql, DeviceQueue::None, DeviceQueue::All][device];
        let wifi = Wifi {
            retries, prebuild, amsdu, block_ack_window: window, device_queue,
            rts_threshold: rts.then(|| Bytes::new(3_000)), amsdu_bytes: Bytes::new(7_935), ..Wifi::default()
        };
        let ends = [(1, 0), (0, 1), (2, 0), (0, 2)];
        let mut channel = channel(ends.map(|(from, to)| link(wifi.clone(), from, to, error, 5)).to_vec());
        let mut now = Time::ZERO;
        let (mut sent, mut seen) = ([0u64; 4], [0u64; 4]);
        let (mut refused, mut arrived) = (0, 0);
        let mut take = |channel: &mut Channel, now: Time| {
            while let Some((port, packet)) = channel.poll(now) {
                assert!(packet.number >= seen[usize::from(port)], "in order");
                seen[usize::from(port)] = packet.number + 1;
                arrived += 1;
            }
        };
        for (port, wait_us, burst) in offers {
            let next = now + Duration::from_micros(wait_us);
            while channel.next_event() <= next {
                let at = channel.next_event();
                take(&mut channel, at);
            }
            now = next;
            for _ in 0..burst {
                let packet = TestPacket::new(sent[usize::from(port)], 60 + 11 * u32::from(port) * 100);
                sent[usize::from(port)] += 1;
                refused += u64::from(matches!(channel.offer(now, port, packet), crate::Offer::Dropped(_)));
            }
        }
        while channel.next_event() < Time::NEVER {
            let at = channel.next_event();
            take(&mut channel, at);
            now = at;
        }
        let lost = std::iter::from_fn(|| channel.pop_drop()).count() as u64;
        prop_assert_eq!(sent.iter().sum::<u64>(), arrived + lost + refused);
        prop_assert_eq!(channel.count_in_flight(&|_| true), 0);
        for port in 0..4 {
            prop_assert_eq!(channel.backlog(now, port).packets, 0);
            let counters = channel.counters(now, port);
            prop_assert_eq!(counters.arrivals.packets, counters.departures.packets + counters.drops[DropCause::QueueFull].packets);
        }
    }
}
