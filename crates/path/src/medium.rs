//! What packets travel through: a wire for one direction, or something that several stations share.
//!
//! A packet enters a medium at a port and leaves it at one. A [`Link`] has one way in and one way out; a shared medium,
//! a half-duplex wire or a radio channel, has a port for every queue that competes for it, and what is sent at one port
//! delays what waits at the others. So it is the medium that is scheduled, and ports are what is counted.
//!
//! [`Media`] keeps the media of a network by their numbers, links first: whoever has a link's number finds it without
//! asking what kind of medium it is.

use crate::dscp::Dscp;
use crate::ledger::{DropCause, Drops, LinkCounters, Offer};
use crate::link::Link;
use crate::link::change::{Change, Retimed};
use crate::packet::{Packet, PureAck};
use crate::stats::{Backlog, QueueStats, Tally};
use crate::wifi::RadioCounters;
use dumbbell_units::Time;

/// A way into a medium and out of it, counted from 0 within the medium.
pub type Port = u16;

/// A medium. Time comes in with every call and never goes backwards.
pub trait Medium<P: Packet>: Send {
    /// How many ports it has.
    fn ports(&self) -> Port;

    /// What a port is called in reports.
    fn name(&self, port: Port) -> &str;

    /// A packet enters at `port`.
    fn offer(&mut self, now: Time, port: Port, packet: P) -> Offer;

    /// The copy of a packet that was [duplicated](Offer::Duplicated) enters at `port`.
    fn offer_copy(&mut self, now: Time, port: Port, packet: P) -> Offer {
        self.offer(now, port, packet)
    }

    /// Whether a queue of the port wants to [see](Self::read_ack) what packets acknowledge.
    fn reads_acks(&self, _port: Port) -> bool {
        false
    }

    /// What the packet acknowledges that enters at `port` next; `None` if it is no TCP segment without data. To be said
    /// of each packet where a queue [reads ACKs](Self::reads_acks).
    fn read_ack(&mut self, _port: Port, _ack: Option<PureAck>) {}

    /// From now on the packets of a flow have this code point at a port, or none of their own.
    fn assign(&mut self, _port: Port, _flow: u32, _dscp: Option<Dscp>) {}

    /// The next packet that has come out by `now`, and the port at which it does. Call it until it returns `None`.
    fn poll(&mut self, now: Time) -> Option<(Port, P)>;

    /// When [`poll`](Self::poll) has something to do next; [`Time::NEVER`] when nothing is under way.
    fn next_event(&self) -> Time;

    /// A packet that was dropped after [`offer`](Self::offer) had accepted it at the port given, in the order of the
    /// drops.
    fn pop_drop(&mut self) -> Option<(Port, P, DropCause)>;

    /// Whether the departure of a packet that enters at `port` is known only after it was accepted:
    /// [`pop_departure`](Self::pop_departure) tells it then, if [asked](Self::report_departures) to.
    fn decides_late(&self, port: Port) -> bool;

    /// Somebody wants to know departures at `port` that are decided late.
    fn report_departures(&mut self, port: Port);

    /// When a packet leaves the transmitter of the port at which it entered, in the order of the departures.
    fn pop_departure(&mut self) -> Option<(Port, Time, P)>;

    /// Brings everything up to `now`, except that packets which have come out wait for [`poll`](Self::poll).
    fn advance(&mut self, now: Time);

    /// Changes what lies behind a port from `now` on. Returns the packets whose departures are others than were told.
    /// [`next_event`](Self::next_event) may move either way.
    fn change(&mut self, now: Time, port: Port, change: &Change) -> Vec<Retimed<P>>;

    /// What waits at a port at `now`.
    fn backlog(&mut self, now: Time, port: Port) -> Backlog;

    /// What has happened at a port up to `now`.
    fn counters(&mut self, now: Time, port: Port) -> LinkCounters;

