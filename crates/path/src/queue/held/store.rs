//! The packets of a queue, by place.

use super::Waiting;
use crate::packet::Packet;
use dumbbell_units::claimed;
use std::iter::repeat_n;

/// Runs of packets by place; places are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Store<P> {
    runs: Vec<Run<P>>,
    free: Vec<u32>,
}

/// A run, with the packet that was its first, and how many of it are still here.
#[derive(Clone, Debug)]
struct Run<P> {
    first: P,
    left: u32,
}

impl<P: Packet> Store<P> {
    /// A place for `count` packets, of which this is the first.
    #[inline]
    pub(super) fn put(&mut self, first: P, count: u32) -> u32 {
        let run = Run { first, left: count };
        if let Some(place) = self.free.pop() {
            self.runs[place as usize] = run;
            return place;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the memory of a run ends long before 2^32 packets")]
        let place = self.runs.len() as u32;
        self.runs.push(run);
        place
    }

    /// Takes `count` packets of a run out; returns the first of them.
    #[inline(always)]
    pub(super) fn take(&mut self, waiting: &Waiting, count: u32) -> P {
        self.forget(waiting.place, count);
        let mut packet = self.runs[waiting.place as usize].first;
        if waiting.offset > 0 {
            packet.follow(waiting.offset);
        }
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

    /// The first of its run for each packet.
    pub(super) fn iter(&self) -> impl Iterator<Item = &P> {
        self.runs.iter().flat_map(|run| repeat_n(&run.first, run.left as usize))
    }

    /// Bytes of memory [claimed].
    pub(super) fn memory(&self) -> u64 {
        claimed::<Run<P>>(self.len(), self.runs.capacity()) + claimed::<u32>(self.free.len(), self.free.capacity())
    }
}
