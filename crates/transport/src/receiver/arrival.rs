//! The slow path of an arriving segment: the stream, the out-of-order queue, ECN, and the receive window.

use super::predicted::Expected;
use super::{EcnEcho, LastRead, PAWS_WINDOW_TICKS, QUICK_ACKS_ECN, REPEATED_SACK_BLOCKS, Receiver};
use crate::{Flags, Segment};
use dumbbell_path::Ecn;
use dumbbell_recovery::ack_rtt::timestamp_ticks;
use dumbbell_units::{Duration, Time};

impl Receiver {
    /// Takes a segment; returns whether an ACK leaves (`tcp_data_queue`).
    pub(super) fn classify(&mut self, now: Time, segment: Segment) -> bool {
        self.finish_round_if(|read_at| now > read_at);
        if segment.len == 0 {
            // A probe of the window is answered, and is nothing else (`tcp_send_dupack`).
            return true;
        }
        if segment.ecn != Ecn::NotEct {
            self.count_codepoint(&segment);
        }
        if self.fails_paws(&segment) {
            return self.reject(&segment);
        }
        self.note_timestamp(now, &segment);
        if segment.seq == self.rcv_nxt {
            return self.on_next(now, segment);
        }
        self.undelivered.segments += 1;
        self.undelivered.bytes += u64::from(segment.len);
        if segment.seq < self.rcv_nxt {
            self.on_duplicate(segment.seq, segment.flags.has(Flags::CWR))
        } else {
            self.on_ahead(now, segment)
        }
    }

    /// Counts an ECN-capable segment.
    #[inline(never)]
    fn count_codepoint(&mut self, segment: &Segment) {
        self.ce_segments += u64::from(segment.ecn == Ecn::Ce);
        if let Some(marks) = &mut self.marks {
            marks.count(segment.ecn, segment.len);
        }
    }

    /// Whether the timestamp of a segment is older than the one that the next ACK echoes by more than a tick of the
    /// timestamp clock, so that the segment counts as one of an earlier use of its sequence numbers (PAWS, RFC 7323,
    /// section 5; `tcp_paws_check`). The rule that trusts no timestamp older than 24 days is left out.
    fn fails_paws(&self, segment: &Segment) -> bool {
        let recent = self.recent_timestamp;
        self.timestamps
            && segment.sent_at < recent
            && timestamp_ticks(segment.sent_at) + PAWS_WINDOW_TICKS < timestamp_ticks(recent)
    }

    /// Drops a segment and acknowledges at once what is there; a segment below `rcv_nxt` is reported as a duplicate
    /// (`tcp_validate_incoming`, `tcp_send_dupack`). Linux limits the rate of these ACKs only for segments without
    /// data.
    fn reject(&mut self, segment: &Segment) -> bool {
        self.undelivered.segments += 1;
        self.undelivered.bytes += u64::from(segment.len);
        if segment.seq < self.rcv_nxt {
            self.note_duplicate(segment.seq);
        }
        true
    }

    /// Takes the round-trip time that a segment tells, and keeps what the next ACK echoes (`tcp_replace_ts_recent`).
    fn note_timestamp(&mut self, now: Time, segment: &Segment) {
        if self.timestamps {
            self.measure_rtt(now, segment);
        } else if self.measure_window(now, segment) {
            self.set_round_end();
        }
        if segment.seq <= self.last_acked && segment.sent_at >= self.recent_timestamp {
            self.recent_timestamp = segment.sent_at;
        }
    }

    /// Takes the round-trip time from a segment's timestamp (`tcp_rcv_rtt_measure_ts`).
    #[inline(always)]
    pub(super) fn measure_rtt(&mut self, now: Time, segment: &Segment) {
        if self.rtt.measure(now, segment.sent_at) {
            self.set_round_end();
        }
    }

    /// Without timestamps: takes the time in which a window of data arrived (`tcp_rcv_rtt_measure`).
    #[inline(never)]
    fn measure_window(&mut self, now: Time, segment: &Segment) -> bool {
        self.rtt.note_travel(now.since(segment.sent_at));
        let window = self.window_edge - self.last_acked;
        segment.seq == self.rcv_nxt && self.rtt.measure_window(now, self.rcv_nxt + 1, window)
    }

