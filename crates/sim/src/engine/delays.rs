//! Delay legs: the links that only delay packets, where there are many of them.
//!
//! A network of flows with round-trip times of their own has two such links a flow. Then none of them has a slot of the
//! agenda of media or a pipe ([`Routes::take_delay_legs`](dumbbell_network::Routes::take_delay_legs)): what enters any
//! of them waits in one calendar, in the order of the instants at which it leaves, at equal instants by the number of
//! the link, as the agenda would have it. What leaves one link at one instant is one event, as it would be without a
//! calendar.

use super::Engine;
use super::memory::PACKETS_PER_CHECK;
use crate::packet::{Kind, Packet};
use dumbbell_network::{Calendar, DelayLegs};
use dumbbell_path::{Link, Media, Packet as _, Tally};
use dumbbell_units::{Duration, Time, claimed};

/// The calendar is made for so many packets of each link.
const PACKETS_OF_A_LINK: usize = 8;

/// All delay legs of a run.
pub(super) struct Delays {
    /// By the numbers of the media; `None` for one that is no leg.
    legs: Vec<Option<Leg>>,
    slot: usize,
    calendar: Calendar<Waiting>,
}

/// A delay leg.
#[derive(Clone, Copy)]
struct Leg {
    delay: Duration,
    /// What has entered it, also ahead of its time.
    entered: Tally,
}

/// Packets of a run that leave a link together, of which `packet` is the first.
#[derive(Clone, Copy, Default)]
struct Waiting {
    packet: Packet,
    count: u32,
}

impl Delays {
    /// Over these links.
    pub fn new(legs: &DelayLegs, media: &Media<Packet>) -> Delays {
        let mut delays = vec![None; media.len()];
        for &number in &legs.links {
            delays[number] = media.link(number).and_then(Link::only_delay);
        }
        let longest = delays.iter().flatten().max().copied().unwrap_or(Duration::ZERO);
        // A packet may enter a leg ahead of its time, by the delay of one link.
        let calendar = Calendar::new(PACKETS_OF_A_LINK * legs.links.len(), longest + longest);
        let leg = |delay| Leg { delay, entered: Tally::default() };
        let legs_of_all = delays.into_iter().map(|delay| delay.map(leg)).collect();
        Delays { legs: legs_of_all, slot: legs.slot, calendar }
    }

    /// The slot of the agenda of media that wakes the engine.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Packets that have entered legs and not left them, of the kind that is asked for.
    pub fn count(&self, is_meant: impl Fn(&Packet) -> bool) -> u64 {
        let waiting = self.calendar.iter().filter(|(_, waiting)| is_meant(&waiting.packet));
        waiting.map(|(_, waiting)| u64::from(waiting.count)).sum()
    }

    /// Packets that wait to leave each medium.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.legs.len()];
        for ((_, number), waiting) in self.calendar.iter() {
            counts[number as usize] += u64::from(waiting.count);
        }
        counts
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        self.calendar.memory() + claimed::<Option<Leg>>(self.legs.len(), self.legs.capacity())
    }

    /// A run of `count` packets of `size` bytes each enters a leg at `enters`, which may lie ahead. `write` writes the
    /// first of them to where it stays. Returns when the next packet leaves a leg, where that is this one.
    #[inline(always)]
    fn enter(
        &mut self,
        enters: Time,
        link: usize,
        (size, count): (u16, u32),
        write: impl FnOnce(&mut Packet),
    ) -> Option<Time> {
        let leg = self.legs[link].as_mut()?;
        leg.entered.add_many(u32::from(size), count);
        let leaves = enters + leg.delay;
        #[expect(clippy::cast_possible_truncation, reason = "media are numbered in 32 bits")]
        let number = link as u32;
        let is_first = self.calendar.push((leaves, number), |waiting| {
            write(&mut waiting.packet);
            waiting.count = count;
        });
        is_first.then_some(leaves)
    }

    /// Somebody looks at what has happened before `now`: links know what has entered them by then.
    pub fn settle(&self, now: Time, media: &mut Media<Packet>) {
        let mut entered: Vec<Option<Leg>> = self.legs.clone();
        for ((leaves, number), waiting) in self.calendar.iter() {
            if let Some(leg) = &mut entered[number as usize]
                && leaves >= now + leg.delay
            {
                leg.entered.remove_many(waiting.packet.size(), waiting.count);
            }
        }
        for (number, leg) in entered.into_iter().enumerate() {
            if let (Some(leg), Some(link)) = (leg, media.link_mut(number)) {
                link.count_entered(leg.entered);
            }
        }
    }
}

impl Engine<'_> {
    /// A run of `count` packets of `size` bytes each enters a delay leg at `enters`, which may lie ahead. `write`
    /// writes the first of them to where it stays.
    #[inline(always)]
    pub(super) fn enter_leg(&mut self, enters: Time, link: usize, run: (u16, u32), write: impl FnOnce(&mut Packet)) {
        let Some(delays) = &mut self.delays else { return };
        if let Some(leaves) = delays.enter(enters, link, run, write) {
            self.medium_agenda.set(delays.slot, leaves);
        }
    }

    /// A slot of the agenda of media is due: whether it is that of delay legs. What leaves one of these now goes on.
    #[inline(never)]
    pub(super) fn leave_legs(&mut self, slot: usize, packet: &mut Packet) -> bool {
        let Some(delays) = self.delays.as_mut().filter(|delays| delays.slot == slot) else { return false };
        let Some(first) = delays.calendar.next() else { return true };
        let mut until_check = PACKETS_PER_CHECK;
        while let Some(delays) = &mut self.delays
            && let Some((leaves, waiting)) = delays.calendar.first()
        {
            if leaves != first {
                self.medium_agenda.set(slot, leaves.0);
                return true;
            }
            let count = waiting.count;
            *packet = waiting.packet;
            delays.calendar.drop_first();
            if packet.hops_left == 0 && packet.kind == Kind::Ack {
                self.deliver_ack(packet);
            } else {
                self.go_on_together(packet, count);
            }
            if self.must_stop_behind(1, &mut until_check) {
                return true;
            }
        }
        self.medium_agenda.set(slot, Time::NEVER);
        true
    }

    /// Packets of a run enter the next medium, or arrive at their endpoint, at the same instant.
    #[inline(always)]
    fn go_on_together(&mut self, packet: &mut Packet, count: u32) {
        if packet.hops_left > 0 {
            return self.send_run_on(packet, count);
        }
        for place in 0..count {
            let mut arriving = *packet;
            if place > 0 {
                arriving.follow(place);
            }
            self.move_on(&mut arriving);
        }
    }
}

#[cfg(test)]
mod tests;
