//! What a run reports, whatever ran it: four tables, the meaning of each of their columns, and the recorder of time
//! series.
//!
//! A ground (the simulator today, a real kernel or a real QUIC library tomorrow) fills rows: one [`FlowSummary`] a flow
//! and one [`LinkSummary`] a link when the run is over, a [`FlowSample`] and a [`LinkSample`] at every instant that the
//! [`Recorder`] asks for. The columns follow from the rows. Each column is declared once, in [`columns`], with its name,
//! unit, meaning and the function that computes it; tables, `dumbbell columns` and `docs/reference/results.md` all read
//! that declaration.

#![deny(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::cast_lossless)]

pub mod columns;
mod histogram;
mod names;
mod recorder;
mod summary;
mod table;

pub use histogram::Histogram;
pub use names::Names;
pub use recorder::{FlowSample, LinkSample, Recorder};
pub use summary::{FlowCounts, FlowSummary, LinkCounts, LinkSummary, flows, links};
pub use table::{Column, Table, Values};
