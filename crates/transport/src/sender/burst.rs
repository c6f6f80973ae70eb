//! Consecutive segments that leave together.

use crate::{Flags, Segment};
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::{Ecn, Time};

/// Consecutive segments that leave together: what Linux hands down as one buffer for segmentation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Burst {
    /// Those not taken from the iterator yet.
    pub(super) next: u32,
    pub(super) end: u32,
    /// Payload bytes of all of them.
    pub bytes: u64,
    pub(super) sent_at: Time,
    pub(super) echo: Timestamp,
    pub(super) mss: u16,
    pub(super) last_len: u16,
    /// It was sent before.
    pub is_retransmission: bool,
    pub(super) ecn: Ecn,
    pub(super) next_flags: Flags,
}

impl Iterator for Burst {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        let seq = self.next;
        if seq == self.end {
            return None;
        }
        let len = if self.remaining() == 1 { self.last_len } else { self.mss };
        let flags = self.next_flags;
        self.next += 1;
        self.next_flags = Burst::flags_behind_first(self.remaining() == 1);
        Some(Segment { seq, len, ecn: self.ecn, flags, sent_at: self.sent_at, echo: self.echo })
    }
}

impl Burst {
    /// Segments that have not been taken.
    #[inline]
    pub fn remaining(&self) -> u32 {
        self.end - self.next
    }

    /// The first segment, if all differ only in their numbers and flags.
    #[inline]
    pub fn first_of_alike(mut self) -> Option<Segment> {
        if self.last_len == self.mss { self.next() } else { None }
    }

    /// The PSH bit of the first segment of a burst of `size`: where it leaves alone and ends what the application has
    /// written (`tcp_push`).
    #[inline]
    pub(super) fn push_of_first(size: u32, ends_write: bool) -> Flags {
        if size == 1 && ends_write { Flags::PSH } else { Flags::NONE }
    }

    /// The flags of a segment that is not the first one of its burst: of the last one, or of one between them.
    #[inline]
    pub fn flags_behind_first(is_last: bool) -> Flags {
        // PSH tells a receiver that merges segments (GRO) where a burst ends.
        if is_last { Flags::PSH } else { Flags::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURST: Burst = Burst {
        next: 7,
        end: 10,
        bytes: 3_396,
        sent_at: Time::ZERO,
        echo: Timestamp::from_bits(0),
        mss: 1448,
        last_len: 500,
        is_retransmission: false,
        ecn: Ecn::NotEct,
        next_flags: Flags::CWR,
    };

    #[test]
    fn the_first_segment_tells_of_a_reduction_and_the_last_one_ends_the_burst() {
        let segments: Vec<_> = BURST.map(|segment| (segment.seq, segment.len, segment.flags)).collect();
        assert_eq!(segments, [(7, 1448, Flags::CWR), (8, 1448, Flags::NONE), (9, 500, Flags::PSH)]);
    }

    #[test]
    fn segments_are_alike_when_the_last_one_is_full() {
        assert_eq!(BURST.first_of_alike(), None);
        let full = Burst { last_len: 1448, ..BURST };
        assert_eq!(full.first_of_alike().map(|segment| segment.seq), Some(7));
    }
}
