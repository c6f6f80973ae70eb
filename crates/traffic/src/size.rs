//! How much is transferred: distributions of sizes.

use crate::schema::distribution;
use dumbbell_units::{Bytes, ParseError, Rng};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest transfer.
const MAX_BYTES: f64 = 1e15;

/// A distribution of sizes, in bytes of payload. No size is below one byte.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Size {
    /// Always the same.
    Fixed {
        /// It.
        bytes: Bytes,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: Bytes,
    },
    /// Pareto: P(size > x) = (smallest / x)^shape, with smallest = mean (shape − 1) / shape.
    Pareto {
        /// Mean, before anything is cut off.
        mean: Bytes,
        /// Exponent of the tail, above 1. The smaller it is, the more bytes are in few large flows.
        shape: f64,
        /// What is larger is cut down to this.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Bytes>,
    },
    /// The logarithm has a normal distribution.
    Lognormal {
        /// Mean of the size, before anything is cut off.
        mean: Bytes,
        /// Standard deviation of its natural logarithm.
        sigma: f64,
        /// What is larger is cut down to this.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Bytes>,
    },
    /// A measured distribution.
    Empirical {
        /// Sizes and the share of flows that are at most so large, rising up to 1; in between sizes are uniform.
        points: Vec<(Bytes, f64)>,
    },
}

/// The table form, as it is read: an internally tagged enum would forget which key is wrong.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: String,
    bytes: Option<Bytes>,
    mean: Option<Bytes>,
    shape: Option<f64>,
    max: Option<Bytes>,
    sigma: Option<f64>,
    points: Option<Vec<(Bytes, f64)>>,
}

impl Table {
    /// The size, if the keys are those of its kind.
    fn size(self) -> Result<Size, String> {
        let Table { kind, bytes, mean, shape, max, sigma, points } = self;
        match (kind.as_str(), bytes, mean, shape, max, sigma, points) {
            ("fixed", Some(bytes), None, None, None, None, None) => Ok(Size::Fixed { bytes }),
            ("exponential", None, Some(mean), None, None, None, None) => Ok(Size::Exponential { mean }),
            ("pareto", None, Some(mean), Some(shape), max, None, None) => Ok(Size::Pareto { mean, shape, max }),
            ("lognormal", None, Some(mean), None, max, Some(sigma), None) => Ok(Size::Lognormal { mean, sigma, max }),
            ("empirical", None, None, None, None, None, Some(points)) => Ok(Size::Empirical { points }),
            ("fixed", ..) => Err("sizes of kind \"fixed\" have `bytes`, and nothing else".to_owned()),
            ("exponential", ..) => Err("sizes of kind \"exponential\" have a `mean`, and nothing else".to_owned()),
            ("pareto", ..) => Err("sizes of kind \"pareto\" have `mean`, `shape` and perhaps `max`".to_owned()),
            ("lognormal", ..) => Err("sizes of kind \"lognormal\" have `mean`, `sigma` and perhaps `max`".to_owned()),
            ("empirical", ..) => Err("sizes of kind \"empirical\" have `points`, and nothing else".to_owned()),
            (other, ..) => Err(format!(
                "unknown kind of sizes {other:?}; allowed: \"fixed\", \"exponential\", \"pareto\", \"lognormal\", \"empirical\""
            )),
        }
    }
}

