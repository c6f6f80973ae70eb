//! What is kept in place of a queue that is elsewhere.

use crate::ledger::Offer;
use crate::packet::Packet;
use crate::stats::Occupancy;
use crate::train::Train;
use dumbbell_units::{Time, claimed};

/// Packets that were offered together to a link whose queue is elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Offered<P> {
    /// When.
    pub at: Time,
    /// What is offered at the same instant for a cause with a lower number comes before it.
    pub cause: u64,
    /// Whether it is a run, or a packet by itself.
    pub is_run: bool,
    /// How many there are.
    pub count: u32,
    /// The first of them.
    pub packet: P,
    /// When those leave that the queue has taken. The others were dropped.
    pub departures: Train,
}

/// What takes the place of the queue.
#[derive(Clone, Debug, Default)]
pub struct Remote<P> {
    pub(in crate::link) occupancy: Occupancy,
    cause: u64,
    offered: Vec<Offered<P>>,
}

impl<P: Packet> Remote<P> {
    pub(in crate::link) fn offer(&mut self, at: Time, packet: P) -> Offer {
        self.keep(at, packet, 1, false);
        Offer::Accepted { departs: None }
    }

    pub(in crate::link) fn keep(&mut self, at: Time, packet: P, count: u32, is_run: bool) {
        let (cause, departures) = (self.cause, Train::default());
        self.offered.push(Offered { at, cause, is_run, count, packet, departures });
    }

    /// What is offered from now on has this [cause](Offered::cause).
    #[inline]
    pub fn set_cause(&mut self, cause: u64) {
        self.cause = cause;
    }

    /// Exchanges what has been offered for the room of what was, `empty`.
    pub fn swap_offered(&mut self, empty: &mut Vec<Offered<P>>) {
        std::mem::swap(&mut self.offered, empty);
    }

    pub(in crate::link) fn memory(&self) -> u64 {
        claimed::<Offered<P>>(self.offered.len(), self.offered.capacity())
    }
}
