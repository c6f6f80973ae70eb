//! Loss detection by counting (`IsLost` of RFC 6675): a segment is lost once so many segments above it are selectively
//! acknowledged as the degree of reordering says.
//!
//! The count says nothing about retransmissions, so a lost one is found only by the retransmission timeout. ns-3 works
//! this way; Linux did before RACK.

use crate::scoreboard::{NewlyLost, Scoreboard, flag};

/// The duplicate threshold as a loss detector.
#[derive(Clone, Debug, Default)]
pub struct DupThresh {
    /// Every segment below this was looked at before.
    judged_below: u32,
}

impl DupThresh {
    /// Marks every segment with at least `degree` selectively acknowledged segments above it as lost, and tells
    /// `on_lost` (`tcp_mark_head_lost`). `sacked_out` segments are selectively acknowledged, the highest one below
    /// `highest_sacked`.
    pub fn detect_loss(
        &mut self,
        board: &mut Scoreboard,
        degree: u32,
        sacked_out: u32,
        highest_sacked: u32,
        mut on_lost: impl FnMut(&Scoreboard, NewlyLost),
    ) {
        if sacked_out < degree {
            return;
        }
        let mut above = 0;
        let mut bound = highest_sacked;
        while above < degree && bound > board.una() {
            bound -= 1;
            above += u32::from(board.get(bound).has(flag::SACKED));
        }
        // Below `bound` every segment has enough selectively acknowledged ones above it.
        let mut from = self.judged_below.max(board.una());
        while let Some(seq) = board.next_unsacked(from, bound) {
            let record = board.get(seq);
            // A rescue retransmits a segment that is not marked lost. If it is found lost later, its retransmission
            // stays in flight.
            if !record.has(flag::LOST) && record.has(flag::RETRANS) == record.has(flag::EVER_RETRANS) {
                if let Some(lost) = board.mark_lost(seq) {
                    on_lost(board, lost);
                }
                if board.get(seq).has(flag::LISTED) {
                    board.list_remove(seq);
                }
            }
            from = seq + 1;
        }
        self.judged_below = self.judged_below.max(bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Record;

    /// Segments `0..10` of which these are selectively acknowledged.
    fn sacked(seqs: &[u32]) -> Scoreboard {
        let mut board = Scoreboard::new();
        board.push_burst(&Record::default(), 10, 1448);
        for &seq in seqs {
            board.set_sacked(seq);
        }
        board
    }

    fn lost(detector: &mut DupThresh, board: &mut Scoreboard) -> Vec<u32> {
        let sacked: Vec<u32> = (board.una()..board.nxt()).filter(|&seq| board.get(seq).has(flag::SACKED)).collect();
        let highest = sacked.last().map_or(board.una(), |seq| seq + 1);
        let mut found = Vec::new();
        let sacked_out = u32::try_from(sacked.len()).unwrap();
        detector.detect_loss(board, 3, sacked_out, highest, |_, lost| found.push(lost.first));
        found
    }

    #[test]
    fn a_segment_is_lost_when_three_above_it_are_held() {
        assert_eq!(lost(&mut DupThresh::default(), &mut sacked(&[1, 2])), [0; 0]);
        assert_eq!(lost(&mut DupThresh::default(), &mut sacked(&[1, 2, 3])), [0]);
        // Segments 4 and 6 have 5, 7 and 8 above them; segment 6 has two.
        assert_eq!(lost(&mut DupThresh::default(), &mut sacked(&[5, 7, 8])), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn each_segment_is_found_once() {
        let (mut detector, mut board) = (DupThresh::default(), sacked(&[1, 2, 3]));
        assert_eq!(lost(&mut detector, &mut board), [0]);
        board.set_sacked(7);
        assert_eq!(lost(&mut detector, &mut board), [0; 0]);
        board.set_sacked(8);
        board.set_sacked(9);
        assert_eq!(lost(&mut detector, &mut board), [4, 5, 6]);
    }

    #[test]
    fn a_lost_retransmission_is_not_found_and_a_rescued_segment_is() {
        let (mut detector, mut board) = (DupThresh::default(), sacked(&[1, 2, 3]));
        lost(&mut detector, &mut board);
        let again = Record { flags: flag::RETRANS, ..Record::default() };
        board.push_again(&again, 0, 1);
        board.push_again(&again, 4, 1);
        for seq in [5, 6, 7, 8] {
            board.set_sacked(seq);
        }
        assert_eq!(lost(&mut detector, &mut board), [4]);
        assert!(board.get(4).has(flag::RETRANS), "its copy is in flight");
    }
}
