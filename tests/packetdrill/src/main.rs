//! Runs packet scripts: `cargo run -p dumbbell-packetdrill -- [--live] [--trace] FILE-OR-FOLDER...`. With `--live` the kernel of
//! this machine is judged in place of the endpoints; with `--trace` nothing is judged, and what happens is printed.

use dumbbell_packetdrill::{Judging, Row, Subject, Table, read_script, run_file, run_folder, trace};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: dumbbell-packetdrill [--live] [--trace] FILE-OR-FOLDER...";

fn main() -> ExitCode {
    let (mut is_live, mut is_trace, mut paths) = (false, false, Vec::new());
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--live") => is_live = true,
            Some("--trace") => is_trace = true,
            Some(unknown) if unknown.starts_with("--") => return refuse(&format!("`{unknown}` is unknown; {USAGE}")),
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    if paths.is_empty() {
        return refuse(USAGE);
    }
    let subject = if is_live { Subject::Kernel } else { Subject::Endpoints };
    if is_trace { print_traces(&paths, subject) } else { print_table(&paths, subject, Judging { push: is_live }) }
}

fn refuse(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

fn print_traces(paths: &[PathBuf], subject: Subject) -> ExitCode {
    for path in paths {
        let traced =
            read_script(path).map_err(|trouble| format!("{trouble:?}")).and_then(|script| trace(&script, subject));
        match traced {
            Ok(text) => print!("{text}"),
            Err(error) => return refuse(&format!("{}: {error}", path.display())),
        }
    }
    ExitCode::SUCCESS
}

fn print_table(paths: &[PathBuf], subject: Subject, judging: Judging) -> ExitCode {
    let rows_of = |path: &Path| {
        if path.is_dir() {
            run_folder(path, subject, judging).map(|table| table.rows)
        } else {
            path.metadata().map(|_| vec![run_file(path, path.display().to_string(), subject, judging)])
        }
    };
    let mut table = Table { rows: Vec::new() };
    for path in paths {
        match rows_of(path) {
            Ok(rows) => table.rows.extend(rows),
            Err(error) => return refuse(&format!("{}: {error}", path.display())),
        }
    }
    println!("{table}");
    ExitCode::from(u8::from(table.rows.iter().any(Row::fails)))
}
