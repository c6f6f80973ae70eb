//! A set of the ring's slots, one bit a slot, that is searched a word at a time. A ring with fewer slots has a whole word.

/// A bit for every slot of the ring.
#[derive(Debug, Default)]
pub(super) struct Bits(Box<[u64]>);

impl Bits {
    /// A set for at least `slots` slots, a power of two, none of which is in it.
    pub fn of(slots: usize) -> Bits {
        Bits(vec![0; slots.div_ceil(64)].into_boxed_slice())
    }

    /// The 64 slots of word `index`.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.0[index]
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }

    #[inline]
    pub fn set(&mut self, slot: usize) {
        self.0[slot >> 6] |= 1 << (slot & 63);
    }

    #[inline]
    pub fn clear(&mut self, slot: usize) {
        self.0[slot >> 6] &= !(1 << (slot & 63));
    }

    /// Changes the bits of `count` slots from `slot` on, those of a word at a time: `change` gets it with a mask.
    #[inline]
    pub fn change_run(&mut self, mut slot: usize, count: u32, change: impl Fn(&mut u64, u64)) {
        let mut left = count as usize;
        while left > 0 {
            let bit = slot & 63;
            let here = left.min(64 - bit);
            change(&mut self.0[slot >> 6], (u64::MAX >> (64 - here)) << bit);
            left -= here;
            slot = (slot + here) & (64 * self.0.len() - 1);
        }
    }
}
