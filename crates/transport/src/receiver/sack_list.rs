//! Which blocks a receiver reports, and in which order (RFC 2018 section 4).
//!
//! The list keeps the four blocks that changed last, newest first (`selective_acks`), and drops the oldest one when a
//! fifth appears. It is not the out-of-order queue: a run whose block was dropped is reported again only when it
//! changes, and then only the changed part, as in Linux.

use crate::{Ack, SackBlock};

/// Most recently changed blocks, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct SackList {
    blocks: [SackBlock; SackList::CAPACITY],
    len: u8,
}

impl SackList {
    const CAPACITY: usize = 4;

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

    /// Segment `seq` arrived: its block moves to the front, joined with any other block that it now touches
    /// (`tcp_sack_new_ofo_skb`).
    #[inline]
    pub(super) fn add(&mut self, seq: u32) {
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

    /// Writes the SACK option (`tcp_options_write`): the DSACK first if there is a duplicate, then blocks, `room` in all.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there are at most as many as an ACK holds")]
    pub(super) fn write(&self, duplicate: Option<SackBlock>, room: usize, ack: &mut Ack) {
        let Some(duplicate) = duplicate else {
            ack.sack = self.blocks;
            ack.sack_count = self.len.min(room as u8);
            return;
        };
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

    fn list(segments: impl IntoIterator<Item = u32>) -> SackList {
        let mut list = SackList::default();
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
}
