//! What the application writes, and what of it waits for more (`tcp_sendmsg_locked`, `tcp_check_probe_timer`).

use super::Emitted;
use super::connection::Connection;
use dumbbell_cc::CaState;
use dumbbell_units::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};

/// How a call writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// More follows (`MSG_MORE`), which a short segment waits for.
    pub more: bool,
    /// A record ends (`MSG_EOR`): no segment has bytes from before and after it.
    pub ends_record: bool,
}

/// What the application has written, beyond what the sender knows.
#[derive(Clone, Debug)]
pub(super) struct Writing {
    /// `TCP_CORK`: short segments wait, whatever the call says.
    is_corked: bool,
    /// Bytes of a short segment that waits.
    held: u64,
    /// The last segment takes no more.
    is_sealed: bool,
    /// Where calls have ended that more need not follow, and no other call has added to their last segment.
    pushes: BTreeSet<u64>,
    /// Where the sender was given bytes up to, though no call had ended there: PSH is not for these.
    unmarked: BTreeSet<u64>,
    /// When a short segment has waited long enough that nothing in flight will release.
    released_at: Time,
    /// When the latest call has handed over all of its bytes, and never while it waits for room.
    done_at: Time,
}

impl Writing {
    pub(super) fn new(now: Time, is_corked: bool) -> Writing {
        Writing {
            is_corked,
            held: 0,
            is_sealed: false,
            pushes: BTreeSet::new(),
            unmarked: BTreeSet::new(),
            released_at: Time::NEVER,
            done_at: now,
        }
    }

    pub(super) fn held(&self) -> u64 {
        self.held
    }

    pub(super) fn next_timer(&self) -> Time {
        self.released_at
    }

    /// Whether a burst that ends at this byte has PSH, if the sender, which knows less, says that it `is_marked`. All
    /// of several segments have it.
    pub(super) fn pushes_at(&self, byte: u64, is_marked: bool, segments: usize) -> bool {
        self.pushes.contains(&byte) || is_marked && (segments > 1 || !self.unmarked.contains(&byte))
    }
}

impl Connection {
    /// `write`, `send`: what may leave leaves.
    pub(super) fn write(&mut self, now: Time, bytes: u64, manner: Manner, sent: &mut VecDeque<Emitted>) {
        let start = self.outgoing.end() + self.writing.held;
        let nxt = self.sender.view().snd_nxt;
        if !self.writing.is_sealed && self.outgoing.segments() as u64 > nxt {
            self.writing.pushes.remove(&start);
        }
        if !manner.more {
            self.writing.pushes.insert(start + bytes);
        }
        let all = std::mem::take(&mut self.writing.held) + bytes;
        let room = if self.writing.is_sealed { 0 } else { self.room_in_last() };
        if manner.more || self.writing.is_corked {
            self.writing.held = all.saturating_sub(room) % self.mss;
        }
        self.hand_over(now, all - self.writing.held);
        self.stamps.note_written(start + bytes);
        self.writing.done_at = Time::NEVER;
        self.writing.is_sealed = manner.ends_record;
        self.transmit(now, sent);
        self.wait_for_release(now);
    }

    /// What may leave has left: notes when the call at work is over.
    pub(super) fn note_room(&mut self, now: Time) {
        if self.writing.done_at == Time::NEVER && self.sender.unsent_segments() <= self.sender.queued_segments() {
            self.writing.done_at = now;
        }
    }

    /// When the latest call has handed over all of its bytes; never while it waits for room.
    pub(super) fn wrote_at(&self) -> Time {
        self.writing.done_at
    }

    /// Bytes that are written and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.outgoing.end() + self.writing.held - self.outgoing.byte(self.sender.view().snd_una as u32)
    }

    /// `TCP_CORK` is set, or taken off.
    pub(super) fn cork(&mut self, now: Time, is_corked: bool, sent: &mut VecDeque<Emitted>) {
        self.writing.is_corked = is_corked;
        if !is_corked {
            self.release(now);
            self.transmit(now, sent);
        }
    }

    /// An ACK has come: what `MSG_MORE` holds back may leave now.
    pub(super) fn release_after_ack(&mut self, now: Time) {
        if !self.writing.is_corked {
            self.release(now);
        }
    }

    /// What waits for more waits no longer.
    pub(super) fn release(&mut self, now: Time) {
        let held = std::mem::take(&mut self.writing.held);
        self.hand_over(now, held);
        self.writing.released_at = Time::NEVER;
    }

    /// A short segment has waited for a timeout.
    pub(super) fn release_when_due(&mut self, now: Time) {
        if self.writing.released_at <= now {
            self.writing.pushes.insert(self.outgoing.end() + self.writing.held);
            self.release(now);
        }
    }

    /// When the connection is given up that may be silent for so long, or without a window: counted from the first
    /// retransmission, or the first probe, and looked at by their timers only (`retransmits_timed_out`,
    /// `tcp_probe_timer`).
    pub(super) fn gives_up_at(&self, user_timeout: Option<Duration>) -> Time {
        let Some(timeout) = user_timeout else { return Time::NEVER };
        let first = self.first_retransmission.filter(|_| self.sender.view().ca_state == CaState::Loss);
        first.or(self.device.first_probe).map_or(Time::NEVER, |first| first + timeout)
    }

    /// Without anything in flight only a timer will release what waits.
    fn wait_for_release(&mut self, now: Time) {
        let is_silent = self.sender.view().packets_out == 0 && self.sender.queued_segments() == 0;
        if self.writing.held == 0 || !is_silent {
            self.writing.released_at = Time::NEVER;
        } else if self.writing.released_at == Time::NEVER {
            self.writing.released_at = now + self.sender.rto();
        }
    }

    fn room_in_last(&self) -> u64 {
        self.outgoing.room_in_last(self.mss, self.sender.view().snd_nxt)
    }

    /// Bytes become the sender's.
    fn hand_over(&mut self, now: Time, bytes: u64) {
        if bytes == 0 {
            return;
        }
        // What has left takes no more.
        let left = if self.writing.is_sealed { u64::MAX } else { self.sender.view().snd_nxt };
        let (segments, last_len) = self.outgoing.write(bytes, self.mss, left);
        self.sender.write(now, segments, last_len as u16);
        let end = self.outgoing.end();
        if !self.writing.pushes.contains(&end) {
            self.writing.unmarked.insert(end);
        }
    }
}
