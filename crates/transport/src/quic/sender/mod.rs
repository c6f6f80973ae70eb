//! The sending endpoint, in the order of RFC 9002's appendices: ACKs (`ack.rs`), loss detection and congestion events
//! (`loss.rs`), timers (`timers.rs`), and transmission (`output.rs`). RTT, rate samples, loss thresholds and pacing are
//! components of `dumbbell_recovery`.

mod ack;
mod ecn;
mod loss;
mod output;
mod resume;
mod timers;

use super::clock::rounded_down;
use super::sent_packets::SentPackets;
use super::stream::Stream;
use super::{QuicConfig, QuicPacket};
use crate::{Pacing, SenderStats, Steer, TransportConfig};
use ack::Told;
use dumbbell_cc_contract::{CaState, Control, Controller, EcnMode, Hooks, Needs, RateSample, View};
use dumbbell_recovery::careful_resume::CarefulResume;
use dumbbell_recovery::jiffies::Jiffies;
use dumbbell_recovery::rate::{AppLimit, ChromiumSampler, check_app_limited};
use dumbbell_recovery::rfc9002::{BurstPacer, ProportionalReduction, RttEstimator, SpuriousLosses, pacing_rate};
use dumbbell_units::{Duration, Time, prefetch};
use ecn::EcnValidation;
use std::sync::Arc;
use timers::Timers;

/// Pacing ratio in congestion avoidance, percent (RFC 9002, section 7.7).
const PACING_CA_RATIO: u32 = 125;

/// A sender over QUIC-like packets; the same calls as [`Sender`](crate::Sender).
///
/// It begins with a cache line, so that what is [prefetched](prefetch) of it is what is needed.
#[repr(align(64))]
pub struct QuicSender {
    config: Arc<TransportConfig>,
    view: View,
    control: Control,
    controller: Box<dyn Controller>,
    full_control: bool,
    hooks: Hooks,
    needs: Needs,
    established: bool,

    sent: SentPackets,
    told: Told,
    /// What the next packet tells the receiver, and when it may hear so again.
    known_up_to: Option<u32>,
    tells_at_us: u64,
    stream: Stream,
    /// Bytes of the packets in flight, headers of QUIC included.
    bytes_in_flight: u64,
    /// Bytes of a packet with `mss` of payload: the unit of [`Control::cwnd`].
    packet_bytes: u64,
    prr: ProportionalReduction,
    /// Packets in flight that the receiver has room for (flow control, RFC 9000 section 4.1).
    receive_window: u32,
    rtt: RttEstimator,
    rate: ChromiumSampler,
    sample: RateSample,
    /// [`View::lost`] when the controller was given a sample last.
    lost_sampled: u64,
    /// Packets below this number were sent before the last recovery period began.
    recovery_end: u32,
    /// The ACK that is being processed ends the recovery period.
    recovery_ends: bool,
    /// The losses that made the latest reduction.
    spurious: SpuriousLosses,
    /// The ACK that is being processed shows that they were spurious.
    undoes: bool,
    /// What an undo brings back, besides the window.
    before: Before,
    /// The path as an earlier connection knew it.
    resume: CarefulResume,
    ecn: EcnValidation,
    /// The controller reacts to marks itself.
    owns_marks: bool,

    timers: Timers,
    pacer: BurstPacer,
    clock: Jiffies,
    /// When the clock was read last, to the nanosecond.
    refreshed_at: Time,
    stats: SenderStats,
}

/// The connection before a reduction.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    ssthresh: u32,
    recovery_end: u32,
}

impl QuicSender {
    /// A sender without data and without a connection; `controller` governs its window.
    pub fn new(config: Arc<TransportConfig>, controller: Box<dyn Controller>) -> QuicSender {
        let view = View {
            hz: config.hz.max(1),
            gso_max_bytes: config.gso_max_bytes,
            paced: config.pacing != Pacing::Off,
            ..View::new(config.mss)
        };
        let (quic, wanted) = (&config.quic, controller.ecn());
        let mss = u16::try_from(config.mss).unwrap_or(u16::MAX);
        // What a coarse clock cannot tell apart is not early.
        let granularity = quic.pacing_granularity.max(quic.clock_resolution);
        let owns_marks = controller.full_control() && matches!(wanted, EcnMode::Accurate | EcnMode::L4s);
        let packet_bytes = QuicPacket::bytes(mss);
        let saved_packets = u32::try_from(quic.saved_cwnd / packet_bytes).unwrap_or(u32::MAX);
        let mut sender = QuicSender {
            full_control: controller.full_control(),
            hooks: controller.hooks(),
            needs: controller.needs(),
            controller,
            control: Control { cwnd: config.initial_cwnd, ..Control::default() },
            established: false,
            sent: SentPackets::default(),
            told: Told::default(),
            known_up_to: None,
            tells_at_us: 0,
            stream: Stream::new(mss, &quic.packet_sizes),
            bytes_in_flight: 0,
            prr: ProportionalReduction::default(),
            packet_bytes,
            receive_window: u32::try_from(config.receive_window / u64::from(config.mss)).unwrap_or(u32::MAX).max(1),
            rtt: RttEstimator::new(quic.max_ack_delay.as_micros()),
            rate: if quic.avoid_overestimates {
                ChromiumSampler::avoiding_overestimates()
            } else {
                ChromiumSampler::default()
            },
            sample: RateSample::invalid(),
            lost_sampled: 0,
            recovery_end: 0,
            recovery_ends: false,
            spurious: SpuriousLosses::default(),
            undoes: false,
            before: Before::default(),
            resume: CarefulResume::new(saved_packets, quic.saved_rtt.as_micros()),
            ecn: EcnValidation::new(config.ecn.codepoint(wanted)),
            owns_marks,
            timers: Timers::default(),
            pacer: BurstPacer::new(view.paced, granularity, quic.initial_burst),
            clock: Jiffies::new(config.hz),
            refreshed_at: Time::ZERO,
            stats: SenderStats::default(),
            view,
            config,
        };
        sender.timers.timeout_us = sender.timeout_us();
        sender
    }

