//! Cellular traces made up with the statistics of measured ones.
//!
//! The rate of a cell's link varies on two time scales: fast fading of some hundred milliseconds and slow fading of
//! some seconds. Its logarithm is modelled as the sum of two Ornstein–Uhlenbeck processes y and z, its absolute value
//! is capped by the radio, and outages of exponential length interrupt it: λ = min(cap, scale·e^(y+z))·on. In each
//! millisecond a Poisson number of delivery opportunities of 12 000 bits occurs. The scale is chosen for each trace so
//! that the mean of λ over the trace is the wanted one.
//!
//! Everything random comes from the generator that is passed in: exponentials by inversion, normals by the polar
//! method, Poisson numbers by multiplying uniforms (Knuth), with software exponentials and logarithms, so a seed gives
//! the same trace on every machine.

use crate::normal::NormalDeviates;
use dumbbell_units::{Duration, Rng};

const BITS_PER_OPPORTUNITY: f64 = 12_000.0;
const STEP_S: f64 = 1e-3;

/// A kind of cellular link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellularModel {
    /// Mean rate in bits per second, outages included.
    pub mean_rate: f64,
    /// Standard deviation of the logarithm of the rate by fast fading.
    pub fast_sd: f64,
    /// Time constant of fast fading in seconds.
    pub fast_time_constant: f64,
    /// Standard deviation of the logarithm of the rate by slow fading.
    pub slow_sd: f64,
    /// Time constant of slow fading in seconds.
    pub slow_time_constant: f64,
    /// Outages that begin per second of service.
    pub outages_per_second: f64,
    /// Mean length of an outage in seconds.
    pub outage_seconds: f64,
    /// Highest rate in bits per second.
    pub max_rate: f64,
}

/// Names of the presets that [`CellularModel::preset`] knows.
pub const PRESETS: [&str; 4] = ["lte-verizon", "lte-tmobile", "lte-driving", "umts-driving"];

impl CellularModel {
    /// A preset fitted to Mahimahi's traces: Verizon and T-Mobile LTE (short, downlink), AT&T LTE and T-Mobile UMTS
    /// (driving, downlink).
    pub fn preset(name: &str) -> Option<CellularModel> {
        let (mean, fast_sd, fast_time_constant, slow_sd, slow_time_constant, outages, seconds, max) = match name {
            "lte-verizon" => (5.03, 0.25, 0.1, 0.62, 3.0, 0.05, 0.4, 24.0),
            "lte-tmobile" => (16.7, 0.35, 0.3, 0.62, 1.5, 0.07, 0.5, 72.0),
            "lte-driving" => (5.17, 0.20, 0.1, 0.50, 12.0, 0.10, 0.5, 36.0),
            "umts-driving" => (2.02, 0.20, 0.1, 0.60, 5.0, 0.05, 2.0, 9.0),
            _ => return None,
        };
        Some(CellularModel {
            mean_rate: mean * 1e6,
            fast_sd,
            fast_time_constant,
            slow_sd,
            slow_time_constant,
            outages_per_second: outages,
            outage_seconds: seconds,
            max_rate: max * 1e6,
        })
    }

    /// Delivery opportunities in milliseconds over `duration` (at least 1 ms), as a Mahimahi trace: non-decreasing,
    /// from 1 on, never empty.
    pub fn synthesise(&self, duration: Duration, rng: &mut Rng) -> Vec<u32> {
        let steps = u32::try_from(duration.as_nanos() / 1_000_000).unwrap_or(u32::MAX).max(1);
        let gains = self.gains(steps, rng);
        let scale = self.scale(&gains);
        let mut opportunities = Vec::new();
        for (ms, gain) in (1..=steps).zip(&gains) {
            let rate = (scale * gain).min(self.max_rate);
            let count = poisson(rate * STEP_S / BITS_PER_OPPORTUNITY, rng);
            opportunities.extend((0..count).map(|_| ms));
        }
        if opportunities.is_empty() {
            opportunities.push(steps);
        }
        opportunities
    }

    /// e^(y+z)·on for every millisecond.
    fn gains(&self, steps: u32, rng: &mut Rng) -> Vec<f64> {
        let mut normal = NormalDeviates::new();
        let mut fast = OrnsteinUhlenbeck::new(self.fast_sd, self.fast_time_constant, &mut normal, rng);
        let mut slow = OrnsteinUhlenbeck::new(self.slow_sd, self.slow_time_constant, &mut normal, rng);
        let mut on = true;
        let mut change_in = self.phase(on, rng);
        (0..steps)
            .map(|_| {
                while change_in <= 0.0 {
                    on = !on;
                    change_in += self.phase(on, rng);
                }
                change_in -= STEP_S;
                let log_gain = fast.next(&mut normal, rng) + slow.next(&mut normal, rng);
                if on { libm::exp(log_gain) } else { 0.0 }
            })
            .collect()
    }

