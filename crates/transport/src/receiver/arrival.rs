//! The way of an arriving segment, as steps in the order of `tcp_rcv_established`: the stream, the out-of-order queue,
//! ECN, and the receive window.
//!
//! Any segment takes all steps that there are for its class. One that was expected takes those that can do something
//! then (`predicted.rs`).

use super::compression::DuplicateAck;
use super::{QUICK_ACKS_ECN, REPEATED_SACK_BLOCKS, Receiver, Waiting};
use crate::{Flags, Segment};
use dumbbell_units::{Duration, Ecn, Time};

impl Receiver {
    /// A segment arrives that was not expected (the slow path of `tcp_rcv_established`). Returns whether an ACK waits.
    #[inline(never)]
    pub(super) fn on_unexpected(&mut self, now: Time, segment: &Segment) -> bool {
        let must_leave = self.classify(now, segment);
        let is_held_back = self.waiting == Waiting::HeldBack;
        if is_held_back && must_leave {
            // The ACK of this segment is due right after the one that was held back.
            self.acks.make_due();
            self.acks.put_off_to(now);
        }
        if must_leave && !is_held_back {
            self.waiting = Waiting::LatestBeforePrediction;
        } else {
            self.predict();
        }
        must_leave || is_held_back
    }

    /// Takes a segment; returns whether an ACK leaves (`tcp_data_queue`).
    fn classify(&mut self, now: Time, segment: &Segment) -> bool {
        self.note_reads(|read_at| now > read_at);
        if segment.len == 0 {
            // A probe of the window is answered, and is nothing else (`tcp_send_dupack`).
            return true;
        }
        self.accept(now);
        self.ecn.count(segment);
        if self.timestamps.fails_paws(segment) || self.is_out_of_window(segment) {
            return self.reject(segment);
        }
        self.take_timestamp(now, segment);
        self.sack.forget_duplicate();
        if segment.seq == self.rcv_nxt {
            return self.on_next(now, segment);
        }
        self.counts.keep(1, u64::from(segment.len));
        if segment.seq < self.rcv_nxt { self.on_old(segment) } else { self.on_ahead(now, segment) }
    }

    /// Whether a segment ends below the last ACK, or beyond the window (`tcp_sequence`).
    fn is_out_of_window(&self, segment: &Segment) -> bool {
        segment.seq + 1 < self.last_acked || !self.window.fits(segment, &self.held, &self.sizing)
    }

    /// Drops a segment and acknowledges at once what is there; a segment below `rcv_nxt` is reported as a duplicate
    /// (`tcp_validate_incoming`, `tcp_send_dupack`). Linux limits the rate of these ACKs only for segments without
    /// data.
    fn reject(&mut self, segment: &Segment) -> bool {
        self.counts.keep(1, u64::from(segment.len));
        if segment.seq < self.rcv_nxt {
            self.accept_cwr(segment);
            self.note_old(segment.seq);
        }
        true
    }

    /// Takes the round-trip time that a segment tells, and keeps what the next ACK echoes.
    #[inline(always)]
    pub(super) fn take_timestamp(&mut self, now: Time, segment: &Segment) {
        if self.timestamps.are_on() {
            self.measure_rtt(now, segment);
        } else if self.measure_window(now, segment) {
            self.set_round_end();
        }
        self.timestamps.replace_recent(segment, self.last_acked);
    }

    /// Takes the round-trip time from a segment's timestamp (`tcp_rcv_rtt_measure_ts`).
    #[inline(always)]
    pub(super) fn measure_rtt(&mut self, now: Time, segment: &Segment) {
        if !self.rtt.has_taken(segment) && self.rtt.measure(now, segment, self.has_unread_at(now)) {
            self.set_round_end();
        }
    }

    /// Without timestamps: takes the time in which a window of data arrived (`tcp_rcv_rtt_measure`).
    #[inline(never)]
    fn measure_window(&mut self, now: Time, segment: &Segment) -> bool {
        self.rtt.note_travel(now.since(segment.sent_at));
        let window = self.window.segments_from(self.last_acked);
        segment.seq == self.rcv_nxt && self.rtt.measure_window(now, self.rcv_nxt + 1, window)
    }

