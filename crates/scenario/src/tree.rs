//! The file as a tree of values that remember where they were written.
//!
//! TOML, a JSON value and `--set` overrides all become the same tree, so that everything after it (sweeps, decoding,
//! validation) is one code path, and an error can point at the text that caused it.

use crate::error::{Problem, Problems};
use crate::key_path::{KeyPath, Step};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys whose value may be a text instead of a table, and the entry of the table that the text stands for.
pub(crate) const LONG_FORMS: [(&str, &str); 3] = [("cc", "name"), ("queue", "kind"), ("transport", "profile")];

/// Where a value was written. Files have one for every key and value, so they are small: what is beyond 4 GB of a text
/// is said to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    source: u32,
    start: u32,
    end: u32,
}

impl Span {
    /// Bytes of a text, which is given by its index in [`Sources`](crate::error::Sources).
    pub(crate) fn new(source: usize, range: Range<usize>) -> Span {
        let [source, start, end] = [source, range.start, range.end].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Span { source, start, end }
    }

    /// Index of the text in [`Sources`](crate::error::Sources).
    pub(crate) fn source(&self) -> usize {
        self.source as usize
    }

    /// Bytes of the text.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A value and where it was written; values that come from no text have no span.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub span: Option<Span>,
}

/// What a file can hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    /// An integer beyond 64 bits, as it is written: a number where any number may be, too large for all others.
    Huge(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Option<Span>,
    pub node: Node,
}

