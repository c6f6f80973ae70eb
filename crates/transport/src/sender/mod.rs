//! The sending endpoint: a TCP sender that behaves like Linux 6.18's.
//!
//! It is moved by four calls and nothing else: [`Sender::on_ack`], [`Sender::on_timer`], [`Sender::poll_transmit`] (until
//! it gives nothing more) and the application's [`Sender::write`]. Its parts follow the kernel's: the scoreboard, RTT
//! estimation, selective acknowledgements (`sack.rs`), the removal of what is acknowledged (`clean.rs`), delivery-rate
//! sampling (`sampling.rs`), RACK loss detection and tail loss probes (`loss.rs`), the congestion-avoidance state machine
//! with PRR, F-RTO and undo (`recovery.rs`), and the transmission path with TSO sizing, deferral, small queues and pacing
//! (`output.rs`). The order of work for one ACK is that of `tcp_ack`.

mod clean;
mod dupthresh;
mod loss;
mod output;
mod predicted;
mod recovery;
mod rtt;
mod sack;
mod sampling;
mod scoreboard;
#[cfg(test)]
mod tests;

use crate::{Ack, Completion, LossDetection, Pacing, RecoveryRule, RttSamples, SackBlock, TransportConfig};
use dumbbell_cc::{AckFlags, CaState, Control, Controller, Hooks, RateSample, View};
use dumbbell_units::{Duration, Time};
pub use output::Burst;
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
    /// The round-trip time that the controller was shown last.
    rtt_us: i64,
}

/// A TCP sender.
pub struct Sender {
    config: Arc<TransportConfig>,
    view: View,
    control: Control,
    controller: Box<dyn Controller>,
    full_control: bool,
    hooks: Hooks,
    /// Tail loss probes are allowed, and possible.
    probes: bool,
    /// The configuration allows to [predict](predicted) ACKs.
    may_predict: bool,
    established: bool,
    board: Scoreboard,
    rtt: RttEstimator,
    min_rtt: WindowedMin,
    sample: RateSample,
    first_tx_us: u64,
    sample_end: u32,
    /// `lost` and `delivered_ce` when the sampled segment was sent.
    sample_source: (u32, u32),
    /// What the sampling rules of ns-3 remember, where they are in force.
    ns3_sample: Option<Box<Ns3Sample>>,
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
    /// The SACK blocks of the latest ACK that had any: all they tell is known.
    reported: [SackBlock; Ack::MAX_SACK_BLOCKS],
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
    /// What is to leave next.
    ready: Burst,
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
        let paced = match config.pacing {
            Pacing::Auto => controller.wants_pacing(),
            Pacing::On => true,
            Pacing::Off => false,
        };
        let view = View { hz: config.hz.max(1), gso_max_bytes: config.gso_max_bytes, paced, ..View::new(config.mss) };
        let control = Control { cwnd: config.initial_cwnd, pacing_shift: config.pacing_shift, ..Control::default() };
        let first_window = match config.receive_autotuning {
            true => config.receive_window.min(SYN_ACK_WINDOW_BYTES),
            false => config.receive_window,
        };
        let remembers_samples = config.delivery_rate.is_ns3() || config.rtt_samples != RttSamples::Linux;
        let micros = |span: Duration| span.as_micros().min(u64::from(u32::MAX)) as u32;
        Sender {
            full_control: controller.full_control(),
            hooks: controller.hooks(),
            probes: config.tail_loss_probe && config.sack,
            may_predict: predicted::applies_to(&config),
            controller,
            view,
            control,
            established: false,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(config.rto_rule, micros(config.rto_min), micros(config.rto_max)),
            min_rtt: WindowedMin::new(),
            sample: RateSample::invalid(),
            first_tx_us: 0,
            sample_end: 0,
            sample_source: (0, 0),
            ns3_sample: remembers_samples.then(Box::default),
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
            reported: [SackBlock::default(); Ack::MAX_SACK_BLOCKS],
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
            ready: Burst::default(),
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
        let mut rtt_us = (handshake_rtt.as_micros() as u32).max(1);
        if self.config.rtt_samples != RttSamples::Linux {
            rtt_us = (rtt_us - rtt_us % 1_000).max(1);
        }
        if let Some(last) = &mut self.ns3_sample {
            last.rtt_us = i64::from(rtt_us);
        }
        self.rtt.sample(rtt_us, 0, 0);
        self.min_rtt.update(self.view.mstamp_us, rtt_us);
        let (view, control) = (&mut self.view, &mut self.control);
        view.srtt_us_x8 = self.rtt.srtt_x8;
        view.min_rtt_us = rtt_us;
        // The SYN counts as one delivered packet.
        view.delivered = 1;
        view.delivered_mstamp_us = view.mstamp_us;
        self.first_tx_us = view.mstamp_us;
        if syn_retransmits > 1 {
            control.cwnd = 1;
        }
        self.cwnd_stamp = view.jiffies;
        self.update_pacing_rate();
        self.controller.init(&self.view, &mut self.control);
    }

