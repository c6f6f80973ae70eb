//! Behind the transmitter: a packet is lost there, or enters the pipe.

use super::Link;
use super::drawn::Drawn;
use crate::delay::Passage;
use crate::ledger::DropCause;
use crate::packet::Packet;
use dumbbell_units::Time;

impl<P: Packet> Link<P> {
    /// A packet leaves the transmitter at `departs`: it is lost there, or enters the pipe.
    #[inline(always)]
    pub(super) fn propagate(&mut self, now: Time, departs: Time, packet: &P) {
        let is_lost = self.loss_after.as_mut().is_some_and(|loss| loss.strikes(departs));
        let passage = if is_lost { None } else { Some(self.pipe.draw(departs, packet)) };
        self.forget_departed(now);
        self.propagate_as(Drawn { departs, passage }, now, packet);
    }

    /// [`propagate`](Self::propagate) into a plain pipe, for a packet that `write` writes to where it stays.
    #[inline(always)]
    pub(super) fn propagate_written(&mut self, now: Time, departs: Time, write: impl FnOnce(&mut P)) {
        self.forget_departed(now);
        if self.loss_after.as_mut().is_some_and(|loss| loss.strikes(departs)) {
            let mut packet = P::default();
            write(&mut packet);
            return self.propagate_as(Drawn { departs, passage: None }, now, &packet);
        }
        self.pipe.write_plain(departs, write);
        if departs > now {
            self.drawn.push_back(Drawn { departs, passage: Some(Passage::Delayed(0)) });
        }
    }

    /// [`propagate`](Self::propagate) for a packet whose random numbers have been drawn.
    #[inline(always)]
    pub(super) fn propagate_as(&mut self, drawn: Drawn, now: Time, packet: &P) {
        let Drawn { departs, passage } = drawn;
        match passage {
            Some(passage) => self.pipe.push(departs, passage, packet),
            None if departs <= now => self.ledger.drop_later(*packet, DropCause::LossAfter),
            None => self.lost_later.push_back((departs, *packet)),
        }
        if departs > now {
            self.drawn.push_back(drawn);
        }
    }

    /// What was drawn for packets that have left the transmitter is of no use any more.
    #[inline(always)]
    fn forget_departed(&mut self, now: Time) {
        while self.drawn.front_mut().is_some_and(|drawn| drawn.departs <= now) {
            self.drawn.drop_first();
        }
    }

    /// Packets that are lost behind the transmitter have left it by now.
    #[inline]
    pub(super) fn lose_departed(&mut self, now: Time) {
        if self.lost_later.front().is_some_and(|&(departs, _)| departs <= now) {
            self.lose(now);
        }
    }

    /// [`lose_departed`](Self::lose_departed) where there are such packets.
    #[inline(never)]
    fn lose(&mut self, now: Time) {
        while let Some(&(departs, packet)) = self.lost_later.front()
            && departs <= now
        {
            self.lost_later.pop_front();
            self.ledger.drop_later(packet, DropCause::LossAfter);
        }
    }
}
