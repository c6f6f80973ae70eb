//! Fuzzes: `cargo run -p dumbbell-fuzz -- [TARGET...] [--seeds FIRST..END | --from FIRST] [--minutes N]
//! [--keep FOLDER]`,
//! prints the case of a seed (`--print TARGET SEED`), tries kept cases again (`TARGET FILE...`), or prints a digest of
//! the tables of each seed's run (`--digest FIRST..END`), which is the same on every machine.

use dumbbell_fuzz::{Failure, Outcome, TARGETS, Target, digest, events, features};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: dumbbell-fuzz [TARGET...] [--seeds FIRST..END | --from FIRST] [--minutes N] [--keep FOLDER]
       dumbbell-fuzz --print TARGET SEED
       dumbbell-fuzz TARGET FILE...
       dumbbell-fuzz --digest FIRST..END
targets: file, dictionary, trace, run, extreme, twin; without one, all of them";

/// What the command line asks for.
struct Task {
    targets: Vec<&'static Target>,
    files: Vec<PathBuf>,
    seeds: Range<u64>,
    patience: Option<Duration>,
    keep: PathBuf,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, name, seed] = &arguments[..]
        && option == "--print"
        && let (Some(target), Ok(seed)) = (Target::named(name), seed.parse())
    {
        println!("{}", target.case_of(seed));
        return ExitCode::SUCCESS;
    }
    if let [option, seeds] = &arguments[..]
        && option == "--digest"
        && let (Some(target), Some(seeds)) = (Target::named("run"), range(seeds))
    {
        for seed in seeds {
            let digest = digest(&target.case_of(seed)).map_or("none".to_owned(), |digest| format!("{digest:016x}"));
            println!("{seed} {digest}");
        }
        return ExitCode::SUCCESS;
    }
    let Some(task) = Task::read(arguments.into_iter()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    // Failures are told once, with their case.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let failures = if task.files.is_empty() { task.fuzz() } else { task.try_files() };
    ExitCode::from(u8::from(failures > 0))
}

fn range(text: &str) -> Option<Range<u64>> {
    let (first, end) = text.split_once("..")?;
    Some(first.parse().ok()?..end.parse().ok()?)
}

impl Task {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Task> {
        let keep = PathBuf::from("out/fuzz");
        let mut task = Task { targets: Vec::new(), files: Vec::new(), seeds: 0..1_000, patience: None, keep };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seeds" => {
                    task.seeds = range(&arguments.next()?)?;
                }
                "--minutes" => {
                    task.patience = Some(Duration::from_secs(60 * arguments.next()?.parse::<u64>().ok()?));
                    task.seeds.end = u64::MAX;
                }
                "--from" => task.seeds = arguments.next()?.parse().ok()?..u64::MAX,
                "--keep" => task.keep = arguments.next()?.into(),
                name => match Target::named(name) {
                    Some(target) => task.targets.push(target),
                    None if name.starts_with('-') || task.targets.len() != 1 => return None,
                    None => task.files.push(name.into()),
                },
            }
        }
        if task.targets.is_empty() {
            task.targets.extend(TARGETS);
        }
        Some(task)
    }

    /// Tries kept cases. Returns how many fail.
    fn try_files(&self) -> usize {
        let mut failures = 0;
        for file in &self.files {
            let result = std::fs::read_to_string(file).map_err(|error| error.to_string());
            let result = result.and_then(|case| self.targets[0].try_case(&case).map_err(|failure| failure.reason));
            failures += usize::from(result.is_err());
            match result {
                Ok(outcome) => println!("{}: {outcome:?}", file.display()),
                Err(reason) => println!("{}: {reason}", file.display()),
            }
        }
        failures
    }

    /// Tries seeds, target by target in turn. Returns how many failed.
    fn fuzz(&self) -> usize {
        let start = Instant::now();
        let mut cases = 0u64;
        let mut having: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        let is_over = || self.patience.is_some_and(|patience| start.elapsed() > patience);
        let mut counts: BTreeMap<&str, [u64; 4]> = self.targets.iter().map(|target| (target.name, [0; 4])).collect();
        for seed in self.seeds.clone() {
            if is_over() {
                println!("stopped before seed {seed}; go on with --seeds {seed}..END");
                break;
            }
            for target in &self.targets {
                let case = target.case_of(seed);
                let result = target.try_case(&case);
                if matches!(result, Ok(Outcome::Accepted)) && target.runs {
                    cases += 1;
                    for (kind, name, has_it) in features(&case) {
                        *having.entry((kind, name)).or_default() += u64::from(has_it);
                    }
                }
                let column = match &result {
                    Ok(Outcome::Accepted) => 0,
                    Ok(Outcome::Refused) => 1,
                    Ok(Outcome::Stopped) => 2,
                    Err(_) => 3,
                };
                counts.entry(target.name).or_default()[column] += 1;
                match result {
                    Ok(Outcome::Stopped) => println!("{} {seed}: stopped, it takes too much", target.name),
                    Ok(_) => {}
                    Err(failure) => tell(target, seed, &failure, &self.keep),
                }
            }
        }
        println!("{:<12}{:>10}{:>10}{:>10}{:>10}", "target", "accepted", "refused", "stopped", "failed");
        for (name, [accepted, refused, stopped, failed]) in &counts {
            println!("{name:<12}{accepted:>10}{refused:>10}{stopped:>10}{failed:>10}");
        }
        println!("{} events in {cases} experiments that ran; of these have", events());
        for ((kind, name), count) in having {
            println!("{kind:<12}{name:<24}{count:>8}{:>8.2} %", 100.0 * count as f64 / cases as f64);
        }
        counts.values().map(|counts| counts[3]).sum::<u64>().try_into().unwrap_or(usize::MAX)
    }
}

/// Prints a failure and keeps its case.
fn tell(target: &Target, seed: u64, failure: &Failure, keep: &Path) {
    let path = keep.join(target.name).join(format!("{seed}.txt"));
    println!("{} {seed}: {}", target.name, failure.reason);
    let kept =
        path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, &failure.case));
    match kept {
        Ok(()) => println!("  kept as {}", path.display()),
        Err(error) => println!("  not kept, {}: {error}\n{}", path.display(), failure.case),
    }
}
