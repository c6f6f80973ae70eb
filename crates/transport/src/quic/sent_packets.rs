//! The packets that were sent (`sent_packets`, RFC 9002, appendix A.1).
//!
//! They lie in a ring in the order of their numbers. A packet that is acknowledged or lost stays until all packets before
//! it are acknowledged or lost, and a while longer, so that a late ACK for a packet that was declared lost is recognised.

use dumbbell_recovery::rate::SentSnapshot;
use dumbbell_units::claimed;
use std::collections::VecDeque;

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
    pub seq: u32,
    pub fate: Fate,
    /// The connection when it was sent.
    pub at: SentSnapshot,
}

/// The packets in flight, and some that are acknowledged or lost.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    packets: VecDeque<Sent>,
    first: u32,
    /// All packets below it are acknowledged.
    first_unacked: u32,
    largest_acked: Option<u32>,
}

impl SentPackets {
    /// Lowest number that is remembered.
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

    /// Lowest number that is not acknowledged; [`SentPackets::next_number`] if there is none.
    #[inline]
    pub fn first_unacked(&self) -> u32 {
        self.first_unacked
    }

    /// A packet, if it is remembered.
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
    pub fn push(&mut self, seq: u32, at: SentSnapshot) {
        self.packets.push_back(Sent { seq, fate: Fate::InFlight, at });
    }

    /// The largest number of an ACK is `number`; the packets that it acknowledges have been marked.
    #[inline]
    pub fn note_largest_acked(&mut self, number: u32) {
        if self.largest_acked.is_none_or(|largest| largest < number) {
            self.largest_acked = Some(number);
        }
        while self.get(self.first_unacked).is_some_and(|sent| sent.fate == Fate::Acked) {
            self.first_unacked += 1;
        }
    }

    /// Numbers of the packets in flight, lowest first.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, &Sent)> {
        (self.first..).zip(&self.packets).filter(|(_, sent)| sent.fate == Fate::InFlight)
    }

    /// Forgets packets before the first one in flight, except for the last `keep` below the largest acknowledged number.
    #[inline]
    pub fn forget_settled(&mut self, keep: u32) {
        let keep_from = self.largest_acked.map_or(0, |largest| largest.saturating_sub(keep));
        while self.first < keep_from {
            // Below `first_unacked` none is in flight.
            if self.first >= self.first_unacked && self.packets.front().is_none_or(|sent| sent.fate == Fate::InFlight) {
                break;
            }
            self.packets.pop_front();
            self.first += 1;
        }
        self.first_unacked = self.first_unacked.max(self.first);
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        claimed::<Sent>(self.packets.len(), self.packets.capacity())
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
            packets.push(seq, at);
        }
        packets
    }

    fn settle(packets: &mut SentPackets, number: u32, fate: Fate) -> Option<Fate> {
        packets.get_mut(number).map(|sent| std::mem::replace(&mut sent.fate, fate))
    }

    #[test]
    fn packets_are_forgotten_once_all_before_them_are_settled() {
        let mut packets = sent(6);
        for number in [0, 2, 3, 5] {
            assert_eq!(settle(&mut packets, number, Fate::Acked), Some(Fate::InFlight));
        }
        packets.note_largest_acked(5);
        packets.forget_settled(1);
        assert_eq!((packets.first(), packets.next_number()), (1, 6), "packet 1 is in flight");
        settle(&mut packets, 1, Fate::Lost);
        packets.forget_settled(1);
        assert_eq!(packets.first(), 4, "packet 4 is in flight");
        settle(&mut packets, 4, Fate::Acked);
        packets.forget_settled(1);
        assert_eq!(packets.first(), 4, "one is kept below the largest acknowledged one");
        assert!(packets.get(3).is_none());
    }

    #[test]
    fn a_late_acknowledgement_finds_a_packet_that_was_lost() {
        let mut packets = sent(3);
        settle(&mut packets, 1, Fate::Lost);
        assert_eq!(settle(&mut packets, 1, Fate::Acked), Some(Fate::Lost));
        assert_eq!(packets.in_flight().map(|(number, _)| number).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn a_search_for_losses_begins_behind_what_is_acknowledged() {
        let mut packets = sent(6);
        for number in [0, 1, 3] {
            settle(&mut packets, number, Fate::Acked);
        }
        packets.note_largest_acked(3);
        assert_eq!(packets.first_unacked(), 2);
        settle(&mut packets, 2, Fate::Lost);
        packets.note_largest_acked(3);
        assert_eq!(packets.first_unacked(), 2, "its acknowledgement may be late");
        packets.forget_settled(0);
        assert_eq!((packets.first(), packets.first_unacked()), (3, 3));
        packets.forget_settled(0);
        packets.note_largest_acked(3);
        assert_eq!(packets.first_unacked(), 4);
    }
}
