//! Items in the order of their times, for many that come in nearly any order.
//!
//! A calendar queue (R. Brown, 1988): time is cut into days of equal length, and what is due on a later day lies there
//! in the order in which it came. Only the items of the first day that has any are put in order. There are few days,
//! each with many items: so all that is written at a time stays in a processor's cache, and what is put in order lies
//! together.

use dumbbell_units::{Duration, Time, claimed};

/// When an item is due, and its place among those of the same instant: the lower number first, and then the one that
/// came first.
pub type Place = (Time, u32);

/// Items in the order of their [places](Place).
#[derive(Debug)]
pub struct Calendar<T> {
    /// A day has 2 to the power of this nanoseconds.
    day_bits: u32,
    /// What is due on later days. Their number is a power of two; days that are further ahead share them with nearer
    /// ones.
    days: Vec<Vec<Entry<T>>>,
    /// A bit for each of them that is set where there is something.
    is_filled: Vec<u64>,
    /// How many items there are on later days.
    later: usize,
    /// The number of the first day that has items.
    today: u64,
    /// Its items, also those that have been taken, in the order in which they came.
    entries: Vec<Entry<T>>,
    /// The places of those that are left, and their indices, the first one last.
    order: Vec<(Place, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    place: Place,
    item: T,
}

impl<T: Copy + Default> Calendar<T> {
    const ITEMS_OF_A_DAY: usize = 64;
    const FEWEST_DAYS: usize = 64;
    const MOST_DAYS: usize = 1 << 10;

    /// An empty calendar for about so many items, which mostly come no longer than `span` before they are due.
    pub fn new(items: usize, span: Duration) -> Calendar<T> {
        let days = items / Self::ITEMS_OF_A_DAY;
        let days = days.clamp(Self::FEWEST_DAYS, Self::MOST_DAYS).next_power_of_two();
        let day_nanos = span.as_nanos().div_ceil(days as u64).max(1);
        Calendar {
            day_bits: day_nanos.next_power_of_two().trailing_zeros(),
            days: vec![Vec::new(); days],
            is_filled: vec![0; days / 64],
            later: 0,
            today: 0,
            entries: Vec::new(),
            order: Vec::new(),
        }
    }

    #[inline(always)]
    fn day_of(&self, at: Time) -> u64 {
        at.as_nanos() >> self.day_bits
    }

    /// Where the items of a day are.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the remainder of a division by a small number")]
    fn index(&self, day: u64) -> usize {
        day as usize & (self.days.len() - 1)
    }

    /// The place of the first item.
    #[inline(always)]
    pub fn next(&self) -> Option<Place> {
        self.order.last().map(|(place, _)| *place)
    }

    /// Adds an item that `write` writes to where it stays; returns whether it is the first one now.
    #[inline(always)]
    pub fn push(&mut self, place: Place, write: impl FnOnce(&mut T)) -> bool {
        let day = self.day_of(place.0);
        let is_later = day > self.today && !self.order.is_empty();
        let entries = if is_later { self.later_day(day) } else { self.first_day(day) };
        entries.push(Entry { place, item: T::default() });
        if let Some(last) = entries.last_mut() {
            write(&mut last.item);
        }
        !is_later && self.put_last_in_order(place)
    }

    /// Where one more item is written that is due on a later day.
    #[inline(always)]
    fn later_day(&mut self, day: u64) -> &mut Vec<Entry<T>> {
        let index = self.index(day);
        self.is_filled[index / 64] |= 1 << (index % 64);
        self.later += 1;
        &mut self.days[index]
    }

    /// Where one more item is written that is due on the first day, which `day` may become.
    #[inline(never)]
    fn first_day(&mut self, day: u64) -> &mut Vec<Entry<T>> {
        if self.order.is_empty() {
            self.entries.clear();
        } else if day < self.today {
            // What comes later to that day comes behind these.
            while let Some((_, index)) = self.order.pop() {
                let entry = self.entries[index as usize];
                self.later_day(self.today).push(entry);
            }
            self.entries.clear();
        }
        self.today = day;
        &mut self.entries
    }

    /// The last item of the first day finds its place; returns whether it is the first one now.
    #[inline(never)]
    fn put_last_in_order(&mut self, place: Place) -> bool {
        let behind = self.order.partition_point(|(other, _)| *other > place);
        let entry = (place, index_of(self.entries.len() - 1));
        self.order.insert(behind, entry);
        behind + 1 == self.order.len()
    }

    /// The first item, and its place.
    #[inline(always)]
    pub fn first(&self) -> Option<(Place, &T)> {
        let (place, index) = self.order.last()?;
        Some((*place, &self.entries[*index as usize].item))
    }

