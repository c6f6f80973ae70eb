//! The event queue: one slot for everything that can have a next event.
//!
//! A network has few *kinds* of pending events: a link delivers its next packet, a connection's timer fires. Each owns one
//! slot that is re-armed in place, so the queue never grows with the packets in flight. The slots are the leaves of a
//! tournament tree: every node of a binary tree knows which slot below it is due first, and the root knows the earliest of
//! all. Re-arming a slot updates the nodes above it, up to the first one that does not change. Of equal times the lower slot
//! comes first, so that the order of events follows from the scenario alone.
//!
//! The tree need not be balanced. Where the first two slots are [busy](BusyAgenda), they make one half of it by themselves and
//! all others the other half: so the busy ones are one match from the root, and the others one match further away.

use dumbbell_units::{Time, prefetch};

/// An agenda whose first two slots are armed far more often than each of the others: those of a scenario's links are, because
/// the links that flows have to themselves come last.
pub type BusyAgenda<T> = Agenda<T, true>;

/// When every slot is due, and which one comes first. `BUSY` is that of a [`BusyAgenda`].
#[derive(Debug)]
pub struct Agenda<T: Moment, const BUSY: bool = false> {
    /// Two slots need no tree: most networks are two links.
    pair: [T; 2],
    /// More than two: their number, without the busy ones, is a power of two, and those that nobody owns are never due.
    slots: Vec<T>,
    /// Who won the matches, which are the inner nodes of the tree: those of nodes 2n and 2n + 1 meet in node n, and number 1 is
    /// the root, whose winner is `first`. The slots themselves are not kept.
    winners: Vec<T::OfSlot>,
    first: T::OfSlot,
}

/// When something is due.
pub trait Moment: Copy + Ord {
    /// A slot and when it is due: the lesser of two is due first, and of equal moments the one of the lower slot is the lesser.
    type OfSlot: Copy + Ord;

    /// That `slot` is due at this moment.
    fn of_slot(self, slot: usize) -> Self::OfSlot;

    /// The slot, and when it is due.
    fn and_slot(of_slot: Self::OfSlot) -> (usize, Self);
}

/// A moment of 64 bits makes one number with the slot below it, which a processor compares in two instructions.
impl Moment for u64 {
    type OfSlot = u128;

    #[inline(always)]
    fn of_slot(self, slot: usize) -> u128 {
        u128::from(self) << 64 | slot as u128
    }

    #[inline(always)]
    fn and_slot(of_slot: u128) -> (usize, u64) {
        (of_slot as usize, (of_slot >> 64) as u64)
    }
}

impl Moment for Time {
    type OfSlot = u128;

    #[inline(always)]
    fn of_slot(self, slot: usize) -> u128 {
        self.as_nanos().of_slot(slot)
    }

    #[inline(always)]
    fn and_slot(of_slot: u128) -> (usize, Time) {
        let (slot, nanos) = u64::and_slot(of_slot);
        (slot, Time::from_nanos(nanos))
    }
}

/// Moments at which several things happen, in an order of their own.
impl<A: Copy + Ord, B: Copy + Ord, C: Copy + Ord> Moment for (A, B, C) {
    type OfSlot = (Self, usize);

    #[inline]
    fn of_slot(self, slot: usize) -> (Self, usize) {
        (self, slot)
    }

    #[inline]
    fn and_slot((moment, slot): (Self, usize)) -> (usize, Self) {
        (slot, moment)
    }
}

impl<T: Moment, const BUSY: bool> Agenda<T, BUSY> {
    const BUSY_SLOTS: usize = if BUSY { 2 } else { 0 };
    /// In a tree of so many all matches up to the root are played, whether their winners change or not.
    const MOST_SLOTS_TO_THE_ROOT: usize = 64 + Self::BUSY_SLOTS;

    /// An agenda of `slots` that are due at `never`, after everything else.
    pub fn new(slots: usize, never: T) -> Agenda<T, BUSY> {
        let nobody = never.of_slot(0);
        let mut agenda = Agenda { pair: [never; 2], slots: Vec::new(), winners: Vec::new(), first: nobody };
        if slots > 2 {
            let others = (slots - Self::BUSY_SLOTS).next_power_of_two().max(2);
            agenda.slots = vec![never; Self::BUSY_SLOTS + others];
            agenda.winners = vec![nobody; agenda.parent(agenda.slots.len())];
        }
        agenda
    }

    /// The number of the node above a slot.
    #[inline(always)]
    fn parent(&self, slot: usize) -> usize {
        if !BUSY {
            return (self.slots.len() + slot) / 2;
        }
        if slot < Self::BUSY_SLOTS {
            return 2;
        }
        // The other slots are the leaves below node 3.
        let others = self.slots.len() - Self::BUSY_SLOTS;
        (3 * others + slot - Self::BUSY_SLOTS) / 2
    }

