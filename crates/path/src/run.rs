//! Runs of packets: packets of a burst, as one, with the instants at which they pass a point.

use crate::packet::Packet;
use crate::ring::Ring;
use crate::train::Train;
use dumbbell_units::Time;

/// Packets of a run, the first of which is `packet`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run<P> {
    pub(crate) instants: Train,
    pub(crate) packet: P,
}

impl<P: Packet> Run<P> {
    /// A packet that passes at `at`.
    #[inline(always)]
    pub(crate) fn one(at: Time, packet: P) -> Run<P> {
        Run { instants: Train::one(at, at), packet }
    }

    /// The next packet passes; there must be one.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.instants.advance();
        if self.instants.count() > 0 {
            self.packet.follow(1);
        }
    }
}

impl<P: Packet> Ring<Run<P>> {
    /// A packet passes at `at`, later than all before: it becomes part of the last run if that is its own and goes on
    /// evenly.
    #[inline(always)]
    pub(crate) fn push_packet(&mut self, at: Time, packet: P) {
        self.join_or_push(Run::one(at, packet), |last| at < Time::NEVER && last.append(at));
    }

    /// Packets of a run, of which this is the first, pass later than all before: they become part of the last run if
    /// that is their own and goes on evenly.
    #[inline(always)]
    pub(crate) fn push_run(&mut self, instants: Train, packet: P) {
        self.join_or_push(Run { instants, packet }, |last| last.append_run(&instants));
    }

    /// A run is pushed, unless its packets follow those of the last and `join` makes them part of it.
    #[inline(always)]
    fn join_or_push(&mut self, run: Run<P>, join: impl FnOnce(&mut Train) -> bool) {
        let joins = self.last_mut().is_some_and(|last| {
            last.packet.is_followed_by(&run.packet, last.instants.count()) && join(&mut last.instants)
        });
        if !joins {
            self.push_back(run);
        }
    }
}
