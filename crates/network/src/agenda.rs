//! The event queue: one slot for everything that can have a next event.
//!
//! A network has few *kinds* of pending events: a link delivers its next packet, a connection's timer fires. Each owns
//! one slot that is re-armed in place, so the queue never grows with the packets in flight. The slots are the leaves of
//! a tournament tree: every node knows which slot below it is due first, and the root knows the earliest of all.
//! Re-arming a slot updates the nodes above it. Of equal times the lower slot comes first, so that the order of events
//! follows from the scenario alone.
//!
//! A tree of up to 4096 slots, or of up to 2048 besides the busy ones, has matches of four, all of which are played up
//! to the root. One of more has matches of two, and the first whose winner stays the same is the last.
//!
//! The tree need not be balanced. Where the first two slots are [busy](BusyAgenda), they are one match from the root,
//! and all others lie below the other nodes there.

use dumbbell_units::Time;

/// An agenda whose first two slots are armed far more often than each of the others: those of a scenario's links are,
/// because the links that flows have to themselves come last.
pub type BusyAgenda<T> = Agenda<T, true>;

/// When every slot is due, and which one comes first. `BUSY` is that of a [`BusyAgenda`].
#[derive(Debug)]
pub struct Agenda<T: Moment, const BUSY: bool = false> {
    /// Two slots need no tree: most networks are two links.
    pair: [T; 2],
    /// More than two: their number, without the busy ones, is a power of two, and those that nobody owns are never due.
    slots: Vec<T>,
    tree: Tree,
    /// The number of the leaf that the first slot is which is not busy.
    first_leaf: usize,
    first: (usize, T),
}

/// When something is due, as a number: the lesser is due first.
pub trait Moment: Copy + Ord {
    /// The number of this moment.
    fn number(self) -> u64;

    /// The moment of a number.
    fn of_number(number: u64) -> Self;
}

impl Moment for u64 {
    #[inline(always)]
    fn number(self) -> u64 {
        self
    }

    #[inline(always)]
    fn of_number(number: u64) -> u64 {
        number
    }
}

impl Moment for Time {
    #[inline(always)]
    fn number(self) -> u64 {
        self.as_nanos()
    }

    #[inline(always)]
    fn of_number(number: u64) -> Time {
        Time::from_nanos(number)
    }
}

/// Who contends in the matches. A contender is a moment and, below it, the slot: one number, so that of equal moments
/// the lower slot wins. Node number 1 is the root.
#[derive(Debug)]
enum Tree {
    /// Few slots: nodes 4n to 4n + 3, leaves too, meet in node n.
    Few(Box<[u64; NODES_OF_FEW]>),
    /// More than a few, likewise.
    More(Box<[u64; NODES_OF_MORE]>),
    /// Many slots: nodes 2n and 2n + 1 meet in node n. The leaves are not kept.
    Many(Vec<u128>),
}

/// Room for the leaves and all other nodes of a tree of few slots.
const NODES_OF_FEW: usize = 512;
/// Of more slots.
const NODES_OF_MORE: usize = 8192;

/// How many bits the slot of a contender has, below its moment, in a tree of so many nodes.
const fn slot_bits(nodes: usize) -> u32 {
    (nodes / 2).ilog2()
}

/// From here on moments are too late to have a slot beside them in 64 bits. Nanoseconds are after two years where slots
/// are few, and after 52 days where they are more.
const fn too_late(nodes: usize) -> u64 {
    u64::MAX >> slot_bits(nodes)
}

impl<T: Moment, const BUSY: bool> Agenda<T, BUSY> {
    const BUSY_SLOTS: usize = if BUSY { 2 } else { 0 };

    /// An agenda of `slots` that are due at `never`, after everything else.
    pub fn new(slots: usize, never: T) -> Agenda<T, BUSY> {
        let tree = Tree::Many(Vec::new());
        let mut agenda = Agenda { pair: [never; 2], slots: Vec::new(), tree, first_leaf: 0, first: (0, never) };
        if slots > 2 {
            let others = (slots - Self::BUSY_SLOTS).next_power_of_two().max(2);
            agenda.slots = vec![never; Self::BUSY_SLOTS + others];
            (agenda.tree, agenda.first_leaf) = Self::tree(others, never.number());
        }
        agenda
    }

