//! The sending endpoint.

use super::{QuicAck, QuicConfig, QuicPacket, Timeout};
use crate::{Pacing, SenderStats, TransportConfig};
use dumbbell_cc::{AckFlags, CaState, Control, Controller, Event, Hooks, LostPacket, RateSample, View};
use dumbbell_path::Ecn;
use dumbbell_units::{Duration, Time};
use std::collections::VecDeque;

/// Smallest window in packets (kMinimumWindow).
const MINIMUM_WINDOW: u32 = 2;
/// Timeouts in a row without an answer that make congestion persistent (kPersistentCongestionThreshold).
const PERSISTENT_CONGESTION: u64 = 3;
/// Packets a timeout may send.
const PROBES: u32 = 2;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Acked,
    Lost,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u32,
    fate: Fate,
    is_retransmission: bool,
    is_app_limited: bool,
    sent_us: u64,
    /// Packets sent so far, this one included.
    total_sent: u64,
    /// The connection's reference point when this packet left: what had been sent, acknowledged and when.
    reference: Reference,
    delivered: u64,
    lost: u64,
    delivered_ce: u64,
    tx_in_flight: u32,
}

/// What a search for losses found.
#[derive(Clone, Copy, Debug)]
struct Losses {
    /// Highest number lost.
    newest: u32,
    /// Everything sent over several timeouts was lost.
    are_persistent: bool,
}

/// The last acknowledged packet as the bandwidth sampler remembers it.
#[derive(Clone, Copy, Debug, Default)]
struct Reference {
    total_sent: u64,
    sent_us: u64,
    acked_us: u64,
    acked: u64,
}

/// The last multiple of `unit` that is not after `at`; `at` itself when `unit` is zero.
#[inline]
fn rounded_down(at: Time, unit: Duration) -> Time {
    if unit == Duration::ZERO { at } else { Time::from_nanos(at.as_nanos() - at.as_nanos() % unit.as_nanos()) }
}

/// The first multiple of `unit` that is not before `at`; `at` itself when `unit` is zero.
#[inline]
fn rounded_up(at: Time, unit: Duration) -> Time {
    if unit == Duration::ZERO || at == Time::NEVER {
        return at;
    }
    Time::from_nanos(at.as_nanos().next_multiple_of(unit.as_nanos()))
}

/// A sender over QUIC-like packets; the same calls as [`Sender`](crate::Sender).
pub struct QuicSender {
    config: TransportConfig,
    view: View,
    control: Control,
    controller: Box<dyn Controller>,
    full_control: bool,
    hooks: Hooks,
    established: bool,

    /// Packets from number `first` on.
    sent: VecDeque<Sent>,
    first: u32,
    largest_acked: Option<u32>,
    next_seq: u32,
    write_seq: u32,
    last_len: u16,
    resend: VecDeque<u32>,
    total_sent: u64,
    reference: Reference,

    srtt_us: u64,
    rttvar_us: u64,
    min_rtt_us: u64,
    has_sample: bool,
    first_sample_us: u64,
    /// Packets from this number on belong to no reduction yet.
    recovery_end: u32,
    ce_count: u32,

    probes: u32,
    timeouts: u32,
    timeout_at: Time,
    loss_at: Time,
    last_sent_at: Time,
    pacing_blocked: bool,
    /// When a sender that polls looks again; [`Time::NEVER`] when it would find nothing to send.
    poll_at: Time,
    burst_tokens: u32,
    sample: RateSample,
    stats: SenderStats,
    jiffy: Duration,
}

impl QuicSender {
    /// A sender without data and without a connection; `controller` governs its window.
    pub fn new(config: &TransportConfig, controller: Box<dyn Controller>) -> QuicSender {
        let view = View {
            hz: config.hz.max(1),
            gso_max_bytes: config.gso_max_bytes,
            paced: config.pacing != Pacing::Off,
            ..View::new(config.mss)
        };
        let control = Control { cwnd: config.initial_cwnd, ..Control::default() };
        QuicSender {
            full_control: controller.full_control(),
            hooks: controller.hooks(),
            controller,
            view,
            control,
            established: false,
            sent: VecDeque::new(),
            first: 0,
            largest_acked: None,
            next_seq: 0,
            write_seq: 0,
            last_len: config.mss as u16,
            resend: VecDeque::new(),
            total_sent: 0,
            reference: Reference::default(),
            srtt_us: 0,
            rttvar_us: 0,
            min_rtt_us: u64::MAX,
            has_sample: false,
            first_sample_us: 0,
            recovery_end: 0,
            ce_count: 0,
            probes: 0,
            timeouts: 0,
            timeout_at: Time::NEVER,
            loss_at: Time::NEVER,
            last_sent_at: Time::ZERO,
            pacing_blocked: false,
            poll_at: Time::NEVER,
            burst_tokens: 0,
            sample: RateSample::invalid(),
            stats: SenderStats::default(),
            jiffy: Duration::from_nanos(1_000_000_000 / u64::from(config.hz.max(1))),
            config: config.clone(),
        }
    }

