//! Probes of a closed receive window.

use super::harness::*;
use crate::{Ack, AdvertisedWindow, TransportConfig};
use dumbbell_units::{Duration, Time};

/// A sender of whose twenty segments ten are acknowledged by a receiver that has no room for more, at 100 ms.
fn closed() -> Scripted {
    let config = TransportConfig { timer_wheel: false, ..TransportConfig::default() };
    let mut script = Scripted::new(config, 10, 5);
    script.write(20);
    assert!(hear(&mut script, at(100), 0).is_empty());
    script
}

/// Hears an ACK of the first ten segments with a window of `window` segments; returns what leaves.
fn hear(script: &mut Scripted, time: Time, window: u32) -> Vec<u32> {
    assert!(script.advance_to(time).is_empty());
    let ack = Ack { window: AdvertisedWindow::whole(window), ..script.ack_of(10, &[]) };
    script.hear(&ack)
}

/// The next packets that leave by themselves: how many segments they have, how many bytes, and when, until `time`.
fn probes(script: &mut Scripted, time: Time) -> Vec<(u32, u64, Duration)> {
    let mut sent = Vec::new();
    while script.sender.next_timer() <= time {
        script.now = script.sender.next_timer();
        script.sender.on_timer(script.now);
        while let Some(burst) = script.sender.poll_transmit(script.now) {
            sent.push((burst.remaining(), burst.bytes, script.now.since(at(100))));
        }
    }
    sent
}

#[test]
fn a_closed_window_is_probed_without_data_after_a_timeout_and_then_ever_later() {
    let mut script = closed();
    let sent = probes(&mut script, at(5_000));
    // The timeout is 300 ms.
    assert_eq!(sent, [300, 900, 2_100, 4_500].map(|millis| (1, 0, ms(millis))));
    assert_eq!(script.sender.stats().sent_segments, 10, "a probe is no data");
}

#[test]
fn an_answer_that_keeps_the_window_closed_asks_for_the_next_probe_a_timeout_later() {
    let mut script = closed();
    assert_eq!(probes(&mut script, at(450)), [(1, 0, ms(300))]);
    assert!(hear(&mut script, at(500), 0).is_empty());
    assert_eq!(probes(&mut script, at(1_200)), [(1, 0, ms(400 + 600))]);
}

#[test]
fn an_answer_that_opens_the_window_ends_the_probes() {
    let mut script = closed();
    probes(&mut script, at(450));
    assert_eq!(hear(&mut script, at(500), 4), [10, 11, 12, 13]);
    script.ack(at(600), 14, &[]);
    let ack = Ack { window: AdvertisedWindow::whole(0), ..script.ack_of(20, &[]) };
    script.hear(&ack);
    assert!(script.sender.is_idle());
    assert!(probes(&mut script, at(10_000)).is_empty(), "nothing is left to send");
}
