//! Rows as few bytes: of each what has changed since the latest row with its index.
//!
//! A row is words. Whole numbers are kept as the difference to the word before, floats as the bits that differ, both
//! without leading zeros; what has not changed costs an eighth of a byte.

use dumbbell_units::{Duration, Time};
use std::mem::replace;

/// Bytes of the first block, and of all from some hundred rows on. A row lies in one block.
const BLOCK_BYTES: [usize; 2] = [1 << 10, 1 << 16];
/// So many words have one byte that says which of them have changed.
pub(crate) const GROUP: usize = 8;
/// Some words of a row. Those that it does not have are zero.
pub(crate) type Group = [u64; GROUP];

/// How many groups so many words take.
pub(crate) const fn groups(words: usize) -> usize {
    words.div_ceil(GROUP)
}

/// The most bytes of a word, of a group, and of what comes before the words of a row.
const MAX_WORD_BYTES: usize = 9;
const MAX_GROUP_BYTES: usize = 1 + GROUP * MAX_WORD_BYTES;
/// What is written behind the last word and does not count.
const SPARE_BYTES: usize = MAX_WORD_BYTES - 1;
const MAX_HEAD_BYTES: usize = 1 + 2 * MAX_WORD_BYTES;

/// Where a row stands: when it was taken, and of which flow or link it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub at: Time,
    pub index: u32,
}

/// How a row's place follows from that of the row before.
mod head {
    /// The next index at the same time.
    pub const NEXT: u8 = 0;
    /// The first index, as long after the sample before as that was after its own.
    pub const SAMPLE: u8 = 1;
    /// Another one, which is given.
    pub const OTHER: u8 = 2;
    /// Added to one of these: the words are those of the latest row with this index, and are not given.
    pub const AGAIN: u8 = 4;
}

/// What has to be known of the rows so far to add one, or to read one.
#[derive(Debug)]
struct Known {
    place: Place,
    spacing: Duration,
    /// The latest words of each index, one behind the other.
    words: Vec<Group>,
    groups: usize,
}

impl Known {
    fn nothing(groups: usize) -> Known {
        let place = Place { at: Time::ZERO, index: u32::MAX };
        Known { place, spacing: Duration::ZERO, words: Vec::new(), groups }
    }

    /// The latest words of `index`, all zero if it has had none.
    #[inline]
    fn words_of(&mut self, index: u32) -> &mut [Group] {
        let begin = index as usize * self.groups;
        if self.words.len() < begin + self.groups {
            self.words.resize(begin + self.groups, [0; GROUP]);
        }
        &mut self.words[begin..][..self.groups]
    }

    #[inline]
    fn go_to(&mut self, place: Place) {
        if place.at != self.place.at {
            self.spacing = place.at.since(self.place.at);
        }
        self.place = place;
    }

    #[inline]
    fn next(&self) -> Place {
        Place { index: self.place.index.wrapping_add(1), ..self.place }
    }

    #[inline]
    fn next_sample(&self) -> Place {
        Place { at: self.place.at + self.spacing, index: 0 }
    }
}

/// Rows of words, the first of which are whole numbers and the rest floats.
#[derive(Debug)]
pub(crate) struct Packed {
    blocks: Vec<Vec<u8>>,
    rows: usize,
    whole: usize,
    known: Known,
}

impl Packed {
    /// No rows. Each may have `whole` numbers, and floats up to `groups` of words.
    pub fn new(whole: usize, groups: usize) -> Packed {
        Packed { blocks: Vec::new(), rows: 0, whole, known: Known::nothing(groups) }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        let blocks: usize = self.blocks.iter().map(Vec::capacity).sum();
        (blocks + self.known.words.capacity() * size_of::<Group>()) as u64
    }

    /// The rows; none are left.
    pub fn take(&mut self) -> Packed {
        let empty = Packed::new(self.whole, self.known.groups);
        let mut rows = replace(self, empty);
        rows.known.words = Vec::new();
        rows.blocks.last_mut().into_iter().for_each(Vec::shrink_to_fit);
        rows
    }

    /// Adds a row of so many groups of words.
    #[inline]
    pub fn push(&mut self, place: Place, words: &[Group]) {
        self.push_head(place, 0, words.len() * MAX_GROUP_BYTES);
        let Some(block) = self.blocks.last_mut() else { return };
        let mut whole = self.whole;
        let before = &mut self.known.words_of(place.index)[..words.len()];
        for group in 0..words.len() {
            let (words, before) = (&words[group], &mut before[group]);
            if any_difference(words, before) == 0 {
                block.push(0);
            } else {
                push_changes(block, words, before, whole);
            }
            whole = whole.saturating_sub(GROUP);
        }
    }

    /// Adds a row with the words of the [latest](Self::latest) with its index.
    #[inline]
    pub fn push_again(&mut self, place: Place) {
        self.push_head(place, head::AGAIN, 0);
    }

    /// The words of the latest row with an index; all zero if there was none.
    #[inline]
    pub fn latest(&mut self, index: u32) -> &[Group] {
        self.known.words_of(index)
    }

