//! Two sets of the ring's slots, a bit a slot in each, that are searched a word at a time. A ring with fewer slots has
//! a whole word. They share their memory: where there are very many flows, each has a word of either.

/// The two sets.
#[derive(Debug, Default)]
pub(super) struct Bits(Box<[[u64; 2]]>);

/// One of the sets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Set {
    /// Selectively acknowledged.
    Sacked,
    /// Lost, and waiting for the retransmission.
    Waiting,
}

impl Bits {
    /// Sets for at least `slots` slots, a power of two or less than a word of them, none of which is in them.
    pub fn of(slots: usize) -> Bits {
        Bits(vec![[0; 2]; slots.div_ceil(64)].into_boxed_slice())
    }

    /// The 64 slots of word `index`.
    #[inline]
    pub fn word(&self, set: Set, index: usize) -> u64 {
        self.0[index][set as usize]
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }

    #[inline]
    pub fn insert(&mut self, set: Set, slot: usize) {
        self.0[slot >> 6][set as usize] |= 1 << (slot & 63);
    }

    #[inline]
    pub fn remove(&mut self, set: Set, slot: usize) {
        self.0[slot >> 6][set as usize] &= !(1 << (slot & 63));
    }

    /// Changes the bits of `count` slots from `slot` on, those of a word at a time: `change` gets it with a mask.
    #[inline]
    pub fn change_run(&mut self, set: Set, mut slot: usize, count: u32, change: impl Fn(&mut u64, u64)) {
        let mut left = count as usize;
        while left > 0 {
            let bit = slot & 63;
            let here = left.min(64 - bit);
            change(&mut self.0[slot >> 6][set as usize], (u64::MAX >> (64 - here)) << bit);
            left -= here;
            slot = (slot + here) & (64 * self.0.len() - 1);
        }
    }
}
