//! Selective acknowledgements: which segments the receiver holds above a hole, and which it received twice.
//!
//! A SACKed segment is delivered: it advances RACK and gives the delivery-rate sample and the RTT. One that is
//! delivered after higher segments, and was never retransmitted, was reordered on the path: the degree of reordering
//! follows from it. A first block below the cumulative ACK, or inside the second block, reports a duplicate (DSACK, RFC
//! 2883), which proves a retransmission spurious.

use super::ack::{AckNews, Prior, Tagged};
use super::{CaState, Sender};
use crate::{Ack, RecoveryRule, SackBlock};
use dumbbell_recovery::ack_rtt::{SentSpan, age_us};
use dumbbell_recovery::scoreboard::flag;
use dumbbell_recovery::send_stamp::Stamp;

/// What selective acknowledgements have told before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackMemory {
    /// One above the highest selectively acknowledged segment (`highest_sack`).
    pub highest: u32,
    /// The blocks of the latest ACK that had any, and of earlier ones where it had fewer than they: their segments are
    /// tagged already (`recv_sack_cache`).
    reported: Blocks,
}

/// Blocks of one ACK; those beyond the last one are empty.
type Blocks = [SackBlock; Ack::MAX_SACK_BLOCKS];

impl SackMemory {
    /// Writes to `changed` the parts of `blocks` that the ACKs before did not report, in ascending order, so that a
    /// lower block of this ACK does not look reordered by a higher one. Returns how many there are.
    #[inline(always)]
    fn news(&mut self, blocks: &[SackBlock], changed: &mut Blocks) -> usize {
        // An ACK of what fills a hole repeats the blocks of the ACK before.
        if blocks.iter().zip(&self.reported).all(|(block, known)| block == known) {
            return 0;
        }
        let Some((&first, others)) = blocks.split_first() else { return 0 };
        // Nearly always only the first block is news: the others are where they were, or one place behind.
        let keep_their_places = self.reported.get(1..blocks.len()) == Some(others);
        if !keep_their_places && self.reported.get(..others.len()) != Some(others) {
            return self.sorted_news(blocks, changed);
        }
        let start = self.unreported_from(first.start);
        if !keep_their_places {
            let [newest, second, third, _] = self.reported;
            self.reported = [first, newest, second, third];
        }
        self.reported[0] = first;
        changed[0] = SackBlock { start, ..first };
        usize::from(start < first.end)
    }

    /// [`SackMemory::news`] of any blocks.
    fn sorted_news(&mut self, blocks: &[SackBlock], changed: &mut Blocks) -> usize {
        let mut changes = 0;
        for &block in blocks {
            let start = self.unreported_from(block.start);
            if start < block.end {
                changed[changes] = SackBlock { start, ..block };
                changes += 1;
            }
        }
        for (known, &block) in self.reported.iter_mut().zip(blocks) {
            *known = block;
        }
        changed[..changes].sort_unstable_by_key(|block| block.start);
        changes
    }

    /// Where a block that begins with `start` has its first segment that was not reported: beyond the reported block
    /// that it continues, if any.
    #[inline(always)]
    fn unreported_from(&self, start: u32) -> u32 {
        let known = self.reported.iter().find(|known| known.start <= start && start <= known.end);
        known.map_or(start, |known| known.end)
    }

    /// The receiver has dropped what it reported.
    pub fn forget(&mut self) {
        self.reported = Blocks::default();
    }
}

impl Sender {
    /// Tags the segments that SACK blocks report (`tcp_sacktag_write_queue`).
    #[inline(always)]
    pub(super) fn sacktag_write_queue(&mut self, ack: &Ack, prior: &Prior, news: &mut AckNews) -> Tagged {
        let mut tagged = Tagged { sent: None, reordered_from: self.board.nxt() };
        if ack.sack_count > 0 {
            self.sacktag_blocks(ack, prior.una, news, &mut tagged);
        }
        tagged
    }

    #[inline(always)]
    fn sacktag_blocks(&mut self, ack: &Ack, prior_una: u32, news: &mut AckNews, tagged: &mut Tagged) {
        let blocks = ack.sack_blocks();
        let first = blocks[0];
        let is_dsack = first.start < ack.ack
            || blocks.get(1).is_some_and(|second| first.end <= second.end && first.start >= second.start);
        if is_dsack {
            self.check_dsack(first.start, first.end, prior_una, news, tagged);
        }
        let mut changed = Blocks::default();
        let changes = self.sacks.news(&blocks[usize::from(is_dsack)..], &mut changed);
        if changes == 0 && !is_dsack {
            // No segment is delivered that could have been overtaken.
            return;
        }
        for block in &changed[..changes] {
            self.sacktag_walk(*block, news, tagged);
        }
        if self.view.ca_state != CaState::Loss || self.undo.is_possible() {
            self.check_sack_reordering(tagged.reordered_from);
        }
    }

