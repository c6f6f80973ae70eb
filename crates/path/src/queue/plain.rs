//! Drop-tail queues, behind a gate or not, that keep their packets.
//!
//! A link with a transmitter of its own computes the way of a packet through such a queue on its arrival. Where somebody
//! else decides when packets leave, as on a medium that stations share, they have to wait somewhere: here.

use super::{Arrival, Buffer, Gate, Held, Line, Queue, Verdict, Waiting};
use crate::ledger::DropCause;
use dumbbell_units::Time;

impl Queue {
    /// A queue that keeps its packets, whatever the discipline.
    pub(crate) fn into_held(self) -> Box<dyn Held> {
        match self {
            Queue::DropTail => Box::new(Plain::default()),
            Queue::Gated(gate) => Box::new(Plain { gate: Some(gate), ..Plain::default() }),
            Queue::Held(queue) => queue,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Plain {
    line: Line,
    gate: Option<Box<dyn Gate>>,
    /// When the last packet was taken that left nothing behind.
    idle_since: Time,
}

impl Held for Plain {
    fn push(&mut self, now: Time, mut packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        if let Some(gate) = &mut self.gate {
            let backlog = buffer.backlog();
            let idle_since = (backlog.packets == 0).then_some(self.idle_since);
            let arrival = Arrival { size: packet.size, flow: packet.flow, ecn: packet.ecn(), backlog, idle_since };
            match gate.judge(now, &arrival) {
                Verdict::Pass => {}
                Verdict::Drop => return Err(DropCause::Aqm),
                Verdict::Mark if buffer.fits(now, packet.size) => {
                    buffer.mark(&mut packet);
                }
                Verdict::Mark => return Err(DropCause::QueueFull),
            }
        }
        self.line.push_if_it_fits(now, packet, buffer)
    }

    fn next_decision(&self) -> Time {
        self.line.next_decision()
    }

    fn take(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let packet = self.line.pop(now, buffer);
        if buffer.backlog().packets == 0 {
            self.idle_since = now;
        }
        packet
    }
}
