//! What the sender knows of every segment between `snd_una` and `snd_nxt`.
//!
//! One record a segment, in a ring indexed by segment number, so that the common ACK touches a few neighbouring cache
//! lines and nothing is allocated per segment. Records are also threaded on a list in the order of their latest
//! transmission (Linux's `tsorted_sent_queue`), which is what RACK walks. Two bit sets over the same ring answer the
//! questions that would otherwise need a walk: which segments of a SACK block are news, and which is the lowest one
//! that waits for its retransmission.

use super::stamp::Stamp;

/// End of the list of transmissions.
const NIL: u32 = u32::MAX;

/// State bits of a segment; the letters are those of the table in RFC-style discussions of Linux's scoreboard.
pub(super) mod flag {
    /// S: selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// L: marked lost.
    pub const LOST: u8 = 1 << 1;
    /// R: a retransmission is counted in flight.
    pub const RETRANS: u8 = 1 << 2;
    /// E: ever retransmitted.
    pub const EVER_RETRANS: u8 = 1 << 3;
    /// Sent while the application was the limit.
    pub const APP_LIMITED: u8 = 1 << 4;
    /// First segment of the burst it was first sent in.
    pub const BURST_START: u8 = 1 << 5;
    /// On the list of transmissions.
    pub const LISTED: u8 = 1 << 6;
}

/// One segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
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
    /// Neighbours on the list of transmissions; the scoreboard's own business.
    pub prev: u32,
    pub next: u32,
    /// Payload bytes.
    pub len: u16,
    /// Bits of [`flag`].
    pub flags: u8,
}

impl Record {
    #[inline]
    pub fn has(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }
}

/// A bit for every slot of the ring.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    #[inline]
    fn set(&mut self, slot: usize) {
        self.0[slot >> 6] |= 1 << (slot & 63);
    }

    #[inline]
    fn clear(&mut self, slot: usize) {
        self.0[slot >> 6] &= !(1 << (slot & 63));
    }

    /// Changes the bits of `count` slots from `slot` on, those of a word at a time: `change` gets it with a mask.
    #[inline]
    fn change_run(&mut self, mut slot: usize, count: u32, change: impl Fn(&mut u64, u64)) {
        let mut left = count as usize;
        while left > 0 {
            let bit = slot & 63;
            let here = left.min(64 - bit);
            change(&mut self.0[slot >> 6], (u64::MAX >> (64 - here)) << bit);
            left -= here;
            slot = (slot + here) & (64 * self.0.len() - 1);
        }
    }
}

/// The records of all outstanding segments.
#[derive(Debug)]
pub(super) struct Scoreboard {
    records: Vec<Record>,
    mask: u32,
    una: u32,
    nxt: u32,
    oldest: u32,
    newest: u32,
    sacked: Bits,
    waiting: Bits,
    waiting_hint: u32,
    /// Segments from here on were sent once and have not been heard of.
    untouched_from: u32,
}

impl Scoreboard {
    const INITIAL_CAPACITY: usize = 64;

