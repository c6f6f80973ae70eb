//! The experiment file as it is written: one struct a table, every key optional, nothing resolved.
//!
//! The doc comments are the descriptions of the published JSON Schema.

mod app;
mod buffer;
mod columns;
mod delay;
mod flow;
mod kind;
mod link;
mod program;
mod rate;
mod shorthand;
mod traffic;
mod transport;
mod vary_rtt;

pub(crate) use app::{APP_RATES, AppRateSpec};
pub(crate) use buffer::Buffer;
pub(crate) use columns::{Columns, LOSS_UNITS, RATE_UNITS, TIME_UNITS, Units, words};
pub(crate) use delay::{DELAYS, DelaySpec};
pub(crate) use flow::{AppSpec, CcSpec, Direction, Elsewhere, FlowSpec, Preset, RouteSpec, STREAMS};
pub(crate) use kind::{
    AGGREGATE, ECN_FAULT, EVENTS, JITTER, JitterSpec, KindSpec, LATE, LOSS_TRACES, LossSpec, POLICER, QueueSpec,
    REORDER, ReorderSpec, SHARE, ShareSpec, WIFI,
};
pub(crate) use link::{LinkSpec, LossPlace, NodeSpec, PathSpec, PoolSpec, ReverseSpec, Side};
pub(crate) use program::{ProgramSpec, Sends};
pub(crate) use rate::{RATES, RateSpec, TraceSource};
pub(crate) use traffic::{Senders, TRAFFIC_KEYS, TrafficSpec, kinds_in_words};
pub(crate) use transport::{LIBRARY, PROFILE, TransportSpec};
pub(crate) use vary_rtt::VaryRtt;

use dumbbell_units::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An experiment of the Dumbbell congestion-control laboratory.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Dumbbell experiment", rename = "Experiment")]
pub(crate) struct File {
    /// Length of the run. Default "60s".
    pub duration: Option<Duration>,
    /// The measured interval starts here. Default "0s".
    pub warmup: Option<Duration>,
    /// The measured interval ends this long before the end of the run. Default "0s".
    pub cooldown: Option<Duration>,
    /// Seed of every random stream of the run. Default 1.
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
    /// How much longer than given the round trip of each flow may be, drawn from the seed: "1packet" is what a packet
    /// takes on the bottleneck. Default: as given.
    pub vary_rtt: Option<VaryRtt>,
    /// Whether rates that repeat (traces, steps with `repeat`) have gone on for a time before the run begins, drawn
    /// from the seed. Default false: every run meets them at their beginning.
    pub vary_phase: Option<bool>,
    /// What to record besides the summary tables.
    pub record: Option<RecordSpec>,
    /// Endpoint parameters of all flows.
    pub transport: Option<TransportSpec>,
    /// The bar of a dumbbell: one bottleneck that all flows share. Short for one entry of `links`.
    pub path: Option<PathSpec>,
    /// Names of the nodes of a general network. Without it, the nodes are those that the links name.
    pub nodes: Option<Vec<NodeSpec>>,
    /// Links of a general network.
    pub links: Option<Vec<LinkSpec>>,
    /// Memory of switches, which queues share.
    pub pools: Option<Vec<PoolSpec>>,
    /// Routes that differ from the shortest path.
    pub routes: Option<Vec<RouteSpec>>,
    /// Flows; one entry may stand for several.
    pub flows: Option<Vec<FlowSpec>>,
    /// Flows that come and go while the experiment runs.
    pub traffic: Option<Vec<TrafficSpec>>,
    /// Named algorithms: a base and the parameters that differ.
    pub presets: Option<BTreeMap<String, Preset>>,
    /// Taken out of the tree before it is decoded; stands here so that it is among the allowed keys.
    #[schemars(skip)]
    #[serde(rename = "include")]
    _include: Option<serde::de::IgnoredAny>,
    /// Likewise.
    #[schemars(skip)]
    #[serde(rename = "sweep")]
    _sweep: Option<serde::de::IgnoredAny>,
}

/// What to record besides the summary tables.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordSpec {
    /// Whether to record time series. Default true.
    pub series: Option<bool>,
    /// Spacing of the samples. Default "20ms", or coarser for many flows, long runs and slow links.
    pub interval: Option<Duration>,
}
