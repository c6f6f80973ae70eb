//! Every file of `tests/bad-input` is refused for the reason and at the line that its first line states:
//! `# expect: SUBSTRING` or `# expect: SUBSTRING; line N`.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use dumbbell_scenario::Experiment;
use std::path::{Path, PathBuf};

struct Case {
    path: PathBuf,
    text: String,
    expected: String,
    line: Option<usize>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad-input");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    let case = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        let expectation =
            first.strip_prefix("# expect: ").unwrap_or_else(|| panic!("{path:?} expects nothing")).to_owned();
        let (expected, line) = match expectation.rsplit_once("; line ") {
            Some((expected, line)) => (expected.to_owned(), Some(line.parse().unwrap())),
            None => (expectation, None),
        };
        Case { path, text, expected, line }
    };
    paths.into_iter().map(case).collect()
}

#[test]
fn every_wrong_file_is_refused_for_its_reason_at_its_line() {
    let cases = cases();
    assert!(cases.len() >= 40, "only {} files", cases.len());
    let mut failures = Vec::new();
    for Case { path, text, expected, line } in cases {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match Experiment::from_toml(&text, &path.to_string_lossy(), &[]) {
            Ok(_) => failures.push(format!("{name}: accepted")),
            Err(errors) => {
                let right = errors.errors().iter().any(|error| {
                    let said =
                        error.message.contains(&expected) || error.help.as_ref().is_some_and(|h| h.contains(&expected));
                    said && line.is_none_or(|line| error.line == Some(line))
                });
                if !right {
                    failures.push(format!("{name}: expected {expected:?} at line {line:?}, got\n{errors}"));
                }
                if errors.errors().iter().any(|error| error.line.is_none() || error.file != path.to_string_lossy()) {
                    failures.push(format!("{name}: an error has no place\n{errors}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_same_files_as_json_are_refused_without_places() {
    for Case { path, text, .. } in cases() {
        let Ok(value) = toml::from_str::<toml::Table>(&text) else { continue };
        let json = serde_json::to_value(value).unwrap();
        let errors = Experiment::from_json(&json, &path.to_string_lossy(), &[]).expect_err("is wrong as TOML");
        assert!(errors.errors().iter().all(|error| error.line.is_none()));
        assert!(!errors.to_string().is_empty());
    }
}

#[test]
fn one_mistake_gives_one_error() {
    let mut failures = Vec::new();
    for Case { path, text, .. } in cases() {
        let errors = Experiment::from_toml(&text, &path.to_string_lossy(), &[]).expect_err("is wrong");
        // What follows a syntax error is anybody's guess, and a circle is wrong from wherever one enters it.
        let name = path.file_name().unwrap().to_string_lossy();
        let several = ["not-toml.toml", "unclosed-string.toml", "preset-of-itself.toml"].contains(&&*name);
        if errors.errors().len() > 1 && !several {
            failures.push(format!("{name}: {errors}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
