//! Round-trip times of a connection, measured from its packets in the way in which the kernel measures them.
//!
//! `tcp_info` shows a smoothed time and no samples. What leaves the sender and what comes back to it gives them: an ACK
//! that advances gives the age of the last segment that it newly covers, one with new selective acknowledgements that
//! of the last segment which it acknowledges so (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`). Segments that were sent
//! twice give none; where an ACK advances and covers no other, the echoed timestamp tells, in whole milliseconds
//! (`tcp_rtt_tsopt_us`).

use dumbbell_transport::Timestamp;
use dumbbell_units::{Duration, Time};
use std::collections::VecDeque;

/// A segment that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Time,
    /// Sent again, or acknowledged selectively: it gives no sample any more.
    is_spent: bool,
    is_repeated: bool,
}

/// The clock of a sender's timestamps, which counts milliseconds from an unknown instant: it had this value at this
/// instant, as early as any packet has shown it.
#[derive(Clone, Copy, Debug)]
struct Clock {
    value: Timestamp,
    at: Time,
}

impl Clock {
    /// Milliseconds from `earlier` to what the clock shows now; negative where it is ahead of the clock.
    fn ms_since(&self, now: Time, earlier: Timestamp) -> i64 {
        let passed = i64::try_from(now.since(self.at).as_micros() / 1_000).unwrap_or(i64::MAX / 2);
        passed + i64::from(self.value.ms_since(earlier))
    }
}

/// Measures one connection. Sequence numbers count from the connection's first and do not wrap.
#[derive(Debug, Default)]
pub struct Meter {
    first: u32,
    acknowledged: u64,
    next: u64,
    sent: VecDeque<Sent>,
    clock: Option<Clock>,
}

impl Meter {
    /// A connection is opened with this sequence number.
    pub fn open(&mut self, seq: u32) {
        *self = Meter { first: seq.wrapping_add(1), ..Meter::default() };
    }

