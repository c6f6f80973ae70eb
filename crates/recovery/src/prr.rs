//! Proportional rate reduction (PRR, RFC 9937).
//!
//! In CWR and Recovery the window follows what ACKs deliver. While more is in flight than the slow-start threshold
//! allows, `ssthresh / prior_cwnd` of what is delivered may be sent, so that the reduction is spread over one round
//! trip; with less in flight as much as is delivered, and one more for an ACK that advances and shows no loss.

/// Counters of one reduction.
#[derive(Clone, Debug, Default)]
pub struct Prr {
    /// Segments delivered since it began (`prr_delivered`).
    delivered: u32,
    /// Segments sent since it began (`prr_out`).
    out: u32,
}

impl Prr {
    /// A reduction begins (`tcp_init_cwnd_reduction`).
    pub fn begin(&mut self) {
        *self = Prr::default();
    }

    /// Segments were sent during the reduction, retransmissions included.
    #[inline]
    pub fn sent(&mut self, segments: u32) {
        self.out += segments;
    }

    /// The window after an ACK that delivered `delivered` segments and showed `losses`; `None` where it does not change
    /// (`tcp_cwnd_reduction`).
    /// `is_advancing` holds when the ACK covers new data, `prior_cwnd` is the window before the reduction.
    pub fn cwnd(
        &mut self,
        delivered: u32,
        losses: u32,
        is_advancing: bool,
        in_flight: u32,
        ssthresh: u32,
        prior_cwnd: u32,
    ) -> Option<u32> {
        if delivered == 0 || prior_cwnd == 0 {
            return None;
        }
        self.delivered += delivered;
        let [ssthresh, in_flight, prior_cwnd, prr_delivered, prr_out] =
            [ssthresh, in_flight, prior_cwnd, self.delivered, self.out].map(i64::from);
        let room = ssthresh - in_flight;
        let sndcnt = if room < 0 {
            let dividend = ssthresh * prr_delivered + prior_cwnd - 1;
            dividend / prior_cwnd - prr_out
        } else {
            let is_safe = is_advancing && losses == 0;
            ((prr_delivered - prr_out).max(i64::from(delivered)) + i64::from(is_safe)).min(room)
        };
        // The fast retransmit itself is always allowed.
        let sndcnt = sndcnt.max(i64::from(self.out == 0));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "packets in flight and delivered are few"
        )]
        let cwnd = (in_flight + sndcnt).max(1) as u32;
        Some(cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends what the window allows; returns the duplicate ACKs, counted from the third, that released a segment.
    fn released(ssthresh: u32) -> Vec<u32> {
        let mut prr = Prr::default();
        // Twenty segments in flight, the first one lost; two more left with the first two duplicates.
        let mut in_flight = 19;
        let mut released = Vec::new();
        for dupack in 3..=19 {
            in_flight -= 1;
            let cwnd = prr.cwnd(1, u32::from(dupack == 3), false, in_flight, ssthresh, 20).unwrap();
            if cwnd > in_flight {
                prr.sent(cwnd - in_flight);
                in_flight = cwnd;
                released.push(dupack);
            }
        }
        released
    }

    #[test]
    fn a_halved_window_releases_a_segment_on_every_second_duplicate() {
        assert_eq!(released(10)[..8], [3, 5, 7, 9, 11, 13, 15, 17]);
    }

    #[test]
    fn seven_tenths_of_the_window_release_seven_segments_on_ten_duplicates() {
        assert_eq!(released(14)[..10], [3, 4, 5, 7, 8, 10, 11, 13, 14, 15]);
    }

    #[test]
    fn below_the_threshold_what_is_delivered_may_be_sent_and_one_more_when_the_ack_is_safe() {
        let mut prr = Prr::default();
        prr.sent(1);
        assert_eq!(prr.cwnd(1, 12, false, 6, 10, 20), Some(7), "packet conservation");
        prr.sent(1);
        assert_eq!(prr.cwnd(1, 0, true, 6, 10, 20), Some(8));
        assert_eq!(prr.cwnd(5, 0, true, 8, 10, 20), Some(10), "not beyond the threshold");
    }

    #[test]
    fn the_first_retransmission_is_always_allowed_and_nothing_happens_without_a_delivery() {
        let mut prr = Prr::default();
        assert_eq!(prr.cwnd(0, 3, false, 17, 10, 20), None);
        assert_eq!(prr.cwnd(1, 3, false, 17, 0, 20), Some(18));
        prr.sent(1);
        assert_eq!(prr.cwnd(1, 0, false, 17, 0, 20), Some(17), "what is in flight is never too much");
    }
}
