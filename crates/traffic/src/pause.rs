//! Times between what happens.

use crate::schema::distribution;
use crate::size::normal;
use dumbbell_units::{Duration, ParseError, Rng};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The longest mean time.
const MAX: Duration = Duration::from_secs(3_600);

/// How long something takes: a time, or a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wait {
    /// Always the same.
    Fixed(Duration),
    /// Any time from `min` to `max`.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: Duration,
    },
    /// The logarithm has a normal distribution.
    Lognormal {
        /// Mean of the time.
        mean: Duration,
        /// Standard deviation of its natural logarithm.
        sigma: f64,
    },
}

impl Wait {
    /// No time at all.
    pub const NONE: Wait = Wait::Fixed(Duration::ZERO);

    /// The next time; `rng` is the only source of randomness.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Wait::Fixed(time) => time,
            Wait::Uniform { min, max } => min + from_seconds((max - min).as_secs_f64() * rng.uniform()),
            Wait::Exponential { mean } => exponential(mean, rng),
            Wait::Lognormal { mean, sigma } => {
                let mu = libm::log(mean.as_secs_f64()) - sigma * sigma / 2.0;
                from_seconds(libm::exp(mu + sigma * normal(rng)))
            }
        }
    }

    /// What of the values cannot be meant, and what would be right.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        let wrong = |what: String, right: String| Err((what, format!("allowed: {right}")));
        match *self {
            Wait::Fixed(time) | Wait::Exponential { mean: time } | Wait::Lognormal { mean: time, .. } if time > MAX => {
                wrong(format!("a time of {time}"), format!("at most {MAX}"))
            }
            Wait::Uniform { min, max } if min > max || max > MAX => {
                wrong(format!("times from {min} to {max}"), format!("`min` at most `max`, that at most {MAX}"))
            }
            Wait::Lognormal { sigma, .. } if !(0.0..=10.0).contains(&sigma) => {
                wrong(format!("a standard deviation of {sigma}"), "0 to 10".to_owned())
            }
            Wait::Exponential { mean } | Wait::Lognormal { mean, .. } if mean == Duration::ZERO => {
                wrong("a mean of no time".to_owned(), "more than 0s".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// For a report.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Wait::Fixed(time) => time.in_words(),
            Wait::Uniform { min, max } => format!("{} to {}", min.in_words(), max.in_words()),
            Wait::Exponential { mean } => format!("{} on average (exponential)", mean.in_words()),
            Wait::Lognormal { mean, sigma } => format!("{} on average (lognormal, sigma {sigma})", mean.in_words()),
        }
    }
}

/// The table form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<f64>,
}