    /// Tags what is newly reported in a block (`tcp_sacktag_walk`).
    #[inline]
    fn sacktag_walk(&mut self, block: SackBlock, news: &mut AckNews, tagged: &mut Tagged) {
        let start = block.start.max(self.board.una());
        let end = block.end.min(self.board.nxt());
        let mut from = start;
        while let Some(seq) = self.board.next_unsacked(from, end) {
            if self.needs.in_flight_by_buffer {
                self.shift_in_flight(seq, end);
            }
            from = self.sacktag_run(seq, end, news, tagged);
            if from == seq {
                self.sacktag_one(seq, news, tagged);
                from += 1;
            }
        }
        if start < end {
            self.sacks.highest = self.sacks.highest.max(end);
        }
    }

    /// Segments from `first` on, below `end`, are about to be tagged. Where they follow others that are, the kernel moves
    /// them from their buffer to that of those (`tcp_shift_skb_data`), and if the buffer has more segments, it counts
    /// the amount in flight when they were sent anew: those that are moved have the amount of the whole buffer, and
    /// those that stay so many less (`tx.in_flight` in `tcp_shifted_skb`, with BBR v3's patches).
    #[inline(never)]
    fn shift_in_flight(&mut self, first: u32, end: u32) {
        const TAGS: u8 = flag::SACKED | flag::LOST | flag::RETRANS;
        let follows = first > self.board.una() && self.board.get(first - 1).flags & TAGS == flag::SACKED;
        if !follows || end == self.board.nxt() || !self.is_in_buffer_before(end) {
            return;
        }
        if (first..end).any(|seq| self.board.get(seq).has(flag::SACKED)) {
            // These end before; others reach `end`.
            return;
        }
        let begin = (first + 1..end).rev().find(|&seq| !self.is_in_buffer_before(seq)).unwrap_or(first);
        for seq in end..self.end_of_buffer_before(end) {
            self.board.get_mut(seq).tx_in_flight -= end - begin;
        }
        self.count_whole_buffer(end);
    }

    /// The segments below `end` are about to be delivered: the last one of them has the amount in flight of its whole
    /// buffer, also where the rest of the buffer stays (`tcp_tso_acked`, which trims it and leaves `tx.in_flight`).
    #[inline(never)]
    pub(super) fn count_whole_buffer(&mut self, end: u32) {
        let rest = self.end_of_buffer_before(end) - end;
        self.board.get_mut(end - 1).tx_in_flight += rest;
    }

    /// Where the buffer ends that the segment before `end` lies in.
    fn end_of_buffer_before(&self, end: u32) -> u32 {
        let nxt = self.board.nxt();
        (end..nxt).find(|&seq| !self.is_in_buffer_before(seq)).unwrap_or(nxt)
    }

    /// Whether an outstanding segment lies in one buffer with the one before: they left together, and nothing has taken
    /// them apart.
    fn is_in_buffer_before(&self, seq: u32) -> bool {
        const APART: u8 = flag::BURST_START | flag::SACKED | flag::LOST | flag::EVER_RETRANS;
        let record = self.board.get(seq);
        !record.has(APART) && record.sent == self.board.get(seq - 1).sent
    }

    /// Tags the run of segments from `first` on, below `end`, that were sent once and in this order; returns where it
    /// ends. The effect is that of tagging them one by one.
    #[inline]
    fn sacktag_run(&mut self, first: u32, end: u32, news: &mut AckNews, tagged: &mut Tagged) -> u32 {
        let end = self.board.set_run_sacked(first, end);
        if first == end {
            return end;
        }
        let first_sent_us = self.board.get(first).sent.us();
        let last_sent = self.board.get(end - 1).sent;
        self.advance_rack(end - 1, last_sent, false);
        if first < self.sacks.highest {
            tagged.reordered_from = tagged.reordered_from.min(first);
        }
        news.original_acked |= first < self.high_seq;
        tagged.sent = Some(SentSpan::extended(tagged.sent, first_sent_us, last_sent.us()));
        self.count_sacked(end - first, end, news);
        self.rate.run_delivered(&mut self.sample, &self.board, (first, end), self.view.mstamp_us, false);
        end
    }

    /// Tags one newly reported segment (`tcp_sacktag_one`).
    fn sacktag_one(&mut self, seq: u32, news: &mut AckNews, tagged: &mut Tagged) {
        let record = self.board.get(seq);
        let (sent, was_lost) = (record.sent, record.has(flag::LOST));
        let (in_flight_again, sent_again) = (record.has(flag::RETRANS), record.has(flag::RETRANS | flag::EVER_RETRANS));
        self.advance_rack(seq, sent, sent_again);
        if !sent_again {
            if seq < self.sacks.highest {
                tagged.reordered_from = tagged.reordered_from.min(seq);
            }
            news.original_acked |= seq < self.high_seq;
            tagged.sent = Some(SentSpan::extended(tagged.sent, sent.us(), sent.us()));
        }
        if was_lost {
            self.view.lost_out -= 1;
            let record = self.board.get_mut(seq);
            record.flags &= !flag::LOST;
            // Of a segment without a loss mark the retransmission stays counted in flight.
            if in_flight_again && self.config.recovery == RecoveryRule::Linux {
                record.flags &= !flag::RETRANS;
                self.view.retrans_out -= 1;
            }
        }
        self.count_sacked(1, seq + 1, news);
        self.board.set_sacked(seq);
        self.rate.skb_delivered(&mut self.sample, self.board.get(seq), seq, self.view.mstamp_us);
    }

