//! `--set key=value`: values that replace what a file says, and whether they change anything.

use crate::error::{Problem, Problems, Source, Sources};
use crate::file::PROFILE;
use crate::key_path::{KeyPath, Step};
use crate::sweep::Sweep;
use crate::tree::{LONG_FORMS, Node, Span, Value};

/// The overrides of an experiment, in order.
#[derive(Debug, Default)]
pub(crate) struct Overrides(Vec<Override>);

#[derive(Debug)]
struct Override {
    path: KeyPath,
    /// The path as it was given.
    key: String,
    key_span: Option<Span>,
    /// Marks the value, wherever in the tree it stands.
    value_span: Option<Span>,
}

impl Overrides {
    /// Puts values into the tree.
    pub(crate) fn apply(
        pairs: &[(String, String)],
        tree: &mut Node,
        sources: &mut Sources,
        problems: &mut Problems,
    ) -> Overrides {
        let mut applied = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let text = format!("{key}={value}");
            let source = sources.texts.len();
            let node = Node::from_override(value, key.len() + 1..text.len(), source);
            let key_span = Some(Span::new(source, 0..key.len()));
            sources.texts.push(Source { name: "--set".to_owned(), text: Some(text) });
            let set = KeyPath::parse(key).and_then(|path| match path.0.first() {
                Some(Step::Key(first)) if first == "include" => {
                    Err("files are included before anything is set".to_owned())
                }
                _ => tree.set(&path.0, &node, &key_span).map(|()| path),
            });
            match set {
                Ok(path) => applied.push(Override { path, key: key.clone(), key_span, value_span: node.span }),
                Err(reason) => {
                    problems.push(Problem::new(key, key_span, format!("cannot set `{key}`: {reason}")));
                }
            }
        }
        let overrides = Overrides(applied);
        overrides.check_order(tree, problems);
        overrides
    }

    /// Refuses those that a later one has replaced.
    fn check_order(&self, tree: &Node, problems: &mut Problems) {
        for (number, own) in self.0.iter().enumerate() {
            if tree.holds(&own.value_span) {
                continue;
            }
            let later = self.0[number + 1..].iter().find(|later| later.path.overlaps(&own.path));
            let later = later.map_or_else(String::new, |later| format!(": a later `--set {}` replaces it", later.key));
            own.refuse(&later, "leave one of both out", problems);
        }
    }

    /// Refuses those of which nothing is left in any point, or that no flow reads. `tree` is without its sweep.
    pub(crate) fn check_effect(&self, tree: &Node, sweep: &Sweep, problems: &mut Problems) {
        if self.0.is_empty() {
            return;
        }
        let mut point = tree.clone();
        // Which places a sweep replaces does not depend on the point.
        sweep.apply(0, &mut point, &mut Problems::default());
        for own in self.0.iter().filter(|own| !own.path.is_of("sweep")) {
            if !point.holds(&own.value_span) {
                let swept = sweep.paths().find(|path| path.overlaps(&own.path));
                let swept = swept.map_or_else(|| "a part of it".to_owned(), |path| format!("`{path}`"));
                let help = "write it into the values that are swept, as in { name = \"bbr\", drain_gain = 0.5 }; for \
                            `compare` and `advise` as in bbr:drain_gain=0.5";
                own.refuse(&format!(": the sweep replaces {swept} in every point"), help, problems);
            } else if own.every_flow_has_its_own(&point) {
                let help = format!("set it for the flows: --set flows[*].{}=...", own.key);
                own.refuse(": every flow has its own", &help, problems);
            } else if own.path.is_of("presets")
                && let Some(Step::Key(name)) = own.path.0.get(1)
                && !point.names_algorithm(name)
                && !sweep.values().any(|value| value.is_text(name) || value.names_algorithm(name))
            {
                let help = format!("write cc = \"{name}\" for a flow");
                own.refuse(&format!(": no flow has the algorithm `{name}`"), &help, problems);
            }
        }
    }
}

impl Override {
    fn refuse(&self, reason: &str, help: &str, problems: &mut Problems) {
        let message = format!("`{}` changes nothing{reason}", self.key);
        problems.push(Problem::new(&self.key, self.key_span.clone(), message).help(help));
    }

    /// Whether this is of `[transport]`, and whatever could read it has its own.
    fn every_flow_has_its_own(&self, tree: &Node) -> bool {
        let Some((Step::Key(first), rest)) = self.path.0.split_first() else { return false };
        let is_profile = match rest {
            [] => tree.get(&self.path).is_some_and(|node| matches!(node.value, Value::Text(_))),
            [Step::Key(key)] => key == PROFILE,
            _ => false,
        };
        let has_own = |entry: &Node| match entry.entry(first).map(|own| &own.node) {
            Some(Node { value: Value::Text(_), .. }) => is_profile,
            Some(own) if rest.is_empty() => is_profile && own.entry(PROFILE).is_some(),
            Some(own) => own.get(&KeyPath(rest.to_vec())).is_some(),
            None => false,
        };
        let lists = ["flows", "traffic"].iter().filter_map(|list| tree.entry(list));
        let mut entries = lists.flat_map(|list| list.node.elements()).peekable();
        first == "transport" && entries.peek().is_some() && entries.all(has_own)
    }
}

impl Node {
    /// Whether a value that was written at `span` is in the tree.
    fn holds(&self, span: &Option<Span>) -> bool {
        self.span == *span
            || match &self.value {
                Value::List(list) => list.iter().any(|node| node.holds(span)),
                Value::Table(entries) => entries.iter().any(|entry| entry.node.holds(span)),
                _ => false,
            }
    }

    /// Whether a flow or a preset in the tree names this algorithm.
    fn names_algorithm(&self, name: &str) -> bool {
        match &self.value {
            Value::List(list) => list.iter().any(|node| node.names_algorithm(name)),
            Value::Table(entries) => entries.iter().any(|entry| {
                let names = LONG_FORMS[0].0 == entry.key || LONG_FORMS[0].1 == entry.key || entry.key == "base";
                names && entry.node.is_text(name) || entry.node.names_algorithm(name)
            }),
            _ => false,
        }
    }

    fn is_text(&self, text: &str) -> bool {
        matches!(&self.value, Value::Text(own) if own == text)
    }

    fn elements(&self) -> &[Node] {
        match &self.value {
            Value::List(list) => list,
            _ => &[],
        }
    }
}
