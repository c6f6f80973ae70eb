//! One direction of a wire: loss before → policer → queue → transmitter → loss after → propagation pipe.
//!
//! Time comes in with every call and never goes backwards. A link schedules as little as it can. Behind a drop-tail
//! queue a packet's departure and arrival are computed when it is offered and it goes straight into the pipe, so the
//! only event of a packet is its arrival at the far end; a [gate](crate::queue::Gate) decides in front of the same
//! queue. Disciplines that [hold](crate::queue::Held) their packets and decide when one is taken have one decision
//! pending besides, unless they are [left alone](Link::decide_when_asked); [`Link::next_event`] covers both. What was
//! computed ahead is computed again for the packets that have not left when the rate, the delay or the loss
//! [changes](Link::change).

mod ahead;
pub(crate) mod change;
mod decisions;
mod drawn;
mod ingress;
mod losses;
mod measures;
pub(crate) mod offered;
mod propagation;
mod remote;

use crate::config::LinkConfig;
use crate::ledger::{DropCause, Ledger, LinkCounters, Offer};
use crate::loss::Process;
use crate::packet::Packet;
use crate::pipe::{Coming, Pipe};
use crate::queue::{Buffer, Fifo, Gated, HeldQueue, Limits, Queue};
use crate::release::Release;
use crate::ring::Ring;
use crate::run::Run;
use crate::stats::Occupancy;
use crate::train::Train;
use crate::transmitter::Transmitter;
use drawn::Drawn;
use dumbbell_units::{Duration, Rng, Time};
use ingress::Ingress;
use losses::losses_behind;
use offered::Remote;
use std::collections::VecDeque;

/// One direction of a wire.
#[derive(Clone, Debug)]
pub struct Link<P> {
    fast_path: FastPath,
    /// It is to have no fast path.
    is_plain: bool,
    /// A packet is dropped when it is offered, or never.
    is_immediate: bool,
    /// Loss and policer before the queue; most links have neither.
    ingress: Option<Box<Ingress>>,
    stage: Stage<P>,
    loss_after: Option<Box<dyn Process>>,
    pipe: Pipe<P>,
    /// What holds packets back at the far end; most links do not.
    release: Option<Box<Release<P>>>,
    /// Packets that will be lost behind the transmitter, with the times at which they leave it.
    lost_later: VecDeque<(Time, P)>,
    /// What was drawn at random for the packets that have not left the transmitter, in their order. Not kept on a
    /// [`FastPath`] on which [nothing is drawn](FastPath::draws).
    drawn: Ring<Drawn>,
    /// Departures that were not known when the packets were offered, for those who asked for them.
    departures: Option<Ring<Run<P>>>,
    /// See [`decide_when_asked`](Self::decide_when_asked).
    decides_when_asked: bool,
    /// Some packets are in the pipe [ahead of their time](Self::delay_from).
    is_entered_ahead: bool,
    ledger: Ledger<P>,
    /// Counts up to the start of the measurement.
    counted_before: LinkCounters,
    measured_since: Time,
    /// Seeds the streams of loss processes and queues that are set while the link runs.
    rng: Rng,
    config: LinkConfig,
}

/// A short way through the link, for links that do little to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FastPath {
    /// A constant delay, and nothing else.
    DelayOnly,
    /// A drop-tail queue, a transmitter and a constant delay.
    DropTail,
    /// A drop-tail queue, a transmitter, random losses and a constant delay.
    Lossy,
    /// A queue that keeps its packets, whose decisions [may be late](Link::decide_when_asked), a transmitter and a
    /// constant delay.
    Held,
    /// The queue is elsewhere; what it has taken has a constant delay.
    Remote,
    /// There is none: packets take the general way.
    None,
}

impl FastPath {
    /// Whether something may be drawn at random for each packet.
    fn draws(self) -> bool {
        matches!(self, FastPath::Lossy | FastPath::None)
    }
}

