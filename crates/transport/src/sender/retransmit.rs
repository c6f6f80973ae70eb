//! Retransmissions: of lost segments, of the head after a timeout, of the last segment as a tail loss probe, and as a
//! rescue (RFC 6675) of a segment that is not known to be lost.

use super::assembly::Retransmit;
use super::{Burst, CaState, Sender};
use crate::{RecoveryRule, Rescue};
use dumbbell_recovery::scoreboard::flag;
use dumbbell_recovery::timer::Pending;

impl Sender {
    /// Sends what the latest ACK or timer asked to be sent before ordinary new data (`tcp_xmit_recovery`).
    #[inline(always)]
    pub(super) fn start_requested(&mut self) -> bool {
        if self.xmit.request == Retransmit::Lost && self.has_repaired_all() {
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
        self.xmit.request = Retransmit::Nothing;
        self.xmit.send_clock.begin_event();
    }

    #[inline(never)]
    fn start_any_requested(&mut self) -> bool {
        if self.xmit.request == Retransmit::WindowProbe {
            self.start_window_probe();
            return true;
        }
        if self.xmit.request == Retransmit::NewDataFirst {
            if self.start_new_burst() {
                return true;
            }
            if self.board.nxt() > self.high_seq {
                self.xmit.request = Retransmit::Nothing;
                return false;
            }
            self.frto.give_up();
            self.xmit.request = Retransmit::Lost;
        }
        if self.start_retransmission() {
            return true;
        }
        self.end_request();
        false
    }

    /// Goes on after a pause by pacing or small queues: lost segments first (`tcp_tsq_write`).
    pub(super) fn resume_retransmissions(&mut self) {
        let view = &self.view;
        let is_waiting = match self.config.recovery {
            RecoveryRule::Linux => view.lost_out > view.retrans_out,
            RecoveryRule::Ns3 => view.lost_out > 0,
        };
        if is_waiting && self.control.cwnd > view.in_flight() {
            self.request_retransmissions();
        }
    }

    /// Lost segments are to be sent before new ones.
    pub(super) fn request_retransmissions(&mut self) {
        self.xmit.request = Retransmit::Lost;
    }

    /// Sends the next burst of lost segments (`tcp_xmit_retransmit_queue`).
    fn start_retransmission(&mut self) -> bool {
        let window = self.repair_window();
        if self.view.packets_out == 0 || self.view.in_flight() >= window || self.has_repaired_all() {
            return false;
        }
        if self.pacing_forbids() {
            return false;
        }
        let Some(first) = self.board.first_waiting() else { return false };
        // Of what lies beyond a window that has shrunk only the oldest segment is repaired.
        let within_window = match self.stream.window_end.saturating_sub(first) {
            0 if first == self.board.una() => 1,
            segments => segments,
        };
        let room = (window - self.view.in_flight()).min(within_window);
        if room == 0 {
            return false;
        }
        let size = self.waiting_run(first, room.min(self.max_burst()));
        if self.small_queue_full(size, 2) {
            return false;
        }
        self.send_again(first, size, true);
        if self.view.in_reduction() {
            self.prr.sent(size);
        }
        let restarts = self.config.recovery == RecoveryRule::Linux && self.timer.pending() != Pending::Reordering;
        if first == self.board.una() && restarts {
            self.set_timer(Pending::Retransmission, u64::from(self.rtt.estimator().rto_us()));
        }
        true
    }

    /// How many segments from `first` on, at most `most`, wait for their retransmission and were first sent in one
    /// burst.
    fn waiting_run(&self, first: u32, most: u32) -> u32 {
        let mut size = 1;
        while size < most && first + size < self.board.nxt() {
            let next = self.board.get(first + size);
            let waits = next.flags & (flag::LOST | flag::RETRANS | flag::SACKED) == flag::LOST;
            if !waits || next.has(flag::BURST_START) {
                break;
            }
            size += 1;
        }
        size
    }

    /// The window that bounds the amount in flight for retransmissions. In ns-3 the receive window does so, too,
    /// although a segment and its retransmission may both count in flight.
    fn repair_window(&self) -> u32 {
        match self.config.recovery {
            RecoveryRule::Linux => self.control.cwnd,
            RecoveryRule::Ns3 => self.control.cwnd.min(self.stream.window_end - self.board.una()),
        }
    }

    /// Retransmits a segment that is not known to be lost, when fast recovery has nothing else to send (`NextSeg`'s
    /// rule 3 of RFC 6675).
    pub(super) fn start_rescue(&mut self) -> bool {
        if self.view.ca_state != CaState::Recovery
            || self.view.in_flight() >= self.repair_window()
            || self.stream.allows(self.board.nxt())
            || self.pacing_forbids()
        {
            return false;
        }
        let end = match self.config.rescue {
            Rescue::Off => return false,
            Rescue::BelowSack => self.sacks.highest,
            Rescue::Any => self.board.nxt(),
        };
        let mut from = self.xmit.rescued_below.max(self.board.una());
        while let Some(seq) = self.board.next_unsacked(from, end) {
            from = seq + 1;
            self.xmit.rescued_below = from;
            if !self.board.get(seq).has(flag::RETRANS) {
                self.send_again(seq, 1, true);
                return true;
            }
        }
        false
    }

    /// Retransmits the head without regard to window and pacing, because the retransmission timer fired.
    pub(super) fn retransmit_head(&mut self) {
        self.send_again(self.board.una(), 1, true);
    }

    /// Retransmits the last segment as a tail loss probe. It is not counted in flight a second time.
    pub(super) fn retransmit_probe(&mut self, last: u32) {
        self.send_again(last, 1, false);
    }

    /// Retransmits `size` segments from `first` on as one burst; tag R is set if `counted` (`__tcp_retransmit_skb`).
    fn send_again(&mut self, first: u32, size: u32, counted: bool) {
        let bytes = (first..first + size).map(|seq| u64::from(self.board.get(seq).len)).sum();
        let mut record = self.depart(size, bytes);
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
        self.xmit.ready = Burst {
            next: first,
            end: first + size,
            bytes,
            sent_at: self.view.now,
            echo: self.recent_timestamp,
            mss: self.stream.mss,
            // Only the last segment of a burst can be short, and a retransmission does not span two bursts.
            last_len: self.board.get(first + size - 1).len,
            is_retransmission: true,
            ecn: self.xmit.codepoint_again,
            next_flags: Burst::push_of_first(size, self.board.get(first).has(flag::PUSHED)),
        };
    }
}
