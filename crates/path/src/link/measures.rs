//! What a link shows of itself: what waits, what it has counted, what its queue held over time.

use super::drawn::Drawn;
use super::{Link, Stage};
use crate::dscp::Dscp;
use crate::ledger::{DropCause, LinkCounters};
use crate::medium::Glance;
use crate::packet::{Packet, PureAck};
use crate::stats::{Backlog, Occupancy, QueueStats, Tally};
use dumbbell_units::{Duration, Time, claimed};

impl<P: Packet> Link<P> {
    /// Brings everything up to `now`, except that packets which have arrived wait for [`poll`](Self::poll), and drops
    /// for [`pop_drop`](Self::pop_drop).
    pub(crate) fn advance(&mut self, now: Time) {
        match &mut self.stage {
            Stage::DropTail(queue) => queue.advance(now),
            Stage::Gated(queue) => queue.fifo.advance(now),
            Stage::Instant(_) | Stage::Held(_) | Stage::Remote(_) => {}
        }
        self.decide_until(now);
        self.lose_departed(now);
    }

    #[inline]
    pub(super) fn occupancy(&mut self) -> &mut Occupancy {
        match &mut self.stage {
            Stage::Instant(occupancy) => occupancy,
            Stage::DropTail(queue) => &mut queue.occupancy,
            Stage::Gated(queue) => &mut queue.fifo.occupancy,
            Stage::Held(queue) => &mut queue.buffer.occupancy,
            Stage::Remote(remote) => &mut remote.occupancy,
        }
    }

    /// Packets that have left the transmitter; everything has been advanced to `now`.
    #[inline]
    fn departures(&mut self, now: Time) -> Tally {
        let in_service = match &self.stage {
            Stage::Instant(_) | Stage::Remote(_) => Tally::default(),
            Stage::DropTail(queue) => queue.in_service.tally(now),
            Stage::Gated(queue) => queue.fifo.in_service.tally(now),
            Stage::Held(queue) => queue.buffer.in_service.tally(now),
        };
        let waiting = self.backlog_now();
        self.arrivals(now)
            .minus(self.ledger.counted.drops.before_departure())
            .minus(Tally { packets: waiting.packets, bytes: waiting.bytes })
            .minus(in_service)
    }

    /// Packets that have arrived at the near end. Those that [enter](Self::delay_from) at this very instant come after
    /// whoever looks.
    #[inline]
    pub(super) fn arrivals(&self, now: Time) -> Tally {
        let to_come = if self.is_entered_ahead { self.pipe.entering_from(now) } else { Tally::default() };
        self.ledger.counted.arrivals.minus(to_come)
    }

    /// Everything that happens at `end` has happened, and nothing will happen any more: packets that would
    /// [enter](Self::delay_from) later do not.
    pub fn end_at(&mut self, end: Time) {
        if self.is_entered_ahead {
            self.ledger.counted.arrivals = self.arrivals(end + Duration::from_nanos(1));
            self.is_entered_ahead = false;
        }
    }

    #[inline]
    fn backlog_now(&mut self) -> Backlog {
        self.occupancy().backlog()
    }

    /// What waits at `now`; the packet in transmission does not count.
    pub(crate) fn backlog(&mut self, now: Time) -> Backlog {
        self.advance(now);
        self.backlog_now()
    }

    /// At most so many bytes may wait from now on, and no more than the link allows by itself. What waits already
    /// stays.
    pub(crate) fn allow_waiting(&mut self, bytes: u64) {
        let limits = match &mut self.stage {
            Stage::DropTail(queue) => &mut queue.limits,
            Stage::Gated(queue) => &mut queue.fifo.limits,
            Stage::Held(queue) => &mut queue.buffer.limits,
            Stage::Instant(_) | Stage::Remote(_) => return,
        };
        limits.set_bytes(&self.config.limit, bytes);
    }

    /// What has happened up to `now`.
    pub(crate) fn counters(&mut self, now: Time) -> LinkCounters {
        self.advance(now);
        let departures = self.departures(now);
        LinkCounters { arrivals: self.arrivals(now), ..self.ledger.counters(departures) }
    }

    /// What a sample shows at `until`, `since` the one before.
    pub(crate) fn glance(&mut self, since: Time, until: Time) -> Glance {
        self.advance(until);
        let (backlog, departed) = (self.backlog_now(), self.departures(until));
        let capacity_bits = self.capacity_bits(since, until);
        Glance::new(backlog, departed, &self.ledger.counted.drops, capacity_bits, self.framing_bytes())
    }

    /// Packets in the queue, in transmission and in the pipe at `now`. They are counted for this.
    #[cfg(test)]
    pub(crate) fn in_flight(&mut self, now: Time) -> u64 {
        self.advance(now);
        self.count_in_flight(|_| true)
    }

