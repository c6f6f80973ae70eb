//! Which round-trip times an ACK gives.
//!
//! Linux measures from the departures of what an ACK delivers: the sample for the smoothed RTT spans from the first
//! segment, the one for the controller from the last. Segments sent more than once are ambiguous (Karn's rule): where
//! an ACK covers only such, the echoed timestamp decides, in milliseconds. ns-3 measures from the timestamp alone, and
//! an ACK without a sample shows the controller the last one again.

use crate::timestamp::Timestamp;
use dumbbell_units::{Duration, Time};

/// When the first and the last of some segments left, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentSpan {
    /// The first one, in the order of the stream.
    pub first_us: u64,
    /// The last one, in the order of the stream.
    pub last_us: u64,
}

impl SentSpan {
    /// `span` lengthened to `last_us`, or a new one from `first_us` where there is none.
    #[inline]
    pub fn extended(span: Option<SentSpan>, first_us: u64, last_us: u64) -> SentSpan {
        SentSpan { first_us: span.map_or(first_us, |span| span.first_us), last_us }
    }
}

/// What an ACK delivers, as far as its round-trip time is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Segments that were sent once and that the cumulative ACK delivers.
    pub acked: Option<SentSpan>,
    /// Segments that were sent once and that SACK blocks deliver.
    pub sacked: Option<SentSpan>,
    /// The cumulative ACK covers new data.
    pub covers_data: bool,
    /// The cumulative ACK covers segments that were sent more than once.
    pub covers_retransmitted: bool,
    /// The echoed timestamp.
    pub echo: Timestamp,
}

/// Round-trip times of one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRtt {
    /// For the smoothed RTT.
    pub rtt_us: u64,
    /// For the controller.
    pub latest_us: u64,
}

/// What round-trip times are measured from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RttSource {
    /// Departures (Linux).
    Departures {
        /// The timestamp option tells the round-trip time where departures are ambiguous; without it there is no
        /// sample.
        has_timestamps: bool,
    },
    /// The timestamp option, in whole milliseconds, where the cumulative ACK advances (ns-3).
    Timestamps {
        /// ACKs of retransmitted data give no sample (ns-3 before 3.43).
        of_originals: bool,
        /// What the controller was shown last, in microseconds.
        last_shown_us: u32,
    },
}

impl RttSource {
    /// Timestamps; the handshake gives the first sample.
    pub fn timestamps(of_originals: bool) -> RttSource {
        RttSource::Timestamps { of_originals, last_shown_us: 0 }
    }

    /// The round-trip time of the handshake as this source sees it: the answer came at `now`, `rtt` after the SYN that
    /// it answers. Where that was sent more than once, only the echoed timestamp tells which one it was.
    pub fn handshake_rtt_us(&mut self, now: Time, rtt: Duration, is_syn_repeated: bool) -> Option<u32> {
        let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1);
        match self {
            RttSource::Departures { has_timestamps: false } if is_syn_repeated => None,
            RttSource::Departures { .. } if is_syn_repeated => {
                let sent_at = Time::ZERO + now.since(Time::ZERO + rtt);
                Some(echoed_rtt_us(now, Timestamp::at(sent_at)).and_then(|us| u32::try_from(us).ok()).unwrap_or(rtt_us))
            }
            RttSource::Departures { .. } => Some(rtt_us),
            RttSource::Timestamps { last_shown_us, .. } => {
                let rtt_us = (rtt_us - rtt_us % 1_000).max(1);
                *last_shown_us = rtt_us;
                Some(rtt_us)
            }
        }
    }

    /// The round-trip times that an ACK gives at `now`, which is `now_us` (`tcp_ack_update_rtt`).
    #[inline(always)]
    pub fn sample(&self, now: Time, now_us: u64, delivered: &Delivered) -> Option<AckRtt> {
        let both = |rtt_us| AckRtt { rtt_us, latest_us: rtt_us };
        match self {
            RttSource::Departures { has_timestamps } => from_departures(now_us, delivered).or_else(|| {
                let tells = *has_timestamps && delivered.covers_data;
                echoed_rtt_us(now, delivered.echo).filter(|_| tells).map(both)
            }),
            RttSource::Timestamps { of_originals, .. } => {
                let is_ambiguous = delivered.covers_retransmitted && *of_originals;
                let ms = u64::try_from(Timestamp::at(now).ms_since(delivered.echo)).unwrap_or(0);
                (delivered.covers_data && !is_ambiguous).then(|| both((ms * 1_000).max(1)))
            }
        }
    }

    /// What the controller is shown with an ACK that has no sample, in microseconds, if anything.
    #[inline]
    pub fn shown_without_sample_us(&self) -> Option<u32> {
        match self {
            RttSource::Departures { .. } => None,
            RttSource::Timestamps { last_shown_us, .. } => Some(*last_shown_us),
        }
    }

    /// The controller is shown `shown_us`.
    #[inline]
    pub fn note_shown(&mut self, shown_us: u32) {
        if let RttSource::Timestamps { last_shown_us, .. } = self {
            *last_shown_us = shown_us;
        }
    }
}

/// From the departures of what was sent once. For the smoothed RTT what the cumulative ACK delivers comes first and
/// what SACK blocks deliver second; for the controller it is the other way round.
#[inline(always)]
fn from_departures(now_us: u64, delivered: &Delivered) -> Option<AckRtt> {
    let acked = delivered.acked.filter(|_| !delivered.covers_retransmitted);
    let first = acked.or(delivered.sacked)?;
    let last = delivered.sacked.or(acked)?;
    Some(AckRtt { rtt_us: age_us(now_us, first.first_us), latest_us: age_us(now_us, last.last_us) })
}

