//! What a QUIC library tells a congestion controller, told to one of ours.
//!
//! A library tells of every packet by itself, of losses after the end of an ACK, and of congestion events once more.
//! Ours want one call an ACK, with a rate sample, after losses and changes of state ([`Controller`]). So the governor
//! keeps what a sender of ours would: which packets are in flight, the sampler, the state of congestion avoidance. It
//! counts in packets, each of which has the size of the path's MTU for a window.

use crate::ledger::Ledger;
use dumbbell_cc_contract::{AckFlags, CaState, Control, Controller, Event, Hooks, LostPacket, Needs, RateSample, View};
use dumbbell_recovery::jiffies::Jiffies;
use dumbbell_recovery::rate::{AppLimit, ChromiumSampler, check_app_limited, end_app_limited};
use dumbbell_recovery::rfc9002::{ProportionalReduction, pacing_rate};
use dumbbell_units::{Duration, Time};

/// The smallest window in packets (`kMinimumWindow` of RFC 9002).
const MINIMUM_WINDOW: u32 = 2;
/// Pacing rates that are only reported, in percent of a window per round-trip time (RFC 9002, section 7.7).
const PACING_RATIO: u32 = 125;

/// What a connection has at first.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Bytes of the largest packet, UDP's payload.
    pub mtu: u16,
    /// Window after the handshake in packets.
    pub initial_cwnd: u32,
    /// Whether reductions are taken back that prove spurious.
    pub undo: bool,
}

/// An acknowledged packet.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Its number.
    pub number: u64,
    /// When it left.
    pub sent_at: Time,
    /// Its bytes.
    pub bytes: u64,
    /// The library's smoothed round-trip time, without what this ACK adds.
    pub srtt: Duration,
}

/// A congestion event.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// The highest number among the packets that it is about.
    pub largest: u64,
    /// Losses span so much time that the window collapses.
    pub is_persistent: bool,
    /// A mark has caused it, no loss.
    pub is_ecn: bool,
}

/// One of our controllers, and what it is told.
pub struct Governor {
    controller: Box<dyn Controller>,
    full_control: bool,
    hooks: Hooks,
    needs: Needs,
    terms: Terms,
    view: View,
    control: Control,
    sample: RateSample,
    rate: ChromiumSampler,
    ledger: Ledger,
    prr: ProportionalReduction,
    bytes_in_flight: u64,
    clock: Jiffies,
    /// When the first round-trip time was measured, in microseconds. Packets that left before belong to the handshake,
    /// and no controller hears of them.
    established_us: Option<u64>,
    /// The first packet behind the handshake has left.
    has_begun: bool,
    next_number: u64,
    /// Position of number 0 of the current packet number space: numbers begin again with each space, positions only rise.
    space_begins: u64,
    largest_acked: Option<u64>,
    ack: Ack,
    /// [`View::lost`] when the controller was given a sample last.
    lost_sampled: u64,
    /// Packets below this number left before the present recovery period, or the last one.
    recovery_end: u64,
    /// What an undo brings back besides the window.
    before: Before,
    reductions: u64,
    undone: u64,
}

/// The ACK that is being told of.
#[derive(Clone, Copy, Debug, Default)]
struct Ack {
    progress: Progress,
    prior_delivered: u64,
    /// Packets among those acknowledged that left after recovery began.
    grew_by: u32,
    /// It shows that all losses of a reduction were spurious.
    undoes: bool,
    ends_recovery: bool,
}

/// How far an ACK has been told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// There is none.
    #[default]
    None,
    /// Some of its packets.
    Begun,
    /// All of them; losses follow.
    Told,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    ssthresh: u32,
    recovery_end: u64,
}

impl Governor {
    /// `controller` has nothing in flight yet.
    pub fn new(controller: Box<dyn Controller>, terms: Terms) -> Governor {
        let view = View { paced: true, ..View::new(u32::from(terms.mtu)) };
        Governor {
            full_control: controller.full_control(),
            hooks: controller.hooks(),
            needs: controller.needs(),
            controller,
            terms,
            control: Control { cwnd: terms.initial_cwnd, ..Control::default() },
            sample: RateSample::invalid(),
            rate: ChromiumSampler::default(),
            ledger: Ledger::default(),
            prr: ProportionalReduction::default(),
            bytes_in_flight: 0,
            clock: Jiffies::new(view.hz),
            established_us: None,
            has_begun: false,
            next_number: 0,
            space_begins: 0,
            largest_acked: None,
            ack: Ack::default(),
            lost_sampled: 0,
            recovery_end: 0,
            before: Before::default(),
            reductions: 0,
            undone: 0,
            view,
        }
    }

    /// The connection as the controller sees it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What the controller may change.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The controller.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// The rate sample of the latest ACK.
    pub fn sample(&self) -> &RateSample {
        &self.sample
    }

