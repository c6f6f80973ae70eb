//! Runs packet scripts: `cargo run -p dumbbell-packetdrill -- FILE-OR-FOLDER...`.

use dumbbell_packetdrill::{Judging, Row, Table, run_file, run_folder};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        eprintln!("usage: dumbbell-packetdrill FILE-OR-FOLDER...");
        return ExitCode::from(2);
    }
    let judging = Judging::default();
    let mut rows: Vec<Row> = Vec::new();
    for path in &paths {
        let found = if path.is_dir() {
            run_folder(path, judging).map(|table| table.rows)
        } else {
            path.metadata().map(|_| vec![run_file(path, path.display().to_string(), judging)])
        };
        match found {
            Ok(found) => rows.extend(found),
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        }
    }
    let table = Table { rows };
    println!("{table}");
    ExitCode::from(u8::from(table.rows.iter().any(Row::fails)))
}