    /// Removes the first item.
    #[inline(always)]
    pub fn drop_first(&mut self) {
        self.order.pop();
        if self.order.is_empty() && self.later > 0 {
            self.find_next_day();
        }
    }

    /// Puts the items of the next day that has any in order.
    #[inline(never)]
    fn find_next_day(&mut self) {
        let mut day = self.today;
        let last = day + self.days.len() as u64;
        while day < last {
            day = self.next_filled(day + 1);
            if self.open(day) {
                return;
            }
        }
        // All are further ahead.
        let times = self.days.iter().flatten().map(|entry| entry.place.0);
        if let Some(at) = times.min() {
            self.open(self.day_of(at));
        }
    }

    /// The first day from `day` on of which something may be left; there must be one.
    fn next_filled(&self, mut day: u64) -> u64 {
        loop {
            let index = self.index(day);
            let ahead = self.is_filled[index / 64] >> (index % 64);
            if ahead != 0 {
                return day + u64::from(ahead.trailing_zeros());
            }
            day += 64 - (index % 64) as u64;
        }
    }

    /// Makes a day the first, if it has items.
    fn open(&mut self, day: u64) -> bool {
        let index = self.index(day);
        let day_bits = self.day_bits;
        let is_of_day = |entry: &Entry<T>| entry.place.0.as_nanos() >> day_bits == day;
        let entries = &mut self.days[index];
        self.entries.clear();
        if entries.iter().all(is_of_day) {
            std::mem::swap(&mut self.entries, entries);
        } else {
            self.entries.extend(entries.iter().filter(|entry| is_of_day(entry)));
            entries.retain(|entry| !is_of_day(entry));
        }
        if entries.is_empty() {
            self.is_filled[index / 64] &= !(1 << (index % 64));
        }
        self.later -= self.entries.len();
        self.today = day;
        self.order.extend(self.entries.iter().zip(0..).map(|(entry, index)| (entry.place, index)));
        self.order.sort_unstable_by(|one, other| other.cmp(one));
        !self.order.is_empty()
    }

    /// All items with their places, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Place, &T)> {
        let today = self.order.iter().map(|(_, index)| &self.entries[*index as usize]);
        today.chain(self.days.iter().flatten()).map(|entry| (entry.place, &entry.item))
    }

    /// Bytes of memory [claimed].
    pub fn memory(&self) -> u64 {
        let days = self.days.iter().chain([&self.entries]);
        let order = claimed::<(Place, u32)>(self.order.len(), self.order.capacity());
        days.map(|entries| claimed::<Entry<T>>(entries.len(), entries.capacity())).sum::<u64>() + order
    }
}

#[expect(clippy::cast_possible_truncation, reason = "memory ends long before 2^32 items of a day")]
fn index_of(index: usize) -> u32 {
    index as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What happens: items are added so long after the last that was taken, with these numbers, and some are taken.
    type Steps = Vec<(Vec<(u64, u32)>, usize)>;

    fn steps(longest: u64) -> impl Strategy<Value = Steps> {
        let added = proptest::collection::vec((0..longest, 0u32..3), 0..20);
        proptest::collection::vec((added, 0usize..25), 1..60)
    }

    proptest! {
        #[test]
        fn items_leave_in_the_order_of_their_places_and_of_their_coming(
            span in prop_oneof![Just(0u64), 1u64..100, 1_000u64..1_000_000],
            steps in prop_oneof![steps(4), steps(300), steps(100_000), steps(1 << 40)],
        ) {
            let mut calendar = Calendar::new(1, Duration::from_nanos(span));
            let mut items: Vec<(Place, u32)> = Vec::new();
            let (mut now, mut number) = (0, 0);
            for (added, taken) in steps {
                for (after, lane) in added {
                    let place = (Time::from_nanos(now + after), lane);
                    let is_first = items.iter().all(|(other, _)| *other > place);
                    prop_assert_eq!(calendar.push(place, |item| *item = number), is_first);
                    items.push((place, number));
                    number += 1;
                }
                for _ in 0..taken {
                    let first = items.iter().copied().min();
                    prop_assert_eq!(calendar.next(), first.map(|(place, _)| place));
                    prop_assert_eq!(calendar.first().map(|(place, item)| (place, *item)), first);
                    calendar.drop_first();
                    now = first.map_or(now, |((at, _), _)| at.as_nanos());
                    items.retain(|item| Some(*item) != first);
                }
                let mut left: Vec<_> = calendar.iter().map(|(place, item)| (place, *item)).collect();
                left.sort_unstable();
                items.sort_unstable();
                prop_assert_eq!(&left, &items);
            }
        }
    }
}
