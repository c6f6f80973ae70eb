//! Changes of a running link from outside: its rate, its delay, its random losses.
//!
//! A change at an instant holds from that instant on, and comes before everything else that happens then.
//!
//! * **Rate.** Packets that wait are sent at the new rate, and one in transmission gets the rest of its bits at the new
//!   rate: a link whose rate is changed at some instants equals one whose schedule has these steps, to the nanosecond.
//!   tc's `tbf` and `htb` do so, where a packet waits for tokens that come in at the rate in force, and Mahimahi, where
//!   the packet in transit takes whatever opportunities come. (netem's own `rate` does not: it computes the departure
//!   of a packet when that arrives, and packets that wait keep it.) Rate zero is an outage: packets are held. Limits in
//!   time refer to the new rate, in an outage to the last one that was not zero, and drop nothing that was accepted
//!   before. The `bandwidth` of RED becomes the new rate unless it was given; with a schedule it stays the schedule's
//!   mean.
//! * **Delay.** Packets that leave the transmitter from now on take the new delay. Those in the pipe keep their
//!   arrival, and are not overtaken, unless the link lets jitter reorder (`jitter.reorders`).
//! * **Losses.** Losses before the queue strike packets that arrive from now on, losses behind the transmitter those
//!   that leave it from now on. The new process starts in its good state.
//!
//! A link computes the way of a packet ahead, when it accepts it. So those that have not left the transmitter are taken
//! back, and sent on their way once more. What was drawn for a packet stays with it, so that the random numbers of
//! later packets are the same whatever was changed. That holds also for losses that change with time: a packet whose
//! departure moves across a step keeps what was drawn for its first departure.

use super::drawn::Drawn;
use super::{FastPath, Ingress, Link, Stage};
use crate::delay::Passage;
use crate::loss::LossRecipe;
use crate::packet::Packet;
use crate::transmitter::LinkRate;
use crate::transmitter::Transmitter;
use dumbbell_units::{Duration, Rate, Rng, Time};

/// What can be changed while a link runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The transmission rate, in place of a constant one, a schedule or a trace. Zero is an outage.
    Rate(Rate),
    /// The constant part of the propagation delay.
    Delay(Duration),
    /// The losses before the queue; `None` ends them.
    LossBefore(Option<LossRecipe>),
    /// The losses behind the transmitter; `None` ends them.
    LossAfter(Option<LossRecipe>),
}

/// A packet whose last bit leaves the transmitter at another time than was told when it was accepted, or when it was
/// reported last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retimed<P> {
    /// The packet.
    pub packet: P,
    /// The time that was told; [`Time::NEVER`] if it would never have left.
    pub told: Time,
    /// The time that holds now; [`Time::NEVER`] if it will not leave before the next change.
    pub departs: Time,
}

/// A packet that was taken back.
struct TakenBack<P> {
    drawn: Drawn,
    packet: P,
}

impl<P: Packet> Link<P> {
    /// Changes the link from `now` on. Returns the packets whose departures are others than were told, in their order.
    ///
    /// [`next_event`](Self::next_event) may move either way.
    pub(crate) fn change(&mut self, now: Time, change: &Change) -> Vec<Retimed<P>> {
        match change {
            Change::Rate(rate) => return self.set_rate(now, *rate),
            Change::Delay(delay) => self.set_delay(now, *delay),
            Change::LossBefore(loss) => self.set_loss_before(now, loss.as_ref()),
            Change::LossAfter(loss) => self.set_loss_after(now, loss.as_ref()),
        }
        Vec::new()
    }

