//! The segment that was to be expected (Van Jacobson's header prediction: the fast path of `tcp_rcv_established`).
//!
//! Nearly every segment is the next one and finds nothing held behind a gap; behind one, nearly every segment continues
//! the run that is newest and highest. Neither says anything about congestion. Of a receiver's work then only this is
//! left: the segment is delivered, or its run and its SACK block grow by one; and an ACK leaves now or later. What is
//! expected is found out after every segment that was not.

use super::Receiver;
use crate::{Ack, Segment};
use dumbbell_path::Ecn;
use dumbbell_units::Time;

/// What segment to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The first one that has not arrived; nothing is held.
    Next,
    /// The one behind the newest run, which is the highest.
    Ahead,
    Nothing,
}

impl Receiver {
    /// What to expect after a segment that was not expected.
    #[inline]
    pub(super) fn predict(&mut self) {
        self.expected = match self.held.end() {
            _ if self.ecn_seen || self.duplicate.is_some() => Expected::Nothing,
            None => Expected::Next,
            Some(end) if self.sack_permitted && self.sacks.newest_end() == end => Expected::Ahead,
            Some(_) => Expected::Nothing,
        };
    }

    /// Whether `segment` was expected to be the next one.
    #[inline(always)]
    pub fn expects_next(&self, segment: &Segment) -> bool {
        self.expected == Expected::Next && segment.seq == self.rcv_nxt && segment.ecn == Ecn::NotEct
    }

    /// [`Receiver::on_segment`] for a segment that was expected to be the next one.
    #[inline(always)]
    pub fn on_expected_next(&mut self, now: Time, segment: &Segment) -> Option<Ack> {
        self.note_timestamp(now, segment);
        self.rcv_nxt += 1;
        self.delivered_bytes += u64::from(segment.len);
        self.unacked_news = true;
        self.adapt_to_gap(now);
        self.grow_window(segment.len, 0);
        let must_leave = self.is_urgent() || self.delay_ack(now) || self.is_pushed(segment);
        if now >= self.round_ends_at {
            self.end_round(now, self.delivered_bytes);
        }
        must_leave.then(|| self.cumulative_ack(self.constant_window.unwrap_or_else(|| self.sizing.window(0))))
    }

    /// Whether `segment` was expected to continue the newest run behind a gap.
    #[inline(always)]
    pub fn expects_ahead(&self, segment: &Segment) -> bool {
        self.expected == Expected::Ahead
            && segment.seq == self.sacks.newest_end()
            && segment.seq < self.window_edge
            && segment.ecn == Ecn::NotEct
    }

    /// [`Receiver::on_segment`] for a segment that was expected to continue the newest run, up to the
    /// [ACK](Receiver::acknowledge): whether one leaves at once.
    #[inline(always)]
    pub fn on_expected_ahead(&mut self, now: Time, segment: &Segment) -> bool {
        self.note_timestamp(now, segment);
        self.undelivered.segments += 1;
        self.undelivered.bytes += u64::from(segment.len);
        self.held.lengthen_last(u64::from(segment.len));
        self.sacks.lengthen_newest();
        self.unacked_news = true;
        self.grow_window(segment.len, self.held.segments());
        self.sizing.make_room(segment.seq + 1 - self.rcv_nxt);
        self.is_urgent() || self.compress_ack(now)
    }
}
