//! Delivery-rate sampling (`tcp_rate.c`): how fast the network delivered what an ACK reports.
//!
//! A sample is the data delivered between two instants over the longer of the time it took to send and the time it took
//! to be acknowledged; its start is written on each segment when it leaves. Which of an ACK's segments the sample is taken
//! from, and what happens to samples that are too short to be true, has changed over the years and differs in ns-3.

use super::{Sender, flag};
use crate::DeliveryRate;
use dumbbell_cc::RateSample;

impl Sender {
    /// Offers a delivered segment as the source of this ACK's sample (`tcp_rate_skb_delivered`).
    #[inline]
    pub(super) fn offer_sample(&mut self, seq: u32) {
        let record = self.board.get(seq);
        if record.delivered_us == 0 {
            return;
        }
        let newer = match self.config.delivery_rate {
            DeliveryRate::Linux => {
                record.sent_us > self.first_tx_us || record.sent_us == self.first_tx_us && seq >= self.sample_end
            }
            _ => record.delivered > self.sample.prior_delivered,
        };
        if self.sample.prior_delivered == 0 || newer {
            if let Some(last) = &mut self.ns3_sample {
                let ack_phase_from = match self.config.delivery_rate {
                    DeliveryRate::Ns3Before341 => self.sample.prior_mstamp_us,
                    _ => record.delivered_us,
                };
                last.ack_phase_us = (self.view.mstamp_us - ack_phase_from) as i64;
                last.send_phase_us = record.sent_us.wrapping_sub(record.first_tx_us) as i64;
            }
            self.take_sample(seq);
        }
    }

    /// Makes a segment the source of this ACK's sample.
    #[inline]
    pub(super) fn take_sample(&mut self, seq: u32) {
        let record = self.board.get(seq);
        self.sample.prior_delivered = record.delivered;
        self.sample.prior_mstamp_us = record.delivered_us;
        self.sample.is_app_limited = record.has(flag::APP_LIMITED);
        self.sample.is_retrans = record.has(flag::RETRANS | flag::EVER_RETRANS);
        self.sample.tx_in_flight = record.tx_in_flight;
        self.sample.interval_us = record.sent_us.wrapping_sub(record.first_tx_us) as i64;
        self.sample_source = (record.lost, record.delivered_ce);
        self.first_tx_us = record.sent_us;
        self.sample_end = seq + 1;
    }

    /// Completes the sample of this ACK (`tcp_rate_gen`).
    pub(super) fn finish_sample(&mut self, delivered: u32, losses: u32, reneged: bool) {
        self.end_app_limit();
        if delivered > 0 {
            self.view.delivered_mstamp_us = self.view.mstamp_us;
        }
        let sample = &mut self.sample;
        sample.acked_sacked = delivered;
        sample.losses = losses;
        if sample.prior_mstamp_us == 0 || reneged {
            sample.delivered = -1;
            sample.interval_us = -1;
            self.repeat_last_rate();
            return;
        }
        self.measure_sample();
        if self.config.delivery_rate.is_ns3() {
            self.finish_ns3_sample();
        } else {
            self.finish_linux_sample();
        }
    }

    /// What was delivered, lost and marked since the source of the sample was sent.
    #[inline(always)]
    fn measure_sample(&mut self) {
        let (view, sample) = (&self.view, &mut self.sample);
        let (lost_at_send, ce_at_send) = self.sample_source;
        sample.delivered = (view.delivered - sample.prior_delivered) as i32;
        sample.lost_since_sent = (view.lost as u32).wrapping_sub(lost_at_send) as i32;
        sample.delivered_ce = (view.delivered_ce as u32).wrapping_sub(ce_at_send) as i32;
    }

    /// The longer of the two phases, unless it is too short to be true.
    #[inline(always)]
    fn finish_linux_sample(&mut self) {
        let (view, sample) = (&self.view, &mut self.sample);
        let ack_phase_us = view.mstamp_us as i64 - sample.prior_mstamp_us as i64;
        sample.interval_us = sample.interval_us.max(ack_phase_us);
        if sample.interval_us < i64::from(view.min_rtt_us) {
            sample.interval_us = -1;
        }
    }

    /// Completes the sample of an expected ACK, which delivered `delivered` packets in good order under Linux's rules.
    #[inline(always)]
    pub(super) fn finish_predicted_sample(&mut self, delivered: u32) {
        self.end_app_limit();
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.sample.acked_sacked = delivered;
        self.sample.losses = 0;
        self.measure_sample();
        self.finish_linux_sample();
    }

    /// What the application's last pause held back has left the pipe.
    #[inline(always)]
    fn end_app_limit(&mut self) {
        let (view, control) = (&self.view, &mut self.control);
        if control.app_limited != 0 && view.delivered > control.app_limited {
            control.app_limited = 0;
        }
    }

    /// The source of ns-3's samples outlives the ACK.
    #[inline(never)]
    pub(super) fn resume_ns3_sample(&mut self) {
        if let Some(last) = &self.ns3_sample
            && self.config.delivery_rate.is_ns3()
        {
            let RateSample { prior_in_flight, is_ece, .. } = self.sample;
            self.sample = RateSample { prior_in_flight, is_ece, ..last.source };
        }
    }

    /// ns-3 keeps the last rate where a sample is lower and application-limited, and before 3.41 also where a sample is
    /// discarded, which its controller then takes for a new one.
    fn finish_ns3_sample(&mut self) {
        let sample = &mut self.sample;
        let Some(last) = &mut self.ns3_sample else { return };
        sample.interval_us = last.send_phase_us.max(last.ack_phase_us);
        let is_valid = sample.interval_us >= i64::from(self.view.min_rtt_us);
        last.source = RateSample {
            prior_delivered: sample.prior_delivered,
            prior_mstamp_us: if is_valid { sample.prior_mstamp_us } else { 0 },
            is_app_limited: sample.is_app_limited,
            is_retrans: sample.is_retrans,
            tx_in_flight: sample.tx_in_flight,
            ..RateSample::invalid()
        };
        if is_valid {
            let is_lower =
                i64::from(sample.delivered) * last.interval_us < i64::from(last.delivered) * sample.interval_us;
            if sample.is_app_limited && is_lower {
                (sample.delivered, sample.interval_us) = (last.delivered, last.interval_us);
            } else {
                (last.delivered, last.interval_us) = (sample.delivered, sample.interval_us);
            }
        } else {
            sample.interval_us = -1;
            self.repeat_last_rate();
        }
    }

    /// Before 3.41 an ACK without a sample of its own hands out the last rate.
    fn repeat_last_rate(&mut self) {
        let Some(last) = &self.ns3_sample else { return };
        if self.config.delivery_rate == DeliveryRate::Ns3Before341 && last.interval_us > 0 {
            (self.sample.delivered, self.sample.interval_us) = (last.delivered, last.interval_us);
        }
    }
}
