//! Packets that wait in order of arrival.

use super::Buffer;
use crate::ledger::DropCause;
use crate::packet::{Ecn, Packet};
use crate::stats::Backlog;
use crate::train::Train;
use dumbbell_units::{Duration, Time};
use std::collections::VecDeque;

/// A packet that waits; in [`Held::push_run`](super::Held::push_run) several of one run. Whoever holds one gives it to
/// the transmitter ([`Held::take`](super::Held::take)) or to [`Buffer::drop`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Waiting {
    /// When it arrived.
    pub arrived: Time,
    /// Its IP length in bytes.
    pub size: u32,
    /// Number of its flow.
    pub flow: u32,
    pub(super) ecn: Ecn,
    pub(super) is_marked: bool,
    /// Where the queue keeps its run, and how many of that came before it.
    pub(super) place: u32,
    pub(super) offset: u32,
    /// How many it stands for: itself and those behind it that came with it.
    pub(super) count: u32,
}

impl Waiting {
    /// The first packet of a run that the queue keeps at `place`; it has yet to arrive.
    #[inline(always)]
    pub(super) fn new<P: Packet>(packet: &P, place: u32) -> Waiting {
        Waiting {
            arrived: Time::ZERO,
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn(),
            is_marked: false,
            place,
            offset: 0,
            count: 1,
        }
    }

    /// `count` packets, which so many of the run that this one begins are before, and which arrive now.
    #[inline(always)]
    pub(super) fn arrive(&self, now: Time, offset: u32, count: u32) -> Waiting {
        Waiting { arrived: now, offset, count, ..*self }
    }

    /// How many packets these are: 1, unless it is a run.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Its ECN bits.
    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// How long it has waited.
    pub fn waited(&self, now: Time) -> Duration {
        now.since(self.arrived)
    }

    /// Whether `other` comes behind these of its run, and nothing tells them apart.
    #[inline]
    fn is_followed_by(&self, other: &Waiting) -> bool {
        self.place == other.place
            && self.offset + self.count == other.offset
            && self.arrived == other.arrived
            && self.ecn == other.ecn
            && !self.is_marked
            && !other.is_marked
    }
}

/// Packets of a run that the transmitter gets, and when it begins with each.
#[derive(Clone, Debug)]
#[must_use]
pub struct Passing {
    pub(super) first: Waiting,
    pub(super) starts: Train,
}

impl Passing {
    /// How many these are.
    pub fn count(&self) -> u32 {
        self.first.count
    }

    /// The IP length of each in bytes.
    pub fn size(&self) -> u32 {
        self.first.size
    }
}

/// Packets in order of arrival. A queue may have as many lines as it likes; what waits in all of them is counted in its
/// [`Buffer`].
#[derive(Clone, Debug, Default)]
pub struct Line {
    runs: VecDeque<Waiting>,
    backlog: Backlog,
}

impl Line {
    /// Puts an arriving packet, or several of one run, at the end.
    #[inline]
    pub fn push(&mut self, arriving: Waiting, buffer: &mut Buffer) {
        let Waiting { size, count, .. } = arriving;
        buffer.occupancy.advance(arriving.arrived);
        buffer.occupancy.enter_run(size, count);
        self.backlog.packets += u64::from(count);
        self.backlog.bytes += u64::from(count) * u64::from(size);
        match self.runs.back_mut() {
            Some(run) if run.is_followed_by(&arriving) => run.count += count,
            _ => self.runs.push_back(arriving),
        }
    }

    /// Puts an arriving packet at the end if it fits into the buffer.
    ///
    /// # Errors
    /// It does not.
    pub fn push_if_it_fits(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        if !buffer.fits(now, packet.size) {
            return Err(DropCause::QueueFull);
        }
        self.push(packet, buffer);
        Ok(())
    }

    /// Puts those at the end of the arriving packets of a run that fit into the buffer; returns how many these are. `None`
    /// where they have to be asked about one by one.
    pub fn push_those_that_fit(&mut self, run: Waiting, buffer: &mut Buffer) -> Option<u32> {
        let count = buffer.room(&run)?;
        if count > 0 {
            self.push(Waiting { count, ..run }, buffer);
        }
        Some(count)
    }

    /// Takes the oldest packet out.
    pub fn pop(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let packet = self.take_first(1)?;
        buffer.occupancy.leave(now, packet.size);
        Some(packet)
    }

    /// The oldest packet, if others of its run are behind it.
    pub fn first_of_run(&self) -> Option<&Waiting> {
        self.runs.front().filter(|run| run.count > 1)
    }

    /// Takes packets out of the run that is first, which the transmitter sends one behind the other from the instant on
    /// at which it is free: as many as begin by `until`. `None` where there are none, or its rate is not constant.
    pub fn pop_run(&mut self, until: Time, buffer: &mut Buffer) -> Option<Passing> {
        let &Waiting { size, count, .. } = self.runs.front()?;
        let count = buffer.transmitter.count_begun_by(until, size, count).filter(|&count| count > 0)?;
        let starts = buffer.transmitter.send_train(size, count)?;
        buffer.occupancy.leave_run(starts, size);
        let first = self.take_first(count)?;
        Some(Passing { first, starts })
    }

    /// Takes `count` packets out that the first run must have; returns the first of them.
    #[inline]
    fn take_first(&mut self, count: u32) -> Option<Waiting> {
        let run = self.runs.front_mut()?;
        self.backlog.packets -= u64::from(count);
        self.backlog.bytes -= u64::from(count) * u64::from(run.size);
        if run.count == count {
            return self.runs.pop_front();
        }
        let first = Waiting { count, ..run.clone() };
        run.offset += count;
        run.count -= count;
        Some(first)
    }

    /// Takes the packet out that so many others are in front of.
    pub fn remove(&mut self, place: usize, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let mut before = u32::try_from(place).ok()?;
        let mut number = 0;
        while self.runs.get(number)?.count <= before {
            before -= self.runs[number].count;
            number += 1;
        }
        let run = &mut self.runs[number];
        let packet = Waiting { offset: run.offset + before, count: 1, ..run.clone() };
        let behind = Waiting { offset: packet.offset + 1, count: run.count - before - 1, ..run.clone() };
        run.count = before;
        if behind.count > 0 {
            self.runs.insert(number + 1, behind);
        }
        if before == 0 {
            self.runs.remove(number);
        }
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.size);
        buffer.occupancy.leave(now, packet.size);
        Some(packet)
    }

    /// The oldest packet.
    pub fn front(&self) -> Option<&Waiting> {
        self.runs.front()
    }

    /// [`Held::next_decision`](super::Held::next_decision) of a queue that sends what is in this line as soon as it
    /// can.
    pub fn next_decision(&self) -> Time {
        self.front().map_or(Time::NEVER, |packet| packet.arrived)
    }

    /// What waits in this line.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}