impl Size {
    /// The next size; `rng` is the only source of randomness.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let bytes = match self {
            Size::Fixed { bytes } => return bytes.as_u64(),
            Size::Exponential { mean } => -as_f64(*mean) * libm::log(1.0 - rng.uniform()),
            Size::Pareto { mean, shape, max } => {
                let size = smallest(*mean, *shape) * libm::pow(1.0 - rng.uniform(), -1.0 / shape);
                max.map_or(size, |max| size.min(as_f64(max)))
            }
            Size::Lognormal { mean, sigma, max } => {
                let mu = libm::log(as_f64(*mean)) - sigma * sigma / 2.0;
                let size = libm::exp(mu + sigma * normal(rng));
                max.map_or(size, |max| size.min(as_f64(max)))
            }
            Size::Empirical { points } => inverse(points, rng.uniform()),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 10^15")]
        let bytes = libm::round(bytes).clamp(1.0, MAX_BYTES) as u64;
        bytes
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Size::Fixed { bytes } => as_f64(*bytes),
            Size::Exponential { mean }
            | Size::Lognormal { mean, max: None, .. }
            | Size::Pareto { mean, max: None, .. } => as_f64(*mean),
            Size::Lognormal { mean, sigma, max: Some(max) } => {
                // What is below the cut, and the cut as often as something is above it.
                let above =
                    (libm::log(as_f64(*max) / as_f64(*mean)) + sigma * sigma / 2.0) / sigma.max(f64::MIN_POSITIVE);
                as_f64(*mean) * normal_below(above - sigma) + as_f64(*max) * normal_below(-above)
            }
            Size::Pareto { mean, shape, max: Some(max) } => {
                let ratio = smallest(*mean, *shape) / as_f64(*max);
                as_f64(*mean) - as_f64(*max) * libm::pow(ratio, *shape) / (shape - 1.0)
            }
            Size::Empirical { points } => {
                let first = points.first().map_or(0.0, |(bytes, share)| as_f64(*bytes) * share);
                let between = points.windows(2).map(|pair| {
                    let [(low, below), (high, up_to)] = pair else { return 0.0 };
                    (up_to - below) * (as_f64(*low) + as_f64(*high)) / 2.0
                });
                first + between.sum::<f64>()
            }
        }
    }

    /// What of the values cannot be meant, and what would be right.
    ///
    /// # Errors
    /// A value is out of its range.
    pub fn check(&self) -> Result<(), (String, String)> {
        let wrong = |what: &str, right: &str| Err((what.to_owned(), format!("allowed: {right}")));
        let is_size = |bytes: &Bytes| *bytes > Bytes::ZERO && as_f64(*bytes) <= MAX_BYTES;
        match self {
            Size::Fixed { bytes: mean } | Size::Exponential { mean } if !is_size(mean) => {
                wrong(&format!("a size of {mean}"), "1 byte to 1 PB")
            }
            Size::Pareto { mean, .. } | Size::Lognormal { mean, .. } if !is_size(mean) => {
                wrong(&format!("a mean size of {mean}"), "1 byte to 1 PB")
            }
            Size::Pareto { shape, .. } if !(*shape > 1.0 && *shape <= 100.0) => {
                wrong(&format!("a shape of {shape}: at 1 and below there is no mean"), "above 1, at most 100")
            }
            Size::Pareto { mean, shape, max: Some(max) } if as_f64(*max) < smallest(*mean, *shape) => {
                let smallest = smallest(*mean, *shape);
                wrong(&format!("the largest size of {max} is below the smallest"), &format!("{smallest:.0}B or more"))
            }
            Size::Lognormal { max: Some(max), .. } if !is_size(max) => {
                wrong(&format!("a largest size of {max}"), "1 byte to 1 PB")
            }
            Size::Lognormal { sigma, .. } if !(*sigma >= 0.0 && *sigma <= 10.0) => {
                wrong(&format!("a sigma of {sigma}"), "0 to 10")
            }
            Size::Empirical { points } => check_points(points),
            _ => Ok(()),
        }
    }

    /// For a report.
    pub fn in_words(&self) -> String {
        match self {
            Size::Fixed { bytes } => bytes.in_words(),
            Size::Exponential { mean } => format!("exponential with mean {}", mean.in_words()),
            Size::Pareto { mean, shape, max } => {
                format!("Pareto with mean {} and shape {shape}{}", mean.in_words(), cut(max.as_ref()))
            }
            Size::Lognormal { mean, sigma, max } => {
                format!("lognormal with mean {} and sigma {sigma}{}", mean.in_words(), cut(max.as_ref()))
            }
            Size::Empirical { points } => {
                format!("of a distribution of {} points with mean {:.0} bytes", points.len(), self.mean())
            }
        }
    }
}

fn as_f64(bytes: Bytes) -> f64 {
    bytes.as_u64() as f64
}

/// The smallest size of a Pareto distribution.
fn smallest(mean: Bytes, shape: f64) -> f64 {
    as_f64(mean) * (shape - 1.0) / shape
}

/// The largest size for a report.
fn cut(max: Option<&Bytes>) -> String {
    max.map_or_else(String::new, |max| format!(", at most {}", max.in_words()))
}

/// The share of standard normal variates below `x`.
fn normal_below(x: f64) -> f64 {
    libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0
}

/// A standard normal variate (Box and Muller, 1958).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let (radius, angle) = (1.0 - rng.uniform(), rng.uniform());
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(2.0 * std::f64::consts::PI * angle)
}

/// The size below which this share of all sizes is.
fn inverse(points: &[(Bytes, f64)], share: f64) -> f64 {
    let above = points.partition_point(|(_, up_to)| *up_to <= share);
    let Some((high, up_to)) = points.get(above) else { return points.last().map_or(1.0, |(bytes, _)| as_f64(*bytes)) };
    match above.checked_sub(1).and_then(|below| points.get(below)) {
        None => as_f64(*high),
        Some((low, below)) => as_f64(*low) + (as_f64(*high) - as_f64(*low)) * (share - below) / (up_to - below),
    }
}

