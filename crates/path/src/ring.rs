//! A first-in, first-out queue for small items, in a ring that grows by doubling.
//!
//! `VecDeque` with less to do: its capacity is a power of two, so that places are found with a mask, and its items are
//! `Copy`, so that leaving one behind needs no care.

/// A queue of `Copy` items.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    const INITIAL_CAPACITY: usize = 16;

    pub(crate) fn new() -> Ring<T> {
        Ring { places: Vec::new(), first: 0, len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, item: T) {
        if self.len == self.places.len() {
            self.grow();
        }
        let mask = self.places.len() - 1;
        self.places[(self.first + self.len) & mask] = item;
        self.len += 1;
    }

    /// Adds `count` items, which `write` writes one after the other.
    #[inline(always)]
    pub(crate) fn extend(&mut self, count: u32, mut write: impl FnMut(u32, &mut T)) {
        if count == 0 {
            return;
        }
        let len = self.len + count as usize;
        while self.places.len() < len {
            self.grow();
        }
        let end = (self.first + self.len) & (self.places.len() - 1);
        self.len = len;
        let (wrapped, ahead) = self.places.split_at_mut(end);
        let mut number = 0;
        for place in ahead.iter_mut().take(count as usize) {
            write(number, place);
            number += 1;
        }
        for place in wrapped.iter_mut().take((count - number) as usize) {
            write(number, place);
            number += 1;
        }
    }

    /// The first item; there must be one.
    #[inline]
    pub(crate) fn first(&self) -> &T {
        debug_assert!(!self.is_empty());
        &self.places[self.first]
    }

    /// The first item, if there is one.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        (self.len > 0).then(|| &mut self.places[self.first])
    }

    /// Forgets the first item; there must be one. Returns the next.
    #[inline]
    pub(crate) fn drop_first(&mut self) -> Option<&T> {
        debug_assert!(!self.is_empty());
        self.first = (self.first + 1) & (self.places.len() - 1);
        self.len -= 1;
        (self.len > 0).then(|| &self.places[self.first])
    }

    /// Takes items for as long as `takes` agrees.
    #[inline]
    pub(crate) fn take_while(&mut self, mut takes: impl FnMut(&T) -> bool) {
        let (wrapped, ahead) = self.places.split_at(self.first);
        let ahead = &ahead[..ahead.len().min(self.len)];
        let wrapped = &wrapped[..self.len - ahead.len()];
        let mut taken = ahead.iter().position(|item| !takes(item)).unwrap_or(ahead.len());
        if taken == ahead.len() {
            taken += wrapped.iter().position(|item| !takes(item)).unwrap_or(wrapped.len());
        }
        if taken > 0 {
            self.first = (self.first + taken) & (self.places.len() - 1);
            self.len -= taken;
        }
    }

    /// Doubles the ring.
    #[cold]
    fn grow(&mut self) {
        self.places.rotate_left(self.first);
        self.first = 0;
        let capacity = (2 * self.places.len()).max(Ring::<T>::INITIAL_CAPACITY);
        self.places.resize(capacity, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

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
            } else if step % 70 == 0 {
                ring.extend(step as u32 % 50, |number, place| *place = step + number as i32);
                queue.extend((0..step % 50).map(|number| step + number));
            } else if step % 100 == 0 {
                let before = step - 20;
                let taken = queue.iter().take_while(|&&item| item < before).count();
                let mut items = Vec::new();
                ring.take_while(|&item| {
                    items.extend((item < before).then_some(item));
                    item < before
                });
                assert_eq!(items, queue.drain(..taken).collect::<Vec<_>>());
            } else {
                assert_eq!((!ring.is_empty()).then(|| *ring.first()), queue.pop_front());
                if !ring.is_empty() {
                    assert_eq!(ring.drop_first(), queue.front());
                }
            }
            assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
        }
    }
}
