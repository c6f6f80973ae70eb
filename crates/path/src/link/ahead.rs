//! What enters a link ahead of its time, and what can be answered so.
//!
//! Behind a constant delay and in order, what reaches the far end next is known before it does. Who receives it may take it
//! early and answer early, as long as nobody can notice: the answers enter the link of their way back with the instants at
//! which they would have entered it.

use super::{FastPath, Link, Stage};
use crate::config::LinkRate;
use crate::packet::Packet;
use crate::stats::Tally;
use dumbbell_units::{Duration, Time};

/// What becomes of a packet that a [joined](Link::join) link is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was dropped at once.
    Dropped,
    /// It is to be [lost](Link::lose).
    Lost {
        /// When it leaves the transmitter.
        departs: Time,
    },
    /// It is to enter the next link, or to be [kept](Link::keep) until then.
    Arrives {
        /// When it leaves the transmitter.
        departs: Time,
        /// When it reaches the far end.
        arrives: Time,
    },
}

impl<P: Packet> Link<P> {
    /// A packet of `size` bytes passes a link that [only delays](Self::only_delays) it: returns when it reaches the far end. It
    /// is only counted here; its next link is to take it [ahead](Self::delay_from).
    #[inline(always)]
    pub fn pass(&mut self, now: Time, size: u32) -> Time {
        debug_assert!(self.only_delays());
        self.ledger.arrivals.add(size);
        now + self.pipe.base()
    }

    /// [`delay`](Self::delay) for a packet that will arrive at the near end at `enters`, on a link that
    /// [only delays](Self::only_delays) packets and that nothing else enters before. Until then it counts as one that has not
    /// arrived, but for the packets [in flight](Self::in_flight). Returns when the next packet reaches the far end.
    #[inline(always)]
    pub fn delay_from(&mut self, enters: Time, packet: P) -> Time {
        debug_assert!(self.only_delays());
        self.is_entered_ahead = true;
        self.ledger.arrivals.add(packet.size());
        self.pipe.push_plain(enters, packet);
        self.pipe.next_arrival()
    }

    /// A packet has been given to [`delay`](Self::delay) ahead of its time: it enters at `enters`, and nobody looks at the link
    /// until then. Others may enter before, now or ahead like this one: each finds its place by the time at which it enters, and
    /// at the same time by [`Packet::precedes`].
    #[inline(always)]
    pub fn is_entered_until(&mut self, enters: Time) {
        debug_assert!(self.only_delays());
        self.pipe.expect_disorder_until(enters);
    }

    /// Whether what becomes of a packet is known when it is offered, so that it may enter the next link at once, ahead of its
    /// time: behind a drop-tail queue and a constant rate it leaves at a known time, and is lost or only delayed then. Packets
    /// reach the far end one by one: even an IP header takes a nanosecond.
    pub fn foretells(&self) -> bool {
        const HIGHEST_RATE: u64 = 20 * 8 * 1_000_000_000;
        matches!(self.fast_path, FastPath::DropTail | FastPath::Lossy)
            && matches!(self.config.rate, LinkRate::Constant(rate) if rate <= HIGHEST_RATE)
    }

    /// From now on packets come to [`foretell`](Self::foretell) and not to [`offer`](Self::offer).
    pub fn join(&mut self) {
        debug_assert!(self.foretells());
        self.fast_path = FastPath::None;
    }

    /// A packet of `size` bytes arrives at the near end of a link that is [joined](Self::join).
    #[inline]
    pub fn foretell(&mut self, now: Time, size: u32) -> Fate {
        let Stage::DropTail(queue) = &mut self.stage else { return Fate::Dropped };
        self.ledger.arrivals.add(size);
        let Some(departs) = queue.offer(now, size) else {
            self.ledger.dropped_full.add(size);
            return Fate::Dropped;
        };
        if self.loss_after.as_mut().is_some_and(|loss| loss.strikes(departs)) {
            return Fate::Lost { departs };
        }
        Fate::Arrives { departs, arrives: departs + self.pipe.base() }
    }

    /// Keeps a packet until it has reached the far end that leaves the transmitter at `departs`.
    #[inline]
    pub fn keep(&mut self, departs: Time, write: impl FnOnce(&mut P)) {
        self.pipe.write_plain(departs, write);
    }

    /// Loses a packet that leaves the transmitter at `departs`, and reports those that have left it by `now`.
    pub fn lose(&mut self, now: Time, departs: Time, packet: P) {
        self.lost_later.push_back((departs, packet));
        self.lose_departed(now);
    }

    /// The packet that reaches the far end next, of those that were [kept](Self::keep).
    #[inline]
    pub fn first_kept(&mut self) -> Option<&P> {
        self.pipe.first()
    }

    /// The delay of a link that [only delays](Self::only_delays) packets.
    pub fn only_delay(&self) -> Option<Duration> {
        self.only_delays().then(|| self.pipe.base())
    }

    /// A link that [only delays](Self::only_delays) packets gives them away: from now on somebody else keeps those that enter it
    /// for the delay that this returns, and [counts](Self::count_entered) them.
    pub fn gather(&mut self) -> Duration {
        debug_assert!(self.only_delays());
        self.fast_path = FastPath::None;
        self.pipe.base()
    }

    /// What has entered a link that gives packets [away](Self::gather).
    pub fn count_entered(&mut self, entered: Tally) {
        self.ledger.arrivals = entered;
    }

    /// How long it takes a packet at least to reach the far end of a link that may hear as much later of what enters it, in order
    /// of time, because nothing else is done to its packets and its queue before: that of a drop-tail queue behind which packets
    /// are only delayed.
    pub fn patience(&self) -> Option<Duration> {
        let is_simple = matches!(self.fast_path, FastPath::DropTail | FastPath::Lossy);
        Some(self.pipe.base()).filter(|delay| is_simple && *delay > Duration::ZERO)
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
