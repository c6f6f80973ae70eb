//! Delivery-rate samples: one an ACK, from the segment sent last among those it delivered.
//!
//! The handshake counts as one delivered packet, so `prior_delivered` of a first flight is 1.

use super::harness::*;
use crate::sender::Sender;
use crate::{Ack, Completion, EcnUse, Handshake, InFlightByBuffer, Pacing, Segment, Timestamp, TransportConfig};
use dumbbell_cc_contract::{Control, Controller, Needs, View};
use dumbbell_recovery::scoreboard::flag;
use dumbbell_units::{Duration, Time};

/// An ACK for every segment.
fn every() -> TransportConfig {
    TransportConfig { ack_every: 1, compress_sacks: false, ..TransportConfig::default() }
}

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// Packets delivered per second according to a sample.
fn rate(heard: &Heard) -> f64 {
    f64::from(heard.sample.delivered) * 1e6 / heard.sample.interval_us as f64
}

/// A bulk sender with a constant window over a link of `service` per packet and 40 ms of round trip.
fn bulk(cwnd: u32, service: Duration) -> Pair {
    let (mut pair, _) = Pair::fixed(&every(), cwnd, cwnd / 2);
    pair.service = service;
    pair.write_forever();
    pair
}

#[test]
fn back_to_back_packets_on_an_empty_pipe_are_measured_from_their_sending() {
    let mut pair = bulk(10, ms(1));
    pair.run_until(at(50));
    for (heard, k) in pair.heard[..10].iter().zip(1..) {
        let sample = heard.sample;
        assert_eq!((sample.prior_delivered, sample.delivered), (1, k));
        assert_eq!(sample.interval_us, 40_000 + 1_000 * i64::from(k));
        assert_eq!(sample.prior_mstamp_us, START.as_micros());
        assert!(rate(heard) < 1_000.0);
    }
}

#[test]
fn a_full_pipe_measures_the_link_rate_and_never_more() {
    let mut pair = bulk(60, ms(1));
    pair.run_until(at(1_000));
    for heard in &pair.heard[120..] {
        let per_interval = 1e6 / heard.sample.interval_us as f64;
        assert!(rate(heard) <= 1_000.0 && rate(heard) >= 1_000.0 - per_interval, "{heard:?}");
    }
}

#[test]
fn an_underfilled_pipe_measures_a_window_per_round_trip() {
    let mut pair = bulk(8, ms(2));
    pair.run_until(at(1_000));
    for heard in &pair.heard[16..] {
        assert_eq!((heard.sample.delivered, heard.sample.interval_us), (8, 42_000));
    }
}

#[test]
fn compressed_acks_do_not_measure_more_than_was_sent() {
    let mut pair = bulk(60, ms(1));
    pair.ack_fate(|sent, _| {
        let held = sent >= at(480) && sent < at(530);
        if held { Fate::HoldUntil(at(550)) } else { Fate::Deliver }
    });
    pair.run_until(at(550));
    let released: Vec<_> = pair.heard.iter().filter(|heard| heard.at == at(550)).collect();
    assert!(released.len() >= 49);
    for heard in released {
        assert!(rate(heard) <= 1_000.0, "{heard:?}");
    }
}

#[test]
fn a_burst_into_a_slower_link_measures_the_link() {
    let mut pair = bulk(60, ms(1));
    pair.ack_fate(|sent, _| {
        let held = sent >= at(480) && sent < at(530);
        if held { Fate::HoldUntil(at(550)) } else { Fate::Deliver }
    });
    pair.run_until(at(800));
    let burst = pair.sent.iter().filter(|sent| sent.at == at(550)).count();
    assert!(burst >= 49, "{burst} at once");
    for heard in pair.heard.iter().filter(|heard| heard.at > at(550)) {
        assert!(rate(heard) <= 1_000.0, "{heard:?}");
    }
}

// Application limits

