//! What a packet passes in front of the queue: faults of its ECN bits, events of chosen packets, duplication, losses,
//! the policer.

use crate::config::{Impairments, LinkConfig};
use crate::correlated::{CorrelatedChance, Share};
use crate::ecn_fault::FaultyEcn;
use crate::event::{Action, PacketEvent, Watch};
use crate::ledger::{DropCause, Ledger};
use crate::loss::Process;
use crate::packet::{Ecn, Packet};
use crate::policer::TokenBucket;
use dumbbell_units::{Ratio, Rng, Time};

/// What a packet passes before it comes to the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Ingress {
    pub(super) ecn_fault: Option<FaultyEcn>,
    pub(super) choice: Option<Box<Choice>>,
    pub(super) loss: Option<Box<dyn Process>>,
    pub(super) policer: Option<TokenBucket>,
    /// The most packets that may be on the link at once.
    pub(super) most_packets: Option<u32>,
}

/// What happens to chosen packets that arrive.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    events: Vec<Watch>,
    duplicate: CorrelatedChance,
    rng: Rng,
}

impl Choice {
    /// `None` if no packet is chosen.
    fn new(impairments: &Impairments, stream: impl FnOnce() -> Rng) -> Option<Choice> {
        let events = Watch::all(&impairments.events, PacketEvent::acts_on_arrival);
        let is_needed = !events.is_empty() || impairments.duplicate.probability > Ratio::ZERO;
        let Share { probability, correlation } = impairments.duplicate;
        let duplicate = CorrelatedChance::new(probability, correlation);
        is_needed.then(|| Choice { events, duplicate, rng: stream() })
    }

    /// Marks a packet, drops it, or has it duplicated. Returns whether it is dropped, and whether it is duplicated.
    fn meets<P: Packet>(&mut self, now: Time, packet: &mut P, ledger: &mut Ledger<P>) -> (bool, bool) {
        let mut is_duplicated = self.duplicate.happens(&mut self.rng);
        let mut is_dropped = false;
        for watch in &mut self.events {
            match watch.passes(now, packet).map(|event| event.action) {
                Some(Action::Drop) => is_dropped = true,
                Some(Action::Duplicate) => is_duplicated = true,
                Some(Action::Mark) if packet.ecn() != Ecn::NotEct => {
                    packet.mark();
                    ledger.counted.marked += 1;
                }
                _ => {}
            }
        }
        (is_dropped, is_duplicated)
    }
}

impl Ingress {
    /// What comes in front of the queue of a link; `None` if there is nothing.
    pub(super) fn new(config: &LinkConfig, loss: Rng, mut stream: impl FnMut() -> Rng) -> Option<Ingress> {
        let choice = Choice::new(&config.impairments, &mut stream).map(Box::new);
        let ecn_fault = config.impairments.ecn_fault.map(|fault| FaultyEcn::new(fault, stream()));
        let loss = config.loss_before.as_ref().map(|recipe| recipe.make(loss));
        let policer = config.policer.as_ref().map(|policer| TokenBucket::new(policer, config.overhead_bytes));
        let most_packets = config.impairments.most_packets;
        let is_empty =
            ecn_fault.is_none() && choice.is_none() && loss.is_none() && policer.is_none() && most_packets.is_none();
        (!is_empty).then_some(Ingress { ecn_fault, choice, loss, policer, most_packets })
    }

    /// A packet comes from a sender. Returns whether it is duplicated.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub(super) fn admit<P: Packet>(
        &mut self,
        now: Time,
        packet: &mut P,
        ledger: &mut Ledger<P>,
    ) -> Result<bool, DropCause> {
        self.change_ecn(packet, ledger);
        let chosen = match &mut self.choice {
            None => (false, false),
            Some(choice) => choice.meets(now, packet, ledger),
        };
        match (chosen, self.refuses(now, packet.size())) {
            ((true, _), _) => Err(DropCause::LossBefore),
            // As in netem: of a packet that is duplicated and lost, one passes.
            ((false, true), Some(DropCause::LossBefore)) => Ok(false),
            (_, Some(cause)) => Err(cause),
            ((_, is_duplicated), None) => Ok(is_duplicated),
        }
    }

    /// The ECN bits of a packet that comes from a sender become what the fault makes of them.
    pub(super) fn change_ecn<P: Packet>(&mut self, packet: &mut P, ledger: &mut Ledger<P>) {
        if let Some(fault) = &mut self.ecn_fault {
            fault.change(packet, ledger);
        }
    }

    /// Why a packet of `size` bytes is dropped, if it is.
    pub(super) fn refuses(&mut self, now: Time, size: u32) -> Option<DropCause> {
        if self.loss.as_mut().is_some_and(|loss| loss.strikes(now)) {
            return Some(DropCause::LossBefore);
        }
        let passes = self.policer.as_mut().is_none_or(|policer| policer.passes(now, size));
        (!passes).then_some(DropCause::Policed)
    }
}
