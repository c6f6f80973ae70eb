//! What happens at instants that are known beforehand: scripted changes, the measured interval, samples, the end.
//!
//! Of what is due at the same time changes come first, so that they hold from their instant on, then the measured
//! interval, then samples, then arrivals of flows that come and go; and all of it comes before everything else.

use super::Engine;
use crate::tables::LinkView;
use crate::{RunError, SERIES_CHUNK_BYTES, TimedChange, tables};
use dumbbell_network::for_each_link;
use dumbbell_network::report::link_summary;
use dumbbell_results::Recorder;
use dumbbell_scenario::Scenario;
use dumbbell_units::{Duration, Time};
use std::collections::VecDeque;

/// The instants at which somebody looks at the run from outside.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The first of those below.
    next: Time,
    /// Next change of the script.
    change: Time,
    /// Start or end of the measured interval.
    measure: Time,
    /// Next sample of the recorder.
    record: Time,
    /// Next arrival of a flow that comes and goes.
    arrival: Time,
    /// The first instant after the run.
    over: Time,
    /// Changes to come, in order of time.
    script: VecDeque<TimedChange>,
}

impl Clock {
    pub fn new(scenario: &Scenario, recorder: &Recorder, mut script: Vec<TimedChange>) -> Result<Clock, RunError> {
        if let Some(stray) = script.iter().find(|change| change.link >= scenario.links.len()) {
            return Err(RunError::NoSuchLink(stray.link));
        }
        script.sort_by_key(|change| change.at);
        let end = Time::ZERO + scenario.duration;
        let mut clock = Clock {
            next: Time::ZERO,
            change: script.first().map_or(Time::NEVER, |change| change.at),
            measure: Time::ZERO + scenario.warmup,
            record: recorder.next(end),
            arrival: Time::NEVER,
            over: end + Duration::from_nanos(1),
            script: script.into(),
        };
        clock.find_next();
        Ok(clock)
    }

    /// When it has something to do next.
    #[inline(always)]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next arrival is due at `arrival`.
    pub fn expect_arrival(&mut self, arrival: Time) {
        self.arrival = arrival;
        self.find_next();
    }

    /// The run is over, for now, when `over` is reached.
    pub fn stop_at(&mut self, over: Time) {
        self.over = over;
        self.find_next();
    }

    /// Whether a sample is due next. In a run in shares nothing else that is due at that instant changes what it shows.
    pub fn records_next(&self) -> bool {
        self.record <= self.next
    }

    /// Updates the time at which something is due next.
    fn find_next(&mut self) {
        self.next = self.change.min(self.measure).min(self.record).min(self.arrival).min(self.over);
    }

    /// The change that is due at `now`.
    fn pop_change(&mut self, now: Time) -> Option<TimedChange> {
        if self.change > now {
            return None;
        }
        let due = self.script.pop_front();
        self.change = self.script.front().map_or(Time::NEVER, |change| change.at);
        due
    }
}

impl Engine<'_> {
    /// Does what is due by the clock; false when the run is over.
    #[inline(never)]
    pub(super) fn clock_event(&mut self) -> bool {
        let now = self.clock.next();
        if now >= self.clock.over {
            return false;
        }
        self.now = now;
        self.settle_delays(now);
        if let Some(change) = self.clock.pop_change(now) {
            self.change_link(&change);
        } else if self.clock.measure <= now {
            self.measurement_boundary();
        } else if self.clock.record > now {
            self.arrivals();
        } else {
            let lasting = &mut self.flows[..self.scenario.flows.len()];
            let links = LinkView { media: &mut self.media, entries: &self.entries, watch: &mut self.watch };
            tables::sample(&mut self.recorder, &self.scenario, now, lasting.iter_mut(), links);
            return self.sampled();
        }
        self.clock.find_next();
        self.failure.is_none()
    }

    /// A sample has been taken.
    pub(super) fn sampled(&mut self) -> bool {
        self.clock.record = self.recorder.next(self.end);
        self.hand_over_series();
        self.clock.find_next();
        self.failure.is_none()
    }

    /// Changes a link, and corrects what had been counted of packets that leave it at other times now.
    fn change_link(&mut self, TimedChange { link, change, .. }: &TimedChange) {
        let entry = self.entries[*link];
        let number = entry.medium as usize;
        let medium = self.media.get_mut(number);
        let retimed = medium.change(self.now, entry.port, change);
        if self.flows.iter().any(|flow| flow.bottleneck == entry) {
            medium.report_departures(entry.port);
        }
        self.settle_reports(number);
        for retimed in retimed {
            let packet = retimed.packet;
            let flow = &mut self.flows[packet.flow as usize];
            if flow.bottleneck == entry && packet.kind.is_forward() {
                flow.traffic.correct_departure(packet.size, (retimed.told, retimed.departs), self.measured);
            }
        }
        self.medium_agenda.set(number, self.media.get(number).next_event());
    }

    /// Delay legs know what has entered them before `now`.
    pub(super) fn settle_delays(&mut self, now: Time) {
        if let Some(delays) = &self.delays {
            delays.settle(now, &mut self.media);
        }
    }

    /// The run is over, and what was to enter a link later does not.
    pub(super) fn end_links(&mut self) {
        for number in 0..self.media.len() {
            if let Some(link) = self.media.link_mut(number) {
                link.end_at(self.end);
            }
        }
    }

    /// Gives the samples away when there are many.
    fn hand_over_series(&mut self) {
        if let Some(sink) = &mut self.bounds.series
            && self.recorder.table_bytes() >= SERIES_CHUNK_BYTES
        {
            let (series, link_series) = self.recorder.take();
            if let Err(message) = sink.take(series.into_table(), link_series.into_table()) {
                self.failure = Some(RunError::Series(message));
            }
        }
    }

    /// Start or end of the measured interval.
    fn measurement_boundary(&mut self) {
        self.settle_all_reports();
        self.is_measuring = self.now < self.measured.1;
        if self.is_measuring || self.measured.0 == self.measured.1 {
            for flow in &mut self.flows {
                flow.measured = flow.counts();
            }
            for medium in 0..self.media.len() {
                self.media.get_mut(medium).start_measuring(self.now);
            }
            self.clock.measure = if self.is_measuring { self.measured.1 } else { Time::NEVER };
        } else {
            self.finish_measurement();
            self.clock.measure = Time::NEVER;
        }
    }

    pub(super) fn finish_measurement(&mut self) {
        for flow in &mut self.flows {
            flow.measured = flow.counts().since(flow.measured);
        }
        let mut rows = Vec::new();
        for_each_link(&mut self.media, &self.entries, |medium, port| {
            let number = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            rows.push(link_summary(&self.scenario, number, medium, port, self.now));
        });
        self.measured_links = Some(rows);
    }
}
