//! The sending endpoint: a TCP sender that behaves like Linux 6.18's.
//!
//! It is driven by four calls and nothing else: [`Sender::on_ack`], [`Sender::on_timer`], [`Sender::poll_transmit`]
//! (until it gives nothing more) and the application's [`Sender::write`]. What it knows is kept by the components of
//! `dumbbell_recovery`; what is here is the order in which the kernel asks them:
//!
//! | file | steps of the kernel |
//! |---|---|
//! | `assembly.rs` | which components a configuration means |
//! | `ack.rs` | `tcp_ack` as a list of steps, `tcp_rate_gen`, `tcp_cong_control` |
//! | `fast_path.rs` | those steps that an expected ACK takes |
//! | `sack.rs` | `tcp_sacktag_write_queue`, DSACK |
//! | `clean.rs` | `tcp_clean_rtx_queue`, `tcp_ack_update_rtt` |
//! | `loss.rs` | `tcp_identify_packet_loss`, `tcp_mark_skb_lost` |
//! | `fastretrans.rs` | `tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_enter_loss` |
//! | `undo.rs` | `tcp_try_undo_*` |
//! | `timers.rs` | `tcp_rearm_rto`, `tcp_schedule_loss_probe`, `tcp_rack_reo_timeout` |
//! | `output.rs`, `tso.rs` | `tcp_write_xmit`, `tcp_tso_autosize`, `tcp_tso_should_defer` |
//! | `retransmit.rs` | `tcp_xmit_retransmit_queue`, rescue retransmissions |
//! | `write.rs` | `tcp_sendmsg`, `tcp_check_space` |
//! | `window_probe.rs` | `tcp_probe_timer`, `tcp_send_probe0` |
//! | `cwnd.rs` | `tcp_cwnd_validate`, `tcp_cwnd_restart`, `tcp_update_pacing_rate` |

mod ack;
mod assembly;
mod burst;
mod clean;
mod cwnd;
mod fast_path;
mod fastretrans;
mod loss;
mod output;
mod retransmit;
mod sack;
#[cfg(test)]
mod tests;
mod timers;
mod tso;
mod undo;
mod window_probe;
mod write;

use crate::{Completion, Handshake, Steer, TransportConfig};
use assembly::{LossDetector, Stream, Xmit};
pub use burst::Burst;
use dumbbell_cc_contract::{CaState, Control, Controller, Hooks, Needs, RateSample, View};
use dumbbell_recovery::accurate_ecn::MarkCounter;
use dumbbell_recovery::cwnd_validation::CwndValidation;
use dumbbell_recovery::frto::Frto;
use dumbbell_recovery::host_queue::HostQueue;
use dumbbell_recovery::jiffies::Jiffies;
use dumbbell_recovery::pacer::{Pacer, PacingRate};
use dumbbell_recovery::prr::Prr;
use dumbbell_recovery::rate::RateSampler;
use dumbbell_recovery::round_trip::RoundTrip;
use dumbbell_recovery::scoreboard::Scoreboard;
use dumbbell_recovery::send_buffer::SendBuffer;
use dumbbell_recovery::send_stamp::Stamp;
use dumbbell_recovery::timer::RetransmitTimer;
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_recovery::tlp::Tlp;
use dumbbell_recovery::undo::Undo;
use dumbbell_units::{Duration, Ecn, Time, prefetch};
use sack::SackMemory;
use std::sync::Arc;

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
    /// Packets declared lost that were acknowledged afterwards, where their numbers tell (QUIC).
    pub spurious_losses: u64,
}

impl SenderStats {
    /// Packets declared lost that had arrived, as far as the sender hears of them.
    pub fn spurious(&self) -> u64 {
        // More duplicates than repairs are copies that the network made.
        self.spurious_losses + self.dsacked_segments.min(self.retransmitted_segments)
    }
}

/// A TCP sender.
pub struct Sender {
    config: Arc<TransportConfig>,
    view: View,
    control: Control,
    controller: Box<dyn Controller>,
    full_control: bool,
    hooks: Hooks,
    /// Segments of a burst at least, where the controller does not say (`tcp_min_tso_segs`).
    smallest_burst: u32,
    needs: Needs,
    established: bool,
    /// Expected ACKs take the [fast path](fast_path).
    may_predict: bool,

