//! One run on several threads: its flows are dealt out in shares, which meet in one link.
//!
//! What enters that link, the trunk, comes out no sooner than the delay of the trunk later. So for that long each share
//! can run without knowing what the others do. Then what all of them have offered to the trunk is put in the order in
//! which one engine would have offered it, its queue decides about every packet, and the shares go on with what was not
//! dropped. Each share is an [`Engine`] over its flows, in which the trunk has [its queue
//! elsewhere](dumbbell_path::Offered); the queue itself is in the engine of the whole run, which takes the samples and
//! makes the tables, but has no flows until the end.

mod merge;
mod share;
mod split;
mod workers;

pub(crate) use split::Split;
pub use split::Unsplit;

use super::Engine;
use super::memory::{self, Parts};
use crate::flow::Flow;
use crate::{Bounds, Growth, MemoryExceeded, RunError, RunOutput, tables};
use dumbbell_units::Time;
use merge::Merge;
use share::Share;
use std::time::Duration as CpuTime;
use workers::Workers;

impl Engine<'_> {
    /// [`run`](Self::run) on `threads` threads, each of which gets a share of the flows. Returns the CPU time of the
    /// other threads, too.
    pub fn run_in_shares(mut self, split: &Split, threads: usize) -> Result<(RunOutput, CpuTime), RunError> {
        let parts = split.parts(&self.scenario, threads);
        // Links of the whole run only count what has entered those of shares.
        self.delays = None;
        let flows = deal(std::mem::take(&mut self.flows), parts.len());
        let (cancel, max_memory) = (self.bounds.cancel, self.bounds.max_memory);
        let shares = parts.iter().zip(flows).map(|(part, flows)| {
            let bounds = Bounds { cancel, max_memory, series: None, plain: false };
            Share::new(part, flows, bounds)
        });
        let shares = shares.collect::<Result<Vec<_>, _>>()?;
        let (shares, cpu) = std::thread::scope(|scope| {
            let mut workers = Workers::new(scope, shares.len());
            let shares = self.windows(split, shares, &mut workers)?;
            Ok::<_, RunError>((shares, workers.finish()))
        })?;
        self.now = self.end;
        let flows: Vec<_> = shares.into_iter().map(|share| share.into_flows().into_iter()).collect();
        self.flows = Vec::with_capacity(self.scenario.flows.len());
        self.flows.extend(in_turn(flows));
        Ok((self.finish()?, cpu))
    }

    /// Runs the shares to the end of the scenario, from one window to the next.
    fn windows<'scope, 's: 'scope>(
        &mut self,
        split: &Split,
        mut shares: Vec<Share<'s>>,
        workers: &mut Workers<'scope, 's>,
    ) -> Result<Vec<Share<'s>>, RunError> {
        let trunk = self.entries[split.trunk].medium as usize;
        let mut merge = Merge::new(shares.len());
        let mut until = Time::ZERO;
        loop {
            until = (until + split.lookahead).min(self.clock.next());
            shares = workers.run(shares, until).map_err(earliest)?;
            self.now = until;
            merge.decide(&mut self.media, trunk, &mut shares);
            merge.count_simultaneous(&mut shares);
            self.check_memory_of(&mut shares)?;
            if until >= self.clock.next() && !self.clock_events_of(&mut shares)? {
                self.events += shares.iter().map(|share| share.events()).sum::<u64>() - merge.simultaneous;
                return Ok(shares);
            }
        }
    }

    /// Fails when the whole run takes more memory than it may.
    fn check_memory_of(&self, shares: &mut [Share<'_>]) -> Result<(), RunError> {
        let mut parts = Parts::default();
        let own: u64 = self.media.iter().map(|medium| medium.memory()).sum();
        (parts[memory::PACKETS], parts[memory::SERIES]) = (own, self.series_memory());
        for share in shares.iter() {
            parts.iter_mut().zip(share.memory()).for_each(|(sum, part)| *sum += part);
        }
        let (needed, limit) = (parts.iter().sum(), self.bounds.max_memory);
        if needed <= limit {
            return Ok(());
        }
        let (part, grown) = memory::largest(&parts);
        let Some(share) = shares.iter_mut().max_by_key(|share| share.memory()[part]) else { return Ok(()) };
        let growth = match part {
            memory::SERIES => Growth::Series,
            memory::FLOWS => Growth::Flows { count: self.scenario.flows.len() },
            _ => share.growth(part),
        };
        Err(MemoryExceeded { at: self.now, limit, needed, growth, grown }.into())
    }

    /// Takes the sample that is due.
    fn sample_shares(&mut self, shares: &mut [Share<'_>]) -> bool {
        self.now = self.clock.next();
        let flows = in_turn(shares.iter_mut().map(|share| share.flows_mut()).collect());
        let links = tables::LinkView { media: &mut self.media, entries: &self.entries, watch: &mut self.watch };
        tables::sample(&mut self.recorder, &self.scenario, self.now, flows, links);
        self.sampled()
    }

    /// Does what is due by the clock; false when the run is over.
    fn clock_events_of(&mut self, shares: &mut [Share<'_>]) -> Result<bool, RunError> {
        for share in shares.iter_mut() {
            share.settle();
            share.tell_arrivals(self.clock.next(), &mut self.media);
        }
        let due = self.clock.next();
        while self.clock.next() <= due {
            let goes_on = if self.clock.records_next() { self.sample_shares(shares) } else { self.clock_event() };
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            self.events += u64::from(goes_on);
            if !goes_on {
                shares.iter_mut().for_each(|share| share.finish(&mut self.media));
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Deals flows out to so many shares in turn.
fn deal(flows: Vec<Flow>, shares: usize) -> Vec<Vec<Flow>> {
    let mut dealt: Vec<Vec<Flow>> =
        (0..shares).map(|place| Vec::with_capacity((flows.len() + shares - 1 - place) / shares)).collect();
    for (number, flow) in flows.into_iter().enumerate() {
        dealt[number % shares].push(flow);
    }
    dealt
}

/// Takes one of each share in turn, in the order in which they were [dealt](deal) out.
fn in_turn<I: Iterator>(mut shares: Vec<I>) -> impl Iterator<Item = I::Item> {
    let mut place = 0;
    std::iter::from_fn(move || {
        let next = shares.get_mut(place)?.next();
        place = (place + 1) % shares.len();
        next
    })
}

/// The failure that one engine would have met: that of the controller which failed first, where nothing else failed.
fn earliest(failures: Vec<RunError>) -> RunError {
    let key = |failure: &RunError| match failure {
        RunError::Controller { at, flow, .. } => (*at, *flow),
        _ => (Time::ZERO, 0),
    };
    failures.into_iter().min_by_key(key).unwrap_or(RunError::Cancelled)
}
