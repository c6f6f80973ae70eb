//! Runs packet scripts: `cargo run -p dumbbell-packetdrill -- [--live] [--trace] FILE-OR-FOLDER...`. With `--live` the
//! kernel of this machine is judged in place of the endpoints; with `--trace` nothing is judged, and what happens is
//! printed. `--random FIRST..END FOLDER` writes scripts drawn at random, for a sender, `--random-receiver` for a receiver.

use dumbbell_packetdrill::{Row, Subject, Table, draw, draw_receiver, read_script, run_file, run_folder, trace};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: dumbbell-packetdrill [--live] [--trace] FILE-OR-FOLDER...
       dumbbell-packetdrill --random|--random-receiver FIRST..END FOLDER";

fn main() -> ExitCode {
    let (mut is_live, mut is_trace, mut paths) = (false, false, Vec::new());
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some(kind @ ("--random" | "--random-receiver")) => {
                let draw = if kind == "--random" { draw } else { draw_receiver };
                let range = arguments.next().and_then(|range| seeds(range.to_str()?));
                let (Some(seeds), Some(folder)) = (range, arguments.next()) else { return refuse(USAGE) };
                return write_random(seeds, draw, Path::new(&folder));
            }
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
    if is_trace { print_traces(&paths, subject) } else { print_table(&paths, subject) }
}

/// `FIRST..END`
fn seeds(text: &str) -> Option<Range<u64>> {
    let (first, end) = text.split_once("..")?;
    Some(first.parse().ok()?..end.parse().ok()?)
}

fn write_random(seeds: Range<u64>, draw: fn(u64) -> Option<String>, folder: &Path) -> ExitCode {
    let asked = seeds.end.saturating_sub(seeds.start);
    let mut written = 0;
    let drawn = seeds.filter_map(|seed| Some((seed, draw(seed)?)));
    for (seed, text) in drawn {
        let path = folder.join(format!("{seed}.pkt"));
        if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)) {
            return refuse(&format!("{}: {error}", path.display()));
        }
        written += 1;
    }
    println!("{written} of {asked} scripts written; the others hang on the phase of the clock");
    ExitCode::SUCCESS
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

fn print_table(paths: &[PathBuf], subject: Subject) -> ExitCode {
    let rows_of = |path: &Path| {
        if path.is_dir() {
            run_folder(path, subject).map(|table| table.rows)
        } else {
            path.metadata().map(|_| vec![run_file(path, path.display().to_string(), subject)])
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