    /// A tree of `others` besides the busy slots, and the number of its first leaf. The busy ones are nodes 4 and 5.
    fn tree(others: usize, never: u64) -> (Tree, usize) {
        // In a tree of few slots the others are nodes 4 to 7 or what is below them, or nodes 6 and 7.
        let (mut first_leaf, mut leaves) = if BUSY { (6, 2) } else { (4, 4) };
        while leaves < others {
            first_leaf *= 4;
            leaves *= 4;
        }
        if first_leaf + leaves <= NODES_OF_FEW {
            return (Tree::Few(Box::new([u64::MAX; NODES_OF_FEW])), first_leaf);
        }
        if first_leaf + leaves <= NODES_OF_MORE {
            return (Tree::More(Box::new([u64::MAX; NODES_OF_MORE])), first_leaf);
        }
        // In one of many they are below the root, or below node 3.
        let first_leaf = if BUSY { 3 * others } else { others };
        (Tree::Many(vec![contender(never, 0); (first_leaf + others) / 2]), first_leaf)
    }

    /// The number of the node that a slot is.
    #[inline(always)]
    fn leaf(&self, slot: usize) -> usize {
        if slot < Self::BUSY_SLOTS { 4 + slot } else { self.first_leaf + slot - Self::BUSY_SLOTS }
    }

    /// Makes room for at least `slots`; those that come on top are due at `never`.
    pub fn grow(&mut self, slots: usize, never: T) {
        let known = if self.slots.is_empty() { &self.pair[..] } else { &self.slots };
        if slots <= known.len() {
            return;
        }
        let mut grown = Agenda::new(slots, never);
        for (slot, due) in known.iter().enumerate() {
            grown.set(slot, *due);
        }
        *self = grown;
    }

    /// The slot that is due first, and when.
    #[inline]
    pub fn next(&self) -> (usize, T) {
        self.first
    }

    /// Arms `slot`, whatever it was armed for.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, due: T) {
        self.set_if(slot, due, |_| true);
    }

    /// [`set`](Self::set) for a slot that is often armed for what it was armed for before.
    #[inline(always)]
    pub fn set_again(&mut self, slot: usize, due: T) {
        self.set_if(slot, due, |before| due != before);
    }

    /// Arms `slot` unless it is due earlier already. One that fires too early finds out and re-arms.
    #[inline(always)]
    pub fn advance(&mut self, slot: usize, due: T) {
        self.set_if(slot, due, |before| due < before);
    }

    /// Arms `slot` if `is_wanted` is true of what it was armed for.
    #[inline(always)]
    fn set_if(&mut self, slot: usize, due: T, is_wanted: impl FnOnce(T) -> bool) {
        match self.slots.get_mut(slot) {
            Some(place) => {
                if is_wanted(*place) {
                    *place = due;
                    self.play(slot, due.number());
                }
            }
            None => {
                debug_assert!(slot < 2 && self.slots.is_empty());
                if is_wanted(self.pair[slot & 1]) {
                    self.pair[slot & 1] = due;
                    let [left, right] = self.pair;
                    self.first = if right < left { (1, right) } else { (0, left) };
                }
            }
        }
    }

    /// `slot` of the tree is due at another time: updates the nodes above it.
    #[inline(never)]
    fn play(&mut self, slot: usize, due: u64) {
        let leaf = self.leaf(slot);
        match &mut self.tree {
            Tree::Few(nodes) => {
                let first = play_to_the_root(nodes, leaf, small_contender::<NODES_OF_FEW>(due, slot));
                self.first = self.winner::<NODES_OF_FEW>(first);
            }
            _ => self.play_more(slot, due),
        }
    }

    /// [`play`](Self::play) where slots are more than a few.
    #[inline(never)]
    fn play_more(&mut self, slot: usize, due: u64) {
        let leaf = self.leaf(slot);
        match &mut self.tree {
            Tree::Few(_) => {}
            Tree::More(nodes) => {
                let first = play_to_the_root(nodes, leaf, small_contender::<NODES_OF_MORE>(due, slot));
                self.first = self.winner::<NODES_OF_MORE>(first);
            }
            Tree::Many(winners) => {
                let winner = contender(due, slot).min(contender(self.slots[slot ^ 1].number(), slot ^ 1));
                if let Some(first) = play_until_one_stays(winners, leaf / 2, winner) {
                    self.first = (first as usize, T::of_number((first >> 64) as u64));
                }
            }
        }
    }

    /// The slot that won the last match of a tree of so many nodes, and when it is due.
    #[inline(always)]
    fn winner<const NODES: usize>(&self, first: u64) -> (usize, T) {
        let due = first >> const { slot_bits(NODES) };
        if due >= const { too_late(NODES) } {
            return self.search();
        }
        let slot = usize::try_from(first % const { 1 << slot_bits(NODES) });
        (slot.unwrap_or_default(), T::of_number(due))
    }

    /// Which of a few slots is due first, where none has a moment that their tree could tell from never.
    #[cold]
    fn search(&self) -> (usize, T) {
        self.slots.iter().copied().enumerate().min_by_key(|(_, due)| *due).unwrap_or(self.first)
    }
}

