#![doc = include_str!("../README.md")]
//!
//! A ground (the simulator today, a real kernel or a real QUIC library tomorrow) fills one [`FlowSummary`] a flow and
//! one [`LinkSummary`] a link when the run is over, and a [`FlowSample`] and a [`LinkSample`] at every instant that the
//! [`Recorder`] asks for. Columns are declared in [`columns`].

pub mod columns;
mod datagrams;
mod histogram;
mod names;
mod packed;
mod recorder;
mod samples;
mod series;
mod summary;
mod table;
mod traffic;

pub use datagrams::{DatagramSummary, datagrams};
pub use histogram::Histogram;
pub use names::Names;
pub use recorder::Recorder;
pub use samples::{Arrived, FlowSample, LinkSample, Tells};
pub use series::Series;
pub use summary::{FlowCounts, FlowSummary, LinkCounts, LinkSummary, StreamSummary, UNKNOWN, flows, links};
pub use table::{Column, Table, Values};
pub use traffic::{Completion, PageLoad, Round, TrafficSummary, completions, pages, rounds, traffic};
