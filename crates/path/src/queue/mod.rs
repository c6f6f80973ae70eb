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
pub(crate) mod discipline;
mod drophead;
mod droptail;
mod dualpi2;
mod fifo;
mod flows;
mod fq;
mod fq_codel;
mod gated;
mod held;
mod limits;
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

use crate::catalog::{Catalog, Kind, Recipe};
use dumbbell_parameters::Usual;
use std::sync::LazyLock;

pub use codel::Codel;
pub use discipline::{Arrival, Discipline, Gate, Held, Queue, QueueRecipe, Verdict};
pub use drophead::DropHead;
pub use droptail::DropTail;
pub(crate) use fifo::{Fifo, ROUNDING};
pub(crate) use gated::Gated;
pub(crate) use held::HeldQueue;
pub use held::{Buffer, Line, Passing, Waiting};
pub(crate) use limits::Limits;
pub use red::Red;
pub use threshold::{MarkPlace, Threshold};

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

impl Usual for Queue {
    fn usual() -> QueueRecipe {
        Recipe::complete(DropTail {}, DropTail::queue)
    }
}
