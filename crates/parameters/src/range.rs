//! Ranges: which values a parameter can have.

use dumbbell_units::{Bytes, Duration, Rate, Ratio};
use serde_json::{Map, Value};
use std::fmt;

/// The values that a parameter can have.
#[derive(Clone, Debug, Default)]
pub struct Range {
    quantity: Quantity,
    min: Option<End>,
    max: Option<End>,
    list: Option<Box<List>>,
}

/// An end of a range.
#[derive(Clone, Debug)]
struct End {
    bound: Bound,
    /// Whether the bound itself is outside of the range.
    is_open: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Bound {
    /// A value, and how it is written.
    Value(f64, String),
    /// The value of another parameter.
    Parameter(String),
}

/// Which lists a parameter can be.
#[derive(Clone, Debug)]
struct List {
    /// The least and the greatest number of elements.
    least: Option<u64>,
    most: Option<u64>,
    /// What each element can be.
    each: Range,
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
    /// The range of a property of a JSON Schema, which refers to `target`. `resolve` finds what the elements of a list
    /// refer to.
    pub(crate) fn declared<'a>(property: &Value, target: &'a Value, resolve: &dyn Fn(&'a Value) -> &'a Value) -> Range {
        let quantity = match target["x-quantity"].as_str() {
            Some("time") => Quantity::Time,
            Some("rate") => Quantity::Rate,
            Some("bytes") => Quantity::Bytes,
            Some("ratio") => Quantity::Ratio,
            _ => Quantity::Number,
        };
        let end = |open: [&str; 2], closed: [&str; 2]| {
            let named = |names: [&str; 2]| names.iter().find_map(|name| property.get(*name));
            let (value, is_open) =
                named(open).map(|value| (value, true)).or(named(closed).map(|value| (value, false)))?;
            let bound = match (quantity.magnitude(value), value) {
                (Some(magnitude), Value::String(text)) => Bound::Value(magnitude, text.clone()),
                (Some(magnitude), other) => Bound::Value(magnitude, number(other)),
                (None, other) => Bound::Parameter(other.as_str().unwrap_or_default().to_owned()),
            };
            Some(End { bound, is_open })
        };
        // What counts something is at least 0 as it is.
        let is_natural = property["format"].as_str().is_some_and(|format| format.starts_with("uint"));
        let is_said = |end: &End| !is_natural || end.is_open || end.bound != Bound::Value(0.0, "0".to_owned());
        Range {
            quantity,
            min: end(["x-above", "exclusiveMinimum"], ["x-at-least", "minimum"]).filter(is_said),
            max: end(["x-below", "exclusiveMaximum"], ["x-at-most", "maximum"]),
            list: List::declared(target, resolve).map(Box::new),
        }
    }

    /// Whether every value of the type is allowed.
    pub fn is_everything(&self) -> bool {
        self.min.is_none() && self.max.is_none() && self.list.is_none()
    }

    /// The parameters that are bounds of this one.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        [&self.min, &self.max].into_iter().flatten().filter_map(|end| match &end.bound {
            Bound::Parameter(key) => Some(key.as_str()),
            Bound::Value(..) => None,
        })
    }

    /// What would be right in place of `value`, if that is wrong. Other parameters are looked up in `values`.
    pub(crate) fn refuses(&self, value: &Value, values: &Value) -> Option<String> {
        if let (Some(list), Value::Array(elements)) = (&self.list, value) {
            return list.refuses(elements, values).then(|| self.to_string());
        }
        let read = self.quantity.magnitude(value)?;
        let resolve = |end: &End| match &end.bound {
            Bound::Value(value, _) => Some((*value, None)),
            Bound::Parameter(key) => {
                let other = lookup(key, values)?;
                Some((self.quantity.magnitude(other)?, Some(in_words(other))))
            }
        };
        let violated = |end: &Option<End>, is_min: bool| {
            let end = end.as_ref()?;
            let (bound, other) = resolve(end)?;
            let is_beyond = if is_min { read < bound } else { read > bound };
            // Against another parameter its value matters.
            (is_beyond || end.is_open && read == bound).then(|| match other {
                Some(other) => format!("{}, which is {other}", end.in_words(is_min)),
                None => self.to_string(),
            })
        };
        violated(&self.min, true).or_else(|| violated(&self.max, false))
    }
}

impl End {
    /// "more than 0s", "at most `max`".
    fn in_words(&self, is_min: bool) -> String {
        let words = match (is_min, self.is_open) {
            (true, true) => "more than",
            (true, false) => "at least",
            (false, true) => "less than",
            (false, false) => "at most",
        };
        format!("{words} {}", self.bound)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Value(_, text) => f.write_str(text),
            Bound::Parameter(key) => write!(f, "`{key}`"),
        }
    }
}

impl fmt::Display for Range {
    /// `more than 0s, at most 1h`; nothing when everything is allowed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.min, &self.max) {
            (Some(End { bound: min, is_open: false }), Some(End { bound: max, is_open: false })) => {
                write!(f, "{min} to {max}")
            }
            (min, max) => {
                let ends = [min.as_ref().map(|end| end.in_words(true)), max.as_ref().map(|end| end.in_words(false))];
                f.write_str(&ends.into_iter().flatten().collect::<Vec<_>>().join(", "))?;
                self.list.as_ref().map_or(Ok(()), |list| list.fmt(f))
            }
        }
    }
}

impl List {
    /// What a list declares of its length and its elements, if it is one and declares anything.
    fn declared<'a>(list: &'a Value, resolve: &dyn Fn(&'a Value) -> &'a Value) -> Option<List> {
        let elements = list.get("items").filter(|elements| elements.is_object())?;
        let each = Range::declared(elements, resolve(elements), resolve);
        let [least, most] = ["minItems", "maxItems"].map(|name| list[name].as_u64());
        (least.is_some() || most.is_some() || !each.is_everything()).then_some(List { least, most, each })
    }

    fn refuses(&self, elements: &[Value], values: &Value) -> bool {
        let length = elements.len() as u64;
        self.least.is_some_and(|least| length < least)
            || self.most.is_some_and(|most| length > most)
            || elements.iter().any(|element| self.each.refuses(element, values).is_some())
    }
}

impl fmt::Display for List {
    /// `a list of 3 to 64, each at least 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")?;
        match (self.least, self.most) {
            (None, None) => {}
            (Some(least), None) => write!(f, " of at least {least}")?,
            (None, Some(most)) => write!(f, " of at most {most}")?,
            (Some(least), Some(most)) => write!(f, " of {least} to {most}")?,
        }
        if self.each.is_everything() { Ok(()) } else { write!(f, ", each {}", self.each) }
    }
}

/// A number as people write it: `1000` and not `1000.0`.
fn number(value: &Value) -> String {
    let text = value.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The value under a key with dots.
pub(crate) fn lookup<'a>(key: &str, values: &'a Value) -> Option<&'a Value> {
    key.split('.').try_fold(values, |table, step| table.as_object().and_then(|table: &Map<_, _>| table.get(step)))
}

/// A value as it is written in a file, without the quotes of a text.
pub(crate) fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
