//! The event queue: one slot for everything that can have a next event.
//!
//! A simulation of congestion control has few *kinds* of pending events: a link delivers its next packet, a connection's
//! timer fires. Each owns one slot that is re-armed in place, so the queue never grows with the packets in flight. The
//! slots are the leaves of a tournament tree: every node of a binary tree knows which slot below it is due first, and the
//! root knows the earliest of all. Re-arming a slot updates the nodes above it, up to the first one that does not change.
//! Of equal times the earlier turn comes first, and then the lower slot, so that the order of events follows from the
//! scenario alone.

use dumbbell_units::Time;

/// Whose turn it is of a flow, in the order in which simultaneous events are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Application,
    Sender,
    Receiver,
}

/// When something is due, and whose turn it is then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due(u64);

impl Due {
    const TURN_BITS: u32 = 2;
    const LATEST: u64 = u64::MAX >> Due::TURN_BITS;

    /// Times from 146 years on count as never.
    #[inline]
    pub fn new(time: Time, turn: Turn) -> Due {
        Due(time.as_nanos().min(Due::LATEST) << Due::TURN_BITS | turn as u64)
    }

    #[inline]
    pub fn time(self) -> Time {
        Time::from_nanos(self.0 >> Due::TURN_BITS)
    }

    #[inline]
    pub fn turn(self) -> Turn {
        // The fourth entry is never used; a look-up costs less than a `match`.
        const TURNS: [Turn; 1 << Due::TURN_BITS] = [Turn::Application, Turn::Sender, Turn::Receiver, Turn::Receiver];
        const LAST_BITS: u64 = (1 << Due::TURN_BITS) - 1;
        let turn = (self.0 & LAST_BITS) as usize;
        TURNS[turn]
    }
}

/// When every slot is due, and which one comes first.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    /// Their number is a power of two, at least 2; the slots that nobody owns are never due.
    slots: Vec<T>,
    /// The inner nodes of the tree: number n holds the winners of nodes 2n and 2n + 1, and number 1 is the root. The pairs of
    /// slots themselves are not kept.
    matches: Vec<[Winner<T>; 2]>,
    first: Winner<T>,
}

/// The slot that is due first of some, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Winner<T> {
    due: T,
    slot: u32,
}

impl<T: Copy + Ord> Agenda<T> {
    /// An agenda of `slots` that are due at `never`, after everything else.
    pub fn new(slots: usize, never: T) -> Agenda<T> {
        let slots = slots.next_power_of_two().max(2);
        let nobody = Winner { due: never, slot: 0 };
        Agenda { slots: vec![never; slots], matches: vec![[nobody; 2]; slots / 2], first: nobody }
    }

    /// The slot that is due first, and when.
    #[inline]
    pub fn next(&self) -> (usize, T) {
        (self.first.slot as usize, self.first.due)
    }

    /// Arms `slot`, whatever it was armed for.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, due: T) {
        self.slots[slot] = due;
        let neighbour = self.slots[slot ^ 1];
        let neighbour_wins = neighbour < due || neighbour == due && slot & 1 == 1;
        #[expect(clippy::cast_possible_truncation, reason = "slots are flows or media, far fewer than 2^32")]
        let own = slot as u32;
        let winner = if neighbour_wins { Winner { due: neighbour, slot: own ^ 1 } } else { Winner { due, slot: own } };
        let number = (self.slots.len() + slot) / 2;
        if number == 1 {
            self.first = winner;
        } else {
            self.play_on(number, winner);
        }
    }

    /// Node `number` has a new winner: updates the nodes above it.
    #[inline(never)]
    fn play_on(&mut self, mut number: usize, mut winner: Winner<T>) {
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

    /// Arms `slot` unless it is due earlier already. One that fires too early finds out and re-arms.
    #[inline(always)]
    pub fn advance(&mut self, slot: usize, due: T) {
        if due < self.slots[slot] {
            self.set(slot, due);
        }
    }
}

/// The agenda of flows, each of which has an application, a sender and a receiver.
#[derive(Debug)]
pub(crate) struct FlowAgenda {
    /// When each of these is due.
    dues: Vec<[Due; 3]>,
    /// Which flow is due first.
    flows: Agenda<Due>,
}

impl FlowAgenda {
    pub fn new(flows: usize) -> FlowAgenda {
        FlowAgenda { dues: vec![[Due(u64::MAX); 3]; flows], flows: Agenda::new(flows, Due(u64::MAX)) }
    }

    /// The flow that is due first, when, and whose turn it is.
    #[inline]
    pub fn next(&self) -> (usize, Due) {
        self.flows.next()
    }

    /// Arms a `turn` of `flow` for `time`, whatever it was armed for.
    #[inline(always)]
    pub fn set(&mut self, flow: usize, turn: Turn, time: Time) {
        self.arm(flow, turn, Due::new(time, turn));
    }

    /// The same, unless it is due earlier already. What fires too early finds out and is armed again.
    #[inline(always)]
    pub fn advance(&mut self, flow: usize, turn: Turn, time: Time) {
        let due = Due::new(time, turn);
        if due < self.dues[flow][turn as usize] {
            self.bring_forward(flow, turn, due);
        }
    }

    /// Kept apart, because mostly there is nothing to bring forward.
    #[inline(never)]
    fn bring_forward(&mut self, flow: usize, turn: Turn, due: Due) {
        self.arm(flow, turn, due);
    }

    #[inline(always)]
    fn arm(&mut self, flow: usize, turn: Turn, due: Due) {
        let dues = &mut self.dues[flow];
        dues[turn as usize] = due;
        let [application, sender, receiver] = *dues;
        let first = application.min(sender).min(receiver);
        if first != self.flows.slots[flow] {
            self.flows.set(flow, first);
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
        let mut agenda = Agenda::new(5, Time::NEVER);
        for slot in [4, 2, 3] {
            agenda.set(slot, at(7));
        }
        assert_eq!(agenda.next(), (2, at(7)));
        agenda.set(2, Time::NEVER);
        assert_eq!(agenda.next(), (3, at(7)));
    }

    #[test]
    fn what_is_never_due_comes_after_everything_that_is() {
        let last = Due::new(Time::from_nanos(Due::LATEST - 1), Turn::Receiver);
        assert!(Due::new(Time::NEVER, Turn::Application) > last);
        assert_eq!((last.time().as_nanos(), last.turn()), (Due::LATEST - 1, Turn::Receiver));
    }

    proptest! {
        #[test]
        fn the_next_slot_is_always_the_earliest(
            flows in 1usize..300,
            changes in proptest::collection::vec((0usize..300, 0u64..3, 0u64..50, any::<bool>()), 1..300),
        ) {
            let mut agenda = FlowAgenda::new(flows);
            let mut armed = std::collections::BTreeMap::new();
            for (flow, turn, time, only_earlier) in changes {
                let flow = flow % flows;
                let turn = Due(turn).turn();
                let at = Time::from_nanos(time);
                let before = armed.entry((turn as usize, flow)).or_insert(u64::MAX);
                if only_earlier {
                    agenda.advance(flow, turn, at);
                    *before = time.min(*before);
                } else {
                    agenda.set(flow, turn, at);
                    *before = time;
                }
                let (time, turn, flow) = armed.iter().map(|(&(turn, flow), &time)| (time, turn, flow)).min().unwrap();
                let (next, due) = agenda.next();
                prop_assert_eq!((due.time().as_nanos(), due.turn() as usize, next), (time, turn, flow));
            }
        }
    }
}