    /// The number of a byte near those that are under way.
    pub fn number(&self, seq: u32) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap")]
        let near = self.first.wrapping_add(self.acknowledged as u32);
        self.acknowledged.saturating_add_signed(i64::from(seq.wrapping_sub(near).cast_signed()))
    }

    /// A segment leaves the sender with this timestamp.
    pub fn on_sent(&mut self, now: Time, seq: u32, payload: u32, timestamp: Option<Timestamp>) {
        if let Some(value) = timestamp
            && self.clock.is_none_or(|clock| clock.ms_since(now, value) < 0)
        {
            self.clock = Some(Clock { value, at: now });
        }
        let start = self.number(seq);
        let end = start + u64::from(payload);
        if start >= self.next {
            self.sent.push_back(Sent { end, at: now, is_spent: false, is_repeated: false });
            self.next = end;
            return;
        }
        let first = self.sent.partition_point(|sent| sent.end <= start);
        for sent in self.sent.range_mut(first..).take_while(|sent| sent.end <= end) {
            (sent.is_spent, sent.is_repeated) = (true, true);
        }
    }

    /// An acknowledgement that echoes this timestamp reaches the sender; `sacks` calls its argument with every block.
    /// Returns a sample if it gives one.
    pub fn on_ack(
        &mut self,
        now: Time,
        ack: u32,
        echo: Option<Timestamp>,
        sacks: impl FnOnce(&mut dyn FnMut(u32, u32)),
    ) -> Option<Duration> {
        let mut covered = None;
        let mut is_ambiguous = false;
        let ack = self.number(ack);
        let covers_data = ack > self.acknowledged;
        while let Some(sent) = self.sent.front().copied().filter(|sent| sent.end <= ack) {
            self.sent.pop_front();
            is_ambiguous |= sent.is_repeated;
            if !sent.is_spent {
                covered = Some(sent.at);
            }
        }
        self.acknowledged = self.acknowledged.max(ack.min(self.next));
        let mut selected: Option<(u64, Time)> = None;
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        sacks(&mut |start, end| {
            if let Some(block) = blocks.get_mut(count) {
                *block = (start, end);
                count += 1;
            }
        });
        for &(start, end) in &blocks[..count] {
            let (start, end) = (self.number(start), self.number(end));
            let first = self.sent.partition_point(|sent| sent.end <= start);
            for sent in self.sent.range_mut(first..).take_while(|sent| sent.end <= end) {
                if !sent.is_spent && selected.is_none_or(|(last, _)| last < sent.end) {
                    selected = Some((sent.end, sent.at));
                }
                sent.is_spent = true;
            }
        }
        let at = selected.map(|(_, at)| at).or(covered.filter(|_| !is_ambiguous));
        at.map(|at| now.since(at)).or_else(|| self.echoed_rtt(now, echo.filter(|_| covers_data)?))
    }

    /// The age of a timestamp, at least a millisecond; none where it is ahead of the clock.
    fn echoed_rtt(&self, now: Time, echo: Timestamp) -> Option<Duration> {
        let ms = u64::try_from(self.clock?.ms_since(now, echo)).ok()?;
        Some(Duration::from_millis(ms.max(1)))
    }

    /// Bytes that have been acknowledged cumulatively.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        (self.sent.capacity() * size_of::<Sent>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn meter() -> Meter {
        let mut meter = Meter::default();
        // Close to the wrap of sequence numbers.
        meter.open(u32::MAX - 2_000);
        for segment in 0..4u32 {
            meter.on_sent(ms(u64::from(segment)), seq(segment), 1_000, None);
        }
        meter
    }

    fn seq(segment: u32) -> u32 {
        (u32::MAX - 1_999).wrapping_add(segment * 1_000)
    }

    fn ack(meter: &mut Meter, now: u64, segment: u32, blocks: &[(u32, u32)]) -> Option<u64> {
        let sample = meter.on_ack(ms(now), seq(segment), None, |each| {
            blocks.iter().for_each(|&(start, end)| each(seq(start), seq(end)));
        });
        sample.map(|rtt| rtt.as_micros() / 1_000)
    }

    #[test]
    fn an_ack_gives_the_age_of_the_last_segment_that_it_covers() {
        let mut meter = meter();
        assert_eq!(ack(&mut meter, 10, 2, &[]), Some(9));
        assert_eq!(ack(&mut meter, 20, 2, &[]), None, "a duplicate covers nothing");
        assert_eq!(ack(&mut meter, 30, 4, &[]), Some(27));
        assert_eq!(meter.acknowledged(), 4_000);
    }

    #[test]
    fn a_selective_acknowledgement_gives_a_sample_once() {
        let mut meter = meter();
        assert_eq!(ack(&mut meter, 10, 0, &[(1, 3)]), Some(8));
        assert_eq!(ack(&mut meter, 11, 0, &[(1, 3)]), None);
        assert_eq!(ack(&mut meter, 12, 0, &[(1, 4)]), Some(9));
    }

    #[test]
    fn what_was_sent_twice_gives_none_without_timestamps() {
        let mut meter = meter();
        meter.on_sent(ms(5), seq(0), 1_000, None);
        assert_eq!(ack(&mut meter, 10, 2, &[]), None);
        assert_eq!(ack(&mut meter, 11, 3, &[]), Some(9));
    }

    #[test]
    fn where_all_was_sent_twice_the_echoed_timestamp_tells() {
        let mut meter = meter();
        let us = |us: u64| Time::ZERO + Duration::from_micros(us);
        let on_ack = |meter: &mut Meter, now: Time, segment: u32, echo: u32| {
            meter.on_ack(now, seq(segment), Some(Timestamp::from_bits(echo)), |_| {}).map(Duration::as_micros)
        };
        // The option's clock wraps between the two.
        meter.on_sent(us(5_900), seq(0), 1_000, Some(Timestamp::from_bits(u32::MAX)));
        meter.on_sent(us(6_200), seq(1), 1_000, Some(Timestamp::from_bits(0)));
        assert_eq!(on_ack(&mut meter, us(30_100), 1, u32::MAX), Some(24_000), "from millisecond -1 to millisecond 23");
        assert_eq!(on_ack(&mut meter, us(30_300), 1, u32::MAX), None, "it covers nothing");
        assert_eq!(on_ack(&mut meter, us(30_300), 2, 0), Some(24_000), "from millisecond 0 to millisecond 24");
        assert_eq!(
            on_ack(&mut meter, us(31_000), 3, 0),
            Some(29_000),
            "a segment that was sent once has its departure"
        );
        meter.on_sent(us(32_000), seq(3), 1_000, Some(Timestamp::from_bits(25)));
        assert_eq!(on_ack(&mut meter, us(32_100), 4, 99), None, "ahead of the clock");
    }
}
