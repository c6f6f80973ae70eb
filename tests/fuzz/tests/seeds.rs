//! Every target on a few seeds, and on the cases that have failed before.

use dumbbell_fuzz::{Outcome, TARGETS, Target};
use std::path::Path;

/// Tries so many seeds, a quarter of them unless `DUMBBELL_TEST_WHOLE` is set (`make test-all`); says which share of
/// the cases was accepted.
fn accepted(target: &str, seeds: u32) -> f64 {
    let end = if std::env::var_os("DUMBBELL_TEST_WHOLE").is_some() { seeds } else { seeds / 4 };
    let target = Target::named(target).expect("a target of this name");
    let try_seed = |seed| target.try_seed(seed).unwrap_or_else(|failure| panic!("seed {seed}: {failure:?}"));
    let accepted = (0..end).filter(|&seed| try_seed(u64::from(seed)) == Outcome::Accepted);
    accepted.count() as f64 / f64::from(end)
}

#[test]
fn texts_of_experiments_are_read_or_refused_with_a_place() {
    let accepted = accepted("file", 400);
    assert!((0.05..0.95).contains(&accepted), "a share of {accepted} is accepted");
}

#[test]
fn dictionaries_are_read_or_refused_with_a_key() {
    let accepted = accepted("dictionary", 300);
    assert!((0.17..1.0).contains(&accepted), "a share of {accepted} is accepted");
}

#[test]
fn traces_are_read_or_refused() {
    let accepted = accepted("trace", 500);
    assert!((0.2..0.96).contains(&accepted), "a share of {accepted} is accepted");
}

#[test]
fn runs_keep_what_no_run_may_break() {
    let accepted = accepted("run", 1_000);
    assert!(accepted > 0.8, "a share of {accepted} runs");
}

/// What is drawn reaches every algorithm, every transport and every kind of queue, loss and traffic that the schema names.
#[test]
fn runs_are_of_every_kind() {
    let target = Target::named("run").expect("a target of this name");
    let cases: String = (0..3_000).map(|seed| target.case_of(seed)).collect();
    let algorithms = dumbbell_cc_family::catalog().names();
    let transports = dumbbell_transport::library::profiles().iter().copied();
    let queues = dumbbell_path::queue::catalog().names();
    let losses = dumbbell_path::loss::catalog().names();
    let traffic = dumbbell_traffic::catalog().names();
    let names = algorithms.chain(transports).chain(queues).chain(losses).chain(traffic);
    assert!(names.clone().any(|name| name == "noq"), "the QUIC library is known");
    let missing: Vec<_> = names.filter(|name| !cases.contains(&format!("\"{name}\""))).collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}

#[test]
fn parameters_at_the_ends_of_their_ranges_are_refused_or_run() {
    let accepted = accepted("extreme", 600);
    assert!(accepted > 0.75, "a share of {accepted} runs");
}

#[test]
fn packets_carried_one_by_one_lead_to_the_same_tables() {
    let accepted = accepted("twin", 2_000);
    assert!(accepted > 0.9, "a share of {accepted} runs");
}

#[test]
fn what_failed_once_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut tried = 0;
    for target in TARGETS {
        let Ok(cases) = std::fs::read_dir(corpus.join(target.name)) else { continue };
        for path in cases.map(|entry| entry.unwrap().path()) {
            let case = std::fs::read_to_string(&path).unwrap();
            target.try_case(&case).unwrap_or_else(|failure| panic!("{}: {failure:?}", path.display()));
            tried += 1;
        }
    }
    assert!(tried > 0, "there are no cases in {}", corpus.display());
}
