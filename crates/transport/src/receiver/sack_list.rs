//! What ACKs report of segments above a hole (SACK, RFC 2018 section 4) and of those that came twice (DSACK, RFC 2883).
//!
//! The list keeps the four blocks that changed last, newest first (`selective_acks`), and drops the oldest one when a
//! fifth appears. It is not the out-of-order queue: a run whose block was dropped is reported again only when it
//! changes, and then only the changed part, as in Linux.

use crate::{Ack, SackBlock, TransportConfig};

/// Blocks, and a duplicate, that the next ACK reports.
#[derive(Clone, Debug)]
pub(super) struct SackList {
    is_permitted: bool,
    reports_duplicates: bool,
    /// Most recently changed blocks, newest first.
    blocks: [SackBlock; SackList::CAPACITY],
    len: u8,
    /// One above a segment that had arrived before, which no ACK has reported yet (`duplicate_sack`); 0 if there is
    /// none.
    duplicate_end: u32,
}

impl SackList {
    const CAPACITY: usize = 4;

    pub(super) fn new(config: &TransportConfig) -> SackList {
        SackList {
            is_permitted: config.sack,
            reports_duplicates: config.sack && config.dsack,
            blocks: [SackBlock::default(); SackList::CAPACITY],
            len: 0,
            duplicate_end: 0,
        }
    }

    /// Whether both ends agreed on it.
    #[inline]
    pub(super) fn is_permitted(&self) -> bool {
        self.is_permitted
    }

