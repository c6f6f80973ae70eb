//! Packets that may overtake each other.

use crate::ring::Ring;
use dumbbell_units::{Time, claimed};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Packets under way that may overtake each other.
///
/// Most packets overtake none: they are in a queue of their own, in which order costs nothing. The others are in a
/// heap.
#[derive(Clone, Debug)]
pub(super) struct Disorder<P> {
    in_order: Ring<InFlight<P>>,
    overtaking: BinaryHeap<InFlight<P>>,
    entered: u64,
}

/// A packet in a pipe that may reorder. The greatest is the one that comes out first, as `BinaryHeap` wants it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InFlight<P> {
    pub(super) arrives: Time,
    number: u64,
    /// Packets behind it wait for it where the order is kept.
    pub(super) is_waited_for: bool,
    pub(super) packet: P,
}

impl<P: Copy + Default> Disorder<P> {
    pub(super) fn new() -> Disorder<P> {
        Disorder { in_order: Ring::new(), overtaking: BinaryHeap::new(), entered: 0 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, arrives: Time, is_waited_for: bool, packet: &P) {
        self.entered += 1;
        if self.in_order.last_mut().is_some_and(|last| arrives < last.arrives) {
            return self.overtake(arrives, is_waited_for, packet);
        }
        *self.in_order.push_place() = InFlight { arrives, number: self.entered, is_waited_for, packet: *packet };
    }

    /// The packet that has just entered comes out before others that entered earlier.
    #[inline(never)]
    fn overtake(&mut self, arrives: Time, is_waited_for: bool, packet: &P) {
        self.overtaking.push(InFlight { arrives, number: self.entered, is_waited_for, packet: *packet });
    }

    /// When the next one comes out.
    pub(super) fn next_arrival(&self) -> Time {
        let first = |place: Option<&InFlight<P>>| place.map_or(Time::NEVER, |head| head.arrives);
        first(self.in_order.get(0)).min(first(self.overtaking.peek()))
    }

    /// Writes the one that comes out next to `packet`; nothing where there is none. Returns when the one behind it comes
    /// out.
    #[inline(always)]
    pub(super) fn take_into(&mut self, packet: &mut P) -> Time {
        let overtaking = self.overtaking.peek();
        let Some(next) = self.in_order.get(0).filter(|&next| overtaking.is_none_or(|other| other < next)) else {
            return self.take_overtaking(packet);
        };
        *packet = next.packet;
        let overtaking = overtaking.map_or(Time::NEVER, |head| head.arrives);
        self.in_order.drop_first().map_or(overtaking, |next| next.arrives.min(overtaking))
    }

    /// [`take_into`](Self::take_into) where the one that comes out next overtakes others.
    #[inline(never)]
    fn take_overtaking(&mut self, packet: &mut P) -> Time {
        // It is copied from where it lies, which costs less than to have it moved out.
        self.overtaking.peek().into_iter().for_each(|place| *packet = place.packet);
        self.overtaking.pop();
        self.next_arrival()
    }

    /// Takes the last `count` that were put in back out, in their order, with the times at which they would have come
    /// out.
    pub(super) fn take_back(&mut self, count: usize) -> Vec<(Time, P)> {
        self.entered -= count as u64;
        let entered = self.entered;
        let mut back = Vec::with_capacity(count);
        while let Some(last) = self.in_order.last_mut().filter(|last| last.number > entered) {
            back.push(*last);
            self.in_order.drop_last();
        }
        back.extend(self.overtaking.iter().filter(|place| place.number > entered));
        self.overtaking.retain(|place| place.number <= entered);
        back.sort_unstable_by_key(|place| place.number);
        back.into_iter().map(|place| (place.arrives, place.packet)).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &InFlight<P>> {
        self.in_order.iter().chain(&self.overtaking)
    }

    pub(super) fn len(&self) -> usize {
        self.in_order.len() + self.overtaking.len()
    }

    /// Bytes of memory [claimed](claimed).
    pub(super) fn memory(&self) -> u64 {
        self.in_order.memory() + claimed::<InFlight<P>>(self.overtaking.len(), self.overtaking.capacity())
    }
}

impl<P> Ord for InFlight<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrives, other.number).cmp(&(self.arrives, self.number))
    }
}

impl<P> PartialOrd for InFlight<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for InFlight<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P> Eq for InFlight<P> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Packets come out in the order of their times, those of one time in the order in which they came in, whatever
        /// was taken back and put in again meanwhile.
        #[test]
        fn packets_come_out_in_the_order_of_their_times(
            steps in prop::collection::vec((0..50_u64, 0..4_u8, 0..5_usize), 1..200),
        ) {
            let mut disorder = Disorder::new();
            let mut plain: Vec<(u64, u64)> = Vec::new();
            // Those that came in since one came out are all inside.
            let mut inside = 0;
            for (number, (time, action, count)) in steps.into_iter().enumerate() {
                match action {
                    0 => {
                        plain.sort_unstable();
                        let expected = if plain.is_empty() { None } else { Some(plain.remove(0).1) };
                        let mut taken = u64::MAX;
                        disorder.take_into(&mut taken);
                        prop_assert_eq!(taken, expected.unwrap_or(u64::MAX));
                        inside = 0;
                    }
                    1 => {
                        let count = count.min(inside);
                        plain.sort_unstable_by_key(|place| place.1);
                        let newest = plain.split_off(plain.len() - count);
                        let back = disorder.take_back(count).into_iter();
                        prop_assert_eq!(back.map(|(at, own)| (at.as_nanos(), own)).collect::<Vec<_>>(), newest);
                        inside -= count;
                    }
                    _ => {
                        disorder.push(Time::from_nanos(time), true, &(number as u64));
                        plain.push((time, number as u64));
                        inside += 1;
                    }
                }
                let next = plain.iter().min().map_or(Time::NEVER, |place| Time::from_nanos(place.0));
                prop_assert_eq!(disorder.next_arrival(), next);
                prop_assert_eq!(disorder.len(), plain.len());
            }
        }
    }
}