    /// Length in seconds of a phase of service or of an outage.
    fn phase(&self, on: bool, rng: &mut Rng) -> f64 {
        let mean = if on { 1.0 / self.outages_per_second } else { self.outage_seconds };
        -mean * libm::log(1.0 - rng.uniform())
    }

    /// The scale for which the capped rates have the wanted mean, or as much of it as the cap allows.
    ///
    /// The mean is a concave function of the scale, so correcting the scale by the ratio of wanted to actual mean
    /// approaches the solution steadily from either side.
    fn scale(&self, gains: &[f64]) -> f64 {
        let mut scale = self.mean_rate;
        for _ in 0..60 {
            let sum: f64 = gains.iter().map(|gain| (scale * gain).min(self.max_rate)).sum();
            let correction = self.mean_rate * gains.len() as f64 / sum;
            if !correction.is_finite() || (correction - 1.0).abs() < 1e-6 {
                break;
            }
            scale *= correction;
        }
        scale
    }
}

/// A stationary Gaussian process with exponential autocorrelation, sampled every millisecond.
struct OrnsteinUhlenbeck {
    value: f64,
    keep: f64,
    noise: f64,
}

impl OrnsteinUhlenbeck {
    fn new(sd: f64, time_constant: f64, normal: &mut NormalDeviates, rng: &mut Rng) -> OrnsteinUhlenbeck {
        let keep = libm::exp(-STEP_S / time_constant);
        OrnsteinUhlenbeck { value: sd * normal.next(rng), keep, noise: sd * libm::sqrt(1.0 - keep * keep) }
    }

    fn next(&mut self, normal: &mut NormalDeviates, rng: &mut Rng) -> f64 {
        self.value = self.keep * self.value + self.noise * normal.next(rng);
        self.value
    }
}