    /// [`Change::Rate`]. A link of unlimited rate gets the queue that it was configured with, and counts its capacity
    /// as if it had always had this rate.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) -> Vec<Retimed<P>> {
        let rate = rate.as_bits_per_sec();
        if matches!(self.stage, Stage::Held(_)) {
            self.decide_before(now);
        }
        let taken_back = self.take_back(now);
        let departures = match &mut self.stage {
            Stage::Instant(_) | Stage::Remote(_) => {
                self.limit_rate(rate);
                Vec::new()
            }
            Stage::DropTail(queue) => queue.set_rate(now, rate),
            Stage::Gated(queue) => queue.set_rate(now, rate),
            Stage::Held(queue) => queue.set_rate(now, rate).into_iter().collect(),
        };
        debug_assert_eq!(taken_back.len(), departures.len(), "all that have not left leave at another time");
        let mut retimed = Vec::with_capacity(departures.len());
        for (TakenBack { drawn, packet }, departs) in taken_back.into_iter().zip(departures) {
            retimed.push(Retimed { packet, told: drawn.departs, departs });
            self.propagate_again(now, Drawn { departs, ..drawn }, packet);
        }
        retimed
    }

    /// [`Change::Delay`].
    pub(crate) fn set_delay(&mut self, now: Time, delay: Duration) {
        let taken_back = self.take_back(now);
        self.pipe.set_base(delay);
        self.leave_fast_path_if_needed();
        for TakenBack { drawn, packet } in taken_back {
            self.propagate_again(now, drawn, packet);
        }
    }

    /// [`Change::LossBefore`].
    pub(crate) fn set_loss_before(&mut self, now: Time, loss: Option<&LossRecipe>) {
        let taken_back = self.take_back(now);
        let stream = self.new_stream();
        let loss = loss.map(|recipe| recipe.make(stream));
        match &mut self.ingress {
            Some(ingress) => ingress.loss = loss,
            None if loss.is_none() => {}
            None => self.ingress = Some(Box::new(Ingress { loss, ..Ingress::default() })),
        }
        self.leave_fast_path_if_needed();
        for TakenBack { drawn, packet } in taken_back {
            self.propagate_again(now, drawn, packet);
        }
    }

    /// [`Change::LossAfter`].
    pub(crate) fn set_loss_after(&mut self, now: Time, loss: Option<&LossRecipe>) {
        let taken_back = self.take_back(now);
        self.lose_departed(now);
        let stream = self.new_stream();
        self.loss_after = super::losses_behind(&self.config, loss, stream);
        self.is_immediate &= self.loss_after.is_none();
        self.leave_fast_path_if_needed();
        for TakenBack { drawn, packet } in taken_back {
            let is_lost = self.loss_after.as_mut().is_some_and(|loss| loss.strikes(drawn.departs));
            let passage =
                if is_lost { None } else { drawn.passage.or_else(|| Some(self.pipe.draw(drawn.departs, &packet))) };
            self.propagate_again(now, Drawn { passage, ..drawn }, packet);
        }
    }

    /// A stream of random numbers of its own.
    fn new_stream(&mut self) -> Rng {
        Rng::new(self.rng.next_u64())
    }

    /// A link that has lost its fast path never gets one again: packets that took the general way may be under way.
    fn leave_fast_path_if_needed(&mut self) {
        if self.fast_path != FastPath::None {
            self.fast_path = self.possible_fast_path();
        }
    }

    /// A link without a transmitter gets one.
    fn limit_rate(&mut self, rate: u64) {
        let rng = self.new_stream();
        let Some(transmitter) = Transmitter::new(&LinkRate::Constant(rate), self.config.overhead_bytes) else { return };
        let occupancy = std::mem::take(self.occupancy());
        self.stage = Stage::new(&self.config, transmitter, rng);
        *self.occupancy() = occupancy;
        self.is_immediate &= !matches!(self.stage, Stage::Held(_));
        self.leave_fast_path_if_needed();
    }

    /// Makes the decisions of a discipline that come before a change at `now`.
    fn decide_before(&mut self, now: Time) {
        self.decide_until(Time::from_nanos(now.as_nanos().saturating_sub(1)));
        while let Stage::Held(queue) = &self.stage
            && queue.next_decision() == now
            && queue.begins_before(now)
        {
            self.decide_next();
        }
    }

    /// Takes back the packets that have not left the transmitter at `now`.
    fn take_back(&mut self, now: Time) -> Vec<TakenBack<P>> {
        if self.fast_path == FastPath::Held {
            self.decide_until(Time::from_nanos(now.as_nanos().saturating_sub(1)));
        }
        if !self.fast_path.draws() {
            let passage = Some(Passage::Delayed(0));
            let taken_back = |(departs, packet)| TakenBack { drawn: Drawn { departs, passage }, packet };
            return self.pipe.take_back_departing(now).into_iter().map(taken_back).collect();
        }
        let drawn: Vec<Drawn> = self.drawn.iter().copied().filter(|drawn| drawn.departs > now).collect();
        self.drawn.clear();
        let lost = drawn.iter().filter(|drawn| drawn.passage.is_none()).count();
        let mut passing = self.pipe.take_back(drawn.len() - lost).into_iter();
        let mut lost = self.lost_later.split_off(self.lost_later.len() - lost).into_iter().map(|(_, packet)| packet);
        let packet_of = |drawn: Drawn| {
            let packet = if drawn.passage.is_some() { passing.next().map(|(_, packet)| packet) } else { lost.next() };
            packet.map(|packet| TakenBack { drawn, packet })
        };
        drawn.into_iter().filter_map(packet_of).collect()
    }

    /// Puts a packet into the pipe again that was taken back.
    fn propagate_again(&mut self, now: Time, drawn: Drawn, packet: P) {
        if self.fast_path.draws() {
            self.propagate_as(drawn, now, &packet);
        } else {
            self.pipe.push_plain(drawn.departs, packet);
        }
    }
}

#[cfg(test)]
mod tests;