    /// Makes room for at least `slots`; those that come on top are due at `never`.
    pub fn grow(&mut self, slots: usize, never: T) {
        let known = if self.slots.is_empty() { &self.pair[..] } else { &self.slots };
        if slots <= known.len() {
            return;
        }
        let mut grown = Agenda::new(slots, never);
        for (slot, due) in known.iter().enumerate() {
            grown.set(slot, *due);
        }
        *self = grown;
    }

    /// Has the processor fetch what is needed to arm `slot`.
    #[inline(always)]
    pub fn prefetch(&self, slot: usize) {
        if let Some(due) = self.slots.get(slot) {
            prefetch(due);
            prefetch(&self.winners[self.parent(slot)]);
        }
    }

    /// The slot that is due first, and when.
    #[inline]
    pub fn next(&self) -> (usize, T) {
        T::and_slot(self.first)
    }

    /// Arms `slot`, whatever it was armed for.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, due: T) {
        match self.slots.get_mut(slot) {
            Some(place) => {
                *place = due;
                self.play(slot, due);
            }
            None => {
                debug_assert!(slot < 2 && self.slots.is_empty());
                self.pair[slot & 1] = due;
                let [left, right] = self.pair;
                self.first = if right < left { right.of_slot(1) } else { left.of_slot(0) };
            }
        }
    }

    /// `slot` of the tree is due at another time: updates the nodes above it.
    #[inline(never)]
    fn play(&mut self, slot: usize, due: T) {
        let winner = due.of_slot(slot).min(self.slots[slot ^ 1].of_slot(slot ^ 1));
        let number = self.parent(slot);
        if self.slots.len() > Self::MOST_SLOTS_TO_THE_ROOT {
            self.play_until_one_stays(winner, number);
        } else {
            self.play_to_the_root(winner, number);
        }
    }

    /// A small tree's node `number` has a new winner.
    #[inline(always)]
    fn play_to_the_root(&mut self, mut first: T::OfSlot, mut number: usize) {
        while number > 1 {
            self.winners[number] = first;
            first = first.min(self.winners[number ^ 1]);
            number /= 2;
        }
        self.first = first;
    }

    /// A large tree's node `number` has a new winner. The first match whose winner stays the same is the last.
    #[inline(always)]
    fn play_until_one_stays(&mut self, mut first: T::OfSlot, mut number: usize) {
        while number > 1 {
            if self.winners[number] == first {
                return;
            }
            self.winners[number] = first;
            first = first.min(self.winners[number ^ 1]);
            number /= 2;
        }
        self.first = first;
    }

    /// What `slot` is armed for.
    #[inline(always)]
    pub fn due(&self, slot: usize) -> T {
        self.slots.get(slot).map_or(self.pair[slot & 1], |due| *due)
    }

    /// Arms `slot` unless it is due earlier already. One that fires too early finds out and re-arms.
    #[inline(always)]
    pub fn advance(&mut self, slot: usize, due: T) {
        if due < self.due(slot) {
            self.set(slot, due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_go_to_the_lower_slot() {
        let at = Time::from_nanos;
        let mut agenda = Agenda::<_>::new(5, Time::NEVER);
        for slot in [4, 2, 3] {
            agenda.set(slot, at(7));
        }
        assert_eq!(agenda.next(), (2, at(7)));
        agenda.set(2, Time::NEVER);
        assert_eq!(agenda.next(), (3, at(7)));
    }

    #[test]
    fn an_agenda_that_grows_keeps_what_is_due() {
        let at = Time::from_nanos;
        let mut agenda = Agenda::<_>::new(2, Time::NEVER);
        agenda.set(1, at(5));
        agenda.grow(9, Time::NEVER);
        assert_eq!(agenda.next(), (1, at(5)));
        agenda.set(8, at(3));
        assert_eq!(agenda.next(), (8, at(3)));
    }

    /// Changes of slots: which, when it is due, and whether only if that is earlier.
    type Changes = Vec<(usize, u64, bool)>;

    fn agrees_with_a_search<const BUSY: bool>(slots: usize, changes: &Changes) {
        let mut agenda = Agenda::<u64, BUSY>::new(slots, u64::MAX);
        let mut armed = vec![u64::MAX; slots];
        for &(slot, due, only_earlier) in changes {
            let slot = slot % slots;
            if only_earlier {
                agenda.advance(slot, due);
                armed[slot] = armed[slot].min(due);
            } else {
                agenda.set(slot, due);
                armed[slot] = due;
            }
            let (due, first) = armed.iter().enumerate().map(|(slot, &due)| (due, slot)).min().unwrap();
            assert_eq!(agenda.next(), (first, due));
            assert_eq!(agenda.due(slot), armed[slot]);
        }
    }

    proptest! {
        #[test]
        fn the_next_slot_is_always_the_earliest(
            slots in prop_oneof![1usize..8, 1usize..300],
            changes in proptest::collection::vec((0usize..300, 0u64..50, any::<bool>()), 1..300),
        ) {
            agrees_with_a_search::<false>(slots, &changes);
            agrees_with_a_search::<true>(slots, &changes);
        }
    }
}