    pub fn new() -> Scoreboard {
        Scoreboard {
            records: Vec::new(),
            mask: 0,
            una: 0,
            nxt: 0,
            oldest: NIL,
            newest: NIL,
            sacked: Bits::default(),
            waiting: Bits::default(),
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

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    #[inline]
    fn slot(&self, seq: u32) -> usize {
        (seq & self.mask) as usize
    }

    #[inline]
    pub fn get(&self, seq: u32) -> &Record {
        &self.records[(seq & self.mask) as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, seq: u32) -> &mut Record {
        &mut self.records[(seq & self.mask) as usize]
    }

    /// Bytes of memory [claimed](dumbbell_units::claimed).
    pub fn memory(&self) -> u64 {
        let outstanding = (self.nxt - self.una) as usize;
        let bits = self.sacked.0.capacity() + self.waiting.0.capacity();
        dumbbell_units::claimed::<Record>(outstanding, self.records.capacity()) + bits as u64 * 8
    }

    /// Adds the next `size` segments, which were just sent as one burst. All start from `record`, whose amount in flight
    /// is that before the burst; the last one carries `last_len` bytes.
    #[inline]
    pub fn push_burst(&mut self, record: &Record, size: u32, last_len: u16) {
        while self.records.len() < (self.nxt - self.una + size) as usize {
            self.grow();
        }
        let first = self.nxt;
        let last = first + size - 1;
        let prev = self.newest;
        if prev == NIL {
            self.oldest = first;
        } else {
            self.get_mut(prev).next = first;
        }
        let slot = self.slot(first);
        let (wrapped, ahead) = self.records.split_at_mut(slot);
        let size_ahead = ahead.len().min(size as usize);
        let mut seq = first;
        for places in [&mut ahead[..size_ahead], &mut wrapped[..size as usize - size_ahead]] {
            for place in places {
                *place = *record;
                place.prev = seq.wrapping_sub(1);
                seq += 1;
                place.next = seq;
                place.tx_in_flight += seq - first;
                place.flags |= flag::LISTED;
            }
        }
        let start = self.get_mut(first);
        start.prev = prev;
        start.flags |= flag::BURST_START;
        let end = self.get_mut(last);
        end.next = NIL;
        end.len = last_len;
        self.newest = last;
        self.nxt += size;
    }

    /// The `size` segments from `first` on were just sent again, one after the other, as `record` says. Returns how many of
    /// them are not counted in flight a second time already.
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
        self.waiting.change_run(self.slot(first), size, |word, mask| *word &= !mask);
        fresh
    }

    /// Whether everything outstanding was sent once and has not been heard of, so that it lies in the order of its
    /// transmission.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        self.untouched_from <= self.una
    }

    #[inline]
    fn touch(&mut self, seq: u32) {
        self.untouched_from = self.untouched_from.max(seq + 1);
    }

    /// The first segment below `end` that is more than sent once and not heard of; `end` when there is none.
    #[inline]
    pub fn end_of_originals(&self, end: u32) -> u32 {
        const NEWS: u8 = flag::SACKED | flag::LOST | flag::RETRANS | flag::EVER_RETRANS;
        let mut seq = self.una;
        while seq < end && self.get(seq).flags & (NEWS | flag::LISTED) == flag::LISTED {
            seq += 1;
        }
        seq
    }

    /// Removes the segments below [`end`](Self::end_of_originals).
    #[inline]
    pub fn pop_originals(&mut self, end: u32) {
        // What was transmitted before or between them has lower numbers and is gone, so they begin the list.
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
        const STORY: u8 = flag::SACKED | flag::RETRANS | flag::EVER_RETRANS;
        let first = self.una;
        let mut seq = first;
        while seq < end && self.get(seq).flags & STORY == flag::SACKED {
            seq += 1;
        }
        self.sacked.change_run(self.slot(first), seq - first, |word, mask| *word &= !mask);
        self.una = seq;
        seq - first
    }

    /// Removes the lowest segment; the caller has settled its counters.
    #[inline]
    pub fn pop_una(&mut self) -> Record {
        let seq = self.una;
        let record = *self.get(seq);
        if record.has(flag::LISTED) {
            self.list_remove(seq);
        }
        if record.has(flag::SACKED | flag::LOST) {
            let slot = self.slot(seq);
            self.sacked.clear(slot);
            self.waiting.clear(slot);
        }
        self.una += 1;
        record
    }

    fn grow(&mut self) {
        let capacity = (self.records.len() * 2).max(Scoreboard::INITIAL_CAPACITY);
        let mut grown = Scoreboard {
            records: vec![Record::default(); capacity],
            mask: capacity as u32 - 1,
            sacked: Bits(vec![0; capacity / 64]),
            waiting: Bits(vec![0; capacity / 64]),
            ..*self
        };
        for seq in self.una..self.nxt {
            let record = *self.get(seq);
            *grown.get_mut(seq) = record;
            let slot = grown.slot(seq);
            if record.has(flag::SACKED) {
                grown.sacked.set(slot);
            }
            if record.flags & (flag::LOST | flag::RETRANS) == flag::LOST {
                grown.waiting.set(slot);
            }
        }
        *self = grown;
    }

    // The list of transmissions, oldest first.

    #[inline]
    pub fn list_remove(&mut self, seq: u32) {
        let record = self.get_mut(seq);
        record.flags &= !flag::LISTED;
        let (prev, next) = (record.prev, record.next);
        self.link(prev, next);
    }

    /// Makes two segments neighbours on the list, or what is left of them its end.
    #[inline]
    fn link(&mut self, prev: u32, next: u32) {
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

    // Selective acknowledgements.

    /// Tags `seq` as selectively acknowledged and takes it off the list of transmissions.
    pub fn set_sacked(&mut self, seq: u32) {
        self.touch(seq);
        let slot = self.slot(seq);
        self.sacked.set(slot);
        self.waiting.clear(slot);
        self.records[slot].flags |= flag::SACKED;
        if self.records[slot].has(flag::LISTED) {
            self.list_remove(seq);
        }
    }

    /// Tags segments as selectively acknowledged and takes them off the list of transmissions: those from `first` on, below
    /// `end`, as far as they were sent once, one after the other, and have not been heard of. Returns where that ends:
    /// `first` when that one is not among them.
    #[inline(always)]
    pub fn set_run_sacked(&mut self, first: u32, end: u32) -> u32 {
        let (end, _) = self.take_run(first, end, flag::SACKED, |_| true);
        if end > first {
            self.sacked.change_run(self.slot(first), end - first, |word, mask| *word |= mask);
        }
        end
    }

    /// The same with segments that left together with `first` and are lost. Returns the next one on the list, too.
    #[inline(always)]
    pub fn set_run_lost(&mut self, first: u32, end: u32) -> (u32, Option<u32>) {
        let sent = self.get(first).sent;
        let (end, next) = self.take_run(first, end, flag::LOST, |record| record.sent == sent);
        if end > first {
            self.waiting.change_run(self.slot(first), end - first, |word, mask| *word |= mask);
            self.waiting_hint = self.waiting_hint.min(first);
        }
        (end, (next != NIL).then_some(next))
    }

    /// Tags segments and takes them off the list of transmissions: those from `first` on, below `end`, as far as they were
    /// sent once, one after the other, have not been heard of, and `belong`. Returns where that ends, and what is next on
    /// the list.
    #[inline(always)]
    fn take_run(&mut self, first: u32, end: u32, tag: u8, belong: impl Fn(&Record) -> bool) -> (u32, u32) {
        const NEWS: u8 = flag::SACKED | flag::LOST | flag::RETRANS | flag::EVER_RETRANS;
        let prev = self.get(first).prev;
        let mut next = first;
        let mut seq = first;
        while seq < end && seq == next {
            let record = self.get_mut(seq);
            if record.flags & (NEWS | flag::LISTED) != flag::LISTED || !belong(record) {
                break;
            }
            record.flags ^= tag | flag::LISTED;
            next = record.next;
            seq += 1;
        }
        if seq > first {
            self.touch(seq - 1);
            self.link(prev, next);
        }
        (seq, next)
    }

    /// The receiver no longer holds `seq`, which has been used for a sample.
    pub fn clear_sacked(&mut self, seq: u32) {
        let slot = self.slot(seq);
        self.sacked.clear(slot);
        let record = &mut self.records[slot];
        record.flags &= !flag::SACKED;
        record.delivered_us = 0;
    }

    /// The lowest segment of `start..end` without a selective acknowledgement.
    pub fn next_unsacked(&self, start: u32, end: u32) -> Option<u32> {
        self.scan(start, end, |word| !self.sacked.0[word])
    }

    // Segments that are lost and wait for their retransmission.

    /// Tags `seq` as waiting for its retransmission.
    pub fn set_waiting(&mut self, seq: u32) {
        self.touch(seq);
        let slot = self.slot(seq);
        self.waiting.set(slot);
        self.waiting_hint = self.waiting_hint.min(seq);
    }

    /// `seq` was retransmitted, acknowledged or found not to be lost.
    pub fn clear_waiting(&mut self, seq: u32) {
        let slot = self.slot(seq);
        self.waiting.clear(slot);
    }

    /// The lowest segment that waits for its retransmission.
    pub fn first_waiting(&mut self) -> Option<u32> {
        let start = self.waiting_hint.max(self.una);
        let found = self.scan(start, self.nxt, |word| self.waiting.0[word]);
        self.waiting_hint = found.unwrap_or(self.nxt);
        found
    }

    /// The lowest segment of `start..end` whose bit is set in the words that `word` gives, a word of 64 at a time.
    #[inline]
    fn scan(&self, start: u32, end: u32, word: impl Fn(usize) -> u64) -> Option<u32> {
        let mut seq = start;
        while seq < end {
            let slot = self.slot(seq);
            let bits = word(slot >> 6) >> (slot & 63);
            if bits != 0 {
                let found = seq + bits.trailing_zeros();
                return (found < end).then_some(found);
            }
            seq = seq.saturating_add(64 - (slot as u32 & 63));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u32) -> Scoreboard {
        let mut board = Scoreboard::new();
        for n in 0..count {
            board.push_burst(&Record { sent: Stamp::at_us(u64::from(n)), ..Record::default() }, 1, 1448);
        }
        board
    }

    #[test]
    fn the_ring_grows_and_keeps_order_tags_and_list() {
        let mut board = filled(60);
        for _ in 0..50 {
            board.pop_una();
        }
        for n in 60..110 {
            board.push_burst(&Record { sent: Stamp::at_us(n), ..Record::default() }, 1, 1448);
        }
        board.set_sacked(70);
        board.get_mut(55).flags |= flag::LOST;
        board.set_waiting(55);
        for n in 110..300 {
            board.push_burst(&Record { sent: Stamp::at_us(n), ..Record::default() }, 1, 1448);
        }
        assert_eq!(listed(&board), (50..300).filter(|&s| s != 70).collect::<Vec<_>>());
        assert_eq!(board.first_waiting(), Some(55));
        assert_eq!(board.next_unsacked(70, 80), Some(71));
        assert_eq!(board.get(200).sent.us(), 200);
    }

    #[test]
    fn a_burst_is_one_record_after_the_other() {
        let mut board = filled(1);
        board.push_burst(&Record { tx_in_flight: 7, len: 1448, ..Record::default() }, 100, 500);
        let of = |seq| (board.get(seq).tx_in_flight, board.get(seq).len, board.get(seq).has(flag::BURST_START));
        assert_eq!((of(1), of(2), of(100)), ((8, 1448, true), (9, 1448, false), (107, 500, false)));
        assert_eq!((board.list_next(0), board.list_next(99), board.list_next(100)), (Some(1), Some(100), None));
    }

    #[test]
    fn originals_leave_together_up_to_the_first_segment_with_a_story() {
        let mut board = filled(10);
        board.push_again(&Record::default(), 6, 1);
        assert_eq!((board.end_of_originals(4), board.end_of_originals(9)), (4, 6));
        board.pop_originals(4);
        assert_eq!((board.una(), board.list_oldest()), (4, Some(4)));
        board.pop_originals(6);
        assert_eq!((board.list_oldest(), board.list_next(9)), (Some(7), Some(6)));
        board.pop_una();
        assert_eq!(board.end_of_originals(10), 10);
        board.pop_originals(10);
        assert!(board.is_empty() && board.list_oldest().is_none());
    }

    fn listed(board: &Scoreboard) -> Vec<u32> {
        std::iter::successors(board.list_oldest(), |&seq| board.list_next(seq)).collect()
    }

    #[test]
    fn a_retransmission_moves_its_segments_to_the_end_of_the_list() {
        let mut board = filled(6);
        let record = Record { sent: Stamp::at_us(9), flags: flag::RETRANS, len: 1, ..Record::default() };
        assert_eq!(board.push_again(&record, 1, 2), 2);
        assert_eq!(listed(&board), [0, 3, 4, 5, 1, 2]);
        let again = board.get(2);
        assert_eq!((again.sent.us(), again.len, again.has(flag::EVER_RETRANS)), (9, 1448, true));
        assert_eq!(board.push_again(&record, 2, 2), 1, "2 is in flight again already");
        assert_eq!(listed(&board), [0, 4, 5, 1, 2, 3]);
        assert_eq!(board.push_again(&record, 0, 6), 3);
        assert_eq!(listed(&board), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_run_of_lost_segments_left_together_and_has_not_been_heard_of() {
        let mut board = Scoreboard::new();
        for sent in [1, 2, 3].map(Stamp::at_us) {
            board.push_burst(&Record { sent, ..Record::default() }, 4, 1448);
        }
        assert_eq!(board.set_run_lost(0, 3), (3, Some(3)));
        assert_eq!(listed(&board), (3..12).collect::<Vec<_>>());
        assert_eq!(board.first_waiting(), Some(0));
        board.set_sacked(6);
        assert_eq!(board.set_run_lost(4, 12), (6, Some(7)));
        assert_eq!(board.set_run_lost(6, 12).0, 6, "it was heard of");
        assert_eq!(board.set_run_lost(8, 12), (12, None));
        assert_eq!(listed(&board), [3, 7]);
        assert!((0..12).all(|seq| board.get(seq).has(flag::LOST) != [3, 6, 7].contains(&seq)));
        board.push_again(&Record { flags: flag::RETRANS, ..Record::default() }, 0, 3);
        assert_eq!((board.first_waiting(), listed(&board)), (Some(4), vec![3, 7, 0, 1, 2]));
    }

    #[test]
    fn scanning_crosses_words_and_the_end_of_the_ring() {
        let mut board = filled(64);
        for _ in 0..40 {
            board.pop_una();
        }
        for _ in 0..40 {
            board.push_burst(&Record::default(), 1, 1448);
        }
        for seq in 45..100 {
            board.set_sacked(seq);
        }
        assert_eq!(board.next_unsacked(45, 104), Some(100));
        assert_eq!(board.next_unsacked(45, 100), None);
        board.set_waiting(101);
        assert_eq!(board.first_waiting(), Some(101));
        board.clear_waiting(101);
        assert_eq!(board.first_waiting(), None);
        board.set_waiting(42);
        assert_eq!(board.first_waiting(), Some(42));
    }
}
