//! Delivery-rate sampling (`tcp_rate.c`, draft-cheng-iccrg-delivery-rate-estimation): how fast the network delivered
//! what an ACK reports.
//!
//! A sample is the data delivered between two instants, divided by the longer of two times: the time it took to send
//! that data (send phase) and the time it took to be acknowledged (ACK phase). Both begin with what is noted in the
//! record of a segment when it leaves. The segment of an ACK from which the sample is taken is its *source*. Which one
//! that is, and what happens to samples whose interval is too short, has changed over the years and differs in ns-3;
//! [`RateSampler`] is one of these rules, chosen when a connection begins. QUIC's sampler has a state and a type of its
//! own, [`ChromiumSampler`].
//!
//! An ACK is `in_order` if the rule is Linux's and the ACK delivers one run of segments that were sent once, the last
//! of which was not sent in the first microsecond of a run: then that one is the source, whatever else a rule asks for.

mod ack_points;
mod app_limited;
mod chromium;
mod linux;
mod linux_old;
mod ns3;
#[cfg(test)]
mod tests;

use crate::scoreboard::{Record, Scoreboard, flag};
use crate::send_stamp::Stamp;
pub use app_limited::{AppLimit, check_app_limited, end_app_limited};
pub use chromium::{ChromiumSampler, SentSnapshot};
use dumbbell_cc_contract::{Control, RateSample, View};
use ns3::Ns3;

/// The rule by which samples are taken.
#[derive(Clone, Debug)]
enum Rule {
    Linux,
    LinuxOld,
    Ns3(Box<Ns3>),
}

/// What every sampler of a TCP sender remembers.
#[derive(Clone, Debug, Default)]
struct Source {
    /// `first_tx_mstamp`: when the segment that was sampled last was sent, or the one that restarted an empty pipe.
    first_tx: Stamp,
    /// One above the segment that this ACK's sample is taken from, 0 before there is one (`last_end_seq`).
    end: u32,
    /// `lost` when that segment was sent (low bits).
    lost: u32,
    /// `delivered_ce` when that segment was sent (low bits).
    delivered_ce: u32,
}

/// The sampler of a TCP sender.
#[derive(Clone, Debug)]
pub struct RateSampler {
    source: Source,
    rule: Rule,
}

impl RateSampler {
    fn new(rule: Rule) -> RateSampler {
        RateSampler { source: Source::default(), rule }
    }

    /// From the segment sent last among those an ACK delivers (Linux since 5.19).
    pub fn linux() -> RateSampler {
        RateSampler::new(Rule::Linux)
    }

    /// From the first segment with the largest delivered count (Linux before 5.19).
    pub fn linux_before_5_19() -> RateSampler {
        RateSampler::new(Rule::LinuxOld)
    }

    /// ns-3's since 3.41.
    pub fn ns3() -> RateSampler {
        RateSampler::new(Rule::Ns3(Box::new(Ns3::new(false))))
    }

    /// ns-3's before 3.41, with its issue 1026.
    pub fn ns3_before_3_41() -> RateSampler {
        RateSampler::new(Rule::Ns3(Box::new(Ns3::new(true))))
    }

    /// When the source of the latest sample was sent, or the segment that restarted an empty pipe (`first_tx_mstamp`).
    #[inline]
    pub fn first_tx_us(&self) -> u64 {
        self.source.first_tx.us()
    }

    /// A segment is sent at `sent` into an empty pipe: both phases begin with it.
    #[inline]
    pub fn restart(&mut self, sent: Stamp) {
        self.source.first_tx = sent;
    }

    /// Whether what is sent now finds the pipe empty.
    #[inline]
    pub fn finds_empty_pipe(&self, view: &View) -> bool {
        match self.rule {
            // What is marked lost may still be in the pipe.
            Rule::Linux | Rule::LinuxOld => view.packets_out == 0,
            Rule::Ns3(_) => view.in_flight() == 0,
        }
    }

    /// The record of a segment that is sent at `sent` (`tcp_rate_skb_sent`); the amount in flight is that before it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are kept, as their names say")]
    pub fn skb_sent(&self, view: &View, control: &Control, sent: Stamp) -> Record {
        Record {
            sent,
            first_tx_us: self.source.first_tx.us(),
            delivered_us: view.delivered_mstamp_us,
            delivered: view.delivered,
            lost: view.lost as u32,
            delivered_ce: view.delivered_ce as u32,
            tx_in_flight: view.in_flight(),
            flags: if control.app_limited != 0 { flag::APP_LIMITED } else { 0 },
            ..Record::default()
        }
    }

