//! What became of packets: counts by cause.

use crate::packet::Packet;
use crate::stats::Tally;
use crate::train::Train;
use dumbbell_units::Time;
use std::collections::VecDeque;

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

/// What happened to packets so far. Those that arrived and were neither lost nor dropped are
/// in flight or were given back at the far end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Offered.
    pub arrivals: Tally,
    /// Lost before the queue.
    pub lost_before: Tally,
    /// Dropped by the policer.
    pub policed: Tally,
    /// Dropped because they did not fit, or to make room.
    pub dropped_full: Tally,
    /// Dropped by the discipline although they fitted.
    pub dropped_aqm: Tally,
    /// ACKs dropped because later ones say what they say.
    pub filtered_acks: Tally,
    /// Left the transmitter, including those lost afterwards.
    pub departures: Tally,
    /// Lost after the transmitter.
    pub lost_after: Tally,
    /// Packets marked "congestion experienced".
    pub marked: u64,
    /// Packets whose ECN bits a [fault](crate::EcnFault) changed.
    pub ecn_changed: u64,
}

impl LinkCounters {
    /// Packets and bytes dropped by the queue and the policer in front of it, whatever the reason.
    pub fn queue_drops(&self) -> Tally {
        let parts = [self.policed, self.dropped_full, self.dropped_aqm, self.filtered_acks];
        Tally { packets: parts.iter().map(|t| t.packets).sum(), bytes: parts.iter().map(|t| t.bytes).sum() }
    }
}

/// Running counts, and the packets dropped after they had been accepted.
#[derive(Clone, Debug)]
pub(crate) struct Ledger<P> {
    pub(crate) arrivals: Tally,
    pub(crate) lost_before: Tally,
    pub(crate) policed: Tally,
    pub(crate) dropped_full: Tally,
    pub(crate) dropped_aqm: Tally,
    pub(crate) filtered_acks: Tally,
    pub(crate) lost_after: Tally,
    pub(crate) marked: u64,
    pub(crate) ecn_changed: u64,
    pub(crate) later_drops: VecDeque<(P, DropCause)>,
}

impl<P> Default for Ledger<P> {
    fn default() -> Self {
        Ledger {
            arrivals: Tally::default(),
            lost_before: Tally::default(),
            policed: Tally::default(),
            dropped_full: Tally::default(),
            dropped_aqm: Tally::default(),
            filtered_acks: Tally::default(),
            lost_after: Tally::default(),
            marked: 0,
            ecn_changed: 0,
            later_drops: VecDeque::new(),
        }
    }
}

impl<P: Packet> Ledger<P> {
    /// What has been counted, with the departures, which are counted elsewhere.
    pub(crate) fn counters(&self, departures: Tally) -> LinkCounters {
        LinkCounters {
            arrivals: self.arrivals,
            lost_before: self.lost_before,
            policed: self.policed,
            dropped_full: self.dropped_full,
            dropped_aqm: self.dropped_aqm,
            filtered_acks: self.filtered_acks,
            departures,
            lost_after: self.lost_after,
            marked: self.marked,
            ecn_changed: self.ecn_changed,
        }
    }

    fn count_drop(&mut self, bytes: u32, cause: DropCause) {
        match cause {
            DropCause::LossBefore => self.lost_before.add(bytes),
            DropCause::Policed => self.policed.add(bytes),
            DropCause::QueueFull => self.dropped_full.add(bytes),
            DropCause::Aqm => self.dropped_aqm.add(bytes),
            DropCause::AckFilter => self.filtered_acks.add(bytes),
            DropCause::LossAfter => self.lost_after.add(bytes),
        }
    }

    /// Drops a packet whose sender was told that it had been accepted.
    pub(crate) fn drop_later(&mut self, packet: P, cause: DropCause) {
        self.count_drop(packet.size(), cause);
        self.later_drops.push_back((packet, cause));
    }

    /// Drops a packet that is offered just now.
    #[inline]
    pub(crate) fn drop_now(&mut self, packet: P, cause: DropCause) -> Offer {
        self.count_drop(packet.size(), cause);
        Offer::Dropped(cause)
    }
}
