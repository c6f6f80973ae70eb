//! The queueing delay as LEDBAT estimates it (RFC 6817, section 2.4.2): the smallest delay of the last samples less the
//! smallest one of the last minutes.
//!
//! Delays are round-trip times here. The acknowledgements of our endpoints do not carry the receiver's clock, from
//! which one-way delays follow; on a reverse path without a queue both give the same.

use std::borrow::Cow;

/// Minutes of history (`BASE_HISTORY`).
const BASE_MINUTES: usize = 10;
/// Samples of the current delay (`CURRENT_FILTER`).
const CURRENT_SAMPLES: usize = 4;
const MINUTE_US: u64 = 60_000_000;

/// Delays in microseconds; `u32::MAX` where there is none.
#[derive(Clone, Debug)]
pub(super) struct QueueingDelay {
    base: [u32; BASE_MINUTES],
    minute: u64,
    current: [u32; CURRENT_SAMPLES],
    next: usize,
}

impl Default for QueueingDelay {
    fn default() -> QueueingDelay {
        QueueingDelay { base: [u32::MAX; BASE_MINUTES], minute: 0, current: [u32::MAX; CURRENT_SAMPLES], next: 0 }
    }
}

impl QueueingDelay {
    /// A delay was measured at this time.
    pub(super) fn sample(&mut self, now_us: u64, delay_us: u32) {
        let minute = now_us / MINUTE_US;
        if minute != self.minute {
            self.minute = minute;
            self.base.rotate_right(1);
            self.base[0] = u32::MAX;
        }
        self.base[0] = self.base[0].min(delay_us);
        self.current[self.next] = delay_us;
        self.next = (self.next + 1) % CURRENT_SAMPLES;
    }

    /// The delay of the empty path.
    pub(super) fn base_us(&self) -> u32 {
        self.base.into_iter().min().unwrap_or(u32::MAX)
    }

    /// How long packets wait.
    pub(super) fn queue_us(&self) -> u32 {
        let current = self.current.into_iter().min().unwrap_or(u32::MAX);
        if current == u32::MAX { 0 } else { current.saturating_sub(self.base_us()) }
    }

    /// What [`observe`](QueueingDelay::observe) writes.
    pub(super) fn observables() -> Vec<Cow<'static, str>> {
        ["queue_ms", "base_rtt_ms"].map(Cow::Borrowed).to_vec()
    }

    /// The queueing delay and the delay of the empty path, for reports.
    pub(super) fn observe(&self, values: &mut [f64]) {
        values.copy_from_slice(&[self.queue_us(), self.base_us()].map(|us| f64::from(us) * 1e-3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_the_smallest_of_four_samples_above_the_smallest_of_ten_minutes() {
        let mut delay = QueueingDelay::default();
        assert_eq!(delay.queue_us(), 0);
        for sample in [50_000, 90_000, 80_000, 95_000, 99_000] {
            delay.sample(0, sample);
        }
        assert_eq!((delay.base_us(), delay.queue_us()), (50_000, 30_000));
        for minute in 1..=10 {
            delay.sample(minute * MINUTE_US, 70_000);
            assert_eq!(delay.base_us(), if minute < 10 { 50_000 } else { 70_000 }, "minute {minute}");
        }
    }
}
