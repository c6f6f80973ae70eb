//! Reading a table of parameters, with errors in words that name the key.

use crate::problem::{Place, Problem, suggest};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// Reads a table of parameters.
///
/// # Errors
/// Everything in it that is no parameter or has no value of its type.
pub fn read<P: DeserializeOwned>(table: &Map<String, Value>) -> Result<P, Vec<Problem>> {
    let mut parameters = None;
    let mut read = |table: &Map<String, Value>| P::deserialize(Table(table)).map(|read| parameters = Some(read));
    let problems = problems(table, &mut read);
    parameters.filter(|_| problems.is_empty()).ok_or(problems)
}

/// Reads a table as parameters of one type, for which alone it is compiled.
type Reader<'r> = dyn FnMut(&Map<String, Value>) -> Result<(), Refusal> + 'r;

/// Everything that `read` refuses.
fn problems(table: &Map<String, Value>, read: &mut Reader<'_>) -> Vec<Problem> {
    let mut table = Cow::Borrowed(table);
    let mut problems: Vec<Problem> = Vec::new();
    // Serde stops at the first error. What it is about is taken out, so that the next one shows.
    for _ in 0..=table.len() {
        let Err(Refusal { message, help, key, is_about_key, missing }) = read(&table) else { break };
        let help = help.unwrap_or_default();
        let Some(key) = key else {
            // What is wrong or misspelt is not missing besides.
            let is_explained = |problem: &Problem| problem.place == Place::Key || Some(problem.key.as_str()) == missing;
            match missing {
                Some(_) if problems.iter().any(is_explained) => {}
                Some(missing) => problems.push(Problem::missing(missing, message, help)),
                None => problems.push(Problem::whole(message, help)),
            }
            break;
        };
        table.to_mut().shift_remove(&key);
        problems.push(if is_about_key { Problem::key(key, message, help) } else { Problem::value(key, message, help) });
    }
    problems
}

/// Why serde could not read something, in the words of this program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// What was read and what is wrong with it.
    pub message: String,
    /// What would be right, where that is known.
    pub help: Option<String>,
    /// The parameter that is required and not there.
    pub missing: Option<&'static str>,
    key: Option<String>,
    is_about_key: bool,
}

impl Refusal {
    fn new(message: String) -> Refusal {
        Refusal { message, ..Refusal::default() }
    }

