//! The packets that were sent (`sent_packets`, RFC 9002, appendix A.1).
//!
//! Packets in flight lie in a ring, each where its number says, among them some that are acknowledged or lost already.
//! Lost packets are kept in a list of their own for a while, so that a late ACK for one of them is recognised.

use super::stream::Part;
use dumbbell_recovery::rate::SentSnapshot;
use dumbbell_units::{claimed, prefetch};
use std::collections::VecDeque;
use std::ops::Range;

/// Places of a ring that holds its first packet.
const LEAST_PLACES: usize = 4;

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    #[default]
    InFlight,
    Acked,
    Lost,
}

/// A packet that was sent. It fills a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Sent {
    /// The connection when it was sent.
    pub at: SentSnapshot,
    /// The part of the stream that it carries: its place among the parts, and its bytes.
    pub seq: u32,
    pub len: u16,
    pub fate: Fate,
}

const _: () = assert!(size_of::<Sent>() == 64, "a packet in flight fills a cache line");

impl Sent {
    /// The part of the stream that it carries.
    pub fn part(&self) -> Part {
        Part { seq: self.seq, len: self.len }
    }
}

/// A packet that was declared lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub number: u32,
    pub sent: Sent,
    /// When it was declared lost, in microseconds.
    pub at_us: u64,
    /// The controller was told.
    pub was_told: bool,
}

/// The packets in flight, and those that were lost lately.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    /// Packet n lies at n modulo their count, which is a power of two.
    places: Vec<Sent>,
    first: u32,
    next: u32,
    largest_acked: Option<u32>,
    /// In the order of their numbers.
    lost: VecDeque<Lost>,
    /// When the first of them was declared lost.
    first_lost_at_us: u64,
    /// None of them has a higher number.
    highest_lost: u32,
}

impl SentPackets {
    /// Lowest number in flight; [`SentPackets::next_number`] if there is none.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Number of the next packet.
    #[inline]
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// Largest number that was acknowledged (`largest_acked_packet`).
    #[inline]
    pub fn largest_acked(&self) -> Option<u32> {
        self.largest_acked
    }

