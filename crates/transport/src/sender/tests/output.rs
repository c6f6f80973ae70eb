//! What leaves, how much at once, and when.

use super::harness::*;
use crate::{
    Ack, AdvertisedWindow, Completion, Flags, Handshake, Held, Limit, Pacing, Sender, Sending, Timestamp,
    TransportConfig,
};
use dumbbell_cc::Catalog;
use dumbbell_cc_contract::{CaState, Control, Controller, Event};
use dumbbell_units::{Duration, Rng, Time};
use serde_json::Map;

/// Timers fire at the tick that they are armed for, so that times are those of the rules.
fn config() -> TransportConfig {
    TransportConfig { timer_wheel: false, ..TransportConfig::default() }
}

fn reno() -> Box<dyn Controller> {
    Catalog::builtin().build("reno", &Map::new(), Rng::new(1)).unwrap()
}

fn wire() -> TransportConfig {
    TransportConfig { completion: Completion::Wire, ..config() }
}

// Timestamps

#[test]
fn a_segment_echoes_the_latest_ack_that_its_sender_has() {
    let mut script = Scripted::new(config(), 2, 2);
    script.sender.write(START, 100, MSS);
    let answered = Timestamp::at(START).ms_since(script.send_segments()[0].echo);
    assert_eq!(answered, 50, "the answer to the SYN, half a round trip ago");
    let mut echoes_after = |ack: u32, sent_at: Time| {
        let ack = Ack { sent_at: Timestamp::at(sent_at), ..script.ack_of(ack, &[]) };
        script.sender.on_ack(script.now, &ack);
        script.send_segments().iter().map(|segment| segment.echo).collect::<Vec<_>>()
    };
    let late = Timestamp::at(START + ms(70));
    assert_eq!(echoes_after(2, START + ms(70)), [late; 2]);
    assert_eq!(echoes_after(4, START + ms(60)), [late; 2], "an ACK that was overtaken does not turn the echo back");
}

// Set-up and slow start

#[test]
fn nothing_leaves_before_the_handshake() {
    let mut sender = Sender::new(config().into(), reno());
    sender.write(START, 10, MSS);
    assert!(sender.poll_transmit(START).is_none());
    assert_eq!(sender.next_timer(), Time::NEVER);
    sender.establish(at(40), Handshake::symmetric(ms(40)));
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(at(40))).flatten().count(), 10);
}

#[test]
fn a_syn_retransmitted_more_than_once_starts_with_one_segment() {
    for (syn_retransmits, cwnd) in [(0, 10), (1, 10), (2, 1), (5, 1)] {
        let mut pair = Pair::with_syn_retransmits(&config(), reno(), syn_retransmits);
        pair.write_at(START, 100, MSS);
        pair.run_until(at(1));
        assert_eq!(pair.sent.len(), cwnd);
        pair.run_to_completion(ms(5_000));
    }
}

#[test]
fn slow_start_doubles_the_flight_every_round_trip_whatever_the_ack_ratio() {
    for config in [config(), TransportConfig { quick_acks: 0, ..config() }] {
        let mut pair = Pair::new(&config, reno());
        pair.write_forever();
        pair.run_until(at(159));
        let mut flights = [0; 4];
        for sent in &pair.sent {
            flights[(sent.at.since(START).as_micros() / 40_000) as usize] += 1;
        }
        assert_eq!(flights, [10, 20, 40, 80], "quick ACKs: {}", config.quick_acks);
    }
}

#[test]
fn bulk_data_is_acknowledged_every_second_segment() {
    let (mut pair, _) = Pair::fixed(&config(), 20, 10);
    pair.service = ms(1);
    pair.write_at(START, 2_000, MSS);
    pair.run_to_completion(ms(10_000));
    assert!((1_000..1_060).contains(&pair.heard.len()), "{} ACKs", pair.heard.len());
}

