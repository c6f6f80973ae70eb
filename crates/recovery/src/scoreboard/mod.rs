//! What the sender knows of every segment between `snd_una` and `snd_nxt` (the kernel's retransmission queue,
//! `tcp_rtx_queue`, and the `TCPCB_*` tags of its buffers).
//!
//! One record a segment, in a ring indexed by segment number, so that the common ACK touches a few neighbouring cache
//! lines and nothing is allocated per segment. Records are also threaded on a list in the order of their latest
//! transmission (`tsorted_sent_queue`, `sent_list.rs`), which is what RACK walks. Two bit sets over the same ring
//! (`tags.rs`) find segments without a walk: those of a SACK block that were not known to be received, and the lowest
//! one that waits for its retransmission.
//!
//! A segment's tags tell how many of its copies are in flight:
//!
//! | tags | meaning | copies in flight |
//! |---|---|---|
//! | – | original in flight | 1 |
//! | S | received | 0 |
//! | L | original lost, not yet sent again | 0 |
//! | L R | original lost, retransmission in flight | 1 |
//! | R | sent again without a loss mark | 2 |
//! | S R | original received, retransmission in flight | 1 |

mod bits;
mod sent_list;
mod tags;
#[cfg(test)]
mod tests;

use crate::send_stamp::Stamp;
use bits::{Bits, Set};
use dumbbell_units::{claimed, prefetch};
pub use tags::NewlyLost;

/// Tags of a segment that was received, marked lost or sent again.
const TOUCHED: u8 = flag::SACKED | flag::LOST | flag::RETRANS | flag::EVER_RETRANS;
/// End of the list of transmissions.
const NIL: u32 = u32::MAX;

/// Tags of a segment.
pub mod flag {
    /// S: selectively acknowledged (`TCPCB_SACKED_ACKED`).
    pub const SACKED: u8 = 1;
    /// L: marked lost (`TCPCB_LOST`).
    pub const LOST: u8 = 1 << 1;
    /// R: a retransmission is counted in flight (`TCPCB_SACKED_RETRANS`).
    pub const RETRANS: u8 = 1 << 2;
    /// E: ever retransmitted (`TCPCB_EVER_RETRANS`).
    pub const EVER_RETRANS: u8 = 1 << 3;
    /// Sent while the application was the limit.
    pub const APP_LIMITED: u8 = 1 << 4;
    /// First segment of the burst it was first sent in.
    pub const BURST_START: u8 = 1 << 5;
    /// On the list of transmissions.
    pub const LISTED: u8 = 1 << 6;
    /// Ends what the application had written when it left (`TCPHDR_PSH`).
    pub const PUSHED: u8 = 1 << 7;
}

/// One segment: its latest transmission, and its tags.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// Latest transmission.
    pub sent: Stamp,
    /// `first_tx_us` of the connection at that transmission.
    pub first_tx_us: u64,
    /// `delivered_mstamp_us` of the connection at that transmission; 0 when it is of no use for samples.
    pub delivered_us: u64,
    /// `delivered` of the connection at that transmission.
    pub delivered: u64,
    /// `lost` of the connection at that transmission (low bits).
    pub lost: u32,
    /// `delivered_ce` of the connection at that transmission (low bits).
    pub delivered_ce: u32,
    /// Packets in flight at that transmission, this one included.
    pub tx_in_flight: u32,
    /// Neighbours on the list of transmissions.
    pub(crate) prev: u32,
    pub(crate) next: u32,
    /// Payload bytes.
    pub len: u16,
    /// Bits of [`flag`].
    pub flags: u8,
}

impl Record {
    /// Whether one of `bits` is set.
    #[inline]
    pub fn has(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }

    /// Whether it is lost and not sent again.
    #[inline]
    pub(crate) fn awaits_retransmission(&self) -> bool {
        self.flags & (flag::LOST | flag::RETRANS) == flag::LOST
    }

    /// The segment transmitted next, of one that is on the list of transmissions.
    #[inline]
    pub(crate) fn next(&self) -> Option<u32> {
        (self.next != NIL).then_some(self.next)
    }

    /// The record of segment number `at` of a burst whose first one is `first`, between two others of the burst on the
    /// list of transmissions; this is the record of the burst, with the amount in flight before it.
    #[inline(always)]
    fn of_burst(&self, first: u32, at: u32) -> Record {
        let seq = first + at;
        Record { tx_in_flight: self.tx_in_flight + at + 1, prev: seq.wrapping_sub(1), next: seq + 1, ..*self }
    }
}

