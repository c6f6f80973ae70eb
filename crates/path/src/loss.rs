//! Random loss: independent (Bernoulli) and bursty (Gilbert–Elliott).
//!
//! Gilbert–Elliott is netem's `gemodel`: a two-state Markov chain that may move once a packet, and in each state
//! independent losses. Both draws of a packet are made in the state before the move. The stationary loss ratio is
//! (p·loss_bad + r·loss_good)/(p + r), and the chain stays in the bad state for 1/r packets on average.

use crate::config::Loss;
use dumbbell_units::Rng;

/// A probability as the threshold of an integer comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(probability: f64) -> Chance {
        Chance((probability.clamp(0.0, 1.0) * 2f64.powi(64)) as u64)
    }

    /// Draws once.
    #[inline]
    pub(crate) fn happens(self, rng: &mut Rng) -> bool {
        rng.next_u64() < self.0 || self.0 == u64::MAX
    }
}

/// A source of losses with its own random stream.
#[derive(Clone, Debug)]
pub(crate) enum LossProcess {
    None,
    Bernoulli { loss: Chance, rng: Rng },
    GilbertElliott(Box<GilbertElliott>),
}

#[derive(Clone, Debug)]
pub(crate) struct GilbertElliott {
    to_bad: Chance,
    to_good: Chance,
    loss_bad: Chance,
    loss_good: Chance,
    bad: bool,
    rng: Rng,
}

impl LossProcess {
    pub(crate) fn new(config: &Loss, rng: Rng) -> LossProcess {
        match *config {
            Loss::None => LossProcess::None,
            Loss::Bernoulli(p) => LossProcess::Bernoulli { loss: Chance::new(p), rng },
            Loss::GilbertElliott { p, r, loss_bad, loss_good } => {
                LossProcess::GilbertElliott(Box::new(GilbertElliott {
                    to_bad: Chance::new(p),
                    to_good: Chance::new(r),
                    loss_bad: Chance::new(loss_bad),
                    loss_good: Chance::new(loss_good),
                    bad: false,
                    rng,
                }))
            }
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(crate) fn strikes(&mut self) -> bool {
        match self {
            LossProcess::None => false,
            LossProcess::Bernoulli { loss, rng } => loss.happens(rng),
            LossProcess::GilbertElliott(model) => model.strikes(),
        }
    }
}

impl GilbertElliott {
    fn strikes(&mut self) -> bool {
        let (leave, loss) = if self.bad { (self.to_good, self.loss_bad) } else { (self.to_bad, self.loss_good) };
        if leave.happens(&mut self.rng) {
            self.bad = !self.bad;
        }
        loss.happens(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn losses(config: Loss) -> Vec<bool> {
        let mut process = LossProcess::new(&config, Rng::new(7));
        (0..PACKETS).map(|_| process.strikes()).collect()
    }

    fn ratio(losses: &[bool]) -> f64 {
        losses.iter().filter(|&&lost| lost).count() as f64 / losses.len() as f64
    }

    fn mean_run(losses: &[bool]) -> f64 {
        let lost = losses.iter().filter(|&&lost| lost).count();
        let runs = losses.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
        lost as f64 / runs as f64
    }

    #[test]
    fn independent_losses_have_the_asked_ratio_and_geometric_runs() {
        for p in [0.001, 0.01, 0.3] {
            let losses = losses(Loss::Bernoulli(p));
            let sigma = (p * (1.0 - p) / PACKETS as f64).sqrt();
            assert!((ratio(&losses) - p).abs() < 3.0 * sigma, "p = {p}");
            let expected = 1.0 / (1.0 - p);
            let sigma = (p / (1.0 - p).powi(2) / (p * PACKETS as f64 * (1.0 - p))).sqrt();
            assert!((mean_run(&losses) - expected).abs() < 3.0 * sigma, "p = {p}");
        }
    }

    #[test]
    fn probability_zero_never_strikes_and_one_always_does() {
        assert_eq!(ratio(&losses(Loss::Bernoulli(0.0))), 0.0);
        assert_eq!(ratio(&losses(Loss::Bernoulli(1.0))), 1.0);
        assert_eq!(ratio(&losses(Loss::None)), 0.0);
    }

    #[test]
    fn gilbert_elliott_loses_the_stationary_ratio_in_runs_of_one_over_r() {
        let (p, r) = (0.01, 0.25);
        let simple = losses(Loss::GilbertElliott { p, r, loss_bad: 1.0, loss_good: 0.0 });
        let expected = p / (p + r);
        // The variance of the mean of a two-state chain is (1 + λ)/(1 − λ) times that of independent draws.
        let lambda = 1.0 - p - r;
        let sigma = (expected * (1.0 - expected) * (1.0 + lambda) / (1.0 - lambda) / PACKETS as f64).sqrt();
        assert!((ratio(&simple) - expected).abs() < 3.0 * sigma);
        let runs = expected * r * PACKETS as f64;
        let sigma = ((1.0 - r) / (r * r) / runs).sqrt();
        assert!((mean_run(&simple) - 1.0 / r).abs() < 3.0 * sigma);
    }

    #[test]
    fn gilbert_elliott_mixes_the_losses_of_both_states() {
        let (p, r, loss_bad, loss_good) = (0.02, 0.2, 0.6, 0.05);
        let mixed = losses(Loss::GilbertElliott { p, r, loss_bad, loss_good });
        let expected = (p * loss_bad + r * loss_good) / (p + r);
        assert!((ratio(&mixed) - expected).abs() < 0.002, "{} for {expected}", ratio(&mixed));
    }
}
