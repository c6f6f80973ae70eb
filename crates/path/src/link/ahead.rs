//! What enters a link ahead of its time, and what can be answered so.
//!
//! Behind a constant delay and in order, what reaches the far end next is known before it does. Who receives it may
//! take it early and answer early, as long as nobody can notice: the answers enter the link of their way back with the
//! instants at which they would have entered it.

use super::{FastPath, Link};
use crate::packet::Packet;
use crate::stats::Tally;
use dumbbell_units::{Duration, Time};

impl<P: Packet> Link<P> {
    /// A packet of `size` bytes passes a link that [only delays](Self::only_delays) it: returns when it reaches the far
    /// end. It is only counted here; its next link is to take it [ahead](Self::delay_from).
    #[inline(always)]
    pub fn pass(&mut self, now: Time, size: u32) -> Time {
        debug_assert!(self.only_delays());
        self.ledger.counted.arrivals.add(size);
        now + self.pipe.base()
    }

    /// [`delay`](Self::delay) for a packet that will arrive at the near end at `enters`, on a link that [only
    /// delays](Self::only_delays) packets and that nothing else enters before. Until then it counts as one that has not
    /// arrived, but for the packets in flight. Returns when the next packet reaches the far end.
    #[inline(always)]
    pub fn delay_from(&mut self, enters: Time, packet: P) -> Time {
        debug_assert!(self.only_delays());
        self.is_entered_ahead = true;
        self.ledger.counted.arrivals.add(packet.size());
        self.pipe.push_plain(enters, packet);
        self.pipe.next_arrival()
    }

    /// [`delay`](Self::delay) for a packet that enters at `enters`, ahead of its time, where nobody looks at the link
    /// until then. Others may enter before, now or ahead like this one: each finds its place by the time at which it
    /// enters, and at the same time by [`Packet::precedes`].
    #[inline(always)]
    pub fn delay_among(&mut self, enters: Time, packet: P) -> Option<Time> {
        let next = self.delay(enters, packet)?;
        self.pipe.expect_disorder_until(enters);
        Some(next)
    }

    /// The delay of a link that [only delays](Self::only_delays) packets.
    pub fn only_delay(&self) -> Option<Duration> {
        self.only_delays().then(|| self.pipe.base())
    }

    /// What has entered a link that only delays packets, where somebody else keeps these for its
    /// [delay](Self::only_delay).
    pub fn count_entered(&mut self, entered: Tally) {
        self.ledger.counted.arrivals = entered;
    }

    /// Whether packets reach the far end in the order in which they enter, and not at once, so that
    /// [those of a run](Self::take_followers) can be answered early.
    pub fn brings_in_order(&self) -> bool {
        self.fast_path != FastPath::None && self.pipe.base() > Duration::ZERO
    }

    /// The time between the packets that reach the far end next, if they belong to a run and it is always the same.
    #[inline(always)]
    pub fn even_interval(&mut self) -> Option<Duration> {
        self.pipe.even_interval()
    }
}
