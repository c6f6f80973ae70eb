//! Transmitters: how long a packet occupies the link.
//!
//! A transmitter is asked in two steps. [`Transmitter::seek`] tells when a packet that is ready at some instant can
//! begin, after everything sent before; [`Transmitter::send`] sends it from there and tells when its last bit leaves.
//! Nothing is scheduled: both are computed at once, so that a FIFO queue knows a packet's departure on its arrival.
//!
//! [`Transmitter::set_rate`] changes the rate from outside. What has been sent and what is left of it are then told
//! apart by work, in which the old rate and the new one can both be measured: exactly, down to the fraction of a
//! nanosecond.

mod fluid;
mod profile;
mod trace;

use crate::stats::Backlog;
use crate::train::Train;
use dumbbell_units::{Duration, Time};
use fluid::Fluid;
use std::sync::Arc;
use trace::Trace;

const NANOS: u64 = 1_000_000_000;

/// The work of transmitting `bytes`, in units of 10⁻⁹ bits: a rate of R bit/s does R of them in a nanosecond.
fn work_of(bytes: u64) -> u64 {
    bytes.saturating_mul(8 * NANOS)
}

/// How fast a link transmits.
#[derive(Clone, Debug)]
pub enum LinkRate {
    /// Transmission takes no time.
    Unlimited,
    /// Bits per second.
    Constant(u64),
    /// Piecewise constant bits per second from the given instants on; the first starts at 0. Rate 0 is an outage:
    /// packets are held. With `repeat_after` the schedule starts again after that span.
    Schedule {
        /// Start and rate of every step, in order of time.
        steps: Arc<[(Time, u64)]>,
        /// Period of the schedule; `None` keeps the last rate.
        repeat_after: Option<Duration>,
    },
    /// Mahimahi delivery opportunities in milliseconds; `once` ends the link after the last one.
    Trace {
        /// Opportunities, non-decreasing.
        opportunities_ms: Arc<[u32]>,
        /// Whether the trace ends instead of looping.
        once: bool,
    },
}

/// A transmitter with a finite rate and the framing overhead of its packets.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    overhead: u64,
    /// What `overhead` becomes once the rate has been set from outside: that of the framing alone.
    framing: u64,
    service: Service,
    /// The rate in force, if it was set from outside.
    rate_set: Option<u64>,
    /// What it was before the rate was set, the earliest first.
    past: Vec<Past>,
}

/// A transmitter as it was until somebody changed its rate.
#[derive(Clone, Debug)]
struct Past {
    until: Time,
    capacity: Capacity,
}

#[derive(Clone, Debug)]
enum Capacity {
    Rate(u64),
    Service(Box<Service>),
}

#[derive(Clone, Debug)]
enum Service {
    Fluid(Fluid),
    Trace(Trace),
}

impl Transmitter {
    /// `None` when the rate is unlimited.
    pub(crate) fn new(rate: &LinkRate, overhead_bytes: u32) -> Option<Transmitter> {
        let service = match rate {
            LinkRate::Unlimited => return None,
            LinkRate::Constant(rate) => Service::Fluid(Fluid::constant(*rate)),
            LinkRate::Schedule { steps, repeat_after } => Service::Fluid(Fluid::new(steps.clone(), *repeat_after)),
            LinkRate::Trace { opportunities_ms, once } => Service::Trace(Trace::new(opportunities_ms.clone(), *once)),
        };
        let overhead = match service {
            Service::Fluid(_) => u64::from(overhead_bytes),
            Service::Trace(_) => u64::from(overhead_bytes) + trace::DEVICE_HEADER,
        };
        let framing = u64::from(overhead_bytes);
        Some(Transmitter { overhead, framing, service, rate_set: None, past: Vec::new() })
    }

    /// From `now` on the rate is `rate`, and the transmitter is free: what is [left](Self::work_left) of what it has
    /// sent is for the caller to [serve](Self::serve) and to send again.
    pub(crate) fn set_rate(&mut self, now: Time, rate: u64) {
        let nominal = match &self.service {
            Service::Fluid(fluid) => fluid.nominal_rate(now),
            Service::Trace(trace) => trace.mean_rate(),
        };
        let before = std::mem::replace(&mut self.service, Service::Fluid(Fluid::set_at(now, rate, nominal)));
        let capacity = match self.rate_set {
            Some(rate) => Capacity::Rate(rate),
            None => Capacity::Service(Box::new(before)),
        };
        self.past.push(Past { until: now, capacity });
        self.rate_set = Some(rate);
        self.overhead = self.framing;
    }

    /// The work, at `now`, that is left of all that has been sent.
    pub(crate) fn work_left(&self, now: Time) -> u128 {
        match &self.service {
            Service::Fluid(fluid) => fluid.work_left(now),
            Service::Trace(trace) => trace.work_left(now),
        }
    }

