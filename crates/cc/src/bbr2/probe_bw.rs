//! PROBE_BW: when to probe, how fast to raise `inflight_hi`, and when to stop.
//!
//! A probe comes two to three seconds after the last, or sooner where Reno would have grown back by then: a Reno flow
//! with as many packets in flight needs that many rounds. REFILL fills the pipe without a queue for a round, then UP
//! raises `inflight_hi` by 1, 2, 4, ... packets a round for as long as it is what limits the flow.

use super::model::{AckPhase, Bbr2, Mode, Phase, UNSET};
use super::parameters::{Fault, ProbeRttEntry, UpExit};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{CaState, Control, RateSample, View};

/// Most doublings of the slope.
const MAX_SLOPE_ROUNDS: u32 = 30;

impl Bbr2 {
    /// Moves through states and phases.
    pub(super) fn move_through_states(&mut self, view: &View, control: &mut Control, sample: &RateSample, bw: u32) {
        self.check_drain(view, control);
        self.update_cycle(view, control, sample, bw);
        self.update_min_rtt(view, control, sample);
    }

    /// Moves through the cycle once the pipe was full.
    fn update_cycle(&mut self, view: &View, control: &Control, sample: &RateSample, bw: u32) {
        if !self.full_pipe.reached || self.adapt_upper_bound(view, control, sample) || self.mode != Mode::ProbeBw {
            return;
        }
        match self.phase {
            Phase::Cruise => {
                if let Some(slope) = self.time_to_probe(view, control) {
                    self.start_refill(view, slope);
                }
            }
            Phase::Refill if self.round.started => {
                self.probe.samples_probe = true;
                self.start_up(view, control, bw);
            }
            Phase::Refill => {}
            Phase::Up => {
                let in_flight = self.judged_inflight(view, control, sample);
                if self.up_is_over(view, control, sample, in_flight, bw) {
                    self.probe.was_too_high = false;
                    self.start_down(view);
                }
            }
            Phase::Down => {
                if let Some(slope) = self.time_to_probe(view, control) {
                    self.leave_down(view, control, sample, Phase::Refill, slope);
                } else if self.is_drained(view, control, self.judged_inflight(view, control, sample)) {
                    self.leave_down(view, control, sample, Phase::Cruise, 0);
                }
            }
        }
    }

    /// The amount in flight that ends UP and DOWN.
    fn judged_inflight(&self, view: &View, control: &Control, sample: &RateSample) -> u32 {
        let in_flight = if self.parameters.inflight_after_ack { view.in_flight() } else { sample.prior_in_flight };
        self.in_network(view, control, in_flight)
    }

    fn elapsed_in_phase(&self, view: &View, micros: u64) -> bool {
        view.mstamp_us > self.probe.phase_start_us.saturating_add(micros)
    }

    /// Whether it is time to probe, and with which slope.
    fn time_to_probe(&self, view: &View, control: &Control) -> Option<u32> {
        let hi = self.bounds.inflight_hi;
        let gain = self.parameters.ecn_reprobe_gain;
        if gain.numerator() > 0
            && hi != UNSET
            && self.ecn.eligible
            && self.probe.saw_ce
            && !self.probe.saw_loss
            && view.ca_state == CaState::Open
        {
            return Some(gain.of(u64::from(hi)).max(1).ilog2());
        }
        let rounds = self.probe.rounds_since;
        let due = self.elapsed_in_phase(view, self.probe.wait_us)
            || rounds >= self.parameters.probe_max_rounds
            || rounds >= self.target_inflight(view, control);
        due.then_some(0)
    }

    /// What DOWN is for is done: headroom is left and no queue of ours remains.
    fn is_drained(&self, view: &View, control: &Control, in_flight: u32) -> bool {
        let drained = in_flight <= self.inflight_with_headroom()
            && in_flight <= self.inflight_target(view, control, self.bandwidth.max(), Gain::ONE);
        drained || (self.parameters.down_time_limit && self.elapsed_in_phase(view, u64::from(self.min_rtt.rtt_us)))
    }

    fn up_is_over(&mut self, view: &View, control: &Control, sample: &RateSample, in_flight: u32, bw: u32) -> bool {
        let hi = self.bounds.inflight_hi;
        if self.probe.was_too_high && in_flight >= hi {
            self.probe.was_cautious = true;
            return true;
        }
        match self.parameters.up_exit {
            UpExit::Plateau if view.cwnd_limited && control.cwnd >= hi => {
                // The bound holds the bandwidth down, so that its standing still means nothing.
                self.full_pipe.restart(bw);
                false
            }
            UpExit::Plateau => self.full_pipe.now,
            UpExit::Queue => {
                let more = u32::from(self.parameters.fault == Some(Fault::UpNeedsMore));
                let queue = self.inflight_target(view, control, self.bandwidth.max(), self.parameters.up_queue_gain);
                let queue = queue.saturating_add(more);
                if self.parameters.up_lasts_a_round {
                    let queue = queue.saturating_add(2).saturating_add(self.aggregation.max_packets());
                    self.probe.rounds_in_phase > 0 && sample.prior_in_flight >= queue
                } else {
                    self.elapsed_in_phase(view, u64::from(self.min_rtt.rtt_us)) && in_flight >= queue
                }
            }
        }
    }

