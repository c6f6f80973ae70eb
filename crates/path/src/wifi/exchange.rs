//! One exchange: who transmits, what, and what becomes of it.

use super::WifiChannel;
use super::aggregate::{Aggregate, Mpdu};
use super::channel::port_number;
use super::lane::Lane;
use super::phy::{BLOCK_ACK, CTS, RTS, SIFS, SLOT};
use crate::ledger::DropCause;
use crate::packet::Packet;
use dumbbell_units::{Duration, Time};
use std::cmp::Reverse;

/// An aggregate on the air.
struct Transmission<P> {
    contender: usize,
    lane: usize,
    aggregate: Aggregate<P>,
    ppdu: Duration,
    /// RTS and CTS precede it.
    is_announced: bool,
}

impl<P> Transmission<P> {
    fn announcement(&self) -> Duration {
        if self.is_announced { RTS + SIFS + CTS + SIFS } else { Duration::ZERO }
    }

    /// How long it takes the channel when it is answered.
    fn answered(&self) -> Duration {
        self.announcement() + self.ppdu + SIFS + BLOCK_ACK
    }

    /// How long it takes the channel when it collides.
    fn unanswered(&self) -> Duration {
        if self.is_announced { RTS + SIFS + CTS } else { self.ppdu + SIFS + BLOCK_ACK + SLOT }
    }
}

impl<P: Packet + Send> WifiChannel<P> {
    /// Those whose backoff has run down at `now` transmit.
    pub(super) fn exchange(&mut self, now: Time) {
        self.hear_block_ack(now);
        let transmissions = self.transmissions(now);
        if !transmissions.is_empty() {
            self.race.freeze(now);
            match <[_; 1]>::try_from(transmissions) {
                Ok([only]) => self.succeed(now, only),
                Err(several) => self.collide(now, several),
            }
        }
        self.find_next_start();
    }

    /// The aggregates that are sent at `now`. Of the categories of a device whose backoff expires together only the
    /// highest transmits, and the others take that for a collision.
    fn transmissions(&mut self, now: Time) -> Vec<Transmission<P>> {
        let mut due = self.race.due(now);
        due.sort_by_key(|&number| (self.contenders[number].device, Reverse(self.contenders[number].category)));
        let mut transmissions: Vec<Transmission<P>> = Vec::with_capacity(due.len());
        let mut beaten = Vec::new();
        for number in due {
            let device = self.contenders[number].device;
            if transmissions.last().is_some_and(|last| self.contenders[last.contender].device == device) {
                beaten.push(number);
            } else if let Some(transmission) = self.transmission(now, number) {
                transmissions.push(transmission);
            }
        }
        for number in beaten {
            self.race.redraw(number, false, &mut self.rng);
        }
        transmissions
    }

    /// What a contender sends at `now`, if its queues have anything for it after all.
    fn transmission(&mut self, now: Time, contender: usize) -> Option<Transmission<P>> {
        let built = self.contenders[contender].built.take();
        let Some((lane, aggregate)) =
            built.and_then(|built| self.unless_away(now, built)).or_else(|| self.build(now, contender, None))
        else {
            self.find_ready(contender, now + Duration::from_nanos(1));
            return None;
        };
        let port = &self.ports[self.lanes[lane].port];
        let ppdu = port.modulation.ppdu(aggregate.bytes);
        let is_announced = port.wifi.rts_threshold.is_some_and(|threshold| aggregate.bytes > threshold.as_u64());
        if port.wifi.prebuild {
            let first = aggregate.mpdus.first().map(|mpdu| (lane, mpdu.number));
            self.contenders[contender].built = self.build(now, contender, first);
        }
        Some(Transmission { contender, lane, aggregate, ppdu, is_announced })
    }

