//! First in, first out; an arriving packet that does not fit is dropped.
//!
//! Nothing that comes later changes the fate of an accepted packet, so its start and departure are computed on arrival:
//! start = max(arrival, transmitter free). What waits is known from the starts alone, each of which is the departure of the
//! packet before; they are forgotten lazily when the clock has passed them. Packets that came together are kept as one
//! run.

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
    waiting: Ring<Run>,
}

/// Packets of one size that wait one behind the other.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    departures: Departures,
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
        self.waiting.push_back(Run { departures: Departures::one(starts, departs), size });
        Some(departs)
    }

    /// Takes as many as fit of `count` packets of `size` bytes each that come together, if one rate will serve them;
    /// returns the departures of those that do, and has to hear of their [end](Self::end_run).
    #[inline(always)]
    pub(crate) fn offer_run(&mut self, now: Time, size: u32, count: u32) -> Option<Departures> {
        if self.limits.time.is_some() {
            return None;
        }
        self.advance(now);
        let at_once = u32::from(self.transmitter.seek(now) <= now);
        let fitting = at_once + self.limits.room(self.occupancy.backlog(), size, count - at_once);
        let all = self.transmitter.departures(size, fitting)?;
        let mut departures = all;
        if at_once > 0 {
            self.in_service = InService { departs: departures.advance(), size };
        }
        if departures.count() > 0 {
            self.occupancy.enter_run(size, departures.count());
            self.waiting.push_back(Run { departures, size });
        }
        Some(all)
    }

    /// The end of a [run](Self::offer_run), whose departures have been gone through.
    #[inline(always)]
    pub(crate) fn end_run(&mut self, departures: &Departures) {
        self.transmitter.skip_to(departures);
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
        occupancy.advance_with(now, |leaving| {
            while let Some(run) = waiting.front_mut() {
                let Run { mut departures, size } = *run;
                // The transmitter begins with a packet when the one before it departs.
                while departures.count() > 0 && departures.latest() <= now {
                    leaving.leave(departures.latest(), size);
                    departures.advance();
                }
                if departures.count() < run.departures.count() {
                    *in_service = InService { departs: departures.latest(), size };
                }
                if departures.count() > 0 {
                    run.departures = departures;
                    break;
                }
                waiting.drop_first();
            }
        });
    }
}
