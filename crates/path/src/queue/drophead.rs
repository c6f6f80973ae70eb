//! Drop-head: the newest packets are the ones worth keeping.
//!
//! A sender learns of a loss at the head of the queue earlier by the time that the queue holds.

use super::discipline::{Discipline, Held, Queue};
use super::held::{Buffer, Line, Passing, Waiting};
use crate::catalog::QueueLimit;
use crate::catalog::{Described, LinkContext};
use crate::ledger::DropCause;
use dumbbell_parameters::Problem;
use dumbbell_units::{Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; the oldest packets are dropped until the arriving one fits into `buffer`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropHead {}

impl Described<LinkContext> for DropHead {
    const NAME: &'static str = "drophead";
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_fifo.c: pfifo_head_drop";

    fn resolve(self, link: &LinkContext) -> Result<DropHead, Problem> {
        if link.limit == QueueLimit::default() {
            let help = "give `buffer` a limit, or use \"droptail\"";
            return Err(Problem::whole("drophead never drops when the buffer is unlimited", help));
        }
        Ok(self)
    }

    fn in_words(&self) -> String {
        "drop-head".to_owned()
    }
}

impl Discipline for DropHead {
    fn queue(&self, _: Rng) -> Queue {
        Queue::held(State::default())
    }
}

/// State of a drop-head queue.
#[derive(Clone, Debug, Default)]
struct State {
    line: Line,
}

impl Held for State {
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        if !buffer.fits_alone(now, packet.size) {
            return Err(DropCause::QueueFull);
        }
        while !buffer.fits(now, packet.size) {
            let Some(oldest) = self.line.pop(now, buffer) else { return Err(DropCause::QueueFull) };
            buffer.drop(oldest, DropCause::Aqm);
        }
        self.line.push(packet, buffer);
        Ok(())
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        self.line.pop(now, buffer)
    }

    fn has_run(&self, _: Time) -> bool {
        self.line.first_of_run().is_some()
    }

    fn take_run(&mut self, until: Time, buffer: &mut Buffer) -> Option<Passing> {
        self.line.pop_run(until, buffer)
    }
}