    board: Scoreboard,
    sacks: SackMemory,
    rtt: RoundTrip,
    rate: RateSampler,
    /// The rate sample of the current ACK, or of the latest one (`struct rate_sample`).
    sample: RateSample,
    detector: LossDetector,
    tlp: Tlp,
    /// Marks that the receiver has counted.
    marks: MarkCounter,
    timer: RetransmitTimer,
    clock: Jiffies,

    /// One above the short segment that was sent last (`snd_sml`).
    short_end: u32,
    /// What the next segment echoes (`ts_recent`).
    recent_timestamp: Timestamp,
    /// `snd_nxt` when the current state other than Open began.
    high_seq: u32,
    undo: Undo,
    prr: Prr,
    frto: Frto,

    stream: Stream,
    xmit: Xmit,
    validation: CwndValidation,
    pacer: Pacer,
    pacing_rate: PacingRate,
    /// TCP small queues, where the host's device reports completions.
    host_queue: Option<Box<HostQueue>>,
    /// Where what is written waits, if there is not always room.
    send_buffer: Option<Box<SendBuffer>>,
    stats: SenderStats,
}

impl Sender {
    /// A sender without data and without a connection; `controller` governs its window. Senders of many flows share
    /// their configuration.
    pub fn new(config: Arc<TransportConfig>, controller: Box<dyn Controller>) -> Sender {
        let (view, control) = assembly::connection(&config, &*controller);
        let full_control = controller.full_control();
        let wanted = controller.needs();
        Sender {
            may_predict: true,
            needs: Needs { in_flight_by_buffer: config.in_flight_by_buffer.is_on(wanted), ..wanted },
            full_control,
            hooks: controller.hooks(),
            smallest_burst: Hooks::MIN_TSO_SEGS,
            established: false,
            board: Scoreboard::new(),
            sacks: SackMemory::default(),
            rtt: assembly::round_trip(&config),
            rate: assembly::rate_sampler(config.delivery_rate),
            sample: RateSample::invalid(),
            detector: LossDetector::new(&config),
            tlp: Tlp::new(config.tail_loss_probe && config.sack, assembly::micros(config.rto_min)),
            marks: MarkCounter::default(),
            timer: RetransmitTimer::default(),
            clock: Jiffies::new(config.hz),
            short_end: 0,
            recent_timestamp: Timestamp::default(),
            high_seq: 0,
            undo: Undo::new(config.undo),
            prr: Prr::default(),
            frto: Frto::default(),
            stream: Stream::new(&config),
            xmit: Xmit {
                codepoint: config.ecn.codepoint(controller.ecn()),
                codepoint_again: config.ecn.codepoint_again(controller.ecn()),
                ..Xmit::default()
            },
            validation: CwndValidation::new(config.slow_start_after_idle && !full_control, config.initial_cwnd),
            pacer: Pacer::new(view.paced, config.pacing_credit),
            pacing_rate: PacingRate::new(view.mss, config.pacing_ca_ratio, config.pacing_ss_ratio),
            host_queue: (config.completion == Completion::Wire).then(Box::default),
            send_buffer: assembly::send_buffer(&config),
            stats: SenderStats::default(),
            view,
            control,
            controller,
            config,
        }
    }

    /// The `handshake` is complete: the answer has just arrived.
    pub fn establish(&mut self, now: Time, handshake: Handshake) {
        let syn_retransmits = handshake.retries;
        self.refresh_clock(now);
        self.established = true;
        self.may_predict &= fast_path::applies_to(&self.config, now);
        self.rtt.begin(now, handshake.rtt, syn_retransmits > 0);
        self.recent_timestamp = Timestamp::at(Time::ZERO + now.since(Time::ZERO + handshake.way_back));
        self.view.srtt_us_x8 = self.rtt.estimator().srtt_us_x8();
        self.view.min_rtt_us = self.rtt.min_us();
        // The SYN counts as one delivered packet.
        self.view.delivered = 1;
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.rate.restart(Stamp::at_us(self.view.mstamp_us));
        if syn_retransmits > 1 {
            self.control.cwnd = 1;
        }
        self.validation.note_change(self.view.jiffies);
        self.update_pacing_rate();
        self.controller.init(&self.view, &mut self.control);
        self.expand_send_buffer();
    }

