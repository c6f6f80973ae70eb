//! The round-trip time as a receiver sees it (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`).
//!
//! Data echoes the timestamp of the ACK that released it, so the receiver knows how long ACK and data were under way,
//! in whole milliseconds. The estimate falls at once and rises by an eighth of the difference, at most once for each
//! echoed millisecond. In this model segments carry no echo: a segment counts as the answer to an ACK that left
//! `way_back` before the segment was sent.

use dumbbell_units::{Duration, Time};

const MILLISECOND: Duration = Duration::from_millis(1);

/// Round-trip times of one receiver.
#[derive(Clone, Debug)]
pub(super) struct ReceiverRtt {
    /// Eight times the estimate in microseconds; 0 before the first sample.
    smoothed_us_x8: u32,
    /// Millisecond of the last ACK whose echo was taken, on a clock of 32 bits as TCP's.
    echoed_ms: u32,
    /// Segments that leave within a millisecond from here on echo the same one. Far from any time before the first.
    echoes_from: Time,
    /// How long an ACK is under way, and the round-trip time of an empty path: from the handshake, or else the shortest
    /// time that any segment has travelled, and twice that.
    way_back: Duration,
    base: Duration,
    is_told: bool,
    /// Without timestamps: when the window began that is being measured, and the first segment beyond it.
    window: Option<Box<(Time, u32)>>,
}

impl ReceiverRtt {
    pub(super) fn new() -> ReceiverRtt {
        ReceiverRtt {
            smoothed_us_x8: 0,
            echoed_ms: u32::MAX,
            echoes_from: Time::from_nanos(u64::MAX / 2),
            way_back: Duration::from_nanos(u64::MAX),
            base: Duration::from_nanos(u64::MAX),
            is_told: false,
            window: None,
        }
    }

    pub(super) fn set_handshake(&mut self, rtt: Duration, way_back: Duration) {
        self.is_told = true;
        self.way_back = way_back;
        self.base = rtt;
    }

    /// A segment was under way for `travel`. Without a handshake the path is taken for symmetric.
    #[inline]
    pub(super) fn note_travel(&mut self, travel: Duration) {
        if !self.is_told {
            self.way_back = self.way_back.min(travel);
            self.base = self.way_back * 2;
        }
    }

    /// A segment that left at `sent_at` arrives. Returns whether the estimate is a new one.
    #[inline]
    pub(super) fn measure(&mut self, now: Time, sent_at: Time) -> bool {
        !self.has_taken(sent_at) && self.measure_echo(now, sent_at)
    }

    /// Whether a segment that left at `sent_at` tells nothing that was not taken before.
    #[inline]
    pub(super) fn has_taken(&self, sent_at: Time) -> bool {
        // What left before is ahead by nearly all that a number holds.
        sent_at.as_nanos().wrapping_sub(self.echoes_from.as_nanos()) < MILLISECOND.as_nanos()
    }

    #[inline(never)]
    #[expect(clippy::cast_possible_truncation, reason = "TCP's clock of 32 bits, which wraps")]
    fn measure_echo(&mut self, now: Time, sent_at: Time) -> bool {
        self.note_travel(now.since(sent_at));
        let echoed = sent_at.as_nanos().saturating_sub(self.way_back.as_nanos()) / MILLISECOND.as_nanos();
        if self.is_told {
            self.echoes_from = Time::ZERO + MILLISECOND * echoed + self.way_back;
        }
        let echoed_ms = echoed as u32;
        if self.echoed_ms == echoed_ms {
            return false;
        }
        self.echoed_ms = echoed_ms;
        let now_ms = (now.as_nanos() / MILLISECOND.as_nanos()) as u32;
        let sample_us = now_ms.wrapping_sub(echoed_ms).saturating_mul(1_000).min(u32::MAX / 8);
        if sample_us == 0 {
            return false;
        }
        if self.smoothed_us_x8 == 0 || 8 * sample_us < self.smoothed_us_x8 {
            self.smoothed_us_x8 = 8 * sample_us;
        } else {
            self.smoothed_us_x8 += sample_us - self.smoothed_us_x8 / 8;
        }
        true
    }