    /// Segment `rcv_nxt` arrives.
    fn on_next(&mut self, now: Time, segment: &Segment) -> bool {
        let before = self.adapt_to_gap(now);
        self.observe_ecn(now, segment);
        // The segment takes room, and what it makes readable does still.
        let unread = self.unread(now);
        self.grow_window(segment.len, self.held.segments() + unread + 1);
        self.queue_next(segment);
        let read = self.counts.delivered_bytes();
        if !self.held.is_empty() {
            self.deliver_held(now);
        }
        if self.reading.has_reader() {
            return self.ack_before_read(now, segment);
        }
        let must_leave = if self.held.is_empty() {
            self.ack_in_order(now, before, segment)
        } else {
            (self.is_urgent_in_order(now, before) && !self.narrows_window(now)) || self.compress_ack(now)
        };
        self.adjust_space(now, read);
        must_leave
    }

    /// Adapts the delayed-ACK time to the times between segments in order (`tcp_event_data_recv`). Returns the arrival
    /// of the segment before.
    #[inline(always)]
    pub(super) fn adapt_to_gap(&mut self, now: Time) -> Time {
        let before = self.acks.last_data_at();
        if self.acks.awaits_first_data() {
            self.begin_delaying_acks(now);
        } else {
            self.acks.adapt_to_gap(now, &self.rtt, || self.window.segments_from(self.last_acked));
        }
        self.acks.note_data(now);
        before
    }

    #[cold]
    #[inline(never)]
    fn begin_delaying_acks(&mut self, now: Time) {
        self.accept(now);
        self.acks.begin(self.window.segments_from(self.last_acked));
    }

    /// The segment that was missing joins the stream (`tcp_queue_rcv`).
    #[inline(always)]
    pub(super) fn queue_next(&mut self, segment: &Segment) {
        if self.sizing.is_short(segment.len) {
            self.note_short(segment.len);
        }
        self.rcv_nxt += 1;
        self.counts.deliver(u64::from(segment.len));
        self.acks.note_news();
    }

    #[cold]
    #[inline(never)]
    fn note_short(&mut self, len: u16) {
        self.window.keep_edge(self.sizing.lacking(1, len.into()), &self.sizing);
    }

    /// Delivers the run of the out-of-order queue that begins at `rcv_nxt`, if there is one (`tcp_ofo_queue`). It takes
    /// room until the application has read it, and so does the segment that fills the hole.
    fn deliver_held(&mut self, now: Time) {
        if let Some(run) = self.held.take(self.rcv_nxt) {
            let segments = run.end - run.start;
            self.reading.note_filled(now, 1 + segments);
            self.window.keep_edge(self.sizing.lacking(segments, run.bytes), &self.sizing);
            self.counts.release(segments, run.bytes);
            self.rcv_nxt = run.end;
            self.sack.forget_below(self.rcv_nxt);
            if self.held.is_empty() {
                self.acks.make_due();
            }
        }
    }

    /// A segment below `rcv_nxt` arrives that the last ACK does not cover, or just so.
    #[inline(never)]
    fn on_old(&mut self, segment: &Segment) -> bool {
        self.accept_cwr(segment);
        self.acks.note_news();
        self.note_old(segment.seq);
        true
    }

    /// Segment `seq` below `rcv_nxt` had arrived before: the sender is recovering.
    fn note_old(&mut self, seq: u32) {
        self.start_quick_acks(u32::MAX);
        self.note_duplicate(seq);
    }

    /// Segment `seq` had arrived before.
    fn note_duplicate(&mut self, seq: u32) {
        self.counts.note_duplicate();
        self.sack.note_duplicate(seq);
    }

    /// A segment above a hole arrives (`tcp_data_queue_ofo`).
    #[inline(always)]
    fn on_ahead(&mut self, now: Time, segment: &Segment) -> bool {
        self.observe_ecn(now, segment);
        let releases = self.sack.position(segment.seq) >= REPEATED_SACK_BLOCKS && self.compression.holds_back();
        let is_known = releases && self.held.holds(segment.seq);
        if is_known {
            self.note_duplicate(segment.seq);
        }
        if releases {
            self.hold_back(now);
            // The ACK that was released counts as that of this segment, which the next one tells
            // (`inet_csk_clear_xmit_timer`).
            self.acks.forget_news();
        } else {
            self.acks.note_news();
        }
        self.sack.add(segment.seq);
        if self.held.insert(segment.seq, u64::from(segment.len)) {
            // Without SACK the ACK must count as a duplicate, so it must not change the window.
            if self.sack.is_permitted() {
                let unread = self.unread(now);
                self.grow_window(segment.len, self.held.segments() - 1 + unread);
            }
        } else if !is_known {
            self.note_duplicate(segment.seq);
        }
        self.make_room();
        !releases && self.ack_behind_hole(now)
    }

    /// The buffer follows the out-of-order queue (`tcp_rcvbuf_grow`).
    #[inline(always)]
    pub(super) fn make_room(&mut self) {
        self.sizing.make_room(self.held_span());
    }

