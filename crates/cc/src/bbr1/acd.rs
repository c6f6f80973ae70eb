//! BBR-ACD: tells losses of congestion from random ones by round-trip times.
//!
//! A drop-tail queue that overflows holds the round-trip time at its maximum: several samples in a row are alike and
//! above the minimum. A loss at such a time is taken for congestion and cuts the window; other losses do not. The paper,
//! its kernel code and its ns-3 code each do something else with that, so each is a rule of its own
//! ([`Recovery`](super::Recovery)).

use super::{Bbr1, Parameters, Recovery};
use crate::parameters::Gain;
use crate::{CaState, Control, RateSample, View};

/// State of the detector.
#[derive(Clone, Debug, Default)]
pub(super) struct Acd {
    /// How often in a row the round-trip time was like the one before.
    repetitions: u32,
    /// The round-trip time before, in microseconds; -1 is none.
    previous_us: i64,
    /// The window was cut in this recovery.
    cut: bool,
}

impl Acd {
    /// Takes a round-trip time in (-1 is none); whether it reveals congestion.
    pub(super) fn detect(&mut self, rtt_us: i64, min_rtt_us: u32, parameters: &Parameters) -> bool {
        let tolerance_us = parameters.acd_tolerance.as_micros() as i64;
        let previous_us = std::mem::replace(&mut self.previous_us, rtt_us);
        // The kernel code subtracts the tolerance without a sign: below it nothing is ever alike.
        let least_us = if parameters.recovery == Recovery::AcdKernel { tolerance_us } else { 0 };
        let alike = previous_us >= least_us && rtt_us.abs_diff(previous_us) <= tolerance_us as u64;
        self.repetitions = if rtt_us > i64::from(min_rtt_us) && alike { self.repetitions + 1 } else { 0 };
        let high_us = parameters.acd_rtt_factor.of(u64::from(min_rtt_us));
        self.repetitions >= parameters.acd_repetitions || u64::try_from(rtt_us).is_ok_and(|rtt_us| rtt_us > high_us)
    }
}

impl Bbr1 {
    /// The window halved, to at most one BDP.
    fn halved(&self, view: &View, control: &Control, bw: u32) -> u32 {
        let bdp = self.inflight_target(view, control, bw, Gain::ONE);
        (control.cwnd / 2).min(bdp).max(self.parameters.min_window)
    }

    fn detect_congestion(&mut self, sample: &RateSample) -> bool {
        self.recovery.acd.detect(sample.rtt_us, self.min_rtt.rtt_us, &self.parameters)
    }

    /// The kernel code; true when growth must not follow. A cut repeats with every ACK until the next round.
    pub(super) fn recover_like_acd_kernel(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &RateSample,
        bw: u32,
    ) -> bool {
        if sample.losses > 0 {
            control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
        }
        let congested = self.detect_congestion(sample);
        let state = view.ca_state;
        let before = std::mem::replace(&mut self.recovery.previous_state, state);
        if congested && state == CaState::Recovery && before != CaState::Recovery {
            self.recovery.packet_conservation = true;
            self.round.next_delivered = view.delivered;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            control.cwnd = control.cwnd.max(self.recovery.prior_cwnd);
            self.recovery.packet_conservation = false;
        }
        if self.recovery.packet_conservation {
            control.cwnd = self.halved(view, control, bw);
        }
        self.recovery.packet_conservation
    }

    /// The paper's words; true when growth must not follow.
    pub(super) fn recover_like_acd_paper(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &RateSample,
        bw: u32,
    ) -> bool {
        let congested = self.detect_congestion(sample);
        let state = view.ca_state;
        let before = std::mem::replace(&mut self.recovery.previous_state, state);
        if before >= CaState::Recovery && state < CaState::Recovery {
            self.recovery.acd.cut = false;
            control.cwnd = control.cwnd.max(self.recovery.prior_cwnd);
        } else if sample.losses > 0 {
            if congested && !self.recovery.acd.cut {
                self.recovery.acd.cut = true;
                control.cwnd = self.halved(view, control, bw);
                return true;
            }
            control.cwnd = control.cwnd.saturating_sub(sample.losses).max(1);
        }
        false
    }

    /// The ns-3 code; true when growth must not follow. What it detects it forgets before it uses it.
    pub(super) fn recover_like_acd_ns3(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &RateSample,
        bw: u32,
    ) -> bool {
        self.recovery.previous_state = view.ca_state;
        if view.ca_state != CaState::Recovery {
            return false;
        }
        self.recovery.unit_gain_in = Some(self.state.mode);
        self.operating_point.unsettle();
        control.cwnd = control.cwnd.max(view.in_flight() + sample.acked_sacked);
        control.cwnd = self.halved(view, control, bw);
        true
    }
}
