//! The send buffer, and the application that waits for it.

use super::harness::*;
use crate::{Ack, AdvertisedWindow, SendBufferSize, TransportConfig};
use dumbbell_units::{Bytes, Duration};

fn config(send_buffer: SendBufferSize) -> TransportConfig {
    TransportConfig { send_buffer, ..TransportConfig::default() }
}

#[test]
fn an_autotuned_buffer_follows_the_window_of_an_application_that_always_writes() {
    for cwnd in [10, 100, 1_000] {
        let (mut pair, _) = Pair::fixed(&config(SendBufferSize::Autotuning), cwnd, cwnd);
        pair.write_forever();
        pair.run_until(at(1_000));
        assert_eq!(pair.sender.view().packets_out, cwnd, "the window is full");
        assert!(pair.sender.queued_segments() <= 3 * cwnd.max(45));
        assert!(pair.sender.unsent_segments() > 1_000_000, "and the application waits");
    }
}

#[test]
fn the_largest_buffer_limits_what_is_in_flight() {
    let limited = TransportConfig { send_buffer_max: 200_000, ..config(SendBufferSize::Autotuning) };
    let (mut pair, _) = Pair::fixed(&limited, 1_000, 1_000);
    pair.write_forever();
    pair.run_until(at(1_000));
    // In the buffer a segment of a burst of 45 takes 1466 bytes; the last buffer goes beyond the limit.
    let in_flight = pair.sent.iter().filter(|sent| sent.at > at(960)).count();
    assert!((90..=182).contains(&in_flight), "{in_flight}");
}

#[test]
fn without_sack_a_long_recovery_ends_at_the_buffer() {
    let send = |send_buffer| {
        let (mut pair, _) = Pair::fixed(&TransportConfig { sack: false, ..config(send_buffer) }, 100, 50);
        pair.service = Duration::from_micros(500);
        // Ten segments are lost, of which one is repaired in each round trip.
        pair.data_fate(|sent| {
            let is_lost = (1_000..1_040).contains(&sent.segment.seq) && sent.segment.seq % 4 == 0 && sent.nth == 1;
            if is_lost { Fate::Drop } else { Fate::Deliver }
        });
        pair.write_forever();
        let mut most = 0;
        for millis in 0..1_500 {
            pair.run_until(at(millis));
            most = most.max(pair.sender.view().packets_out);
        }
        most
    };
    assert!(send(SendBufferSize::Unlimited) > 400);
    // 100 segments of 2304 bytes, twice, are used up by 202 segments that leave alone and take 2280. One buffer goes
    // beyond, and what leaves of it while it is filled.
    let most = send(SendBufferSize::Autotuning);
    assert!((202..300).contains(&most), "{most}");
}

#[test]
fn a_fixed_buffer_has_twice_the_bytes_that_were_asked_for_and_does_not_grow() {
    let (mut pair, _) = Pair::fixed(&config(SendBufferSize::Fixed(Bytes::new(32_000))), 100, 100);
    pair.service = Duration::from_micros(500);
    pair.write_forever();
    pair.run_until(at(1));
    // Who writes into a window that is open sends what it writes, until the first call of 128 KiB has ended: then
    // everything has left, and there is no room to begin another buffer.
    let first = pair.sender.view().packets_out;
    assert_eq!((first, pair.sender.queued_segments()), (91, 0));
    assert_eq!(pair.sent.iter().map(|sent| sent.segment.len).max(), Some(1_448));
    assert_eq!(pair.sent.last().map(|sent| sent.segment.len), Some(752), "131,072 bytes");
    let in_flight: Vec<u32> = (500..1_000)
        .map(|millis| {
            pair.run_until(at(millis));
            pair.sender.view().packets_out
        })
        .collect();
    // It goes on when a third is free: 22 segments in bursts of two take 41,008 bytes.
    let least = in_flight.iter().copied().min();
    assert!(least.is_some_and(|least| (20..=30).contains(&least)), "{in_flight:?}");
}

#[test]
fn each_call_of_an_application_that_writes_without_end_looks_whether_it_is_the_limit() {
    let app_limited = |cwnd| {
        let (mut pair, _) = Pair::fixed(&config(SendBufferSize::Fixed(Bytes::new(32_000))), cwnd, cwnd);
        pair.write_forever();
        pair.run_until(at(1));
        (pair.sender.view().packets_out, pair.sender.control.app_limited)
    };
    // The 91 segments of the first call have left when the second one begins, and there is room in the window.
    assert_eq!(app_limited(100), (91, 1 + 91), "with the SYN");
    assert_eq!(app_limited(91), (91, 1), "the window is full, and only the first call found room");
}

#[test]
fn a_short_segment_at_the_end_of_a_call_waits_for_the_ack_of_another_one() {
    let lens = |nodelay| {
        let (mut pair, _) =
            Pair::fixed(&TransportConfig { nodelay, ..config(SendBufferSize::Fixed(Bytes::new(1 << 20))) }, 400, 400);
        pair.write_forever();
        pair.run_until(at(1));
        let lens: Vec<u16> = pair.sent.iter().map(|sent| sent.segment.len).collect();
        (lens.iter().filter(|&&len| len < 1_448).copied().collect::<Vec<_>>(), lens.len())
    };
    assert_eq!(lens(false), (vec![752], 400), "the second call adds to what is left of the third one");
    assert_eq!(lens(true), (vec![752, 752, 752, 752], 400));
}

#[test]
fn what_a_full_buffer_holds_of_a_segment_waits_for_the_ack_of_one_that_the_window_cut() {
    for nodelay in [false, true] {
        let limited = config(SendBufferSize::Fixed(Bytes::new(20_000)));
        let mut script = Scripted::new(TransportConfig { nodelay, ..limited }, 10, 10);
        script.write(1_000_000);
        // The window of an ACK, and the last segment that leaves with it.
        let released = |script: &mut Scripted, ack, window: (u32, u16)| {
            script.sender.control.cwnd = 100;
            let window = AdvertisedWindow::new(window.0, window.1);
            script.now += ms(10);
            script.sender.on_ack(script.now, &Ack { window, ..script.ack_of(ack, &[]) });
            script.send_segments().last().map(|last| (last.seq, last.len))
        };
        assert_eq!(released(&mut script, 1, (10, 500)), Some((11, 500)));
        let rest = 12 + script.sender.queued_segments() - 1;
        assert!(script.sender.send_buffer.as_ref().is_some_and(|buffer| buffer.is_awaited()), "it is full");
        let (before, after) = if nodelay { ((rest, 948), None) } else { ((rest - 1, MSS), Some((rest, 948))) };
        assert_eq!(released(&mut script, 3, (1_000, 0)), Some(before));
        assert_eq!(released(&mut script, 12, (1_000, 0)), after);
    }
}

#[test]
fn who_stops_while_waiting_still_sends_what_the_buffer_holds() {
    for (send_buffer, held) in [(SendBufferSize::Autotuning, 25), (SendBufferSize::Unlimited, 0)] {
        let (mut pair, _) = Pair::fixed(&config(send_buffer), 10, 10);
        pair.write_forever();
        pair.run_until(at(100));
        let written = pair.sender.view().snd_nxt + held;
        pair.sender.close();
        let (queued, unsent) = (pair.sender.queued_segments(), pair.sender.unsent_segments());
        assert_eq!((u64::from(queued), u64::from(unsent)), (held, held));
        pair.run_to_completion(ms(1_000));
        assert_eq!(pair.received().0, written);
    }
}
