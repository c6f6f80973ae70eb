//! The transmission path (tx): what may leave, and when.
//!
//! A burst is what Linux hands down as one buffer for segmentation, all with one
//! [stamp](dumbbell_recovery::send_stamp). Pacing, small queues and
//! deferral act between bursts, never inside one, which is why burst sizes are worth modelling.

use super::assembly::{Arming, Retransmit};
use super::{Burst, Sender};
use crate::{Flags, Held, Limit, Rescue};
use dumbbell_cc_contract::Event;
use dumbbell_recovery::host_queue::QueueLimit;
use dumbbell_recovery::scoreboard::{Record, flag};
use dumbbell_recovery::timer::Pending;
use dumbbell_units::Time;

impl Sender {
    /// The next segments to put on the wire now, or `None` when nothing may leave before the next ACK or timer
    /// (`tcp_write_xmit`, a burst a call).
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
        if self.xmit.ready.bytes == 0 && !self.start_burst() && !(self.send_buffer.is_some() && self.start_written()) {
            return None;
        }
        let burst = self.xmit.ready;
        self.xmit.ready.bytes = 0;
        Some(burst)
    }

    /// Whether the sender has to be told when its bursts have left the host's device
    /// ([`Completion::Wire`](crate::Completion::Wire)).
    #[inline]
    pub fn wants_completions(&self) -> bool {
        self.host_queue.is_some()
    }

    /// A burst of `bytes` from [`Sender::poll_transmit`] will have left the host's device at `completes`. Needed only
    /// by a sender that [wants](Sender::wants_completions) to know.
    #[inline]
    pub fn handed_over(&mut self, bytes: u64, completes: Time) {
        if let Some(queue) = &mut self.host_queue {
            queue.charge(bytes, completes);
        }
    }

    /// A burst of `bytes` was given to a device that [tells](Sender::completed) later when it is done with each of its
    /// `packets`.
    pub fn handed_over_untold(&mut self, bytes: u64, packets: u32) {
        if let Some(queue) = &mut self.host_queue {
            queue.charge_untold(bytes, packets);
        }
    }

    /// The device is, or will be, done with another packet of such a burst at `at`. The [timer](Sender::next_timer) may
    /// come earlier then.
    pub fn completed(&mut self, at: Time) {
        if let Some(queue) = &mut self.host_queue {
            queue.complete(at);
        }
    }

    #[inline(always)]
    pub(super) fn start_burst(&mut self) -> bool {
        (self.xmit.request != Retransmit::Nothing && self.start_requested())
            || self.start_new_burst()
            || (self.config.rescue != Rescue::Off && self.start_rescue())
    }

    /// Whether pacing forbids a transmission now; if so the timer fires when it is allowed (`tcp_pacing_check`).
    #[inline]
    pub(super) fn pacing_forbids(&mut self) -> bool {
        self.pacer.forbids(self.view.now)
    }

    /// Sends as much new data as may leave as one burst now. Without any the send loop is over.
    #[inline(always)]
    pub(super) fn start_new_burst(&mut self) -> bool {
        let unsent = self.queued_segments();
        if unsent == 0 && self.xmit.sent == 0 {
            self.arm_after_loop(false);
            return false;
        }
        let room = self.control.cwnd.saturating_sub(self.view.in_flight());
        let mut cwnd_limited = room == 0;
        if unsent > 0 {
            let (size, most) = self.new_burst_size(unsent, room, &mut cwnd_limited);
            if size > 0 {
                self.send_new(size, most);
                return true;
            }
        }
        let has_sent = self.end_loop(cwnd_limited);
        self.arm_after_loop(has_sent);
        false
    }

    /// The send loop is over, because the window is full if `cwnd_limited`; returns whether it sent anything.
    #[inline(always)]
    fn end_loop(&mut self, cwnd_limited: bool) -> bool {
        let has_sent = std::mem::take(&mut self.xmit.sent) > 0;
        if has_sent || cwnd_limited {
            self.validate_cwnd(cwnd_limited);
        }
        has_sent
    }

    /// How many new segments may leave as one burst now, with `room` for them in the congestion window, 0 for none, and
    /// the most bytes that the last of them may have (`tcp_cwnd_test`, `tcp_snd_wnd_test`, `tcp_mss_split_point`).
    /// Without a send buffer all that is unsent lies in one buffer to which nothing is added.
    #[inline(always)]
    pub(super) fn new_burst_size(&mut self, unsent: u32, room: u32, cwnd_limited: &mut bool) -> (u32, u16) {
        let window = self.stream.window_end.saturating_sub(self.board.nxt());
        if self.pacing_forbids() || room == 0 {
            return (0, 0);
        }
        if window == 0 && !self.fits_excess(unsent) {
            self.check_window_probe();
            return (0, 0);
        }
        let max_burst = self.max_burst();
        // At least two bursts in flight.
        let half_cwnd = (self.control.cwnd >> 1).max(1);
        let quota = room.min(half_cwnd).min(max_burst);
        let pushes_one = self.send_buffer.as_ref().is_some_and(|send_buffer| send_buffer.pushes_one());
        let (buffer, may_grow) = match &mut self.send_buffer {
            Some(send_buffer) => send_buffer.next_buffer(self.board.nxt(), quota),
            None => (unsent, false),
        };
        if buffer > 1 && !pushes_one && self.tso_should_defer(max_burst, (buffer, may_grow), room, window) {
            *cwnd_limited = (room < window || (room == window && self.stream.window_excess > 0)) && room <= buffer;
            return (0, 0);
        }
        let mut size = quota.min(buffer);
        let mut most = u16::MAX;
        if size > window {
            // Of the segment where the window ends there leaves what fits.
            size = window + u32::from(self.stream.window_excess > 0);
            most = if size > window { self.stream.window_excess } else { u16::MAX };
        }
        if self.send_buffer.is_some() && size == buffer {
            (size, most) = self.end_with_rest(size, most);
        }
        if self.short_end > self.board.una() && self.nagle_holds_back(size, most) {
            (size, most) = (size - 1, u16::MAX);
        }
        if size == 0 || self.small_queue_full(size, 1) { (0, 0) } else { (size, most) }
    }

    /// Whether the last of `size` segments, of at most `most` bytes, is short and has to wait for the ACK of another
    /// short one (`tcp_nagle_check`, `tcp_minshall_check`).
    #[cold]
    fn nagle_holds_back(&self, size: u32, most: u16) -> bool {
        size > 0 && !self.config.nodelay && self.stream.len_before(self.board.nxt() + size).min(most) < self.stream.mss
    }

    /// Whether what is left of the window, less than a segment, has room for all of `unsent`.
    #[cold]
    fn fits_excess(&self, unsent: u32) -> bool {
        let nxt = self.board.nxt();
        unsent == 1 && nxt == self.stream.window_end && self.stream.len_before(nxt + 1) <= self.stream.window_excess
    }

    /// Sends a new segment as a tail loss probe, one beyond the window if need be. Returns whether it left.
    pub(super) fn send_new_probe(&mut self) -> bool {
        let sends = !self.pacing_forbids() && !self.small_queue_full(1, 1);
        if sends {
            self.send_new(1, u16::MAX);
            self.xmit.arming = Arming::Nothing;
        }
        let cwnd_limited = self.view.in_flight() >= self.control.cwnd;
        self.end_loop(cwnd_limited);
        sends
    }

    /// TCP small queues: whether the host's device holds enough of this connection already (`tcp_small_queue_check`).
    #[inline(always)]
    pub(super) fn small_queue_full(&mut self, size: u32, factor: u64) -> bool {
        self.host_queue.is_some() && self.host_queue_full(size, factor)
    }

    #[inline(never)]
    fn host_queue_full(&mut self, size: u32, factor: u64) -> bool {
        let Some(queue) = &mut self.host_queue else { return false };
        let shift = self.control.small_queue_shift.unwrap_or(self.control.pacing_shift);
        let limit = QueueLimit {
            rate_share: self.control.pacing_rate >> shift,
            limit_output_bytes: self.config.limit_output_bytes,
            factor,
        };
        queue.is_full(self.view.now, u64::from(size * self.view.mss), limit, self.view.packets_out)
    }

    /// Sends the next `size` new segments as one burst, the last one with at most so many bytes
    /// (`tcp_event_new_data_sent`).
    #[inline(never)]
    pub(super) fn send_new(&mut self, size: u32, most: u16) {
        let first = self.board.nxt();
        let mss = self.stream.mss;
        let end = first + size;
        let is_whole = most == u16::MAX && !self.stream.ends_within(end);
        let last_len = if is_whole { self.stream.len_before(end) } else { self.cut_last(end, most) };
        if last_len < mss {
            self.short_end = end;
        }
        let bytes = u64::from(size - 1) * u64::from(mss) + u64::from(last_len);
        let ends_write = match &self.send_buffer {
            Some(buffer) => buffer.pushes_at(end),
            None => end == self.stream.write_seq,
        };
        let cwr = if std::mem::take(&mut self.xmit.sends_cwr) { Flags::CWR } else { Flags::NONE };
        self.xmit.ready = Burst {
            next: first,
            end,
            bytes,
            sent_at: self.view.now,
            echo: self.recent_timestamp,
            mss,
            last_len,
            is_retransmission: false,
            ecn: self.xmit.codepoint,
            next_flags: cwr | Burst::push_of_first(size, ends_write),
        };
        if self.view.packets_out == 0 || self.timer.pending() == Pending::Probe {
            self.xmit.arming = Arming::Timeout;
        }
        self.xmit.sent += size;
        if self.view.in_reduction() {
            self.prr.sent(size);
        }
        let mut record = self.depart(size, bytes);
        record.len = mss;
        self.board.push_burst(&record, size, last_len);
        if ends_write {
            self.board.get_mut(end - 1).flags |= flag::PUSHED;
        }
        self.view.packets_out += size;
        self.view.snd_nxt = u64::from(self.board.nxt());
        if self.send_buffer.is_some() {
            self.note_buffer_sent(end);
        }
    }

    /// The last segment of a burst that ends at `end` leaves with at most `most` bytes, which are returned: segments
    /// are counted anew from there.
    #[cold]
    fn cut_last(&mut self, end: u32, most: u16) -> u16 {
        if end > self.stream.write_seq {
            self.stream.send_rest(most);
            if let Some(buffer) = &mut self.send_buffer {
                buffer.note_rest_sent(end);
            }
            return most;
        }
        let offered = self.stream.offered;
        let (len, more) = self.stream.cut(end, most);
        if let Some(buffer) = &mut self.send_buffer {
            buffer.note_cut(self.stream.write_seq, more, self.stream.offered - offered);
        }
        len
    }

    /// Stamps a burst, advances the pacing clock, and returns the record of its segments (`__tcp_transmit_skb`).
    #[inline(always)]
    pub(super) fn depart(&mut self, size: u32, bytes: u64) -> Record {
        if self.view.in_flight() == 0 {
            self.controller.event(&self.view, &mut self.control, Event::TxStart);
        }
        self.stats.sent_segments += u64::from(size);
        self.stats.sent_bytes += bytes;
        let now = self.view.now;
        self.pacer.depart(now, bytes, self.control.pacing_rate, self.stats.sent_segments);
        self.view.last_sent = now;
        self.view.next_departure = self.pacer.next_departure();
        let sent = self.xmit.send_clock.next(self.view.mstamp_us);
        if self.rate.finds_empty_pipe(&self.view) {
            self.rate.restart(sent);
            self.view.delivered_mstamp_us = sent.us();
        }
        self.rate.skb_sent(&self.view, &self.control, sent)
    }
}