/// The records of all outstanding segments.
#[derive(Debug)]
pub struct Scoreboard {
    /// A ring of `mask + 1` places. The first one ends before that, where the initial window does, and is replaced when
    /// a segment's place would lie beyond.
    records: Box<[Record]>,
    mask: u32,
    una: u32,
    nxt: u32,
    oldest: u32,
    newest: u32,
    /// A place on the list of transmissions that whoever walks it [keeps](Scoreboard::list_keep_place); `NIL` for none.
    place: u32,
    bits: Bits,
    /// No segment below waits for its retransmission (`retransmit_skb_hint`).
    waiting_hint: u32,
    /// Segments from here on are untouched: sent once, neither received nor marked lost.
    untouched_from: u32,
}

impl Scoreboard {
    /// Places of the first ring: the initial window, and two segments that leave while nothing of it is acknowledged
    /// (RFC 3042) or after its timeout (F-RTO). Where there are very many flows, each has a window of a few segments
    /// only, and needs no more.
    const FIRST: usize = 12;
    /// Places of a later ring at least.
    const LATER: usize = 8;

    /// A scoreboard without segments; the first one is number 0.
    pub fn new() -> Scoreboard {
        Scoreboard {
            records: Box::default(),
            mask: 0,
            una: 0,
            nxt: 0,
            oldest: NIL,
            newest: NIL,
            place: NIL,
            bits: Bits::default(),
            waiting_hint: 0,
            untouched_from: 0,
        }
    }

    /// Lowest outstanding segment.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// One above the highest segment sent.
    #[inline]
    pub fn nxt(&self) -> u32 {
        self.nxt
    }

    /// Whether nothing is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// Has the processor fetch what is known of the lowest segments.
    #[inline(always)]
    pub fn prefetch(&self) {
        if let Some(record) = self.records.get((self.una & self.mask) as usize) {
            prefetch(record);
            prefetch(&record.flags);
        }
        if let Some(record) = self.records.get((self.nxt & self.mask) as usize) {
            prefetch(record);
        }
    }

    #[inline]
    fn slot(&self, seq: u32) -> usize {
        (seq & self.mask) as usize
    }

    /// Where a segment lies in the bit sets, which have at least a word.
    #[inline]
    fn bit(&self, seq: u32) -> usize {
        (seq & (self.mask | (u64::BITS - 1))) as usize
    }

    /// An outstanding segment.
    #[inline]
    pub fn get(&self, seq: u32) -> &Record {
        &self.records[(seq & self.mask) as usize]
    }

    /// An outstanding segment whose record is to change. The tags that the bit sets index are changed by functions of
    /// their own (`tags.rs`).
    #[inline]
    pub fn get_mut(&mut self, seq: u32) -> &mut Record {
        &mut self.records[(seq & self.mask) as usize]
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        let outstanding = (self.nxt - self.una) as usize;
        claimed::<Record>(outstanding, self.records.len()) + self.bits.memory()
    }

    /// Adds the next `size` segments, which were just sent as one burst, as copies of `record`; its `tx_in_flight` is
    /// the amount in flight before the burst. The last one carries `last_len` bytes.
    #[inline(always)]
    pub fn push_burst(&mut self, record: &Record, size: u32, last_len: u16) {
        if self.records.len() < (self.nxt - self.una + size) as usize {
            self.make_room(size);
        }
        let first = self.nxt;
        let last = first + size - 1;
        let prev = self.newest;
        if prev == NIL {
            self.oldest = first;
        } else {
            self.get_mut(prev).next = first;
        }
        let record = Record { flags: record.flags | flag::LISTED, ..*record };
        let as_first = |head: &mut Record| {
            head.prev = prev;
            head.flags |= flag::BURST_START;
        };
        let as_last = |tail: &mut Record| {
            tail.next = NIL;
            tail.len = last_len;
        };
        let start = self.slot(first);
        if let Some(places) = self.records.get_mut(start..start + size as usize) {
            for (place, at) in places.iter_mut().zip(0..) {
                *place = record.of_burst(first, at);
            }
            places.first_mut().map(as_first);
            places.last_mut().map(as_last);
        } else {
            // Some lie at the end of the ring, the others at its beginning.
            if self.records.len() <= self.mask as usize {
                self.make_room(size);
            }
            for at in 0..size {
                *self.get_mut(first + at) = record.of_burst(first, at);
            }
            as_first(self.get_mut(first));
            as_last(self.get_mut(last));
        }
        self.newest = last;
        self.nxt += size;
    }

