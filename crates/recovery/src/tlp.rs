//! Tail loss probes (TLP; RFC 8985, section 7).
//!
//! A loss at the end of a flight causes no duplicate ACKs, because nothing follows it. When no ACK has come for two
//! round trips the sender sends one more segment, new data or the last segment again (`tcp_send_loss_probe`). Its
//! selective acknowledgement shows the loss without a timeout. If the probe repeats the lost segment itself, it repairs
//! the loss, and congestion control would not hear of it. So an ACK beyond the probe without a DSACK counts as a loss:
//! one reduction follows.

use crate::rack::TIMEOUT_MIN_US;

/// A probe without any RTT sample fires after this (`TCP_TIMEOUT_INIT`).
const TIMEOUT_INIT_US: u64 = 1_000_000;

/// The episode of one probe: from its transmission until it is known what became of it.
#[derive(Clone, Debug)]
pub struct Tlp {
    is_enabled: bool,
    /// How long the ACK of a lone segment may be delayed.
    max_ack_delay_us: u32,
    /// `tlp_high_seq`: `snd_nxt` when the probe left.
    high_seq: Option<u32>,
    /// `tlp_retrans`: the probe repeats a segment.
    is_retransmission: bool,
    /// The segment that it repeats was sent while the application was the limit.
    is_app_limited: bool,
}

/// The timeout of a probe where the retransmission timeout is due in `until_rto_us`: the earlier one. A retransmission
/// timeout that is over is no bound.
#[inline]
pub fn bounded_us(timeout_us: u64, until_rto_us: i64) -> u64 {
    match u64::try_from(until_rto_us) {
        Ok(until_rto_us) if until_rto_us > 0 => timeout_us.min(until_rto_us),
        _ => timeout_us,
    }
}

/// What an ACK tells of an outstanding probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeNews {
    /// Nothing.
    None,
    /// The episode goes on or is over, and the probe repaired nothing.
    Harmless,
    /// The probe repaired a loss, which calls for one reduction.
    RepairedLoss {
        /// The lost tail was sent while the application was the limit.
        is_app_limited: bool,
    },
}

impl Tlp {
    /// No probe is outstanding; without `is_enabled` none ever is. The peer is expected to delay the ACK of a lone
    /// segment for `max_ack_delay_us` (Linux takes `rto_min`).
    pub fn new(is_enabled: bool, max_ack_delay_us: u32) -> Tlp {
        Tlp { is_enabled, max_ack_delay_us, high_seq: None, is_retransmission: false, is_app_limited: false }
    }

    /// Whether probes are allowed, and possible (`tcp_early_retrans`, SACK).
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// How long to wait for an ACK before a probe leaves (`tcp_schedule_loss_probe`): two smoothed RTTs and, with one
    /// segment outstanding, the delayed-ACK time. `srtt_us_x8` is eight times the smoothed RTT, 0 without a sample.
    #[inline(always)]
    pub fn timeout_us(&self, srtt_us_x8: u32, packets_out: u32) -> u64 {
        match srtt_us_x8 {
            0 => TIMEOUT_INIT_US,
            _ if packets_out == 1 => u64::from(srtt_us_x8 >> 2) + u64::from(self.max_ack_delay_us),
            _ => u64::from(srtt_us_x8 >> 2) + TIMEOUT_MIN_US,
        }
    }

