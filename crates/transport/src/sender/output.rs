//! The transmission path: what may leave, in bursts of what size, and when (`tcp_write_xmit`,
//! `tcp_xmit_retransmit_queue`).
//!
//! A burst is what Linux hands down as one buffer for segmentation: up to about a millisecond of the pacing rate, at most
//! half of the window, all stamped with one send time. Pacing, small queues and deferral act between bursts, never inside
//! one, which is why burst sizes are worth modelling.

use super::{CaState, Retransmit, Sender, Timer, flag, scoreboard::Record};
use crate::{Flags, RecoveryRule, Rescue, Segment};
use dumbbell_cc::Event;
use dumbbell_path::Ecn;
use dumbbell_units::{Duration, Time};
use std::collections::VecDeque;

/// Data segments that leave before pacing begins.
const UNPACED_SEGMENTS: u64 = 10;
/// Bookkeeping a buffer costs besides its payload, as counted against the host's queue.
const BUFFER_OVERHEAD: u64 = 784;

/// Room for this many segments is never left unused when no share of the window says otherwise: ACKs come for two
/// (`tcp_max_tso_deferred_mss`).
const NEVER_DEFERRED: u32 = 4;

/// Consecutive segments that leave together: what Linux hands down as one buffer for segmentation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Burst {
    /// Those not taken from the iterator yet.
    next: u32,
    end: u32,
    /// Payload bytes of all of them.
    pub bytes: u64,
    sent_at: Time,
    mss: u16,
    last_len: u16,
    /// It was sent before.
    pub is_retransmission: bool,
    ecn: Ecn,
    next_flags: Flags,
}

impl Iterator for Burst {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        let seq = self.next;
        if seq == self.end {
            return None;
        }
        let len = if self.remaining() == 1 { self.last_len } else { self.mss };
        let flags = self.next_flags;
        self.next += 1;
        self.next_flags = Burst::flags_behind_first(self.remaining() == 1);
        Some(Segment { seq, len, ecn: self.ecn, flags, sent_at: self.sent_at })
    }
}

impl Burst {
    /// Segments that have not been taken.
    #[inline]
    pub fn remaining(&self) -> u32 {
        self.end - self.next
    }

    /// The first segment, if all are alike but for their numbers and flags.
    #[inline]
    pub fn first_of_alike(mut self) -> Option<Segment> {
        if self.last_len == self.mss { self.next() } else { None }
    }

    /// The flags of a segment that is not the first one of its burst: of the last one, or of one between them.
    #[inline]
    pub fn flags_behind_first(is_last: bool) -> Flags {
        // PSH tells a receiver that merges segments (GRO) where a burst ends.
        if is_last { Flags::PSH } else { Flags::NONE }
    }
}

/// Microsecond stamps of transmissions, in the order of transmission.
///
/// A real host needs time to process an ACK. Without it, what two ACKs of the same instant release would carry the same
/// stamp, and RACK would tell the order of a retransmission and of new data by their sequence numbers: wrongly. So what
/// one event sends is stamped at least a microsecond after what the event before sent, and new data after retransmissions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendStamp {
    last_us: u64,
    is_new_event: bool,
}

impl SendStamp {
    #[inline]
    pub fn begin_event(&mut self) {
        self.is_new_event = true;
    }

    #[inline]
    fn next(&mut self, now_us: u64) -> u64 {
        let earliest_us = self.last_us + u64::from(std::mem::take(&mut self.is_new_event));
        self.last_us = now_us.max(earliest_us);
        self.last_us
    }
}

/// What the host's own device still holds of this connection (TCP small queues).
#[derive(Clone, Debug, Default)]
pub(super) struct HostQueue {
    charged: u64,
    throttled: bool,
    completions: VecDeque<(Time, u64)>,
}

impl HostQueue {
    fn release(&mut self, now: Time) {
        while let Some(&(at, bytes)) = self.completions.front() {
            if at > now {
                break;
            }
            self.charged -= bytes;
            self.completions.pop_front();
        }
    }

    /// Whether the device holds nothing of this connection.
    fn is_empty(&mut self, now: Time) -> bool {
        self.release(now);
        self.charged == 0
    }

