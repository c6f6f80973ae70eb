//! What is wrong with an experiment file, where, and what would be right.

use crate::key_path::{KeyPath, Step};
use crate::tree::{Span, Value};
use dumbbell_parameters::Place;
use std::fmt;

pub(crate) use dumbbell_parameters::suggest;

/// The texts that an experiment was read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The file first, then those that it includes, then one for each override.
    pub texts: Vec<Source>,
    /// The numbers of the files in the order in which they take effect, the file itself last.
    pub files: Vec<usize>,
}

impl Sources {
    /// Of a file that nothing has been added to.
    pub(crate) fn new(name: &str, text: Option<&str>) -> Sources {
        Sources { texts: vec![Source { name: name.to_owned(), text: text.map(str::to_owned) }], files: Vec::new() }
    }

    /// Orders places: overrides, included files, the file itself.
    pub(crate) fn order(&self, span: &Span) -> (Option<usize>, usize) {
        (self.files.iter().position(|file| *file == span.source()), span.range().start)
    }
}

/// One text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Name of the file, or `--set key`.
    pub name: String,
    /// The text; `None` for a value that came without one.
    pub text: Option<String>,
}

/// One problem, not yet placed in a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub key: String,
    pub span: Option<Span>,
    pub message: String,
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(key: impl ToString, span: Option<Span>, message: impl Into<String>) -> Problem {
        Problem { key: key.to_string(), span, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }
}

/// All problems found so far; each place is blamed once.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    /// Enough for a person to start with.
    pub(crate) const MAX: usize = 20;

    /// Forgets all but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        if self.0.len() < Problems::MAX && !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Problem> {
        self.0.iter_mut()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The problems as an error, or nothing when there are none.
    pub(crate) fn into_result(self, sources: &Sources) -> Result<(), ScenarioErrors> {
        if self.0.is_empty() {
            return Ok(());
        }
        debug_assert!(!sources.texts.is_empty(), "an experiment has at least one source");
        let rank = |problem: &Problem| problem.span.as_ref().and_then(|span| sources.order(span).0);
        let place = |problem| (rank(&problem), ScenarioError::place(problem, sources));
        let mut errors: Vec<_> = self.0.into_iter().map(place).collect();
        errors.sort_by_key(|(rank, error)| (*rank, error.line, error.column));
        Err(ScenarioErrors(errors.into_iter().map(|(_, error)| error).collect()))
    }
}

/// One thing that is wrong with an experiment. Displays as a message with the line of the file it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, or `--set key` for an override.
    pub file: String,
    /// Line in the file, from 1; `None` for input that is not a text.
    pub line: Option<usize>,
    /// Column in the line in characters, from 1.
    pub column: Option<usize>,
    /// The key, for example `flows[0].start`; empty when the whole file is meant.
    pub key: String,
    /// What was read and what is wrong with it.
    pub message: String,
    /// What is allowed, or the spelling that was probably meant.
    pub help: Option<String>,
    snippet: Option<Snippet>,
}

/// The line of the text and the part of it to underline.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Snippet {
    text: String,
    start: usize,
    width: usize,
}

/// Whether a terminal would act on a character instead of showing it, or show nothing. Tabs are shown as they are.
fn is_unprintable(c: char) -> bool {
    let turns_or_hides =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() && c != '\t' || turns_or_hides
}

/// A text that may quote a file: what is unprintable is written as an escape.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quoted(text) = self;
        text.chars().try_for_each(|c| match c {
            c if c != '\n' && is_unprintable(c) => write!(f, "{}", c.escape_unicode()),
            c => write!(f, "{c}"),
        })
    }
}

impl Snippet {
    /// The most characters shown of a line, which may be one that a program wrote.
    const MOST: usize = 200;
    /// Those shown before the marked part of a longer line.
    const BEFORE: usize = 60;

    /// A line of which `width` characters from `start` on are meant. What would move the cursor, colour the screen or
    /// turn the direction of writing is shown as U+FFFD, one for one, so that the mark below stays in its place.
    fn of(line: &str, start: usize, width: usize) -> Snippet {
        let line = &line.replace(is_unprintable, "\u{fffd}");
        if line.chars().nth(Snippet::MOST).is_none() {
            return Snippet { text: line.to_owned(), start, width };
        }
        let skipped = start.saturating_sub(Snippet::BEFORE);
        let mut rest = line.chars().skip(skipped);
        let shown: String = rest.by_ref().take(Snippet::MOST).collect();
        let (before, after) = (if skipped > 0 { "..." } else { "" }, if rest.next().is_some() { "..." } else { "" });
        let start = start - skipped;
        let width = width.min(shown.chars().count().saturating_sub(start)).max(1);
        Snippet { text: format!("{before}{shown}{after}"), start: start + before.len(), width }
    }
}

/// Everything that is wrong with an experiment, at least one error. Displays as the text for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioErrors(Vec<ScenarioError>);

impl ScenarioErrors {
    /// The errors in the order of the file.
    pub fn errors(&self) -> &[ScenarioError] {
        &self.0
    }
}

impl std::error::Error for ScenarioError {}
impl std::error::Error for ScenarioErrors {}

