//! The sending endpoint: a TCP sender that behaves like Linux 6.18's.
//!
//! It is moved by four calls and nothing else: [`Sender::on_ack`], [`Sender::on_timer`], [`Sender::poll_transmit`] (until
//! it gives nothing more) and the application's [`Sender::write`]. Its parts follow the kernel's: the scoreboard, RTT
//! estimation, delivery-rate sampling, RACK loss detection and tail loss probes (`loss.rs`), the congestion-avoidance
//! state machine with PRR, F-RTO and undo (`recovery.rs`), and the transmission path with TSO sizing, deferral, small
//! queues and pacing (`output.rs`). The order of work for one ACK is that of `tcp_ack`.

mod dupthresh;
mod loss;
mod output;
mod recovery;
mod rtt;
mod scoreboard;
#[cfg(test)]
mod tests;

use crate::{
    Ack, Completion, ControllerRtt, DeliveryRate, LossDetection, Pacing, RecoveryRule, SackBlock, TransportConfig,
};
use dumbbell_cc::{AckFlags, CaState, Connection, Controller, RateSample};
use dumbbell_units::{Duration, Time};
use output::HostQueue;
use recovery::Undo;
use rtt::{RttEstimator, WindowedMin};
use scoreboard::{Scoreboard, flag};
use std::sync::Arc;

/// What a receiver that sizes its window offers in the handshake.
const SYN_ACK_WINDOW_BYTES: u64 = 65_160;

/// Counters of a [`Sender`] over its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments transmitted, retransmissions included.
    pub sent_segments: u64,
    /// Retransmitted segments.
    pub retransmitted_segments: u64,
    /// Payload bytes transmitted, retransmissions included.
    pub sent_bytes: u64,
    /// Expiries of the retransmission timer.
    pub rto_count: u64,
    /// Tail loss probes sent.
    pub probe_count: u64,
    /// Reductions taken back because they proved spurious.
    pub undo_count: u64,
    /// Entries into fast recovery.
    pub recovery_count: u64,
    /// Duplicates the receiver reported (DSACK).
    pub dsacked_segments: u64,
}

/// The one timer of the sender and what it is armed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    None,
    Retransmission,
    Reordering,
    Probe,
}

/// What the ACK in work asks to be retransmitted (`enum tcp_rexmit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retransmit {
    Nothing,
    Lost,
    NewDataFirst,
}

/// What an ACK turned out to be while it is processed (the `FLAG_*` bits of `tcp_input.c`).
#[derive(Clone, Copy, Debug, Default)]
struct AckNews {
    advanced: bool,
    data_acked: bool,
    data_sacked: bool,
    window_update: bool,
    ece: bool,
    dsack: bool,
    dsack_of_probe: bool,
    retransmitted_data_acked: bool,
    original_acked: bool,
    lost_retransmission: bool,
    reneged: bool,
    set_timer: bool,
}

/// RACK's memory of the most recently sent segment among those delivered (RFC 8985).
#[derive(Clone, Debug, Default)]
struct Rack {
    sent_us: u64,
    end: u32,
    rtt_us: u32,
    advanced: bool,
    dsack_seen: bool,
    window_steps: u32,
    window_persist: u32,
    last_delivered: u64,
}

/// What ns-3's sampler remembers from ACK to ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Ns3Sample {
    /// The source of the last sample as it was when the source was delivered; its prior time is 0 after a discard.
    source: RateSample,
    send_phase_us: i64,
    ack_phase_us: i64,
    /// The last rate that was computed.
    delivered: i32,
    interval_us: i64,
}

/// A TCP sender.
pub struct Sender {
    config: Arc<TransportConfig>,
    connection: Connection,
    controller: Box<dyn Controller>,
    full_control: bool,
    established: bool,
    board: Scoreboard,
    rtt: RttEstimator,
    min_rtt: WindowedMin,
    sample: RateSample,
    first_tx_us: u64,
    sample_end: u32,
    /// `lost` and `delivered_ce` when the sampled segment was sent.
    sample_source: (u32, u32),
    /// What the sampling rules of ns-3 remember.
    ns3_sample: Ns3Sample,
    rack: Rack,
    /// Segments below were judged by the duplicate threshold.
    judged_below: u32,