    /// What a sample shows of a port at `until`, `since` the one before.
    fn glance(&mut self, port: Port, since: Time, until: Time) -> Glance {
        let backlog = self.backlog(until, port);
        let counters = self.counters(until, port);
        let capacity_bits = self.capacity_bits(port, since, until);
        Glance::new(backlog, counters.departures, &counters.drops, capacity_bits, self.framing_bytes(port))
    }

    /// What the radio of a port has done so far; `None` for a wire.
    fn radio(&self, _port: Port) -> Option<RadioCounters> {
        None
    }

    /// Bits that could be sent at a port between two instants; `None` for an unlimited rate.
    fn capacity_bits(&self, port: Port, since: Time, until: Time) -> Option<u64>;

    /// Bytes besides the IP length that each packet takes of what a port could send: the framing of its line.
    fn framing_bytes(&self, _port: Port) -> u32 {
        0
    }

    /// Starts the interval that [`measured`](Self::measured) reports; without it that is the whole run.
    fn start_measuring(&mut self, now: Time);

    /// The measured interval up to `now`, at a port.
    fn measured(&mut self, now: Time, port: Port) -> Measured;

    /// Packets that wait or are under way of the kind that is asked for.
    fn count_in_flight(&self, is_meant: &dyn Fn(&P) -> bool) -> u64;

    /// Bytes of memory that packets in queues and on their way [claim](dumbbell_units::claimed).
    fn memory(&self) -> u64;
}

/// What a sample shows of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// What waits.
    pub backlog: Backlog,
    /// Bytes that have left so far, framing included.
    pub framed_bytes: u64,
    /// Bits that could have left since the sample before; `None` for an unlimited rate.
    pub capacity_bits: Option<u64>,
    /// Packets dropped so far by the queue and the policer in front of it.
    pub drops: u64,
    /// Packets lost at random so far.
    pub losses: u64,
}

impl Glance {
    /// Of packets that have left with so many bytes of framing each.
    #[inline]
    pub(crate) fn new(
        backlog: Backlog,
        departed: Tally,
        drops: &Drops,
        capacity_bits: Option<u64>,
        framing_bytes: u32,
    ) -> Glance {
        Glance {
            backlog,
            framed_bytes: departed.framed(framing_bytes),
            capacity_bits,
            drops: drops.in_queue().packets,
            losses: drops.lost().packets,
        }
    }
}

/// What happened at a port in the measured interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// What had happened before it.
    pub before: LinkCounters,
    /// What left the transmitter, including packets that were lost afterwards.
    pub departed: Tally,
    /// Bits that could have left; `None` for an unlimited rate.
    pub capacity_bits: Option<u64>,
    /// Time average of the waiting bytes.
    pub mean_bytes: f64,
    /// The backlog in bytes that is not exceeded for 95 % of the time.
    pub p95_bytes: u64,
    /// Highest backlog; packets and bytes are maxima of their own.
    pub max: Backlog,
    /// What its radio has done; `None` for a wire.
    pub radio: Option<RadioCounters>,
}

impl Measured {
    /// What the queue and the transmitter of a port have measured, after what `before` counts.
    pub(crate) fn new(before: LinkCounters, stats: &QueueStats<'_>, radio: Option<RadioCounters>) -> Measured {
        Measured {
            before,
            departed: stats.departed,
            capacity_bits: stats.capacity_bits,
            mean_bytes: stats.mean_bytes(),
            p95_bytes: stats.quantile_bytes(0.95),
            max: stats.max,
            radio,
        }
    }
}

impl<P: Packet + Send> Medium<P> for Link<P> {
    fn ports(&self) -> Port {
        1
    }

    fn name(&self, _port: Port) -> &str {
        &self.config().name
    }

    fn offer(&mut self, now: Time, _port: Port, packet: P) -> Offer {
        Link::offer(self, now, packet)
    }

    fn offer_copy(&mut self, now: Time, _port: Port, packet: P) -> Offer {
        Link::offer_copy(self, now, packet)
    }

    fn reads_acks(&self, _port: Port) -> bool {
        Link::reads_acks(self)
    }

