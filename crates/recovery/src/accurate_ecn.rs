//! How many segments were marked, from the counters of an ACK (AccECN, RFC 9768).
//!
//! The receiver counts the segments that arrive with a congestion mark, and their bytes. Every ACK carries the number
//! modulo 8 in three bits of the header (ACE), and where an option has room the bytes modulo 2^24. The sender adds up
//! the growth. An ACK that acknowledges more than 7 segments may hide a multiple of 8 marks: the bytes tell how many.
//! Without them the sender takes the most that the ACK allows, because ACKs before it may be lost (appendix A.2.1);
//! where ACKs acknowledge many segments in any case it takes the least, as Linux does.

/// The count of segments at which the receiver begins (section 3.2.1).
const INITIAL_COUNT: u8 = 5;
/// Number of values of ACE.
const ACE_VALUES: u32 = 8;
/// Segments an ACK delivers on average where it is usual that ACKs deliver many (`ACK_COMP_THRESH`).
const MANY_SEGMENTS_PER_ACK: u32 = 4;
/// Fractional bits of that average (`PKTS_ACKED_PREC`).
const AVERAGE_SHIFT: u32 = 6;
/// ACKs of which the average is taken (`PKTS_ACKED_WEIGHT`, as a power of two).
const AVERAGE_WEIGHT_SHIFT: u32 = 6;
/// The counter of bytes has 24 bits.
const BYTES_MASK: u32 = (1 << 24) - 1;

/// ACE of a receiver at which `marks` marked segments have arrived.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "three bits")]
pub fn ace(marks: u64) -> u8 {
    ((marks + u64::from(INITIAL_COUNT)) % u64::from(ACE_VALUES)) as u8
}

/// The counter of bytes of a receiver at which `bytes` marked bytes have arrived.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "24 bits")]
pub fn byte_counter(bytes: u64) -> u32 {
    bytes as u32 & BYTES_MASK
}

/// What a sender knows of the receiver's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkCounter {
    marks: u64,
    bytes: u32,
    /// Segments that an ACK delivers, on average, in 64ths (`pkts_acked_ewma`); zero before the first.
    segments_per_ack: u32,
}

impl MarkCounter {
    /// An ACK that newly delivers `delivered` segments of at most `mss` bytes carries these counters. Returns how many
    /// marks it adds. An ACK that delivers nothing may be older than the one before, and adds none unless its timestamp
    /// `is_later` (`FLAG_TS_PROGRESS`).
    pub fn add(&mut self, ace_field: u8, byte_field: Option<u32>, delivered: u32, mss: u32, is_later: bool) -> u32 {
        if delivered > 0 {
            self.average(delivered);
        } else if !is_later {
            return 0;
        }
        let growth = u32::from(ace_field.wrapping_sub(ace(self.marks))) % ACE_VALUES;
        let is_usual = self.segments_per_ack > MANY_SEGMENTS_PER_ACK << AVERAGE_SHIFT;
        let marks = match byte_field {
            None if delivered < ACE_VALUES || is_usual => growth,
            None => delivered - delivered.saturating_sub(growth) % ACE_VALUES,
            Some(bytes) => {
                let grown = bytes.wrapping_sub(self.bytes) & BYTES_MASK;
                self.bytes = bytes;
                // The smallest number that ends in these three bits and can have had so many bytes.
                let least = grown.div_ceil(mss.max(1));
                growth + least.saturating_sub(growth).next_multiple_of(ACE_VALUES)
            }
        };
        self.marks += u64::from(marks);
        marks
    }

    /// An ACK delivers so many segments.
    fn average(&mut self, delivered: u32) {
        let sample = delivered.min(u32::MAX >> AVERAGE_SHIFT) << AVERAGE_SHIFT;
        self.segments_per_ack = match self.segments_per_ack {
            0 => sample,
            average => {
                let sum = (u64::from(average) << AVERAGE_WEIGHT_SHIFT) - u64::from(average) + u64::from(sample);
                u32::try_from(sum >> AVERAGE_WEIGHT_SHIFT).unwrap_or(u32::MAX)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Rng;

    #[test]
    fn the_receiver_begins_at_five_and_wraps_at_eight() {
        assert_eq!([0, 1, 2, 3, 4, 10].map(ace), [5, 6, 7, 0, 1, 7]);
    }

    #[test]
    fn without_bytes_an_ack_for_eight_segments_and_more_counts_the_most_that_it_allows() {
        let add = |ace_field, delivered| {
            let mut counter = MarkCounter::default();
            assert_eq!(counter.add(5, None, 1, 1448, false), 0);
            counter.add(ace_field, None, delivered, 1448, false)
        };
        assert_eq!(add(5, 7), 0);
        assert_eq!(add(0, 7), 3);
        assert_eq!(add(5, 8), 8, "none, or all");
        // Appendix A.2.1: the largest number up to what is acknowledged that ends in these bits.
        assert_eq!(add(0, 20), 19);
        assert_eq!(add(0, 18), 11);
    }

    #[test]
    fn where_acks_are_for_many_segments_one_for_eight_and_more_counts_the_least() {
        let mut counter = MarkCounter::default();
        assert_eq!([5, 6, 0].map(|ace_field| counter.add(ace_field, None, 10, 1448, false)), [0, 1, 2]);
    }

    #[test]
    fn bytes_tell_whether_the_field_has_wrapped() {
        let add =
            |ace_field, segments: u32| MarkCounter::default().add(ace_field, Some(segments * 1448), 20, 1448, false);
        assert_eq!((add(5, 0), add(5, 8), add(5, 16)), (0, 8, 16));
        assert_eq!((add(0, 3), add(0, 11)), (3, 11));
        assert_eq!(MarkCounter::default().add(6, Some(700), 20, 1448, false), 1, "a short segment");
    }

    #[test]
    fn an_ack_that_delivers_nothing_adds_nothing_and_the_next_one_tells() {
        let mut counter = MarkCounter::default();
        assert_eq!(counter.add(7, Some(2 * 1448), 0, 1448, false), 0);
        assert_eq!(counter.add(7, Some(2 * 1448), 1, 1448, false), 2);
        assert_eq!(
            counter.add(0, Some(3 * 1448), 0, 1448, true),
            1,
            "unless its timestamp tells that it is no old one"
        );
    }

    #[test]
    fn whatever_acks_are_lost_the_sender_knows_the_count_after_each_that_arrives() {
        let mut rng = Rng::new(1);
        let mut counter = MarkCounter::default();
        let (mut marks, mut known, mut delivered) = (0u64, 0u64, 0u32);
        for _ in 0..10_000 {
            let segments = rng.below(40);
            marks += u64::from(rng.below(segments + 1));
            delivered += segments;
            if rng.below(3) > 0 && delivered > 0 {
                let bytes = byte_counter(marks * 1448);
                known += u64::from(counter.add(ace(marks), Some(bytes), delivered, 1448, false));
                delivered = 0;
                assert_eq!(known, marks);
            }
        }
    }
}
