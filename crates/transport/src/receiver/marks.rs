//! What a receiver that counts marks keeps, and what of it an ACK has room for (AccECN, RFC 9768).

use crate::TransportConfig;
use crate::wire::option_bytes;
use dumbbell_units::Ecn;

/// Marked segments after which an ACK leaves at once: 2 is recommended, 6 allowed (RFC 9768, section 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;
/// Bytes of options in a header.
const OPTION_SPACE: u32 = 40;
/// Counters of the option: bytes with ECT(1), with CE and with ECT(0), in this order (kind 174).
const COUNTERS: u8 = 3;
/// SACK blocks that do not give way to the counters.
const KEPT_BLOCKS: u8 = 2;

/// What a receiver keeps besides the number of marked segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkCounters {
    /// Payload bytes of marked segments.
    pub bytes: u64,
    /// Marked segments since the last ACK.
    untold: u32,
    /// ECN bits of the latest segment.
    latest: Option<Ecn>,
    /// Counters at the beginning of the option that have changed since it was sent last (`accecn_minlen`).
    changed: u8,
}

impl MarkCounters {
    /// A segment of `len` bytes arrives (`tcp_ecn_received_counters`).
    pub fn count(&mut self, ecn: Ecn, len: u16) {
        let counter = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ce => 2,
            Ecn::Ect0 => COUNTERS,
        };
        self.changed = self.changed.max(counter);
        if ecn == Ecn::Ce {
            self.bytes += u64::from(len);
        }
    }

    /// New data has these ECN bits. Returns whether an ACK leaves at once to tell of it: where segments with other bits
    /// begin, and when so many are marked that the three bits of ACE must not wait longer (RFC 9768, sections 3.2.3.3
    /// and 3.2.2.5.1).
    pub fn note(&mut self, ecn: Ecn) -> bool {
        self.untold += u32::from(ecn == Ecn::Ce);
        let before = self.latest.replace(ecn);
        before.is_some_and(|before| before != ecn) || self.untold >= MARKS_PER_ACK
    }

    /// An ACK with up to `blocks` SACK blocks leaves: how many it has, and how many counters. The changed counters take
    /// the place of blocks behind the second one. If they still find none, the option is left out, and the blocks stay
    /// (`tcp_options_fit_accecn`).
    pub fn share_options(&mut self, blocks: u8, timestamps: bool) -> (u8, u8) {
        self.untold = 0;
        let room = OPTION_SPACE - if timestamps { TransportConfig::TIMESTAMP_OPTION } else { 0 };
        let least = self.changed.max(1);
        let most_for =
            |blocks| (least..=COUNTERS).rev().find(|&counters| u32::from(option_bytes(blocks, counters)) <= room);
        let fewest_blocks = if self.changed > 0 { blocks.min(KEPT_BLOCKS) } else { blocks };
        let fit = (fewest_blocks..=blocks).rev().find_map(|blocks| Some((blocks, most_for(blocks)?)));
        if fit.is_some() {
            self.changed = 0;
        }
        fit.unwrap_or((blocks, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(arrived: &[Ecn], blocks: u8, timestamps: bool) -> (u8, u8) {
        let mut counters = MarkCounters::default();
        for &ecn in arrived {
            counters.count(ecn, 1000);
        }
        counters.share_options(blocks, timestamps)
    }

    #[test]
    fn beside_timestamps_and_two_blocks_there_is_room_for_the_counters_of_l4s_data_and_not_for_all_three() {
        let l4s = &[Ecn::Ect1, Ecn::Ce];
        assert_eq!([0, 1, 2, 3].map(|blocks| shares(l4s, blocks, true)), [(0, 3), (1, 3), (2, 2), (2, 2)]);
        let classic = &[Ecn::Ect0];
        assert_eq!([0, 1, 2, 3].map(|blocks| shares(classic, blocks, true)), [(0, 3), (1, 3), (2, 0), (3, 0)]);
    }

    #[test]
    fn without_timestamps_three_blocks_go_with_all_counters_and_four_with_one() {
        for arrived in [&[Ecn::Ect0][..], &[Ecn::Ce]] {
            assert_eq!([3, 4].map(|blocks| shares(arrived, blocks, false)), [(3, 3), (3, 3)]);
        }
        assert_eq!(shares(&[Ecn::Ect1], 4, false), (4, 1));
    }

    #[test]
    fn counters_that_have_not_changed_take_no_block_away() {
        let mut counters = MarkCounters::default();
        counters.count(Ecn::Ect0, 1000);
        assert_eq!(counters.share_options(1, true), (1, 3));
        assert_eq!(counters.share_options(3, true), (3, 0));
        counters.count(Ecn::Ect1, 1000);
        assert_eq!(counters.share_options(3, true), (2, 2));
    }
}
