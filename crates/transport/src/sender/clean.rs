//! The removal of acknowledged segments from the scoreboard, and the RTT samples they give.
//!
//! Nearly all segments were never retransmitted and lie in the order of their transmission: these leave as one run, and
//! so do those that were selectively acknowledged before. Retransmitted segments leave one by one: their tags tell
//! which counters they are in, and whether the original or the retransmission arrived.

use super::Sender;
use super::ack::{AckNews, Prior};
use crate::{Ack, CumulativeAck, RecoveryRule};
use dumbbell_recovery::ack_rtt::{Delivered, RttSource, SentSpan, age_us};
use dumbbell_recovery::scoreboard::{Record, flag};
use dumbbell_recovery::send_stamp::Stamp;
use dumbbell_recovery::timestamp::Timestamp;

/// What has been removed for this ACK so far.
#[derive(Clone, Copy, Debug)]
struct Cleaned {
    /// Segments that left the queue.
    segments: u32,
    /// When the first and the last of those sent once left (`first_ackt`, `last_ackt`); 0, which is also the first
    /// microsecond of the run, means none.
    sent: SentSpan,
    /// The lowest of them (`reord`).
    reordered_from: u32,
    /// The last segment that left the queue was not full.
    last_was_short: bool,
}

impl Sender {
    /// Removes what the ACK covers, takes RTT samples and detects reordering (`tcp_clean_rtx_queue`). Returns how many
    /// segments left the queue.
    #[inline(always)]
    pub(super) fn clean_rtx_queue(
        &mut self,
        ack: &Ack,
        prior: &Prior,
        sacked: Option<SentSpan>,
        news: &mut AckNews,
    ) -> u32 {
        if !news.advanced {
            self.clean_nothing(ack, sacked, news);
            return 0;
        }
        let mut cleaned = Cleaned::nothing(self.board.nxt());
        while self.board.una() < ack.ack {
            let una = self.board.una();
            let end = self.board.end_of_originals(ack.ack);
            if una < end {
                self.clean_originals(una, end, &mut cleaned, news);
                continue;
            }
            let received = self.board.pop_sacked(ack.ack);
            if received > 0 {
                self.view.sacked_out -= received;
                self.view.packets_out -= received;
                cleaned.segments += received;
                continue;
            }
            self.clean_one(ack, &mut cleaned, news);
        }
        self.note_data_acked(news);
        if news.retransmitted_data_acked && !self.config.sack {
            // Segments above the hole may have arrived before the timeout: they do not prove that it was spurious.
            news.original_acked = false;
        }
        if !self.board.is_empty() && self.config.sack {
            news.reneged = self.board.get(self.board.una()).has(flag::SACKED);
        }
        self.ack_update_rtt(ack.echo, &cleaned, prior, sacked, news);
        if !self.config.sack {
            self.remove_reno_sacks(cleaned.segments, news.ece);
        } else if cleaned.reordered_from < prior.highest_sacked {
            // What the ACK overtakes is judged by what was SACKed before it, the degree by what is SACKed now.
            self.check_sack_reordering(cleaned.reordered_from);
        }
        cleaned.segments
    }

    /// [`clean_rtx_queue`](Self::clean_rtx_queue) for an expected ACK: all that it covers leaves as one run, and
    /// nothing was SACKed before.
    #[inline(always)]
    pub(super) fn clean_expected(&mut self, ack: CumulativeAck, prior: &Prior, news: &mut AckNews) -> u32 {
        let mut cleaned = Cleaned::nothing(self.board.nxt());
        self.clean_originals(prior.una, ack.ack, &mut cleaned, news);
        self.note_data_acked(news);
        self.ack_update_rtt(ack.echo, &cleaned, prior, None, news);
        cleaned.segments
    }

    /// Segments have left the queue: the timer is to be restarted.
    #[inline(always)]
    fn note_data_acked(&mut self, news: &mut AckNews) {
        self.view.snd_una = u64::from(self.board.una());
        news.data_acked = true;
        news.set_timer = true;
    }

    /// An ACK covers nothing new: only SACK blocks give a round-trip time.
    #[inline(always)]
    fn clean_nothing(&mut self, ack: &Ack, sacked: Option<SentSpan>, news: &mut AckNews) {
        let delivered =
            Delivered { acked: None, sacked, covers_data: false, covers_retransmitted: false, echo: ack.echo };
        if self.take_rtt_of(&delivered, false)
            && let Some(sacked) = sacked
            && !self.board.is_empty()
            && self.config.recovery == RecoveryRule::Linux
        {
            // The timer is restarted only if the SACKed data was sent before the head's latest transmission: SACKs of
            // later data must not postpone the timeout for ever.
            news.set_timer |= age_us(self.view.mstamp_us, sacked.first_us) > self.oldest_age_us();
        }
    }

