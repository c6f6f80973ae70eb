//! Selective acknowledgements: which segments the receiver holds beyond a gap, and which it received twice.
//!
//! A SACKed segment is delivered, and as such it feeds RACK's clock, the delivery-rate sample and the RTT. One that
//! arrives below others, and was never sent again, was overtaken on the path: the degree of reordering follows from it.
//! A first block below the cumulative ACK, or inside the second block, reports a duplicate (DSACK, RFC 2883), the proof
//! that a retransmission was needless.

use super::{AckNews, CaState, Sender, flag};
use crate::{Ack, DeliveryRate, RecoveryRule, SackBlock};

impl Sender {
    /// Tags the segments that SACK blocks report (`tcp_sacktag_write_queue`).
    pub(super) fn process_sacks(
        &mut self,
        ack: &Ack,
        prior_una: u32,
        news: &mut AckNews,
        sack_rtt: &mut Option<(u64, u64)>,
        reordered_from: &mut u32,
    ) {
        let blocks = ack.sack_blocks();
        let first = blocks[0];
        let is_dsack = first.start < ack.ack
            || blocks.get(1).is_some_and(|second| first.end <= second.end && first.start >= second.start);
        let fresh_from = if is_dsack { 1 } else { 0 };
        if is_dsack {
            self.process_dsack(first.start, first.end, prior_una, news, reordered_from);
        }
        // Most blocks repeat what the ACK before this one reported.
        let mut reported = [SackBlock::default(); Ack::MAX_SACK_BLOCKS];
        let mut changed = [SackBlock::default(); Ack::MAX_SACK_BLOCKS];
        let mut changes = 0;
        for (place, &block) in reported.iter_mut().zip(&blocks[fresh_from..]) {
            *place = block;
            let known = self.reported.iter().find(|known| known.start <= block.start && block.start <= known.end);
            let start = known.map_or(block.start, |known| known.end);
            if start < block.end {
                changed[changes] = SackBlock { start, ..block };
                changes += 1;
            }
        }
        self.reported = reported;
        // In ascending order: a lower block is overtaken only by what earlier ACKs reported.
        let changed = &mut changed[..changes];
        if changes > 1 {
            changed.sort_unstable_by_key(|block| block.start);
        }
        for block in changed {
            let start = block.start.max(self.board.una());
            let end = block.end.min(self.board.nxt());
            let mut from = start;
            while let Some(seq) = self.board.next_unsacked(from, end) {
                from = self.tag_run_sacked(seq, end, news, sack_rtt, reordered_from);
                if from == seq {
                    self.tag_sacked(seq, news, sack_rtt, reordered_from);
                    from += 1;
                }
            }
            if start < end {
                self.highest_sacked = self.highest_sacked.max(end);
            }
        }
        if self.view.ca_state != CaState::Loss || self.undo.marker.is_some() {
            self.note_reordering(*reordered_from);
        }
    }

    /// The segments from `first` on, below `end`, as far as they were sent once and in this order, are newly reported by
    /// SACK; returns where that ends. To every counter they mean what they would mean one by one.
    #[inline]
    fn tag_run_sacked(
        &mut self,
        first: u32,
        end: u32,
        news: &mut AckNews,
        sack_rtt: &mut Option<(u64, u64)>,
        reordered_from: &mut u32,
    ) -> u32 {
        let end = self.board.set_run_sacked(first, end);
        if first == end {
            return end;
        }
        let first_sent_us = self.board.get(first).sent_us;
        let last_sent_us = self.board.get(end - 1).sent_us;
        self.advance_rack(end - 1, last_sent_us, false);
        if first < self.highest_sacked {
            *reordered_from = (*reordered_from).min(first);
        }
        news.original_acked |= first < self.high_seq;
        news.data_sacked = true;
        let (earliest_us, _) = sack_rtt.unwrap_or((first_sent_us, 0));
        *sack_rtt = Some((earliest_us, last_sent_us));
        self.view.sacked_out += end - first;
        self.view.delivered += u64::from(end - first);
        if news.ece {
            self.view.delivered_ce += u64::from(end - first);
        }
        let offered = if self.config.delivery_rate == DeliveryRate::Linux { end - 1 } else { first };
        for seq in offered..end {
            self.offer_sample(seq);
        }
        self.highest_sacked = self.highest_sacked.max(end);
        end
    }

    /// One segment is newly reported by SACK (`tcp_sacktag_one`).
    fn tag_sacked(
        &mut self,
        seq: u32,
        news: &mut AckNews,
        sack_rtt: &mut Option<(u64, u64)>,
        reordered_from: &mut u32,
    ) {
        let record = self.board.get(seq);
        let (sent_us, was_lost) = (record.sent_us, record.has(flag::LOST));
        let (in_flight_again, sent_again) = (record.has(flag::RETRANS), record.has(flag::RETRANS | flag::EVER_RETRANS));
        self.advance_rack(seq, sent_us, sent_again);
        let view = &mut self.view;
        if !sent_again {
            if seq < self.highest_sacked {
                *reordered_from = (*reordered_from).min(seq);
            }
            if seq < self.high_seq {
                news.original_acked = true;
            }
            let (first, _) = sack_rtt.unwrap_or((sent_us, 0));
            *sack_rtt = Some((first, sent_us));
        }
        if was_lost {
            view.lost_out -= 1;
            let record = self.board.get_mut(seq);
            record.flags &= !flag::LOST;
            // Without a loss mark a retransmission is believed to be still in flight.
            if in_flight_again && self.config.recovery == RecoveryRule::Linux {
                record.flags &= !flag::RETRANS;
                view.retrans_out -= 1;
            }
        }
        view.sacked_out += 1;
        view.delivered += 1;
        if news.ece {
            view.delivered_ce += 1;
        }
        news.data_sacked = true;
        self.board.set_sacked(seq);
        self.offer_sample(seq);
        self.highest_sacked = self.highest_sacked.max(seq + 1);
    }

    /// The receiver reports a duplicate (`tcp_check_dsack`, `tcp_dsack_seen`).
    fn process_dsack(&mut self, start: u32, end: u32, prior_una: u32, news: &mut AckNews, reordered_from: &mut u32) {
        let duplicates = end.saturating_sub(start);
        if duplicates == 0 || duplicates > self.max_window {
            return;
        }
        if duplicates == 1 && self.probe_end == Some(end) {
            news.dsack_of_probe = true;
        }
        self.stats.dsacked_segments += u64::from(duplicates);
        // A path that duplicates packets by itself tells nothing about our retransmissions.
        if self.stats.dsacked_segments > self.stats.retransmitted_segments {
            return;
        }
        if self.reord_seen && !news.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        news.dsack = true;
        self.view.delivered += u64::from(duplicates);
        let marker = self.undo.marker;
        if end <= prior_una && marker.is_some_and(|marker| end > marker) {
            self.undo.forget_retransmissions(duplicates);
        }
        for seq in start.max(self.board.una())..end.min(self.board.nxt()) {
            let record = *self.board.get(seq);
            if record.has(flag::RETRANS | flag::EVER_RETRANS) {
                if marker.is_some_and(|marker| seq + 1 > marker) {
                    self.undo.forget_retransmissions(1);
                }
                if record.has(flag::SACKED) {
                    *reordered_from = (*reordered_from).min(seq);
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
    }
}