#[test]
fn a_write_into_an_unfilled_window_marks_what_is_sent_until_the_gap_has_left_the_pipe() {
    let mut script = Scripted::new(TransportConfig::default(), 10, 5);
    script.write(3);
    script.now = at(50);
    script.write(20);
    assert_eq!(script.control().app_limited, 1 + 3);
    let is_marked = |script: &Scripted, seq| script.sender.board.get(seq).has(flag::APP_LIMITED);
    // Delivered reaches the mark, but does not exceed it.
    assert_eq!(script.ack(at(100), 3, &[]), [10, 11, 12]);
    assert_eq!(script.control().app_limited, 4);
    assert!((3..13).all(|seq| is_marked(&script, seq)));
    assert_eq!(script.ack(at(150), 5, &[]), [13, 14]);
    assert!(script.sample().is_app_limited);
    assert_eq!(script.control().app_limited, 0);
    assert!((13..15).all(|seq| !is_marked(&script, seq)));
    script.ack(at(255), 15, &[]);
    assert!(!script.sample().is_app_limited);
}

#[test]
fn a_full_window_or_an_unrepaired_loss_is_not_the_application() {
    let mut script = Scripted::new(TransportConfig::default(), 10, 5);
    script.write(10);
    script.write(1);
    assert_eq!(script.control().app_limited, 1, "only the first write found room");

    let mut script = Scripted::new(TransportConfig::default(), 10, 2);
    script.write(10);
    script.ack(at(100), 0, &[(4, 10)]);
    assert_eq!((script.view().lost_out, script.view().retrans_out), (4, 2));
    script.sender.write(script.now, 1, MSS);
    assert_eq!(script.control().app_limited, 0);
}

#[test]
fn data_in_the_hosts_own_queue_is_not_the_application() {
    let config = TransportConfig { completion: Completion::Wire, ..TransportConfig::default() };
    let mut script = Scripted::new(config, 10, 5);
    script.sender.write(script.now, 2, MSS);
    while let Some(burst) = script.sender.poll_transmit(script.now) {
        script.sender.handed_over(burst.bytes, at(5));
    }
    script.now = at(4);
    script.sender.write(script.now, 1, MSS);
    assert_eq!(script.control().app_limited, 1, "only the first write found an empty host");
    script.send();
    script.now = at(5);
    script.sender.write(script.now, 1, MSS);
    assert_eq!(script.control().app_limited, 1 + 3);
}

// Sources of a sample

#[test]
fn reported_duplicates_count_as_delivered_unless_nothing_was_sent_twice() {
    let mut script = Scripted::bulk(10, 5);
    script.ack(at(100), 5, &[]);
    script.ack(at(101), 5, &[(0, 1)]);
    assert_eq!(script.view().delivered, 1 + 5);

    let mut script = Scripted::bulk(10, 5);
    script.ack(at(100), 0, &[(1, 4)]);
    script.ack(at(210), 4, &[(0, 1)]);
    assert_eq!(script.view().delivered, 1 + 4 + 1);
}

#[test]
fn a_packet_is_delivered_and_measured_when_it_is_sacked_and_not_again_when_it_is_acked() {
    let mut script = Scripted::bulk(10, 5);
    script.ack(at(100), 0, &[(1, 2)]);
    assert_eq!((script.sample().acked_sacked, script.sample().prior_delivered), (1, 1));
    assert_eq!(script.view().delivered, 2);
    script.ack(at(110), 2, &[]);
    // Only segment 0 is new.
    assert_eq!((script.sample().acked_sacked, script.view().delivered), (1, 3));
    assert_eq!(script.sample().tx_in_flight, 1);

    let mut script = Scripted::bulk(10, 5);
    script.ack(at(100), 0, &[(1, 3)]);
    script.ack(at(105), 1, &[(1, 3)]);
    script.ack(at(110), 3, &[]);
    let sample = script.sample();
    assert_eq!((sample.acked_sacked, sample.delivered, sample.interval_us), (0, -1, -1));
}

#[test]
fn a_stretch_ack_gives_one_sample_from_the_packet_sent_last() {
    let mut script = Scripted::new(TransportConfig::default(), 10, 5);
    script.write(4);
    script.now = at(10);
    script.write(4);
    script.ack(at(110), 7, &[]);
    let sample = script.sample();
    assert_eq!((sample.acked_sacked, sample.delivered, sample.tx_in_flight), (7, 7, 7));
    assert_eq!((sample.prior_in_flight, sample.interval_us), (8, 110_000));
}

