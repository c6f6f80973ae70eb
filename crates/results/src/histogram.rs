//! Distribution of a positive quantity in little memory.
//!
//! Values are counted in bins of relative width 1/64 (exact below 128); only the range of bins that occurs is kept,
//! with a byte for each, so a flow with few samples whose round-trip times stay within a factor of two needs 64 bytes.
//! Where a bin has more than 255, four more bytes a bin count how often its byte has passed that.
//!
//! The samples of a bin are taken to lie evenly in it, and the smallest and the largest are known exactly. Quantiles
//! interpolate between two samples, as type 7 does: they are within 1.6 % of those of the samples, and exact for two.

const BIN_BITS: u32 = 6;
const BINS: u64 = 1 << BIN_BITS;

/// Counts of samples by size.
#[derive(Clone, Debug)]
pub struct Histogram {
    first_bin: usize,
    /// Samples of each bin from the first one on, modulo 256.
    counts: Box<[u8]>,
    /// Those of each bin divided by 256; empty while all are 0.
    carries: Box<[u32]>,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { first_bin: 0, counts: Box::default(), carries: Box::default(), sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Bins that are kept beyond one that lies outside of the range.
    const MARGIN: usize = 8;

    /// Counts a sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        let index = bin.wrapping_sub(self.first_bin);
        match self.counts.get_mut(index) {
            Some(count) if *count < u8::MAX => *count += 1,
            _ => self.add_many(bin, 1),
        }
        self.sum += value;
        if value < self.min || value > self.max {
            self.widen(value);
        }
    }

