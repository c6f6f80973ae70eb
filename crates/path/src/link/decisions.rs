//! Queues that keep their packets: when they decide, and how what comes of it is told.
//!
//! A decision is due when the transmitter is free. A link whose decisions are [left alone](Link::decide_when_asked)
//! makes them when they are asked for, all that were due since; each as it would have been made in time.

use super::{FastPath, Link, Stage};
use crate::ledger::{DropCause, Offer, Report};
use crate::packet::Packet;
use crate::queue::{ROUNDING, Waiting};
use crate::ring::Ring;
use crate::run::Run;
use dumbbell_units::Time;

impl<P: Packet> Link<P> {
    /// Nobody needs to hear at once of a packet that a queue has dropped or let go. A discipline that decides at
    /// departure may then be left alone until somebody asks for what its decisions lead to: the next packet that is
    /// offered, somebody who looks at the link, or the first packet that would reach the far end. The decisions are
    /// those that it would have made in time. To be said before packets are offered.
    pub fn decide_when_asked(&mut self) {
        self.decides_when_asked = true;
        self.fast_path = self.possible_fast_path();
    }

    /// Packets of a run come to a queue that keeps them, one after the other; returns how many it accepts.
    pub(super) fn hold_run(&mut self, now: Time, packet: P, count: u32) -> u32 {
        self.ledger.counted.arrivals.add_many(packet.size(), count);
        let Stage::Held(queue) = &mut self.stage else { return 0 };
        let run = queue.expect_run(packet, count);
        let mut accepted = 0;
        for offset in 0..count {
            let now = self.decide_for_arrival(now);
            if let Stage::Held(queue) = &mut self.stage
                && let Some(fitting) = queue.offer_together(now, &run, offset, count - offset)
            {
                self.ledger.counted.drops[DropCause::QueueFull].add_many(run.size, count - offset - fitting);
                return accepted + fitting;
            }
            accepted += u32::from(matches!(self.hold(now, &run, offset), Offer::Accepted { .. }));
        }
        accepted
    }

    #[inline(always)]
    pub(super) fn offer_held(&mut self, now: Time, packet: P) -> Offer {
        let now = self.decide_for_arrival(now);
        let Stage::Held(queue) = &mut self.stage else { return Offer::Accepted { departs: None } };
        let run = queue.expect_run(packet, 1);
        self.hold(now, &run, 0)
    }

    /// Makes the decisions that come before a packet which arrives at `now`, those of the same instant but for
    /// [rounding](ROUNDING) included. Returns when the packet comes then: no sooner than one before it.
    #[inline(always)]
    fn decide_for_arrival(&mut self, now: Time) -> Time {
        self.decide_until(now);
        match &self.stage {
            Stage::Held(queue) if queue.next_decision() <= now + ROUNDING => {
                let decision = queue.next_decision();
                self.decide_until(decision);
                decision
            }
            Stage::Held(queue) => now.max(queue.buffer.occupancy.clock()),
            _ => now,
        }
    }

    /// The packet of a run that so many are before comes to a queue that has made all decisions up to `now`.
    #[inline(always)]
    fn hold(&mut self, now: Time, run: &Waiting, offset: u32) -> Offer {
        let Stage::Held(queue) = &mut self.stage else { return Offer::Accepted { departs: None } };
        if let Err(cause) = queue.offer_one(now, run, offset, &mut self.ledger) {
            return self.ledger.drop_now(run.size, cause);
        }
        // Only a packet that found the link idle can leave the queue now: all earlier decisions were made above.
        Offer::Accepted { departs: self.decide_until(now) }
    }

    /// Makes the decisions of a discipline that are due; returns the last departure they led to.
    #[inline(always)]
    pub(super) fn decide_until(&mut self, now: Time) -> Option<Time> {
        match &self.stage {
            Stage::Held(queue) if queue.next_decision() <= now => self.decide_all_until(now),
            _ => None,
        }
    }

    #[inline(never)]
    fn decide_all_until(&mut self, now: Time) -> Option<Time> {
        let mut last = None;
        while let Stage::Held(queue) = &self.stage
            && queue.next_decision() <= now
        {
            let is_run = self.fast_path == FastPath::Held && queue.has_run();
            let of_run = if is_run { self.decide_next_run(now) } else { None };
            last = of_run.or_else(|| self.decide_next()).or(last);
        }
        last.filter(|&departs| departs < Time::NEVER)
    }

    /// Makes the next decision for all packets of a run that begin by `now`, if there is nothing to decide about them;
    /// returns the departure of the last.
    #[inline(never)]
    fn decide_next_run(&mut self, now: Time) -> Option<Time> {
        let Stage::Held(queue) = &mut self.stage else { return None };
        let (departures, packet) = queue.decide_run(now)?;
        if let Some(told) = &mut self.departures {
            told.push_run(departures, packet);
        }
        self.pipe.push_run_behind(departures, packet);
        Some(queue.buffer.in_service.departs())
    }

    /// Makes the next decision of a discipline; returns the departure it leads to, which may be never.
    pub(super) fn decide_next(&mut self) -> Option<Time> {
        let Stage::Held(queue) = &mut self.stage else { return None };
        let decided_at = queue.next_decision();
        let (departs, packet) = queue.decide(&mut self.ledger)?;
        if let Some(departures) = &mut self.departures {
            departures.push_packet(departs, packet);
        }
        if self.fast_path == FastPath::Held {
            self.pipe.push_behind(departs, packet);
        } else {
            self.propagate(decided_at, departs, &packet);
        }
        Some(departs)
    }

    /// Whether the queue decides about packets after it has accepted them. Then the time of a packet's departure is not
    /// known when it is offered.
    #[inline]
    pub fn decides_late(&self) -> bool {
        !self.is_immediate && matches!(self.stage, Stage::Held(_) | Stage::Remote(_))
    }

    /// Asks a link that [decides late](Self::decides_late) to keep the departures of packets for
    /// [`pop_departure`](Self::pop_departure).
    pub(crate) fn report_departures(&mut self) {
        if self.decides_late() {
            self.departures.get_or_insert_with(Ring::new);
        }
    }

    /// Whether [`next_report`](Self::next_report) has something to report.
    #[inline]
    pub fn has_reports(&self) -> bool {
        let departs = || self.departures.as_ref().is_some_and(|departures| !departures.is_empty());
        !self.is_immediate && (!self.ledger.later_drops.is_empty() || departs())
    }

    /// When a packet leaves the transmitter, in the order of the departures; [`Time::NEVER`] for one that never does.
    pub(crate) fn pop_departure(&mut self) -> Option<(Time, P)> {
        let departures = self.departures.as_mut()?;
        let run = departures.front_mut()?;
        let departure = (run.instants.next(), run.packet);
        run.advance();
        if run.instants.count() == 0 {
            departures.drop_first();
        }
        Some(departure)
    }

    /// What has become of packets since they were offered: first those that have left the transmitter, then those that
    /// were dropped.
    pub fn next_report(&mut self) -> Option<Report<P>> {
        if let Some(departures) = &mut self.departures
            && let Some(&mut Run { instants, packet }) = departures.front_mut()
        {
            departures.drop_first();
            return Some(Report::Departed(instants, packet));
        }
        self.pop_drop().map(|(packet, cause)| Report::Dropped(packet, cause))
    }

    /// A packet that was dropped after [`offer`](Self::offer) had accepted it, in the order of the drops. Losses after
    /// the transmitter appear with the first call that passes the time of departure.
    pub(crate) fn pop_drop(&mut self) -> Option<(P, DropCause)> {
        self.ledger.later_drops.pop_front()
    }
}