#[test]
fn a_pure_duplicate_gives_an_invalid_sample() {
    let mut script = Scripted::bulk(10, 5);
    script.ack(at(100), 5, &[]);
    let delivered = script.view().delivered;
    script.ack(at(101), 5, &[]);
    let sample = script.sample();
    assert_eq!((sample.delivered, sample.interval_us, sample.acked_sacked, sample.rtt_us), (-1, -1, 0, -1));
    assert_eq!(script.view().delivered, delivered);
    assert_eq!(script.view().delivered_mstamp_us, at(100).as_micros());
}

#[test]
fn a_retransmission_is_measured_with_the_snapshot_of_its_last_sending() {
    let mut script = Scripted::bulk(10, 5);
    for n in 1..=3 {
        script.ack(at(100 + 2 * n), 0, &[(1, 1 + n as u32)]);
    }
    let resent_delivered = script.view().delivered;
    script.ack(at(220), 4, &[]);
    let sample = *script.sample();
    assert!(sample.is_retrans);
    assert_eq!((sample.prior_delivered, sample.delivered), (resent_delivered, 1));
    // Since the third duplicate, which let it go.
    assert_eq!(sample.interval_us, 114_000);
}

#[test]
fn an_interval_shorter_than_the_smallest_round_trip_is_invalid() {
    let mut script = Scripted::bulk(10, 10);
    for n in 1..=3 {
        script.ack(at(150 + 2 * n), 0, &[(2, 2 + n as u32)]);
    }
    assert_eq!(script.sender.board.get(0).sent.us(), at(156).as_micros());
    // Originals arrive 10 ms after their segments were sent again, with echoes that do not tell; round trips are
    // measured by others that arrive with them.
    for (time, ack, sacks) in [(166, 1, [(8, 9), (2, 5)].as_slice()), (176, 5, &[(8, 10)])] {
        script.now = at(time);
        let ack = script.ack_of(ack, sacks);
        script.hear(&crate::Ack { echo: Timestamp::at(at(time - 10)), ..ack });
    }
    let sample = script.sample();
    assert_eq!((sample.interval_us, sample.acked_sacked, sample.delivered), (-1, 2, 2));
    assert_eq!(script.view().min_rtt_us, 100_000);
}

#[test]
fn a_packet_knows_how_many_were_in_flight_when_it_left() {
    let mut script = Scripted::new(TransportConfig::default(), 10, 5);
    script.write(4);
    let stamps: Vec<u32> = (0..4).map(|seq| script.sender.board.get(seq).tx_in_flight).collect();
    assert_eq!(stamps, [1, 2, 3, 4]);
    script.ack(at(100), 1, &[]);
    assert_eq!((script.sample().prior_in_flight, script.sample().tx_in_flight), (4, 1));
}

#[test]
fn losses_after_a_packet_was_sent_are_counted_in_its_sample() {
    let (mut pair, _) = Pair::fixed(&every(), 100, 50);
    pair.drop(&[(10, 1), (20, 1)]);
    pair.service = us(100);
    pair.write_at(START, 100, MSS);
    pair.run_to_completion(ms(5_000));
    let sacks_to = |end: u32| {
        let reports = |heard: &&Heard| heard.ack.sack_blocks().iter().any(|block| block.end == end);
        pair.heard.iter().find(reports).unwrap().sample
    };
    assert_eq!(sacks_to(31).lost_since_sent, 2);
    assert_eq!((sacks_to(13).lost_since_sent, sacks_to(14).lost_since_sent), (0, 1));
    assert_eq!(sacks_to(14).losses, 1);
}

#[test]
fn a_round_is_a_window_of_acks_and_lasts_a_round_trip() {
    let mut pair = bulk(8, ms(2));
    pair.run_until(at(2_000));
    let mut round_end = 0;
    let mut starts: Vec<(usize, Time)> = Vec::new();
    for (index, heard) in pair.heard.iter().enumerate() {
        if heard.sample.delivered >= 0 && heard.sample.prior_delivered >= round_end {
            round_end = heard.delivered;
            starts.push((index, heard.at));
        }
    }
    assert!(starts.len() > 40);
    for pair in starts[2..].windows(2) {
        assert_eq!((pair[1].0 - pair[0].0, pair[1].1.since(pair[0].1)), (8, ms(42)));
    }
}

