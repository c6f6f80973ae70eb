//! ns-3's rules (`TcpRateLinux`), as far as they change what a controller is shown.
//!
//! The source is chosen as in Linux before 5.19, but it is kept beyond its ACK: an ACK without a newer source measures
//! from it again, unless its sample was discarded. An application-limited sample that is lower than the last rate is
//! replaced by the last rate. Before 3.41 the ACK phase was measured from the prior time of the *previous* source, and
//! a discarded sample set that time to zero and showed the controller the last rate again, as if it were a new sample
//! (ns-3's issue 1026).

use super::{Record, linux_old, send_phase_us};
use dumbbell_cc_contract::RateSample;

/// What ns-3's sampler remembers from ACK to ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ns3 {
    is_before_3_41: bool,
    /// The source of the last sample as it was when the source was delivered; its prior time is 0 after a discard.
    source: RateSample,
    send_phase_us: i64,
    ack_phase_us: i64,
    /// The last rate that was computed.
    delivered: i32,
    interval_us: i64,
}

impl Ns3 {
    /// Nothing has been sampled yet: there is no rate, and no round-trip time either.
    pub fn new(is_before_3_41: bool) -> Ns3 {
        Ns3 {
            is_before_3_41,
            source: RateSample::invalid(),
            send_phase_us: 0,
            ack_phase_us: 0,
            delivered: 0,
            interval_us: 0,
        }
    }

    /// The sample begins with the source of the ACK before.
    #[inline(never)]
    pub fn begin_ack(&self, sample: &mut RateSample) {
        *sample = RateSample { prior_in_flight: sample.prior_in_flight, is_ece: sample.is_ece, ..self.source };
    }

    /// Whether a delivered segment becomes the source; then the phases are measured from it.
    #[inline(never)]
    pub fn offer(&mut self, sample: &RateSample, record: &Record, now_us: u64) -> bool {
        let is_newer = sample.prior_delivered == 0 || linux_old::is_newer(sample, record);
        if is_newer {
            let ack_phase_from_us = if self.is_before_3_41 { sample.prior_mstamp_us } else { record.delivered_us };
            self.ack_phase_us = (now_us - ack_phase_from_us).cast_signed();
            self.send_phase_us = send_phase_us(record);
        }
        is_newer
    }

    #[inline(never)]
    pub fn measure(&mut self, sample: &mut RateSample, min_rtt_us: u32) {
        sample.interval_us = self.send_phase_us.max(self.ack_phase_us);
        let is_valid = sample.interval_us >= i64::from(min_rtt_us);
        self.source = RateSample {
            prior_delivered: sample.prior_delivered,
            prior_mstamp_us: if is_valid { sample.prior_mstamp_us } else { 0 },
            is_app_limited: sample.is_app_limited,
            is_retrans: sample.is_retrans,
            tx_in_flight: sample.tx_in_flight,
            ..RateSample::invalid()
        };
        if !is_valid {
            sample.interval_us = -1;
            self.without_source(sample);
            return;
        }
        let is_lower = i64::from(sample.delivered) * self.interval_us < i64::from(self.delivered) * sample.interval_us;
        if sample.is_app_limited && is_lower {
            (sample.delivered, sample.interval_us) = (self.delivered, self.interval_us);
        } else {
            (self.delivered, self.interval_us) = (sample.delivered, sample.interval_us);
        }
    }

    /// Before 3.41 an ACK without a sample of its own shows the controller the last rate.
    #[inline(never)]
    pub fn without_source(&self, sample: &mut RateSample) {
        if self.is_before_3_41 && self.interval_us > 0 {
            (sample.delivered, sample.interval_us) = (self.delivered, self.interval_us);
        }
    }
}
