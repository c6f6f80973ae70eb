//! Pacing: when a burst may leave, and at what rate.
//!
//! Linux keeps the earliest departure time of the next burst, `tcp_wstamp_ns`. A burst moves it by the time its payload
//! takes at the pacing rate; where the burst left later than it might have, because window or data were missing, the
//! pause is shorter by that lateness, by at most a half. The first ten segments of a connection leave unpaced.

use dumbbell_units::{Duration, Time};

/// Data segments that leave before pacing begins.
const UNPACED_SEGMENTS: u64 = 10;

/// The pacing clock of a connection.
#[derive(Clone, Debug)]
pub struct Pacer {
    is_enabled: bool,
    credits_lateness: bool,
    is_blocked: bool,
    /// `tcp_wstamp_ns`.
    next_departure: Time,
}

impl Pacer {
    /// A pacer that holds nothing back unless `is_enabled`. With `credits_lateness` false every pause is as long as its
    /// burst takes (ns-3).
    pub fn new(is_enabled: bool, credits_lateness: bool) -> Pacer {
        Pacer { is_enabled, credits_lateness, is_blocked: false, next_departure: Time::ZERO }
    }

    /// When the next burst may leave.
    #[inline]
    pub fn next_departure(&self) -> Time {
        self.next_departure
    }

    /// Whether nothing may leave at `now` (`tcp_pacing_check`); then [`Pacer::wake_by`] tells when something may.
    #[inline]
    pub fn forbids(&mut self, now: Time) -> bool {
        self.is_blocked = self.is_enabled && self.next_departure > now;
        self.is_blocked
    }

    /// Whether it held the sender back when that was asked last.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// The earlier of `timer` and of when a sender that was held back may go on.
    #[inline]
    pub fn wake_by(&self, timer: Time) -> Time {
        if self.is_blocked { timer.min(self.next_departure) } else { timer }
    }

    /// Whether the pause of a sender that was held back ends at `now`. It is no longer held back then.
    #[inline]
    pub fn wakes(&mut self, now: Time) -> bool {
        if !self.is_blocked || self.next_departure > now {
            return false;
        }
        self.is_blocked = false;
        true
    }

    /// The pacing rate changes at `now`: what is left of a pause takes as long as it does at the new rate.
    pub fn change_rate(&mut self, now: Time, before: u64, after: u64) {
        self.next_departure = rescaled(self.next_departure, now, (before, after));
    }

    /// A burst of `bytes` leaves at `now`; with it `sent_segments` have left since the connection began
    /// (`tcp_update_skb_after_send`). If it leaves before its departure time, as probes and timeouts do, the next
    /// departure still counts from that time.
    #[inline]
    pub fn depart(&mut self, now: Time, bytes: u64, pacing_rate: u64, sent_segments: u64) {
        let prior_departure = self.next_departure;
        let departure = prior_departure.max(now);
        self.next_departure = departure;
        if self.is_enabled && pacing_rate > 0 && sent_segments >= UNPACED_SEGMENTS {
            let span = bytes * 1_000_000_000 / pacing_rate;
            let lateness = if self.credits_lateness { departure.since(prior_departure).as_nanos() } else { 0 };
            self.next_departure = departure + Duration::from_nanos(span - lateness.min(span / 2));
        }
    }
}

/// When a pause ends that would end at `departure`, if the pacing rate becomes another one at `now`. A rate of 0 paces
/// nothing.
pub(crate) fn rescaled(departure: Time, now: Time, (before, after): (u64, u64)) -> Time {
    if departure <= now || before == after || before == 0 {
        return departure;
    }
    if after == 0 {
        return now;
    }
    let left = u128::from(departure.since(now).as_nanos()) * u128::from(before) / u128::from(after);
    now + Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX))
}

/// The pacing rate of a controller that sets none: a window of data per RTT, with headroom (`tcp_update_pacing_rate`).
#[derive(Clone, Copy, Debug)]
pub struct PacingRate {
    /// The rate for a window of one packet and an RTT of an eighth of a microsecond, in avoidance and in slow start.
    per_packet: [u64; 2],
}

impl PacingRate {
    /// Packets carry `mss` bytes; the ratios are percentages of the window per RTT, in avoidance and in slow start.
    pub fn new(mss: u32, ca_ratio: u32, ss_ratio: u32) -> PacingRate {
        let per_packet =
            [ca_ratio, ss_ratio].map(|percent| (u64::from(mss) * 80_000).saturating_mul(u64::from(percent)));
        PacingRate { per_packet }
    }

