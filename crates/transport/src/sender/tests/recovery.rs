//! Loss detection, window reductions, timeouts and undo.

use super::harness::*;
use crate::{AdvertisedWindow, EcnUse, Flags, Timestamp, TransportConfig};
use dumbbell_cc_contract::{CaState, Control, Event};
use dumbbell_recovery::send_stamp::Stamp;
use dumbbell_recovery::timer::Pending;
use dumbbell_units::{Duration, Time};

/// Timers fire at the tick that they are armed for, so that times are those of the rules.
fn config() -> TransportConfig {
    TransportConfig { timer_wheel: false, ..TransportConfig::default() }
}

fn without_sack() -> TransportConfig {
    TransportConfig { sack: false, ..config() }
}

fn without_probes() -> TransportConfig {
    TransportConfig { tail_loss_probe: false, ..config() }
}

/// The time of the `n`-th ACK of a window that was sent at once: 2 ms apart, so that no burst is deferred.
fn nth_ack(n: u32) -> Time {
    at(100 + 2 * u64::from(n))
}

/// Dup ACKs 1 to `count` for segment 0; gives for each the segments in flight before the sender answered, and its
/// answer.
fn hear_dupacks(script: &mut Scripted, count: u32) -> Vec<(u32, Vec<u32>)> {
    (1..=count)
        .map(|n| {
            let answer = script.ack(nth_ack(n), 0, &[(1, 1 + n)]);
            (script.view().in_flight() - answer.len() as u32, answer)
        })
        .collect()
}

// Fast recovery

#[test]
fn a_single_loss_is_retransmitted_on_the_third_dupack_and_every_second_ack_releases_a_segment() {
    let mut script = Scripted::bulk(20, 10);
    let answers = hear_dupacks(&mut script, 21);
    assert_eq!(answers[0], (19, vec![20]));
    assert_eq!(answers[1], (19, vec![21]));
    assert_eq!(answers[2].1, [0]);
    let in_flight: Vec<u32> = answers[2..8].iter().map(|(in_flight, _)| *in_flight).collect();
    assert_eq!(in_flight, [18, 18, 17, 17, 16, 16]);
    let releases: Vec<usize> = (3..=19).filter(|&n| !answers[n - 1].1.is_empty()).collect();
    assert_eq!(releases, [3, 5, 7, 9, 11, 13, 15, 17]);
    script.ack(nth_ack(60), 22, &[]);
    assert_eq!((script.state(), script.control().cwnd), (CaState::Open, 10));
    assert_eq!(script.calls.reductions(), 1);
}

#[test]
fn with_a_threshold_of_seven_tenths_two_of_three_acks_release_a_segment() {
    let mut script = Scripted::bulk(20, 14);
    let answers = hear_dupacks(&mut script, 19);
    let releases: Vec<usize> = (3..=19).filter(|&n| !answers[n - 1].1.is_empty()).collect();
    assert_eq!(releases, [3, 4, 5, 7, 8, 10, 11, 13, 14, 15, 18, 19]);
}

#[test]
fn the_fast_retransmit_leaves_even_when_as_much_is_in_flight_as_shall_be() {
    let mut script = Scripted::bulk(20, 18);
    let answers = hear_dupacks(&mut script, 4);
    assert_eq!(answers[2], (18, vec![0]));
    assert_eq!(answers[3], (18, vec![]));
}

#[test]
fn an_ack_that_reveals_another_loss_does_not_regrow_the_window() {
    let mut script = Scripted::bulk(20, 10);
    for n in 1..=8 {
        script.ack(nth_ack(n), 0, &[(12, 12 + n)]);
    }
    // Segment 20 was sent before segment 21, which has arrived.
    assert_eq!(script.ack(nth_ack(60), 1, &[(21, 22), (12, 20)]), [6, 7]);
    assert_eq!(script.sample().losses, 1);
}

