//! Rates and durations of 802.11ac (VHT) at 5 GHz.
//!
//! Everything is exact: a symbol carries a whole number of bits, and times are whole nanoseconds.

use dumbbell_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A backoff slot.
pub(super) const SLOT: Duration = Duration::from_micros(9);
/// Between the frames of an exchange.
pub(super) const SIFS: Duration = Duration::from_micros(16);
/// A compressed Block-ACK: 32 bytes at 24 Mbit/s.
pub(super) const BLOCK_ACK: Duration = Duration::from_micros(32);
/// An RTS, and a CTS, at 24 Mbit/s.
pub(super) const RTS: Duration = Duration::from_micros(28);
/// See [`RTS`].
pub(super) const CTS: Duration = Duration::from_micros(28);
/// A frame without data: 28 bytes at 24 Mbit/s.
pub(super) const NULL: Duration = Duration::from_micros(32);
/// The highest MCS of VHT.
pub(super) const MAX_MCS: u8 = 9;

/// LLC and SNAP headers of a packet.
const LLC: u32 = 8;
/// QoS header, CCMP and frame check sequence of an MPDU.
const MAC: u32 = 26 + 16 + 4;
/// Delimiter before an MPDU of an A-MPDU.
const DELIMITER: u32 = 4;
/// Header of a packet in an A-MSDU: destination, source, length.
const AMSDU_HEADER: u32 = 14;
/// Service field and tail of a PPDU.
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;

/// Width of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ChannelWidth {
    /// 52 data subcarriers.
    #[serde(rename = "20mhz")]
    Mhz20,
    /// 108 data subcarriers.
    #[serde(rename = "40mhz")]
    Mhz40,
    /// 234 data subcarriers.
    #[serde(rename = "80mhz")]
    Mhz80,
    /// 468 data subcarriers.
    #[serde(rename = "160mhz")]
    Mhz160,
}

impl ChannelWidth {
    fn data_subcarriers(self) -> u64 {
        match self {
            ChannelWidth::Mhz20 => 52,
            ChannelWidth::Mhz40 => 108,
            ChannelWidth::Mhz80 => 234,
            ChannelWidth::Mhz160 => 468,
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            ChannelWidth::Mhz20 => "20 MHz",
            ChannelWidth::Mhz40 => "40 MHz",
            ChannelWidth::Mhz80 => "80 MHz",
            ChannelWidth::Mhz160 => "160 MHz",
        }
    }
}

/// Guard interval between symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GuardInterval {
    /// 0.4 us: a symbol lasts 3.6 us.
    Short,
    /// 0.8 us: a symbol lasts 4 us.
    Long,
}

impl GuardInterval {
    fn symbol_nanos(self) -> u64 {
        match self {
            GuardInterval::Short => 3_600,
            GuardInterval::Long => 4_000,
        }
    }
}

/// What a station transmits with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Modulation {
    preamble: Duration,
    symbol: Duration,
    /// `N_DBPS`.
    bits_per_symbol: u64,
}

/// Bits of a subcarrier, and the code rate as a fraction, for each MCS.
const MCS: [(u64, u64, u64); MAX_MCS as usize + 1] =
    [(1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6), (8, 3, 4), (8, 5, 6)];

impl Modulation {
    /// `None` where 802.11ac has no such rate.
    pub(super) fn new(width: ChannelWidth, streams: u8, mcs: u8, guard: GuardInterval) -> Option<Modulation> {
        let is_excluded = match (width, mcs) {
            (ChannelWidth::Mhz20, 9) => streams != 3,
            (ChannelWidth::Mhz80, 6) | (ChannelWidth::Mhz160, 9) => streams == 3,
            _ => false,
        };
        let &(bits, numerator, denominator) = MCS.get(usize::from(mcs)).filter(|_| !is_excluded)?;
        let streams = u64::from(streams);
        Some(Modulation {
            preamble: Duration::from_micros(36 + 4 * streams),
            symbol: Duration::from_nanos(guard.symbol_nanos()),
            bits_per_symbol: width.data_subcarriers() * bits * streams * numerator / denominator,
        })
    }

    /// The rate within a PPDU.
    pub(super) fn rate(&self) -> Rate {
        Rate::from_bits_per_sec(self.bits_per_symbol * 1_000_000_000 / self.symbol.as_nanos())
    }

    /// How long a PPDU with `bytes` lasts.
    pub(super) fn ppdu(&self, bytes: u64) -> Duration {
        self.preamble + self.symbol * (SERVICE_AND_TAIL_BITS + 8 * bytes).div_ceil(self.bits_per_symbol)
    }