    /// Reductions so far, and how many of them were taken back.
    pub fn reductions(&self) -> (u64, u64) {
        (self.reductions, self.undone)
    }

    /// Bytes of memory that packets in flight take.
    pub fn memory(&self) -> u64 {
        self.ledger.memory()
    }

    /// Bytes that may be in flight.
    pub fn window(&self) -> u64 {
        let mtu = u64::from(self.terms.mtu);
        let Control { cwnd, cwnd_bytes, .. } = self.control;
        let window = if cwnd_bytes == 0 { u64::from(cwnd) * mtu } else { cwnd_bytes };
        if self.needs.proportional > 0 && self.view.in_reduction() {
            let may_leave = self.prr.allows(self.bytes_in_flight, window, u64::from(self.needs.proportional));
            return self.bytes_in_flight + if may_leave { mtu } else { 0 };
        }
        window
    }

    /// The pacing rate in bytes a second, where the controller sets it.
    pub fn pacing_rate(&self) -> Option<u64> {
        (self.full_control && self.control.pacing_rate > 0).then_some(self.control.pacing_rate)
    }

    /// Takes over what a controller has decided that is not ours.
    pub fn mirror(&mut self, window: u64, ssthresh: Option<u64>, pacing_rate: Option<u64>) {
        self.control.cwnd = self.packets(window);
        self.control.cwnd_bytes = window;
        self.control.ssthresh = ssthresh.map_or(Control::INFINITE_SSTHRESH, |bytes| self.packets(bytes));
        if let Some(rate) = pacing_rate {
            self.control.pacing_rate = rate;
        }
    }

    fn packets(&self, bytes: u64) -> u32 {
        u32::try_from(bytes / u64::from(self.terms.mtu)).unwrap_or(u32::MAX)
    }

    /// Somebody outside speaks to the controller. Returns whether a lever has changed.
    pub fn steer(&mut self, now: Time, steer: &mut dyn FnMut(&mut dyn Controller, &View, &mut Control)) -> bool {
        self.advance(now);
        let before = self.control.clone();
        steer(&mut *self.controller, &self.view, &mut self.control);
        self.control != before
    }

    /// Moves the clock.
    fn advance(&mut self, now: Time) {
        if now != self.view.now {
            self.view.now = now;
            self.view.mstamp_us = now.as_micros();
            self.view.jiffies = self.view.jiffies.wrapping_add(self.clock.advance(now));
        }
    }

    /// A packet that asks for an ACK leaves.
    pub fn sent(&mut self, now: Time, bytes: u16, number: u64) {
        self.settle();
        self.advance(now);
        let is_first = self.established_us.is_some() && !self.has_begun;
        self.has_begun |= is_first;
        if self.view.packets_out == 0 || is_first {
            if self.has_begun {
                self.controller.event(&self.view, &mut self.control, Event::TxStart);
            }
            self.rate.restart(self.view.mstamp_us, self.view.delivered);
        }
        self.view.packets_out += 1;
        self.bytes_in_flight += u64::from(bytes);
        self.prr.sent(u64::from(bytes));
        if number < self.next_number {
            self.space_begins += self.next_number;
        }
        self.next_number = number + 1;
        self.view.snd_nxt = self.space_begins + self.next_number;
        self.view.last_sent = now;
        self.ledger.push(number, self.rate.packet_sent(&self.view, &self.control, false));
    }

    /// The window has kept a packet back.
    pub fn cwnd_limited(&mut self) {
        self.view.cwnd_limited = true;
        self.view.max_packets_out = self.view.packets_out;
    }

    /// An ACK acknowledges a packet.
    pub fn acked(&mut self, now: Time, acked: Acked) {
        if self.ack.progress == Progress::Told {
            self.settle();
        }
        self.advance(now);
        let sent_us = acked.sent_at.as_micros();
        let Some(sent) = self.ledger.take(acked.number, Some(sent_us)) else { return };
        if self.ack.progress == Progress::None {
            self.begin_ack();
        }
        self.view.packets_out -= 1;
        self.bytes_in_flight -= acked.bytes.min(self.bytes_in_flight);
        let rtt_us = (self.view.mstamp_us - sent_us).max(1);
        let Some(established_us) = self.established_us else { return self.establish(rtt_us) };
        if sent_us < established_us {
            return;
        }
        self.view.delivered += 1;
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.rate.packet_acked(&mut self.sample, &self.view, &sent.at);
        self.prr.delivered(1, acked.bytes);
        // A late ACK for a packet that was overtaken gives no round-trip time (RFC 9002, section 5.1).
        if self.largest_acked.is_none_or(|largest| acked.number > largest) {
            self.largest_acked = Some(acked.number);
            self.take_rtt(rtt_us, acked.srtt);
        }
        if acked.number >= self.recovery_end {
            self.ack.grew_by += 1;
            self.ack.ends_recovery = true;
        }
    }