    /// Lets short segments leave although others are unacknowledged, or no longer ([`TransportConfig::nodelay`]).
    pub fn set_nodelay(&mut self, nodelay: bool) {
        Arc::make_mut(&mut self.config).nodelay = nodelay;
    }

    /// Bursts have so many segments at least, unless the controller has its own number ([`Controller::min_tso_segs`]).
    pub fn set_smallest_burst(&mut self, segments: u32) {
        self.smallest_burst = segments;
    }

    /// Segments written from now on have so many payload bytes, where the headers have become shorter or longer. It is
    /// for a sender that [is idle](Sender::is_idle), whose stream has no segments of the other size.
    pub fn set_segment(&mut self, mss: u16) {
        debug_assert!(self.is_idle(), "segments of another size are in flight");
        self.stream.resize(mss.max(1), self.board.nxt());
    }

    /// Whether everything written has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.board.is_empty() && self.board.nxt() == self.stream.offered
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

    /// Somebody outside speaks to the controller. Window and pacing rate hold at once: a pause of pacing that has begun
    /// becomes as long as it is at the new rate. Returns whether a lever has changed; [`Sender::poll_transmit`] then
    /// gives what it allows.
    pub fn steer(&mut self, now: Time, steer: &mut Steer<'_>) -> bool {
        self.refresh_clock(now);
        let before = self.control.clone();
        steer(&mut *self.controller, &self.view, &mut self.control);
        if self.control.pacing_rate != before.pacing_rate {
            self.pacer.change_rate(now, before.pacing_rate, self.control.pacing_rate);
            self.view.next_departure = self.pacer.next_departure();
        }
        self.established && self.control != before
    }

    /// Counters.
    #[inline]
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The rate sample of the latest ACK.
    #[inline]
    pub fn last_sample(&self) -> &RateSample {
        &self.sample
    }

    /// How often reordering was seen (`tcpi_reord_seen`).
    pub fn reorderings_seen(&self) -> u32 {
        self.detector.reordering.times_seen()
    }

    /// Adaptive duplicate-ACK threshold, in segments.
    pub fn reordering(&self) -> u32 {
        self.detector.reordering.degree()
    }

    /// ECN bits of what it sends again, and of ACKs for it
    /// ([`EcnUse::codepoint_again`](crate::EcnUse::codepoint_again)).
    pub fn codepoint_again(&self) -> Ecn {
        self.xmit.codepoint_again
    }

    /// Current retransmission timeout.
    pub fn rto(&self) -> Duration {
        Duration::from_micros(self.rto_us())
    }

    /// Bytes of memory held by the scoreboard and the send buffer.
    pub fn memory(&self) -> u64 {
        self.board.memory() + self.send_buffer.as_ref().map_or(0, |buffer| buffer.memory())
    }

    /// Has the processor fetch what an ACK needs: fields about a cache line apart, as the compiler lays them out. The
    /// first line is there already: who has a sender has read in it what kind of end this is.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.undo);
        prefetch(&self.rtt);
        prefetch(&self.needs);
        prefetch(&self.xmit);
        prefetch(&self.detector);
        prefetch(&self.sample);
        prefetch(&self.view);
        prefetch(&self.view.delivered);
        prefetch(&self.config);
        prefetch(&self.board);
        prefetch(&self.clock);
        prefetch(&self.stats);
        prefetch(&self.sacks);
        prefetch(&self.stream);
    }

    /// Has the processor fetch what an ACK needs and the sender only points to; reads the sender.
    #[inline(always)]
    pub fn prefetch_rest(&self) {
        self.board.prefetch();
    }

    /// Sets the connection's clocks to `now` (`tcp_mstamp_refresh`).
    #[inline]
    fn refresh_clock(&mut self, now: Time) {
        if self.view.now == now {
            return;
        }
        self.view.now = now;
        self.view.mstamp_us = now.as_micros();
        let ticks = self.clock.advance(now);
        if ticks > 0 {
            self.view.jiffies = self.view.jiffies.wrapping_add(ticks);
        }
    }

    /// `tcp_set_ca_state`.
    #[inline]
    fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.view, &mut self.control, state);
        self.view.ca_state = state;
    }
}
