//! What follows from the application's reads: ACKs that wait for them (`tcp_cleanup_rbuf`), and rounds of the window's
//! right-sizing that end with one (`tcp_rcv_space_adjust`).

use super::Receiver;
use super::reader::Reader;
use super::reading::EarlyAck;
use crate::{Ack, Segment};
use dumbbell_parameters::Schedule;
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

impl Receiver {
    /// The application reads at these rates, in bits per second; 0 is a pause, [`u64::MAX`] as fast as data comes.
    /// Before the first segment.
    pub fn set_reader(&mut self, schedule: Arc<Schedule<u64>>) {
        self.reading.set_reader(schedule, self.sizing.mss());
        self.predict();
    }

    /// Whether the application has not read everything at the arrival of a segment.
    pub(super) fn has_unread_at(&self, now: Time) -> bool {
        let gap = now.since(self.acks.last_data_at());
        // What came between two reads is acknowledged by the second of them, unless each segment is at once.
        let is_waiting = gap == Duration::ZERO || self.rcv_nxt != self.last_acked;
        (gap < self.reading.delay() && is_waiting) || self.reading.filled().is_some()
    }

    /// Segments that take room because the application has not read them.
    #[inline(always)]
    pub(super) fn unread(&mut self, now: Time) -> u32 {
        self.reading.unread(now, self.counts.delivered_bytes())
    }

    /// The segment that has just arrived is read, `read` bytes in all: that may end a round. The application reads
    /// buffer by buffer, and the first one ends it.
    #[inline(always)]
    pub(super) fn adjust_space(&mut self, now: Time, read: u64) {
        if now >= self.sizing.round_ends_at() {
            self.end_round(now, read);
        }
    }

    /// When the application has read the segment that arrived at `now`, it has read `read` bytes in all, and for a
    /// round trip. What arrives until then waits behind that segment.
    #[cold]
    fn end_round(&mut self, now: Time, read: u64) {
        if self.reading.delay() == Duration::ZERO {
            return self.finish_round(read);
        }
        self.reading.expect_last(now, read);
        self.sizing.set_round_end(None);
        self.predict();
    }

    /// What a filled hole made readable takes no more room if the instant of its read `is_over`, and the round is
    /// finished if that is so of the read which ends it.
    #[inline(always)]
    pub(super) fn note_reads(&mut self, is_over: impl Fn(Time) -> bool) {
        if let Some(read) = self.reading.take_over(is_over) {
            self.finish_round(read);
        }
    }

    /// The application has read for a round trip, `read` bytes in all (`tcp_rcv_space_adjust`).
    #[cold]
    fn finish_round(&mut self, read: u64) {
        if let Some(rtt) = self.rtt.smoothed() {
            let queued = self.counts.delivered_bytes() - read;
            self.sizing.end_round(self.acks.last_data_at(), rtt, read, queued, self.held_span());
        }
        self.set_round_end();
    }

    /// Determines when the round of [`RightSizing`](super::RightSizing) ends, unless the read that ends it is known.
    #[inline(never)]
    pub(super) fn set_round_end(&mut self) {
        if !self.reading.awaits_last() {
            self.sizing.set_round_end(self.rtt.smoothed());
        }
    }

    /// Whether the ACK waits until the application has read: it wakes up `read_delay` after the segment before, and
    /// reads everything that has arrived until then. Linux sends an ACK on arrival only if the window would not be
    /// smaller than the last one told (`__tcp_ack_snd_check`), and two unread segments make it smaller, unless it is
    /// growing, when quick ACKs are left, or is told in units that [hide](super::RightSizing::hides) them.
    #[cold]
    pub(super) fn waits_for_reader(&mut self, now: Time, before: Time) -> bool {
        let has_unread_before = self.unacked() > 1 && before != Time::NEVER;
        if self.acks.is_due() || !has_unread_before {
            return false;
        }
        let unread = self
            .reading
            .early(now)
            .unwrap_or(EarlyAck { unread_from: self.last_acked, reads_at: before + self.reading.delay() });
        if self.sizing.hides(self.rcv_nxt - unread.unread_from, self.held.segments()) {
            self.reading.note_early(unread);
            return false;
        }
        self.acks.wake_by(unread.reads_at);
        true
    }