#[test]
fn the_retransmission_of_the_head_restarts_the_timeout() {
    let mut script = Scripted::bulk(20, 5);
    assert_eq!(script.ack(at(150), 0, &[(1, 4)]), [0]);
    assert_eq!(script.sender.timer.pending(), Pending::Retransmission);
    assert!(script.sender.timer.at().since(at(150) + script.sender.rto()) <= ms(1));
    assert!(script.sender.timer.at() >= at(150) + script.sender.rto());
}

#[test]
fn after_heavy_loss_packets_are_conserved_until_retransmissions_arrive_then_the_window_regrows_by_one_per_ack() {
    let mut script = Scripted::bulk(20, 10);
    let mut answers = Vec::new();
    for n in 1..=10 {
        answers.push(script.ack(nth_ack(n), 0, &[(12, 12 + n)]));
        if n == 3 {
            assert_eq!(script.view().lost_out, 12);
            assert_eq!(script.view().in_flight() - 1, 7);
        }
    }
    assert_eq!(answers[..2], [[20], [21]]);
    assert_eq!(answers[2..], (0..8).map(|seq| vec![seq]).collect::<Vec<_>>());
    let mut sizes = Vec::new();
    for n in 1..=4 {
        sizes.push(script.ack(nth_ack(50 + n), n, &[(12, 22)]).len());
    }
    assert_eq!(sizes, [2, 2, 1, 1]);
    assert_eq!((script.control().cwnd, script.view().in_flight()), (10, 10));
    assert_eq!(script.calls.reductions(), 1);
}

#[test]
fn a_loss_in_the_recovery_window_does_not_reduce_twice() {
    let (mut pair, calls) = Pair::fixed(&config(), 20, 10);
    pair.service = ms(1);
    pair.drop(&[(50, 1), (55, 1), (62, 1)]);
    pair.write_at(START, 300, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.retransmitted(), [50, 55, 62]);
    assert_eq!((calls.reductions(), pair.sender.stats().recovery_count), (1, 1));
}

