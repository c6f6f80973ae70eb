//! The slow path of an arriving segment: the stream, the out-of-order queue, ECN, and the receive window.

use super::marks::MarkCounters;
use super::predicted::Expected;
use super::{EcnEcho, LastRead, PAWS_WINDOW_TICKS, QUICK_ACKS_ECN, REPEATED_SACK_BLOCKS, Receiver, Unread};
use crate::{Flags, Segment};
use dumbbell_path::Ecn;
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::{Duration, Time};

impl Receiver {
    /// Takes a segment; returns whether an ACK leaves (`tcp_data_queue`).
    pub(super) fn classify(&mut self, now: Time, segment: Segment) -> bool {
        self.note_reads(|read_at| now > read_at);
        if segment.len == 0 {
            // A probe of the window is answered, and is nothing else (`tcp_send_dupack`).
            return true;
        }
        self.accept(now);
        if segment.ecn != Ecn::NotEct {
            self.count_codepoint(&segment);
        }
        if self.fails_paws(&segment) || self.is_out_of_window(&segment) {
            return self.reject(&segment);
        }
        self.note_timestamp(now, &segment);
        // Of a duplicate only the ACK tells that leaves before the next segment (`tcp_data_queue`).
        if let Some(rare) = &mut self.rare {
            rare.duplicate = None;
        }
        if segment.seq == self.rcv_nxt {
            return self.on_next(now, segment);
        }
        self.undelivered.segments += 1;
        self.undelivered.bytes += u64::from(segment.len);
        if segment.seq < self.rcv_nxt {
            self.on_old(segment.seq, segment.flags.has(Flags::CWR))
        } else {
            self.on_ahead(now, segment)
        }
    }