    /// Kept apart, because most samples lie between others.
    #[cold]
    fn widen(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts `more` samples of a bin that may lie outside of the range, or have as many as its byte holds.
    #[cold]
    fn add_many(&mut self, bin: usize, more: u64) {
        if self.counts.is_empty() {
            self.first_bin = bin;
        }
        let end = self.first_bin + self.counts.len();
        if bin < self.first_bin {
            self.keep(bin.saturating_sub(Self::MARGIN), end);
        } else if bin >= end {
            self.keep(self.first_bin, bin + Self::MARGIN);
        }
        let index = bin - self.first_bin;
        let count = self.at(index) + more;
        let [low, high @ ..] = count.to_le_bytes();
        self.counts[index] = low;
        if high != [0; 7] && self.carries.is_empty() {
            self.carries = vec![0; self.counts.len()].into();
        }
        if let Some(carry) = self.carries.get_mut(index) {
            *carry = u32::try_from(count >> 8).unwrap_or(u32::MAX);
        }
    }

    /// Keeps the bins from `first` to before `end`, which hold the present ones.
    fn keep(&mut self, first: usize, end: usize) {
        fn within<T: Copy + Default>(items: &[T], before: usize, len: usize) -> Box<[T]> {
            let mut kept = vec![T::default(); len].into_boxed_slice();
            kept[before..before + items.len()].copy_from_slice(items);
            kept
        }
        let before = self.first_bin - first;
        self.counts = within(&self.counts, before, end - first);
        if !self.carries.is_empty() {
            self.carries = within(&self.carries, before, end - first);
        }
        self.first_bin = first;
    }

    /// Samples of the bin with this index.
    fn at(&self, index: usize) -> u64 {
        let carry = self.carries.get(index).copied().unwrap_or(0);
        u64::from(carry) << 8 | u64::from(self.counts[index])
    }

    /// The bins of the range and their samples, from the lowest.
    fn bins(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> {
        (0..self.counts.len()).map(|index| (self.first_bin + index, self.at(index)))
    }

    /// Counts the samples of another histogram, too.
    pub fn merge(&mut self, other: &Histogram) {
        let occupied = || other.bins().filter(|&(_, count)| count > 0);
        // Makes room for the whole range at once.
        for (bin, _) in occupied().next().into_iter().chain(occupied().next_back()) {
            self.add_many(bin, 0);
        }
        for (bin, count) in occupied() {
            self.add_many(bin, count);
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.bins().map(|(_, count)| count).sum()
    }

    /// Mean of the samples; NaN without any.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count() as f64
    }

    /// Smallest sample; NaN without any.
    pub fn min(&self) -> f64 {
        if self.min == u64::MAX { f64::NAN } else { self.min as f64 }
    }

    /// The value at rank `q·(n−1)` of the sorted samples, between two of them (type 7); NaN without any.
    pub fn quantile(&self, q: f64) -> f64 {
        let samples = self.count();
        if samples == 0 {
            return f64::NAN;
        }
        let last = (samples - 1) as f64;
        let sample = |rank: f64, bin: usize, place: f64| match rank {
            0.0 => self.min(),
            _ if rank == last => self.max as f64,
            _ => within_bin(bin, place).clamp(self.min(), self.max as f64),
        };
        let rank = q * last;
        let (lower, upper) = (rank.floor(), rank.ceil());
        let mut occupied = self.bins().filter(|&(_, count)| count > 0);
        let mut below = 0.0;
        while let Some((bin, count)) = occupied.next() {
            let count = count as f64;
            let end = below + count;
            if lower < end {
                let low = sample(lower, bin, (lower - below + 0.5) / count);
                let high = if upper < end {
                    sample(upper, bin, (upper - below + 0.5) / count)
                } else {
                    occupied.next().map_or(low, |(bin, count)| sample(upper, bin, 0.5 / count as f64))
                };
                return low + (high - low) * (rank - lower);
            }
            below = end;
        }
        self.max as f64
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.counts) + size_of_val(&*self.carries)
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "64 bits fall into 59 * 64 bins")]
fn bin_of(value: u64) -> usize {
    let shift = (63 - (value | BINS).leading_zeros()) - BIN_BITS;
    ((u64::from(shift) << BIN_BITS) + (value >> shift)) as usize
}

/// Lowest value and width of a bin.
fn bin_range(bin: usize) -> (f64, f64) {
    let bin = bin as u64;
    if bin < 2 * BINS {
        return (bin as f64, 1.0);
    }
    let shift = (bin >> BIN_BITS) - 1;
    (((bin - (shift << BIN_BITS)) << shift) as f64, (1u64 << shift) as f64)
}

/// A value of a bin, at this place between its ends. A bin of one value has only that.
fn within_bin(bin: usize, place: f64) -> f64 {
    let (low, width) = bin_range(bin);
    if width > 1.0 { low + width * place } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_values() {
        let empty = Histogram::default();
        assert!(empty.mean().is_nan() && empty.quantile(0.5).is_nan() && empty.min().is_nan());
    }

    #[test]
    fn the_mean_and_the_smallest_sample_are_exact_and_ranks_in_a_bin_share_its_width() {
        let mut histogram = Histogram::default();
        for sample in [1_000, 1_001, 1_002, 1_003, 200_000] {
            histogram.add(sample);
        }
        assert_eq!((histogram.mean(), histogram.min()), (40_801.2, 1_000.0));
        // From 512 on bins are 8 wide: the first four samples share the one from 1,000 on, an eighth of it from its
        // ends. The smallest is known.
        assert_eq!([0.0, 0.25, 0.5, 0.75].map(|q| histogram.quantile(q)), [1_000.0, 1_003.0, 1_005.0, 1_007.0]);
        assert_eq!([0.875, 1.0].map(|q| histogram.quantile(q)), [(1_007.0 + 200_000.0) / 2.0, 200_000.0]);
    }

    #[test]
    fn a_histogram_takes_a_byte_for_each_bin_of_its_range_and_a_small_margin() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.memory(), 0);
        histogram.add(100);
        assert_eq!(histogram.memory(), 8);
        histogram.add(60);
        histogram.add(61);
        assert_eq!(histogram.memory(), 8 + 48);
        histogram.add(120);
        assert_eq!(histogram.memory(), 120 - 52 + 8);
    }

    #[test]
    fn a_bin_with_more_samples_than_a_byte_counts_takes_four_more_for_each_bin() {
        let mut histogram = Histogram::default();
        (0..255).for_each(|_| histogram.add(100));
        assert_eq!((histogram.count(), histogram.memory()), (255, 8));
        (0..600).for_each(|_| histogram.add(100));
        histogram.add(99);
        assert_eq!((histogram.count(), histogram.memory()), (856, 5 * (9 + 8)));
        histogram.add(110);
        assert_eq!((histogram.count(), histogram.memory()), (857, 5 * (19 + 8)));
        assert_eq!([0.0, 0.5, 1.0].map(|q| histogram.quantile(q)), [99.0, 100.0, 110.0]);
        let mut merged = Histogram::default();
        (0..3).for_each(|_| merged.merge(&histogram));
        assert_eq!(merged.count(), 3 * 857);
    }

    #[test]
    fn a_histogram_that_takes_in_another_one_makes_room_for_its_range_at_once() {
        let mut other = Histogram::default();
        // Below 128 a bin is a value.
        other.add(50);
        other.add(90);
        let mut merged = Histogram::default();
        merged.merge(&other);
        assert_eq!(merged.memory(), 90 - 50 + 1 + 7);
        let mut zero = Histogram::default();
        zero.add(0);
        zero.add(60);
        merged.merge(&zero);
        assert_eq!((merged.count(), merged.min(), merged.memory()), (4, 0.0, 90 + 8));
        merged.merge(&Histogram::default());
        assert_eq!((merged.count(), merged.mean()), (4, 50.0));
    }

    #[test]
    fn bins_tile_the_range_without_gaps() {
        for value in (0..100_000u64).chain([1 << 30, (1 << 40) + 12345]) {
            let (low, width) = bin_range(bin_of(value));
            assert!(low <= value as f64 && (value as f64) < low + width, "{value}");
        }
    }

    proptest! {
        #[test]
        fn merged_histograms_count_what_one_histogram_would(
            parts in proptest::collection::vec(proptest::collection::vec(1u64..2_000_000, 0..50), 0..6),
        ) {
            let (mut merged, mut whole) = (Histogram::default(), Histogram::default());
            for part in &parts {
                let mut own = Histogram::default();
                for &sample in part {
                    own.add(sample);
                    whole.add(sample);
                }
                merged.merge(&own);
            }
            prop_assert_eq!(merged.count(), whole.count());
            for q in [0.0, 0.5, 0.95, 1.0] {
                prop_assert_eq!(merged.quantile(q).to_bits(), whole.quantile(q).to_bits());
            }
            prop_assert_eq!(merged.mean().to_bits(), whole.mean().to_bits());
            prop_assert_eq!(merged.min().to_bits(), whole.min().to_bits());
        }

        #[test]
        fn quantiles_are_close_to_those_of_the_samples(
            mut samples in prop_oneof![
                proptest::collection::vec(1u64..2_000_000, 1..2_000),
                proptest::collection::vec(1u64..300, 1..50),
                (1u64..2_000_000, 1usize..50).prop_map(|(sample, count)| vec![sample; count]),
            ],
        ) {
            let mut histogram = Histogram::default();
            for &sample in &samples {
                histogram.add(sample);
            }
            samples.sort_unstable();
            let last = samples.len() - 1;
            let within = samples[0] as f64..=samples[last] as f64;
            for q in [0.0, 0.05, 0.5, 0.95, 0.99, 1.0] {
                let rank = q * last as f64;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a share of a length"
                )]
                let [lower, upper] = [rank.floor(), rank.ceil()].map(|rank| samples[rank as usize] as f64);
                let exact = lower + (upper - lower) * rank.fract();
                let value = histogram.quantile(q);
                prop_assert!(within.contains(&value), "q{} {} not in {:?}", q, value, within);
                prop_assert!((value / exact - 1.0).abs() <= 1.0 / 64.0, "q{} {} instead of {}", q, value, exact);
                if samples.len() < 3 {
                    prop_assert_eq!(value, exact);
                }
            }
        }
    }
}