impl Node {
    /// Parses TOML; every syntax error is reported.
    pub(crate) fn from_toml(text: &str, source: usize, problems: &mut Problems) -> Node {
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let span = error.span().map(|range| Span::new(source, range));
            problems.push(Problem::new("", span, format!("this is not TOML: {}", error.message())));
        }
        let root = Node { value: table_from_toml(table.get_ref(), source), span: None };
        Node { span: Some(Span::new(source, 0..0)), ..root }
    }

    /// The value of an override. Anything that is not a TOML value is a text, so that quotes can be left out.
    pub(crate) fn from_override(text: &str, range: Range<usize>, source: usize) -> Node {
        let span = Some(Span::new(source, range));
        let mut node = match DeValue::parse(text.trim()) {
            Ok(value) => node_from_toml(&value, source),
            Err(_) => Node { value: Value::Text(text.trim().to_owned()), span: None },
        };
        node.move_to(&span);
        node
    }

    /// A tree without spans. Entries that are null count as absent.
    pub(crate) fn from_json(json: &serde_json::Value) -> Node {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(integer) => Value::Integer(integer),
                None if n.is_u64() => Value::Huge(n.to_string()),
                None => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(list) => Value::List(list.iter().map(Node::from_json).collect()),
            serde_json::Value::Object(map) => Value::Table(
                map.iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(key, value)| Entry { key: key.clone(), key_span: None, node: Node::from_json(value) })
                    .collect(),
            ),
        };
        Node { value, span: None }
    }

    /// The tree as JSON, for labels and controller parameters.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(b) => (*b).into(),
            Value::Integer(i) => (*i).into(),
            Value::Float(f) => (*f).into(),
            Value::Huge(digits) => huge(digits).into(),
            Value::Text(text) => text.clone().into(),
            Value::List(list) => list.iter().map(Node::to_json).collect(),
            Value::Table(entries) => entries.iter().map(|e| (e.key.clone(), e.node.to_json())).collect(),
        }
    }

    /// Gives every value of the tree the same span.
    fn move_to(&mut self, span: &Option<Span>) {
        self.span.clone_from(span);
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|node| node.move_to(span)),
            Value::Table(entries) => {
                for entry in entries {
                    entry.key_span.clone_from(span);
                    entry.node.move_to(span);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key),
            _ => None,
        }
    }

    pub(crate) fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        match &mut self.value {
            Value::Table(entries) => entries.iter_mut().find(|e| e.key == key),
            _ => None,
        }
    }

    /// Writes a value in its long form: as a table with this one entry.
    pub(crate) fn lengthen(&mut self, key: &str) {
        let span = self.span.clone();
        let entry = Entry { key: key.to_owned(), key_span: span.clone(), node: self.clone() };
        *self = Node { value: Value::Table(vec![entry]), span };
    }

    /// Takes an entry out of a table.
    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        match &mut self.value {
            Value::Table(entries) => entries.iter().position(|e| e.key == key).map(|position| entries.remove(position)),
            _ => None,
        }
    }

    /// The value at `path`, if there is one.
    pub(crate) fn get(&self, path: &KeyPath) -> Option<&Node> {
        path.0.iter().try_fold(self, |node, step| match (step, &node.value) {
            (Step::Key(key), _) => node.entry(key).map(|e| &e.node),
            (Step::Index(index), Value::List(list)) => list.get(*index),
            _ => None,
        })
    }

    /// Where to point for `path`: its value, or the nearest table around it that was written somewhere.
    pub(crate) fn span_near(&self, path: &KeyPath) -> Option<Span> {
        let mut node = self;
        let mut span = node.span.clone();
        for step in &path.0 {
            let next = match (step, &node.value) {
                (Step::Key(key), _) => node.entry(key).map(|e| &e.node),
                (Step::Index(index), Value::List(list)) => list.get(*index),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
            if node.span.is_some() {
                span.clone_from(&node.span);
            }
        }
        span
    }

    /// Where the key of `path` is written, or what [`span_near`](Node::span_near) says.
    pub(crate) fn key_span(&self, path: &KeyPath) -> Option<Span> {
        let key_span = match (path.parent(), path.0.last()) {
            (Some(parent), Some(Step::Key(key))) => {
                self.get(&parent).and_then(|table| table.entry(key)).and_then(|e| e.key_span.clone())
            }
            _ => None,
        };
        key_span.or_else(|| self.span_near(path))
    }

    /// Removes the table entry at `path`, or the one that holds it when `path` ends in a list. False when there is
    /// none.
    pub(crate) fn remove(&mut self, path: &KeyPath) -> bool {
        let Some(last) = path.0.iter().rposition(|step| matches!(step, Step::Key(_))) else { return false };
        let Step::Key(key) = &path.0[last] else { return false };
        let mut node = self;
        for step in &path.0[..last] {
            let next = match (step, &mut node.value) {
                (Step::Key(key), Value::Table(entries)) => {
                    entries.iter_mut().find(|e| e.key == *key).map(|e| &mut e.node)
                }
                (Step::Index(index), Value::List(list)) => list.get_mut(*index),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => return false,
            }
        }
        node.take(key).is_some()
    }

    /// Puts `new` at `path`, creating tables on the way; `key_span` is where the path was written.
    pub(crate) fn set(&mut self, path: &[Step], new: &Node, key_span: &Option<Span>) -> Result<(), String> {
        let Some((step, rest)) = path.split_first() else {
            *self = new.clone();
            return Ok(());
        };
        match (step, &mut self.value) {
            (Step::Key(key), Value::Table(entries)) => {
                let position = entries.iter().position(|e| e.key == *key).unwrap_or_else(|| {
                    let node = Node { value: Value::Table(Vec::new()), span: key_span.clone() };
                    entries.push(Entry { key: key.clone(), key_span: key_span.clone(), node });
                    entries.len() - 1
                });
                let entry = &mut entries[position];
                if rest.is_empty() {
                    entry.key_span.clone_from(key_span);
                }
                // `cc = "bbr"` is short for `cc = { name = "bbr" }`: a parameter may be set in either.
                let long_form = LONG_FORMS.iter().find(|(short, _)| short == key);
                if let (Value::Text(_), Some((_, name)), [Step::Key(_), ..]) = (&entry.node.value, long_form, rest) {
                    entry.node.lengthen(name);
                }
                entry.node.set(rest, new, key_span)
            }
            (Step::Index(index), Value::List(list)) => {
                let length = list.len();
                let element = list.get_mut(*index).ok_or_else(|| match length {
                    0 => "the list is empty".to_owned(),
                    n => format!("there is no element {index}: the list has {n}, counted from 0"),
                })?;
                element.set(rest, new, key_span)
            }
            (Step::Each, Value::List(list)) => {
                if list.is_empty() {
                    return Err("the list is empty".to_owned());
                }
                list.iter_mut().try_for_each(|element| element.set(rest, new, key_span))
            }
            (Step::Key(key), other) => {
                Err(format!("`{key}` would be an entry of a table, but there is {}", other.kind()))
            }
            (_, Value::Table(entries)) if entries.is_empty() => Err("there is no list of that name".to_owned()),
            (_, other) => Err(format!("an index needs a list, but there is {}", other.kind())),
        }
    }
}

