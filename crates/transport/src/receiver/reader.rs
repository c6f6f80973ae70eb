//! An application that reads more slowly than data arrives, or pauses.
//!
//! It reads a segment at a time, at a rate that may change. What it has not read takes room in the receive window, which closes
//! when the buffer is full (RFC 9293, section 3.8.6). A read that makes the window at least twice what is left of it is
//! announced (`tcp_cleanup_rbuf`); a window of less than a segment, or of less than a sixteenth of the buffer, is told as
//! closed (`__tcp_select_window`), so that no silly window arises. Two segments that the application has not read make the
//! window smaller than it was told, so their ACK waits for its next read (`__tcp_ack_snd_check`).

use super::{Receiver, Window};
use crate::Ack;
use dumbbell_path::Schedule;
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

const NANOS: u128 = 1_000_000_000;
/// The smallest window that is told, as a part of the buffer (`__tcp_select_window`).
const SMALLEST_PART: u32 = 16;

/// What an application has read, and when it reads next.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// Bits per second; 0 is a pause, [`u64::MAX`] as fast as data comes.
    schedule: Arc<Schedule<u64>>,
    mss: u64,
    /// Bytes that it has read.
    read: u64,
    /// Up to when its work is accounted for, and what it has done of the segment that it reads, in 10⁻⁹ bits.
    clock: Time,
    done: u128,
    /// A segment with PSH waits for the read.
    is_pushed: bool,
}

impl Reader {
    fn new(schedule: Arc<Schedule<u64>>, mss: u32) -> Reader {
        Reader { schedule, mss: mss.into(), read: 0, clock: Time::ZERO, done: 0, is_pushed: false }
    }

    /// What is left to do of the segment that is read now, of `unread` bytes.
    fn to_do(&self, unread: u64) -> u128 {
        (u128::from(unread.min(self.mss)) * 8 * NANOS).saturating_sub(self.done)
    }

    /// Reads what it can up to `now`, of `delivered` bytes that were there since the last call.
    fn advance(&mut self, now: Time, delivered: u64) {
        while self.read < delivered && self.clock < now {
            let rate = self.schedule.at(self.clock);
            let until = self.schedule.next_change(self.clock).min(now);
            if rate == u64::MAX {
                self.read = delivered;
                break;
            }
            let to_do = self.to_do(delivered - self.read);
            let possible = u128::from(rate) * u128::from(until.since(self.clock).as_nanos());
            if possible < to_do {
                (self.clock, self.done) = (until, self.done + possible);
                continue;
            }
            self.clock += nanos(to_do.div_ceil(u128::from(rate)));
            self.read += (delivered - self.read).min(self.mss);
            self.done = 0;
        }
        if self.read == delivered {
            (self.clock, self.done) = (now, 0);
        }
    }

    /// When the next segment of `delivered` bytes has been read, or the rate changes before; [`Time::NEVER`] if nothing is
    /// there to read.
    fn next(&self, delivered: u64) -> Time {
        if self.read == delivered {
            return Time::NEVER;
        }
        let change = self.schedule.next_change(self.clock);
        match self.schedule.at(self.clock) {
            0 => change,
            u64::MAX => self.clock + Duration::from_nanos(1),
            rate => change.min(self.clock + nanos(self.to_do(delivered - self.read).div_ceil(u128::from(rate)))),
        }
    }

