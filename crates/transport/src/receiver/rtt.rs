//! The round-trip time as a receiver sees it (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`).
//!
//! Data echoes the timestamp of the latest ACK that its sender had got, so the receiver knows how long ACK and data
//! were under way, and how long the data waited for its turn, in whole milliseconds. The estimate falls at once and
//! rises by an eighth of the difference, at most once for each echoed millisecond.

use crate::Segment;
use crate::config::RightSizingRule;
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::{Duration, Time};

/// No first segment must have more bytes than this to give a sample (`tcp_initialize_rcv_mss`).
const TCP_MSS_DEFAULT: u16 = 536;

/// Round-trip times of one receiver.
#[derive(Clone, Debug)]
pub(super) struct ReceiverRtt {
    /// Eight times the estimate in microseconds; 0 before the first sample.
    smoothed_us_x8: u32,
    /// What the segment echoed whose echo was taken last (`rcv_rtt_last_tsecr`). Far from any time before the first.
    echoed: Timestamp,
    /// Segments with fewer bytes give no sample (`rcv_mss`).
    rcv_mss: u16,
    /// The round-trip time of an empty path: from the handshake, or else twice the shortest time that any segment has
    /// travelled.
    base: Duration,
    is_told: bool,
    rule: RightSizingRule,
    /// Without timestamps: when the window began that is being measured, and the first segment beyond it.
    window: Option<Box<(Time, u32)>>,
}

impl ReceiverRtt {
    /// Of a receiver of segments with `mss` bytes.
    pub(super) fn new(mss: u32, rule: RightSizingRule) -> ReceiverRtt {
        ReceiverRtt {
            smoothed_us_x8: 0,
            echoed: Timestamp::from_bits(u32::MAX),
            rcv_mss: u16::try_from(mss).map_or(TCP_MSS_DEFAULT, |mss| mss.min(TCP_MSS_DEFAULT)),
            base: Duration::from_nanos(u64::MAX),
            is_told: false,
            rule,
            window: None,
        }
    }

    pub(super) fn set_handshake(&mut self, rtt: Duration) {
        self.is_told = true;
        self.base = rtt;
    }

    /// A segment was under way for `travel`. Without a handshake the path is taken for symmetric.
    #[inline]
    pub(super) fn note_travel(&mut self, travel: Duration) {
        if !self.is_told {
            self.base = self.base.min(travel * 2);
        }
    }

    /// Whether a segment tells nothing that was not taken before.
    #[inline]
    pub(super) fn has_taken(&self, segment: &Segment) -> bool {
        self.echoed == segment.echo
    }

    /// A segment arrives. Where data before it is `unread` a longer time is that of the reader and not of the path.
    /// Returns whether the estimate is a new one.
    #[inline(never)]
    pub(super) fn measure(&mut self, now: Time, segment: &Segment, unread: bool) -> bool {
        self.note_travel(now.since(segment.sent_at));
        self.echoed = segment.echo;
        if segment.len < self.rcv_mss {
            return false;
        }
        self.rcv_mss = segment.len;
        let Ok(sample_ms @ 1..) = u32::try_from(Timestamp::at(now).ms_since(segment.echo)) else { return false };
        let sample_us = sample_ms.saturating_mul(1_000).min(u32::MAX / 8);
        if self.smoothed_us_x8 == 0 || 8 * sample_us < self.smoothed_us_x8 {
            self.smoothed_us_x8 = 8 * sample_us;
        } else if unread && self.rule == RightSizingRule::Linux {
            return false;
        } else {
            self.smoothed_us_x8 += sample_us - self.smoothed_us_x8 / 8;
        }
        true
    }

    /// Without timestamps: everything below `rcv_nxt` has arrived, and `window` segments are advertised. The shortest
    /// time in which a window has arrived is the estimate. Returns whether it is a new one.
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
    use crate::Flags;
    use dumbbell_units::Ecn;

    fn us(micros: u64) -> Time {
        Time::from_nanos(micros * 1_000)
    }

    /// A full segment that left at `sent_us`, when the latest ACK that its sender had was one of `acked_us`.
    fn echoing(acked_us: u64, sent_us: u64) -> Segment {
        let (sent_at, echo) = (us(sent_us), Timestamp::at(us(acked_us)));
        Segment { seq: 0, len: 1448, ecn: Ecn::NotEct, flags: Flags::NONE, sent_at, echo }
    }

