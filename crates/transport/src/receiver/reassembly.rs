//! The out-of-order queue: segments above the first hole (`out_of_order_queue`).
//!
//! It is a sorted queue of runs, no two of which touch. A segment that arrives out of order nearly always continues the
//! last run, and a segment that fills a hole nearly always connects to the first one; both take constant time. Every
//! other case is a binary search.

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

/// Runs of segments above the first hole, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    runs: VecDeque<Run>,
    segments: u32,
    /// The run that changed last, as long as there are any.
    newest: u32,
    /// The segment after the highest one that was ever held.
    end: u32,
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

    /// Payload of all segments held.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    /// The segment after the highest one held; `None` when nothing is held.
    #[inline]
    pub(crate) fn end(&self) -> Option<u32> {
        (self.segments > 0).then_some(self.end)
    }

    /// Where the run that changed last ends, and the segment at which it would touch the next run, `u32::MAX` without
    /// one; `None` when nothing is held.
    #[inline]
    pub(crate) fn newest(&self) -> Option<(u32, u32)> {
        let newest = self.newest as usize;
        let next = self.runs.get(newest + 1).map_or(u32::MAX, |next| next.start - 1);
        self.runs.get(newest).map(|run| (run.end, next))
    }

    /// Adds `count` segments with `bytes` of payload to the end of the run that changed last; they do not touch the
    /// next run.
    #[inline]
    pub(crate) fn lengthen_newest(&mut self, count: u32, bytes: u64) {
        if let Some(run) = self.runs.get_mut(self.newest as usize) {
            run.end += count;
            run.bytes += bytes;
            self.segments += count;
            self.end = self.end.max(run.end);
        }
    }

    /// Whether segment `seq` is held.
    pub(crate) fn holds(&self, seq: u32) -> bool {
        let begun = self.runs.partition_point(|run| run.start <= seq);
        begun.checked_sub(1).is_some_and(|last| seq < self.runs[last].end)
    }

    /// Adds segment `seq`; false when it is held already.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "runs are fewer than segments, whose numbers have 32 bits")]
    pub(crate) fn insert(&mut self, seq: u32, bytes: u64) -> bool {
        match self.runs.back_mut() {
            Some(last) if seq == last.end => {
                last.end += 1;
                last.bytes += bytes;
                self.segments += 1;
                self.newest = self.runs.len() as u32 - 1;
                self.end = seq + 1;
                true
            }
            _ => self.insert_elsewhere(seq, bytes),
        }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "runs are fewer than segments, whose numbers have 32 bits")]
    fn insert_elsewhere(&mut self, seq: u32, bytes: u64) -> bool {
        let index = match self.runs.back() {
            Some(last) if seq < last.end => self.runs.partition_point(|run| run.start <= seq),
            _ => self.runs.len(),
        };
        // `index` is the first run that starts behind `seq`; the run before it may hold or touch `seq`.
        let before = index.checked_sub(1).map(|i| self.runs[i].end.cmp(&seq));
        let touches_next = self.runs.get(index).is_some_and(|next| next.start == seq + 1);
        let touches_before = before == Some(Ordering::Equal);
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
        self.newest = (index - usize::from(touches_before)) as u32;
        self.segments += 1;
        self.end = self.end.max(seq + 1);
        true
    }

    /// Removes the first run if it starts at `seq`.
    pub(crate) fn take(&mut self, seq: u32) -> Option<Run> {
        let run = *self.runs.front().filter(|run| run.start == seq)?;
        self.runs.pop_front();
        self.newest = self.newest.saturating_sub(1);
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
        for seq in 0..12 {
            assert_eq!(held.holds(seq), [3, 4, 5, 8, 9].contains(&seq), "{seq}");
        }
        for seq in [3, 4, 5, 8, 9] {
            assert!(!held.insert(seq, 1), "{seq}");
        }
        assert_eq!(held.segments(), 5);
    }

    #[test]
    fn the_newest_run_is_the_one_that_changed_last() {
        let mut held = Reassembly::default();
        assert_eq!(held.newest(), None);
        for (seq, newest) in [
            (20, (21, u32::MAX)),
            (21, (22, u32::MAX)),
            (10, (11, 19)), // in front of it
            (22, (23, u32::MAX)),
            (15, (16, 19)), // between both
            (11, (12, 14)),
            (14, (16, 19)), // at the start of a run
            (9, (12, 13)),
            (12, (13, 13)),
            (13, (16, 19)), // closes a gap
        ] {
            held.insert(seq, 1);
            assert_eq!(held.newest(), Some(newest), "{seq}");
        }
        held.lengthen_newest(1, 1);
        assert_eq!(runs(&held), [(9, 17, 8), (20, 23, 3)]);
        held.insert(23, 1);
        held.take(9);
        assert_eq!(held.newest(), Some((24, u32::MAX)));
        held.take(20);
        assert_eq!(held.newest(), None);
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
