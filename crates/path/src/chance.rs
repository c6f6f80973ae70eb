//! Probabilities, ready to be drawn.

use dumbbell_units::Rng;

/// A probability as the threshold of an integer comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// The chance `probability`, cut to 0..=1.
    pub fn new(probability: f64) -> Chance {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is clamped; 2^64 itself becomes the largest number, which stands for certainty"
        )]
        let threshold = (probability.clamp(0.0, 1.0) * 2f64.powi(64)) as u64;
        Chance(threshold)
    }

    /// Draws once.
    #[inline]
    pub fn happens(self, rng: &mut Rng) -> bool {
        rng.next_u64() < self.0 || self.0 == u64::MAX
    }
}
