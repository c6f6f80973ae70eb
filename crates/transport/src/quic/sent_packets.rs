//! What the sender remembers of the packets it sent (RFC 9002, appendix A.1).
//!
//! A number is never used twice, so packets lie in a ring in the order of their transmission. One that is acknowledged or
//! lost stays until all before it are settled, and a while longer, so that a late acknowledgement of a packet that was
//! taken for lost is still recognised.

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
    /// Which part of the stream it carried.
    pub seq: u32,
    pub fate: Fate,
    /// The connection when it left.
    pub at: SentSnapshot,
}

/// The packets that are not settled, and some that are.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    packets: VecDeque<Sent>,
    first: u32,
    largest_acked: Option<u32>,
}

impl SentPackets {
    /// Lowest number that is remembered.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Number of the next packet.
    pub fn next_number(&self) -> u32 {
        self.first + self.packets.len() as u32
    }

    /// Highest number that was acknowledged.
    pub fn largest_acked(&self) -> Option<u32> {
        self.largest_acked
    }

    /// A packet, if it is remembered.
    pub fn get(&self, number: u32) -> Option<Sent> {
        self.packets.get(number.checked_sub(self.first)? as usize).copied()
    }

    /// A packet leaves with [`SentPackets::next_number`].
    pub fn push(&mut self, seq: u32, at: SentSnapshot) {
        self.packets.push_back(Sent { seq, fate: Fate::InFlight, at });
    }

    /// Packet `number` is acknowledged; returns it with what was believed of it before, if it is remembered.
    pub fn acknowledge(&mut self, number: u32) -> Option<Sent> {
        self.settle(number, Fate::Acked)
    }

    /// Packet `number` is lost; returns it with what was believed of it before, if it is remembered.
    pub fn lose(&mut self, number: u32) -> Option<Sent> {
        self.settle(number, Fate::Lost)
    }

    fn settle(&mut self, number: u32, fate: Fate) -> Option<Sent> {
        let sent = self.packets.get_mut(number.checked_sub(self.first)? as usize)?;
        let before = *sent;
        sent.fate = fate;
        Some(before)
    }

    /// An ACK's largest number is `number`.
    pub fn note_largest_acked(&mut self, number: u32) {
        self.largest_acked = self.largest_acked.max(Some(number));
    }

    /// Numbers of the packets in flight, lowest first.
    pub fn in_flight(&self) -> impl Iterator<Item = (u32, &Sent)> {
        (self.first..).zip(&self.packets).filter(|(_, sent)| sent.fate == Fate::InFlight)
    }

    /// Drops settled packets from the front, but for the `keep` below the largest acknowledged one.
    pub fn forget_settled(&mut self, keep: u32) {
        let keep_from = self.largest_acked.map_or(0, |largest| largest.saturating_sub(keep));
        while let Some(sent) = self.packets.front() {
            if sent.fate == Fate::InFlight || self.first >= keep_from {
                break;
            }
            self.packets.pop_front();
            self.first += 1;
        }
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

    #[test]
    fn packets_are_forgotten_once_all_before_them_are_settled() {
        let mut packets = sent(6);
        for number in [0, 2, 3, 5] {
            assert_eq!(packets.acknowledge(number).map(|sent| sent.fate), Some(Fate::InFlight));
        }
        packets.note_largest_acked(5);
        packets.forget_settled(1);
        assert_eq!((packets.first(), packets.next_number()), (1, 6), "packet 1 is in flight");
        packets.lose(1);
        packets.forget_settled(1);
        assert_eq!(packets.first(), 4, "packet 4 is in flight");
        packets.acknowledge(4);
        packets.forget_settled(1);
        assert_eq!(packets.first(), 4, "one is kept below the largest acknowledged one");
        assert!(packets.get(3).is_none() && packets.acknowledge(3).is_none());
    }

    #[test]
    fn a_late_acknowledgement_finds_a_packet_that_was_lost() {
        let mut packets = sent(3);
        packets.lose(1);
        assert_eq!(packets.acknowledge(1).map(|sent| sent.fate), Some(Fate::Lost));
        assert_eq!(packets.acknowledge(1).map(|sent| sent.fate), Some(Fate::Acked));
        assert_eq!(packets.in_flight().map(|(number, _)| number).collect::<Vec<_>>(), [0, 2]);
    }
}
