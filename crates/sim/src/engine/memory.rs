//! What a run takes of the machine's memory, added up from time to time.

use super::Engine;
use crate::flow::Flow;
use crate::packet::Packet;
use crate::{Growth, MemoryExceeded};
use dumbbell_network::Routes;
use dumbbell_path::{Media, Medium};
use std::sync::atomic::Ordering;

/// Memory is added up after so many turns, or so many for each medium and each flow that is there from the beginning,
/// where that is more.
const TURNS_PER_MEASUREMENT: u64 = 1 << 14;
const TURNS_PER_MEASUREMENT_OF_EACH: u64 = 32;
/// Packets that are handled at the same instant between two checks whether the run has to stop.
pub(super) const PACKETS_PER_CHECK: u64 = 64;

/// When to add up, and what need not be added up again.
pub(super) struct Memory {
    /// Bytes that do not change.
    fixed: u64,
    turns_per_measurement: u64,
    /// Turns and packets until it is added up again.
    until_measured: u64,
    /// What it was for when it was added up last.
    pub parts: Parts,
}

/// Bytes for each of the parts below.
pub(super) type Parts = [u64; 7];
/// Flows and routes, which do not grow.
pub(super) const FLOWS: usize = 0;
/// What senders know of segments in flight.
const SENDERS: usize = 1;
/// Packets in media.
pub(super) const PACKETS: usize = 2;
/// What packets carry besides themselves.
const CONTENTS: usize = 3;
/// Distributions of what is measured.
const HISTOGRAMS: usize = 4;
/// Time series.
pub(super) const SERIES: usize = 5;
/// Flows that come and go.
const TRAFFIC: usize = 6;

impl Memory {
    pub fn new(media: &Media<Packet>, flows: &[Flow], routes: &Routes) -> Memory {
        let fixed = routes.memory() + flows.iter().map(Flow::memory).sum::<usize>();
        let each = TURNS_PER_MEASUREMENT_OF_EACH * (flows.len() + media.len()) as u64;
        Memory {
            fixed: fixed as u64,
            turns_per_measurement: TURNS_PER_MEASUREMENT.max(each),
            until_measured: 0,
            parts: Parts::default(),
        }
    }
}

/// The largest part: its number and its bytes. Of equal ones it is the first.
pub(super) fn largest(parts: &Parts) -> (usize, u64) {
    let grown = parts.iter().copied().max().unwrap_or(0);
    (parts.iter().position(|&part| part == grown).unwrap_or(0), grown)
}

impl Engine<'_> {
    /// Counts `steps` more turns or packets, and adds memory up when that is due.
    #[inline]
    fn measure_memory_if_due(&mut self, steps: u64) {
        match self.memory.until_measured.checked_sub(steps) {
            Some(left) => self.memory.until_measured = left,
            None => self.measure_memory(),
        }
    }

    /// Whether the run has to end, so many turns or packets after the last look.
    #[inline]
    pub(super) fn must_stop(&mut self, steps: u64) -> bool {
        self.measure_memory_if_due(steps);
        self.failure.is_some() || self.bounds.cancel.load(Ordering::Relaxed)
    }

    /// [`must_stop`](Self::must_stop) where many packets are handled at one instant: `packets` more have been, and it
    /// looks whenever `until_check` of them are done, which begins with [`PACKETS_PER_CHECK`].
    #[inline(always)]
    pub(super) fn must_stop_behind(&mut self, packets: u64, until_check: &mut u64) -> bool {
        *until_check -= packets;
        if *until_check > 0 {
            return false;
        }
        *until_check = PACKETS_PER_CHECK;
        self.must_stop(PACKETS_PER_CHECK)
    }

    /// Adds up what can grow; the run fails when that is more than it may take.
    #[cold]
    pub(super) fn measure_memory(&mut self) {
        self.memory.until_measured = self.memory.turns_per_measurement;
        if let Err(fault) = self.check_faults() {
            self.failure.get_or_insert(fault);
        }
        let mut parts = Parts::default();
        parts[FLOWS] = self.memory.fixed;
        parts[SENDERS] = self.flows.iter().map(|flow| flow.ends.memory() + flow.streams_memory()).sum();
        parts[PACKETS] = self.media.iter().map(|medium| medium.memory()).sum();
        parts[PACKETS] += self.delays.as_ref().map_or(0, |delays| delays.memory());
        parts[CONTENTS] = self.sacks.memory() + self.payloads.memory() + self.replies.memory();
        parts[HISTOGRAMS] = self.flows.iter().map(|flow| flow.histograms() as u64).sum();
        parts[SERIES] = self.series_memory();
        parts[TRAFFIC] = self.traffic.memory(&self.flows);
        self.memory.parts = parts;
        let needed = self.memory.parts.iter().sum();
        if needed <= self.bounds.max_memory || self.failure.is_some() {
            return;
        }
        let (part, grown) = largest(&self.memory.parts);
        let growth = self.growth(part);
        let limit = self.bounds.max_memory;
        self.failure = Some(MemoryExceeded { at: self.now, limit, needed, growth, grown }.into());
    }

    /// What the part of that number is for.
    pub(super) fn growth(&mut self, part: usize) -> Growth {
        match part {
            SENDERS => self.largest_sender(),
            PACKETS => self.fullest_medium(),
            CONTENTS => Growth::Acknowledgements,
            HISTOGRAMS => Growth::Histograms,
            SERIES => Growth::Series,
            TRAFFIC => self.traffic.growth(),
            _ => Growth::Flows { count: self.flows.len() },
        }
    }

    /// Bytes of memory that the time series take, or will take as tables where nobody takes them piece by piece.
    pub(super) fn series_memory(&self) -> u64 {
        if self.bounds.series.is_some() { self.recorder.memory() } else { self.recorder.memory_with_tables() }
    }

    fn largest_sender(&self) -> Growth {
        let most = self.flows.iter().enumerate().max_by_key(|(_, flow)| flow.ends.memory());
        let in_flight = |flow: &Flow| flow.ends.sending().map_or(0, |sending| sending.view.packets_out);
        let (flow, packets) = most.map_or((0, 0), |(index, flow)| (index, in_flight(flow)));
        Growth::Senders { flow, label: self.traffic.spec(&self.scenario, flow).label.to_string(), packets }
    }

    fn fullest_medium(&mut self) -> Growth {
        let of_legs = self.delays.as_ref().map(|delays| delays.counts()).unwrap_or_default();
        let packets = |(number, medium): &(usize, &dyn Medium<Packet>)| {
            medium.count_in_flight(&|_| true) + of_legs.get(*number).copied().unwrap_or(0)
        };
        let fullest = self.media.iter().enumerate().max_by_key(packets);
        let (link, packets) =
            fullest.map_or_else(Default::default, |fullest| (fullest.1.name(0).to_owned(), packets(&fullest)));
        Growth::Packets { link, packets }
    }

    pub(super) fn memory_per_flow(&self) -> u64 {
        let total: usize = self.flows.iter().map(|flow| flow.memory() + flow.histograms()).sum();
        (total / self.flows.len().max(1)) as u64
    }
}
