//! The command lines of a flow that is two programs.

use dumbbell_cc::StandsFor;
use dumbbell_parameters::nearest;
use std::fmt;

/// Two programs that speak to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The one that listens.
    pub server: CommandLine,
    /// The one that connects.
    pub client: CommandLine,
    /// The server sends the data; otherwise the client does.
    pub is_download: bool,
}

/// A command line with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    text: String,
    words: Vec<Vec<Piece>>,
}

/// What stands for something else in a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The address of the server.
    Server,
    /// The address of the client.
    Client,
    /// A port that the flow has to itself.
    Port,
}

impl Placeholder {
    const NAMES: [(&'static str, Placeholder); 3] =
        [("server", Placeholder::Server), ("client", Placeholder::Client), ("port", Placeholder::Port)];
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

impl CommandLine {
    /// Reads a command line.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub(crate) fn read(text: &str) -> Result<CommandLine, (String, String)> {
        let Some(words) = shlex::split(text) else {
            return Err(("a quotation mark in it has no partner".to_owned(), "close every quotation".to_owned()));
        };
        if words.is_empty() {
            let help = "write a program and its arguments, such as \"iperf3 --server --port {port}\"";
            return Err(("it is empty".to_owned(), help.to_owned()));
        }
        let words = words.iter().map(|word| pieces(word)).collect::<Result<_, _>>()?;
        Ok(CommandLine { text: text.to_owned(), words })
    }

    /// The line as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words, with `value` in the place of each placeholder.
    pub fn words(&self, value: impl Fn(Placeholder) -> String) -> Vec<String> {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Placeholder(placeholder) => value(*placeholder),
        };
        self.words.iter().map(|word| word.iter().map(piece).collect()).collect()
    }

    /// Whether it has this placeholder.
    pub fn has(&self, placeholder: Placeholder) -> bool {
        self.words.iter().flatten().any(|piece| *piece == Piece::Placeholder(placeholder))
    }

    /// The name of its program, without the folders that lead there.
    pub(crate) fn name(&self) -> &str {
        match self.words.first().map(Vec::as_slice) {
            Some([Piece::Text(program)]) => program.rsplit('/').next().unwrap_or(program),
            _ => &self.text,
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The parts of a word.
fn pieces(word: &str) -> Result<Vec<Piece>, (String, String)> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = word.chars();
    while let Some(letter) = rest.next() {
        let is_doubled = rest.as_str().starts_with(letter);
        match letter {
            '{' | '}' if is_doubled => {
                rest.next();
                text.push(letter);
            }
            '{' => {
                let Some((name, behind)) = rest.as_str().split_once('}') else {
                    return Err(("a brace in it has no partner".to_owned(), "write {{ for a brace".to_owned()));
                };
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Placeholder(placeholder(name)?));
                rest = behind.chars();
            }
            '}' => return Err(("a brace in it has no partner".to_owned(), "write }} for a brace".to_owned())),
            other => text.push(other),
        }
    }
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

fn placeholder(name: &str) -> Result<Placeholder, (String, String)> {
    if let Some((_, found)) = Placeholder::NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(*found);
    }
    let names = Placeholder::NAMES.map(|(name, _)| name);
    let all = names.map(|name| format!("{{{name}}}")).join(", ");
    let help = match nearest(name, names) {
        Some(close) => format!("did you mean `{{{close}}}`? There are {all}; write {{{{ and }}}} for braces"),
        None => format!("there are {all}; write {{{{ and }}}} for braces"),
    };
    Err((format!("unknown placeholder `{{{name}}}`"), help))
}

/// The congestion control of a program, which is inside of it.
pub(crate) struct Unknown;

impl StandsFor for Unknown {
    const NAME: &'static str = "unknown";
    const EXACT_NAME: &'static str = "unknown";
    const SUMMARY: &'static str = "what a program does inside of it";
    const SOURCE: &'static str = "the program";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let value = |placeholder| match placeholder {
            Placeholder::Server => "10.1.0.1".to_owned(),
            Placeholder::Client => "10.1.0.2".to_owned(),
            Placeholder::Port => "10003".to_owned(),
        };
        CommandLine::read(text).unwrap().words(value)
    }

    #[test]
    fn words_are_those_of_a_shell_with_placeholders_filled_in() {
        let text = "curl -o /dev/null 'http://{server}:{port}/a b'";
        assert_eq!(words(text), ["curl", "-o", "/dev/null", "http://10.1.0.1:10003/a b"]);
        assert_eq!(words("a '' {client}"), ["a", "", "10.1.0.2"]);
        assert_eq!(words("python3 -c 'print({{1: {{}}}})'"), ["python3", "-c", "print({1: {}})"]);
        assert_eq!(words("say \"{server}\n\" # why"), ["say", "10.1.0.1\n"]);
    }

    #[test]
    fn a_line_is_known_by_its_program_and_its_placeholders() {
        let line = CommandLine::read("/usr/bin/iperf3 --port {port}").unwrap();
        assert_eq!((line.name(), line.has(Placeholder::Port), line.has(Placeholder::Server)), ("iperf3", true, false));
    }

    #[test]
    fn what_is_no_command_line_is_refused_with_what_would_be_right() {
        for (text, message, help) in [
            ("", "empty", "{port}"),
            ("# nothing", "empty", "{port}"),
            ("say 'a", "no partner", "quotation"),
            ("say {prot}", "unknown placeholder `{prot}`", "did you mean `{port}`?"),
            ("say {}", "unknown placeholder `{}`", "{server}, {client}, {port}"),
            ("say {port", "no partner", "{{"),
            ("say port}", "no partner", "}}"),
        ] {
            let (said, helped) = CommandLine::read(text).unwrap_err();
            assert!(said.contains(message) && helped.contains(help), "{text}: {said}; {helped}");
        }
    }
}
