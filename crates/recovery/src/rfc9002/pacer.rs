//! Pacing of a sender in user space (RFC 9002, section 7.7).
//!
//! Each packet delays the next one by its length over the pacing rate. A packet may leave up to one alarm granularity
//! early. When nothing is in flight, an initial burst leaves at once.

use crate::pacer::rescaled;
use dumbbell_units::{Duration, Time};

/// The pacing clock of a connection.
#[derive(Clone, Debug)]
pub struct BurstPacer {
    is_enabled: bool,
    granularity: Duration,
    initial_burst: u32,
    /// Packets of the initial burst that have not left.
    tokens: u32,
    is_blocked: bool,
    next_departure: Time,
}

impl BurstPacer {
    /// A pacer that lets packets leave up to `granularity` early, and `initial_burst` packets at once when nothing is
    /// in flight; unless `is_enabled`, it delays nothing.
    pub fn new(is_enabled: bool, granularity: Duration, initial_burst: u32) -> BurstPacer {
        BurstPacer { is_enabled, granularity, initial_burst, tokens: 0, is_blocked: false, next_departure: Time::ZERO }
    }

    /// When the next packet may leave.
    #[inline]
    pub fn next_departure(&self) -> Time {
        self.next_departure
    }

    /// Nothing is in flight: an initial burst may leave, of at most `most` packets.
    #[inline]
    pub fn restart(&mut self, most: u32) {
        self.tokens = self.initial_burst.min(most);
    }

    /// Whether pacing delays the next packet at `now`, until its [departure](BurstPacer::next_departure).
    #[inline]
    pub fn forbids(&mut self, now: Time) -> bool {
        self.is_blocked = self.is_enabled && self.next_departure.since(now) > self.granularity;
        self.is_blocked
    }

    /// Whether a packet waits for its departure.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// The alarm for a packet that waits went off at `now`.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        self.is_blocked &= self.next_departure > now;
    }

    /// The pacing rate changes at `now`: what is left of a pause takes as long as it does at the new rate.
    pub fn change_rate(&mut self, now: Time, before: u64, after: u64) {
        self.next_departure = rescaled(self.next_departure, now, (before, after));
    }

    /// A packet of `len` bytes is sent at `now`.
    #[inline]
    pub fn depart(&mut self, now: Time, len: u16, pacing_rate: u64) {
        if !self.is_enabled || pacing_rate == 0 {
            return;
        }
        if self.tokens > 0 {
            self.tokens -= 1;
            self.next_departure = now;
            return;
        }
        let span = u64::from(len) * 1_000_000_000 / pacing_rate;
        self.next_departure = self.next_departure.max(now) + Duration::from_nanos(span);
    }
}

/// `ratio_percent` of a window of `window` packets of `mss` bytes per RTT, in bytes per second.
pub fn pacing_rate(mss: u32, window: u32, ratio_percent: u32, srtt_us: u64) -> u64 {
    let window_bytes = u64::from(mss) * u64::from(window);
    window_bytes.saturating_mul(u64::from(ratio_percent) * 10_000) / srtt_us.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// 1 kB takes a millisecond.
    const RATE: u64 = 1_000_000;

    #[test]
    fn after_a_burst_each_packet_waits_for_the_one_before() {
        let mut pacer = BurstPacer::new(true, Duration::ZERO, 4);
        pacer.restart(2);
        for _ in 0..3 {
            assert!(!pacer.forbids(ms(10)));
            pacer.depart(ms(10), 1_000, RATE);
        }
        assert!(pacer.forbids(ms(10)));
        assert!(pacer.is_blocked() && pacer.next_departure() == ms(11));
        pacer.wake(ms(10));
        assert!(pacer.is_blocked() && pacer.next_departure() == ms(11));
        pacer.wake(ms(11));
        assert!(!pacer.is_blocked());
        assert!(!pacer.forbids(ms(11)));
    }

    #[test]
    fn a_packet_may_leave_as_early_as_alarms_are_coarse() {
        let mut pacer = BurstPacer::new(true, Duration::from_millis(1), 0);
        pacer.depart(ms(10), 1_000, RATE);
        assert!(!pacer.forbids(ms(10)));
        pacer.depart(ms(10), 1_000, RATE);
        assert!(pacer.forbids(ms(10)) && !pacer.forbids(ms(11)));
        assert_eq!(pacer.next_departure(), ms(12));
    }

    #[test]
    fn without_pacing_or_a_rate_nothing_waits() {
        for (is_enabled, rate) in [(false, RATE), (true, 0)] {
            let mut pacer = BurstPacer::new(is_enabled, Duration::ZERO, 0);
            pacer.depart(ms(10), 60_000, rate);
            assert!(!pacer.forbids(ms(10)));
        }
    }

    #[test]
    fn the_rate_is_a_window_per_round_trip_and_ends_at_what_a_number_holds() {
        assert_eq!(pacing_rate(1_350, 40, 125, 50_000), 1_350_000);
        assert_eq!(pacing_rate(1_350, u32::MAX, u32::MAX, 1), u64::MAX);
    }
}
