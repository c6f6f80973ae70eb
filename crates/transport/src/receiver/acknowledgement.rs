//! When an ACK leaves, and what it says: delayed, quick and compressed ACKs.

use super::{
    COMPRESSED_ACKS_MAX, COMPRESSION_DELAY_MAX, COMPRESSION_RTT_PERCENT, EarlyAck, NO_ATO, QUICK_ACKS_MIN, Receiver,
    UNCOMPRESSED_DUP_ACKS, Waiting, Window,
};
use crate::{Ack, AdvertisedWindow, CumulativeAck, Marks, SackBlock};
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::{Duration, Time};

impl Receiver {
    /// Builds an ACK of everything before the current segment, which has to leave before the ACK of this segment
    /// (`tcp_sack_compress_send_ack`, `dctcp_ece_ack_update`).
    #[inline(never)]
    pub(super) fn hold_back(&mut self, now: Time) {
        let ack = self.acknowledge(now);
        self.rare.get_or_insert_default().held_back = Some(ack);
        self.waiting = Waiting::HeldBack;
    }

    /// Adapts the delayed-ACK time to the times between segments in order (`tcp_event_data_recv`). Returns the arrival
    /// of the segment before.
    #[inline(always)]
    pub(super) fn adapt_to_gap(&mut self, now: Time) -> Time {
        let before = self.last_data_at;
        if self.ato == NO_ATO {
            self.begin_delaying_acks(now);
        } else {
            let gap = now.since(self.last_data_at);
            let half_min = Duration::from_nanos(self.delayed_ack_min.as_nanos() / 2);
            let half_ato = Duration::from_nanos(self.ato.as_nanos() / 2);
            if gap <= half_min {
                self.ato = self.ato_of_quick_segment();
            } else if gap < self.ato {
                self.ato = (half_ato + gap).min(self.rto());
            } else if gap > self.rto() {
                // The sender paused and may restart with a small window.
                self.allow_quick_acks(self.quick_acks_max);
            }
        }
        self.last_data_at = now;
        before
    }

    /// The first data is in order: it begins the quick ACKs of a connection. They do not begin if data above a hole came first,
    /// which had quick ACKs of its own.
    #[cold]
    #[inline(never)]
    fn begin_delaying_acks(&mut self, now: Time) {
        self.accept(now);
        self.ato = self.delayed_ack_min;
        self.allow_quick_acks(self.quick_acks_max);
    }

    /// The delayed-ACK time after a segment that came quickly after the one before it.
    #[inline(always)]
    pub(super) fn ato_of_quick_segment(&self) -> Duration {
        Duration::from_nanos(self.ato.as_nanos() / 2) + Duration::from_nanos(self.delayed_ack_min.as_nanos() / 2)
    }

    /// Whether two segments that come faster than the application reads wait for it.
    #[inline]
    pub(super) fn waits_until_read(&self, now: Time) -> bool {
        let is_early = self.rare.as_ref().and_then(|rare| rare.early).is_some_and(|early| now < early.reads_at);
        !is_early && !self.sizing.hides(2, 0)
    }

    /// Allows up to `most` quick ACKs from now on (`tcp_incr_quickack`).
    pub(super) fn allow_quick_acks(&mut self, most: u32) {
        let window = self.window_edge - self.last_acked;
        let quick = (window / 2).max(QUICK_ACKS_MIN).min(most).min(self.quick_acks_max);
        self.quick = self.quick.max(quick);
    }

    /// Acknowledges each of the next segments, up to `most`, without delay (`tcp_enter_quickack_mode`).
    pub(super) fn start_quick_acks(&mut self, most: u32) {
        self.allow_quick_acks(most);
        self.ato = self.delayed_ack_min;
    }

    /// Whether new data is acknowledged without delay (the first half of `__tcp_ack_snd_check`).
    #[inline(always)]
    pub(super) fn is_urgent(&self) -> bool {
        self.rcv_nxt - self.last_acked >= self.ack_every || self.quick > 0 || self.ack_now
    }

    /// [`Receiver::is_urgent`] for data in order; the segment before it arrived at `before`. What only `ack_every` makes
    /// urgent waits for the reader.
    #[inline(always)]
    pub(super) fn is_urgent_in_order(&mut self, now: Time, before: Time) -> bool {
        self.is_urgent()
            && (now.since(before) >= self.read_delay || self.quick > 0 || !self.waits_for_reader(now, before))
    }

