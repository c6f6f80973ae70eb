#![expect(clippy::cast_possible_truncation, reason = "numbers in these tests are small")]

use super::*;
use crate::{Flags, SackBlock, Timestamp};
use dumbbell_units::{Ecn, Rng};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

/// One way to the receiver in these tests, unless a test says otherwise.
const FORWARD: Duration = Duration::from_millis(20);
const MSS: u16 = 1448;

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn us(micros: u64) -> Time {
    Time::from_nanos(micros * 1_000)
}

/// A full segment that left [`FORWARD`] before `arrival`, and echoes an ACK that left as long before that.
fn segment(seq: u32, arrival: Time) -> Segment {
    let before = |delay| Time::ZERO + arrival.since(Time::ZERO + delay);
    Segment {
        seq,
        len: MSS,
        ecn: Ecn::NotEct,
        flags: Flags::NONE,
        sent_at: before(FORWARD),
        echo: Timestamp::at(before(FORWARD * 2)),
    }
}

fn marked(seq: u32, arrival: Time, ecn: Ecn) -> Segment {
    Segment { ecn, ..segment(seq, arrival) }
}

/// A receiver whose application reads at once. Tests of `read_delay` set it.
fn receiver(config: TransportConfig) -> Receiver {
    Receiver::new(&TransportConfig { read_delay: Duration::ZERO, ..config })
}

/// A window that is too small to grow, so that quick ACKs come from nowhere else.
fn steady() -> TransportConfig {
    TransportConfig { receive_window: 45 * 1448, ..TransportConfig::default() }
}

/// A connection that has used up its quick ACKs and acknowledged everything; the next segment is the one returned, and
/// it may arrive from `ms(200)` on. Two segments have changed places: above a hole the limit of the window has grown
/// for the last time.
fn settled(config: TransportConfig) -> (Receiver, u32) {
    let mut receiver = receiver(config);
    let mut seq = 0;
    while seq < 60 || receiver.acks.is_quick() || receiver.last_acked < receiver.rcv_nxt {
        let swapped = if seq == 30 || seq == 31 { 61 - seq } else { seq };
        arrive(&mut receiver, swapped, us(100_000 + 10 * u64::from(seq)));
        seq += 1;
    }
    (receiver, seq)
}

/// A connection with the default window whose segments came in order until the limit had grown.
fn in_order() -> (Receiver, u32) {
    let mut receiver = receiver(TransportConfig::default());
    for seq in 0..60 {
        arrive(&mut receiver, seq, us(100_000 + 10 * u64::from(seq)));
    }
    (receiver, 60)
}

/// The ACKs that leave in the moment `segment` arrives.
fn receive(receiver: &mut Receiver, now: Time, segment: Segment) -> Vec<Ack> {
    let mut acks = Vec::from_iter(receiver.on_segment(now, segment));
    if receiver.next_timer() <= now {
        assert_eq!(acks.len(), 1, "only a second ACK is put off");
        acks.extend(receiver.on_timer(now));
    }
    acks
}

fn arrive(receiver: &mut Receiver, seq: u32, now: Time) -> Vec<Ack> {
    receive(receiver, now, segment(seq, now))
}

fn blocks(ack: &Ack) -> Vec<(u32, u32)> {
    ack.sack_blocks().iter().map(|block| (block.start, block.end)).collect()
}

// Quick ACKs and delayed ACKs

#[test]
fn an_ack_of_unread_segments_leaves_at_once_where_the_window_hides_them_and_once_before_the_reader() {
    let bundle = |window_scale| {
        let (receiver, seq) = settled(TransportConfig { window_scale, ..steady() });
        let mut receiver = Receiver { reading: Reading::after(Duration::from_micros(20)), ..receiver };
        let mut acks = Vec::new();
        for n in 0..10 {
            acks.extend(receive(&mut receiver, ms(300), segment(seq + n, ms(300))).iter().map(|ack| ack.ack - seq));
        }
        let reads_at = receiver.next_timer();
        acks.extend(receiver.on_timer(reads_at).map(|ack| ack.ack - seq));
        (acks, reads_at.since(ms(300)).as_micros())
    };
    assert_eq!(bundle(10), (vec![10], 20), "two segments show in units of 1024 bytes");
    // 44 segments of 1448 bytes are 15.6 units of 4096 bytes, 43 are 15.2, 42 are 14.8, and 41 are less.
    assert_eq!(bundle(12), (vec![2, 10], 20));
}

#[test]
fn a_probe_of_the_window_is_answered_at_once_and_counts_as_nothing() {
    let (mut receiver, seq) = settled(steady());
    let before = receiver.stats();
    let acks = receive(&mut receiver, ms(300), Segment { len: 0, ..segment(seq - 1, ms(300)) });
    let [ack] = acks[..] else { panic!("{acks:?}") };
    assert_eq!((ack.ack, ack.sack_count, ack.window.segments()), (seq, 0, 45));
    assert_eq!(receiver.stats(), ReceiverStats { acks_sent: before.acks_sent + 1, ..before });
}

#[test]
fn a_connection_starts_with_sixteen_quick_acks_then_acknowledges_every_second_segment() {
    let mut receiver = receiver(steady());
    let acked: Vec<u32> =
        (0..24).flat_map(|seq| arrive(&mut receiver, seq, us(100_000 + u64::from(seq)))).map(|ack| ack.ack).collect();
    assert_eq!(acked, (1..=16).chain([18, 20, 22, 24]).collect::<Vec<_>>());
}

#[test]
fn who_counts_the_memory_himself_takes_quick_acks_away_and_gives_one_back() {
    let mut receiver = receiver(steady());
    assert_eq!(arrive(&mut receiver, 0, us(100_000)).len(), 1, "quick");
    receiver.note_scarcity();
    assert_eq!(arrive(&mut receiver, 1, us(100_010)), []);
    receiver.note_growth();
    let acked: Vec<u32> = arrive(&mut receiver, 2, us(100_020)).iter().map(|ack| ack.ack).collect();
    assert_eq!(acked, [3]);
    receiver.note_growth();
    assert_eq!(arrive(&mut receiver, 3, us(100_030)).len(), 1, "the first of two");
    assert_eq!(arrive(&mut receiver, 4, us(100_040)), []);
}

#[test]
fn a_tiny_window_allows_fewer_quick_acks() {
    for (segments, quick) in [(1, 2), (4, 2), (12, 6), (40, 16)] {
        let config = TransportConfig { receive_window: segments * 1448, ..TransportConfig::default() };
        let mut receiver = receiver(config);
        let count =
            (0..30).take_while(|&seq| arrive(&mut receiver, seq, us(100_000 + u64::from(seq))).len() == 1).count();
        assert_eq!(count, quick, "{segments}");
    }
}

#[test]
fn without_quick_acks_the_first_segment_waits() {
    let mut receiver = receiver(TransportConfig { quick_acks: 0, ..TransportConfig::default() });
    assert!(arrive(&mut receiver, 0, ms(100)).is_empty());
    assert_eq!(receiver.next_timer(), ms(141), "a tick behind the 40 ms");
    assert_eq!(arrive(&mut receiver, 1, ms(101)).len(), 1);
    assert_eq!(receiver.next_timer(), Time::NEVER);
}

#[test]
fn a_bulk_transfer_is_acknowledged_once_per_ack_every_segments() {
    for ack_every in [1, 2, 4] {
        let (mut receiver, next) = settled(TransportConfig { ack_every, ..steady() });
        let before = receiver.stats().acks_sent;
        for i in 0..400 {
            arrive(&mut receiver, next + i, us(200_000 + 100 * u64::from(i)));
        }
        assert_eq!(receiver.stats().acks_sent - before, u64::from(400 / ack_every), "{ack_every}");
    }
}