    fn enter_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.probe.rounds_in_phase = 0;
        self.window_is_set = false;
    }

    /// Begins DOWN, and with it a new cycle.
    pub(super) fn start_down(&mut self, view: &View) {
        self.enter_phase(Phase::Down);
        self.reset_signals();
        self.probe.packets_per_step = u32::MAX;
        self.probe.rounds_since = self.rng.below(self.parameters.probe_random_rounds);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most one hour")]
        let most_us = self.parameters.probe_wait_random.as_micros() as u32;
        let random_us = self.rng.below(most_us);
        self.probe.wait_us = self.parameters.probe_wait.as_micros() + u64::from(random_us);
        self.probe.phase_start_us = view.mstamp_us;
        self.probe.ack_phase = AckPhase::Stopping;
        self.start_round(view);
    }

    /// Ends DOWN for `next`; in between lies PROBE_RTT where it begins only here.
    fn leave_down(&mut self, view: &View, control: &Control, sample: &RateSample, next: Phase, slope: u32) {
        if self.parameters.down_time_limit && self.probe.ack_phase == AckPhase::Stopping {
            // DOWN was too short for its first round to end.
            self.bandwidth.advance();
            self.probe.ack_phase = AckPhase::Init;
        }
        if self.parameters.probe_rtt_entry == ProbeRttEntry::AfterDown && self.renew_expired_minimum(view, sample) {
            self.probe_rtt.resume = next;
            self.enter_probe_rtt(view, control);
        } else {
            self.start_phase(view, next, slope);
        }
    }

    /// Begins CRUISE or REFILL.
    pub(super) fn start_phase(&mut self, view: &View, phase: Phase, slope: u32) {
        if phase == Phase::Refill { self.start_refill(view, slope) } else { self.start_cruise() }
    }

    pub(super) fn start_cruise(&mut self) {
        self.enter_phase(Phase::Cruise);
        if self.bounds.inflight_lo != UNSET && self.parameters.cruise_caps_inflight_lo {
            self.bounds.inflight_lo = self.bounds.inflight_lo.min(self.bounds.inflight_hi);
        }
    }

    /// Begins REFILL; UP will start with a slope of `2^slope` packets a round.
    pub(super) fn start_refill(&mut self, view: &View, slope: u32) {
        self.enter_phase(Phase::Refill);
        self.bounds.reset_lower();
        if self.bounds.inflight_hi != UNSET {
            self.bounds.inflight_hi = self.bounds.inflight_hi.saturating_add(self.parameters.refill_increment);
        }
        self.probe.slope_rounds = slope;
        self.probe.credit = 0;
        self.probe.was_cautious = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round(view);
    }

    fn start_up(&mut self, view: &View, control: &Control, bw: u32) {
        self.enter_phase(Phase::Up);
        self.probe.ack_phase = AckPhase::Starting;
        self.probe.phase_start_us = view.mstamp_us;
        self.start_round(view);
        if self.parameters.up_exit == UpExit::Plateau {
            self.full_pipe.restart(bw);
        }
        self.raise_slope(control);
    }

    /// Doubles the slope.
    fn raise_slope(&mut self, control: &Control) {
        let steps_per_round = 1 << self.probe.slope_rounds;
        self.probe.slope_rounds = (self.probe.slope_rounds + 1).min(MAX_SLOPE_ROUNDS);
        self.probe.packets_per_step = (control.cwnd / steps_per_round).max(1);
    }

    /// UP goes well: raises the bound if it is the bound that limits.
    pub(super) fn grow_inflight_hi(&mut self, view: &View, control: &Control, acked: u32) {
        if !view.cwnd_limited || control.cwnd < self.bounds.inflight_hi {
            if !self.parameters.growth_keeps_credit {
                self.probe.credit = 0;
            }
            return;
        }
        let credit = self.probe.credit.saturating_add(acked);
        let steps = credit / self.probe.packets_per_step;
        self.probe.credit = credit - steps * self.probe.packets_per_step;
        self.bounds.inflight_hi = self.bounds.inflight_hi.saturating_add(steps);
        self.window_is_set &= steps == 0;
        if self.round.started {
            self.raise_slope(control);
        }
    }

    /// Forgets the congestion of what came before.
    pub(super) fn reset_signals(&mut self) {
        self.signals.reset();
        self.probe.saw_loss = false;
        self.probe.saw_ce = false;
    }
}