    /// The most bytes of a PPDU that lasts at most `duration`.
    pub(super) fn bytes_within(&self, duration: Duration) -> u64 {
        let symbols = duration.saturating_sub(self.preamble).as_nanos() / self.symbol.as_nanos();
        (symbols * self.bits_per_symbol).saturating_sub(SERVICE_AND_TAIL_BITS) / 8
    }

    /// What a packet of `size` bytes (IP length) takes of a PPDU, without its preamble: the estimated airtime of one
    /// that waits.
    pub(super) fn airtime(&self, size: u32) -> Duration {
        let bytes = u64::from(subframe([size].into_iter()));
        Duration::from_nanos(8 * bytes * self.symbol.as_nanos() / self.bits_per_symbol)
    }
}

/// Bytes that an MPDU with these packets (IP length) takes in an A-MPDU.
pub(super) fn subframe(packets: impl ExactSizeIterator<Item = u32>) -> u32 {
    let is_amsdu = packets.len() > 1;
    let packet = |bytes: u32| if is_amsdu { in_amsdu(bytes) } else { LLC + bytes };
    (DELIMITER + MAC + packets.map(packet).sum::<u32>()).next_multiple_of(4)
}

/// Bytes that a packet takes in an A-MSDU.
pub(super) fn in_amsdu(bytes: u32) -> u32 {
    (AMSDU_HEADER + LLC + bytes).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modulation(width: ChannelWidth, streams: u8, mcs: u8) -> Modulation {
        Modulation::new(width, streams, mcs, GuardInterval::Short).unwrap()
    }

    fn subframe_of(bytes: u32) -> u64 {
        u64::from(subframe([bytes].into_iter()))
    }

    #[test]
    fn a_ppdu_lasts_its_preamble_and_whole_symbols() {
        let fastest = modulation(ChannelWidth::Mhz80, 1, 9);
        assert_eq!(fastest.ppdu(1560), Duration::from_nanos(72_400));
        assert_eq!(fastest.ppdu(42 * 1560), Duration::from_nanos(1_253_200));
        assert_eq!(modulation(ChannelWidth::Mhz80, 2, 9).ppdu(1560), Duration::from_nanos(44_000 + 5 * 3_600));
    }

    #[test]
    fn a_packet_has_54_bytes_of_headers_and_a_delimiter_in_a_multiple_of_four() {
        assert_eq!([1500, 52].map(subframe_of), [1560, 112]);
        assert_eq!(subframe([1500, 1500, 52].into_iter()), 4 + 46 + 1524 + 1524 + 76 + 2);
    }

    #[test]
    fn rates_are_those_of_the_standard() {
        let rate = |width, streams, mcs, guard| {
            Modulation::new(width, streams, mcs, guard).unwrap().rate().as_bits_per_sec() / 100_000
        };
        use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
        use GuardInterval::{Long, Short};
        let row = |width, guard| (0..=8).map(|mcs| rate(width, 1, mcs, guard)).collect::<Vec<_>>();
        assert_eq!(row(Mhz20, Long), [65, 130, 195, 260, 390, 520, 585, 650, 780]);
        assert_eq!(row(Mhz20, Short), [72, 144, 216, 288, 433, 577, 650, 722, 866]);
        assert_eq!(row(Mhz40, Long), [135, 270, 405, 540, 810, 1080, 1215, 1350, 1620]);
        assert_eq!(row(Mhz40, Short), [150, 300, 450, 600, 900, 1200, 1350, 1500, 1800]);
        assert_eq!(row(Mhz80, Long), [292, 585, 877, 1170, 1755, 2340, 2632, 2925, 3510]);
        assert_eq!(row(Mhz80, Short), [325, 650, 975, 1300, 1950, 2600, 2925, 3250, 3900]);
        assert_eq!([rate(Mhz40, 1, 9, Short), rate(Mhz80, 1, 9, Long), rate(Mhz80, 1, 9, Short)], [2000, 3900, 4333]);
        assert_eq!([rate(Mhz80, 2, 9, Short), rate(Mhz160, 4, 9, Short)], [8666, 34_666]);
        assert_eq!(Modulation::new(Mhz20, 1, 9, Long), None);
        assert_eq!(Modulation::new(Mhz80, 3, 6, Long), None);
    }

    #[test]
    fn the_largest_ppdu_of_a_duration_lasts_no_longer_and_one_byte_more_does() {
        for (mcs, streams) in [(0, 1), (4, 2), (9, 1)] {
            let modulation = modulation(ChannelWidth::Mhz80, streams, mcs);
            let most = Duration::from_millis(4);
            let bytes = modulation.bytes_within(most);
            assert!(modulation.ppdu(bytes) <= most && modulation.ppdu(bytes + 1) > most, "MCS {mcs}");
        }
    }
}
