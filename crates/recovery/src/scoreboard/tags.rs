//! The tags that the two bit sets index: selectively acknowledged (`TCPCB_SACKED_ACKED`), and lost and waiting for the
//! retransmission (`TCPCB_LOST` without `TCPCB_SACKED_RETRANS`).

use super::bits::Set;
use super::{NIL, Record, Scoreboard, TOUCHED, flag};

/// Transmissions that a loss detector has just taken for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewlyLost {
    /// The lowest segment.
    pub first: u32,
    /// One above the highest segment.
    pub end: u32,
    /// It is the retransmission of a lost segment that is lost, too.
    pub is_retransmission: bool,
}

impl Scoreboard {
    /// Tags `seq` as selectively acknowledged and takes it off the list of transmissions.
    #[inline]
    pub fn set_sacked(&mut self, seq: u32) {
        self.touch(seq);
        let (slot, bit) = (self.slot(seq), self.bit(seq));
        self.bits.insert(Set::Sacked, bit);
        self.bits.remove(Set::Waiting, bit);
        self.records[slot].flags |= flag::SACKED;
        if self.records[slot].has(flag::LISTED) {
            self.list_remove(seq);
        }
    }

    /// Tags the untouched segments from `first` on, below `end`, that were sent one after the other as selectively
    /// acknowledged, and takes them off the list of transmissions. Returns one above the last of them: `first` when
    /// that one is not untouched.
    #[inline(always)]
    pub fn set_run_sacked(&mut self, first: u32, end: u32) -> u32 {
        let (end, _) = self.take_run(first, end, flag::SACKED, |_| true);
        if end > first {
            self.bits.change_run(Set::Sacked, self.bit(first), end - first, |word, mask| *word |= mask);
        }
        end
    }

    /// Tags the untouched segments from `first` on, below `end`, that were sent at the same time as lost, and takes
    /// them off the list of transmissions. Returns one above the last of them, and the next one on the list.
    #[inline(always)]
    pub fn set_run_lost(&mut self, first: u32, end: u32) -> (u32, Option<u32>) {
        let sent = self.get(first).sent;
        let (end, next) = self.take_run(first, end, flag::LOST, |record| record.sent == sent);
        if end > first {
            self.bits.change_run(Set::Waiting, self.bit(first), end - first, |word, mask| *word |= mask);
            self.waiting_hint = self.waiting_hint.min(first);
        }
        (end, (next != NIL).then_some(next))
    }

    /// Tags the untouched segments from `first` on, below `end`, that were sent one after the other and `belong`, and
    /// takes them off the list of transmissions; a run ends with the ring, too. Returns one above the last of them, and
    /// the next one on the list.
    #[inline(always)]
    fn take_run(&mut self, first: u32, end: u32, tag: u8, belong: impl Fn(&Record) -> bool) -> (u32, u32) {
        let (mut seq, mut next) = (first, first);
        let start = self.slot(first);
        let prev = self.records[start].prev;
        let places = &mut self.records[start..];
        let most = places.len().min((end - first) as usize);
        for record in &mut places[..most] {
            if seq != next || record.flags & (TOUCHED | flag::LISTED) != flag::LISTED || !belong(record) {
                break;
            }
            record.flags ^= tag | flag::LISTED;
            next = record.next;
            seq += 1;
        }
        if seq > first {
            self.touch(seq - 1);
            if (first..seq).contains(&self.place) {
                self.place = prev;
            }
            self.link(prev, next);
        }
        (seq, next)
    }

    /// The receiver has dropped `seq` (reneging). Its record has given a rate sample and gives no second one.
    pub fn clear_sacked(&mut self, seq: u32) {
        let (slot, bit) = (self.slot(seq), self.bit(seq));
        self.bits.remove(Set::Sacked, bit);
        let record = &mut self.records[slot];
        record.flags &= !flag::SACKED;
        record.delivered_us = 0;
    }

    /// The lowest segment of `start..end` without a selective acknowledgement.
    #[inline]
    pub fn next_unsacked(&self, start: u32, end: u32) -> Option<u32> {
        self.scan(start, end, |word| !self.bits.word(Set::Sacked, word))
    }

    /// The runs of selectively acknowledged segments: the first one of each, and one above its last.
    pub fn sacked_runs(&self) -> impl Iterator<Item = (u32, u32)> {
        let next = |from: u32| {
            let first = self.scan(from, self.nxt, |word| self.bits.word(Set::Sacked, word))?;
            Some((first, self.next_unsacked(first, self.nxt).unwrap_or(self.nxt)))
        };
        std::iter::successors(next(self.una), move |&(_, end)| next(end))
    }

    /// Marks `seq` lost (`tcp_mark_skb_lost`); what is lost already loses its retransmission, if one is in flight.
    /// Returns what is newly lost. The segment stays on the list of transmissions.
    #[inline]
    pub fn mark_lost(&mut self, seq: u32) -> Option<NewlyLost> {
        let record = self.get_mut(seq);
        if record.has(flag::SACKED) {
            return None;
        }
        let was_lost = record.has(flag::LOST);
        if was_lost {
            if !record.has(flag::RETRANS) {
                return None;
            }
            record.flags &= !flag::RETRANS;
        } else {
            record.flags |= flag::LOST;
        }
        if !self.get(seq).has(flag::RETRANS) {
            self.set_waiting(seq);
        }
        Some(NewlyLost { first: seq, end: seq + 1, is_retransmission: was_lost })
    }

    /// Tags `seq` as waiting for its retransmission.
    #[inline]
    pub fn set_waiting(&mut self, seq: u32) {
        self.touch(seq);
        let bit = self.bit(seq);
        self.bits.insert(Set::Waiting, bit);
        self.waiting_hint = self.waiting_hint.min(seq);
    }

    /// `seq` was retransmitted, acknowledged or found not to be lost.
    #[inline]
    pub fn clear_waiting(&mut self, seq: u32) {
        let bit = self.bit(seq);
        self.bits.remove(Set::Waiting, bit);
    }

    /// The lowest segment that waits for its retransmission.
    #[inline]
    pub fn first_waiting(&mut self) -> Option<u32> {
        let start = self.waiting_hint.max(self.una);
        let found = self.scan(start, self.nxt, |word| self.bits.word(Set::Waiting, word));
        self.waiting_hint = found.unwrap_or(self.nxt);
        found
    }

    /// The lowest segment of `start..end` whose bit is set in the words that `word` gives, a word of 64 at a time.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "of a place only that in a word of 64 is wanted")]
    fn scan(&self, start: u32, end: u32, word: impl Fn(usize) -> u64) -> Option<u32> {
        let mut seq = start;
        while seq < end {
            let bit = self.bit(seq);
            let bits = word(bit >> 6) >> (bit & 63);
            if bits != 0 {
                let found = seq + bits.trailing_zeros();
                return (found < end).then_some(found);
            }
            seq = seq.saturating_add(64 - (bit as u32 & 63));
        }
        None
    }
}