/// Queue and transmitter.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one a link, and the largest is the one on the hot path")]
enum Stage<P> {
    /// Unlimited rate: nothing ever waits.
    Instant(Occupancy),
    DropTail(Fifo),
    Gated(Box<Gated>),
    Held(Box<HeldQueue<P>>),
    Remote(Box<Remote<P>>),
}

impl<P: Packet> Stage<P> {
    fn new(config: &LinkConfig, transmitter: Transmitter, rng: Rng) -> Stage<P> {
        let limits = Limits::new(&config.limit);
        match config.queue.make(rng) {
            Queue::DropTail => Stage::DropTail(Fifo::new(transmitter, limits)),
            Queue::Gated(gate) => Stage::Gated(Box::new(Gated::new(Fifo::new(transmitter, limits), gate))),
            Queue::Held(queue) => Stage::Held(Box::new(HeldQueue::new(Buffer::new(transmitter, limits), queue))),
        }
    }
}

impl<P: Packet> Link<P> {
    /// An idle link. `rng` feeds independent streams for both loss processes, for jitter and for the queue.
    pub fn new(config: LinkConfig, mut rng: Rng) -> Link<P> {
        let mut stream = || Rng::new(rng.next_u64());
        let (before, after) = (stream(), stream());
        let loss_after = losses_behind(&config, config.loss_after.as_ref(), after);
        let events = &config.impairments.events;
        let pipe = Pipe::new(&config.delay, events, stream());
        let stage = match Transmitter::new(&config.rate, config.overhead_bytes) {
            None => Stage::Instant(Occupancy::default()),
            Some(transmitter) => Stage::new(&config, transmitter, stream()),
        };
        let ingress = Ingress::new(&config, before, &mut stream);
        let release = Release::new(config.impairments.aggregate, events, stream).map(Box::new);
        let mut link = Link {
            fast_path: FastPath::None,
            is_plain: false,
            is_immediate: loss_after.is_none() && release.is_none() && !matches!(stage, Stage::Held(_)),
            ingress: ingress.map(Box::new),
            stage,
            loss_after,
            pipe,
            release,
            lost_later: VecDeque::new(),
            drawn: Ring::new(),
            departures: None,
            decides_when_asked: false,
            is_entered_ahead: false,
            ledger: Ledger::default(),
            counted_before: LinkCounters::default(),
            measured_since: Time::ZERO,
            rng,
            config,
        };
        link.fast_path = link.possible_fast_path();
        link
    }

    /// Every packet takes the general way, and nothing is decided later than it is due. To be said before packets are
    /// offered.
    pub fn carry_plainly(&mut self) {
        self.is_plain = true;
        self.fast_path = FastPath::None;
    }

    /// The fast path that the parts of the link allow.
    fn possible_fast_path(&self) -> FastPath {
        if self.is_plain || self.ingress.is_some() || self.release.is_some() || !self.pipe.is_plain() {
            return FastPath::None;
        }
        let is_plain = self.loss_after.is_none();
        match &self.stage {
            Stage::Instant(_) if is_plain => FastPath::DelayOnly,
            Stage::DropTail(_) => {
                if is_plain {
                    FastPath::DropTail
                } else {
                    FastPath::Lossy
                }
            }
            Stage::Held(_) if is_plain && self.decides_when_asked => FastPath::Held,
            _ => FastPath::None,
        }
    }