    /// An ACK arrives: the sample begins anew, with no source. One `in_order` will get a source, which sets everything
    /// else.
    #[inline(always)]
    pub fn begin_ack(&mut self, sample: &mut RateSample, prior_in_flight: u32, is_ece: bool, in_order: bool) {
        if !in_order {
            self.source.end = 0;
            *sample = RateSample::invalid();
            if let Rule::Ns3(ns3) = &self.rule {
                ns3.begin_ack(sample);
            }
        }
        sample.prior_in_flight = prior_in_flight;
        sample.is_ece = is_ece;
        sample.is_acking_tlp = false;
    }

    /// Segment `seq` was delivered (`tcp_rate_skb_delivered`).
    #[inline]
    pub fn skb_delivered(&mut self, sample: &mut RateSample, record: &Record, seq: u32, now_us: u64) {
        // It was delivered and sampled before.
        if record.delivered_us == 0 {
            return;
        }
        let has_source = sample.prior_delivered != 0;
        let is_newer = match &mut self.rule {
            Rule::Linux => linux::is_newer(&self.source, record, seq),
            Rule::LinuxOld => linux_old::is_newer(sample, record),
            Rule::Ns3(ns3) => ns3.offer(sample, record, now_us),
        };
        if !has_source || is_newer {
            self.take(sample, record, seq);
        }
    }

    /// The segments of `first..end`, each sent once and one after the other, were delivered.
    #[inline(always)]
    pub fn run_delivered(
        &mut self,
        sample: &mut RateSample,
        board: &Scoreboard,
        (first, end): (u32, u32),
        now_us: u64,
        in_order: bool,
    ) {
        // Of segments in the order of their transmission only the last one can be Linux's source.
        let last = board.get(end - 1);
        debug_assert!(!in_order || (matches!(self.rule, Rule::Linux) && last.delivered_us != 0));
        if in_order {
            self.take(sample, last, end - 1);
        } else if !matches!(self.rule, Rule::Linux) {
            self.each_delivered(sample, board, first, end, now_us);
        } else {
            self.skb_delivered(sample, last, end - 1, now_us);
        }
    }

    #[inline(never)]
    fn each_delivered(&mut self, sample: &mut RateSample, board: &Scoreboard, first: u32, end: u32, now_us: u64) {
        for seq in first..end {
            self.skb_delivered(sample, board.get(seq), seq, now_us);
        }
    }

    /// Makes segment `seq` the source of this ACK's sample.
    #[inline(always)]
    fn take(&mut self, sample: &mut RateSample, record: &Record, seq: u32) {
        sample.prior_delivered = record.delivered;
        sample.prior_mstamp_us = record.delivered_us;
        sample.is_app_limited = record.has(flag::APP_LIMITED);
        sample.is_retrans = record.has(flag::RETRANS | flag::EVER_RETRANS);
        sample.tx_in_flight = record.tx_in_flight;
        sample.interval_us = send_phase_us(record);
        self.source =
            Source { first_tx: record.sent, end: seq + 1, lost: record.lost, delivered_ce: record.delivered_ce };
    }

    /// Completes the sample of an ACK that delivered `delivered` packets and showed `losses` (`tcp_rate_gen`). With
    /// `reneged` the receiver has dropped what it had acknowledged.
    #[inline(always)]
    pub fn generate(
        &mut self,
        sample: &mut RateSample,
        view: &View,
        (delivered, losses): (u32, u32),
        reneged: bool,
        in_order: bool,
    ) {
        sample.acked_sacked = delivered;
        sample.losses = losses;
        if !in_order && (sample.prior_mstamp_us == 0 || reneged) {
            sample.delivered = -1;
            sample.interval_us = -1;
            if let Rule::Ns3(ns3) = &self.rule {
                ns3.without_source(sample);
            }
            return;
        }
        self.count(sample, view);
        match &mut self.rule {
            Rule::Ns3(ns3) if !in_order => ns3.measure(sample, view.min_rtt_us),
            _ => linux::measure(sample, view),
        }
    }

    /// What was delivered, lost and marked since the source of the sample was sent.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "of one flight, which is shorter than 2^31 packets")]
    fn count(&self, sample: &mut RateSample, view: &View) {
        sample.delivered = (view.delivered - sample.prior_delivered) as i32;
        sample.lost_since_sent = (view.lost as u32).wrapping_sub(self.source.lost).cast_signed();
        sample.delivered_ce = (view.delivered_ce as u32).wrapping_sub(self.source.delivered_ce).cast_signed();
    }
}

/// Time from the departure of the segment that was sampled before this one was sent to that of this one.
#[inline]
fn send_phase_us(record: &Record) -> i64 {
    record.sent.us().wrapping_sub(record.first_tx_us).cast_signed()
}
