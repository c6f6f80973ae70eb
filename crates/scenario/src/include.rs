//! `include`: an experiment file on top of others.
//!
//! The files that a file includes are read first, in their order, each on top of the one before; the file itself comes
//! last. Tables merge key by key and any other value replaces the one of before, as do the tables of [`VALUES`].

use crate::error::{Problem, Problems, Source, Sources};
use crate::key_path::KeyPath;
use crate::regular;
use crate::tree::{Entry, LONG_FORMS, Node, Value};
use dumbbell_cc::catalog::ORIGINS;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most files of one experiment.
const MAX_FILES: usize = 64;
/// The most bytes of one file.
const MAX_BYTES: u64 = 16 << 20;
/// Keys whose value is one thing, also where it is a table. Entries of two such tables do not belong together.
const VALUES: [&str; 13] = [
    "rate",
    "delay",
    "rtt",
    "buffer",
    "queue",
    "policer",
    "loss",
    "jitter",
    "reorder",
    "late",
    "aggregate",
    "ecn_fault",
    "cc",
];

/// Keys whose texts begin with the name of a file.
const FILES: [&str; 4] = ["trace", ORIGINS[0], ORIGINS[1], ORIGINS[2]];

/// Puts `tree`, the first of `sources`, on top of what it includes, and adds the included files to `sources`.
pub(crate) fn expand(tree: Node, sources: &mut Sources, problems: &mut Problems) -> Node {
    let name = PathBuf::from(sources.texts.first().map(|source| source.name.clone()).unwrap_or_default());
    let tree = Reader { sources, problems, open: Vec::new() }.on_top(tree, &name);
    sources.files.push(0);
    tree
}

struct Reader<'a> {
    sources: &'a mut Sources,
    problems: &'a mut Problems,
    /// The files that are being read: each is included by the one before.
    open: Vec<PathBuf>,
}

impl Reader<'_> {
    /// `tree`, read from the file `name`, on top of what it includes.
    fn on_top(&mut self, mut tree: Node, name: &Path) -> Node {
        let Some(entry) = tree.take("include") else { return tree };
        let names = match &entry.node.value {
            Value::List(list) => list.clone(),
            _ => vec![entry.node.clone()],
        };
        self.open.push(name.to_owned());
        let mut base = Node { value: Value::Table(Vec::new()), span: tree.span.clone() };
        for node in &names {
            match self.file(node, name) {
                Ok(Some(included)) => merge(&mut base, included),
                Ok(None) => {}
                Err((message, help)) => {
                    self.problems.push(Problem::new("include", node.span.clone(), message).help(help));
                }
            }
        }
        self.open.pop();
        merge(&mut base, tree);
        base
    }

    /// The tree of one included file; `None` where its own text is wrong, which is then among the problems.
    fn file(&mut self, node: &Node, includer: &Path) -> Result<Option<Node>, (String, String)> {
        let Value::Text(written) = &node.value else {
            let message = format!("read {}, but this must be the name of a file", node.value.kind());
            return Err((message, "write include = \"base.toml\", or a list of names".to_owned()));
        };
        let folder = includer.parent().unwrap_or(Path::new(""));
        let name = folder.join(written);
        let real = |path: &Path| fs::canonicalize(path).ok();
        if let Some(first) = self.open.iter().position(|open| real(open).is_some() && real(open) == real(&name)) {
            let circle: Vec<String> = self.open[first..].iter().map(|open| format!("`{}`", open.display())).collect();
            let message = format!("`{}` includes itself", name.display());
            return Err((message, format!("the circle is {}", circle.join(", which includes "))));
        }
        if self.sources.texts.len() >= MAX_FILES {
            let message = format!("`{written}` is one file too many");
            return Err((
                message,
                format!("allowed: at most {MAX_FILES} files, each counted as often as it is included"),
            ));
        }
        let text = read(&name).map_err(|reason| {
            let help = "names are relative to the file that includes, or to the working directory without a file";
            (format!("cannot include `{written}`: {reason}"), help.to_owned())
        })?;
        let source = self.sources.texts.len();
        let before = self.problems.len();
        let tree = Node::from_toml(&text, source, self.problems);
        self.sources.texts.push(Source { name: name.to_string_lossy().into_owned(), text: Some(text) });
        if self.problems.len() > before {
            // It may be anybody's file, and no experiment: one of its lines is enough.
            self.problems.truncate(before + 1);
            return Ok(None);
        }
        let mut tree = self.on_top(tree, &name);
        if let Some(folder) = Path::new(written).parent().filter(|folder| !folder.as_os_str().is_empty()) {
            move_files(&mut tree, folder);
        }
        self.sources.files.push(source);
        Ok(Some(tree))
    }
}