fn poisson(mean: f64, rng: &mut Rng) -> u32 {
    if mean <= 0.0 {
        return 0;
    }
    let limit = libm::exp(-mean);
    let mut product = rng.uniform();
    let mut count = 0;
    while product > limit {
        product *= rng.uniform();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Statistics {
        mean: f64,
        sd: f64,
        median: f64,
        p95: f64,
        autocorrelation: [f64; 3],
        longest_gap_s: f64,
        log_step_sd: f64,
    }

    /// The statistics of the fitting tables, over 100-ms bins in Mb/s.
    fn statistics(trace: &[u32], seconds: usize) -> Statistics {
        let mut bins = vec![0.0; seconds * 10];
        for &ms in trace {
            bins[(ms as usize - 1) / 100] += BITS_PER_OPPORTUNITY / 1e5;
        }
        let n = bins.len() as f64;
        let mean = bins.iter().sum::<f64>() / n;
        let variance = bins.iter().map(|b| (b - mean) * (b - mean)).sum::<f64>() / n;
        let autocorrelation = [1, 5, 10].map(|lag| {
            bins.iter().zip(&bins[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (n * variance)
        });
        // Seconds without service enter the logarithm as 0.02 Mb/s.
        let seconds: Vec<f64> = bins.chunks(10).map(|c| f64::max(c.iter().sum::<f64>() / 10.0, 0.02)).collect();
        let steps: Vec<f64> = seconds.windows(2).map(|w| (w[1] / w[0]).ln()).collect();
        let log_step_sd = (steps.iter().map(|s| s * s).sum::<f64>() / steps.len() as f64).sqrt();
        let gap = trace.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        bins.sort_by(f64::total_cmp);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of `bins`")]
        let quantile = |q: f64| bins[(q * (n - 1.0)) as usize];
        Statistics {
            mean,
            sd: variance.sqrt(),
            median: quantile(0.5),
            p95: quantile(0.95),
            autocorrelation,
            longest_gap_s: f64::from(gap) / 1e3,
            log_step_sd,
        }
    }

    /// Averages over seeds of 200-second traces.
    fn averages(preset: &str, seeds: u64) -> Statistics {
        let model = CellularModel::preset(preset).unwrap();
        let all: Vec<_> = (1..=seeds)
            .map(|seed| statistics(&model.synthesise(Duration::from_secs(200), &mut Rng::new(seed)), 200))
            .collect();
        let average = |of: &dyn Fn(&Statistics) -> f64| all.iter().map(of).sum::<f64>() / seeds as f64;
        Statistics {
            mean: average(&|s| s.mean),
            sd: average(&|s| s.sd),
            median: average(&|s| s.median),
            p95: average(&|s| s.p95),
            autocorrelation: [0, 1, 2].map(|i| average(&|s| s.autocorrelation[i])),
            longest_gap_s: average(&|s| s.longest_gap_s),
            log_step_sd: average(&|s| s.log_step_sd),
        }
    }

    #[test]
    fn presets_have_the_statistics_they_were_fitted_to() {
        // mean, sd, p50, p95 in Mb/s, autocorrelation at 0.1, 0.5 and 1 s, longest gap, 1-s step of the log rate.
        let expected = [
            ("lte-verizon", [5.03, 3.57, 4.1, 12.1, 0.86, 0.66, 0.52, 1.24, 0.50]),
            ("lte-tmobile", [16.7, 12.3, 13.3, 41.2, 0.89, 0.53, 0.33, 1.57, 0.83]),
            ("lte-driving", [5.17, 3.0, 4.6, 10.9, 0.85, 0.68, 0.59, 1.8, 0.76]),
            ("umts-driving", [2.02, 1.53, 1.7, 5.0, 0.85, 0.73, 0.63, 6.2, 0.81]),
        ];
        for (preset, expected) in expected {
            let s = averages(preset, 16);
            let [a, b, c] = s.autocorrelation;
            let measured = [s.mean, s.sd, s.median, s.p95, a, b, c, s.longest_gap_s, s.log_step_sd];
            for (i, (measured, expected)) in measured.iter().zip(expected).enumerate() {
                assert!((measured / expected - 1.0).abs() < 0.2, "{preset}: value {i} is {measured}, not {expected}");
            }
        }
    }

    #[test]
    fn a_seed_gives_one_trace_and_another_seed_another() {
        let model = CellularModel::preset("lte-verizon").unwrap();
        let trace = |seed| model.synthesise(Duration::from_secs(5), &mut Rng::new(seed));
        assert_eq!(trace(1), trace(1));
        assert_ne!(trace(1), trace(2));
        assert!(trace(1).is_sorted() && trace(1)[0] >= 1 && trace(1).iter().all(|&ms| ms <= 5_000));
    }

    #[test]
    fn every_preset_has_a_name_and_unknown_names_have_none() {
        assert!(PRESETS.iter().all(|name| CellularModel::preset(name).is_some()));
        assert_eq!(CellularModel::preset("5g"), None);
    }

    #[test]
    fn a_trace_is_never_empty() {
        let model = CellularModel { mean_rate: 1.0, ..CellularModel::preset("umts-driving").unwrap() };
        assert_eq!(model.synthesise(Duration::from_millis(20), &mut Rng::new(1)), [20]);
    }

    #[test]
    fn the_scale_gives_the_capped_rates_the_wanted_mean() {
        let model = CellularModel { mean_rate: 1.0, max_rate: 1.5, ..CellularModel::preset("umts-driving").unwrap() };
        // 1 and 3 times the scale: 0.5 and 1.5 have the mean 1, and the cap takes nothing.
        let scale = model.scale(&[1.0, 3.0]);
        assert!((scale - 0.5).abs() < 2e-6, "{scale}");
        // 1 and 9 times the scale: 0.5 and, instead of 4.5, the cap.
        let scale = model.scale(&[1.0, 9.0]);
        assert!((scale - 0.5).abs() < 2e-6, "{scale}");
        assert_eq!(model.scale(&[0.5, 1.5]), 1.0, "what has the mean already stays as it is");
        assert_eq!(model.scale(&[0.0, 0.0]), 1.0, "no scale helps an outage");
    }

    #[test]
    fn a_trace_within_an_outage_has_no_opportunity_but_the_one_that_it_must_have() {
        let verizon = CellularModel::preset("lte-verizon").unwrap();
        let dark = CellularModel { outages_per_second: f64::INFINITY, outage_seconds: 1e9, ..verizon };
        assert_eq!(dark.synthesise(Duration::from_millis(500), &mut Rng::new(1)), [500]);
    }

    #[test]
    fn poisson_numbers_have_equal_mean_and_variance() {
        let mut rng = Rng::new(4);
        let counts: Vec<f64> = (0..200_000).map(|_| f64::from(poisson(2.5, &mut rng))).collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / counts.len() as f64;
        assert!((mean - 2.5).abs() < 0.02 && (variance - 2.5).abs() < 0.04);
    }
}
