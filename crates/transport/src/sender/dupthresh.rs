//! Loss detection by counting (RFC 6675): a segment is lost once `reordering` segments above it are selectively
//! acknowledged.
//!
//! A retransmission leaves no trace in that count, so one that is lost is found only by the retransmission timeout. ns-3
//! works this way; Linux did before RACK.

use super::{Sender, flag};

impl Sender {
    /// Marks what the selective acknowledgements show to be lost (`IsLost` of RFC 6675).
    pub(super) fn mark_lost_by_threshold(&mut self) {
        if self.view.sacked_out < self.reordering {
            return;
        }
        let mut above = 0;
        let mut bound = self.highest_sacked;
        while above < self.reordering && bound > self.board.una() {
            bound -= 1;
            above += u32::from(self.board.get(bound).has(flag::SACKED));
        }
        // Below `bound` every segment has enough selectively acknowledged ones above it.
        let mut from = self.judged_below.max(self.board.una());
        while let Some(seq) = self.board.next_unsacked(from, bound) {
            let record = self.board.get(seq);
            // What was retransmitted and is not marked was rescued: it is lost all the same, and its copy in flight.
            if !record.has(flag::LOST) && record.has(flag::RETRANS) == record.has(flag::EVER_RETRANS) {
                self.mark_lost(seq);
                if self.board.get(seq).has(flag::LISTED) {
                    self.board.list_remove(seq);
                }
            }
            from = seq + 1;
        }
        self.judged_below = self.judged_below.max(bound);
    }
}
