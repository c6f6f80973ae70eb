//! Times between what happens.

use dumbbell_units::{Duration, Rng};

/// A time of an exponential distribution.
pub(crate) fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    from_seconds(exponential_seconds(mean.as_secs_f64(), rng))
}

/// The same in seconds.
pub(crate) fn exponential_seconds(mean: f64, rng: &mut Rng) -> f64 {
    -mean * libm::log(1.0 - rng.uniform())
}

/// So many seconds, rounded down; at most the longest time that there is.
pub(crate) fn from_seconds(seconds: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast of a time")]
    let nanos = (seconds * 1e9) as u64;
    Duration::from_nanos(nanos)
}
