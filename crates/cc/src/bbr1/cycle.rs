//! PROBE_BW: the gain cycle.
//!
//! Phase 0 sends faster than the bandwidth to see whether there is more, phase 1 sends slower to drain what that left
//! in the queue, the others cruise. Flows enter at a random phase so that they do not probe in step, never at phase 1,
//! which would drain a queue that is not theirs.

use super::model::{Core, Mode};
use super::rules::Rules;
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, RateSample, View};

impl Core {
    /// Enters PROBE_BW at a random phase.
    pub fn enter_probe_bw<R: Rules>(&mut self, rules: &mut R, view: &View) {
        self.state.mode = Mode::ProbeBw;
        let phases = self.parameters.cycle_gains.len();
        let drawn = (phases - self.rng.below(self.parameters.cycle_random_phases) as usize) % phases;
        let first = rules.first_phase(drawn);
        let forced = self.forced_phase.take().map(usize::from);
        self.enter_phase(forced.unwrap_or(first));
        self.cycle.start_us = rules.cycle_clock_us(view);
        let returns_policed = self.state.policed && rules.probes_policers();
        self.cycle.policed_gain = if returns_policed { self.cycle.gain } else { Gain::ONE };
    }

    /// Moves to the next phase.
    pub fn next_phase<R: Rules>(&mut self, rules: &R, view: &View) {
        let next = usize::from(self.state.phase) + 1;
        self.enter_phase(next % self.parameters.cycle_gains.len());
        self.cycle.start_us = rules.cycle_clock_us(view);
    }

    /// Sets phase and gain; the phase's time runs on.
    pub fn enter_phase(&mut self, phase: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "a cycle has at most 64 phases")]
        let number = phase as u8;
        self.state.phase = number;
        self.cycle.gain = self.parameters.cycle_gains[phase];
    }

    /// Linux's cycle: moves to the next phase when the present one is over.
    #[inline]
    pub fn update_timed_cycle<R: Rules>(&mut self, rules: &R, view: &View, control: &Control, sample: &RateSample) {
        if self.phase_is_over(rules, view, control, sample) {
            self.next_phase(rules, view);
        }
    }

    /// Tests use the gain that was applied until now, which differs from the phase's while a policer's rate is in use.
    #[inline]
    pub fn phase_is_over<R: Rules>(&self, rules: &R, view: &View, control: &Control, sample: &RateSample) -> bool {
        let elapsed_us = rules.cycle_clock_us(view).saturating_sub(self.cycle.start_us);
        let lasted_a_round_trip = elapsed_us > u64::from(self.min_rtt.rtt_us);
        if self.pacing_gain == Gain::ONE {
            lasted_a_round_trip
        } else if self.pacing_gain > Gain::ONE {
            // Until the queue has really been probed: in small buffers a loss is the answer.
            lasted_a_round_trip && (sample.losses > 0 || self.is_probed(rules, view, control, sample))
        } else {
            lasted_a_round_trip || self.is_drained(rules, view, control, sample)
        }
    }

    /// What the probing gain asks for is in flight.
    #[inline(never)]
    fn is_probed<R: Rules>(&self, rules: &R, view: &View, control: &Control, sample: &RateSample) -> bool {
        self.in_network(rules, view, control, sample.prior_in_flight)
            >= self.inflight_target(rules, view, control, self.max_bw(), self.pacing_gain)
    }

    /// At most one BDP is in flight.
    #[inline(never)]
    pub fn is_drained<R: Rules>(&self, rules: &R, view: &View, control: &Control, sample: &RateSample) -> bool {
        self.in_network(rules, view, control, rules.drained_to(view, sample))
            <= self.inflight_target(rules, view, control, self.max_bw(), Gain::ONE)
    }
}
