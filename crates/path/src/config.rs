//! The resolved description of one direction of a link. Defaults and units are the scenario's business.

use crate::catalog::QueueLimit;
use crate::correlated::Share;
use crate::delay::Delay;
use crate::ecn_fault::EcnFault;
use crate::event::PacketEvent;
use crate::loss::LossRecipe;
use crate::policer::Policer;
use crate::queue::QueueRecipe;
use crate::release::Aggregate;
use crate::transmitter::LinkRate;
use std::sync::Arc;

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Name in reports, for example `bottleneck`.
    pub name: String,
    /// Transmission rate.
    pub rate: LinkRate,
    /// Framing bytes that occupy the transmitter besides the IP length.
    pub overhead_bytes: u32,
    /// Propagation delay, jitter and reordering.
    pub delay: Delay,
    /// Policer in front of the queue.
    pub policer: Option<Policer>,
    /// What the queue in front of the transmitter holds at most.
    pub limit: QueueLimit,
    /// Its discipline.
    pub queue: QueueRecipe,
    /// Losses before the queue: a lost packet takes no capacity.
    pub loss_before: Option<LossRecipe>,
    /// Losses after the transmitter: a lost packet has taken capacity.
    pub loss_after: Option<LossRecipe>,
    /// What else happens to packets; on most links nothing, which they share.
    pub impairments: Arc<Impairments>,
}

/// What few links do to packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Packets that are duplicated: the copy follows into the queue.
    pub duplicate: Share,
    /// Packets that are damaged: they take capacity, and are lost behind the transmitter.
    pub corrupt: Share,
    /// The most packets that may be on the link at once, waiting, in transmission and on their way: netem's limit.
    pub most_packets: Option<u32>,
    /// What happens to chosen packets.
    pub events: Arc<[PacketEvent]>,
    /// Packets are released in bundles at the far end.
    pub aggregate: Option<Aggregate>,
    /// The ECN bits of packets are changed before the queue.
    pub ecn_fault: Option<EcnFault>,
}
