//! One number for all that was seen. Test binaries of several crates include this file.

use std::fmt;

/// Each value moves it to another number: a product with an odd number has an inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    pub fn new() -> Digest {
        Digest(0)
    }

    pub fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// A real number by its bits; all that are no numbers are the same.
    pub fn add_real(&mut self, value: f64) {
        self.add(if value.is_nan() { u64::MAX } else { value.to_bits() });
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
