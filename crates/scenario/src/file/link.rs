//! `[path]`, `[[nodes]]`, `[[links]]`.

use super::shorthand::{NoList, Shorthand, shorthand, table};
use super::{Buffer, DelaySpec, JitterSpec, LossSpec, QueueSpec, RateSpec, ReorderSpec, ShareSpec, TraceSource};
use dumbbell_path::wifi::Wifi;
use dumbbell_path::{Aggregate, EcnFault, Late, PacketEvent, Policer};
use dumbbell_units::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

/// Structs that hold the keys of one direction of a link besides keys of their own.
macro_rules! with_link_keys {
    ($(#[$attribute:meta])* $name:ident { $($(#[$own_attribute:meta])* $own:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$own_attribute])* pub $own: $type,)*
            /// Transmission rate: constant, a schedule of steps, a trace, or a synthesised cellular link.
            pub rate: Option<RateSpec>,
            /// A file of a measured rate, or of delivery opportunities as Mahimahi has them, relative to this file; or
            /// the times of opportunities in milliseconds. Takes the place of `rate`.
            pub trace: Option<TraceSource>,
            /// With `trace`: the link ends with the trace instead of starting it again. Default false.
            pub once: Option<bool>,
            /// The link is Wi-Fi: stations share a radio channel with their access point. Takes the place of `rate`,
            /// and of a wire; `loss` is that of single frames on the air, which are sent again. Default: a wire.
            pub wifi: Option<Wifi>,
            /// Propagation delay in this direction: constant, steps, a sinusoid, or a file of measured delays.
            pub delay: Option<DelaySpec>,
            /// What the queue holds besides the packet in transmission. Default "1bdp".
            pub buffer: Option<Buffer>,
            /// Queue discipline. Default "droptail".
            pub queue: Option<QueueSpec>,
            /// A token bucket in front of the queue that drops what exceeds it. Default none.
            pub policer: Option<Policer>,
            /// Random loss. Default none.
            pub loss: Option<LossSpec>,
            /// Whether packets are lost after transmission, so that they have used capacity (the default), or before
            /// the queue.
            pub loss_at: Option<LossPlace>,
            /// Random variation of the delay. Default none.
            pub jitter: Option<JitterSpec>,
            /// Packets that overtake others. Default none.
            pub reorder: Option<ReorderSpec>,
            /// Packets that take longer, and for which others do not wait. Default none.
            pub late: Option<Late>,
            /// Packets that are duplicated: a copy follows into the queue. Default none.
            pub duplicate: Option<ShareSpec>,
            /// Packets that are damaged: they take capacity, and are lost behind the transmitter. Default none.
            pub corrupt: Option<ShareSpec>,
            /// The most packets that may be on the link at once, waiting, in transmission and on their way, as netem
            /// limits them. Default no limit.
            #[schemars(range(min = 1))]
            pub limit: Option<u32>,
            /// Packets are held at the far end and released in bundles. Default none.
            pub aggregate: Option<Aggregate>,
            /// The ECN bits of packets are changed before the queue: cleared, erased, set. Default not.
            pub ecn_fault: Option<EcnFault>,
            /// What happens to chosen packets. Default nothing.
            pub events: Option<Vec<PacketEvent>>,
            /// Framing bytes of every packet that occupy the transmitter besides the IP length. Default 0.
            pub overhead: Option<Bytes>,
        }

        impl $name {
            /// The keys that describe one direction of a link.
            pub(crate) fn side(&self) -> Side {
                Side {
                    rate: self.rate.clone(),
                    trace: self.trace.clone(),
                    once: self.once,
                    wifi: self.wifi.clone(),
                    delay: self.delay.clone(),
                    buffer: self.buffer.clone(),
                    queue: self.queue.clone(),
                    policer: self.policer,
                    loss: self.loss.clone(),
                    loss_at: self.loss_at,
                    jitter: self.jitter,
                    reorder: self.reorder,
                    late: self.late,
                    duplicate: self.duplicate,
                    corrupt: self.corrupt,
                    limit: self.limit,
                    aggregate: self.aggregate,
                    ecn_fault: self.ecn_fault,
                    events: self.events.clone(),
                    overhead: self.overhead,
                }
            }
        }
    };
}

with_link_keys! {
    /// One direction of a link.
    Side {}
}

with_link_keys! {
    /// The bar of a dumbbell: a bottleneck from `left` to `right` and a way back.
    PathSpec {
        /// Base round-trip time: propagation in both directions, half each unless `delay` says otherwise. May change
        /// with time like `delay`.
        rtt: Option<DelaySpec>,
        /// The way back. Default: unlimited rate, no loss, the rest of the round-trip time as delay.
        reverse: Option<ReverseSpec>,
    }
}

with_link_keys! {
    /// A link between two nodes, in both directions.
    LinkSpec {
        /// Name in reports and routes. Default `FROM-TO`.
        name: Option<String>,
        /// Node that the described direction starts at.
        from: Option<String>,
        /// Node that the described direction leads to.
        to: Option<String>,
        /// Whether the link has a way back. Default true.
        duplex: Option<bool>,
        /// The way back. Default: unlimited rate, no loss, the same delay.
        reverse: Option<ReverseSpec>,
    }
}

/// Memory of a switch that queues share.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolSpec {
    /// Name that buffers refer to. Required.
    pub name: Option<String>,
    /// Its size in bytes of IP length. Required.
    pub size: Option<Bytes>,
}

/// A node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeSpec {
    /// Name that links and flows refer to.
    pub name: Option<String>,
}

/// The way back of a link.
#[derive(Clone, Debug)]
pub(crate) enum ReverseSpec {
    /// The way back is like the way there in every respect.
    Symmetric,
    /// What is given; an unlimited, lossless link otherwise.
    Side(Box<Side>),
}

impl Shorthand for ReverseSpec {
    const EXPECTING: &'static str = "\"symmetric\" or a table with the keys of a link";
    type Table = Side;
    type List = NoList;

    fn pattern() -> String {
        "^symmetric$".to_owned()
    }

    fn from_text(text: &str) -> Result<ReverseSpec, String> {
        match text {
            "symmetric" => Ok(ReverseSpec::Symmetric),
            _ => Err(format!("read {text:?}, but this must be {}", Self::EXPECTING)),
        }
    }

    fn from_table(side: Side) -> Result<ReverseSpec, String> {
        Ok(ReverseSpec::Side(Box::new(side)))
    }
}
shorthand!(ReverseSpec, ["symmetric"], table::<Side>);

/// Where packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LossPlace {
    /// After the transmitter: a lost packet has used capacity.
    #[default]
    After,
    /// Before the queue: a lost packet takes no capacity.
    Before,
}
