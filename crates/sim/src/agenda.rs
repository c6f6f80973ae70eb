//! When flows are due: each has an application, a sender and a receiver.
//!
//! Of equal times the earlier turn comes first, and then the lower flow, so that the order of events follows from the
//! scenario alone.

use dumbbell_network::{Agenda, Moment};
use dumbbell_units::{Time, prefetch};

/// Whose turn it is of a flow, in the order in which simultaneous events are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Application,
    Sender,
    Receiver,
}

/// What makes an end of a flow send, by its place among simultaneous events: the arrival of a packet, or its own turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause(pub u8);

impl Cause {
    /// A packet has arrived.
    pub const ARRIVAL: Cause = Cause(0);

    /// It is the turn of an end.
    pub const fn of_turn(turn: Turn) -> Cause {
        Cause(turn as u8 + 1)
    }
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

impl Moment for Due {
    #[inline(always)]
    fn number(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn of_number(number: u64) -> Due {
        Due(number)
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

    /// Makes room for at least so many flows.
    pub fn grow(&mut self, flows: usize) {
        if flows > self.dues.len() {
            self.dues.resize(flows, [Due(u64::MAX); 3]);
            self.flows.grow(flows, Due(u64::MAX));
        }
    }

    /// Has the processor fetch when the turns of a flow are due. Few events change which of them is first, so that the
    /// agenda of flows is left where it is.
    #[inline(always)]
    pub fn prefetch(&self, flow: usize) {
        if let Some(dues) = self.dues.get(flow) {
            prefetch(dues);
        }
    }

    /// The flow that is due first, when, and whose turn it is.
    #[inline]
    pub fn next(&self) -> (usize, Due) {
        self.flows.next()
    }

    /// Whether a turn of any flow is due by `now`.
    #[inline(always)]
    pub fn has_due(&self, now: Time) -> bool {
        self.flows.next().1.time() <= now
    }

    /// Arms a `turn` of `flow` for `time`, whatever it was armed for.
    #[inline(always)]
    pub fn set(&mut self, flow: usize, turn: Turn, time: Time) {
        self.arm(flow, turn, Due::new(time, turn));
    }

    /// Arms a `turn` of `flow` for `time`, unless it is due earlier already. What fires too early finds out and is
    /// armed again.
    #[inline(always)]
    pub fn advance(&mut self, flow: usize, turn: Turn, time: Time) {
        if time < self.dues[flow][turn as usize].time() {
            self.bring_forward(flow, turn, time);
        }
    }

    /// Kept apart, because mostly there is nothing to bring forward.
    #[inline(never)]
    fn bring_forward(&mut self, flow: usize, turn: Turn, time: Time) {
        self.set(flow, turn, time);
    }

    #[inline(always)]
    fn arm(&mut self, flow: usize, turn: Turn, due: Due) {
        let dues = &mut self.dues[flow];
        dues[turn as usize] = due;
        let [application, sender, receiver] = *dues;
        self.flows.set_again(flow, application.min(sender).min(receiver));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
