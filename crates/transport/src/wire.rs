//! What travels between the two endpoints.

use dumbbell_recovery::accurate_ecn::{ace, byte_counter};
use dumbbell_recovery::timestamp::Timestamp;
use dumbbell_units::{Ecn, Time};
use std::num::NonZeroU32;

/// Bits of the TCP header of a data segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No bit.
    pub const NONE: Flags = Flags(0);
    /// PSH: the segment ends a burst of several, or what the application has written.
    pub const PSH: Flags = Flags(1);
    /// CWR: the sender has reduced its window.
    pub const CWR: Flags = Flags(1 << 1);

    /// Whether a bit of `other` is set.
    #[inline]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits, to be carried in a packet.
    #[inline]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The inverse of [`Flags::bits`].
    #[inline]
    pub fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;

    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment in the stream. 2^32 segments of 1448 bytes are 6.2 TB.
    pub seq: u32,
    /// Payload bytes.
    pub len: u16,
    /// ECN bits of the packet.
    pub ecn: Ecn,
    /// Bits of the TCP header.
    pub flags: Flags,
    /// When the segment left (timestamp option; the receiver echoes it).
    pub sent_at: Time,
    /// When the latest ACK left that the sender had got by then (timestamp echo reply).
    pub echo: Timestamp,
}

/// A run of segments `start..end` that the receiver holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First segment of the run.
    pub start: u32,
    /// First segment after the run.
    pub end: u32,
}

/// A receive window as an ACK tells it: whole segments, and the bytes beyond them. Of one with 2^17 segments and more
/// (190 MB of 1448 bytes each), and of segments with 2^14 bytes and more, only whole segments are told.
///
/// Nearly all windows have whole segments, and are their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdvertisedWindow(u32);

impl AdvertisedWindow {
    /// It has bytes beyond whole segments.
    const IS_EXACT: u32 = 1 << 31;
    /// Bits of its segments then; those of the bytes lie above them.
    const SEGMENT_BITS: u32 = 17;
    const EXCESS_BITS: u32 = 14;
    /// The most segments that are told.
    const MOST: u32 = AdvertisedWindow::IS_EXACT - 1;

    /// So many whole segments, at most 2^31 - 1.
    #[inline(always)]
    pub fn whole(segments: u32) -> AdvertisedWindow {
        AdvertisedWindow(segments.min(AdvertisedWindow::MOST))
    }

    /// `segments`, and `excess` bytes, less than a segment.
    pub fn new(segments: u32, excess: u16) -> AdvertisedWindow {
        let bytes = u32::from(excess);
        if bytes == 0 || segments >> AdvertisedWindow::SEGMENT_BITS > 0 || bytes >> AdvertisedWindow::EXCESS_BITS > 0 {
            return AdvertisedWindow::whole(segments);
        }
        AdvertisedWindow(AdvertisedWindow::IS_EXACT | bytes << AdvertisedWindow::SEGMENT_BITS | segments)
    }

    /// Whether it has bytes beyond whole segments.
    #[inline(always)]
    pub fn is_exact(self) -> bool {
        self.0 & AdvertisedWindow::IS_EXACT != 0
    }

    /// Its whole segments.
    #[inline(always)]
    pub fn segments(self) -> u32 {
        if self.is_exact() { self.0 % (1 << AdvertisedWindow::SEGMENT_BITS) } else { self.0 }
    }

    /// The bytes beyond them.
    pub fn excess(self) -> u16 {
        if self.is_exact() {
            ((self.0 ^ AdvertisedWindow::IS_EXACT) >> AdvertisedWindow::SEGMENT_BITS) as u16
        } else {
            0
        }
    }

    /// As a number, to be carried in a packet.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`AdvertisedWindow::bits`].
    #[inline(always)]
    pub fn from_bits(bits: u32) -> AdvertisedWindow {
        AdvertisedWindow(bits)
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Next segment the receiver expects: everything below has arrived.
    pub ack: u32,
    /// Selective acknowledgements, most recent first; entries from `sack_count` on are meaningless. A duplicate report
    /// (DSACK) comes first and is recognised by the rules of RFC 2883.
    pub sack: [SackBlock; Ack::MAX_SACK_BLOCKS],
    /// Number of valid entries of `sack`.
    pub sack_count: u8,
    /// Echo of congestion (ECE bit).
    pub ece: bool,
    /// Counters of marked segments, of receivers that [count](crate::EcnEcho::Accurate) them.
    pub marks: Option<Marks>,
    /// Receive window beyond `ack`.
    pub window: AdvertisedWindow,
    /// When this ACK left (timestamp option; the sender echoes it).
    pub sent_at: Timestamp,
    /// When the segment left that this ACK echoes (timestamp echo reply).
    pub echo: Timestamp,
}

/// Marked segments that have arrived (AccECN, RFC 9768): their number in the three bits of ACE, and their bytes in the
/// option's counter of 24 bits, where the option has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks(NonZeroU32);

impl Marks {
    /// So that no counters are zero as a whole.
    const IS_THERE: NonZeroU32 = NonZeroU32::new(1 << 31).unwrap();
    /// Of the option's counters, that of ECT(1) comes first, that of CE second and that of ECT(0) third.
    const WITH_CE: u8 = 2;