    /// Whether the ACK waits until the application has read: it wakes up `read_delay` after the segment before, and
    /// reads everything that has arrived until then. Linux sends an ACK on arrival only if the window would not be
    /// smaller than the last one told (`__tcp_ack_snd_check`), and two unread segments make it smaller, unless it is
    /// growing, when quick ACKs are left, or is told in units that [hide](super::RightSizing::hides) them.
    #[cold]
    fn waits_for_reader(&mut self, now: Time, before: Time) -> bool {
        let has_unread_before = self.rcv_nxt - self.last_acked > 1 && before != Time::NEVER;
        if self.ack_now || !has_unread_before {
            return false;
        }
        let early = self.rare.as_ref().and_then(|rare| rare.early).filter(|early| now < early.reads_at);
        let unread = early.unwrap_or(EarlyAck { unread_from: self.last_acked, reads_at: before + self.read_delay });
        if self.sizing.hides(self.rcv_nxt - unread.unread_from, self.held.segments()) {
            self.rare.get_or_insert_default().early = Some(unread);
            return false;
        }
        self.exact_ack_at = self.exact_ack_at.min(unread.reads_at);
        true
    }

    /// Whether what a repair has made readable, below another hole, leaves room for less than the window that was told last. Then
    /// the number of segments alone makes no ACK urgent, and it counts as the first duplicate (`__tcp_ack_snd_check`). To look
    /// at the window ends quick ACKs where room is scarce (`__tcp_select_window`).
    pub(super) fn narrows_window(&mut self, now: Time) -> bool {
        if self.rcv_nxt - self.last_acked < self.ack_every || self.constant_window.is_some() {
            return false;
        }
        // At least the segment that has arrived is unread.
        let queued = self.held.segments() + self.unread(now).max(1);
        if self.sizing.is_scarce(queued) {
            self.quick = 0;
        }
        let told = Window { segments: self.window_edge - self.last_acked, excess: self.window_excess };
        self.quick == 0 && !self.ack_now && self.sizing.window_from(told, queued).is_none()
    }

    /// Arms the delayed-ACK timer (`tcp_send_delayed_ack`); true when it is about to expire, so that the ACK leaves
    /// now.
    #[inline(always)]
    pub(super) fn delay_ack(&mut self, now: Time) -> bool {
        let mut ato = self.ato;
        if ato > self.delayed_ack_min {
            ato = ato.min(self.rtt.base().max(self.delayed_ack_min));
        }
        ato = ato.min(self.delayed_ack_max);
        if self.delayed_ack_at <= now + Duration::from_nanos(ato.as_nanos() / 4) {
            return true;
        }
        let due = now + ato;
        // Nearly always the timer before this one was in the same slot.
        let is_in_latest = due < self.latest_slot && self.latest_slot.since(due) <= self.ticks.length();
        let expiry = if is_in_latest { self.latest_slot } else { self.find_slot(now, due) };
        self.delayed_ack_at = self.delayed_ack_at.min(expiry);
        false
    }

    /// When a timer fires that is armed at `now` for `due`.
    #[inline(never)]
    fn find_slot(&mut self, now: Time, due: Time) -> Time {
        if !self.timer_wheel {
            return self.ticks.at_or_after(due);
        }
        let (slot, is_single) = self.ticks.wheel_at(now, due);
        if is_single {
            self.latest_slot = slot;
        }
        slot
    }

