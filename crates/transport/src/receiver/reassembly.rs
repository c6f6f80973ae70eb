//! Segments that wait for a gap before them to be filled.
//!
//! What arrives out of order is nearly always the continuation of the newest run, and what fills gaps is nearly always
//! the segment in front of the oldest; both ends of the sorted queue are constant time. Everything else is a binary
//! search. A run never touches its neighbour.

use std::cmp::Ordering;
use std::collections::VecDeque;

/// Consecutive segments `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Payload of the run.
    pub(crate) bytes: u64,
}

/// Runs of segments beyond the first gap, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    runs: VecDeque<Run>,
    segments: u32,
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Segments held.
    #[inline]
    pub(crate) fn segments(&self) -> u32 {
        self.segments
    }

    /// The segment after the highest one held; `None` when nothing is held.
    #[inline]
    pub(crate) fn end(&self) -> Option<u32> {
        self.runs.back().map(|run| run.end)
    }

    /// Keeps the `count` segments after the highest one held, of which there must be one; they carry `bytes`.
    #[inline]
    pub(crate) fn lengthen_last(&mut self, count: u32, bytes: u64) {
        if let Some(last) = self.runs.back_mut() {
            last.end += count;
            last.bytes += bytes;
            self.segments += count;
        }
    }

    /// Keeps segment `seq`; false when it is held already.
    #[inline(always)]
    pub(crate) fn insert(&mut self, seq: u32, bytes: u64) -> bool {
        match self.runs.back_mut() {
            Some(last) if seq == last.end => {
                last.end += 1;
                last.bytes += bytes;
                self.segments += 1;
                true
            }
            _ => self.insert_elsewhere(seq, bytes),
        }
    }

    #[inline(always)]
    fn insert_elsewhere(&mut self, seq: u32, bytes: u64) -> bool {
        let index = match self.runs.back() {
            Some(last) if seq < last.end => self.runs.partition_point(|run| run.start <= seq),
            _ => self.runs.len(),
        };
        // `index` is the first run that starts behind `seq`; the run before it may hold or touch `seq`.
        let before = index.checked_sub(1).map(|i| self.runs[i].end.cmp(&seq));
        let touches_next = self.runs.get(index).is_some_and(|next| next.start == seq + 1);
        match (before, touches_next) {
            (Some(Ordering::Greater), _) => return false,
            (Some(Ordering::Equal), true) => {
                if let Some(next) = self.runs.remove(index) {
                    let run = &mut self.runs[index - 1];
                    run.end = next.end;
                    run.bytes += bytes + next.bytes;
                }
            }
            (Some(Ordering::Equal), false) => {
                let run = &mut self.runs[index - 1];
                run.end += 1;
                run.bytes += bytes;
            }
            (_, true) => {
                let run = &mut self.runs[index];
                run.start = seq;
                run.bytes += bytes;
            }
            (_, false) => self.runs.insert(index, Run { start: seq, end: seq + 1, bytes }),
        }
        self.segments += 1;
        true
    }

    /// Gives back the oldest run if it starts at `seq`.
    pub(crate) fn take(&mut self, seq: u32) -> Option<Run> {
        let run = *self.runs.front().filter(|run| run.start == seq)?;
        self.runs.pop_front();
        self.segments -= run.end - run.start;
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(reassembly: &Reassembly) -> Vec<(u32, u32, u64)> {
        reassembly.runs.iter().map(|run| (run.start, run.end, run.bytes)).collect()
    }

    #[test]
    fn runs_extend_at_both_ends_and_merge_when_a_gap_closes() {
        let mut held = Reassembly::default();
        for seq in [5, 6, 9, 4, 12, 11] {
            assert!(held.insert(seq, 10));
        }
        assert_eq!(runs(&held), [(4, 7, 30), (9, 10, 10), (11, 13, 20)]);
        assert!(held.insert(10, 10));
        assert!(held.insert(8, 10));
        assert_eq!(runs(&held), [(4, 7, 30), (8, 13, 50)]);
        assert!(held.insert(7, 3));
        assert_eq!(runs(&held), [(4, 13, 83)]);
        assert_eq!((held.segments(), held.end()), (9, Some(13)));
    }

    #[test]
    fn a_segment_held_already_is_refused_wherever_it_lies_in_its_run() {
        let mut held = Reassembly::default();
        for seq in [3, 4, 5, 8, 9] {
            held.insert(seq, 1);
        }
        for seq in [3, 4, 5, 8, 9] {
            assert!(!held.insert(seq, 1), "{seq}");
        }
        assert_eq!(held.segments(), 5);
    }

    #[test]
    fn only_the_run_at_the_gap_is_taken() {
        let mut held = Reassembly::default();
        for seq in [3, 4, 8] {
            held.insert(seq, 100);
        }
        assert_eq!(held.take(2), None);
        assert_eq!(held.take(3), Some(Run { start: 3, end: 5, bytes: 200 }));
        assert_eq!(held.take(5), None);
        assert_eq!((held.segments(), held.is_empty()), (1, false));
    }
}