#[test]
fn a_loss_after_the_recovery_window_reduces_again() {
    let (mut pair, calls) = Pair::fixed(&config(), 20, 10);
    pair.drop(&[(50, 1), (150, 1)]);
    pair.write_at(START, 300, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!((calls.reductions(), pair.sender.stats().recovery_count), (2, 2));
}

#[test]
fn a_lost_retransmission_is_detected_by_rack() {
    let (mut pair, _) = Pair::fixed(&config(), 40, 20);
    pair.service = ms(1);
    pair.drop(&[(50, 1), (50, 2)]);
    pair.write_at(START, 400, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.retransmitted(), [50, 50]);
    assert_eq!(pair.sender.stats().rto_count, 0);
    assert_eq!(pair.sender.view().lost, 2);
    let sent = pair.transmissions_ms(50);
    assert!((40..=110).contains(&(sent[2] - sent[1])), "a round trip later: {sent:?}");
}

#[test]
fn fewer_than_three_dupacks_repair_a_loss_after_a_quarter_of_the_round_trip() {
    let mut script = Scripted::new(config(), 10, 5);
    script.write(3);
    script.ack(at(100), 0, &[(1, 2)]);
    script.ack(at(101), 0, &[(1, 3)]);
    assert_eq!(script.state(), CaState::Disorder);
    assert!(script.advance_to(at(126)).is_empty());
    assert_eq!(script.advance_to(at(130)), [0]);
    assert_eq!(script.state(), CaState::Recovery);
    assert_eq!(script.sender.stats().rto_count, 0);
}

// Reordering and undo

#[test]
fn the_first_reordering_causes_a_spurious_retransmission_that_is_undone_and_later_ones_cause_none() {
    let (mut pair, calls) = Pair::fixed(&config(), 20, 10);
    pair.service = ms(1);
    pair.data_fate(|sent| match (sent.segment.seq, sent.nth) {
        (100 | 200, 1) => Fate::Delay(Duration::from_micros(5_500)),
        (250, 1) => Fate::Delay(Duration::from_micros(8_500)),
        _ => Fate::Deliver,
    });
    pair.write_at(START, 300, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.retransmitted(), [100]);
    let stats = pair.sender.stats();
    assert_eq!((stats.undo_count, stats.dsacked_segments, stats.rto_count), (1, 1, 0));
    assert!(pair.sender.reordering() >= 5);
    assert_eq!(calls.reductions(), 1);
    assert_eq!(pair.sender.control().cwnd, 20);
}

#[test]
fn a_dsack_for_every_retransmission_restores_the_window_after_recovery() {
    let mut script = Scripted::bulk(20, 10);
    hear_dupacks(&mut script, 3);
    // Late enough that the echo does not tell the original from the retransmission.
    script.ack(at(210), 22, &[]);
    assert_eq!((script.state(), script.control().cwnd, script.sender.stats().undo_count), (CaState::Open, 10, 0));
    script.ack(at(212), 22, &[(0, 1)]);
    assert_eq!((script.state(), script.control().cwnd), (CaState::Open, 20));
    assert_eq!(script.control().ssthresh, Control::INFINITE_SSTHRESH);
    assert_eq!(script.sender.stats().undo_count, 1);
}

#[test]
fn a_dsack_for_one_of_two_retransmissions_restores_nothing() {
    let mut script = Scripted::bulk(20, 10);
    for n in 1..=5 {
        script.ack(nth_ack(n), 0, &[(2, 2 + n)]);
    }
    assert_eq!(script.sender.stats().retransmitted_segments, 2);
    script.ack(at(210), 22, &[]);
    script.ack(at(212), 22, &[(0, 1)]);
    assert_eq!((script.control().cwnd, script.sender.stats().undo_count), (10, 0));
    script.ack(at(214), 22, &[(1, 2)]);
    assert_eq!((script.control().cwnd, script.sender.stats().undo_count), (20, 1));
}

#[test]
fn a_dsack_within_recovery_ends_it() {
    let mut script = Scripted::bulk(20, 10);
    hear_dupacks(&mut script, 6);
    let mut ack = script.ack_of(8, &[(0, 1)]);
    ack.echo = Timestamp::at(nth_ack(6));
    script.now = at(209);
    script.hear(&ack);
    assert_eq!((script.control().cwnd, script.sender.stats().undo_count), (20, 1));
    assert!(script.state() <= CaState::Disorder);
}

#[test]
fn a_congestion_echo_forbids_undo() {
    let mut script = Scripted::bulk(20, 10);
    hear_dupacks(&mut script, 3);
    let mut ack = script.ack_of(0, &[(1, 5)]);
    ack.ece = true;
    script.now = nth_ack(4);
    script.hear(&ack);
    script.ack(at(210), 22, &[]);
    script.ack(at(212), 22, &[(0, 1)]);
    assert_eq!(script.control().cwnd, 10);
}

#[test]
fn the_reordering_window_widens_with_dsacks_once_reordering_was_seen() {
    let mut script = Scripted::bulk(20, 10);
    hear_dupacks(&mut script, 3);
    // The original of segment 0 arrives: reordering.
    let mut ack = script.ack_of(4, &[]);
    ack.echo = Timestamp::at(START);
    script.now = nth_ack(4);
    script.hear(&ack);
    assert!(script.sender.detector.reordering.was_seen());
    assert_eq!(script.sender.detector.rack.reo_wnd_steps(), 1);
    script.ack(nth_ack(5), 5, &[(0, 1)]);
    assert_eq!(script.sender.detector.rack.reo_wnd_steps(), 2);
}

#[test]
fn an_old_ack_is_no_duplicate_but_its_sacks_count() {
    let mut script = Scripted::new(without_sack(), 20, 10);
    script.write(1_000);
    script.ack(at(100), 8, &[]);
    let avoided = script.calls.count(Call::Avoid(0));
    for n in 0..5 {
        assert!(script.ack(at(102 + n), 4, &[]).is_empty());
    }
    assert_eq!((script.state(), script.view().sacked_out), (CaState::Open, 0));
    assert_eq!(script.calls.count(Call::Avoid(0)), avoided);

    let mut script = Scripted::bulk(20, 10);
    script.ack(at(100), 8, &[]);
    script.ack(at(102), 4, &[(10, 12)]);
    assert_eq!((script.state(), script.view().sacked_out), (CaState::Disorder, 2));
}

// NewReno

#[test]
fn a_window_that_shrinks_does_not_make_a_duplicate_an_update() {
    for (change, sacked_out) in [(-2i32, 2), (2, 0)] {
        let mut script = Scripted::new(without_sack(), 10, 5);
        script.write(1_000);
        for n in 1..=2 {
            script.now = nth_ack(n);
            let mut ack = script.ack_of(0, &[]);
            ack.window = AdvertisedWindow::whole(ack.window.segments().wrapping_add_signed(change * n as i32));
            script.hear(&ack);
        }
        assert_eq!(script.view().sacked_out, sacked_out);
    }
}

#[test]
fn newreno_recovers_a_single_loss_with_one_retransmission() {
    let (mut pair, calls) = Pair::fixed(&without_sack(), 20, 10);
    pair.drop(&[(50, 1)]);
    pair.write_at(START, 300, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.retransmitted(), [50]);
    let stats = pair.sender.stats();
    assert_eq!((stats.rto_count, stats.undo_count, calls.reductions()), (0, 0, 1));
    assert_eq!(pair.sender.control().cwnd, 10);
    assert_eq!(pair.sender.view().ca_state, CaState::Open);
}

#[test]
fn newreno_recovers_two_losses_one_per_round_trip_with_one_reduction() {
    let (mut pair, calls) = Pair::fixed(&without_sack(), 20, 10);
    pair.drop(&[(50, 1), (55, 1)]);
    pair.write_at(START, 300, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.retransmitted(), [50, 55]);
    let stats = pair.sender.stats();
    assert_eq!((stats.rto_count, stats.undo_count, calls.reductions()), (0, 0, 1));
    let [first, second] = [50, 55].map(|seq| pair.transmissions_ms(seq)[1]);
    assert_eq!(second - first, 40);
    assert_eq!(pair.sender.control().cwnd, 10);
}

#[test]
fn newreno_holds_recovery_until_something_above_it_is_acknowledged_and_does_not_undo_then() {
    let mut script = Scripted::new(without_sack(), 10, 5);
    script.write(1_000);
    // Segment 12 is lost as well: its successors cause the duplicates after the ninth.
    for n in 1..=13 {
        script.ack(nth_ack(n), 0, &[]);
    }
    assert_eq!((script.state(), script.sender.high_seq), (CaState::Recovery, 12));
    script.ack(at(220), 12, &[]);
    assert_eq!((script.state(), script.view().sacked_out), (CaState::Recovery, 0));
    script.ack(at(230), 13, &[]);
    assert_eq!(script.state(), CaState::Open);
    assert_eq!((script.control().cwnd, script.sender.stats().undo_count), (5, 0));
}

#[test]
fn of_what_lies_beyond_a_window_that_shrank_only_the_oldest_segment_is_repaired() {
    let answer = |window| {
        let mut script = Scripted::bulk(20, 20);
        script.now = nth_ack(1);
        let mut ack = script.ack_of(1, &[(12, 20)]);
        ack.window = AdvertisedWindow::whole(window);
        let mut sent = script.hear(&ack);
        script.now = nth_ack(2);
        ack.sack[0].end = 20;
        sent.extend(script.hear(&ack));
        sent
    };
    assert_eq!(answer(3), [1, 2, 3]);
    assert_eq!(answer(1), [1]);
}

// Tail loss probes

#[test]
fn a_lost_last_segment_is_repaired_by_a_probe_and_reduces_the_window_once() {
    let (mut pair, calls) = Pair::fixed(&config(), 10, 5);
    pair.drop(&[(9, 1)]);
    pair.write_at(START, 10, MSS);
    pair.write_at(at(1_000), 1, MSS);
    pair.run_to_completion(ms(10_000));
    // The ACK of the other nine arrives after 40 ms. Two round trips plus 200 ms exceed the retransmission timeout,
    // which bounds the probe's.
    assert_eq!(pair.transmissions_ms(9), [0, 40 + 240]);
    let stats = pair.sender.stats();
    assert_eq!((stats.probe_count, stats.rto_count), (1, 0));
    // The ACK of what comes after the probe shows that it repaired a loss.
    assert_eq!(calls.reductions(), 1);
    assert_eq!(calls.count(Call::Event(Event::TlpRecovery { is_app_limited: true })), 1);
    assert_eq!((pair.sender.control().cwnd, pair.sender.view().ca_state), (5, CaState::Open));
}

#[test]
fn with_several_segments_outstanding_the_probe_comes_2_ms_after_two_round_trips_and_rack_repairs_the_rest() {
    let (mut pair, calls) = Pair::fixed(&config(), 10, 5);
    pair.drop(&[(7, 1), (8, 1), (9, 1)]);
    pair.write_at(START, 10, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.transmissions_ms(9), [0, 122]);
    assert_eq!(pair.transmissions_ms(7), [0, 162]);
    let stats = pair.sender.stats();
    assert_eq!((stats.probe_count, stats.rto_count, stats.recovery_count), (1, 0, 1));
    assert_eq!(calls.reductions(), 1);
}

#[test]
fn a_probe_sends_new_data_beyond_the_window_when_there_is_some() {
    let (mut pair, calls) = Pair::fixed(&config(), 10, 5);
    pair.data_fate(|sent| if sent.segment.seq < 10 && sent.nth == 1 { Fate::Drop } else { Fate::Deliver });
    pair.write_at(START, 100, MSS);
    pair.run_until(at(100));
    assert_eq!(pair.transmissions_ms(10), [82]);
    assert_eq!(pair.sender.view().packets_out, 11);
    pair.run_to_completion(ms(10_000));
    let stats = pair.sender.stats();
    assert_eq!((stats.probe_count, stats.rto_count, calls.reductions()), (1, 0, 1));
}

#[test]
fn a_probe_that_only_duplicated_does_not_reduce_the_window() {
    let (mut pair, calls) = Pair::fixed(&config(), 10, 5);
    // Only the ACK of the last segment is lost; the receiver answers the probe with a DSACK.
    let mut lost = false;
    pair.ack_fate(move |_, ack| {
        let fate = if ack.ack == 10 && !lost { Fate::Drop } else { Fate::Deliver };
        lost |= ack.ack == 10;
        fate
    });
    pair.write_at(START, 10, MSS);
    pair.write_at(at(1_000), 5, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!((pair.sender.stats().probe_count, pair.sender.stats().dsacked_segments), (1, 1));
    assert_eq!((calls.reductions(), pair.sender.control().cwnd), (0, 10));
}

// Timeouts

#[test]
fn unanswered_timeouts_come_a_round_trip_plus_200_ms_apart_and_double() {
    let mut script = Scripted::new(without_probes(), 10, 5);
    script.write(10);
    for (time, expected) in [(299, 0), (300, 1), (899, 1), (900, 2), (2_099, 2), (2_100, 3)] {
        script.advance_to(at(time));
        assert_eq!(script.sender.stats().rto_count, expected, "at {time} ms");
    }
}

#[test]
fn when_a_whole_flight_is_lost_a_probe_then_timeouts_follow_and_the_threshold_falls_once() {
    let (mut pair, calls) = Pair::fixed(&config(), 10, 5);
    pair.data_fate(|sent| {
        let lost = sent.nth == 1 || (sent.segment.seq == 0 && sent.nth < 4) || (sent.segment.seq == 9 && sent.nth == 2);
        if lost { Fate::Drop } else { Fate::Deliver }
    });
    pair.write_at(START, 10, MSS);
    pair.run_until(at(1_700));
    assert_eq!(pair.transmissions_ms(9), [0, 82]);
    assert_eq!(pair.transmissions_ms(0), [0, 82 + 240, 82 + 240 + 480]);
    assert_eq!((pair.sender.control().cwnd, pair.sender.control().ssthresh), (1, 5));
    pair.run_to_completion(ms(60_000));
    assert_eq!(pair.sender.stats().rto_count, 3);
    assert_eq!((calls.reductions(), calls.count(Call::Event(Event::Loss))), (1, 1));
    assert_eq!(pair.received().0, 10);
}

#[test]
fn a_timeout_leaves_recently_sent_segments_unmarked() {
    let mut script = Scripted::new(without_probes(), 4, 2);
    script.write(1_000);
    script.ack(at(150), 1, &[]);
    script.sender.detector.rack.advance(0, Stamp::default(), false, 1_000_000, 0);
    script.advance_to(at(480));
    assert_eq!(script.sender.stats().rto_count, 1);
    let view = script.view();
    let control = script.control();
    assert_eq!((view.lost_out, view.in_flight(), control.cwnd), (1, 4, 4));
}

/// Of the flight nothing was acknowledged and the probe got no answer; the application writes once more while it is
/// outstanding, and the timer becomes that of a second probe.
#[test]
fn an_outstanding_probe_does_not_postpone_the_timeout() {
    let mut script = Scripted::new(config(), 10, 5);
    script.write(10);
    assert_eq!(script.advance_to(at(202)), [9], "the probe repeats the last segment");
    script.now = at(400);
    script.sender.control.cwnd = 20;
    assert_eq!(script.write(1), [10]);
    assert_eq!(script.sender.timer.pending(), Pending::Probe);
    // The second probe's turn comes after two round trips: there is none. The timeout of segment 0, sent at 0, was
    // over.
    assert_eq!(script.sender.timer.at(), at(602));
    assert!(script.advance_to(at(602)).is_empty());
    assert_eq!(script.sender.timer.at(), at(603), "at once");
    assert_eq!(script.advance_to(at(603)), [0]);
    assert_eq!((script.sender.stats().probe_count, script.sender.stats().rto_count), (1, 1));
}

/// Segment 0 left at 3.9 ms of a tick of 4 ms, and the reordering window is a quarter of the round trip.
#[test]
fn the_reordering_timer_is_never_early() {
    let script_of = |timer_wheel| {
        let config = TransportConfig { hz: 250, timer_wheel, ..TransportConfig::default() };
        let mut script = Scripted::new(config, 4, 2);
        script.now = START + Duration::from_micros(3_900);
        assert_eq!(script.write(4), [0, 1, 2, 3]);
        script.now = START + Duration::from_micros(103_900);
        assert!(script.ack(script.now, 0, &[(1, 2)]).is_empty());
        assert_eq!(script.sender.timer.pending(), Pending::Reordering);
        script
    };
    // 25 ms and 2 ms more are seven ticks.
    let due = START + Duration::from_micros(103_900 + 27_000);
    let mut script = script_of(true);
    let fires = script.sender.timer.at();
    assert!(fires >= due && fires.since(due) <= Duration::from_millis(8), "{fires}");
    assert_eq!(script.advance_to(fires), [0], "it is lost by then");
}

/// A flight of ten timed out with unlimited data; the probe has sent segment 10, the timeout segment 0 again.
fn timed_out() -> Scripted {
    let mut script = Scripted::bulk(10, 5);
    assert_eq!(script.advance_to(at(502)), [10, 0]);
    assert_eq!((script.state(), script.control().cwnd, script.view().lost_out), (CaState::Loss, 1, 11));
    script
}

/// Hears an ACK that echoes the retransmission.
fn ack_of_retransmission(script: &mut Scripted, millis: u64, ack: u32, sacks: &[(u32, u32)]) -> Vec<u32> {
    script.now = at(millis);
    let mut ack = script.ack_of(ack, sacks);
    ack.echo = Timestamp::at(at(502));
    script.hear(&ack)
}

#[test]
fn frto_sends_new_data_and_takes_a_timeout_back_when_originals_are_acknowledged() {
    let mut script = timed_out();
    assert_eq!(ack_of_retransmission(&mut script, 602, 1, &[]), [11]);
    assert_eq!(script.state(), CaState::Loss);
    ack_of_retransmission(&mut script, 604, 2, &[]);
    assert_eq!((script.state(), script.control().cwnd, script.view().lost_out), (CaState::Open, 10, 0));
    assert_eq!(script.control().ssthresh, Control::INFINITE_SSTHRESH);
    assert_eq!(script.sender.stats().retransmitted_segments, 1);
}

#[test]
fn frto_retransmits_when_only_the_new_data_is_acknowledged() {
    let mut script = timed_out();
    assert_eq!(ack_of_retransmission(&mut script, 602, 1, &[]), [11]);
    assert_eq!(ack_of_retransmission(&mut script, 702, 1, &[(11, 12)]), [1]);
    assert_eq!((script.state(), script.sender.stats().undo_count), (CaState::Loss, 0));
}

#[test]
fn an_echo_older_than_the_retransmission_takes_a_timeout_back_at_once() {
    let mut script = timed_out();
    script.ack(at(510), 1, &[]);
    assert_eq!((script.state(), script.control().cwnd), (CaState::Open, 10));
    assert_eq!(script.sender.stats().undo_count, 1);
}

#[test]
fn a_delay_spike_costs_one_probe_and_one_retransmission_and_no_window() {
    let (mut pair, _) = Pair::fixed(&config(), 10, 5);
    pair.data_fate(|sent| if sent.at >= at(200) { Fate::HoldUntil(at(800)) } else { Fate::Deliver });
    pair.write_at(START, 400, MSS);
    pair.run_to_completion(ms(20_000));
    let stats = pair.sender.stats();
    assert_eq!((stats.rto_count, stats.undo_count), (1, 1));
    assert!(stats.retransmitted_segments <= 2, "{stats:?}");
    assert_eq!(pair.sender.control().cwnd, 10);
}

#[test]
fn without_sack_a_cumulative_ack_over_the_retransmission_does_not_prove_the_timeout_spurious() {
    let (mut pair, calls) = Pair::fixed(&without_sack(), 10, 5);
    pair.drop(&[(0, 1)]);
    pair.write_at(START, 3, MSS);
    pair.run_to_completion(ms(5_000));
    let stats = pair.sender.stats();
    assert_eq!((stats.rto_count, stats.undo_count, calls.reductions()), (1, 0, 1));
    assert_eq!(pair.sender.control().ssthresh, 5);
}

#[test]
fn after_a_timeout_the_window_restarts_from_one_and_leaves_loss_without_a_second_reset() {
    let (mut pair, calls) = Pair::fixed(&without_probes(), 10, 5);
    pair.data_fate(|sent| if sent.nth == 1 && sent.segment.seq < 10 { Fate::Drop } else { Fate::Deliver });
    pair.write_at(START, 30, MSS);
    pair.run_to_completion(ms(60_000));
    assert_eq!(pair.retransmitted(), (0..10).collect::<Vec<_>>());
    assert_eq!((calls.reductions(), pair.sender.view().ca_state), (1, CaState::Open));
}

// ECN

#[test]
fn one_congestion_mark_is_echoed_until_the_window_is_reduced_and_reduces_it_once() {
    let (mut pair, calls) = Pair::fixed(&TransportConfig { ecn: EcnUse::Classic, ..config() }, 20, 10);
    pair.service = ms(1);
    pair.data_fate(|sent| if sent.segment.seq == 100 { Fate::Mark } else { Fate::Deliver });
    pair.write_at(START, 300, MSS);
    pair.run_to_completion(ms(10_000));
    let echoes: Vec<bool> = pair.heard.iter().map(|heard| heard.ack.ece).collect();
    let first = echoes.iter().position(|&ece| ece).unwrap();
    let count = echoes.iter().filter(|&&ece| ece).count();
    assert!(count > 1 && echoes[first..first + count].iter().all(|&ece| ece), "one run of {count} echoes");
    let cwr: Vec<_> = pair.sent.iter().filter(|sent| sent.segment.flags.has(Flags::CWR)).collect();
    assert_eq!(cwr.len(), 1);
    assert!(cwr[0].at >= pair.heard[first].at);
    assert_eq!((calls.reductions(), pair.sender.stats().retransmitted_segments), (1, 0));
    assert_eq!((pair.sender.control().cwnd, pair.sender.view().ca_state), (10, CaState::Open));
    assert_eq!(calls.count(Call::Event(Event::CompleteCwr)), 1);
}

#[test]
fn with_accurate_ecn_the_sender_knows_every_mark_and_reduces_once_a_round_trip_though_acks_are_lost() {
    let (mut pair, calls) = Pair::fixed(&TransportConfig { ecn: EcnUse::Accurate, ..config() }, 40, 30);
    pair.service = ms(1);
    // Two bursts of marks, the second of which ends in ACKs that do not arrive.
    let is_marked = |seq: u32| (100..112).contains(&seq) || (400..430).contains(&seq);
    pair.data_fate(move |sent| if is_marked(sent.segment.seq) { Fate::Mark } else { Fate::Deliver });
    pair.ack_fate(|_, ack| if (402..425).contains(&ack.ack) { Fate::Drop } else { Fate::Deliver });
    pair.write_at(START, 800, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.receiver.stats().ce_segments, 42);
    assert_eq!(pair.sender.view().delivered_ce, 42);
    assert_eq!((calls.reductions(), pair.sender.stats().retransmitted_segments), (2, 0));
    assert!(pair.sent.iter().all(|sent| !sent.segment.flags.has(Flags::CWR)), "nobody waits for an answer");
    assert!(pair.heard.iter().all(|heard| !heard.ack.ece));
}

#[test]
fn with_accurate_ecn_retransmissions_are_ecn_capable_too() {
    let (mut pair, _) = Pair::fixed(&TransportConfig { ecn: EcnUse::Accurate, ..config() }, 20, 10);
    pair.drop(&[(50, 1), (52, 1)]);
    pair.write_at(START, 300, MSS);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.sent.iter().filter(|sent| sent.nth > 1).count(), 2);
    assert!(pair.sent.iter().all(|sent| sent.segment.ecn == dumbbell_units::Ecn::Ect0));
}

#[test]
fn retransmissions_are_not_ecn_capable_and_without_ecn_nothing_is() {
    for ecn in [true, false] {
        let (mut pair, _) = Pair::fixed(&TransportConfig { ecn: ecn.into(), ..config() }, 20, 10);
        pair.drop(&[(50, 1), (52, 1)]);
        pair.write_at(START, 300, MSS);
        pair.run_to_completion(ms(10_000));
        for sent in &pair.sent {
            assert_eq!(sent.segment.ecn == dumbbell_units::Ecn::Ect0, ecn && sent.nth == 1);
        }
        // The reduction is told by the CWR bit of one new segment.
        assert_eq!(pair.sent.iter().filter(|sent| sent.segment.flags.has(Flags::CWR)).count(), usize::from(ecn));
    }
}

#[test]
fn blocks_that_one_ack_reports_together_did_not_overtake_each_other() {
    let mut script = Scripted::bulk(30, 15);
    script.ack(at(100), 0, &[(7, 9), (5, 6), (1, 4)]);
    assert_eq!(script.sender.reordering(), 3);
    assert_eq!(script.view().lost_out, 3);
}
