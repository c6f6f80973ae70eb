//! PROBE_BW: the gain cycle.
//!
//! Phase 0 sends faster than the bandwidth to see whether there is more, phase 1 sends slower to drain what that left in
//! the queue, the others cruise. Flows enter at a random phase so that they do not probe in step, never at phase 1,
//! which would drain a queue that is not theirs.

use super::{Bbr1, CycleClock, CyclePolicy, InFlight, Mode};
use crate::parameters::Gain;
use crate::{Control, RateSample, View};

/// The phases with a role of their own.
const PROBE: usize = 0;
const DRAIN: usize = 1;
const CRUISE: usize = 2;

/// State of the gain cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// The current phase's pacing gain, or the draining gain that is held beyond its phase.
    pub(super) gain: Gain,
    /// When the phase began (with random cycle lengths: when the cycle began), in microseconds.
    pub(super) start_us: u64,
    /// Random length of the cycle in minimum round-trip times.
    pub(super) length: u32,
    /// How often PROBE_BW was entered.
    entered: u32,
}

impl Cycle {
    /// In phase 0 of a cycle with these gains.
    pub(super) fn new(gains: &[Gain]) -> Cycle {
        Cycle { gain: gains[PROBE], start_us: 0, length: 0, entered: 0 }
    }
}

impl Bbr1 {
    /// Enters PROBE_BW at a random phase.
    pub(super) fn enter_probe_bw(&mut self, view: &View) {
        self.state.mode = Mode::ProbeBw;
        if self.parameters.cycle_policy == CyclePolicy::RandomLengthDqc {
            self.cycle.length = 0;
        }
        let phases = self.parameters.cycle_gains.len();
        let random = (phases - self.rng.below(self.parameters.cycle_random_phases) as usize) % phases;
        let given = &self.parameters.cycle_first_phases;
        let first = if given.is_empty() {
            random
        } else {
            self.cycle.entered += 1;
            given[(self.cycle.entered - 1) as usize % given.len()] as usize
        };
        let forced = self.forced_phase.take().map(usize::from);
        self.enter_phase(forced.unwrap_or(first));
        self.cycle.start_us = self.cycle_now(view);
    }

    fn next_phase(&mut self, view: &View) {
        let next = usize::from(self.state.phase) + 1;
        self.enter_phase(next % self.parameters.cycle_gains.len());
        self.cycle.start_us = self.cycle_now(view);
    }

    fn enter_phase(&mut self, phase: usize) {
        // There are at most 64.
        self.state.phase = phase as u8;
        self.cycle.gain = self.parameters.cycle_gains[phase];
    }

    #[inline]
    fn cycle_now(&self, view: &View) -> u64 {
        match self.parameters.cycle_clock {
            CycleClock::Delivered => view.delivered_mstamp_us,
            CycleClock::Now => view.mstamp_us,
        }
    }

    /// Moves to the next phase when its time has come.
    pub(super) fn update_cycle(&mut self, view: &View, control: &Control, sample: &RateSample) {
        if self.state.policed && self.parameters.policer_freezes_cycle {
            return;
        }
        if self.parameters.cycle_policy.has_random_lengths() {
            self.update_random_cycle(view, control, sample);
        } else if self.phase_is_over(view, control, sample) {
            self.next_phase(view);
            let cruises = self.cycle.gain == Gain::ONE;
            let holds = self.parameters.cycle_policy == CyclePolicy::TimedDrain;
            if holds && self.pacing_gain < Gain::ONE && cruises && !self.is_drained(view, control, sample) {
                self.cycle.gain = self.pacing_gain;
            }
        }
    }

    /// Tests use the gain that was applied until now, which differs from the phase's while a policer's rate is in use.
    #[inline]
    fn phase_is_over(&self, view: &View, control: &Control, sample: &RateSample) -> bool {
        let elapsed_us = self.cycle_now(view).saturating_sub(self.cycle.start_us);
        let lasted_a_round_trip = elapsed_us > u64::from(self.min_rtt.rtt_us);
        if self.pacing_gain == Gain::ONE {
            lasted_a_round_trip
        } else if self.pacing_gain > Gain::ONE {
            // Until the queue has really been probed: in small buffers a loss is the answer.
            lasted_a_round_trip && (sample.losses > 0 || self.is_probed(view, control, sample))
        } else {
            let in_time = lasted_a_round_trip && self.parameters.cycle_policy != CyclePolicy::StrictDrain;
            in_time || self.is_drained(view, control, sample)
        }
    }

    /// What the probing gain asks for is in flight.
    #[inline(never)]
    fn is_probed(&self, view: &View, control: &Control, sample: &RateSample) -> bool {
        self.in_network(view, control, sample.prior_in_flight)
            >= self.inflight_target(view, control, self.max_bw(), self.pacing_gain)
    }

    /// At most one BDP is in flight.
    #[inline(never)]
    fn is_drained(&self, view: &View, control: &Control, sample: &RateSample) -> bool {
        self.in_network(view, control, self.cycle_in_flight(view, sample))
            <= self.inflight_target(view, control, self.max_bw(), Gain::ONE)
    }

    fn cycle_in_flight(&self, view: &View, sample: &RateSample) -> u32 {
        match self.parameters.cycle_in_flight {
            InFlight::Prior => sample.prior_in_flight,
            InFlight::Current => view.in_flight(),
        }
    }

    /// Probe, drain, cruise within a cycle of random length. The cycle's start does not move with its phases.
    fn update_random_cycle(&mut self, view: &View, control: &Control, sample: &RateSample) {
        let elapsed_us = self.cycle_now(view).saturating_sub(self.cycle.start_us);
        let min_rtt_us = u64::from(self.min_rtt.rtt_us);
        if elapsed_us > u64::from(self.cycle.length) * min_rtt_us {
            let phases = self.parameters.cycle_gains.len() as u32;
            self.cycle.start_us = self.cycle_now(view);
            self.cycle.length = phases - self.rng.below(self.parameters.cycle_random_phases);
            self.enter_phase(PROBE);
            return;
        }
        if self.pacing_gain == Gain::ONE {
            return;
        }
        let dqc = self.parameters.cycle_policy == CyclePolicy::RandomLengthDqc;
        if self.pacing_gain < Gain::ONE {
            if self.is_drained(view, control, sample) {
                self.enter_phase(CRUISE);
            }
            // DrainQueueCongestion looks for a reason to drain here, too, so that a loss can take CRUISE back.
            if !dqc {
                return;
            }
        }
        if elapsed_us > min_rtt_us && self.must_drain(view, control, sample, dqc) {
            self.enter_phase(DRAIN);
        }
    }

    /// Whether probing has shown what it can.
    fn must_drain(&self, view: &View, control: &Control, sample: &RateSample, dqc: bool) -> bool {
        let in_flight = self.in_network(view, control, self.cycle_in_flight(view, sample));
        let target = self.inflight_target(view, control, self.max_bw(), self.parameters.cycle_gains[PROBE]);
        let probed = if dqc { in_flight > target } else { in_flight >= target };
        // A sender without data or without a receive window will not probe.
        let idles = !dqc && (view.no_unsent_data || view.receive_window_full);
        probed || sample.losses > 0 || sample.is_app_limited || idles
    }
}
