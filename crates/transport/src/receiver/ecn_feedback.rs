//! What a receiver tells its sender of congestion marks: ECE until CWR (RFC 3168), ECE as long as segments are marked
//! (DCTCP, RFC 8257), or counters (AccECN, RFC 9768).

use super::marks::MarkCounters;
use crate::{Ack, Flags, Marks, Segment};
use dumbbell_units::Ecn;

/// What the ECE bit of an ACK means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnEcho {
    /// A mark arrived and the sender has not answered with CWR yet (RFC 3168).
    #[default]
    Classic,
    /// The segments this ACK covers were marked (DCTCP, RFC 8257).
    Dctcp,
    /// ECE means nothing by itself: it is a bit of the count of marked segments (RFC 9768).
    Accurate,
}

/// What ECN bits of new data ask of its ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reaction {
    /// The ACK leaves at once.
    pub is_due: bool,
    /// The next ACKs are quick ones.
    pub starts_quick: bool,
}

/// Marks that have arrived, and what ACKs tell of them.
#[derive(Clone, Debug)]
pub(super) struct EcnFeedback {
    meaning: EcnEcho,
    /// ECE is being sent: until CWR (classic) or until an unmarked segment (DCTCP).
    echoes: bool,
    /// An ECN-capable segment has arrived, or every ACK carries counters.
    is_seen: bool,
    /// What ECN-capable segments are counted in.
    counts: Option<Box<Counts>>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    ce_segments: u64,
    /// What an accurate echo needs, where that is agreed on.
    marks: Option<MarkCounters>,
}

impl EcnFeedback {
    /// Of a receiver whose ECE has this meaning. With an accurate one every ACK carries counters.
    pub fn new(meaning: EcnEcho) -> EcnFeedback {
        let is_accurate = meaning == EcnEcho::Accurate;
        EcnFeedback {
            meaning,
            echoes: false,
            is_seen: is_accurate,
            counts: is_accurate.then(|| Box::new(Counts { ce_segments: 0, marks: Some(MarkCounters::default()) })),
        }
    }

    /// Whether an ECN-capable segment may have arrived.
    #[inline]
    pub fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Whether ECE is being sent.
    #[inline(always)]
    pub fn echoes(&self) -> bool {
        self.echoes
    }

    /// Segments that arrived with the CE mark.
    #[inline]
    pub fn ce_segments(&self) -> u64 {
        self.counts.as_ref().map_or(0, |counts| counts.ce_segments)
    }

    /// Counts a segment, whatever becomes of it (`tcp_ecn_received_counters`).
    #[inline(always)]
    pub fn count(&mut self, segment: &Segment) {
        if segment.ecn != Ecn::NotEct {
            self.count_capable(segment);
        }
    }

    #[inline(never)]
    fn count_capable(&mut self, segment: &Segment) {
        let counts = self.counts.get_or_insert_default();
        counts.ce_segments += u64::from(segment.ecn == Ecn::Ce);
        if let Some(marks) = &mut counts.marks {
            marks.count(segment.ecn, segment.len);
        }
    }

    /// Whether new data makes DCTCP's echo another one, so that a delayed ACK of the data before it has to leave first
    /// (`dctcp_ece_ack_update`).
    pub fn is_changed_by(&self, segment: &Segment) -> bool {
        self.meaning == EcnEcho::Dctcp && segment.ecn != Ecn::NotEct && (segment.ecn == Ecn::Ce) != self.echoes
    }

    /// Reads the ECN bits of new data (`tcp_ecn_check_ce`).
    pub fn observe(&mut self, segment: &Segment) -> Reaction {
        if let Some(Counts { marks: Some(marks), .. }) = self.counts.as_deref_mut() {
            return Reaction { is_due: marks.note(segment.ecn), starts_quick: false };
        }
        let is_due = self.accept_cwr(segment);
        if segment.ecn == Ecn::NotEct {
            // A retransmission, most likely.
            return Reaction { is_due, starts_quick: true };
        }
        self.is_seen = true;
        let is_marked = segment.ecn == Ecn::Ce;
        match self.meaning {
            EcnEcho::Classic => {
                let begins = is_marked && !self.echoes;
                self.echoes |= begins;
                Reaction { is_due, starts_quick: begins }
            }
            EcnEcho::Dctcp => {
                let changes = self.is_changed_by(segment);
                self.echoes = is_marked;
                Reaction { is_due: is_due || changes, starts_quick: false }
            }
            EcnEcho::Accurate => Reaction { is_due, starts_quick: false },
        }
    }

