//! The receiving side of a lane: MPDUs leave it in the order of their numbers.
//!
//! Behind a hole MPDUs are held until it is filled, the transmitter gives the missing one up, or a timeout passes. So a
//! transport sees a burst in order, and never reordering.

use super::aggregate::Mpdu;
use dumbbell_units::{Duration, Time, claimed};
use std::collections::VecDeque;

/// What has come of the MPDUs from the next one on.
#[derive(Clone, Debug)]
pub(super) struct Reorder<P> {
    next: u32,
    slots: VecDeque<Slot<P>>,
    timeout: Duration,
}

#[derive(Clone, Debug)]
enum Slot<P> {
    Missing,
    /// The transmitter has given it up.
    Skipped,
    Held {
        mpdu: Mpdu<P>,
        since: Time,
    },
}

impl<P> Reorder<P> {
    pub(super) fn new(timeout: Duration) -> Reorder<P> {
        Reorder { next: 0, slots: VecDeque::new(), timeout }
    }

    /// An MPDU arrives at `now`; gives it back when its place was passed already.
    pub(super) fn receive(&mut self, now: Time, mpdu: Mpdu<P>) -> Result<(), Mpdu<P>> {
        if mpdu.number < self.next {
            return Err(mpdu);
        }
        let slot = self.slot(mpdu.number);
        *slot = Slot::Held { mpdu, since: now };
        Ok(())
    }

    /// Whether the MPDU of this number can leave as it arrives: it is the next, and nothing is held.
    pub(super) fn pass(&mut self, number: u32) -> bool {
        let passes = number == self.next && self.slots.is_empty();
        self.next += u32::from(passes);
        passes
    }

    /// The transmitter has given up an MPDU.
    pub(super) fn skip(&mut self, number: u32) {
        if number >= self.next {
            *self.slot(number) = Slot::Skipped;
        }
    }

    fn slot(&mut self, number: u32) -> &mut Slot<P> {
        let place = (number - self.next) as usize;
        while self.slots.len() <= place {
            self.slots.push_back(Slot::Missing);
        }
        &mut self.slots[place]
    }

    /// The next MPDU in order that can leave at `now`. Call it until it returns `None`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Mpdu<P>> {
        if self.deadline() <= now {
            while matches!(self.slots.front(), Some(Slot::Missing)) {
                self.advance();
            }
        }
        while matches!(self.slots.front(), Some(Slot::Skipped)) {
            self.advance();
        }
        if !matches!(self.slots.front(), Some(Slot::Held { .. })) {
            return None;
        }
        match self.advance() {
            Some(Slot::Held { mpdu, .. }) => Some(mpdu),
            _ => None,
        }
    }

    fn advance(&mut self) -> Option<Slot<P>> {
        self.next += 1;
        self.slots.pop_front()
    }

    /// When MPDUs behind a hole have waited long enough.
    pub(super) fn deadline(&self) -> Time {
        let held = self.slots.iter().find_map(|slot| match slot {
            Slot::Held { since, .. } => Some(*since + self.timeout),
            Slot::Missing | Slot::Skipped => None,
        });
        held.unwrap_or(Time::NEVER)
    }

    /// Packets that are held.
    pub(super) fn packets(&self) -> impl Iterator<Item = &P> {
        self.slots.iter().flat_map(|slot| match slot {
            Slot::Held { mpdu, .. } => mpdu.packets(),
            Slot::Missing | Slot::Skipped => [].iter(),
        })
    }

    /// Bytes of memory claimed.
    pub(super) fn memory(&self) -> u64 {
        claimed::<Slot<P>>(self.slots.len(), self.slots.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestPacket;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn mpdu(number: u32) -> Mpdu<TestPacket> {
        Mpdu::new(number, vec![TestPacket::new(u64::from(number), 1500)])
    }

    fn out(reorder: &mut Reorder<TestPacket>, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| reorder.pop(now)).map(|mpdu| mpdu.number).collect()
    }

    #[test]
    fn what_came_behind_a_hole_leaves_when_the_hole_is_filled() {
        let mut reorder = Reorder::new(Duration::from_millis(100));
        for number in [0, 2, 3] {
            reorder.receive(ms(1), mpdu(number)).unwrap();
        }
        assert_eq!(out(&mut reorder, ms(1)), [0]);
        assert_eq!(reorder.packets().count(), 2);
        reorder.receive(ms(2), mpdu(1)).unwrap();
        assert_eq!(out(&mut reorder, ms(2)), [1, 2, 3]);
        assert_eq!(reorder.deadline(), Time::NEVER);
    }

    #[test]
    fn a_hole_that_the_transmitter_gives_up_is_passed() {
        let mut reorder = Reorder::new(Duration::from_millis(100));
        reorder.receive(ms(1), mpdu(2)).unwrap();
        reorder.skip(0);
        assert!(out(&mut reorder, ms(1)).is_empty());
        reorder.skip(1);
        assert_eq!(out(&mut reorder, ms(1)), [2]);
    }

    #[test]
    fn after_the_timeout_a_hole_is_passed_and_what_comes_for_it_is_refused() {
        let mut reorder = Reorder::new(Duration::from_millis(100));
        reorder.receive(ms(1), mpdu(1)).unwrap();
        reorder.receive(ms(50), mpdu(3)).unwrap();
        assert_eq!(reorder.deadline(), ms(101));
        assert!(out(&mut reorder, ms(100)).is_empty());
        assert_eq!(out(&mut reorder, ms(101)), [1]);
        assert_eq!(reorder.deadline(), ms(150));
        assert!(reorder.receive(ms(102), mpdu(0)).is_err());
    }
}
