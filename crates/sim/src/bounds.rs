//! What a run may take of the machine, and what it says when that is not enough.

use crate::RunError;
use dumbbell_results::Table;
use dumbbell_units::Time;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Time series whose tables fill so many bytes are handed to the [`SeriesSink`].
pub const SERIES_CHUNK_BYTES: u64 = 32 << 20;

/// What a run may take, and where its time series go.
pub struct Bounds<'a> {
    /// Once it is set, the run ends with [`RunError::Cancelled`](crate::RunError::Cancelled) within a few events.
    pub cancel: &'a AtomicBool,
    /// Bytes of memory for what grows in a run. One that would need more ends with
    /// [`RunError::Memory`](crate::RunError::Memory).
    pub max_memory: u64,
    /// Takes the time series, [`SERIES_CHUNK_BYTES`] at a time. Without it they stay in memory.
    pub series: Option<&'a mut dyn SeriesSink>,
    /// Packets travel one by one, and nothing is known ahead of its time: the general code alone. Tables are those of a
    /// usual run, which this is to judge, at about twice the work.
    pub plain: bool,
}

/// Whether set-up goes on: not once the caller has set `cancel`.
pub(crate) fn go_on(cancel: &AtomicBool) -> Result<(), RunError> {
    if cancel.load(Ordering::Relaxed) { Err(RunError::Cancelled) } else { Ok(()) }
}

/// Takes the time series of a run piece by piece.
pub trait SeriesSink: Send {
    /// Takes the next rows of the series of flows and of links. Pieces have the same columns; the rows behind the last
    /// piece are those of [`RunOutput`](crate::RunOutput).
    ///
    /// # Errors
    /// The piece could not be kept; the message says why, and the run ends with it.
    fn take(&mut self, series: Table, link_series: Table) -> Result<(), String>;
}

/// What grew when a run was about to exceed its memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Growth {
    /// The flows themselves and their routes.
    Flows {
        /// How many there are.
        count: usize,
    },
    /// What senders remember of packets in flight.
    Senders {
        /// The flow with the most.
        flow: usize,
        /// Its label.
        label: String,
        /// Its packets in flight.
        packets: u32,
    },
    /// Packets in queues and on their way.
    Packets {
        /// Name of the link with the most.
        link: String,
        /// Packets that wait there or are on their way.
        packets: u64,
    },
    /// Selective acknowledgements and the payloads of datagrams on their way.
    Acknowledgements,
    /// Distributions of round-trip times and of queues.
    Histograms,
    /// Samples of the recorder.
    Series,
    /// Flows that come and go.
    Traffic {
        /// Those that are there now.
        active: u64,
        /// Those that are over.
        over: u64,
    },
}

/// A run would need more memory than it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryExceeded {
    /// When, in simulated time.
    pub at: Time,
    /// Bytes that it may take.
    pub limit: u64,
    /// Bytes that it would need.
    pub needed: u64,
    /// What most of it is for.
    pub growth: Growth,
    /// Bytes of that.
    pub grown: u64,
}

impl std::error::Error for MemoryExceeded {}

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryExceeded { at, limit, needed, growth, grown } = self;
        let [limit, needed, grown] = [limit, needed, grown].map(|&bytes| Size(bytes));
        let at = at.as_secs_f64();
        write!(f, "after {at} simulated seconds the run would need {needed} of memory; it may take {limit}\n  ")?;
        let help = match growth {
            Growth::Flows { count } => {
                write!(f, "{grown} of it is for {count} flows and their routes")?;
                "fewer flows or shorter routes"
            }
            Growth::Senders { flow, label, packets } => {
                write!(f, "{grown} of it is for packets in flight; flow {flow} (`{label}`) has {packets} of them")?;
                "a smaller `receive_window` under `transport`, or a rate and a `buffer` on the way"
            }
            Growth::Packets { link, packets } => {
                write!(f, "{grown} of it is for packets in queues and on links; `{link}` has {packets} of them")?;
                "a smaller `buffer`, or a smaller `receive_window` under `transport`"
            }
            Growth::Acknowledgements => {
                write!(f, "{grown} of it is for selective acknowledgements and datagrams on their way")?;
                "a smaller `receive_window` under `transport`, or a shorter delay"
            }
            Growth::Histograms => {
                write!(f, "{grown} of it is for distributions of round-trip times")?;
                "fewer flows, or a later `warmup`"
            }
            Growth::Traffic { active, over } => {
                write!(f, "{grown} of it is for traffic: {active} flows are under way, and {over} are over")?;
                "a lower `load` or a shorter `duration`"
            }
            Growth::Series => {
                write!(f, "{grown} of it is for time series")?;
                "a longer `record.interval`, or record.series = false"
            }
        };
        write!(f, "\n  help: {help}; or more memory: --max-memory, in Python `max_memory`")
    }
}

/// Bytes for people.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match UNITS.into_iter().find(|(_, size)| self.0 >= *size) {
            Some((unit, size)) => write!(f, "{:.1} {unit}", self.0 as f64 / size as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}