#[test]
fn a_single_segment_waits_for_the_delayed_ack_timer() {
    let (mut receiver, next) = settled(steady());
    assert!(arrive(&mut receiver, next, ms(115)).is_empty());
    assert_eq!(receiver.next_timer(), ms(156), "a tick behind the 40 ms");
    assert_eq!(receiver.on_timer(ms(155)), None);
    let ack = receiver.on_timer(ms(156)).unwrap();
    assert_eq!(ack.ack, next + 1);
    assert_eq!(receiver.next_timer(), Time::NEVER);
    assert_eq!(receiver.on_timer(ms(156)), None);
}

#[test]
fn a_lone_segment_with_a_push_is_acknowledged_at_once() {
    for (ack_pushes, push, acks) in [(true, true, 1), (true, false, 0), (false, true, 0)] {
        let (mut receiver, next) = settled(TransportConfig { ack_pushes, ..steady() });
        let flags = if push { Flags::PSH } else { Flags::NONE };
        let lone = Segment { flags, ..segment(next, ms(115)) };
        assert_eq!(receive(&mut receiver, ms(115), lone).len(), acks, "{ack_pushes} {push}");
    }
}

#[test]
fn a_lone_short_segment_counts_as_pushed() {
    for (len, acks) in [(MSS, 0), (MSS - 1, 1)] {
        let (mut receiver, next) = settled(steady());
        let lone = Segment { len, ..segment(next, ms(115)) };
        assert_eq!(receive(&mut receiver, ms(115), lone).len(), acks, "{len}");
    }
}

#[test]
fn a_push_puts_acks_back_in_step_with_bursts_of_two() {
    let (mut receiver, next) = settled(steady());
    let (none, push) = (Flags::NONE, Flags::PSH);
    let pushes = [none, none, push, none, push, none, push];
    let acked: Vec<u32> = (next..)
        .zip(pushes)
        .flat_map(|(seq, flags)| {
            let now = ms(115 + u64::from(seq - next));
            receive(&mut receiver, now, Segment { flags, ..segment(seq, now) })
        })
        .map(|ack| ack.ack - next)
        .collect();
    assert_eq!(acked, [2, 3, 5, 7], "the single one shifts the pairs, the first push ends that");
}

#[test]
fn the_delayed_ack_timer_runs_on_jiffies() {
    for (hz, timer_wheel, expected) in
        [(1000, true, 156_000), (250, true, 156_000), (100, true, 160_000), (1_000_000, false, 155_300)]
    {
        let (mut receiver, next) = settled(TransportConfig { hz, timer_wheel, ..steady() });
        arrive(&mut receiver, next, us(115_300));
        assert_eq!(receiver.next_timer(), us(expected), "{hz}");
    }
}

#[test]
fn the_delayed_ack_time_follows_the_gaps_up_to_the_round_trip() {
    // Gaps of 30 ms: 40/2 + 30 = 50, 50/2 + 30 = 55, 55/2 + 30 = 57.5 ms, bounded by a round trip of 56 ms.
    let (mut receiver, next) =
        settled(TransportConfig { hz: 1_000_000, timer_wheel: false, ack_every: 100, ..steady() });
    receiver.set_handshake(Duration::from_millis(56));
    arrive(&mut receiver, next, ms(110));
    for (i, expected_us) in [(1, 50_000), (2, 55_000), (3, 56_000)] {
        let now = receiver.acks.last_data_at() + Duration::from_millis(30);
        receiver.acknowledge(ms(0));
        arrive(&mut receiver, next + i, now);
        assert_eq!(receiver.next_timer(), now + Duration::from_micros(expected_us));
    }
}

#[test]
fn the_delayed_ack_time_is_40_ms_on_short_paths_and_200_ms_at_most() {
    // The wheel fires them a millisecond later, and in a slot of 8 ms.
    for (rtt, expected) in [(10, 41), (1000, 204)] {
        let (mut receiver, next) = settled(steady());
        receiver.set_handshake(Duration::from_millis(rtt));
        receiver.acks.set_ato(Duration::from_millis(900)); // as if gaps had been growing for long
        arrive(&mut receiver, next, ms(300));
        assert_eq!(receiver.next_timer(), ms(300 + expected));
    }
}

#[test]
fn a_delayed_ack_that_expires_doubles_the_delay() {
    let (mut receiver, next) = settled(TransportConfig { hz: 1_000_000, timer_wheel: false, ..steady() });
    receiver.set_handshake(Duration::from_millis(500));
    arrive(&mut receiver, next, ms(110));
    receiver.on_timer(ms(150)).unwrap();
    // ato is 80 ms now; the gap of 70 ms makes it 80/2 + 70.
    arrive(&mut receiver, next + 1, ms(180));
    assert_eq!(receiver.next_timer(), ms(180 + 110));
}

#[test]
fn a_delayed_ack_about_to_expire_leaves_with_the_next_segment() {
    let config = TransportConfig { ack_every: 100, ..steady() };
    let (mut receiver, next) = settled(config);
    arrive(&mut receiver, next, ms(110));
    assert!(arrive(&mut receiver, next + 1, ms(129)).is_empty());
    assert_eq!(receiver.next_timer(), ms(151), "a running timer is not extended");
    assert_eq!(arrive(&mut receiver, next + 2, ms(141)).len(), 1);
}

#[test]
fn a_pause_longer_than_the_retransmission_timeout_brings_quick_acks_back() {
    let (mut receiver, next) = settled(steady());
    let start = receiver.acks.last_data_at() + Duration::from_millis(241);
    let quick = (0..40)
        .take_while(|&i| arrive(&mut receiver, next + i, start + Duration::from_micros(u64::from(i))).len() == 1)
        .count();
    assert_eq!(quick, 16);

    let (mut receiver, next) = settled(steady());
    let start = receiver.acks.last_data_at() + Duration::from_millis(239);
    assert!(arrive(&mut receiver, next, start).is_empty());
}

// Out of order

#[test]
fn three_duplicate_acks_leave_at_once_and_the_fourth_waits_a_millisecond() {
    let (mut receiver, next) = settled(steady());
    for i in 1..=3 {
        let acks = arrive(&mut receiver, next + i, us(110_000 + u64::from(i)));
        assert_eq!(acks.len(), 1);
        assert_eq!((acks[0].ack, blocks(&acks[0])), (next, vec![(next + 1, next + 1 + i)]));
    }
    assert!(arrive(&mut receiver, next + 4, us(110_100)).is_empty());
    assert_eq!(receiver.next_timer(), us(111_100), "an exact timer, not one of jiffies");
    assert!(arrive(&mut receiver, next + 5, us(110_900)).is_empty());
    assert_eq!(receiver.next_timer(), us(111_100));
    let ack = receiver.on_timer(us(111_100)).unwrap();
    assert_eq!(blocks(&ack), [(next + 1, next + 6)]);
    // The next duplicates are compressed again: the sender has had its three.
    assert!(arrive(&mut receiver, next + 6, us(111_200)).is_empty());
}