    #[inline]
    fn quic(&self) -> &QuicConfig {
        &self.config.quic
    }

    /// The handshake is complete; it took `handshake_rtt`.
    pub fn establish(&mut self, now: Time, handshake_rtt: Duration) {
        self.refresh_clock(now);
        self.established = true;
        self.take_rtt(handshake_rtt.as_micros().max(1), 0);
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.update_pacing_rate();
        self.controller.init(&self.view, &mut self.control);
    }

    /// The application hands over `segments` more packets' worth of data; the last one carries `last_len` bytes.
    pub fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        self.refresh_clock(now);
        self.check_app_limited();
        self.stream.write(segments, last_len);
    }

    /// The application stops: what has not been sent is dropped.
    pub fn close(&mut self) {
        self.stream.close();
    }

    /// Whether everything written has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.view.packets_out == 0 && self.stream.has_sent_all()
    }

    /// Bytes written and not yet sent once.
    pub fn unsent(&self) -> u64 {
        self.stream.unsent()
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

    /// Somebody outside speaks to the controller; see [`Sender::steer`](crate::Sender::steer).
    pub fn steer(&mut self, now: Time, steer: &mut Steer<'_>) -> bool {
        self.refresh_clock(now);
        let before = self.control.clone();
        steer(&mut *self.controller, &self.view, &mut self.control);
        if self.control.pacing_rate != before.pacing_rate {
            self.pacer.change_rate(now, before.pacing_rate, self.control.pacing_rate);
            self.note_departure();
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

    /// Bytes of memory that packets in flight and data to send again [claim](dumbbell_units::claimed).
    pub fn memory(&self) -> u64 {
        self.sent.memory() + self.stream.memory() + self.told.memory()
    }

    /// Has the processor fetch what an ACK needs: one field of each cache line.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch(&self.rtt);
        self.sent.prefetch();
        prefetch(&self.told);
        prefetch(&self.stream);
        prefetch(&self.control);
        prefetch(&self.resume);
        prefetch(&self.pacer);
        prefetch(&self.view);
        prefetch(&self.view.delivered);
        prefetch(&self.view.packets_out);
        prefetch(&self.config);
        prefetch(&self.rate);
        prefetch(&self.timers);
        prefetch(&self.clock);
        prefetch(&self.stats);
        prefetch(&self.ecn);
    }

    /// Has the processor fetch what an ACK needs and the sender only points to; reads the sender.
    #[inline(always)]
    pub(super) fn prefetch_rest(&self) {
        self.sent.prefetch_places();
        self.told.prefetch();
    }

    /// Moves the clock of the connection to `now`, rounded to its resolution.
    #[inline]
    fn refresh_clock(&mut self, now: Time) {
        if now == self.refreshed_at {
            return;
        }
        self.refreshed_at = now;
        let now = rounded_down(now, self.quic().clock_resolution);
        if now == self.view.now {
            return;
        }
        self.view.now = now;
        self.view.mstamp_us = now.as_micros();
        self.view.jiffies = self.view.jiffies.wrapping_add(self.clock.advance(now));
    }

    /// Takes a round-trip time, on which the timeout depends; the peer held the ACK back for `ack_delay_us`.
    fn take_rtt(&mut self, latest_us: u64, ack_delay_us: u64) {
        self.rtt.sample(self.view.mstamp_us, latest_us, ack_delay_us);
        self.view.srtt_us_x8 = u32::try_from(self.rtt.srtt_us() * 8).unwrap_or(u32::MAX);
        self.view.min_rtt_us = u32::try_from(self.rtt.min_rtt_us()).unwrap_or(u32::MAX);
        self.timers.timeout_us = self.timeout_us();
    }

    fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.view, &mut self.control, state);
        self.view.ca_state = state;
    }

    /// Sets the pacing rate for controllers that set none: somewhat more than a window per RTT.
    fn update_pacing_rate(&mut self) {
        let (view, control) = (&self.view, &mut self.control);
        let ratio = if control.in_slow_start() { self.config.pacing_ss_ratio } else { PACING_CA_RATIO };
        control.pacing_rate = pacing_rate(view.mss, control.cwnd, ratio, self.rtt.srtt_us()).min(view.max_pacing_rate);
    }

    /// The application is about to write. Marks the connection as limited by the application if it was.
    fn check_app_limited(&mut self) {
        let limit = AppLimit {
            nothing_queued: self.stream.has_sent_all(),
            in_flight: self.view.in_flight(),
            cwnd: self.control.cwnd,
            repaired_all: true,
            delivered: self.view.delivered,
        };
        if let Some(app_limited) = check_app_limited(limit) {
            self.control.app_limited = app_limited;
        }
    }
}