    high_seq: u32,
    undo: Undo,
    prior_ssthresh: u32,
    prr_delivered: u32,
    prr_out: u32,
    /// A partial ACK of this fast recovery restarted the timer.
    partially_acked: bool,
    /// Segments below were considered for rescue in this fast recovery.
    rescued_below: u32,
    reordering: u32,
    reord_seen: bool,
    highest_sacked: u32,
    frto: bool,
    retransmits: u32,
    probe_end: Option<u32>,
    probe_was_retransmission: bool,
    /// The tail that a retransmitted probe repeats was sent while the application was the limit.
    probe_is_app_limited: bool,
    send_cwr: bool,

    write_seq: u32,
    last_len: u16,
    window_end: u32,
    max_window: u32,
    usage_seq: u32,
    cwnd_used: u32,
    cwnd_stamp: u32,

    timer: Timer,
    timer_at: Time,
    pacing_blocked: bool,
    retransmit: Retransmit,
    in_burst: output::Burst,
    send_stamp: output::SendStamp,
    sent_in_loop: u32,
    /// Where completions are reported.
    host_queue: Option<Box<HostQueue>>,
    jiffy: Duration,
    tick_start: Time,
    stats: SenderStats,
}

impl Sender {
    /// A sender without data and without a connection; `controller` governs its window. Senders of many flows share their
    /// configuration.
    pub fn new(config: Arc<TransportConfig>, controller: Box<dyn Controller>) -> Sender {
        let mut connection = Connection::new(config.mss);
        connection.cwnd = config.initial_cwnd;
        connection.hz = config.hz.max(1);
        connection.pacing_shift = config.pacing_shift;
        connection.gso_max_bytes = config.gso_max_bytes;
        connection.paced = match config.pacing {
            Pacing::Auto => controller.wants_pacing(),
            Pacing::On => true,
            Pacing::Off => false,
        };
        let first_window = match config.receive_autotuning {
            true => config.receive_window.min(SYN_ACK_WINDOW_BYTES),
            false => config.receive_window,
        };
        let micros = |span: Duration| span.as_micros().min(u64::from(u32::MAX)) as u32;
        Sender {
            full_control: controller.full_control(),
            controller,
            connection,
            established: false,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(config.rto_rule, micros(config.rto_min), micros(config.rto_max)),
            min_rtt: WindowedMin::new(),
            sample: RateSample::invalid(),
            first_tx_us: 0,
            sample_end: 0,
            sample_source: (0, 0),
            ns3_sample: Ns3Sample::default(),
            rack: Rack { window_steps: 1, ..Rack::default() },
            judged_below: 0,
            high_seq: 0,
            undo: Undo::default(),
            prior_ssthresh: 0,
            prr_delivered: 0,
            prr_out: 0,
            partially_acked: false,
            rescued_below: 0,
            reordering: config.reordering,
            reord_seen: false,
            highest_sacked: 0,
            frto: false,
            retransmits: 0,
            probe_end: None,
            probe_was_retransmission: false,
            probe_is_app_limited: false,
            send_cwr: false,
            write_seq: 0,
            last_len: config.mss as u16,
            window_end: (first_window / u64::from(config.mss)).min(u64::from(u32::MAX)) as u32,
            max_window: 0,
            usage_seq: 0,
            cwnd_used: 0,
            cwnd_stamp: 0,
            timer: Timer::None,
            timer_at: Time::NEVER,
            pacing_blocked: false,
            retransmit: Retransmit::Nothing,
            in_burst: output::Burst::default(),
            send_stamp: output::SendStamp::default(),
            sent_in_loop: 0,
            host_queue: (config.completion == Completion::Wire).then(Box::default),
            jiffy: Duration::from_nanos(1_000_000_000 / u64::from(config.hz.max(1))),
            tick_start: Time::ZERO,
            stats: SenderStats::default(),
            config,
        }
    }

