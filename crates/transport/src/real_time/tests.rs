//! Both ends together.

use super::*;
use crate::endpoint::{Act, Arrival, Datagram, Handshake};
use dumbbell_units::Time;
use std::collections::VecDeque;

const MS: Duration = Duration::from_millis(1);

/// A call over a queue of any length that is served at `rate`, both ways 20 ms long. Returns both ends and the payload
/// that arrived in each second.
fn call(config: &RealTimeConfig, rate: u64, seconds: u64) -> (Box<dyn Endpoint>, Box<dyn Endpoint>, Vec<f64>) {
    let (mut near, mut far) = endpoints(config, 1_200, Ecn::NotEct);
    let (mut there, mut back) = (VecDeque::new(), VecDeque::new());
    let mut is_free = Time::ZERO;
    let mut kbps = vec![0.0; usize::try_from(seconds).unwrap()];
    near.on_application(Time::ZERO, Act::Establish(Handshake::NONE));
    let mut now = Time::ZERO;
    while now < Time::ZERO + Duration::from_secs(seconds) {
        let mut payload = Vec::new();
        while let Some(datagram) = near.poll_transmit(now, &mut payload) {
            is_free = is_free.max(now) + Duration::from_nanos(u64::from(datagram.size) * 8_000_000_000 / rate);
            there.push_back((is_free + MS * 20, datagram, std::mem::take(&mut payload)));
        }
        while let Some(datagram) = far.poll_transmit(now, &mut payload) {
            back.push_back((now + MS * 20, datagram, std::mem::take(&mut payload)));
        }
        let due = |queue: &VecDeque<(Time, Datagram, Vec<u8>)>| queue.front().map_or(Time::NEVER, |packet| packet.0);
        now = near.next_timer().min(far.next_timer()).min(due(&there)).min(due(&back));
        if due(&there) <= now {
            let (_, datagram, payload) = there.pop_front().unwrap();
            let second = usize::try_from(now.as_nanos() / 1_000_000_000).unwrap();
            if let Some(sum) = kbps.get_mut(second) {
                *sum += f64::from(datagram.size - HEADER) * 8e-3;
            }
            far.on_packet(now, Arrival { size: datagram.size, ecn: datagram.ecn, payload: &payload });
        } else if due(&back) <= now {
            let (_, datagram, payload) = back.pop_front().unwrap();
            let news = near.on_packet(now, Arrival { size: datagram.size, ecn: datagram.ecn, payload: &payload });
            assert!(news.rtt().unwrap() >= MS * 40, "{news:?}");
        } else {
            near.on_timer(now);
            far.on_timer(now);
        }
    }
    (near, far, kbps)
}

#[test]
fn a_call_ramps_up_to_its_highest_rate_where_there_is_room() {
    let (near, far, kbps) = call(&RealTimeConfig::default(), 10_000_000, 20);
    assert!(kbps[0] < 300.0, "it begins slowly: {kbps:?}");
    assert!((kbps[19] - 1_500.0).abs() < 30.0, "{kbps:?}");
    assert_eq!((near.report().lost, far.report().frames.lost, far.report().frames.late), (Some(0), 0, 0));
    assert!((595..=600).contains(&far.report().frames.complete), "{:?}", far.report().frames);
}

#[test]
fn a_call_stays_below_a_narrow_link_with_a_short_queue() {
    let (_, far, kbps) = call(&RealTimeConfig::default(), 600_000, 60);
    let mean = kbps[20..].iter().sum::<f64>() / 40.0;
    assert!((450.0..585.0).contains(&mean), "{mean}");
    // NADA's equilibrium: a queue of 10 ms * 1500 / 570 or so.
    assert!(far.report().frames.late == 0 && far.report().frames.lost == 0, "{:?}", far.report().frames);
}

#[test]
fn an_encoder_with_one_rate_keeps_it_and_the_queue_grows() {
    let fixed = Rate::from_bits_per_sec(800_000);
    let config = RealTimeConfig { min_rate: fixed, max_rate: fixed, ..RealTimeConfig::default() };
    let (_, far, kbps) = call(&config, 600_000, 20);
    assert!((kbps[19] - 577.0).abs() < 20.0, "what the link carries: {kbps:?}");
    assert!(far.report().frames.late > 300, "{:?}", far.report().frames);
}

#[test]
fn a_rate_of_less_than_a_byte_a_frame_leaves_frames_out() {
    let slow = Rate::from_bits_per_sec(1_000);
    let config = RealTimeConfig { fps: 240, min_rate: slow, max_rate: slow, ..RealTimeConfig::default() };
    let (near, far, kbps) = call(&config, 10_000_000, 10);
    assert!((kbps[5] - 1.0).abs() < 0.05, "{kbps:?}");
    assert_eq!((near.report().unsent, far.report().frames.lost), (0, 0));
}

#[test]
fn who_stops_sends_nothing_more() {
    let (mut near, _, _) = call(&RealTimeConfig::default(), 10_000_000, 2);
    near.on_application(Time::ZERO + Duration::from_secs(2), Act::Close);
    assert_eq!((near.next_timer(), near.report().unsent), (Time::NEVER, 0));
}

#[test]
fn an_act_of_the_application_says_whether_a_packet_may_leave() {
    let (mut near, _) = endpoints(&RealTimeConfig::default(), 1_200, Ecn::NotEct);
    let mut payload = Vec::new();
    assert!(near.on_application(Time::ZERO, Act::Establish(Handshake::NONE)), "the first frame is there");
    assert!(near.on_application(Time::ZERO, Act::Write { segments: 1, last_len: 100 }), "and still waits");
    while near.poll_transmit(near.next_timer().max(Time::ZERO), &mut payload).is_some() {
        payload.clear();
    }
    assert!(!near.on_application(Time::ZERO, Act::Write { segments: 1, last_len: 100 }), "a call writes by itself");
    near.on_timer(near.next_timer());
    assert!(!near.on_application(near.next_timer(), Act::Close), "what waits is given up");
    assert_eq!((near.report().unsent, near.next_timer()), (0, Time::NEVER));
}
