//! How far apart samples are where the file does not say: as close as can be seen, and not closer than there is something
//! to see.

use super::LinkNotes;
use crate::resolved::{Flow, Link};
use dumbbell_units::{Duration, Rate};
use std::collections::BTreeMap;

/// The spacing where nothing speaks for a longer one.
pub(super) const SHORTEST: Duration = Duration::from_millis(20);
/// The most rows of a table.
const MAX_ROWS: u64 = 500_000;
/// So many rows there may be even where few packets pass: a picture is a thousand points wide, and a path has two links.
const FEWEST_ROWS: u64 = 2_000;
/// So many samples each may have where there are many.
const SAMPLES_OF_MANY: u64 = 50;
/// A row takes so many packets that pass: recording it takes as long as some packets.
const PACKETS_A_ROW: u64 = 5;
/// Where more rows than those of ten flows with 10 000 samples each would fit, a row takes more packets.
const FEW: u64 = 10;
const SEEN_SAMPLES: u64 = 10_000;
const PACKETS_A_ROW_BEYOND: u64 = 10;
const FULL_PACKET_BITS: u128 = 12_000;

/// The first of 20 ms, 50 ms, 100 ms, 200 ms, … at which the table of so many flows or links does not become too large
/// for a run in which about so many `packets` can pass.
pub(super) fn interval(duration: Duration, sampled: usize, packets: u64) -> Duration {
    let sampled = sampled as u64;
    let samples = |interval: Duration| duration.as_nanos() / interval.as_nanos();
    let fewest = FEWEST_ROWS.max(SAMPLES_OF_MANY * sampled);
    let seen = FEW * samples(SHORTEST).min(SEEN_SAMPLES);
    let of_traffic = seen.min(packets / PACKETS_A_ROW).max(packets / PACKETS_A_ROW_BEYOND);
    let most = MAX_ROWS.min(fewest.max(of_traffic));
    let mut steps = (0..).flat_map(|decade| [2, 5, 10].map(|step| Duration::from_millis(step * 10u64.pow(decade + 1))));
    steps.find(|&interval| samples(interval) * sampled <= most).unwrap_or(SHORTEST)
}

/// Full packets that can pass in `duration` where flows are slowest: over all links that are the slowest of some flow's
/// way, of which those of a radio channel count as one.
pub(super) fn packets(duration: Duration, flows: &[Flow], links: &[Link], notes: &[LinkNotes]) -> u64 {
    let rate = |link: usize| notes[link].mean_rate.map_or(u64::MAX, Rate::as_bits_per_sec);
    let mut slowest = BTreeMap::new();
    for flow in flows {
        let Some(link) = flow.forward.iter().copied().min_by_key(|&link| rate(link)) else { continue };
        let place = match &links[link].radio {
            Some(radio) => (radio.wifi.channel.as_str(), 0),
            None => ("", link + 1),
        };
        let fastest = slowest.entry(place).or_insert(0);
        *fastest = rate(link).max(*fastest);
    }
    let bits_a_second = slowest.values().copied().fold(0, u64::saturating_add);
    let bits = u128::from(bits_a_second) * u128::from(duration.as_nanos()) / 1_000_000_000;
    u64::try_from(bits / FULL_PACKET_BITS).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(seconds: u64, sampled: usize, packets: u64) -> u64 {
        interval(Duration::from_secs(seconds), sampled, packets).as_nanos() / 1_000_000
    }

    #[test]
    fn a_row_takes_five_packets() {
        assert_eq!([15_000, 14_999].map(|packets| millis(60, 1, packets)), [20, 50]);
        assert_eq!([150_000, 149_999].map(|packets| millis(60, 10, packets)), [20, 50]);
    }

    #[test]
    fn two_thousand_rows_and_fifty_samples_there_may_be_however_little_passes() {
        assert_eq!([1, 2, 10, 40, 100].map(|sampled| millis(60, sampled, 0)), [50, 100, 500, 2_000, 2_000]);
        assert_eq!(millis(36_000, 2, 2_999), 50_000, "a link of 1 kbit/s for ten hours");
    }

    #[test]
    fn beyond_ten_flows_a_row_takes_ten_packets() {
        assert_eq!([0, 1_000_000, 2_000_000, 3_000_000].map(|packets| millis(60, 100, packets)), [2_000, 100, 50, 20]);
        assert_eq!(millis(600, 100, u64::MAX), 200, "no more than 500 000 rows");
    }

    #[test]
    fn many_flows_have_fifty_samples_and_a_long_run_ten_thousand() {
        assert_eq!((millis(2, 1_000, 0), millis(4, 10_000, 0)), (50, 100));
        assert_eq!(millis(4, 100_000, 0), 1_000, "500 000 rows");
        assert_eq!([10, 1].map(|sampled| millis(36_000, sampled, 500_000)), [5_000, 500]);
    }
}
