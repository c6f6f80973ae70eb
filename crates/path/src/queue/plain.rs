//! Drop-tail queues, behind a gate or not, that keep their packets.
//!
//! A link with a transmitter of its own computes the way of a packet through such a queue on its arrival. Where
//! somebody else decides when packets leave, as on a medium that stations share, they have to wait somewhere: here.

use super::discipline::{Arrival, Gate, Held, Queue, Verdict};
use super::held::{Buffer, Line, Waiting};
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
        let fits = buffer.fits(now, packet.size);
        if let Some(gate) = &mut self.gate {
            let backlog = buffer.backlog();
            let idle_since = (backlog.packets == 0).then_some(self.idle_since);
            let arrival = Arrival { size: packet.size, flow: packet.flow, ecn: packet.ecn(), backlog, idle_since };
            match gate.judge(now, &arrival) {
                Verdict::Drop => return Err(DropCause::Aqm),
                _ if !fits => gate.overflowed(now, &arrival),
                Verdict::Mark => _ = buffer.mark(&mut packet),
                Verdict::Pass => {}
            }
        }
        if !fits {
            return Err(DropCause::QueueFull);
        }
        self.line.push(packet, buffer);
        Ok(())
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

    fn observe(&self) -> Vec<(&'static str, f64)> {
        self.gate.as_ref().map_or_else(Vec::new, |gate| gate.observe())
    }
}

#[cfg(test)]
mod tests {
    use super::super::held::testing::{limited, waiting};
    use super::*;
    use crate::catalog::QueueLimit;
    use crate::packet::Ecn;
    use std::sync::{Arc, Mutex};

    type Seen = Arc<Mutex<Vec<(Time, u64, Option<Time>)>>>;

    /// Says the same to all packets, and keeps when they came, how many waited then, and since when nothing had.
    #[derive(Clone, Debug)]
    struct Says(Verdict, Seen);

    impl Gate for Says {
        fn judge(&mut self, now: Time, packet: &Arrival) -> Verdict {
            self.1.lock().unwrap().push((now, packet.backlog.packets, packet.idle_since));
            self.0
        }
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Three packets come to a gate, in front of room for two: what becomes of each, and how many were marked.
    fn offered(verdict: Verdict, ecn: Ecn) -> (Vec<Result<(), DropCause>>, u64) {
        let mut buffer = limited(QueueLimit { packets: Some(2), ..QueueLimit::default() });
        let mut queue = Queue::gated(Says(verdict, Seen::default())).into_held();
        let pushed = (0..3).map(|_| queue.push(at(1), waiting(at(1), ecn), &mut buffer)).collect();
        (pushed, buffer.settled().1)
    }

    #[test]
    fn what_the_gate_says_is_done_and_a_packet_without_room_is_neither_marked_nor_kept() {
        let full = vec![Ok(()), Ok(()), Err(DropCause::QueueFull)];
        assert_eq!(offered(Verdict::Pass, Ecn::Ect0), (full.clone(), 0));
        assert_eq!(offered(Verdict::Mark, Ecn::Ect0), (full, 2));
        assert_eq!(offered(Verdict::Drop, Ecn::Ect0), (vec![Err(DropCause::Aqm); 3], 0));
    }

    #[test]
    fn a_gate_sees_what_waits_without_the_packet_and_since_when_nothing_has() {
        let seen = Seen::default();
        let (mut buffer, mut queue) =
            (limited(QueueLimit::default()), Queue::gated(Says(Verdict::Pass, seen.clone())).into_held());
        assert_eq!(queue.next_decision(), Time::NEVER);
        for ms in [1, 2] {
            queue.push(at(ms), waiting(at(ms), Ecn::NotEct), &mut buffer).unwrap();
        }
        assert_eq!(queue.next_decision(), at(1), "from its arrival on the first may leave");
        assert_eq!(queue.take(at(5), &mut buffer).unwrap().arrived, at(1));
        queue.push(at(6), waiting(at(6), Ecn::NotEct), &mut buffer).unwrap();
        for ms in [7, 8] {
            assert!(queue.take(at(ms), &mut buffer).is_some());
        }
        queue.push(at(9), waiting(at(9), Ecn::NotEct), &mut buffer).unwrap();
        let expected = [(at(1), 0, Some(Time::ZERO)), (at(2), 1, None), (at(6), 1, None), (at(9), 0, Some(at(8)))];
        assert_eq!(*seen.lock().unwrap(), expected);
    }

    #[test]
    fn drop_tail_has_no_gate_and_a_queue_that_keeps_its_packets_stays_what_it_is() {
        let room = || limited(QueueLimit { packets: Some(2), ..QueueLimit::default() });
        let (mut buffer, mut queue) = (room(), Queue::DropTail.into_held());
        let pushed = [(); 3].map(|()| queue.push(at(1), waiting(at(1), Ecn::Ect0), &mut buffer));
        assert_eq!(pushed, [Ok(()), Ok(()), Err(DropCause::QueueFull)]);
        let (mut buffer, mut queue) = (room(), Queue::held(Plain::default()).into_held());
        queue.push(at(1), waiting(at(1), Ecn::Ect0), &mut buffer).unwrap();
        assert_eq!(queue.take(at(2), &mut buffer).unwrap().arrived, at(1));
        let refuses = Plain { gate: Some(Box::new(Says(Verdict::Drop, Seen::default()))), ..Plain::default() };
        let mut queue = Queue::held(refuses).into_held();
        assert_eq!(queue.push(at(3), waiting(at(3), Ecn::Ect0), &mut buffer), Err(DropCause::Aqm));
    }
}