/// The text of a regular file.
fn read(path: &Path) -> Result<String, String> {
    let mut text = Vec::new();
    regular::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {} MiB", MAX_BYTES >> 20));
    }
    String::from_utf8(text).map_err(|error| format!("not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
}

/// Puts `top` on top of `base`.
fn merge(base: &mut Node, mut top: Node) {
    for tree in [&mut *base, &mut top] {
        tree.entry_mut("sweep").into_iter().for_each(|entry| flatten(&mut entry.node));
    }
    merge_tables(base, top);
}

fn merge_tables(base: &mut Node, top: Node) {
    match (&mut base.value, top.value) {
        (Value::Table(entries), Value::Table(new)) => {
            base.span = top.span;
            for entry in new {
                match entries.iter_mut().find(|old| old.key == entry.key) {
                    Some(old) => merge_entry(old, entry),
                    None => entries.push(entry),
                }
            }
        }
        (_, value) => *base = Node { value, span: top.span },
    }
}

fn merge_entry(old: &mut Entry, new: Entry) {
    old.key_span = new.key_span;
    if VALUES.contains(&old.key.as_str()) {
        old.node = new.node;
        return;
    }
    if let (Value::Text(_), Value::Table(_)) = (&old.node.value, &new.node.value)
        && let Some((_, name)) = LONG_FORMS.iter().find(|(short, _)| *short == old.key)
    {
        old.node.lengthen(name);
    }
    merge_tables(&mut old.node, new.node);
}

/// Writes the keys of a sweep in one way: `path.loss = [...]`, which TOML reads as nested tables, as `"path.loss"`.
fn flatten(sweep: &mut Node) {
    let Value::Table(entries) = &mut sweep.value else { return };
    let mut flat = Vec::new();
    for entry in entries.drain(..) {
        push_flat(entry, "", &mut flat);
    }
    *entries = flat;
}

fn push_flat(entry: Entry, before: &str, flat: &mut Vec<Entry>) {
    let key = format!("{before}{}", entry.key);
    match entry.node.value {
        Value::Table(inner) if !inner.is_empty() => {
            inner.into_iter().for_each(|entry| push_flat(entry, &format!("{key}."), flat));
        }
        _ => {
            // One spelling for each path, or two files could sweep one key twice.
            let key = KeyPath::parse(&key).map_or(key, |path| path.to_string());
            flat.push(Entry { key, ..entry });
        }
    }
}

/// Names of traces and of algorithms' files are relative to the file that they stand in.
fn move_files(node: &mut Node, folder: &Path) {
    match &mut node.value {
        Value::List(list) => list.iter_mut().for_each(|node| move_files(node, folder)),
        Value::Table(entries) => {
            for Entry { key, node, .. } in entries {
                if FILES.contains(&key.rsplit('.').next().unwrap_or_default()) {
                    move_names(node, folder);
                }
                move_files(node, folder);
            }
        }
        _ => {}
    }
}

fn move_names(node: &mut Node, folder: &Path) {
    match &mut node.value {
        Value::Text(name) => *name = folder.join(&*name).to_string_lossy().into_owned(),
        Value::List(list) => list.iter_mut().for_each(|node| move_names(node, folder)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(base: serde_json::Value, top: serde_json::Value) -> serde_json::Value {
        let mut base = Node::from_json(&base);
        merge(&mut base, Node::from_json(&top));
        base.to_json()
    }

    #[test]
    fn tables_merge_and_other_values_replace() {
        let base =
            json!({"path": {"rate": "1mbit", "rtt": "10ms"}, "flows": [{"cc": "bbr"}, {"cc": "reno"}], "seed": 1});
        let top = json!({"path": {"rtt": "20ms", "loss": "1%"}, "flows": [{"cc": "cubic"}]});
        let expected = json!({
            "path": {"rate": "1mbit", "rtt": "20ms", "loss": "1%"}, "flows": [{"cc": "cubic"}], "seed": 1,
        });
        assert_eq!(merged(base, top), expected);
    }

    #[test]
    fn a_table_that_is_one_value_replaces_another() {
        let base = json!({"path": {"rate": {"synth": "lte-verizon"}, "queue": {"kind": "codel", "target": "1ms"}}});
        let top = json!({"path": {"rate": {"trace": "a"}, "queue": "droptail"}});
        assert_eq!(merged(base, top.clone()), top);
        let base = json!({"path": {"rtt": {"trace": "a", "repeat": "9s"}, "aggregate": {"timeout": "2ms"}}});
        let top = json!({"path": {"rtt": {"steps": [["0s", "9ms"]]}, "aggregate": {"every": "2ms"}}});
        assert_eq!(merged(base, top.clone()), top);
    }

    #[test]
    fn parameters_join_a_profile_named_by_text() {
        let joined = merged(json!({"transport": "dqc"}), json!({"transport": {"mss": 990}}));
        assert_eq!(joined, json!({"transport": {"profile": "dqc", "mss": 990}}));
        let named = merged(json!({"transport": {"mss": 990}}), json!({"transport": "dqc"}));
        assert_eq!(named, json!({"transport": "dqc"}));
    }

    #[test]
    fn a_swept_key_is_the_same_however_it_is_written() {
        let base = json!({"sweep": {"path": {"loss": ["0%"]}, "repeat": 3}});
        let top = json!({"sweep": {"path.loss": ["1%"]}});
        assert_eq!(merged(base, top), json!({"sweep": {"path.loss": ["1%"], "repeat": 3}}));
    }

    #[test]
    fn traces_are_found_from_the_file_that_includes() {
        let mut tree = Node::from_json(&json!({
            "path": {"trace": "a"}, "links": [{"rate": {"trace": "/b"}, "reverse": {"trace": [1, 2]}}],
            "sweep": {"path.trace": ["c", "d"]},
        }));
        move_files(&mut tree, Path::new("base"));
        let expected = json!({
            "path": {"trace": "base/a"}, "links": [{"rate": {"trace": "/b"}, "reverse": {"trace": [1, 2]}}],
            "sweep": {"path.trace": ["base/c", "base/d"]},
        });
        assert_eq!(tree.to_json(), expected);
    }
}
