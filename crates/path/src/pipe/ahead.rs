//! Packets that enter a plain pipe ahead of their time.

use super::Pipe;
use crate::packet::Packet;
use crate::ring::Ring;
use crate::run::Run;
use dumbbell_units::{Duration, Time};

/// The runs that come out of a link next.
#[derive(Clone, Copy, Debug)]
pub struct Coming<'p, P> {
    runs: &'p Ring<Run<P>>,
}

impl<'p, P: Packet> Coming<'p, P> {
    /// Where the first run lies: the run behind it lies elsewhere.
    #[inline(always)]
    pub fn place(self) -> usize {
        self.runs.first_place()
    }

    /// The first packet of the run that comes out behind so many others; `None` where that is not known.
    #[inline(always)]
    pub fn behind(self, number: usize) -> Option<&'p P> {
        self.runs.get(number).map(|run| &run.packet)
    }
}

impl<P: Packet> Pipe<P> {
    /// A packet enters a plain pipe, in which there may be some that entered [ahead of their
    /// time](Self::expect_disorder_until).
    #[inline(always)]
    pub(crate) fn push_in_time(&mut self, departs: Time, packet: P) {
        self.write_in_time(departs, |place| *place = packet);
    }

    /// [`push_in_time`](Self::push_in_time) for a packet that `write` writes to where it stays.
    #[inline(always)]
    pub(crate) fn write_in_time(&mut self, departs: Time, write: impl FnOnce(&mut P)) {
        let arrives = departs + self.base;
        self.write_in_order(arrives, write);
        if arrives <= self.ahead_until {
            self.put_last_in_its_place();
        }
    }

    /// The packet that was pushed last enters at `departs`, which is ahead of its time: others that come after it may
    /// enter before. Only single packets enter such a pipe.
    #[inline(always)]
    pub(crate) fn expect_disorder_until(&mut self, departs: Time) {
        self.ahead_until = self.ahead_until.max(departs + self.base);
    }

    /// The packet that was pushed last takes its place among those that enter ahead of their time.
    #[inline(never)]
    fn put_last_in_its_place(&mut self) {
        self.runs.bring_last_forward(|last, other| {
            let (comes, before) = (last.instants.next(), other.instants.next());
            comes < before || comes == before && last.packet.precedes(&other.packet)
        });
    }

    /// What comes out next.
    #[inline(always)]
    pub(crate) fn coming(&self) -> Coming<'_, P> {
        Coming { runs: &self.runs }
    }

    /// The time between the packets of the run that comes out next, if it is always the same.
    #[inline(always)]
    pub(crate) fn even_interval(&mut self) -> Option<Duration> {
        self.runs.front_mut().and_then(|run| run.instants.even_interval())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::Delay;
    use crate::packet::Ecn;
    use dumbbell_units::Rng;

    /// An ACK that answers an arrival, or one that left in the turn of a receiver.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Answer {
        turn: Option<u32>,
        number: u32,
    }

    impl Packet for Answer {
        fn size(&self) -> u32 {
            52
        }
        fn flow(&self) -> u32 {
            self.turn.unwrap_or(0)
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ecn(&mut self, _: Ecn) {}
        fn follow(&mut self, _count: u32) {}
        fn precedes(&self, other: &Answer) -> bool {
            self.turn < other.turn
        }
    }

    #[test]
    fn packets_that_enter_ahead_come_out_in_the_order_of_their_times_and_causes() {
        let at = |nanos: u64| Time::from_nanos(nanos);
        let mut pipe = Pipe::new(&Delay { base: Duration::from_nanos(1_000), ..Delay::default() }, &[], Rng::new(1));
        // When they enter, whether ahead, and the flow in whose turn.
        let entries = [
            (5, true, Some(7)),
            (9, true, None),
            (3, false, None),
            (5, false, None),
            (5, true, Some(2)),
            (12, false, None),
        ];
        for (number, &(enters, is_ahead, turn)) in (0..).zip(&entries) {
            pipe.push_in_time(at(enters), Answer { turn, number });
            if is_ahead {
                pipe.expect_disorder_until(at(enters));
            }
        }
        let mut out = Vec::new();
        while pipe.next_arrival() < Time::NEVER {
            let (mut packet, arrives) = (Answer::default(), pipe.next_arrival().as_nanos());
            pipe.take_plain(&mut packet);
            out.push((arrives, packet.number));
        }
        assert_eq!(out, [(1_003, 2), (1_005, 3), (1_005, 4), (1_005, 0), (1_009, 1), (1_012, 5)]);
    }
}