impl Value {
    /// The kind of value in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) | Value::Huge(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

fn node_from_toml(value: &Spanned<DeValue<'_>>, source: usize) -> Node {
    let span = Some(Span::new(source, value.span()));
    let value = match value.get_ref() {
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Integer(i) => integer_from_toml(i.as_str(), i.radix()),
        DeValue::Float(f) => Value::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::String(text) => Value::Text(text.to_string()),
        // No key takes a date; as a text it is refused with what is allowed there.
        DeValue::Datetime(date) => Value::Text(date.to_string()),
        DeValue::Array(list) => Value::List(list.iter().map(|v| node_from_toml(v, source)).collect()),
        DeValue::Table(table) => table_from_toml(table, source),
    };
    Node { value, span }
}

fn integer_from_toml(digits: &str, radix: u32) -> Value {
    match i64::from_str_radix(digits, radix) {
        Ok(integer) => Value::Integer(integer),
        Err(_) if radix == 10 => Value::Huge(digits.to_owned()),
        Err(_) => Value::Float(f64::INFINITY),
    }
}

/// The number of these digits, as near as a float comes.
pub(crate) fn huge(digits: &str) -> f64 {
    digits.parse().unwrap_or(f64::INFINITY)
}

fn table_from_toml(table: &DeTable<'_>, source: usize) -> Value {
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Entry {
        key: key.get_ref().to_string(),
        key_span: Some(Span::new(source, key.span())),
        node: node_from_toml(value, source),
    };
    Value::Table(table.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Node {
        let mut problems = Problems::default();
        let node = Node::from_toml(text, 0, &mut problems);
        assert!(problems.is_empty());
        node
    }

    fn path(text: &str) -> KeyPath {
        KeyPath::parse(text).unwrap()
    }

    #[test]
    fn values_remember_where_they_were_written() {
        let text = "[path]\nrate = \"10mbit\"\n[[flows]]\ncc = \"bbr\"\n";
        let tree = tree(text);
        let at = |name: &str| &text[tree.span_near(&path(name)).unwrap().range()];
        assert_eq!(at("path.rate"), "\"10mbit\"");
        assert_eq!(at("flows[0].cc"), "\"bbr\"");
        assert_eq!(at("path.rtt"), at("path"));
        assert_eq!(&text[tree.key_span(&path("path.rate")).unwrap().range()], "rate");
    }

    #[test]
    fn a_set_creates_tables_and_reaches_every_element() {
        let mut tree = tree("flows = [{cc = \"bbr\"}, {cc = \"reno\"}]");
        let value = Node::from_override("1%", 0..2, 1);
        tree.set(&path("path.loss").0, &value, &None).unwrap();
        assert_eq!(tree.get(&path("path.loss")).unwrap().value, Value::Text("1%".into()));
        tree.set(&path("flows[*].start").0, &value, &None).unwrap();
        assert!(tree.get(&path("flows[1].start")).is_some());
        assert!(tree.set(&path("flows[2].start").0, &value, &None).unwrap_err().contains("the list has 2"));
        assert!(tree.set(&path("flows.start").0, &value, &None).unwrap_err().contains("there is a list"));
    }

    #[test]
    fn a_parameter_can_be_set_on_an_algorithm_named_by_text() {
        let mut tree = tree("flows = [{cc = \"cubic\"}]");
        tree.set(&path("flows[0].cc.hystart").0, &Node::from_override("false", 0..5, 1), &None).unwrap();
        assert_eq!(
            tree.get(&path("flows[0].cc")).unwrap().to_json(),
            serde_json::json!({"name": "cubic", "hystart": false})
        );
    }

    #[test]
    fn a_parameter_can_be_set_on_endpoints_and_queues_named_by_text() {
        let mut tree = tree("transport = \"dqc\"\n[path]\nqueue = \"codel\"");
        tree.set(&path("transport.quic.initial_burst").0, &Node::from_override("4", 0..1, 1), &None).unwrap();
        tree.set(&path("path.queue.ecn").0, &Node::from_override("true", 0..4, 1), &None).unwrap();
        assert_eq!(
            tree.to_json(),
            serde_json::json!({
                "transport": {"profile": "dqc", "quic": {"initial_burst": 4}},
                "path": {"queue": {"kind": "codel", "ecn": true}},
            })
        );
    }

    #[test]
    fn overrides_need_no_quotes() {
        let value = |text: &str| Node::from_override(text, 0..0, 0).value;
        assert_eq!(value("10mbit"), Value::Text("10mbit".into()));
        assert_eq!(value("3"), Value::Integer(3));
        assert_eq!(value("true"), Value::Bool(true));
        assert_eq!(value("\"3\""), Value::Text("3".into()));
        assert!(matches!(value("[\"a\", \"b\"]"), Value::List(list) if list.len() == 2));
    }

    #[test]
    fn every_syntax_error_is_reported() {
        let mut problems = Problems::default();
        Node::from_toml("a = \nb = 1\nc = [\n", 0, &mut problems);
        assert!(problems.len() >= 2);
    }
}
