//! The fast paths of the receiver (Van Jacobson's header prediction in `tcp_rcv_established`).
//!
//! Nearly every segment is the next one, while the out-of-order queue is empty; above a hole, nearly every segment
//! continues the run that changed last. Neither carries ECN bits or an old timestamp. Behind this guard come those
//! steps of the slow path (`arrival.rs`) that can do something then. Which segment is expected is determined anew after
//! every segment that took the slow path.

use super::Receiver;
use crate::{CumulativeAck, Segment};
use dumbbell_units::{Ecn, Time};

/// What segment to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// `rcv_nxt`, with an empty out-of-order queue.
    Next,
    /// The one that continues the run that changed last; from `until` on it would touch the next run.
    Ahead { until: u32 },
    /// None: the next segment takes the slow path.
    Nothing,
    /// None, and none later on.
    NothingEver,
}

impl Receiver {
    /// From now on every segment takes the slow path, which decides the same.
    pub fn predict_nothing(&mut self) {
        self.expected = Expected::NothingEver;
    }

    /// Determines the segment to expect after one that took the slow path (`tcp_fast_path_check`).
    #[inline]
    pub(super) fn predict(&mut self) {
        self.expected = match self.held.newest() {
            _ if self.expected == Expected::NothingEver => Expected::NothingEver,
            _ if self.ecn.is_seen() || self.sack.has_duplicate() => Expected::Nothing,
            _ if self.reading.awaits_last() || self.reading.has_reader() => Expected::Nothing,
            None if self.reading.filled().is_some() => Expected::Nothing,
            None => Expected::Next,
            Some((end, until)) if self.sack.is_permitted() && self.sack.newest_end() == end => {
                Expected::Ahead { until }
            }
            Some(_) => Expected::Nothing,
        };
    }

    /// Whether `segment` was expected to be the next one.
    #[inline(always)]
    pub(super) fn expects_next(&self, segment: &Segment) -> bool {
        self.expected == Expected::Next
            && segment.seq == self.rcv_nxt
            && segment.ecn == Ecn::NotEct
            && self.timestamps.accepts(segment)
    }

    /// [`Receiver::on_segment`] for a segment that was expected to be the next one.
    #[inline(always)]
    pub(super) fn on_expected_next(&mut self, now: Time, segment: &Segment) -> Option<CumulativeAck> {
        self.take_timestamp(now, segment);
        let before = self.adapt_to_gap(now);
        self.grow_window(segment.len, 1);
        self.queue_next(segment);
        let must_leave = self.ack_in_order(now, before, segment);
        self.adjust_space(now, self.counts.delivered_bytes());
        if !must_leave {
            return None;
        }
        let window = self.window.open(&mut self.sizing);
        Some(self.cumulative_ack(now, Some(window)))
    }

    /// Whether `segment` was expected to continue the newest run above a hole.
    #[inline(always)]
    pub(super) fn expects_ahead(&self, segment: &Segment) -> bool {
        segment.seq == self.sack.newest_end()
            && matches!(self.expected, Expected::Ahead { until } if segment.seq < until)
            && segment.seq < self.window.edge()
            && segment.ecn == Ecn::NotEct
            && self.timestamps.accepts(segment)
    }

    /// [`Receiver::on_segment`] for a segment that was expected to continue the newest run, up to the
    /// [ACK](Receiver::acknowledge): whether one leaves at once. Below it `unread` segments are readable.
    #[inline(always)]
    pub(super) fn on_expected_ahead(&mut self, now: Time, segment: &Segment, unread: u32) -> bool {
        self.measure_rtt(now, segment);
        self.grow_window(segment.len, self.held.segments() + unread);
        self.lengthen_newest(1, u64::from(segment.len));
        self.make_room();
        self.ack_behind_hole(now)
    }

    /// Keeps `count` segments that continue the newest run and carry `bytes`.
    #[inline(always)]
    fn lengthen_newest(&mut self, count: u32, bytes: u64) {
        self.counts.keep(count, bytes);
        self.held.lengthen_newest(count, bytes);
        self.sack.lengthen_newest(count);
        self.acks.note_news();
    }

    /// How many segments this receiver takes without sending an ACK, if they continue the newest run one by one and
    /// nothing is to be read. The first one is [expected ahead](Receiver::expects_ahead).
    #[inline(always)]
    pub(super) fn room_in_silence(&self) -> u32 {
        let Expected::Ahead { until } = self.expected else { return 0 };
        if !self.compression.holds_back() || self.is_urgent() {
            return 0;
        }
        let next = self.sack.newest_end();
        let end = until.min(self.window.edge()).min(next + self.compression.room());
        let room = end.saturating_sub(next);
        if self.sizing.can_grow_within(room, self.held.segments(), self.held_span()) { 0 } else { room }
    }

    /// Takes `count` segments of a run, for which there is [room](Self::room_in_silence). Each is like
    /// [`Receiver::on_expected_ahead`] with no ACK.
    #[inline(always)]
    pub(super) fn take_in_silence(&mut self, now: Time, first: &Segment, count: u32) {
        // They left together with the first one, so their timestamps are equal; and flags have no effect above a hole.
        self.measure_rtt(now, first);
        self.lengthen_newest(count, u64::from(count) * u64::from(first.len));
        self.compression.join(count);
        self.make_room();
    }

    /// Whether everything so far has arrived and is acknowledged, and no quick ACKs are left: only then it may be in
    /// steady state.
    #[inline(always)]
    pub fn is_settled(&self) -> bool {
        self.expected == Expected::Next && self.last_acked == self.rcv_nxt && !self.acks.is_quick()
    }
}
