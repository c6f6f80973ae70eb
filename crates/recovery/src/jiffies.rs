//! The coarse clock of the kernel's timers (`jiffies`, `CONFIG_HZ`).
//!
//! Retransmission, probe and reordering timers count whole ticks: a timer that is armed now for a span fires as many ticks
//! after the beginning of the current one as the span needs, rounded up.

use dumbbell_units::{Duration, Time};

/// A clock with `hz` ticks a second that never runs backwards.
#[derive(Clone, Debug)]
pub struct Jiffies {
    tick: Duration,
    tick_start: Time,
}

impl Jiffies {
    /// A clock at the start of the run; `hz` is at least 1.
    pub fn new(hz: u32) -> Jiffies {
        Jiffies { tick: Duration::from_nanos(1_000_000_000 / u64::from(hz.max(1))), tick_start: Time::ZERO }
    }

    /// Moves the clock to `now`; returns how many ticks have passed since it was moved last.
    #[inline]
    pub fn advance(&mut self, now: Time) -> u32 {
        let elapsed = now.since(self.tick_start);
        if elapsed < self.tick {
            return 0;
        }
        let ticks = elapsed.as_nanos() / self.tick.as_nanos();
        self.tick_start += self.tick * ticks;
        #[expect(clippy::cast_possible_truncation, reason = "the kernel's `tcp_jiffies32`, which wraps")]
        let ticks = ticks as u32;
        ticks
    }

    /// When a timer of `micros` that is armed now fires.
    #[inline]
    pub fn deadline(&self, micros: u64) -> Time {
        let ticks = (micros * 1_000).div_ceil(self.tick.as_nanos());
        self.tick_start + self.tick * ticks
    }

    /// Length of a tick.
    pub fn tick(&self) -> Duration {
        self.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_on_ticks_counted_from_the_current_one() {
        let mut jiffies = Jiffies::new(250);
        assert_eq!(jiffies.tick(), Duration::from_millis(4));
        assert_eq!(jiffies.advance(Time::from_nanos(9_000_000)), 2);
        assert_eq!(jiffies.advance(Time::from_nanos(11_000_000)), 0);
        assert_eq!(jiffies.deadline(5_000), Time::from_nanos(16_000_000));
        assert_eq!(jiffies.deadline(4_000), Time::from_nanos(12_000_000));
        assert_eq!(jiffies.advance(Time::from_nanos(12_000_000)), 1);
    }
}
