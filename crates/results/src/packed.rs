//! Rows as few bytes: of each what has changed since the latest row with its index.
//!
//! A row is words. Whole numbers are kept as the difference to the word before, floats as the bits that differ, both
//! without leading zeros; a row in which nothing has changed is one byte.

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
const MAX_HEAD_BYTES: usize = 1 + 2 * MAX_WORD_BYTES;

/// Where a row stands: when it was taken, and of which flow or link it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub at: Time,
    pub index: u32,
}

/// The first byte of a row: how its place follows from that of the row before, and which groups are given, since
/// something has changed in them.
mod head {
    /// The next index at the same time.
    pub const NEXT: u8 = 0;
    /// The first index, as long after the sample before as that was after its own.
    pub const SAMPLE: u8 = 1;
    /// Another one, which is given.
    pub const OTHER: u8 = 2;
    /// The bits that say which of these it is.
    pub const PLACE: u8 = 3;
    /// The first of so many groups has the bit above those, and so on; the others are given together and share the
    /// highest bit.
    pub const GROUPS: usize = 5;

    /// The bit of a group.
    #[inline(always)]
    pub const fn bit(group: usize) -> u8 {
        4 << if group < GROUPS { group } else { GROUPS }
    }
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
    #[inline(always)]
    fn words_of(&mut self, index: u32) -> &mut [Group] {
        let begin = index as usize * self.groups;
        if self.words.len() < begin + self.groups {
            self.grow(begin + self.groups);
        }
        &mut self.words[begin..][..self.groups]
    }

    #[cold]
    fn grow(&mut self, groups: usize) {
        self.words.resize(groups, [0; GROUP]);
    }

    #[inline(always)]
    fn go_to(&mut self, place: Place) {
        if place.at != self.place.at {
            self.spacing = place.at.since(self.place.at);
        }
        self.place = place;
    }

    #[inline(always)]
    fn next(&self) -> Place {
        Place { index: self.place.index.wrapping_add(1), ..self.place }
    }

    #[inline(always)]
    fn next_sample(&self) -> Place {
        Place { at: self.place.at + self.spacing, index: 0 }
    }
}

/// Rows of words, the first of which are whole numbers and the rest floats.
#[derive(Debug)]
pub(crate) struct Packed {
    /// Blocks without room.
    full: Vec<Vec<u8>>,
    /// The latest one, in which there is room from `end` on.
    block: Vec<u8>,
    end: usize,
    rows: usize,
    whole: usize,
    known: Known,
}

impl Packed {
    /// No rows. Each may have `whole` numbers, and floats up to `groups` of words.
    pub fn new(whole: usize, groups: usize) -> Packed {
        Packed { full: Vec::new(), block: Vec::new(), end: 0, rows: 0, whole, known: Known::nothing(groups) }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        let blocks: usize = self.full.iter().chain([&self.block]).map(Vec::capacity).sum();
        (blocks + self.known.words.capacity() * size_of::<Group>()) as u64
    }

    /// The rows; none are left.
    pub fn take(&mut self) -> Packed {
        let empty = Packed::new(self.whole, self.known.groups);
        let mut rows = replace(self, empty);
        rows.known.words = Vec::new();
        rows.block.truncate(rows.end);
        rows.block.shrink_to_fit();
        rows
    }

    /// Adds a row: the groups of words that `words` makes of the latest ones with its index, and behind them floats.
    #[inline]
    pub fn push<const GROUPS: usize>(
        &mut self,
        place: Place,
        floats: &[[f64; GROUP]],
        words: impl FnOnce(&[Group]) -> [Group; GROUPS],
    ) {
        let (begin, mut end, kind) = self.begin(place, (GROUPS + floats.len()) * MAX_GROUP_BYTES);
        let before = self.known.words_of(place.index);
        let words = words(before);
        let Some((own, others)) = before.split_first_chunk_mut::<GROUPS>() else { return };
        let mut head = kind;
        for group in 0..GROUPS {
            let changed = changes(&words[group], &own[group]);
            if changed != 0 {
                head |= head::bit(group);
                let whole = self.whole.saturating_sub(group * GROUP);
                end = write_changes(&mut self.block, end, changed, &words[group], &mut own[group], whole);
            }
        }
        if !floats.is_empty() {
            (head, end) = write_floats(&mut self.block, (head, end), GROUPS, floats, &mut others[..floats.len()]);
        }
        self.block[begin] = head;
        self.end = end;
    }

    /// Adds a row with the words of the [latest](Self::latest) with its index, if they are still the right ones; returns
    /// whether they are.
    #[inline]
    pub fn push_again_if(&mut self, place: Place, are_right: impl FnOnce(&[Group]) -> bool) -> bool {
        let is_again = are_right(self.known.words_of(place.index));
        if is_again {
            let (begin, end, head) = self.begin(place, 0);
            self.block[begin] = head;
            self.end = end;
        }
        is_again
    }

    /// The words of the latest row with an index; all zero if there was none.
    #[inline]
    pub fn latest(&mut self, index: u32) -> &[Group] {
        self.known.words_of(index)
    }

