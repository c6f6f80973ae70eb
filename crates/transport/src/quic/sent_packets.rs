//! The packets that were sent (`sent_packets`, RFC 9002, appendix A.1).
//!
//! Packets in flight lie in a ring in the order of their numbers, among them some that are acknowledged or lost already.
//! Lost packets are kept in a list of their own for a while, so that a late ACK for one of them is recognised.

use super::stream::Part;
use dumbbell_recovery::rate::SentSnapshot;
use dumbbell_units::claimed;
use std::collections::VecDeque;
use std::ops::Range;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    InFlight,
    Acked,
    Lost,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// The part of the stream that it carries.
    pub part: Part,
    pub fate: Fate,
    /// The connection when it was sent.
    pub at: SentSnapshot,
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
    packets: VecDeque<Sent>,
    first: u32,
    largest_acked: Option<u32>,
    /// In the order of their numbers.
    lost: VecDeque<Lost>,
}

impl SentPackets {
    /// Lowest number in flight; [`SentPackets::next_number`] if there is none.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Number of the next packet.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a number is a u32, and each packet has one")]
    pub fn next_number(&self) -> u32 {
        self.first + self.packets.len() as u32
    }

    /// Largest number that was acknowledged (`largest_acked_packet`).
    #[inline]
    pub fn largest_acked(&self) -> Option<u32> {
        self.largest_acked
    }

    /// A packet, unless it is below the first one in flight.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Sent> {
        self.packets.get(number.checked_sub(self.first)? as usize)
    }

    /// The same to change what is known of it.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Sent> {
        self.packets.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// A packet is sent with [`SentPackets::next_number`].
    #[inline]
    pub fn push(&mut self, part: Part, at: SentSnapshot) {
        self.packets.push_back(Sent { part, fate: Fate::InFlight, at });
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
        Some(sent)
    }

    /// Whether a late ACK may come.
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The first of these that was declared lost; it is not lost any more.
    pub fn take_lost(&mut self, numbers: Range<u32>) -> Option<Lost> {
        let index = self.lost.partition_point(|lost| lost.number < numbers.start);
        let is_meant = self.lost.get(index).is_some_and(|lost| lost.number < numbers.end);
        if is_meant { self.lost.remove(index) } else { None }
    }

    /// Gives up on packets that were declared lost before `us`.
    pub fn forget_lost(&mut self, us: u64) {
        while self.lost.front().is_some_and(|lost| lost.at_us < us) {
            self.lost.pop_front();
        }
    }

    /// The packets in flight with their numbers, lowest first.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, &Sent)> {
        (self.first..).zip(&self.packets).filter(|(_, sent)| sent.fate == Fate::InFlight)
    }

    /// Forgets what is before the first packet in flight.
    #[inline]
    pub fn forget_settled(&mut self) {
        while self.packets.front().is_some_and(|sent| sent.fate != Fate::InFlight) {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<Sent>(self.packets.len(), self.packets.capacity())
            + claimed::<Lost>(self.lost.len(), self.lost.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_cc::{Control, View};
    use dumbbell_recovery::rate::ChromiumSampler;

    fn sent(count: u32) -> SentPackets {
        let mut packets = SentPackets::default();
        for seq in 0..count {
            let at = ChromiumSampler::default().packet_sent(&View::new(1350), &Control::default(), false);
            packets.push(Part { seq, len: 1350 }, at);
        }
        packets
    }

    fn acknowledge(packets: &mut SentPackets, number: u32) {
        packets.get_mut(number).unwrap().fate = Fate::Acked;
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
        assert!(packets.take_lost(5..9).is_none());
        assert_eq!(packets.take_lost(2..6).map(|lost| (lost.number, lost.sent.part.seq)), Some((2, 2)));
        assert_eq!(packets.take_lost(2..6).map(|lost| lost.number), Some(4));
        assert!(packets.take_lost(2..6).is_none());
        packets.forget_lost(10);
        assert!(packets.has_lost());
        packets.forget_lost(11);
        assert!(!packets.has_lost(), "packet 1 was given up");
    }
}