    /// The `size` segments from `first` on were just retransmitted, one after the other, as `record` says. Returns how
    /// many of them did not have the tag R before.
    #[inline]
    pub fn push_again(&mut self, record: &Record, first: u32, size: u32) -> u32 {
        let end = first + size;
        let mut fresh = 0;
        for seq in first..end {
            if self.get(seq).has(flag::LISTED) {
                self.list_remove(seq);
            }
        }
        for seq in first..end {
            let old = self.get_mut(seq);
            fresh += u32::from(!old.has(flag::RETRANS));
            let flags = old.flags & !flag::APP_LIMITED | record.flags | flag::EVER_RETRANS | flag::LISTED;
            *old = Record { prev: seq.wrapping_sub(1), next: seq + 1, len: old.len, flags, ..*record };
        }
        self.link(self.newest, first);
        self.link(end - 1, NIL);
        self.touch(end - 1);
        self.bits.change_run(Set::Waiting, self.bit(first), size, |word, mask| *word &= !mask);
        fresh
    }

    /// Whether everything outstanding is untouched (sent once, neither received nor marked lost), so that it lies in
    /// the order of its transmission.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.untouched_from <= self.una
    }

    #[inline]
    fn touch(&mut self, seq: u32) {
        self.untouched_from = self.untouched_from.max(seq + 1);
    }

    /// Where the run of untouched segments at the head ends, at most at `end`.
    #[inline]
    pub fn end_of_originals(&self, end: u32) -> u32 {
        let mut seq = self.una;
        while seq < end && self.get(seq).flags & (TOUCHED | flag::LISTED) == flag::LISTED {
            seq += 1;
        }
        seq
    }

    /// Removes the segments below [`end`](Self::end_of_originals).
    #[inline(always)]
    pub fn pop_originals(&mut self, end: u32) {
        // Untouched segments lie on the list in the order of their numbers, and all lower ones are removed: these come
        // first.
        debug_assert_eq!(self.oldest, self.una);
        let next = self.get(end - 1).next;
        self.oldest = next;
        if next == NIL {
            self.newest = NIL;
        } else {
            self.get_mut(next).prev = NIL;
        }
        self.una = end;
    }

    /// Removes the lowest segments below `end` that are selectively acknowledged and were sent once; returns how many.
    #[inline]
    pub fn pop_sacked(&mut self, end: u32) -> u32 {
        const RECEIVED_OR_SENT_AGAIN: u8 = flag::SACKED | flag::RETRANS | flag::EVER_RETRANS;
        let first = self.una;
        let mut seq = first;
        while seq < end && self.get(seq).flags & RECEIVED_OR_SENT_AGAIN == flag::SACKED {
            seq += 1;
        }
        self.bits.change_run(Set::Sacked, self.bit(first), seq - first, |word, mask| *word &= !mask);
        self.una = seq;
        seq - first
    }

    /// Removes the lowest segment; the caller has corrected the counters that it was in.
    #[inline]
    pub fn pop_una(&mut self) -> Record {
        let seq = self.una;
        let record = *self.get(seq);
        if record.has(flag::LISTED) {
            self.list_remove(seq);
        }
        if record.has(flag::SACKED | flag::LOST) {
            let bit = self.bit(seq);
            self.bits.remove(Set::Sacked, bit);
            self.bits.remove(Set::Waiting, bit);
        }
        self.una += 1;
        record
    }

    /// Moves what is outstanding into a ring with room for `more` segments besides.
    #[cold]
    fn make_room(&mut self, more: u32) {
        let wanted = (self.nxt - self.una + more) as usize;
        let is_first = self.records.is_empty() && wanted <= Scoreboard::FIRST;
        let capacity = if is_first { Scoreboard::FIRST } else { wanted.next_power_of_two().max(Scoreboard::LATER) };
        #[expect(clippy::cast_possible_truncation, reason = "segments have numbers of 32 bits")]
        let mask = capacity.next_power_of_two() as u32 - 1;
        let mut grown = Scoreboard {
            records: vec![Record::default(); capacity].into_boxed_slice(),
            mask,
            bits: Bits::of(capacity),
            ..*self
        };
        for seq in self.una..self.nxt {
            let record = *self.get(seq);
            *grown.get_mut(seq) = record;
            let bit = grown.bit(seq);
            if record.has(flag::SACKED) {
                grown.bits.insert(Set::Sacked, bit);
            }
            if record.flags & (flag::LOST | flag::RETRANS) == flag::LOST {
                grown.bits.insert(Set::Waiting, bit);
            }
        }
        *self = grown;
    }
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard::new()
    }
}
