//! The event queue: one slot for everything that can have a next event.
//!
//! A simulation of congestion control has few *kinds* of pending events: a link delivers its next packet, a connection's
//! timer fires. Each owns one slot that is re-armed in place, so the queue never grows with the packets in flight. The
//! slots play a knock-out tournament: every node of a binary tree knows which slot below it is due first, and the root
//! knows the earliest of all. Re-arming a slot replays its matches, up to the first one whose result stays what it was.
//! Equal times go to the lower slot, which makes the order of events a property of the scenario and of nothing else.

use dumbbell_units::Time;

/// The next due time of every slot, and which one comes first.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// A power of two, at least 2; those that nobody owns are never due.
    slots: Vec<Time>,
    /// Who meets in which match: in number n the winners of numbers 2n and 2n + 1, number 1 being the final. Slots count as
    /// winners of matches that follow those here, and are not entered.
    matches: Vec<[Winner; 2]>,
    first: Winner,
}

/// The slot that is due first of some, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Winner {
    due: Time,
    slot: u32,
}

impl Agenda {
    pub fn new(slots: usize) -> Agenda {
        let slots = slots.next_power_of_two().max(2);
        let nobody = Winner { due: Time::NEVER, slot: 0 };
        Agenda { slots: vec![Time::NEVER; slots], matches: vec![[nobody; 2]; slots / 2], first: nobody }
    }

    /// The slot that is due first, and when; [`Time::NEVER`] when none is.
    #[inline]
    pub fn next(&self) -> (usize, Time) {
        (self.first.slot as usize, self.first.due)
    }

    /// When `slot` is due.
    #[inline]
    pub fn due(&self, slot: usize) -> Time {
        self.slots[slot]
    }

    /// Arms `slot` for `time`, whatever it was armed for.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, time: Time) {
        self.slots[slot] = time;
        let neighbour = self.slots[slot ^ 1];
        let neighbour_wins = neighbour < time || neighbour == time && slot & 1 == 1;
        let winner = if neighbour_wins {
            Winner { due: neighbour, slot: slot as u32 ^ 1 }
        } else {
            Winner { due: time, slot: slot as u32 }
        };
        let number = (self.slots.len() + slot) / 2;
        if number == 1 {
            self.first = winner;
        } else {
            self.play_on(number, winner);
        }
    }

    /// Enters the winner of match `number` and plays those that follow from it.
    #[inline(never)]
    fn play_on(&mut self, mut number: usize, mut winner: Winner) {
        while number > 1 {
            let side = number & 1;
            number /= 2;
            let contenders = &mut self.matches[number];
            if contenders[side] == winner {
                return;
            }
            contenders[side] = winner;
            let [left, right] = *contenders;
            winner = if right.due < left.due { right } else { left };
        }
        self.first = winner;
    }

    /// Arms `slot` for `time` unless it is due earlier already. A slot that fires too early finds out and re-arms.
    #[inline(always)]
    pub fn advance(&mut self, slot: usize, time: Time) {
        if time < self.slots[slot] {
            self.bring_forward(slot, time);
        }
    }

    /// Kept apart, because mostly there is nothing to bring forward.
    #[inline(never)]
    fn bring_forward(&mut self, slot: usize, time: Time) {
        self.set(slot, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_go_to_the_lower_slot() {
        let mut agenda = Agenda::new(5);
        for slot in [4, 2, 3] {
            agenda.set(slot, Time::from_nanos(7));
        }
        assert_eq!(agenda.next(), (2, Time::from_nanos(7)));
        agenda.set(2, Time::NEVER);
        assert_eq!(agenda.next(), (3, Time::from_nanos(7)));
    }

    proptest! {
        #[test]
        fn the_next_slot_is_always_the_earliest(
            slots in 1usize..600,
            changes in proptest::collection::vec((0usize..600, 0u64..50), 1..300),
        ) {
            let mut agenda = Agenda::new(slots);
            let mut due = vec![u64::MAX; slots];
            for (slot, time) in changes {
                let slot = slot % slots;
                due[slot] = time;
                agenda.set(slot, Time::from_nanos(time));
                let first = (0..slots).min_by_key(|&s| (due[s], s)).unwrap();
                prop_assert_eq!(agenda.next(), (first, Time::from_nanos(due[first])));
            }
        }
    }
}
