//! The removal of what is acknowledged from the scoreboard, and the RTT samples it gives.
//!
//! Segments that were never sent again and lie in the order of their transmission, which is nearly all of them, leave as
//! one run. A sample for the smoothed RTT spans from the first segment an ACK delivers, the one for the controller from
//! the last; where only retransmissions are covered, the timestamp option decides, in milliseconds.

use super::{AckNews, Sender, flag, timestamp_ticks};
use crate::{Ack, ControllerRtt, DeliveryRate, RecoveryRule, RttSamples};

impl Sender {
    /// Removes what the ACK covers, takes RTT samples and detects reordering (`tcp_clean_rtx_queue`). Returns how many
    /// segments left the queue.
    pub(super) fn clean_acked(
        &mut self,
        ack: &Ack,
        prior_highest_sacked: u32,
        prior_sacked_out: u32,
        sack_rtt: Option<(u64, u64)>,
        news: &mut AckNews,
    ) -> u32 {
        let mut first_sent = 0;
        let mut last_sent = 0;
        let mut reordered_from = self.board.nxt();
        let mut acked = 0;
        let mut last_was_short = false;
        while self.board.una() < ack.ack {
            let seq = self.board.una();
            let end = self.board.end_of_originals(ack.ack);
            if seq < end {
                // Of segments in the order of their transmission only the last one counts for RACK and Linux's samples.
                let count = end - seq;
                let last = *self.board.get(end - 1);
                if first_sent == 0 {
                    first_sent = self.board.get(seq).sent_us;
                }
                last_sent = last.sent_us;
                last_was_short = u32::from(last.len) < self.config.mss;
                reordered_from = reordered_from.min(seq);
                news.original_acked |= seq < self.high_seq;
                if self.config.sack {
                    self.view.delivered += u64::from(count);
                    if news.ece {
                        self.view.delivered_ce += u64::from(count);
                    }
                }
                self.view.packets_out -= count;
                acked += count;
                self.advance_rack(end - 1, last.sent_us, false);
                let offered = if self.config.delivery_rate == DeliveryRate::Linux { end - 1 } else { seq };
                for seq in offered..end {
                    self.offer_sample(seq);
                }
                self.board.pop_originals(end);
                continue;
            }
            let sacked = self.board.pop_sacked(ack.ack);
            if sacked > 0 {
                self.view.sacked_out -= sacked;
                self.view.packets_out -= sacked;
                acked += sacked;
                continue;
            }
            let record = *self.board.get(seq);
            let flags = record.flags;
            if flags & (flag::RETRANS | flag::EVER_RETRANS) != 0 {
                if flags & flag::RETRANS != 0 {
                    self.view.retrans_out -= 1;
                }
                news.retransmitted_data_acked = true;
            } else if flags & flag::SACKED == 0 {
                last_sent = record.sent_us;
                if first_sent == 0 {
                    first_sent = record.sent_us;
                }
                if seq < reordered_from {
                    reordered_from = seq;
                }
                if seq < self.high_seq {
                    news.original_acked = true;
                }
            }
            if flags & flag::SACKED != 0 {
                self.view.sacked_out -= 1;
            } else {
                if self.config.sack {
                    self.view.delivered += 1;
                    if news.ece {
                        self.view.delivered_ce += 1;
                    }
                }
                let proves_original = flags & (flag::RETRANS | flag::EVER_RETRANS) != 0
                    && timestamp_ticks(ack.echo) < record.sent_us / 1_000;
                if !proves_original {
                    let retransmitted = flags & (flag::RETRANS | flag::EVER_RETRANS) != 0;
                    self.advance_rack(seq, record.sent_us, retransmitted);
                }
            }
            if flags & flag::LOST != 0 {
                self.view.lost_out -= 1;
            }
            self.view.packets_out -= 1;
            acked += 1;
            last_was_short = u32::from(record.len) < self.config.mss;
            if flags & flag::SACKED == 0 {
                self.offer_sample(seq);
            }
            self.board.pop_una();
        }
        self.view.snd_una = u64::from(self.board.una());
        if acked > 0 {
            news.data_acked = true;
        }
        if news.retransmitted_data_acked && !self.config.sack {
            // Segments above a repaired gap may have arrived before the timeout: they prove nothing about it.
            news.original_acked = false;
        }
        if !self.board.is_empty() && self.config.sack && acked > 0 {
            news.reneged = self.board.get(self.board.una()).has(flag::SACKED);
        }

        let mut rtt_us = None;
        let mut latest_rtt_us = None;
        let mut maybe_delayed = false;
        if first_sent != 0 && !news.retransmitted_data_acked {
            rtt_us = Some(self.age_us(first_sent));
            latest_rtt_us = Some(self.age_us(last_sent));
            maybe_delayed = acked == 1
                && last_was_short
                && prior_sacked_out == 0
                && self.sample.prior_delivered + 1 == self.view.delivered
                && !(news.data_sacked || news.ece || news.dsack);
        }
        let sack_rtt_us = sack_rtt.map(|(first, _)| self.age_us(first));
        if let Some((_, last)) = sack_rtt {
            latest_rtt_us = Some(self.age_us(last));
        }
        if rtt_us.is_none() {
            rtt_us = sack_rtt_us;
        }
        if rtt_us.is_none() && news.data_acked {
            let ticks = timestamp_ticks(self.view.now).saturating_sub(timestamp_ticks(ack.echo)).max(1);
            rtt_us = Some(ticks * 1_000);
            latest_rtt_us = rtt_us;
        }
        if self.config.rtt_samples != RttSamples::Linux {
            let is_ambiguous = news.retransmitted_data_acked && self.config.rtt_samples != RttSamples::Timestamps;
            let ticks = timestamp_ticks(self.view.now).saturating_sub(timestamp_ticks(ack.echo));
            rtt_us = (news.data_acked && !is_ambiguous).then_some((ticks * 1_000).max(1));
            latest_rtt_us = rtt_us;
            maybe_delayed = false;
            self.sample.rtt_us = self.ns3_sample.as_ref().map_or(-1, |last| last.rtt_us);
        }
        let has_rtt = rtt_us.is_some();
        if let (Some(rtt_us), Some(latest_rtt_us)) = (rtt_us, latest_rtt_us) {
            self.take_rtt(rtt_us, latest_rtt_us, maybe_delayed);
            if let Some(last) = &mut self.ns3_sample {
                last.rtt_us = self.sample.rtt_us;
            }
        }

        if news.data_acked {
            news.set_timer = true;
            if self.config.sack {
                if reordered_from < prior_highest_sacked {
                    self.note_reordering_below(reordered_from, prior_highest_sacked);
                }
            } else {
                self.remove_emulated_sacks(acked);
            }
        } else if has_rtt && !self.board.is_empty() && self.config.recovery == RecoveryRule::Linux {
            // A SACK of data sent before the head's latest transmission must not push the timeout out for ever.
            let head_age_us = self.age_us(self.board.get(self.board.una()).sent_us);
            if sack_rtt_us.is_some_and(|sack_rtt_us| sack_rtt_us > head_age_us) {
                news.set_timer = true;
            }
        }
        acked
    }

    /// Takes the round-trip times of the first and of the latest segment that an ACK delivers.
    #[inline(always)]
    pub(super) fn take_rtt(&mut self, rtt_us: u64, latest_rtt_us: u64, maybe_delayed: bool) {
        self.rtt.sample(rtt_us as u32, self.board.una(), self.board.nxt());
        self.view.srtt_us_x8 = self.rtt.srtt_x8;
        let shown_us = match self.config.controller_rtt {
            ControllerRtt::Last => latest_rtt_us,
            ControllerRtt::Smoothed => u64::from(self.rtt.srtt_x8 >> 3),
        };
        self.sample.rtt_us = shown_us as i64;
        self.sample.is_ack_delayed = maybe_delayed;
        if !(maybe_delayed && shown_us > u64::from(self.min_rtt.get())) {
            self.min_rtt.update(self.view.mstamp_us, (shown_us as u32).max(1));
            self.view.min_rtt_us = self.min_rtt.get();
        }
    }
}
