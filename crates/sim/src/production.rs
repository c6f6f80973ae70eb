//! An application whose rate has steps: how much it has produced, and when it acts next.

use crate::endpoints::Endpoints;
use crate::flow::in_segments;
use dumbbell_path::Schedule;
use dumbbell_units::{Duration, Time};

const NANOS: u128 = 1_000_000_000;

/// Bits per second of an application that writes as fast as the connection takes it.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// Bytes that an application has to write which has no end.
const ENDLESS: u64 = u64::MAX;

/// What an application has to write, at a rate that changes. Times count from its first write.
#[derive(Clone, Debug)]
pub(crate) struct Production {
    schedule: Schedule<u64>,
    mss: u16,
    /// Bytes that are not yet written; [`u64::MAX`] if there is no end of them.
    left: u64,
    /// Length of the last segment that was written.
    last_len: u16,
    begin: Time,
    /// The rate in force, in bits per second, and up to when its work is accounted for.
    rate: u64,
    clock: Time,
    /// Work to do until the next segment is produced, in units of 10⁻⁹ bits.
    owed: u128,
    /// When the next segment is produced, and when the rate changes next.
    next_write: Time,
    next_change: Time,
}

impl Production {
    pub fn new(schedule: Schedule<u64>, mss: u16, bytes: Option<u64>) -> Production {
        let never = Time::NEVER;
        Production {
            schedule,
            mss,
            left: bytes.unwrap_or(ENDLESS),
            last_len: mss,
            begin: never,
            rate: 0,
            clock: never,
            owed: 0,
            next_write: never,
            next_change: never,
        }
    }

    /// The application begins: its first segment is there at once.
    pub fn begin(&mut self, now: Time) {
        (self.begin, self.clock, self.next_change) = (now, now, now);
    }

    /// When it acts next.
    pub fn next(&self) -> Time {
        self.next_write.min(self.next_change)
    }

    /// Whether everything has been written.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Writes what has been produced by `now`, and follows the changes of the rate.
    pub fn write_due(&mut self, now: Time, ends: &mut Endpoints) {
        while self.next() <= now {
            if self.next_change <= self.next_write {
                self.change(now, ends);
            } else {
                self.clock = self.next_write;
                self.owed = u128::from(self.mss) * 8 * NANOS;
                self.last_len = u16::try_from(self.left).unwrap_or(self.mss).min(self.mss);
                if self.left < ENDLESS {
                    self.left -= u64::from(self.last_len);
                }
                ends.write(now, 1, self.last_len);
                self.aim();
            }
        }
    }

    /// The rate changes. What a connection has been given without a limit and has not sent is taken back, but
    /// for what a send buffer holds.
    fn change(&mut self, now: Time, ends: &mut Endpoints) {
        let at = self.next_change;
        if self.rate == UNLIMITED {
            let unsent = ends.withdraw(now);
            self.left = if self.left == ENDLESS { ENDLESS } else { unsent };
        } else {
            let done = u128::from(self.rate) * u128::from(at.since(self.clock).as_nanos());
            self.owed = self.owed.saturating_sub(done);
        }
        let elapsed = Time::ZERO + at.since(self.begin);
        self.rate = self.schedule.at(elapsed);
        self.clock = at;
        let change = self.schedule.next_change(elapsed);
        self.next_change = if change < Time::NEVER { self.begin + change.since(Time::ZERO) } else { Time::NEVER };
        if self.rate == UNLIMITED && self.left > 0 {
            let (segments, last_len) =
                if self.left == ENDLESS { (u32::MAX, self.mss) } else { in_segments(self.left, self.mss) };
            self.last_len = last_len;
            ends.write(now, segments, last_len);
            if self.left < ENDLESS {
                self.left = 0;
            }
        }
        self.aim();
    }

    /// Finds out when the next segment is produced.
    fn aim(&mut self) {
        self.next_write = match self.rate {
            0 | UNLIMITED => Time::NEVER,
            _ if self.left == 0 => Time::NEVER,
            rate => {
                let nanos = self.owed.div_ceil(u128::from(rate));
                self.clock + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        };
        if self.left == 0 && self.rate != UNLIMITED {
            self.next_change = Time::NEVER;
        }
    }
}
