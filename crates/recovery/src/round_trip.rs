//! All that a TCP sender keeps about its round-trip time.
//!
//! An ACK may give two samples: one goes into the smoothed RTT and the timeout; the other one, for the segment
//! delivered last, goes to the controller and into the minimum. A sample that may contain the receiver's delayed-ACK
//! time does not raise the minimum.

use crate::ack_rtt::{AckRtt, RttSource};
use crate::min_rtt::WindowedMin;
use crate::rtt::RttEstimator;
use dumbbell_units::{Duration, Time};

/// Estimator, minimum, and where the samples come from.
#[derive(Clone, Debug)]
pub struct RoundTrip {
    estimator: RttEstimator,
    min: WindowedMin,
    source: RttSource,
    shows_smoothed: bool,
}

impl RoundTrip {
    /// Nothing sampled. With `shows_smoothed` controller and minimum get the smoothed RTT instead of the latest sample
    /// (ns-3 before 3.43).
    pub fn new(estimator: RttEstimator, source: RttSource, shows_smoothed: bool) -> RoundTrip {
        RoundTrip { estimator, min: WindowedMin::default(), source, shows_smoothed }
    }

    /// The answer to the SYN came at `now`, `rtt` after the SYN left: the first sample, if the source of samples takes
    /// it (`tcp_synack_rtt_meas`).
    pub fn begin(&mut self, now: Time, rtt: Duration, is_syn_repeated: bool) {
        match self.source.handshake_rtt_us(now, rtt, is_syn_repeated) {
            Some(rtt_us) => {
                self.estimator.sample(rtt_us, 0, 0);
                self.min.update(now.as_micros(), rtt_us);
            }
            None => self.estimator.fall_back(),
        }
    }

    /// Takes the round-trip times of an ACK at `now_us`; returns what the controller is shown, in microseconds (the
    /// second half of `tcp_ack_update_rtt`).
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "32 bits hold a round trip of 71 minutes")]
    pub fn take(&mut self, now_us: u64, rtt: AckRtt, maybe_delayed: bool, snd_una: u32, snd_nxt: u32) -> u64 {
        self.estimator.sample(rtt.rtt_us as u32, snd_una, snd_nxt);
        let shown_us = if self.shows_smoothed { u64::from(self.estimator.srtt_us()) } else { rtt.latest_us };
        if !(maybe_delayed && shown_us > u64::from(self.min.get())) {
            self.min.update(now_us, (shown_us as u32).max(1));
        }
        self.source.note_shown(shown_us as u32);
        shown_us
    }

    /// Smoothed RTT and timeout.
    #[inline]
    pub fn estimator(&self) -> &RttEstimator {
        &self.estimator
    }

    /// The retransmission timer expired after `rto_us`: the timeout doubles.
    pub fn back_off(&mut self, rto_us: u64) {
        self.estimator.back_off(rto_us);
    }

    /// The minimum in microseconds; `u32::MAX` before the first sample.
    #[inline]
    pub fn min_us(&self) -> u32 {
        self.min.get()
    }

    /// Where samples come from.
    #[inline]
    pub fn source(&self) -> &RttSource {
        &self.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(shows_smoothed: bool) -> RoundTrip {
        let estimator = RttEstimator::linux(200_000, 120_000_000);
        let mut round_trip = RoundTrip::new(estimator, RttSource::Departures { has_timestamps: true }, shows_smoothed);
        round_trip.begin(Time::ZERO, Duration::from_millis(100), false);
        assert_eq!(round_trip.min_us(), 100_000);
        round_trip
    }

    #[test]
    fn the_controller_is_shown_the_latest_sample_or_the_smoothed_one() {
        let rtt = AckRtt { rtt_us: 180_000, latest_us: 140_000 };
        assert_eq!(round_trip(false).take(1, rtt, false, 0, 10), 140_000);
        assert_eq!(round_trip(true).take(1, rtt, false, 0, 10), 110_000);
    }

    #[test]
    fn a_delayed_ack_may_lower_the_minimum_and_not_raise_it() {
        let mut round_trip = round_trip(false);
        let rtt = |latest_us| AckRtt { rtt_us: latest_us, latest_us };
        round_trip.take(1, rtt(90_000), true, 0, 10);
        assert_eq!(round_trip.min_us(), 90_000);
        // The minimum has left its window: only a sample without a suspicion takes its place.
        round_trip.take(301_000_000, rtt(140_000), true, 0, 10);
        assert_eq!(round_trip.min_us(), 90_000);
        round_trip.take(301_000_001, rtt(110_000), false, 0, 10);
        assert_eq!(round_trip.min_us(), 110_000);
    }

    #[test]
    fn an_expiry_doubles_the_timeout_until_the_next_sample() {
        let mut round_trip = round_trip(false);
        round_trip.back_off(300_000);
        assert_eq!(round_trip.estimator().rto_us(), 600_000);
        round_trip.take(1, AckRtt { rtt_us: 100_000, latest_us: 100_000 }, false, 0, 10);
        assert_eq!(round_trip.estimator().rto_us(), 300_000);
    }
}