/// The round-trip time that an echoed timestamp tells, in whole milliseconds and at least one; none where it is ahead
/// of the clock (`tcp_rtt_tsopt_us`).
fn echoed_rtt_us(now: Time, echo: Timestamp) -> Option<u64> {
    let ms = u64::try_from(Timestamp::at(now).ms_since(echo)).ok()?;
    Some(ms.max(1) * 1_000)
}

/// Time since a departure (`tcp_stamp_us_delta`).
#[inline]
pub fn age_us(now_us: u64, sent_us: u64) -> u64 {
    now_us - sent_us
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Time {
        Time::from_nanos(1_000 * micros)
    }

    const DEPARTURES: RttSource = RttSource::Departures { has_timestamps: true };

    const NOTHING: Delivered = Delivered {
        acked: None,
        sacked: None,
        covers_data: false,
        covers_retransmitted: false,
        echo: Timestamp::from_bits(20),
    };

    const ACKED: Option<SentSpan> = Some(SentSpan { first_us: 10_000, last_us: 30_000 });
    const SACKED: Option<SentSpan> = Some(SentSpan { first_us: 40_000, last_us: 60_000 });

    fn rtt(source: &RttSource, delivered: Delivered) -> Option<(u64, u64)> {
        source.sample(us(100_400), 100_400, &delivered).map(|rtt| (rtt.rtt_us, rtt.latest_us))
    }

    #[test]
    fn the_smoothed_rtt_spans_from_the_first_segment_and_the_controllers_from_the_last() {
        let source = DEPARTURES;
        assert_eq!(rtt(&source, NOTHING), None);
        let acked = Delivered { acked: ACKED, covers_data: true, ..NOTHING };
        assert_eq!(rtt(&source, acked), Some((90_400, 70_400)));
        assert_eq!(rtt(&source, Delivered { sacked: SACKED, ..NOTHING }), Some((60_400, 40_400)));
        assert_eq!(rtt(&source, Delivered { sacked: SACKED, ..acked }), Some((90_400, 40_400)));
    }

    #[test]
    fn retransmitted_data_is_ambiguous_and_leaves_the_timestamp() {
        let source = DEPARTURES;
        let mixed = Delivered { acked: ACKED, covers_data: true, covers_retransmitted: true, ..NOTHING };
        assert_eq!(rtt(&source, mixed), Some((80_000, 80_000)), "from millisecond 20 to millisecond 100");
        assert_eq!(rtt(&source, Delivered { sacked: SACKED, ..mixed }), Some((60_400, 40_400)));
        let echo = Timestamp::at(us(100_100));
        assert_eq!(rtt(&source, Delivered { echo, ..mixed }), Some((1_000, 1_000)), "at least a tick");
        assert_eq!(rtt(&source, Delivered { echo: Timestamp::at(us(101_000)), ..mixed }), None, "ahead of the clock");
    }

    #[test]
    fn of_a_repeated_syn_only_the_timestamp_tells_when_it_left() {
        let rtt = Duration::from_micros(40_900);
        let mut source = DEPARTURES;
        assert_eq!(source.handshake_rtt_us(us(100_400), rtt, false), Some(40_900));
        assert_eq!(
            source.handshake_rtt_us(us(100_400), rtt, true),
            Some(41_000),
            "from millisecond 59 to millisecond 100"
        );
        assert_eq!(
            source.handshake_rtt_us(us(100_950), rtt, true),
            Some(40_000),
            "from millisecond 60 to millisecond 100"
        );
    }

    #[test]
    fn without_timestamps_what_is_ambiguous_gives_no_sample() {
        let mut source = RttSource::Departures { has_timestamps: false };
        let handshake = Duration::from_micros(40_900);
        assert_eq!(source.handshake_rtt_us(us(100_400), handshake, false), Some(40_900));
        assert_eq!(source.handshake_rtt_us(us(100_400), handshake, true), None);
        let acked = Delivered { acked: ACKED, covers_data: true, ..NOTHING };
        assert_eq!(rtt(&source, acked), Some((90_400, 70_400)));
        let mixed = Delivered { covers_retransmitted: true, ..acked };
        assert_eq!(rtt(&source, mixed), None);
        assert_eq!(rtt(&source, Delivered { sacked: SACKED, ..mixed }), Some((60_400, 40_400)));
    }

    #[test]
    fn timestamps_alone_count_whole_milliseconds_and_are_shown_again() {
        let mut source = RttSource::timestamps(false);
        assert_eq!(source.handshake_rtt_us(us(100_400), Duration::from_micros(40_900), false), Some(40_000));
        let acked = Delivered { acked: ACKED, covers_data: true, covers_retransmitted: true, ..NOTHING };
        assert_eq!(rtt(&source, acked), Some((80_000, 80_000)));
        assert_eq!(rtt(&source, Delivered { echo: Timestamp::at(us(100_100)), ..acked }), Some((1, 1)));
        assert_eq!(rtt(&source, Delivered { sacked: SACKED, ..NOTHING }), None);
        assert_eq!(source.shown_without_sample_us(), Some(40_000));
        source.note_shown(80_000);
        assert_eq!(source.shown_without_sample_us(), Some(80_000));
        assert_eq!(rtt(&RttSource::timestamps(true), acked), None);
    }
}