impl Held for Sender {
    /// What ended the latest attempt to send: the first of the questions of [`new_burst_size`](Self::new_burst_size)
    /// that nothing but another event can answer otherwise.
    fn held_by(&self) -> Limit {
        let (unsent, una) = (self.queued_segments(), self.board.una());
        if unsent == 0 {
            let waits = self.send_buffer.as_ref().is_some_and(|buffer| buffer.is_awaited());
            return if waits { Limit::SendBuffer } else { Limit::Application };
        }
        let window = self.stream.window_end.saturating_sub(self.board.nxt());
        let room = self.control.cwnd.saturating_sub(self.view.in_flight());
        // Linux asks for the congestion window first: where both are full, it is the one that counts.
        if room == 0 {
            Limit::Cwnd
        } else if window == 0 && !self.fits_excess(unsent) {
            Limit::ReceiveWindow
        } else if unsent == 1 && self.short_end > una && self.nagle_holds_back(1, u16::MAX) {
            Limit::Nagle
        } else if self.host_queue.as_ref().is_some_and(|queue| queue.is_throttled()) {
            Limit::HostQueue
        } else if self.pacer.is_blocked() {
            Limit::Pacing
        } else if window <= room {
            // The burst is deferred, until there is more room.
            Limit::ReceiveWindow
        } else {
            Limit::Cwnd
        }
    }

    fn acted_at(&self) -> Time {
        self.view.now
    }
}
