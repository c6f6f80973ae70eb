//! The timestamp that the next ACK echoes, and segments that are older than it (RFC 7323).

use crate::{Segment, TransportConfig};
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::Time;

/// Ticks of the timestamp clock by which a segment may be older than the timestamp to be echoed (`TCP_PAWS_WINDOW`).
const PAWS_WINDOW_TICKS: i32 = 1;

/// What a receiver keeps of timestamps.
#[derive(Clone, Debug)]
pub(super) struct Timestamps {
    are_on: bool,
    /// Send time that the next ACK echoes (TS.Recent, `ts_recent`).
    recent: Time,
}

impl Timestamps {
    pub fn new(config: &TransportConfig) -> Timestamps {
        Timestamps { are_on: config.timestamps, recent: Time::ZERO }
    }

    /// Whether segments and ACKs carry them.
    #[inline(always)]
    pub fn are_on(&self) -> bool {
        self.are_on
    }

    /// What the next ACK echoes.
    #[inline(always)]
    pub fn echo(&self) -> Timestamp {
        Timestamp::at(self.recent)
    }

    /// Whether a segment is not older than what the next ACK echoes.
    #[inline(always)]
    pub fn accepts(&self, segment: &Segment) -> bool {
        segment.sent_at >= self.recent
    }

    /// Whether the timestamp of a segment is older than the one that the next ACK echoes by more than a tick of the
    /// timestamp clock, so that the segment counts as one of an earlier use of its sequence numbers (PAWS, RFC 7323,
    /// section 5; `tcp_paws_check`). The rule that trusts no timestamp older than 24 days is left out.
    pub fn fails_paws(&self, segment: &Segment) -> bool {
        self.are_on
            && !self.accepts(segment)
            && self.echo().ms_since(Timestamp::at(segment.sent_at)) > PAWS_WINDOW_TICKS
    }

    /// Keeps what the next ACK echoes, where the last ACK covered everything below `last_acked`
    /// (`tcp_replace_ts_recent`).
    #[inline(always)]
    pub fn replace_recent(&mut self, segment: &Segment, last_acked: u32) {
        if segment.seq <= last_acked && self.accepts(segment) {
            self.recent = segment.sent_at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flags;
    use dumbbell_units::Ecn;

    fn segment(seq: u32, ms: u64) -> Segment {
        let sent_at = Time::from_nanos(ms * 1_000_000);
        Segment { seq, len: 1448, ecn: Ecn::NotEct, flags: Flags::NONE, sent_at, echo: Timestamp::default() }
    }

    #[test]
    fn an_ack_echoes_the_first_segment_that_it_covers() {
        let mut timestamps = Timestamps::new(&TransportConfig::default());
        timestamps.replace_recent(&segment(4, 50), 4);
        timestamps.replace_recent(&segment(5, 60), 4);
        assert_eq!(timestamps.echo(), Timestamp::at(segment(4, 50).sent_at));
        timestamps.replace_recent(&segment(3, 40), 4);
        assert_eq!(timestamps.echo(), Timestamp::at(segment(4, 50).sent_at), "no older one");
    }

    #[test]
    fn a_segment_that_is_two_ticks_older_is_none_of_this_connection() {
        let mut timestamps = Timestamps::new(&TransportConfig::default());
        timestamps.replace_recent(&segment(4, 50), 4);
        assert_eq!([50, 49, 48].map(|ms| timestamps.fails_paws(&segment(5, ms))), [false, false, true]);
        let mut without = Timestamps::new(&TransportConfig { timestamps: false, ..TransportConfig::default() });
        without.replace_recent(&segment(4, 50), 4);
        assert!(!without.fails_paws(&segment(5, 48)));
    }
}