#[test]
fn a_lonely_segment_waits_40_ms_for_its_ack_when_quick_acks_are_used_up() {
    // Since Linux 6.6 a write of one segment, which carries PSH, waits no longer than until it is read.
    let read_delay = Duration::from_micros(20);
    for (ack_pushes, rtt_us) in [(false, 80_000), (true, 40_020)] {
        let (mut pair, _) = Pair::fixed(&TransportConfig { ack_pushes, read_delay, ..config() }, 10, 5);
        for n in 0..60 {
            pair.write_at(at(100 * n), 1, MSS);
        }
        pair.run_to_completion(ms(10_000));
        let delays: Vec<u64> =
            pair.heard.iter().zip(&pair.sent).map(|(heard, sent)| heard.at.since(sent.at).as_micros()).collect();
        assert_eq!(delays[..16], [40_000; 16]);
        assert_eq!(delays[40..], [rtt_us; 20], "{ack_pushes}");
    }
}

#[test]
fn the_last_segment_of_a_burst_of_several_carries_a_push() {
    let (mut pair, _) = Pair::fixed(&config(), 5, 5);
    pair.write_at(START, 6, MSS);
    pair.run_until(at(1));
    let pushes: Vec<bool> = pair.sent.iter().map(|sent| sent.segment.flags.has(Flags::PSH)).collect();
    assert_eq!(pushes, [false, true, false, true, false], "bursts of two and a single one");
}

#[test]
fn a_lone_segment_that_ends_a_write_carries_a_push_also_when_it_is_sent_again() {
    let (mut pair, _) = Pair::fixed(&TransportConfig { tail_loss_probe: false, ..config() }, 10, 5);
    pair.data_fate(|sent| if sent.segment.seq == 1 && sent.nth == 1 { Fate::Drop } else { Fate::Deliver });
    for (millis, len) in [(0, MSS), (30, MSS), (60, 700)] {
        pair.write_at(at(millis), 1, len);
    }
    pair.run_until(at(900));
    let sent: Vec<_> = pair.sent.iter().map(|sent| (sent.segment.seq, sent.segment.flags.has(Flags::PSH))).collect();
    assert_eq!(sent, [(0, true), (1, true), (2, true), (1, true)]);
}

// Pacing

#[test]
fn under_pacing_a_burst_waits_for_the_time_its_predecessor_takes_at_the_pacing_rate() {
    let (mut pair, _) = Pair::fixed(&TransportConfig { pacing: Pacing::On, ..config() }, 100, 50);
    let rate = pair.sender.control().pacing_rate;
    assert_eq!(rate, 10 * 1_448 * 2 * 25);
    pair.write_forever();
    pair.run_until(at(39));
    let times: Vec<u64> = pair.sent.iter().map(|sent| sent.at.since(START).as_nanos()).collect();
    assert_eq!(times[..10], [0; 10], "the first ten leave at once");
    let gap = 2 * 1_448 * 1_000_000_000 / rate;
    assert_eq!(times.len(), 10 + 2 * 9);
    for (n, burst) in times[10..].chunks(2).enumerate() {
        assert_eq!(burst, [(n as u64 + 1) * gap; 2]);
    }
}

#[test]
fn in_avoidance_the_pacing_rate_is_a_fifth_above_a_window_per_round_trip() {
    for pacing in [Pacing::Auto, Pacing::On] {
        let (mut pair, _) = Pair::fixed(&TransportConfig { pacing, ack_every: 1, ..config() }, 30, 15);
        pair.sender.control.ssthresh = 15;
        pair.write_forever();
        pair.run_until(at(2_000));
        let expected = 30 * 1_448 * 25 * 6 / 5;
        let rate = pair.sender.control().pacing_rate;
        assert!(rate.abs_diff(expected) <= expected / 1_000, "{rate} instead of {expected}");
        pair.sender.control.ssthresh = 1_000;
        pair.run_until(at(2_050));
        let rate = pair.sender.control().pacing_rate;
        assert!(rate.abs_diff(expected * 5 / 3) <= expected / 1_000, "twice the window in slow start: {rate}");
    }
}

