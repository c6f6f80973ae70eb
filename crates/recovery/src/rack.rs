//! Loss detection by time (RACK, RFC 8985; `tcp_recovery.c`).
//!
//! RACK remembers the most recently sent segment among those delivered. What was sent before it by more than the
//! reordering window is lost, whether it was an original or a retransmission. While no reordering was ever seen the
//! window is zero as soon as three segments are selectively acknowledged: this is the rule of three duplicate ACKs.
//! Each round with a DSACK widens the window by a quarter of the minimum RTT; after sixteen recoveries without an undo
//! it is narrow again.

use crate::reordering::Reordering;
use crate::scoreboard::{NewlyLost, Scoreboard};
use crate::send_stamp::Stamp;

/// Added to the reordering timer (`TCP_TIMEOUT_MIN_US`).
pub const TIMEOUT_MIN_US: u64 = 2_000;
/// Recoveries for which a widened reordering window persists (`TCP_RACK_RECOVERY_THRESH`).
const REO_WND_PERSIST: u32 = 16;
/// Most quarters of the minimum RTT that the reordering window may have.
const MAX_REO_WND_STEPS: u32 = 255;

/// What RACK knows of the segments delivered (`struct tcp_rack`).
#[derive(Clone, Debug)]
pub struct Rack {
    /// When the most recently sent one of the segments delivered was sent (`mstamp`).
    sent: Stamp,
    /// One above that segment (`end_seq`).
    end: u32,
    /// Round-trip time of the segment delivered last.
    rtt_us: u32,
    /// Something was delivered since losses were looked for (`rack.advanced`).
    advanced: bool,
    dsack_seen: bool,
    /// Width of the reordering window in quarters of the minimum RTT.
    reo_wnd_steps: u32,
    reo_wnd_persist: u32,
    /// `delivered` when the window was widened last.
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: Stamp::default(),
            end: 0,
            rtt_us: 0,
            advanced: false,
            dsack_seen: false,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// Segment `seq`, last sent at `sent`, was delivered `rtt_us` later (`tcp_rack_advance`).
    #[inline]
    pub fn advance(&mut self, seq: u32, sent: Stamp, retransmitted: bool, rtt_us: u32, min_rtt_us: u32) {
        // Too early for the retransmission: this acknowledges the original.
        if retransmitted && rtt_us < min_rtt_us {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if sent > self.sent || sent == self.sent && seq + 1 > self.end {
            self.sent = sent;
            self.end = seq + 1;
        }
    }

    /// Whether something was delivered since the last call; then losses are to be looked for.
    #[inline]
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Losses are to be looked for again, because loss marks were removed.
    pub fn rescan(&mut self) {
        self.advanced = true;
    }

    /// The receiver reported a duplicate (`rack.dsack_seen`).
    pub fn note_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Widens the reordering window after a DSACK, at most once a round (`tcp_rack_update_reo_wnd`).
    /// `prior_delivered` is that of the ACK's rate sample, 0 when there is none.
    #[inline(always)]
    pub fn update_reo_wnd(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.reo_wnd_steps = (self.reo_wnd_steps + 1).min(MAX_REO_WND_STEPS);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_steps = 1;
        }
    }

    /// A reduction was undone because of DSACKs: a widened window persists for longer.
    pub fn on_dsack_undo(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }

    /// A recovery ended without an undo.
    pub fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }

    /// Width of the reordering window in quarters of the minimum RTT, where it is not zero (`reo_wnd_steps`).
    pub fn reo_wnd_steps(&self) -> u32 {
        self.reo_wnd_steps
    }

    /// Width of the reordering window (`tcp_rack_reo_wnd`); `in_recovery` holds in Recovery and Loss.
    #[inline]
    pub fn reo_wnd_us(
        &self,
        reordering: &Reordering,
        in_recovery: bool,
        sacked_out: u32,
        min_rtt_us: u32,
        srtt_us: u32,
    ) -> u32 {
        if !reordering.was_seen() && (in_recovery || sacked_out >= reordering.degree()) {
            return 0;
        }
        let width_us = u64::from(min_rtt_us >> 2) * u64::from(self.reo_wnd_steps);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most the smoothed RTT, which has 32 bits")]
        let width_us = width_us.min(u64::from(srtt_us)) as u32;
        width_us
    }

    /// How long RACK still waits for a segment sent at `sent_us`; not positive when it is lost
    /// (`tcp_rack_skb_timeout`).
    #[inline]
    pub fn remaining_us(&self, sent_us: u64, now_us: u64, reo_wnd_us: u32) -> i64 {
        i64::from(self.rtt_us) + i64::from(reo_wnd_us) - (now_us.cast_signed() - sent_us.cast_signed())
    }

    /// Marks what is lost and tells `on_lost` of it; returns how long to wait for what may only be reordered, in
    /// microseconds (`tcp_rack_detect_loss`). `reo_wnd_us` is called only for segments that may be lost.
    #[inline(always)]
    pub fn detect_loss(
        &self,
        board: &mut Scoreboard,
        now_us: u64,
        reo_wnd_us: impl Fn() -> u32,
        mut on_lost: impl FnMut(&Scoreboard, NewlyLost),
    ) -> Option<u64> {
        let mut at = board.list_oldest();
        let mut reo_wnd = None;
        while let Some(seq) = at {
            at = board.list_next(seq);
            let record = board.get(seq);
            let sent = record.sent;
            if record.awaits_retransmission() {
                continue;
            }
            if !self.was_sent_after(sent, seq) {
                break;
            }
            let width_us = *reo_wnd.get_or_insert_with(&reo_wnd_us);
            if self.remaining_us(sent.us(), now_us, width_us) > 0 {
                // What was sent later is waited for even longer.
                let last = self.last_sent_before(board, seq);
                let wait_us = self.remaining_us(last.us(), now_us, width_us);
                return Some(wait_us.cast_unsigned());
            }
            // Segments of the same send time are lost, too, up to the one that RACK knows to be delivered.
            let most = if sent < self.sent { board.nxt() } else { self.end - 1 };
            let (end, next) = board.set_run_lost(seq, most);
            let lost = if seq < end {
                at = next;
                Some(NewlyLost { first: seq, end, is_retransmission: false })
            } else {
                board.list_remove(seq);
                board.mark_lost(seq)
            };
            if let Some(lost) = lost {
                on_lost(board, lost);
            }
        }
        None
    }

    /// Whether the segment that RACK knows to be delivered was sent after `seq`, which was sent at `sent`
    /// (`tcp_skb_sent_after`).
    #[inline(always)]
    fn was_sent_after(&self, sent: Stamp, seq: u32) -> bool {
        self.sent > sent || self.sent == sent && self.end > seq + 1
    }

    /// When the last segment on the list of transmissions was sent that was sent before the one that RACK knows to be
    /// delivered and is not lost; `first` is such a segment. The place where the list was left is kept: what RACK knows
    /// only moves on, so that everything before that place needs no second look.
    #[inline(always)]
    fn last_sent_before(&self, board: &mut Scoreboard, first: u32) -> Stamp {
        let mut last = board.list_place().unwrap_or(first);
        let mut record = board.get(last);
        while let Some(next) = record.next() {
            let later = board.get(next);
            if !self.was_sent_after(later.sent, next) {
                break;
            }
            (last, record) = (next, later);
        }
        let (sent, is_lost) = (record.sent, record.awaits_retransmission());
        board.list_keep_place(last);
        if is_lost { sent_before_lost(board, last, first) } else { sent }
    }
}

