//! An application that reads more slowly than data arrives, or pauses.
//!
//! It reads a segment at a time, at a rate that may change. What it has not read takes room in the receive window,
//! which closes when the buffer is full (RFC 9293, section 3.8.6). A read that makes the window at least twice what is
//! left of it is announced (`tcp_cleanup_rbuf`); a window of less than a segment, or of less than a sixteenth of the
//! buffer, is told as closed (`__tcp_select_window`), so that no silly window arises. Two segments that the application
//! has not read make the window smaller than it was told, so their ACK waits for its next read (`__tcp_ack_snd_check`).

use dumbbell_parameters::Schedule;
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

const NANOS: u128 = 1_000_000_000;

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
    pub fn new(schedule: Arc<Schedule<u64>>, mss: u32) -> Reader {
        Reader { schedule, mss: mss.into(), read: 0, clock: Time::ZERO, done: 0, is_pushed: false }
    }

    /// What is left to do of the segment that is read now, of `unread` bytes.
    fn to_do(&self, unread: u64) -> u128 {
        (u128::from(unread.min(self.mss)) * 8 * NANOS).saturating_sub(self.done)
    }

    /// Reads what it can up to `now`, of `delivered` bytes that were there since the last call.
    pub fn advance(&mut self, now: Time, delivered: u64) {
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

    /// When the next segment of `delivered` bytes has been read, or the rate changes before; [`Time::NEVER`] if nothing
    /// is there to read.
    pub fn next(&self, delivered: u64) -> Time {
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

    /// Bytes that it has read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// A segment comes, with PSH or without.
    pub fn note_push(&mut self, is_pushed: bool) {
        self.is_pushed |= is_pushed;
    }

    /// Whether a segment with PSH waits for the read; it does no more.
    pub fn take_push(&mut self) -> bool {
        std::mem::take(&mut self.is_pushed)
    }

    /// Segments that are there and not read.
    pub fn unread(&self, delivered: u64) -> u32 {
        u32::try_from((delivered - self.read).div_ceil(self.mss)).unwrap_or(u32::MAX)
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
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