    /// Segment `rcv_nxt` arrives.
    pub(super) fn on_next(&mut self, now: Time, segment: Segment) -> bool {
        self.observe_ecn(&segment);
        self.rcv_nxt += 1;
        self.delivered_bytes += u64::from(segment.len);
        let read = self.delivered_bytes;
        if !self.held.is_empty() {
            self.deliver_held();
        }
        self.unacked_news = true;
        let before = self.adapt_to_gap(now);
        self.grow_window(segment.len, self.held.segments());
        let mut must_leave = self.is_urgent_in_order(now, before)
            || if self.held.is_empty() { self.delay_ack(now) } else { self.compress_ack(now) };
        must_leave = must_leave || (self.held.is_empty() && self.answers_read(now, &segment));
        if now >= self.round_ends_at {
            // The application reads buffer by buffer, and the first one ends the round.
            self.end_round(now, read);
        }
        must_leave
    }

    /// Whether the ACK of a lone segment leaves because the application reads at once, after the decision to delay it
    /// (`tcp_cleanup_rbuf`): it carries PSH, or it is shorter than a full one (`tcp_measure_rcv_mss`). Where reading takes time
    /// the ACK leaves then, for everything that is there.
    #[inline]
    pub(super) fn answers_read(&mut self, now: Time, segment: &Segment) -> bool {
        let is_pushed = self.rcv_nxt - self.last_acked == 1
            && (segment.flags.has(Flags::PSH) || self.sizing.is_short(segment.len))
            && self.ack_pushes;
        if is_pushed {
            self.exact_ack_at = self.exact_ack_at.min(now + self.read_delay);
        }
        is_pushed && self.read_delay == Duration::ZERO
    }

    /// When the application has read the segment that arrived at `now`, it has read `read` bytes in all, and for a round trip.
    /// What arrives until then waits behind that segment.
    #[cold]
    pub(super) fn end_round(&mut self, now: Time, read: u64) {
        if self.read_delay == Duration::ZERO {
            return self.finish_round(read);
        }
        self.rare.get_or_insert_default().last_read = Some(LastRead { at: now + self.read_delay, read });
        self.round_ends_at = Time::NEVER;
        self.expected = Expected::Nothing;
    }