    fn begin_ack(&mut self) {
        self.ack = Ack {
            progress: Progress::Begun,
            prior_delivered: self.view.delivered,
            undoes: self.ack.undoes,
            ..Ack::default()
        };
        self.sample = RateSample { prior_in_flight: self.view.in_flight(), ..RateSample::invalid() };
        self.prr.begin_event(self.bytes_in_flight);
    }

    /// The first round-trip time.
    fn establish(&mut self, rtt_us: u64) {
        self.established_us = Some(self.view.mstamp_us);
        self.take_rtt(rtt_us, Duration::from_micros(rtt_us));
        self.sample.rtt_us = -1;
        self.view.delivered_mstamp_us = self.view.mstamp_us;
        self.recovery_end = 0;
        self.report_pacing_rate();
        self.controller.init(&self.view, &mut self.control);
    }

    fn take_rtt(&mut self, rtt_us: u64, srtt: Duration) {
        let clamped = |us: u64| u32::try_from(us).unwrap_or(u32::MAX);
        self.sample.rtt_us = i64::try_from(rtt_us).unwrap_or(i64::MAX);
        self.view.min_rtt_us = self.view.min_rtt_us.min(clamped(rtt_us));
        self.view.srtt_us_x8 = clamped(srtt.as_micros().max(1) * 8);
    }

    /// All packets of an ACK are told. `bytes_in_flight` is what the library counts then; `is_app_limited` if nothing more
    /// was there to send.
    pub fn end_ack(&mut self, now: Time, bytes_in_flight: u64, is_app_limited: bool) {
        self.advance(now);
        if bytes_in_flight < self.bytes_in_flight {
            self.view.packets_out -= self.ledger.forget_earlier();
            self.bytes_in_flight = bytes_in_flight;
        }
        if self.ack.progress != Progress::Begun {
            return;
        }
        self.ack.progress = Progress::Told;
        self.view.no_unsent_data = is_app_limited;
        if is_app_limited {
            self.view.cwnd_limited = false;
        }
        self.view.snd_una = self.ledger.first().map_or(self.view.snd_nxt, |number| self.space_begins + number);
        let delivered = self.delivered();
        if delivered == 0 {
            return;
        }
        self.rate.end_ack(&self.sample, &self.view);
        if self.hooks.pkts_acked {
            let in_flight = self.sample.delivered_since_sent(self.view.delivered);
            self.controller.pkts_acked(&self.view, &mut self.control, delivered, self.sample.rtt_us, in_flight);
        }
        if self.hooks.in_ack_event {
            self.controller.in_ack_event(&self.view, &mut self.control, AckFlags::default());
        }
        self.undo_if_spurious();
        if !self.full_control {
            self.end_recovery();
        }
    }

    /// Packets that the present ACK has delivered.
    fn delivered(&self) -> u32 {
        u32::try_from(self.view.delivered - self.ack.prior_delivered).unwrap_or(u32::MAX)
    }

    /// A packet is lost.
    pub fn lost(&mut self, now: Time, bytes: u16, number: u64) {
        self.advance(now);
        let Some(sent) = self.ledger.take(number, None) else { return };
        self.view.packets_out -= 1;
        self.bytes_in_flight -= u64::from(bytes).min(self.bytes_in_flight);
        if self.established_us.is_none_or(|established_us| sent.at.sent_us < established_us) {
            return;
        }
        self.view.lost += 1;
        if self.hooks.packet_lost {
            let lost = LostPacket {
                tx_in_flight: sent.at.tx_in_flight,
                delivered: sent.at.delivered(&self.view),
                lost: sent.at.lost(&self.view),
                is_app_limited: sent.at.is_app_limited,
            };
            self.controller.packet_lost(&self.view, &mut self.control, &lost);
        }
    }

    /// Packets are lost or marked (`OnCongestionEvent` of RFC 9002, one reduction a recovery period).
    pub fn congested(&mut self, now: Time, event: Congestion) {
        self.advance(now);
        if self.established_us.is_none() {
            return;
        }
        let begins = event.largest >= self.recovery_end;
        if begins {
            self.begin_reduction(event.is_ecn);
        }
        if event.is_persistent {
            if begins {
                self.controller.event(&self.view, &mut self.control, Event::Loss);
            }
            self.collapse();
        } else if begins {
            self.enter_recovery(if event.is_ecn { CaState::Cwr } else { CaState::Recovery });
        }
    }

    /// All packets whose loss was told have arrived after all.
    pub fn spurious(&mut self) {
        if self.ack.progress == Progress::Told {
            self.settle();
        }
        self.ack.undoes = self.terms.undo;
    }

