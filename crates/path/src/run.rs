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
        let joins = self.last_mut().is_some_and(|run| {
            at < Time::NEVER && run.packet.is_followed_by(&packet, run.instants.count()) && run.instants.append(at)
        });
        if !joins {
            self.push_back(Run::one(at, packet));
        }
    }

    /// Packets of a run, of which this is the first, pass later than all before: they become part of the last run if
    /// that is their own and goes on evenly.
    #[inline(always)]
    pub(crate) fn push_run(&mut self, instants: Train, packet: P) {
        let joins = self.last_mut().is_some_and(|run| {
            run.packet.is_followed_by(&packet, run.instants.count()) && run.instants.append_run(&instants)
        });
        if !joins {
            self.push_back(Run { instants, packet });
        }
    }
}