    /// With CWR the sender has answered the echo. Its window may be one segment, so the ACK leaves at once, which is
    /// returned (`tcp_ecn_accept_cwr`).
    #[inline]
    pub fn accept_cwr(&mut self, segment: &Segment) -> bool {
        let has_cwr = segment.flags.has(Flags::CWR);
        if has_cwr && self.meaning == EcnEcho::Classic {
            self.echoes = false;
        }
        has_cwr
    }

    /// Adds the counters of marks to an ACK, where it has them. SACK blocks may give way to them.
    #[inline]
    pub fn tell(&mut self, ack: &mut Ack, timestamps: bool) {
        if let Some(Counts { ce_segments, marks: Some(marks) }) = self.counts.as_deref_mut() {
            let (blocks, counters) = marks.share_options(ack.sack_count, timestamps);
            ack.sack_count = blocks;
            ack.marks = Some(Marks::new(*ce_segments, marks.bytes, counters));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_recovery::timestamp::Timestamp;
    use dumbbell_units::Time;

    fn segment(ecn: Ecn, flags: Flags) -> Segment {
        Segment { seq: 0, len: 1448, ecn, flags, sent_at: Time::ZERO, echo: Timestamp::default() }
    }

    /// What arrives asks for an ACK at once, for quick ones, and leaves ECE or not.
    fn observed(feedback: &mut EcnFeedback, ecn: Ecn, flags: Flags) -> (bool, bool, bool) {
        let reaction = feedback.observe(&segment(ecn, flags));
        (reaction.is_due, reaction.starts_quick, feedback.echoes())
    }

    #[test]
    fn a_classic_echo_lasts_until_cwr() {
        let mut feedback = EcnFeedback::new(EcnEcho::Classic);
        assert_eq!(observed(&mut feedback, Ecn::Ect0, Flags::NONE), (false, false, false));
        assert_eq!(observed(&mut feedback, Ecn::Ce, Flags::NONE), (false, true, true));
        assert_eq!(observed(&mut feedback, Ecn::Ce, Flags::NONE), (false, false, true), "quick ACKs begin once");
        assert_eq!(observed(&mut feedback, Ecn::Ect0, Flags::CWR), (true, false, false));
        assert_eq!(observed(&mut feedback, Ecn::NotEct, Flags::NONE), (false, true, false), "lost capability");
    }

    #[test]
    fn the_echo_of_dctcp_follows_the_marks() {
        let mut feedback = EcnFeedback::new(EcnEcho::Dctcp);
        assert!(feedback.is_changed_by(&segment(Ecn::Ce, Flags::NONE)));
        assert_eq!(observed(&mut feedback, Ecn::Ce, Flags::NONE), (true, false, true));
        assert_eq!(observed(&mut feedback, Ecn::Ce, Flags::NONE), (false, false, true));
        assert!(!feedback.is_changed_by(&segment(Ecn::NotEct, Flags::NONE)));
        assert_eq!(observed(&mut feedback, Ecn::Ect0, Flags::CWR), (true, false, false));
    }

    #[test]
    fn an_accurate_echo_counts_what_arrives_and_needs_no_answer() {
        let mut feedback = EcnFeedback::new(EcnEcho::Accurate);
        for ecn in [Ecn::Ect1, Ecn::Ce] {
            feedback.count(&segment(ecn, Flags::NONE));
            assert_eq!(observed(&mut feedback, ecn, Flags::CWR), (ecn == Ecn::Ce, false, false));
        }
        assert_eq!(feedback.ce_segments(), 1);
    }
}
