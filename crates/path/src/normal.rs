//! Normal deviates by two documented, platform-independent methods.
//!
//! [`NormalDeviates`] is Marsaglia's polar method (1964) on the project's generator, with software `log` and `sqrt`.
//! [`quantile`] looks a 32-bit uniform number up in a table of 4096 normal quantiles in units of 2⁻¹³, the resolution
//! at which netem keeps its distributions: it keeps the order of its argument, so correlated uniforms give correlated
//! normals.

use dumbbell_units::Rng;
use std::sync::LazyLock;

/// A stream of independent deviates with mean 0 and standard deviation 1.
#[derive(Clone, Debug)]
pub(crate) struct NormalDeviates {
    spare: Option<f64>,
}

impl NormalDeviates {
    pub(crate) fn new() -> NormalDeviates {
        NormalDeviates { spare: None }
    }

    pub(crate) fn next(&mut self, rng: &mut Rng) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = libm::sqrt(-2.0 * libm::log(square) / square);
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

const ENTRIES: usize = 4096;
/// Binary digits after the point of [`quantile`].
pub(crate) const QUANTILE_BITS: u32 = 13;

static QUANTILES: LazyLock<[i16; ENTRIES]> = LazyLock::new(|| {
    let mut table = [0; ENTRIES];
    let mut x = 0.0;
    for upper in ENTRIES / 2..ENTRIES {
        let probability = (upper as f64 + 0.5) / ENTRIES as f64;
        // Newton's method from the quantile below: the distribution function is concave here, so it never overshoots.
        for _ in 0..8 {
            let density = libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * std::f64::consts::PI);
            x += (probability - cumulative(x)) / density;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "no quantile of the table is 4 or more, and 4 is 2^15 here"
        )]
        let scaled = libm::round(x * f64::from(1 << QUANTILE_BITS)) as i16;
        table[upper] = scaled;
        table[ENTRIES - 1 - upper] = -scaled;
    }
    table
});

/// The normal distribution function.
pub(crate) fn cumulative(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The normal quantile of `uniform`/2³², times 2¹³.
pub(crate) fn quantile(uniform: u32) -> i64 {
    i64::from(QUANTILES[(uniform >> 20) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
        let values: Vec<f64> = values.collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let central = |k| values.iter().map(|v| (v - mean).powi(k)).sum::<f64>() / n;
        (mean, central(2).sqrt(), central(4) / central(2).powi(2))
    }

    #[test]
    fn polar_deviates_have_the_moments_of_the_normal_distribution() {
        let (mut rng, mut normal) = (Rng::new(3), NormalDeviates::new());
        let (mean, sd, kurtosis) = moments((0..400_000).map(|_| normal.next(&mut rng)));
        assert!(mean.abs() < 0.005 && (sd - 1.0).abs() < 0.005 && (kurtosis - 3.0).abs() < 0.05);
    }

    #[test]
    fn table_quantiles_agree_with_known_values() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a probability below one")]
        let uniform = |p: f64| (p * 2f64.powi(32)) as u32;
        let at = |p: f64| quantile(uniform(p)) as f64 / f64::from(1 << QUANTILE_BITS);
        for (p, z) in [(0.025, -1.959_964), (0.158_655, -1.0), (0.5, 0.0), (0.75, 0.674_490), (0.975, 1.959_964)] {
            assert!((at(p) - z).abs() < 0.005, "quantile {p} is {}", at(p));
        }
        let (mean, sd, _) = moments((0..4096u32).map(|i| quantile(i << 20) as f64 / f64::from(1 << QUANTILE_BITS)));
        assert!(mean.abs() < 1e-9 && (sd - 1.0).abs() < 0.002);
    }
}