    /// Counts an ECN-capable segment.
    #[inline(never)]
    fn count_codepoint(&mut self, segment: &Segment) {
        self.ce_segments += u64::from(segment.ecn == Ecn::Ce);
        if let Some(marks) = self.marks() {
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
            && Timestamp::at(recent).ms_since(Timestamp::at(segment.sent_at)) > PAWS_WINDOW_TICKS
    }

    /// Whether a segment ends below the last ACK, or beyond the window (`tcp_sequence`).
    fn is_out_of_window(&self, segment: &Segment) -> bool {
        segment.seq + 1 < self.last_acked || (segment.seq >= self.window_edge && !self.fits_excess(segment))
    }

    /// Whether a segment beyond the whole ones of the window fits it all the same: it is short, or segments below it are that
    /// are held.
    #[cold]
    fn fits_excess(&self, segment: &Segment) -> bool {
        let lacking = self.sizing.lacking(self.held.segments(), self.held.bytes());
        let (edge, excess) = self.sizing.moved((self.window_edge, self.window_excess), lacking);
        segment.seq < edge || (segment.seq == edge && segment.len <= excess)
    }

    /// Drops a segment and acknowledges at once what is there; a segment below `rcv_nxt` is reported as a duplicate
    /// (`tcp_validate_incoming`, `tcp_send_dupack`). Linux limits the rate of these ACKs only for segments without
    /// data.
    fn reject(&mut self, segment: &Segment) -> bool {
        self.undelivered.segments += 1;
        self.undelivered.bytes += u64::from(segment.len);
        if segment.seq < self.rcv_nxt {
            self.accept_cwr(segment.flags.has(Flags::CWR));
            self.note_old(segment.seq);
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
        if !self.rtt.has_taken(segment) && self.rtt.measure(now, segment, self.has_unread_at(now)) {
            self.set_round_end();
        }
    }

    /// Whether the application has not read everything at the arrival of a segment.
    fn has_unread_at(&self, now: Time) -> bool {
        let gap = now.since(self.last_data_at);
        // What came between two reads is acknowledged by the second of them, unless each segment is at once.
        let is_waiting = gap == Duration::ZERO || self.rcv_nxt != self.last_acked;
        (gap < self.read_delay && is_waiting) || self.has_unread()
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
        let before = self.adapt_to_gap(now);
        self.observe_ecn(now, &segment);
        // The segment takes room, and what it makes readable does still.
        let unread = self.unread(now);
        self.grow_window(segment.len, self.held.segments() + unread + 1);
        self.note_short(&segment);
        self.rcv_nxt += 1;
        self.delivered_bytes += u64::from(segment.len);
        let read = self.delivered_bytes;
        if !self.held.is_empty() {
            self.deliver_held(now);
        }
        self.unacked_news = true;
        if self.has_reader() {
            return self.on_next_unread(now, &segment);
        }
        let is_urgent = self.is_urgent_in_order(now, before);
        let must_leave = if self.held.is_empty() {
            is_urgent || self.delay_ack(now) || self.answers_read(now, &segment)
        } else {
            (is_urgent && !self.narrows_window(now)) || self.compress_ack(now)
        };
        if now >= self.round_ends_at {
            // The application reads buffer by buffer, and the first one ends the round.
            self.end_round(now, read);
        }
        must_leave
    }

    /// The rest of [`Receiver::on_next`] where the application reads at a rate.
    #[cold]
    fn on_next_unread(&mut self, now: Time, segment: &Segment) -> bool {
        let is_pushed = (segment.flags.has(Flags::PSH) || self.sizing.is_short(segment.len)) && self.ack_pushes;
        let is_urgent = self.is_urgent_before_read(now, is_pushed);
        if self.held.is_empty() { is_urgent || self.delay_ack(now) } else { is_urgent || self.compress_ack(now) }
    }

    /// A segment in order may be short.
    #[inline(always)]
    pub(super) fn note_short(&mut self, segment: &Segment) {
        if self.sizing.is_short(segment.len) {
            self.deliver_short(segment.len);
        }
    }

    #[cold]
    #[inline(never)]
    fn deliver_short(&mut self, len: u16) {
        self.keep_edge(self.sizing.lacking(1, len.into()));
    }

    /// Segments are delivered that lack so many bytes of whole ones: the window that was told ends where it did.
    fn keep_edge(&mut self, bytes: u64) {
        if self.constant_window.is_none() {
            (self.window_edge, self.window_excess) = self.sizing.moved((self.window_edge, self.window_excess), bytes);
        }
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

    /// Whether a duplicate has arrived that no ACK has reported.
    #[inline]
    pub(super) fn has_unreported_duplicate(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.duplicate.is_some())
    }

    /// Whether what the filling of a hole has delivered may not have been read.
    #[inline]
    pub(super) fn has_unread(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.unread.is_some())
    }

    /// Segments that take room because the application has not read them since a hole was filled.
    #[inline]
    pub(super) fn unread(&mut self, now: Time) -> u32 {
        if let Some(unread) = self.unread_by_reader(now) {
            return unread;
        }
        let Some(rare) = &mut self.rare else { return 0 };
        rare.unread.take_if(|unread| now > unread.read_at);
        rare.unread.map_or(0, |unread| unread.segments)
    }

    /// What a filled hole made readable takes no more room if the instant of its read `is_over`, and the round is finished if
    /// that is so of the read which ends it.
    #[inline]
    pub(super) fn note_reads(&mut self, is_over: impl Fn(Time) -> bool) {
        let Some(rare) = &mut self.rare else { return };
        rare.unread.take_if(|unread| is_over(unread.read_at));
        if let Some(last) = rare.last_read.take_if(|last| is_over(last.at)) {
            self.finish_round(last.read);
        }
    }

    /// The application has read for a round trip, `read` bytes in all (`tcp_rcv_space_adjust`).
    #[cold]
    pub(super) fn finish_round(&mut self, read: u64) {
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

    /// A segment below `rcv_nxt` arrives that the last ACK does not cover, or just so.
    #[inline(never)]
    pub(super) fn on_old(&mut self, seq: u32, cwr: bool) -> bool {
        self.accept_cwr(cwr);
        self.unacked_news = true;
        self.note_old(seq);
        true
    }

    /// A segment above a hole arrives (`tcp_data_queue_ofo`).
    #[inline(always)]
    pub(super) fn on_ahead(&mut self, now: Time, segment: Segment) -> bool {
        self.observe_ecn(now, &segment);
        let releases = self.sacks.position(segment.seq) >= REPEATED_SACK_BLOCKS && self.compressed_acks > 0;
        let is_known = releases && self.held.holds(segment.seq);
        if is_known {
            self.note_duplicate(segment.seq);
        }
        if releases {
            self.hold_back(now);
        }
        // The ACK that was released counts as that of this segment, which the next one tells (`inet_csk_clear_xmit_timer`).
        self.unacked_news = !releases;
        if self.sack_permitted {
            self.sacks.add(segment.seq);
        }
        if self.held.insert(segment.seq, u64::from(segment.len)) {
            if self.sack_permitted {
                // The limit grows before the segment takes room. Without SACK the ACK must count as a duplicate, so it must
                // not change the window.
                let unread = self.unread(now);
                self.grow_window(segment.len, self.held.segments() - 1 + unread);
            }
        } else if !is_known {
            self.note_duplicate(segment.seq);
        }
        // The buffer follows in any case (`tcp_rcvbuf_grow`).
        self.sizing.make_room(self.held_span());
        !releases && (self.is_urgent() || self.compress_ack(now))
    }

    /// Delivers the run of the out-of-order queue that begins at `rcv_nxt`, if there is one (`tcp_ofo_queue`). It takes room
    /// until the application has read it.
    fn deliver_held(&mut self, now: Time) {
        if let Some(run) = self.held.take(self.rcv_nxt) {
            let segments = run.end - run.start;
            if !self.has_reader() {
                let read_at = now + self.read_delay;
                let unread = self.rare.get_or_insert_default().unread.get_or_insert(Unread { segments: 0, read_at });
                // With the segment that fills the hole.
                unread.segments += 1 + segments;
            }
            self.keep_edge(self.sizing.lacking(segments, run.bytes));
            self.undelivered.segments -= u64::from(segments);
            self.undelivered.bytes -= run.bytes;
            self.delivered_bytes += run.bytes;
            self.rcv_nxt = run.end;
            self.sacks.forget_below(self.rcv_nxt);
            self.ack_now |= self.held.is_empty();
        }
    }

    /// Segment `seq` below `rcv_nxt` had arrived before: the sender is recovering.
    fn note_old(&mut self, seq: u32) {
        self.start_quick_acks(self.quick_acks_max);
        self.note_duplicate(seq);
    }

    /// Segment `seq` had arrived before: an ACK reports it that leaves before the next segment arrives (`tcp_dsack_set`).
    fn note_duplicate(&mut self, seq: u32) {
        self.duplicate_segments += 1;
        if self.reports_duplicates {
            self.rare.get_or_insert_default().duplicate = Some(seq);
        }
    }

    /// What an accurate echo needs, where that is agreed on.
    fn marks(&mut self) -> Option<&mut MarkCounters> {
        self.rare.as_mut()?.marks.as_mut()
    }

    /// Reads the ECN bits of new data (`tcp_ecn_check_ce`). With DCTCP a delayed ACK of segments with another mark
    /// leaves first.
    #[inline]
    pub(super) fn observe_ecn(&mut self, now: Time, segment: &Segment) {
        if segment.ecn != Ecn::NotEct || self.ecn_seen {
            self.observe_ecn_codepoint(now, segment);
        }
    }

    #[inline(never)]
    pub(super) fn observe_ecn_codepoint(&mut self, now: Time, segment: &Segment) {
        if let Some(marks) = self.marks() {
            let must_tell = marks.note(segment.ecn);
            self.ack_now |= must_tell;
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
                    self.hold_back(now);
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

    /// Lets the window grow after a segment of `len` bytes, while `queued` segments take room (`tcp_grow_window`).
    #[inline(always)]
    pub(super) fn grow_window(&mut self, len: u16, queued: u32) {
        if self.sizing.grow(len, queued) && self.quick_acks_max > 0 {
            self.quick |= 1;
        }
    }

    /// Segments from the first hole to the end of the out-of-order queue.
    #[inline]
    pub(super) fn held_span(&self) -> u32 {
        self.held.end().map_or(0, |end| end - self.rcv_nxt)
    }
}
