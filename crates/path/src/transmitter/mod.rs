//! Transmitters: how long a packet occupies the link.
//!
//! A transmitter is asked in two steps. [`Transmitter::seek`] tells when a packet that is ready at some instant can
//! begin, after everything sent before; [`Transmitter::send`] sends it from there and tells when its last bit leaves.
//! Nothing is scheduled: both are computed at once, so that a FIFO queue knows a packet's fate on its arrival.

mod fluid;
mod trace;

use crate::config::LinkRate;
use crate::stats::Backlog;
use crate::train::Train;
use dumbbell_units::{Duration, Time};
use fluid::Fluid;
use trace::Trace;

/// A transmitter with a finite rate and the framing overhead of its packets.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    overhead: u64,
    clockwork: Clockwork,
}

#[derive(Clone, Debug)]
enum Clockwork {
    Fluid(Fluid),
    Trace(Trace),
}

impl Transmitter {
    /// `None` when the rate is unlimited.
    pub(crate) fn new(rate: &LinkRate, overhead_bytes: u32) -> Option<Transmitter> {
        let clockwork = match rate {
            LinkRate::Unlimited => return None,
            LinkRate::Constant(rate) => Clockwork::Fluid(Fluid::constant(*rate)),
            LinkRate::Schedule { steps, repeat_after } => Clockwork::Fluid(Fluid::new(steps.clone(), *repeat_after)),
            LinkRate::Trace { opportunities_ms, once } => Clockwork::Trace(Trace::new(opportunities_ms.clone(), *once)),
        };
        let overhead = match clockwork {
            Clockwork::Fluid(_) => u64::from(overhead_bytes),
            Clockwork::Trace(_) => u64::from(overhead_bytes) + trace::DEVICE_HEADER,
        };
        Some(Transmitter { overhead, clockwork })
    }

    /// The earliest start of a packet that is ready at `ready`; [`Time::NEVER`] when it can never be sent.
    #[inline]
    pub(crate) fn seek(&mut self, ready: Time) -> Time {
        match &mut self.clockwork {
            Clockwork::Fluid(fluid) => fluid.seek(ready),
            Clockwork::Trace(trace) => trace.seek(ready),
        }
    }

    /// Sends a packet of `size` bytes from the start that [`seek`](Self::seek) found; returns when its last bit leaves,
    /// rounded up to nanoseconds.
    #[inline]
    pub(crate) fn send(&mut self, size: u32) -> Time {
        let bytes = u64::from(size) + self.overhead;
        match &mut self.clockwork {
            Clockwork::Fluid(fluid) => fluid.send(bytes),
            Clockwork::Trace(trace) => trace.send(bytes),
        }
    }

    /// Sends `count` packets of `size` bytes from the start that [`seek`](Self::seek) found, if that is simple; returns
    /// when they start.
    #[inline]
    pub(crate) fn send_train(&mut self, size: u32, count: u32) -> Option<Train> {
        match &mut self.clockwork {
            Clockwork::Fluid(fluid) => fluid.send_train(u64::from(size) + self.overhead, count),
            Clockwork::Trace(_) => None,
        }
    }

    /// Whether a packet that arrives now, after a [`seek`](Self::seek) to `now` and behind `queued` packets that have
    /// not been sent, waits no longer than `limit` at the current rate. A trace has no current rate: its mean counts.
    pub(crate) fn waits_at_most(&mut self, limit: Duration, now: Time, queued: Backlog) -> bool {
        let bytes = queued.bytes + queued.packets * self.overhead;
        match &mut self.clockwork {
            Clockwork::Fluid(fluid) => fluid.waits_at_most(limit, now, bytes),
            Clockwork::Trace(trace) => trace.waits_at_most(limit, now, bytes),
        }
    }

    /// Bits that could be sent after `from` and up to `to`.
    pub(crate) fn capacity_bits(&self, from: Time, to: Time) -> u64 {
        match &self.clockwork {
            Clockwork::Fluid(fluid) => fluid.capacity_bits(from, to),
            Clockwork::Trace(trace) => trace.capacity_bits(from, to),
        }
    }
}