    /// Begins a row, of which so many bytes at most are to follow in its block: where its head is to be written and what
    /// follows it, and the head of a row in which nothing has changed.
    #[inline(always)]
    fn begin(&mut self, place: Place, most: usize) -> (usize, usize, u8) {
        let most = MAX_HEAD_BYTES + most + size_of::<Room>();
        if self.block.len() - self.end < most {
            self.add_block(most);
        }
        let begin = self.end;
        let (next, next_sample) = (self.known.next(), self.known.next_sample());
        self.rows += 1;
        if place == next {
            self.known.place = place;
            return (begin, begin + 1, head::NEXT);
        }
        self.known.go_to(place);
        if place == next_sample {
            return (begin, begin + 1, head::SAMPLE);
        }
        (begin, write_place(&mut self.block, begin + 1, place), head::OTHER)
    }

    #[cold]
    #[inline(never)]
    fn add_block(&mut self, least: usize) {
        let [first, others] = BLOCK_BYTES;
        let bytes = if self.rows == 0 { first } else { (2 * self.block.len()).min(others) };
        let mut block = replace(&mut self.block, vec![0; bytes.max(least)]);
        block.truncate(self.end);
        if !block.is_empty() {
            self.full.push(block);
        }
        self.end = 0;
    }

    /// Goes through the rows, giving each to `row` with its place; `groups` says how many groups of words the rows of
    /// an index have.
    pub fn read(&self, groups: impl Fn(u32) -> usize, mut row: impl FnMut(Place, &[u64])) {
        let mut known = Known::nothing(self.known.groups);
        let blocks = self.full.iter().map(Vec::as_slice).chain([&self.block[..self.end]]);
        for mut bytes in blocks {
            while let Some(&head) = bytes.split_off_first() {
                let place = match head & head::PLACE {
                    head::NEXT => known.next(),
                    head::SAMPLE => known.next_sample(),
                    _ => {
                        let at = Time::from_nanos(read(&mut bytes));
                        Place { at, index: u32::try_from(read(&mut bytes)).unwrap_or(u32::MAX) }
                    }
                };
                known.go_to(place);
                let words = &mut known.words_of(place.index)[..groups(place.index)];
                if head > head::PLACE {
                    let mut whole = self.whole;
                    for (group, words) in words.iter_mut().enumerate() {
                        if head & head::bit(group) != 0 {
                            for bit in bits(bytes.split_off_first().copied().unwrap_or(0)) {
                                words[bit] = changed(bit < whole, words[bit], read(&mut bytes));
                            }
                        }
                        whole = whole.saturating_sub(GROUP);
                    }
                }
                row(place, words.as_flattened());
            }
        }
    }
}

/// A word of a row, as it is given.
trait Word: Copy {
    fn bits(self) -> u64;
}

impl Word for u64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
}

impl Word for f64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// The words of a group that have changed, as bits.
#[inline(always)]
fn changes<W: Word>(words: &[W; GROUP], before: &Group) -> u8 {
    let mut changed = 0;
    for word in 0..GROUP {
        changed |= u8::from(words[word].bits() != before[word]) << word;
    }
    changed
}

/// Writes what has changed in a group of which so many words are `whole` into a block from there on, and takes it over;
/// returns what comes behind it.
#[inline(always)]
fn write_changes<W: Word>(
    block: &mut [u8],
    begin: usize,
    changed: u8,
    words: &[W; GROUP],
    before: &mut Group,
    whole: usize,
) -> usize {
    let Some(room) = block.get_mut(begin..).and_then(<[u8]>::first_chunk_mut) else { return begin };
    room[0] = changed;
    let mut end = 1;
    for word in bits(changed) {
        let (now, then) = (words[word].bits(), before[word]);
        before[word] = now;
        end = write(difference(word < whole, now, then), room, end);
    }
    begin + end
}

/// Writes what has changed in groups of floats, the first of which is the `first` of its row; returns head and end of the
/// row with that.
#[inline(always)]
fn write_floats(
    block: &mut [u8],
    (mut head, mut end): (u8, usize),
    first: usize,
    floats: &[[f64; GROUP]],
    before: &mut [Group],
) -> (u8, usize) {
    let alone = head::GROUPS.saturating_sub(first).min(floats.len());
    for group in 0..alone {
        let changed = changes(&floats[group], &before[group]);
        if changed != 0 {
            head |= head::bit(first + group);
            end = write_changes(block, end, changed, &floats[group], &mut before[group], 0);
        }
    }
    if (alone..floats.len()).any(|group| changes(&floats[group], &before[group]) != 0) {
        head |= head::bit(head::GROUPS);
        for group in alone..floats.len() {
            let changed = changes(&floats[group], &before[group]);
            end = write_changes(block, end, changed, &floats[group], &mut before[group], 0);
        }
    }
    (head, end)
}

