//! Queues that keep their packets and decide when the transmitter can take one: drop-head, CoDel and step marking
//! at departure.

use super::{Codel, InService, Limits, Step};
use crate::link::{DropCause, Ledger};
use crate::packet::Packet;
use crate::stats::{Backlog, Occupancy};
use crate::transmitter::Transmitter;
use dumbbell_units::Time;
use std::collections::VecDeque;

/// A queue of packets with a dequeue-time discipline, and its transmitter.
#[derive(Clone, Debug)]
pub(crate) struct HeldQueue<P> {
    pub(crate) transmitter: Transmitter,
    pub(crate) store: Store<P>,
    pub(crate) in_service: InService,
    limits: Limits,
    discipline: Discipline,
    /// When the transmitter can take the head of the queue.
    decision: Time,
}

/// Which packets a queue gives up.
#[derive(Clone, Debug)]
pub(crate) enum Discipline {
    /// An arriving packet that does not fit pushes out the oldest ones.
    DropHead,
    /// CoDel decides when a packet is taken; an arriving packet that does not fit is dropped.
    Codel(Codel),
    /// Packets above a threshold are marked when they are taken; an arriving packet that does not fit is dropped.
    Step(Step),
}

impl<P: Packet> HeldQueue<P> {
    pub(crate) fn new(transmitter: Transmitter, limits: Limits, discipline: Discipline) -> HeldQueue<P> {
        HeldQueue {
            transmitter,
            store: Store::new(),
            in_service: InService::default(),
            limits,
            discipline,
            decision: Time::NEVER,
        }
    }

    /// When [`decide`](Self::decide) is due.
    #[inline]
    pub(crate) fn next_decision(&self) -> Time {
        self.decision
    }

    /// Takes a packet; `false` when it is dropped. All decisions up to `now` must have been made.
    pub(crate) fn offer(&mut self, now: Time, packet: P, ledger: &mut Ledger<P>) -> bool {
        let at_once = self.store.packets.is_empty() && self.transmitter.seek(now) <= now;
        if !at_once && !self.make_room(now, packet.size(), ledger) {
            return false;
        }
        self.store.push(now, packet);
        self.schedule();
        true
    }

    fn make_room(&mut self, now: Time, size: u32, ledger: &mut Ledger<P>) -> bool {
        let drops_head = matches!(self.discipline, Discipline::DropHead);
        if drops_head && !self.fits(now, size, Backlog::default()) {
            return false;
        }
        while !self.fits(now, size, self.store.occupancy.backlog()) {
            if !drops_head {
                return false;
            }
            let Some((_, oldest)) = self.store.pop(now) else { return false };
            ledger.drop_later(oldest, DropCause::Aqm);
        }
        true
    }

    fn fits(&mut self, now: Time, size: u32, backlog: Backlog) -> bool {
        self.limits.fit(backlog, size)
            && self.limits.time.is_none_or(|limit| self.transmitter.waits_at_most(limit, now, backlog))
    }

    /// Lets the transmitter take what the discipline gives it at [`next_decision`](Self::next_decision); returns the
    /// packet and its departure.
    pub(crate) fn decide(&mut self, ledger: &mut Ledger<P>) -> Option<(Time, P)> {
        let now = self.decision;
        let taken = match &mut self.discipline {
            Discipline::DropHead => self.store.pop(now),
            Discipline::Codel(codel) => codel.dequeue(now, &mut self.store, ledger),
            Discipline::Step(step) => step.dequeue(now, &mut self.store, ledger),
        };
        let sent = taken.map(|(arrived, packet)| {
            // From its arrival rather than from `now`, which is rounded: the transmitter keeps its fraction.
            self.transmitter.seek(arrived);
            let departs = self.transmitter.send(packet.size());
            self.in_service = InService { departs, size: packet.size() };
            (departs, packet)
        });
        self.schedule();
        sent
    }

    fn schedule(&mut self) {
        self.decision = match self.store.packets.front() {
            Some(&(arrived, _)) => self.transmitter.seek(arrived),
            None => Time::NEVER,
        };
    }
}

/// Packets in order of arrival, with the time of it.
#[derive(Clone, Debug)]
pub(crate) struct Store<P> {
    packets: VecDeque<(Time, P)>,
    pub(crate) occupancy: Occupancy,
}

impl<P: Packet> Store<P> {
    pub(crate) fn new() -> Store<P> {
        Store { packets: VecDeque::new(), occupancy: Occupancy::default() }
    }

    pub(crate) fn push(&mut self, now: Time, packet: P) {
        self.occupancy.advance(now);
        self.occupancy.enter(packet.size());
        self.packets.push_back((now, packet));
    }

    /// The oldest packet and its arrival.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, P)> {
        let (arrived, packet) = self.packets.pop_front()?;
        self.occupancy.advance_with(now, |leaving| leaving.leave(now, packet.size()));
        Some((arrived, packet))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &P> {
        self.packets.iter().map(|(_, packet)| packet)
    }

    /// Bytes of memory [claimed](dumbbell_units::claimed).
    pub(crate) fn memory(&self) -> u64 {
        dumbbell_units::claimed::<(Time, P)>(self.packets.len(), self.packets.capacity())
    }
}
