//! The event queue: one slot for everything that can have a next event.
//!
//! A simulation of congestion control has few *kinds* of pending events: a link delivers its next packet, a connection's
//! timer fires, the recorder samples. Each owns one slot that is re-armed in place, so the queue never grows with the
//! packets in flight. The slots are the leaves of a tournament tree over their due times; finding the earliest is
//! reading the root, re-arming replays one path. Equal times go to the lower slot, which makes the order of events a
//! property of the scenario and of nothing else.

use dumbbell_units::Time;

/// The next due time of every slot, and which one comes first.
#[derive(Debug)]
pub(crate) struct Agenda {
    due: Vec<Time>,
    /// `winners[1]` is the slot that is due first; node `n` is decided between nodes `2n` and `2n + 1`.
    winners: Vec<u32>,
}

impl Agenda {
    pub fn new(slots: usize) -> Agenda {
        let leaves = slots.next_power_of_two().max(2);
        let mut winners = vec![0; leaves];
        for node in (1..leaves).rev() {
            winners[node] = if node >= leaves / 2 { (2 * node - leaves) as u32 } else { winners[2 * node] };
        }
        Agenda { due: vec![Time::NEVER; leaves], winners }
    }

    /// The slot that is due first, and when; [`Time::NEVER`] when none is.
    #[inline]
    pub fn next(&self) -> (usize, Time) {
        let slot = self.winners[1] as usize;
        (slot, self.due[slot])
    }

    /// When `slot` is due.
    #[inline]
    pub fn due(&self, slot: usize) -> Time {
        self.due[slot]
    }

    /// Arms `slot` for `time`, whatever it was armed for.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        self.due[slot] = time;
        let leaves = self.due.len();
        let mut node = (leaves + slot) / 2;
        let pair = slot & !1;
        let mut winner = if self.due[pair] <= self.due[pair + 1] { pair } else { pair + 1 };
        self.winners[node] = winner as u32;
        while node > 1 {
            let rival = self.winners[node ^ 1] as usize;
            let (rival_due, own_due) = (self.due[rival], self.due[winner]);
            if rival_due < own_due || (rival_due == own_due && rival < winner) {
                winner = rival;
            }
            node /= 2;
            self.winners[node] = winner as u32;
        }
    }

    /// Arms `slot` for `time` unless it is due earlier already. A slot that fires too early finds out and re-arms.
    #[inline]
    pub fn advance(&mut self, slot: usize, time: Time) {
        if time < self.due[slot] {
            self.set(slot, time);
        }
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
        fn the_root_is_always_the_earliest_slot(
            slots in 1usize..70,
            changes in proptest::collection::vec((0usize..70, 0u64..50), 1..300),
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
