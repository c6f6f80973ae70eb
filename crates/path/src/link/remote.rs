//! A link whose queue and transmitter are those of another one.
//!
//! When a network is split, each part has such a link in the place of the one that all parts share. It keeps what is
//! [offered](Offered) to it, in order of time; the shared link [decides](Link::decide) what becomes of it, after that
//! of the other parts has been put in order with it, and then this one [carries](Link::carry) what was not dropped to
//! its far end.

use super::offered::{Offered, Remote};
use super::{FastPath, Link, Stage};
use crate::ledger::DropCause;
use crate::packet::Packet;
use crate::train::Train;
use crate::transmitter::LinkRate;
use dumbbell_units::Time;

impl<P: Packet> Link<P> {
    /// This link, idle, with its queue elsewhere. It has to be drop-tail with one rate, and packets neither vanish nor
    /// wait behind it.
    ///
    /// # Errors
    /// Its queue cannot be elsewhere; the link is given back.
    #[expect(clippy::result_large_err, reason = "it is asked once a run")]
    pub fn into_remote(mut self) -> Result<Link<P>, Link<P>> {
        if self.fast_path != FastPath::DropTail || !matches!(self.config.rate, LinkRate::Constant(_)) {
            return Err(self);
        }
        self.is_immediate = false;
        self.fast_path = FastPath::Remote;
        let remote = Remote::default();
        self.stage = Stage::Remote(Box::new(remote));
        Ok(self)
    }

    /// [`offer_run`](Link::offer_run) to a link whose queue is elsewhere: nothing is known of the departures.
    pub(super) fn offer_run_elsewhere(&mut self, now: Time, packet: P, count: u32) -> Option<Train> {
        let Stage::Remote(remote) = &mut self.stage else { return None };
        remote.keep(now, packet, count, true);
        Some(Train::at_once(Time::NEVER, count))
    }

    /// What is kept in place of a queue that is elsewhere.
    #[inline]
    pub fn remote_mut(&mut self) -> Option<&mut Remote<P>> {
        match &mut self.stage {
            Stage::Remote(remote) => Some(remote),
            _ => None,
        }
    }

    /// Counts what has arrived at another link by `now` as what has arrived here; the other one forgets it.
    pub fn count_arrivals_of(&mut self, now: Time, other: &mut Link<P>) {
        let arrivals = other.arrivals(now);
        other.ledger.counted.arrivals = other.ledger.counted.arrivals.minus(arrivals);
        self.ledger.counted.arrivals.packets += arrivals.packets;
        self.ledger.counted.arrivals.bytes += arrivals.bytes;
    }

    /// Decides about what was offered to a link that has its queue here; in order of time.
    pub fn decide(&mut self, offered: &mut Offered<P>) {
        let &mut Offered { at, is_run, count, packet, .. } = offered;
        let size = packet.size();
        let Stage::DropTail(queue) = &mut self.stage else { return };
        let departures = match is_run {
            true => queue.offer_run(at, size, count),
            false => queue.offer(at, size).map(|departs| Train::at_once(departs, 1)),
        };
        let departures = departures.unwrap_or_default();
        self.ledger.counted.arrivals.add_many(size, count);
        self.ledger.counted.drops[DropCause::QueueFull].add_many(size, count - departures.count());
        offered.departures = departures;
    }

    /// Carries what was offered and taken by the queue elsewhere. Returns when the next packet reaches the far end.
    pub fn carry(&mut self, offered: &Offered<P>) -> Time {
        self.pipe.push_run(offered.departures, offered.packet);
        self.pipe.next_arrival()
    }
}
