//! The drop-tail queue itself: first in, first out; an arriving packet that does not fit is dropped.
//!
//! An accepted packet is never dropped later, so its start and its departure are computed when it arrives: start =
//! max(arrival, transmitter free). The queue keeps only the starts of the packets that wait; each start is the
//! departure of the packet before. Starts that have passed are removed when the queue is looked at next. Packets of one
//! size that wait one behind the other are kept as one [`Train`].
//!
//! Where an ACK clock lets packets arrive at the instant at which others begin, the place that these leave is free, as
//! it is for the packets of a burst on a real host, which come some time after each other. Instants are rounded up to
//! nanoseconds, so "at the instant" means [within](ROUNDING) some nanoseconds.

use super::limits::{InService, Limits};
use crate::ring::Ring;
use crate::stats::{Backlog, Occupancy};
use crate::train::Train;
use crate::transmitter::Transmitter;
use dumbbell_units::{Duration, Time};

/// Each link on the way of a packet and of its ACK rounds an instant up by less than a nanosecond. There are seldom
/// more of them with a rate than these.
pub(crate) const ROUNDING: Duration = Duration::from_nanos(4);

/// A drop-tail queue with its transmitter. Plain drop-tail is this, and gates stand in front of it.
#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    pub(crate) transmitter: Transmitter,
    pub(crate) occupancy: Occupancy,
    pub(crate) in_service: InService,
    pub(crate) limits: Limits,
    waiting: Ring<Run>,
}

/// Packets of one size that wait one behind the other.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    starts: Train,
    size: u32,
}

