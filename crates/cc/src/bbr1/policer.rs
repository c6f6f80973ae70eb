//! The long-term sampler: finds token-bucket policers.
//!
//! A policer lets a burst through and then drops everything above its rate, so the maximum filter keeps believing in
//! the burst's rate and a fifth of the packets is lost. Intervals of 4 to 16 rounds that begin and end with losses and
//! lose that much are compared: when two in a row deliver at the same rate, a policer is presumed and its rate is used
//! for 48 rounds without probing.

use super::model::{Core, Mode, Policer};
use super::rules::Rules;
use crate::estimators::delivery_rate;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{RateSample, View};

impl Policer {
    fn start_interval(&mut self, view: &View) {
        self.interval_start_ms = clock_ms(view);
        self.interval_delivered = view.delivered;
        self.interval_lost = view.lost;
        self.rounds = 0;
    }
}

/// The sampler's clock.
#[expect(clippy::cast_possible_truncation, reason = "the kernel's clock of 32 bits, which wraps after 49 days")]
fn clock_ms(view: &View) -> u32 {
    (view.delivered_mstamp_us / 1_000) as u32
}

impl Core {
    /// Forgets what the long-term sampler found.
    pub fn reset_policer(&mut self, view: &View) {
        self.state.policed = false;
        self.policer.bandwidth = 0;
        self.policer.sampling = false;
        self.policer.start_interval(view);
    }

    /// Takes an ACK into the long-term sampler.
    pub(super) fn sample_policer<R: Rules>(&mut self, rules: &mut R, view: &View, sample: &RateSample) {
        if !rules.looks_for_policers() {
            return;
        }
        if self.state.policed {
            if self.state.mode == Mode::ProbeBw && self.round.started {
                self.policer.rounds += 1;
                if self.policer.rounds >= self.parameters.policer_use_rounds {
                    self.reset_policer(view);
                    self.enter_probe_bw(rules, view);
                }
            }
            return;
        }
        // Intervals begin with a loss, so that the bucket is empty from the start.
        if !self.policer.sampling {
            if sample.losses == 0 {
                return;
            }
            self.policer.start_interval(view);
            self.policer.sampling = true;
        }
        // An idle application lets the bucket fill up again.
        if sample.is_app_limited {
            self.reset_policer(view);
            return;
        }
        if self.round.started {
            self.policer.rounds += 1;
        }
        if self.policer.rounds < self.parameters.policer_min_rounds {
            return;
        }
        if self.policer.rounds > self.parameters.policer_max_rounds {
            self.reset_policer(view);
            return;
        }
        // They end with a loss, too.
        if sample.losses == 0 {
            return;
        }
        let lost = view.lost.saturating_sub(self.policer.interval_lost);
        let delivered = view.delivered.saturating_sub(self.policer.interval_delivered);
        if delivered == 0
            || lost * u64::from(Gain::ONE.numerator())
                < u64::from(self.parameters.policer_loss_threshold.numerator()) * delivered
        {
            return;
        }
        let span_ms = clock_ms(view).wrapping_sub(self.policer.interval_start_ms);
        if span_ms.cast_signed() < 1 {
            return;
        }
        // Longer than microseconds can be counted in 32 bits.
        if span_ms >= u32::MAX / 1_000 {
            self.reset_policer(view);
            return;
        }
        self.end_policer_interval(view, delivery_rate(delivered, u64::from(span_ms) * 1_000));
    }

    /// An interval with heavy loss delivered at `bw`: is it the rate of the interval before?
    fn end_policer_interval(&mut self, view: &View, bw: u32) {
        let before = self.policer.bandwidth;
        if before != 0 {
            let difference = bw.abs_diff(before);
            let close = u64::from(difference) * u64::from(Gain::ONE.numerator())
                <= u64::from(self.parameters.policer_ratio.numerator()) * u64::from(before);
            let tiny = self.pacing.bytes_per_second(view, difference, Gain::ONE)
                <= self.parameters.policer_difference.as_bits_per_sec() / 8;
            if close || tiny {
                self.policer.bandwidth = bw.midpoint(before);
                self.state.policed = true;
                self.policer.rounds = 0;
                self.pacing_gain = Gain::ONE;
                self.cycle.policed_gain = Gain::ONE;
                return;
            }
        }
        self.policer.bandwidth = bw;
        self.policer.start_interval(view);
    }
}
