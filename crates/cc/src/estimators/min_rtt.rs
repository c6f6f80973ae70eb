//! The minimum round-trip time of a window of time.

use dumbbell_cc_contract::View;
use dumbbell_units::Duration;

/// The smallest round-trip time, believed for a span of time that the kernel's coarse clock measures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MinRttFilter {
    /// The minimum in microseconds; [`View::UNKNOWN_RTT`] before the first sample.
    pub rtt_us: u32,
    /// Tick when it was set.
    pub stamp: u32,
    /// How long it is believed, in ticks.
    window_ticks: u32,
}

impl MinRttFilter {
    /// Starts with what the connection knows, to be believed for `window`.
    pub fn start(&mut self, view: &View, window: Duration) {
        *self = MinRttFilter { rtt_us: view.min_rtt_us, stamp: view.jiffies, window_ticks: view.ticks(window) };
    }

    /// Whether the minimum is older than its window.
    #[inline]
    pub fn is_expired(&self, view: &View) -> bool {
        is_after(view.jiffies, self.stamp.wrapping_add(self.window_ticks))
    }

    /// Takes a round-trip time in: it becomes the minimum when it is lower, or equal where `ties` renew, or whatever it
    /// is when it `replaces` an old one.
    #[inline]
    pub fn take(&mut self, view: &View, rtt_us: u32, ties: bool, replaces: bool) {
        let is_lower = rtt_us < self.rtt_us || (ties && rtt_us == self.rtt_us);
        if is_lower || replaces {
            self.rtt_us = rtt_us;
            self.stamp = view.jiffies;
        }
    }

    /// Takes over the minimum of `other` and its age.
    #[inline]
    pub fn adopt(&mut self, other: &MinRttFilter) {
        self.rtt_us = other.rtt_us;
        self.stamp = other.stamp;
    }
}

/// Whether tick `a` is later than tick `b`.
#[inline]
pub fn is_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u32) -> View {
        View { jiffies: 1_000 + millis, min_rtt_us: 50_000, ..View::new(1448) }
    }

    #[test]
    fn a_minimum_is_believed_for_its_window_and_replaced_when_asked() {
        let mut filter = MinRttFilter::default();
        filter.start(&at(0), Duration::from_secs(10));
        filter.take(&at(5_000), 60_000, false, false);
        assert_eq!(filter.rtt_us, 50_000);
        assert!(!filter.is_expired(&at(10_000)) && filter.is_expired(&at(10_001)));
        filter.take(&at(10_001), 60_000, false, true);
        assert_eq!((filter.rtt_us, filter.stamp), (60_000, 11_001));
    }

    #[test]
    fn an_equal_round_trip_renews_only_where_ties_do() {
        let mut filter = MinRttFilter::default();
        filter.start(&at(0), Duration::from_secs(10));
        filter.take(&at(9_000), 50_000, false, false);
        assert!(filter.is_expired(&at(11_000)));
        filter.take(&at(9_000), 50_000, true, false);
        assert!(!filter.is_expired(&at(11_000)));
    }

    #[test]
    fn ticks_compare_across_their_overflow() {
        assert!(is_after(3, u32::MAX - 3) && !is_after(u32::MAX - 3, 3) && !is_after(7, 7));
    }
}
