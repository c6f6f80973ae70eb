//! Puts in order what the shares of a run have done.

use super::share::Share;
use super::split::Part;
use crate::packet::Packet;
use dumbbell_path::{Media, Offered};
use dumbbell_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// When something was offered to the trunk, what caused it, and the flow that it belongs to: the order in which one
/// engine would have offered it.
type Order = (Time, u64, usize);

/// What shares have offered, in order.
pub(super) struct Merge {
    /// What each share that has something left has offered first of it, and the place of the share.
    firsts: BinaryHeap<Reverse<(Order, usize)>>,
    /// Room for the instants at which links that all shares have let go of packets, and their numbers.
    instants: Vec<(Time, usize)>,
    /// How many events of shares were the same event of the whole run.
    pub simultaneous: u64,
}

impl Merge {
    pub fn new(shares: usize) -> Merge {
        Merge { firsts: BinaryHeap::with_capacity(shares), instants: Vec::new(), simultaneous: 0 }
    }

    /// Has the queue of the trunk decide about what the shares have offered.
    pub fn decide(&mut self, media: &mut Media<Packet>, trunk: usize, shares: &mut [Share<'_>]) {
        let Some(link) = media.link_mut(trunk) else { return };
        let mut left = Vec::with_capacity(shares.len());
        for (place, share) in shares.iter_mut().enumerate() {
            let (offered, part) = share.offered();
            self.firsts.extend(offered.first().map(|first| Reverse((order(first, part), place))));
            left.push((offered.iter_mut(), part));
        }
        while let Some(mut first) = self.firsts.peek_mut() {
            let Reverse((_, place)) = *first;
            let (offered, part) = &mut left[place];
            if let Some(offered) = offered.next() {
                link.decide(offered);
            }
            match offered.as_slice().first() {
                Some(next) => *first = Reverse((order(next, part), place)),
                None => drop(PeekMut::pop(first)),
            }
        }
    }

    /// Counts the events of shares that are the same event of the whole run: packets that leave a link at the same
    /// instant.
    pub fn count_simultaneous(&mut self, shares: &mut [Share<'_>]) {
        self.instants.clear();
        for share in shares {
            self.instants.append(&mut share.instants);
        }
        // They are some sorted sequences, one behind the other, which this merges.
        self.instants.sort();
        self.simultaneous += self.instants.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    }
}

fn order(offered: &Offered<Packet>, part: &Part) -> Order {
    (offered.at, offered.cause, part.number(offered.packet.flow as usize))
}
