//! HyStart (Ha and Rhee, 2011; Linux 6.18): leaves slow start before the queue overflows.
//!
//! Two detectors run in every round of slow start. The *ACK train* measures how long a round's closely spaced ACKs
//! last: when that reaches the smallest round-trip time, the window fills the path. The *delay* detector compares the
//! round's smallest round-trip time with the smallest ever.

use super::parameters::{Fault, HystartDetect, Parameters};
use dumbbell_cc_contract::{Control, View};

/// HyStart's state: one round at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Hystart {
    /// The end of slow start has been found.
    pub(super) found: bool,
    /// Microsecond clock (modulo 2^32) at the start of the round.
    pub(super) round_start_us: u32,
    /// Microsecond clock at the last ACK of the train.
    pub(super) last_ack_us: u32,
    /// The round ends when this position is acknowledged.
    pub(super) end_seq: u64,
    /// Smallest round-trip time of the round.
    pub(super) round_rtt_us: u32,
    /// Round-trip times seen in the round, counted up to the number the detector needs.
    pub(super) sample_count: u32,
}

impl Hystart {
    pub(super) fn start_round(&mut self, view: &View) {
        let now = clock_us(view);
        self.round_start_us = now;
        self.last_ack_us = now;
        self.end_seq = view.snd_nxt;
        self.round_rtt_us = u32::MAX;
        self.sample_count = 0;
    }

    /// Starts the next round if this one is over.
    pub(super) fn end_round(&mut self, view: &View) {
        if view.snd_una > self.end_seq {
            self.start_round(view);
        }
    }

    /// Runs the detectors on a round-trip time; sets `ssthresh` to the window when one of them fires.
    ///
    /// Out of line: most ACKs come after slow start and should not pay for its registers.
    #[inline(never)]
    pub(super) fn update(
        &mut self,
        parameters: &Parameters,
        view: &View,
        control: &mut Control,
        rtt_us: u32,
        delay_min_us: u32,
    ) {
        if parameters.fault != Some(Fault::UnusedRounds) {
            self.end_round(view);
        }
        // Rounds are kept from the start, so that the first one above the low window is a whole one.
        if control.cwnd < parameters.hystart_low_window {
            return;
        }
        let train = parameters.hystart_detect != HystartDetect::Delay
            && self.train_fills_path(parameters, view, control, delay_min_us);
        let delay =
            parameters.hystart_detect != HystartDetect::Train && self.delay_grew(parameters, rtt_us, delay_min_us);
        if train || delay {
            self.found = true;
            control.ssthresh = control.cwnd;
        }
    }

    fn train_fills_path(&mut self, parameters: &Parameters, view: &View, control: &Control, delay_min_us: u32) -> bool {
        let now = clock_us(view);
        let gap = now.wrapping_sub(self.last_ack_us).cast_signed();
        if i64::from(gap) > parameters.hystart_ack_delta.as_micros().cast_signed() {
            return false;
        }
        self.last_ack_us = now;
        // Like every span in microseconds it has less than 63 bits.
        let mut threshold = u64::from(delay_min_us) + burst_delay_us(parameters, view, control);
        // Without pacing the window leaves in one burst, and the train shows the bottleneck at half the path already.
        if !view.paced || parameters.fault == Some(Fault::PacedTrain) {
            threshold /= 2;
        }
        let train = now.wrapping_sub(self.round_start_us).cast_signed();
        i64::from(train) > threshold.cast_signed()
    }

    fn delay_grew(&mut self, parameters: &Parameters, rtt_us: u32, delay_min_us: u32) -> bool {
        if self.sample_count < parameters.hystart_min_samples || parameters.fault != Some(Fault::FirstRtts) {
            self.round_rtt_us = self.round_rtt_us.min(rtt_us);
        }
        if self.sample_count < parameters.hystart_min_samples {
            self.sample_count += 1;
            return false;
        }
        let share = u64::from(delay_min_us / parameters.hystart_delay_divisor);
        let floor = parameters.hystart_delay_min.as_micros();
        let ceiling = parameters.hystart_delay_max.as_micros();
        u64::from(self.round_rtt_us) > u64::from(delay_min_us) + share.clamp(floor, ceiling)
    }
}

/// HyStart's clock.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the kernel's clock of 32 bits, which wraps after 71 minutes")]
fn clock_us(view: &View) -> u32 {
    view.mstamp_us as u32
}

/// What one burst of the sender adds to the length of a train: four bursts at the pacing rate, bounded.
fn burst_delay_us(parameters: &Parameters, view: &View, control: &Control) -> u64 {
    let four_bursts_us = u64::from(view.gso_max_bytes) * 4 * 1_000_000;
    four_bursts_us.checked_div(control.pacing_rate).unwrap_or(0).min(parameters.hystart_burst_delay_max.as_micros())
}
