//! The fast paths of the receiver (Van Jacobson's header prediction in `tcp_rcv_established`).
//!
//! Nearly every segment is the next one, while the out-of-order queue is empty; above a hole, nearly every segment
//! continues the run that changed last. Neither carries ECN bits or an old timestamp. Then only this is left to do: the
//! segment is delivered, or its run and its SACK block grow by one; and an ACK leaves now or later. Which segment is
//! expected is determined anew after every segment that took the slow path.

use super::{COMPRESSED_ACKS_MAX, Receiver};
use crate::{CumulativeAck, Segment};
use dumbbell_path::Ecn;
use dumbbell_units::Time;

/// What segment to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// `rcv_nxt`, with an empty out-of-order queue.
    Next,
    /// The one that continues the run that changed last; from `until` on it would touch the next run.
    Ahead { until: u32 },
    /// None: every segment takes the slow path.
    Nothing,
}

impl Receiver {
    /// From now on every segment takes the slow path, which decides the same.
    pub fn predict_nothing(&mut self) {
        self.predicts = false;
        self.expected = Expected::Nothing;
    }

    /// Determines the segment to expect after one that took the slow path (`tcp_fast_path_check`).
    #[inline]
    pub(super) fn predict(&mut self) {
        self.expected = match self.held.newest() {
            _ if self.ecn_seen || !self.timestamps || !self.predicts => Expected::Nothing,
            _ if self.awaits_last_read() || self.has_unreported_duplicate() || self.has_reader() => Expected::Nothing,
            None if self.has_unread() => Expected::Nothing,
            None => Expected::Next,
            Some((end, until)) if self.sack_permitted && self.sacks.newest_end() == end => Expected::Ahead { until },
            Some(_) => Expected::Nothing,
        };
    }

    /// Whether `segment` was expected to be the next one.
    #[inline(always)]
    pub(super) fn expects_next(&self, segment: &Segment) -> bool {
        self.expected == Expected::Next
            && segment.seq == self.rcv_nxt
            && segment.ecn == Ecn::NotEct
            && segment.sent_at >= self.recent_timestamp
    }

    /// [`Receiver::on_segment`] for a segment that was expected to be the next one.
    #[inline(always)]
    pub(super) fn on_expected_next(&mut self, now: Time, segment: &Segment) -> Option<CumulativeAck> {
        self.measure_rtt(now, segment);
        if segment.seq <= self.last_acked {
            self.recent_timestamp = segment.sent_at;
        }
        self.note_short(segment);
        self.rcv_nxt += 1;
        self.delivered_bytes += u64::from(segment.len);
        self.unacked_news = true;
        let before = self.adapt_to_gap(now);
        self.grow_window(segment.len, 1);
        let must_leave = self.is_urgent_in_order(now, before) || self.delay_ack(now) || self.answers_read(now, segment);
        if now >= self.round_ends_at {
            self.end_round(now, self.delivered_bytes);
        }
        if !must_leave {
            return None;
        }
        let window = self.open_window();
        Some(self.cumulative_ack(now, Some(window)))
    }

    /// Whether `segment` was expected to continue the newest run above a hole.
    #[inline(always)]
    pub(super) fn expects_ahead(&self, segment: &Segment) -> bool {
        segment.seq == self.sacks.newest_end()
            && matches!(self.expected, Expected::Ahead { until } if segment.seq < until)
            && segment.seq < self.window_edge
            && segment.ecn == Ecn::NotEct
            && segment.sent_at >= self.recent_timestamp
    }

    /// [`Receiver::on_segment`] for a segment that was expected to continue the newest run, up to the
    /// [ACK](Receiver::acknowledge): whether one leaves at once. Below it `unread` segments are readable.
    #[inline(always)]
    pub(super) fn on_expected_ahead(&mut self, now: Time, segment: &Segment, unread: u32) -> bool {
        self.measure_rtt(now, segment);
        self.grow_window(segment.len, self.held.segments() + unread);
        self.hold_ahead(1, u64::from(segment.len));
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

    /// How many segments this receiver takes without sending an ACK, if they continue the newest run one by one and nothing is
    /// to be read. The first one is [expected ahead](Receiver::expects_ahead).
    #[inline(always)]
    pub(super) fn room_in_silence(&self) -> u32 {
        let Expected::Ahead { until } = self.expected else { return 0 };
        if self.compressed_acks == 0 || self.is_urgent() {
            return 0;
        }
        let next = self.sacks.newest_end();
        let end = until.min(self.window_edge).min(next + u32::from(COMPRESSED_ACKS_MAX - self.compressed_acks));
        let room = end.saturating_sub(next);
        if self.sizing.can_grow_within(room, self.held.segments(), self.held_span()) { 0 } else { room }
    }

    /// Takes `count` segments of a run, for which there is [room](Self::room_in_silence). Each is like
    /// [`Receiver::on_segment`] with no ACK.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there is room for 44 at most")]
    pub(super) fn take_in_silence(&mut self, now: Time, first: &Segment, count: u32) {
        // They left together with the first one, so their timestamps are the same; and flags have no effect above a hole.
        self.measure_rtt(now, first);
        self.hold_ahead(count, u64::from(count) * u64::from(first.len));
        self.compressed_acks += count as u8;
        self.sizing.make_room(self.held_span());
    }
}
