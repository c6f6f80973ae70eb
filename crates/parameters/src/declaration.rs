//! Declarations as data: what the JSON Schema of a struct says about each of its fields.

use crate::range::{Range, lookup};
use schemars::JsonSchema;
use serde_json::Value;

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name, with dots where it stands in a table of its own: `quic.granularity`.
    pub key: String,
    /// What it is for.
    pub meaning: String,
    /// Whether it has to be given.
    pub is_required: bool,
    /// Its default; `None` when that follows from something else.
    pub default: Option<Value>,
    /// The default in words, where it follows from something else.
    pub default_in_words: Option<String>,
    /// A value that it could have.
    pub example: Option<Value>,
    /// Unit of a plain number.
    pub unit: Option<String>,
    /// The values it can have.
    pub range: Range,
    /// The words it can be, when it is one of several.
    pub choices: Vec<Choice>,
    /// The parameter without which it has no meaning.
    pub with: Option<String>,
    /// One of the two has to be given, this parameter or that one.
    pub unless: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
}

/// One of the values that a parameter can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word, or another value, as it is written in a file.
    pub name: String,
    /// What it means.
    pub meaning: String,
}

/// The parameters that `P` declares, those of tables in it included, in the order of its fields.
pub fn declared<P: JsonSchema>() -> Vec<Parameter> {
    declared_by(&schemars::schema_for!(P).into())
}

/// The parameters that a schema declares.
pub(crate) fn declared_by(schema: &Value) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    collect("", schema, schema, &mut parameters);
    parameters
}

fn collect(prefix: &str, table: &Value, root: &Value, found: &mut Vec<Parameter>) {
    let Some(properties) = table["properties"].as_object() else { return };
    let required: Vec<&str> = table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in properties {
        let key = format!("{prefix}{name}");
        let target = target(property, root);
        if target["properties"].is_object() {
            collect(&format!("{key}."), target, root, found);
        } else {
            found.push(parameter(key, property, root, required.contains(&name.as_str())));
        }
    }
}

fn parameter(key: String, property: &Value, root: &Value, is_required: bool) -> Parameter {
    let resolve = |form| target(form, root);
    let target = target(property, root);
    let text = |name: &str| property.get(name).and_then(Value::as_str).map(str::to_owned);
    Parameter {
        key,
        meaning: one_line(property["description"].as_str().or(target["description"].as_str()).unwrap_or_default()),
        is_required,
        default: property.get("default").filter(|default| !default.is_null()).cloned(),
        default_in_words: text("x-default"),
        example: [property, target].iter().find_map(|schema| schema.get("examples")?.get(0).cloned()),
        unit: text("x-unit"),
        range: Range::declared(property, target, &resolve),
        choices: choices(target),
        with: text("x-with"),
        unless: text("x-unless"),
        source: text("x-source"),
    }
}

/// What a property refers to, or it itself.
fn target<'a>(property: &'a Value, root: &'a Value) -> &'a Value {
    let optional = property["anyOf"].as_array().into_iter().flatten().find(|form| form.get("$ref").is_some());
    let reference = optional.unwrap_or(property)["$ref"].as_str();
    let name = reference.and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.and_then(|name| root["$defs"].get(name)).unwrap_or(property)
}

fn choices(target: &Value) -> Vec<Choice> {
    let named = |name: &Value, meaning: &Value| Choice {
        name: name.to_string(),
        meaning: one_line(meaning.as_str().unwrap_or_default()),
    };
    let forms = target["oneOf"].as_array().into_iter().flatten();
    let described = forms.filter_map(|form| form.get("const").map(|name| named(name, &form["description"])));
    let plain = target["enum"].as_array().into_iter().flatten().map(|name| named(name, &Value::Null));
    described.chain(plain).collect()
}

/// Lines of a comment are broken where the source was.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

impl Parameter {
    /// The value of this parameter among `values`, which are a table of all.
    pub fn value<'a>(&self, values: &'a Value) -> Option<&'a Value> {
        lookup(&self.key, values)
    }

    /// The default as it is written in a file: `"5ms"`, `10`, or words.
    pub fn default_as_written(&self) -> String {
        match (&self.default_in_words, &self.default, &self.unless) {
            (Some(words), ..) => words.clone(),
            (None, Some(value), _) => format!("`{value}`"),
            (None, None, Some(other)) => format!("required, unless `{other}` is given"),
            (None, None, None) if self.is_required => "required".to_owned(),
            (None, None, None) => "none".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::{Duration, Ratio};
    use serde::{Deserialize, Serialize};

    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Outer {
        /// First of
        /// two lines.
        #[schemars(extend("x-source" = "RFC 0"))]
        span: Duration,
        /// From the link.
        #[schemars(extend("x-default" = "a third of `max`"))]
        share: Option<Ratio>,
        shape: Shape,
        inner: Inner,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Inner {
        /// Deeper.
        #[schemars(range(min = 1, max = 9), extend("x-unit" = "packets"))]
        count: u32,
    }

    impl Default for Inner {
        fn default() -> Inner {
            Inner { count: 3 }
        }
    }

    /// Which shape.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Shape {
        /// Without corners.
        #[default]
        Round,
        /// With four.
        FourSquare,
    }

    #[test]
    fn a_struct_says_everything_about_its_parameters() {
        let all = declared::<Outer>();
        let keys: Vec<&str> = all.iter().map(|p| p.key.as_str()).collect();
        assert_eq!(keys, ["span", "share", "shape", "inner.count"]);
        let [span, share, shape, count] = &all[..] else { panic!() };
        assert_eq!((span.meaning.as_str(), span.source.as_deref()), ("First of two lines.", Some("RFC 0")));
        assert_eq!(span.default_as_written(), "`\"0s\"`");
        assert_eq!((share.default.clone(), share.default_as_written().as_str()), (None, "a third of `max`"));
        let names: Vec<_> = shape.choices.iter().map(|c| (c.name.as_str(), c.meaning.as_str())).collect();
        assert_eq!(names, [("\"round\"", "Without corners."), ("\"four-square\"", "With four.")]);
        assert_eq!(shape.meaning, "Which shape.");
        assert_eq!((count.range.to_string().as_str(), count.unit.as_deref()), ("1 to 9", Some("packets")));
        assert!(count.is_required, "there is no default for the field by itself");
    }

    #[test]
    fn values_are_found_by_their_key() {
        let all = declared::<Outer>();
        let values = serde_json::to_value(Outer::default()).unwrap();
        assert_eq!(all[3].value(&values), Some(&Value::from(3)));
    }
}
