//! What is needed to undo a reduction.
//!
//! A reduction is spurious when nothing was lost. There are two proofs. The receiver reports every retransmission of
//! the episode as a duplicate (DSACK, RFC 2883 and 3708). Or the ACK echoes the timestamp of a segment that left before
//! the first retransmission (Eifel, RFC 3522): the original was delayed. An episode without a retransmission counts as
//! the second.

use crate::timestamp::Timestamp;
use dumbbell_units::Time;

/// State of one episode in Recovery or Loss.
#[derive(Clone, Debug)]
pub struct Undo {
    is_enabled: bool,
    /// `undo_marker`: `snd_una` when the episode began; `None` when there is nothing to undo.
    marker: Option<u32>,
    /// `undo_retrans`: retransmissions of the episode that no DSACK has reported as duplicates; `None` before the
    /// first.
    retrans: Option<u32>,
    /// `retrans_stamp`: when the first retransmission of the episode left; `None` when there is none.
    retrans_stamp: Option<Timestamp>,
    /// `prior_ssthresh`: the slow-start threshold to return to; 0 when a reduction must not be undone.
    prior_ssthresh: u32,
}

impl Undo {
    /// Nothing to undo; with `is_enabled` false there never will be.
    pub fn new(is_enabled: bool) -> Undo {
        Undo { is_enabled, marker: None, retrans: None, retrans_stamp: None, prior_ssthresh: 0 }
    }

    /// An episode begins (`tcp_init_undo`) with `retrans_out` retransmissions in flight, that of a probe included.
    pub fn begin(&mut self, snd_una: u32, retrans_out: u32) {
        self.marker = Some(snd_una);
        self.retrans = (retrans_out > 0).then_some(retrans_out);
    }

    /// There is nothing to undo any more.
    pub fn end(&mut self) {
        self.marker = None;
    }

    /// Whether there is something to undo.
    #[inline]
    pub fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// `segments` were retransmitted at `now`.
    #[inline]
    pub fn note_retransmissions(&mut self, segments: u32, now: Time) {
        *self.retrans.get_or_insert(0) += segments;
        if self.retrans_stamp.is_none() {
            self.retrans_stamp = Some(Timestamp::at(now));
        }
    }

    /// No retransmission is outstanding: the time of the first one is of no use any more (`retrans_stamp = 0`).
    #[inline]
    pub fn forget_retrans_stamp(&mut self) {
        self.retrans_stamp = None;
    }

    /// The receiver reported a duplicate that ends below `end`: `count` of the episode's retransmissions were spurious.
    pub fn note_dsack(&mut self, end: u32, count: u32) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(retrans) = &mut self.retrans
        {
            *retrans = retrans.saturating_sub(count);
        }
    }

    /// Whether every retransmission was reported as a duplicate (`tcp_try_undo_dsack`).
    #[inline]
    pub fn may_undo_by_dsack(&self) -> bool {
        self.is_enabled && self.marker.is_some() && self.retrans == Some(0)
    }

    /// Whether the ACK, which echoes `echo`, is for an original that was delayed (`tcp_packet_delayed`); without
    /// timestamps nothing tells. Where nothing was retransmitted, `unless_retransmitted` is the answer.
    pub fn may_undo_by_echo(&self, echo: Option<Timestamp>, unless_retransmitted: bool) -> bool {
        let is_original = match self.retrans_stamp {
            None => unless_retransmitted,
            Some(first) => echo.is_some_and(|echo| echo.is_before(first)),
        };
        self.is_enabled && self.marker.is_some() && is_original
    }

    /// Whether either proof is there (`tcp_may_undo`).
    pub fn may_undo(&self, echo: Option<Timestamp>, unless_retransmitted: bool) -> bool {
        self.may_undo_by_dsack() || self.may_undo_by_echo(echo, unless_retransmitted)
    }

    /// The slow-start threshold to return to; 0 when a reduction must not be undone.
    pub fn prior_ssthresh(&self) -> u32 {
        self.prior_ssthresh
    }

    /// Remembers the slow-start threshold to return to.
    pub fn set_prior_ssthresh(&mut self, ssthresh: u32) {
        self.prior_ssthresh = ssthresh;
    }

    /// The receiver echoes congestion, or the reduction is not for a loss: it must not be undone.
    #[inline]
    pub fn forbid(&mut self) {
        self.prior_ssthresh = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn echo(millis: u64) -> Option<Timestamp> {
        Some(Timestamp::at(ms(millis)))
    }

    fn retransmitted(segments: u32, millis: u64) -> Undo {
        let mut undo = Undo::new(true);
        undo.begin(10, 0);
        undo.note_retransmissions(segments, ms(millis));
        undo
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_proves_that_the_original_arrived() {
        let mut undo = retransmitted(1, 500);
        undo.note_retransmissions(1, ms(600));
        assert!(undo.may_undo(echo(499), false) && !undo.may_undo(echo(500), true));
        assert!(!undo.may_undo(None, true), "without timestamps nothing tells");
        undo.forget_retrans_stamp();
        assert!(undo.may_undo(echo(700), true) && !undo.may_undo(echo(700), false));
    }

    #[test]
    fn all_retransmissions_must_be_reported_as_duplicates() {
        let mut undo = retransmitted(2, 500);
        undo.note_dsack(11, 1);
        assert!(!undo.may_undo_by_dsack());
        undo.note_dsack(10, 1);
        assert!(!undo.may_undo_by_dsack(), "below the marker: that was before the episode");
        undo.note_dsack(12, 1);
        assert!(undo.may_undo_by_dsack() && undo.may_undo(echo(900), false));
    }

    #[test]
    fn without_a_retransmission_no_report_proves_anything() {
        let mut undo = Undo::new(true);
        undo.begin(10, 0);
        undo.note_dsack(11, 1);
        assert!(!undo.may_undo_by_dsack());
    }

    #[test]
    fn nothing_is_undone_twice_or_where_it_is_switched_off() {
        let mut undo = retransmitted(1, 500);
        undo.end();
        assert!(!undo.may_undo(echo(0), true) && !undo.is_possible());
        let mut undo = Undo::new(false);
        undo.begin(10, 1);
        undo.note_dsack(11, 1);
        assert!(!undo.may_undo(echo(0), true));
    }
}