#[test]
fn without_pacing_a_window_leaves_at_once() {
    for pacing in [Pacing::Auto, Pacing::Off] {
        let mut script = Scripted::new(TransportConfig { pacing, ..config() }, 100, 50);
        assert_eq!(script.write(1_000).len(), 100);
    }
}

#[test]
fn an_idle_pacer_gives_credit_for_half_a_burst_at_most() {
    let mut script = Scripted::new(TransportConfig { pacing: Pacing::On, ..config() }, 20, 10);
    script.write(10);
    script.advance_to(at(90));
    script.ack(at(100), 10, &[]);
    // The tenth segment's burst was over long ago: the next may be half a burst time early.
    script.sender.write(script.now, 4, MSS);
    assert_eq!(script.send(), [10, 11]);
    let whole = 2 * 1_448 * 1_000_000_000 / script.control().pacing_rate;
    let wait = script.view().next_departure.since(script.now).as_nanos();
    assert_eq!(wait, whole - whole / 2);
    assert_eq!(script.advance_to(script.now + Duration::from_nanos(wait)), [12, 13]);
}

#[test]
fn without_credit_every_pause_is_as_long_as_its_burst_takes() {
    let config = TransportConfig { pacing: Pacing::On, pacing_credit: false, ..config() };
    let mut script = Scripted::new(config, 20, 10);
    script.write(10);
    script.ack(at(100), 10, &[]);
    script.sender.write(script.now, 4, MSS);
    assert_eq!(script.send(), [10, 11]);
    let whole = 2 * 1_448 * 1_000_000_000 / script.control().pacing_rate;
    assert_eq!(script.view().next_departure.since(script.now).as_nanos(), whole);
}

// Bursts

#[test]
fn burst_sizes_are_a_millisecond_of_the_pacing_rate_between_two_segments_and_64_kb() {
    let mut script = Scripted::new(config(), 10, 5);
    let mut burst = |megabits: f64, min_rtt_us: u32| {
        script.sender.control.pacing_rate = (megabits * 125_000.0) as u64;
        script.sender.view.min_rtt_us = min_rtt_us;
        script.sender.max_burst()
    };
    let bursts = [1.0, 35.5, 50.0, 100.0, 200.0, 500.0, 534.0, 5_000.0].map(|megabits| burst(megabits, 40_000));
    assert_eq!(bursts, [2, 2, 4, 8, 16, 42, 45, 45]);
    // Short paths: 64 kB below 512 us, halved with every further 512 us.
    let short = [300, 600, 1_100, 6_000].map(|min_rtt_us| burst(1.0, min_rtt_us));
    assert_eq!(short, [45, 22, 11, 2]);
}

#[test]
fn a_device_that_takes_packets_one_by_one_gets_no_bursts() {
    let sizes = |gso_max_bytes: u32| {
        let mut sender = Sender::new(TransportConfig { gso_max_bytes, ..config() }.into(), reno());
        sender.establish(START, Handshake::symmetric(Scripted::RTT));
        let smallest = sender.max_burst();
        sender.control.pacing_rate = 1 << 40;
        (smallest, sender.max_burst())
    };
    assert_eq!(sizes(u32::from(MSS)), (1, 1));
    assert_eq!(sizes(4 * u32::from(MSS)), (2, 4));
}

#[test]
fn the_smallest_burst_can_be_chosen() {
    let mut sender = Sender::new(config().into(), reno());
    sender.establish(START, Handshake::symmetric(Scripted::RTT));
    let before = sender.max_burst();
    sender.set_smallest_burst(10);
    assert_eq!((before, sender.max_burst()), (2, 10));
}

