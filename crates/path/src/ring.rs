//! A first-in, first-out queue for small items, in a ring that grows by doubling.
//!
//! It does less than `VecDeque`: its capacity is a power of two, so that an index wraps with a mask, and its items are
//! `Copy`, so that nothing has to be dropped.

/// A queue of `Copy` items.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    const INITIAL_CAPACITY: usize = 4;

    pub(crate) fn new() -> Ring<T> {
        Ring { places: Vec::new(), first: 0, len: 0 }
    }

    /// How many items it can hold before it grows.
    pub(crate) fn capacity(&self) -> usize {
        self.places.len()
    }

    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, item: T) {
        *self.push_place() = item;
    }

    /// Adds an item, which is to be written: it is what this place held before.
    #[inline(always)]
    pub(crate) fn push_place(&mut self) -> &mut T {
        if self.len == self.places.len() {
            self.grow();
        }
        let mask = self.places.len() - 1;
        self.len += 1;
        &mut self.places[(self.first + self.len - 1) & mask]
    }

    /// Moves the last item in front of those that it `precedes`.
    pub(crate) fn bring_last_forward(&mut self, precedes: impl Fn(&T, &T) -> bool) {
        let mask = self.places.len() - 1;
        let mut place = self.first + self.len - 1;
        let item = self.places[place & mask];
        while place > self.first && precedes(&item, &self.places[(place - 1) & mask]) {
            self.places[place & mask] = self.places[(place - 1) & mask];
            place -= 1;
        }
        self.places[place & mask] = item;
    }

    /// Bytes of memory [claimed](dumbbell_units::claimed).
    pub(crate) fn memory(&self) -> u64 {
        dumbbell_units::claimed::<T>(self.len, self.places.len())
    }

    /// All items, the first one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let (wrapped, ahead) = self.places.split_at(self.first);
        ahead.iter().chain(wrapped).take(self.len)
    }

    /// The item behind so many others, if there is one.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let mask = self.places.len().wrapping_sub(1);
        (number < self.len).then(|| &self.places[(self.first + number) & mask])
    }

    /// Where the first item lies, or will lie.
    #[inline(always)]
    pub(crate) fn first_place(&self) -> usize {
        self.first
    }

    /// The first item; there must be one.
    #[inline]
    pub(crate) fn first_mut(&mut self) -> &mut T {
        debug_assert!(!self.is_empty());
        &mut self.places[self.first]
    }

    /// The first item, if there is one.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        (self.len > 0).then(|| &mut self.places[self.first])
    }

    /// The last item, if there is one.
    #[inline(always)]
    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        let mask = self.places.len().wrapping_sub(1);
        (self.len > 0).then(|| &mut self.places[(self.first + self.len - 1) & mask])
    }

    /// Removes the first item; there must be one. Returns the next.
    #[inline]
    pub(crate) fn drop_first(&mut self) -> Option<&T> {
        debug_assert!(!self.is_empty());
        self.first = (self.first + 1) & (self.places.len() - 1);
        self.len -= 1;
        (self.len > 0).then(|| &self.places[self.first])
    }

    /// Removes the last item; there must be one.
    pub(crate) fn drop_last(&mut self) {
        debug_assert!(!self.is_empty());
        self.len -= 1;
    }

    /// Removes all items.
    pub(crate) fn clear(&mut self) {
        self.first = 0;
        self.len = 0;
    }

    /// Doubles the ring.
    #[cold]
    fn grow(&mut self) {
        let capacity = (2 * self.places.len()).max(Ring::<T>::INITIAL_CAPACITY);
        let (wrapped, ahead) = self.places.split_at(self.first);
        let mut places = Vec::with_capacity(capacity);
        places.extend_from_slice(ahead);
        places.extend_from_slice(wrapped);
        places.resize(capacity, T::default());
        self.places = places;
        self.first = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn the_last_item_passes_those_it_precedes_also_across_the_end_of_the_ring() {
        let mut ring = Ring::new();
        for item in 0..12 {
            ring.push_back(item);
        }
        for _ in 0..10 {
            ring.drop_first();
        }
        for (item, expected) in
            [(30, "10 11 30"), (20, "10 11 20 30"), (40, "10 11 20 30 40"), (15, "10 11 15 20 30 40")]
        {
            ring.push_back(item);
            ring.bring_last_forward(|last, other| last < other);
            assert_eq!(ring.iter().map(u32::to_string).collect::<Vec<_>>().join(" "), expected);
        }
        ring.push_back(5);
        ring.bring_last_forward(|last, other| last < other);
        assert_eq!(ring.front_mut(), Some(&mut 5));
    }

    #[test]
    fn a_ring_is_a_queue_through_wrapping_and_growth() {
        let mut ring = Ring::new();
        let mut queue = VecDeque::new();
        let mut rng = dumbbell_units::Rng::new(1);
        for step in 0..5_000 {
            // Rises for a while, then falls: the ring wraps at many fill levels and grows several times.
            if rng.below(1_000) < if step % 1_000 < 600 { 700 } else { 200 } {
                ring.push_back(step);
                queue.push_back(step);
            } else {
                assert_eq!(ring.front_mut().copied(), queue.pop_front());
                if !ring.is_empty() {
                    assert_eq!(ring.drop_first(), queue.front());
                }
            }
            if !ring.is_empty() && rng.below(20) == 0 {
                ring.drop_last();
                queue.pop_back();
            }
            assert_eq!((ring.is_empty(), ring.last_mut()), (queue.is_empty(), queue.back_mut()));
            assert!(step % 100 > 0 || ring.iter().eq(&queue));
        }
    }
}