    /// Segments that are there and not read.
    fn unread(&self, delivered: u64) -> u32 {
        u32::try_from((delivered - self.read).div_ceil(self.mss)).unwrap_or(u32::MAX)
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Receiver {
    /// The application reads at these rates, in bits per second; 0 is a pause, [`u64::MAX`] as fast as data comes. Before the
    /// first segment.
    pub fn set_reader(&mut self, schedule: Arc<Schedule<u64>>) {
        self.rare.get_or_insert_default().reader = Some(Reader::new(schedule, self.mss));
        self.predict();
    }

    /// Whether the application reads at a rate.
    #[inline]
    pub(super) fn has_reader(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.reader.is_some())
    }

    /// Segments that such an application has not read at `now`; `None` where there is none.
    #[inline]
    pub(super) fn unread_by_reader(&mut self, now: Time) -> Option<u32> {
        if self.has_reader() { self.read_until(now) } else { None }
    }

    // Kept apart, because most receivers have no reader.
    #[cold]
    fn read_until(&mut self, now: Time) -> Option<u32> {
        let delivered = self.delivered_bytes;
        let reader = self.rare.as_mut()?.reader.as_mut()?;
        reader.advance(now, delivered);
        Some(reader.unread(delivered))
    }

    /// The window to tell beside `unread` and `held` segments, where it is constant: closed rather than small.
    pub(super) fn constant_window_beside(&self, window: u32, unread: u32, held: u32) -> Window {
        let taken = if self.held_data_takes_window { held } else { 0 };
        let free = window.saturating_sub(taken).saturating_sub(unread);
        let is_silly = unread > 0 && free < (window / SMALLEST_PART).max(1);
        Window { segments: if is_silly { 0 } else { free }, excess: 0 }
    }

    /// Segments that the window has room for, whatever was told before.
    fn offered(&mut self, unread: u32) -> u32 {
        let held = self.held.segments();
        match self.constant_window {
            Some(window) => self.constant_window_beside(window.get(), unread, held).segments,
            None => {
                let none = Window::default();
                self.sizing.window_from(none, unread + held).map_or(0, |window| window.segments)
            }
        }
    }

    /// [`Receiver::is_urgent`] for data in order that the application reads at a rate: what only `ack_every` makes urgent waits
    /// for its next read, unless the window is as large as it was told.
    pub(super) fn is_urgent_before_read(&mut self, now: Time, is_pushed: bool) -> bool {
        let unread = self.unread_by_reader(now).unwrap_or(0);
        if let Some(reader) = self.rare.as_mut().and_then(|rare| rare.reader.as_mut()) {
            reader.is_pushed |= is_pushed;
        }
        let told = self.window_edge - self.last_acked;
        let is_urgent = self.is_urgent() && (self.quick > 0 || self.ack_now || self.offered(unread) >= told);
        self.expect_read();
        is_urgent
    }

    /// An ACK has left that covers everything.
    pub(super) fn read_on(&mut self) {
        self.take_push();
        self.expect_read();
    }

    /// Wakes up when the application has read the next segment.
    fn expect_read(&mut self) {
        let reader = self.rare.as_ref().and_then(|rare| rare.reader.as_ref());
        if let Some(reader) = reader {
            self.exact_ack_at = self.exact_ack_at.min(reader.next(self.delivered_bytes));
        }
    }

    /// The application may have read something by `now`; the acknowledgement that this, or a timer, causes
    /// (`__tcp_cleanup_rbuf`).
    pub(super) fn on_read(&mut self, now: Time) -> Option<Ack> {
        let unread = self.unread_by_reader(now)?;
        let read = self.rare.as_ref().and_then(|rare| rare.reader.as_ref()).map_or(0, |reader| reader.read);
        if now >= self.round_ends_at {
            self.finish_round(read);
        }
        let has_news = self.unacked_news
            && (self.rcv_nxt - self.last_acked >= self.ack_every || self.take_push() || self.compressed_acks > 0);
        let left = self.window_edge - self.rcv_nxt;
        let opens = self.offered(unread) >= left.saturating_mul(2).max(1);
        let most = self.constant_window.map_or(u32::MAX, |window| window.get());
        if now >= self.delayed_ack_at || has_news || (opens && left.saturating_mul(2) <= most) {
            return Some(self.acknowledge(now));
        }
        self.exact_ack_at = Time::NEVER;
        self.expect_read();
        None
    }

    fn take_push(&mut self) -> bool {
        let reader = self.rare.as_mut().and_then(|rare| rare.reader.as_mut());
        reader.is_some_and(|reader| std::mem::take(&mut reader.is_pushed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(steps: &[(u64, u64)]) -> Reader {
        let steps: Vec<_> = steps.iter().map(|&(ms, rate)| (at(ms), rate)).collect();
        Reader::new(Arc::new(Schedule::new(steps, None).unwrap()), 1_000)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn segments_are_read_one_after_the_other_at_the_rate() {
        // A segment of 1000 bytes takes a millisecond.
        let mut reader = reader(&[(0, 8_000_000)]);
        reader.advance(at(10), 0);
        assert_eq!(reader.next(0), Time::NEVER, "nothing is there");
        assert_eq!((reader.next(2_500), reader.unread(2_500)), (at(11), 3));
        reader.advance(at(12), 2_500);
        assert_eq!((reader.read, reader.unread(2_500)), (2_000, 1));
        assert_eq!(reader.next(2_500), at(12) + Duration::from_micros(500));
        reader.advance(at(20), 2_500);
        assert_eq!((reader.read, reader.next(2_500)), (2_500, Time::NEVER));
        assert_eq!(reader.next(3_500), at(21), "it has not read ahead");
    }

    #[test]
    fn a_pause_keeps_what_was_done_and_no_limit_reads_everything() {
        let mut reader = reader(&[(0, 8_000_000), (10, 0), (30, 4_000_000), (40, u64::MAX)]);
        reader.advance(at(9), 0);
        reader.advance(at(10), 500);
        assert_eq!(reader.read, 500);
        reader.advance(at(20), 9_500);
        assert_eq!((reader.read, reader.next(9_500)), (500, at(30)), "a pause");
        reader.advance(at(33), 9_500);
        assert_eq!((reader.read, reader.next(9_500)), (1_500, at(34)));
        reader.advance(at(41), 9_500);
        assert_eq!(reader.read, 9_500);
    }
}
