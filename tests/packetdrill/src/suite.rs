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
        matches!(self.outcome, Outcome::Judged(Verdict::Holds))
    }

    /// Whether everything happens up to a line that is about something else than what is modelled.
    pub fn holds_in_part(&self) -> bool {
        matches!(self.outcome, Outcome::Judged(Verdict::HoldsUntil(..)))
    }

    /// Whether it expects something else than what happens, or is not a script at all.
    pub fn fails(&self) -> bool {
        let is_in_scope = !matches!(self.outcome, Outcome::Judged(Verdict::OutOfScope(..)));
        is_in_scope && !self.holds() && !self.holds_in_part() && !self.cannot_be_asked()
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
                ("in part", format!("up to line {}, which is about {reason}", place.line))
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
        let count = |is: fn(&Row) -> bool| self.rows.iter().filter(|row| is(row)).count();
        let (holds, in_part, fails) = (count(Row::holds), count(Row::holds_in_part), count(Row::fails));
        let asked = holds + in_part + fails;
        let out_of_scope = self.rows.len() - asked;
        write!(
            f,
            "{holds} of {asked} applicable scripts hold, {in_part} in part, {fails} fail; {out_of_scope} are out of scope"
        )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Place;

    #[test]
    fn what_holds_in_part_is_counted_apart() {
        let place = Place { line: 7, column: 1 };
        let outcomes = [
            Outcome::Judged(Verdict::Holds),
            Outcome::Judged(Verdict::Holds),
            Outcome::Judged(Verdict::HoldsUntil(place, "close".to_owned())),
            Outcome::Judged(Verdict::OutOfScope(place, "close".to_owned())),
            Outcome::NotOnThisKernel("accurate ECN".to_owned()),
            Outcome::Broken("is no file".to_owned()),
        ];
        let rows: Vec<Row> = outcomes.into_iter().map(|outcome| Row { name: "a.pkt".to_owned(), outcome }).collect();
        assert_eq!(rows[2].verdict(), ("in part", "up to line 7, which is about close".to_owned()));
        assert!(!rows[2].holds() && !rows[2].fails());
        let table = Table { rows }.to_string();
        let last = table.lines().last().expect("a line of counts");
        assert_eq!(last, "2 of 4 applicable scripts hold, 1 in part, 1 fail; 2 are out of scope");
    }
}
