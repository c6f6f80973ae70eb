//! What a queue discipline is: its parameters, and the gate or the queue that it makes.

use super::held::{Buffer, Passing, Waiting};
use crate::catalog::{Described, LinkContext, Recipe};
use crate::dscp::Dscp;
use crate::ledger::DropCause;
use crate::packet::Ecn;
use crate::stats::Backlog;
use dumbbell_parameters::MadeOf;
use dumbbell_units::{Duration, Rate, Rng, Time};
use dyn_clone::DynClone;
use std::fmt;

/// Bytes of a packet where packets are turned into bytes.
pub(crate) const FULL_PACKET: u32 = 1_500;

/// How long so many bytes take at a rate.
pub(super) fn time_of(bytes: u64, rate: Rate) -> Duration {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate.as_bits_per_sec().max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The parameters of a queue discipline.
pub trait Discipline: Described<LinkContext> {
    /// A new queue with these parameters, which are complete; `rng` is its only source of randomness.
    fn queue(&self, rng: Rng) -> Queue;
}

/// What a discipline makes for a link.
pub enum Queue {
    /// First in, first out; an arriving packet that does not fit is dropped.
    DropTail,
    /// First in, first out, behind a gate that decides about arriving packets.
    Gated(Box<dyn Gate>),
    /// A queue that keeps its packets.
    Held(Box<dyn Held>),
}

impl Queue {
    /// A gate in front of a drop-tail queue.
    pub fn gated(gate: impl Gate + 'static) -> Queue {
        Queue::Gated(Box::new(gate))
    }

    /// A queue that keeps its packets.
    pub fn held(queue: impl Held + 'static) -> Queue {
        Queue::Held(Box::new(queue))
    }
}

/// How links build their queues.
pub type QueueRecipe = Recipe<Queue>;

impl<D: Discipline> MadeOf<D> for Queue {
    fn made_of(parameters: &D, rng: Rng) -> Queue {
        parameters.queue(rng)
    }
}

/// Decides about packets on their arrival; those that pass wait in a drop-tail queue.
///
/// It is asked about each packet, and each [`Arrival`] says what has happened since the one before: what no longer
/// counts in its backlog has left, first what came first, and a link that is idle says since when.
pub trait Gate: DynClone + fmt::Debug + Send {
    /// What becomes of an arriving packet, if it fits into the buffer.
    fn judge(&mut self, now: Time, packet: &Arrival) -> Verdict;

    /// The packet about which it was asked last did not fit into the buffer, although it might have gone on.
    fn overflowed(&mut self, _now: Time, _packet: &Arrival) {}

    /// The rate of the link is another one from now on; not called for an outage.
    fn set_rate(&mut self, _rate: Rate) {}

    /// Values that tell the state of the algorithm, by name.
    fn observe(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

dyn_clone::clone_trait_object!(Gate);

/// A packet that comes to a gate.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its IP length in bytes.
    pub size: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// What waits without it.
    pub backlog: Backlog,
    /// Since when nothing has waited nor been in transmission; `None` when something is.
    pub idle_since: Option<Time>,
}

/// What a gate, or a discipline that keeps its packets, does with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may go on.
    Pass,
    /// It may go on, marked "congestion experienced". Only for ECN-capable packets.
    Mark,
    /// It is dropped.
    Drop,
}

/// A queue that keeps its packets and decides which of them the transmitter gets.
///
/// It holds [`Waiting`] packets in one [`Line`] or several, in whatever order it likes. The link calls
/// [`push`](Self::push) with every arrival and [`take`](Self::take) when the transmitter is free and
/// [`next_decision`](Self::next_decision) has come. Everything else that happens to a packet goes through the
/// [`Buffer`], which all queues share: marks, drops, what waits and whether something fits.
pub trait Held: DynClone + fmt::Debug + Send {
    /// A packet arrives; all decisions before `now` have been made.
    ///
    /// # Errors
    /// Why it is dropped. Packets that wait may be dropped for it, with [`Buffer::drop`].
    fn push(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause>;

    /// [`push`](Self::push) for packets of one run that arrive together and have to wait: takes those that fit, the first
    /// ones, and returns how many these are. `None` where each packet has to be looked at.
    fn push_run(&mut self, _run: Waiting, _buffer: &mut Buffer) -> Option<u32> {
        None
    }

    /// From when on [`take`](Self::take) has something to do, whatever the transmitter does: for a queue that never
    /// makes a packet wait on purpose the arrival of the packet that is next, for a shaper the time at which that may
    /// leave. [`Time::NEVER`] when nothing waits.
    fn next_decision(&self) -> Time;

    /// The packet that the transmitter gets now; `None` when there is none for it after all.
    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting>;

    /// Whether several packets of one run are next, which [`take_run`](Self::take_run) may give out from `now` on.
    fn has_run(&self, _now: Time) -> bool {
        false
    }

    /// [`take`](Self::take) for packets of one run that the transmitter gets one behind the other, the last by `until`,
    /// if nothing is decided about any of them; [`Line::pop_run`](super::Line::pop_run) gives them out. `None` where
    /// each packet has to be looked at.
    fn take_run(&mut self, _until: Time, _buffer: &mut Buffer) -> Option<Passing> {
        None
    }

    /// Whether [`push`](Self::push) looks at what an arriving packet [acknowledges](Buffer::take_ack).
    fn reads_acks(&self) -> bool {
        false
    }

    /// From now on the packets of a flow have this code point, or none of their own.
    fn assign(&mut self, _flow: u32, _dscp: Option<Dscp>) {}

    /// Values that tell the state of the algorithm, by name.
    fn observe(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

dyn_clone::clone_trait_object!(Held);
