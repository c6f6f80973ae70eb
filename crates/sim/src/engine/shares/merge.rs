//! Puts in order what the shares of a run have done.

use super::share::Share;
use crate::packet::Packet;
use dumbbell_path::{Media, Offered};
use dumbbell_units::Time;

/// When something was offered to the trunk, what caused it, and the flow that it belongs to: the order in which one engine
/// would have offered it.
type Order = (Time, u64, usize);

const NEVER: Order = (Time::NEVER, u64::MAX, usize::MAX);

/// What shares have offered, in order.
pub(super) struct Merge {
    /// What each share has offered first of what is left.
    firsts: Vec<Order>,
    /// Room for the instants at which links that all shares have let go of packets, and their numbers.
    instants: Vec<(Time, usize)>,
    /// How many events of shares were the same event of the whole run.
    pub simultaneous: u64,
}

impl Merge {
    pub fn new(shares: usize) -> Merge {
        Merge { firsts: vec![NEVER; shares], instants: Vec::new(), simultaneous: 0 }
    }

    /// Has the queue of the trunk decide about what the shares have offered.
    pub fn decide(&mut self, media: &mut Media<Packet>, trunk: usize, shares: &mut [Share<'_>]) {
        let Some(link) = media.link_mut(trunk) else { return };
        let mut left = Vec::with_capacity(shares.len());
        for (place, share) in shares.iter_mut().enumerate() {
            let (offered, part) = share.offered();
            self.firsts[place] = order(offered.first(), |flow| part.number(flow));
            left.push((offered.iter_mut(), part));
        }
        loop {
            let Some((place, first)) = self.firsts.iter().enumerate().min_by_key(|(_, first)| **first) else { return };
            if *first == NEVER {
                return;
            }
            let (offered, part) = &mut left[place];
            if let Some(first) = offered.next() {
                link.decide(first);
            }
            self.firsts[place] = order(offered.as_slice().first(), |flow| part.number(flow));
        }
    }

    /// Counts the events of shares that are the same event of the whole run: packets that leave a link at the same instant.
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

fn order(offered: Option<&Offered<Packet>>, number: impl Fn(usize) -> usize) -> Order {
    offered.map_or(NEVER, |offered| (offered.at, offered.cause, number(offered.packet.flow as usize)))
}
