//! What the receiving application has read, and when it reads next: some time after a segment arrived, or at a rate
//! ([`Reader`]).

use super::reader::Reader;
use crate::TransportConfig;
use dumbbell_parameters::Schedule;
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// The application that reads.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// From the arrival of a segment to its read.
    delay: Duration,
    /// What is needed at few moments.
    rare: Option<Box<Rare>>,
}

/// What an application has in hand, or a reader at a rate.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// The latest ACK that left before its segments were read.
    early: Option<EarlyAck>,
    /// What the filling of a hole has delivered, until the application has read it.
    unread: Option<Unread>,
    /// The read that ends a round of [`RightSizing`](super::RightSizing), if it is known and has not come.
    last_read: Option<LastRead>,
    /// The application, where it reads at a rate.
    reader: Option<Reader>,
}

/// The application's read that ends a round.
#[derive(Clone, Copy, Debug)]
struct LastRead {
    at: Time,
    /// Bytes that have been read then since the connection began.
    read: u64,
}

/// Segments that have become readable together, and take room until the application reads them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    pub segments: u32,
    pub read_at: Time,
}

/// An ACK that left before the application had read its segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlyAck {
    /// The first segment that was not read.
    pub unread_from: u32,
    /// When the application reads.
    pub reads_at: Time,
}

impl Reading {
    pub fn new(config: &TransportConfig) -> Reading {
        Reading { delay: config.read_delay, rare: None }
    }

    #[cfg(test)]
    pub fn after(delay: Duration) -> Reading {
        Reading { delay, rare: None }
    }

    /// From the arrival of a segment to its read.
    #[inline(always)]
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// The application reads segments of `mss` bytes at these rates, in bits per second.
    pub fn set_reader(&mut self, schedule: Arc<Schedule<u64>>, mss: u32) {
        self.rare.get_or_insert_default().reader = Some(Reader::new(schedule, mss));
    }

    /// Whether the application reads at a rate.
    #[inline(always)]
    pub fn has_reader(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.reader.is_some())
    }

    /// The application, where it reads at a rate.
    pub fn reader(&mut self) -> Option<&mut Reader> {
        self.rare.as_mut()?.reader.as_mut()
    }

    /// Segments that such an application has not read at `now`, of `delivered` bytes; `None` where there is none.
    #[inline(always)]
    pub fn unread_by_reader(&mut self, now: Time, delivered: u64) -> Option<u32> {
        if self.has_reader() { self.read_until(now, delivered) } else { None }
    }

    // Kept apart, because most receivers have no reader.
    #[cold]
    fn read_until(&mut self, now: Time, delivered: u64) -> Option<u32> {
        let reader = self.reader()?;
        reader.advance(now, delivered);
        Some(reader.unread(delivered))
    }

    /// Segments that take room at `now` because the application has not read them, since a hole was filled or at its
    /// rate, of `delivered` bytes.
    #[inline(always)]
    pub fn unread(&mut self, now: Time, delivered: u64) -> u32 {
        if let Some(unread) = self.unread_by_reader(now, delivered) {
            return unread;
        }
        let Some(rare) = &mut self.rare else { return 0 };
        rare.unread.take_if(|unread| now > unread.read_at);
        rare.unread.map_or(0, |unread| unread.segments)
    }

    /// What the filling of a hole has delivered and may not have been read.
    #[inline]
    pub fn filled(&self) -> Option<Unread> {
        self.rare.as_ref().and_then(|rare| rare.unread)
    }

    /// A hole is filled at `now`, and `segments` are delivered, which take room until the application has read them.
    pub fn note_filled(&mut self, now: Time, segments: u32) {
        if !self.has_reader() {
            let read_at = now + self.delay;
            let unread = self.rare.get_or_insert_default().unread.get_or_insert(Unread { segments: 0, read_at });
            unread.segments += segments;
        }
    }

    /// The application reads what arrived at `now` and for a round trip, `read` bytes in all.
    pub fn expect_last(&mut self, now: Time, read: u64) {
        self.rare.get_or_insert_default().last_read = Some(LastRead { at: now + self.delay, read });
    }

    /// Whether the read that ends the round is known and has not come.
    #[inline]
    pub fn awaits_last(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.last_read.is_some())
    }

    /// What a filled hole made readable takes no more room if the instant of its read `is_over`. If that is so of the
    /// read which ends the round, returns how many bytes have been read then.
    #[inline(always)]
    pub fn take_over(&mut self, is_over: impl Fn(Time) -> bool) -> Option<u64> {
        let rare = self.rare.as_mut()?;
        rare.unread.take_if(|unread| is_over(unread.read_at));
        rare.last_read.take_if(|last| is_over(last.at)).map(|last| last.read)
    }

    /// The latest ACK that left before its segments were read, if they still are not at `now`.
    #[inline]
    pub fn early(&self, now: Time) -> Option<EarlyAck> {
        self.rare.as_ref().and_then(|rare| rare.early).filter(|early| now < early.reads_at)
    }

    /// An ACK leaves before its segments are read.
    pub fn note_early(&mut self, early: EarlyAck) {
        self.rare.get_or_insert_default().early = Some(early);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    #[test]
    fn what_filled_a_hole_takes_room_until_it_is_read() {
        let mut reading = Reading::after(ms(2));
        assert_eq!(reading.unread(at(10), 0), 0);
        reading.note_filled(at(10), 5);
        reading.note_filled(at(11), 2);
        assert_eq!((reading.unread(at(12), 0), reading.filled().map(|unread| unread.read_at)), (7, Some(at(12))));
        assert_eq!(reading.unread(at(13), 0), 0);
    }

    #[test]
    fn the_last_read_of_a_round_comes_once() {
        let mut reading = Reading::after(ms(2));
        reading.expect_last(at(10), 5_000);
        assert!(reading.awaits_last());
        let by = |now| move |read_at| now >= read_at;
        assert_eq!(
            [reading.take_over(by(at(11))), reading.take_over(by(at(12))), reading.take_over(by(at(13)))],
            [None, Some(5_000), None]
        );
    }

    #[test]
    fn an_early_ack_is_known_until_its_segments_are_read() {
        let mut reading = Reading::after(ms(2));
        reading.note_early(EarlyAck { unread_from: 3, reads_at: at(12) });
        assert_eq!([11, 12].map(|now| reading.early(at(now)).is_some()), [true, false]);
    }

    #[test]
    fn an_application_with_a_rate_has_its_own_count_of_what_is_unread() {
        let mut reading = Reading::after(ms(2));
        reading.set_reader(Arc::new(Schedule::new(vec![(at(0), 8_000_000)], None).unwrap()), 1_000);
        reading.unread(at(10), 0);
        reading.note_filled(at(10), 5);
        assert_eq!((reading.unread(at(12), 5_000), reading.filled().is_some()), (3, false));
    }
}