    fn quic(&self) -> &QuicConfig {
        &self.config.quic
    }

    /// The handshake is complete; it took `handshake_rtt`.
    pub fn establish(&mut self, now: Time, handshake_rtt: Duration, _syn_retransmits: u32) {
        self.refresh_clock(now);
        self.established = true;
        self.sample_rtt(handshake_rtt.as_micros().max(1), 0);
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.update_pacing_rate();
        self.controller.init(&self.view, &mut self.control);
    }

    /// The application hands over `segments` more packets' worth of data; the last one carries `last_len` bytes.
    pub fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        self.refresh_clock(now);
        self.mark_app_limited();
        self.write_seq = self.write_seq.saturating_add(segments);
        self.last_len = last_len;
    }

    /// The application has nothing more to say: what is not yet sent never will be.
    pub fn close(&mut self) {
        self.write_seq = self.next_seq;
    }

    /// Whether everything written has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.view.packets_out == 0 && self.has_sent_all()
    }

    /// Whether nothing waits to be sent, for the first time or again.
    fn has_sent_all(&self) -> bool {
        self.resend.is_empty() && self.next_seq == self.write_seq
    }

    /// Segments written and not yet sent once.
    pub fn unsent_segments(&self) -> u32 {
        self.write_seq - self.next_seq
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

    /// Bytes of memory held for packets in flight.
    pub fn memory(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>()
    }

    /// Reads the clock, which may be coarse.
    fn refresh_clock(&mut self, now: Time) {
        let now = rounded_down(now, self.quic().clock_resolution);
        let view = &mut self.view;
        view.now = now;
        view.mstamp_us = now.as_micros();
        view.jiffies = (now.as_nanos() / self.jiffy.as_nanos()) as u32;
    }

    fn next_number(&self) -> u32 {
        self.first + self.sent.len() as u32
    }

    // Acknowledgements.

    /// An acknowledgement arrives. Transmissions it allows come from [`QuicSender::poll_transmit`].
    pub fn on_ack(&mut self, now: Time, ack: &QuicAck) {
        self.refresh_clock(now);
        let prior_in_flight = self.view.in_flight();
        let prior_delivered = self.view.delivered;
        let prior_lost = self.view.lost;
        self.sample = RateSample { rtt_us: -1, prior_in_flight, ..RateSample::invalid() };

        let Some(largest) = ack.ranges().first().map(|range| range.end - 1) else { return };
        if largest >= self.next_number() {
            return;
        }
        let largest_is_new = self.record(largest).is_some_and(|sent| sent.fate != Fate::Acked);
        let mut grew_by = 0;
        for range in ack.ranges() {
            for number in range.start.max(self.first)..range.end {
                grew_by += u32::from(self.acknowledge(number));
            }
        }
        self.largest_acked = self.largest_acked.max(Some(largest));
        if largest_is_new && let Some(sent) = self.record(largest) {
            let rtt_us = (self.view.mstamp_us - sent.sent_us).max(1);
            self.sample.rtt_us = rtt_us as i64;
            self.sample_rtt(rtt_us, u64::from(ack.delay_us));
        }
        let delivered = (self.view.delivered - prior_delivered) as u32;
        if delivered > 0 {
            self.timeouts = 0;
        }
        let marks = ack.ce_count.saturating_sub(self.ce_count);
        self.ce_count = self.ce_count.max(ack.ce_count);
        self.view.delivered_ce += u64::from(marks);
        self.sample.is_ece = marks > 0;

        self.forget_settled();
        self.tell_acked(ack, delivered, prior_in_flight);

        if grew_by > 0 {
            self.end_recovery();
        }
        let losses = self.detect_losses();
        self.forget_settled();
        if marks > 0 {
            self.on_congestion(largest);
        }
        self.on_losses(losses);
        self.set_timers();

        self.sample.acked_sacked = delivered;
        self.sample.losses = (self.view.lost - prior_lost) as u32;
        if self.control.app_limited != 0 && self.view.delivered > self.control.app_limited {
            self.control.app_limited = 0;
        }
        if self.full_control {
            self.view.no_unsent_data = self.has_sent_all();
            self.controller.cong_control(&self.view, &mut self.control, &self.sample);
        } else {
            if grew_by > 0 && self.view.ca_state != CaState::Recovery {
                self.controller.cong_avoid(&self.view, &mut self.control, grew_by);
            }
            self.update_pacing_rate();
        }
    }

    /// What the controller is told of an ACK before losses are looked for.
    fn tell_acked(&mut self, ack: &QuicAck, delivered: u32, prior_in_flight: u32) {
        if self.hooks.in_ack_event {
            let slow_path = ack.range_count > 1 || delivered == 0;
            let flags = AckFlags { slow_path, ece: self.sample.is_ece, window_update: false };
            self.controller.in_ack_event(&self.view, &mut self.control, flags);
        }
        if self.hooks.pkts_acked && delivered > 0 {
            self.controller.pkts_acked(&self.view, &mut self.control, delivered, self.sample.rtt_us, prior_in_flight);
        }
    }

    fn record(&self, number: u32) -> Option<Sent> {
        self.sent.get(number.checked_sub(self.first)? as usize).copied()
    }

    /// A packet number is acknowledged; whether it may grow the window.
    fn acknowledge(&mut self, number: u32) -> bool {
        let Some(sent) = self.sent.get_mut((number - self.first) as usize) else { return false };
        let fate = std::mem::replace(&mut sent.fate, Fate::Acked);
        let sent = *sent;
        match fate {
            Fate::Acked => return false,
            Fate::InFlight => self.view.packets_out -= 1,
            Fate::Lost => self.stats.undo_count += 1,
        }
        let view = &mut self.view;
        view.delivered += 1;
        view.delivered_mstamp_us = view.mstamp_us;
        self.take_sample(&sent);
        self.reference = Reference {
            total_sent: sent.total_sent,
            sent_us: sent.sent_us,
            acked_us: self.view.mstamp_us,
            acked: self.view.delivered,
        };
        number >= self.recovery_end
    }

    /// A packet sent after the reduction is acknowledged: the recovery period is over.
    fn end_recovery(&mut self) {
        match self.view.ca_state {
            CaState::Recovery => {
                self.set_state(CaState::Open);
                if !self.full_control {
                    self.controller.event(&self.view, &mut self.control, Event::CompleteCwr);
                }
            }
            CaState::Loss => self.set_state(CaState::Open),
            _ => {}
        }
    }

    /// The bandwidth sample of one acknowledged packet: the lower of the rates at which its flight was sent and
    /// acknowledged (QUIC's sampler; every acknowledged packet gives one, the highest of an ACK is kept).
    fn take_sample(&mut self, sent: &Sent) {
        let view = &self.view;
        let reference = sent.reference;
        let sent_packets = sent.total_sent - reference.total_sent;
        let send_us = sent.sent_us.saturating_sub(reference.sent_us);
        let acked_packets = view.delivered - reference.acked;
        let ack_us = view.mstamp_us.saturating_sub(reference.acked_us);
        if ack_us == 0 {
            return;
        }
        // packets/time compared as cross products: an empty send time is an infinite rate.
        let send_is_slower = sent_packets * ack_us < acked_packets * send_us;
        let (packets, interval_us) = if send_is_slower { (sent_packets, send_us) } else { (acked_packets, ack_us) };
        let best = self.sample.interval_us > 0
            && self.sample.delivered as u64 * interval_us >= packets * self.sample.interval_us as u64;
        if best {
            return;
        }
        self.sample.delivered = packets as i32;
        self.sample.interval_us = interval_us as i64;
        self.sample.prior_delivered = sent.delivered;
        self.sample.prior_mstamp_us = reference.acked_us;
        self.sample.is_app_limited = sent.is_app_limited;
        self.sample.is_retrans = sent.is_retransmission;
        self.sample.tx_in_flight = sent.tx_in_flight;
        self.sample.lost_since_sent = (view.lost - sent.lost) as i32;
        self.sample.delivered_ce = (view.delivered_ce - sent.delivered_ce) as i32;
    }

    fn sample_rtt(&mut self, latest_us: u64, ack_delay_us: u64) {
        self.min_rtt_us = self.min_rtt_us.min(latest_us);
        if self.has_sample {
            let delay_us = ack_delay_us.min(self.quic().max_ack_delay.as_micros());
            let adjusted = if latest_us >= self.min_rtt_us + delay_us { latest_us - delay_us } else { latest_us };
            self.rttvar_us = (3 * self.rttvar_us + self.srtt_us.abs_diff(adjusted)) / 4;
            self.srtt_us = (7 * self.srtt_us + adjusted) / 8;
        } else {
            self.has_sample = true;
            self.first_sample_us = self.view.mstamp_us;
            self.srtt_us = latest_us;
            self.rttvar_us = latest_us / 2;
        }
        self.view.srtt_us_x8 = (self.srtt_us * 8) as u32;
        self.view.min_rtt_us = self.min_rtt_us as u32;
    }

    // Losses.

    /// Declares packets lost by number and by time.
    fn detect_losses(&mut self) -> Option<Losses> {
        self.loss_at = Time::NEVER;
        let largest = self.largest_acked?;
        let now_us = self.view.mstamp_us;
        let threshold_us =
            (self.srtt_us.max(self.sample.rtt_us.max(0) as u64) * u64::from(self.quic().time_threshold_eighths) / 8)
                .max(self.quic().granularity.as_micros());
        let by_time = self.quic().time_threshold_eighths > 0;
        let mut newest = None;
        let mut run_began_us = None;
        let mut longest_run_us = 0;
        for number in self.first..largest {
            let index = (number - self.first) as usize;
            let sent = self.sent[index];
            match sent.fate {
                Fate::Acked => run_began_us = None,
                Fate::Lost => {}
                Fate::InFlight => {
                    let by_number = number + self.quic().packet_threshold <= largest;
                    if by_number || (by_time && sent.sent_us + threshold_us <= now_us) {
                        self.lose(number, true);
                        newest = Some(number);
                        if sent.sent_us > self.first_sample_us {
                            let began_us = *run_began_us.get_or_insert(sent.sent_us);
                            longest_run_us = longest_run_us.max(sent.sent_us - began_us);
                        }
                    } else if by_time {
                        let at = Time::from_nanos((sent.sent_us + threshold_us) * 1_000);
                        self.loss_at = self.loss_at.min(rounded_up(at, self.quic().clock_resolution));
                    }
                }
            }
        }
        let persistent_us = PERSISTENT_CONGESTION * self.timeout_us();
        newest.map(|newest| Losses { newest, are_persistent: longest_run_us >= persistent_us })
    }

    /// Reacts to what [`QuicSender::detect_losses`] found: one reduction, or the smallest window when congestion is
    /// persistent (RFC 9002, sections 7.3.2 and 7.6).
    fn on_losses(&mut self, losses: Option<Losses>) {
        let Some(Losses { newest, are_persistent }) = losses else { return };
        if !are_persistent || self.full_control {
            return self.on_congestion(newest);
        }
        if newest >= self.recovery_end {
            self.begin_reduction();
            self.controller.event(&self.view, &mut self.control, Event::Loss);
        }
        self.set_state(CaState::Loss);
        self.control.cwnd = MINIMUM_WINDOW;
        // The next acknowledgement ends this period.
        self.recovery_end = 0;
    }

    fn lose(&mut self, number: u32, tell_controller: bool) {
        let sent = &mut self.sent[(number - self.first) as usize];
        sent.fate = Fate::Lost;
        let sent = *sent;
        self.view.packets_out -= 1;
        self.view.lost += 1;
        self.resend.push_back(sent.seq);
        if tell_controller && self.hooks.packet_lost {
            let lost = LostPacket {
                tx_in_flight: sent.tx_in_flight,
                delivered: sent.delivered,
                lost: sent.lost,
                is_app_limited: sent.is_app_limited,
            };
            self.controller.packet_lost(&self.view, &mut self.control, &lost);
        }
    }

    /// Drops settled packets from the front. Lost ones are remembered for three timeouts' worth of numbers, so that a
    /// late acknowledgement is still recognised.
    fn forget_settled(&mut self) {
        let keep_from = self.largest_acked.map_or(0, |largest| largest.saturating_sub(self.quic().packet_threshold));
        while let Some(sent) = self.sent.front() {
            if sent.fate == Fate::InFlight || self.first >= keep_from {
                break;
            }
            self.sent.pop_front();
            self.first += 1;
        }
        self.view.snd_una = u64::from(self.first);
    }

    /// One reduction for all packets sent before it.
    fn on_congestion(&mut self, number: u32) {
        if number < self.recovery_end {
            return;
        }
        self.recovery_end = self.next_number();
        self.begin_reduction();
        self.set_state(CaState::Recovery);
        if !self.full_control {
            self.control.cwnd = self.control.ssthresh;
        }
    }

    fn begin_reduction(&mut self) {
        self.stats.recovery_count += 1;
        let (view, control) = (&mut self.view, &mut self.control);
        view.prior_cwnd = control.cwnd;
        control.cwnd_cnt = 0;
        control.ssthresh = self.controller.ssthresh(view, control).max(MINIMUM_WINDOW);
    }

    fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.view, &mut self.control, state);
        self.view.ca_state = state;
    }

    // Timers.

    /// Smoothed RTT plus variation plus the receiver's delay.
    fn timeout_us(&self) -> u64 {
        if !self.has_sample {
            return self.quic().initial_timeout.as_micros();
        }
        let quic = self.quic();
        let variation = (4 * self.rttvar_us).max(quic.granularity.as_micros());
        let delay = match quic.timeout {
            Timeout::Probe => quic.max_ack_delay.as_micros(),
            Timeout::ResendQuietly => 0,
        };
        (self.srtt_us + variation + delay).max(quic.timeout_min.as_micros())
    }

    fn set_timers(&mut self) {
        self.timeout_at = if self.view.packets_out == 0 {
            Time::NEVER
        } else {
            let backed_off = self.timeout_us() << self.timeouts.min(10);
            self.last_sent_at + Duration::from_micros(backed_off)
        };
    }

    /// When [`QuicSender::on_timer`] wants to be called; [`Time::NEVER`] when nothing is pending.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let mut next = self.timeout_at.min(self.loss_at).min(self.poll_at);
        if self.pacing_blocked {
            // An alarm is set in the clock's units.
            next = next.min(rounded_down(self.view.next_departure, self.quic().clock_resolution));
        }
        next
    }

    /// The time of [`QuicSender::next_timer`] has come.
    pub fn on_timer(&mut self, now: Time) {
        self.refresh_clock(now);
        if self.view.next_departure <= now {
            self.pacing_blocked = false;
        }
        if self.poll_at <= now {
            self.poll_at = Time::NEVER;
        }
        if self.loss_at <= now {
            let losses = self.detect_losses();
            self.on_losses(losses);
            self.forget_settled();
            self.set_timers();
        } else if self.timeout_at <= now {
            self.stats.rto_count += 1;
            match self.quic().timeout {
                Timeout::Probe => {
                    self.probes = PROBES;
                    self.timeouts += 1;
                    self.stats.probe_count += 1;
                }
                Timeout::ResendQuietly => {
                    let oldest: Vec<u32> = (self.first..self.next_number())
                        .filter(|&number| self.record(number).is_some_and(|sent| sent.fate == Fate::InFlight))
                        .take(PROBES as usize)
                        .collect();
                    for number in oldest {
                        self.lose(number, false);
                    }
                    self.forget_settled();
                }
            }
            self.last_sent_at = now;
            self.set_timers();
        }
    }

    // Transmission.

    /// The next packet to put on the wire now, or `None` when nothing may leave before the next ACK or timer.
    pub fn poll_transmit(&mut self, now: Time) -> Option<QuicPacket> {
        if !self.established {
            return None;
        }
        self.refresh_clock(now);
        let (seq, is_retransmission) = if self.probes > 0 {
            self.probes -= 1;
            self.take_data().or_else(|| self.oldest_in_flight())?
        } else {
            if self.pacing_forbids() {
                return None;
            }
            let (view, control) = (&mut self.view, &self.control);
            if view.in_flight() >= control.cwnd {
                view.cwnd_limited = true;
                view.max_packets_out = view.packets_out;
                return None;
            }
            if self.has_sent_all() {
                self.view.cwnd_limited = false;
                return None;
            }
            let poll_at = rounded_up(now, self.quic().poll_interval);
            if poll_at > now {
                self.poll_at = poll_at;
                return None;
            }
            self.take_data()?
        };
        Some(self.send(now, seq, is_retransmission))
    }

    /// Lost data first, then new data; and whether it was sent before.
    fn take_data(&mut self) -> Option<(u32, bool)> {
        if let Some(seq) = self.resend.pop_front() {
            return Some((seq, true));
        }
        (self.next_seq < self.write_seq).then(|| {
            self.next_seq += 1;
            (self.next_seq - 1, false)
        })
    }

    fn oldest_in_flight(&self) -> Option<(u32, bool)> {
        self.sent.iter().find(|sent| sent.fate == Fate::InFlight).map(|sent| (sent.seq, true))
    }

    /// Sends at `at`, of which the connection knows only what its clock shows.
    fn send(&mut self, at: Time, seq: u32, is_retransmission: bool) -> QuicPacket {
        let number = self.next_number();
        let now = self.view.now;
        let len = if seq + 1 == self.write_seq { self.last_len } else { self.view.mss as u16 };
        if self.view.in_flight() == 0 {
            self.controller.event(&self.view, &mut self.control, Event::TxStart);
            self.burst_tokens = self.quic().initial_burst;
            self.reference = Reference {
                total_sent: self.total_sent + 1,
                sent_us: self.view.mstamp_us,
                acked_us: self.view.mstamp_us,
                acked: self.view.delivered,
            };
        }
        self.total_sent += 1;
        self.view.last_sent = now;
        self.view.packets_out += 1;
        self.view.snd_nxt = u64::from(number) + 1;
        self.sent.push_back(Sent {
            seq,
            fate: Fate::InFlight,
            is_retransmission,
            is_app_limited: self.control.app_limited != 0,
            sent_us: self.view.mstamp_us,
            total_sent: self.total_sent,
            reference: self.reference,
            delivered: self.view.delivered,
            lost: self.view.lost,
            delivered_ce: self.view.delivered_ce,
            tx_in_flight: self.view.in_flight(),
        });
        self.stats.sent_segments += 1;
        self.stats.sent_bytes += u64::from(len);
        self.stats.retransmitted_segments += u64::from(is_retransmission);
        self.last_sent_at = now;
        self.set_timers();
        self.pace(len);
        QuicPacket {
            number,
            seq,
            len,
            ecn: if self.config.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            is_retransmission,
            sent_at: at,
        }
    }

    fn pacing_forbids(&mut self) -> bool {
        let view = &self.view;
        let early = view.next_departure.since(view.now);
        // What a coarse clock cannot tell apart is not early.
        let granularity = self.quic().pacing_granularity.max(self.quic().clock_resolution);
        self.pacing_blocked = view.paced && early > granularity;
        self.pacing_blocked
    }

    /// Moves the pacing clock past a packet that has just left.
    fn pace(&mut self, len: u16) {
        let (view, control) = (&mut self.view, &self.control);
        if !view.paced || control.pacing_rate == 0 {
            return;
        }
        if self.burst_tokens > 0 {
            self.burst_tokens -= 1;
            view.next_departure = view.now;
            return;
        }
        let span = u64::from(len) * 1_000_000_000 / control.pacing_rate;
        view.next_departure = view.next_departure.max(view.now) + Duration::from_nanos(span);
    }

    fn update_pacing_rate(&mut self) {
        let (view, control) = (&self.view, &mut self.control);
        let ratio = if control.in_slow_start() { self.config.pacing_ss_ratio } else { 125 };
        let window = u64::from(view.mss) * u64::from(control.cwnd) * u64::from(ratio) * 10_000;
        control.pacing_rate = (window / self.srtt_us.max(1)).min(view.max_pacing_rate);
    }

    fn mark_app_limited(&mut self) {
        let in_flight = self.view.in_flight();
        if self.has_sent_all() && in_flight < self.control.cwnd {
            self.control.app_limited = (self.view.delivered + u64::from(in_flight)).max(1);
        }
    }
}
