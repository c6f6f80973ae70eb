//! The bounds on bandwidth and on the amount in flight, and how loss moves them.
//!
//! `inflight_hi` is the long-term bound, moved by probing alone. `bw_lo` and `inflight_lo` are the short-term bounds:
//! losses outside of probing pull them to what was delivered, by no more than `beta` a round; REFILL lifts them.

use super::model::{AckPhase, Bbr2, Bounds, Mode, Phase, Saved, UNSET};
use super::parameters::{Timeout, Undo};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{CaState, Control, LostPacket, RateSample, View};

impl Bbr2 {
    /// `value` reduced by `beta`.
    #[inline]
    pub(super) fn reduced(&self, value: u32) -> u32 {
        let rest = Gain::new(Gain::ONE.numerator() - self.parameters.beta.numerator());
        rest.share_of(value)
    }

    /// `inflight_hi` less the room it leaves to others.
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        let hi = self.bounds.inflight_hi;
        if hi == UNSET {
            return UNSET;
        }
        let headroom = self.parameters.headroom.share_of(hi).max(self.parameters.headroom_min);
        hi.saturating_sub(headroom).max(self.parameters.min_window)
    }

    /// A loss round ended outside of probing: the short-term bounds go down to what was delivered in it.
    pub(super) fn adapt_lower_bounds(&mut self, control: &Control) {
        if self.is_probing() {
            return;
        }
        let mut by_marks = UNSET;
        if self.signals.echo && self.ecn.eligible {
            self.init_inflight_lo(control);
            let cut = self.parameters.ecn_factor.share_of(self.ecn.alpha.numerator());
            let rest = Gain::new(Gain::ONE.numerator().saturating_sub(cut));
            by_marks = rest.share_of(self.bounds.inflight_lo);
        }
        if self.signals.loss {
            if self.bounds.bw_lo == UNSET {
                self.bounds.bw_lo = self.bandwidth.max();
            }
            self.init_inflight_lo(control);
            self.bounds.bw_lo = self.reduced(self.bounds.bw_lo).max(self.signals.bw).max(1);
            self.bounds.inflight_lo = self.reduced(self.bounds.inflight_lo).max(self.signals.delivered);
        }
        self.bounds.inflight_lo = self.bounds.inflight_lo.min(by_marks);
    }

    fn init_inflight_lo(&mut self, control: &Control) {
        if self.bounds.inflight_lo == UNSET {
            self.bounds.inflight_lo = control.cwnd;
        }
    }

    /// Adapts `inflight_hi` to the sample. True when a probe was started.
    pub(super) fn adapt_upper_bound(&mut self, view: &View, control: &Control, sample: &RateSample) -> bool {
        if self.round.started && self.probe.ack_phase == AckPhase::Starting {
            self.probe.ack_phase = AckPhase::Feedback;
        } else if self.round.started && self.probe.ack_phase == AckPhase::Stopping {
            // The last packets of the probe are acknowledged.
            self.probe.samples_probe = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.mode == Mode::ProbeBw {
                if !sample.is_app_limited {
                    self.bandwidth.advance();
                }
                // It had been stopped at the bound only out of caution, which was not needed.
                if self.probe.was_cautious && !self.probe.was_too_high {
                    self.start_refill(view, 0);
                    return true;
                }
            }
        }
        if self.is_inflight_too_high(sample) {
            if self.probe.samples_probe && self.parameters.sample_test {
                self.handle_too_high(view, control, sample.tx_in_flight, sample.is_app_limited);
            }
        } else if self.bounds.inflight_hi != UNSET {
            // It was safe, so the bound may be as high.
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(sample.tx_in_flight);
            if self.is_in(Phase::Up) {
                self.grow_inflight_hi(view, control, sample.acked_sacked);
            }
        }
        false
    }

    /// Probing found that too much was in flight: `safe` packets were not. Once per probe.
    fn handle_too_high(&mut self, view: &View, control: &Control, safe: u32, is_app_limited: bool) {
        self.probe.was_too_high = true;
        self.probe.samples_probe = false;
        if !is_app_limited || self.parameters.app_limited_lowers_bound {
            self.bounds.inflight_hi = self.reduced(self.target_inflight(view, control)).max(safe);
        }
        if self.is_in(Phase::Up) {
            self.start_down(view);
        }
    }

    /// The first loss begins a loss round.
    fn note_loss(&mut self, view: &View) {
        let is_first = match self.parameters.undo {
            Undo::State => !self.signals.loss,
            Undo::Episode => !self.bounds.saved.for_next_reduction && view.ca_state <= CaState::Disorder,
            Undo::Bounds | Undo::Nothing => false,
        };
        if is_first {
            self.save_bounds(true);
        }
        if !self.signals.loss {
            self.signals.next_delivered = view.delivered;
        }
        self.signals.loss = true;
        self.probe.saw_loss = true;
    }

    /// A packet was marked lost: was it the one with which loss became too high?
    pub(super) fn on_packet_lost(&mut self, view: &View, control: &Control, packet: &LostPacket) {
        if self.parameters.own_loss_rounds {
            self.note_loss(view);
        }
        if !self.parameters.lost_packet_test || !self.probe.samples_probe {
            return;
        }
        let lost = u32::try_from(view.lost.saturating_sub(packet.lost)).unwrap_or(u32::MAX);
        if self.is_loss_too_high(packet.tx_in_flight, lost) {
            let safe = self.safe_inflight(packet.tx_in_flight, lost);
            self.handle_too_high(view, control, safe, packet.is_app_limited);
        }
    }

    /// How many of the packets in flight, this lost one the last of them, were sent before loss crossed the threshold.
    fn safe_inflight(&self, in_flight: u32, lost: u32) -> u32 {
        let (before, lost_before) = (in_flight - 1, lost - 1);
        let one = u64::from(Gain::ONE.numerator());
        let threshold = u64::from(self.parameters.loss_threshold.numerator());
        let budget = (u64::from(before) * threshold).div_ceil(one);
        let left = budget.saturating_sub(u64::from(lost_before));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "`left` is at most 1, since the loss exceeds the threshold"
        )]
        let until_then = (left * one / (one - threshold)) as u32;
        before + until_then
    }

    /// A tail loss probe repaired a loss, which no detection reported.
    pub(super) fn on_repaired_tail(&mut self, view: &View, control: &Control, is_app_limited: bool) {
        self.note_loss(view);
        let in_flight = self.signals.delivered.saturating_add(1);
        if self.probe.samples_probe && self.is_loss_too_high(in_flight, 1) {
            self.handle_too_high(view, control, in_flight, is_app_limited);
        }
    }

    /// A retransmission timeout: everything in flight is presumed lost.
    pub(super) fn on_timeout(&mut self, control: &Control) {
        let window = match self.parameters.timeout {
            Timeout::Nothing => return,
            Timeout::Baseline => {
                self.full_pipe.baseline = 0;
                self.prior_cwnd
            }
            Timeout::Search => {
                self.full_pipe.restart(0);
                self.prior_cwnd.max(control.cwnd)
            }
        };
        if !self.is_probing() && self.bounds.inflight_lo == UNSET {
            self.bounds.inflight_lo = window;
        }
    }

    /// A reduction begins.
    pub(super) fn save_for_undo(&mut self) {
        // The draft has saved them with the first loss, before that could end a phase.
        if !std::mem::take(&mut self.bounds.saved.for_next_reduction) {
            self.save_bounds(false);
        }
    }

    fn save_bounds(&mut self, for_next_reduction: bool) {
        let Bounds { bw_lo, inflight_lo, inflight_hi, .. } = self.bounds;
        self.bounds.saved =
            Saved { bw_lo, inflight_lo, inflight_hi, was_up: self.is_in(Phase::Up), for_next_reduction };
    }

    /// A reduction proved spurious.
    pub(super) fn undo_bounds(&mut self, view: &View) {
        self.full_pipe.restart(0);
        self.signals.loss = false;
        self.window_is_set = false;
        let restores_state = matches!(self.parameters.undo, Undo::State | Undo::Episode);
        // The kernel remembers them until the next reduction.
        let saved = if restores_state { std::mem::take(&mut self.bounds.saved) } else { self.bounds.saved };
        self.bounds.bw_lo = self.bounds.bw_lo.max(saved.bw_lo);
        self.bounds.inflight_lo = self.bounds.inflight_lo.max(saved.inflight_lo);
        self.bounds.inflight_hi = self.bounds.inflight_hi.max(saved.inflight_hi);
        if !restores_state || self.mode == Mode::ProbeRtt {
            return;
        }
        if std::mem::take(&mut self.full_pipe.ended_by_loss) {
            self.full_pipe.reached = false;
            self.mode = Mode::Startup;
        } else if saved.was_up && self.mode == Mode::ProbeBw && self.phase != Phase::Up {
            self.start_refill(view, 0);
        }
    }
}