/// Writes a place into a block from there on; returns what comes behind it.
#[cold]
fn write_place(block: &mut [u8], begin: usize, place: Place) -> usize {
    let Some(room) = block.get_mut(begin..).and_then(<[u8]>::first_chunk_mut) else { return begin };
    let numbers = [place.at.as_nanos(), u64::from(place.index)];
    begin + numbers.into_iter().fold(0, |end, number| write(number, room, end))
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

/// Where a group is written, and all that is written behind its last word and does not count.
type Room = [u8; LAST_PLACE + 1 + GROUP];

/// A number that is written begins before that.
const LAST_PLACE: usize = MAX_GROUP_BYTES.next_power_of_two() - 1;

/// Writes a number from there on; returns what comes behind it. It takes as many bytes as its bits and one bit more for
/// each. As many ones as there are bytes behind the first begin it, up to eight of them; a zero ends them where there are
/// fewer.
#[inline(always)]
fn write(number: u64, room: &mut Room, begin: usize) -> usize {
    let bytes = 1 + (number | 1).ilog2() as usize / 7;
    if bytes < MAX_WORD_BYTES {
        // What is written behind its bytes does not count.
        write_word(number << bytes | ((1 << (bytes - 1)) - 1), room, begin);
        return begin + bytes;
    }
    write_word(u64::MAX, room, begin);
    write_word(number, room, begin + 1);
    begin + MAX_WORD_BYTES
}

/// Writes the bytes of a word, the lowest first. The place is one of those that there are: nothing has to be checked.
#[inline(always)]
fn write_word(word: u64, room: &mut Room, place: usize) {
    if let Some(to) = room[place & LAST_PLACE..].first_chunk_mut() {
        *to = word.to_le_bytes();
    }
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

    /// The groups of a row: one that begins with whole numbers, and up to seven of floats.
    type Words = [Group; 8];

    /// Rows of three indices, which have one, two and eight groups of words.
    fn packed(whole: usize, rows: &[(Place, Words)]) -> Packed {
        let mut packed = Packed::new(whole, 8);
        rows.iter().for_each(|row| push(&mut packed, row));
        packed
    }

    fn groups(index: u32) -> usize {
        [1, 2, 8][index as usize]
    }

    fn push(packed: &mut Packed, (place, words): &(Place, Words)) {
        let words = &words[..groups(place.index)];
        if packed.latest(place.index)[..words.len()] == *words && place.at.as_nanos() % 2 == 0 {
            assert!(packed.push_again_if(*place, |latest| latest[..words.len()] == *words));
        } else {
            let floats: Vec<_> = words[1..].iter().map(|words| words.map(f64::from_bits)).collect();
            packed.push(*place, &floats, |_| [words[0]]);
        }
    }

    fn is_read(packed: &Packed, rows: &[(Place, Words)]) {
        let mut expected = rows.iter();
        packed.read(groups, |place, words| {
            let (expected_place, all) = expected.next().unwrap();
            assert_eq!((place, words), (*expected_place, &all.as_flattened()[..words.len()]));
        });
        assert!(expected.next().is_none());
    }

    fn bytes(packed: &Packed) -> usize {
        packed.full.iter().map(Vec::len).sum::<usize>() + packed.end
    }

    proptest! {
        #[test]
        fn what_was_pushed_is_read(
            whole in 0..=GROUP,
            rows in proptest::collection::vec(
                ((0u64..4, 0u32..3, any::<u8>()), proptest::array::uniform8(proptest::array::uniform8(words()))), 0..50),
            half in 0usize..50,
        ) {
            let (mut at, mut latest) = (Time::ZERO, [[[0; GROUP]; 8]; 3]);
            // Of each row the groups change whose bits are set; mostly some do not.
            let place = |((later, index, changed), words): (_, Words)| {
                at += Duration::from_nanos(later);
                let latest = &mut latest[index as usize];
                for (group, words) in words.into_iter().enumerate() {
                    latest[group] = if changed >> group & 1 == 0 { latest[group] } else { words };
                }
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
            let mut bytes = [0; size_of::<Room>()];
            let end = write(number, &mut bytes, 0);
            prop_assert!(end <= MAX_WORD_BYTES && (number >= 1 << 7 || end == 1));
            let mut rest = &bytes[..end];
            prop_assert_eq!(read(&mut rest), number);
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_row_without_a_change_takes_a_byte() {
        let mut packed = Packed::new(16, 3);
        let mut grown = Vec::new();
        for sample in 1..4 {
            for index in 0..2 {
                let before = bytes(&packed);
                packed.push(Place { at: Time::from_nanos(20 * sample), index }, &[[7.0; GROUP]], |_| [[7; GROUP]; 2]);
                grown.push(bytes(&packed) - before);
            }
        }
        assert_eq!(grown[2..], [1; 4]);
    }

    #[test]
    fn memory_follows_rows() {
        let mut packed = Packed::new(2, 1);
        assert_eq!(packed.memory(), 0);
        for row in 0..100_000 {
            let words = [row, u64::MAX / (row + 1), 0, 0, 0, 0, 0, 0];
            packed.push(Place { at: Time::from_nanos(row), index: 0 }, &[], |_| [words]);
        }
        let (bytes, memory) = (bytes(&packed), usize::try_from(packed.memory()).unwrap());
        assert!(bytes <= memory && memory <= bytes + 2 * BLOCK_BYTES[1], "{bytes} {memory}");
    }
}
