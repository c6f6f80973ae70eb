//! What all queues that keep their packets have in common.
//!
//! A discipline never sees a packet itself, only its descriptor, [`Waiting`]: arrival, size, flow, ECN. So disciplines
//! need no type parameter for the packet; the packets are in a store here, and `Waiting` holds their place in it.

mod line;
mod store;

pub use line::{Line, Passing, Waiting};

use super::discipline::Held;
use super::fifo::ROUNDING;
use super::limits::{InService, Limits};
use crate::dscp::Dscp;
use crate::ledger::{DropCause, Ledger};
use crate::packet::{Ecn, Packet, PureAck};
use crate::stats::{Backlog, Occupancy};
use crate::train::Train;
use crate::transmitter::Transmitter;
use dumbbell_units::{Duration, Time, claimed};
use store::Store;

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

    /// How many packets of a run fit behind what waits; `None` where they have to be asked about one by one.
    pub fn room(&self, run: &Waiting) -> Option<u32> {
        self.limits.time.is_none().then(|| self.limits.room(self.occupancy.backlog(), run.size, run.count))
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

    /// The packets that wait, in no order; one of a run stands for each of it.
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
        let run = self.expect_run(packet, 1);
        self.offer_one(now, &run, 0, ledger)
    }

    /// A run of `count` packets comes, of which `packet` is the first: describes that one, and each is to be
    /// [offered](Self::offer_one).
    #[inline(always)]
    pub(crate) fn expect_run(&mut self, packet: P, count: u32) -> Waiting {
        Waiting::new(&packet, self.packets.put(packet, count))
    }

    /// Takes the packet of a run that so many are before, or says why it is dropped. All decisions up to `now` must have
    /// been made.
    #[inline(always)]
    pub(crate) fn offer_one(
        &mut self,
        now: Time,
        run: &Waiting,
        offset: u32,
        ledger: &mut Ledger<P>,
    ) -> Result<(), DropCause> {
        let nothing_waits = self.buffer.backlog().packets == 0;
        self.buffer.is_idle = nothing_waits && self.buffer.transmitter.seek(now) <= now;
        let pushed = self.discipline.push(now, run.arrive(now, offset, 1), &mut self.buffer);
        if pushed.is_err() {
            self.packets.forget(run.place, 1);
        }
        self.settle(ledger);
        // What came in behind others changes nothing for the transmitter.
        if self.discipline.next_decision() != self.ready {
            self.schedule(now);
        }
        pushed
    }

    /// Takes those that fit of the packets of a run from `offset` on, where they have to wait and the discipline need not
    /// look at each; returns how many of the `count`. The others are dropped. All decisions up to `now` must have been
    /// made.
    #[inline(always)]
    pub(crate) fn offer_together(&mut self, now: Time, run: &Waiting, offset: u32, count: u32) -> Option<u32> {
        // The first of them may begin before the others come, but for rounding.
        let nothing_waits = self.buffer.backlog().packets == 0;
        let begins = if nothing_waits { self.buffer.transmitter.seek(now) } else { self.decision };
        if begins <= now + ROUNDING {
            return None;
        }
        let fitting = self.discipline.push_run(run.arrive(now, offset, count), &mut self.buffer)?;
        if fitting < count {
            self.packets.forget(run.place, count - fitting);
        }
        if self.discipline.next_decision() != self.ready {
            self.schedule(now);
        }
        Some(fitting)
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

    /// See [`Held::has_run`].
    #[inline]
    pub(crate) fn has_run(&self) -> bool {
        self.discipline.has_run(self.decision)
    }

    /// [`decide`](Self::decide) for packets of one run of which the last begins by `until`, if the discipline has
    /// nothing to decide about them; returns their departures and the first of them.
    #[inline]
    pub(crate) fn decide_run(&mut self, until: Time) -> Option<(Train, P)> {
        let now = self.decision;
        if self.ready == now && self.buffer.transmitter.seek(now) > now {
            return None;
        }
        let Passing { first, starts } = self.discipline.take_run(until, &mut self.buffer)?;
        let departs = self.buffer.transmitter.seek(Time::ZERO);
        self.buffer.in_service = InService { departs, size: first.size };
        let packet = self.take_out(&first);
        // The last one began when the backlog changed last.
        self.schedule(self.buffer.occupancy.clock());
        Some((starts.ends(), packet))
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

    /// The first of the packets that the discipline has given out, with its mark.
    #[inline(always)]
    fn take_out(&mut self, waiting: &Waiting) -> P {
        let mut packet = self.packets.take(waiting);
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
            ledger.drop_later(self.packets.take(&waiting), cause);
        }
        ledger.counted.marked += std::mem::take(&mut self.buffer.marked);
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::catalog::QueueLimit;
    use crate::testing::TestPacket;
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
        let mut packet = TestPacket::new(0, 1500);
        packet.ecn = ecn;
        Waiting::new(&packet, 0).arrive(now, 0, 1)
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