#[test]
fn the_first_segment_above_a_hole_takes_no_room_while_the_limit_grows_for_it() {
    let (mut receiver, next) = in_order();
    // As Linux 7.2 answers: the first brings a quick ACK, above the next hole none does.
    let above_hole = |receiver: &mut Receiver, from: u32| {
        (from..from + 8).map(|seq| arrive(receiver, seq, us(110_000)).len()).collect::<Vec<_>>()
    };
    assert_eq!(above_hole(&mut receiver, next + 1), [1, 1, 1, 1, 0, 0, 0, 0]);
    arrive(&mut receiver, next, us(110_100));
    assert_eq!(above_hole(&mut receiver, next + 10), [1, 1, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn compression_waits_a_third_of_a_short_round_trip() {
    let (mut receiver, next) = settled(steady());
    receiver.set_handshake(Duration::from_micros(600));
    for i in 1..=4 {
        arrive(&mut receiver, next + i, ms(110));
    }
    assert_eq!(receiver.next_timer(), us(110_198));
}

#[test]
fn at_most_44_acks_are_compressed_into_one() {
    let (mut receiver, next) = settled(TransportConfig::default());
    let sent: Vec<usize> = (1..=48 + 44).map(|i| arrive(&mut receiver, next + i, us(110_000)).len()).collect();
    let at_once: Vec<usize> = (1..).zip(sent).filter(|&(_, acks)| acks == 1).map(|(i, _)| i).collect();
    assert_eq!(at_once, [1, 2, 3, 48]);
}

#[test]
fn compression_can_be_switched_off() {
    let (mut receiver, next) = settled(TransportConfig { compress_sacks: false, ..steady() });
    assert!((1..=20).all(|i| arrive(&mut receiver, next + i, us(110_000)).len() == 1));
}

#[test]
fn a_change_beyond_the_second_block_first_releases_the_compressed_ack() {
    let (mut receiver, next) = settled(steady());
    for seq in [2, 4, 5, 6] {
        arrive(&mut receiver, next + seq, us(110_000));
    }
    assert_eq!(receiver.compression.room(), 43);
    // A third block: the sender could miss what the compressed ACK says about the second.
    let acks = arrive(&mut receiver, next + 9, us(110_010));
    assert_eq!(acks.len(), 1);
    assert_eq!(blocks(&acks[0]), [(next + 4, next + 7), (next + 2, next + 3)]);
    // The new block waits for an ACK of the next segment.
    assert_eq!((receiver.compression.holds_back(), receiver.next_timer()), (false, Time::NEVER));
    assert!(arrive(&mut receiver, next + 10, us(110_200)).is_empty());
    assert_eq!(receiver.next_timer(), us(111_200));
    let ack = receiver.on_timer(us(111_200)).unwrap();
    assert_eq!(blocks(&ack), [(next + 9, next + 11), (next + 4, next + 7), (next + 2, next + 3)]);
}

#[test]
fn filling_the_last_gap_is_acknowledged_at_once() {
    let (mut receiver, next) = settled(TransportConfig { ack_every: 100, ..steady() });
    for i in [1, 2, 4] {
        arrive(&mut receiver, next + i, ms(110));
    }
    let acks = arrive(&mut receiver, next, us(110_100));
    assert_eq!((acks[0].ack, blocks(&acks[0])), (next + 3, vec![(next + 4, next + 5)]));
    let acks = arrive(&mut receiver, next + 3, us(110_200));
    assert_eq!((acks[0].ack, acks[0].sack_count), (next + 5, 0));
    assert!(arrive(&mut receiver, next + 5, us(110_300)).is_empty());
}

#[test]
fn without_sack_every_segment_beyond_a_gap_is_a_plain_duplicate_ack() {
    let (mut receiver, next) = settled(TransportConfig { sack: false, ..steady() });
    let edge = receiver.window.edge();
    for i in 1..=10 {
        let acks = arrive(&mut receiver, next + i, ms(110));
        assert_eq!((acks[0].ack, acks[0].sack_count, acks[0].ack + acks[0].window.segments()), (next, 0, edge));
    }
    assert_eq!(arrive(&mut receiver, next + 3, ms(110))[0].sack_count, 0, "and no duplicate is reported");
}

// Duplicates (RFC 2883)

#[test]
fn an_old_duplicate_is_reported_below_the_acknowledgement_and_starts_quick_acks() {
    let (mut receiver, next) = settled(steady());
    let acks = arrive(&mut receiver, next - 5, ms(110));
    assert_eq!((acks[0].ack, blocks(&acks[0])), (next, vec![(next - 5, next - 4)]));
    assert_eq!(receiver.stats().duplicate_segments, 1);
    let quick = (0..40).take_while(|&i| arrive(&mut receiver, next + i, ms(110)).len() == 1).count();
    assert_eq!(quick, 16);
    // The report is not repeated.
    assert_eq!(arrive(&mut receiver, next + 17, ms(111)).first().map(|ack| ack.sack_count), Some(0));
}

#[test]
fn a_duplicate_that_is_not_to_be_reported_is_answered_all_the_same() {
    let (mut receiver, next) = settled(TransportConfig { dsack: false, ..steady() });
    let acks = arrive(&mut receiver, next - 5, ms(110));
    assert_eq!((acks.len(), acks[0].ack, acks[0].sack_count), (1, next, 0));
    for i in [1, 2, 8] {
        arrive(&mut receiver, next + i, ms(110));
    }
    let acks = arrive(&mut receiver, next + 2, us(110_100));
    assert_eq!((acks[0].ack, blocks(&acks[0])), (next, vec![(next + 1, next + 3), (next + 8, next + 9)]));
    assert_eq!(receiver.stats().duplicate_segments, 2);
}

#[test]
fn a_duplicate_of_a_held_segment_is_reported_inside_the_block_that_holds_it() {
    let (mut receiver, next) = settled(steady());
    for i in [1, 2, 3, 8] {
        arrive(&mut receiver, next + i, ms(110));
    }
    // Its ACK waits as those of other segments above a hole do.
    assert!(arrive(&mut receiver, next + 2, us(110_100)).is_empty());
    let ack = receiver.on_timer(receiver.next_timer()).unwrap();
    let expected = [(next + 2, next + 3), (next + 1, next + 4), (next + 8, next + 9)];
    assert_eq!((ack.ack, blocks(&ack)), (next, expected.to_vec()));
    assert_eq!((receiver.stats().duplicate_segments, receiver.acks.state().0), (1, 0));
}

#[test]
fn a_duplicate_of_a_held_segment_is_forgotten_if_the_next_segment_arrives_before_the_ack() {
    let (mut receiver, next) = settled(steady());
    for i in [1, 2, 3, 4, 2, 5] {
        arrive(&mut receiver, next + i, ms(110));
    }
    let ack = receiver.on_timer(receiver.next_timer()).unwrap();
    assert_eq!(blocks(&ack), [(next + 1, next + 6)]);
    assert_eq!(receiver.stats().duplicate_segments, 1);
}

#[test]
fn a_duplicate_report_takes_the_place_of_the_third_block() {
    let (mut receiver, next) = settled(steady());
    for i in [1, 3, 5] {
        arrive(&mut receiver, next + i, ms(110));
    }
    let acks = arrive(&mut receiver, next - 1, us(110_100));
    assert_eq!(blocks(&acks[0]), [(next - 1, next), (next + 5, next + 6), (next + 3, next + 4)]);
}

// Timestamps

#[test]
fn an_ack_echoes_the_earliest_segment_it_covers() {
    let (mut receiver, next) = settled(steady());
    arrive(&mut receiver, next, ms(110));
    let acks = arrive(&mut receiver, next + 1, ms(112));
    assert_eq!(acks[0].echo, Timestamp::at(ms(90)));
}

#[test]
fn duplicate_acks_echo_the_segment_before_the_gap_and_the_retransmission_afterwards() {
    let (mut receiver, next) = settled(steady());
    arrive(&mut receiver, next, ms(110));
    for i in [2, 3] {
        assert_eq!(arrive(&mut receiver, next + i, ms(110 + u64::from(i)))[0].echo, Timestamp::at(ms(90)));
    }
    assert_eq!(arrive(&mut receiver, next + 1, ms(150))[0].echo, Timestamp::at(ms(130)));
}

#[test]
fn an_old_copy_does_not_turn_the_echo_back() {
    let (mut receiver, next) = settled(steady());
    arrive(&mut receiver, next, ms(150));
    arrive(&mut receiver, next + 1, ms(150));
    let late = Segment { sent_at: ms(1), ..segment(next, ms(151)) };
    let echo = receiver.on_segment(ms(151), late).unwrap().echo;
    assert_eq!(echo, Timestamp::at(ms(130)));
}

// PAWS

/// Segment `seq` arrives at `now`; it left at `sent_at`.
fn arrive_sent_at(receiver: &mut Receiver, seq: u32, now: Time, sent_at: Time) -> Vec<Ack> {
    receive(receiver, now, Segment { sent_at, ..segment(seq, now) })
}

#[test]
fn originals_that_are_delayed_behind_a_retransmission_are_dropped_and_answered() {
    let (mut receiver, next) = settled(steady());
    arrive(&mut receiver, next + 4, ms(110));
    // The retransmission of the head left at 130 ms, and its timestamp is echoed from here on.
    assert_eq!(arrive_sent_at(&mut receiver, next, ms(150), ms(130))[0].echo, Timestamp::at(ms(130)));
    let before = receiver.stats();
    // One original is next, one lies above the hole; both left at 91 ms.
    for late in [next + 1, next + 3] {
        let acks = arrive_sent_at(&mut receiver, late, ms(151), ms(91));
        assert_eq!(
            acks.iter().map(|ack| (ack.ack, blocks(ack))).collect::<Vec<_>>(),
            [(next + 1, vec![(next + 4, next + 5)])]
        );
    }
    let after = receiver.stats();
    assert_eq!(after.delivered_segments, before.delivered_segments);
    assert_eq!(after.arrived_segments, before.arrived_segments + 2, "they arrived all the same");
    assert_eq!(after.duplicate_segments, before.duplicate_segments);
    // Their retransmissions are taken.
    arrive_sent_at(&mut receiver, next + 1, ms(171), ms(151));
    assert_eq!(receiver.rcv_nxt, next + 2);
}

#[test]
fn a_timestamp_may_be_older_by_one_millisecond() {
    for (sent_at, is_taken) in [(us(129_000), true), (us(128_999), false)] {
        let (mut receiver, next) = settled(steady());
        arrive_sent_at(&mut receiver, next, ms(150), us(130_900));
        arrive_sent_at(&mut receiver, next + 1, ms(150), us(130_900));
        arrive_sent_at(&mut receiver, next + 2, ms(151), sent_at);
        assert_eq!(receiver.rcv_nxt, next + 2 + u32::from(is_taken), "{sent_at}");
    }
}

#[test]
fn without_timestamps_a_round_trip_is_the_time_in_which_a_window_arrives_in_order() {
    let config = TransportConfig { timestamps: false, ..steady() };
    let mut in_order = receiver(config.clone());
    let window = in_order.window.edge();
    assert!(window > 10, "{window}");
    for seq in 0..=window {
        assert_eq!(in_order.rtt.smoothed(), None, "{seq}");
        let now = ms(100 + u64::from(seq));
        in_order.on_segment(now, segment(seq, now));
    }
    assert_eq!(in_order.rtt.smoothed(), Some(Duration::from_millis(window.into())));
    let mut behind_a_hole = receiver(config);
    for seq in (1..window).chain([0]) {
        let now = ms(100 + u64::from(if seq == 0 { window } else { seq }));
        behind_a_hole.on_segment(now, segment(seq, now));
    }
    assert_eq!(behind_a_hole.rtt.smoothed(), None, "the measurement begins with what comes in order");
}

#[test]
fn without_timestamps_nothing_is_dropped_and_a_fourth_block_fits() {
    for (timestamps, taken, fitting) in [(true, 0, 3), (false, 1, 4)] {
        let (mut receiver, next) = settled(TransportConfig { timestamps, compress_sacks: false, ..steady() });
        arrive_sent_at(&mut receiver, next, ms(150), ms(130));
        arrive_sent_at(&mut receiver, next + 1, ms(150), ms(130));
        let acks: Vec<Ack> =
            [5, 7, 9, 11].into_iter().flat_map(|i| arrive(&mut receiver, next + i, ms(151 + u64::from(i)))).collect();
        assert_eq!(acks.last().unwrap().sack_blocks().len(), fitting);
        arrive_sent_at(&mut receiver, next + 2, ms(165), ms(91));
        assert_eq!(receiver.rcv_nxt, next + 2 + taken, "{timestamps}");
    }
}

#[test]
fn an_old_duplicate_with_an_old_timestamp_is_reported_and_starts_quick_acks() {
    let (mut receiver, next) = settled(steady());
    arrive_sent_at(&mut receiver, next, ms(150), ms(130));
    arrive_sent_at(&mut receiver, next + 1, ms(150), ms(130));
    assert_eq!(receiver.acks.state().0, 0);
    let acks = arrive_sent_at(&mut receiver, next, ms(151), ms(90));
    assert_eq!((acks[0].ack, blocks(&acks[0])), (next + 2, vec![(next, next + 1)]));
    assert_eq!((receiver.acks.state().0, receiver.stats().duplicate_segments), (16, 1));
}

// ECN

#[test]
fn a_mark_is_echoed_until_the_sender_answers_and_is_acknowledged_at_once() {
    let (mut receiver, next) = settled(steady());
    let mut eces = Vec::new();
    let mut step = |seq: u32, ecn, cwr| {
        let flags = if cwr { Flags::CWR } else { Flags::NONE };
        let segment = Segment { flags, ..marked(next + seq, ms(110), ecn) };
        let acks = receive(&mut receiver, ms(110), segment);
        eces.extend(acks.iter().map(|ack| ack.ece));
        acks.len()
    };
    assert_eq!(step(0, Ecn::Ect0, false), 0);
    assert_eq!(step(1, Ecn::Ect0, false), 1);
    assert_eq!(step(2, Ecn::Ce, false), 1, "quick");
    assert_eq!(step(3, Ecn::Ect0, false), 1, "quick");
    assert_eq!(step(4, Ecn::Ce, false), 0, "a second mark of the same episode is no news");
    assert_eq!(step(5, Ecn::Ect0, false), 1);
    assert_eq!(step(6, Ecn::Ect0, true), 1, "CWR is acknowledged at once");
    assert_eq!(step(7, Ecn::Ect0, false), 0);
    assert_eq!(step(8, Ecn::Ect0, false), 1);
    assert_eq!(eces, [false, true, true, true, false, false]);
    assert_eq!(receiver.stats().ce_segments, 2);
}

#[test]
fn a_segment_that_is_marked_and_answers_an_earlier_mark_begins_a_new_episode() {
    let (mut receiver, next) = settled(steady());
    let _ = receiver.on_segment(ms(110), marked(next, ms(110), Ecn::Ce));
    let both = Segment { flags: Flags::CWR, ..marked(next + 1, ms(110), Ecn::Ce) };
    assert!(receiver.on_segment(ms(110), both).unwrap().ece);
}

#[test]
fn an_unmarkable_segment_after_markable_ones_is_taken_for_a_retransmission() {
    let (mut receiver, next) = settled(steady());
    for i in 0..2 {
        let _ = receiver.on_segment(ms(110), marked(next + i, ms(110), Ecn::Ect0));
    }
    let acks: Vec<usize> = (2..6)
        .map(|i| {
            let ecn = if i == 2 { Ecn::NotEct } else { Ecn::Ect0 };
            receive(&mut receiver, ms(110), marked(next + i, ms(110), ecn)).len()
        })
        .collect();
    assert_eq!(acks, [1, 1, 0, 1]);
}

#[test]
fn dctcp_acknowledges_unmarked_data_before_it_echoes_the_first_mark() {
    let (mut receiver, next) = settled(steady());
    receiver.set_ecn_echo(EcnEcho::Dctcp);
    let mut step = |i: u32, ecn| -> Vec<(u32, bool)> {
        let acks = receive(&mut receiver, ms(110), marked(next + i, ms(110), ecn));
        acks.into_iter().map(|ack| (ack.ack - next, ack.ece)).collect()
    };
    assert_eq!(step(0, Ecn::Ect0), []);
    assert_eq!(step(1, Ecn::Ce), [(1, false), (2, true)]);
    assert_eq!(step(2, Ecn::Ce), []);
    assert_eq!(step(3, Ecn::Ce), [(4, true)]);
    assert_eq!(step(4, Ecn::Ect0), [(5, false)], "nothing was held back");
}

#[test]
fn an_accurate_receiver_acknowledges_every_change_of_bits_and_every_second_mark_and_counts_both_ways() {
    let (mut receiver, next) = settled(steady());
    receiver.set_ecn_echo(EcnEcho::Accurate);
    let mut step = |i: u32, ecn| -> Vec<(u32, u8, u32)> {
        let acks = receive(&mut receiver, ms(110), marked(next + i, ms(110), ecn));
        let told = |ack: Ack| (ack.ack - next, ack.marks.unwrap().ace(), ack.marks.unwrap().bytes().unwrap());
        acks.into_iter().map(told).collect()
    };
    assert_eq!(step(0, Ecn::Ect1), []);
    assert_eq!(step(1, Ecn::Ce), [(2, 6, 1448)]);
    assert_eq!(step(2, Ecn::Ce), []);
    assert_eq!(step(3, Ecn::Ce), [(4, 0, 3 * 1448)]);
    assert_eq!(step(4, Ecn::Ect1), [(5, 0, 3 * 1448)], "no echo stays, and a change is told at once");
    assert_eq!(step(5, Ecn::NotEct), [(6, 0, 3 * 1448)]);
}

#[test]
fn the_counters_of_marks_take_the_place_of_a_sack_block_unless_they_had_to_be_three() {
    for (ecn, blocks, counters) in [(Ecn::Ect1, 2, 2), (Ecn::Ect0, 3, 0)] {
        let (mut receiver, next) = settled(steady());
        receiver.set_ecn_echo(EcnEcho::Accurate);
        let mut last = None;
        for hole in 0..3 {
            last = receive(&mut receiver, ms(110), marked(next + 2 * hole + 1, ms(110), ecn)).pop();
        }
        let ack = last.unwrap();
        // 12 bytes of timestamps are in the header. 20 of two blocks and 8 of two counters fill the 40 that TCP has; 4
        // and 24 of three blocks do so, too.
        assert_eq!((ack.sack_count, ack.marks.unwrap().counters(), ack.option_bytes()), (blocks, counters, 28));
    }
}

// Window

#[test]
fn a_window_that_would_shrink_stays_in_the_units_in_which_it_is_told_while_repairs_move_by_less() {
    let config =
        TransportConfig { receive_autotuning: true, window_scale: 12, sack: false, ..TransportConfig::default() };
    let mut receiver = receiver(config);
    let told = |ack: Option<Ack>| ack.unwrap().window.segments();
    // 56 segments fit the initial buffer. Twenty are held above every second one.
    let open = told((0..8).flat_map(|seq| arrive(&mut receiver, seq, ms(100))).last());
    assert_eq!(open, 56);
    let held = told((0..20).flat_map(|hole| arrive(&mut receiver, 9 + 2 * hole, ms(101))).last());
    assert_eq!(held, 56, "the window does not shrink for what is held");
    // 56 segments are 20 units of 4096 bytes, which are left by two segments and not by three.
    let repaired: Vec<u32> = (0..4).map(|hole| told(arrive(&mut receiver, 8 + 2 * hole, ms(200)).pop())).collect();
    assert_eq!(repaired, [56; 4]);
}

#[test]
fn a_constant_window_is_open_in_full_and_held_data_counts_against_it() {
    let mut receiver = receiver(TransportConfig { receive_window: 100 * 1448, ..TransportConfig::default() });
    assert_eq!(arrive(&mut receiver, 0, ms(100))[0].window.segments(), 100);
    for seq in 2..12 {
        arrive(&mut receiver, seq, ms(100));
    }
    arrive(&mut receiver, 13, ms(100));
    // The edge stays: 1 + 100. Then segment 1 releases eleven, with one still held.
    assert_eq!(receiver.window.edge(), 101);
    assert_eq!(arrive(&mut receiver, 1, ms(100))[0].window.segments(), 99);
    assert_eq!(arrive(&mut receiver, 12, ms(100))[0].window.segments(), 100);
}

#[test]
fn in_ns3_held_data_takes_no_room_in_the_window() {
    let windows = |held_data_takes_window| {
        let config =
            TransportConfig { receive_window: 100 * 1448, held_data_takes_window, ..TransportConfig::default() };
        let mut receiver = receiver(config);
        for seq in [0, 2, 3, 5] {
            arrive(&mut receiver, seq, ms(100));
        }
        arrive(&mut receiver, 1, ms(100))[0].window.segments()
    };
    assert_eq!((windows(true), windows(false)), (99, 100));
}

#[test]
fn a_segment_beyond_the_window_is_refused() {
    let mut receiver = receiver(TransportConfig { receive_window: 10 * 1448, ..TransportConfig::default() });
    let ack = arrive(&mut receiver, 10, ms(100))[0];
    assert_eq!((ack.ack, ack.window.segments(), ack.sack_count), (0, 10, 0));
    assert_eq!(receiver.held.segments(), 0);
    assert_eq!(arrive(&mut receiver, 9, ms(100))[0].sack_count, 1);
}

#[test]
fn the_buffer_makes_room_for_what_is_held_with_and_without_sack() {
    for sack in [true, false] {
        let mut receiver = receiver(TransportConfig { sack, receive_autotuning: true, ..TransportConfig::default() });
        for seq in (0..45).filter(|seq| ![1, 21].contains(seq)) {
            arrive(&mut receiver, seq, ms(100));
        }
        let told = receiver.window.edge();
        let acks = arrive(&mut receiver, 1, ms(101));
        assert_eq!(
            acks.last().map(|ack| (ack.ack, ack.window.segments())),
            Some((21, told - 21)),
            "what is read takes room till then"
        );
        // The buffer holds two rounds of 10 segments and the 44 from the first gap on. 24 wait for segment 21, which
        // take 1440 bytes each, and the window is told in units of 1024.
        let acks = arrive(&mut receiver, 45, ms(102));
        let window = (64 * 1448 - 24 * 1440_u32).next_multiple_of(1_024) / 1448;
        assert_eq!(acks.last().map(|ack| (ack.ack, ack.window.segments())), Some((21, window)), "sack: {sack}");
    }
}

#[test]
fn an_autotuned_window_starts_at_65160_bytes_and_never_shrinks_its_edge() {
    let mut receiver = receiver(TransportConfig { receive_autotuning: true, ..TransportConfig::default() });
    let mut rng = Rng::new(5);
    let mut edge = 45;
    assert_eq!(receiver.window.edge(), edge);
    let mut next = 0;
    for burst in 0..400u64 {
        let now = ms(100 + 10 * burst);
        while receiver.next_timer() <= now {
            let ack = receiver.on_timer(receiver.next_timer()).unwrap();
            assert!(ack.ack + ack.window.segments() >= edge);
            edge = ack.ack + ack.window.segments();
        }
        for seq in (next..next + 20).filter(|_| rng.below(10) > 0).collect::<Vec<_>>() {
            for ack in arrive(&mut receiver, seq, now) {
                assert!(ack.ack + ack.window.segments() >= edge);
                edge = ack.ack + ack.window.segments();
            }
        }
        next = receiver.rcv_nxt;
    }
    assert!(edge - next > 56, "grew beyond the initial buffer");
}

#[test]
fn the_first_round_begins_with_the_ack_that_ends_the_handshake_or_else_with_the_first_data() {
    let rtt = Duration::from_millis(40);
    let begun = || {
        let mut receiver = receiver(TransportConfig::default());
        receiver.set_handshake(rtt);
        receiver
    };
    let mut in_order = begun();
    in_order.accept(ms(60));
    arrive(&mut in_order, 0, ms(62));
    assert_eq!(in_order.sizing.round_ends_at(), ms(60) + rtt);

    let mut overtaken = begun();
    arrive(&mut overtaken, 0, ms(62));
    overtaken.accept(ms(63));
    arrive(&mut overtaken, 1, ms(63));
    assert_eq!(overtaken.sizing.round_ends_at(), ms(62) + rtt);

    let mut above_a_hole = begun();
    arrive(&mut above_a_hole, 1, ms(62));
    arrive(&mut above_a_hole, 0, ms(75));
    assert_eq!(above_a_hole.sizing.round_ends_at(), ms(62) + rtt);
}

#[test]
fn a_round_trip_is_not_lengthened_by_what_the_application_has_not_read() {
    let (mut receiver, next) = slow_reader(Duration::from_micros(20));
    let before = receiver.rtt.smoothed().unwrap();
    arrive(&mut receiver, next, ms(300));
    let mut after = |seq, now, acked_at| {
        receive(&mut receiver, now, Segment { echo: Timestamp::at(acked_at), ..segment(seq, now) });
        receiver.rtt.smoothed().unwrap()
    };
    assert_eq!(after(next + 1, ms(300), ms(101)), before, "another has just arrived");
    assert_eq!(after(next + 2, us(300_010), ms(102)), before, "and these two are not acknowledged");
    assert!(after(next + 3, ms(301), ms(103)) > before);
}

/// An unpaced sender in slow start over 10 Mbit/s with a round trip of 40 ms; sizes of the jumps of the first ACKs.
fn slow_start_ack_sizes(config: TransportConfig, segments: u32) -> Vec<u32> {
    let serialisation = Duration::from_micros(1200);
    let mut receiver = receiver(config);
    receiver.set_handshake(Duration::from_millis(40));
    // The answer to the SYN leaves at 0.
    let mut now = Time::ZERO + FORWARD;
    let mut echo = Timestamp::at(Time::ZERO);
    receiver.accept(now + FORWARD);
    let mut acks = VecDeque::<(Time, Ack)>::new();
    let (mut link_free, mut next, mut acked) = (now, 0, 0);
    let mut sizes = Vec::new();
    let mut window = 10;
    while acked < segments {
        while next < acked + window {
            let sent = Segment { sent_at: now, echo, ..segment(next, now) };
            link_free = link_free.max(now) + serialisation;
            let arrival = link_free + FORWARD;
            if receiver.next_timer() <= arrival {
                let due = receiver.next_timer();
                acks.extend(receiver.on_timer(due).map(|ack| (due + FORWARD, ack)));
            }
            acks.extend(receive(&mut receiver, arrival, sent).into_iter().map(|ack| (arrival + FORWARD, ack)));
            next += 1;
        }
        let (time, ack) = acks.pop_front().expect("the sender is never stuck");
        now = time;
        echo = ack.sent_at;
        sizes.push(ack.ack - acked);
        window += ack.ack - acked;
        acked = ack.ack;
    }
    sizes
}

/// The kernel's first ACKs in its recording `cubic_10M_40ms_1bdp` (one of the recordings of the kernel, if they are
/// beside the repository): 16 quick ACKs and 6 while the limit grew to the initial buffer; pairs; then one per segment
/// each time right-sizing enlarged the buffer. CUBIC's HyStart ends the resemblance to this simple sender during the
/// third round.
#[test]
fn the_first_acks_of_a_bulk_transfer_are_those_of_the_kernel() {
    let mut kernel = Vec::new();
    for (size, count) in [(1, 22), (2, 5), (1, 24), (2, 8), (1, 67)] {
        kernel.extend(std::iter::repeat_n(size, count));
    }
    for receive_autotuning in [false, true] {
        let config = TransportConfig { receive_autotuning, ..TransportConfig::default() };
        let ours = slow_start_ack_sizes(config, kernel.iter().sum());
        assert_eq!(ours, kernel, "autotuning {receive_autotuning}");
    }
}

// Whatever happens on the way

/// Random losses, duplicates and reordering, until everything has arrived; the rules every ACK obeys.
#[expect(clippy::too_many_lines, reason = "the steps of its loop share all of its state")]
fn check_random_arrivals(seed: u64, config: TransportConfig) {
    const SEGMENTS: u32 = 400;
    let mut rng = Rng::new(seed);
    let mut receiver = receiver(config);
    let mut arrived = BTreeSet::new();
    let mut first_missing = 0;
    let mut waiting: VecDeque<u32> = (0..SEGMENTS).collect();
    let (mut arrivals, mut duplicates, mut acks_sent) = (0, 0, 0);
    let mut now = ms(100);
    let mut edge = receiver.window.edge();
    // The latest segment, if it was a duplicate and no ACK has reported it.
    let mut unreported = None;
    while first_missing < SEGMENTS || receiver.next_timer() != Time::NEVER {
        let mut acks = Vec::new();
        let mut is_old = false;
        let arrival = now + Duration::from_micros(u64::from(rng.below(400)));
        if waiting.is_empty() || receiver.next_timer() <= arrival {
            now = receiver.next_timer();
            acks.extend(receiver.on_timer(now));
            assert_eq!(acks.len(), 1, "a due timer means an ACK");
        } else {
            now = arrival;
            let index = rng.below(waiting.len().min(8) as u32) as usize;
            let seq = waiting.remove(index).unwrap();
            match rng.below(10) {
                0 => waiting.push_back(seq),
                1 => waiting.insert((index + rng.below(30) as usize).min(waiting.len()), seq),
                _ => {}
            }
            if rng.below(10) == 0 {
                waiting.push_back(seq);
                continue;
            }
            let len = if seq + 1 == SEGMENTS { 100 } else { MSS };
            let was_missing = arrived.insert(seq);
            unreported = (!was_missing).then_some(seq);
            is_old = seq < first_missing;
            duplicates += u64::from(!was_missing);
            arrivals += 1;
            while arrived.contains(&first_missing) {
                first_missing += 1;
            }
            acks.extend(receive(&mut receiver, now, Segment { len, ..segment(seq, now) }));
        }
        acks_sent += acks.len() as u64;
        assert!(!is_old || !acks.is_empty(), "a duplicate below the first hole is answered at once");
        if let Some(ack) = acks.last() {
            assert_eq!(ack.ack, first_missing);
        }
        for (i, ack) in acks.iter().enumerate() {
            assert!(ack.ack + ack.window.segments() >= edge, "the window's edge never moves back");
            edge = ack.ack + ack.window.segments();
            let mut blocks = ack.sack_blocks();
            if let Some(seq) = unreported.take_if(|_| i + 1 == acks.len()) {
                assert_eq!(blocks[0], SackBlock { start: seq, end: seq + 1 });
                if seq >= ack.ack {
                    // An ACK that was held back leaves before the block comes first: then it may lack room for it.
                    let is_inside = blocks[1..].iter().any(|block| block.start <= seq && seq < block.end);
                    assert!(is_inside || blocks.len() == Ack::MAX_SACK_BLOCKS - 1);
                }
                blocks = &blocks[1..];
            }
            for (n, block) in blocks.iter().enumerate() {
                assert!(ack.ack < block.start && block.start < block.end);
                assert!((block.start..block.end).all(|seq| arrived.contains(&seq)), "only what has arrived");
                assert!(blocks[..n].iter().all(|other| block.end < other.start || other.end < block.start));
            }
        }
        let stats = receiver.stats();
        assert_eq!(stats.delivered_segments, u64::from(first_missing));
        let short = u64::from(first_missing == SEGMENTS) * u64::from(MSS - 100);
        assert_eq!(stats.delivered_bytes, u64::from(first_missing) * u64::from(MSS) - short);
    }
    let stats = receiver.stats();
    assert_eq!(stats.duplicate_segments, duplicates);
    assert_eq!((stats.arrived_segments, stats.acks_sent), (arrivals, acks_sent));
    assert!(receiver.held.is_empty());
}

#[test]
fn any_order_of_arrival_is_delivered_once_and_reported_truthfully() {
    for seed in 0..60 {
        check_random_arrivals(seed, TransportConfig::default());
        check_random_arrivals(seed, TransportConfig { compress_sacks: false, ..TransportConfig::default() });
        check_random_arrivals(seed, TransportConfig { ack_every: 4, quick_acks: 0, ..TransportConfig::default() });
    }
}

#[test]
fn a_receiver_stays_small() {
    assert!(size_of::<Receiver>() <= 416, "{}", size_of::<Receiver>());
}

/// Arrivals of a stream of which `loss_percent` are lost and repeated later, some of them twice.
fn lossy_arrivals(seed: u64, loss_percent: u32, marks_percent: u32) -> Vec<(Time, Segment)> {
    let mut rng = Rng::new(seed);
    let (mut now, mut nxt, mut lost, mut repeats) = (ms(100), 0, VecDeque::new(), false);
    let mut arrivals = Vec::new();
    for _ in 0..3_000 {
        now += Duration::from_nanos(rng.below(120_000).into());
        if rng.below(10) == 0 {
            repeats = !repeats;
        }
        let seq = match lost.front() {
            Some(&seq) if repeats => {
                if rng.below(10) > 0 {
                    lost.pop_front();
                }
                seq
            }
            _ => {
                nxt += 1;
                nxt - 1
            }
        };
        if rng.below(100) < loss_percent {
            lost.push_back(seq);
            continue;
        }
        let ecn = match marks_percent {
            0 => Ecn::NotEct,
            percent if rng.below(100) < percent => Ecn::Ce,
            _ => Ecn::Ect0,
        };
        let mut segment = marked(seq, now, ecn);
        if rng.below(40) == 0 {
            // Delayed on its way, by up to four ticks of the timestamp clock.
            segment.sent_at =
                Time::ZERO + segment.sent_at.since(Time::ZERO + Duration::from_micros(rng.below(4_000).into()));
        }
        arrivals.push((now, segment));
    }
    arrivals
}

/// How [`answers`] gives a receiver its segments.
#[derive(Clone, Copy, Debug)]
enum Way {
    Short,
    Long,
    /// Ahead of their time, wherever it is silent, up to this horizon.
    Silent(fn(Time) -> Horizon),
}

fn no_horizon(_now: Time) -> Horizon {
    Horizon::at(Time::NEVER)
}

/// Somebody looks twice in a millisecond.
fn near_horizon(now: Time) -> Horizon {
    Horizon::at(us(now.as_micros() / 500 * 500 + 500))
}

/// All that a receiver knows, once everything is read, but for the segment that it expects.
fn state(mut receiver: Receiver) -> String {
    receiver.note_reads(|_| true);
    receiver.window.open(&mut receiver.sizing);
    format!("{:?}", Receiver { expected: Expected::Nothing, ..receiver })
}

/// All ACKs that arrivals lead to, with their times, and the receiver at the end; also how many segments it was given
/// ahead of their time.
fn answers(config: &TransportConfig, arrivals: &[(Time, Segment)], way: Way) -> (Vec<(Time, Ack)>, Receiver, u32) {
    let mut receiver = receiver(config.clone());
    let (mut acks, mut ahead) = (Vec::new(), 0);
    let mut arrivals = arrivals.iter().peekable();
    while let Some(&(now, segment)) = arrivals.next() {
        while receiver.next_timer() < now {
            let due = receiver.next_timer();
            acks.extend(receiver.on_timer(due).map(|ack| (due, ack)));
        }
        let ack = match way {
            Way::Long => receiver.on_unexpected(now, &segment).then(|| receiver.poll_transmit(now)).flatten(),
            Way::Short => receiver.on_segment(now, segment),
            Way::Silent(horizon) => {
                let follows = |next: &Segment, place| {
                    next.seq == segment.seq + place && next.sent_at == segment.sent_at && next.ecn == segment.ecn
                };
                let answer = receiver.on_run(now, segment, horizon(now), |most, before| {
                    let mut count = 0;
                    while count < most
                        && arrivals.next_if(|(now, next)| *now < before && follows(next, count + 1)).is_some()
                    {
                        count += 1;
                    }
                    ahead += 1 + count;
                    count
                });
                match answer {
                    Answer::Ack(ack) => Some(ack.into()),
                    Answer::Waiting => receiver.poll_transmit(now),
                    Answer::Delayed | Answer::Silence => None,
                }
            }
        };
        acks.extend(ack.map(|ack| (now, ack)));
    }
    (acks, receiver, ahead)
}

proptest! {
    #[test]
    fn expected_segments_and_those_in_silence_lead_to_what_the_long_way_leads_to(
        options in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        window in 20u64..600,
        seed in any::<u64>(),
        loss_percent in 0u32..30,
        marks_percent in prop_oneof![3 => Just(0u32), 1 => 1u32..20],
    ) {
        let (sack, dsack, compress_sacks, receive_autotuning, held_data_takes_window) = options;
        let config = TransportConfig {
            sack,
            dsack,
            compress_sacks,
            receive_autotuning,
            held_data_takes_window,
            receive_window: window * 1448,
            ..TransportConfig::default()
        };
        let arrivals = lossy_arrivals(seed, loss_percent, marks_percent);
        let (acks, receiver, _) = answers(&config, &arrivals, Way::Long);
        let long = state(receiver);
        for way in [Way::Short, Way::Silent(no_horizon), Way::Silent(near_horizon)] {
            let (same_acks, receiver, _) = answers(&config, &arrivals, way);
            prop_assert_eq!(&same_acks, &acks, "{:?}", way);
            prop_assert_eq!(state(receiver), long.clone(), "{:?}", way);
        }
    }
}

#[test]
fn what_follows_comes_ahead_of_its_time_up_to_the_horizon_and_the_ack() {
    let taken = |horizon: Horizon| {
        let mut receiver = receiver(TransportConfig::default());
        for seq in (0..40).filter(|&seq| seq != 30) {
            let _ = receiver.on_segment(us(100_000 + 10 * u64::from(seq)), segment(seq, us(100_000)));
        }
        let _ = receiver.on_segment(us(100_500), segment(40, us(100_000)));
        let ack_at = receiver.next_timer();
        let mut room = None;
        let answer = receiver.on_run(us(100_510), segment(41, us(100_000)), horizon, |most, before| {
            room = Some((most, before));
            2
        });
        assert_eq!(answer, Answer::Silence);
        assert_eq!((receiver.stats().arrived_segments, receiver.next_timer()), (43, ack_at));
        let (most, before) = room.unwrap();
        (most, before, ack_at)
    };
    let (most, before, ack_at) = taken(Horizon::at(Time::NEVER));
    assert!(before == ack_at && ack_at > us(100_510), "the ACK that is held back ends the silence: {before}");
    assert!((1..44).contains(&most), "{most}");
    assert_eq!(taken(Horizon::at(us(100_520))).1, us(100_520));
    assert_eq!(taken(Horizon::NOW).1, Time::ZERO, "nothing that arrives later");
}

#[test]
fn a_receiver_behind_a_gap_is_silent_most_of_the_time() {
    let arrivals: Vec<_> = (0..1_000u32)
        .filter(|&seq| seq != 300)
        .map(|seq| (seq, us(100_000 + 12 * u64::from(seq))))
        .map(|(seq, now)| (now, segment(seq, now)))
        .collect();
    let (acks, _, ahead) = answers(&TransportConfig::default(), &arrivals, Way::Silent(no_horizon));
    assert!(ahead > 600, "{ahead} of 699");
    assert_eq!(acks, answers(&TransportConfig::default(), &arrivals, Way::Long).0);
}

// Short segments

/// A receiver that sizes its window.
fn sizing_receiver() -> Receiver {
    receiver(TransportConfig { receive_autotuning: true, ..TransportConfig::default() })
}

fn short(seq: u32, len: u16, now: Time) -> Segment {
    Segment { len, ..segment(seq, now) }
}

proptest! {
    #[test]
    fn a_window_that_was_told_ends_at_the_same_byte_or_later_whatever_segments_are_short(
        lens in proptest::collection::vec(prop_oneof![2 => Just(MSS), 1 => 1u16..MSS], 20..200),
        swapped in proptest::collection::vec(any::<bool>(), 200),
    ) {
        let mut receiver = sizing_receiver();
        // The first one gives a round-trip time.
        let lens = [vec![MSS], lens].concat();
        let mut order: Vec<u32> = (0..lens.len() as u32).collect();
        for (at, _) in swapped.iter().enumerate().take(order.len()).skip(2).filter(|(_, is_swapped)| **is_swapped) {
            order.swap(at - 1, at);
        }
        let mut told = 0;
        for (at, &seq) in order.iter().enumerate() {
            let now = us(100_000 + 50 * at as u64);
            for ack in receive(&mut receiver, now, short(seq, lens[seq as usize], now)) {
                let below: u64 = lens[..ack.ack as usize].iter().map(|&len| u64::from(len)).sum();
                let end = below + u64::from(ack.window.segments()) * u64::from(MSS) + u64::from(ack.window.excess());
                prop_assert!(end >= told, "{end} after {told} with {ack:?}");
                told = end;
            }
        }
        prop_assert_eq!(receiver.stats().delivered_bytes, lens.iter().map(|&len| u64::from(len)).sum::<u64>());
    }
}

#[test]
fn a_short_segment_that_fits_the_rest_of_the_window_is_in_it() {
    const EXCESS: u16 = 976;
    let fits = |len: u16| {
        let mut receiver = sizing_receiver();
        let ack = arrive(&mut receiver, 0, ms(100)).pop().unwrap();
        assert_eq!((ack.window.segments(), ack.window.excess()), (46, EXCESS), "66 units of 1,024 bytes");
        receive(&mut receiver, ms(101), short(1 + 46, len, ms(101)));
        !receiver.held.is_empty()
    };
    assert_eq!([1, EXCESS, EXCESS + 1, MSS].map(fits), [true, true, false, false]);
}

// The reader

/// A connection that has used up its quick ACKs and acknowledged everything, whose application takes `read_delay` to
/// read.
fn slow_reader(read_delay: Duration) -> (Receiver, u32) {
    let (mut receiver, next) = settled(steady());
    receiver.reading = Reading::after(read_delay);
    (receiver, next)
}

#[test]
fn segments_that_arrive_before_the_reader_has_run_are_acknowledged_by_one_ack_when_it_has() {
    let (mut receiver, next) = slow_reader(Duration::from_micros(20));
    for i in 0..10 {
        assert!(arrive(&mut receiver, next + i, ms(200)).is_empty(), "{i}");
    }
    assert_eq!(receiver.next_timer(), us(200_020));
    assert_eq!(receiver.on_timer(us(200_019)), None);
    assert_eq!(receiver.on_timer(us(200_020)).unwrap().ack, next + 10);
    assert_eq!(receiver.next_timer(), Time::NEVER);
}

#[test]
fn segments_further_apart_than_the_read_delay_are_acknowledged_on_arrival() {
    for (gap, acks) in [(19, 0), (20, 1), (120, 1)] {
        let (mut receiver, next) = slow_reader(Duration::from_micros(20));
        assert!(arrive(&mut receiver, next, ms(200)).is_empty());
        assert_eq!(arrive(&mut receiver, next + 1, us(200_000 + gap)).len(), acks, "{gap}");
    }
}

#[test]
fn the_first_unread_segment_wakes_the_reader_and_a_later_one_does_not_put_it_off() {
    let (mut receiver, next) = slow_reader(Duration::from_micros(20));
    for i in 0..3 {
        assert!(arrive(&mut receiver, next + i, us(200_000 + 8 * u64::from(i))).is_empty());
    }
    assert_eq!(receiver.next_timer(), us(200_020));
}

#[test]
fn quick_acks_do_not_wait_for_the_reader() {
    let mut receiver = Receiver::new(&TransportConfig { read_delay: Duration::from_millis(1), ..steady() });
    let acks = (0..16).map(|seq| arrive(&mut receiver, seq, ms(100)).len()).sum::<usize>();
    assert_eq!(acks, 16);
}

#[test]
fn the_ack_of_a_lone_pushed_segment_leaves_when_it_is_read_for_everything_that_is_there() {
    for others in [0, 9] {
        let (mut receiver, next) = slow_reader(Duration::from_micros(20));
        let pushed = Segment { flags: Flags::PSH, ..segment(next, ms(200)) };
        assert!(receive(&mut receiver, ms(200), pushed).is_empty());
        for i in 1..=others {
            assert!(arrive(&mut receiver, next + i, ms(200)).is_empty(), "{i}");
        }
        assert_eq!(receiver.next_timer(), us(200_020));
        assert_eq!(receiver.on_timer(us(200_020)).unwrap().ack, next + 1 + others);
        assert_eq!(receiver.next_timer(), Time::NEVER);
    }
}

#[test]
fn what_waits_behind_the_segment_whose_read_ends_a_round_does_not_count_as_read() {
    let window = |others_at: Time| {
        let mut receiver = Receiver::new(&TransportConfig { receive_autotuning: true, ..TransportConfig::default() });
        receiver.set_handshake(Duration::from_millis(40));
        let mut deliver = |seqs: std::ops::Range<u32>, at: Time| {
            seqs.flat_map(|seq| arrive(&mut receiver, seq, at)).last().map_or(0, |ack| ack.window.segments())
        };
        deliver(0..1, ms(105));
        deliver(1..40, ms(130));
        deliver(40..41, ms(145));
        deliver(41..50, others_at);
        // As many as the limit can follow.
        deliver(50..400, ms(150))
    };
    // Ten segments are what the first round is compared with. The limit leaves room for the latest one, and the window
    // is told in units of 1024 bytes.
    let room = |read: u32| ((10 * 2 + 4 * (read - 10)) * read * 1448 / 10 - 1440).next_multiple_of(1_024) / 1448;
    assert_eq!(window(us(145_021)), room(41), "41 are read by its end");
    assert_eq!(window(us(145_019)), room(32), "nine wait");
}

#[test]
fn a_gap_is_reported_at_once_and_the_report_takes_the_place_of_the_readers_ack() {
    let (mut receiver, next) = slow_reader(Duration::from_micros(20));
    assert!(arrive(&mut receiver, next, ms(200)).is_empty());
    assert!(arrive(&mut receiver, next + 1, ms(200)).is_empty());
    let acks = arrive(&mut receiver, next + 3, ms(200));
    assert_eq!((acks[0].ack, blocks(&acks[0])), (next + 2, vec![(next + 3, next + 4)]));
    assert_eq!(receiver.next_timer(), Time::NEVER);
}

#[test]
fn where_every_segment_is_acknowledged_none_waits_for_the_reader() {
    let (mut receiver, next) = settled(TransportConfig { ack_every: 1, ..steady() });
    receiver.reading = Reading::after(Duration::from_millis(1));
    let acks = (0..10).map(|i| arrive(&mut receiver, next + i, ms(200)).len()).sum::<usize>();
    assert_eq!(acks, 10);
}
