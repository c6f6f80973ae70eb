//! The wall clock as the time of a run.

use dumbbell_units::{Duration, Time};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};

const NANOS: i64 = 1_000_000_000;
/// How long somebody may sleep who has to notice that the run is over.
const PATIENCE: Duration = Duration::from_millis(50);

/// Nanoseconds of the monotonic clock since the run began.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// A clock that will stand at zero `delay` from now.
    pub fn starting_in(delay: Duration) -> Clock {
        Clock { origin: monotonic() + delay.as_nanos() }
    }

    /// The time; zero before the start.
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic().saturating_sub(self.origin))
    }

    /// The time when the monotonic clock stood at `nanos`.
    pub fn at(self, nanos: u64) -> Time {
        Time::from_nanos(nanos.saturating_sub(self.origin))
    }

    /// How long it is until `instant`.
    pub fn until(self, instant: Time) -> Duration {
        Duration::from_nanos(self.origin.saturating_add(instant.as_nanos()).saturating_sub(monotonic()))
    }

    /// Sleeps until `instant`; false if `over` was set before.
    pub fn sleep_until(self, instant: Time, over: &AtomicBool) -> bool {
        loop {
            if over.load(Ordering::Relaxed) {
                return false;
            }
            let left = self.until(instant);
            if left == Duration::ZERO {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.min(PATIENCE).as_nanos()));
        }
    }
}

/// A span as system calls want it.
pub fn timespec(span: Duration) -> Timespec {
    let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    Timespec { tv_sec: nanos / NANOS, tv_nsec: nanos % NANOS }
}

/// Ticks of the kernel's coarse clock in a second.
pub fn hz() -> u64 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    1_000_000_000 / u64::try_from(tick.tv_nsec).unwrap_or(0).max(1)
}

fn monotonic() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    u64::try_from(tv_sec * NANOS + tv_nsec).unwrap_or(0)
}
