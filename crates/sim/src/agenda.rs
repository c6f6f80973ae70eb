//! The event queue: one slot for everything that can have a next event.
//!
//! A simulation of congestion control has few *kinds* of pending events: a link delivers its next packet, a connection's
//! timer fires, the recorder samples. Each owns one slot that is re-armed in place, so the queue never grows with the
//! packets in flight. The slots are the leaves of a tree in which every node has eight children and holds the earliest of
//! their due times: finding the earliest slot is following that time down, re-arming is carrying a new one up until
//! nothing changes any more. Equal times go to the lower slot, which makes the order of events a property of the
//! scenario and of nothing else.

use dumbbell_units::Time;

/// A family of times fills a cache line.
const ARITY: usize = 8;

/// The next due time of every slot, and which one comes first.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The nodes, children of one parent together and level after level: the children of member `m` of family `f` are
    /// family `ARITY * f + m + 1`.
    families: Vec<[Time; ARITY]>,
    /// Families from here on are slots.
    first_leaf: usize,
}

impl Agenda {
    pub fn new(slots: usize) -> Agenda {
        let (mut first_leaf, mut room) = (0, ARITY);
        while room < slots {
            first_leaf = ARITY * first_leaf + 1;
            room *= ARITY;
        }
        Agenda { families: vec![[Time::NEVER; ARITY]; first_leaf + slots.div_ceil(ARITY).max(1)], first_leaf }
    }

    /// The slot that is due first, and when; [`Time::NEVER`] when none is.
    #[inline]
    pub fn next(&self) -> (usize, Time) {
        let due = earliest(&self.families[0]);
        if due == Time::NEVER {
            return (0, due);
        }
        let mut family = 0;
        loop {
            let member = self.families[family].iter().position(|&time| time == due).unwrap_or(0);
            if family >= self.first_leaf {
                return (ARITY * (family - self.first_leaf) + member, due);
            }
            family = ARITY * family + member + 1;
        }
    }

    /// Arms `slot` for `time`, whatever it was armed for.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let mut family = self.first_leaf + slot / ARITY;
        self.families[family][slot % ARITY] = time;
        while family > 0 {
            let first = earliest(&self.families[family]);
            let parent = &mut self.families[(family - 1) / ARITY][(family - 1) % ARITY];
            if *parent == first {
                break;
            }
            *parent = first;
            family = (family - 1) / ARITY;
        }
    }

    /// Arms `slot` for `time` unless it is due earlier already. A slot that fires too early finds out and re-arms.
    #[inline]
    pub fn advance(&mut self, slot: usize, time: Time) {
        if time < self.families[self.first_leaf + slot / ARITY][slot % ARITY] {
            self.bring_forward(slot, time);
        }
    }

    /// Kept apart, because mostly there is nothing to bring forward.
    #[inline(never)]
    fn bring_forward(&mut self, slot: usize, time: Time) {
        self.set(slot, time);
    }
}

#[inline]
fn earliest(&[a, b, c, d, e, f, g, h]: &[Time; ARITY]) -> Time {
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
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
