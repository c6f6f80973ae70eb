//! `[sweep]`: one file, many points.
//!
//! A sweep is the product of lists of values over key paths, the first key slowest (an included file's before those of
//! the file that includes it), times `repeat` repetitions, which vary fastest. Keys in a `zip` group move together.
//! Repetition 0 runs with the file's seed, repetition `r` with `Rng::stream(seed, r)`'s first number shifted right by
//! 11 bits, so that seeds fit in a float; all points share the seeds of their repetitions, which makes comparisons
//! between points paired.

use crate::error::{Problem, Problems, Sources};
use crate::key_path::{KeyPath, Step};
use crate::tree::{Entry, Node, Span, Value};
use dumbbell_units::Rng;
use std::collections::HashSet;

/// The most points of one experiment.
const MAX_POINTS: usize = 1_000_000;

/// What a file asks to sweep.
#[derive(Debug)]
pub(crate) struct Sweep {
    axes: Vec<Axis>,
    pub repeat: u32,
}

/// Keys that move together, each with its values; all have equally many.
#[derive(Debug)]
struct Axis {
    keys: Vec<SweptKey>,
}

#[derive(Debug)]
struct SweptKey {
    path: KeyPath,
    text: String,
    span: Option<Span>,
    values: Vec<Node>,
}

/// The seed of a repetition.
pub(crate) fn seed_of(seed: u64, repetition: u32) -> u64 {
    if repetition == 0 { seed } else { Rng::stream(seed, repetition.into()).next_u64() >> 11 }
}

impl Axis {
    fn len(&self) -> usize {
        self.keys.first().map_or(0, |key| key.values.len())
    }

    /// Refuses values that are there twice: their runs would count as so many more samples of the same point.
    fn refuse_twins(&self, problems: &mut Problems) {
        let Some(first) = self.keys.first() else { return };
        let values = |index: usize| self.keys.iter().map(move |key| key.values[index].to_json());
        let mut seen = HashSet::new();
        let Some(twin) = (0..self.len()).find(|&index| !seen.insert(values(index).collect::<Vec<_>>())) else { return };
        let named = |(key, value): (&SweptKey, serde_json::Value)| match self.keys.len() {
            1 => format!("{value}"),
            _ => format!("{} = {value}", key.text),
        };
        let said = self.keys.iter().zip(values(twin)).map(named).collect::<Vec<_>>().join(", ");
        let message = match self.keys.len() {
            1 => format!("`{}` has the value {said} twice", first.text),
            _ => format!("{said} are there twice"),
        };
        let problem = Problem::new(format!("sweep.{}", first.text), first.values[twin].span.clone(), message);
        problems.push(problem.help("remove one; `repeat` runs a point again, with another seed"));
    }
}

impl Sweep {
    /// Takes `[sweep]` out of the tree.
    pub(crate) fn take(tree: &mut Node, sources: &Sources, problems: &mut Problems) -> Sweep {
        let mut sweep = Sweep { axes: Vec::new(), repeat: 1 };
        let Some(Entry { key_span, mut node, .. }) = tree.take("sweep") else { return sweep };
        if !matches!(node.value, Value::Table(_)) {
            let message =
                format!("read {}, but `sweep` must be a table of key paths and lists of values", node.value.kind());
            problems.push(Problem::new("sweep", node.span, message));
            return sweep;
        }
        let repeats = node.take("repeat");
        if let Some(entry) = &repeats {
            sweep.repeat = repeat(&entry.node, problems);
        }
        let zip = node.take("zip");
        let mut keys = Vec::new();
        collect_keys(&node, &KeyPath::default(), &mut keys, problems);
        if keys.is_empty() && repeats.is_none() && problems.is_empty() {
            let help = "add a key and its values, for example \"path.loss\" = [\"0%\", \"1%\"], or `repeat`";
            problems.push(Problem::new("sweep", key_span.clone(), "there is nothing to sweep").help(help));
        }
        if let Some(zip) = zip {
            zip_keys(&zip.node, &mut keys, &mut sweep.axes, problems);
        }
        // Zip groups stand where their first key stands.
        let mut axes: Vec<Axis> = keys.into_iter().flatten().map(|key| Axis { keys: vec![key] }).collect();
        axes.append(&mut sweep.axes);
        axes.sort_by_key(|axis| axis.keys.first().and_then(|k| k.span.as_ref().map(|span| sources.order(span))));
        sweep.axes = axes;
        for axis in &sweep.axes {
            axis.refuse_twins(problems);
        }
        let points = sweep.axes.iter().try_fold(sweep.repeat as usize, |n, axis| n.checked_mul(axis.len()));
        if points.is_none_or(|n| n > MAX_POINTS) {
            let help = format!("allowed: at most {MAX_POINTS} points, repetitions included");
            problems.push(Problem::new("sweep", key_span, "the sweep has too many points").help(help));
            sweep.axes.clear();
        }
        sweep
    }

