#![doc = include_str!("../README.md")]
//!
//! What happens to a packet between two hosts: queues, links, loss, delay, jitter, traces.
//!
//! A [`Link`] is one direction of a wire: loss before, a policer, a queue, a transmitter, loss after, and a propagation
//! pipe. It knows no clock and no other link: packets are offered to it with the time of their arrival, and it gives
//! them back when they reach the far end. It is the usual [`Medium`]; others may be shared by several stations. A
//! running link can be [changed](Link::change) from outside.
//!
//! Where to look: [`Link`] is in `link.rs`, its changes in `link/change.rs`, [`Medium`] in `medium.rs`; disciplines are
//! in `queue/`, rates in `transmitter/`, random loss in `loss/`, policers in `policer.rs`, delay and jitter in
//! `delay.rs`, propagation in `pipe.rs`, measurements in `stats.rs`, a radio channel in `wifi/`. [`synth`] makes
//! cellular traces and [`parse_trace`] reads them from Mahimahi's files.
//!
//! Every parameter is declared where it is used, as the field of a struct; `dumbbell-parameters` makes of a kind of
//! queue or loss what experiment files, errors, reports and the reference page need.

mod catalog;
mod chance;
mod config;
mod correlated;
mod delay;
mod dscp;
mod ecn_fault;
mod event;
#[cfg(test)]
mod grid;
mod ledger;
mod level;
mod link;
pub mod loss;
mod medium;
mod normal;
mod packet;
mod pipe;
mod policer;
pub mod queue;
mod release;
mod ring;
mod run;
mod shared_buffer;
mod stats;
pub mod synth;
#[cfg(test)]
mod testing;
mod trace_file;
mod train;
mod transmitter;
pub mod wifi;

pub use catalog::{Catalog, Described, KIND, Kind, LinkContext, Preset, QueueLimit, Recipe};
pub use config::{Impairments, LinkConfig};
pub use correlated::Share;
pub use delay::{Delay, Jitter, JitterDistribution, Late, Reorder};
pub use dscp::Dscp;
pub use dumbbell_parameters::Schedule;
pub use ecn_fault::{EcnChange, EcnFault};
pub use event::{Action, PacketEvent, Selection};
pub use ledger::{DropCause, Drops, LinkCounters, Offer, Report};
pub use level::Level;
pub use link::Link;
pub use link::change::{Change, Retimed};
pub use link::offered::{Offered, Remote};
pub use loss::LossRecipe;
pub use medium::{Glance, Measured, Media, Medium, Port};
pub use packet::{Class, Ecn, Packet, PureAck};
pub use pipe::Coming;
pub use policer::Policer;
pub use queue::QueueRecipe;
pub use release::Aggregate;
pub use shared_buffer::SharedBuffer;
pub use stats::{Backlog, QueueStats, Tally};
pub use trace_file::{TraceError, parse_trace};
pub use train::Train;
pub use transmitter::LinkRate;