    /// Has the processor fetch what it has besides the packets.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.places);
        prefetch(&self.first_lost_at_us);
    }

    /// Has the processor fetch the first packet in flight and the place of the next.
    #[inline(always)]
    pub fn prefetch_places(&self) {
        if let Some(mask) = self.places.len().checked_sub(1) {
            for number in [self.first, self.next] {
                prefetch(&self.places[number as usize & mask]);
            }
        }
    }

    /// Where a number lies in the ring; there must be a place.
    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & (self.places.len() - 1)
    }

    #[inline]
    fn has(&self, number: u32) -> bool {
        self.first <= number && number < self.next
    }

    /// A packet, unless it is below the first one in flight.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Sent> {
        if self.has(number) { self.places.get(self.place(number)) } else { None }
    }

    /// A packet, unless it is below the first one in flight, to change what is known of it.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Sent> {
        let place = if self.has(number) { self.place(number) } else { return None };
        self.places.get_mut(place)
    }

    /// A packet is sent with [`SentPackets::next_number`].
    #[inline]
    pub fn push(&mut self, Part { seq, len }: Part, at: SentSnapshot) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let place = self.place(self.next);
        self.places[place] = Sent { at, seq, len, fate: Fate::InFlight };
        self.next += 1;
    }

    /// Doubles the ring.
    #[cold]
    fn grow(&mut self) {
        let places = vec![Sent::default(); (2 * self.places.len()).max(LEAST_PLACES)];
        let before = std::mem::replace(&mut self.places, places);
        for number in self.first..self.next {
            let place = self.place(number);
            self.places[place] = before[number as usize & (before.len() - 1)];
        }
    }

    /// Packets from the first one in flight on.
    #[inline]
    fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    /// An ACK has acknowledged `number`.
    #[inline]
    pub fn note_largest_acked(&mut self, number: u32) {
        if self.largest_acked.is_none_or(|largest| largest < number) {
            self.largest_acked = Some(number);
        }
    }

    /// Packet `number`, which is in flight, is declared lost at `at_us`.
    pub fn lose(&mut self, number: u32, at_us: u64, was_told: bool) -> Option<Sent> {
        let sent = self.get_mut(number)?;
        sent.fate = Fate::Lost;
        let sent = *sent;
        let behind = self.lost.partition_point(|lost| lost.number < number);
        self.lost.insert(behind, Lost { number, sent, at_us, was_told });
        if behind == 0 {
            self.first_lost_at_us = at_us;
        }
        self.highest_lost = self.highest_lost.max(number);
        Some(sent)
    }

    /// Whether a late ACK may come.
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether packets from `number` on may be among those that were declared lost.
    #[inline]
    pub fn may_have_lost(&self, number: u32) -> bool {
        self.has_lost() && number <= self.highest_lost
    }

    /// The first of these that was declared lost; it is not lost any more.
    pub fn take_lost(&mut self, numbers: Range<u32>) -> Option<Lost> {
        let index = self.lost.partition_point(|lost| lost.number < numbers.start);
        let is_meant = self.lost.get(index).is_some_and(|lost| lost.number < numbers.end);
        let lost = if is_meant { self.lost.remove(index) } else { None };
        self.note_first_lost();
        lost
    }

    /// Gives up on packets that were declared lost before `us`.
    #[inline]
    pub fn forget_lost(&mut self, us: u64) {
        while self.has_lost() && self.first_lost_at_us < us {
            self.lost.pop_front();
            self.note_first_lost();
        }
    }

    fn note_first_lost(&mut self) {
        self.first_lost_at_us = self.lost.front().map_or(0, |lost| lost.at_us);
    }

    /// The packets in flight with their numbers, lowest first.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, &Sent)> {
        let sent = |number| self.get(number).filter(|sent| sent.fate == Fate::InFlight).map(|sent| (number, sent));
        (self.first..self.next).filter_map(sent)
    }

    /// Forgets what is before the first packet in flight.
    #[inline]
    pub fn forget_settled(&mut self) {
        while self.get(self.first).is_some_and(|sent| sent.fate != Fate::InFlight) {
            self.first += 1;
        }
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<Sent>(self.len(), self.places.len()) + claimed::<Lost>(self.lost.len(), self.lost.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_cc_contract::{Control, View};
    use dumbbell_recovery::rate::ChromiumSampler;

    fn sent(count: u32) -> SentPackets {
        let mut packets = SentPackets::default();
        send(&mut packets, 0..count);
        packets
    }

    fn send(packets: &mut SentPackets, parts: Range<u32>) {
        for seq in parts {
            let at = ChromiumSampler::default().packet_sent(&View::new(1350), &Control::default(), false);
            packets.push(Part { seq, len: 1350 }, at);
        }
    }

    fn acknowledge(packets: &mut SentPackets, number: u32) {
        packets.get_mut(number).unwrap().fate = Fate::Acked;
    }

    #[test]
    fn packets_are_found_by_their_numbers_when_the_ring_has_wrapped_and_grown() {
        let mut packets = sent(3);
        for number in 0..3 {
            acknowledge(&mut packets, number);
        }
        packets.forget_settled();
        for end in [6, 20] {
            let begin = packets.next_number();
            send(&mut packets, begin..end);
            let found: Vec<(u32, u32)> = packets.in_flight().map(|(number, sent)| (number, sent.seq)).collect();
            assert_eq!(found, (3..end).map(|number| (number, number)).collect::<Vec<_>>());
            assert!(packets.get(2).is_none() && packets.get(end).is_none());
        }
    }

    #[test]
    fn packets_are_forgotten_once_none_before_them_is_in_flight() {
        let mut packets = sent(6);
        for number in [0, 2, 3, 5] {
            acknowledge(&mut packets, number);
        }
        packets.forget_settled();
        assert_eq!((packets.first(), packets.next_number()), (1, 6), "packet 1 is in flight");
        packets.lose(1, 0, true);
        packets.forget_settled();
        assert_eq!(packets.first(), 4);
        assert!(packets.get(3).is_none());
        assert_eq!(packets.in_flight().map(|(number, _)| number).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_late_ack_finds_a_packet_that_was_lost_and_only_once() {
        let mut packets = sent(6);
        for (number, at_us) in [(1, 10), (2, 20), (4, 20)] {
            packets.lose(number, at_us, true);
        }
        packets.forget_settled();
        assert!(packets.may_have_lost(4) && !packets.may_have_lost(5));
        assert!(packets.take_lost(5..9).is_none());
        assert_eq!(packets.take_lost(2..6).map(|lost| (lost.number, lost.sent.seq)), Some((2, 2)));
        assert_eq!(packets.take_lost(2..6).map(|lost| lost.number), Some(4));
        assert!(packets.take_lost(2..6).is_none());
        packets.forget_lost(10);
        assert!(packets.has_lost());
        packets.forget_lost(11);
        assert!(!packets.has_lost(), "packet 1 was given up");
    }
}
