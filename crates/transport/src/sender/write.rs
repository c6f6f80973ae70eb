//! The application's side: what it writes, and how it waits for room in the send buffer (`tcp_sendmsg_locked`,
//! `tcp_check_space`).

use super::Sender;
use dumbbell_recovery::send_buffer::Held;
use dumbbell_units::Time;

impl Sender {
    /// The application hands over `segments` more segments; the last one carries `last_len` payload bytes. Where the
    /// send buffer has no room for them it waits, and what it has to write follows as room becomes free.
    pub fn write(&mut self, now: Time, segments: u32, last_len: u16) {
        self.refresh_clock(now);
        self.check_app_limited();
        if self.view.packets_out == 0 {
            self.restart_after_idle();
        }
        self.offer(segments, last_len);
    }

    /// A FIN, which is a segment of one byte here. Unlike data it restarts no window after idle time (`tcp_send_fin`).
    pub fn write_fin(&mut self, now: Time) {
        self.refresh_clock(now);
        self.offer(1, 1);
    }

    fn offer(&mut self, segments: u32, last_len: u16) {
        self.stream.offer(segments, last_len, self.board.nxt());
        if let Some(buffer) = &mut self.send_buffer {
            buffer.note_call(segments);
            self.fill_send_buffer();
        } else {
            self.stream.write_seq = self.stream.offered;
        }
    }

    /// The application hands over so many bytes with one call at most; 128 KiB if nobody says so. It matters to a send
    /// buffer that has a limit.
    pub fn set_largest_call(&mut self, bytes: u64) {
        if let Some(buffer) = &mut self.send_buffer {
            buffer.set_largest_call(bytes);
        }
    }

    /// The application has nothing more to say. What the send buffer holds still leaves; without one, what is not yet
    /// sent never will.
    pub fn close(&mut self) {
        match &mut self.send_buffer {
            Some(buffer) => buffer.close(),
            None => self.stream.write_seq = self.board.nxt(),
        }
        self.stream.end();
    }

    /// Segments written and not yet sent once, with those that wait for room in the send buffer.
    pub fn unsent_segments(&self) -> u32 {
        self.stream.offered - self.board.nxt()
    }

    /// Their payload bytes.
    pub fn unsent_bytes(&self) -> u64 {
        self.stream.bytes_from(self.board.nxt())
    }

    /// Those of them that the send buffer holds (`tcpi_notsent_bytes`).
    #[inline(always)]
    pub fn queued_segments(&self) -> u32 {
        self.stream.write_seq - self.board.nxt()
    }

    /// Where a burst of `size` segments, the last one with at most `most` bytes, ends behind what is written, its last
    /// segment is what a call has left of one, unless the window ends within it.
    #[inline(never)]
    pub(super) fn end_with_rest(&self, size: u32, most: u16) -> (u32, u16) {
        if self.board.nxt() + size <= self.stream.write_seq {
            return (size, most);
        }
        match self.send_buffer.as_ref().map_or(0, |buffer| buffer.rest()) {
            rest if rest <= most => (size, rest),
            _ => (size - 1, u16::MAX),
        }
    }

    /// Everything else has left: sends what the call that is over has left of a segment, if it may leave.
    #[inline(never)]
    fn start_rest(&mut self) -> bool {
        if self.queued_segments() > 0 || self.send_buffer.as_ref().is_none_or(|buffer| buffer.rest() == 0) {
            return false;
        }
        let room = self.control.cwnd.saturating_sub(self.view.in_flight());
        let (size, most) = self.new_burst_size(1, room, &mut false);
        if size > 0 {
            self.send_new(size, most);
        }
        size > 0
    }

    fn held(&mut self) -> Held {
        let is_sacked = self.config.sack && self.view.sacked_out > 0;
        let sacked = self.send_buffer.as_ref().filter(|_| is_sacked);
        let split = sacked.map_or(0, |buffer| buffer.split_by(self.board.sacked_runs()));
        let (una, stream) = (self.board.una(), &mut self.stream);
        // `tcp_bound_to_half_wnd`
        let half_window = stream.max_window.max(stream.window_end.saturating_sub(una)) / 2;
        Held {
            una,
            nxt: self.board.nxt(),
            end: stream.write_seq,
            split,
            lacking: stream.lacking(una),
            goal: (self.config.gso_max_bytes / self.config.mss).min(half_window).max(1),
            half_window,
        }
    }

    /// Takes from the application what there is room for.
    fn fill_send_buffer(&mut self) {
        if self.send_buffer.as_ref().is_some_and(|buffer| buffer.begins_call()) {
            self.check_app_limited();
        }
        let held = self.held();
        if let Some(buffer) = &mut self.send_buffer {
            self.stream.write_seq = buffer.write(held, self.stream.offered);
        }
    }

    /// The send loop is over: an application that is at work, or that has been woken, writes more. Returns whether that
    /// is sent.
    #[inline(never)]
    pub(super) fn start_written(&mut self) -> bool {
        if std::mem::take(&mut self.xmit.checks_space) {
            self.check_space();
        }
        if self.start_rest() {
            return true;
        }
        while self.send_buffer.as_ref().is_some_and(|buffer| buffer.has_writer()) {
            self.fill_send_buffer();
            if self.start_burst() || self.start_rest() {
                return true;
            }
        }
        false
    }

    /// New segments below `end` have left as one burst. They make room in the buffer that an application at work fills.
    #[inline(never)]
    pub(super) fn note_buffer_sent(&mut self, end: u32) {
        if let Some(buffer) = &mut self.send_buffer {
            buffer.note_sent(end);
        }
        self.check_space();
        if self.send_buffer.as_ref().is_some_and(|buffer| buffer.pushes_one()) {
            self.fill_send_buffer();
        }
    }

    /// Makes the send buffer larger if the application waits for it and the window is not full, and wakes the
    /// application if there is room enough (`tcp_check_space`; after an ACK, and with every burst of new data).
    fn check_space(&mut self) {
        if !self.send_buffer.as_ref().is_some_and(|buffer| buffer.is_awaited()) {
            return;
        }
        if self.view.in_flight() < self.control.cwnd {
            self.expand_send_buffer();
            self.validation.note_change(self.view.jiffies);
        }
        let held = self.held();
        if let Some(buffer) = &mut self.send_buffer {
            buffer.wake_writer(held);
        }
    }

    /// Makes room for the window, and for what reordering may hold up (`tcp_sndbuf_expand`).
    pub(super) fn expand_send_buffer(&mut self) {
        let segments = self.control.cwnd.max(self.detector.reordering.degree().saturating_add(1));
        let largest = self.config.largest_segment();
        if let Some(buffer) = &mut self.send_buffer {
            buffer.expand(segments, largest, self.controller.sndbuf_expand());
        }
    }
}