    /// The path's MTU has changed.
    pub fn set_mtu(&mut self, mtu: u16) {
        self.terms.mtu = mtu.max(1);
        self.view.mss = u32::from(self.terms.mtu);
    }

    /// Nothing more is told of the present ACK: the controller hears of it as a whole.
    pub fn settle(&mut self) {
        if self.ack.progress == Progress::Told && self.delivered() > 0 {
            self.tell_ack();
        }
        self.undo_if_spurious();
        self.ack = Ack { progress: Progress::None, ..self.ack };
    }

    fn tell_ack(&mut self) {
        let Ack { grew_by, .. } = self.ack;
        self.sample.acked_sacked = self.delivered();
        self.sample.losses = u32::try_from(self.view.lost - self.lost_sampled).unwrap_or(u32::MAX);
        self.lost_sampled = self.view.lost;
        end_app_limited(&mut self.control.app_limited, self.view.delivered);
        if self.view.no_unsent_data {
            self.note_app_limited();
        }
        if self.full_control {
            self.controller.cong_control(&self.view, &mut self.control, &self.sample);
        } else {
            if grew_by > 0 && !self.view.in_reduction() {
                self.controller.cong_avoid(&self.view, &mut self.control, grew_by);
                if self.needs.reductions && self.controller.begins_reduction() {
                    self.begin_reduction(false);
                    self.enter_recovery(CaState::Cwr);
                }
            }
            self.report_pacing_rate();
        }
        self.end_recovery();
    }

    fn note_app_limited(&mut self) {
        let limit = AppLimit {
            nothing_queued: true,
            in_flight: self.view.in_flight(),
            cwnd: self.control.cwnd,
            repaired_all: true,
            delivered: self.view.delivered,
        };
        if let Some(app_limited) = check_app_limited(limit) {
            self.control.app_limited = app_limited;
        }
    }

    /// What a library paces by itself; only for reports.
    fn report_pacing_rate(&mut self) {
        let srtt_us = u64::from(self.view.srtt_us_x8 / 8);
        self.control.pacing_rate = pacing_rate(self.view.mss, self.control.cwnd, PACING_RATIO, srtt_us);
    }

    fn begin_reduction(&mut self, marked: bool) {
        self.end_recovery();
        self.before = Before { ssthresh: self.control.ssthresh, recovery_end: self.recovery_end };
        self.reductions += 1;
        self.view.prior_cwnd = self.control.cwnd;
        self.control.cwnd_cnt = 0;
        self.view.marked = marked;
        self.control.ssthresh = self.controller.ssthresh(&self.view, &self.control).max(MINIMUM_WINDOW);
        self.view.marked = false;
    }

    fn enter_recovery(&mut self, state: CaState) {
        self.recovery_end = self.next_number;
        self.ack.ends_recovery = false;
        self.prr.begin();
        self.control.cwnd_bytes = 0;
        self.set_state(state);
        if !self.full_control {
            self.control.cwnd = self.control.ssthresh;
        }
    }

    /// Congestion is persistent.
    fn collapse(&mut self) {
        self.ack.ends_recovery = false;
        self.control.cwnd_bytes = 0;
        self.set_state(CaState::Loss);
        self.control.cwnd = MINIMUM_WINDOW;
        // A controller with full control gets its window back when the period ends; the others begin slow start at once.
        self.recovery_end = if self.full_control { self.next_number } else { 0 };
    }

    /// Ends the recovery period where the present ACK does: it acknowledges a packet that left after it had begun.
    fn end_recovery(&mut self) {
        if !std::mem::take(&mut self.ack.ends_recovery) {
            return;
        }
        if matches!(self.view.ca_state, CaState::Cwr | CaState::Recovery) {
            self.set_state(CaState::Open);
            if !self.full_control {
                self.controller.event(&self.view, &mut self.control, Event::CompleteCwr);
            }
        } else if self.view.ca_state == CaState::Loss {
            self.set_state(CaState::Open);
        }
    }

    fn undo_if_spurious(&mut self) {
        if !std::mem::take(&mut self.ack.undoes) || self.reductions == 0 {
            return;
        }
        self.undone += 1;
        self.control.cwnd_bytes = 0;
        self.control.cwnd = self.controller.undo_cwnd(&self.view, &self.control);
        self.control.ssthresh = self.control.ssthresh.max(self.before.ssthresh);
        self.recovery_end = self.before.recovery_end;
        if matches!(self.view.ca_state, CaState::Recovery | CaState::Loss) {
            self.set_state(CaState::Open);
        }
    }

    fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.view, &mut self.control, state);
        self.view.ca_state = state;
    }
}

#[cfg(test)]
mod tests;
