//! The list of transmissions, oldest first (`tsorted_sent_queue`).

use super::{NIL, Scoreboard, flag};

impl Scoreboard {
    /// Takes `seq` off the list.
    #[inline]
    pub fn list_remove(&mut self, seq: u32) {
        let record = self.get_mut(seq);
        record.flags &= !flag::LISTED;
        let (prev, next) = (record.prev, record.next);
        if self.place == seq {
            self.place = prev;
        }
        self.link(prev, next);
    }

    /// Makes two segments neighbours on the list, or what is left of them its end.
    #[inline]
    pub(super) fn link(&mut self, prev: u32, next: u32) {
        if prev == NIL {
            self.oldest = next;
        } else {
            self.get_mut(prev).next = next;
        }
        if next == NIL {
            self.newest = prev;
        } else {
            self.get_mut(next).prev = prev;
        }
    }

    /// The segment whose latest transmission is the oldest.
    #[inline]
    pub fn list_oldest(&self) -> Option<u32> {
        (self.oldest != NIL).then_some(self.oldest)
    }

    /// The segment transmitted last before `seq`.
    #[inline]
    pub fn list_prev(&self, seq: u32) -> Option<u32> {
        let prev = self.get(seq).prev;
        (prev != NIL).then_some(prev)
    }

    /// Keeps a place on the list. A segment that leaves the list leaves the place to the one transmitted before it.
    #[inline]
    pub fn list_keep_place(&mut self, seq: u32) {
        self.place = seq;
    }

    /// The place that was kept; `None` once everything up to it has left the list.
    #[inline]
    pub fn list_place(&self) -> Option<u32> {
        // Below `una`: it has left at the head of the list with all that was transmitted before it.
        (self.place != NIL && self.place >= self.una).then_some(self.place)
    }

    /// The segment transmitted next after `seq`.
    #[inline]
    pub fn list_next(&self, seq: u32) -> Option<u32> {
        let next = self.get(seq).next;
        (next != NIL).then_some(next)
    }
}
