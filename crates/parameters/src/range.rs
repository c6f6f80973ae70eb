//! Ranges: which values a parameter can have, and which of a table are beyond.

use crate::declaration::{Parameter, lookup};
use crate::problem::Problem;
use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The values that a parameter can have.
#[derive(Clone, Debug, Default)]
pub struct Range {
    quantity: Quantity,
    min: Option<Bound>,
    /// Whether the lower bound itself is excluded.
    is_open: bool,
    max: Option<Bound>,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
enum Bound {
    /// A value, and how it is written.
    Value(f64, String),
    /// The value of another parameter.
    Parameter(String),
}

/// What kind of value is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quantity {
    #[default]
    Number,
    Time,
    Rate,
    Bytes,
    Ratio,
}

impl Quantity {
    /// The value in base units; `None` for what is no such quantity.
    fn magnitude(self, value: &Value) -> Option<f64> {
        let Value::String(text) = value else { return value.as_f64() };
        match self {
            Quantity::Number => None,
            Quantity::Time => text.parse::<Duration>().ok().map(|span| span.as_nanos() as f64),
            Quantity::Rate => text.parse::<Rate>().ok().map(|rate| rate.as_bits_per_sec() as f64),
            Quantity::Bytes => text.parse::<Bytes>().ok().map(|bytes| bytes.as_u64() as f64),
            Quantity::Ratio => text.parse::<Ratio>().ok().map(Ratio::as_f64),
        }
    }
}

impl Range {
    /// The range of a property of a JSON Schema, which refers to `target`.
    pub(crate) fn declared(property: &Value, target: &Value) -> Range {
        let reference = target["x-quantity"].as_str();
        let quantity = match reference {
            Some("time") => Quantity::Time,
            Some("rate") => Quantity::Rate,
            Some("bytes") => Quantity::Bytes,
            Some("ratio") => Quantity::Ratio,
            _ => Quantity::Number,
        };
        let bound = |names: [&str; 2]| {
            let value = names.iter().find_map(|name| property.get(*name))?;
            Some(match (quantity.magnitude(value), value) {
                (Some(magnitude), Value::String(text)) => Bound::Value(magnitude, text.clone()),
                (Some(magnitude), other) => Bound::Value(magnitude, other.to_string()),
                (None, other) => Bound::Parameter(other.as_str().unwrap_or_default().to_owned()),
            })
        };
        let above = bound(["x-above", "exclusiveMinimum"]);
        // What counts something is at least 0 as it is.
        let is_natural = property["format"].as_str().is_some_and(|format| format.starts_with("uint"));
        let zero = Bound::Value(0.0, "0".to_owned());
        Range {
            quantity,
            is_open: above.is_some(),
            min: above.or_else(|| bound(["x-at-least", "minimum"]).filter(|min| !is_natural || *min != zero)),
            max: bound(["x-at-most", "maximum"]),
        }
    }

    /// Whether every value of the type is allowed.
    pub fn is_everything(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    /// The parameters that are bounds of this one.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        [&self.min, &self.max].into_iter().flatten().filter_map(|bound| match bound {
            Bound::Parameter(key) => Some(key.as_str()),
            Bound::Value(..) => None,
        })
    }

    /// What is wrong with `value`, if anything: the bound that it violates, in words.
    fn refuses(&self, value: &Value, values: &Value) -> Option<String> {
        let read = self.quantity.magnitude(value)?;
        let resolve = |bound: &Bound| match bound {
            Bound::Value(value, text) => Some((*value, text.clone(), None)),
            Bound::Parameter(key) => {
                let other = lookup(key, values)?;
                Some((self.quantity.magnitude(other)?, format!("`{key}`"), Some(in_words(other))))
            }
        };
        let is_low =
            self.min.as_ref().and_then(resolve).filter(|(min, ..)| read < *min || self.is_open && read <= *min);
        let is_high = self.max.as_ref().and_then(resolve).filter(|(max, ..)| read > *max);
        let (_, key, violated) = is_low.clone().or_else(|| is_high.clone())?;
        match violated {
            // Against another parameter its value matters.
            Some(value) if is_low.is_some() => Some(format!("at least {key}, which is {value}")),
            Some(value) => Some(format!("at most {key}, which is {value}")),
            None => Some(self.to_string()),
        }
    }
}