    /// The outermost key is the one to name.
    fn within(self, key: &str, is_about_key: bool) -> Refusal {
        Refusal { is_about_key: is_about_key && self.key.is_none(), key: Some(key.to_owned()), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl de::Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Refusal {
        Refusal::new(message.to_string())
    }

    fn invalid_type(read: de::Unexpected<'_>, expected: &dyn de::Expected) -> Refusal {
        Refusal::new(format!("read {}, but this must be {}", read_in_words(read), expected_in_words(expected)))
    }

    fn invalid_value(read: de::Unexpected<'_>, expected: &dyn de::Expected) -> Refusal {
        Refusal::invalid_type(read, expected)
    }

    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Refusal {
        Refusal::new(format!("read a list of {length}, but this must be {}", expected_in_words(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Refusal {
        let help = suggest(field, "allowed here", expected.iter().copied());
        Refusal { help: Some(help), ..Refusal::new(format!("unknown key `{field}`")) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Refusal {
        let help = suggest(variant, "allowed", expected.iter().copied());
        Refusal { help: Some(help), ..Refusal::new(format!("`{variant}` is not allowed here")) }
    }

    fn missing_field(field: &'static str) -> Refusal {
        let help = Some("this table cannot do without it".to_owned());
        Refusal { missing: Some(field), help, ..Refusal::new(format!("the key `{field}` is missing")) }
    }
}

fn read_in_words(read: de::Unexpected<'_>) -> String {
    match read {
        de::Unexpected::Bool(b) => format!("`{b}`"),
        de::Unexpected::Unsigned(n) => format!("`{n}`"),
        de::Unexpected::Signed(n) => format!("`{n}`"),
        // With its point, which is what is wrong with it where a whole number should be.
        de::Unexpected::Float(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("`{x:.1}`"),
        de::Unexpected::Float(x) => format!("`{x}`"),
        de::Unexpected::Str(text) => format!("{text:?}"),
        de::Unexpected::Unit | de::Unexpected::Option => "nothing".to_owned(),
        de::Unexpected::Seq => "a list".to_owned(),
        de::Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

fn expected_in_words(expected: &dyn de::Expected) -> String {
    match expected.to_string().as_str() {
        "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        // Steps of a schedule, and ranges of packets and bytes.
        "a tuple of size 2" => {
            "a list of two, such as [\"0s\", \"10mbit\"] for a step or [17, 17] for packets".to_owned()
        }
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}

/// A table, read with errors that are [`Refusal`]s. Nothing is compiled for what could stand in its place.
struct Table<'a>(&'a Map<String, Value>);

impl<'de> Deserializer<'de> for Table<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_map(Entries { rest: self.0.iter(), current: None })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A value of a table.
struct Json<'a>(&'a Value);

impl<'de> Deserializer<'de> for Json<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(integer), _) => visitor.visit_i64(integer),
                (None, Some(integer)) => visitor.visit_u64(integer),
                (None, None) => visitor.visit_f64(n.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_str(text),
            Value::Array(list) => visitor.visit_seq(Elements(list.iter())),
            Value::Object(table) => Table(table).deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.0 {
            Value::String(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            other => Err(Refusal {
                help: Some(format!("allowed: {}", variants.join(", "))),
                ..Refusal::new(format!("read `{other}`, but this must be a text in quotes"))
            }),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Elements<'a>(std::slice::Iter<'a, Value>);

impl<'de> de::SeqAccess<'de> for Elements<'_> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refusal> {
        self.0.next().map(|value| seed.deserialize(Json(value))).transpose()
    }
}

struct Entries<'a> {
    rest: serde_json::map::Iter<'a>,
    current: Option<(&'a String, &'a Value)>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refusal> {
        self.current = self.rest.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        let read = seed.deserialize(key.as_str().into_deserializer());
        read.map(Some).map_err(|refusal: Refusal| refusal.within(key, true))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Refusal> {
        let Some((key, value)) = self.current else { return Err(de::Error::custom("a value without a key")) };
        seed.deserialize(Json(value)).map_err(|refusal| refusal.within(key, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Duration;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        needed: u32,
        #[serde(default)]
        span: Duration,
        #[serde(default)]
        shape: Option<Shape>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Shape {
        Round,
        Square,
    }

    fn problems(table: Value) -> Vec<(String, Place, String)> {
        let problems = read::<Pair>(table.as_object().unwrap()).unwrap_err();
        problems.into_iter().map(|p| (p.key, p.place, format!("{}; {}", p.message, p.help))).collect()
    }

    #[test]
    fn a_right_table_is_read() {
        let table = json!({ "needed": 3, "shape": "round" });
        let pair = Pair { needed: 3, span: Duration::ZERO, shape: Some(Shape::Round) };
        assert_eq!(read::<Pair>(table.as_object().unwrap()), Ok(pair));
    }

    #[test]
    fn everything_that_is_wrong_is_found_and_named() {
        let found = problems(json!({ "needed": -1, "spam": 1, "shape": "oval", "span": true }));
        let keys: Vec<_> = found.iter().map(|(key, place, _)| (key.as_str(), *place)).collect();
        let values = Place::Value;
        assert_eq!(keys, [("needed", values), ("spam", Place::Key), ("shape", values), ("span", values)]);
        assert!(found[0].2.contains("read `-1`, but this must be a whole number"), "{found:?}");
        assert!(found[1].2.contains("unknown key `spam`; did you mean `span`?"), "{found:?}");
        assert!(found[2].2.contains("`oval` is not allowed here; allowed: round, square"), "{found:?}");
        assert!(found[3].2.contains("this must be a duration"), "{found:?}");
    }

    #[test]
    fn a_number_is_told_as_it_was_written() {
        for (written, told) in [(json!(3.0), "`3.0`"), (json!(0.5), "`0.5`"), (json!(-2), "`-2`")] {
            let found = problems(json!({ "needed": written }));
            assert!(found[0].2.starts_with(&format!("read {told}, but")), "{found:?}");
        }
    }

    #[test]
    fn a_required_parameter_is_missed_once() {
        let found = problems(json!({ "span": "1s" }));
        assert_eq!((found[0].0.as_str(), found[0].1), ("needed", Place::Missing));
        assert!(found[0].2.starts_with("the key `needed` is missing"), "{found:?}");
        assert_eq!(problems(json!({ "needed": "x" })).len(), 1, "what is wrong is not missing besides");
        assert_eq!(problems(json!({ "neded": 3 })).len(), 1, "nor is what is misspelt");
    }
}