#[test]
fn segments_become_longer_between_two_flights_and_the_window_ends_where_it_did() {
    let mut script = Scripted::new(config(), 50, 5);
    script.write(10);
    released(&mut script, 10, (20, 0));
    assert!(script.sender.is_idle());
    script.sender.set_segment(MSS + 12);
    // 20 segments of 1448 bytes are 19 of 1460, and 1220 bytes.
    script.sender.write(script.now, 30, MSS + 12);
    let lengths: Vec<u16> = script.send_segments().iter().map(|segment| segment.len).collect();
    assert_eq!(lengths, [[MSS + 12; 19].as_slice(), &[1_220]].concat());
    assert_eq!(script.sender.stats().sent_bytes, 30 * u64::from(MSS));
}

#[test]
fn a_burst_is_at_most_half_of_the_window() {
    let mut script = Scripted::new(config(), 10, 5);
    script.sender.control.pacing_rate = 1 << 40;
    let (size, _) = script.sender_burst(100);
    assert_eq!(size, 5);
}

impl Scripted {
    /// Writes and gives the size of the first burst and of all together.
    fn sender_burst(&mut self, segments: u32) -> (u32, u32) {
        self.sender.write(self.now, segments, MSS);
        let first = self.sender.poll_transmit(self.now).map_or(0, |_| self.sender.view.packets_out);
        self.send();
        (first, self.sender.view.packets_out)
    }
}

/// The size of the first answer after the one to the first ACK, when ACKs of two segments come 0.1 ms apart.
fn first_answer_to_an_ack_train(tso_win_divisor: u32) -> usize {
    let mut script = Scripted::new(TransportConfig { tso_win_divisor, pacing_shift: 6, ..config() }, 60, 30);
    script.write(1_000);
    assert_eq!(script.ack(at(100), 2, &[]).len(), 2);
    assert!(script.sender.max_burst() > 12);
    let answers = (1..20).map(|n| script.ack(at(100) + Duration::from_micros(100 * n), 2 + 2 * n as u32, &[]).len());
    answers.into_iter().find(|&size| size > 0).unwrap()
}

#[test]
fn during_an_ack_train_a_burst_is_deferred_until_it_is_worth_sending() {
    assert_eq!(first_answer_to_an_ack_train(6), 10, "a sixth of the window");
    assert_eq!(first_answer_to_an_ack_train(10), 6, "a tenth of the window");
    assert_eq!(first_answer_to_an_ack_train(0), 4, "more than three segments");
}

// Small queues

#[test]
fn small_queues_keep_a_millisecond_of_data_in_the_host() {
    let most_queued = |pacing_shift, small_queue_shift: Option<u32>| {
        let (mut pair, _) = Pair::fixed(&TransportConfig { pacing_shift, ..wire() }, 520, 260);
        pair.sender.control.small_queue_shift = small_queue_shift;
        pair.sender.control.ssthresh = 260;
        // 100 Mbit/s.
        pair.service = Duration::from_micros(120);
        pair.write_forever();
        pair.run_until(at(1_000));
        let warm = pair.sent.len();
        pair.most_queued = 0;
        pair.run_until(at(2_000));
        let rate = pair.sender.control().pacing_rate;
        assert!(pair.sent.len() - warm > 8_200, "the link stays full: {}", pair.sent.len() - warm);
        let burst = u64::from(pair.sender.max_burst()) * 1_448 + 832;
        let limit = (2 * burst).max(rate >> small_queue_shift.unwrap_or(pacing_shift)) + burst;
        (pair.most_queued, limit)
    };
    let (default, default_limit) = most_queued(10, None);
    let (wifi, wifi_limit) = most_queued(8, None);
    let (asked, asked_limit) = most_queued(10, Some(8));
    assert!(default <= default_limit, "{default} B exceed {default_limit} B");
    assert!(wifi <= wifi_limit, "{wifi} B exceed {wifi_limit} B");
    assert!(asked <= asked_limit, "{asked} B exceed {asked_limit} B");
    assert!(wifi > 3 * default, "{default} B and {wifi} B");
    assert!(asked > default, "{default} B and {asked} B");
    assert!(asked_limit < wifi_limit, "bursts stay as they are: {asked_limit} B and {wifi_limit} B");
    assert!(default < 520 * 1_448 / 8, "the window would let {default} B wait");
}