impl fmt::Display for Range {
    /// `more than 0s, at most 1h`; nothing when everything is allowed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bound: &Bound| match bound {
            Bound::Value(_, text) => text.clone(),
            Bound::Parameter(key) => format!("`{key}`"),
        };
        match (self.min.as_ref().map(text), self.max.as_ref().map(text)) {
            (None, None) => Ok(()),
            (Some(min), None) if self.is_open => write!(f, "more than {min}"),
            (Some(min), None) => write!(f, "at least {min}"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (Some(min), Some(max)) if self.is_open => write!(f, "more than {min}, at most {max}"),
            (Some(min), Some(max)) => write!(f, "{min} to {max}"),
        }
    }
}

/// What of `values`, a table of all `parameters`, is out of the declared ranges.
pub fn check(parameters: &[Parameter], values: &impl Serialize) -> Vec<Problem> {
    check_values(parameters, &serde_json::to_value(values).unwrap_or_default())
}

fn check_values(parameters: &[Parameter], values: &Value) -> Vec<Problem> {
    let problem = |parameter: &Parameter| {
        let value = parameter.value(values)?;
        let allowed = parameter.range.refuses(value, values)?;
        let key = &parameter.key;
        Some(Problem::value(key, format!("`{key}` is {}", in_words(value)), format!("allowed: {allowed}")))
    };
    parameters.iter().filter_map(problem).collect()
}

fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared;
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(Serialize, JsonSchema)]
    struct Bounds {
        #[schemars(range(min = 1))]
        count: u32,
        #[schemars(range(max = 32))]
        shift: u32,
        #[schemars(range(min = 0, max = 9))]
        gain: f64,
        #[schemars(extend("x-above" = "0s", "x-at-most" = "longest"))]
        shortest: Duration,
        #[schemars(extend("x-at-most" = "1h"))]
        longest: Duration,
        #[schemars(extend("x-above" = "0%", "x-at-most" = "100%"))]
        share: Option<Ratio>,
        #[schemars(extend("x-above" = "0bit", "x-at-most" = "100tbit"))]
        rate: Rate,
    }

    fn problems(changed: Value) -> Vec<String> {
        let mut values = json!({
            "count": 1, "shift": 32, "gain": 0.0, "shortest": "1ns", "longest": "1h", "share": "100%", "rate": "100tbit",
        });
        values.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        check(&declared::<Bounds>(), &values).into_iter().map(|p| format!("{}; {}", p.message, p.help)).collect()
    }

    #[test]
    fn the_ends_of_a_range_belong_to_it_unless_it_is_open() {
        assert!(problems(json!({})).is_empty());
        assert_eq!(problems(json!({ "count": 0 })), ["`count` is 0; allowed: at least 1"]);
        assert_eq!(problems(json!({ "shift": 33 })), ["`shift` is 33; allowed: at most 32"]);
        assert_eq!(problems(json!({ "gain": -1.0 })), ["`gain` is -1.0; allowed: 0 to 9"]);
        assert_eq!(problems(json!({ "share": "0%" })), ["`share` is 0%; allowed: more than 0%, at most 100%"]);
        assert_eq!(problems(json!({ "rate": "0bit" })), ["`rate` is 0bit; allowed: more than 0bit, at most 100tbit"]);
        assert!(problems(json!({ "share": null })).is_empty(), "what is not given is not out of range");
    }

    #[test]
    fn a_parameter_can_be_the_bound_of_another() {
        let found = problems(json!({ "shortest": "2s", "longest": "1s" }));
        assert_eq!(found, ["`shortest` is 2s; allowed: at most `longest`, which is 1s"]);
        let found = problems(json!({ "shortest": "0s" }));
        assert_eq!(found, ["`shortest` is 0s; allowed: more than 0s, at most `longest`"]);
    }
}
