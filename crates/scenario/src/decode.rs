//! Decodes a tree into the structs of the file format with serde, and finds as many errors as it can.
//!
//! Serde stops at the first error. The decoder notes it, takes the entry it is about out of the tree, and starts again,
//! so that the next error shows. A table from which the decoder took something out is not blamed for it.

use crate::error::{Problem, Problems};
use crate::key_path::{KeyPath, Step};
use crate::tree::{Entry, Node, Span, Value, huge};
use dumbbell_parameters::Refusal;
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use std::fmt;

/// Decodes `tree`; `None` when that found problems.
pub(crate) fn decode<T: DeserializeOwned>(tree: &Node, problems: &mut Problems) -> Option<T> {
    let mut tree = tree.clone();
    let mut found = false;
    let mut removed: Vec<KeyPath> = Vec::new();
    for _ in 0..Problems::MAX {
        let error = match T::deserialize(NodeDeserializer(&tree)) {
            Ok(value) => return (!found).then_some(value),
            Err(error) => error,
        };
        found = true;
        let path = error.path();
        let is_follow_up = removed.iter().any(|taken| taken.parent().as_ref() == Some(&path));
        if !is_follow_up {
            problems.push(error.into_problem(&path));
        }
        if !tree.remove(&path) {
            break;
        }
        removed.push(path);
    }
    None
}

/// What serde found, where. Every function that reads a type hands it on, and a pointer takes the least code for that.
#[derive(Debug)]
struct Error(Box<Finding>);

#[derive(Debug)]
struct Finding {
    message: String,
    help: Option<String>,
    /// Innermost step first.
    steps: Vec<Step>,
    located: bool,
    span: Option<Span>,
}

impl Error {
    fn new(message: String, help: Option<String>) -> Error {
        Error(Box::new(Finding { message, help, steps: Vec::new(), located: false, span: None }))
    }

    /// What is wrong with an integer beyond 64 bits, which shows as the float that stands for it.
    fn of_huge(mut self, digits: &str) -> Error {
        self.0.message = self.0.message.replace(&format!("`{}`", huge(digits)), &format!("`{digits}`"));
        self.0.help = self.0.help.or_else(|| Some(format!("a whole number is at most {} (2^63 - 1)", i64::MAX)));
        self
    }

    /// The innermost place that sees an error is where it happened.
    fn locate(mut self, span: &Option<Span>) -> Error {
        if !self.0.located {
            self.0.span.clone_from(span);
            self.0.located = true;
        }
        self
    }

    fn within(mut self, step: Step) -> Error {
        self.0.steps.push(step);
        self
    }

    fn in_element(self, index: usize, node: &Node) -> Error {
        self.locate(&node.span).within(Step::Index(index))
    }

    fn in_entry(self, entry: &Entry, span: &Option<Span>) -> Error {
        self.locate(span).within(Step::Key(entry.key.clone()))
    }

    fn path(&self) -> KeyPath {
        KeyPath(self.0.steps.iter().rev().cloned().collect())
    }

    fn into_problem(self, path: &KeyPath) -> Problem {
        let Finding { message, help, span, .. } = *self.0;
        let one_bracket = path.0.len() == 1 && message == "read a table, but this must be a list";
        let help = if one_bracket { Some(format!("write it with two brackets, [[{path}]]")) } else { help };
        Problem { key: path.to_string(), span, message, help }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::new(refusal.message, refusal.help)
    }
}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Error {
        Refusal::custom(message).into()
    }

    fn invalid_type(read: de::Unexpected<'_>, expected: &dyn de::Expected) -> Error {
        Refusal::invalid_type(read, expected).into()
    }

    fn invalid_value(read: de::Unexpected<'_>, expected: &dyn de::Expected) -> Error {
        Refusal::invalid_value(read, expected).into()
    }

    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Error {
        Refusal::invalid_length(length, expected).into()
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Error {
        Refusal::unknown_field(field, expected).into()
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Error {
        Refusal::unknown_variant(variant, expected).into()
    }

    fn missing_field(field: &'static str) -> Error {
        Refusal::missing_field(field).into()
    }
}

struct NodeDeserializer<'a>(&'a Node);