    /// When a throttled sender may try again.
    #[inline]
    pub fn wake_at(&self) -> Time {
        match self.completions.front() {
            Some(&(at, _)) if self.throttled => at,
            _ => Time::NEVER,
        }
    }

    pub fn woken(&mut self) {
        self.throttled = false;
    }
}

impl Sender {
    /// The next segments to put on the wire now, or `None` when nothing may leave before the next ACK or timer.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Burst> {
        if !self.established {
            return None;
        }
        self.refresh_clock(now);
        self.poll_again()
    }

    /// [`Sender::poll_transmit`] once more at the same time.
    #[inline(always)]
    pub fn poll_again(&mut self) -> Option<Burst> {
        if self.ready.bytes == 0 && !self.start_burst() {
            return None;
        }
        let burst = self.ready;
        self.ready.bytes = 0;
        Some(burst)
    }

    /// A burst of `bytes` from [`Sender::poll_transmit`] will have left the host's device at `completes`. Needed only with
    /// [`Completion::Wire`](crate::Completion::Wire).
    #[inline]
    pub fn handed_over(&mut self, bytes: u64, completes: Time) {
        if let Some(queue) = &mut self.host_queue {
            let buffer = bytes + BUFFER_OVERHEAD;
            queue.charged += buffer;
            queue.completions.push_back((completes, buffer));
        }
    }

    #[inline(always)]
    fn start_burst(&mut self) -> bool {
        (self.retransmit != Retransmit::Nothing && self.start_requested())
            || self.start_new_burst()
            || (self.config.rescue != Rescue::Off && self.start_rescue())
    }

    /// What the last ACK or timer asked for before ordinary new data.
    #[inline(always)]
    fn start_requested(&mut self) -> bool {
        if self.retransmit == Retransmit::Lost && self.has_repaired_all() {
            self.end_request();
            return false;
        }
        self.start_any_requested()
    }

    /// Whether under Linux's rules nothing is left to retransmit.
    #[inline]
    fn has_repaired_all(&self) -> bool {
        self.view.retrans_out >= self.view.lost_out && self.config.recovery == RecoveryRule::Linux
    }

    #[inline]
    fn end_request(&mut self) {
        self.retransmit = Retransmit::Nothing;
        self.send_stamp.begin_event();
    }

    #[inline(never)]
    fn start_any_requested(&mut self) -> bool {
        if self.retransmit == Retransmit::NewDataFirst {
            if self.start_new_burst() {
                return true;
            }
            if self.board.nxt() > self.high_seq {
                self.retransmit = Retransmit::Nothing;
                return false;
            }
            self.frto = false;
            self.retransmit = Retransmit::Lost;
        }
        if self.start_retransmission() {
            return true;
        }
        self.end_request();
        false
    }

    /// A segment that nobody knows to be lost, when a fast recovery has nothing better to send.
    fn start_rescue(&mut self) -> bool {
        let view = &self.view;
        if view.ca_state != CaState::Recovery
            || view.in_flight() >= self.repair_window()
            || self.can_send_new_segment()
            || self.pacing_forbids()
        {
            return false;
        }
        let end = match self.config.rescue {
            Rescue::Off => return false,
            Rescue::BelowSack => self.highest_sacked,
            Rescue::Any => self.board.nxt(),
        };
        let mut from = self.rescued_below.max(self.board.una());
        while let Some(seq) = self.board.next_unsacked(from, end) {
            from = seq + 1;
            self.rescued_below = from;
            if !self.board.get(seq).has(flag::RETRANS) {
                self.send_again(seq, 1, true);
                return true;
            }
        }
        false
    }

    /// After a pause by pacing or the host's queue: lost segments first (`tcp_tsq_write`).
    pub(super) fn resume_retransmissions(&mut self) {
        let (view, control) = (&self.view, &self.control);
        let is_waiting = match self.config.recovery {
            RecoveryRule::Linux => view.lost_out > view.retrans_out,
            RecoveryRule::Ns3 => view.lost_out > 0,
        };
        if is_waiting && control.cwnd > view.in_flight() {
            self.retransmit = Retransmit::Lost;
        }
    }

    pub(super) fn request_retransmissions(&mut self) {
        self.retransmit = Retransmit::Lost;
    }

    /// Whether pacing forbids a transmission now; if so the timer wakes us (`tcp_pacing_check`).
    #[inline]
    fn pacing_forbids(&mut self) -> bool {
        self.pacing_blocked = self.view.paced && self.view.next_departure > self.view.now;
        self.pacing_blocked
    }

    /// Segments of a burst that is as large as the pacing rate suggests.
    #[inline(always)]
    fn autosized_burst(&self) -> u32 {
        let (view, control) = (&self.view, &self.control);
        let gso_max = u64::from(view.gso_max_bytes);
        let mut bytes = control.pacing_rate >> control.pacing_shift;
        if self.config.tso_rtt_log > 0 {
            let halvings = view.min_rtt_us >> self.config.tso_rtt_log;
            if halvings < 32 {
                bytes += gso_max >> halvings;
            }
        }
        (bytes.min(gso_max) as u32) / view.mss
    }

    /// Largest burst in segments (`tcp_tso_autosize`).
    pub(super) fn max_burst(&self) -> u32 {
        self.autosized_burst().max(self.controller.min_tso_segs(&self.view, &self.control))
    }

    /// New data, as much as may leave as one burst now. Where there is none, the loop of transmissions is over.
    #[inline(always)]
    fn start_new_burst(&mut self) -> bool {
        let unsent = self.unsent_segments();
        if unsent == 0 && self.sent_in_loop == 0 {
            return false;
        }
        let room = self.control.cwnd.saturating_sub(self.view.in_flight());
        let mut cwnd_limited = room == 0;
        if unsent > 0 {
            let size = self.new_burst_size(unsent, room, &mut cwnd_limited);
            if size > 0 {
                self.send_new(size);
                return true;
            }
        }
        let has_sent = std::mem::take(&mut self.sent_in_loop) > 0;
        if has_sent || cwnd_limited {
            self.validate_window(cwnd_limited);
        }
        if has_sent {
            self.schedule_probe(false);
        }
        false
    }

    /// How many new segments may leave as one burst now, with `room` for them in the window; 0 for none.
    #[inline(always)]
    fn new_burst_size(&mut self, unsent: u32, room: u32, cwnd_limited: &mut bool) -> u32 {
        let window = self.window_end.saturating_sub(self.board.nxt());
        if self.pacing_forbids() || room == 0 || window == 0 {
            return 0;
        }
        let autosized = self.autosized_burst();
        if unsent > 1 && self.should_defer(autosized, unsent, room, window) {
            *cwnd_limited = room < window;
            return 0;
        }
        // At least two bursts in flight.
        let half_cwnd = (self.control.cwnd >> 1).max(1);
        let max_burst = autosized.max(self.controller.min_tso_segs(&self.view, &self.control));
        let size = room.min(half_cwnd).min(window).min(max_burst).min(unsent);
        if self.small_queue_full(size, 1) { 0 } else { size }
    }

    /// A new segment as a tail loss probe; the window may be exceeded by one.
    pub(super) fn send_new_probe(&mut self) {
        let mut cwnd_limited = self.view.in_flight() >= self.control.cwnd;
        let sends = !self.pacing_forbids() && !self.small_queue_full(1, 1);
        if sends {
            self.send_new(1);
            cwnd_limited = self.view.in_flight() >= self.control.cwnd;
        }
        let has_sent = std::mem::take(&mut self.sent_in_loop) > 0;
        if has_sent || cwnd_limited {
            self.validate_window(cwnd_limited);
        }
    }

    /// Whether waiting for the next ACK would make a larger burst (`tcp_tso_should_defer`).
    #[inline(always)]
    fn should_defer(&self, autosized: u32, unsent: u32, room: u32, window: u32) -> bool {
        const MILLISECOND: Duration = Duration::from_millis(1);
        let (view, control) = (&self.view, &self.control);
        let limit = window.min(room);
        if limit >= unsent || view.ca_state >= CaState::Recovery {
            return false;
        }
        if limit >= autosized && limit >= self.controller.min_tso_segs(view, control) {
            return false;
        }
        if view.now.since(view.next_departure) > MILLISECOND {
            return false;
        }
        let whole_window = control.cwnd.min(self.window_end - self.board.una());
        if limit >= whole_window.checked_div(self.config.tso_win_divisor).unwrap_or(NEVER_DEFERRED) {
            return false;
        }
        if self.board.is_empty() {
            return false;
        }
        let srtt = Duration::from_micros(u64::from(view.srtt_us_x8 >> 3));
        let head_sent = Time::ZERO + Duration::from_micros(self.board.get(self.board.una()).sent_us);
        let threshold = MILLISECOND.min(Duration::from_nanos(srtt.as_nanos() / 2));
        (head_sent + srtt).since(view.now) <= threshold
    }

    /// TCP small queues: whether the host's device holds enough of this connection already (`tcp_small_queue_check`).
    #[inline(always)]
    fn small_queue_full(&mut self, size: u32, factor: u64) -> bool {
        self.host_queue.is_some() && self.host_queue_full(size, factor)
    }

    #[inline(never)]
    fn host_queue_full(&mut self, size: u32, factor: u64) -> bool {
        let Some(queue) = &mut self.host_queue else { return false };
        queue.release(self.view.now);
        let buffer = u64::from(size * self.view.mss) + BUFFER_OVERHEAD;
        let rate_share = self.control.pacing_rate >> self.control.pacing_shift;
        let limit = (2 * buffer).max(rate_share).min(self.config.limit_output_bytes) * factor;
        queue.throttled = queue.charged > limit && self.view.packets_out > 1;
        queue.throttled
    }

    #[inline(never)]
    fn send_new(&mut self, size: u32) {
        let first = self.board.nxt();
        let is_last = first + size == self.write_seq;
        let mss = self.view.mss as u16;
        let last_len = if is_last { self.last_len } else { mss };
        let bytes = u64::from(size - 1) * u64::from(mss) + u64::from(last_len);
        let prior_packets_out = self.view.packets_out;
        let (sent_at, mut record) = self.depart(size, bytes);
        record.len = mss;
        self.board.push_burst(&record, size, last_len);
        self.view.packets_out += size;
        self.view.snd_nxt = u64::from(self.board.nxt());
        if prior_packets_out == 0 || self.timer == Timer::Probe {
            self.rearm_rto();
        }
        self.sent_in_loop += size;
        if self.in_reduction() {
            self.prr_out += size;
        }
        self.ready = Burst {
            next: first,
            end: first + size,
            bytes,
            sent_at,
            mss,
            last_len,
            is_retransmission: false,
            ecn: if self.config.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            next_flags: if std::mem::take(&mut self.send_cwr) { Flags::CWR } else { Flags::NONE },
        };
    }

    /// Stamps a burst, moves the pacing clock, and gives the record every segment of the burst starts from.
    fn depart(&mut self, size: u32, bytes: u64) -> (Time, Record) {
        if self.view.in_flight() == 0 {
            self.controller.event(&self.view, &mut self.control, Event::TxStart);
        }
        let (view, control) = (&mut self.view, &self.control);
        view.last_sent = view.now;
        let prior_departure = view.next_departure;
        let departure = prior_departure.max(view.now);
        view.next_departure = departure;
        let sent_us = self.send_stamp.next(departure.as_micros());
        let outstanding = if self.config.delivery_rate.is_ns3() { view.in_flight() } else { view.packets_out };
        if outstanding == 0 {
            self.first_tx_us = sent_us;
            view.delivered_mstamp_us = sent_us;
        }
        self.stats.sent_segments += u64::from(size);
        self.stats.sent_bytes += bytes;
        if view.paced && control.pacing_rate > 0 && self.stats.sent_segments >= UNPACED_SEGMENTS {
            let span = bytes * 1_000_000_000 / control.pacing_rate;
            let lateness = if self.config.pacing_credit { departure.since(prior_departure).as_nanos() } else { 0 };
            view.next_departure = departure + Duration::from_nanos(span - lateness.min(span / 2));
        }
        let record = Record {
            sent_us,
            first_tx_us: self.first_tx_us,
            delivered_us: view.delivered_mstamp_us,
            delivered: view.delivered,
            lost: view.lost as u32,
            delivered_ce: view.delivered_ce as u32,
            tx_in_flight: view.in_flight(),
            flags: if control.app_limited != 0 { flag::APP_LIMITED } else { 0 },
            ..Record::default()
        };
        (departure, record)
    }

    // Retransmissions.

    /// The next burst of lost segments (`tcp_xmit_retransmit_queue`).
    fn start_retransmission(&mut self) -> bool {
        let view = &self.view;
        if view.packets_out == 0 || view.in_flight() >= self.repair_window() || self.has_repaired_all() {
            return false;
        }
        if self.pacing_forbids() {
            return false;
        }
        let Some(first) = self.board.first_waiting() else { return false };
        let room = self.repair_window() - self.view.in_flight();
        let most = room.min(self.max_burst());
        let mut size = 1;
        while size < most && first + size < self.board.nxt() {
            let next = self.board.get(first + size);
            let waits = next.flags & (flag::LOST | flag::RETRANS | flag::SACKED) == flag::LOST;
            if !waits || next.has(flag::BURST_START) {
                break;
            }
            size += 1;
        }
        if self.small_queue_full(size, 2) {
            return false;
        }
        self.send_again(first, size, true);
        if self.in_reduction() {
            self.prr_out += size;
        }
        let restarts = self.config.recovery == RecoveryRule::Linux && self.timer != Timer::Reordering;
        if first == self.board.una() && restarts {
            self.set_timer(Timer::Retransmission, u64::from(self.rtt.rto_us()));
        }
        true
    }

    /// The head again, whatever window and pacing say: the retransmission timer fired.
    pub(super) fn retransmit_head(&mut self) {
        let head = self.board.una();
        self.send_again(head, 1, true);
    }

    /// The last segment again as a tail loss probe. It is not counted in flight a second time.
    pub(super) fn retransmit_probe(&mut self, last: u32) {
        self.send_again(last, 1, false);
    }

    /// What may be in flight when a repair is added: ns-3 holds the receive window, too, against the amount in flight, in
    /// which a segment and its copy may count twice.
    fn repair_window(&self) -> u32 {
        match self.config.recovery {
            RecoveryRule::Linux => self.control.cwnd,
            RecoveryRule::Ns3 => self.control.cwnd.min(self.window_end - self.board.una()),
        }
    }

    /// Whether there is unsent data that the receiver's window allows.
    pub(super) fn can_send_new_segment(&self) -> bool {
        self.board.nxt() < self.write_seq && self.board.nxt() < self.window_end
    }

    fn send_again(&mut self, first: u32, size: u32, counted: bool) {
        let bytes = (first..first + size).map(|seq| u64::from(self.board.get(seq).len)).sum();
        let (sent_at, mut record) = self.depart(size, bytes);
        record.tx_in_flight += 1;
        if counted {
            record.flags |= flag::RETRANS;
        }
        // After an undo an earlier retransmission may still be counted; this one takes its place.
        let newly_counted = self.board.push_again(&record, first, size);
        if counted {
            self.view.retrans_out += newly_counted;
            self.undo.note_retransmissions(size, self.view.now);
        }
        self.stats.retransmitted_segments += u64::from(size);
        self.ready = Burst {
            next: first,
            end: first + size,
            bytes,
            sent_at,
            mss: self.view.mss as u16,
            // Only a burst's last segment can be short, and a retransmission does not join bursts.
            last_len: self.board.get(first + size - 1).len,
            is_retransmission: true,
            ecn: Ecn::NotEct,
            next_flags: Flags::NONE,
        };
    }

    // Window validation and idle time.

    /// Notes whether the window was the limit of this send loop (`tcp_cwnd_validate`).
    #[inline(always)]
    fn validate_window(&mut self, cwnd_limited: bool) {
        let una = self.board.una();
        let nxt = self.board.nxt();
        let (view, control) = (&mut self.view, &self.control);
        if una >= self.usage_seq || cwnd_limited || (!view.cwnd_limited && view.packets_out > view.max_packets_out) {
            view.cwnd_limited = cwnd_limited;
            view.max_packets_out = view.packets_out;
            self.usage_seq = nxt;
        }
        if !self.config.slow_start_after_idle || self.full_control {
            return;
        }
        if view.is_cwnd_limited(control) {
            self.cwnd_used = 0;
            self.cwnd_stamp = view.jiffies;
            return;
        }
        self.shrink_unused_window();
    }

    /// A window that was not used for a timeout shrinks towards what was (`tcp_cwnd_application_limited`).
    #[inline(never)]
    fn shrink_unused_window(&mut self) {
        let view = &self.view;
        self.cwnd_used = self.cwnd_used.max(view.packets_out);
        let unused = u64::from(view.jiffies.wrapping_sub(self.cwnd_stamp)) * self.jiffy.as_micros();
        if unused >= u64::from(self.rtt.rto_us()) && view.ca_state == CaState::Open {
            let used = self.cwnd_used.max(self.config.initial_cwnd);
            if used < self.control.cwnd {
                self.control.ssthresh = self.current_ssthresh();
                self.control.cwnd = (self.control.cwnd + used) / 2;
            }
            self.cwnd_used = 0;
            self.cwnd_stamp = self.view.jiffies;
        }
    }

    /// New data after idle time: one halving for every timeout that passed (`tcp_cwnd_restart`).
    pub(super) fn restart_after_idle(&mut self) {
        let rto = u64::from(self.rtt.rto_us());
        let mut idle = self.view.now.since(self.view.last_sent).as_micros();
        if !self.config.slow_start_after_idle || self.full_control || !self.established || idle <= rto {
            return;
        }
        if self.stats.sent_segments == 0 {
            return;
        }
        self.controller.event(&self.view, &mut self.control, Event::CwndRestart);
        self.control.ssthresh = self.current_ssthresh();
        let floor = self.config.initial_cwnd.min(self.control.cwnd);
        let mut cwnd = self.control.cwnd;
        while idle > rto && cwnd > floor {
            idle -= rto;
            cwnd >>= 1;
        }
        self.control.cwnd = cwnd.max(floor);
        self.cwnd_stamp = self.view.jiffies;
        self.cwnd_used = 0;
    }

    /// The application is about to write after it left the pipe unfilled (`tcp_rate_check_app_limited`).
    pub(super) fn mark_app_limited(&mut self) {
        let (view, control) = (&self.view, &mut self.control);
        let host_holds_nothing = self.host_queue.as_mut().is_none_or(|queue| queue.is_empty(view.now));
        let nothing_queued = self.write_seq == self.board.nxt() && host_holds_nothing;
        if nothing_queued && view.in_flight() < control.cwnd && view.lost_out <= view.retrans_out {
            control.app_limited = (view.delivered + u64::from(view.in_flight())).max(1);
        }
    }

    /// The rate a window of data per RTT needs, with headroom (`tcp_update_pacing_rate`).
    #[inline]
    pub(super) fn update_pacing_rate(&mut self) {
        let (view, control) = (&self.view, &mut self.control);
        let ratio =
            if control.cwnd < control.ssthresh / 2 { self.config.pacing_ss_ratio } else { self.config.pacing_ca_ratio };
        let window = u64::from(control.cwnd.max(view.packets_out));
        let rate = u64::from(view.mss) * 80_000 * u64::from(ratio) * window;
        let srtt_x8 = u64::from(view.srtt_us_x8.max(1));
        control.pacing_rate = (rate / srtt_x8).min(view.max_pacing_rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_of_one_instant_are_stamped_in_the_order_of_events() {
        let mut stamp = SendStamp::default();
        let mut stamps = Vec::new();
        for (event, now_us) in [(true, 5), (false, 5), (true, 5), (true, 5), (true, 9), (false, 10)] {
            if event {
                stamp.begin_event();
            }
            stamps.push(stamp.next(now_us));
        }
        assert_eq!(stamps, [5, 5, 6, 7, 9, 10]);
    }

    #[test]
    fn the_host_queue_wakes_a_throttled_sender_at_the_next_completion() {
        let mut queue = HostQueue { charged: 3_000, ..HostQueue::default() };
        queue.completions.extend([(Time::from_nanos(10), 1_000), (Time::from_nanos(20), 2_000)]);
        assert_eq!(queue.wake_at(), Time::NEVER);
        queue.throttled = true;
        assert_eq!(queue.wake_at(), Time::from_nanos(10));
        queue.release(Time::from_nanos(10));
        assert_eq!((queue.charged, queue.wake_at()), (2_000, Time::from_nanos(20)));
    }
}
