//! Rates that repeat, met at another place by every repetition.
//!
//! A run at the start of a recording says what happens there, and its repetitions say it again. `vary_phase` draws,
//! from the seed of the repetition, for how long all rates that repeat have gone on before the run begins. Links that
//! were recorded together stay together, as far as their recordings are equally long.

use super::{Context, RateSource, Resolved, top};
use crate::Link;
use dumbbell_path::LinkRate;
use dumbbell_units::{Duration, Rng, Time};
use std::sync::Arc;

/// The random stream that the place is drawn from.
const PHASE_STREAM: u64 = 6 << 32;
const NANOS_PER_MS: u64 = 1_000_000;

impl Context<'_> {
    /// Whether every repetition begins at a place of its own.
    pub(super) fn varies_phase(&mut self, links: &[Link], sources: &[&RateSource]) -> bool {
        let is_asked = self.file.vary_phase.unwrap_or(false);
        if is_asked && links.iter().zip(sources).all(|(link, source)| period(&link.config.rate, source).is_none()) {
            let message = "no link has a rate that repeats, so that there is no place in it to begin at";
            let help = "give a link a `trace`, or `steps` with `repeat`; or remove `vary_phase`";
            self.report.value(&top("vary_phase"), message, help);
        }
        is_asked
    }
}

/// After how long a rate repeats; `None` if it does not, or if every seed has a trace of its own anyway.
fn period(rate: &LinkRate, source: &RateSource) -> Option<Duration> {
    match rate {
        LinkRate::Trace { .. } if matches!(source, RateSource::Synth { follows_run_seed: true, .. }) => None,
        LinkRate::Trace { opportunities_ms, once: false } => {
            opportunities_ms.last().map(|last| Duration::from_millis(u64::from(*last)))
        }
        LinkRate::Schedule { repeat_after, .. } => *repeat_after,
        LinkRate::Trace { once: true, .. } | LinkRate::Constant(_) | LinkRate::Unlimited => None,
    }
}

/// Lets all rates that repeat begin at the place that the seed of the scenario draws.
pub(crate) fn vary_phase(resolved: &mut Resolved) {
    let scenario = Arc::make_mut(&mut resolved.scenario);
    let links = || scenario.links.iter().zip(&resolved.links);
    let Some(longest) = links().filter_map(|(link, notes)| period(&link.config.rate, &notes.rate_source)).max() else {
        return;
    };
    let drawn = Rng::stream(scenario.seed, PHASE_STREAM).uniform();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the period, not negative")]
    let gone = (drawn * longest.as_nanos() as f64) as u64;
    for (link, notes) in scenario.links.iter_mut().zip(&resolved.links) {
        if let Some(period) = period(&link.config.rate, &notes.rate_source) {
            let gone = gone % period.as_nanos();
            match &mut link.config.rate {
                LinkRate::Trace { opportunities_ms, .. } => *opportunities_ms = later_trace(opportunities_ms, gone),
                LinkRate::Schedule { steps, .. } => *steps = later_steps(steps, gone, period.as_nanos()),
                LinkRate::Constant(_) | LinkRate::Unlimited => {}
            }
        }
    }
}

/// A trace as it goes on behind the first opportunity after `gone`. There, and nowhere else, its length stays what it
/// is.
fn later_trace(opportunities_ms: &[u32], gone: u64) -> Arc<[u32]> {
    let end = |ms: &u32| u64::from(*ms) * NANOS_PER_MS <= gone;
    let Some(&begin) = opportunities_ms.get(opportunities_ms.partition_point(end)) else {
        return opportunities_ms.into();
    };
    let last = opportunities_ms.last().copied().unwrap_or(begin);
    let split = opportunities_ms.partition_point(|ms| *ms <= begin);
    let (before, after) = opportunities_ms.split_at(split);
    after.iter().map(|ms| ms - begin).chain(before.iter().map(|ms| ms + (last - begin))).collect()
}

/// A schedule as it goes on after `gone`.
fn later_steps(steps: &[(Time, u64)], gone: u64, period: u64) -> Arc<[(Time, u64)]> {
    let split = steps.partition_point(|(start, _)| start.as_nanos() <= gone);
    let (before, after) = steps.split_at(split);
    let current = before.last().map(|(_, rate)| (Time::ZERO, *rate));
    let after = after.iter().map(|(start, rate)| (start.as_nanos() - gone, *rate));
    let before = before.iter().map(|(start, rate)| (start.as_nanos() + period - gone, *rate));
    // The step that goes on at the place has its whole length again only at the end of the period.
    let rest = after.chain(before.filter(|(start, _)| *start < period));
    current.into_iter().chain(rest.map(|(start, rate)| (Time::from_nanos(start), rate))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_on_behind_the_next_opportunity_and_keeps_its_length() {
        let trace = [1, 4, 4, 9, 10];
        assert_eq!(*later_trace(&trace, 2_500_000), [5, 6, 7, 10, 10]);
        assert_eq!(*later_trace(&trace, 9_000_000), trace, "the end is the beginning");
        assert_eq!(*later_trace(&trace, 0), [3, 3, 8, 9, 10]);
    }

    #[test]
    fn a_schedule_goes_on_in_the_midst_of_a_step() {
        let at = |nanos, rate| (Time::from_nanos(nanos), rate);
        let steps = [at(0, 1), at(10, 2), at(30, 3)];
        assert_eq!(*later_steps(&steps, 15, 40), [at(0, 2), at(15, 3), at(25, 1), at(35, 2)]);
        assert_eq!(*later_steps(&steps, 0, 40), steps);
        assert_eq!(*later_steps(&steps, 10, 40), [at(0, 2), at(20, 3), at(30, 1)]);
    }
}