    /// Whether the episode of a probe lasts: until it is over no second one is sent.
    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.high_seq.is_some()
    }

    /// Whether the outstanding probe is a retransmission.
    pub fn is_retransmission_outstanding(&self) -> bool {
        self.is_outstanding() && self.is_retransmission
    }

    /// New data left as a probe; everything sent lies below `snd_nxt`.
    pub fn begin_with_new_data(&mut self, snd_nxt: u32) {
        self.begin(snd_nxt, false, false);
    }

    /// The last segment below `snd_nxt` left again as a probe.
    pub fn begin_with_retransmission(&mut self, snd_nxt: u32, is_app_limited: bool) {
        self.begin(snd_nxt, true, is_app_limited);
    }

    fn begin(&mut self, snd_nxt: u32, is_retransmission: bool, is_app_limited: bool) {
        self.high_seq = Some(snd_nxt);
        self.is_retransmission = is_retransmission;
        self.is_app_limited = is_app_limited;
    }

    /// The episode is over.
    pub fn end(&mut self) {
        self.high_seq = None;
    }

    /// Whether a DSACK of `start..end` is about the probe.
    pub fn is_reported_by(&self, start: u32, end: u32) -> bool {
        end == start + 1 && self.high_seq == Some(end)
    }

    /// An ACK of everything below `ack` (`tcp_process_tlp_ack`). `is_reported` means that it reports the probe as a
    /// duplicate, `is_pure_duplicate` that it acknowledges nothing and changes nothing.
    #[inline]
    pub fn process_ack(&mut self, ack: u32, is_reported: bool, is_pure_duplicate: bool) -> ProbeNews {
        let Some(high_seq) = self.high_seq else { return ProbeNews::None };
        if ack < high_seq {
            return ProbeNews::None;
        }
        if !self.is_retransmission || is_reported {
            self.end();
        } else if ack > high_seq {
            self.end();
            return ProbeNews::RepairedLoss { is_app_limited: self.is_app_limited };
        } else if is_pure_duplicate {
            self.end();
        }
        ProbeNews::Harmless
    }

    /// Whether the latest probe was a retransmission.
    pub fn was_retransmission(&self) -> bool {
        self.is_retransmission
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(high_seq: u32) -> Tlp {
        let mut tlp = Tlp::new(true, 200_000);
        tlp.begin_with_retransmission(high_seq, true);
        tlp
    }

    #[test]
    fn a_lone_segment_waits_for_a_delayed_ack_and_nobody_beyond_the_timeout() {
        let tlp = Tlp::new(true, 200_000);
        assert_eq!([tlp.timeout_us(8 * 40_000, 5), tlp.timeout_us(8 * 10_000, 1)], [82_000, 220_000]);
        assert_eq!(tlp.timeout_us(0, 5), 1_000_000, "no round trip is known");
        assert_eq!(bounded_us(280_000, 240_000), 240_000);
        assert_eq!([bounded_us(280_000, 0), bounded_us(280_000, -1)], [280_000; 2], "a timeout that is over");
    }

    #[test]
    fn data_beyond_a_repeated_segment_without_a_duplicate_means_that_it_was_lost() {
        let mut tlp = repeated(10);
        assert_eq!(tlp.process_ack(9, false, false), ProbeNews::None);
        assert_eq!(tlp.process_ack(10, false, false), ProbeNews::Harmless);
        assert!(tlp.is_outstanding(), "the ACK may be for the original or for the probe");
        assert_eq!(tlp.process_ack(11, false, false), ProbeNews::RepairedLoss { is_app_limited: true });
        assert!(!tlp.is_outstanding());
    }

    #[test]
    fn a_report_of_the_duplicate_or_a_pure_duplicate_means_that_nothing_was_lost() {
        let mut tlp = repeated(10);
        assert!(tlp.is_reported_by(9, 10) && !tlp.is_reported_by(8, 10) && !tlp.is_reported_by(8, 9));
        assert_eq!(tlp.process_ack(10, true, false), ProbeNews::Harmless);
        assert!(!tlp.is_outstanding());
        let mut tlp = repeated(10);
        assert_eq!(tlp.process_ack(10, false, true), ProbeNews::Harmless);
        assert_eq!(tlp.process_ack(12, false, false), ProbeNews::None);
    }

    #[test]
    fn new_data_as_a_probe_needs_no_proof() {
        let mut tlp = Tlp::new(true, 200_000);
        tlp.begin_with_new_data(10);
        assert!(tlp.is_outstanding() && !tlp.is_retransmission_outstanding());
        assert_eq!(tlp.process_ack(11, false, false), ProbeNews::Harmless);
        assert!(!tlp.is_outstanding());
    }
}