    /// Whether a duplicate ACK leaves; otherwise it is compressed, that is held back for up to a millisecond (the
    /// second half of `__tcp_ack_snd_check`).
    #[inline]
    pub(super) fn compress_ack(&mut self, now: Time) -> bool {
        if !self.sack_permitted || !self.compress_sacks || self.compressed_acks >= COMPRESSED_ACKS_MAX {
            return true;
        }
        if self.dup_acks_of != self.rcv_nxt {
            self.dup_acks_of = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < UNCOMPRESSED_DUP_ACKS {
            self.dup_acks += 1;
            return true;
        }
        if self.compressed_acks == 0 {
            let share_of_rtt = Duration::from_nanos(self.rtt.shortest().as_nanos() / 100 * COMPRESSION_RTT_PERCENT);
            self.exact_ack_at = self.exact_ack_at.min(now + share_of_rtt.min(COMPRESSION_DELAY_MAX));
        }
        self.compressed_acks += 1;
        false
    }

    /// Builds an ACK of everything so far (`tcp_send_ack`). No other ACK is pending afterwards.
    pub(super) fn acknowledge(&mut self, now: Time) -> Ack {
        let held = self.held.segments();
        let unread_by_reader = self.unread_by_reader(now);
        let (duplicate, unread, counts_marks) = match &mut self.rare {
            Some(rare) => (rare.duplicate.take(), rare.unread, rare.marks.is_some()),
            None => (None, None, false),
        };
        // A segment in order is acknowledged on arrival before it is read.
        let arrived = u32::from(now == self.last_data_at && !self.sizing.is_scarce(1));
        let queued = held + unread_by_reader.unwrap_or_else(|| unread.map_or(arrived, |unread| unread.segments));
        let window = match self.constant_window {
            Some(window) => Some(self.constant_window_beside(window.get(), unread_by_reader.unwrap_or(0), held)),
            None => {
                let left = self.window_left();
                self.sizing.window_from(left, queued)
            }
        };
        if queued > 0 && self.sizing.is_scarce(queued) {
            self.quick = 0;
        }
        let mut ack = Ack::from(self.cumulative_ack(now, window));
        if let Some(unread) = unread
            && self.constant_window.is_none()
            && self.sizing.doubles(self.window_left(), held)
        {
            self.exact_ack_at = unread.read_at;
        }
        if duplicate.is_some() || !self.held.is_empty() {
            let room = Ack::MAX_SACK_BLOCKS - usize::from(self.timestamps);
            let duplicate = duplicate.map(|seq| SackBlock { start: seq, end: seq + 1 });
            self.sacks.write(duplicate, room, &mut ack);
        }
        if counts_marks {
            self.tell_marks(&mut ack);
        }
        if unread_by_reader.is_some() {
            self.read_on();
        }
        ack
    }

    /// Adds the counters of marks, for which SACK blocks may give way.
    #[inline(never)]
    fn tell_marks(&mut self, ack: &mut Ack) {
        if let Some(marks) = self.rare.as_mut().and_then(|rare| rare.marks.as_mut()) {
            let (blocks, counters) = marks.share_options(ack.sack_count, self.timestamps);
            ack.sack_count = blocks;
            ack.marks = Some(Marks::new(self.ce_segments, marks.bytes, counters));
        }
    }

    /// The window to advertise on the arrival of a segment in order.
    #[inline(always)]
    pub(super) fn open_window(&mut self) -> Window {
        match self.constant_window {
            Some(window) => Window { segments: window.get(), excess: 0 },
            None => self.sizing.open(),
        }
    }

    /// What is left of the window that was told last (`tcp_receive_window`).
    #[inline]
    fn window_left(&self) -> Window {
        Window { segments: self.window_edge - self.rcv_nxt, excess: self.window_excess }
    }

    /// Builds an ACK without SACK blocks that advertises `window`, or what is left of the last one if that is more
    /// (`tcp_select_window`, `tcp_event_ack_sent`).
    #[inline(always)]
    pub(super) fn cumulative_ack(&mut self, now: Time, window: Option<Window>) -> CumulativeAck {
        if let Some(window) = window
            && self.moves_edge(self.rcv_nxt, window)
        {
            self.window_edge = self.rcv_nxt.saturating_add(window.segments);
            self.window_excess = window.excess;
        } else if self.rcv_nxt != self.last_acked {
            self.keep_window();
        }
        if self.unacked_news && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.delayed_ack_min;
            }
        }
        self.unacked_news = false;
        self.ack_now = false;
        self.delayed_ack_at = Time::NEVER;
        self.exact_ack_at = Time::NEVER;
        self.compressed_acks = 0;
        self.last_acked = self.rcv_nxt;
        self.acks_sent += 1;
        CumulativeAck {
            ack: self.rcv_nxt,
            ece: self.echo_congestion,
            window: if self.window_excess == 0 {
                AdvertisedWindow::whole(self.window_edge - self.rcv_nxt)
            } else {
                self.exact_window()
            },
            sent_at: Timestamp::at(now),
            echo: Timestamp::at(self.recent_timestamp),
        }
    }

    /// The window to tell where it ends within a segment. A constant one has whole segments.
    #[inline(never)]
    fn exact_window(&self) -> AdvertisedWindow {
        let excess = if self.constant_window.is_none() { self.window_excess } else { 0 };
        AdvertisedWindow::new(self.window_edge - self.rcv_nxt, excess)
    }

    /// Whether a `window` above `ack` does not end below the one that was told last.
    #[inline(always)]
    pub(super) fn moves_edge(&self, ack: u32, window: Window) -> bool {
        let edge = ack.saturating_add(window.segments);
        edge > self.window_edge || (edge == self.window_edge && window.excess >= self.window_excess)
    }

    /// The window must not shrink: what is left of the one that was told stays, in the units in which it is told, rounded up
    /// (`tcp_select_window`). Where repairs move its left edge by less than a unit at a time, its right edge moves as well,
    /// whatever room there is.
    #[cold]
    #[inline(never)]
    fn keep_window(&mut self) {
        let kept = self.sizing.told(self.window_left());
        self.window_edge = self.rcv_nxt.saturating_add(kept.segments);
        self.window_excess = kept.excess;
    }

    /// The retransmission timeout this end would use for its own data.
    pub(super) fn rto(&self) -> Duration {
        let rtt = self.rtt.base();
        rtt + (rtt * 2).max(self.rto_min)
    }
}