    /// The counters of a receiver at which so many marked segments have arrived, with so many bytes, where the option
    /// has `counters` of its three counters.
    pub fn new(segments: u64, bytes: u64, counters: u8) -> Marks {
        let told = u32::from(counters & 3) << 28 | u32::from(ace(segments)) << 24 | byte_counter(bytes);
        Marks(Marks::IS_THERE | told)
    }

    /// How many of the three counters of bytes the option has.
    pub fn counters(self) -> u8 {
        (self.0.get() >> 28 & 3) as u8
    }

    /// ACE.
    pub fn ace(self) -> u8 {
        (self.0.get() >> 24 & 7) as u8
    }

    /// The counter of marked bytes, where the option has it.
    pub fn bytes(self) -> Option<u32> {
        (self.counters() >= Marks::WITH_CE).then_some(self.0.get() & 0x00ff_ffff)
    }
}

/// An acknowledgement without SACK blocks, which most are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CumulativeAck {
    /// Next segment the receiver expects: everything below has arrived.
    pub ack: u32,
    /// Echo of congestion (ECE bit).
    pub ece: bool,
    /// Receive window beyond `ack`.
    pub window: AdvertisedWindow,
    /// When this ACK left (timestamp option; the sender echoes it).
    pub sent_at: Timestamp,
    /// When the segment left that this ACK echoes (timestamp echo reply).
    pub echo: Timestamp,
}

impl From<CumulativeAck> for Ack {
    #[inline]
    fn from(CumulativeAck { ack, ece, window, sent_at, echo }: CumulativeAck) -> Ack {
        let sack = [SackBlock::default(); Ack::MAX_SACK_BLOCKS];
        Ack { ack, sack, sack_count: 0, ece, marks: None, window, sent_at, echo }
    }
}

impl Ack {
    /// Blocks that fit an ACK without timestamps; with them one fewer.
    pub const MAX_SACK_BLOCKS: usize = 4;

    /// What it tells besides its options.
    #[inline]
    pub fn cumulative(&self) -> CumulativeAck {
        let &Ack { ack, ece, window, sent_at, echo, .. } = self;
        CumulativeAck { ack, ece, window, sent_at, echo }
    }

    /// All that it tells, if it has no options.
    #[inline]
    pub fn without_options(&self) -> Option<CumulativeAck> {
        (self.sack_count == 0 && self.marks.is_none()).then(|| self.cumulative())
    }

    /// The valid blocks.
    #[inline]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_count)]
    }

    /// Bytes of the SACK option and of the counters of marks, padding included.
    #[inline]
    pub fn option_bytes(&self) -> u16 {
        match (self.marks, self.sack_count) {
            (None, 0) => 0,
            (None, blocks) => 4 + 8 * u16::from(blocks),
            (Some(marks), blocks) => option_bytes(blocks, marks.counters()),
        }
    }
}

/// Bytes of a SACK option with so many blocks and of an AccECN option with so many counters, padded to words.
#[inline(never)]
pub(crate) fn option_bytes(blocks: u8, counters: u8) -> u16 {
    let sack = if blocks == 0 { 0 } else { 2 + 8 * u16::from(blocks) };
    let marks = if counters == 0 { 0 } else { 2 + 3 * u16::from(counters) };
    (sack + marks).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_told_exactly_and_a_huge_one_in_whole_segments() {
        for (segments, excess) in [(0, 0), (0, 1), (40, 0), (40, 1_447), ((1 << 17) - 1, 16_383), (1 << 30, 0)] {
            let window = AdvertisedWindow::from_bits(AdvertisedWindow::new(segments, excess).bits());
            assert_eq!((window.segments(), window.excess(), window.is_exact()), (segments, excess, excess > 0));
        }
        for (segments, excess, told) in [(1 << 17, 700, 1 << 17), (40, 1 << 14, 40), (u32::MAX, 1, (1 << 31) - 1)] {
            assert_eq!(AdvertisedWindow::new(segments, excess), AdvertisedWindow::whole(told));
        }
    }
}
