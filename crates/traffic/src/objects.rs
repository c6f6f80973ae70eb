//! How many objects a page has.

use dumbbell_units::Rng;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The most objects of a page.
const MAX_OBJECTS: u32 = 100_000;

/// A number, or a distribution of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a number such as 20, or a table such as { scale = 2, shape = 1.1, max = 53 }"
)]
pub enum Objects {
    /// Always the same.
    Fixed(u32),
    /// P(number > n) = (1 + n / scale)^−shape, rounded down and cut at `max`: a Pareto distribution that begins at
    /// zero.
    Lomax {
        /// Half of the pages have more than about this, for shapes near 1.
        scale: f64,
        /// Exponent of the tail.
        shape: f64,
        /// What is larger is cut down to this.
        max: u32,
    },
}

impl Objects {
    /// The next number; `rng` is the only source of randomness.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Objects::Fixed(number) => *number,
            Objects::Lomax { scale, shape, max } => {
                let number = scale * (libm::pow(1.0 - rng.uniform(), -1.0 / shape) - 1.0);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to a u32")]
                let number = number.min(f64::from(*max)) as u32;
                number
            }
        }
    }

    /// What of the values cannot be meant, and what would be right.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        let wrong = |what: String, right: &str| Err((what, format!("allowed: {right}")));
        match self {
            Objects::Fixed(number) | Objects::Lomax { max: number, .. } if *number > MAX_OBJECTS => {
                wrong(format!("{number} objects on a page"), "at most 100 000")
            }
            Objects::Lomax { scale, .. } if !(*scale > 0.0 && *scale <= 1e5) => {
                wrong(format!("a scale of {scale}"), "above 0, at most 100 000")
            }
            Objects::Lomax { shape, .. } if !(*shape > 0.0 && *shape <= 100.0) => {
                wrong(format!("a shape of {shape}"), "above 0, at most 100")
            }
            _ => Ok(()),
        }
    }

    /// For a report.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Objects::Fixed(1) => "an object".to_owned(),
            Objects::Fixed(number) => format!("{number} objects"),
            Objects::Lomax { max, .. } => format!("up to {max} objects"),
        }
    }
}

impl JsonSchema for Objects {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Objects".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let positive = |most: f64| serde_json::json!({ "type": "number", "exclusiveMinimum": 0, "maximum": most });
        let number = serde_json::json!({ "type": "integer", "minimum": 0, "maximum": MAX_OBJECTS });
        json_schema!({
            "description": "A number, or a distribution of numbers.",
            "examples": [20],
            "anyOf": [
                number,
                {
                    "type": "object",
                    "required": ["scale", "shape", "max"],
                    "properties": { "scale": positive(1e5), "shape": positive(100.0), "max": number },
                    "additionalProperties": false,
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_falls_with_the_shape_and_ends_at_the_maximum() {
        let objects = Objects::Lomax { scale: 2.0, shape: 1.1, max: 53 };
        let mut rng = Rng::new(8);
        let drawn: Vec<u32> = (0..200_000).map(|_| objects.draw(&mut rng)).collect();
        for n in [1, 5, 20, 53_u32] {
            let share = drawn.iter().filter(|&&number| number >= n).count() as f64 / 2e5;
            let expected = (1.0 + f64::from(n) / 2.0).powf(-1.1);
            assert!((share - expected).abs() < 0.004, "{n}: {share} for {expected}");
        }
        assert_eq!(drawn.iter().max(), Some(&53));
    }

    #[test]
    fn a_number_is_a_number_and_wrong_tables_are_refused() {
        assert_eq!(serde_json::from_str::<Objects>("20").unwrap(), Objects::Fixed(20));
        let table = r#"{"scale": 2, "shape": 1.1, "max": 53}"#;
        assert_eq!(serde_json::from_str::<Objects>(table).unwrap(), Objects::Lomax { scale: 2.0, shape: 1.1, max: 53 });
        let error = serde_json::from_str::<Objects>(r#"{"mean": 3}"#).unwrap_err().to_string();
        assert!(error.contains("a number such as 20"), "{error}");
        for wrong in [Objects::Fixed(200_000), Objects::Lomax { scale: 0.0, shape: 1.1, max: 3 }] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