    fn read_ack(&mut self, _port: Port, ack: Option<PureAck>) {
        Link::read_ack(self, ack);
    }

    fn assign(&mut self, _port: Port, flow: u32, dscp: Option<Dscp>) {
        Link::assign(self, flow, dscp);
    }

    fn poll(&mut self, now: Time) -> Option<(Port, P)> {
        Link::poll(self, now).map(|packet| (0, packet))
    }

    fn next_event(&self) -> Time {
        Link::next_event(self)
    }

    fn pop_drop(&mut self) -> Option<(Port, P, DropCause)> {
        Link::pop_drop(self).map(|(packet, cause)| (0, packet, cause))
    }

    fn decides_late(&self, _port: Port) -> bool {
        Link::decides_late(self)
    }

    fn report_departures(&mut self, _port: Port) {
        Link::report_departures(self);
    }

    fn pop_departure(&mut self) -> Option<(Port, Time, P)> {
        Link::pop_departure(self).map(|(departs, packet)| (0, departs, packet))
    }

    fn advance(&mut self, now: Time) {
        Link::advance(self, now);
    }

    fn change(&mut self, now: Time, _port: Port, change: &Change) -> Vec<Retimed<P>> {
        Link::change(self, now, change)
    }

    fn backlog(&mut self, now: Time, _port: Port) -> Backlog {
        Link::backlog(self, now)
    }

    fn counters(&mut self, now: Time, _port: Port) -> LinkCounters {
        Link::counters(self, now)
    }

    fn glance(&mut self, _port: Port, since: Time, until: Time) -> Glance {
        Link::glance(self, since, until)
    }

    fn capacity_bits(&self, _port: Port, since: Time, until: Time) -> Option<u64> {
        Link::capacity_bits(self, since, until)
    }

    fn framing_bytes(&self, _port: Port) -> u32 {
        Link::framing_bytes(self)
    }

    fn start_measuring(&mut self, now: Time) {
        Link::start_measuring(self, now);
    }

    fn measured(&mut self, now: Time, _port: Port) -> Measured {
        Measured::new(self.counters_before(), &self.queue_stats(now), None)
    }

    fn count_in_flight(&self, is_meant: &dyn Fn(&P) -> bool) -> u64 {
        Link::count_in_flight(self, is_meant)
    }

    fn memory(&self) -> u64 {
        Link::memory(self)
    }
}

/// The media of a network, by their numbers: links first.
pub struct Media<P> {
    links: Vec<Link<P>>,
    shared: Vec<Box<dyn Medium<P>>>,
}

impl<P: Packet + Send> Media<P> {
    /// Links, numbered in their order, and media that stations share, which continue the numbers.
    pub fn new(links: Vec<Link<P>>, shared: Vec<Box<dyn Medium<P>>>) -> Media<P> {
        Media { links, shared }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.links.len() + self.shared.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The medium of that number if it is a link.
    #[inline(always)]
    pub fn link_mut(&mut self, number: usize) -> Option<&mut Link<P>> {
        self.links.get_mut(number)
    }

    /// All links, by their numbers.
    pub fn links_mut(&mut self) -> impl Iterator<Item = &mut Link<P>> {
        self.links.iter_mut()
    }

    /// The link of that number, to look at.
    #[inline(always)]
    pub fn link(&self, number: usize) -> Option<&Link<P>> {
        self.links.get(number)
    }

    /// The medium of that number; there must be one.
    pub fn get(&self, number: usize) -> &dyn Medium<P> {
        match self.links.get(number) {
            Some(link) => link,
            None => &*self.shared[number - self.links.len()],
        }
    }

    /// The medium of that number, to do something with; there must be one.
    pub fn get_mut(&mut self, number: usize) -> &mut dyn Medium<P> {
        let links = self.links.len();
        match self.links.get_mut(number) {
            Some(link) => link,
            None => &mut *self.shared[number - links],
        }
    }

    /// All media, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Medium<P>> {
        (0..self.len()).map(|number| self.get(number))
    }
}

#[cfg(test)]
mod tests;
