//! First in, first out; an arriving packet that does not fit is dropped.
//!
//! Nothing that comes later changes the fate of an accepted packet, so its start and departure are computed on arrival:
//! start = max(arrival, transmitter free). What waits is known from the starts alone; they are forgotten lazily when
//! the clock has passed them.

use super::{InService, Limits};
use crate::ring::Ring;
use crate::stats::{Backlog, Occupancy};
use crate::transmitter::{Departures, Transmitter};
use dumbbell_units::Time;

/// A drop-tail queue with its transmitter.
#[derive(Clone, Debug)]
pub(crate) struct DropTail {
    pub(crate) transmitter: Transmitter,
    pub(crate) occupancy: Occupancy,
    pub(crate) in_service: InService,
    limits: Limits,
    waiting: Ring<Waiting>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    starts: Time,
    departs: Time,
    size: u32,
}

impl DropTail {
    pub(crate) fn new(transmitter: Transmitter, limits: Limits) -> DropTail {
        DropTail {
            transmitter,
            occupancy: Occupancy::default(),
            in_service: InService::default(),
            limits,
            waiting: Ring::new(),
        }
    }

    /// Takes a packet; returns its departure, or `None` when it is dropped.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, size: u32) -> Option<Time> {
        self.advance(now);
        let starts = self.transmitter.seek(now);
        if starts <= now {
            let departs = self.transmitter.send(size);
            self.in_service = InService { departs, size };
            return Some(departs);
        }
        if !self.limits.fit(self.occupancy.backlog(), size) {
            return None;
        }
        if let Some(limit) = self.limits.time
            // All that waits has been given to the transmitter, so nothing is queued in front of it.
            && !self.transmitter.waits_at_most(limit, now, Backlog::default())
        {
            return None;
        }
        let departs = self.transmitter.send(size);
        self.occupancy.enter(size);
        self.waiting.push_back(Waiting { starts, departs, size });
        Some(departs)
    }

    /// Takes as many as fit of `count` packets of `size` bytes each that come together, if one rate will serve them;
    /// returns the departures of those that do.
    #[inline(always)]
    pub(crate) fn offer_run(&mut self, now: Time, size: u32, count: u32) -> Option<Departures> {
        if self.limits.time.is_some() {
            return None;
        }
        self.advance(now);
        let mut starts = self.transmitter.seek(now);
        let at_once = u32::from(starts <= now);
        let fitting = at_once + self.limits.room(self.occupancy.backlog(), size, count - at_once);
        let all = self.transmitter.departures(size, fitting)?;
        let mut departures = all;
        if at_once > 0 {
            starts = departures.advance();
            self.in_service = InService { departs: starts, size };
        }
        let waiting = departures.count();
        self.occupancy.enter_run(size, waiting);
        self.waiting.extend(waiting, |_, place| {
            let departs = departures.advance();
            *place = Waiting { starts: std::mem::replace(&mut starts, departs), departs, size };
        });
        self.transmitter.skip_to(&departures);
        Some(all)
    }

    /// Since when there has been neither a waiting packet nor one in transmission; everything has been advanced to `now`.
    pub(crate) fn idle_since(&self, now: Time) -> Option<Time> {
        let free = self.in_service.departs();
        (self.waiting.is_empty() && free <= now).then_some(free)
    }

    /// Brings the queue up to `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        if self.occupancy.clock() < now {
            self.forget_started(now);
        }
    }

    /// Forgets what has begun transmission by `now`. Of packets that arrive in a burst only the first has work here.
    #[inline(never)]
    fn forget_started(&mut self, now: Time) {
        let DropTail { occupancy, waiting, in_service, .. } = self;
        let last = occupancy.advance_with(now, |leaving| {
            waiting.take_while(|waiting| {
                let has_started = waiting.starts <= now;
                if has_started {
                    leaving.leave(waiting.starts, waiting.size);
                }
                has_started
            })
        });
        if let Some(Waiting { departs, size, .. }) = last {
            *in_service = InService { departs, size };
        }
    }
}