#[test]
fn with_immediate_completion_the_host_queue_never_limits() {
    let (mut pair, _) = Pair::fixed(&config(), 380, 190);
    pair.service = Duration::from_micros(120);
    pair.write_forever();
    pair.run_until(at(1));
    assert_eq!(pair.sent.len(), 380);
}

// Receive window, end of data

#[test]
fn a_small_receive_window_limits_what_is_outstanding() {
    // A reader that takes time acknowledges the whole window at once, and slow start adds it in one step.
    let config = TransportConfig { receive_window: 8 * 1_448, read_delay: Duration::ZERO, ..config() };
    let mut pair = Pair::new(&config, reno());
    pair.write_at(START, 500, MSS);
    pair.run_to_completion(ms(10_000));
    let mut acked = 0;
    let mut heard = pair.heard.iter().peekable();
    for sent in &pair.sent {
        while let Some(ack) = heard.next_if(|heard| heard.at <= sent.at) {
            acked = acked.max(ack.ack.ack);
        }
        assert!(sent.segment.seq < acked + 8);
    }
    assert_eq!(pair.received().0, 500);
    assert!(pair.sender.control().cwnd <= 16, "unused window does not grow");
}

/// The segments, with their lengths, that an ACK with this window lets out of an open congestion window.
fn released(script: &mut Scripted, ack: u32, window: (u32, u16)) -> Vec<(u32, u16)> {
    script.sender.control.cwnd = 50;
    let heard = Ack { window: AdvertisedWindow::new(window.0, window.1), ..script.ack_of(ack, &[]) };
    script.now += ms(10);
    script.sender.on_ack(script.now, &heard);
    script.send_segments().iter().map(|segment| (segment.seq, segment.len)).collect()
}

#[test]
fn a_segment_is_cut_where_the_receive_window_ends() {
    let mut script = Scripted::new(TransportConfig { nodelay: true, ..config() }, 10, 5);
    assert_eq!(script.write(100), (0..10).collect::<Vec<_>>());
    // Bursts have two segments here.
    assert_eq!(released(&mut script, 1, (10, 500)), [(10, MSS), (11, 500)]);
    assert_eq!(
        released(&mut script, 2, (9, 1_447)),
        [],
        "947 bytes: less than a segment, and more than that is to be sent"
    );
    assert_eq!(released(&mut script, 3, (9, 1_447)), [(12, MSS), (13, 947)]);
    // The two short ones in flight lack 948 and 501 bytes of whole ones, which are left of the window.
    assert_eq!(released(&mut script, 4, (10, 1_000)), [(14, MSS), (15, 1_001)]);
    assert_eq!(script.sender.stats().sent_bytes, 13 * u64::from(MSS) + 500 + 947 + 1_001);
}

#[test]
fn nagle_holds_a_short_segment_back_while_another_one_is_outstanding() {
    let mut script = Scripted::new(config(), 10, 5);
    script.write(100);
    assert_eq!(released(&mut script, 1, (10, 500)), [(10, MSS), (11, 500)], "the first one");
    assert_eq!(script.sender.held_by(), Limit::ReceiveWindow);
    assert_eq!(released(&mut script, 3, (9, 1_447)), [(12, MSS)], "what is left of the window is not used");
    assert_eq!(released(&mut script, 12, (2, 700)), [(13, MSS), (14, 700)], "it is acknowledged");
}

#[test]
fn a_sender_that_hears_nothing_for_more_than_two_round_trips_waits_for_a_timeout() {
    let limit = |script: &Scripted, now: Time| {
        let Sender { view, control, controller, sample, stats, .. } = &script.sender;
        Sending { view, control, controller: &**controller, sample, stats, sender: &script.sender }.limit(now)
    };
    let mut script = Scripted::new(config(), 10, 40);
    script.write(100);
    let rtt = Duration::from_micros(u64::from(script.sender.view().srtt_us_x8 / 8));
    assert_eq!(limit(&script, script.now + rtt * 2), Limit::SlowStart);
    assert_eq!(limit(&script, script.now + rtt * 2 + ms(1)), Limit::Timeout);
    let mut idle = Scripted::new(config(), 10, 40);
    idle.write(10);
    idle.ack(at(40), 10, &[]);
    assert_eq!(limit(&idle, idle.now + rtt * 100), Limit::Application);
}