    /// An aggregate that the device has fixed. If its station has left meanwhile, its frames wait to be sent later.
    fn unless_away(
        &mut self,
        now: Time,
        (lane, mut aggregate): (usize, Aggregate<P>),
    ) -> Option<(usize, Aggregate<P>)> {
        if !self.lanes[lane].is_away(now) {
            return Some((lane, aggregate));
        }
        aggregate.mpdus.drain(..).for_each(|mpdu| self.lanes[lane].retry(mpdu));
        self.spare = aggregate.mpdus;
        self.note(now, lane);
        None
    }

    /// Makes the next aggregate of a contender. `under_way` is the lane of the one that is being sent, and the number
    /// of its first MPDU.
    fn build(&mut self, now: Time, contender: usize, under_way: Option<(usize, u32)>) -> Option<(usize, Aggregate<P>)> {
        loop {
            let lane = self.contenders[contender].turns.next(now)?;
            if self.lanes[lane].is_away(now) {
                self.note(now, lane);
                continue;
            }
            // A queue that makes packets wait has let them go since the device asked last.
            self.fill_device(now, lane);
            let first = under_way.filter(|(under_way, _)| *under_way == lane).map(|(_, number)| number);
            let memory = std::mem::take(&mut self.spare);
            let aggregate =
                self.with_lane(now, lane, |lane, wifi, ledger| lane.assemble(now, wifi, first, memory, ledger));
            self.note(now, lane);
            if !aggregate.mpdus.is_empty() {
                return Some((lane, aggregate));
            }
            self.spare = aggregate.mpdus;
            if self.lanes[lane].ready(now) <= now {
                // The window of the lane is used up by what is under way.
                return None;
            }
        }
    }

    /// A frame is sent. If that is for the first time its packets wait no longer.
    fn attempt(&mut self, now: Time, lane: usize, mpdu: &mut Mpdu<P>) {
        if mpdu.attempts == 0 {
            let port = &mut self.ports[self.lanes[lane].port];
            mpdu.packets().for_each(|packet| port.leave(now, packet.size()));
        }
        mpdu.attempts += 1;
    }

    /// A transmission that no other disturbs: its frames arrive or not, one by one, and the Block-ACK says which.
    fn succeed(&mut self, now: Time, transmission: Transmission<P>) {
        let (airtime, ppdu_end) = (transmission.answered(), now + transmission.announcement() + transmission.ppdu);
        let end = now + airtime;
        self.count_airtime(&transmission, airtime);
        let Transmission { contender, lane, mut aggregate, .. } = transmission;
        let mut arrived = false;
        for mut mpdu in aggregate.mpdus.drain(..) {
            self.attempt(now, lane, &mut mpdu);
            let errors = &mut self.ports[self.lanes[lane].port].errors;
            if errors.as_mut().is_some_and(|errors| errors.strikes(ppdu_end)) {
                self.fail(lane, mpdu, end);
            } else {
                arrived = true;
                self.receive(lane, mpdu, ppdu_end, end);
            }
        }
        self.spare = aggregate.mpdus;
        self.deliver(lane, ppdu_end);
        self.note(now, lane);
        self.end_exchange(contender, arrived, end);
    }

    /// Transmissions at the same time: none arrives.
    fn collide(&mut self, now: Time, transmissions: Vec<Transmission<P>>) {
        let longest = transmissions.iter().map(Transmission::unanswered).max().unwrap_or_default();
        let end = now + longest;
        for transmission in transmissions {
            self.count_airtime(&transmission, transmission.unanswered());
            let Transmission { contender, lane, mut aggregate, is_announced, .. } = transmission;
            self.ports[self.lanes[lane].port].radio.collisions += 1;
            for mut mpdu in aggregate.mpdus.drain(..) {
                // Behind an RTS that is not answered no frame follows.
                if !is_announced {
                    self.attempt(now, lane, &mut mpdu);
                    self.fail(lane, mpdu, end);
                } else {
                    self.lanes[lane].retry(mpdu);
                }
            }
            self.spare = aggregate.mpdus;
            self.deliver(lane, end);
            self.note(now, lane);
            self.end_exchange(contender, false, end);
        }
    }