    /// The work of a packet of `size` bytes.
    pub(crate) fn work_of(&self, size: u32) -> u128 {
        u128::from(work_of(u64::from(size) + self.overhead))
    }

    /// Does what is left of a packet since the rate was [set](Self::set_rate); returns when its last bit leaves.
    pub(crate) fn serve(&mut self, work: u128) -> Time {
        match &mut self.service {
            Service::Fluid(fluid) => fluid.serve(u64::try_from(work).unwrap_or(u64::MAX)),
            // There is none behind a rate that was set.
            Service::Trace(_) => Time::NEVER,
        }
    }

    /// Whether the packet that begins at `now`, as far as nanoseconds tell, is already being sent then.
    pub(crate) fn begins_before(&self, now: Time) -> bool {
        match &self.service {
            Service::Fluid(fluid) => fluid.begins_before(now),
            // Opportunities come before everything else of their instant.
            Service::Trace(_) => true,
        }
    }

    /// The earliest start of a packet that is ready at `ready`; [`Time::NEVER`] when it can never be sent.
    #[inline]
    pub(crate) fn seek(&mut self, ready: Time) -> Time {
        match &mut self.service {
            Service::Fluid(fluid) => fluid.seek(ready),
            Service::Trace(trace) => trace.seek(ready),
        }
    }

    /// Sends a packet of `size` bytes from the start that [`seek`](Self::seek) found; returns when its last bit leaves,
    /// rounded up to nanoseconds.
    #[inline]
    pub(crate) fn send(&mut self, size: u32) -> Time {
        let bytes = u64::from(size) + self.overhead;
        match &mut self.service {
            Service::Fluid(fluid) => fluid.send(bytes),
            Service::Trace(trace) => trace.send(bytes),
        }
    }

    /// When `count` packets of `size` bytes would start that are sent from the start that [`seek`](Self::seek) found,
    /// if that is simple.
    pub(crate) fn train(&mut self, size: u32, count: u32) -> Option<Train> {
        match &mut self.service {
            Service::Fluid(fluid) => fluid.train(u64::from(size) + self.overhead, count),
            Service::Trace(_) => None,
        }
    }

    /// Sends `count` packets of `size` bytes from the start that [`seek`](Self::seek) found, if that is simple; returns
    /// when they start.
    #[inline]
    pub(crate) fn send_train(&mut self, size: u32, count: u32) -> Option<Train> {
        match &mut self.service {
            Service::Fluid(fluid) => fluid.send_train(u64::from(size) + self.overhead, count),
            Service::Trace(_) => None,
        }
    }

    /// How many of `count` packets of `size` bytes each will have begun by `instant` if they are sent from the start
    /// that [`seek`](Self::seek) found; `None` where the rate is not constant.
    pub(crate) fn count_begun_by(&mut self, instant: Time, size: u32, count: u32) -> Option<u32> {
        match &mut self.service {
            Service::Fluid(fluid) => fluid.count_begun_by(instant, u64::from(size) + self.overhead, count),
            Service::Trace(_) => None,
        }
    }

    /// Whether a packet that arrives now, after a [`seek`](Self::seek) to `now` and behind `queued` packets that have
    /// not been sent, waits no longer than `limit` at the current rate. A trace has no current rate: its mean counts.
    pub(crate) fn waits_at_most(&mut self, limit: Duration, now: Time, queued: Backlog) -> bool {
        let bytes = queued.bytes + queued.packets * self.overhead;
        match &mut self.service {
            Service::Fluid(fluid) => fluid.waits_at_most(limit, now, bytes),
            Service::Trace(trace) => trace.waits_at_most(limit, now, bytes),
        }
    }

    /// Bits that could be sent after `from` and up to `to`.
    pub(crate) fn capacity_bits(&self, mut from: Time, to: Time) -> u64 {
        let mut work = 0;
        let first = self.past.partition_point(|past| past.until <= from);
        for past in &self.past[first..] {
            let until = past.until.min(to);
            work += match &past.capacity {
                Capacity::Rate(rate) => u128::from(*rate) * u128::from(until.since(from).as_nanos()),
                Capacity::Service(service) => service.capacity(from, until),
            };
            from = until;
        }
        work += self.service.capacity(from, to.max(from));
        match u64::try_from(work) {
            Ok(work) => work / NANOS,
            Err(_) => u64::try_from(work / u128::from(NANOS)).unwrap_or(u64::MAX),
        }
    }

    /// Bytes of memory that the history of rates holds.
    pub(crate) fn memory(&self) -> u64 {
        (self.past.capacity() * size_of::<Past>()) as u64
    }
}

impl Service {
    #[inline]
    fn capacity(&self, from: Time, to: Time) -> u128 {
        match self {
            Service::Fluid(fluid) => fluid.capacity(from, to),
            Service::Trace(trace) => trace.capacity(from, to),
        }
    }
}