    fn blocks(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Position of the block that holds or touches segment `seq`; the number of blocks when there is none.
    pub(super) fn position(&self, seq: u32) -> usize {
        self.blocks()
            .iter()
            .position(|block| block.start <= seq + 1 && seq <= block.end)
            .unwrap_or(usize::from(self.len))
    }

    /// Where the newest block ends, if there has been one.
    #[inline]
    pub(super) fn newest_end(&self) -> u32 {
        self.blocks[0].end
    }

    /// The `count` segments that continue the newest block arrived; they touch no other block.
    #[inline]
    pub(super) fn lengthen_newest(&mut self, count: u32) {
        self.blocks[0].end += count;
    }

    /// Segment `seq` arrived above a hole: its block moves to the front, joined with any other block that it now
    /// touches (`tcp_sack_new_ofo_skb`).
    #[inline]
    pub(super) fn add(&mut self, seq: u32) {
        if !self.is_permitted {
            return;
        }
        if self.len > 0 && self.blocks[0].end == seq && self.blocks().iter().all(|block| block.start != seq + 1) {
            self.blocks[0].end += 1;
        } else {
            self.add_elsewhere(seq);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most four blocks")]
    fn add_elsewhere(&mut self, seq: u32) {
        let mut front = SackBlock { start: seq, end: seq + 1 };
        let old = self.blocks;
        let mut len = 0;
        for &block in &old[..usize::from(self.len)] {
            if block.start <= front.end && front.start <= block.end {
                front = SackBlock { start: block.start.min(front.start), end: block.end.max(front.end) };
            } else if len + 1 < SackList::CAPACITY {
                self.blocks[len + 1] = block;
                len += 1;
            }
        }
        self.blocks[0] = front;
        self.len = len as u8 + 1;
    }

    /// Everything below `ack` is acknowledged: blocks there are removed (`tcp_sack_remove`).
    #[expect(clippy::cast_possible_truncation, reason = "there are at most four blocks")]
    pub(super) fn forget_below(&mut self, ack: u32) {
        let old = self.blocks;
        let mut len = 0;
        for &block in old[..usize::from(self.len)].iter().filter(|block| block.end > ack) {
            self.blocks[len] = block;
            len += 1;
        }
        self.len = len as u8;
    }

    /// Segment `seq` had arrived before: an ACK reports it that leaves before the next segment arrives
    /// (`tcp_dsack_set`).
    pub(super) fn note_duplicate(&mut self, seq: u32) {
        if self.reports_duplicates {
            self.duplicate_end = seq + 1;
        }
    }

    /// A segment arrives: of a duplicate before it no ACK tells any more (`tcp_data_queue`).
    #[inline(always)]
    pub(super) fn forget_duplicate(&mut self) {
        self.duplicate_end = 0;
    }

    /// Whether a duplicate has arrived that no ACK has reported.
    #[inline]
    pub(super) fn has_duplicate(&self) -> bool {
        self.duplicate_end > 0
    }

    /// Writes the SACK option (`tcp_options_write`): the DSACK first if there is a duplicate, which is reported once,
    /// then blocks, if there is a hole. Timestamps take the place of a block.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there are at most as many as an ACK holds")]
    pub(super) fn write(&mut self, has_hole: bool, timestamps: bool, ack: &mut Ack) {
        let room = Ack::MAX_SACK_BLOCKS - usize::from(timestamps);
        let Some(start) = std::mem::take(&mut self.duplicate_end).checked_sub(1) else {
            if has_hole {
                ack.sack = self.blocks;
                ack.sack_count = self.len.min(room as u8);
            }
            return;
        };
        let duplicate = SackBlock { start, end: start + 1 };
        let mut count = 0;
        for block in std::iter::once(duplicate).chain(self.blocks().iter().copied()).take(room) {
            ack.sack[count] = block;
            count += 1;
        }
        ack.sack_count = count as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CumulativeAck;
    use dumbbell_recovery::timestamp::Timestamp;

    fn list(segments: impl IntoIterator<Item = u32>) -> SackList {
        let mut list = SackList::new(&TransportConfig::default());
        for seq in segments {
            list.add(seq);
        }
        list
    }

    fn pairs(list: &SackList) -> Vec<(u32, u32)> {
        list.blocks().iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn the_block_that_changed_last_comes_first() {
        assert_eq!(pairs(&list([2, 3, 6, 9])), [(9, 10), (6, 7), (2, 4)]);
        assert_eq!(pairs(&list([2, 3, 6, 9, 4])), [(2, 5), (9, 10), (6, 7)]);
    }

    #[test]
    fn blocks_that_touch_become_one() {
        assert_eq!(pairs(&list([2, 4, 8, 3])), [(2, 5), (8, 9)]);
    }

    #[test]
    fn a_fifth_block_pushes_out_the_oldest() {
        assert_eq!(pairs(&list([1, 3, 5, 7, 9])), [(9, 10), (7, 8), (5, 6), (3, 4)]);
    }

    #[test]
    fn a_forgotten_block_comes_back_with_the_part_that_changed() {
        assert_eq!(pairs(&list([1, 2, 4, 6, 8, 10, 3])), [(3, 5), (10, 11), (8, 9), (6, 7)]);
    }

    #[test]
    fn acknowledged_blocks_disappear() {
        let mut list = list([2, 6, 9]);
        list.forget_below(7);
        assert_eq!(pairs(&list), [(9, 10)]);
        list.forget_below(10);
        assert_eq!(pairs(&list), []);
    }

    fn reported(list: &mut SackList, has_hole: bool) -> Vec<(u32, u32)> {
        let (window, sent_at, echo) = (crate::AdvertisedWindow::whole(9), Timestamp::default(), Timestamp::default());
        let mut ack = Ack::from(CumulativeAck { ack: 3, ece: false, window, sent_at, echo });
        list.write(has_hole, true, &mut ack);
        ack.sack_blocks().iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn a_duplicate_comes_first_and_is_reported_once() {
        let mut list = SackList::new(&TransportConfig::default());
        for seq in [5, 7, 9] {
            list.add(seq);
        }
        list.note_duplicate(2);
        assert!(list.has_duplicate());
        assert_eq!(reported(&mut list, true), [(2, 3), (9, 10), (7, 8)]);
        assert_eq!(reported(&mut list, true), [(9, 10), (7, 8), (5, 6)]);
        list.note_duplicate(2);
        list.forget_duplicate();
        assert_eq!(reported(&mut list, false), []);
    }

    #[test]
    fn without_sack_nothing_is_reported() {
        let mut list = SackList::new(&TransportConfig { sack: false, ..TransportConfig::default() });
        list.add(5);
        list.note_duplicate(2);
        assert_eq!(reported(&mut list, true), []);
    }
}