#[test]
fn after_idle_time_the_interval_starts_with_the_first_packet() {
    let mut script = Scripted::new(TransportConfig::default(), 10, 5);
    script.write(5);
    script.ack(at(100), 5, &[]);
    script.now = at(5_100);
    script.write(1);
    assert_eq!(script.view().delivered_mstamp_us, at(5_100).as_micros());
    assert_eq!(script.sender.rate.first_tx_us(), at(5_100).as_micros());
    script.ack(at(5_200), 6, &[]);
    assert_eq!((script.sample().delivered, script.sample().interval_us), (1, 100_000));
}

#[test]
fn the_pipe_is_not_empty_while_lost_packets_may_still_be_in_it() {
    let config = TransportConfig { tail_loss_probe: false, timer_wheel: false, ..TransportConfig::default() };
    let mut script = Scripted::new(config, 4, 2);
    script.write(4);
    // Everything is marked lost and nothing is in flight, yet the first retransmission restarts no interval.
    script.advance_to(at(300));
    assert_eq!(script.sender.stats().rto_count, 1);
    assert_eq!(script.sender.rate.first_tx_us(), START.as_micros());
    assert_eq!(script.view().delivered_mstamp_us, START.as_micros());
}

#[test]
fn congestion_marks_are_counted_against_the_packet_that_is_sampled() {
    let mut script = Scripted::new(TransportConfig { ecn: EcnUse::Classic, ..TransportConfig::default() }, 10, 5);
    script.write(10);
    script.now = at(100);
    let mut ack = script.ack_of(3, &[]);
    ack.ece = true;
    script.hear(&ack);
    assert!(script.sample().is_ece);
    assert_eq!((script.sample().delivered_ce, script.view().delivered_ce), (3, 3));
    script.ack(at(101), 5, &[]);
    assert_eq!((script.sample().delivered_ce, script.sample().is_ece), (3, false));
}

#[test]
fn a_lone_short_segment_is_suspected_of_a_delayed_ack_and_does_not_raise_the_minimum() {
    let mut script = Scripted::new(TransportConfig::default(), 10, 5);
    // The minimum of the handshake has just left the window of the filter.
    script.now = at(301_000);
    script.sender.write(script.now, 1, 100);
    script.send();
    script.ack(at(301_140), 1, &[]);
    assert!(script.sample().is_ack_delayed);
    assert_eq!((script.sample().rtt_us, script.view().min_rtt_us), (140_000, 100_000));
    script.write(1);
    script.ack(at(301_250), 2, &[]);
    assert!(!script.sample().is_ack_delayed, "a full segment needs no second one");
    assert_eq!(script.view().min_rtt_us, 110_000);
}

/// A paced sender whose pacing clock is five seconds ahead when its timeout expires.
fn timed_out_in_spite_of_pacing() -> (Scripted, Segment) {
    let config = TransportConfig { pacing: Pacing::On, tail_loss_probe: false, ..TransportConfig::default() };
    let mut script = Scripted::new(config, 10, 5);
    script.write(1);
    script.sender.pacer.depart(at(5_000), 0, 0, 0);
    let expires = script.sender.next_timer();
    script.now = expires;
    script.sender.on_timer(expires);
    let [again] = script.send_segments()[..] else { panic!("one segment is sent again") };
    (script, again)
}

#[test]
fn what_a_timeout_sends_in_spite_of_pacing_is_stamped_when_it_leaves() {
    let (mut script, again) = timed_out_in_spite_of_pacing();
    assert_eq!((again.sent_at, again.seq), (script.now, 0));
    // Pacing counts it all the same.
    assert!(script.view().next_departure >= at(5_000));
    let answered = script.now + ms(100);
    script.now = answered;
    script.hear(&Ack { echo: Timestamp::at(again.sent_at), ..script.ack_of(1, &[]) });
    assert_eq!(script.sample().rtt_us, 100_000);
    assert_eq!(script.view().min_rtt_us, 100_000);
}

#[test]
fn an_echo_ahead_of_the_clock_gives_no_round_trip() {
    let (mut script, _) = timed_out_in_spite_of_pacing();
    script.now += ms(100);
    script.hear(&Ack { echo: Timestamp::at(script.now + ms(1)), ..script.ack_of(1, &[]) });
    assert_eq!(script.sample().rtt_us, -1);
    assert_eq!(script.view().min_rtt_us, 100_000, "that of the handshake");
}

