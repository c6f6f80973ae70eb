//! The packets of a queue, by place.

use super::Waiting;
use crate::packet::Packet;
use dumbbell_units::claimed;
use std::iter::repeat_n;

/// Runs of packets by place; places are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Store<P> {
    /// Of each run a packet.
    packets: Vec<P>,
    runs: Vec<Run>,
    free: Vec<u32>,
}

/// How many of a run came before the packet that is kept, and how many are still here.
#[derive(Clone, Copy, Debug)]
struct Run {
    offset: u32,
    left: u32,
}

impl<P: Packet> Store<P> {
    /// A place for `count` packets, of which this is the first.
    #[inline(always)]
    pub(super) fn put(&mut self, first: P, count: u32) -> u32 {
        let run = Run { offset: 0, left: count };
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = first;
            self.runs[place as usize] = run;
            return place;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the memory of a run ends long before 2^32 packets")]
        let place = self.runs.len() as u32;
        self.packets.push(first);
        self.runs.push(run);
        place
    }

    /// Takes packets of a run out; returns the first of them. What stays is brought up to the next, not what is
    /// returned: whoever copies a packet that was changed in parts a moment ago waits for that.
    #[inline(always)]
    pub(super) fn take(&mut self, waiting: &Waiting) -> P {
        let &Waiting { place, offset, count, .. } = waiting;
        let kept = &mut self.packets[place as usize];
        let mut packet = *kept;
        let run = &mut self.runs[place as usize];
        if offset != run.offset {
            packet.follow(offset - run.offset);
        } else if count < run.left {
            kept.follow(count);
            run.offset += count;
        }
        self.forget(place, count);
        packet
    }

    /// `count` packets of the run at a place are gone.
    #[inline(always)]
    pub(super) fn forget(&mut self, place: u32, count: u32) {
        let run = &mut self.runs[place as usize];
        run.left -= count;
        if run.left == 0 {
            self.free.push(place);
        }
    }

    /// How many runs there are.
    pub(super) fn len(&self) -> usize {
        self.runs.len() - self.free.len()
    }

    /// For each packet one of its run.
    pub(super) fn iter(&self) -> impl Iterator<Item = &P> {
        self.packets.iter().zip(&self.runs).flat_map(|(packet, run)| repeat_n(packet, run.left as usize))
    }

    /// Bytes of memory [claimed].
    pub(super) fn memory(&self) -> u64 {
        claimed::<P>(self.len(), self.packets.capacity())
            + claimed::<Run>(self.len(), self.runs.capacity())
            + claimed::<u32>(self.free.len(), self.free.capacity())
    }
}