    /// The handshake is complete; it took `handshake_rtt` and `syn_retransmits` repetitions of the SYN.
    pub fn establish(&mut self, now: Time, handshake_rtt: Duration, syn_retransmits: u32) {
        self.refresh_clock(now);
        self.established = true;
        let rtt_us = (handshake_rtt.as_micros() as u32).max(1);
        self.rtt.sample(rtt_us, 0, 0);
        self.min_rtt.update(self.connection.mstamp_us, rtt_us);
        let connection = &mut self.connection;
        connection.srtt_us_x8 = self.rtt.srtt_x8;
        connection.min_rtt_us = rtt_us;
        // The SYN counts as one delivered packet.
        connection.delivered = 1;
        connection.delivered_mstamp_us = connection.mstamp_us;
        self.first_tx_us = connection.mstamp_us;
        if syn_retransmits > 1 {
            connection.cwnd = 1;
        }
        self.cwnd_stamp = connection.jiffies;
        self.update_pacing_rate();
        self.controller.init(&mut self.connection);
    }

    /// The application hands over `segments` more segments; the last one carries `last_len` payload bytes.
    pub fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        self.refresh_clock(now);
        self.mark_app_limited();
        if self.connection.packets_out == 0 {
            self.restart_after_idle();
        }
        self.write_seq = self.write_seq.saturating_add(segments);
        self.last_len = last_len;
    }

    /// The application has nothing more to say: what is not yet sent never will be.
    pub fn close(&mut self) {
        self.write_seq = self.board.nxt();
    }

    /// Whether everything written has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.board.is_empty() && self.board.nxt() == self.write_seq
    }

    /// Segments written and not yet sent once.
    pub fn unsent_segments(&self) -> u32 {
        self.write_seq - self.board.nxt()
    }

    /// The connection as its controller sees it.
    #[inline]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The controller.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// Counters.
    #[inline]
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// The rate sample of the latest ACK.
    #[inline]
    pub fn last_sample(&self) -> &RateSample {
        &self.sample
    }

    /// Adaptive duplicate-ACK threshold, in segments.
    pub fn reordering(&self) -> u32 {
        self.reordering
    }

    /// Current retransmission timeout.
    pub fn rto(&self) -> Duration {
        Duration::from_micros(u64::from(self.rtt.rto_us()))
    }

    /// Bytes of memory held by the scoreboard.
    pub fn memory(&self) -> usize {
        self.board.memory()
    }

    /// Sets the connection's clocks to `now`.
    #[inline]
    fn refresh_clock(&mut self, now: Time) {
        let connection = &mut self.connection;
        connection.now = now;
        connection.mstamp_us = now.as_micros();
        let elapsed = now.since(self.tick_start);
        if elapsed >= self.jiffy {
            let ticks = elapsed.as_nanos() / self.jiffy.as_nanos();
            self.tick_start += self.jiffy * ticks;
            connection.jiffies = connection.jiffies.wrapping_add(ticks as u32);
        }
    }

    /// Time since a departure, 0 when pacing has stamped it ahead of now (`tcp_stamp_us_delta`).
    #[inline]
    fn age_us(&self, sent_us: u64) -> u64 {
        self.connection.mstamp_us.saturating_sub(sent_us)
    }

    /// When a coarse timer of `micros` armed now fires: whole ticks of the kernel's clock.
    #[inline]
    fn coarse_deadline(&self, micros: u64) -> Time {
        let ticks = (micros * 1_000).div_ceil(self.jiffy.as_nanos());
        self.tick_start + self.jiffy * ticks
    }

    #[inline]
    fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&mut self.connection, state);
        self.connection.ca_state = state;
    }

    /// An acknowledgement arrives. Transmissions it allows come from [`Sender::poll_transmit`].
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.ack > self.board.nxt() || !self.established {
            return;
        }
        self.refresh_clock(now);
        self.send_stamp.begin_event();
        let prior_una = self.board.una();
        let prior_delivered = self.connection.delivered;
        let prior_lost = self.connection.lost;
        let prior_highest_sacked = self.highest_sacked_or_una();
        let prior_sacked_out = self.connection.sacked_out;
        let prior_in_flight = self.connection.in_flight();
        let mut news = AckNews { ece: ack.ece, advanced: ack.ack > prior_una, ..AckNews::default() };
        let prior_lost_out = self.connection.lost_out;
        // ns-3's source outlives the ACK.
        let source = if self.samples_like_ns3() { self.ns3_sample.source } else { RateSample::invalid() };
        self.sample = RateSample { prior_in_flight, is_ece: ack.ece, ..source };
        self.sample_end = 0;

        if news.advanced {
            self.retransmits = 0;
        }
        if ack.ack >= prior_una {
            let window_end = ack.ack.saturating_add(ack.window);
            news.window_update = window_end > self.window_end && !news.advanced;
            self.window_end = self.window_end.max(window_end);
            self.max_window = self.max_window.max(ack.window);
        }

        let mut sack_rtt = None;
        let mut reordered_from = self.board.nxt();
        if ack.sack_count > 0 {
            self.process_sacks(ack, prior_una, &mut news, &mut sack_rtt, &mut reordered_from);
        }
        if self.connection.packets_out == 0 {
            if news.dsack {
                self.run_state_machine(prior_una, 0, &mut news, ack);
            }
            return;
        }
        self.retransmit = Retransmit::Nothing;
        if ack.ack < prior_una {
            // Overtaken by a later ACK: no duplicate, but what it reports selectively may be news.
            if ack.sack_count > 0 {
                self.run_state_machine(prior_una, 0, &mut news, ack);
                self.sample.interval_us = -1;
            }
            return;
        }

        let acked = self.clean_acked(ack, prior_highest_sacked, prior_sacked_out, sack_rtt, &mut news);
        self.update_rack_window();
        let flags = AckFlags {
            slow_path: ack.sack_count > 0 || !news.advanced,
            ece: news.ece,
            window_update: news.window_update,
        };
        self.controller.in_ack_event(&mut self.connection, flags);
        if acked > 0 || news.data_sacked {
            self.controller.pkts_acked(&mut self.connection, acked, self.sample.rtt_us, prior_in_flight);
        }
        self.end_probe_episode(ack, &news);

        let suspicious = news.data_sacked || news.ece || news.dsack;
        let not_duplicate = news.data_acked || news.window_update;
        if !not_duplicate || suspicious || self.connection.ca_state != CaState::Open {
            let dupacks = u32::from(!news.advanced && !not_duplicate && !news.dsack);
            self.run_state_machine(prior_una, dupacks, &mut news, ack);
        }
        if news.set_timer && self.timer_restarts() {
            self.set_timer_after_ack();
        }

        let delivered = (self.connection.delivered - prior_delivered) as u32;
        let losses = match self.config.recovery {
            RecoveryRule::Linux => (self.connection.lost - prior_lost) as u32,
            RecoveryRule::Ns3 => self.connection.lost_out.abs_diff(prior_lost_out),
        };
        self.finish_sample(delivered, losses, news.reneged);
        if self.full_control {
            let unsent = self.unsent_segments() > 0;
            self.connection.no_unsent_data = !unsent;
            self.connection.receive_window_full = unsent && self.board.nxt() >= self.window_end;
            self.controller.cong_control(&mut self.connection, &self.sample);
        } else {
            if matches!(self.connection.ca_state, CaState::Cwr | CaState::Recovery) {
                self.reduce_proportionally(delivered, losses, news.advanced);
            } else if news.data_acked || (self.reordering > self.config.reordering && news.data_sacked) {
                self.controller.cong_avoid(&mut self.connection, delivered);
                self.cwnd_stamp = self.connection.jiffies;
            }
            self.update_pacing_rate();
        }
    }

    /// Tags the segments that SACK blocks report (`tcp_sacktag_write_queue`).
    fn process_sacks(
        &mut self,
        ack: &Ack,
        prior_una: u32,
        news: &mut AckNews,
        sack_rtt: &mut Option<(u64, u64)>,
        reordered_from: &mut u32,
    ) {
        let blocks = ack.sack_blocks();
        let first = blocks[0];
        let is_dsack = first.start < ack.ack
            || blocks.get(1).is_some_and(|second| first.end <= second.end && first.start >= second.start);
        let fresh_from = if is_dsack { 1 } else { 0 };
        if is_dsack {
            self.process_dsack(first.start, first.end, prior_una, news, reordered_from);
        }
        // In ascending order: a lower block is overtaken only by what earlier ACKs reported.
        let mut sorted = [SackBlock::default(); Ack::MAX_SACK_BLOCKS];
        let fresh = &mut sorted[..blocks.len() - fresh_from];
        fresh.copy_from_slice(&blocks[fresh_from..]);
        fresh.sort_unstable_by_key(|block| block.start);
        for block in fresh {
            let start = block.start.max(self.board.una());
            let end = block.end.min(self.board.nxt());
            let mut from = start;
            while let Some(seq) = self.board.next_unsacked(from, end) {
                self.tag_sacked(seq, news, sack_rtt, reordered_from);
                from = seq + 1;
            }
            if start < end {
                self.highest_sacked = self.highest_sacked.max(end);
            }
        }
        if self.connection.ca_state != CaState::Loss || self.undo.marker.is_some() {
            self.note_reordering(*reordered_from);
        }
    }

    /// One segment is newly reported by SACK (`tcp_sacktag_one`).
    fn tag_sacked(
        &mut self,
        seq: u32,
        news: &mut AckNews,
        sack_rtt: &mut Option<(u64, u64)>,
        reordered_from: &mut u32,
    ) {
        let record = *self.board.get(seq);
        self.advance_rack(seq, record.sent_us, record.has(flag::RETRANS | flag::EVER_RETRANS));
        let connection = &mut self.connection;
        if record.has(flag::RETRANS) {
            // Without a loss mark the retransmission is believed to be still in flight.
            if record.has(flag::LOST) {
                self.board.get_mut(seq).flags &= !flag::LOST;
                connection.lost_out -= 1;
                if self.config.recovery == RecoveryRule::Linux {
                    self.board.get_mut(seq).flags &= !flag::RETRANS;
                    connection.retrans_out -= 1;
                }
            }
        } else {
            if !record.has(flag::EVER_RETRANS) {
                if seq < self.highest_sacked {
                    *reordered_from = (*reordered_from).min(seq);
                }
                if seq < self.high_seq {
                    news.original_acked = true;
                }
                let (first, _) = sack_rtt.unwrap_or((record.sent_us, 0));
                *sack_rtt = Some((first, record.sent_us));
            }
            if record.has(flag::LOST) {
                self.board.get_mut(seq).flags &= !flag::LOST;
                connection.lost_out -= 1;
            }
        }
        connection.sacked_out += 1;
        connection.delivered += 1;
        if news.ece {
            connection.delivered_ce += 1;
        }
        news.data_sacked = true;
        self.board.set_sacked(seq);
        self.offer_sample(seq);
        self.board.get_mut(seq).delivered_us = 0;
        self.highest_sacked = self.highest_sacked.max(seq + 1);
    }

    /// The receiver reports a duplicate (`tcp_check_dsack`, `tcp_dsack_seen`).
    fn process_dsack(&mut self, start: u32, end: u32, prior_una: u32, news: &mut AckNews, reordered_from: &mut u32) {
        let duplicates = end.saturating_sub(start);
        if duplicates == 0 || duplicates > self.max_window {
            return;
        }
        if duplicates == 1 && self.probe_end == Some(end) {
            news.dsack_of_probe = true;
        }
        self.stats.dsacked_segments += u64::from(duplicates);
        // A path that duplicates packets by itself tells nothing about our retransmissions.
        if self.stats.dsacked_segments > self.stats.retransmitted_segments {
            return;
        }
        if self.reord_seen && !news.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        news.dsack = true;
        self.connection.delivered += u64::from(duplicates);
        let marker = self.undo.marker;
        if end <= prior_una && marker.is_some_and(|marker| end > marker) {
            self.undo.forget_retransmissions(duplicates);
        }
        for seq in start.max(self.board.una())..end.min(self.board.nxt()) {
            let record = *self.board.get(seq);
            if record.has(flag::RETRANS | flag::EVER_RETRANS) {
                if marker.is_some_and(|marker| seq + 1 > marker) {
                    self.undo.forget_retransmissions(1);
                }
                if record.has(flag::SACKED) {
                    *reordered_from = (*reordered_from).min(seq);
                }
            }
            if record.has(flag::RETRANS) {
                self.board.get_mut(seq).flags &= !flag::RETRANS;
                self.connection.retrans_out -= 1;
                if record.has(flag::LOST) {
                    self.board.set_waiting(seq);
                }
            }
        }
    }

    /// Removes what the ACK covers, takes RTT samples and detects reordering (`tcp_clean_rtx_queue`). Returns how many
    /// segments left the queue.
    fn clean_acked(
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
                    self.connection.delivered += u64::from(count);
                    if news.ece {
                        self.connection.delivered_ce += u64::from(count);
                    }
                }
                self.connection.packets_out -= count;
                acked += count;
                self.advance_rack(end - 1, last.sent_us, false);
                let offered = if self.config.delivery_rate == DeliveryRate::Linux { end - 1 } else { seq };
                for seq in offered..end {
                    self.offer_sample(seq);
                }
                self.board.pop_originals(end);
                continue;
            }
            let record = *self.board.get(seq);
            let flags = record.flags;
            if flags & (flag::RETRANS | flag::EVER_RETRANS) != 0 {
                if flags & flag::RETRANS != 0 {
                    self.connection.retrans_out -= 1;
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
                self.connection.sacked_out -= 1;
            } else {
                if self.config.sack {
                    self.connection.delivered += 1;
                    if news.ece {
                        self.connection.delivered_ce += 1;
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
                self.connection.lost_out -= 1;
            }
            self.connection.packets_out -= 1;
            acked += 1;
            last_was_short = u32::from(record.len) < self.config.mss;
            self.offer_sample(seq);
            self.board.pop_una();
        }
        self.connection.snd_una = u64::from(self.board.una());
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
                && self.sample.prior_delivered + 1 == self.connection.delivered
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
            let ticks = timestamp_ticks(self.connection.now).saturating_sub(timestamp_ticks(ack.echo)).max(1);
            rtt_us = Some(ticks * 1_000);
            latest_rtt_us = rtt_us;
        }
        let has_rtt = rtt_us.is_some();
        if let (Some(rtt_us), Some(latest)) = (rtt_us, latest_rtt_us) {
            self.rtt.sample(rtt_us as u32, self.board.una(), self.board.nxt());
            self.connection.srtt_us_x8 = self.rtt.srtt_x8;
            let shown = match self.config.controller_rtt {
                ControllerRtt::Last => latest,
                ControllerRtt::Smoothed => u64::from(self.rtt.srtt_x8 >> 3),
            };
            self.sample.rtt_us = shown as i64;
            self.sample.is_ack_delayed = maybe_delayed;
            if !(maybe_delayed && shown > u64::from(self.min_rtt.get())) {
                self.min_rtt.update(self.connection.mstamp_us, (shown as u32).max(1));
                self.connection.min_rtt_us = self.min_rtt.get();
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

    /// One above the highest selectively acknowledged segment (`tcp_highest_sack_seq`).
    #[inline]
    fn highest_sacked_or_una(&self) -> u32 {
        if self.connection.sacked_out == 0 { self.board.una() } else { self.highest_sacked }
    }

    // Delivery-rate sampling (`tcp_rate.c`).

    /// Offers a delivered segment as the source of this ACK's sample (`tcp_rate_skb_delivered`).
    #[inline]
    fn offer_sample(&mut self, seq: u32) {
        let record = self.board.get(seq);
        if record.delivered_us == 0 {
            return;
        }
        let newer = match self.config.delivery_rate {
            DeliveryRate::Linux => (record.sent_us, seq + 1) > (self.first_tx_us, self.sample_end),
            DeliveryRate::LinuxOld | DeliveryRate::Ns3 | DeliveryRate::Ns3Before341 => {
                record.delivered > self.sample.prior_delivered
            }
        };
        if self.sample.prior_delivered == 0 || newer {
            if self.samples_like_ns3() {
                let ack_phase_from = match self.config.delivery_rate {
                    DeliveryRate::Ns3Before341 => self.sample.prior_mstamp_us,
                    _ => record.delivered_us,
                };
                self.ns3_sample.ack_phase_us = (self.connection.mstamp_us - ack_phase_from) as i64;
                self.ns3_sample.send_phase_us = record.sent_us.wrapping_sub(record.first_tx_us) as i64;
            }
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
    }

    /// Completes the sample of this ACK (`tcp_rate_gen`).
    fn finish_sample(&mut self, delivered: u32, losses: u32, reneged: bool) {
        let connection = &mut self.connection;
        if connection.app_limited != 0 && connection.delivered > connection.app_limited {
            connection.app_limited = 0;
        }
        if delivered > 0 {
            connection.delivered_mstamp_us = connection.mstamp_us;
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
        let (lost_at_send, ce_at_send) = self.sample_source;
        sample.delivered = (connection.delivered - sample.prior_delivered) as i32;
        sample.lost_since_sent = (connection.lost as u32).wrapping_sub(lost_at_send) as i32;
        sample.delivered_ce = (connection.delivered_ce as u32).wrapping_sub(ce_at_send) as i32;
        if matches!(self.config.delivery_rate, DeliveryRate::Ns3 | DeliveryRate::Ns3Before341) {
            self.finish_ns3_sample();
            return;
        }
        let ack_phase_us = connection.mstamp_us as i64 - sample.prior_mstamp_us as i64;
        sample.interval_us = sample.interval_us.max(ack_phase_us);
        if sample.interval_us < i64::from(connection.min_rtt_us) {
            sample.interval_us = -1;
        }
    }

    #[inline]
    fn samples_like_ns3(&self) -> bool {
        matches!(self.config.delivery_rate, DeliveryRate::Ns3 | DeliveryRate::Ns3Before341)
    }

    /// ns-3 keeps the last rate where a sample is lower and application-limited, and before 3.41 also where a sample is
    /// discarded, which its controller then takes for a new one.
    fn finish_ns3_sample(&mut self) {
        let sample = &mut self.sample;
        let last = &mut self.ns3_sample;
        sample.interval_us = last.send_phase_us.max(last.ack_phase_us);
        let is_valid = sample.interval_us >= i64::from(self.connection.min_rtt_us);
        last.source = RateSample {
            prior_delivered: sample.prior_delivered,
            prior_mstamp_us: if is_valid { sample.prior_mstamp_us } else { 0 },
            is_app_limited: sample.is_app_limited,
            is_retrans: sample.is_retrans,
            tx_in_flight: sample.tx_in_flight,
            ..RateSample::invalid()
        };
        if !is_valid {
            sample.interval_us = -1;
        }
        if is_valid {
            let is_lower =
                i64::from(sample.delivered) * last.interval_us < i64::from(last.delivered) * sample.interval_us;
            if sample.is_app_limited && is_lower {
                (sample.delivered, sample.interval_us) = (last.delivered, last.interval_us);
            } else {
                (last.delivered, last.interval_us) = (sample.delivered, sample.interval_us);
            }
        } else {
            self.repeat_last_rate();
        }
    }

    /// Before 3.41 an ACK without a sample of its own hands out the last rate.
    fn repeat_last_rate(&mut self) {
        let last = &self.ns3_sample;
        if self.config.delivery_rate == DeliveryRate::Ns3Before341 && last.interval_us > 0 {
            (self.sample.delivered, self.sample.interval_us) = (last.delivered, last.interval_us);
        }
    }
}

/// The timestamp option's clock: milliseconds.
#[inline]
fn timestamp_ticks(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