#[test]
fn new_data_that_leaves_behind_a_retransmission_measures_its_whole_round_trip() {
    let mut script = Scripted::bulk(10, 10);
    let sent = script.ack(at(150), 0, &[(2, 6)]);
    assert_eq!(sent[..1], [0], "{sent:?}");
    assert!(sent.contains(&10), "{sent:?}");
    let [again, new] = [0, 10].map(|seq| script.sender.board.get(seq).sent);
    assert!(again < new, "their order is known");
    assert_eq!([again.us(), new.us()], [at(150).as_micros(); 2]);
}

/// Keeps its window, and comes from a kernel that counts what is in flight by its buffers, or from another.
struct Counted(bool);

impl Controller for Counted {
    fn algorithm(&self) -> &'static str {
        "counted"
    }

    fn init(&mut self, _view: &View, control: &mut Control) {
        control.cwnd = 8;
    }

    fn needs(&self) -> Needs {
        Needs { in_flight_by_buffer: self.0, ..Needs::NONE }
    }

    fn ssthresh(&mut self, _view: &View, _control: &Control) -> u32 {
        4
    }
}

/// A connection with a first window of 8 segments under way.
fn eight_in_buffers_of_two(by_buffer: InFlightByBuffer, kernel_counts_buffers: bool) -> Scripted {
    let config = TransportConfig { in_flight_by_buffer: by_buffer, ..every() };
    let mut script = Scripted::new(config, 8, 4);
    script.sender = Sender::new(script.sender.config.clone(), Box::new(Counted(kernel_counts_buffers)));
    script.sender.establish(START, Handshake::symmetric(Scripted::RTT));
    assert_eq!(script.write(8).len(), 8);
    let begins = |seq: u32| script.sender.board.get(seq).has(flag::BURST_START);
    assert_eq!((2..8).map(begins).collect::<Vec<_>>(), [true, false, true, false, true, false], "buffers of two");
    script
}

/// What was in flight with the packets that SACK reports one by one from the third one on, and then two together.
fn in_flight_of_what_sack_takes_apart(by_buffer: InFlightByBuffer, kernel_counts_buffers: bool) -> [u32; 5] {
    let mut script = eight_in_buffers_of_two(by_buffer, kernel_counts_buffers);
    [3, 4, 5, 6, 8].map(|end| {
        script.ack(at(100), 0, &[(2, end)]);
        script.sample().tx_in_flight
    })
}

#[test]
fn what_sack_moves_out_of_a_buffer_has_the_whole_buffers_amount_in_flight_and_the_rest_so_much_less() {
    // Nothing below the first two is SACKed: the kernel splits the buffer, and each part keeps its own. The next one is
    // moved to the buffer of those. A whole buffer is as it was.
    assert_eq!(in_flight_of_what_sack_takes_apart(InFlightByBuffer::On, false), [3, 4, 6, 5, 8]);
}

#[test]
fn what_is_acknowledged_of_a_buffer_has_the_whole_buffers_amount_in_flight() {
    let in_flight = |by_buffer: InFlightByBuffer, may_predict: bool| {
        let mut script = eight_in_buffers_of_two(by_buffer, false);
        if !may_predict {
            script.sender.predict_nothing();
        }
        [1, 2, 3, 4, 7, 8].map(|end| {
            script.ack(at(100), end, &[]);
            script.sample().tx_in_flight
        })
    };
    for may_predict in [true, false] {
        assert_eq!(in_flight(InFlightByBuffer::On, may_predict), [2, 2, 4, 4, 8, 8]);
        assert_eq!(in_flight(InFlightByBuffer::Off, may_predict), [1, 2, 3, 4, 7, 8]);
    }
}

#[test]
fn buffers_count_where_the_controllers_kernel_counts_so_and_the_file_says_nothing_else() {
    let of_buffers = [3, 4, 6, 5, 8];
    let of_segments = [3, 4, 5, 6, 8];
    let in_flight = in_flight_of_what_sack_takes_apart;
    assert_eq!(in_flight(InFlightByBuffer::Auto, true), of_buffers);
    assert_eq!(in_flight(InFlightByBuffer::Auto, false), of_segments);
    assert_eq!(in_flight(InFlightByBuffer::Off, true), of_segments);
}
