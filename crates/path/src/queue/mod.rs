//! Queues in front of a transmitter.
//!
//! A discipline is a struct of parameters that implements [`Discipline`]; it makes one of three things:
//!
//! * plain drop-tail, which decides about a packet once, on its arrival, so that everything is computed there and only
//!   the times of what waits are kept;
//! * a [`Gate`] in front of such a queue, which marks or drops packets on their arrival (RED, BLUE, step marking);
//! * a [`Held`] queue, which keeps its packets and decides whenever the transmitter can take one (CoDel, PIE).
//!
//! [`catalog`] lists all of them. A new discipline is one file in this folder and its line there. Links take
//! disciplines of other crates just as well:
//!
//! ```
//! use dumbbell_path::queue::{Arrival, Discipline, Gate, Queue, Verdict};
//! use dumbbell_path::{Described, LinkContext, QueueRecipe};
//! use dumbbell_units::{Rng, Time};
//! use serde::{Deserialize, Serialize};
//!
//! /// Every so many packets one is dropped, whatever waits.
//! #[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
//! struct EveryNth {
//!     /// Packets from one drop to the next.
//!     #[schemars(range(min = 1), extend("x-unit" = "packets", "x-source" = "this example"))]
//!     n: u32,
//! }
//!
//! impl Described<LinkContext> for EveryNth {
//!     const NAME: &'static str = "every-nth";
//!     const SOURCE: &'static str = "this example";
//!     fn in_words(&self) -> String {
//!         format!("dropping every {}th", self.n)
//!     }
//! }
//!
//! impl Discipline for EveryNth {
//!     fn queue(&self, _: Rng) -> Queue {
//!         Queue::gated(Counter { n: self.n, seen: 0 })
//!     }
//! }
//!
//! #[derive(Clone, Debug)]
//! struct Counter {
//!     n: u32,
//!     seen: u32,
//! }
//!
//! impl Gate for Counter {
//!     fn judge(&mut self, _: Time, _: &Arrival) -> Verdict {
//!         self.seen += 1;
//!         if self.seen.is_multiple_of(self.n) { Verdict::Drop } else { Verdict::Pass }
//!     }
//! }
//!
//! // A link's configuration takes this as its `queue`.
//! let recipe = QueueRecipe::of(EveryNth { n: 100 }, &LinkContext::default()).unwrap();
//! assert_eq!(recipe.in_words(), "dropping every 100th");
//! ```

mod adaptive_red;
mod blue;
mod cake;
mod codel;
mod drophead;
mod droptail;
mod dualpi2;
mod fifo;
mod flows;
mod fq;
mod fq_codel;
mod gated;
mod held;
mod mahimahi_codel;
mod mahimahi_pie;
mod pie;
mod plain;
mod red;
mod sfb;
mod tbf;
mod threshold;
#[cfg(test)]
mod tutorial;

use crate::catalog::{Catalog, Described, Kind, LinkContext, Recipe};
use crate::config::QueueLimit;
use crate::dscp::Dscp;
use crate::ledger::DropCause;
use crate::packet::Ecn;
use crate::stats::{Backlog, Tally};
use dumbbell_parameters::{MadeOf, Usual};
use dumbbell_units::{Duration, Rate, Rng, Time};
use dyn_clone::DynClone;
use std::fmt;
use std::sync::LazyLock;

pub use codel::Codel;
pub use drophead::DropHead;
pub use droptail::DropTail;
pub(crate) use fifo::{Fifo, ROUNDING};
pub(crate) use gated::Gated;
pub(crate) use held::HeldQueue;
pub use held::{Buffer, Line, Waiting};
pub use red::Red;
pub use threshold::{MarkPlace, Threshold};

/// Bytes of a packet where packets are turned into bytes.
pub(crate) const FULL_PACKET: u32 = 1_500;

/// How long so many bytes take at a rate.
fn time_of(bytes: u64, rate: Rate) -> Duration {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate.as_bits_per_sec().max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// All disciplines, in the order of the documentation.
pub fn catalog() -> &'static Catalog<Queue> {
    static CATALOG: LazyLock<Catalog<Queue>> = LazyLock::new(|| {
        Catalog::new(
            "queue",
            vec![
                kind::<DropTail>(),
                kind::<DropHead>(),
                kind::<Codel>(),
                kind::<Threshold>(),
                kind::<Red>(),
                kind::<adaptive_red::AdaptiveRed>(),
                kind::<blue::Blue>(),
                kind::<sfb::Sfb>(),
                kind::<pie::Pie>(),
                kind::<mahimahi_codel::MahimahiCodel>(),
                kind::<mahimahi_pie::MahimahiPie>(),
                kind::<fq::Fq>(),
                kind::<fq_codel::FqCodel>(),
                kind::<cake::Cake>(),
                kind::<dualpi2::DualPi2>(),
                kind::<tbf::Tbf>(),
            ],
        )
    });
    &CATALOG
}

fn kind<D: Discipline>() -> Kind<Queue> {
    Kind::new(D::queue)
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
    /// The same behind a gate.
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

impl Usual for Queue {
    fn usual() -> QueueRecipe {
        Recipe::complete(DropTail {}, DropTail::queue)
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

    /// From when on [`take`](Self::take) has something to do, whatever the transmitter does: for a queue that never
    /// makes a packet wait on purpose the arrival of the packet that is next, for a shaper the time at which that may
    /// leave. [`Time::NEVER`] when nothing waits.
    fn next_decision(&self) -> Time;

    /// The packet that the transmitter gets now; `None` when there is none for it after all.
    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting>;

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

/// What a queue holds at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    packets: u64,
    bytes: u64,
    time: Option<Duration>,
}

impl Limits {
    pub(crate) fn new(config: &QueueLimit) -> Limits {
        Limits {
            packets: config.packets.unwrap_or(u64::MAX),
            bytes: config.bytes.unwrap_or(u64::MAX),
            time: config.time,
        }
    }

    /// Has at most so many bytes wait from now on, and no more than `config` allows.
    pub(crate) fn set_bytes(&mut self, config: &QueueLimit, bytes: u64) {
        self.bytes = config.bytes.map_or(bytes, |most| most.min(bytes));
    }

    /// Whether a packet of `size` bytes fits behind `backlog`, as far as packets and bytes are concerned.
    #[inline]
    fn fit(&self, backlog: Backlog, size: u32) -> bool {
        self.room(backlog, size, 1) > 0
    }

    /// How many of `count` packets of `size` bytes each fit behind `backlog`, as far as packets and bytes are
    /// concerned.
    #[inline]
    fn room(&self, backlog: Backlog, size: u32, count: u32) -> u32 {
        let (all, size) = (u64::from(count), u64::from(size));
        if backlog.packets + all <= self.packets && backlog.bytes + all * size <= self.bytes {
            return count;
        }
        let by_packets = self.packets.saturating_sub(backlog.packets);
        let by_bytes = self.bytes.saturating_sub(backlog.bytes).checked_div(size).unwrap_or(u64::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most `count`")]
        let room = all.min(by_packets).min(by_bytes) as u32;
        room
    }
}

/// The packet the transmitter took last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InService {
    departs: Time,
    size: u32,
}

impl InService {
    /// When its transmission ends or has ended.
    pub(crate) fn departs(&self) -> Time {
        self.departs
    }

    /// It as a count, if it is still in transmission.
    pub(crate) fn tally(&self, now: Time) -> Tally {
        let mut tally = Tally::default();
        if self.departs > now {
            tally.add(self.size);
        }
        tally
    }
}