    /// The application hands over `segments` more segments; the last one carries `last_len` payload bytes.
    pub fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        self.refresh_clock(now);
        self.mark_app_limited();
        if self.view.packets_out == 0 {
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
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What the controller may change: window, threshold, pacing rate.
    #[inline]
    pub fn control(&self) -> &Control {
        &self.control
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
        let view = &mut self.view;
        if view.now == now {
            return;
        }
        view.now = now;
        view.mstamp_us = now.as_micros();
        let elapsed = now.since(self.tick_start);
        if elapsed >= self.jiffy {
            let ticks = elapsed.as_nanos() / self.jiffy.as_nanos();
            self.tick_start += self.jiffy * ticks;
            view.jiffies = view.jiffies.wrapping_add(ticks as u32);
        }
    }

    /// Time since a departure, 0 when pacing has stamped it ahead of now (`tcp_stamp_us_delta`).
    #[inline]
    fn age_us(&self, sent_us: u64) -> u64 {
        self.view.mstamp_us.saturating_sub(sent_us)
    }

    /// When a coarse timer of `micros` armed now fires: whole ticks of the kernel's clock.
    #[inline]
    fn coarse_deadline(&self, micros: u64) -> Time {
        let ticks = (micros * 1_000).div_ceil(self.jiffy.as_nanos());
        self.tick_start + self.jiffy * ticks
    }

    #[inline]
    fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.view, &mut self.control, state);
        self.view.ca_state = state;
    }

    /// An acknowledgement arrives. Transmissions it allows come from [`Sender::poll_transmit`].
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.ack > self.board.nxt() || !self.established {
            return;
        }
        self.refresh_clock(now);
        self.send_stamp.begin_event();
        if self.predicts(ack) {
            self.take_predicted(ack);
        } else {
            self.take_any(ack);
        }
    }

    /// Everything that an acknowledgement can mean.
    #[inline(never)]
    fn take_any(&mut self, ack: &Ack) {
        let prior_una = self.board.una();
        let prior_delivered = self.view.delivered;
        let prior_lost = self.view.lost;
        let prior_highest_sacked = self.highest_sacked_or_una();
        let prior_sacked_out = self.view.sacked_out;
        let prior_in_flight = self.view.in_flight();
        let mut news = AckNews { ece: ack.ece, advanced: ack.ack > prior_una, ..AckNews::default() };
        let prior_lost_out = self.view.lost_out;
        self.sample = RateSample { prior_in_flight, is_ece: ack.ece, ..RateSample::invalid() };
        if self.ns3_sample.is_some() {
            self.resume_ns3_sample();
        }
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
        if self.view.packets_out == 0 {
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
        if self.hooks.in_ack_event {
            let flags = AckFlags {
                slow_path: ack.sack_count > 0 || !news.advanced,
                ece: news.ece,
                window_update: news.window_update,
            };
            self.controller.in_ack_event(&self.view, &mut self.control, flags);
        }
        if self.hooks.pkts_acked && (acked > 0 || news.data_sacked) {
            self.controller.pkts_acked(&self.view, &mut self.control, acked, self.sample.rtt_us, prior_in_flight);
        }
        self.end_probe_episode(ack, &news);

        let suspicious = news.data_sacked || news.ece || news.dsack;
        let not_duplicate = news.data_acked || news.window_update;
        if !not_duplicate || suspicious || self.view.ca_state != CaState::Open {
            let dupacks = u32::from(!news.advanced && !not_duplicate && !news.dsack);
            self.run_state_machine(prior_una, dupacks, &mut news, ack);
        }
        if news.set_timer && self.timer_restarts() {
            self.set_timer_after_ack();
        }

        let delivered = (self.view.delivered - prior_delivered) as u32;
        let losses = match self.config.recovery {
            RecoveryRule::Linux => (self.view.lost - prior_lost) as u32,
            RecoveryRule::Ns3 => self.view.lost_out.abs_diff(prior_lost_out),
        };
        self.finish_sample(delivered, losses, news.reneged);
        if self.full_control {
            self.control_all();
        } else if self.in_reduction() {
            self.reduce_proportionally(delivered, losses, news.advanced);
            self.update_pacing_rate();
        } else {
            if news.data_acked || (self.reordering > self.config.reordering && news.data_sacked) {
                self.grow_window(delivered);
            }
            self.update_pacing_rate();
        }
    }

    /// Leaves window and pacing rate to a controller that owns them.
    #[inline]
    fn control_all(&mut self) {
        let unsent = self.unsent_segments() > 0;
        self.view.no_unsent_data = !unsent;
        self.view.receive_window_full = unsent && self.board.nxt() >= self.window_end;
        self.controller.cong_control(&self.view, &mut self.control, &self.sample);
    }

    #[inline]
    fn grow_window(&mut self, delivered: u32) {
        self.controller.cong_avoid(&self.view, &mut self.control, delivered);
        self.cwnd_stamp = self.view.jiffies;
    }

    /// One above the highest selectively acknowledged segment (`tcp_highest_sack_seq`).
    #[inline]
    fn highest_sacked_or_una(&self) -> u32 {
        if self.view.sacked_out == 0 { self.board.una() } else { self.highest_sacked }
    }
}

/// The timestamp option's clock: milliseconds.
#[inline]
fn timestamp_ticks(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
