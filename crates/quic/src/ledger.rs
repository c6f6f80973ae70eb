//! The packets that are in flight: what is remembered of each until it is acknowledged or lost.

use dumbbell_recovery::rate::SentSnapshot;
use std::collections::VecDeque;

/// A packet that is in flight, or was.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    number: u64,
    is_in_flight: bool,
    /// What the rate sampler needs.
    pub at: SentSnapshot,
}

/// Packets by number. The three spaces of a connection each begin with number 0, and a controller is not told of which
/// one a packet is: those of an earlier space are kept apart.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Ascending numbers.
    current: VecDeque<Sent>,
    /// Of the spaces before; a handful.
    earlier: Vec<Sent>,
}

impl Ledger {
    /// A packet leaves.
    pub fn push(&mut self, number: u64, at: SentSnapshot) {
        if self.current.back().is_some_and(|last| last.number >= number) {
            self.earlier.extend(self.current.drain(..).filter(|sent| sent.is_in_flight));
        }
        self.current.push_back(Sent { number, is_in_flight: true, at });
    }

    /// Takes a packet out, acknowledged or lost; `None` for one that is not in flight. `sent_us` tells apart packets of
    /// one number.
    pub fn take(&mut self, number: u64, sent_us: Option<u64>) -> Option<Sent> {
        let is_it = |sent: &Sent| {
            sent.number == number && sent.is_in_flight && sent_us.is_none_or(|sent_us| sent_us == sent.at.sent_us)
        };
        let place = self.current.partition_point(|sent| sent.number < number);
        if let Some(sent) = self.current.get_mut(place).filter(|sent| is_it(sent)) {
            sent.is_in_flight = false;
            let taken = *sent;
            while self.current.front().is_some_and(|first| !first.is_in_flight) {
                self.current.pop_front();
            }
            return Some(taken);
        }
        let place = self.earlier.iter().position(is_it)?;
        Some(self.earlier.swap_remove(place))
    }

    /// Forgets what is left of earlier spaces, which a library discards without a word; returns how many packets.
    pub fn forget_earlier(&mut self) -> u32 {
        let forgotten = u32::try_from(self.earlier.len()).unwrap_or(u32::MAX);
        self.earlier.clear();
        forgotten
    }

    /// The lowest number of the current space that is in flight.
    pub fn first(&self) -> Option<u64> {
        self.current.front().map(|sent| sent.number)
    }

    /// Bytes of memory it has.
    pub fn memory(&self) -> u64 {
        let places = self.current.capacity() + self.earlier.capacity();
        (places * size_of::<Sent>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sent_us: u64) -> SentSnapshot {
        let mut at = SentSnapshot::default();
        at.sent_us = sent_us;
        at
    }

    #[test]
    fn a_packet_is_taken_once_whatever_order_they_are_acknowledged_in() {
        let mut ledger = Ledger::default();
        for number in [0, 1, 3, 4] {
            ledger.push(number, at(10 * number));
        }
        assert!(ledger.take(2, None).is_none(), "a number that was skipped");
        assert_eq!(ledger.take(3, Some(30)).map(|sent| sent.at.sent_us), Some(30));
        assert!(ledger.take(3, Some(30)).is_none());
        assert_eq!(ledger.first(), Some(0));
        assert!(ledger.take(0, None).is_some() && ledger.take(1, None).is_some());
        assert_eq!(ledger.first(), Some(4));
    }

    #[test]
    fn packets_of_two_spaces_have_the_numbers_of_each_other() {
        let mut ledger = Ledger::default();
        ledger.push(0, at(1));
        ledger.push(1, at(2));
        ledger.push(0, at(3));
        assert_eq!(ledger.take(0, Some(3)).map(|sent| sent.at.sent_us), Some(3));
        assert_eq!(ledger.take(0, Some(1)).map(|sent| sent.at.sent_us), Some(1));
        assert_eq!(ledger.forget_earlier(), 1);
        assert!(ledger.take(1, None).is_none());
    }
}
