//! Values that are short for a table: `queue = "codel"` for `queue = { kind = "codel" }`.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A value that can be written as a text or as a table, and perhaps as a number or a list.
pub(crate) trait Shorthand: Sized {
    /// What is allowed, for error messages: "a buffer such as ...".
    const EXPECTING: &'static str;
    /// The long form.
    type Table: DeserializeOwned;
    /// The list form.
    type List: DeserializeOwned;

    /// The text form as a regular expression, for editors; empty for any text.
    fn pattern() -> String {
        String::new()
    }

    fn from_text(text: &str) -> Result<Self, String>;
    fn from_table(table: Self::Table) -> Result<Self, String>;

    /// Numbers are refused unless a type says what they mean.
    fn from_number(number: f64) -> Result<Self, String> {
        Err(format!("read `{number}`, but this must be {}", Self::EXPECTING))
    }

    /// Whole numbers are numbers unless a type reads them otherwise.
    fn from_whole(number: i64) -> Result<Self, String> {
        Self::from_number(number as f64)
    }

    /// Lists are refused unless a type says what they mean.
    fn from_list(_: Self::List) -> Result<Self, String> {
        Err(format!("read a list, but this must be {}", Self::EXPECTING))
    }
}

/// Deserialises any of the forms.
pub(crate) fn deserialize<'de, T: Shorthand, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Forms<T>(PhantomData<T>);

    impl<'de, T: Shorthand> Visitor<'de> for Forms<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTING)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            T::from_text(text).map_err(E::custom)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            T::from_whole(number).map_err(E::custom)
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
            T::from_number(number).map_err(E::custom)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
            let list = serde::Deserialize::deserialize(SeqAccessDeserializer::new(list))?;
            T::from_list(list).map_err(A::Error::custom)
        }

        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
            let table = serde::Deserialize::deserialize(MapAccessDeserializer::new(table))?;
            T::from_table(table).map_err(A::Error::custom)
        }
    }

    deserializer.deserialize_any(Forms(PhantomData))
}

/// For types without a list form.
#[derive(serde::Deserialize)]
pub(crate) struct NoList(
    #[allow(dead_code, reason = "whatever the list holds, it is refused")] Vec<serde::de::IgnoredAny>,
);

/// The schema of a value with a text form, which follows `pattern`, and other forms.
pub(crate) fn schema(expecting: &str, pattern: String, examples: &[&str], others: Vec<Schema>) -> Schema {
    let mut text = json_schema!({ "type": "string", "examples": examples });
    if !pattern.is_empty() {
        text.insert("pattern".to_owned(), pattern.into());
    }
    let mut forms = vec![text];
    forms.extend(others);
    json_schema!({ "description": expecting, "anyOf": forms })
}

/// `Deserialize` and `JsonSchema` of a [`Shorthand`]; the closure lists the schemas of the forms besides the text.
macro_rules! shorthand {
    ($type:ident, [$($example:literal),*], $others:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                $crate::file::shorthand::deserialize(deserializer)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                use $crate::file::shorthand::{Shorthand, schema};
                let others: fn(&mut schemars::SchemaGenerator) -> Vec<schemars::Schema> = $others;
                schema($type::EXPECTING, $type::pattern(), &[$($example),*], others(generator))
            }
        }
    };
}
pub(crate) use shorthand;

/// The schema of a table form.
pub(crate) fn table<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Vec<Schema> {
    vec![generator.subschema_for::<T>()]
}
