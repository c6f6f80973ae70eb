//! What all queues that keep their packets have in common.
//!
//! A discipline never sees a packet itself, only its descriptor, [`Waiting`]: arrival, size, flow, ECN. So disciplines
//! need no type parameter for the packet; the packets are in a store here, and `Waiting` holds their place in it.

use super::discipline::Held;
use super::limits::{InService, Limits};
use crate::dscp::Dscp;
use crate::ledger::{DropCause, Ledger};
use crate::packet::{Ecn, Packet, PureAck};
use crate::stats::{Backlog, Occupancy};
use crate::transmitter::Transmitter;
use dumbbell_units::{Duration, Time, claimed};
use std::collections::{HashSet, VecDeque};

/// A packet that waits. Whoever holds one gives it to the transmitter ([`Held::take`]) or to [`Buffer::drop`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Waiting {
    /// When it arrived.
    pub arrived: Time,
    /// Its IP length in bytes.
    pub size: u32,
    /// Number of its flow.
    pub flow: u32,
    ecn: Ecn,
    is_marked: bool,
    place: u32,
}

impl Waiting {
    /// Its ECN bits.
    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// How long it has waited.
    pub fn waited(&self, now: Time) -> Duration {
        now.since(self.arrived)
    }
}

/// What the lines of a queue share: what waits in them together, what they may hold, the transmitter behind them.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(crate) transmitter: Transmitter,
    pub(crate) occupancy: Occupancy,
    pub(crate) in_service: InService,
    pub(crate) limits: Limits,
    /// The packet that arrives now finds nothing waiting and the transmitter free.
    is_idle: bool,
    /// Since the last time the link looked.
    dropped: Vec<(Waiting, DropCause)>,
    marked: u64,
    ack: Option<PureAck>,
}

impl Buffer {
    pub(crate) fn new(transmitter: Transmitter, limits: Limits) -> Buffer {
        Buffer {
            transmitter,
            occupancy: Occupancy::default(),
            in_service: InService::default(),
            limits,
            is_idle: false,
            dropped: Vec::new(),
            marked: 0,
            ack: None,
        }
    }

    /// What the arriving packet acknowledges, if it is a TCP segment without data and the queue
    /// [reads ACKs](Held::reads_acks).
    pub fn take_ack(&mut self) -> Option<PureAck> {
        self.ack.take()
    }

    /// What waits; neither an arriving packet nor one that was taken out of its line counts.
    pub fn backlog(&self) -> Backlog {
        self.occupancy.backlog()
    }

    /// Whether a packet of `size` bytes that arrives now fits behind what waits. One that can go at once always does.
    pub fn fits(&mut self, now: Time, size: u32) -> bool {
        self.is_idle || self.fits_behind(now, size, self.occupancy.backlog())
    }

    /// [`fits`](Self::fits) for a packet that will have to wait, even where the transmitter is free.
    pub fn fits_waiting(&mut self, now: Time, size: u32) -> bool {
        self.fits_behind(now, size, self.occupancy.backlog())
    }

    /// Whether it would fit if nothing waited.
    pub fn fits_alone(&mut self, now: Time, size: u32) -> bool {
        self.is_idle || self.fits_behind(now, size, Backlog::default())
    }

    fn fits_behind(&mut self, now: Time, size: u32, backlog: Backlog) -> bool {
        self.limits.fit(backlog, size)
            && self.limits.time.is_none_or(|limit| {
                // A transmitter that packets do not wait for may have been free for long.
                self.transmitter.seek(now);
                self.transmitter.waits_at_most(limit, now, backlog)
            })
    }

    /// Marks a packet "congestion experienced"; `false` when it is not ECN-capable.
    pub fn mark(&mut self, packet: &mut Waiting) -> bool {
        if packet.ecn == Ecn::NotEct {
            return false;
        }
        packet.ecn = Ecn::Ce;
        if !packet.is_marked {
            packet.is_marked = true;
            self.marked += 1;
        }
        true
    }

    /// Drops a packet that has waited.
    pub fn drop(&mut self, packet: Waiting, cause: DropCause) {
        self.dropped.push((packet, cause));
    }
}

/// Packets in order of arrival. A queue may have as many lines as it likes; what waits in all of them is counted in its
/// [`Buffer`].
#[derive(Clone, Debug, Default)]
pub struct Line {
    packets: VecDeque<Waiting>,
    bytes: u64,
}

impl Line {
    /// Puts an arriving packet at the end.
    pub fn push(&mut self, packet: Waiting, buffer: &mut Buffer) {
        buffer.occupancy.advance(packet.arrived);
        buffer.occupancy.enter(packet.size);
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }

    /// Puts an arriving packet at the end if it fits into the buffer.
    ///
    /// # Errors
    /// It does not.
    pub fn push_if_it_fits(&mut self, now: Time, packet: Waiting, buffer: &mut Buffer) -> Result<(), DropCause> {
        if !buffer.fits(now, packet.size) {
            return Err(DropCause::QueueFull);
        }
        self.push(packet, buffer);
        Ok(())
    }

    /// Takes the oldest packet out.
    pub fn pop(&mut self, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        buffer.occupancy.leave(now, packet.size);
        Some(packet)
    }

    /// Takes the packet out that so many others are in front of.
    pub fn remove(&mut self, place: usize, now: Time, buffer: &mut Buffer) -> Option<Waiting> {
        let packet = self.packets.remove(place)?;
        self.bytes -= u64::from(packet.size);
        buffer.occupancy.leave(now, packet.size);
        Some(packet)
    }

    /// The oldest packet.
    pub fn front(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    /// [`Held::next_decision`] of a queue that sends what is in this line as soon as it can.
    pub fn next_decision(&self) -> Time {
        self.front().map_or(Time::NEVER, |packet| packet.arrived)
    }

    /// What waits in this line.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

/// A queue of packets with its discipline and its transmitter.
#[derive(Clone, Debug)]
pub(crate) struct HeldQueue<P> {
    pub(crate) buffer: Buffer,
    discipline: Box<dyn Held>,
    reads_acks: bool,
    packets: Store<P>,
    /// From when on the discipline has something for the transmitter.
    ready: Time,
    /// When the transmitter can take it.
    decision: Time,
}

impl<P: Packet> HeldQueue<P> {
    pub(crate) fn new(buffer: Buffer, discipline: Box<dyn Held>) -> HeldQueue<P> {
        let reads_acks = discipline.reads_acks();
        HeldQueue {
            buffer,
            discipline,
            reads_acks,
            packets: Store::default(),
            ready: Time::NEVER,
            decision: Time::NEVER,
        }
    }

    /// See [`Held::reads_acks`].
    pub(crate) fn reads_acks(&self) -> bool {
        self.reads_acks
    }

    /// What the packet acknowledges that is offered next.
    pub(crate) fn read_ack(&mut self, ack: Option<PureAck>) {
        self.buffer.ack = ack;
    }

    /// See [`Held::assign`].
    pub(crate) fn assign(&mut self, flow: u32, dscp: Option<Dscp>) {
        self.discipline.assign(flow, dscp);
    }

    /// The values by which the discipline tells its state.
    pub(crate) fn observe(&self) -> Vec<(&'static str, f64)> {
        self.discipline.observe()
    }

    /// The packets that wait, in no order.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &P> {
        self.packets.iter()
    }

    /// Bytes of memory that what waits and the transmitter [claim](claimed).
    pub(crate) fn memory(&self) -> u64 {
        let waiting = self.packets.len();
        self.packets.memory() + claimed::<Waiting>(waiting, waiting) + self.buffer.transmitter.memory()
    }

    /// When [`decide`](Self::decide) is due.
    #[inline]
    pub(crate) fn next_decision(&self) -> Time {
        self.decision
    }

    /// Takes a packet, or says why it is dropped. All decisions up to `now` must have been made.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: P, ledger: &mut Ledger<P>) -> Result<(), DropCause> {
        let nothing_waits = self.buffer.backlog().packets == 0;
        self.buffer.is_idle = nothing_waits && self.buffer.transmitter.seek(now) <= now;
        let place = self.packets.put(packet);
        let waiting = Waiting {
            arrived: now,
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn(),
            is_marked: false,
            place,
        };
        let pushed = self.discipline.push(now, waiting, &mut self.buffer);
        if pushed.is_err() {
            self.packets.take(place);
        }
        self.settle(ledger);
        // What came in behind others changes nothing for the transmitter.
        if self.discipline.next_decision() != self.ready {
            self.schedule(now);
        }
        pushed
    }

    /// Lets the transmitter take what the discipline gives it at [`next_decision`](Self::next_decision); returns the
    /// packet and its departure.
    #[inline]
    pub(crate) fn decide(&mut self, ledger: &mut Ledger<P>) -> Option<(Time, P)> {
        let now = self.decision;
        if self.ready == now {
            // Nobody has asked the transmitter before the packet could go.
            self.decision = self.buffer.transmitter.seek(now);
            if self.decision > now {
                return None;
            }
        }
        let taken = self.discipline.take(now, &mut self.buffer);
        self.settle(ledger);
        let Some(waiting) = taken else {
            self.schedule(now);
            // A discipline that has nothing now and says so again must not stop the clock.
            self.decision = self.decision.max(now + Duration::from_nanos(1));
            return None;
        };
        // From when it could have gone rather than from `now`, which is rounded: the transmitter keeps its fraction.
        self.buffer.transmitter.seek(self.ready.max(waiting.arrived));
        let departs = self.buffer.transmitter.send(waiting.size);
        self.buffer.in_service = InService { departs, size: waiting.size };
        let packet = self.take_out(&waiting);
        self.schedule(now);
        Some((departs, packet))
    }

