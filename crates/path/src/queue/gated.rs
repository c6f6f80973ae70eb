//! A drop-tail queue behind a gate that marks or drops packets on their arrival: RED and step marking.
//!
//! As behind plain drop-tail, nothing that comes later changes a packet's fate, so its departure is known at once.

use super::{DropTail, Red, Step, Verdict};
use crate::link::{DropCause, Ledger};
use crate::packet::Packet;
use crate::stats::Backlog;
use dumbbell_units::{Duration, Time};

/// A queue and its gate.
#[derive(Clone, Debug)]
pub(crate) struct Gated {
    pub(crate) fifo: DropTail,
    gate: Gate,
}

/// Who decides about an arriving packet.
#[derive(Clone, Debug)]
pub(crate) enum Gate {
    Step(Step),
    Red(Red),
}

impl Gated {
    pub(crate) fn new(fifo: DropTail, gate: Gate) -> Gated {
        Gated { fifo, gate }
    }

    /// Takes a packet; returns its departure, or why it is dropped.
    pub(crate) fn offer<P: Packet>(
        &mut self,
        now: Time,
        packet: &mut P,
        ledger: &mut Ledger<P>,
    ) -> Result<Time, DropCause> {
        self.fifo.advance(now);
        let size = packet.size();
        let Backlog { packets, bytes } = self.fifo.occupancy.backlog();
        let verdict = match &mut self.gate {
            Gate::Step(step) => {
                let with_it = Backlog { packets: packets + 1, bytes: bytes + u64::from(size) };
                step.judge(with_it, Duration::ZERO, packet.ecn())
            }
            Gate::Red(red) => red.judge(now, bytes, self.fifo.idle_since(now), packet.ecn()),
        };
        if verdict == Verdict::Drop {
            return Err(DropCause::Aqm);
        }
        let departs = self.fifo.offer(now, size).ok_or(DropCause::QueueFull)?;
        if verdict == Verdict::Mark {
            packet.mark();
            ledger.marked += 1;
        }
        Ok(departs)
    }
}