    /// Without timestamps: everything below `rcv_nxt` has arrived, and `window` segments are advertised. The shortest time
    /// in which a window has arrived is the estimate. Returns whether it is a new one.
    pub(super) fn measure_window(&mut self, now: Time, rcv_nxt: u32, window: u32) -> bool {
        let next = (now, rcv_nxt.saturating_add(window));
        let Some(measured) = &mut self.window else {
            self.window = Some(Box::new(next));
            return false;
        };
        if rcv_nxt < measured.1 {
            return false;
        }
        let (began, _) = std::mem::replace(&mut **measured, next);
        let sample_us = u32::try_from(now.since(began).as_micros()).unwrap_or(u32::MAX).clamp(1, u32::MAX / 8);
        let is_shorter = self.smoothed_us_x8 == 0 || 8 * sample_us < self.smoothed_us_x8;
        if is_shorter {
            self.smoothed_us_x8 = 8 * sample_us;
        }
        is_shorter
    }

    /// The estimate, which follows the queue; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        (self.smoothed_us_x8 > 0).then(|| Duration::from_micros(u64::from(self.smoothed_us_x8 / 8)))
    }

    /// The estimate, or the round-trip time of an empty path where that is shorter; zero before the first sample.
    #[inline]
    pub(super) fn shortest(&self) -> Duration {
        Duration::from_micros(u64::from(self.smoothed_us_x8 / 8)).min(self.base)
    }

    /// The round-trip time of an empty path.
    #[inline]
    pub(super) fn base(&self) -> Duration {
        self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Time {
        Time::from_nanos(micros * 1_000)
    }

    fn after_handshake() -> ReceiverRtt {
        let mut rtt = ReceiverRtt::new();
        rtt.set_handshake(Duration::from_millis(40), Duration::from_millis(20));
        rtt
    }

    #[test]
    fn a_sample_is_the_way_back_and_the_travel_in_whole_milliseconds() {
        let mut rtt = after_handshake();
        assert_eq!(rtt.smoothed(), None);
        rtt.measure(us(141_300), us(120_000)); // the ACK left at 100.0 ms
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(41)));
        assert_eq!(rtt.base(), Duration::from_millis(40));
    }

    #[test]
    fn the_estimate_rises_by_an_eighth_and_falls_at_once() {
        let mut rtt = after_handshake();
        rtt.measure(us(140_000), us(120_000));
        rtt.measure(us(189_000), us(161_000));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(41)), "40 + (48 - 40)/8");
        rtt.measure(us(220_000), us(200_000));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(40)));
    }

    #[test]
    fn without_timestamps_the_shortest_time_for_a_window_is_the_estimate() {
        let mut rtt = after_handshake();
        assert!(!rtt.measure_window(us(100_000), 1, 10), "the first window begins");
        assert!(!rtt.measure_window(us(180_000), 10, 10));
        assert!(rtt.measure_window(us(190_000), 11, 20));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(90)));
        assert!(!rtt.measure_window(us(290_000), 31, 40), "longer than the window before");
        assert!(rtt.measure_window(us(360_000), 71, 80));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(70)));
        assert_eq!(rtt.base(), Duration::from_millis(40));
    }

    #[test]
    fn the_shortest_round_trip_is_the_estimate_and_at_most_that_of_the_handshake() {
        let mut rtt = after_handshake();
        assert_eq!(rtt.shortest(), Duration::ZERO, "nothing was measured");
        rtt.measure(us(139_900), us(120_000)); // in whole milliseconds 39
        assert_eq!((rtt.shortest(), rtt.smoothed()), (Duration::from_millis(39), Some(Duration::from_millis(39))));
        rtt.measure(us(289_000), us(161_000));
        assert_eq!(rtt.smoothed(), Some(Duration::from_micros(52_625)), "39 + (148 - 39)/8");
        assert_eq!(rtt.shortest(), Duration::from_millis(40));
    }

    #[test]
    fn one_sample_is_taken_of_a_millisecond() {
        let mut rtt = after_handshake();
        rtt.measure(us(140_000), us(120_000));
        for micros in [0, 400, 900] {
            rtt.measure(us(189_000 + micros), us(161_000 + micros));
        }
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(41)));
    }

    #[test]
    fn without_a_handshake_the_path_counts_as_symmetric() {
        let mut rtt = ReceiverRtt::new();
        rtt.measure(us(130_000), us(120_000));
        assert_eq!((rtt.base(), rtt.smoothed()), (Duration::from_millis(20), Some(Duration::from_millis(20))));
    }
}