    /// Whether the read that ends the round of [`RightSizing`](super::RightSizing) is known and has not come.
    #[inline]
    pub(super) fn awaits_last_read(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.last_read.is_some())
    }

    /// Finishes the round if the read that ends it is known and its instant `is_over`.
    #[inline]
    pub(super) fn finish_round_if(&mut self, is_over: impl FnOnce(Time) -> bool) {
        let last_read = self.rare.as_mut().and_then(|rare| rare.last_read.take_if(|last| is_over(last.at)));
        if let Some(last) = last_read {
            self.finish_round(last.read);
        }
    }

    /// The application has read for a round trip, `read` bytes in all (`tcp_rcv_space_adjust`).
    #[cold]
    fn finish_round(&mut self, read: u64) {
        if let Some(rtt) = self.rtt.smoothed() {
            let queued = self.delivered_bytes - read;
            self.sizing.end_round(self.last_data_at, rtt, read, queued, self.held_span());
        }
        self.set_round_end();
    }

    /// Determines when the round of [`RightSizing`](super::RightSizing) ends, unless the read that ends it is known.
    #[inline(never)]
    pub(super) fn set_round_end(&mut self) {
        if self.awaits_last_read() {
            return;
        }
        self.round_ends_at = self.rtt.smoothed().map_or(Time::NEVER, |rtt| self.sizing.round_end(rtt));
    }

    /// A segment below `rcv_nxt` arrives.
    #[inline(never)]
    pub(super) fn on_duplicate(&mut self, seq: u32, cwr: bool) -> bool {
        self.accept_cwr(cwr);
        self.note_duplicate(seq);
        true
    }

    /// A segment above a hole arrives (`tcp_data_queue_ofo`).
    #[inline(always)]
    pub(super) fn on_ahead(&mut self, now: Time, segment: Segment) -> bool {
        if segment.seq >= self.window_edge {
            // Beyond the window: it is dropped, and an ACK tells the sender the window (`tcp_send_dupack`).
            self.start_quick_acks(self.quick_acks_max);
            return true;
        }
        self.observe_ecn(&segment);
        if self.sacks.position(segment.seq) >= REPEATED_SACK_BLOCKS && self.compressed_acks > 0 {
            self.hold_back();
        }
        let is_new = self.held.insert(segment.seq, u64::from(segment.len));
        if self.sack_permitted {
            self.sacks.add(segment.seq);
        }
        if !is_new {
            self.note_duplicate(segment.seq);
            return true;
        }
        self.unacked_news = true;
        if self.sack_permitted {
            // Without SACK the ACK must count as a duplicate, so it must not change the window.
            self.grow_window(segment.len, self.held.segments());
        }
        // The buffer follows in any case (`tcp_rcvbuf_grow`).
        self.sizing.make_room(self.held_span());
        self.is_urgent() || self.compress_ack(now)
    }

    /// Delivers the run of the out-of-order queue that begins at `rcv_nxt`, if there is one (`tcp_ofo_queue`).
    pub(super) fn deliver_held(&mut self) {
        if let Some(run) = self.held.take(self.rcv_nxt) {
            self.undelivered.segments -= u64::from(run.end - run.start);
            self.undelivered.bytes -= run.bytes;
            self.delivered_bytes += run.bytes;
            self.rcv_nxt = run.end;
            self.sacks.forget_below(self.rcv_nxt);
            self.ack_now |= self.held.is_empty();
        }
    }

    /// Segment `seq` had arrived before: the next ACK reports it (`tcp_dsack_set`).
    pub(super) fn note_duplicate(&mut self, seq: u32) {
        self.duplicate_segments += 1;
        self.start_quick_acks(self.quick_acks_max);
        self.duplicate = self.reports_duplicates.then_some(seq);
    }

    /// Reads the ECN bits of new data (`tcp_ecn_check_ce`). With DCTCP a delayed ACK of segments with another mark
    /// leaves first.
    #[inline]
    pub(super) fn observe_ecn(&mut self, segment: &Segment) {
        if segment.ecn != Ecn::NotEct || self.ecn_seen {
            self.observe_ecn_codepoint(segment);
        }
    }

    #[inline(never)]
    pub(super) fn observe_ecn_codepoint(&mut self, segment: &Segment) {
        if let Some(marks) = &mut self.marks {
            self.ack_now |= marks.note(segment.ecn);
            return;
        }
        self.accept_cwr(segment.flags.has(Flags::CWR));
        let is_marked = segment.ecn == Ecn::Ce;
        if segment.ecn == Ecn::NotEct {
            // A retransmission, most likely.
            self.start_quick_acks(QUICK_ACKS_ECN);
            return;
        }
        self.ecn_seen = true;
        match self.ecn_echo {
            EcnEcho::Classic => {
                if is_marked && !self.echo_congestion {
                    self.echo_congestion = true;
                    self.start_quick_acks(QUICK_ACKS_ECN);
                }
            }
            EcnEcho::Dctcp => {
                let changed = is_marked != self.echo_congestion;
                if changed && self.delayed_ack_at != Time::NEVER {
                    self.hold_back();
                }
                self.echo_congestion = is_marked;
                self.ack_now |= changed;
            }
            EcnEcho::Accurate => {}
        }
    }

    /// The sender has answered the congestion echo. Its window may be one segment, so the ACK leaves at once
    /// (`tcp_ecn_accept_cwr`).
    #[inline]
    pub(super) fn accept_cwr(&mut self, cwr: bool) {
        if cwr {
            self.ack_now = true;
            if self.ecn_echo == EcnEcho::Classic {
                self.echo_congestion = false;
            }
        }
    }

    /// Lets the window grow after a segment of `len` bytes, with `held` segments in the out-of-order queue
    /// (`tcp_grow_window`).
    #[inline]
    pub(super) fn grow_window(&mut self, len: u16, held: u32) {
        if self.sizing.grow(len, held) && self.quick_acks_max > 0 {
            self.quick |= 1;
        }
    }

    /// Segments from the first hole to the end of the out-of-order queue.
    #[inline]
    pub(super) fn held_span(&self) -> u32 {
        self.held.end().map_or(0, |end| end - self.rcv_nxt)
    }
}