#[test]
fn the_congestion_window_counts_where_the_receive_window_is_full_too() {
    for (cwnd, limit) in [(10, Limit::Cwnd), (11, Limit::ReceiveWindow)] {
        let window = TransportConfig { receive_autotuning: false, receive_window: 10 * u64::from(MSS), ..config() };
        let mut script = Scripted::new(window, cwnd, 5);
        assert_eq!(script.write(100).len(), 10);
        assert_eq!(script.sender.held_by(), limit, "a window of {cwnd}");
    }
}

#[test]
fn a_short_end_of_the_data_waits_for_the_ack_of_a_short_segment() {
    for (nodelay, at_once) in [(false, &[][..]), (true, &[1][..])] {
        let mut script = Scripted::new(TransportConfig { nodelay, ..config() }, 10, 5);
        script.sender.write(script.now, 1, 300);
        assert_eq!(script.send(), [0]);
        assert_eq!(script.sender.held_by(), Limit::Application);
        script.sender.write(script.now, 1, 200);
        assert_eq!(script.send(), at_once);
        assert_eq!(script.sender.held_by(), if nodelay { Limit::Application } else { Limit::Nagle });
        assert_eq!(script.ack(at(100), 1, &[]).is_empty(), nodelay);
    }
}

#[test]
fn what_is_left_of_the_receive_window_takes_a_last_segment_that_fits() {
    let mut script = Scripted::new(config(), 10, 5);
    script.write(9);
    script.sender.write(script.now, 2, 300);
    assert_eq!(script.send(), [9]);
    assert_eq!(script.sender.held_by(), Limit::Cwnd);
    let ack = Ack { window: AdvertisedWindow::new(8, 300), ..script.ack_of(2, &[]) };
    script.now += ms(10);
    script.sender.on_ack(script.now, &ack);
    assert_eq!(
        script.send_segments().iter().map(|segment| (segment.seq, segment.len)).collect::<Vec<_>>(),
        [(10, 300)]
    );
}

#[test]
fn an_autotuning_receiver_limits_the_first_flight_to_the_window_of_the_handshake() {
    let (mut pair, _) = Pair::fixed(&TransportConfig { receive_autotuning: true, ..config() }, 400, 200);
    pair.write_at(START, 5_000, MSS);
    pair.run_until(at(39));
    assert_eq!(pair.sent.len(), 45);
    pair.run_to_completion(ms(10_000));
    assert_eq!(pair.received().1, 5_000 * u64::from(MSS));
}

#[test]
fn the_last_segment_of_a_stream_is_short_also_when_it_is_sent_again() {
    let (mut pair, _) = Pair::fixed(&config(), 10, 5);
    pair.drop(&[(24, 1)]);
    pair.write_at(START, 25, 100);
    pair.run_to_completion(ms(5_000));
    assert_eq!(pair.received(), (25, 24 * 1_448 + 100));
    for sent in &pair.sent {
        assert_eq!(sent.segment.len, if sent.segment.seq == 24 { 100 } else { MSS });
    }
    assert_eq!(pair.sender.stats().sent_bytes, 24 * 1_448 + 2 * 100);
}

#[test]
fn a_segment_of_one_byte_travels() {
    let (mut pair, _) = Pair::fixed(&config(), 10, 5);
    pair.write_at(START, 1, 1);
    pair.run_to_completion(ms(5_000));
    assert_eq!(pair.received(), (1, 1));
    assert_eq!(pair.sender.next_timer(), Time::NEVER);
}