    /// Begins a row, of which so many bytes at most are to follow in its block.
    #[inline]
    fn push_head(&mut self, place: Place, again: u8, most: usize) {
        let most = MAX_HEAD_BYTES + most;
        if self.blocks.last().is_none_or(|block| block.capacity() - block.len() < most) {
            self.add_block(most);
        }
        let Some(block) = self.blocks.last_mut() else { return };
        if place == self.known.next() {
            block.push(head::NEXT | again);
        } else if place == self.known.next_sample() {
            block.push(head::SAMPLE | again);
        } else {
            block.push(head::OTHER | again);
            push_number(block, place.at.as_nanos());
            push_number(block, u64::from(place.index));
        }
        self.known.go_to(place);
        self.rows += 1;
    }

    #[cold]
    fn add_block(&mut self, least: usize) {
        let [first, others] = BLOCK_BYTES;
        let bytes = self.blocks.last().map_or(first, |block| (2 * block.capacity()).min(others));
        self.blocks.push(Vec::with_capacity(bytes.max(least)));
    }

    /// Goes through the rows, giving each to `row` with its place; `groups` says how many groups of words the rows of
    /// an index have.
    pub fn read(&self, groups: impl Fn(u32) -> usize, mut row: impl FnMut(Place, &[u64])) {
        let mut known = Known::nothing(self.known.groups);
        for block in &self.blocks {
            let mut bytes = block.as_slice();
            while let Some(head) = bytes.split_off_first() {
                let place = match *head & !head::AGAIN {
                    head::NEXT => known.next(),
                    head::SAMPLE => known.next_sample(),
                    _ => {
                        let at = Time::from_nanos(read(&mut bytes));
                        Place { at, index: u32::try_from(read(&mut bytes)).unwrap_or(u32::MAX) }
                    }
                };
                known.go_to(place);
                let mut whole = self.whole;
                let words = &mut known.words_of(place.index)[..groups(place.index)];
                let given = if *head & head::AGAIN == 0 { words.len() } else { 0 };
                for words in &mut words[..given] {
                    for bit in bits(bytes.split_off_first().copied().unwrap_or(0)) {
                        words[bit] = changed(bit < whole, words[bit], read(&mut bytes));
                    }
                    whole = whole.saturating_sub(GROUP);
                }
                row(place, words.as_flattened());
            }
        }
    }
}

/// Zero if two groups are equal.
#[inline(always)]
fn any_difference(words: &Group, others: &Group) -> u64 {
    let mut any = 0;
    for word in 0..GROUP {
        any |= words[word] ^ others[word];
    }
    any
}

/// Appends what has changed in a group of which so many words are `whole`.
#[inline(never)]
fn push_changes(block: &mut Vec<u8>, words: &Group, before: &mut Group, whole: usize) {
    let (mut bytes, mut end, mut changed) = ([0; MAX_GROUP_BYTES + SPARE_BYTES], 1, 0);
    for word in 0..GROUP {
        if words[word] != before[word] {
            changed |= 1 << word;
            let difference = difference(word < whole, words[word], before[word]);
            if let Some(place) = bytes[end..].first_chunk_mut() {
                end += write(difference, place);
            }
        }
    }
    *before = *words;
    bytes[0] = changed;
    block.extend_from_slice(&bytes[..end]);
}

/// The bits that are set, lowest first.
#[inline(always)]
fn bits(mut of: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = of.trailing_zeros() as usize;
        of &= of.wrapping_sub(1);
        (bit < GROUP).then_some(bit)
    })
}

/// What has to be known to get from the word `before` to this one: a small number, mostly.
#[inline(always)]
fn difference(is_whole: bool, word: u64, before: u64) -> u64 {
    if is_whole {
        let difference = word.wrapping_sub(before).cast_signed();
        (difference << 1 ^ difference >> 63).cast_unsigned()
    } else {
        // Many floats have a short fraction, whose bits are the upper ones.
        (word ^ before).swap_bytes()
    }
}

/// The word that `before` became.
#[inline(always)]
fn changed(is_whole: bool, before: u64, difference: u64) -> u64 {
    if is_whole {
        before.wrapping_add(difference >> 1 ^ (difference & 1).wrapping_neg())
    } else {
        before ^ difference.swap_bytes()
    }
}

/// Writes a number and returns how many bytes it takes, which are those of its bits and one bit more for each. As many
/// ones as there are bytes behind the first begin it, up to eight of them; a zero ends them where there are fewer.
#[inline(always)]
fn write(number: u64, to: &mut [u8; MAX_WORD_BYTES]) -> usize {
    let [first, rest @ ..] = to;
    let bytes = 1 + (number | 1).ilog2() as usize / 7;
    if bytes < MAX_WORD_BYTES {
        let [low, high @ ..] = (number << bytes | ((1 << (bytes - 1)) - 1)).to_le_bytes();
        *first = low;
        rest[..high.len()].copy_from_slice(&high);
        return bytes;
    }
    *first = u8::MAX;
    *rest = number.to_le_bytes();
    MAX_WORD_BYTES
}