impl<'de> Deserializer<'de> for NodeDeserializer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let result = match &self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Integer(i) => visitor.visit_i64(*i),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Huge(digits) => visitor.visit_f64(huge(digits)).map_err(|e: Error| e.of_huge(digits)),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(list) => visitor.visit_seq(Elements { rest: list.iter().enumerate() }),
            Value::Table(entries) => visitor.visit_map(Entries { rest: entries.iter(), current: None }),
        };
        result.map_err(|e| e.locate(&self.0.span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let result = match &self.0.value {
            Value::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            other => Err(Error::new(
                format!("read {}, but this must be a text in quotes", other.kind()),
                Some(format!("allowed: {}", variants.join(", "))),
            )),
        };
        result.map_err(|e| e.locate(&self.0.span))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Elements<'a> {
    rest: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'de> de::SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some((index, node)) = self.rest.next() else { return Ok(None) };
        match seed.deserialize(NodeDeserializer(node)) {
            Ok(element) => Ok(Some(element)),
            Err(error) => Err(error.in_element(index, node)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Entries<'a> {
    rest: std::slice::Iter<'a, Entry>,
    current: Option<&'a Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.current = self.rest.next();
        let Some(entry) = self.current else { return Ok(None) };
        match seed.deserialize(StrDeserializer::<Error>::new(&entry.key)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(error.in_entry(entry, &entry.key_span)),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let Some(entry) = self.current else { return Err(de::Error::custom("a value without a key")) };
        match seed.deserialize(NodeDeserializer(&entry.node)) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.in_entry(entry, &entry.node.span)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Duration;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
        whole: Option<Whole>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "Sides")]
    struct Whole;

    #[derive(Debug, Deserialize)]
    struct Sides {
        left: Option<u32>,
        right: Option<u32>,
    }

    impl TryFrom<Sides> for Whole {
        type Error = &'static str;

        fn try_from(sides: Sides) -> Result<Whole, &'static str> {
            sides.left.or(sides.right).map(|_| Whole).ok_or("needs one of `left` and `right`")
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        span: Option<Duration>,
        count: Option<u32>,
    }

    fn problems(text: &str) -> Vec<(String, String)> {
        let mut problems = Problems::default();
        let tree = Node::from_toml(text, 0, &mut problems);
        assert!(decode::<Outer>(&tree, &mut problems).is_none());
        let sources = crate::error::Sources::new("test", Some(text));
        problems
            .into_result(&sources)
            .unwrap_err()
            .errors()
            .iter()
            .map(|e| (e.key.clone(), e.message.clone()))
            .collect()
    }

    #[test]
    fn all_errors_of_a_file_are_found_with_their_keys() {
        let found = problems("inner = {span = \"1m\", cuont = 1}\n[[list]]\ncount = -1\n[[list]]\nspan = true\n");
        let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["inner.span", "inner.cuont", "list[0].count", "list[1].span"]);
        assert!(found[2].1.contains("read `-1`, but this must be a whole number from 0"));
        assert!(found[3].1.contains("read `true`, but this must be a duration"));
    }

    #[test]
    fn an_integer_beyond_64_bits_is_shown_as_it_is_written_with_the_bound() {
        #[derive(Debug, Deserialize)]
        struct Numbers {
            whole: Option<u64>,
            number: Option<f64>,
        }
        let mut problems = Problems::default();
        let text = "whole = 9223372036854775808\nnumber = 9223372036854775808";
        let tree = Node::from_toml(text, 0, &mut problems);
        assert!(decode::<Numbers>(&tree, &mut problems).is_none());
        let sources = crate::error::Sources::new("test", Some(text));
        let errors = problems.into_result(&sources).unwrap_err().to_string();
        let read = "read `9223372036854775808`, but this must be a whole number, 0 or more";
        assert!(errors.contains(read) && errors.contains("help: a whole number is at most 9223372036854775807"));
        // Where any number may stand it is one.
        let mut problems = Problems::default();
        let number = Node::from_toml("number = 9223372036854775808", 0, &mut problems);
        let numbers: Numbers = decode(&number, &mut problems).unwrap();
        assert_eq!((numbers.whole, numbers.number), (None, Some(9_223_372_036_854_775_808.0)));
        let json = Node::from_json(&serde_json::json!({ "whole": u64::MAX }));
        let mut problems = Problems::default();
        assert!(decode::<Numbers>(&json, &mut problems).is_none());
        let errors = problems.into_result(&crate::error::Sources::new("test", None)).unwrap_err().to_string();
        assert!(errors.contains("read `18446744073709551615`"), "{errors}");
    }

    #[test]
    fn a_table_is_not_blamed_for_what_is_wrong_inside() {
        let found = problems("[whole]\nleft = -1\n");
        assert_eq!(found.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["whole.left"]);
        let found = problems("[whole]\n");
        assert_eq!(found, [("whole".to_owned(), "needs one of `left` and `right`".to_owned())]);
    }

    #[test]
    fn a_valid_tree_decodes() {
        let mut problems = Problems::default();
        let tree =
            Node::from_toml("inner = {span = \"1s\"}\nlist = [{count = 2}]\nwhole = {right = 1}", 0, &mut problems);
        let outer: Outer = decode(&tree, &mut problems).unwrap();
        assert_eq!(outer.inner.unwrap().span, Some(Duration::from_secs(1)));
        assert_eq!(outer.list.unwrap()[0].count, Some(2));
        assert!(outer.whole.is_some());
    }
}