    /// From when on [`pull`](Self::pull) has something to give.
    pub(crate) fn ready(&self) -> Time {
        self.ready
    }

    /// Gives out the next packet at `now`, where somebody else than the transmitter here decides when packets leave.
    pub(crate) fn pull(&mut self, now: Time, ledger: &mut Ledger<P>) -> Option<P> {
        let taken = self.discipline.take(now, &mut self.buffer);
        self.settle(ledger);
        self.ready = self.discipline.next_decision();
        let waiting = taken?;
        Some(self.take_out(&waiting))
    }

    /// The packet itself of one that the discipline has given out, with its mark.
    #[inline]
    fn take_out(&mut self, waiting: &Waiting) -> P {
        let mut packet = self.packets.take(waiting.place);
        if waiting.is_marked {
            packet.mark();
        }
        packet
    }

    /// Whether the packet that the transmitter can take at `now` is already being sent then: its begin was rounded up.
    pub(crate) fn begins_before(&self, now: Time) -> bool {
        self.buffer.transmitter.begins_before(now)
    }

    /// The rate is `rate` from `now` on; all decisions before have been made. A packet in transmission gets the rest of
    /// its bits at that rate: returns its new departure.
    pub(crate) fn set_rate(&mut self, now: Time, rate: u64) -> Option<Time> {
        let transmitter = &mut self.buffer.transmitter;
        let work_left = transmitter.work_left(now);
        transmitter.set_rate(now, rate);
        let departs = (work_left > 0).then(|| transmitter.serve(work_left));
        if let Some(departs) = departs {
            self.buffer.in_service.departs = departs;
        }
        self.schedule(now);
        departs
    }

    /// Finds out when the next decision is due. The transmitter is not asked about a time to come: until then it stays
    /// free for what may come in before.
    #[inline(always)]
    fn schedule(&mut self, now: Time) {
        self.ready = self.discipline.next_decision();
        self.decision = if self.ready <= now { self.buffer.transmitter.seek(self.ready) } else { self.ready };
    }

    /// Tells the link what the discipline has done.
    #[inline]
    fn settle(&mut self, ledger: &mut Ledger<P>) {
        if !self.buffer.dropped.is_empty() || self.buffer.marked > 0 {
            self.tell(ledger);
        }
    }

    #[cold]
    fn tell(&mut self, ledger: &mut Ledger<P>) {
        for (waiting, cause) in self.buffer.dropped.drain(..) {
            ledger.drop_later(self.packets.take(waiting.place), cause);
        }
        ledger.counted.marked += std::mem::take(&mut self.buffer.marked);
    }
}

/// Packets by place; places are used again.
#[derive(Clone, Debug, Default)]
struct Store<P> {
    packets: Vec<P>,
    free: Vec<u32>,
}

impl<P: Packet> Store<P> {
    #[inline]
    fn put(&mut self, packet: P) -> u32 {
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            return place;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the memory of a run ends long before 2^32 packets")]
        let place = self.packets.len() as u32;
        self.packets.push(packet);
        place
    }

    #[inline]
    fn take(&mut self, place: u32) -> P {
        self.free.push(place);
        self.packets[place as usize]
    }

    fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    fn iter(&self) -> impl Iterator<Item = &P> {
        let free: HashSet<u32> = self.free.iter().copied().collect();
        (0..).zip(&self.packets).filter(move |(place, _)| !free.contains(place)).map(|(_, packet)| packet)
    }

    fn memory(&self) -> u64 {
        claimed::<P>(self.len(), self.packets.capacity()) + claimed::<u32>(self.free.len(), self.free.capacity())
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::catalog::QueueLimit;
    use crate::transmitter::LinkRate;

    /// A buffer without limits.
    pub(crate) fn buffer() -> Buffer {
        limited(QueueLimit::default())
    }

    pub(crate) fn limited(limit: QueueLimit) -> Buffer {
        let transmitter = Transmitter::new(&LinkRate::Constant(1_000_000_000), 0).unwrap();
        Buffer::new(transmitter, Limits::new(&limit))
    }

    /// A full packet that arrives now.
    pub(crate) fn waiting(now: Time, ecn: Ecn) -> Waiting {
        Waiting { arrived: now, size: 1500, flow: 0, ecn, is_marked: false, place: 0 }
    }

    impl Buffer {
        /// Packets dropped and packets marked since the last call.
        pub(crate) fn settled(&mut self) -> (usize, u64) {
            (self.dropped.drain(..).count(), std::mem::take(&mut self.marked))
        }
    }
}

#[cfg(test)]
mod tests;
