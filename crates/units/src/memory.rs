//! What growing stores take of the machine's memory.

/// From this many bytes on a store's next growth is foreseen; a smaller one has grown by the time it is looked at
/// again.
const LARGE: u64 = 16 << 20;

/// Bytes that a store claims which doubles when it is full: its capacity, and, while it is large and nearly full, the
/// room for twice as many items that it needs beside that the next time it grows.
#[must_use]
pub const fn claimed<T>(len: usize, capacity: usize) -> u64 {
    let held = capacity as u64 * size_of::<T>() as u64;
    let is_nearly_full = len > capacity - capacity / 8;
    if held >= LARGE && is_nearly_full { 3 * held } else { held }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, claimed};

    #[test]
    fn a_large_store_that_is_nearly_full_claims_what_it_will_double_to() {
        let large = usize::try_from(LARGE / 8).unwrap();
        assert_eq!(claimed::<u64>(large * 7 / 8, large), LARGE);
        assert_eq!(claimed::<u64>(large * 7 / 8 + 1, large), 3 * LARGE);
        assert_eq!(claimed::<u64>(large / 2, large / 2), LARGE / 2);
        assert_eq!(claimed::<u64>(0, 0), 0);
    }
}
