//! A drop-tail queue behind a gate.
//!
//! As in plain drop-tail, an accepted packet is never dropped later, so its departure is known at once.

use super::discipline::{Arrival, Gate, Verdict};
use super::fifo::Fifo;
use crate::ledger::{DropCause, Ledger};
use crate::packet::{Ecn, Packet};
use dumbbell_units::{Rate, Time};

/// A queue and its gate.
#[derive(Clone, Debug)]
pub(crate) struct Gated {
    pub(crate) fifo: Fifo,
    gate: Box<dyn Gate>,
}

impl Gated {
    pub(crate) fn new(fifo: Fifo, gate: Box<dyn Gate>) -> Gated {
        Gated { fifo, gate }
    }

    /// The rate is `rate` from `now` on, as in [`Fifo::set_rate`].
    pub(crate) fn set_rate(&mut self, now: Time, rate: u64) -> Vec<Time> {
        if rate > 0 {
            self.gate.set_rate(Rate::from_bits_per_sec(rate));
        }
        self.fifo.set_rate(now, rate)
    }

    /// The values by which the gate tells its state.
    pub(crate) fn observe(&self) -> Vec<(&'static str, f64)> {
        self.gate.observe()
    }

    /// Takes a packet; returns its departure, or why it is dropped.
    pub(crate) fn offer<P: Packet>(
        &mut self,
        now: Time,
        packet: &mut P,
        ledger: &mut Ledger<P>,
    ) -> Result<Time, DropCause> {
        self.fifo.advance(now);
        // A gate looks at every packet at what waits, so it always matters who comes first.
        self.fifo.makes_room(now);
        let arrival = Arrival {
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn(),
            backlog: self.fifo.occupancy.backlog(),
            idle_since: self.fifo.idle_since(now),
        };
        let verdict = self.gate.judge(now, &arrival);
        if verdict == Verdict::Drop {
            return Err(DropCause::Aqm);
        }
        let Some(departs) = self.fifo.offer(now, arrival.size) else {
            self.gate.overflowed(now, &arrival);
            return Err(DropCause::QueueFull);
        };
        if verdict == Verdict::Mark {
            debug_assert!(arrival.ecn != Ecn::NotEct);
            packet.mark();
            ledger.counted.marked += 1;
        }
        Ok(departs)
    }
}

#[cfg(test)]
mod tests {
    use crate::Level;
    use crate::catalog::QueueLimit;
    use crate::packet::Ecn;
    use crate::queue::Threshold;
    use crate::testing::{Bottleneck, TestPacket};
    use dumbbell_units::Time;

    #[test]
    fn a_gate_does_not_see_the_packet_that_begins_when_another_comes() {
        let step = Threshold { threshold: Level::Packets(1), mark: None, drop_not_ect: false };
        let mut bottleneck = Bottleneck::at_rate(11_000_000, step, QueueLimit::default());
        // Two pairs; the second one comes a nanosecond before a packet begins, because instants are rounded up.
        for ns in [41_090_910, 42_181_819] {
            for _ in 0..2 {
                bottleneck.offer(Time::from_nanos(ns), TestPacket::of(0, Ecn::Ect0));
            }
        }
        bottleneck.drain();
        let marked: Vec<u64> = bottleneck
            .arrived
            .iter()
            .filter(|(_, packet)| packet.ecn == Ecn::Ce)
            .map(|(_, packet)| packet.number)
            .collect();
        assert_eq!(marked, [3], "the last one waits behind another");
    }
}
