//! Many scripts, and the table of their verdicts.

use crate::judge::{Verdict, run};
use crate::live::run_live;
use crate::parse::{ParseError, parse};
use crate::script::Script;
use std::fmt;
use std::path::{Path, PathBuf};

/// A script that was run.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its path below the folder that was searched.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a file.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is a script.
    Judged(Verdict),
    /// It is none; where and why.
    NotAScript(ParseError),
    /// The kernel lacks what it is about.
    NotOnThisKernel(String),
    /// It could not be read or run.
    Broken(String),
}

impl Row {
    /// Whether everything that the script expects happens.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Judged(Verdict::Holds | Verdict::HoldsUntil(..)))
    }

    /// Whether it expects something else than what happens, or is not a script at all.
    pub fn fails(&self) -> bool {
        !self.holds() && !self.cannot_be_asked() && !matches!(self.outcome, Outcome::Judged(Verdict::OutOfScope(..)))
    }

    /// Whether the kernel lacks what it is about.
    pub fn cannot_be_asked(&self) -> bool {
        matches!(self.outcome, Outcome::NotOnThisKernel(_))
    }

    /// The words of the table: the verdict and its reason.
    pub fn verdict(&self) -> (&'static str, String) {
        match &self.outcome {
            Outcome::Judged(Verdict::Holds) => ("holds", String::new()),
            Outcome::Judged(Verdict::HoldsUntil(place, reason)) => {
                ("holds", format!("up to line {}, which is about {reason}", place.line))
            }
            Outcome::Judged(Verdict::Fails(difference)) => ("FAILS", difference.to_string()),
            Outcome::Judged(Verdict::OutOfScope(place, reason)) => {
                ("out of scope", format!("line {}: {reason}", place.line))
            }
            Outcome::NotAScript(error) => ("NO SCRIPT", format!("{}:{error}", self.name)),
            Outcome::NotOnThisKernel(what) => ("not here", format!("this kernel lacks {what}")),
            Outcome::Broken(error) => ("BROKEN", error.clone()),
        }
    }
}

/// The verdicts of a folder.
#[derive(Clone, Debug)]
pub struct Table {
    /// One for each script, in the order of their names.
    pub rows: Vec<Row>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("script".len());
        writeln!(f, "{:width$}  {:12}  reason", "script", "verdict")?;
        for row in &self.rows {
            let (verdict, reason) = row.verdict();
            writeln!(f, "{}", format!("{:width$}  {verdict:12}  {reason}", row.name).trim_end())?;
        }
        let holds = self.rows.iter().filter(|row| row.holds()).count();
        let fails = self.rows.iter().filter(|row| row.fails()).count();
        let out_of_scope = self.rows.len() - holds - fails;
        write!(f, "{holds} of {} applicable scripts hold; {out_of_scope} are out of scope", holds + fails)
    }
}

/// Who is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The endpoints of this repository.
    Endpoints,
    /// The kernel of this machine, which needs root.
    Kernel,
}

/// Reads a script.
pub fn read_script(path: &Path) -> Result<Script, Outcome> {
    let bytes = std::fs::read(path).map_err(|error| Outcome::Broken(error.to_string()))?;
    let script = parse(&String::from_utf8_lossy(&bytes)).map_err(Outcome::NotAScript)?;
    Ok(Script { folder: path.parent().unwrap_or(Path::new("")).to_owned(), ..script })
}

/// Runs a script; `name` is what the table calls it.
pub fn run_file(path: &Path, name: String, subject: Subject) -> Row {
    let outcome = read_script(path).map_or_else(
        |trouble| trouble,
        |script| match subject {
            Subject::Endpoints => Outcome::Judged(run(&script)),
            Subject::Kernel => run_live(&script),
        },
    );
    Row { name, outcome }
}

/// Runs every `.pkt` file of a folder and of the folders in it.
pub fn run_folder(folder: &Path, subject: Subject) -> std::io::Result<Table> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    Ok(Table { rows: files.iter().map(|path| run_file(path, name(path), subject)).collect() })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // Links to folders are not followed, so that the search ends.
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            files.push(path);
        }
    }
    Ok(())
}
