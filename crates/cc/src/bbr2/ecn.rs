//! Congestion marks, as data centres set them: at a shallow threshold, with exact echoes (DCTCP).
//!
//! The share of marked packets, averaged over rounds, is how congested the path is. It counts only on short paths: on
//! the Internet a mark means something else (RFC 3168).

use super::model::{Bbr2, Mode};
use dumbbell_cc_contract::parameters::Gain;
use dumbbell_cc_contract::{Control, RateSample, View};

impl Bbr2 {
    /// Notes an echo for the current loss round.
    pub(super) fn note_echo(&mut self, sample: &RateSample) {
        self.signals.echo |= sample.is_ece && (self.ecn.eligible || !self.parameters.ecn_echo_needs_eligibility);
    }

    /// A round ends: averages its share of marks, and ends STARTUP when it is too high for long.
    pub(super) fn update_ecn_alpha(&mut self, view: &View, control: &Control) {
        if !self.parameters.ecn {
            return;
        }
        let known = self.min_rtt.rtt_us != View::UNKNOWN_RTT;
        self.ecn.eligible |= known && u64::from(self.min_rtt.rtt_us) <= self.parameters.ecn_max_rtt.as_micros();
        let delivered = view.delivered.saturating_sub(self.ecn.delivered);
        let marked = view.delivered_ce.saturating_sub(self.ecn.delivered_ce);
        self.ecn.delivered = view.delivered;
        self.ecn.delivered_ce = view.delivered_ce;
        if !self.ecn.eligible || delivered == 0 {
            return;
        }
        let one = Gain::ONE.numerator();
        #[expect(clippy::cast_possible_truncation, reason = "it is at most one")]
        let share = (marked * u64::from(one) / delivered).min(u64::from(one)) as u32;
        let weight = self.parameters.ecn_alpha_gain.numerator();
        let alpha = ((one - weight) * self.ecn.alpha.numerator() + weight * share) / one;
        self.ecn.alpha = Gain::new(alpha.min(one));

        if self.mode == Mode::Startup && !self.full_pipe.reached {
            let high = share >= self.parameters.ecn_threshold.numerator();
            self.ecn.startup_rounds = if high { self.ecn.startup_rounds + 1 } else { 0 };
            if self.ecn.startup_rounds >= self.parameters.ecn_startup_rounds {
                self.end_startup_congested(view, control);
            }
        }
    }

    /// Whether too many of the packets delivered since the sampled one was sent are marked.
    pub(super) fn is_ce_too_high(&self, sample: &RateSample) -> bool {
        if !self.ecn.eligible || sample.delivered <= 0 || sample.delivered_ce <= 0 {
            return false;
        }
        #[expect(clippy::cast_sign_loss, reason = "both were found positive above")]
        let (marked, delivered) = (sample.delivered_ce as u64, sample.delivered as u64);
        let threshold = self.parameters.ecn_threshold.of(delivered);
        marked > threshold || (marked == threshold && !self.parameters.ecn_threshold_strict)
    }
}