impl ScenarioError {
    fn place(problem: Problem, sources: &Sources) -> ScenarioError {
        let Problem { key, span, message, help } = problem;
        let source = &sources.texts[span.as_ref().map_or(0, Span::source)];
        let file = source.name.clone();
        let mut error = ScenarioError { file, line: None, column: None, key, message, help, snippet: None };
        if let (Some(text), Some(span)) = (&source.text, span) {
            let at = |mut offset: usize| {
                offset = offset.min(text.len());
                while !text.is_char_boundary(offset) {
                    offset -= 1;
                }
                offset
            };
            let (start, end) = (at(span.range().start), at(span.range().end));
            let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
            let line = text[line_start..].lines().next().unwrap_or("");
            let column = text[line_start..start].chars().count();
            let marked = text[start..end.max(start)].lines().next().unwrap_or("").chars().count();
            error.line = Some(text[..start].matches('\n').count() + 1);
            error.column = Some(column + 1);
            error.snippet = Some(Snippet::of(line.trim_end(), column, marked.max(1)));
        }
        error
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", Quoted(&self.message))?;
        write!(f, "\n  --> {}", Quoted(&self.file))?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, " ({})", Quoted(&self.key))?;
        }
        if let (Some(snippet), Some(line)) = (&self.snippet, self.line) {
            let gutter = line.to_string().len();
            // Tabs stay tabs in the margin, so that the marks stand below what they mark.
            let margin: String =
                snippet.text.chars().take(snippet.start).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(f, "\n{:gutter$} |", "")?;
            write!(f, "\n{line} | {}", snippet.text)?;
            write!(f, "\n{:gutter$} | {margin}{}", "", "^".repeat(snippet.width))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {}", Quoted(help))?;
        }
        Ok(())
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            error.fmt(f)?;
        }
        if self.0.len() > 1 {
            write!(f, "\n\n{} errors; nothing was run", self.0.len())?;
        }
        Ok(())
    }
}

/// Collects the problems of one tree.
pub(crate) struct Reporter<'a> {
    pub tree: &'a crate::tree::Node,
    pub problems: &'a mut Problems,
}

impl Reporter<'_> {
    /// A problem with the value at `path`.
    pub(crate) fn value(&mut self, path: &KeyPath, message: impl Into<String>, help: impl Into<String>) {
        let problem = Problem::new(path, self.tree.span_near(path), message).help(help);
        self.problems.push(problem);
    }

    /// Problems with the parameters of the table at `path`. What is not written there is blamed on the table, and the
    /// parameter that a short form stands for has the name of the table.
    pub(crate) fn parameters(
        &mut self,
        path: &KeyPath,
        problems: impl IntoIterator<Item = dumbbell_parameters::Problem>,
    ) {
        for dumbbell_parameters::Problem { key, place, message, help } in problems {
            let own = path.keys(&key);
            let at = if self.tree.get(&own).is_some() { &own } else { path };
            let is_short = self.tree.get(path).is_some_and(|node| !matches!(node.value, Value::Table(_)));
            let message = match path.0.last() {
                Some(Step::Key(name)) if is_short && place == Place::Value => {
                    message.replace(&format!("`{key}`"), &format!("`{name}`"))
                }
                _ => message,
            };
            let span = match place {
                Place::Key => self.tree.key_span(at),
                Place::Value | Place::Missing => self.tree.span_near(at),
            };
            let help = (!help.is_empty()).then_some(help);
            self.problems.push(Problem { help, ..Problem::new(at, span, message) });
        }
    }

    /// A problem with the key at `path`.
    pub(crate) fn key(&mut self, path: &KeyPath, message: impl Into<String>, help: impl Into<String>) {
        let problem = Problem::new(path, self.tree.key_span(path), message).help(help);
        self.problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_line_and_marks_the_value() {
        let text = "[path]\n\trate = \"10mbps\"\n".to_owned();
        let sources = Sources::new("a.toml", Some(&text));
        let start = text.find("\"10").unwrap();
        let mut problems = Problems::default();
        let span = Span::new(0, start..start + 8);
        problems.push(Problem::new("path.rate", Some(span), "cannot read it").help("write it"));
        let errors = problems.into_result(&sources).unwrap_err();
        assert_eq!(
            errors.to_string(),
            "error: cannot read it\n  --> a.toml:2:9 (path.rate)\n  |\n2 | \trate = \"10mbps\"\n  | \t       ^^^^^^^^\n  help: write it"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_shown() {
        assert_eq!(Quoted("`\u{1b}[2J\u{202e}` is\n\tno rate").to_string(), "`\\u{1b}[2J\\u{202e}` is\n\tno rate");
        let Snippet { text, start, width } = Snippet::of("\u{1b}[2Jrate = \u{202e}5", 4, 4);
        assert_eq!((text.as_str(), start, width), ("\u{fffd}[2Jrate = \u{fffd}5", 4, 4));
    }

    #[test]
    fn of_a_line_without_end_only_the_neighbourhood_is_shown() {
        let line = format!("{}WRONG{}", "a".repeat(1_000), "b".repeat(1_000));
        let Snippet { text, start, width } = Snippet::of(&line, 1_000, 5);
        assert_eq!((&text[start..start + width], text.len()), ("WRONG", 206));
        assert!(text.starts_with("...a") && text.ends_with("b..."));
        let Snippet { text, start, width } = Snippet::of(&line, 1_000, 1_005);
        assert_eq!((&text[start..start + 5], start + width), ("WRONG", text.len() - 3));
    }
}