    /// Number of points, not counting repetitions.
    pub(crate) fn len(&self) -> usize {
        self.axes.iter().map(Axis::len).product()
    }

    /// Puts the values of a point into the tree.
    pub(crate) fn apply(&self, point: usize, tree: &mut Node, problems: &mut Problems) {
        for (key, value) in self.values_of(point) {
            if let Err(reason) = tree.set(&key.path.0, value, &key.span) {
                let message = format!("cannot sweep `{}`: {reason}", key.text);
                problems.push(Problem::new(&key.text, key.span.clone(), message));
            }
        }
    }

    /// The places that are swept.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &KeyPath> {
        self.axes.iter().flat_map(|axis| axis.keys.iter().map(|key| &key.path))
    }

    /// All values that swept places have in some point.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Node> {
        self.axes.iter().flat_map(|axis| axis.keys.iter().flat_map(|key| &key.values))
    }

    /// The values of a point by key.
    pub(crate) fn label(&self, point: usize) -> Vec<(String, serde_json::Value)> {
        self.values_of(point).map(|(key, value)| (key.text.clone(), value.to_json())).collect()
    }

    fn values_of(&self, point: usize) -> impl Iterator<Item = (&SweptKey, &Node)> {
        let mut stride = self.len();
        self.axes.iter().flat_map(move |axis| {
            stride /= axis.len().max(1);
            let index = point / stride.max(1) % axis.len().max(1);
            axis.keys.iter().map(move |key| (key, &key.values[index]))
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the match lets a million through at most, and nothing below 1"
)]
fn repeat(node: &Node, problems: &mut Problems) -> u32 {
    match node.value {
        Value::Integer(n) if (1..=1_000_000).contains(&n) => n as u32,
        _ => {
            let read = node.to_json();
            let problem = Problem::new("sweep.repeat", node.span.clone(), format!("cannot repeat `{read}` times"));
            problems.push(problem.help("allowed: a whole number from 1 to 1000000"));
            1
        }
    }
}

/// Key paths may be written in quotes (`"path.loss"`) or bare (`path.loss`, which TOML reads as nested tables).
fn collect_keys(node: &Node, at: &KeyPath, keys: &mut Vec<Option<SweptKey>>, problems: &mut Problems) {
    let Value::Table(entries) = &node.value else { return };
    for entry in entries {
        let place = |text: &KeyPath| format!("sweep.{text}");
        let parsed = match KeyPath::parse(&entry.key) {
            Ok(parsed) => parsed,
            Err(reason) => {
                problems.push(Problem::new("sweep", entry.key_span.clone(), reason));
                continue;
            }
        };
        let path = KeyPath(at.0.iter().chain(&parsed.0).cloned().collect());
        match &entry.node.value {
            Value::Table(_) => collect_keys(&entry.node, &path, keys, problems),
            Value::List(values) if values.is_empty() => {
                let problem = Problem::new(place(&path), entry.node.span.clone(), "the list of values is empty");
                problems.push(problem.help("a sweep needs at least one value"));
            }
            Value::List(values) => {
                if let Some(Step::Key(first)) = path.0.first()
                    && ["sweep", "presets", "include"].contains(&first.as_str())
                {
                    let message = format!("`{first}` cannot be swept");
                    problems.push(Problem::new(place(&path), entry.key_span.clone(), message));
                    continue;
                }
                let span = entry.key_span.clone();
                keys.push(Some(SweptKey { text: path.to_string(), path, span, values: values.clone() }));
            }
            other => {
                let message = format!("read {}, but a sweep needs a list of values", other.kind());
                let problem = Problem::new(place(&path), entry.node.span.clone(), message);
                problems.push(problem.help(format!("write {path} = [...]")));
            }
        }
    }
}

/// Moves the keys of every group of `zip` into one axis.
fn zip_keys(zip: &Node, keys: &mut [Option<SweptKey>], axes: &mut Vec<Axis>, problems: &mut Problems) {
    let help = "write it like zip = [[\"path.rate\", \"path.buffer\"]]";
    let mut fail = |node: &Node, message: String| {
        problems.push(Problem::new("sweep.zip", node.span.clone(), message).help(help));
    };
    let Value::List(groups) = &zip.value else {
        return fail(zip, format!("read {}, but `zip` must be a list of lists of swept keys", zip.value.kind()));
    };
    for group in groups {
        let Value::List(names) = &group.value else {
            fail(group, format!("read {}, but a group of `zip` must be a list of swept keys", group.value.kind()));
            continue;
        };
        let mut axis = Axis { keys: Vec::new() };
        for name in names {
            let wanted = match &name.value {
                Value::Text(text) => KeyPath::parse(text).ok(),
                _ => None,
            };
            let found = keys.iter_mut().find(|k| k.as_ref().is_some_and(|k| Some(&k.path) == wanted.as_ref()));
            match found.and_then(Option::take) {
                None => fail(name, format!("{} is not a key that is swept, or is in two groups", name.to_json())),
                Some(key) if !axis.keys.is_empty() && key.values.len() != axis.len() => {
                    let message = format!(
                        "`{}` has {} values, `{}` has {}",
                        axis.keys[0].text,
                        axis.len(),
                        key.text,
                        key.values.len()
                    );
                    fail(name, message);
                }
                Some(key) => axis.keys.push(key),
            }
        }
        if !axis.keys.is_empty() {
            axes.push(axis);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(text: &str) -> (Sweep, Node) {
        let mut problems = Problems::default();
        let mut tree = Node::from_toml(text, 0, &mut problems);
        let sweep = Sweep::take(&mut tree, &Sources::default(), &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        (sweep, tree)
    }

    fn labels(text: &str) -> Vec<String> {
        let (sweep, _) = sweep(text);
        let point = |i| sweep.label(i).iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ");
        (0..sweep.len()).map(point).collect()
    }

    #[test]
    fn the_first_key_varies_slowest() {
        assert_eq!(labels("[sweep]\na = [1, 2]\nb = [3, 4]\n"), ["a=1 b=3", "a=1 b=4", "a=2 b=3", "a=2 b=4"]);
    }

    #[test]
    fn bare_and_quoted_key_paths_are_the_same() {
        assert_eq!(labels("[sweep]\npath.loss = [1]\n"), labels("[sweep]\n\"path.loss\" = [1]\n"));
    }

    #[test]
    fn zipped_keys_move_together_at_the_place_of_the_first() {
        let text = "[sweep]\na = [1, 2]\nb = [5, 6]\nc = [3, 4]\nzip = [[\"a\", \"c\"]]\n";
        assert_eq!(labels(text), ["a=1 c=3 b=5", "a=1 c=3 b=6", "a=2 c=4 b=5", "a=2 c=4 b=6"]);
    }

    #[test]
    fn a_value_that_is_there_twice_is_refused_unless_what_moves_with_it_differs() {
        let refused = |text: &str| {
            let mut problems = Problems::default();
            let mut tree = Node::from_toml(text, 0, &mut problems);
            Sweep::take(&mut tree, &Sources::default(), &mut problems);
            format!("{problems:?}")
        };
        assert!(refused("[sweep]\na = [1, 2, 1]\n").contains("`a` has the value 1 twice"));
        assert!(refused("[sweep]\na = [{ b = [1] }, { b = [1] }]\n").contains("twice"));
        let zipped = "[sweep]\na = [1, 1, 1]\nb = [\"x\", \"y\", \"x\"]\nzip = [[\"a\", \"b\"]]\n";
        assert!(refused(zipped).contains("a = 1, b = \\\"x\\\" are there twice"), "{}", refused(zipped));
        assert_eq!(labels(&zipped.replace("\"x\"]", "\"z\"]")), ["a=1 b=\"x\"", "a=1 b=\"y\"", "a=1 b=\"z\""]);
        assert_eq!(labels("[sweep]\na = [1, 1.5]\nb = [1, 1.5]\n").len(), 4);
    }

    #[test]
    fn a_file_without_a_sweep_has_one_point() {
        let (sweep, _) = sweep("a = 1");
        assert_eq!((sweep.len(), sweep.repeat), (1, 1));
    }

    #[test]
    fn the_first_repetition_has_the_files_seed_and_the_others_differ() {
        assert_eq!(seed_of(7, 0), 7);
        let seeds: std::collections::BTreeSet<u64> = (0..100).map(|r| seed_of(7, r)).collect();
        assert_eq!(seeds.len(), 100);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
        assert_eq!(seed_of(7, 3), Rng::stream(7, 3).next_u64() >> 11);
    }
}