    fn after_handshake() -> ReceiverRtt {
        let mut rtt = ReceiverRtt::new(1448, RightSizingRule::Linux);
        rtt.set_handshake(Duration::from_millis(40));
        rtt
    }

    #[test]
    fn a_sample_is_the_way_back_the_wait_and_the_travel_in_whole_milliseconds() {
        let mut rtt = after_handshake();
        assert_eq!(rtt.smoothed(), None);
        rtt.measure(us(141_300), &echoing(100_900, 120_000), false);
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(41)));
        // The segment waited for 30 ms.
        let mut rtt = after_handshake();
        rtt.measure(us(171_300), &echoing(100_900, 150_000), false);
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(71)));
        assert_eq!(rtt.base(), Duration::from_millis(40));
    }

    #[test]
    fn the_estimate_rises_by_an_eighth_and_falls_at_once() {
        let mut rtt = after_handshake();
        rtt.measure(us(140_000), &echoing(100_000, 120_000), false);
        assert!(!rtt.measure(us(189_000), &echoing(141_000, 161_000), true), "the reader has not read");
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(40)));
        rtt.measure(us(190_000), &echoing(142_000, 162_000), false);
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(41)), "40 + (48 - 40)/8");
        rtt.measure(us(220_000), &echoing(180_000, 200_000), true);
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(40)));
    }

    #[test]
    fn linux_6_12_takes_the_time_of_a_reader_for_that_of_the_path() {
        let mut rtt = ReceiverRtt { rule: RightSizingRule::Linux612, ..after_handshake() };
        rtt.measure(us(140_000), &echoing(100_000, 120_000), false);
        assert!(rtt.measure(us(189_000), &echoing(141_000, 161_000), true));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(41)), "40 + (48 - 40)/8");
    }

    #[test]
    fn segments_shorter_than_one_before_them_give_no_sample() {
        let mut rtt = after_handshake();
        rtt.measure(us(140_000), &Segment { len: 535, ..echoing(100_000, 120_000) }, false);
        assert_eq!(rtt.smoothed(), None);
        rtt.measure(us(141_000), &Segment { len: 536, ..echoing(101_000, 121_000) }, false);
        rtt.measure(us(180_000), &echoing(142_000, 162_000), false);
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(38)));
        rtt.measure(us(182_000), &Segment { len: 1447, ..echoing(146_000, 164_000) }, false);
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(38)));
        let mut of_small_segments = ReceiverRtt::new(100, RightSizingRule::Linux);
        of_small_segments.measure(us(140_000), &Segment { len: 100, ..echoing(100_000, 120_000) }, false);
        assert_eq!(of_small_segments.smoothed(), Some(Duration::from_millis(40)));
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
        rtt.measure(us(139_900), &echoing(100_000, 120_000), false); // in whole milliseconds 39
        assert_eq!((rtt.shortest(), rtt.smoothed()), (Duration::from_millis(39), Some(Duration::from_millis(39))));
        rtt.measure(us(289_000), &echoing(141_000, 161_000), false);
        assert_eq!(rtt.smoothed(), Some(Duration::from_micros(52_625)), "39 + (148 - 39)/8");
        assert_eq!(rtt.shortest(), Duration::from_millis(40));
    }

    #[test]
    fn one_sample_is_taken_of_an_echo() {
        let mut rtt = after_handshake();
        rtt.measure(us(140_000), &echoing(100_000, 120_000), false);
        for micros in [0, 400, 900] {
            let segment = echoing(141_000 + micros, 161_000 + micros);
            assert_eq!(rtt.has_taken(&segment), micros > 0);
            if micros == 0 {
                rtt.measure(us(189_000), &segment, false);
            }
        }
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(41)));
    }

    #[test]
    fn without_a_handshake_the_path_counts_as_symmetric() {
        let mut rtt = ReceiverRtt::new(1448, RightSizingRule::Linux);
        rtt.measure(us(130_000), &echoing(110_000, 120_000), false);
        assert_eq!((rtt.base(), rtt.smoothed()), (Duration::from_millis(20), Some(Duration::from_millis(20))));
    }
}