    /// Segments from the lowest one, `seq`, to `end`, each sent once and neither selectively acknowledged nor marked
    /// lost, leave as one run. They lie in the order of their transmission, so only the last one matters to RACK.
    #[inline(always)]
    fn clean_originals(&mut self, seq: u32, end: u32, cleaned: &mut Cleaned, news: &mut AckNews) {
        if self.needs.in_flight_by_buffer {
            self.count_whole_buffer(end);
        }
        let count = end - seq;
        let last = self.board.get(end - 1);
        let last_sent = last.sent;
        cleaned.last_was_short = u32::from(last.len) < self.config.mss;
        cleaned.note_sent(self.board.get(seq).sent, last_sent, seq);
        cleaned.segments += count;
        news.original_acked |= seq < self.high_seq;
        self.view.packets_out -= count;
        // Without SACK duplicate ACKs have counted some of them already, and time is no judge.
        if !news.unless_expected(|| !self.config.sack) {
            self.count_delivered(count, news.ece);
            self.advance_rack(end - 1, last_sent, false);
        }
        self.rate.run_delivered(&mut self.sample, &self.board, (seq, end), self.view.mstamp_us, news.expected);
        self.board.pop_originals(end);
    }

    /// The lowest segment leaves, whatever its tags.
    #[inline]
    fn clean_one(&mut self, ack: &Ack, cleaned: &mut Cleaned, news: &mut AckNews) {
        let seq = self.board.una();
        let record = *self.board.get(seq);
        let was_sent_again = record.has(flag::RETRANS | flag::EVER_RETRANS);
        if was_sent_again {
            self.view.retrans_out -= u32::from(record.has(flag::RETRANS));
            news.retransmitted_data_acked = true;
        } else if !record.has(flag::SACKED) {
            cleaned.note_sent(record.sent, record.sent, seq);
            news.original_acked |= seq < self.high_seq;
        }
        if record.has(flag::SACKED) {
            self.view.sacked_out -= 1;
        } else if self.config.sack {
            self.count_delivered(1, news.ece);
            if !(was_sent_again && self.config.timestamps && proves_original(ack, &record)) {
                self.advance_rack(seq, record.sent, was_sent_again);
            }
        }
        self.view.lost_out -= u32::from(record.has(flag::LOST));
        self.view.packets_out -= 1;
        cleaned.segments += 1;
        cleaned.last_was_short = u32::from(record.len) < self.config.mss;
        if !record.has(flag::SACKED) {
            self.rate.skb_delivered(&mut self.sample, &record, seq, self.view.mstamp_us);
        }
        self.board.pop_una();
    }

    /// `count` segments are delivered, also with the echo of congestion (`tcp_count_delivered`).
    #[inline(always)]
    pub(super) fn count_delivered(&mut self, count: u32, ece: bool) {
        self.view.delivered += u64::from(count);
        if ece {
            self.view.delivered_ce += u64::from(count);
        }
    }

    /// Takes the round-trip times that an ACK of new data gives (`tcp_ack_update_rtt`).
    #[inline(always)]
    fn ack_update_rtt(
        &mut self,
        echo: Timestamp,
        cleaned: &Cleaned,
        prior: &Prior,
        sacked: Option<SentSpan>,
        news: &AckNews,
    ) {
        let has_originals = !news.unless_expected(|| cleaned.sent.first_us == 0);
        let delivered = Delivered {
            acked: has_originals.then_some(cleaned.sent),
            sacked,
            covers_data: news.data_acked,
            covers_retransmitted: news.retransmitted_data_acked,
            echo,
        };
        let maybe_delayed = cleaned.segments == 1
            && cleaned.last_was_short
            && has_originals
            && !news.retransmitted_data_acked
            && prior.sacked_out == 0
            && self.sample.prior_delivered + 1 == self.view.delivered
            && !(news.data_sacked || news.ece || news.dsack)
            && matches!(self.rtt.source(), RttSource::Departures { .. });
        self.take_rtt_of(&delivered, maybe_delayed);
    }

    /// Takes the round-trip times that follow from what an ACK delivers; returns whether there are any.
    #[inline(always)]
    fn take_rtt_of(&mut self, delivered: &Delivered, maybe_delayed: bool) -> bool {
        let source = self.rtt.source();
        if let Some(shown_us) = source.shown_without_sample_us() {
            self.sample.rtt_us = i64::from(shown_us);
        }
        let Some(rtt) = source.sample(self.view.now, self.view.mstamp_us, delivered) else { return false };
        let shown_us = self.rtt.take(self.view.mstamp_us, rtt, maybe_delayed, self.board.una(), self.board.nxt());
        self.sample.rtt_us = shown_us.cast_signed();
        self.sample.is_ack_delayed = maybe_delayed;
        self.view.srtt_us_x8 = self.rtt.estimator().srtt_us_x8();
        self.view.min_rtt_us = self.rtt.min_us();
        true
    }
}

impl Cleaned {
    /// Nothing, where segments below `nxt` were sent.
    #[inline(always)]
    fn nothing(nxt: u32) -> Cleaned {
        Cleaned { segments: 0, sent: SentSpan { first_us: 0, last_us: 0 }, reordered_from: nxt, last_was_short: false }
    }

    /// Segments from `seq` on, sent once, from `first` to `last`, leave the queue.
    #[inline(always)]
    fn note_sent(&mut self, first: Stamp, last: Stamp, seq: u32) {
        if self.sent.first_us == 0 {
            self.sent.first_us = first.us();
        }
        self.sent.last_us = last.us();
        self.reordered_from = self.reordered_from.min(seq);
    }
}

/// Whether the ACK echoes a segment older than the latest transmission of this one: the original arrived.
#[inline]
fn proves_original(ack: &Ack, record: &Record) -> bool {
    ack.echo.is_before(Timestamp::at_us(record.sent.us()))
}