/// A contender of a tree of few slots, which has so many nodes.
#[inline(always)]
fn small_contender<const NODES: usize>(due: u64, slot: usize) -> u64 {
    due.min(const { too_late(NODES) }) << const { slot_bits(NODES) } | slot as u64
}

/// Node `number` of a tree of few slots is `first` now. All matches above it are played, whether their winners change
/// or not; returns who wins the last one.
#[inline(always)]
fn play_to_the_root<const NODES: usize>(nodes: &mut [u64; NODES], mut number: usize, mut first: u64) -> u64 {
    loop {
        number %= NODES;
        nodes[number] = first;
        let a = number & !3;
        first = nodes[a].min(nodes[a + 1]).min(nodes[a + 2].min(nodes[a + 3]));
        number /= 4;
        if number <= 1 {
            return first;
        }
    }
}

/// A contender of a tree of many slots.
#[inline(always)]
fn contender(due: u64, slot: usize) -> u128 {
    u128::from(due) << 64 | slot as u128
}

/// Node `number` of a tree of many slots has a new winner. The first match whose winner stays the same is the last;
/// otherwise returns who wins at the root.
#[inline(always)]
fn play_until_one_stays(winners: &mut [u128], mut number: usize, mut first: u128) -> Option<u128> {
    while number > 1 {
        if winners[number] == first {
            return None;
        }
        winners[number] = first;
        first = first.min(winners[number ^ 1]);
        number /= 2;
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_go_to_the_lower_slot() {
        let at = Time::from_nanos;
        let mut agenda = Agenda::<_>::new(5, Time::NEVER);
        for slot in [4, 2, 3] {
            agenda.set(slot, at(7));
        }
        assert_eq!(agenda.next(), (2, at(7)));
        agenda.set(2, Time::NEVER);
        assert_eq!(agenda.next(), (3, at(7)));
    }

    #[test]
    fn an_agenda_that_grows_keeps_what_is_due() {
        let at = Time::from_nanos;
        let mut agenda = Agenda::<_>::new(2, Time::NEVER);
        agenda.set(1, at(5));
        agenda.grow(9, Time::NEVER);
        assert_eq!(agenda.next(), (1, at(5)));
        agenda.set(8, at(3));
        assert_eq!(agenda.next(), (8, at(3)));
    }

    /// Changes of slots: which, when it is due, and whether only if that is earlier.
    type Changes = Vec<(usize, u64, bool)>;

    fn agrees_with_a_search<const BUSY: bool>(slots: usize, changes: &Changes) {
        let mut agenda = Agenda::<u64, BUSY>::new(slots, u64::MAX);
        let mut armed = vec![u64::MAX; slots];
        for &(slot, due, only_earlier) in changes {
            let slot = slot % slots;
            if only_earlier {
                agenda.advance(slot, due);
                armed[slot] = armed[slot].min(due);
            } else {
                agenda.set(slot, due);
                armed[slot] = due;
            }
            let (due, first) = armed.iter().enumerate().map(|(slot, &due)| (due, slot)).min().unwrap();
            assert_eq!(agenda.next(), (first, due));
            assert_eq!(*agenda.slots.get(slot).unwrap_or(&agenda.pair[slot & 1]), armed[slot]);
        }
    }

    /// Moments of every kind: soon, about as late as a slot leaves room for in 64 bits, and never.
    fn moments() -> impl Strategy<Value = u64> {
        let around = |nodes| too_late(nodes) - 5..too_late(nodes) + 50;
        let late = prop_oneof![around(NODES_OF_FEW), around(NODES_OF_MORE), u64::MAX - 3..=u64::MAX];
        prop_oneof![2 => 0u64..50, 1 => late]
    }

    proptest! {
        #[test]
        fn the_next_slot_is_always_the_earliest(
            slots in prop_oneof![1usize..8, 1usize..300, 2040usize..5000],
            changes in proptest::collection::vec((0usize..5000, 0u64..50, any::<bool>()), 1..300),
        ) {
            agrees_with_a_search::<false>(slots, &changes);
            agrees_with_a_search::<true>(slots, &changes);
        }

        #[test]
        fn late_moments_are_told_apart(
            slots in prop_oneof![3usize..8, 3usize..300, 2040usize..5000],
            changes in proptest::collection::vec((0usize..5000, moments(), any::<bool>()), 1..300),
        ) {
            agrees_with_a_search::<false>(slots, &changes);
            agrees_with_a_search::<true>(slots, &changes);
        }
    }
}