    /// The description it was built from.
    pub(crate) fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// A packet arrives at the near end.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: P) -> Offer {
        self.offer_written(now, packet.size(), |place| *place = packet)
    }

    /// [`offer`](Self::offer) for a packet of `size` bytes that `write` writes: to where it stays, on a link with a
    /// fast path, if it is accepted.
    #[inline(always)]
    pub fn offer_written(&mut self, now: Time, size: u32, write: impl FnOnce(&mut P)) -> Offer {
        match (self.fast_path, &mut self.stage) {
            (FastPath::DelayOnly, _) => {
                self.ledger.counted.arrivals.add(size);
                self.pipe.write_in_time(now, write);
                Offer::Accepted { departs: Some(now) }
            }
            (FastPath::DropTail, Stage::DropTail(queue)) => {
                self.ledger.counted.arrivals.add(size);
                match queue.offer(now, size) {
                    Some(departs) => {
                        self.pipe.write_plain(departs, write);
                        Offer::Accepted { departs: (departs < Time::NEVER).then_some(departs) }
                    }
                    None => {
                        self.ledger.counted.drops[DropCause::QueueFull].add(size);
                        Offer::Dropped(DropCause::QueueFull)
                    }
                }
            }
            (FastPath::Lossy, Stage::DropTail(queue)) => {
                self.ledger.counted.arrivals.add(size);
                match queue.offer(now, size) {
                    Some(departs) => {
                        self.propagate_written(now, departs, write);
                        Offer::Accepted { departs: (departs < Time::NEVER).then_some(departs) }
                    }
                    None => {
                        self.ledger.counted.drops[DropCause::QueueFull].add(size);
                        Offer::Dropped(DropCause::QueueFull)
                    }
                }
            }
            _ => {
                let mut packet = P::default();
                write(&mut packet);
                self.offer_any(now, &mut packet)
            }
        }
    }

    /// A packet arrives at the near end of a link that only delays it. Returns when the next packet reaches the far
    /// end. On any other link it does nothing and returns `None`: the packet is to be [offered](Self::offer).
    #[inline(always)]
    pub fn delay(&mut self, now: Time, packet: P) -> Option<Time> {
        if self.fast_path != FastPath::DelayOnly {
            return None;
        }
        self.ledger.counted.arrivals.add(packet.size());
        self.pipe.push_in_time(now, packet);
        Some(self.pipe.next_arrival())
    }

    /// Whether it does nothing to packets but to delay them all by the same time.
    pub(crate) fn only_delays(&self) -> bool {
        self.fast_path == FastPath::DelayOnly
    }

    /// A run of `count` packets arrives, of which `packet` is the first. On a link with a fast path those that fit are
    /// accepted, and their departures are returned; the others are dropped. Where the queue [decides
    /// late](Self::decides_late) the departures are not known, and their instants are [`Time::NEVER`]. On any other
    /// link it does nothing and returns `None`: the packets are to be [offered](Self::offer) one by one.
    #[inline(always)]
    pub fn offer_run(&mut self, now: Time, packet: P, count: u32) -> Option<Train> {
        let size = packet.size();
        let (FastPath::DropTail, Stage::DropTail(queue)) = (self.fast_path, &mut self.stage) else {
            return self.offer_other_run(now, packet, count);
        };
        let departures = queue.offer_run(now, size, count)?;
        self.ledger.counted.arrivals.add_many(size, count);
        self.ledger.counted.drops[DropCause::QueueFull].add_many(size, count - departures.count());
        self.pipe.push_run(departures, packet);
        Some(departures)
    }

    /// [`offer_run`](Self::offer_run) on a link without a drop-tail queue.
    #[inline(never)]
    fn offer_other_run(&mut self, now: Time, packet: P, count: u32) -> Option<Train> {
        match self.fast_path {
            FastPath::DelayOnly => Some(self.delay_run(now, packet, count)),
            FastPath::Held => Some(Train::at_once(Time::NEVER, self.hold_run(now, packet, count))),
            FastPath::Remote => self.offer_run_elsewhere(now, packet, count),
            _ => None,
        }
    }

    /// Packets that a link only delays leave it together.
    fn delay_run(&mut self, now: Time, packet: P, count: u32) -> Train {
        self.ledger.counted.arrivals.add_many(packet.size(), count);
        let departures = Train::at_once(now, count);
        self.pipe.push_run(departures, packet);
        departures
    }

    /// [`offer`](Self::offer) without a fast path: everything that a link can do to a packet.
    #[inline(never)]
    fn offer_any(&mut self, now: Time, packet: &mut P) -> Offer {
        self.ledger.counted.arrivals.add(packet.size());
        if self.ingress.is_some() { self.offer_to_ingress(now, packet) } else { self.offer_to_queue(now, packet) }
    }

    /// A packet comes to what is before the queue.
    #[inline(never)]
    fn offer_to_ingress(&mut self, now: Time, packet: &mut P) -> Offer {
        let admitted = match &mut self.ingress {
            None => Ok(false),
            Some(ingress) => ingress.admit(now, packet, &mut self.ledger),
        };
        let is_duplicated = match admitted {
            Err(cause) => return self.ledger.drop_now(packet.size(), cause),
            Ok(is_duplicated) => is_duplicated,
        };
        match self.offer_admitted(now, packet) {
            // A packet for which the queue has no room has no copy: there would be no room for it either.
            Offer::Accepted { departs } if is_duplicated => Offer::Duplicated { departs },
            offer => offer,
        }
    }

    /// The copy of a packet that was [duplicated](Offer::Duplicated) arrives. It is not duplicated again, and no event
    /// is about it.
    pub(crate) fn offer_copy(&mut self, now: Time, mut packet: P) -> Offer {
        let size = packet.size();
        self.ledger.counted.arrivals.add(size);
        let refused = self.ingress.as_mut().and_then(|ingress| {
            ingress.change_ecn(&mut packet, &mut self.ledger);
            ingress.refuses(now, size)
        });
        match refused {
            Some(cause) => self.ledger.drop_now(size, cause),
            None => self.offer_admitted(now, &mut packet),
        }
    }

    /// A packet has passed what is before the queue: it comes to the [queue](Self::offer_to_queue), unless too many are
    /// on the link.
    #[inline(never)]
    fn offer_admitted(&mut self, now: Time, packet: &mut P) -> Offer {
        let most = self.ingress.as_ref().and_then(|ingress| ingress.most_packets);
        if most.is_some_and(|most| self.packets_on_link(now) >= u64::from(most)) {
            return self.ledger.drop_now(packet.size(), DropCause::QueueFull);
        }
        self.offer_to_queue(now, packet)
    }

    /// A packet comes to the queue. It is copied only to where it stays: whoever wrote a part of it a moment ago and reads
    /// it as a whole waits for that.
    #[inline(always)]
    fn offer_to_queue(&mut self, now: Time, packet: &mut P) -> Offer {
        let size = packet.size();
        let departs = match &mut self.stage {
            Stage::Instant(_) => now,
            Stage::DropTail(queue) => match queue.offer(now, size) {
                Some(departs) => departs,
                None => return self.ledger.drop_now(packet.size(), DropCause::QueueFull),
            },
            Stage::Gated(queue) => match queue.offer(now, packet, &mut self.ledger) {
                Ok(departs) => departs,
                Err(cause) => return self.ledger.drop_now(packet.size(), cause),
            },
            Stage::Held(_) => return self.offer_held(now, *packet),
            Stage::Remote(remote) => return remote.offer(now, *packet),
        };
        self.propagate(now, departs, packet);
        Offer::Accepted { departs: (departs < Time::NEVER).then_some(departs) }
    }

    /// When [`poll`](Self::poll) has something to do next; [`Time::NEVER`] when the link is idle.
    #[inline(always)]
    pub fn next_event(&self) -> Time {
        if self.is_immediate { self.pipe.next_arrival() } else { self.next_event_of_any() }
    }

    /// [`next_event`](Self::next_event) of a link that does nothing before a packet arrives.
    #[inline(always)]
    pub fn next_arrival(&self) -> Option<Time> {
        self.is_immediate.then(|| self.pipe.next_arrival())
    }

    /// [`next_event`](Self::next_event) of a link that may do something before a packet arrives.
    #[inline(never)]
    fn next_event_of_any(&self) -> Time {
        let arrival = self.pipe.next_arrival();
        let next = match &self.stage {
            // What is decided later arrives later.
            Stage::Held(queue) if self.fast_path == FastPath::Held => {
                arrival.min(queue.next_decision() + self.pipe.base())
            }
            Stage::Held(queue) => arrival.min(queue.next_decision()),
            _ => arrival,
        };
        self.release.as_ref().map_or(next, |release| next.min(release.next()))
    }

    /// The next packet that has reached the far end by `now`, in the order of arrival there. Call it until it returns
    /// `None`.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<P> {
        let mut packet = P::default();
        self.poll_into(now, &mut packet).then_some(packet)
    }

    /// [`poll`](Self::poll), with the packet written to where the caller wants it; false when there is none.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, packet: &mut P) -> bool {
        if self.is_immediate { self.take_arrived(now, packet) } else { self.poll_any(now, packet) }
    }

    /// [`poll_into`](Self::poll_into) of a link that may do something before a packet arrives.
    #[inline(never)]
    fn poll_any(&mut self, now: Time, packet: &mut P) -> bool {
        self.decide_until(now);
        self.lose_departed(now);
        if self.release.is_some() { self.poll_released(now, packet) } else { self.take_arrived(now, packet) }
    }

    #[inline(always)]
    fn take_arrived(&mut self, now: Time, packet: &mut P) -> bool {
        let has_arrived = self.pipe.next_arrival() <= now;
        if has_arrived {
            self.pipe.take_into(packet);
        }
        has_arrived
    }

    /// [`poll_into`](Self::poll_into) where packets are held back at the far end.
    #[inline(never)]
    fn poll_released(&mut self, now: Time, packet: &mut P) -> bool {
        let Some(release) = &mut self.release else { return false };
        while self.pipe.next_arrival() <= now {
            let arrives = self.pipe.next_arrival();
            self.pipe.take_into(packet);
            release.push(arrives, *packet);
        }
        let released = release.pop(now);
        released.map(|released| *packet = released).is_some()
    }

    /// [`poll_into`](Self::poll_into) on a link with a fast path. Returns when the next packet will reach the far end,
    /// and how many packets of the run of this one are still to come. `None` when no packet has arrived or the link has
    /// no fast path: then [`poll_into`](Self::poll_into) tells.
    #[inline(always)]
    pub fn take_plain(&mut self, now: Time, packet: &mut P) -> Option<(Time, u32)> {
        if self.fast_path == FastPath::None || self.pipe.next_arrival() > now {
            return None;
        }
        let followers = self.pipe.take_plain(packet);
        let next = if self.is_immediate { self.pipe.next_arrival() } else { self.next_behind(now) };
        Some((next, followers))
    }

    /// What comes out next.
    #[inline(always)]
    pub fn coming(&self) -> Coming<'_, P> {
        self.pipe.coming()
    }

    /// [`next_event`](Self::next_event) after a packet has come out of a link that may do something before another
    /// arrives.
    #[inline]
    fn next_behind(&mut self, now: Time) -> Time {
        if self.fast_path != FastPath::Lossy {
            return self.next_event_of_any();
        }
        self.lose_departed(now);
        self.pipe.next_arrival()
    }

    /// Takes packets of the run to which the packet belongs that [`take_plain`](Self::take_plain) took last: at most
    /// `most`, which the run must still have, and only those that reach the far end before `until`. Returns how many
    /// these are, and the sum of the times from `origin` to their arrivals; `origin` must not be later than any of
    /// these.
    #[inline(always)]
    pub fn take_followers(&mut self, most: u32, until: Time, origin: Time) -> (u32, Duration) {
        self.pipe.take_followers(most, until, origin)
    }
}

#[cfg(test)]
pub(crate) mod tests;