impl Table {
    /// The times, if the keys are those of their kind.
    fn wait(self) -> Result<Wait, String> {
        let Table { kind, min, max, mean, sigma } = self;
        match (kind.as_str(), min, max, mean, sigma) {
            ("uniform", Some(min), Some(max), None, None) => Ok(Wait::Uniform { min, max }),
            ("exponential", None, None, Some(mean), None) => Ok(Wait::Exponential { mean }),
            ("lognormal", None, None, Some(mean), Some(sigma)) => Ok(Wait::Lognormal { mean, sigma }),
            ("uniform", ..) => Err("times of kind \"uniform\" have `min` and `max`, and nothing else".to_owned()),
            ("exponential", ..) => Err("times of kind \"exponential\" have a `mean`, and nothing else".to_owned()),
            ("lognormal", ..) => {
                Err("times of kind \"lognormal\" have `mean` and `sigma`, and nothing else".to_owned())
            }
            (other, ..) => Err(format!(
                "unknown kind of times {other:?}; allowed: \"uniform\", \"exponential\", \"lognormal\", or a time such as \"1ms\""
            )),
        }
    }
}

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let empty = |kind: &str| Table { kind: kind.to_owned(), min: None, max: None, mean: None, sigma: None };
        match *self {
            Wait::Fixed(time) => return time.serialize(serializer),
            Wait::Uniform { min, max } => Table { min: Some(min), max: Some(max), ..empty("uniform") },
            Wait::Exponential { mean } => Table { mean: Some(mean), ..empty("exponential") },
            Wait::Lognormal { mean, sigma } => Table { mean: Some(mean), sigma: Some(sigma), ..empty("lognormal") },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wait, D::Error> {
        struct Forms;

        impl<'de> Visitor<'de> for Forms {
            type Value = Wait;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"1ms\", or a table such as { kind = \"exponential\", mean = \"1ms\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Wait, E> {
                text.parse().map(Wait::Fixed).map_err(|error: ParseError| E::custom(error))
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Wait, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(table))?.wait().map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for Wait {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Wait".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Duration>();
        let sigma = serde_json::json!({ "type": "number", "minimum": 0, "maximum": 10 });
        let kind = |name: &str, keys: &[&str]| {
            let schema_of = |key: &str| if key == "sigma" { sigma.clone() } else { Value::from(time.clone()) };
            let properties = keys.iter().map(|key| ((*key).to_owned(), schema_of(key))).collect();
            distribution(name, keys, Value::Object(properties))
        };
        let tables =
            [kind("uniform", &["min", "max"]), kind("exponential", &["mean"]), kind("lognormal", &["mean", "sigma"])];
        json_schema!({
            "description": "A time, or a distribution of times.",
            "examples": ["1ms"],
            "anyOf": std::iter::once(time.clone()).chain(tables).collect::<Vec<_>>(),
        })
    }
}

/// A time of an exponential distribution.
pub(crate) fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    from_seconds(exponential_seconds(mean.as_secs_f64(), rng))
}

/// Seconds of an exponential distribution with this mean.
pub(crate) fn exponential_seconds(mean: f64, rng: &mut Rng) -> f64 {
    -mean * libm::log(1.0 - rng.uniform())
}

/// So many seconds, rounded down; at most the longest time that there is.
pub(crate) fn from_seconds(seconds: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast of a time")]
    let nanos = (seconds * 1e9) as u64;
    Duration::from_nanos(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn waits() -> [Wait; 4] {
        [
            Wait::Fixed(MS),
            Wait::Uniform { min: Duration::from_micros(500), max: Duration::from_micros(1_500) },
            Wait::Exponential { mean: MS },
            Wait::Lognormal { mean: MS, sigma: 1.0 },
        ]
    }

    #[test]
    fn the_mean_of_many_draws_is_the_mean() {
        for wait in waits() {
            let mut rng = Rng::new(5);
            let sum: f64 = (0..200_000).map(|_| wait.draw(&mut rng).as_secs_f64()).sum();
            assert!((sum / 2e5 / 1e-3 - 1.0).abs() < 0.02, "{wait:?}: {}", sum / 2e5);
        }
    }

    #[test]
    fn times_come_back_as_they_were_written() {
        for wait in waits() {
            let json = serde_json::to_value(wait).unwrap();
            assert_eq!(serde_json::from_value::<Wait>(json).unwrap(), wait);
            assert_eq!(wait.check(), Ok(()));
        }
        assert_eq!(serde_json::from_str::<Wait>("\"1ms\"").unwrap(), Wait::Fixed(MS));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for wrong in [
            Wait::Fixed(MAX + MS),
            Wait::Uniform { min: MS, max: Duration::ZERO },
            Wait::Exponential { mean: Duration::ZERO },
            Wait::Lognormal { mean: MS, sigma: f64::NAN },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        for (text, message) in [
            ("{\"kind\": \"gamma\"}", "unknown kind of times"),
            ("{\"kind\": \"uniform\", \"min\": \"1ms\"}", "have `min` and `max`"),
            ("7", "a time such as"),
        ] {
            let error = serde_json::from_str::<Wait>(text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