/// When the last segment was sent that is not lost, of those from `first`, which is not, to `last` on the list of
/// transmissions.
#[inline(never)]
fn sent_before_lost(board: &Scoreboard, mut last: u32, first: u32) -> Stamp {
    while last != first && board.get(last).awaits_retransmission() {
        last = board.list_prev(last).unwrap_or(first);
    }
    board.get(last).sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::{Record, flag};

    /// Segments `0..count`, one a millisecond from 1 ms on.
    fn sent(count: u32) -> Scoreboard {
        let mut board = Scoreboard::new();
        for seq in 0..count {
            let sent = Stamp::at_us(1_000 * (u64::from(seq) + 1));
            board.push_burst(&Record { sent, ..Record::default() }, 1, 1448);
        }
        board
    }

    /// Segment `seq` is selectively acknowledged 50 ms after it was sent; returns the instant.
    fn deliver(rack: &mut Rack, board: &mut Scoreboard, seq: u32) -> u64 {
        let sent = board.get(seq).sent;
        rack.advance(seq, sent, false, 50_000, 50_000);
        board.set_sacked(seq);
        sent.us() + 50_000
    }

    fn lost(rack: &Rack, board: &mut Scoreboard, now_us: u64, reo_wnd_us: u32) -> (Vec<NewlyLost>, Option<u64>) {
        let mut found = Vec::new();
        let wait_us = rack.detect_loss(board, now_us, || reo_wnd_us, |_, lost| found.push(lost));
        (found, wait_us)
    }

    fn one(seq: u32, is_retransmission: bool) -> NewlyLost {
        NewlyLost { first: seq, end: seq + 1, is_retransmission }
    }

    #[test]
    fn what_was_sent_a_window_before_a_delivered_segment_is_lost_and_the_rest_is_waited_for() {
        let (mut rack, mut board) = (Rack::default(), sent(10));
        let now_us = deliver(&mut rack, &mut board, 5);
        // Segments 0 and 1 left 5 and 4 ms before segment 5; 2, 3 and 4 less than the window of 3.5 ms.
        let (found, wait_us) = lost(&rack, &mut board, now_us, 3_500);
        assert_eq!(found, [one(0, false), one(1, false)]);
        assert_eq!(wait_us, Some(2_500), "until segment 4 is lost");
        let (found, wait_us) = lost(&rack, &mut board, now_us + 2_500, 3_500);
        assert_eq!((found.len(), wait_us), (3, None));
        assert!((6..10).all(|seq| !board.get(seq).has(flag::LOST)), "nothing is known of what was sent later");
    }

    #[test]
    fn a_lost_retransmission_is_found() {
        let (mut rack, mut board) = (Rack::default(), sent(10));
        let now_us = deliver(&mut rack, &mut board, 1);
        assert_eq!(lost(&rack, &mut board, now_us, 0).0, [one(0, false)]);
        board.push_again(&Record { sent: Stamp::at_us(52_000), flags: flag::RETRANS, ..Record::default() }, 0, 1);
        board.push_burst(&Record { sent: Stamp::at_us(53_000), ..Record::default() }, 1, 1448);
        let now_us = deliver(&mut rack, &mut board, 10);
        let (found, _) = lost(&rack, &mut board, now_us, 0);
        assert_eq!(found.last(), Some(&one(0, true)));
    }

    #[test]
    fn segments_of_one_burst_are_lost_up_to_the_one_delivered() {
        let mut board = Scoreboard::new();
        board.push_burst(&Record { sent: Stamp::at_us(1_000), ..Record::default() }, 8, 1448);
        let mut rack = Rack::default();
        let now_us = deliver(&mut rack, &mut board, 5);
        let (found, wait_us) = lost(&rack, &mut board, now_us, 0);
        assert_eq!((found, wait_us), (vec![NewlyLost { first: 0, end: 5, is_retransmission: false }], None));
    }

    /// How long to wait, found by a look at every segment.
    fn longest_wait_us(rack: &Rack, board: &Scoreboard, now_us: u64, reo_wnd_us: u32) -> Option<u64> {
        let all = std::iter::successors(board.list_oldest(), |&seq| board.list_next(seq));
        let waits = all.filter_map(|seq| {
            let record = board.get(seq);
            let is_lost = record.flags & (flag::LOST | flag::RETRANS) == flag::LOST;
            let is_judged = !is_lost && (rack.sent, rack.end) > (record.sent, seq + 1);
            is_judged.then(|| rack.remaining_us(record.sent.us(), now_us, reo_wnd_us))
        });
        waits.max().filter(|&wait_us| wait_us > 0).map(i64::cast_unsigned)
    }

    #[test]
    fn the_longest_wait_is_found_without_a_look_at_every_segment() {
        for seed in 0..40 {
            let mut rng = dumbbell_units::Rng::new(seed);
            let (mut rack, mut board) = (Rack::default(), Scoreboard::new());
            let mut now_us = 100_000;
            for _ in 0..400 {
                now_us += 500;
                let stamp = Record { sent: Stamp::at_us(now_us), ..Record::default() };
                board.push_burst(&stamp, 1 + rng.below(3), 1448);
                let pick = board.una() + rng.below(board.nxt() - board.una());
                let record = *board.get(pick);
                match rng.below(6) {
                    0 => {
                        while board.una() < pick {
                            board.pop_una();
                        }
                    }
                    1 if board.end_of_originals(pick) > board.una() => {
                        board.pop_originals(board.end_of_originals(pick));
                    }
                    2 if record.has(flag::LOST) && !record.has(flag::RETRANS) => {
                        let sent = Stamp::at_us(now_us + 100);
                        let again = Record { sent, flags: flag::RETRANS, ..Record::default() };
                        board.push_again(&again, pick, 1);
                    }
                    3 => {
                        board.mark_lost(pick);
                    }
                    _ if !record.has(flag::SACKED) => {
                        rack.advance(pick, record.sent, false, 30_000, 20_000);
                        if record.flags == flag::LISTED | flag::BURST_START {
                            board.set_run_sacked(pick, pick + 1);
                        } else {
                            board.set_sacked(pick);
                        }
                    }
                    _ => {}
                }
                let (_, wait_us) = lost(&rack, &mut board, now_us, 10_000);
                assert_eq!(wait_us, longest_wait_us(&rack, &board, now_us, 10_000), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_retransmission_that_returns_faster_than_any_round_trip_was_the_original() {
        let mut rack = Rack::default();
        rack.advance(3, Stamp::at_us(10_000), true, 20_000, 50_000);
        assert!(!rack.take_advanced());
        rack.advance(3, Stamp::at_us(10_000), true, 50_000, 50_000);
        assert!(rack.take_advanced() && !rack.take_advanced());
    }

    #[test]
    fn the_window_is_zero_with_three_duplicates_until_reordering_was_seen() {
        let rack = Rack::default();
        let mut reordering = Reordering::new(3, 300);
        let width = |reordering: &Reordering, in_recovery, sacked_out| {
            rack.reo_wnd_us(reordering, in_recovery, sacked_out, 40_000, 60_000)
        };
        assert_eq!([width(&reordering, false, 2), width(&reordering, false, 3)], [10_000, 0]);
        assert_eq!(width(&reordering, true, 0), 0);
        reordering.check_sack(0, 2);
        assert_eq!(width(&reordering, true, 9), 10_000);
    }

    #[test]
    fn duplicates_widen_the_window_once_a_round_up_to_the_smoothed_rtt() {
        let mut rack = Rack::default();
        let mut reordering = Reordering::new(3, 300);
        reordering.check_sack(0, 2);
        let width = |rack: &Rack| rack.reo_wnd_us(&reordering, true, 9, 40_000, 60_000);
        rack.note_dsack();
        rack.update_reo_wnd(5, 10);
        assert_eq!(width(&rack), 20_000);
        // Another one of the same round.
        rack.note_dsack();
        rack.update_reo_wnd(9, 12);
        assert_eq!(width(&rack), 20_000);
        for round in 1..100 {
            rack.note_dsack();
            rack.update_reo_wnd(20 * round, 20 * round);
        }
        assert_eq!(width(&rack), 60_000);
    }

    #[test]
    fn a_widened_window_narrows_after_sixteen_recoveries_without_undo() {
        let mut rack = Rack::default();
        rack.note_dsack();
        rack.update_reo_wnd(5, 10);
        for _ in 0..15 {
            rack.on_recovered();
        }
        rack.on_dsack_undo();
        rack.on_recovered();
        rack.update_reo_wnd(20, 30);
        assert_eq!(rack.reo_wnd_steps, 2);
        rack.on_recovered();
        rack.update_reo_wnd(40, 50);
        assert_eq!(rack.reo_wnd_steps, 1);
    }
}
