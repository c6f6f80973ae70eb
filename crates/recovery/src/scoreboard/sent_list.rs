//! The list of transmissions, oldest first (`tsorted_sent_queue`).

use super::{NIL, Scoreboard, flag};

impl Scoreboard {
    /// Takes `seq` off the list.
    #[inline]
    pub fn list_remove(&mut self, seq: u32) {
        let record = self.get_mut(seq);
        record.flags &= !flag::LISTED;
        let (prev, next) = (record.prev, record.next);
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

    /// The segment transmitted next after `seq`.
    #[inline]
    pub fn list_next(&self, seq: u32) -> Option<u32> {
        let next = self.get(seq).next;
        (next != NIL).then_some(next)
    }
}
