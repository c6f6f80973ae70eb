//! What became of packets: counts by cause.

use crate::packet::Packet;
use crate::stats::Tally;
use crate::train::Train;
use dumbbell_units::Time;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// Random loss before the queue.
    LossBefore,
    /// It exceeded the policer.
    Policed,
    /// It did not fit into the queue, or was dropped from it to make room for another flow's.
    QueueFull,
    /// The discipline dropped it although it fitted: on arrival (RED, step marking) or later (CoDel, drop-head).
    Aqm,
    /// Random loss after the transmitter.
    LossAfter,
    /// A TCP ACK that a later one makes redundant: the queue's ACK filter dropped it.
    AckFilter,
}

/// What became of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It was dropped at once; [`Link::pop_drop`] does not report it again.
    Dropped(DropCause),
    /// The link has it. It may still be dropped later: [`Link::pop_drop`] tells.
    Accepted {
        /// When its last bit leaves the transmitter, rounded up to nanoseconds. `None` when that is not yet known (it
        /// is held by a discipline that decides later) or will never happen.
        departs: Option<Time>,
    },
    /// The link has it, and is to be [given a copy](Link::offer_copy) of it, too: the packet is duplicated.
    Duplicated {
        /// As above, of the packet itself.
        departs: Option<Time>,
    },
}

/// What a link tells late of packets that it had accepted.
#[derive(Clone, Copy, Debug)]
pub enum Report<P> {
    /// Packets of a run, of which this is the first, leave the transmitter at these instants.
    Departed(Train, P),
    /// A packet was dropped.
    Dropped(P, DropCause),
}

/// Packets that were dropped, by cause, the last of which is the ACK filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([Tally; DropCause::AckFilter as usize + 1]);

impl Index<DropCause> for Drops {
    type Output = Tally;

    #[inline]
    fn index(&self, cause: DropCause) -> &Tally {
        &self.0[cause as usize]
    }
}

impl IndexMut<DropCause> for Drops {
    #[inline]
    fn index_mut(&mut self, cause: DropCause) -> &mut Tally {
        &mut self.0[cause as usize]
    }
}

impl Drops {
    /// Lost at random.
    #[inline]
    pub fn lost(&self) -> Tally {
        self[DropCause::LossBefore].plus(self[DropCause::LossAfter])
    }

    /// Dropped by the queue and the policer in front of it, whatever the reason.
    #[inline]
    pub fn in_queue(&self) -> Tally {
        self.all().minus(self.lost())
    }

    /// Dropped before they could leave the transmitter.
    #[inline]
    pub(crate) fn before_departure(&self) -> Tally {
        self.all().minus(self[DropCause::LossAfter])
    }

    #[inline]
    fn all(&self) -> Tally {
        self.0.into_iter().fold(Tally::default(), Tally::plus)
    }
}

/// What happened to packets so far. Those that arrived and were not dropped are in flight or were given back at the
/// far end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Offered.
    pub arrivals: Tally,
    /// Dropped.
    pub drops: Drops,
    /// Left the transmitter, including those lost afterwards.
    pub departures: Tally,
    /// Packets marked "congestion experienced".
    pub marked: u64,
    /// Packets whose ECN bits a [fault](crate::EcnFault) changed.
    pub ecn_changed: u64,
}

/// Running counts, and the packets dropped after they had been accepted.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<P> {
    /// All but the departures, which are counted elsewhere.
    pub(crate) counted: LinkCounters,
    pub(crate) later_drops: VecDeque<(P, DropCause)>,
}

impl<P> Default for Ledger<P> {
    fn default() -> Self {
        Ledger { counted: LinkCounters::default(), later_drops: VecDeque::new() }
    }
}

impl<P: Packet> Ledger<P> {
    /// What has been counted, with the departures.
    pub(crate) fn counters(&self, departures: Tally) -> LinkCounters {
        LinkCounters { departures, ..self.counted }
    }

    /// Drops a packet whose sender was told that it had been accepted.
    pub(crate) fn drop_later(&mut self, packet: P, cause: DropCause) {
        self.counted.drops[cause].add(packet.size());
        self.later_drops.push_back((packet, cause));
    }

    /// Drops a packet of so many bytes that is offered just now.
    #[inline]
    pub(crate) fn drop_now(&mut self, bytes: u32, cause: DropCause) -> Offer {
        self.counted.drops[cause].add(bytes);
        Offer::Dropped(cause)
    }
}
