//! A queue with a deadline: what has waited for too long is not worth sending any more.

use super::{Buffer, Discipline, Held, Line, Queue, Waiting};
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_units::{Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; a packet that has waited longer than a deadline is dropped when its turn comes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deadline {
    /// The longest time that a packet may wait.
    #[schemars(extend("x-above" = "0s", "x-at-most" = "1h", "x-source" = "the tutorial"))]
    pub max_wait: Duration,
}

impl Default for Deadline {
    fn default() -> Deadline {
        Deadline { max_wait: Duration::from_millis(30) }
    }
}

impl Described<LinkContext> for Deadline {
    const NAME: &'static str = "deadline";
    const SOURCE: &'static str = "docs/tutorials/queue.md";

    fn in_words(&self) -> String {
        format!("deadline ({})", self.max_wait.in_words())
    }
}

impl Discipline for Deadline {
    fn queue(&self, _: Rng) -> Queue {
        Queue::held(State { max_wait: self.max_wait, line: Line::default() })
    }
}

/// The queue while it runs.
#[derive(Clone, Debug)]
struct State {
    max_wait: Duration,
    line: Line,
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        self.line.push_if_it_fits(now, packet, buffer)
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let mut packet = self.line.pop(now, buffer)?;
        while packet.waited(now) > self.max_wait {
            buffer.drop(packet, DropCause::Aqm);
            packet = self.line.pop(now, buffer)?;
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::QueueLimit;
    use crate::packet::Ecn;
    use crate::testing::Bottleneck;

    #[test]
    fn what_has_waited_too_long_is_dropped_when_its_turn_comes() {
        // A full packet takes a millisecond: of a hundred that come at once packet i would wait for i milliseconds.
        let mut link = Bottleneck::new(Deadline::default(), QueueLimit::default());
        link.offer_burst(Time::ZERO, [0], 100, Ecn::NotEct);
        link.drain();
        assert_eq!(link.arrived.len(), 31);
        assert_eq!(link.counters().drops[DropCause::Aqm].packets, 69);
    }
}