fn check_points(points: &[(Bytes, f64)]) -> Result<(), (String, String)> {
    let right = "allowed: sizes above 0 and shares that rise, the last share 1".to_owned();
    let rises = points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
    let is_share = points.iter().all(|(bytes, share)| *bytes > Bytes::ZERO && (0.0..=1.0).contains(share));
    match points.last() {
        None => Err(("the distribution has no points".to_owned(), right)),
        Some((_, last)) if rises && is_share && (last - 1.0).abs() < 1e-9 => Ok(()),
        Some(_) => Err(("the points are no distribution".to_owned(), right)),
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a size such as \"30kB\", or a table such as { kind = \"pareto\", mean = \"30kB\", shape = 1.3 }",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                let bytes = text.parse().map_err(|error: ParseError| E::custom(error))?;
                Ok(Size::Fixed { bytes })
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Size, E> {
                let bytes = u64::try_from(bytes).map_err(|_| E::invalid_value(Unexpected::Signed(bytes), &self))?;
                self.visit_u64(bytes)
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size::Fixed { bytes: Bytes::new(bytes) })
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Size, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(table))?.size().map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bytes = generator.subschema_for::<Bytes>();
        json_schema!({
            "description": "A size, or a distribution of sizes.",
            "examples": ["30kB"],
            "anyOf": [
                bytes,
                distribution("fixed", &["bytes"], serde_json::json!({ "bytes": bytes })),
                distribution("exponential", &["mean"], serde_json::json!({ "mean": bytes })),
                distribution("pareto", &["mean", "shape"],
                     serde_json::json!({ "mean": bytes, "shape": { "type": "number", "exclusiveMinimum": 1 }, "max": bytes })),
                distribution("lognormal", &["mean", "sigma"],
                     serde_json::json!({ "mean": bytes, "sigma": { "type": "number", "minimum": 0 }, "max": bytes })),
                distribution("empirical", &["points"],
                     serde_json::json!({ "points": { "type": "array", "items": { "type": "array" } } })),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> Vec<Size> {
        let kb = |n: u64| Bytes::new(n * 1_000);
        vec![
            Size::Fixed { bytes: kb(30) },
            Size::Exponential { mean: kb(30) },
            Size::Pareto { mean: kb(30), shape: 2.5, max: None },
            Size::Pareto { mean: kb(30), shape: 1.3, max: Some(kb(1_000)) },
            Size::Lognormal { mean: kb(30), sigma: 1.0, max: None },
            Size::Lognormal { mean: kb(30), sigma: 2.0, max: Some(kb(100)) },
            Size::Empirical { points: vec![(kb(1), 0.2), (kb(10), 0.5), (kb(100), 1.0)] },
        ]
    }

    #[test]
    fn the_mean_of_many_draws_is_the_mean() {
        for size in sizes() {
            let mut rng = Rng::new(7);
            let draws = 400_000;
            let sum: f64 = (0..draws).map(|_| size.draw(&mut rng) as f64).sum();
            let (mean, expected) = (sum / f64::from(draws), size.mean());
            assert!((mean / expected - 1.0).abs() < 0.02, "{size:?}: {mean} for {expected}");
        }
    }

    #[test]
    fn the_tail_of_a_pareto_distribution_falls_with_its_shape() {
        let size = Size::Pareto { mean: Bytes::new(30_000), shape: 1.3, max: None };
        let smallest = 30_000.0 * 0.3 / 1.3;
        let mut rng = Rng::new(3);
        let draws: Vec<u64> = (0..200_000).map(|_| size.draw(&mut rng)).collect();
        for factor in [2.0, 10.0, 100.0_f64] {
            let above = draws.iter().filter(|&&bytes| bytes as f64 > smallest * factor).count();
            let expected = 200_000.0 * factor.powf(-1.3);
            assert!((above as f64 - expected).abs() < 4.0 * expected.sqrt(), "{factor}: {above} for {expected}");
        }
    }

    #[test]
    fn sizes_come_back_as_they_were_written() {
        for size in sizes() {
            let json = serde_json::to_value(&size).unwrap();
            assert_eq!(serde_json::from_value::<Size>(json).unwrap(), size);
            assert_eq!(size.check(), Ok(()));
        }
        assert_eq!(serde_json::from_str::<Size>("\"2kB\"").unwrap(), Size::Fixed { bytes: Bytes::new(2_000) });
        assert_eq!(serde_json::from_str::<Size>("1500").unwrap(), Size::Fixed { bytes: Bytes::new(1_500) });
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let kb = |n: u64| Bytes::new(n * 1_000);
        for wrong in [
            Size::Fixed { bytes: Bytes::ZERO },
            Size::Pareto { mean: kb(30), shape: 1.0, max: None },
            Size::Pareto { mean: kb(30), shape: 1.3, max: Some(kb(1)) },
            Size::Lognormal { mean: kb(30), sigma: f64::NAN, max: None },
            Size::Lognormal { mean: kb(30), sigma: 1.0, max: Some(Bytes::ZERO) },
            Size::Empirical { points: vec![] },
            Size::Empirical { points: vec![(kb(2), 0.5), (kb(1), 1.0)] },
            Size::Empirical { points: vec![(kb(2), 0.5), (kb(3), 0.9)] },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        let unknown = serde_json::from_str::<Size>("{\"kind\": \"zipf\"}").unwrap_err();
        assert!(unknown.to_string().contains("unknown kind of sizes"), "{unknown}");
    }
}