impl Fifo {
    pub(crate) fn new(transmitter: Transmitter, limits: Limits) -> Fifo {
        Fifo {
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
        // While nothing waits there is nothing to account for but time, and that can wait.
        if !self.waiting.is_empty() {
            self.advance(now);
        }
        let starts = self.transmitter.seek(now);
        if starts <= now {
            let departs = self.transmitter.send(size);
            self.in_service = InService { departs, size };
            return Some(departs);
        }
        self.advance(now);
        let fits = self.limits.fit(self.occupancy.backlog(), size)
            || (self.makes_room(now) && self.limits.fit(self.occupancy.backlog(), size));
        if !fits {
            return None;
        }
        if let Some(limit) = self.limits.time
            // All that waits has been given to the transmitter, so nothing is queued in front of it.
            && !self.transmitter.waits_at_most(limit, now, Backlog::default())
        {
            return None;
        }
        let departs = self.transmitter.send(size);
        self.wait(Train::one(starts, departs), size);
        Some(departs)
    }

    /// Takes as many as fit of `count` packets of `size` bytes each that come together, if one rate will serve them;
    /// returns the departures of those that do.
    #[inline(always)]
    pub(crate) fn offer_run(&mut self, now: Time, size: u32, count: u32) -> Option<Train> {
        self.advance(now);
        let at_once = u32::from(self.transmitter.seek(now) <= now);
        let room = self.limits.room(self.occupancy.backlog(), size, count - at_once);
        if room < count - at_once && (at_once > 0 || self.first_to_begin(now) <= now + ROUNDING) {
            return self.offer_each(now, size, count);
        }
        let mut fitting = at_once + room;
        if let Some(limit) = self.limits.time {
            fitting = self.transmitter.count_begun_by(now + limit, size, fitting)?;
        }
        let mut starts = self.transmitter.send_train(size, fitting)?;
        let departures = starts.ends();
        if at_once > 0 {
            starts.advance();
            self.in_service = InService { departs: departures.next(), size };
        }
        if starts.count() > 0 {
            self.wait(starts, size);
        }
        Some(departures)
    }

    /// [`offer_run`](Self::offer_run) where one packet may find [room](Self::makes_room) that those before it did not.
    #[cold]
    #[inline(never)]
    fn offer_each(&mut self, now: Time, size: u32, count: u32) -> Option<Train> {
        let mut departures = self.transmitter.train(size, count)?.ends();
        // Where one does not fit, those behind it do not either.
        let fitting = (0..count).take_while(|_| self.offer(now, size).is_some()).count();
        departures.truncate(u32::try_from(fitting).unwrap_or(count));
        Some(departures)
    }

    /// Lets the first packet that waits begin if it does so at `now` but for rounding; whether it does.
    #[cold]
    #[inline(never)]
    pub(crate) fn makes_room(&mut self, now: Time) -> bool {
        let Some(starts) = self.waiting.front_mut().map(|run| run.starts.next()) else { return false };
        let is_due = starts <= now + ROUNDING;
        if is_due {
            self.advance(starts);
        }
        is_due
    }

    /// When the first packet begins that waits, or would wait.
    #[cold]
    #[inline(never)]
    fn first_to_begin(&mut self, now: Time) -> Time {
        self.waiting.front_mut().map_or_else(|| self.transmitter.seek(now), |run| run.starts.next())
    }

    /// Packets of `size` bytes each begin to wait.
    #[inline(always)]
    fn wait(&mut self, starts: Train, size: u32) {
        self.occupancy.enter_run(size, starts.count());
        self.line_up(starts, size);
    }

    #[inline(always)]
    fn line_up(&mut self, starts: Train, size: u32) {
        let joins = self.waiting.last_mut().is_some_and(|last| last.size == size && last.starts.join(&starts));
        if !joins {
            self.waiting.push_back(Run { starts, size });
        }
    }

    /// The rate is `rate` from `now` on: what has begun transmission gets the rest of its bits at that rate, and what
    /// waits begins after it. Returns the new departures of all that have not left at `now`, in their order.
    pub(crate) fn set_rate(&mut self, now: Time, rate: u64) -> Vec<Time> {
        // What begins at this very instant begins at the new rate.
        self.advance(Time::from_nanos(now.as_nanos().saturating_sub(1)));
        let work_left = self.transmitter.work_left(now);
        let mut work_waiting: u128 = self.waiting.iter().map(|run| self.work_of(run)).sum();
        // The instant at which a packet begins is rounded up. One with less than all of its work left has begun before.
        while work_waiting > work_left
            && let Some(size) = self.begin_first(now)
        {
            work_waiting -= self.transmitter.work_of(size);
        }
        self.transmitter.set_rate(now, rate);
        let mut departures = Vec::new();
        if work_left > work_waiting {
            let departs = self.transmitter.serve(work_left - work_waiting);
            self.in_service.departs = departs;
            departures.push(departs);
        }
        for run in std::mem::replace(&mut self.waiting, Ring::new()).iter() {
            for _ in 0..run.starts.count() {
                let starts = self.transmitter.seek(now);
                let departs = self.transmitter.send(run.size);
                self.line_up(Train::one(starts, departs), run.size);
                departures.push(departs);
            }
        }
        if self.occupancy.clock() >= now {
            self.remove_started(now);
        }
        departures
    }

    fn work_of(&self, run: &Run) -> u128 {
        u128::from(run.starts.count()) * self.transmitter.work_of(run.size)
    }

    /// The first packet that waits begins transmission, by `now`; returns its size.
    fn begin_first(&mut self, now: Time) -> Option<u32> {
        let Run { starts, size } = self.waiting.front_mut()?;
        let size = *size;
        starts.advance();
        let is_over = starts.count() == 0;
        self.in_service = InService { departs: starts.next(), size };
        if is_over {
            self.waiting.drop_first();
        }
        self.occupancy.leave(now, size);
        Some(size)
    }

    /// Since when there has been neither a waiting packet nor one in transmission; everything has been advanced to
    /// `now`.
    pub(crate) fn idle_since(&self, now: Time) -> Option<Time> {
        let free = self.in_service.departs();
        (self.waiting.is_empty() && free <= now).then_some(free)
    }

    /// Bytes of memory [claimed](dumbbell_units::claimed).
    pub(crate) fn memory(&self) -> u64 {
        self.waiting.memory() + self.transmitter.memory()
    }

    /// Brings the queue up to `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        if self.occupancy.clock() < now {
            self.remove_started(now);
        }
    }

    /// Removes what has begun transmission by `now`. Of the packets of a burst only the first finds something to
    /// remove.
    #[inline(never)]
    fn remove_started(&mut self, now: Time) {
        let Fifo { occupancy, waiting, in_service, .. } = self;
        if waiting.front_mut().is_none_or(|run| run.starts.next() > now) {
            return occupancy.advance(now);
        }
        occupancy.advance_with(now, |leaving| {
            loop {
                let Run { starts, size } = waiting.first_mut();
                leaving.leave_by(now, starts, *size);
                // The next one can start when this one departs.
                *in_service = InService { departs: starts.next(), size: *size };
                if starts.count() > 0 || waiting.drop_first().is_none_or(|next| next.starts.next() > now) {
                    break;
                }
            }
        });
    }
}