    /// Whether two segments that come faster than the application reads wait for it.
    #[inline]
    pub(super) fn waits_until_read(&self, now: Time) -> bool {
        self.reading.early(now).is_none() && !self.sizing.hides(2, 0)
    }

    /// Whether what a repair has made readable, below another hole, leaves room for less than the window that was told
    /// last. Then the number of segments alone makes no ACK urgent, and it counts as the first duplicate
    /// (`__tcp_ack_snd_check`). To look at the window ends quick ACKs where room is scarce (`__tcp_select_window`).
    pub(super) fn narrows_window(&mut self, now: Time) -> bool {
        if self.unacked() < self.acks.every() || self.window.constant().is_some() {
            return false;
        }
        // At least the segment that has arrived is unread.
        let queued = self.held.segments() + self.unread(now).max(1);
        if self.sizing.is_scarce(queued) {
            self.acks.end_quick();
        }
        let told = self.window.left_from(self.last_acked);
        !self.acks.is_quick() && !self.acks.is_due() && self.sizing.window_from(told, queued).is_none()
    }

    /// Whether the ACK of data in order leaves now that the application reads at a rate: what only the number of
    /// segments makes urgent waits for its next read, unless the window is as large as it was told.
    #[cold]
    pub(super) fn ack_before_read(&mut self, now: Time, segment: &Segment) -> bool {
        let unread = self.unread(now);
        let is_pushed = self.is_pushed(segment);
        if let Some(reader) = self.reading.reader() {
            reader.note_push(is_pushed);
        }
        let told = self.window.segments_from(self.last_acked);
        let is_urgent =
            self.is_urgent() && (self.acks.is_quick() || self.acks.is_due() || self.offered(unread) >= told);
        self.expect_read();
        if self.held.is_empty() {
            is_urgent || self.acks.delay(now, &self.rtt)
        } else {
            is_urgent || self.compress_ack(now)
        }
    }

    /// Segments that the window has room for, whatever was told before.
    fn offered(&mut self, unread: u32) -> u32 {
        self.window.offered(unread, self.held.segments(), &mut self.sizing)
    }

    /// An ACK has left that covers everything.
    pub(super) fn read_on(&mut self) {
        self.reading.reader().map(Reader::take_push);
        self.expect_read();
    }

    /// Wakes up when the application has read the next segment.
    fn expect_read(&mut self) {
        let delivered = self.counts.delivered_bytes();
        if let Some(reader) = self.reading.reader() {
            self.acks.wake_by(reader.next(delivered));
        }
    }

    /// The application may have read something by `now`; the acknowledgement that this, or a timer, causes
    /// (`__tcp_cleanup_rbuf`).
    pub(super) fn on_read(&mut self, now: Time) -> Option<Ack> {
        let unread = self.unread(now);
        let read = self.reading.reader()?.read();
        if now >= self.sizing.round_ends_at() {
            self.finish_round(read);
        }
        let covers_enough = self.unacked() >= self.acks.every();
        let has_news = self.acks.has_news()
            && (covers_enough || self.reading.reader().is_some_and(Reader::take_push) || self.compression.holds_back());
        let left = self.window.segments_from(self.rcv_nxt);
        let opens = self.offered(unread) >= left.saturating_mul(2).max(1);
        let most = self.window.constant().unwrap_or(u32::MAX);
        if self.acks.is_delayed_over(now) || has_news || (opens && left.saturating_mul(2) <= most) {
            return Some(self.acknowledge(now));
        }
        self.acks.forget_exact();
        self.expect_read();
        None
    }
}