/// Appends a number.
fn push_number(block: &mut Vec<u8>, number: u64) {
    let mut bytes = [0; MAX_WORD_BYTES];
    let count = write(number, &mut bytes);
    block.extend_from_slice(&bytes[..count]);
}

/// Takes off a number.
#[inline(always)]
fn read(bytes: &mut &[u8]) -> u64 {
    let Some(&first) = bytes.first() else { return 0 };
    let count = first.trailing_ones() as usize;
    let Some(own) = bytes.split_off(..=count) else { return 0 };
    let mut number = [0; 8];
    if count == MAX_WORD_BYTES - 1 {
        number.copy_from_slice(&own[1..]);
        return u64::from_le_bytes(number);
    }
    number[..own.len()].copy_from_slice(own);
    u64::from_le_bytes(number) >> own.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> impl Strategy<Value = u64> {
        prop_oneof![
            4 => 0u64..5,
            2 => (0..64u32).prop_map(|bits| 1 << bits),
            1 => any::<u64>(),
            1 => any::<f64>().prop_map(f64::to_bits),
            1 => Just(u64::MAX)
        ]
    }

    /// Rows of three indices with one, two and three groups of words.
    fn packed(whole: usize, rows: &[(Place, [Group; 3])]) -> Packed {
        let mut packed = Packed::new(whole, 3);
        rows.iter().for_each(|row| push(&mut packed, row));
        packed
    }

    fn groups(index: u32) -> usize {
        index as usize + 1
    }

    fn push(packed: &mut Packed, (place, words): &(Place, [Group; 3])) {
        let words = &words[..groups(place.index)];
        if packed.latest(place.index)[..words.len()] == *words && place.at.as_nanos() % 2 == 0 {
            packed.push_again(*place);
        } else {
            packed.push(*place, words);
        }
    }

    fn is_read(packed: &Packed, rows: &[(Place, [Group; 3])]) {
        let mut expected = rows.iter();
        packed.read(groups, |place, words| {
            let (expected_place, all) = expected.next().unwrap();
            assert_eq!((place, words), (*expected_place, &all.as_flattened()[..words.len()]));
        });
        assert!(expected.next().is_none());
    }

    fn bytes(packed: &Packed) -> usize {
        packed.blocks.iter().map(Vec::len).sum()
    }

    proptest! {
        #[test]
        fn what_was_pushed_is_read(
            whole in 0usize..20,
            rows in proptest::collection::vec(
                ((0u64..4, 0u32..3, any::<bool>()), proptest::array::uniform3(proptest::array::uniform8(words()))), 0..50),
            half in 0usize..50,
        ) {
            let (mut at, mut latest) = (Time::ZERO, [[[0; GROUP]; 3]; 3]);
            let place = |((later, index, is_again), words)| {
                at += Duration::from_nanos(later);
                let latest = &mut latest[index as usize];
                *latest = if is_again { *latest } else { words };
                (Place { at, index }, *latest)
            };
            let rows: Vec<_> = rows.into_iter().map(place).collect();
            let (first, second) = rows.split_at(half.min(rows.len()));
            is_read(&packed(whole, &rows), &rows);
            let mut packed = packed(whole, first);
            let piece = packed.take();
            prop_assert_eq!((piece.rows(), packed.rows()), (first.len(), 0));
            is_read(&piece, first);
            second.iter().for_each(|row| push(&mut packed, row));
            is_read(&packed, second);
        }

        #[test]
        fn a_number_takes_nine_bytes_at_most(number in words()) {
            let mut bytes = Vec::new();
            push_number(&mut bytes, number);
            prop_assert!(bytes.len() <= MAX_WORD_BYTES && (number >= 1 << 7 || bytes.len() == 1));
            let mut rest = bytes.as_slice();
            prop_assert_eq!(read(&mut rest), number);
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_row_without_a_change_takes_a_byte_and_one_for_each_group() {
        let mut packed = Packed::new(19, 3);
        let mut grown = Vec::new();
        for sample in 1..4 {
            for index in 0..2 {
                let before = bytes(&packed);
                packed.push(Place { at: Time::from_nanos(20 * sample), index }, &[[7; GROUP]; 3]);
                grown.push(bytes(&packed) - before);
            }
        }
        assert_eq!(grown[2..], [4; 4]);
    }

    #[test]
    fn memory_follows_rows() {
        let mut packed = Packed::new(2, 1);
        assert_eq!(packed.memory(), 0);
        for row in 0..100_000 {
            let words = [row, u64::MAX / (row + 1), 0, 0, 0, 0, 0, 0];
            packed.push(Place { at: Time::from_nanos(row), index: 0 }, &[words]);
        }
        let (bytes, memory) = (bytes(&packed), usize::try_from(packed.memory()).unwrap());
        assert!(bytes <= memory && memory <= bytes + 2 * BLOCK_BYTES[1], "{bytes} {memory}");
    }
}