    /// Bytes per second for a window of `window` packets; `srtt_us_x8` is eight times the smoothed RTT.
    #[inline(always)]
    pub fn of(&self, window: u32, in_slow_start: bool, srtt_us_x8: u32) -> u64 {
        let rate = self.per_packet[usize::from(in_slow_start)].saturating_mul(u64::from(window));
        rate / u64::from(srtt_us_x8.max(1))
    }
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
    fn a_burst_pauses_the_sender_for_the_time_it_takes_at_the_pacing_rate() {
        let mut pacer = Pacer::new(true, true);
        assert!(!pacer.forbids(ms(10)));
        pacer.depart(ms(10), 4_000, RATE, 100);
        // It might have left at time zero, and half of the pause is credited.
        assert_eq!(pacer.next_departure(), ms(12));
        assert!(pacer.forbids(ms(11)));
        assert_eq!((pacer.wake_by(Time::NEVER), pacer.wakes(ms(11))), (ms(12), false));
        assert!(pacer.wakes(ms(12)) && !pacer.wakes(ms(12)));
        assert_eq!(pacer.wake_by(Time::NEVER), Time::NEVER);
        pacer.depart(ms(13), 4_000, RATE, 104);
        assert_eq!(pacer.next_departure(), ms(16), "a lateness of 1 ms is credited");
    }

    #[test]
    fn a_burst_that_leaves_ahead_of_its_time_is_counted_from_its_turn() {
        let mut pacer = Pacer::new(true, true);
        pacer.depart(ms(10), 4_000, RATE, 100);
        pacer.depart(ms(10), 1_000, RATE, 101);
        assert_eq!(pacer.next_departure(), ms(13));
    }

    #[test]
    fn without_credit_every_pause_is_as_long_as_its_burst_takes() {
        let mut pacer = Pacer::new(true, false);
        pacer.depart(ms(10), 4_000, RATE, 100);
        assert_eq!(pacer.next_departure(), ms(14));
    }

    #[test]
    fn another_rate_changes_what_is_left_of_a_pause_and_nothing_else() {
        let mut pacer = Pacer::new(true, false);
        pacer.depart(ms(10), 8_000, RATE, 100);
        pacer.change_rate(ms(14), RATE, 2 * RATE);
        assert_eq!(pacer.next_departure(), ms(16), "half of the 4 ms that were left");
        pacer.change_rate(ms(15), 2 * RATE, RATE / 2);
        assert_eq!(pacer.next_departure(), ms(19));
        pacer.change_rate(ms(20), RATE, 9 * RATE);
        assert_eq!(pacer.next_departure(), ms(19), "a pause that is over stays as it was");
        pacer.depart(ms(20), 8_000, RATE, 101);
        pacer.change_rate(ms(21), RATE, 0);
        assert!(!pacer.forbids(ms(21)), "without a rate nothing waits");
    }

    #[test]
    fn the_first_ten_segments_and_connections_that_are_not_paced_wait_for_nothing() {
        let mut pacer = Pacer::new(true, true);
        pacer.depart(ms(10), 9_000, RATE, 9);
        assert!(!pacer.forbids(ms(10)));
        pacer.depart(ms(10), 1_000, RATE, 10);
        assert!(pacer.forbids(ms(10)));
        let mut pacer = Pacer::new(false, true);
        pacer.depart(ms(10), 9_000, RATE, 100);
        assert!(!pacer.forbids(ms(10)));
    }

    #[test]
    fn a_window_a_round_trip_with_headroom() {
        // 20 segments of 1000 bytes in 100 ms are 200 kB/s.
        assert_eq!(PacingRate::new(1_000, 100, 200).of(20, false, 8 * 100_000), 200_000);
        let rate = PacingRate::new(1_000, 120, 200);
        assert_eq!([false, true].map(|in_slow_start| rate.of(20, in_slow_start, 8 * 100_000)), [240_000, 400_000]);
        assert!(rate.of(20, true, 0) > 0, "no sample yet");
    }

    #[test]
    fn a_rate_beyond_what_a_number_holds_is_the_largest_number() {
        assert_eq!(PacingRate::new(65_000, u32::MAX, 200).of(u32::MAX, false, 1), u64::MAX);
    }
}