    /// Packets in the queue, in transmission and in the pipe at `now`, without counting, on a link without a fast path.
    pub(super) fn packets_on_link(&mut self, now: Time) -> u64 {
        self.decide_until(now);
        let held = match &self.stage {
            Stage::Held(queue) => queue.buffer.occupancy.backlog().packets,
            _ => 0,
        };
        let released = self.release.as_ref().map_or(0, |release| release.len());
        held + self.lost_later.len() as u64 + released + self.pipe.len()
    }

    /// Packets in the queue, in transmission and in the pipe of the kind that is asked for. They are counted for this.
    pub(crate) fn count_in_flight(&self, is_meant: impl Fn(&P) -> bool) -> u64 {
        let held = match &self.stage {
            Stage::Held(queue) => queue.packets().filter(|packet| is_meant(packet)).count(),
            _ => 0,
        };
        let lost_later = self.lost_later.iter().filter(|(_, packet)| is_meant(packet)).count();
        let released = self.release.iter().flat_map(|release| release.packets());
        let released = released.filter(|packet| is_meant(packet)).count();
        (held + lost_later + released) as u64 + self.pipe.count(is_meant)
    }

    /// Bytes of memory that packets in the queue and on the way [claim](claimed).
    pub(crate) fn memory(&self) -> u64 {
        let queue = match &self.stage {
            Stage::Instant(_) => 0,
            Stage::DropTail(queue) => queue.memory(),
            Stage::Gated(queue) => queue.fifo.memory(),
            Stage::Held(queue) => queue.memory(),
            Stage::Remote(remote) => remote.memory(),
        };
        let drops = &self.ledger.later_drops;
        queue
            + self.pipe.memory()
            + claimed::<(Time, P)>(self.lost_later.len(), self.lost_later.capacity())
            + claimed::<Drawn>(self.drawn.len(), self.drawn.capacity())
            + claimed::<(P, DropCause)>(drops.len(), drops.capacity())
            + self.release.as_ref().map_or(0, |release| release.memory())
            + self.departures.as_ref().map_or(0, |told| told.memory())
    }

    /// From now on the packets of a flow have this code point, or none of their own.
    pub(crate) fn assign(&mut self, flow: u32, dscp: Option<Dscp>) {
        if let Stage::Held(queue) = &mut self.stage {
            queue.assign(flow, dscp);
        }
    }

    /// Whether the queue wants to [see](Self::read_ack) what packets acknowledge.
    #[inline]
    pub fn reads_acks(&self) -> bool {
        !self.is_immediate && matches!(&self.stage, Stage::Held(queue) if queue.reads_acks())
    }

    /// What the packet acknowledges that is offered next; `None` if it is no TCP segment without data. To be said of
    /// each packet where the queue [reads ACKs](Self::reads_acks).
    pub fn read_ack(&mut self, ack: Option<PureAck>) {
        if let Stage::Held(queue) = &mut self.stage {
            queue.read_ack(ack);
        }
    }

    /// Values by which the queue's discipline tells its state, by name; none for those that have no state to tell.
    pub fn observe(&self) -> Vec<(&'static str, f64)> {
        match &self.stage {
            Stage::Held(queue) => queue.observe(),
            Stage::Gated(queue) => queue.observe(),
            Stage::Instant(_) | Stage::DropTail(_) | Stage::Remote(_) => Vec::new(),
        }
    }

    /// Bits the transmitter could send between two instants; `None` for an unlimited rate.
    pub(crate) fn capacity_bits(&self, since: Time, until: Time) -> Option<u64> {
        match &self.stage {
            Stage::Instant(_) | Stage::Remote(_) => None,
            Stage::DropTail(queue) => Some(queue.transmitter.capacity_bits(since, until)),
            Stage::Gated(queue) => Some(queue.fifo.transmitter.capacity_bits(since, until)),
            Stage::Held(queue) => Some(queue.buffer.transmitter.capacity_bits(since, until)),
        }
    }

    /// Bytes besides the IP length that each packet takes of the transmitter's bits.
    pub(crate) fn framing_bytes(&self) -> u32 {
        self.config.overhead_bytes
    }

    /// Starts the interval that [`queue_stats`](Self::queue_stats) reports; without it that is the whole run.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.counted_before = self.counters(now);
        self.measured_since = now;
        self.occupancy().restart(now);
    }

    /// The counts at the start of the measured interval.
    pub(crate) fn counters_before(&self) -> LinkCounters {
        self.counted_before
    }

    /// The queue and the transmitter from the start of the measured interval until `now`.
    pub(crate) fn queue_stats(&mut self, now: Time) -> QueueStats<'_> {
        self.advance(now);
        let departed = self.departures(now).minus(self.counted_before.departures);
        let capacity_bits = self.capacity_bits(self.measured_since, now);
        self.occupancy().stats(now, departed, capacity_bits)
    }
}