#[test]
fn closing_in_the_middle_sends_nothing_new_but_repairs_what_was_sent() {
    let (mut pair, _) = Pair::fixed(&config(), 20, 10);
    pair.service = ms(1);
    pair.drop(&[(190, 1), (199, 1)]);
    pair.write_forever();
    pair.run_until(at(420));
    pair.sender.close();
    let sent = pair.sender.view().snd_nxt;
    assert!(!pair.sender.is_idle() && pair.sender.unsent_segments() == 0);
    pair.run_to_completion(ms(5_000));
    assert_eq!((pair.sender.view().snd_una, pair.received().0), (sent, sent));
    assert_eq!(pair.retransmitted(), [190, 199]);
}

// Window validation and idle time

#[test]
fn idle_time_halves_the_window_once_per_timeout() {
    let mut script = Scripted::new(config(), 80, 40);
    script.write(80);
    script.ack(at(100), 80, &[]);
    script.sender.control.ssthresh = 20;
    script.now = at(1_000);
    assert_eq!(script.write(1_000).len(), 10);
    assert_eq!((script.control().cwnd, script.control().ssthresh), (10, 60));
    assert_eq!(script.calls.count(Call::Event(Event::CwndRestart)), 1);
}

#[test]
fn idle_time_shorter_than_a_timeout_or_with_the_option_off_changes_nothing() {
    for (slow_start_after_idle, millis) in [(true, 299), (false, 5_000)] {
        let mut script = Scripted::new(TransportConfig { slow_start_after_idle, ..config() }, 80, 40);
        script.write(80);
        script.ack(at(100), 80, &[]);
        script.now = at(millis);
        assert_eq!(script.write(1_000).len(), 80);
        assert_eq!(script.control().ssthresh, Control::INFINITE_SSTHRESH);
    }
}

#[test]
fn a_fin_after_idle_time_restarts_no_window() {
    let mut script = Scripted::new(config(), 80, 40);
    script.write(80);
    script.ack(at(100), 80, &[]);
    script.now = at(5_000);
    script.sender.write_fin(at(5_000));
    assert_eq!(script.send(), [80]);
    assert_eq!(script.calls.count(Call::Event(Event::CwndRestart)), 0);
}

#[test]
fn a_duplicate_that_is_reported_before_any_progress_is_believed() {
    let mut script = Scripted::new(config(), 10, 40);
    script.write(10);
    script.ack(at(40), 0, &[(6, 10)]);
    script.send();
    script.ack(at(80), 0, &[(0, 1), (6, 10)]);
    let delivered = script.sender.view().delivered;
    script.ack(at(90), 0, &[(0, 1), (0, 1), (6, 10)]);
    assert_eq!((script.sender.view().delivered, script.sender.stats().dsacked_segments), (delivered + 1, 1));
}

#[test]
fn a_slow_application_does_not_grow_the_window_beyond_twice_its_use() {
    let mut pair = Pair::new(&TransportConfig { initial_cwnd: 2, ..config() }, reno());
    // A megabit per second.
    for n in 0..800 {
        pair.write_at(START + Duration::from_micros(11_584 * n), 1, MSS);
    }
    pair.run_to_completion(ms(60_000));
    let most_out = 8;
    let cwnds: Vec<u32> = pair.heard.iter().map(|heard| heard.cwnd).collect();
    let last = cwnds[cwnds.len() - 1];
    assert!((4..=2 * most_out).contains(&last), "{last}");
    assert_eq!(cwnds[100], last, "no growth after the start");
    assert_eq!(pair.sender.view().ca_state, CaState::Open);
}

#[test]
fn a_window_unused_for_longer_than_a_timeout_decays_towards_its_use() {
    let mut script = Scripted::new(config(), 80, 40);
    script.sender.control.ssthresh = 30;
    script.write(20);
    script.ack(at(100), 20, &[]);
    script.now = at(250);
    script.write(5);
    assert_eq!(script.control().cwnd, 80);
    script.now = at(420);
    script.write(5);
    assert_eq!((script.control().cwnd, script.control().ssthresh), ((80 + 20) / 2, 60));
}