    /// Segments from the first hole to the end of the out-of-order queue.
    #[inline(always)]
    pub(super) fn held_span(&self) -> u32 {
        self.held.end().map_or(0, |end| end - self.rcv_nxt)
    }

    /// Lets the window grow after a segment of `len` bytes, while `queued` segments take room (`tcp_grow_window`).
    #[inline(always)]
    pub(super) fn grow_window(&mut self, len: u16, queued: u32) {
        if self.sizing.grow(len, queued) {
            self.acks.note_growth();
        }
    }

    /// Reads the ECN bits of new data (`tcp_ecn_check_ce`). With DCTCP a delayed ACK of segments with another mark
    /// leaves first.
    #[inline(always)]
    fn observe_ecn(&mut self, now: Time, segment: &Segment) {
        if segment.ecn != Ecn::NotEct || self.ecn.is_seen() {
            self.observe_ecn_codepoint(now, segment);
        }
    }

    #[inline(never)]
    fn observe_ecn_codepoint(&mut self, now: Time, segment: &Segment) {
        if self.ecn.is_changed_by(segment) && self.acks.is_delayed() {
            self.hold_back(now);
        }
        let reaction = self.ecn.observe(segment);
        if reaction.is_due {
            self.acks.make_due();
        }
        if reaction.starts_quick {
            self.start_quick_acks(QUICK_ACKS_ECN);
        }
    }

    fn accept_cwr(&mut self, segment: &Segment) {
        if self.ecn.accept_cwr(segment) {
            self.acks.make_due();
        }
    }

    fn start_quick_acks(&mut self, most: u32) {
        self.acks.start_quick(self.window.segments_from(self.last_acked), most);
    }

    /// Whether the ACK of segments in order leaves now, while nothing is held (`__tcp_ack_snd_check`); otherwise it is
    /// delayed.
    #[inline(always)]
    pub(super) fn ack_in_order(&mut self, now: Time, before: Time, segment: &Segment) -> bool {
        self.is_urgent_in_order(now, before) || self.acks.delay(now, &self.rtt) || self.answers_read(now, segment)
    }

    /// Whether the ACK of a segment above a hole leaves now (`__tcp_ack_snd_check`); otherwise it is compressed.
    #[inline(always)]
    pub(super) fn ack_behind_hole(&mut self, now: Time) -> bool {
        self.is_urgent() || self.compress_ack(now)
    }

    /// Whether new data is acknowledged without delay.
    #[inline(always)]
    pub(super) fn is_urgent(&self) -> bool {
        self.acks.is_urgent(self.unacked())
    }

    /// Segments in order that no ACK covers.
    #[inline(always)]
    pub(super) fn unacked(&self) -> u32 {
        self.rcv_nxt - self.last_acked
    }

    /// [`Receiver::is_urgent`] for data in order; the segment before it arrived at `before`. What only the number of
    /// segments makes urgent waits for the reader.
    #[inline(always)]
    fn is_urgent_in_order(&mut self, now: Time, before: Time) -> bool {
        self.is_urgent()
            && (now.since(before) >= self.reading.delay()
                || self.acks.is_quick()
                || !self.waits_for_reader(now, before))
    }

    /// Whether a duplicate ACK leaves; otherwise it is held back for up to a millisecond.
    #[inline(always)]
    pub(super) fn compress_ack(&mut self, now: Time) -> bool {
        match self.compression.judge(self.rcv_nxt) {
            DuplicateAck::Leaves => return true,
            DuplicateAck::BeginsToWait => self.acks.wake_by(now + self.compression.delay(self.rtt.shortest())),
            DuplicateAck::Waits => {}
        }
        false
    }

    /// Whether the ACK of a lone segment leaves because the application reads at once, after the decision to delay it
    /// (`tcp_cleanup_rbuf`): it carries PSH, or it is shorter than a full one (`tcp_measure_rcv_mss`). Where reading
    /// takes time the ACK leaves then, for everything that is there.
    #[inline(always)]
    fn answers_read(&mut self, now: Time, segment: &Segment) -> bool {
        let is_pushed = self.unacked() == 1 && self.is_pushed(segment);
        if is_pushed {
            self.acks.wake_by(now + self.reading.delay());
        }
        is_pushed && self.reading.delay() == Duration::ZERO
    }

    /// Whether a segment hastens its ACK.
    #[inline(always)]
    pub(super) fn is_pushed(&self, segment: &Segment) -> bool {
        (segment.flags.has(Flags::PSH) || self.sizing.is_short(segment.len)) && self.acks.heeds_pushes()
    }
}
