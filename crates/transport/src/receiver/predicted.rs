//! The segment that was to be expected (Van Jacobson's header prediction: the fast path of `tcp_rcv_established`).
//!
//! Nearly every segment is the next one and finds nothing held behind a gap; behind one, nearly every segment continues
//! the run that changed last. Neither says anything about congestion. Of a receiver's work then only this is left: the
//! segment is delivered, or its run and its SACK block grow by one; and an ACK leaves now or later. What is expected is
//! found out after every segment that was not.

use super::{COMPRESSED_ACKS_MAX, Receiver};
use crate::{Ack, Segment};
use dumbbell_path::Ecn;
use dumbbell_units::Time;

/// What segment to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The first one that has not arrived; nothing is held.
    Next,
    /// The one behind the run that changed last; from `until` on it would touch the next run.
    Ahead {
        until: u32,
    },
    Nothing,
}

impl Receiver {
    /// What to expect after a segment that was not expected.
    #[inline]
    pub(super) fn predict(&mut self) {
        self.expected = match self.held.newest() {
            _ if self.ecn_seen || self.duplicate.is_some() => Expected::Nothing,
            None => Expected::Next,
            Some((end, until)) if self.sack_permitted && self.sacks.newest_end() == end => Expected::Ahead { until },
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
        segment.seq == self.sacks.newest_end()
            && matches!(self.expected, Expected::Ahead { until } if segment.seq < until)
            && segment.seq < self.window_edge
            && segment.ecn == Ecn::NotEct
    }

    /// [`Receiver::on_segment`] for a segment that was expected to continue the newest run, up to the
    /// [ACK](Receiver::acknowledge): whether one leaves at once.
    #[inline(always)]
    pub fn on_expected_ahead(&mut self, now: Time, segment: &Segment) -> bool {
        self.note_timestamp(now, segment);
        self.hold_ahead(1, u64::from(segment.len));
        self.grow_window(segment.len, self.held.segments());
        self.sizing.make_room(self.held_span());
        self.is_urgent() || self.compress_ack(now)
    }

    /// Keeps `count` segments that continue the newest run and carry `bytes`.
    #[inline(always)]
    fn hold_ahead(&mut self, count: u32, bytes: u64) {
        self.undelivered.segments += u64::from(count);
        self.undelivered.bytes += bytes;
        self.held.lengthen_newest(count, bytes);
        self.sacks.lengthen_newest(count);
        self.unacked_news = true;
    }

    /// The silence of this receiver, if it is going to be silent for a while.
    #[inline]
    pub fn silence(&mut self) -> Option<Silence<'_>> {
        let Expected::Ahead { until } = self.expected else { return None };
        let is_silent = self.compressed_acks > 0
            && !self.is_urgent()
            // Room is made for a segment with every one held, so that what cannot grow now cannot with those either.
            && !self.sizing.can_grow(self.held.segments() + 1);
        let next = self.sacks.newest_end();
        let end = until.min(self.window_edge).min(next + COMPRESSED_ACKS_MAX - self.compressed_acks);
        is_silent.then_some(Silence { next, end, bytes: 0, receiver: self })
    }
}

/// Segments that continue the newest run of a receiver while the ACK for them is held back with others.
///
/// Each is like [`Receiver::on_segment`] with no ACK, and what a receiver does with them concerns nobody else. So they may
/// be given to it ahead of their time, for which this is quicker.
#[derive(Debug)]
pub struct Silence<'r> {
    receiver: &'r mut Receiver,
    next: u32,
    /// Here the receiver speaks again.
    end: u32,
    bytes: u64,
}

impl Silence<'_> {
    /// When the ACK leaves that is held back.
    #[inline]
    pub fn until(&self) -> Time {
        self.receiver.compressed_ack_at
    }

    /// Whether `segment`, which arrives at `now`, before [`until`](Self::until), was taken.
    #[inline(always)]
    pub fn takes(&mut self, now: Time, segment: &Segment) -> bool {
        let belongs = segment.seq == self.next && self.next < self.end && segment.ecn == Ecn::NotEct;
        if belongs {
            self.receiver.note_timestamp(now, segment);
            self.bytes += u64::from(segment.len);
            self.next += 1;
        }
        belongs
    }

    /// Tells the receiver how many segments were taken; returns it.
    #[inline]
    pub fn end(self) -> u32 {
        let Silence { receiver, next, bytes, .. } = self;
        let count = next - receiver.sacks.newest_end();
        if count > 0 {
            receiver.hold_ahead(count, bytes);
            receiver.compressed_acks += count;
            receiver.sizing.make_room(receiver.held_span());
        }
        count
    }
}
