//! The event queue: one slot for everything that can have a next event.
//!
//! A simulation of congestion control has few *kinds* of pending events: a link delivers its next packet, a connection's
//! timer fires. Each owns one slot that is re-armed in place, so the queue never grows with the packets in flight. Above
//! the slots stands a tree in which every node holds the earliest due time of its eight children; re-arming a slot carries
//! a new time up until nothing changes any more, and finding the earliest slot follows that time down again, which is done
//! only when the earliest slot itself was put off. Equal times go to the lower slot, which makes the order of events a
//! property of the scenario and of nothing else.

use dumbbell_units::Time;

/// A family of times fills a cache line.
const ARITY: usize = 8;

/// The next due time of every slot, and which one comes first.
#[derive(Debug)]
pub(crate) struct Agenda {
    due: Vec<Time>,
    /// The earliest of every eight slots, then of every eight of those, until eight or fewer are left.
    summaries: Vec<Vec<Time>>,
    earliest: (usize, Time),
}

impl Agenda {
    pub fn new(slots: usize) -> Agenda {
        let mut summaries = Vec::new();
        let mut nodes = slots;
        while nodes > ARITY {
            nodes = nodes.div_ceil(ARITY);
            summaries.push(vec![Time::NEVER; nodes]);
        }
        Agenda { due: vec![Time::NEVER; slots], summaries, earliest: (0, Time::NEVER) }
    }

    /// The slot that is due first, and when; [`Time::NEVER`] when none is.
    #[inline]
    pub fn next(&self) -> (usize, Time) {
        self.earliest
    }

    /// Arms `slot` for `time`, whatever it was armed for.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        self.due[slot] = time;
        if !self.summaries.is_empty() {
            self.summarise(slot);
        }
        if (time, slot) < (self.earliest.1, self.earliest.0) {
            self.earliest = (slot, time);
        } else if slot == self.earliest.0 {
            self.earliest = self.find_earliest();
        }
    }

    /// Arms `slot` for `time` unless it is due earlier already. A slot that fires too early finds out and re-arms.
    #[inline]
    pub fn advance(&mut self, slot: usize, time: Time) {
        if time < self.due[slot] {
            self.set(slot, time);
        }
    }

    fn summarise(&mut self, slot: usize) {
        let mut children = &self.due;
        let mut node = slot / ARITY;
        for summary in &mut self.summaries {
            let (_, earliest) = earliest_of(children, node);
            if summary[node] == earliest {
                break;
            }
            summary[node] = earliest;
            children = summary;
            node /= ARITY;
        }
    }

    fn find_earliest(&self) -> (usize, Time) {
        let mut node = 0;
        for summary in self.summaries.iter().rev() {
            (node, _) = earliest_of(summary, node);
        }
        earliest_of(&self.due, node)
    }
}

/// The earliest member of a family, the first of those that are equally early.
#[inline]
fn earliest_of(times: &[Time], family: usize) -> (usize, Time) {
    let first = ARITY * family;
    let members = &times[first..times.len().min(first + ARITY)];
    let mut earliest = (first, Time::NEVER);
    for (member, &time) in (first..).zip(members) {
        if time < earliest.1 {
            earliest = (member, time);
        }
    }
    earliest
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
