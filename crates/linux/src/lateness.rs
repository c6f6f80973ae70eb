//! How late the emulator was.

use dumbbell_results::Histogram;
use dumbbell_units::Duration;

/// A delivery that is so late is a stall.
const STALL: Duration = Duration::from_millis(5);

/// How late packets were handed to hosts.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Nanoseconds.
    all: Histogram,
    max: Duration,
    measured_max: Duration,
    stalls: u64,
}

impl Lateness {
    pub fn add(&mut self, late: Duration, is_measuring: bool) {
        self.all.add(late.as_nanos());
        self.max = self.max.max(late);
        if is_measuring {
            self.measured_max = self.measured_max.max(late);
        }
        self.stalls += u64::from(late > STALL);
    }

    /// Microseconds that this share of deliveries did not exceed; zero without any.
    pub fn quantile_us(&self, q: f64) -> f64 {
        let us = self.all.quantile(q) / 1e3;
        if us.is_nan() { 0.0 } else { us }
    }

    /// The largest.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The largest in the measured interval.
    pub fn measured_max(&self) -> Duration {
        self.measured_max
    }

    /// Deliveries more than 5 ms late.
    pub fn stalls(&self) -> u64 {
        self.stalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_deliveries_more_than_five_milliseconds_late() {
        let mut lateness = Lateness::default();
        for ms in [1, 5, 6, 20] {
            lateness.add(Duration::from_millis(ms), ms == 6);
        }
        assert_eq!(
            (lateness.stalls, lateness.max, lateness.measured_max),
            (2, Duration::from_millis(20), Duration::from_millis(6))
        );
    }
}