    /// Counts a transmission, and charges its station for it.
    fn count_airtime(&mut self, Transmission { lane, aggregate, .. }: &Transmission<P>, airtime: Duration) {
        let number = self.lanes[*lane].port;
        let port = &mut self.ports[number];
        port.radio.airtime += airtime;
        port.radio.aggregates += 1;
        port.radio.packets += aggregate.packets().count() as u64;
        port.radio.retries += aggregate.mpdus.iter().filter(|mpdu| mpdu.attempts > 0).count() as u64;
        let category = self.lanes[*lane].category as usize;
        let opposite = port.opposite.and_then(|opposite| self.ports[opposite].lanes[category]);
        for lane in [Some(*lane), opposite].into_iter().flatten() {
            let Lane { contender, station, .. } = self.lanes[lane];
            self.contenders[contender].turns.charge(station, airtime);
        }
    }

    /// A frame has arrived at `now`, and the Block-ACK says so at `end`.
    fn receive(&mut self, lane: usize, mpdu: Mpdu<P>, now: Time, end: Time) {
        self.free(lane, &mpdu, end);
        if self.lanes[lane].receiver.pass(mpdu.number) {
            self.pass_on(lane, &mpdu, now);
        } else if let Err(late) = self.lanes[lane].receiver.receive(now, mpdu) {
            self.lose(lane, &late);
        }
    }

    /// A frame was not acknowledged: it is sent again or given up.
    fn fail(&mut self, lane: usize, mpdu: Mpdu<P>, end: Time) {
        if mpdu.attempts <= self.ports[self.lanes[lane].port].wifi.retries {
            return self.lanes[lane].retry(mpdu);
        }
        self.free(lane, &mpdu, end);
        self.lanes[lane].receiver.skip(mpdu.number);
        self.lose(lane, &mpdu);
    }

    /// The packets of a frame are lost behind the transmitter.
    fn lose(&mut self, lane: usize, mpdu: &Mpdu<P>) {
        let number = self.lanes[lane].port;
        for packet in mpdu.packets() {
            self.ports[number].ledger.counted.drops[DropCause::LossAfter].add(packet.size());
            self.drops.push_back((port_number(number), *packet, DropCause::LossAfter));
        }
    }

    /// The device is done with a frame when the exchange ends, at `end`.
    fn free(&mut self, lane: usize, mpdu: &Mpdu<P>, end: Time) {
        let airtime = self.lanes[lane].airtime_of(mpdu);
        match self.freed.last_mut() {
            Some((last, freed)) if *last == lane => *freed += airtime,
            _ => self.freed.push((lane, airtime)),
        }
        let number = self.lanes[lane].port;
        let port = &mut self.ports[number];
        for packet in mpdu.packets() {
            port.departed.add(packet.size());
            if port.tells_departures {
                self.departures.push_back((port_number(number), end, *packet));
            }
        }
    }

    /// What the receiver of a lane has in order at `now` goes on.
    pub(super) fn deliver(&mut self, lane: usize, now: Time) {
        while let Some(mpdu) = self.lanes[lane].receiver.pop(now) {
            self.pass_on(lane, &mpdu, now);
        }
        let Lane { receiver, port, .. } = &self.lanes[lane];
        self.timeouts.set(lane, receiver.deadline());
        self.arrivals.set(*port, self.ports[*port].pipe.next_arrival());
    }

    /// The packets of a frame leave its receiver at `now`.
    fn pass_on(&mut self, lane: usize, mpdu: &Mpdu<P>, now: Time) {
        let port = &mut self.ports[self.lanes[lane].port];
        port.pipe.borrow_memory(&mut self.pipe_memory);
        mpdu.packets().for_each(|packet| port.propagate(now, *packet));
    }

    /// The exchange of a contender ends at `end`.
    fn end_exchange(&mut self, contender: usize, is_answered: bool, end: Time) {
        self.race.end_exchange(end);
        self.race.redraw(contender, is_answered, &mut self.rng);
        self.find_ready(contender, Time::ZERO);
    }
}
