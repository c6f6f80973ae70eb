//! What a QUIC-like receiver acknowledges, held against a set of all that has arrived.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use dumbbell_transport::quic::{EcnCounts, QuicPacket, QuicReceiver};
use dumbbell_transport::{SackBlock, TransportConfig};
use dumbbell_units::{Duration, Ecn, Time};
use proptest::prelude::*;
use std::collections::BTreeSet;

const LEN: u16 = 1_000;

fn receiver() -> QuicReceiver {
    QuicReceiver::new(&TransportConfig { ack_every: 1, ..TransportConfig::profile("quic").unwrap() })
}

fn packet(number: u32, seq: u32, ecn: Ecn) -> QuicPacket {
    let (is_retransmission, sent_at, ack_frequency, known_up_to) = (false, Time::ZERO, None, None);
    QuicPacket { number, seq, len: LEN, ecn, is_retransmission, sent_at, ack_frequency, known_up_to }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Runs of consecutive numbers, highest first.
fn runs(numbers: &BTreeSet<u32>) -> Vec<SackBlock> {
    let mut runs: Vec<SackBlock> = Vec::new();
    for &number in numbers.iter().rev() {
        match runs.last_mut() {
            Some(run) if run.start == number + 1 => run.start = number,
            _ => runs.push(SackBlock { start: number, end: number + 1 }),
        }
    }
    runs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_ack_tells_the_highest_ranges_of_all_numbers_that_have_arrived(
        arrivals in prop::collection::vec((0u32..40, 0usize..4), 1..80),
    ) {
        let mut receiver = receiver();
        let (mut numbers, mut seqs) = (BTreeSet::new(), BTreeSet::new());
        let mut counts = EcnCounts::default();
        for (ms, (number, ecn)) in arrivals.iter().copied().enumerate() {
            let now = at(ms as u64);
            // Neighbours change places in the stream.
            let seq = number ^ 1;
            receiver.on_packet(now, packet(number, seq, [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn]));
            seqs.insert(seq);
            if numbers.insert(number) {
                // The bits of a copy are not counted.
                match ecn {
                    1 => counts.ect0 += 1,
                    2 => counts.ect1 += 1,
                    3 => counts.ce += 1,
                    _ => {}
                }
            }
            let ack = receiver.poll_transmit(now).unwrap();
            let expected: Vec<SackBlock> = runs(&numbers).into_iter().collect();
            prop_assert_eq!(&ack.ranges, &expected);
            prop_assert_eq!(ack.ecn, counts);
            let in_order = (0..).take_while(|seq| seqs.contains(seq)).count() as u64;
            let stats = receiver.stats();
            prop_assert_eq!(stats.delivered_segments, in_order);
            prop_assert_eq!(stats.delivered_bytes, in_order * u64::from(LEN));
            prop_assert_eq!(stats.arrived_segments, ms as u64 + 1);
            prop_assert_eq!(stats.duplicate_segments, ms as u64 + 1 - seqs.len() as u64);
            prop_assert_eq!((stats.ce_segments, stats.acks_sent), (counts.ce.into(), ms as u64 + 1));
        }
    }
}

#[test]
fn sixty_four_ranges_are_remembered_and_of_one_more_the_lowest_is_forgotten() {
    for (ranges, marks_of_a_copy) in [(64, 1), (65, 2)] {
        let mut receiver = receiver();
        for range in 0..ranges {
            receiver.on_packet(at(0), packet(2 * range, 2 * range, if range == 0 { Ecn::Ce } else { Ecn::NotEct }));
        }
        // A copy of the very first one: it is known as long as its range is remembered.
        receiver.on_packet(at(0), packet(0, 0, Ecn::Ce));
        assert_eq!(receiver.poll_transmit(at(0)).unwrap().ecn.ce, marks_of_a_copy, "{ranges} ranges");
    }
}

#[test]
fn the_delay_of_an_ack_counts_from_the_arrival_of_the_largest_number() {
    let config = TransportConfig { ack_every: 2, ..TransportConfig::profile("quic").unwrap() };
    let mut receiver = QuicReceiver::new(&config);
    receiver.on_packet(at(10), packet(0, 0, Ecn::NotEct));
    assert_eq!((receiver.poll_transmit(at(10)), receiver.next_timer()), (None, at(35)));
    receiver.on_timer(at(34));
    assert_eq!(receiver.poll_transmit(at(34)), None);
    receiver.on_timer(at(35));
    assert_eq!(receiver.poll_transmit(at(35)).unwrap().delay_us, 25_000);
    assert_eq!(receiver.next_timer(), Time::NEVER);
    // A gap is acknowledged at once, and so is what fills it, without being the largest.
    receiver.on_packet(at(40), packet(2, 2, Ecn::NotEct));
    assert_eq!(receiver.poll_transmit(at(40)).unwrap().delay_us, 0);
    receiver.on_packet(at(41), packet(1, 1, Ecn::NotEct));
    assert_eq!(receiver.poll_transmit(at(41)).unwrap().delay_us, 1_000);
}