    /// `count` segments below `end` are selectively acknowledged.
    #[inline]
    fn count_sacked(&mut self, count: u32, end: u32, news: &mut AckNews) {
        news.data_sacked = true;
        self.view.sacked_out += count;
        self.count_delivered(count, news.ece);
        self.sacks.highest = self.sacks.highest.max(end);
    }

    /// The receiver reports a duplicate (`tcp_check_dsack`, `tcp_dsack_seen`).
    fn check_dsack(&mut self, start: u32, end: u32, prior_una: u32, news: &mut AckNews, tagged: &mut Tagged) {
        let duplicates = end.saturating_sub(start);
        if duplicates == 0 || duplicates > self.stream.max_window {
            return;
        }
        news.dsack_of_probe = self.tlp.is_reported_by(start, end);
        self.stats.dsacked_segments += u64::from(duplicates);
        // More DSACKs than retransmissions: the network duplicates packets, and DSACKs prove nothing.
        if self.stats.dsacked_segments > self.stats.retransmitted_segments {
            return;
        }
        if self.detector.reordering.was_seen() && !news.dsack_of_probe {
            self.detector.rack.note_dsack();
        }
        news.dsack = true;
        self.count_delivered(duplicates, news.ece);
        if end <= prior_una {
            self.undo.note_dsack(end, duplicates);
        }
        for seq in start.max(self.board.una())..end.min(self.board.nxt()) {
            self.dsack_one(seq, tagged);
        }
    }

    /// An outstanding segment was received twice (the DSACK cases of `tcp_sacktag_one`).
    fn dsack_one(&mut self, seq: u32, tagged: &mut Tagged) {
        let record = *self.board.get(seq);
        if record.has(flag::RETRANS | flag::EVER_RETRANS) {
            self.undo.note_dsack(seq + 1, 1);
            if record.has(flag::SACKED) {
                tagged.reordered_from = tagged.reordered_from.min(seq);
            }
        }
        if record.has(flag::RETRANS) {
            self.board.get_mut(seq).flags &= !flag::RETRANS;
            self.view.retrans_out -= 1;
            if record.has(flag::LOST) {
                self.board.set_waiting(seq);
            }
        }
    }

    /// A segment was delivered (`tcp_rack_advance`).
    #[inline]
    pub(super) fn advance_rack(&mut self, seq: u32, sent: Stamp, retransmitted: bool) {
        #[expect(clippy::cast_possible_truncation, reason = "32 bits hold 71 minutes")]
        let rtt_us = age_us(self.view.mstamp_us, sent.us()) as u32;
        self.detector.rack.advance(seq, sent, retransmitted, rtt_us, self.rtt.min_us());
    }

    /// `low_seq` was delivered after higher segments, up to the highest SACK (`tcp_check_sack_reordering`).
    pub(super) fn check_sack_reordering(&mut self, low_seq: u32) {
        let highest = self.highest_sacked_or_una();
        self.detector.reordering.check_sack(low_seq, highest);
    }

    /// One above the highest selectively acknowledged segment (`tcp_highest_sack_seq`).
    #[inline]
    pub(super) fn highest_sacked_or_una(&self) -> u32 {
        if self.view.sacked_out == 0 { self.board.una() } else { self.sacks.highest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(memory: &mut SackMemory, blocks: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let blocks: Vec<_> = blocks.iter().map(|&(start, end)| SackBlock { start, end }).collect();
        let mut changed = Blocks::default();
        let changes = memory.news(&blocks, &mut changed);
        changed[..changes].iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn a_new_block_that_moves_the_others_one_place_is_the_only_news() {
        let mut memory = SackMemory::default();
        assert_eq!(news(&mut memory, &[(5, 8)]), [(5, 8)]);
        assert_eq!(news(&mut memory, &[(20, 22), (5, 8)]), [(20, 22)]);
        assert_eq!(news(&mut memory, &[(30, 31), (20, 22), (5, 8)]), [(30, 31)]);
        // The gap between two blocks is filled, and one of them leaves its place.
        assert_eq!(news(&mut memory, &[(20, 31), (5, 8)]), [(22, 31)]);
        assert_eq!(news(&mut memory, &[(40, 41), (20, 31), (5, 8)]), [(40, 41)]);
    }

    #[test]
    fn of_blocks_that_repeat_the_ack_before_only_what_is_new_is_told_lowest_first() {
        let mut memory = SackMemory::default();
        assert_eq!(news(&mut memory, &[(20, 22), (5, 8)]), [(5, 8), (20, 22)]);
        assert_eq!(news(&mut memory, &[(20, 24), (5, 8)]), [(22, 24)]);
        assert_eq!(news(&mut memory, &[(20, 24), (5, 8)]), []);
        memory.forget();
        assert_eq!(news(&mut memory, &[(20, 24)]), [(20, 24)]);
    }
}
